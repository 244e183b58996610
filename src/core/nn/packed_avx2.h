/** @file
 *  Products of few rows with packed weights, AVX2 (see stn_nn_kernels). */
#ifndef STN_CORE_NN_PACKED_AVX2_H
#define STN_CORE_NN_PACKED_AVX2_H

#include "core/nn/kernel.h"

size_t stn_nn_packed_size_avx2(size_t n, size_t k);
void stn_nn_pack_avx2(size_t n, size_t k, const float *w, float *packed);
void stn_nn_packed_linear_avx2(size_t rows, size_t n, size_t k, const float *x, const float *packed,
                               bool add, float *y);

#endif
