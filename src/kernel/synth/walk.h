/** @file
 *  Walking through training runs: the world before each event, and the event.
 *  Pinned by tests/unit/test_synth_generator.c. */
#ifndef STN_KERNEL_SYNTH_WALK_H
#define STN_KERNEL_SYNTH_WALK_H

#include "kernel/synth/world.h"

/** The runs to walk through, borrowed. */
typedef struct stn_runs {
    const stn_trace *const *traces; /**< [count] */
    size_t count;
    bool unseated; /**< visit before the event's thread is made the running one */
    stn_progress_fn progress;
    void *user;
    uint64_t done, total; /**< for the progress; the caller sets total */
} stn_runs;

typedef struct stn_walk_step {
    stn_world *world; /**< before the event */
    stn_draft *draft;
    uint32_t current;  /**< thread that the event runs in; STN_WORLD_NONE if unseated */
    size_t run, index; /**< where the event is */
} stn_walk_step;

typedef stn_status (*stn_walk_fn)(void *user, stn_walk_step *step);

/** Call @p visit for every event of the vocabulary. A lost mark begins the world anew.
 *  @return STN_OK; STN_ENOMEM, STN_EINTR, or what @p visit returned */
stn_status stn_walk(stn_vocab *vocab, const stn_domains *domains, const stn_slots *slots,
                    uint16_t cpu_count, stn_runs *runs, stn_walk_fn visit, void *user) STN_MUST_USE;

/** CPUs of all runs: the highest seen, plus one. */
uint16_t stn_runs_cpus(const stn_runs *runs);

#endif
