/* Cases are sorted and summed whenever the raw ones outnumber the summed ones, so memory
 * follows the number of distinct cases and the order of the result that of the keys. */
#include "kernel/synth/chain.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

enum { RAW_LIMIT = 1 << 20 };

/* ---- building ------------------------------------------------------------ */

static int by_context(const void *a, const void *b) {
    const stn_chain_case *x = a, *y = b;
    if (x->context != y->context) {
        return x->context < y->context ? -1 : 1;
    }
    return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static void merge(stn_chain_builder *builder) {
    if (builder->merged == builder->count) {
        return;
    }
    qsort(builder->cases, builder->count, sizeof *builder->cases, by_context);
    size_t kept = 0;
    for (size_t i = 0; i < builder->count; i++) {
        stn_chain_case *last = kept > 0 ? &builder->cases[kept - 1] : NULL;
        if (last && by_context(last, &builder->cases[i]) == 0) {
            last->count += builder->cases[i].count;
        } else {
            builder->cases[kept++] = builder->cases[i];
        }
    }
    builder->merged = builder->count = kept;
}

stn_status stn_chain_add(stn_chain_builder *builder, uint64_t context, uint32_t symbol) {
    size_t raw = builder->count - builder->merged;
    if (raw >= RAW_LIMIT && raw >= builder->merged) {
        merge(builder);
    }
    if (stn_grow(&builder->cases, &builder->capacity, builder->count + 1, sizeof *builder->cases) !=
        STN_OK) {
        return STN_ENOMEM;
    }
    builder->cases[builder->count++] = (stn_chain_case){context | 1, symbol, 1};
    return STN_OK;
}

void stn_chain_builder_fini(stn_chain_builder *builder) {
    stn_free(builder->cases);
    *builder = (stn_chain_builder){0};
}

static stn_chain_node *slot_of(const stn_chain *chain, uint64_t context) {
    uint32_t mask = chain->node_slots - 1;
    uint32_t at = (uint32_t)(context >> 20) & mask;
    while (chain->nodes[at].context != 0 && chain->nodes[at].context != context) {
        at = (at + 1) & mask;
    }
    return &chain->nodes[at];
}

static stn_status chain_reserve(stn_chain *chain, uint32_t nodes, uint32_t nexts) {
    uint32_t slots = 16;
    while (slots / 2 < nodes) {
        slots *= 2;
    }
    *chain = (stn_chain){.node_slots = slots};
    chain->nodes = stn_calloc(slots, sizeof *chain->nodes);
    chain->nexts = stn_malloc((size_t)nexts * sizeof *chain->nexts);
    if (!chain->nodes || !chain->nexts) {
        stn_chain_fini(chain);
        return STN_ENOMEM;
    }
    return STN_OK;
}

static int by_count(const void *a, const void *b) {
    const stn_chain_next *x = a, *y = b; /* upto still holds the plain count */
    if (x->upto != y->upto) {
        return x->upto > y->upto ? -1 : 1;
    }
    return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* One node of the cases [begin, end), which share a context. */
static void add_node(stn_chain *chain, const stn_chain_case *begin, const stn_chain_case *end) {
    stn_chain_node *node = slot_of(chain, begin->context);
    *node = (stn_chain_node){.context = begin->context, .first = chain->next_count};
    stn_chain_next *nexts = chain->nexts + chain->next_count;
    for (const stn_chain_case *at = begin; at < end; at++) {
        nexts[node->count++] = (stn_chain_next){at->symbol, at->count};
    }
    qsort(nexts, node->count, sizeof *nexts, by_count);
    for (uint32_t i = 0; i < node->count; i++) {
        node->total += nexts[i].upto;
        nexts[i].upto = node->total;
    }
    chain->next_count += node->count;
    chain->node_count++;
}

stn_status stn_chain_build(stn_chain *out, stn_chain_builder *builder) {
    merge(builder);
    uint32_t nodes = 0;
    for (size_t i = 0; i < builder->count; i++) {
        nodes += i == 0 || builder->cases[i].context != builder->cases[i - 1].context;
    }
    if (chain_reserve(out, nodes, (uint32_t)builder->count) != STN_OK) {
        return STN_ENOMEM;
    }
    for (size_t i = 0, end; i < builder->count; i = end) {
        for (end = i + 1; end < builder->count; end++) {
            if (builder->cases[end].context != builder->cases[i].context) {
                break;
            }
        }
        add_node(out, &builder->cases[i], &builder->cases[end]);
    }
    return STN_OK;
}

void stn_chain_fini(stn_chain *chain) {
    stn_free(chain->nodes);
    stn_free(chain->nexts);
    *chain = (stn_chain){0};
}

/* ---- drawing -------------------------------------------------------------- */

const stn_chain_node *stn_chain_find(const stn_chain *chain, uint64_t context) {
    if (chain->node_slots == 0) {
        return NULL;
    }
    const stn_chain_node *node = slot_of(chain, context | 1);
    return node->context ? node : NULL;
}

static uint32_t draw_at(const stn_chain *chain, const stn_chain_node *node, uint32_t at) {
    const stn_chain_next *nexts = chain->nexts + node->first;
    uint32_t low = 0, high = node->count - 1; /* first with upto > at lies in low..high */
    for (uint32_t linear = 0; linear < 4 && low < high; linear++) {
        if (nexts[low].upto > at) {
            return nexts[low].symbol;
        }
        low++;
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (nexts[middle].upto > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return nexts[low].symbol;
}

uint32_t stn_chain_draw(const stn_chain *chain, const uint64_t *rungs, uint32_t count,
                        uint32_t trust, stn_rng *rng) {
    const stn_chain_node *lowest = NULL;
    for (uint32_t i = count; i-- > 0;) {
        const stn_chain_node *node = stn_chain_find(chain, rungs[i]);
        if (!node) {
            continue;
        }
        lowest = node;
        uint64_t down = node->total < trust ? node->count : 0;
        uint64_t at = stn_rng_below(rng, node->total + down);
        if (at < node->total) {
            return draw_at(chain, node, (uint32_t)at);
        }
    }
    if (!lowest) {
        return STN_CHAIN_NONE;
    }
    return draw_at(chain, lowest, (uint32_t)stn_rng_below(rng, lowest->total));
}

static uint32_t count_of(const stn_chain *chain, const stn_chain_node *node, uint32_t symbol) {
    const stn_chain_next *nexts = chain->nexts + node->first;
    for (uint32_t i = 0; i < node->count; i++) {
        if (nexts[i].symbol == symbol) {
            return nexts[i].upto - (i > 0 ? nexts[i - 1].upto : 0);
        }
    }
    return 0;
}

void stn_chain_probabilities(const stn_chain *chain, const uint64_t *rungs, uint32_t count,
                             uint32_t symbol, uint32_t symbols, double *out) {
    double p = 1.0 / symbols;
    for (uint32_t i = 0; i < count; i++) {
        const stn_chain_node *node = stn_chain_find(chain, rungs[i]);
        if (node) {
            p = (count_of(chain, node, symbol) + node->count * p) /
                ((double)node->total + node->count);
        }
        out[i] = p;
    }
}

/* ---- files ------------------------------------------------------------------ */

void stn_chain_put(const stn_chain *chain, stn_blob *blob) {
    stn_blob_u32(blob, chain->node_count);
    stn_blob_u32(blob, chain->next_count);
    for (uint32_t i = 0; i < chain->node_slots; i++) {
        const stn_chain_node *node = &chain->nodes[i];
        if (!node->context) {
            continue;
        }
        stn_blob_u64(blob, node->context);
        stn_blob_u32(blob, node->count);
        for (uint32_t j = 0; j < node->count; j++) {
            stn_blob_u32(blob, chain->nexts[node->first + j].symbol);
            stn_blob_u32(blob, chain->nexts[node->first + j].upto);
        }
    }
}

static bool get_node(stn_chain *chain, stn_cursor *cursor, uint32_t limit, uint32_t next_total) {
    uint64_t context = stn_cursor_u64(cursor);
    uint32_t count = stn_cursor_count(cursor, 8);
    stn_chain_node *node = slot_of(chain, context);
    if (cursor->failed || !(context & 1) || node->context || count == 0 ||
        next_total - chain->next_count < count) {
        return false;
    }
    *node = (stn_chain_node){.context = context, .first = chain->next_count, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t symbol = stn_cursor_u32(cursor), upto = stn_cursor_u32(cursor);
        if (symbol >= limit || upto <= node->total) {
            return false;
        }
        node->total = upto;
        chain->nexts[chain->next_count++] = (stn_chain_next){symbol, upto};
    }
    chain->node_count++;
    return true;
}

stn_status stn_chain_get(stn_chain *chain, stn_cursor *cursor, uint32_t symbol_limit) {
    *chain = (stn_chain){0};
    uint32_t nodes = stn_cursor_u32(cursor);
    uint32_t nexts = stn_cursor_u32(cursor);
    size_t rest = cursor->size - cursor->at;
    if (cursor->failed || nodes > rest / 20 || nexts > rest / 8 || nodes > (UINT32_MAX >> 2)) {
        return STN_EFORMAT;
    }
    if (chain_reserve(chain, nodes, nexts) != STN_OK) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        if (!get_node(chain, cursor, symbol_limit, nexts)) {
            stn_chain_fini(chain);
            return STN_EFORMAT;
        }
    }
    return STN_OK;
}
