/** @file
 *  Counts of n-grams of symbols and how far two sides' counts are apart.
 *  Pinned by tests/unit/test_judge_grams.c. */
#ifndef STN_KERNEL_JUDGE_GRAMS_H
#define STN_KERNEL_JUDGE_GRAMS_H

#include "core/base/map.h"
#include "kernel/judge/view.h"

#define STN_GRAM_MAX     3u
#define STN_GRAM_BITS    21u /**< per symbol of a packed n-gram, oldest in the highest bits */
#define STN_GRAM_SYMBOLS (1u << STN_GRAM_BITS)

/** Zero-initialise. Key: the packed n-gram; value: its count. */
typedef struct stn_grams {
    stn_map counts;
    uint64_t total;
    uint32_t n;
} stn_grams;

/** Count all n-grams inside segments. @pre 1 <= n <= STN_GRAM_MAX, symbols < STN_GRAM_SYMBOLS
 *  @return STN_OK; STN_ENOMEM (grams zeroed) */
stn_status stn_grams_count(stn_grams *grams, const stn_view *view, uint32_t n,
                           stn_err *err) STN_MUST_USE;
void stn_grams_fini(stn_grams *grams);

/** Share of the n-gram @p key, 0 if it does not occur. */
double stn_grams_share(const stn_grams *grams, uint64_t key);

/** Jensen-Shannon divergence in bits, 0 (alike) … 1 (nothing in common).
 *  @return NAN if a side has no n-gram */
double stn_grams_divergence(const stn_grams *a, const stn_grams *b);

#endif
