/** @file
 *  Contexts of what comes next on a CPU: ladders of hashes, each rung within the one before.
 *  Pinned by tests/unit/test_synth_context.c. */
#ifndef STN_KERNEL_SYNTH_CONTEXT_H
#define STN_KERNEL_SYNTH_CONTEXT_H

#include "kernel/synth/pool.h"
#include "kernel/synth/world.h"

enum { STN_ORDER_MAX = STN_HISTORY };

typedef struct stn_rungs {
    uint32_t count;
    uint32_t sure;                 /**< rungs that hold for whatever happens there, however rare */
    uint8_t order[STN_POOL_DEPTH]; /**< events that the rung looks back */
    uint64_t hash[STN_POOL_DEPTH];
} stn_rungs;

/** Ladder for the next event on @p cpu; rungs of at most @p order events. What is open there
 *  (the innermost handler, or the call that the running thread is in), then who waits and
 *  whether another CPU has just meddled, then what came before: of the handlers inside
 *  handlers, else of the running thread itself, wherever it was. */
void stn_rungs_next(const stn_world *world, uint16_t cpu, uint32_t order, stn_rungs *out);

#endif
