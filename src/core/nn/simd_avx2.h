/** @file
 *  Pieces that the AVX2 files share: eight floats, their exponential, OpenMP words.
 *  Included by files that are compiled with -mavx2 -mfma only. */
#ifndef STN_CORE_NN_SIMD_AVX2_H
#define STN_CORE_NN_SIMD_AVX2_H

#ifdef __AVX2__

#include <stdint.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
/* Without OpenMP there is one thread. */
static inline int omp_get_max_threads(void) {
    return 1;
}
static inline int omp_get_thread_num(void) {
    return 0;
}
#endif

/** Eight floats; loads and stores need no alignment. */
typedef float stn_v8 __attribute__((vector_size(32), aligned(4), may_alias));

static inline stn_v8 stn_v8_load(const float *p) {
    return *(const stn_v8 *)p;
}

static inline void stn_v8_store(float *p, stn_v8 v) {
    *(stn_v8 *)p = v;
}

static inline stn_v8 stn_v8_all(float x) {
    return (stn_v8){x, x, x, x, x, x, x, x};
}

/** e^x for x <= 88, 0 below -87; relative error under 2e-7 (Cephes polynomial). A plain
 *  function of one float, written so that the compiler makes vectors of it. */
static inline float stn_exp_fast(float x) {
    float clamped = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    /* Rounded through an integer: adding and taking away a large number would be optimised
     * out where sums may be reordered. */
    int32_t whole = (int32_t)(clamped * 1.44269504f + (clamped < 0 ? -0.5f : 0.5f));
    float n = (float)whole;
    float r = clamped - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t power = (int32_t)((uint32_t)(whole + 127) << 23);
    float scale;
    memcpy(&scale, &power, 4);
    return x < -87.0f ? 0.0f : p * scale;
}

#endif
#endif
