/* The lengths of the rungs were chosen on held-back parts of runs: beyond 3 events a stack
 * context is told apart by the process name, before that it is not, so that rare processes
 * learn from the others. */
#include "kernel/synth/context.h"

enum { SEED_RANK = 11, SEED_TRACE, SEED_CPU, SEED_HANDLER, SEED_TASK, SEED_STEP, SEED_PLACE };

static void add(stn_rungs *out, uint32_t order, uint64_t hash) {
    out->order[out->count] = (uint8_t)order;
    out->hash[out->count++] = hash;
}

static uint64_t seeded(uint64_t seed, uint64_t word) {
    return stn_chain_mix(seed * 0x9e3779b97f4a7c15u, word);
}

/* Who waits, as bits: threads to run here; that are being woken for here; for elsewhere; the
 * one that the running thread last woke, to be woken again (if both slept, who would?);
 * threads for a disk. */
static uint32_t waiting(const stn_world *world, uint16_t number) {
    const stn_cpu *cpu = &world->cpus[number];
    uint32_t here = stn_world_list(world, number, STN_THREAD_WAKING)->count;
    uint32_t partner =
        cpu->thread == STN_WORLD_NONE ? STN_WORLD_NONE : world->threads[cpu->thread].partner;
    bool asleep = partner != STN_WORLD_NONE && world->threads[partner].used &&
                  world->threads[partner].state == STN_THREAD_BLOCKED;
    return (stn_world_list(world, number, STN_THREAD_READY)->count > 0) | (here > 0) << 1 |
           (world->waking > here) << 2 | asleep << 3 | (cpu->disk_sleepers > 0) << 4;
}

static void add_trace(const stn_world *world, uint64_t hash, uint32_t order, stn_rungs *out) {
    add(out, 0, hash);
    for (uint32_t k = 0; k < order && k < 6; k++) {
        uint64_t word = world->history[k] | (uint64_t)world->history_rank[k] << 16;
        hash = stn_chain_mix(hash, word);
        add(out, k + 1, hash);
    }
}

void stn_rungs_rank(const stn_world *world, uint32_t order, stn_rungs *out) {
    uint64_t state = 0;
    out->count = 0;
    for (uint16_t r = 0; r < world->cpu_count && r < 2; r++) {
        uint16_t number = world->ranks[r];
        uint32_t thread = world->cpus[number].thread;
        state = state << 2 | (thread == STN_WORLD_NONE || world->threads[thread].tid == 0) |
                (stn_world_list(world, number, STN_THREAD_WAKING)->count > 0) << 1;
    }
    add_trace(world, seeded(SEED_RANK, state), order, out);
}

static void add_cpu(const stn_world *world, uint16_t number, uint32_t order, stn_rungs *out) {
    const stn_cpu *cpu = &world->cpus[number];
    uint64_t hash = seeded(SEED_CPU, waiting(world, number));
    add(out, 0, hash);
    for (uint32_t k = 0; k < order && k < STN_HISTORY; k++) {
        hash = stn_chain_mix(hash, cpu->history[k]);
        if (k != 6) {
            add(out, k + 1, hash);
        }
    }
}

/* What is open on the CPU: the innermost handler, or else what the thread is in. */
static uint64_t place(const stn_world *world, uint16_t number) {
    const stn_cpu *cpu = &world->cpus[number];
    const stn_thread *thread =
        &world->threads[cpu->thread == STN_WORLD_NONE ? number : cpu->thread];
    if (cpu->depth > 0) {
        return seeded(SEED_PLACE, cpu->stack[cpu->depth - 1] | 0x10000u);
    }
    uint16_t open = thread->depth > 0 ? thread->open[thread->depth - 1] : STN_SYMBOL_NONE;
    return seeded(SEED_PLACE, open | 0x20000u | (thread->tid == 0 ? 0x40000u : 0));
}

/* The place; with who waits; with the name of the thread; with both. */
static void add_place(const stn_world *world, uint16_t number, stn_rungs *out) {
    const stn_cpu *cpu = &world->cpus[number];
    uint64_t hash = place(world, number);
    uint64_t waits = stn_chain_mix(hash, waiting(world, number));
    add(out, 0, hash);
    add(out, 0, waits);
    if (cpu->depth == 0 && cpu->thread != STN_WORLD_NONE) {
        uint64_t comm = 0x100u + world->threads[cpu->thread].comm;
        add(out, 0, stn_chain_mix(hash, comm));
        add(out, 0, stn_chain_mix(waits, comm));
    }
}

void stn_rungs_place(const stn_world *world, uint16_t cpu, stn_rungs *out) {
    out->count = 0;
    add_place(world, cpu, out);
}

static void add_handler(const stn_world *world, uint16_t number, uint32_t order, stn_rungs *out) {
    const stn_cpu *cpu = &world->cpus[number];
    uint64_t hash = seeded(SEED_HANDLER, waiting(world, number));
    uint32_t comm =
        cpu->thread == STN_WORLD_NONE ? STN_WORLD_NONE : world->threads[cpu->thread].comm;
    add_place(world, number, out);
    for (uint32_t k = 0; k < order && k < cpu->handler_count; k++) {
        hash = stn_chain_mix(hash, cpu->handler_history[k]);
        if (k < 3) {
            add(out, k + 1, hash);
        } else if (k == 3 || k == 5 || k == 7) {
            add(out, k + 1, stn_chain_mix(hash, 0x10000u + comm));
        }
    }
}

static void add_task(const stn_world *world, uint16_t number, uint32_t order, stn_rungs *out) {
    const stn_cpu *cpu = &world->cpus[number];
    const stn_thread *thread =
        &world->threads[cpu->thread == STN_WORLD_NONE ? number : cpu->thread];
    uint32_t waits = waiting(world, number);
    uint16_t last = cpu->history[0];
    bool after =
        last < world->vocab->type_count && world->vocab->types[last].frame == STN_FRAME_POP;
    uint64_t hash = seeded(SEED_TASK, waits | (uint64_t)after << 8);
    uint64_t named = stn_chain_mix(hash, thread->comm + ((uint64_t)(after ? last : 0) << 40));
    add_place(world, number, out);
    for (uint32_t k = 0; k < order && k < STN_HISTORY; k++) {
        hash = stn_chain_mix(hash, thread->history[k]);
        named = stn_chain_mix(named, thread->history[k]);
        if (k == 0) {
            add(out, k + 1, hash);
        }
        if (k != 4 && k != 6) {
            add(out, k + 1, named);
        }
    }
}

void stn_rungs_type(const stn_world *world, stn_view view, uint16_t cpu, uint16_t rank,
                    uint32_t order, stn_rungs *out) {
    out->count = 0;
    switch (view) {
    case STN_VIEW_TRACE:
        add_trace(world, seeded(SEED_TRACE, rank | (uint64_t)waiting(world, cpu) << 16), order,
                  out);
        break;
    case STN_VIEW_CPU:
        add_cpu(world, cpu, order, out);
        break;
    default:
        if (world->cpus[cpu].depth > 0) {
            add_handler(world, cpu, order, out);
        } else {
            add_task(world, cpu, order, out);
        }
        break;
    }
}

void stn_rungs_step(const stn_world *world, uint32_t type, uint16_t cpu, uint16_t rank,
                    stn_rungs *out) {
    uint64_t hash = seeded(SEED_STEP, rank);
    out->count = 0;
    add(out, 0, hash);
    hash = stn_chain_mix(hash, type);
    add(out, 1, hash);
    hash = stn_chain_mix(hash, world->history[0]);
    add(out, 1, hash);
    add(out, 2, stn_chain_mix(hash, world->cpus[cpu].history[0] ^ 0x50000u));
}
