/** @file
 *  Attention within spans, AVX2 (see stn_nn_kernels). */
#ifndef STN_CORE_NN_ATTENTION_AVX2_H
#define STN_CORE_NN_ATTENTION_AVX2_H

#include "core/nn/kernel.h"

void stn_nn_attention_avx2(const stn_nn_attention *shape, const float *q, const float *k,
                           const float *v, float *out, float *lse);
void stn_nn_attention_back_avx2(const stn_nn_attention *shape, const float *q, const float *k,
                                const float *v, const float *out, const float *lse,
                                const float *dout, float *dq, float *dk, float *dv);

#endif
