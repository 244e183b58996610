/** @file
 *  Pieces that the AVX2 files share: eight floats, their exponential, OpenMP words.
 *  Included by files that are compiled with -mavx2 -mfma only. */
#ifndef STN_CORE_NN_SIMD_AVX2_H
#define STN_CORE_NN_SIMD_AVX2_H

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>
#include <stddef.h>
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
static inline int omp_get_num_procs(void) {
    return 1;
}
static inline void omp_set_num_threads(int count) {
    (void)count;
}
#endif

/** Floats of work below which waking the other threads costs more than they save. */
#define STN_SMALL 16384

/** STN_EACH(work, count, call): @p call for each = 0 … count-1, spread over the threads if @p work
 *  floats are worth it. Even a team of one costs more than a short loop, so none is made then. */
#define STN_EACH(work, count, call)                                                                \
    do {                                                                                           \
        size_t each_count = (count);                                                               \
        if ((work) > STN_SMALL) {                                                                  \
            _Pragma("omp parallel for schedule(static)") /* the loop below */                      \
                for (size_t each = 0; each < each_count; each++) {                                 \
                call;                                                                              \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t each = 0; each < each_count; each++) {                                     \
                call;                                                                              \
            }                                                                                      \
        }                                                                                          \
    } while (0)

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

/** The first @p count floats, 0 < count < 8, and zeros. */
static inline stn_v8 stn_v8_load_some(const float *p, size_t count) {
    float buffer[8] = {0};
    memcpy(buffer, p, count * sizeof *p);
    return stn_v8_load(buffer);
}

static inline void stn_v8_store_some(float *p, stn_v8 v, size_t count) {
    float buffer[8];
    stn_v8_store(buffer, v);
    memcpy(p, buffer, count * sizeof *p);
}

static inline float stn_v8_sum(stn_v8 v) {
    float x[8];
    stn_v8_store(x, v);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

static inline stn_v8 stn_v8_max(stn_v8 a, stn_v8 b) {
    return _mm256_max_ps(a, b);
}

static inline float stn_v8_high(stn_v8 v) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

/** e^x, x taken as 88 above that, 0 below -87, no number for no number; relative error under 2e-7
 * (Cephes polynomial). Written in fused operations, which are not reordered where sums may be. */
static inline stn_v8 stn_v8_exp(stn_v8 x) {
    __m256 low = _mm256_set1_ps(-87.0f);
    /* Of two operands one of which is no number, these give the second. */
    __m256 clamped = _mm256_min_ps(_mm256_set1_ps(88.0f), _mm256_max_ps(low, x));
    __m256 n = _mm256_round_ps(_mm256_mul_ps(clamped, _mm256_set1_ps(1.44269504f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), clamped);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1f));
    p = _mm256_fmadd_ps(_mm256_mul_ps(p, r), r, r);
    p = _mm256_add_ps(p, _mm256_set1_ps(1.0f));
    __m256i power =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    __m256 y = _mm256_mul_ps(p, _mm256_castsi256_ps(power));
    return _mm256_and_ps(y, _mm256_cmp_ps(x, low, _CMP_NLT_UQ));
}

/** e^x of one float, as stn_v8_exp(). */
static inline float stn_exp_fast(float x) {
    return stn_v8_exp(stn_v8_all(x))[0];
}

#endif
#endif
