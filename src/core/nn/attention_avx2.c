/* Attention of a span at a time: the keys of its two ranges are gathered side by side (and
 * transposed, so that scores come out as vectors over keys), the scores of a tile of queries are
 * one small product, the weighted sum another. Tiles stay in the second-level cache.
 *
 *   scores [Q][K] = q [Q][D] * kt [D][K]      out [Q][D] = p [Q][K] * v [K][D]
 *   back: dp = dout * vt, ds = p (dp - delta), dq = ds * k, dk = ds^T q, dv = p^T dout
 *
 * Threads split heads (and, forwards, spans): no two of them write the same column. */
#include "core/nn/attention_avx2.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <math.h>

#include "core/nn/simd_avx2.h"

#define Q_TILE   32
#define K_TILE   512
#define MAX_HEAD 128

static inline void put(float *out, stn_v8 value, bool add) {
    if (add) {
        value += stn_v8_load(out);
    }
    stn_v8_store(out, value);
}

/* c[m][n] (+)= a b with a read at a[i*rs + l*cs], b and c row-major, n a multiple of 8. */
static inline __attribute__((always_inline)) void tile_rows(int rows, size_t n, size_t k,
                                                            const float *a, size_t rs, size_t cs,
                                                            const float *b, size_t ldb, bool add,
                                                            float *c, size_t ldc) {
    size_t j = 0;
    for (; j + 16 <= n; j += 16) {
        stn_v8 sum[4][2] = {{{0}}};
        for (size_t l = 0; l < k; l++) {
            stn_v8 b0 = stn_v8_load(b + l * ldb + j), b1 = stn_v8_load(b + l * ldb + j + 8);
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) {
                stn_v8 x = stn_v8_all(a[(size_t)i * rs + l * cs]);
                sum[i][0] += x * b0;
                sum[i][1] += x * b1;
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            float *out = c + (size_t)i * ldc + j;
            put(out, sum[i][0], add);
            put(out + 8, sum[i][1], add);
        }
    }
    for (; j < n; j += 8) {
        stn_v8 sum[4] = {{0}};
        for (size_t l = 0; l < k; l++) {
            stn_v8 b0 = stn_v8_load(b + l * ldb + j);
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) {
                sum[i] += stn_v8_all(a[(size_t)i * rs + l * cs]) * b0;
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            float *out = c + (size_t)i * ldc + j;
            put(out, sum[i], add);
        }
    }
}

static void tile_product(size_t m, size_t n, size_t k, const float *a, size_t rs, size_t cs,
                         const float *b, size_t ldb, bool add, float *c, size_t ldc) {
    size_t i = 0;
    for (; i + 4 <= m; i += 4) {
        tile_rows(4, n, k, a + i * rs, rs, cs, b, ldb, add, c + i * ldc, ldc);
    }
    for (; i < m; i++) {
        tile_rows(1, n, k, a + i * rs, rs, cs, b, ldb, add, c + i * ldc, ldc);
    }
}

/* Scratch of one thread. */
typedef struct tile_scratch {
    float kt[MAX_HEAD * K_TILE], vt[MAX_HEAD * K_TILE]; /* [D][K] */
    float k[K_TILE * MAX_HEAD], v[K_TILE * MAX_HEAD];   /* [K][D] */
    float dk[K_TILE * MAX_HEAD], dv[K_TILE * MAX_HEAD];
    float p[Q_TILE * K_TILE], dp[Q_TILE * K_TILE];
    float q[Q_TILE * MAX_HEAD], o[Q_TILE * MAX_HEAD], dout[Q_TILE * MAX_HEAD];
    float high[Q_TILE], sum[Q_TILE], delta[Q_TILE];
    uint32_t row[K_TILE];   /* which row each gathered key is */
    uint32_t limit[K_TILE]; /* causal: first query offset that sees it */
} tile_scratch;

static _Thread_local tile_scratch scratch;

/* Where a chunk of keys begins: running index over both ranges. */
static size_t span_key_count(const stn_nn_span *span) {
    return span->k_end[0] - span->k_begin[0] + span->k_end[1] - span->k_begin[1];
}

/* Note the rows of keys from .. from+count-1 of the span, padded to a multiple of 8. */
static void gather_rows(const stn_nn_span *span, size_t from, size_t count, tile_scratch *t) {
    size_t first = span->k_end[0] - span->k_begin[0];
    for (size_t j = 0; j < count; j++) {
        size_t at = from + j;
        bool second = at >= first;
        t->row[j] = (uint32_t)(second ? span->k_begin[1] + (at - first) : span->k_begin[0] + at);
        bool late = span->causal && !second && at > span->causal_shift;
        t->limit[j] = late ? (uint32_t)(at - span->causal_shift) : 0;
    }
}

static void gather(const tile_scratch *t, size_t count, size_t padded, size_t d, const float *x,
                   size_t stride, float *plain, float *transposed) {
    for (size_t j = 0; j < padded; j++) {
        const float *from = x + (size_t)t->row[j] * stride;
        for (size_t i = 0; i < d; i++) {
            float value = j < count ? from[i] : 0;
            if (plain) {
                plain[j * d + i] = value;
            }
            if (transposed) {
                transposed[i * K_TILE + j] = value;
            }
        }
    }
}

static void copy_rows(size_t rows, size_t d, const float *x, size_t stride, float scale,
                      float *out) {
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = scale * x[i * stride + j];
        }
    }
}

/* Keys that query offset q may not see (and the padding) get no weight. */
static void mask_scores(const tile_scratch *t, size_t q0, size_t rows, size_t count, size_t padded,
                        bool causal, float *p) {
    for (size_t i = 0; i < rows; i++) {
        float *row = p + i * K_TILE;
        for (size_t j = 0; causal && j < count; j++) {
            row[j] = t->limit[j] > q0 + i ? -1e30f : row[j];
        }
        for (size_t j = count; j < padded; j++) {
            row[j] = -1e30f;
        }
    }
}

/* One more chunk of keys into the running softmax (Milakov, Gimelshein, arXiv:1805.02867). */
static void softmax_step(tile_scratch *t, size_t rows, size_t padded, size_t d) {
    for (size_t i = 0; i < rows; i++) {
        float *row = t->p + i * K_TILE;
        float high = t->high[i], sum = 0;
#pragma omp simd reduction(max : high)
        for (size_t j = 0; j < padded; j++) {
            high = row[j] > high ? row[j] : high;
        }
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < padded; j++) {
            row[j] = stn_exp_fast(row[j] - high);
            sum += row[j];
        }
        float keep = stn_exp_fast(t->high[i] - high);
        t->high[i] = high;
        t->sum[i] = t->sum[i] * keep + sum;
        for (size_t j = 0; j < d; j++) {
            t->o[i * d + j] *= keep;
        }
    }
}

static void forward_tile(const stn_nn_attention *s, const stn_nn_span *span, size_t q0, size_t rows,
                         const float *q, const float *k, const float *v, float *out, float *lse) {
    tile_scratch *t = &scratch;
    size_t d = s->head_size, keys = span_key_count(span);
    size_t first = span->q_begin + q0;
    copy_rows(rows, d, q + first * s->stride, s->stride, 1 / sqrtf((float)d), t->q);
    memset(t->o, 0, rows * d * sizeof *t->o);
    for (size_t i = 0; i < rows; i++) {
        t->high[i] = -1e30f;
        t->sum[i] = 0;
    }
    for (size_t from = 0; from < keys; from += K_TILE) {
        size_t count = keys - from < K_TILE ? keys - from : K_TILE, padded = (count + 7) & ~7u;
        if (q0 == 0 || keys > K_TILE) { /* a short span's keys stay gathered for all its tiles */
            gather_rows(span, from, count, t);
            memset(t->row + count, 0, (padded - count) * sizeof *t->row);
            gather(t, count, padded, d, k, s->stride, NULL, t->kt);
            gather(t, count, padded, d, v, s->stride, t->v, NULL);
        }
        tile_product(rows, padded, d, t->q, d, 1, t->kt, K_TILE, false, t->p, K_TILE);
        mask_scores(t, q0, rows, count, padded, span->causal, t->p);
        softmax_step(t, rows, padded, d);
        tile_product(rows, d, padded, t->p, K_TILE, 1, t->v, d, true, t->o, d);
    }
    for (size_t i = 0; i < rows; i++) {
        float share = 1 / t->sum[i];
        for (size_t j = 0; j < d; j++) {
            out[(first - s->out_first + i) * s->out_stride + j] = t->o[i * d + j] * share;
        }
        lse[first + i] = t->high[i] + logf(t->sum[i]);
    }
}

void stn_nn_attention_avx2(const stn_nn_attention *s, const float *q, const float *k,
                           const float *v, float *out, float *lse) {
    size_t tasks = (size_t)s->span_count * s->heads;
#pragma omp parallel for schedule(static)
    for (size_t task = 0; task < tasks; task++) {
        const stn_nn_span *span = &s->spans[task / s->heads];
        size_t h = task % s->heads, at = h * s->head_size, size = span->q_end - span->q_begin;
        for (size_t q0 = 0; q0 < size; q0 += Q_TILE) {
            size_t rows = size - q0 < Q_TILE ? size - q0 : Q_TILE;
            forward_tile(s, span, q0, rows, q + at, k + at, v + at, out + at, lse + h * s->rows);
        }
    }
}

/* ---- backward -------------------------------------------------------- */

typedef struct grads {
    const float *q, *k, *v, *out, *lse, *dout;
    float *dq, *dk, *dv;
} grads;

/* Scores to probabilities by the kept sums, then dscore in place of dp. */
static void backward_scores(tile_scratch *t, size_t rows, size_t padded, const float *lse,
                            float scale) {
    for (size_t i = 0; i < rows; i++) {
        float *p = t->p + i * K_TILE, *dp = t->dp + i * K_TILE;
        float sum = lse[i], delta = t->delta[i];
#pragma omp simd
        for (size_t j = 0; j < padded; j++) {
            p[j] = stn_exp_fast(p[j] - sum);
            dp[j] = p[j] * (dp[j] - delta) * scale;
        }
    }
}

static void backward_load(const stn_nn_attention *s, size_t first, size_t rows, const grads *g) {
    tile_scratch *t = &scratch;
    size_t d = s->head_size;
    copy_rows(rows, d, g->q + first * s->stride, s->stride, 1, t->q);
    size_t out_row = first - s->out_first;
    copy_rows(rows, d, g->dout + out_row * s->out_stride, s->out_stride, 1, t->dout);
    for (size_t i = 0; i < rows; i++) {
        const float *o = g->out + (out_row + i) * s->out_stride;
        float delta = 0;
        for (size_t j = 0; j < d; j++) {
            delta += o[j] * t->dout[i * d + j];
        }
        t->delta[i] = delta;
    }
}

static void backward_tile(const stn_nn_attention *s, const stn_nn_span *span, size_t q0,
                          size_t rows, size_t count, const grads *g) {
    tile_scratch *t = &scratch;
    size_t d = s->head_size, padded = (count + 7) & ~(size_t)7, first = span->q_begin + q0;
    float scale = 1 / sqrtf((float)d);
    backward_load(s, first, rows, g);
    tile_product(rows, padded, d, t->q, d, 1, t->kt, K_TILE, false, t->p, K_TILE);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < padded; j++) {
            t->p[i * K_TILE + j] *= scale;
        }
    }
    mask_scores(t, q0, rows, count, padded, span->causal, t->p);
    tile_product(rows, padded, d, t->dout, d, 1, t->vt, K_TILE, false, t->dp, K_TILE);
    backward_scores(t, rows, padded, g->lse + first, scale);
    tile_product(rows, d, padded, t->dp, K_TILE, 1, t->k, d, true, g->dq + first * s->stride,
                 s->stride);
    tile_product(padded, d, rows, t->dp, 1, K_TILE, t->q, d, true, t->dk, d);
    tile_product(padded, d, rows, t->p, 1, K_TILE, t->dout, d, true, t->dv, d);
}

static void backward_span(const stn_nn_attention *s, const stn_nn_span *span, const grads *g) {
    tile_scratch *t = &scratch;
    size_t d = s->head_size, keys = span_key_count(span), size = span->q_end - span->q_begin;
    for (size_t from = 0; from < keys; from += K_TILE) {
        size_t count = keys - from < K_TILE ? keys - from : K_TILE;
        size_t padded = (count + 7) & ~(size_t)7;
        gather_rows(span, from, count, t);
        memset(t->row + count, 0, (padded - count) * sizeof *t->row);
        gather(t, count, padded, d, g->k, s->stride, t->k, t->kt);
        gather(t, count, padded, d, g->v, s->stride, NULL, t->vt);
        memset(t->dk, 0, padded * d * sizeof *t->dk);
        memset(t->dv, 0, padded * d * sizeof *t->dv);
        for (size_t q0 = 0; q0 < size; q0 += Q_TILE) {
            size_t rows = size - q0 < Q_TILE ? size - q0 : Q_TILE;
            backward_tile(s, span, q0, rows, count, g);
        }
        for (size_t j = 0; j < count; j++) {
            float *dk = g->dk + (size_t)t->row[j] * s->stride;
            float *dv = g->dv + (size_t)t->row[j] * s->stride;
            for (size_t i = 0; i < d; i++) {
                dk[i] += t->dk[j * d + i];
                dv[i] += t->dv[j * d + i];
            }
        }
    }
}

void stn_nn_attention_back_avx2(const stn_nn_attention *s, const float *q, const float *k,
                                const float *v, const float *out, const float *lse,
                                const float *dout, float *dq, float *dk, float *dv) {
#pragma omp parallel for schedule(static)
    for (size_t h = 0; h < s->heads; h++) {
        size_t at = h * s->head_size;
        const grads g = {q + at,    k + at,  v + at,  out + at, lse + h * s->rows,
                         dout + at, dq + at, dk + at, dv + at};
        for (size_t n = 0; n < s->span_count; n++) {
            backward_span(s, &s->spans[n], &g);
        }
    }
}

#endif
