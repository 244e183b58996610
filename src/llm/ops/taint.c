#include "llm/ops/taint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/ops/rules.h"

/* "blk.3.attn_q.weight", "cache_k_l3 (view)", "Qcur-3 (reshaped)": 3; else -1. */
static int32_t layer_in(const char *name) {
    int layer = -1;
    if (sscanf(name, "blk.%d.", &layer) == 1 || sscanf(name, "cache_%*1[a-z]_l%d", &layer) == 1) {
        return layer;
    }
    const char *dash = strrchr(name, '-');
    char *end;
    long value = dash ? strtol(dash + 1, &end, 10) : -1;
    return dash && end != dash + 1 && (*end == '\0' || *end == ' ') ? (int32_t)value : -1;
}

/* What nobody named belongs to the last layer that it comes from. */
static void find_layer(const stn_graph *graph, stn_node *node) {
    node->layer = layer_in(node->name);
    for (uint32_t i = 0; node->layer < 0 && i < STN_SRCS; i++) {
        if (node->src[i] != STN_NO_NODE) {
            int32_t layer = graph->nodes[node->src[i]].layer;
            node->layer = layer > node->layer ? layer : node->layer;
        }
    }
}

static bool mentions(const stn_exprs *pool, const stn_node *node, const char *label) {
    stn_expr e = stn_expr_find(pool, label);
    for (uint32_t d = 0; node && e != STN_EXPR_UNKNOWN && d < STN_DIMS; d++) {
        const stn_expr_node *dim = stn_expr_at(pool, node->dims[d]);
        if (node->dims[d] == e) {
            return true;
        }
        for (uint32_t i = 0; i < dim->count; i++) {
            if (dim->args[i] == e) {
                return true;
            }
        }
    }
    return false;
}

static bool by_experts(const stn_exprs *pool, const stn_node *node, const stn_node *a) {
    static const char *const labels[] = {"n_expert", "n_expert_used", "n_expert_groups"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (mentions(pool, node, labels[i]) || mentions(pool, a, labels[i])) {
            return true;
        }
    }
    return false;
}

/* Is @p node nothing but another look at a leaf called @p name? */
static bool is_named(const stn_node *node, const char *name) {
    return node && strncmp(node->name, name, strlen(name)) == 0;
}

/* The operation's kind by where it stands. */
static void refine_kind(const stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    const stn_node *a = srcs[0];
    bool weight = a && (a->flags & STN_NODE_WEIGHT);
    if (node->kind == STN_KIND_NONE || node->kind == STN_KIND_OTHER) {
        return;
    }
    bool rows = strcmp(node->op, "GET_ROWS") == 0;
    if (rows && is_named(a, "token_embd")) {
        node->kind = STN_KIND_EMBEDDING;
    } else if ((rows && is_named(srcs[1], "out_ids")) ||
               (node->kind == STN_KIND_GEMM && mentions(pool, node, "n_vocab"))) {
        node->kind = STN_KIND_HEAD;
    } else if (node->kind == STN_KIND_GEMM && !weight &&
               (mentions(pool, a, "n_kv") || mentions(pool, a, "n_kv_swa"))) {
        node->kind = STN_KIND_ATTENTION;
    } else if (node->kind != STN_KIND_NORM && by_experts(pool, node, a)) {
        node->kind = STN_KIND_MOE;
    } else if (node->kind == STN_KIND_ATTENTION && strcmp(node->op, "SOFT_MAX") == 0 && !srcs[1]) {
        node->kind = STN_KIND_ACTIVATION;
    } else if (strcmp(node->op, "MUL") == 0 && a && strcmp(a->op, "RMS_NORM") == 0) {
        node->kind = STN_KIND_NORM; /* its scale; engines compute both at once */
    }
}

stn_status stn_taint(stn_graph *graph, stn_err *err) {
    stn_sources_label(graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        stn_node *node = &graph->nodes[i];
        const stn_node *srcs[STN_SRCS] = {NULL};
        for (uint32_t s = 0; s < STN_SRCS; s++) {
            srcs[s] = node->src[s] < i ? &graph->nodes[node->src[s]] : NULL;
        }
        if (stn_node_computed(node)) {
            stn_rule_apply(&graph->exprs, node, srcs);
            refine_kind(&graph->exprs, node, srcs);
        }
        find_layer(graph, node);
    }
    return graph->exprs.out_of_memory ? stn_err_set(err, STN_ENOMEM, "out of memory") : STN_OK;
}

void stn_taint_values(const stn_graph *graph, const stn_graph *other, int64_t *values) {
    for (size_t i = 0; i < graph->exprs.label_count; i++) {
        const stn_label *label = &graph->exprs.labels[i];
        stn_expr e = stn_expr_find(&other->exprs, label->name);
        if (e == STN_EXPR_UNKNOWN || !stn_expr_eval(&other->exprs, e, NULL, &values[i])) {
            values[i] = label->value;
        }
    }
}

stn_status stn_taint_check(const stn_graph *graph, const stn_graph *other, const int64_t *values,
                           stn_err *err) {
    if (graph->node_count != other->node_count) {
        return stn_err_set(err, STN_ECHECK, "one pass has %zu nodes, the other %zu",
                           graph->node_count, other->node_count);
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const stn_node *a = &graph->nodes[i];
        const stn_node *b = &other->nodes[i];
        if (strcmp(a->op, b->op) != 0) {
            return stn_err_set(err, STN_ECHECK, "node %zu (%s) is %s in one pass, %s in the other",
                               i, a->name, a->op, b->op);
        }
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            int64_t value;
            char text[200];
            if (a->dims[d] == STN_EXPR_UNKNOWN) {
                continue;
            }
            bool known = stn_expr_eval(&graph->exprs, a->dims[d], values, &value);
            if (!known || value != b->ne[d]) {
                stn_expr_text(&graph->exprs, a->dims[d], text, sizeof text);
                return known ? stn_err_set(err, STN_ECHECK,
                                           "node %zu (%s, %s): dimension %u: %s = %lld, but "
                                           "there it is %lld",
                                           i, a->name, a->op, d, text, (long long)value,
                                           (long long)b->ne[d])
                             : stn_err_set(err, STN_ECHECK,
                                           "node %zu (%s, %s): dimension %u: %s is no whole "
                                           "number there",
                                           i, a->name, a->op, d, text);
            }
        }
    }
    return STN_OK;
}

void stn_taint_move(stn_graph *graph, const stn_graph *other, const int64_t *values) {
    for (size_t i = 0; i < graph->exprs.label_count; i++) {
        graph->exprs.labels[i].value = values[i];
    }
    for (size_t i = 0; i < graph->node_count && i < other->node_count; i++) {
        stn_node *to = &graph->nodes[i];
        const stn_node *from = &other->nodes[i];
        memcpy(to->ne, from->ne, sizeof to->ne);
        memcpy(to->nb, from->nb, sizeof to->nb);
        memcpy(to->params, from->params, sizeof to->params);
        to->view_offset = from->view_offset;
    }
}

size_t stn_taint_unknown(const stn_graph *graph) {
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            count += graph->nodes[i].dims[d] == STN_EXPR_UNKNOWN;
        }
    }
    return count;
}

/* Queries are [head_dim, tokens of a sequence, heads, sequences]; where all sequences share a cache
 * there is only one of them, which has all tokens. */
const char *stn_taint_phase(const stn_graph *graph) {
    for (size_t i = 0; i < graph->node_count; i++) {
        const stn_node *node = &graph->nodes[i];
        bool flash = strcmp(node->op, "FLASH_ATTN_EXT") == 0;
        bool soft = strcmp(node->op, "SOFT_MAX") == 0 && node->kind == STN_KIND_ATTENTION;
        const stn_node *query = flash && node->src[0] != STN_NO_NODE ? &graph->nodes[node->src[0]]
                                : soft                               ? node
                                                                     : NULL;
        if (query) {
            return query->dims[1] == STN_EXPR_UNKNOWN ? ""
                   : query->ne[1] == 1                ? "decode"
                                                      : "prefill";
        }
    }
    return "";
}
