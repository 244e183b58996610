/* Bytes of any kind as an op graph: refused with its name, or a graph whose operations can be
 * summed up and whose expressions come back from their texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/ops/file.h"
#include "llm/ops/operation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_opgraph: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    stn_graph graph;
    stn_operations list;
    stn_err err = {0};
    if (stn_graph_parse(&graph, (const char *)data, size, "graph", &err) != STN_OK) {
        want(strncmp(err.text, "graph: ", 7) == 0, "refused without saying where");
        return 0;
    }
    for (size_t i = 0; i < graph.node_count; i++) {
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            char text[4096];
            stn_expr e = graph.nodes[i].dims[d];
            stn_expr back;
            stn_expr_text(&graph.exprs, e, text, sizeof text);
            if (strlen(text) + 1 < sizeof text) {
                want(stn_expr_parse(&graph.exprs, text, &back, &err) == STN_OK && back == e,
                     "an expression reads as another one");
            }
        }
    }
    want(stn_operations_init(&list, &graph, &err) == STN_OK, "its operations cannot be summed up");
    stn_operations_fini(&list);
    stn_graph_fini(&graph);
    return 0;
}
