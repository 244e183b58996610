/** @file
 *  Memory of the training data: how much of a side stands in it verbatim, and how close to it
 *  the rest is. Both look at windows of 64 event types (times and attributes are left out).
 *  Pinned by tests/unit/test_judge_memory.c. */
#ifndef STN_KERNEL_JUDGE_MEMORY_H
#define STN_KERNEL_JUDGE_MEMORY_H

#include "core/base/map.h"
#include "kernel/judge/view.h"
#include "kernel/judge/work.h"

#define STN_MEMORY_WINDOW 64u

/** All windows of the training runs. Zero-initialise. */
typedef struct stn_memory {
    const stn_view *train; /**< borrowed */
    stn_map windows;       /**< rolling hash -> first position */
} stn_memory;

/** @return STN_OK, STN_ENOMEM (memory is good for fini) */
stn_status stn_memory_make(stn_memory *memory, const stn_view *train, const stn_work *work,
                           stn_err *err) STN_MUST_USE;
void stn_memory_fini(stn_memory *memory);

/** Share of all windows of @p view that stand in the training runs. Hits of the rolling hash
 *  are compared event by event. @return 0..1; NAN if @p view has no window */
double stn_memory_verbatim(const stn_memory *memory, const stn_view *view);

/** Mean edit distance (insert, delete, replace: 1 each) from windows of @p view to the nearest
 *  training window: 256 of @p view, evenly spread; 0 for one that stands in the training runs
 *  verbatim, else the nearest of 8,192 training windows, evenly spread.
 *  @param phase       0 <= phase < 1, see stn_view_spread()
 *  @param symbol_count above every symbol
 *  @param[out] mean   0..64; NAN if a side has no window
 *  @return STN_OK, STN_ENOMEM, STN_EINTR */
stn_status stn_memory_nearest(const stn_memory *memory, const stn_view *view, uint32_t symbol_count,
                              double phase, double *mean, const stn_work *work,
                              stn_err *err) STN_MUST_USE;

/** Edit distance of two windows. @param a [64] @param b [64]
 *  @param places  [symbol_count] all zero; so again on return */
uint32_t stn_memory_edits(const uint32_t *a, const uint32_t *b, uint64_t *places);

#endif
