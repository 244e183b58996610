/** @file
 *  The op graph as a file: docs/formats/opgraph.md.
 *  Pinned by tests/unit/test_ops_graph.c, tests/fuzz/fuzz_opgraph.c. */
#ifndef STN_LLM_OPS_FILE_H
#define STN_LLM_OPS_FILE_H

#include "llm/ops/graph.h"

/** Write @p graph, labelled, to @p path, there whole or not at all.
 *   @return STN_OK; STN_EIO, STN_EPERM, STN_ENOMEM */
stn_status stn_graph_write(stn_graph *graph, const char *path, stn_err *err) STN_MUST_USE;

/** Read one back: labels, nodes, what they are computed from.
 *  @return STN_OK (stn_graph_fini() when done); STN_EIO, STN_EFORMAT (which node, what was
 *          expected), STN_ENOMEM; on error there is nothing to free */
stn_status stn_graph_read(stn_graph *graph, const char *path, stn_err *err) STN_MUST_USE;
/** The same from memory. @param name what to call it in messages */
stn_status stn_graph_parse(stn_graph *graph, const char *text, size_t size, const char *name,
                           stn_err *err) STN_MUST_USE;

#endif
