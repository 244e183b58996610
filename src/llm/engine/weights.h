/** @file
 *  Random weights in the layout of each type. Small and centred like trained ones, so that a
 *  model of them runs without overflow; reproducible by seed.
 *  Pinned by tests/unit/test_engine_model.c. */
#ifndef STN_LLM_ENGINE_WEIGHTS_H
#define STN_LLM_ENGINE_WEIGHTS_H

#include "core/base/rng.h"
#include "llm/engine/arch.h"
#include "llm/engine/gguf.h"

/** Fill @p size bytes with weights of @p type for @p role: matrices have 1/64 … 1/32 in absolute
 *  value (0 … 1/16 where the type has blocks), norms lie about 1, biases about 0.
 *  @pre @p size is whole blocks of @p type */
void stn_weights_fill(unsigned char *bytes, size_t size, stn_gguf_type type, stn_role role,
                      stn_rng *rng);

/** The factors of llama3 rotation scaling, [count] float, from @p values [STN_V_COUNT].
 *  Source: transformers, modeling_rope_utils, llama3; llama.cpp, conversion/llama.py. */
void stn_weights_rope(float *factors, size_t count, const double *values);

#endif
