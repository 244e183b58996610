/** @file
 *  Cases of training under nested contexts: the variable-order memory of this room. A query
 *  gives a ladder of contexts, each within the one before it; the deepest one that has enough
 *  cases is looked up, and one of its cases is drawn with equal chance. So a draw is one look
 *  into a table and one into an array, however much hangs on the case.
 *
 *  The cases lie sorted by their ladders: those of a context are neighbours, whatever its
 *  depth, and one array serves all depths. Pinned by tests/unit/test_synth_pool.c. */
#ifndef STN_KERNEL_SYNTH_POOL_H
#define STN_KERNEL_SYNTH_POOL_H

#include "core/base/rng.h"
#include "kernel/synth/blob.h"

enum { STN_POOL_DEPTH = 16 /**< rungs of a ladder, at most */ };

typedef struct stn_pool_node {
    uint64_t context; /**< 0: empty slot */
    uint32_t first;   /**< index of its first case */
    uint32_t count;   /**< cases */
} stn_pool_node;

/** Zero-initialised is an empty pool. */
typedef struct stn_pool {
    stn_pool_node *nodes; /**< [node_slots] open addressing, power of two */
    uint32_t node_slots;
    uint32_t node_count;
    uint32_t *cases; /**< [case_count] */
    uint32_t case_count;
} stn_pool;

typedef struct stn_pool_case {
    uint64_t rungs[STN_POOL_DEPTH]; /**< general to specific; 0 beyond the last */
    uint32_t value;
    uint32_t sure; /**< rungs kept however few cases they have */
} stn_pool_case;

/** Collects cases; zero-initialise, then add. */
typedef struct stn_pool_builder {
    stn_pool_case *cases;
    size_t count, capacity;
} stn_pool_builder;

/** @param rungs [count] hashes, none of them 0
 *  @param sure   how many of them are kept however few cases they have; the same for all cases
 *                that share rung 0  @return STN_OK, STN_ENOMEM */
stn_status stn_pool_add(stn_pool_builder *builder, const uint64_t *rungs, uint32_t count,
                        uint32_t sure, uint32_t value) STN_MUST_USE;
/** Make the pool of all cases so far; the builder keeps them, sorted.
 *  @param least  contexts beyond the sure rungs with fewer cases are left out
 *  @param[out] out  the caller frees with stn_pool_fini()
 *  @return STN_OK; STN_ENOMEM, STN_EFORMAT (more than UINT32_MAX / 4 cases) */
stn_status stn_pool_build(stn_pool *out, stn_pool_builder *builder, uint32_t least) STN_MUST_USE;
void stn_pool_builder_fini(stn_pool_builder *builder);
void stn_pool_fini(stn_pool *pool);

/** Node of a context, or NULL. */
const stn_pool_node *stn_pool_node_of(const stn_pool *pool, uint64_t context);
/** Node of the deepest of @p rungs [count] that is known, or NULL if none is.
 *  @param[out] depth  its rung; may be NULL */
const stn_pool_node *stn_pool_find(const stn_pool *pool, const uint64_t *rungs, uint32_t count,
                                   uint32_t *depth);

/** One of the node's cases. */
static inline uint32_t stn_pool_draw(const stn_pool *pool, const stn_pool_node *node,
                                     stn_rng *rng) {
    return pool->cases[node->first + (uint32_t)stn_rng_below(rng, node->count)];
}

void stn_pool_put(const stn_pool *pool, stn_blob *blob);
/** The values are not looked at: the caller checks them. @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_pool_get(stn_pool *pool, stn_cursor *cursor) STN_MUST_USE;

#endif
