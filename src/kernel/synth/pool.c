/* A context that is known has all those above it known too, so the deepest one is found by
 * halving the ladder, not by climbing down it. */
#include "kernel/synth/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

enum { NODE_BYTES = 16 };

/* ---- building ------------------------------------------------------------ */

stn_status stn_pool_add(stn_pool_builder *builder, const uint64_t *rungs, uint32_t count,
                        uint32_t sure, uint32_t value) {
    if (stn_grow(&builder->cases, &builder->capacity, builder->count + 1, sizeof *builder->cases) !=
        STN_OK) {
        return STN_ENOMEM;
    }
    stn_pool_case *out = &builder->cases[builder->count++];
    *out = (stn_pool_case){.value = value, .sure = sure};
    memcpy(out->rungs, rungs, count * sizeof *rungs);
    return STN_OK;
}

void stn_pool_builder_fini(stn_pool_builder *builder) {
    stn_free(builder->cases);
    *builder = (stn_pool_builder){0};
}

static int by_ladder(const void *a, const void *b) {
    const stn_pool_case *x = a, *y = b;
    for (int i = 0; i < STN_POOL_DEPTH; i++) {
        if (x->rungs[i] != y->rungs[i]) {
            return x->rungs[i] < y->rungs[i] ? -1 : 1;
        }
    }
    return x->value < y->value ? -1 : x->value > y->value;
}

static stn_pool_node *slot_of(const stn_pool *pool, uint64_t context) {
    uint32_t mask = pool->node_slots - 1;
    uint32_t at = (uint32_t)(context >> 20) & mask;
    while (pool->nodes[at].context != 0 && pool->nodes[at].context != context) {
        at = (at + 1) & mask;
    }
    return &pool->nodes[at];
}

static stn_status reserve(stn_pool *pool, uint32_t nodes, uint32_t cases) {
    uint32_t slots = 16;
    while (slots / 2 < nodes) {
        slots *= 2;
    }
    *pool = (stn_pool){.node_slots = slots};
    pool->nodes = stn_calloc(slots, sizeof *pool->nodes);
    pool->cases = stn_malloc((cases > 0 ? cases : 1) * sizeof *pool->cases);
    if (!pool->nodes || !pool->cases) {
        stn_pool_fini(pool);
        return STN_ENOMEM;
    }
    return STN_OK;
}

/* Cases from @p first on that share the rung @p depth. */
static size_t group_end(const stn_pool_builder *builder, size_t first, uint32_t depth) {
    size_t end = first + 1;
    while (end < builder->count &&
           builder->cases[end].rungs[depth] == builder->cases[first].rungs[depth]) {
        end++;
    }
    return end;
}

/* Calls for each context kept; @p pool NULL: only counts them. */
static uint32_t each_group(const stn_pool_builder *builder, uint32_t least, stn_pool *pool) {
    uint32_t kept = 0;
    for (uint32_t depth = 0; depth < STN_POOL_DEPTH; depth++) {
        size_t end;
        for (size_t first = 0; first < builder->count; first = end) {
            uint64_t context = builder->cases[first].rungs[depth];
            end = group_end(builder, first, depth);
            if (context == 0 || (depth >= builder->cases[first].sure && end - first < least)) {
                continue;
            }
            kept++;
            if (pool) {
                stn_pool_node *node = slot_of(pool, context);
                pool->node_count += node->context == 0;
                *node = (stn_pool_node){context, (uint32_t)first, (uint32_t)(end - first)};
            }
        }
    }
    return kept;
}

stn_status stn_pool_build(stn_pool *out, stn_pool_builder *builder, uint32_t least) {
    *out = (stn_pool){0};
    if (builder->count > UINT32_MAX / 4) {
        return STN_EFORMAT;
    }
    if (builder->count > 0) {
        qsort(builder->cases, builder->count, sizeof *builder->cases, by_ladder);
    }
    uint32_t nodes = each_group(builder, least, NULL);
    if (reserve(out, nodes, (uint32_t)builder->count) != STN_OK) {
        return STN_ENOMEM;
    }
    out->case_count = (uint32_t)builder->count;
    for (size_t i = 0; i < builder->count; i++) {
        out->cases[i] = builder->cases[i].value;
    }
    each_group(builder, least, out);
    return STN_OK;
}

void stn_pool_fini(stn_pool *pool) {
    stn_free(pool->nodes);
    stn_free(pool->cases);
    *pool = (stn_pool){0};
}

/* ---- looking up ----------------------------------------------------------- */

const stn_pool_node *stn_pool_node_of(const stn_pool *pool, uint64_t context) {
    if (pool->node_slots == 0) {
        return NULL;
    }
    const stn_pool_node *node = slot_of(pool, context);
    return node->context ? node : NULL;
}

const stn_pool_node *stn_pool_find(const stn_pool *pool, const uint64_t *rungs, uint32_t count,
                                   uint32_t *depth) {
    const stn_pool_node *best = NULL;
    uint32_t low = 0, high = count; /* rungs below low are known, those from high on are not */
    for (uint32_t i = 0; i < count && pool->node_slots > 0; i++) {
        /* each look waits for memory: let them wait together */
        __builtin_prefetch(&pool->nodes[(uint32_t)(rungs[i] >> 20) & (pool->node_slots - 1)]);
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const stn_pool_node *node = stn_pool_node_of(pool, rungs[middle]);
        if (node) {
            best = node;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (depth) {
        *depth = low > 0 ? low - 1 : 0;
    }
    return best;
}

/* ---- files ------------------------------------------------------------------ */

void stn_pool_put(const stn_pool *pool, stn_blob *blob) {
    stn_blob_u32(blob, pool->node_count);
    stn_blob_u32(blob, pool->case_count);
    for (uint32_t i = 0; i < pool->node_slots; i++) {
        const stn_pool_node *node = &pool->nodes[i];
        if (node->context) {
            stn_blob_u64(blob, node->context);
            stn_blob_u32(blob, node->first);
            stn_blob_u32(blob, node->count);
        }
    }
    for (uint32_t i = 0; i < pool->case_count; i++) {
        stn_blob_u32(blob, pool->cases[i]);
    }
}

stn_status stn_pool_get(stn_pool *pool, stn_cursor *cursor) {
    *pool = (stn_pool){0};
    uint32_t nodes = stn_cursor_u32(cursor), cases = stn_cursor_u32(cursor);
    size_t rest = cursor->size - cursor->at;
    if (cursor->failed || nodes > rest / NODE_BYTES || cases > rest / 4 ||
        nodes > (UINT32_MAX >> 2)) {
        return STN_EFORMAT;
    }
    if (reserve(pool, nodes, cases) != STN_OK) {
        return STN_ENOMEM;
    }
    pool->case_count = cases;
    for (uint32_t i = 0; i < nodes; i++) {
        uint64_t context = stn_cursor_u64(cursor);
        uint32_t first = stn_cursor_u32(cursor), count = stn_cursor_u32(cursor);
        stn_pool_node *node = context ? slot_of(pool, context) : NULL;
        if (!node || node->context || count == 0 || first > cases || count > cases - first) {
            stn_pool_fini(pool);
            return STN_EFORMAT;
        }
        *node = (stn_pool_node){context, first, count};
        pool->node_count++;
    }
    for (uint32_t i = 0; i < cases; i++) {
        pool->cases[i] = stn_cursor_u32(cursor);
    }
    if (cursor->failed) {
        stn_pool_fini(pool);
        return STN_EFORMAT;
    }
    return STN_OK;
}
