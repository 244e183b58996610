/** @file
 *  How labels pass through each ggml operation: one row an operation.
 *  Source: ggml/src/ggml.c of llama.cpp 0.5.0, the constructors.
 *  Pinned by tests/unit/test_ops_rules.c, which has a case for every row. */
#ifndef STN_LLM_OPS_RULES_H
#define STN_LLM_OPS_RULES_H

#include "llm/ops/graph.h"

/** Dimensions that a formula cannot give. @p srcs [STN_SRCS], NULL where there is none.
 *  Fills node->dims; node->why where it leaves one unknown. */
typedef void (*stn_rule_fn)(stn_exprs *pool, stn_node *node, const stn_node *const *srcs);

typedef struct stn_rule_row {
    const char *op;
    stn_kind kind; /**< unless its place in the graph says more */
    /** [STN_DIMS] words "b1": dimension 1 of source b (the second); sums and products of them,
     *  outermost first; "?": unknown. NULL: as source a, all four. */
    const char *formula;
    stn_rule_fn fn; /**< instead of a formula */
} stn_rule_row;

/** Row @p index; NULL behind the last. */
const stn_rule_row *stn_rule_at(uint32_t index);
/** The row of @p op or NULL. */
const stn_rule_row *stn_rule_find(const char *op);

/** Label the dimensions of @p node, which is computed, from its sources. A rule's word counts only
 *  if it evaluates to what is there; else the dimension is unknown. */
void stn_rule_apply(stn_exprs *pool, stn_node *node, const stn_node *const *srcs);

#endif
