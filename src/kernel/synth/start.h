/** @file
 *  Moments of training runs to begin a generated trace from: who is there, in what state, with
 *  which past, and which instances are alive. A trace that began with an empty world would
 *  first have to live through the start of the workload.
 *  Pinned by tests/unit/test_synth_generator.c. */
#ifndef STN_KERNEL_SYNTH_START_H
#define STN_KERNEL_SYNTH_START_H

#include "kernel/synth/world.h"

/** A world outside all handlers. */
typedef struct stn_start {
    stn_thread *threads; /**< [thread_count] the idle threads first */
    uint32_t thread_count;
    stn_instance *instances; /**< [instance_count] oldest first; due_ns from now on */
    uint32_t instance_count;
    stn_cpu *cpus; /**< [cpu_count] */
    uint16_t *ranks;
    uint16_t cpu_count;
} stn_start;

/** What training knew of the threads of a name: how many were alive, at least and at most, from
 *  the first start of every run on. */
typedef struct stn_crowd {
    uint32_t comm; /**< text id */
    uint32_t least, most;
} stn_crowd;

/** Is no handler open, and is it known on each CPU who runs? */
bool stn_start_fits(const stn_world *world);
/** Keep @p world. @return STN_OK, STN_ENOMEM */
stn_status stn_start_take(stn_start *start, const stn_world *world) STN_MUST_USE;
/** Add the threads that were there all along and not heard of: those of @p world, a later moment
 *  of the same run, that were not made in it. @return STN_OK, STN_ENOMEM */
stn_status stn_start_complete(stn_start *start, const stn_world *world) STN_MUST_USE;
/** Make the fresh @p world what @p start holds. @return STN_OK, STN_ENOMEM */
stn_status stn_start_restore(const stn_start *start, stn_world *world) STN_MUST_USE;
void stn_start_fini(stn_start *start);

void stn_start_put(const stn_start *start, stn_blob *blob);
/** @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_start_get(stn_start *start, stn_cursor *cursor, const stn_vocab *vocab,
                         const stn_domains *domains) STN_MUST_USE;

#endif
