/** @file
 *  How long things lasted at most in training: a CPU without an event, a thread between its
 *  waking and its wake-up, one that waits for the CPU, the same event again and again. A chain
 *  that has come to a moment unlike any in training knows nothing of how it ended; what has
 *  lasted for longer than anything did is ended for it.
 *  Pinned by tests/unit/test_synth_generator.c. */
#ifndef STN_KERNEL_SYNTH_LIMITS_H
#define STN_KERNEL_SYNTH_LIMITS_H

#include "kernel/synth/world.h"

typedef struct stn_limits {
    uint64_t silence_ns; /**< of a CPU */
    uint64_t waking_ns;
    uint64_t ready_ns;
    uint32_t type_count;
    uint32_t *cpu_runs;    /**< [type_count] the same type in a row on a CPU */
    uint32_t *thread_runs; /**< [type_count] … in a thread, outside handlers */
} stn_limits;

/** @return STN_OK, STN_ENOMEM */
stn_status stn_limits_init(stn_limits *limits, uint32_t type_count) STN_MUST_USE;
void stn_limits_fini(stn_limits *limits);
/** Learn from the event that comes next in @p world. */
void stn_limits_note(stn_limits *limits, const stn_world *world, const stn_draft *draft);

/** Has @p type come too often in a row on @p cpu to come once more? */
bool stn_limits_worn(const stn_limits *limits, const stn_world *world, uint16_t cpu, uint32_t type);
/** What must happen now.
 *  @param[out] cpu   where  @param[out] role  a switch, a wake-up, or STN_ROLE_NONE: any event
 *  @return false if nothing is overdue */
bool stn_limits_overdue(const stn_limits *limits, const stn_world *world, uint16_t *cpu,
                        stn_role *role);

void stn_limits_put(const stn_limits *limits, stn_blob *blob);
/** @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_limits_get(stn_limits *limits, stn_cursor *cursor, uint32_t type_count) STN_MUST_USE;

#endif
