/** @file
 *  The picture of `standin llm ops --html`: a row for each distinct operation, a column for each
 *  layer. Self-contained, without script. Pinned by tests/e2e/llm_ops.bats. */
#ifndef STN_APP_OPS_HTML_H
#define STN_APP_OPS_HTML_H

#include "llm/ops/operation.h"

/** Write the page to @p path (temporary, then renamed). @p name what was read
 *  @return STN_OK, STN_EIO, STN_ENOMEM */
stn_status stn_ops_html(const stn_graph *graph, const stn_operations *list, const char *name,
                        const char *path, stn_err *err) STN_MUST_USE;

/** "0-3,7" of rising @p layers [count] into @p buffer, cut at @p size. @return @p buffer */
const char *stn_ops_layers(const int32_t *layers, size_t count, char *buffer, size_t size);

#endif
