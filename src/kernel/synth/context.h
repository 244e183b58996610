/** @file
 *  What the next event is predicted from: ladders of contexts for stn_chain, read off the
 *  world. Four views of the same past:
 *  * trace: the merged stream, each event with the rank of its CPU;
 *  * CPU: the events of one CPU;
 *  * stack: inside a handler the events since it began, outside the running thread's own
 *    events, its name, whether somebody waits for the CPU, and the handler that just ended;
 *  * which CPU comes next: from the merged stream.
 *  Pinned by tests/unit/test_synth_context.c. */
#ifndef STN_KERNEL_SYNTH_CONTEXT_H
#define STN_KERNEL_SYNTH_CONTEXT_H

#include "kernel/synth/chain.h"
#include "kernel/synth/world.h"

enum { STN_RUNGS_MAX = 16, STN_ORDER_MAX = STN_HISTORY };

typedef struct stn_rungs {
    uint32_t count;
    uint8_t order[STN_RUNGS_MAX]; /**< events that the rung looks back */
    uint64_t hash[STN_RUNGS_MAX];
} stn_rungs;

/** Views that give the type of the next event. */
typedef enum stn_view {
    STN_VIEW_TRACE = 0,
    STN_VIEW_CPU,
    STN_VIEW_STACK,
    STN_VIEWS,
} stn_view;

/** Ladder for the rank of the next event's CPU; rungs of at most @p order events. */
void stn_rungs_rank(const stn_world *world, uint32_t order, stn_rungs *out);
/** Ladder for the type of the next event, given that it is on @p cpu, whose rank is @p rank. */
void stn_rungs_type(const stn_world *world, stn_view view, uint16_t cpu, uint16_t rank,
                    uint32_t order, stn_rungs *out);
/** Contexts of what can come on @p cpu at all: by what is open there, by who waits, and by
 *  the name of the running thread too. */
void stn_rungs_place(const stn_world *world, uint16_t cpu, stn_rungs *out);
/** Ladder for the time step before an event of @p type on @p cpu. */
void stn_rungs_step(const stn_world *world, uint32_t type, uint16_t cpu, uint16_t rank,
                    stn_rungs *out);

#endif
