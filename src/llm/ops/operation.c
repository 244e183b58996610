#include "llm/ops/operation.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

enum { SIGNATURE_MOST = 2048, SHAPE_MOST = 400 };

void stn_operations_fini(stn_operations *list) {
    for (size_t i = 0; i < list->count; i++) {
        stn_free(list->items[i].layers);
    }
    stn_free(list->items);
    stn_intern_fini(&list->signatures);
    memset(list, 0, sizeof *list);
}

const char *stn_operation_shape(stn_exprs *pool, const stn_node *node, bool bound, char *buffer,
                                size_t size) {
    uint32_t used = STN_DIMS;
    while (used > 1 && node->dims[used - 1] == STN_EXPR_ONE) {
        used--;
    }
    snprintf(buffer, size, "%s[", node->type);
    for (uint32_t d = 0; d < used; d++) {
        char text[200];
        stn_expr e = node->dims[d];
        if (bound) {
            e = stn_expr_bind(pool, e, STN_ORIGIN_MODEL);
            e = stn_expr_bind(pool, e, STN_ORIGIN_CONTEXT);
        }
        size_t at = strlen(buffer);
        snprintf(buffer + at, size - at, "%s%s", d ? "," : "",
                 stn_expr_text(pool, e, text, sizeof text));
    }
    size_t at = strlen(buffer);
    snprintf(buffer + at, size - at, "]");
    return buffer;
}

static void add_shape(stn_exprs *pool, const stn_node *node, const char *before, char *text) {
    char shape[SHAPE_MOST];
    size_t at = strlen(text);
    snprintf(text + at, SIGNATURE_MOST - at, "%s%s", before,
             stn_operation_shape(pool, node, true, shape, sizeof shape));
}

/* The norm whose scale @p node is; NULL if it is none. */
static const stn_node *norm_of(const stn_graph *graph, const stn_node *node) {
    const stn_node *a = strcmp(node->op, "MUL") == 0 && node->src[0] != STN_NO_NODE
                            ? &graph->nodes[node->src[0]]
                            : NULL;
    return a && strcmp(a->op, "RMS_NORM") == 0 ? a : NULL;
}

static void write_signature(stn_graph *graph, const stn_node *node, char *text) {
    const stn_node *norm = norm_of(graph, node);
    snprintf(text, SIGNATURE_MOST, "%s%s", norm ? "RMS_NORM+" : "", node->desc);
    for (uint32_t i = 0; i < STN_SRCS; i++) {
        uint32_t src = i == 0 && norm ? norm->src[0] : node->src[i];
        if (src != STN_NO_NODE) {
            add_shape(&graph->exprs, &graph->nodes[src], " ", text);
        }
    }
    add_shape(&graph->exprs, node, " -> ", text);
}

static bool add_layer(stn_operation *one, int32_t layer) {
    if (layer < 0 || (one->layer_count && one->layers[one->layer_count - 1] == layer)) {
        return true;
    }
    size_t at = one->layer_count;
    if (stn_grow(&one->layers, &one->layer_capacity, at + 1, sizeof *one->layers) != STN_OK) {
        return false;
    }
    for (; at > 0 && one->layers[at - 1] > layer; at--) {
        one->layers[at] = one->layers[at - 1];
    }
    one->layers[at] = layer;
    one->layer_count++;
    return true;
}

static bool add(stn_operations *list, stn_graph *graph, uint32_t index) {
    char text[SIGNATURE_MOST];
    const stn_node *node = &graph->nodes[index];
    write_signature(graph, node, text);
    uint32_t id = stn_intern_add(&list->signatures, text, strlen(text));
    if (id == STN_INTERN_NONE) {
        return false;
    }
    if (id == list->count) {
        if (stn_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items) !=
            STN_OK) {
            return false;
        }
        list->items[list->count++] = (stn_operation){
            .signature = list->signatures.texts[id], .kind = node->kind, .node = index};
    }
    list->items[id].count++;
    return add_layer(&list->items[id], node->layer);
}

/* Nodes that a norm's scale stands for. */
static void find_merged(const stn_graph *graph, unsigned char *merged) {
    for (size_t i = 0; i < graph->node_count; i++) {
        if (norm_of(graph, &graph->nodes[i])) {
            merged[graph->nodes[i].src[0]] = 1;
        }
    }
    for (size_t i = 0; i < graph->node_count; i++) { /* unless something else reads it too */
        for (uint32_t s = 0; s < STN_SRCS; s++) {
            uint32_t src = graph->nodes[i].src[s];
            if (src != STN_NO_NODE && merged[src] &&
                !(s == 0 && norm_of(graph, &graph->nodes[i]))) {
                merged[src] = 0;
            }
        }
    }
}

stn_status stn_operations_init(stn_operations *list, stn_graph *graph, stn_err *err) {
    memset(list, 0, sizeof *list);
    unsigned char *merged = stn_calloc(graph->node_count + 1, 1);
    bool fine = merged != NULL;
    if (fine) {
        find_merged(graph, merged);
    }
    for (uint32_t i = 0; fine && i < graph->node_count; i++) {
        if (stn_node_computed(&graph->nodes[i]) && graph->nodes[i].kind != STN_KIND_NONE &&
            !merged[i]) {
            fine = add(list, graph, i);
        }
    }
    stn_free(merged);
    return fine && !graph->exprs.out_of_memory ? STN_OK
                                               : stn_err_set(err, STN_ENOMEM, "out of memory");
}
