/** @file
 *  What the shim (src/llm/engine/shim) has written: lines of JSON, {"meta": {…}} for a model file
 *  that was opened, {"tensors": […]} for a pass, {"error": "…"}. The file is temporary and of the
 *  same build; it is read with care because the program that was watched may have died.
 *  Pinned by tests/unit/test_ops_graph.c, tests/fuzz/fuzz_raw.c. */
#ifndef STN_LLM_OPS_RAW_H
#define STN_LLM_OPS_RAW_H

#include "llm/ops/graph.h"

/** Zero-initialise, then stn_raw_read(). */
typedef struct stn_raw {
    stn_graph *passes; /**< [count], unlabelled, in the order in which they were computed; each with
                            the metadata of the model that was opened last before it */
    size_t count, capacity;
} stn_raw;

/** Add the passes of @p text [size]. @param name what to call it in messages
 *  @return STN_OK; STN_EFORMAT (line, what was found), STN_EUNSUPPORTED (an error line),
 *          STN_ENOMEM; stn_raw_fini() all the same */
stn_status stn_raw_read(stn_raw *raw, const char *text, size_t size, const char *name,
                        stn_err *err) STN_MUST_USE;
/** Legal on a zeroed one. */
void stn_raw_fini(stn_raw *raw);

/** The pass that shows most: with most computed nodes, of these the one with fewest sizes of 1
 *  (where it is hard to tell what they are), then the largest. @pre raw->count > 0 */
size_t stn_raw_fullest(const stn_raw *raw);
/** The same among the passes that have the operations of pass @p like. */
size_t stn_raw_fullest_like(const stn_raw *raw, size_t like);
/** Have two passes the same operations, node by node? */
bool stn_raw_same(const stn_graph *a, const stn_graph *b);

#endif
