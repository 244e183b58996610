/** @file
 *  What becomes of labels when memory is looked at in another way: reshape and view. A shape is
 *  taken apart into its factors, each with the stride at which it lies, and the new dimensions
 *  gather them again. Sizes only decide where a product is cut, never what a factor is called.
 *  Pinned by tests/unit/test_ops_layout.c. */
#ifndef STN_LLM_OPS_LAYOUT_H
#define STN_LLM_OPS_LAYOUT_H

#include "llm/ops/graph.h"

/** What is looked at. */
typedef struct stn_layout {
    const int64_t *ne;    /**< [STN_DIMS] */
    const uint64_t *nb;   /**< [STN_DIMS] bytes; NULL: the values lie without gaps */
    const stn_expr *dims; /**< [STN_DIMS]; not read of the new one */
    uint32_t block;       /**< values of a block */
    bool sorted;          /**< its dimension 0 is in order: its head are the best */
} stn_layout;

/** Labels of @p to, which looks at @p from from @p offset bytes on.
 *  @param[out] dims  [STN_DIMS]  @param[out] why  [STN_DIMS] static text where it is unknown */
void stn_layout_regroup(stn_exprs *pool, const stn_layout *from, const stn_layout *to,
                        uint64_t offset, stn_expr *dims, const char **why);

/** What the first @p count of a sorted dimension @p from are: n_expert_used of n_expert; unknown
 *  if nothing says so. */
stn_expr stn_layout_best(stn_exprs *pool, stn_expr from, int64_t count);

#endif
