/** @file
 *  The graph of one pass, from llama.cpp itself or from any program that has ggml compute through
 *  shared libraries. The shim libstandin-ggml.so writes it down; here it is run, read and labelled.
 *  Pinned by tests/unit/test_engine_capture.c, tests/e2e/llm_capture.bats. */
#ifndef STN_LLM_ENGINE_CAPTURE_H
#define STN_LLM_ENGINE_CAPTURE_H

#include "llm/engine/llama.h"
#include "llm/ops/graph.h"

/** A pass in which every size of the request is another one: 42 tokens of 3 sequences, 400 of 1024
 *  cells in use, 5 outputs. */
stn_llama_pass stn_capture_pass(void);

/** What was seen. */
typedef struct stn_captured {
    stn_graph graph;         /**< labelled */
    size_t passes;           /**< that were seen */
    size_t checked;          /**< of them had the same operations and other sizes, which the labels
                                  predicted */
    uint64_t peak_rss_bytes; /**< of the process that was watched */
} stn_captured;

/** Have llama.cpp build the pass @p pass of the GGUF file @p path, in a process of its own: nothing
 *  is computed, no weight is read.
 *  @param[out] out  stn_captured_fini() when done; on error there is nothing to free
 *  @return STN_OK; STN_ENOTFOUND, STN_EUNSUPPORTED (no llama.cpp, no shim), STN_ERANGE (a size),
 *          STN_ECHECK (llama.cpp refuses it or dies over it, its words; labels that another pass
 *          contradicts), STN_EIO, STN_ENOMEM */
stn_status stn_capture_model(stn_captured *out, const char *path, const stn_llama_pass *pass,
                             stn_err *err) STN_MUST_USE;

/** Run @p argv (ends with NULL) with the shim before it and take the pass that shows most.
 *  @param skip  compute nothing: its results are then worth nothing
 *  @return as above; STN_ENOTFOUND (no such program), STN_EUNSUPPORTED (it is static), STN_ECHECK
 *          (it computed no graph that could be seen) */
stn_status stn_capture_program(stn_captured *out, const char *const *argv, bool skip,
                               stn_err *err) STN_MUST_USE;

/** Legal on a zeroed one. */
void stn_captured_fini(stn_captured *captured);

/** Is @p path an ELF program that no loader runs, so that nothing can be put before its functions?
 *  @return STN_OK; STN_EUNSUPPORTED (static); STN_EIO */
stn_status stn_capture_dynamic(const char *path, stn_err *err) STN_MUST_USE;

#endif
