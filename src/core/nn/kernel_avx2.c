/* The SIMD table: products by oneDNN, attention in attention_avx2.c, the rest loops that the
 * compiler turns into AVX2 and OpenMP spreads over rows. Work is cut statically, so the
 * result depends on the thread count but not on timing. */
#include "core/nn/kernel.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <math.h>

#include <dnnl.h>

#include "core/base/alloc.h"
#include "core/nn/attention_avx2.h"
#include "core/nn/packed_avx2.h"
#include "core/nn/simd_avx2.h"

#define MAX_SHARES 64

/* Columns of a sum over rows that each share keeps for itself. */
#define STRIP 4096

/* Shares that so many floats of work are summed in: a fixed number for a size and a number of
 * threads, however many of those there are in the end, so that sums repeat. */
static size_t share_count(size_t work) {
    size_t threads = (size_t)omp_get_max_threads();
    return work <= STN_SMALL ? 1 : threads < MAX_SHARES ? threads : MAX_SHARES;
}

/* oneDNN's products run on the same threads. */
static void avx_threads(int count) {
    omp_set_num_threads(count > 0 ? count : omp_get_num_procs());
}

static void avx_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                     size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    if (!m || !n) {
        return;
    }
    dnnl_status_t status =
        dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k,
                   alpha, a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)ldc);
    if (status != dnnl_success) { /* out of memory for its packs: slowly, then */
        stn_nn_kernels_ref()->gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
}

static void norm_row(size_t d, const float *x, const float *gain, float *y, float *inv_rms,
                     float *kept) {
    float square = 0;
#pragma omp simd reduction(+ : square)
    for (size_t i = 0; i < d; i++) {
        square += x[i] * x[i];
    }
    float s = 1 / sqrtf(square / (float)d + 1e-6f);
    *inv_rms = s;
    if (kept) {
        memcpy(kept, x, d * sizeof *x);
    }
#pragma omp simd
    for (size_t i = 0; i < d; i++) {
        y[i] = x[i] * s * gain[i];
    }
}

static void avx_rmsnorm(size_t rows, size_t d, const float *x, const float *gain, float *y,
                        float *inv_rms, float *kept) {
    STN_EACH(rows * d, rows,
             norm_row(d, x + each * d, gain, y + each * d, inv_rms + each,
                      kept ? kept + each * d : NULL));
}

typedef struct norm_views {
    size_t d;
    const float *x, *gain, *inv_rms, *dy;
    float *dx;
} norm_views;

/* One row's dx; @p sums [STRIP] is a share of the first columns of dgain. */
static void norm_row_back(const norm_views *n, size_t r, float *sums) {
    size_t d = n->d, narrow = d < STRIP ? d : STRIP;
    const float *xr = n->x + r * d, *dyr = n->dy + r * d, *gain = n->gain;
    float *dxr = n->dx + r * d;
    float dot = 0, s = n->inv_rms[r];
#pragma omp simd reduction(+ : dot)
    for (size_t i = 0; i < d; i++) {
        dot += dyr[i] * gain[i] * xr[i];
    }
    float pull = dot * s * s * s / (float)d;
#pragma omp simd
    for (size_t i = 0; i < d; i++) {
        dxr[i] += dyr[i] * gain[i] * s - pull * xr[i];
    }
#pragma omp simd
    for (size_t i = 0; i < narrow; i++) {
        sums[i] += dyr[i] * xr[i] * s;
    }
}

/* Columns that no share's sums have room for; networks are rarely as wide. */
static void gain_back_wide(const norm_views *n, size_t rows, float *dgain) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = STRIP; i < n->d; i++) {
            dgain[i] += n->dy[r * n->d + i] * n->x[r * n->d + i] * n->inv_rms[r];
        }
    }
}

/* Share @p t of @p shares: its rows, and its sums over them. */
static void norm_share_back(const norm_views *n, size_t rows, size_t t, size_t shares,
                            float *sums) {
    memset(sums, 0, (n->d < STRIP ? n->d : STRIP) * sizeof *sums);
    for (size_t r = rows * t / shares; r < rows * (t + 1) / shares; r++) {
        norm_row_back(n, r, sums);
    }
}

/* dgain is a sum over all rows: each share sums its own rows, and these sums are added in order. */
static void avx_rmsnorm_back(size_t rows, size_t d, const float *x, const float *gain,
                             const float *inv_rms, const float *dy, float *dx, float *dgain) {
    static _Thread_local float partial[MAX_SHARES][STRIP];
    float(*sums)[STRIP] = partial; /* the caller's copy, shared by the team */
    const norm_views n = {d, x, gain, inv_rms, dy, dx};
    size_t narrow = d < STRIP ? d : STRIP, shares = share_count(rows * d);
    STN_EACH(rows * d, shares, norm_share_back(&n, rows, each, shares, sums[each]));
    for (size_t t = 0; t < shares; t++) {
        for (size_t i = 0; i < narrow; i++) {
            dgain[i] += sums[t][i];
        }
    }
    gain_back_wide(&n, rows, dgain);
}

static void rope_head(size_t half, const float *cosine, const float *sine, float sign, float *low) {
    float *high = low + half;
    size_t i = 0;
    for (; i + 8 <= half; i += 8) {
        stn_v8 a = stn_v8_load(low + i), b = stn_v8_load(high + i);
        stn_v8 c = stn_v8_load(cosine + i), s = stn_v8_load(sine + i) * stn_v8_all(sign);
        stn_v8_store(low + i, a * c - b * s);
        stn_v8_store(high + i, a * s + b * c);
    }
    for (; i < half; i++) {
        float a = low[i], b = high[i], s = sign * sine[i];
        low[i] = a * cosine[i] - b * s;
        high[i] = a * s + b * cosine[i];
    }
}

static void rope_row(size_t heads, size_t half, const float *angles, float sign, float *x) {
    for (size_t h = 0; h < heads; h++) {
        rope_head(half, angles, angles + half, sign, x + h * 2 * half);
    }
}

static void avx_rope(size_t rows, size_t heads, size_t head_size, size_t stride, const float *table,
                     const uint32_t *pos, bool inverse, float *x) {
    STN_EACH(rows * heads * head_size, rows,
             rope_row(heads, head_size / 2, table + pos[each] * head_size, inverse ? -1.0f : 1.0f,
                      x + each * stride));
}

static inline stn_v8 sigmoid(stn_v8 x) {
    return stn_v8_all(1) / (stn_v8_all(1) + stn_v8_exp(-x));
}

static void gate_row(size_t d, const float *gate, float *y) {
    const float *up = gate + d;
    size_t i = 0;
    for (; i + 8 <= d; i += 8) {
        stn_v8 g = stn_v8_load(gate + i);
        stn_v8_store(y + i, g * stn_v8_load(up + i) * sigmoid(g));
    }
    if (i < d) {
        stn_v8 g = stn_v8_load_some(gate + i, d - i), u = stn_v8_load_some(up + i, d - i);
        stn_v8_store_some(y + i, g * u * sigmoid(g), d - i);
    }
}

static void avx_swiglu(size_t rows, size_t d, const float *x, float *y) {
    STN_EACH(rows * d, rows, gate_row(d, x + each * 2 * d, y + each * d));
}

static inline void gate_back(stn_v8 g, stn_v8 u, stn_v8 dy, stn_v8 *dg, stn_v8 *du) {
    stn_v8 s = sigmoid(g), one = stn_v8_all(1);
    *dg = dy * u * s * (one + g * (one - s));
    *du = dy * g * s;
}

static void gate_row_back(size_t d, const float *gate, const float *dy, float *dgate) {
    const float *up = gate + d;
    float *dup = dgate + d;
    stn_v8 dg, du;
    size_t i = 0;
    for (; i + 8 <= d; i += 8) {
        gate_back(stn_v8_load(gate + i), stn_v8_load(up + i), stn_v8_load(dy + i), &dg, &du);
        stn_v8_store(dgate + i, dg);
        stn_v8_store(dup + i, du);
    }
    if (i < d) {
        gate_back(stn_v8_load_some(gate + i, d - i), stn_v8_load_some(up + i, d - i),
                  stn_v8_load_some(dy + i, d - i), &dg, &du);
        stn_v8_store_some(dgate + i, dg, d - i);
        stn_v8_store_some(dup + i, du, d - i);
    }
}

static void avx_swiglu_back(size_t rows, size_t d, const float *x, const float *dy, float *dx) {
    STN_EACH(rows * d, rows, gate_row_back(d, x + each * 2 * d, dy + each * d, dx + each * 2 * d));
}

/* y += share * x. */
static void row_add(size_t d, float share, const float *x, float *y) {
#pragma omp simd
    for (size_t i = 0; i < d; i++) {
        y[i] += share * x[i];
    }
}

static void avx_embed(size_t rows, size_t d, const uint32_t *id, const float *table, float *y) {
    STN_EACH(rows * d, rows, row_add(d, 1, table + (size_t)id[each] * d, y + each * d));
}

static void strip_back(size_t rows, size_t d, size_t from, const uint32_t *id, const float *dy,
                       float *dtable) {
    size_t size = from + 32 < d ? 32 : d - from;
    for (size_t r = 0; r < rows; r++) {
        row_add(size, 1, dy + r * d + from, dtable + (size_t)id[r] * d + from);
    }
}

/* Two rows may share an id: threads split the columns, not the rows. */
static void avx_embed_back(size_t rows, size_t d, const uint32_t *id, const float *dy,
                           float *dtable) {
    STN_EACH(rows * d, (d + 31) / 32, strip_back(rows, d, each * 32, id, dy, dtable));
}

static float row_high(size_t classes, const float *row) {
    float high = row[0];
    for (size_t c = 0; c < classes; c++) {
        high = row[c] > high ? row[c] : high;
    }
    return high;
}

/* @p dlogits may be @p row itself: each of its vectors is read before it is written. */
static double row_cross_entropy(size_t classes, const float *row, uint32_t target, float weight,
                                float *dlogits) {
    float high = row_high(classes, row), wanted = row[target], sum = 0;
    stn_v8 sums = stn_v8_all(0), shift = stn_v8_all(high);
    size_t c = 0;
    for (; c + 8 <= classes; c += 8) {
        stn_v8 e = stn_v8_exp(stn_v8_load(row + c) - shift);
        sums += e;
        if (dlogits) {
            stn_v8_store(dlogits + c, e);
        }
    }
    for (; c < classes; c++) {
        float e = stn_exp_fast(row[c] - high);
        sum += e;
        if (dlogits) {
            dlogits[c] = e;
        }
    }
    sum += stn_v8_sum(sums);
    if (dlogits) {
        float share = weight / sum;
#pragma omp simd
        for (size_t i = 0; i < classes; i++) {
            dlogits[i] *= share;
        }
        dlogits[target] -= weight;
    }
    return weight * ((double)high - wanted + log((double)sum));
}

typedef struct entropy_views {
    size_t rows, classes;
    const float *logits;
    const uint32_t *target;
    const float *weight;
    float *dlogits;
} entropy_views;

static double entropy_share(const entropy_views *e, size_t t, size_t shares) {
    double loss = 0;
    for (size_t r = e->rows * t / shares; r < e->rows * (t + 1) / shares; r++) {
        float *out = e->dlogits ? e->dlogits + r * e->classes : NULL;
        if (e->weight[r] != 0) {
            loss += row_cross_entropy(e->classes, e->logits + r * e->classes, e->target[r],
                                      e->weight[r], out);
        } else if (out) {
            memset(out, 0, e->classes * sizeof *out);
        }
    }
    return loss;
}

static double sum_of(size_t count, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += x[i];
    }
    return sum;
}

static double avx_cross_entropy(size_t rows, size_t classes, const float *logits,
                                const uint32_t *target, const float *weight, float *dlogits) {
    const entropy_views e = {rows, classes, logits, target, weight, dlogits};
    double partial[MAX_SHARES];
    size_t shares = share_count(rows * classes);
    STN_EACH(rows * classes, shares, partial[each] = entropy_share(&e, each, shares));
    return sum_of(shares, partial);
}

static void group_mean(size_t factor, size_t d, const float *x, float *y) {
    memset(y, 0, d * sizeof *y);
    for (size_t f = 0; f < factor; f++) {
        row_add(d, 1 / (float)factor, x + f * d, y);
    }
}

static void avx_pool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
    STN_EACH(groups * factor * d, groups,
             group_mean(factor, d, x + each * factor * d, y + each * d));
}

static void avx_pool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
    STN_EACH(groups * factor * d, groups * factor,
             row_add(d, 1 / (float)factor, dy + each / factor * d, dx + each * d));
}

static void avx_unpool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
    STN_EACH(groups * factor * d, groups * factor,
             row_add(d, 1, x + each / factor * d, y + each * d));
}

static void group_back(size_t factor, size_t d, const float *dy, float *dx) {
    for (size_t f = 0; f < factor; f++) {
        row_add(d, 1, dy + f * d, dx);
    }
}

static void avx_unpool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
    STN_EACH(groups * factor * d, groups,
             group_back(factor, d, dy + each * factor * d, dx + each * d));
}

static void avx_adamw(size_t count, float rate, float beta1, float beta2, float epsilon,
                      float decay, float bias1, float bias2, float scale, const float *gradient,
                      float *m, float *v, float *weight) {
    float fresh1 = 1 - beta1, fresh2 = 1 - beta2, unbias1 = 1 / bias1, unbias2 = 1 / bias2;
#pragma omp parallel for simd schedule(static) if (count > STN_SMALL)
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        m[i] = beta1 * m[i] + fresh1 * g;
        v[i] = beta2 * v[i] + fresh2 * g * g;
        float step = m[i] * unbias1 / (sqrtf(v[i] * unbias2) + epsilon);
        weight[i] -= rate * (step + decay * weight[i]);
    }
}

static void avx_ema(size_t count, float keep, const float *weight, float *average) {
#pragma omp parallel for simd schedule(static) if (count > STN_SMALL)
    for (size_t i = 0; i < count; i++) {
        average[i] = keep * average[i] + (1 - keep) * weight[i];
    }
}

static double norm2_of(size_t count, const float *x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) {
        sum += (double)x[i] * x[i];
    }
    return sum;
}

/* Even shares, added in order. */
static double avx_norm2(size_t count, const float *x) {
    double partial[MAX_SHARES];
    size_t shares = share_count(count);
    STN_EACH(count, shares,
             partial[each] = norm2_of(count * (each + 1) / shares - count * each / shares,
                                      x + count * each / shares));
    return sum_of(shares, partial);
}

const stn_nn_kernels *stn_nn_kernels_avx2(void) {
    static const stn_nn_kernels table = {
        .name = "avx2+onednn",
        .threads = avx_threads,
        .gemm = avx_gemm,
        .packed_size = stn_nn_packed_size_avx2,
        .pack = stn_nn_pack_avx2,
        .packed_linear = stn_nn_packed_linear_avx2,
        .rmsnorm = avx_rmsnorm,
        .rmsnorm_back = avx_rmsnorm_back,
        .rope = avx_rope,
        .swiglu = avx_swiglu,
        .swiglu_back = avx_swiglu_back,
        .embed = avx_embed,
        .embed_back = avx_embed_back,
        .attention = stn_nn_attention_avx2,
        .attention_back = stn_nn_attention_back_avx2,
        .cross_entropy = avx_cross_entropy,
        .pool = avx_pool,
        .pool_back = avx_pool_back,
        .unpool = avx_unpool,
        .unpool_back = avx_unpool_back,
        .adamw = avx_adamw,
        .ema = avx_ema,
        .norm2 = avx_norm2,
    };
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &table : NULL;
}

#else

const stn_nn_kernels *stn_nn_kernels_avx2(void) {
    return NULL;
}

#endif
