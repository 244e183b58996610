/** @file
 *  One side of an evaluation (train, real or synthetic) as the judges see it: event types as
 *  dense symbols, without marks, cut into segments that no window or context crosses. A
 *  segment ends where a run ends and where a mark says that events were lost.
 *  Pinned by tests/unit/test_judge_view.c. */
#ifndef STN_KERNEL_JUDGE_VIEW_H
#define STN_KERNEL_JUDGE_VIEW_H

#include <standin/judge.h>

/** Canonical names of event types as symbols 0, 1, 2 …; types of one name share a symbol.
 *  Zero-initialise. */
typedef struct stn_alphabet {
    uint32_t *symbol; /**< [type_count] of each type of the catalog, STN_NO_ID if unused */
    uint32_t *name;   /**< [count] string id of each symbol */
    uint32_t type_count;
    uint32_t count;
} stn_alphabet;

/** Symbols for every type that the catalog holds now. @return STN_OK, STN_ENOMEM */
stn_status stn_alphabet_make(stn_alphabet *alphabet, const stn_catalog *catalog,
                             stn_err *err) STN_MUST_USE;
void stn_alphabet_fini(stn_alphabet *alphabet);

/** Zero-initialise. */
typedef struct stn_view {
    const stn_trace *const *traces; /**< [trace_count] borrowed */
    size_t trace_count;
    uint32_t *symbol; /**< [count] */
    size_t *segment;  /**< [segment_count + 1] first event of each; none is empty */
    size_t count;
    size_t segment_count;
    size_t segment_capacity;
} stn_view;

/** @param traces [count] borrowed for the life of the view
 *  @return STN_OK; STN_ENOMEM (view zeroed) */
stn_status stn_view_make(stn_view *view, const stn_trace *const *traces, size_t count,
                         const stn_alphabet *alphabet, stn_err *err) STN_MUST_USE;
void stn_view_fini(stn_view *view);

/** How many windows of @p size events lie inside segments. */
size_t stn_view_window_count(const stn_view *view, size_t size);
/** Choose @p want windows spread evenly over all of them (all, if there are fewer).
 *  @param phase  0 <= phase < 1: where in its stretch each is taken
 *  @param[out] start  [want] first event of each, rising  @return how many were written */
size_t stn_view_spread(const stn_view *view, size_t size, size_t want, double phase, size_t *start);

#endif
