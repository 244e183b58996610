/* Real events in a trace that is being generated. All that a generator goes by is read off the
 * world, the checker and the kind's past, so a real trace is gone on from by letting it happen
 * there. Events of types that the model does not have move the checker only. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/generator.h"

enum {
    DEEP_EVENTS = 8192,   /* of a prompt's end, for each CPU, that the kind's past is filled with */
    OVERDUE_NS = 1000000, /* a timer that is late by more has expired unseen */
};

/* ---- names ------------------------------------------------------------------------- */

/* Types that the catalog has got since the model was read and that are called like one of the
 * model's: another tracer's words for the same event. */
static stn_status meet_types(stn_vocab *vocab) {
    uint32_t known = vocab->from_type_count, count = stn_catalog_type_count(vocab->catalog);
    if (count <= known) {
        return STN_OK;
    }
    uint32_t *from_type = stn_realloc(vocab->from_type, count * sizeof *from_type);
    if (!from_type) {
        return STN_ENOMEM;
    }
    vocab->from_type = from_type;
    for (uint32_t type = known; type < count; type++) {
        from_type[type] = UINT32_MAX;
        uint32_t name = stn_catalog_type_at(vocab->catalog, type)->name_id;
        for (uint32_t other = 0; other < known && from_type[type] == UINT32_MAX; other++) {
            if (stn_catalog_type_at(vocab->catalog, other)->name_id == name) {
                from_type[type] = from_type[other];
            }
        }
    }
    vocab->from_type_count = count;
    return STN_OK;
}

stn_status stn_model_meet(stn_model *model, const stn_trace *trace, stn_err *err) {
    stn_vocab *vocab = &model->vocab;
    if (trace->catalog != model->catalog) {
        return stn_err_set(err, STN_ERANGE, "the trace's catalog is not that of the model");
    }
    bool failed = meet_types(vocab) != STN_OK;
    for (size_t i = 0; i < trace->count && !failed; i++) {
        const stn_event *event = &trace->events[i];
        failed = event->comm != STN_NO_ID && stn_vocab_text(vocab, event->comm) == UINT32_MAX;
        for (uint16_t f = 0; f < event->field_count && !failed; f++) {
            const stn_field *field = &event->fields[f];
            failed =
                field->kind == STN_FIELD_STR && stn_vocab_ctext(vocab, field->v.s) == UINT32_MAX;
        }
    }
    return failed ? stn_err_set(err, STN_ENOMEM, "out of memory for the names of a trace") : STN_OK;
}

/* ---- events ------------------------------------------------------------------------- */

/* After a loss nobody knows which handlers are open. */
static void forget_handlers(stn_world *world, uint16_t cpu) {
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        if (cpu == STN_NO_CPU || cpu == i) {
            world->cpus[i].depth = 0;
            world->cpus[i].raised = 0;
        }
    }
}

/* The event happens in the world, and the kind hears of the CPUs that it changed. Where something
 * is being filled in, their clocks run anew. */
static stn_status happen(stn_generator *generator, bool deep) {
    const stn_model *model = generator->model;
    stn_world *world = &generator->world;
    stn_status status = stn_world_apply(world, &generator->draft);
    if (status == STN_OK && deep && model->kind->see) {
        model->kind->see(generator->run, world, generator->draft.cpu);
        for (uint8_t i = 0; i < world->touched_count; i++) {
            model->kind->see(generator->run, world, world->touched[i]);
        }
    }
    for (uint8_t i = 0; status == STN_OK && generator->wound && i < world->touched_count; i++) {
        stn_generator_wind(generator, world->touched[i], 0);
    }
    generator->lately[generator->draft.type]++;
    if (++generator->seen % STN_WEIGH_EVERY == 0) {
        stn_generator_weigh(generator);
    }
    return status;
}

stn_status stn_generator_see(stn_generator *generator, const stn_event *event, bool deep,
                             stn_err *err) {
    stn_world *world = &generator->world;
    stn_status status = stn_checker_step(generator->checker, event, NULL, err);
    if (status == STN_OK) {
        status = stn_prefer_see(&generator->prefer, event, false, err);
    }
    if (status != STN_OK || event->type == STN_TYPE_LOST || event->cpu == STN_NO_CPU) {
        if (event->type == STN_TYPE_LOST) {
            forget_handlers(world, event->cpu);
        }
        return status;
    }
    if (event->cpu >= world->cpu_count) {
        return stn_err_set(err, STN_EFORMAT,
                           "an event on CPU %u: the model learned from CPUs 0 to %u only",
                           event->cpu, world->cpu_count - 1U);
    }
    status = stn_draft_known(&generator->draft, &generator->model->vocab, event);
    if (status == STN_ENOTFOUND) {
        return STN_OK;
    }
    return happen(generator, deep) == STN_OK
               ? STN_OK
               : stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
}

/* ---- prompts ------------------------------------------------------------------------- */

/* A CPU of which nothing was seen is idle; a timer long overdue has expired unseen. */
void stn_generator_complete(stn_generator *generator, uint64_t now_ns) {
    stn_world *world = &generator->world;
    world->now_ns = now_ns > world->now_ns ? now_ns : world->now_ns;
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        if (world->cpus[i].thread == STN_WORLD_NONE) {
            stn_world_place(world, i, i);
        }
        if (world->cpus[i].trigger_ns == 0) {
            world->cpus[i].trigger_ns = world->now_ns;
        }
    }
    for (size_t i = 0; i < world->instance_count; i++) {
        stn_instance *timer = &world->instances[i];
        if (timer->used && timer->due_ns > 0 && timer->due_ns + OVERDUE_NS < world->now_ns) {
            timer->due_ns = 0;
        }
    }
}

stn_status stn_generator_replay(stn_generator *generator, const stn_trace *prompt, stn_err *err) {
    size_t deep = (size_t)DEEP_EVENTS * generator->world.cpu_count;
    stn_checker_count(generator->checker, false);
    for (size_t i = 0; i < prompt->count; i++) {
        stn_status status =
            stn_generator_see(generator, &prompt->events[i], prompt->count - i <= deep, err);
        if (status != STN_OK) {
            return stn_err_prepend(err, status, "event %zu of the prompt", i + 1);
        }
    }
    stn_checker_count(generator->checker, true);
    if (generator->seen == 0) {
        return stn_err_set(err, STN_EFORMAT,
                           prompt->count == 0 ? "the prompt has no events"
                                              : "the prompt has no event of a type that the "
                                                "model knows");
    }
    stn_generator_complete(generator, prompt->events[prompt->count - 1].time_ns);
    return STN_OK;
}
