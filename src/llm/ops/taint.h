/** @file
 *  Labels for a whole pass. Sources are the leaves: a weight's dimensions are hyper-parameters, by
 *  its name and the model's metadata; inputs are of the request; the KV cache is of both. From
 *  there each operation passes labels on by its rule (rules.h). What cannot be known stays unknown,
 *  with a reason.
 *  Pinned by tests/unit/test_ops_graph.c; for llama.cpp's own graphs by
 *  tests/unit/test_engine_capture.c. */
#ifndef STN_LLM_OPS_TAINT_H
#define STN_LLM_OPS_TAINT_H

#include "llm/ops/graph.h"

/** Label every node of @p graph, fill layer and kind. @return STN_OK; STN_ENOMEM */
stn_status stn_taint(stn_graph *graph, stn_err *err) STN_MUST_USE;

/** Label the leaves alone: the first half of stn_taint(). */
void stn_sources_label(stn_graph *graph);

/** The size of each label of @p graph in another pass @p other of the same model, read off its
 *  inputs. @param[out] values  [graph->exprs.label_count]; as in @p graph where the other has no
 *  such label. @pre both are labelled */
void stn_taint_values(const stn_graph *graph, const stn_graph *other, int64_t *values);

/** Does what @p graph says hold for every dimension of every node of @p other, another pass with
 *  other sizes? Only @p values [label_count] are taken from there; unknown dimensions are passed
 *  over. @return STN_OK; STN_ECHECK (which node, what was predicted, what is there) */
stn_status stn_taint_check(const stn_graph *graph, const stn_graph *other, const int64_t *values,
                           stn_err *err) STN_MUST_USE;

/** Make @p graph, labelled, the pass @p other, which has the same operations and whose sizes it
 *  predicts: its sizes, strides and values of labels. @p values as stn_taint_values() gives them */
void stn_taint_move(stn_graph *graph, const stn_graph *other, const int64_t *values);

/** Is a pass one token of each sequence, as far as its attention says? "decode", "prefill", or ""
 * if it has no attention or its sizes are unknown. */
const char *stn_taint_phase(const stn_graph *graph);

/** How many dimensions are unknown. */
size_t stn_taint_unknown(const stn_graph *graph);

#endif
