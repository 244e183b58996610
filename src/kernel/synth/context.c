/* The lengths of the rungs were chosen on held-back parts of runs: beyond few events a context
 * is told apart by the process name, before that it is not, so that rare processes learn from
 * the others. */
#include "kernel/synth/context.h"

#include "kernel/synth/chain.h"
#include "kernel/synth/step.h"

enum {
    SEED_HANDLER = 13,
    SEED_TASK = 14,
    NAMED_FROM = 3,
    SURE_HANDLER = 2,
    SURE_TASK = 3,
    RUN_BINS = 4
};

static void add(stn_rungs *out, uint32_t order, uint64_t hash) {
    if (out->count < STN_POOL_DEPTH) {
        out->order[out->count] = (uint8_t)order;
        out->hash[out->count++] = hash;
    }
}

/* Who waits, as bits: threads to run here; that are being woken for here; one of those that
 * are usually woken from here, to be woken; and whether the running one was woken already, so
 * that it may sleep. */
static uint32_t waiting(const stn_world *world, uint16_t number, uint32_t asleep) {
    uint32_t thread = world->cpus[number].thread;
    return (stn_world_list(world, number, STN_THREAD_READY)->count > 0) |
           (stn_world_list(world, number, STN_THREAD_WAKING)->count > 0) << 1 | (asleep > 0) << 2 |
           (uint32_t)(thread != STN_WORLD_NONE && world->threads[thread].pending) << 3;
}

/* The same closer: did another CPU change the first two since this one's last event, and are
 * there several of the last. */
static uint32_t closer(const stn_world *world, uint16_t number, uint32_t asleep) {
    return (uint32_t)world->cpus[number].touched | (asleep > 1) << 1;
}

/* Whose events are told apart: threads by their name, idle threads by their CPU, since what
 * reaches an idle CPU depends on what it is there for. */
static uint64_t who(const stn_world *world, uint16_t number) {
    uint32_t index = world->cpus[number].thread;
    if (index == STN_WORLD_NONE || world->threads[index].tid == 0) {
        return UINT64_C(1) << 32 | number;
    }
    return world->threads[index].comm;
}

static void add_handler(const stn_world *world, uint16_t number, uint32_t order, stn_rungs *out) {
    const stn_cpu *cpu = &world->cpus[number];
    uint32_t asleep = stn_world_asleep(world, number);
    uint64_t hash = stn_chain_mix(SEED_HANDLER, cpu->stack[cpu->depth - 1]);
    add(out, 0, hash);
    for (uint32_t k = 0; k < order && k < cpu->handler_count; k++) {
        hash = stn_chain_mix(hash, cpu->handler_history[k]);
        add(out, k + 1, hash);
        if (k == 0) {
            hash = stn_chain_mix(hash, waiting(world, number, asleep));
            add(out, k + 1, hash);
            hash = stn_chain_mix(hash, cpu->raised);
            add(out, k + 1, hash);
            hash = stn_chain_mix(hash, closer(world, number, asleep));
            add(out, k + 1, hash);
        }
        if (k + 1 == NAMED_FROM) {
            hash = stn_chain_mix(hash, who(world, number));
            add(out, k + 1, hash);
        }
    }
}

static void add_task(const stn_world *world, uint16_t number, uint32_t order, stn_rungs *out) {
    const stn_cpu *cpu = &world->cpus[number];
    const stn_thread *thread =
        &world->threads[cpu->thread == STN_WORLD_NONE ? number : cpu->thread];
    uint16_t last = cpu->history[0];
    bool after =
        last < world->vocab->type_count && world->vocab->types[last].frame == STN_FRAME_POP;
    uint32_t asleep = stn_world_asleep(world, number);
    uint32_t open = thread->depth > 0 ? thread->open[thread->depth - 1] : STN_SYMBOL_NONE;
    uint64_t hash = stn_chain_mix(SEED_TASK, open | (thread->tid == 0 ? 0x10000u : 0) |
                                                 (thread->exiting ? 0x20000u : 0));
    add(out, 0, hash);
    hash = stn_chain_mix(hash, who(world, number));
    add(out, 0, hash);
    for (uint32_t k = 0; k < order && k < STN_HISTORY; k++) {
        hash = stn_chain_mix(hash, thread->history[k]);
        add(out, k + 1, hash);
        if (k == 0) {
            hash = stn_chain_mix(hash, waiting(world, number, asleep) | (uint32_t)after << 8);
            add(out, k + 1, hash);
            hash = stn_chain_mix(hash, cpu->raised);
            add(out, k + 1, hash);
            hash = stn_chain_mix(hash, closer(world, number, asleep));
            add(out, k + 1, hash);
            hash = stn_chain_mix(hash, after ? last : 0);
            add(out, k + 1, hash);
            hash = stn_chain_mix(hash, stn_step_symbol(thread->run) / RUN_BINS);
            add(out, k + 1, hash);
        }
    }
}

void stn_rungs_next(const stn_world *world, uint16_t cpu, uint32_t order, stn_rungs *out) {
    out->count = 0;
    out->sure = world->cpus[cpu].depth > 0 ? SURE_HANDLER : SURE_TASK;
    if (world->cpus[cpu].depth > 0) {
        add_handler(world, cpu, order, out);
    } else {
        add_task(world, cpu, order, out);
    }
}
