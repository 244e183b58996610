#include "kernel/synth/walk.h"

enum { PROGRESS_EVERY = 0x4000 };

static stn_status walk_event(stn_vocab *vocab, stn_runs *runs, stn_walk_step *step,
                             const stn_event *event, stn_walk_fn visit, void *user) {
    stn_status status = stn_draft_from(step->draft, vocab, event);
    if (status != STN_OK) {
        return status == STN_ENOTFOUND ? STN_OK : status;
    }
    if (step->draft->cpu >= step->world->cpu_count) {
        step->draft->cpu = 0;
    }
    step->current = STN_WORLD_NONE;
    if (!runs->unseated) {
        status = stn_world_seat(step->world, step->draft, &step->current);
    }
    if (status == STN_OK) {
        status = visit(user, step);
    }
    return status == STN_OK ? stn_world_apply(step->world, step->draft) : status;
}

stn_status stn_walk(stn_vocab *vocab, const stn_domains *domains, const stn_slots *slots,
                    uint16_t cpu_count, stn_runs *runs, stn_walk_fn visit, void *user) {
    stn_world world = {0};
    stn_draft draft;
    stn_walk_step step = {.world = &world, .draft = &draft};
    stn_status status = STN_OK;
    for (step.run = 0; step.run < runs->count && status == STN_OK; step.run++) {
        const stn_trace *trace = runs->traces[step.run];
        stn_world_fini(&world);
        status = stn_world_init(&world, vocab, domains, slots, cpu_count);
        for (step.index = 0; step.index < trace->count && status == STN_OK; step.index++) {
            const stn_event *event = &trace->events[step.index];
            if (event->type == STN_TYPE_LOST) {
                stn_world_fini(&world);
                status = stn_world_init(&world, vocab, domains, slots, cpu_count);
                continue;
            }
            status = walk_event(vocab, runs, &step, event, visit, user);
            if (++runs->done % PROGRESS_EVERY == 0 && runs->progress &&
                !runs->progress(runs->user, runs->done, runs->total)) {
                status = STN_EINTR;
            }
        }
    }
    stn_world_fini(&world);
    return status;
}

uint16_t stn_runs_cpus(const stn_runs *runs) {
    uint16_t count = 1;
    for (size_t t = 0; t < runs->count; t++) {
        for (size_t i = 0; i < runs->traces[t]->count; i++) {
            uint16_t cpu = runs->traces[t]->events[i].cpu;
            if (cpu < STN_CPU_MAX && cpu >= count) {
                count = cpu + 1;
            }
        }
    }
    return count;
}
