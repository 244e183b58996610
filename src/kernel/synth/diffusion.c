/* Drawing; difftrain.c has the learning, difffile.c the files.
 * Source of the bound on what a look is good for: Ben-Hamu et al., arXiv:2505.24857. */
#include "kernel/synth/diffusion.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/pace.h"
#include "kernel/synth/script.h"

#define WORTH_MAX   0.15 /* nats revealed after which the network is looked at again */
#define LEAST_P     1e-9
#define LEAST_MIXED 1e-30F
/* Chosen by the traces that came out (docs/generator.md): the network alone strays from what
 * training never had, and what it gives next to no chance adds up over a hundred types. */
#define NETWORK_SHARE 0.5   /* of the cases that the network draws, not the tables */
#define LEAST_SHARE   0.01F /* of the likeliest class, below which one is not drawn */

enum {
    MARKOV_FROM = 2, /* from this attempt on the Markov tables propose */
    DRAWS = 8,       /* of a time that is not over */
    SHORT_ORDER = 1,
};

static void softmax(const float *logits, uint32_t count, float *p) {
    float high = -INFINITY;
    float sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        high = logits[i] > high ? logits[i] : high;
    }
    for (uint32_t i = 0; i < count; i++) {
        p[i] = expf(logits[i] - high);
        sum += p[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        p[i] /= sum;
    }
}

/* ---- pasts --------------------------------------------------------------- */

static void block_begin(stn_past *past) {
    past->at = 0;
    past->looked = false;
    memset(past->masked, 1, sizeof past->masked);
}

stn_status stn_past_init(stn_past *past, const stn_diffusion *d, const stn_past *first,
                         const stn_steer *steer, uint32_t mixed, bool free, stn_err *err) {
    *past = (stn_past){.d = d, .steer = *steer, .mixed = mixed, .free = free};
    for (uint32_t c = stn_channels_type(&d->channels); c < d->channels.count; c++) {
        uint32_t classes = d->channels.classes[c];
        past->widest = classes > past->widest ? classes : past->widest;
    }
    past->logits = stn_malloc(past->widest * sizeof *past->logits);
    past->chance = stn_calloc((size_t)past->widest * (mixed + 1), sizeof *past->chance);
    if (!past->logits || !past->chance) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    block_begin(past);
    return first ? stn_denoise_new_beside(&past->denoise, first->denoise, d->context, err)
                 : stn_denoise_new_streams(&past->denoise, &d->net, d->context,
                                           mixed + (free ? 1 : 0), err);
}

void stn_past_fini(stn_past *past) {
    stn_denoise_free(past->denoise);
    stn_free(past->logits);
    stn_free(past->chance);
    *past = (stn_past){0};
}

void stn_past_steer(stn_past *past, const stn_steer *steer) {
    past->steer = *steer;
    past->looked = false;
}

/* Look, or commit, with each label and without. */
static void hand_over(stn_past *past, bool commit) {
    const uint16_t *value[STN_CHANNEL_COUNT];
    for (uint32_t c = 0; c < past->d->channels.count; c++) {
        value[c] = past->value[c];
    }
    stn_denoise_hand hands[STN_MIX_MAX + 1];
    for (uint32_t i = 0; i < past->mixed; i++) {
        uint32_t label = past->steer.label[i < past->steer.count ? i : 0];
        hands[i] = (stn_denoise_hand){value, past->masked, label};
    }
    hands[past->mixed] = (stn_denoise_hand){value, past->masked, past->d->net.shape.labels};
    if (commit) {
        stn_denoise_commit_streams(past->denoise, hands);
    } else {
        stn_denoise_look_streams(past->denoise, hands);
    }
}

/* Logits of the mixture: the sum of what each label says, by its share; of the time, by how much
 * of the chance of the type that came was its. */
static void mix(stn_past *past, uint32_t c, const uint16_t *given, uint32_t count) {
    const stn_steer *steer = &past->steer;
    uint32_t type = stn_channels_type(&past->d->channels);
    float *sum = past->chance + (size_t)past->mixed * past->widest;
    memset(sum, 0, count * sizeof *sum);
    for (uint32_t i = 0; i < steer->count; i++) {
        float *chance = past->chance + (size_t)i * past->widest;
        float share = c == type ? steer->share[i] : steer->share[i] * chance[given[type]];
        const float *logits = stn_denoise_logits_stream(past->denoise, i, past->at, c, given);
        float *p = c == type ? chance : past->logits;
        softmax(logits, count, p);
        for (uint32_t k = 0; k < count; k++) {
            sum[k] += share * p[k];
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        past->logits[k] = logf(sum[k] > LEAST_MIXED ? sum[k] : LEAST_MIXED);
    }
}

const float *stn_past_logits(stn_past *past, uint32_t c, const uint16_t *given) {
    if (!past->looked) {
        hand_over(past, false);
        past->looked = true;
        past->worth = 0;
    }
    uint32_t count = past->d->channels.classes[c];
    if (past->steer.count > 1) {
        mix(past, c, given, count);
    } else {
        const float *with = stn_denoise_logits_stream(past->denoise, 0, past->at, c, given);
        memcpy(past->logits, with, count * sizeof *with);
    }
    if (past->free && past->steer.weight != 1) {
        /* classifier-free guidance (Ho, Salimans, arXiv:2207.12598): free + w (with - free) */
        const float *other =
            stn_denoise_logits_stream(past->denoise, past->mixed, past->at, c, given);
        for (uint32_t i = 0; i < count; i++) {
            past->logits[i] = other[i] + past->steer.weight * (past->logits[i] - other[i]);
        }
    }
    return past->logits;
}

void stn_past_cut(float *p, uint32_t count) {
    float best = 0;
    for (uint32_t i = 0; i < count; i++) {
        best = p[i] > best ? p[i] : best;
    }
    for (uint32_t i = 0; i < count; i++) {
        p[i] = p[i] < LEAST_SHARE * best ? 0 : p[i];
    }
}

void stn_past_settle(stn_past *past, const uint16_t *value, double surprise) {
    for (uint32_t c = 0; c < past->d->channels.count; c++) {
        past->value[c][past->at] = value[c];
    }
    past->masked[past->at++] = false;
    past->worth += surprise;
    if (past->worth > WORTH_MAX) {
        past->looked = false;
    }
    if (past->at == STN_DIFFUSION_BLOCK) {
        hand_over(past, true);
        block_begin(past);
    }
}

/* ---- runs ---------------------------------------------------------------- */

/* A CPU of a generated trace. */
typedef struct cpu_run {
    stn_past past;
    bool hangs;        /* a case is at hand */
    bool asked;        /* its p was asked for */
    uint64_t since_ns; /* the moment that it hangs on */
    double speed;      /* that its time runs at */
    uint16_t value[STN_CHANNEL_COUNT];
    float *p; /* [type_count + 1] of its types, once they are asked for */
} cpu_run;

typedef struct diffusion_run {
    const stn_diffusion *d;
    uint32_t types;
    uint16_t cpu_count;
    stn_steer steer;
    cpu_run *cpus;     /* [cpu_count] */
    uint32_t *support; /* [pool node_slots] 1 + set of the node; 0: not made yet */
    uint64_t *sets;    /* [set_count][words] types that training met at the node */
    size_t set_count, set_capacity;
    uint32_t words; /* of a set: types and "nothing" */
    float *weight;  /* [types + 1] chance of each type now */
    float *step;    /* [STN_STEP_CLASSES] chance of each step */
} diffusion_run;

static void run_end(void *run) {
    diffusion_run *r = run;
    if (!r) {
        return;
    }
    for (uint16_t cpu = 0; r->cpus && cpu < r->cpu_count; cpu++) {
        stn_free(r->cpus[cpu].p);
    }
    for (uint16_t cpu = r->cpus ? r->cpu_count : 0; cpu-- > 0;) {
        stn_past_fini(&r->cpus[cpu].past); /* the first one, which lends its weights, last */
    }
    stn_free(r->cpus);
    stn_free(r->support);
    stn_free(r->sets);
    stn_free(r->weight);
    stn_free(r->step);
    stn_free(r);
}

/* What the labels that will be asked for need: how many at a time, and one stream without. */
typedef struct streams {
    stn_steer steer; /* to begin with */
    uint32_t mixed;
    bool free;
} streams;

static stn_status streams_add(streams *out, const stn_diffusion *d, const char *workload,
                              double weight, stn_err *err) {
    stn_status status =
        stn_steer_read(&out->steer, d->labels, d->label_count, workload, weight, err);
    out->mixed = out->steer.count > out->mixed ? out->steer.count : out->mixed;
    out->free = out->free || out->steer.weight != 1;
    return status;
}

static stn_status streams_of(streams *out, const stn_diffusion *d,
                             const stn_generate_options *options, stn_err *err) {
    stn_status status = STN_OK;
    for (size_t i = 0; options->script && i < options->script->count && status == STN_OK; i++) {
        const stn_phase *phase = &options->script->phases[i];
        status = streams_add(out, d, phase->workload, phase->weight, err);
        if (status != STN_OK) {
            status =
                status == STN_ERANGE ? STN_EFORMAT : status; /* of the script, not of a caller */
            return stn_err_prepend(err, status, "%s: line %u", options->script->name, phase->line);
        }
    }
    return streams_add(out, d, options->workload, options->label_weight, err);
}

static stn_status run_arrays(diffusion_run *r, const streams *streams, stn_err *err) {
    const stn_diffusion *d = r->d;
    r->cpus = stn_calloc(r->cpu_count, sizeof *r->cpus);
    r->support = stn_calloc(d->markov.pool.node_slots, sizeof *r->support);
    r->weight = stn_malloc((r->types + 1) * sizeof *r->weight);
    r->step = stn_malloc(STN_STEP_CLASSES * sizeof *r->step);
    if (!r->cpus || !r->support || !r->weight || !r->step) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    stn_status status = STN_OK;
    for (uint16_t cpu = 0; cpu < r->cpu_count && status == STN_OK; cpu++) {
        const stn_past *first = cpu > 0 ? &r->cpus[0].past : NULL;
        r->cpus[cpu].p = stn_calloc(r->types + 1, sizeof(float));
        status = r->cpus[cpu].p ? stn_past_init(&r->cpus[cpu].past, d, first, &streams->steer,
                                                streams->mixed, streams->free, err)
                                : stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    return status;
}

static stn_status run_begin(const stn_model *model, const stn_generate_options *options, void **run,
                            stn_err *err) {
    streams streams = {.mixed = 1};
    stn_status status = streams_of(&streams, model->state, options, err);
    if (status != STN_OK) {
        return status;
    }
    diffusion_run *r = stn_calloc(1, sizeof *r);
    if (!r) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    r->d = model->state;
    r->types = model->vocab.type_count;
    r->words = (r->types + 64) / 64;
    r->cpu_count = model->attr.cpu_count;
    r->steer = streams.steer;
    status = run_arrays(r, &streams, err);
    if (status != STN_OK) {
        run_end(r);
        return status;
    }
    *run = r;
    return STN_OK;
}

static stn_status steer(void *run, const char *workload, double weight, stn_err *err) {
    diffusion_run *r = run;
    stn_status status =
        stn_steer_read(&r->steer, r->d->labels, r->d->label_count, workload, weight, err);
    for (uint16_t cpu = 0; cpu < r->cpu_count && status == STN_OK; cpu++) {
        stn_past_steer(&r->cpus[cpu].past, &r->steer);
    }
    return status;
}

/* ---- support --------------------------------------------------------------- */

static stn_status set_make(diffusion_run *r, const stn_pool_node *node) {
    const stn_pool *pool = &r->d->markov.pool;
    size_t size = (r->set_count + 1) * r->words;
    if (stn_grow(&r->sets, &r->set_capacity, size, sizeof *r->sets) != STN_OK) {
        return STN_ENOMEM;
    }
    uint64_t *set = r->sets + r->set_count * r->words;
    memset(set, 0, r->words * sizeof *set);
    for (uint32_t i = 0; i < node->count; i++) {
        uint32_t type = pool->cases[node->first + i] >> 16;
        type = type == STN_MARKOV_WAIT ? r->types : type;
        set[type / 64] |= UINT64_C(1) << type % 64;
    }
    r->support[node - pool->nodes] = (uint32_t)++r->set_count;
    return STN_OK;
}

/* What training met in a like place: what is open, whose events, the last of them, who waits. */
static const uint64_t *support_at(diffusion_run *r, const stn_world *world, uint32_t cpu) {
    stn_rungs rungs;
    stn_rungs_next(world, (uint16_t)cpu, SHORT_ORDER, &rungs);
    uint32_t count = rungs.sure + 1 < rungs.count ? rungs.sure + 1 : rungs.count;
    const stn_pool *pool = &r->d->markov.pool;
    const stn_pool_node *node = stn_pool_find(pool, rungs.hash, count, NULL);
    if (!node || (!r->support[node - pool->nodes] && set_make(r, node) != STN_OK)) {
        return NULL;
    }
    return r->sets + (size_t)(r->support[node - pool->nodes] - 1) * r->words;
}

static bool has(const uint64_t *set, uint32_t at) {
    return set[at / 64] >> (at % 64) & 1;
}

/* ---- drawing --------------------------------------------------------------- */

/* Index drawn by weight, the last of some weight if rounding runs past the end. */
static uint32_t draw(const float *weight, uint32_t count, float total, stn_rng *rng) {
    double at = stn_rng_double(rng) * total;
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (weight[i] > 0) {
            last = i;
            at -= weight[i];
            if (at < 0) {
                break;
            }
        }
    }
    return last;
}

/* If the CPU hangs on another moment than before, what came is known; a new case begins. What
 * came of a case that nobody asked about is a surprise. */
static void see(void *run, const stn_world *world, uint16_t number) {
    diffusion_run *r = run;
    cpu_run *c = &r->cpus[number];
    const stn_cpu *cpu = &world->cpus[number];
    if (c->hangs && c->since_ns == cpu->trigger_ns) {
        return;
    }
    uint32_t at = stn_channels_type(&r->d->channels);
    if (c->hangs) {
        bool came = !cpu->touched && cpu->history[0] < r->types;
        uint32_t type = came ? cpu->history[0] : r->types;
        c->value[at] = (uint16_t)type;
        c->value[at + 1] =
            stn_channels_step(stn_pace_model(c->speed, cpu->trigger_ns - c->since_ns));
        double p = c->asked && c->p[type] > LEAST_P ? c->p[type] : LEAST_P;
        stn_past_settle(&c->past, c->value, -log(p));
    }
    stn_channels_seen(&r->d->channels, world, number, c->value);
    c->hangs = true;
    c->asked = false;
    c->speed = 1;
    c->since_ns = cpu->trigger_ns;
}

static void foresee(diffusion_run *r, cpu_run *c) {
    if (!c->asked) {
        uint32_t at = stn_channels_type(&r->d->channels);
        softmax(stn_past_logits(&c->past, at, c->value), r->types + 1, c->p);
        stn_past_cut(c->p, r->types + 1);
        c->asked = true;
    }
}

/* Chances of the types into weight: what training met there and was not refused, and less of what
 * came too often of late. Returns their sum. */
static float weigh(diffusion_run *r, const cpu_run *c, const uint64_t *support,
                   const stn_ask *ask) {
    float total = 0;
    for (uint32_t t = 0; t < r->types; t++) {
        bool may = has(support, t) && !has(ask->refused, t);
        r->weight[t] = may ? c->p[t] * ask->weights[t] : 0;
        total += r->weight[t];
    }
    r->weight[r->types] = has(support, r->types) ? c->p[r->types] : 0;
    return total + r->weight[r->types];
}

/* Chances of the steps of @p type into step, those over left out.
 * @param[out] left  their sum, of all that training met with the type  */
static float steps_of(diffusion_run *r, cpu_run *c, uint32_t type, uint64_t elapsed_ns,
                      float *left) {
    uint32_t at = stn_channels_type(&r->d->channels);
    const uint64_t *met = r->d->met_steps + (size_t)type * STN_STEP_WORDS;
    float all = 0;
    c->value[at] = (uint16_t)type;
    softmax(stn_past_logits(&c->past, at + 1, c->value), STN_STEP_CLASSES, r->step);
    *left = 0;
    for (uint32_t s = 0; s < STN_STEP_CLASSES; s++) {
        if (!has(met, s)) {
            r->step[s] = 0;
            continue;
        }
        all += r->step[s];
        if (elapsed_ns > 0 && stn_step_low(s + 1) <= elapsed_ns + 1) {
            r->step[s] = 0;
        }
        *left += r->step[s];
    }
    return all;
}

/* A type and a step later than what is over. Types are drawn by their chance, and taken by the
 * chance that they come later still. */
static bool draw_case(diffusion_run *r, cpu_run *c, float total, const stn_ask *ask, stn_rng *rng,
                      stn_answer *answer) {
    for (int i = 0; i < DRAWS && total > 0; i++) {
        uint32_t type = draw(r->weight, r->types + 1, total, rng);
        float left, all = steps_of(r, c, type, ask->elapsed_ns, &left);
        if (left > 0 && stn_rng_double(rng) * all < left) {
            uint32_t step = draw(r->step, STN_STEP_CLASSES, left, rng);
            uint64_t step_ns = stn_step_draw(step, rng);
            if (step_ns <= ask->elapsed_ns && ask->elapsed_ns > 0) {
                step_ns = ask->elapsed_ns + 1;
            }
            bool comes = type < r->types && !has(ask->driven, type);
            if (comes || step_ns > 0) {
                *answer = (stn_answer){comes ? type : STN_ANSWER_WAIT, step_ns};
                return true;
            }
        }
        if (left <= 0) {
            total -= r->weight[type];
            r->weight[type] = 0;
        }
    }
    return false;
}

static bool next(const stn_model *model, void *run, stn_world *world, const stn_ask *ask,
                 stn_rng *rng, stn_answer *answer) {
    (void)model;
    diffusion_run *r = run;
    cpu_run *c = &r->cpus[ask->cpu];
    see(r, world, ask->cpu);
    c->speed = ask->speed;
    /* the tables do not tell workloads apart */
    bool all = r->d->label_count > 1;
    if (ask->attempt < MARKOV_FROM && (all || stn_rng_double(rng) < NETWORK_SHARE)) {
        foresee(r, c);
        const uint64_t *support = support_at(r, world, ask->cpu);
        float total = support ? weigh(r, c, support, ask) : 0;
        if (draw_case(r, c, total, ask, rng, answer)) {
            return true;
        }
    }
    return stn_markov_next(&r->d->markov, world, ask, rng, answer);
}

static double rate(const stn_model *model, const void *run) {
    const diffusion_run *r = run;
    double rate = 0;
    for (uint32_t i = 0; i < r->steer.count; i++) {
        uint32_t label = r->steer.label[i];
        bool one = label < r->d->label_count;
        rate += (double)r->steer.share[i] * (one ? r->d->rates[label] : model->rate);
    }
    return rate;
}

const stn_generator_kind stn_diffusion_kind = {.name = "diffusion",
                                               .network = true,
                                               .walks = 7, /* two of Markov, one of reading, the
                                                              rest stands for the steps */
                                               .train = stn_diffusion_train,
                                               .put = stn_diffusion_put,
                                               .get = stn_diffusion_get,
                                               .free = stn_diffusion_free,
                                               .begin = run_begin,
                                               .end = run_end,
                                               .see = see,
                                               .rate = rate,
                                               .steer = steer,
                                               .next = next};
