/** @file
 *  Where a dimension comes from, as an expression over labels: n_head_kv*head_dim,
 *  n_tokens/n_seqs, kv_lora_rank+qk_rope_dim. Expressions are interned: equal ones have the same
 *  number. A product keeps the order of its factors in memory (innermost first), because a reshape
 *  splits it there; as text the outermost stands first.
 *  Pinned by tests/unit/test_ops_expr.c, tests/fuzz/fuzz_opgraph.c. */
#ifndef STN_LLM_OPS_EXPR_H
#define STN_LLM_OPS_EXPR_H

#include "core/base/intern.h"
#include "core/base/map.h"

/** Number of an expression in its pool. */
typedef uint32_t stn_expr;
#define STN_EXPR_UNKNOWN 0u /**< what cannot be known; equal to nothing, itself included */
#define STN_EXPR_ONE     1u
#define STN_EXPR_ARGS    16u /**< most terms or factors of one expression */

/** Who fixes the value of a label. */
typedef enum stn_origin {
    STN_ORIGIN_MODEL,   /**< a hyper-parameter */
    STN_ORIGIN_REQUEST, /**< the batch: differs from pass to pass */
    STN_ORIGIN_CONTEXT, /**< the engine's context: size of the KV cache */
    STN_ORIGIN_COUNT,
} stn_origin;

/** "model", "request", "context". */
const char *stn_origin_name(stn_origin origin);

typedef struct stn_label {
    const char *name; /**< [a-z_][a-z0-9_.]*, the pool's */
    stn_origin origin;
    int64_t value; /**< when captured; at least 1 */
} stn_label;

/** Zero-initialise, then stn_exprs_init(). Owns expressions and labels. */
typedef struct stn_exprs {
    stn_arena arena;                    /**< the nodes */
    const struct stn_expr_node **nodes; /**< [node_count] */
    size_t node_count, node_capacity;
    stn_map by_hash; /**< of a node, or of the hash before it if that is taken, to its number */
    stn_intern names;
    stn_label *labels; /**< [label_count], by the ids of names */
    size_t label_count, label_capacity;
    bool out_of_memory; /**< some result since then is unknown for want of memory */
} stn_exprs;

/** @return STN_OK; STN_ENOMEM (nothing to free) */
stn_status stn_exprs_init(stn_exprs *pool, stn_err *err) STN_MUST_USE;
/** Legal on a zeroed pool. */
void stn_exprs_fini(stn_exprs *pool);

typedef enum stn_expr_kind {
    STN_EXPR_IS_UNKNOWN,
    STN_EXPR_IS_CONST,
    STN_EXPR_IS_LABEL,
    STN_EXPR_IS_PRODUCT,  /**< at least two factors, innermost first */
    STN_EXPR_IS_QUOTIENT, /**< without rest: args[0] by args[1] */
    STN_EXPR_IS_SUM,      /**< at least two terms, in the order of memory */
} stn_expr_kind;

/** How an expression is made. */
typedef struct stn_expr_node {
    uint32_t kind; /**< stn_expr_kind */
    uint32_t count;
    int64_t value; /**< of a constant; id of a label */
    stn_expr args[STN_EXPR_ARGS];
} stn_expr_node;

/** @pre @p e is of @p pool. Valid as long as the pool. */
const stn_expr_node *stn_expr_at(const stn_exprs *pool, stn_expr e);

stn_expr stn_expr_const(stn_exprs *pool, int64_t value);
/** The label @p name; @p origin and @p value are set the first time. */
stn_expr stn_expr_label(stn_exprs *pool, const char *name, stn_origin origin, int64_t value);
/** Its label if there is one of that name, else unknown. */
stn_expr stn_expr_find(const stn_exprs *pool, const char *name);
/** Products are flattened, constants folded, a quotient cancels beside its divisor. Unknown if one
 *  of @p args [count] is, or if there are too many. */
stn_expr stn_expr_product(stn_exprs *pool, const stn_expr *args, size_t count);
stn_expr stn_expr_sum(stn_exprs *pool, const stn_expr *args, size_t count);
stn_expr stn_expr_quotient(stn_exprs *pool, stn_expr a, stn_expr b);

/** Value of @p e with @p values [label_count] of the labels (NULL: as captured).
 *  @return false: unknown, a division leaves a rest, or it does not fit */
bool stn_expr_eval(const stn_exprs *pool, stn_expr e, const int64_t *values, int64_t *out);
/** Does @p e depend on a label of @p origin? */
bool stn_expr_has(const stn_exprs *pool, stn_expr e, stn_origin origin);
/** @p e with the labels of @p origin replaced by their values. */
stn_expr stn_expr_bind(stn_exprs *pool, stn_expr e, stn_origin origin);
/** @p e with label @p from replaced by @p to. */
stn_expr stn_expr_replace(stn_exprs *pool, stn_expr e, stn_expr from, stn_expr to);

/** As text, "?" for unknown, cut at @p size. @return @p buffer */
const char *stn_expr_text(const stn_exprs *pool, stn_expr e, char *buffer, size_t size);
/** Back from text; the labels must be there.
 *  @return STN_OK; STN_EFORMAT (where, and what was expected), STN_ENOMEM */
stn_status stn_expr_parse(stn_exprs *pool, const char *text, stn_expr *out,
                          stn_err *err) STN_MUST_USE;

#endif
