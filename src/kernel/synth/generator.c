/* The loop of generating. Each CPU has a clock: the kind says what comes next there and when,
 * and the earliest clock fires. Then the attributes fill in the rest, and the rules refuse or
 * agree. What is refused is drawn again: the attributes first, then the type, so the outcome is
 * the model's own distribution restricted to what the rules admit. An event winds the clock of
 * its CPU anew, and those of the CPUs where it changed who waits. When the model has no more
 * to say for a CPU, every type is tried there, most frequent first; when nothing fits, the CPU
 * stays silent for a while. When no CPU can go on, something is handed out all the same. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/generator.h"

enum {
    ATTRIBUTE_TRIES = 10,
    NOTHING_TRIES = 3,
    TYPE_TRIES = 24,
    SILENCE_NS = 1000000,
    RETRY_NS = 200000,
    LATELY = 5000, /* events that count as of late */
    SLACK = 16,    /* of them that a type may have beyond its share */
    SILENCES = 64, /* in a row of all CPUs, after which anything will do */
};

/* ---- events ----------------------------------------------------------------------------- */

static void field_from(const stn_vocab *vocab, stn_field *field, const stn_val *val) {
    field->kind = val->kind;
    switch (val->kind) {
    case STN_FIELD_STR:
        field->v.s = stn_catalog_text(vocab->catalog, vocab->text_catalog[val->v]);
        break;
    case STN_FIELD_REAL:
        memcpy(&field->v.f, &val->v, sizeof field->v.f);
        break;
    default:
        field->v.i = val->v;
        break;
    }
}

static void event_from(stn_generator *generator) {
    const stn_vocab *vocab = &generator->model->vocab;
    const stn_draft *draft = &generator->draft;
    const stn_vtype *type = &vocab->types[draft->type];
    stn_event *event = &generator->event;
    *event = (stn_event){.time_ns = draft->time_ns,
                         .type = type->catalog_type,
                         .tid = draft->tid,
                         .cpu = draft->cpu,
                         .fields = generator->fields};
    event->comm = draft->comm == STN_WORLD_NONE ? STN_NO_ID : vocab->text_catalog[draft->comm];
    for (uint16_t i = 0; i < draft->val_count; i++) {
        if (draft->vals[i].kind != STN_VAL_NONE) {
            stn_field *field = &generator->fields[event->field_count++];
            field->name = vocab->text_catalog[type->fields[i].name];
            field_from(vocab, field, &draft->vals[i]);
        }
    }
}

/* What the rules said no to at one moment. */
typedef struct refusals {
    uint64_t hash[ATTRIBUTE_TRIES];
    uint32_t count;
} refusals;

static bool refused_already(refusals *said, const stn_draft *draft) {
    uint64_t hash = 1;
    for (uint16_t i = 0; i < draft->val_count; i++) {
        stn_val val = draft->vals[i];
        hash = stn_chain_mix(stn_chain_mix(hash, val.kind),
                             val.kind == STN_VAL_NONE ? 0 : (uint64_t)val.v);
    }
    for (uint32_t i = 0; i < said->count; i++) {
        if (said->hash[i] == hash) {
            return true;
        }
    }
    said->hash[said->count++] = hash;
    return false;
}

/* Do the rules agree to the event at hand? First those that are only preferred. */
static stn_status try_event(stn_generator *generator, bool *agreed) {
    stn_err err = {0};
    stn_status status =
        stn_prefer_ask(&generator->prefer, &generator->event, &generator->rng, agreed, &err);
    if (status != STN_OK || !*agreed) {
        return status;
    }
    status = stn_checker_try(generator->checker, &generator->event, NULL);
    *agreed = status == STN_OK;
    stn_prefer_settle(&generator->prefer, *agreed);
    return status == STN_ECHECK ? STN_OK : status;
}

/* Fill in attributes until the rules agree. */
static stn_status try_attributes(stn_generator *generator, bool *agreed) {
    refusals said = {.count = 0};
    int nothing = 0;
    *agreed = false;
    for (uint32_t i = 0; i < ATTRIBUTE_TRIES && nothing < NOTHING_TRIES; i++) {
        if (!stn_attr_propose(&generator->model->attr, &generator->world, i, &generator->draft,
                              &generator->rng)) {
            generator->stats.rejected++;
            nothing++;
            continue;
        }
        if (said.count > 0 && refused_already(&said, &generator->draft)) {
            continue;
        }
        event_from(generator);
        stn_status status = try_event(generator, agreed);
        if (status != STN_OK || *agreed) {
            return status;
        }
        generator->stats.rejected++;
        if (said.count == 0) {
            refused_already(&said, &generator->draft);
        }
    }
    return STN_OK;
}

/* ---- shares ------------------------------------------------------------------------------ */

/* No chain of draws, however deep its contexts, keeps the balance of a workload for long: a
 * reader goes on reading from a pipe that nobody fills. So types that came too often of late
 * are taken less readily where the model has another to offer. */
void stn_generator_weigh(stn_generator *generator) {
    const stn_vocab *vocab = &generator->model->vocab;
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        float usual = generator->usual[t] * LATELY;
        float weight = (usual + SLACK) / (generator->lately[t] + SLACK * 0.5F);
        generator->weights[t] = weight < 1 ? weight * weight : 1;
        generator->lately[t] *= 1 - (float)STN_WEIGH_EVERY / LATELY;
    }
}

static stn_status begin_shares(stn_generator *generator) {
    const stn_vocab *vocab = &generator->model->vocab;
    generator->lately = stn_calloc(vocab->type_count, sizeof *generator->lately);
    generator->usual = stn_calloc(vocab->type_count, sizeof *generator->usual);
    generator->weights = stn_calloc(vocab->type_count, sizeof *generator->weights);
    if (!generator->lately || !generator->usual || !generator->weights) {
        return STN_ENOMEM;
    }
    double total = 0;
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        total += (double)vocab->types[t].count;
    }
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        generator->usual[t] = (float)((double)vocab->types[t].count / total);
    }
    return STN_OK;
}

/* ---- clocks ------------------------------------------------------------------------------ */

static uint64_t *refused_on(stn_generator *generator, uint16_t cpu) {
    return generator->refused + (size_t)cpu * generator->words;
}

/* Ask the kind. @p elapsed_ns: nothing came since the moment that the next event hangs on. */
static void ask(stn_generator *generator, uint16_t cpu, uint64_t elapsed_ns) {
    stn_cpu_clock *clock = &generator->clocks[cpu];
    stn_world *world = &generator->world;
    stn_ask question = {.cpu = cpu,
                        .attempt = clock->attempt,
                        .elapsed_ns = stn_pace_model(clock->speed, elapsed_ns),
                        .speed = clock->speed,
                        .refused = refused_on(generator, cpu),
                        .driven = generator->armed[cpu] > 0 ? generator->model->attr.dues.driven
                                                            : generator->not_driven,
                        .weights = generator->weights};
    stn_answer answer;
    if (!generator->model->kind->next(generator->model, generator->run, world, &question,
                                      &generator->rng, &answer)) {
        answer = (stn_answer){STN_ANSWER_WAIT, question.elapsed_ns + SILENCE_NS};
        clock->attempt = TYPE_TRIES;
    }
    clock->type = answer.type;
    if (clock->waits) {
        clock->speed =
            stn_pace_limit(&generator->pace, clock->speed, answer.step_ns, world->now_ns);
    }
    clock->time_ns = world->cpus[cpu].trigger_ns + stn_pace_trace(clock->speed, answer.step_ns);
}

static bool lives(const stn_generator *generator, uint16_t cpu) {
    return !generator->live || generator->live[cpu];
}

/* Is the CPU idle, so that its next event is something that comes? */
static bool waits(const stn_world *world, uint16_t cpu) {
    return world->cpus[cpu].depth == 0 && world->cpus[cpu].thread == cpu;
}

void stn_generator_wind(stn_generator *generator, uint16_t cpu, uint64_t elapsed_ns) {
    if (!lives(generator, cpu)) {
        generator->clocks[cpu] = (stn_cpu_clock){.time_ns = UINT64_MAX, .type = STN_ANSWER_WAIT};
        return;
    }
    stn_cpu_clock *clock = &generator->clocks[cpu];
    if (clock->attempt > 0) {
        memset(refused_on(generator, cpu), 0, generator->words * sizeof(uint64_t));
        clock->attempt = 0;
    }
    uint64_t now_ns = generator->world.now_ns;
    stn_pace_spent(&generator->pace, clock->waits, clock->speed, now_ns - clock->wound_ns);
    clock->wound_ns = now_ns;
    clock->waits = waits(&generator->world, cpu);
    clock->speed = stn_pace_speed(&generator->pace, clock->waits);
    ask(generator, cpu, elapsed_ns);
}

/* At a moment of training nothing is over yet; after real events some time is. */
static void wind_all(stn_generator *generator) {
    stn_world *world = &generator->world;
    for (uint16_t cpu = 0; cpu < world->cpu_count; cpu++) {
        generator->clocks[cpu].wound_ns = world->now_ns;
        if (generator->seen == 0) {
            world->cpus[cpu].trigger_ns = world->now_ns;
        }
        stn_generator_wind(generator, cpu, world->now_ns - world->cpus[cpu].trigger_ns);
    }
    generator->wound = true;
}

static uint16_t earliest(const stn_generator *generator) {
    uint16_t best = 0;
    for (uint16_t cpu = 1; cpu < generator->world.cpu_count; cpu++) {
        if (generator->clocks[cpu].time_ns < generator->clocks[best].time_ns) {
            best = cpu;
        }
    }
    return best;
}

/* No two events at once: their order would be lost where streams are merged by time. */
static uint64_t now_or_later(const stn_generator *generator, uint64_t time_ns) {
    const stn_world *world = &generator->world;
    uint64_t least = world->now_ns + (world->events > 0);
    return time_ns > least ? time_ns : least;
}

static uint64_t elapsed_on(const stn_generator *generator, uint16_t cpu) {
    uint64_t at = now_or_later(generator, generator->clocks[cpu].time_ns);
    return at - generator->world.cpus[cpu].trigger_ns;
}

static void draft_from_clock(stn_generator *generator, uint16_t cpu) {
    const stn_cpu_clock *clock = &generator->clocks[cpu];
    generator->draft.cpu = cpu;
    generator->draft.type = clock->type;
    generator->draft.time_ns = now_or_later(generator, clock->time_ns);
}

/* ---- sleepers ------------------------------------------------------------------------------ */

static stn_status set_alarm(stn_generator *generator, uint32_t index, bool active) {
    stn_world *world = &generator->world;
    stn_thread *thread = &world->threads[index];
    const stn_sleeps *sleeps = &generator->model->attr.sleeps;
    uint64_t late_ns = stn_sleeps_draw(sleeps, stn_world_kin(thread), &generator->rng);
    if (late_ns == UINT64_MAX && active) {
        late_ns = stn_sleeps_draw(sleeps, STN_KIN_ANY, &generator->rng);
    }
    if (late_ns == UINT64_MAX || thread->exiting) {
        return STN_OK;
    }
    double speed = stn_pace_limit(&generator->pace, stn_pace_speed(&generator->pace, true), late_ns,
                                  world->now_ns);
    late_ns = stn_pace_trace(speed, late_ns);
    thread->alarm_ns = world->now_ns + late_ns;
    return stn_alarms_add(&generator->alarms, thread->alarm_ns, (uint64_t)thread->tid);
}

static stn_status set_alarms(stn_generator *generator) {
    stn_status status = STN_OK;
    const stn_world *world = &generator->world;
    for (uint32_t i = world->cpu_count; i < world->thread_count && status == STN_OK; i++) {
        if (world->threads[i].used && world->threads[i].state == STN_THREAD_BLOCKED) {
            /* who fell asleep in a prompt wakes up, also if training never met the like */
            status = set_alarm(generator, i, generator->seen > 0);
        }
    }
    return status;
}

/* The CPU that a forgotten sleeper is woken from: one that is idle, if there is one. */
static uint16_t idle_cpu(const stn_world *world, uint16_t otherwise) {
    for (uint16_t cpu = 0; cpu < world->cpu_count; cpu++) {
        if (waits(world, cpu)) {
            return cpu;
        }
    }
    return otherwise;
}

/* Take the earliest alarm, which is due; if its thread still sleeps, wake it. */
static stn_status ring(stn_generator *generator, bool *agreed) {
    stn_world *world = &generator->world;
    stn_alarm alarm = stn_alarms_take(&generator->alarms);
    uint32_t index = stn_world_thread(world, (int32_t)alarm.what, 0);
    stn_thread *thread = index == STN_WORLD_NONE ? NULL : &world->threads[index];
    if (!thread || thread->state != STN_THREAD_BLOCKED || thread->alarm_ns != alarm.due_ns) {
        return STN_OK;
    }
    generator->draft.cpu = idle_cpu(world, thread->cpu);
    generator->draft.type = generator->waking;
    generator->draft.time_ns = now_or_later(generator, alarm.due_ns);
    world->forgotten = index;
    stn_status status = try_attributes(generator, agreed);
    world->forgotten = STN_WORLD_NONE;
    if (status == STN_OK && !*agreed) {
        thread->alarm_ns += alarm.due_ns - thread->since_ns + 1;
        status = stn_alarms_add(&generator->alarms, thread->alarm_ns, alarm.what);
    }
    return status;
}

/* ---- timers --------------------------------------------------------------------------------- */

/* Set the alarm of a timer that is armed. */
static stn_status arm(stn_generator *generator, uint32_t index) {
    stn_instance *timer = &generator->world.instances[index];
    const stn_due *due =
        timer->due_ns > 0 ? stn_dues_of(&generator->model->attr.dues, timer->last) : NULL;
    if (!due || !stn_dues_driven(&generator->model->attr.dues, due->handler) ||
        !lives(generator, timer->cpu)) {
        return STN_OK;
    }
    timer->alarm_ns = timer->due_ns + stn_due_draw(due, &generator->rng);
    generator->armed[timer->cpu]++;
    return stn_alarms_add(&generator->due, timer->alarm_ns, (uint64_t)timer->cpu << 32 | index);
}

static stn_status arm_all(stn_generator *generator) {
    stn_status status = STN_OK;
    for (uint32_t i = 0; i < generator->world.instance_count && status == STN_OK; i++) {
        if (generator->world.instances[i].used) {
            status = arm(generator, i);
        }
    }
    return status;
}

/* The timers that the event has armed. */
static stn_status arm_named(stn_generator *generator) {
    const stn_world *world = &generator->world;
    const stn_type_keys *keys = &generator->model->domains.types[generator->draft.type];
    stn_status status = STN_OK;
    for (uint8_t k = 0; k < keys->count && status == STN_OK; k++) {
        uint32_t index = world->cpus[generator->draft.cpu].last_instance[keys->keys[k].domain];
        if (index != STN_WORLD_NONE && world->instances[index].last == generator->draft.type) {
            status = arm(generator, index);
        }
    }
    return status;
}

/* Let the handler come that the earliest alarm calls; in a handler, when that is over. */
static stn_status expire(stn_generator *generator) {
    stn_alarm alarm = stn_alarms_take(&generator->due);
    uint16_t cpu = (uint16_t)(alarm.what >> 32);
    stn_instance *timer = &generator->world.instances[(uint32_t)alarm.what];
    bool stands = timer->used && timer->due_ns > 0 && timer->alarm_ns == alarm.due_ns;
    const stn_due *due = stands ? stn_dues_of(&generator->model->attr.dues, timer->last) : NULL;
    stn_cpu_clock *clock = &generator->clocks[cpu];
    if (due && (generator->world.cpus[cpu].depth > 0 || clock->type == due->handler)) {
        timer->alarm_ns = clock->time_ns + 1;
        return stn_alarms_add(&generator->due, timer->alarm_ns, alarm.what);
    }
    if (!due) {
        generator->armed[cpu]--;
        return STN_OK;
    }
    clock->type = due->handler;
    clock->time_ns = alarm.due_ns;
    generator->world.cpus[cpu].due_timer = (uint32_t)alarm.what;
    /* if the handler takes another one */
    timer->alarm_ns = 2 * alarm.due_ns - timer->due_ns + RETRY_NS;
    return stn_alarms_add(&generator->due, timer->alarm_ns, alarm.what);
}

/* ---- setting up ---------------------------------------------------------------------- */

static size_t refused_size(const stn_generator *generator) {
    return (size_t)generator->model->attr.cpu_count * generator->words * sizeof(uint64_t);
}

/* How long the rate that it begins with is to last, in seconds; 0: not known. */
static double span_of(const stn_generator *generator, const stn_generate_options *options) {
    double target = generator->pace.target;
    if (options->script) {
        return (double)options->script->phases[0].begin_ns * 1e-9;
    }
    return options->duration_ns > 0 ? (double)options->duration_ns * 1e-9
           : target > 0             ? (double)options->count / target
                                    : 0;
}

/* Can the kind be told which workload it is to be like? */
static stn_status check_workloads(const stn_model *model, const stn_generate_options *options,
                                  stn_err *err) {
    static const char none[] = "a %s model knows no workloads; train one with --kind diffusion";
    if (model->kind->steer) {
        return STN_OK;
    }
    if (options->workload || options->label_weight > 0) {
        return stn_err_set(err, STN_ERANGE, none, model->kind->name);
    }
    for (size_t i = 0; options->script && i < options->script->count; i++) {
        const stn_phase *phase = &options->script->phases[i];
        if (phase->workload || phase->weight > 0) {
            stn_status status = stn_err_set(err, STN_EFORMAT, none, model->kind->name);
            return stn_err_prepend(err, status, "%s: line %u", options->script->name, phase->line);
        }
    }
    return STN_OK;
}

/* Begin the phases whose time has come. */
static stn_status turn(stn_generator *generator, stn_err *err) {
    const stn_script *script = generator->script;
    uint64_t past_ns = generator->world.now_ns - generator->start_ns;
    stn_status status = STN_OK;
    while (generator->phase < script->count &&
           script->phases[generator->phase].begin_ns <= past_ns && status == STN_OK) {
        const stn_phase *phase = &script->phases[generator->phase++];
        generator->workload = phase->workload ? phase->workload : generator->workload;
        generator->label_weight = phase->weight > 0 ? phase->weight : generator->label_weight;
        generator->rate = phase->has_rate ? phase->rate : generator->rate;
        if (phase->workload || phase->weight > 0) {
            status = generator->model->kind->steer(generator->run, generator->workload,
                                                   generator->label_weight, err);
        }
        bool last = generator->phase == script->count;
        uint64_t end_ns = last ? generator->length_ns : phase[1].begin_ns;
        stn_generator_hurry(generator, end_ns > past_ns ? (double)(end_ns - past_ns) * 1e-9 : 0);
    }
    return status;
}

/* The world that the trace begins with: after the prompt, or one of training. */
static stn_status populate(stn_generator *generator, const stn_trace *prompt, stn_err *err) {
    if (generator->blank) {
        return STN_OK;
    }
    if (prompt) {
        return stn_generator_replay(generator, prompt, err);
    }
    generator->world.now_ns = generator->begin_ns;
    stn_status status = stn_attr_begin(&generator->model->attr, &generator->world, &generator->rng);
    return status == STN_OK ? STN_OK : stn_err_set(err, status, "out of memory for a generator");
}

stn_status stn_generator_go(stn_generator *generator, stn_err *err) {
    const stn_vocab *vocab = &generator->model->vocab;
    stn_status status = STN_OK;
    generator->alarms.count = generator->due.count = 0;
    memset(generator->armed, 0, generator->world.cpu_count * sizeof *generator->armed);
    generator->wound = false;
    generator->waking = STN_ANSWER_WAIT;
    for (uint32_t t = vocab->type_count; t-- > 0;) {
        uint8_t role = vocab->types[t].role;
        if (role == STN_ROLE_WAKING ||
            (role == STN_ROLE_WAKEUP && generator->waking == STN_ANSWER_WAIT)) {
            generator->waking = t;
        }
    }
    if (generator->waking != STN_ANSWER_WAIT && !generator->live) {
        status = set_alarms(generator);
    }
    if (status == STN_OK) {
        status = arm_all(generator);
    }
    return status == STN_OK ? STN_OK : stn_err_set(err, status, "out of memory for a generator");
}

static stn_status begin(stn_generator *generator, const stn_generate_options *options,
                        stn_err *err) {
    const stn_model *model = generator->model;
    generator->words = (model->vocab.type_count + 63) / 64;
    generator->refused = stn_calloc(1, refused_size(generator));
    generator->clocks = stn_calloc(model->attr.cpu_count, sizeof *generator->clocks);
    generator->armed = stn_calloc(model->attr.cpu_count, sizeof *generator->armed);
    generator->not_driven = stn_calloc(generator->words, sizeof *generator->not_driven);
    if (!generator->refused || !generator->clocks || !generator->armed || !generator->not_driven ||
        begin_shares(generator) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    stn_status status = stn_world_init(&generator->world, &model->vocab, &model->domains,
                                       &model->attr.slots, model->attr.cpu_count);
    if (status != STN_OK) {
        return stn_err_set(err, status, "out of memory for a generator");
    }
    status = check_workloads(model, options, err);
    if (status == STN_OK && model->kind->begin) {
        status = model->kind->begin(model, options, &generator->run, err);
    }
    if (status == STN_OK) {
        status = stn_checker_new(&generator->checker, model->rules, generator->catalog, err);
    }
    if (status == STN_OK) {
        status = stn_prefer_begin(&generator->prefer, options->preferred, options->preference,
                                  generator->catalog, err);
    }
    if (status == STN_OK) {
        stn_checker_count(generator->checker, false); /* nobody asks how often rules held */
        status = populate(generator, options->prompt, err);
    }
    if (status == STN_OK) {
        generator->start_ns = generator->world.now_ns;
        stn_generator_hurry(generator, 0);
        generator->pace.span_s = span_of(generator, options);
        status = stn_generator_go(generator, err);
    }
    return status;
}

static double learned_rate(const stn_generator *generator) {
    const stn_model *model = generator->model;
    double rate = model->kind->rate ? model->kind->rate(model, generator->run) : model->rate;
    return generator->share > 0 ? rate * generator->share : rate;
}

void stn_generator_hurry(stn_generator *generator, double span_s) {
    stn_rate rate = generator->rate;
    double learned = learned_rate(generator);
    double target = rate.times ? rate.value * learned : rate.value;
    stn_pace_set(&generator->pace, target, learned, generator->world.now_ns);
    generator->pace.span_s = span_s;
    generator->world.haste = target > 0 && learned > 0 ? target / learned : 1;
}

static stn_status generator_new(stn_generator **out, const stn_model *model,
                                const stn_generate_options *options, bool blank,
                                stn_catalog *catalog, stn_err *err) {
    static const stn_generate_options defaults = {0};
    options = options ? options : &defaults;
    *out = NULL;
    if (catalog != model->catalog) {
        return stn_err_set(err, STN_ERANGE, "the generator's catalog is not that of its model");
    }
    stn_generator *generator = stn_calloc(1, sizeof *generator);
    if (!generator) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    generator->model = model;
    generator->catalog = catalog;
    generator->unguided = options->unguided;
    generator->blank = blank;
    generator->begin_ns = options->begin_ns;
    generator->script = options->script;
    generator->workload = options->workload;
    generator->label_weight = options->label_weight;
    generator->rate = options->rate;
    generator->length_ns = options->duration_ns;
    stn_rng_init(&generator->rng, options->seed);
    stn_status status = begin(generator, options, err);
    if (status != STN_OK) {
        stn_generator_free(generator);
        return status;
    }
    *out = generator;
    return STN_OK;
}

stn_status stn_generator_new(stn_generator **out, const stn_model *model,
                             const stn_generate_options *options, stn_catalog *catalog,
                             stn_err *err) {
    return generator_new(out, model, options, false, catalog, err);
}

stn_status stn_generator_blank(stn_generator **out, const stn_model *model,
                               const stn_generate_options *options, stn_catalog *catalog,
                               stn_err *err) {
    return generator_new(out, model, options, true, catalog, err);
}

void stn_generator_free(stn_generator *generator) {
    if (generator) {
        stn_checker_free(generator->checker);
        stn_prefer_fini(&generator->prefer);
        stn_world_fini(&generator->world);
        if (generator->run) {
            generator->model->kind->end(generator->run);
        }
        stn_free(generator->live);
        stn_free(generator->refused);
        stn_free(generator->clocks);
        stn_alarms_fini(&generator->alarms);
        stn_alarms_fini(&generator->due);
        stn_free(generator->armed);
        stn_free(generator->not_driven);
        stn_free(generator->usual);
        stn_free(generator->lately);
        stn_free(generator->weights);
        stn_free(generator);
    }
}

void stn_generator_stats(const stn_generator *generator, stn_generate_stats *stats) {
    *stats = generator->stats;
    stats->against = generator->prefer.against;
    stats->learned_rate = learned_rate(generator);
    stats->wait_speed = stn_pace_mean(&generator->pace, true);
    stats->work_speed = stn_pace_mean(&generator->pace, false);
}

/* ---- steps -------------------------------------------------------------------------------- */

/* The last resort: every type on the CPU. */
static stn_status try_everything(stn_generator *generator, uint16_t cpu, bool *agreed) {
    stn_status status = STN_OK;
    draft_from_clock(generator, cpu);
    *agreed = false;
    generator->prefer.yields = true;
    for (uint32_t type = 0; type < generator->words * 64 && status == STN_OK && !*agreed; type++) {
        if (type < generator->model->vocab.type_count) {
            generator->draft.type = type;
            status = try_attributes(generator, agreed);
        }
    }
    generator->prefer.yields = false;
    return status;
}

static void silence(stn_generator *generator, uint16_t cpu) {
    stn_cpu_clock *clock = &generator->clocks[cpu];
    memset(refused_on(generator, cpu), 0, generator->words * sizeof(uint64_t));
    clock->attempt = 0;
    clock->type = STN_ANSWER_WAIT;
    clock->time_ns = now_or_later(generator, clock->time_ns) + SILENCE_NS;
    generator->silences++;
}

static void refuse(stn_generator *generator, uint16_t cpu) {
    stn_cpu_clock *clock = &generator->clocks[cpu];
    refused_on(generator, cpu)[clock->type / 64] |= UINT64_C(1) << clock->type % 64;
    clock->attempt++;
    ask(generator, cpu, elapsed_on(generator, cpu));
}

/* Would what fires next come too late? */
static bool over(const stn_generator *generator, uint64_t fires_ns) {
    const stn_alarms *alarms = &generator->alarms, *due = &generator->due;
    if (generator->until_ns == 0) {
        return false;
    }
    if (alarms->count > 0 && alarms->heap[0].due_ns < fires_ns) {
        fires_ns = alarms->heap[0].due_ns;
    }
    if (due->count > 0 && due->heap[0].due_ns < fires_ns) {
        fires_ns = due->heap[0].due_ns;
    }
    return now_or_later(generator, fires_ns) >= generator->until_ns;
}

/* Until a clock fires with an event that the rules admit. */
static stn_status step_guided(stn_generator *generator, bool *agreed) {
    stn_status status = STN_OK;
    *agreed = false;
    while (status == STN_OK && !*agreed &&
           generator->silences < SILENCES * (uint32_t)generator->world.cpu_count) {
        uint16_t cpu = earliest(generator);
        stn_cpu_clock *clock = &generator->clocks[cpu];
        const stn_alarms *alarms = &generator->alarms;
        if (over(generator, clock->time_ns)) {
            return STN_END;
        }
        uint64_t due_ns = generator->due.count > 0 ? generator->due.heap[0].due_ns : UINT64_MAX;
        if (due_ns <= clock->time_ns && (alarms->count == 0 || due_ns <= alarms->heap[0].due_ns)) {
            status = expire(generator);
        } else if (alarms->count > 0 && alarms->heap[0].due_ns < clock->time_ns) {
            status = ring(generator, agreed);
        } else if (clock->attempt >= TYPE_TRIES) {
            status = try_everything(generator, cpu, agreed);
            if (status == STN_OK && !*agreed) {
                silence(generator, cpu);
            }
        } else if (clock->type == STN_ANSWER_WAIT) {
            ask(generator, cpu, elapsed_on(generator, cpu));
        } else {
            draft_from_clock(generator, cpu);
            status = try_attributes(generator, agreed);
            if (status == STN_OK && !*agreed) {
                refuse(generator, cpu);
            }
        }
    }
    return status;
}

/* Whatever the kind says, with whatever attributes there are. */
static stn_status step_unchecked(stn_generator *generator, stn_err *err) {
    stn_draft *draft = &generator->draft;
    for (int i = 0; i < TYPE_TRIES; i++) {
        uint16_t cpu = earliest(generator);
        if (generator->clocks[cpu].type == STN_ANSWER_WAIT) {
            generator->clocks[cpu].attempt += i > 0;
            ask(generator, cpu, elapsed_on(generator, cpu));
            draft->type = draft->type < generator->model->vocab.type_count ? draft->type : 0;
            continue;
        }
        draft_from_clock(generator, cpu);
        if (stn_attr_propose(&generator->model->attr, &generator->world, 0, draft,
                             &generator->rng)) {
            break;
        }
        /* the fields drawn so far stand; the others are missing */
        generator->clocks[cpu].attempt++;
        ask(generator, cpu, elapsed_on(generator, cpu));
    }
    draft->time_ns = now_or_later(generator, draft->time_ns); /* if all that came was waiting */
    event_from(generator);
    uint32_t violations = 0;
    stn_checker_count(generator->checker, true);
    stn_status status = stn_checker_step(generator->checker, &generator->event, &violations, err);
    stn_checker_count(generator->checker, false);
    generator->stats.violations += violations;
    return status == STN_OK ? stn_prefer_see(&generator->prefer, &generator->event, true, err)
                            : status;
}

stn_status stn_generator_next(stn_generator *generator, stn_event *event, stn_err *err) {
    stn_world *world = &generator->world;
    bool agreed = false;
    stn_status status = STN_OK;
    if (generator->stats.events % STN_WEIGH_EVERY == 0) {
        stn_generator_weigh(generator);
    }
    if (generator->script) {
        status = turn(generator, err);
        if (status != STN_OK) {
            return status;
        }
    }
    if (!generator->wound) {
        wind_all(generator);
    }
    if (!generator->unguided) {
        status = step_guided(generator, &agreed);
        if (status == STN_END || (!agreed && generator->until_ns > 0 && status == STN_OK)) {
            return STN_END;
        }
        if (status != STN_OK) {
            return stn_err_set(err, status, "out of memory while generating");
        }
    }
    if (!agreed) {
        status = step_unchecked(generator, err);
        if (status != STN_OK) {
            return status;
        }
    }
    generator->silences = 0;
    if (stn_world_apply(world, &generator->draft) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory while generating");
    }
    if (world->fallen != STN_WORLD_NONE && generator->waking != STN_ANSWER_WAIT &&
        !generator->live && set_alarm(generator, world->fallen, true) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory while generating");
    }
    if (arm_named(generator) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory while generating");
    }
    stn_generator_wind(generator, generator->draft.cpu, 0);
    for (uint8_t i = 0; i < world->touched_count; i++) {
        stn_generator_wind(generator, world->touched[i], 0);
    }
    generator->lately[generator->draft.type]++;
    generator->stats.events++;
    stn_pace_event(&generator->pace, world->now_ns);
    *event = generator->event;
    return STN_OK;
}
