/* Bytes of any kind as what the shim wrote: refused with its name, or passes that can be labelled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/ops/raw.h"
#include "llm/ops/taint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_capture: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    stn_raw raw = {0};
    stn_err err = {0};
    stn_status status = stn_raw_read(&raw, (const char *)data, size, "capture", &err);
    want(status == STN_OK || strncmp(err.text, "capture: ", 9) == 0,
         "refused without saying where");
    for (size_t i = 0; i < raw.count && status == STN_OK; i++) {
        stn_graph *graph = &raw.passes[i];
        int64_t value;
        want(stn_taint(graph, &err) == STN_OK, "a pass that was read cannot be labelled");
        for (size_t n = 0; n < graph->node_count; n++) {
            for (uint32_t d = 0; d < STN_DIMS; d++) {
                stn_expr e = graph->nodes[n].dims[d];
                want(e == STN_EXPR_UNKNOWN || (stn_expr_eval(&graph->exprs, e, NULL, &value) &&
                                               value == graph->nodes[n].ne[d]),
                     "a label has another size");
            }
        }
    }
    stn_raw_fini(&raw);
    return 0;
}
