#include "kernel/synth/limits.h"

#include "core/base/alloc.h"

stn_status stn_limits_init(stn_limits *limits, uint32_t type_count) {
    *limits = (stn_limits){.type_count = type_count};
    limits->cpu_runs = stn_calloc(type_count, sizeof *limits->cpu_runs);
    limits->thread_runs = stn_calloc(type_count, sizeof *limits->thread_runs);
    if (!limits->cpu_runs || !limits->thread_runs) {
        stn_limits_fini(limits);
        return STN_ENOMEM;
    }
    return STN_OK;
}

void stn_limits_fini(stn_limits *limits) {
    stn_free(limits->cpu_runs);
    stn_free(limits->thread_runs);
    *limits = (stn_limits){0};
}

static void raise_to(uint64_t *limit, uint64_t value) {
    *limit = value > *limit ? value : *limit;
}

void stn_limits_note(stn_limits *limits, const stn_world *world, const stn_draft *draft) {
    const stn_vtype *type = &world->vocab->types[draft->type];
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    uint64_t now = draft->time_ns;
    if (cpu->last_ns > 0 && now > cpu->last_ns) {
        raise_to(&limits->silence_ns, now - cpu->last_ns);
    }
    const stn_list *waking = stn_world_list(world, draft->cpu, STN_THREAD_WAKING);
    if (type->role == STN_ROLE_WAKEUP && waking->oldest != STN_WORLD_NONE) {
        raise_to(&limits->waking_ns, now - world->threads[waking->newest].since_ns);
    }
    const stn_list *ready = stn_world_list(world, draft->cpu, STN_THREAD_READY);
    if (type->role == STN_ROLE_SWITCH && ready->oldest != STN_WORLD_NONE) {
        raise_to(&limits->ready_ns, now - world->threads[ready->newest].since_ns);
    }
    uint32_t run = cpu->history[0] == draft->type ? cpu->run : 0;
    if (run >= limits->cpu_runs[draft->type]) {
        limits->cpu_runs[draft->type] = run + 1;
    }
    if (cpu->thread != STN_WORLD_NONE && cpu->depth == 0 && type->frame == STN_FRAME_NONE) {
        const stn_thread *thread = &world->threads[cpu->thread];
        run = thread->history[0] == draft->type ? thread->run : 0;
        if (run >= limits->thread_runs[draft->type]) {
            limits->thread_runs[draft->type] = run + 1;
        }
    }
}

bool stn_limits_worn(const stn_limits *limits, const stn_world *world, uint16_t cpu,
                     uint32_t type) {
    const stn_cpu *at = &world->cpus[cpu];
    if (at->history[0] == type && at->run >= limits->cpu_runs[type]) {
        return true;
    }
    if (at->depth > 0 || at->thread == STN_WORLD_NONE) {
        return false;
    }
    const stn_thread *thread = &world->threads[at->thread];
    return thread->history[0] == type && thread->run >= limits->thread_runs[type] &&
           limits->thread_runs[type] > 0;
}

static bool too_old(const stn_world *world, const stn_list *list, uint64_t limit) {
    return list->oldest != STN_WORLD_NONE &&
           world->now_ns - world->threads[list->oldest].since_ns > limit + limit / 2;
}

bool stn_limits_overdue(const stn_limits *limits, const stn_world *world, uint16_t *cpu,
                        stn_role *role) {
    uint16_t silent = world->ranks[world->cpu_count - 1];
    if (world->cpus[silent].last_ns > 0 &&
        world->now_ns - world->cpus[silent].last_ns > limits->silence_ns + limits->silence_ns / 2) {
        *cpu = silent;
        *role = STN_ROLE_NONE;
        return true;
    }
    /* one CPU at a time: all are looked at in turn */
    uint16_t number = (uint16_t)(world->events % world->cpu_count);
    *cpu = number;
    if (too_old(world, stn_world_list(world, number, STN_THREAD_WAKING), limits->waking_ns)) {
        *role = STN_ROLE_WAKEUP;
        return true;
    }
    *role = STN_ROLE_SWITCH;
    return world->cpus[number].depth == 0 &&
           too_old(world, stn_world_list(world, number, STN_THREAD_READY), limits->ready_ns);
}

void stn_limits_put(const stn_limits *limits, stn_blob *blob) {
    stn_blob_u64(blob, limits->silence_ns);
    stn_blob_u64(blob, limits->waking_ns);
    stn_blob_u64(blob, limits->ready_ns);
    for (uint32_t i = 0; i < limits->type_count; i++) {
        stn_blob_u32(blob, limits->cpu_runs[i]);
        stn_blob_u32(blob, limits->thread_runs[i]);
    }
}

stn_status stn_limits_get(stn_limits *limits, stn_cursor *cursor, uint32_t type_count) {
    if (stn_limits_init(limits, type_count) != STN_OK) {
        return STN_ENOMEM;
    }
    limits->silence_ns = stn_cursor_u64(cursor);
    limits->waking_ns = stn_cursor_u64(cursor);
    limits->ready_ns = stn_cursor_u64(cursor);
    for (uint32_t i = 0; i < type_count; i++) {
        limits->cpu_runs[i] = stn_cursor_u32(cursor);
        limits->thread_runs[i] = stn_cursor_u32(cursor);
    }
    bool sane = limits->silence_ns < INT64_MAX / 2 && limits->waking_ns < INT64_MAX / 2 &&
                limits->ready_ns < INT64_MAX / 2 && !cursor->failed;
    if (!sane) {
        stn_limits_fini(limits);
    }
    return sane ? STN_OK : STN_EFORMAT;
}
