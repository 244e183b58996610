/** @file
 *  The operations of one pass as ggml built them: every tensor with its shape, strides and where
 *  it was computed from, and, once labelled, where each dimension comes from.
 *  docs/formats/opgraph.md is the file of it.
 *  Pinned by tests/unit/test_ops_*.c. */
#ifndef STN_LLM_OPS_GRAPH_H
#define STN_LLM_OPS_GRAPH_H

#include "core/base/arena.h"
#include "llm/ops/expr.h"

#define STN_DIMS    4u
#define STN_SRCS    10u
#define STN_PARAMS  16u
#define STN_NO_NODE UINT32_MAX

/** Bits of stn_node.flags. */
typedef enum stn_node_flag {
    STN_NODE_LEAF = 1,   /**< computed by nothing: a weight, an input, a cache */
    STN_NODE_INPUT = 2,  /**< ggml_set_input() */
    STN_NODE_WEIGHT = 4, /**< lies in a buffer of weights */
} stn_node_flag;

/** What an operation is, whatever engine computes it. */
typedef enum stn_kind {
    STN_KIND_NONE, /**< only looks at memory in another way; costs nothing */
    STN_KIND_GEMM,
    STN_KIND_ATTENTION,
    STN_KIND_MOE,
    STN_KIND_NORM,
    STN_KIND_ROPE,
    STN_KIND_ACTIVATION,
    STN_KIND_EMBEDDING,
    STN_KIND_HEAD,  /**< output rows, their logits, sampling */
    STN_KIND_STATE, /**< recurrent */
    STN_KIND_COPY,
    STN_KIND_ELEMENTWISE,
    STN_KIND_COLLECTIVE,
    STN_KIND_OTHER,
    STN_KIND_COUNT,
} stn_kind;

/** "gemm", "attention" … */
const char *stn_kind_name(stn_kind kind);
/** @return STN_KIND_COUNT if there is none of that name */
stn_kind stn_kind_find(const char *name);

typedef struct stn_node {
    const char *name;           /**< "blk.0.attn_q.weight", "Qcur-0" */
    const char *op;             /**< ggml's, "MUL_MAT"; "NONE" for a leaf */
    const char *desc;           /**< "SWIGLU" for the op GLU */
    const char *type;           /**< "q8_0" */
    int64_t ne[STN_DIMS];       /**< innermost first; 1 where there is none */
    uint64_t nb[STN_DIMS];      /**< stride in bytes; nb[0] is of a block of values */
    uint32_t block;             /**< values of a block of the type */
    int32_t params[STN_PARAMS]; /**< op_params */
    uint32_t src[STN_SRCS];     /**< earlier nodes; STN_NO_NODE */
    uint32_t view_src;          /**< whose memory it looks at; STN_NO_NODE */
    uint64_t view_offset;       /**< bytes behind its beginning */
    uint32_t flags;             /**< stn_node_flag */
    int32_t layer;              /**< -1: none */
    stn_expr dims[STN_DIMS];    /**< where ne comes from */
    const char *why[STN_DIMS];  /**< static; why a dimension is unknown, else NULL */
    int32_t stage;              /**< of a pipeline; 0: the only one, or the first */
    stn_kind kind;
} stn_node;

/** One hyper-parameter of the model file, "llama.embedding_length". */
typedef struct stn_meta {
    const char *key, *value;
} stn_meta;

/** Zero-initialise, then stn_graph_init(). Owns all texts. */
typedef struct stn_graph {
    stn_exprs exprs;
    stn_arena arena;
    stn_node *nodes; /**< [node_count]; what is computed from a node comes behind it */
    size_t node_count, node_capacity;
    stn_meta *metas; /**< [meta_count] */
    size_t meta_count, meta_capacity;
    const char *engine; /**< "llama.cpp 0.5.0"; "" */
} stn_graph;

/** @return STN_OK; STN_ENOMEM (nothing to free) */
stn_status stn_graph_init(stn_graph *graph, stn_err *err) STN_MUST_USE;
/** Legal on a zeroed graph. */
void stn_graph_fini(stn_graph *graph);
/** A node with one value, no sources, everything unknown, behind the others; NULL: out of memory.
 *  Valid until the next one is added. */
stn_node *stn_graph_add(stn_graph *graph);
/** Value of "<architecture>.@p key", or of @p key itself; NULL if there is none. */
const char *stn_graph_meta(const stn_graph *graph, const char *key);
/** The same as a number; 0 if there is none or it is no positive whole one. */
int64_t stn_graph_number(const stn_graph *graph, const char *key);
/** Is node @p index computed (not a leaf)? */
static inline bool stn_node_computed(const stn_node *node) {
    return !(node->flags & STN_NODE_LEAF);
}

#endif
