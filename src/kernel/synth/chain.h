/** @file
 *  Counts of symbols after contexts, with back-off: the one learner of this room. Event types,
 *  the CPU of the next event, time steps, and every attribute are drawn from such chains.
 *
 *  A context is a 64-bit hash; a query gives a ladder of contexts from the most general
 *  (rung 0) to the most specific. The estimate is Witten and Bell's (1991, method C):
 *  with n cases, u distinct symbols in a context,
 *      P_k(s) = (count_k(s) + u P_{k-1}(s)) / (n + u),
 *  so a draw takes the rung's own counts with probability n / (n + u), else steps down.
 *  Pinned by tests/unit/test_synth_chain.c. */
#ifndef STN_KERNEL_SYNTH_CHAIN_H
#define STN_KERNEL_SYNTH_CHAIN_H

#include "core/base/rng.h"
#include "kernel/synth/blob.h"

/** "No symbol": the context ladder was never seen. */
#define STN_CHAIN_NONE UINT32_MAX

typedef struct stn_chain_node {
    uint64_t context; /**< 0: empty slot */
    uint32_t first;   /**< index of its first successor */
    uint32_t count;   /**< distinct successors */
    uint32_t total;   /**< cases */
    uint32_t unused;
} stn_chain_node;

typedef struct stn_chain_next {
    uint32_t symbol;
    uint32_t upto; /**< cases of this and all successors before it in the node */
} stn_chain_next;

/** Zero-initialised is an empty chain. */
typedef struct stn_chain {
    stn_chain_node *nodes; /**< [node_slots] open addressing, power of two */
    uint32_t node_slots;
    uint32_t node_count;
    stn_chain_next *nexts; /**< [next_count] within a node by falling count */
    uint32_t next_count;
} stn_chain;

typedef struct stn_chain_case {
    uint64_t context;
    uint32_t symbol;
    uint32_t count;
} stn_chain_case;

/** Collects cases; zero-initialise, then add. */
typedef struct stn_chain_builder {
    stn_chain_case *cases; /**< [merged] sorted and summed, then raw ones up to count */
    size_t merged, count, capacity;
} stn_chain_builder;

/** Count @p symbol after @p context once. @return STN_OK, STN_ENOMEM */
stn_status stn_chain_add(stn_chain_builder *builder, uint64_t context,
                         uint32_t symbol) STN_MUST_USE;
/** Make the chain of all cases so far; the builder goes on unchanged.
 *  @param[out] out  the caller frees with stn_chain_fini()  @return STN_OK, STN_ENOMEM */
stn_status stn_chain_build(stn_chain *out, stn_chain_builder *builder) STN_MUST_USE;
void stn_chain_builder_fini(stn_chain_builder *builder);
void stn_chain_fini(stn_chain *chain);

/** Node of a context, or NULL. */
const stn_chain_node *stn_chain_find(const stn_chain *chain, uint64_t context);
/** Draw a symbol given @p rungs [count], general to specific; STN_CHAIN_NONE if no rung was
 *  ever seen. @param trust a rung with at least so many cases is not stepped down from */
uint32_t stn_chain_draw(const stn_chain *chain, const uint64_t *rungs, uint32_t count,
                        uint32_t trust, stn_rng *rng);
/** P(symbol) after each prefix of the ladder: @p out [count]; below rung 0 lies the uniform
 *  distribution over @p symbols. */
void stn_chain_probabilities(const stn_chain *chain, const uint64_t *rungs, uint32_t count,
                             uint32_t symbol, uint32_t symbols, double *out);

void stn_chain_put(const stn_chain *chain, stn_blob *blob);
/** @param symbol_limit symbols must be below it  @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_chain_get(stn_chain *chain, stn_cursor *cursor, uint32_t symbol_limit) STN_MUST_USE;

/** Hash of a context from the hash of a shorter one and one more word; never 0. */
static inline uint64_t stn_chain_mix(uint64_t hash, uint64_t word) {
    /* the word's product does not wait for the hash: a ladder costs one product a rung */
    uint64_t x = (hash + (word + 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu) * 0xc4ceb9fe1a85ec53u;
    return (x ^ x >> 32) | 1;
}

#endif
