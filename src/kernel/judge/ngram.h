/** @file
 *  The n-gram judge: a next-event predictor with back-off, and its score.
 *
 *  For every context of 0 … order events seen in training it keeps what followed most
 *  often. A prediction comes from the longest context that was seen at least twice.
 *  Contexts are a tree over the past, newest event first, so that a lookup is exact (no
 *  hashing of whole contexts). Pinned by tests/unit/test_judge_ngram.c. */
#ifndef STN_KERNEL_JUDGE_NGRAM_H
#define STN_KERNEL_JUDGE_NGRAM_H

#include "core/base/map.h"
#include "kernel/judge/view.h"
#include "kernel/judge/work.h"

#define STN_NGRAM_ORDER 5u /**< longest context, in events */

/** What followed one context. */
typedef struct stn_context {
    uint32_t total;      /**< how often it was seen with a successor */
    uint32_t best;       /**< most frequent successor; the lowest symbol of equals */
    uint32_t best_count; /**< how often */
} stn_context;

/** Zero-initialise, then train. */
typedef struct stn_ngram {
    stn_map child;         /**< context << 32 | older symbol -> longer context */
    stn_map successor;     /**< context << 32 | next symbol -> count */
    stn_context *contexts; /**< [context_count]; 0 is the empty context */
    size_t context_count;
    size_t context_capacity;
    uint64_t trained; /**< events learned from */
} stn_ngram;

/** Learn @p budget events of @p view (all, if it has fewer), as evenly spread stretches of
 *  4,096 from every segment; no context reaches over the edge of a stretch.
 *  @return STN_OK, STN_ENOMEM, STN_EINTR; on error the predictor is good for fini alone */
stn_status stn_ngram_train(stn_ngram *ngram, const stn_view *view, uint64_t budget,
                           const stn_work *work, stn_err *err) STN_MUST_USE;
void stn_ngram_fini(stn_ngram *ngram);

/** Most likely symbol after @p past [length] (oldest first).
 *  @return STN_NO_ID if nothing was learned */
uint32_t stn_ngram_predict(const stn_ngram *ngram, const uint32_t *past, size_t length);

typedef struct stn_ngram_score {
    double macro_f1; /**< mean F1 over the symbols that occur in the test; 0..1 */
    double accuracy;
} stn_ngram_score;

/** Predict every event of @p test from those before it in its segment.
 *  A symbol of the test that was never learned counts with F1 = 0.
 *  @param symbol_count  above every symbol of either side
 *  @return STN_OK, STN_ENOMEM, STN_EINTR */
stn_status stn_ngram_test(const stn_ngram *ngram, const stn_view *test, uint32_t symbol_count,
                          stn_ngram_score *score, const stn_work *work, stn_err *err) STN_MUST_USE;

/** TRTR, TSTR and combined with one budget: the smaller of the two sides' events; the
 *  combined predictor learns half of it from each.
 *  @return STN_OK, STN_ENOMEM, STN_EINTR */
stn_status stn_ngram_judge(const stn_view *train, const stn_view *real, const stn_view *synthetic,
                           uint32_t symbol_count, stn_judge_score *out, const stn_work *work,
                           stn_err *err) STN_MUST_USE;

#endif
