#include "llm/ops/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static const char *const kinds[STN_KIND_COUNT] = {
    "none",      "gemm", "attention", "moe",  "norm",        "rope",       "activation",
    "embedding", "head", "state",     "copy", "elementwise", "collective", "other"};

const char *stn_kind_name(stn_kind kind) {
    return kinds[kind];
}

stn_kind stn_kind_find(const char *name) {
    int kind = 0;
    while (kind < STN_KIND_COUNT && strcmp(kinds[kind], name) != 0) {
        kind++;
    }
    return (stn_kind)kind;
}

stn_status stn_graph_init(stn_graph *graph, stn_err *err) {
    memset(graph, 0, sizeof *graph);
    graph->engine = "";
    return stn_exprs_init(&graph->exprs, err);
}

void stn_graph_fini(stn_graph *graph) {
    stn_exprs_fini(&graph->exprs);
    stn_arena_fini(&graph->arena);
    stn_free(graph->nodes);
    stn_free(graph->metas);
    memset(graph, 0, sizeof *graph);
}

stn_node *stn_graph_add(stn_graph *graph) {
    if (stn_grow(&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                 sizeof *graph->nodes) != STN_OK) {
        return NULL;
    }
    stn_node *node = &graph->nodes[graph->node_count++];
    *node = (stn_node){.name = "",
                       .op = "NONE",
                       .desc = "NONE",
                       .type = "f32",
                       .ne = {1, 1, 1, 1},
                       .nb = {4, 4, 4, 4},
                       .block = 1,
                       .view_src = STN_NO_NODE,
                       .layer = -1,
                       .kind = STN_KIND_NONE};
    for (uint32_t i = 0; i < STN_SRCS; i++) {
        node->src[i] = STN_NO_NODE;
    }
    return node;
}

const char *stn_graph_meta(const stn_graph *graph, const char *key) {
    const char *architecture = strcmp(key, "general.architecture") == 0
                                   ? ""
                                   : stn_graph_meta(graph, "general.architecture");
    size_t size = architecture ? strlen(architecture) : 0;
    for (size_t i = 0; i < graph->meta_count; i++) {
        const char *have = graph->metas[i].key;
        if (strcmp(have, key) == 0 || (size && strncmp(have, architecture, size) == 0 &&
                                       have[size] == '.' && strcmp(have + size + 1, key) == 0)) {
            return graph->metas[i].value;
        }
    }
    return NULL;
}

int64_t stn_graph_number(const stn_graph *graph, const char *key) {
    const char *text = stn_graph_meta(graph, key);
    char *end = NULL;
    long long value = text ? strtoll(text, &end, 10) : 0;
    return value > 0 && end && *end == '\0' ? value : 0;
}
