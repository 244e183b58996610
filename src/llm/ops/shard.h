/** @file
 *  An op graph as one rank of several computes it, with the collectives between them.
 *
 *  Tensor parallel: heads, feed-forward widths and the vocabulary are cut (key heads at least one a
 *  rank; a vocabulary that does not divide stays whole). A product over a cut dimension gives a
 * part of a sum; it is carried through what is linear and reduced where something else reads it.
 *  Expert parallel: experts are spread over ranks that each have their own tokens and all of the
 *  rest; what goes to experts and comes back is exchanged. Pipeline parallel: layers in stages.
 *  Source: Shoeybi et al., arXiv:1909.08053, sec. 3; Lepikhin et al., arXiv:2006.16668, sec. 3.
 *  Pinned by tests/unit/test_ops_shard.c, tests/e2e/llm_ops.bats. */
#ifndef STN_LLM_OPS_SHARD_H
#define STN_LLM_OPS_SHARD_H

#include "llm/ops/graph.h"

/** Ranks of each kind; 1: not. */
typedef struct stn_sharding {
    uint32_t tp, ep, pp;
} stn_sharding;

/** Rewrite @p graph, labelled, in place: labels tp, ep and pp, nodes ALL_REDUCE, ALL_GATHER,
 *  ALL_TO_ALL and SEND_RECV of kind collective, a stage for each node. Weights of unknown
 *  hyper-parameters stay whole.
 *  @return STN_OK; STN_ERANGE (a size does not divide, ep beside tp, more stages than layers, or it
 *          is sharded already; @p graph as before but for labels), STN_ENOMEM */
stn_status stn_shard(stn_graph *graph, const stn_sharding *by, stn_err *err) STN_MUST_USE;

#endif
