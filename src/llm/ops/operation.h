/** @file
 *  The distinct operations of a pass: nodes that do the same work on the same sizes, whichever
 *  layer they stand in. Hyper-parameters and cache sizes are numbers in a signature, sizes of the
 *  request stay labels, so that it names a curve to be measured once.
 *  Pinned by tests/unit/test_ops_graph.c. */
#ifndef STN_LLM_OPS_OPERATION_H
#define STN_LLM_OPS_OPERATION_H

#include "llm/ops/graph.h"

typedef struct stn_operation {
    const char *signature; /**< "MUL_MAT q8_0[4096,4096] f32[4096,n_tokens] -> f32[4096,n_tokens]";
                                the list's */
    stn_kind kind;
    uint32_t node;   /**< the first */
    uint32_t count;  /**< how many nodes */
    int32_t *layers; /**< [layer_count] rising; without -1 */
    size_t layer_count, layer_capacity;
} stn_operation;

/** Zero-initialise, then stn_operations_init(). */
typedef struct stn_operations {
    stn_intern signatures;
    stn_operation *items; /**< [count] in the order of the pass */
    size_t count, capacity;
} stn_operations;

/** Sum up @p graph, which is labelled. What only looks at memory in another way is left out; a norm
 *  and the scale behind it are one. @return STN_OK; STN_ENOMEM; fini all the same */
stn_status stn_operations_init(stn_operations *list, stn_graph *graph, stn_err *err) STN_MUST_USE;
/** Legal on a zeroed list. */
void stn_operations_fini(stn_operations *list);

/** "f32[4096,n_tokens]" of @p node into @p buffer, trailing ones left out. @return @p buffer */
const char *stn_operation_shape(stn_exprs *pool, const stn_node *node, bool bound, char *buffer,
                                size_t size);

#endif
