/* The SIMD table: products by oneDNN, attention in attention_avx2.c, the rest loops that the
 * compiler turns into AVX2 and OpenMP spreads over rows. Work is cut statically, so the
 * result depends on the thread count but not on timing. */
#include "core/nn/kernel.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <math.h>

#include <dnnl.h>

#include "core/base/alloc.h"
#include "core/nn/attention_avx2.h"
#include "core/nn/simd_avx2.h"

#define MAX_THREADS 64

/* Floats of work below which waking the other threads costs more than they save. */
#define SMALL 16384

/* Columns of a sum over rows that each thread keeps for itself. */
#define STRIP 4096

/* Threads for so many floats of work: a fixed number for a size, so that sums repeat. */
static int team_size(size_t work) {
    int threads = omp_get_max_threads() < MAX_THREADS ? omp_get_max_threads() : MAX_THREADS;
    return work > SMALL ? threads : 1;
}

static void avx_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                     size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    if (!m || !n) {
        return;
    }
    dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k, alpha,
               a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)ldc);
}

static void avx_rmsnorm(size_t rows, size_t d, const float *x, const float *gain, float *y,
                        float *inv_rms, float *kept) {
#pragma omp parallel for schedule(static) if (rows * d > SMALL)
    for (size_t r = 0; r < rows; r++) {
        const float *row = x + r * d;
        float square = 0;
#pragma omp simd reduction(+ : square)
        for (size_t i = 0; i < d; i++) {
            square += row[i] * row[i];
        }
        float s = 1 / sqrtf(square / (float)d + 1e-6f);
        inv_rms[r] = s;
        if (kept) {
            memcpy(kept + r * d, row, d * sizeof *row);
        }
#pragma omp simd
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] = row[i] * s * gain[i];
        }
    }
}

typedef struct norm_views {
    size_t d;
    const float *x, *gain, *inv_rms, *dy;
    float *dx;
} norm_views;

/* One row's dx; @p sums [STRIP] is this thread's share of the first columns of dgain. */
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

/* Columns that no thread's sums have room for; networks are rarely as wide. */
static void gain_back_wide(const norm_views *n, size_t rows, float *dgain) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = STRIP; i < n->d; i++) {
            dgain[i] += n->dy[r * n->d + i] * n->x[r * n->d + i] * n->inv_rms[r];
        }
    }
}

/* dgain is a sum over all rows: each thread sums its own rows, and these sums are added in the
 * order of the threads. */
static void avx_rmsnorm_back(size_t rows, size_t d, const float *x, const float *gain,
                             const float *inv_rms, const float *dy, float *dx, float *dgain) {
    static _Thread_local float partial[MAX_THREADS][STRIP];
    float(*sums)[STRIP] = partial; /* the caller's copy, shared by the team */
    const norm_views n = {d, x, gain, inv_rms, dy, dx};
    size_t narrow = d < STRIP ? d : STRIP;
    int threads = team_size(rows * d);
#pragma omp parallel num_threads(threads)
    {
        float *mine = sums[omp_get_thread_num()];
        memset(mine, 0, narrow * sizeof *mine);
#pragma omp for schedule(static)
        for (size_t r = 0; r < rows; r++) {
            norm_row_back(&n, r, mine);
        }
    }
    for (int t = 0; t < threads; t++) {
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

static void avx_rope(size_t rows, size_t heads, size_t head_size, size_t stride, const float *table,
                     const uint32_t *pos, bool inverse, float *x) {
    size_t half = head_size / 2;
#pragma omp parallel for schedule(static) if (rows * heads * head_size > SMALL)
    for (size_t r = 0; r < rows; r++) {
        const float *cosine = table + pos[r] * head_size;
        for (size_t h = 0; h < heads; h++) {
            rope_head(half, cosine, cosine + half, inverse ? -1.0f : 1.0f,
                      x + r * stride + h * head_size);
        }
    }
}

static inline stn_v8 sigmoid(stn_v8 x) {
    return stn_v8_all(1) / (stn_v8_all(1) + stn_v8_exp(-x));
}

static void avx_swiglu(size_t rows, size_t d, const float *x, float *y) {
#pragma omp parallel for schedule(static) if (rows * d > SMALL)
    for (size_t r = 0; r < rows; r++) {
        const float *gate = x + r * 2 * d, *up = gate + d;
        size_t i = 0;
        for (; i + 8 <= d; i += 8) {
            stn_v8 g = stn_v8_load(gate + i);
            stn_v8_store(y + r * d + i, g * stn_v8_load(up + i) * sigmoid(g));
        }
        if (i < d) {
            stn_v8 g = stn_v8_load_some(gate + i, d - i), u = stn_v8_load_some(up + i, d - i);
            stn_v8_store_some(y + r * d + i, g * u * sigmoid(g), d - i);
        }
    }
}

static inline void gate_back(stn_v8 g, stn_v8 u, stn_v8 dy, stn_v8 *dg, stn_v8 *du) {
    stn_v8 s = sigmoid(g), one = stn_v8_all(1);
    *dg = dy * u * s * (one + g * (one - s));
    *du = dy * g * s;
}

static void avx_swiglu_back(size_t rows, size_t d, const float *x, const float *dy, float *dx) {
#pragma omp parallel for schedule(static) if (rows * d > SMALL)
    for (size_t r = 0; r < rows; r++) {
        const float *gate = x + r * 2 * d, *up = gate + d, *dyr = dy + r * d;
        float *dgate = dx + r * 2 * d, *dup = dgate + d;
        stn_v8 dg, du;
        size_t i = 0;
        for (; i + 8 <= d; i += 8) {
            gate_back(stn_v8_load(gate + i), stn_v8_load(up + i), stn_v8_load(dyr + i), &dg, &du);
            stn_v8_store(dgate + i, dg);
            stn_v8_store(dup + i, du);
        }
        if (i < d) {
            gate_back(stn_v8_load_some(gate + i, d - i), stn_v8_load_some(up + i, d - i),
                      stn_v8_load_some(dyr + i, d - i), &dg, &du);
            stn_v8_store_some(dgate + i, dg, d - i);
            stn_v8_store_some(dup + i, du, d - i);
        }
    }
}

static void avx_embed(size_t rows, size_t d, const uint32_t *id, const float *table, float *y) {
#pragma omp parallel for schedule(static) if (rows * d > SMALL)
    for (size_t r = 0; r < rows; r++) {
        const float *from = table + (size_t)id[r] * d;
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] += from[i];
        }
    }
}

/* Two rows may share an id: threads split the columns, not the rows. */
static void avx_embed_back(size_t rows, size_t d, const uint32_t *id, const float *dy,
                           float *dtable) {
    size_t strips = (d + 31) / 32;
#pragma omp parallel for schedule(static) if (rows * d > SMALL)
    for (size_t s = 0; s < strips; s++) {
        size_t from = s * 32, to = from + 32 < d ? from + 32 : d;
        for (size_t r = 0; r < rows; r++) {
            float *out = dtable + (size_t)id[r] * d;
            for (size_t i = from; i < to; i++) {
                out[i] += dy[r * d + i];
            }
        }
    }
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

static double avx_cross_entropy(size_t rows, size_t classes, const float *logits,
                                const uint32_t *target, const float *weight, float *dlogits) {
    double partial[MAX_THREADS] = {0};
    int threads = team_size(rows * classes);
#pragma omp parallel num_threads(threads)
    {
        double loss = 0;
#pragma omp for schedule(static)
        for (size_t r = 0; r < rows; r++) {
            float *out = dlogits ? dlogits + r * classes : NULL;
            if (weight[r] != 0) {
                loss += row_cross_entropy(classes, logits + r * classes, target[r], weight[r], out);
            } else if (out) {
                memset(out, 0, classes * sizeof *out);
            }
        }
        partial[omp_get_thread_num()] = loss;
    }
    double loss = 0;
    for (int t = 0; t < threads; t++) {
        loss += partial[t];
    }
    return loss;
}

static void avx_pool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
    float share = 1 / (float)factor;
#pragma omp parallel for schedule(static) if (groups * factor * d > SMALL)
    for (size_t g = 0; g < groups; g++) {
        memset(y + g * d, 0, d * sizeof *y);
        for (size_t f = 0; f < factor; f++) {
            for (size_t i = 0; i < d; i++) {
                y[g * d + i] += share * x[(g * factor + f) * d + i];
            }
        }
    }
}

static void avx_pool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
    float share = 1 / (float)factor;
#pragma omp parallel for schedule(static) if (groups * factor * d > SMALL)
    for (size_t r = 0; r < groups * factor; r++) {
        for (size_t i = 0; i < d; i++) {
            dx[r * d + i] += share * dy[r / factor * d + i];
        }
    }
}

static void avx_unpool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
#pragma omp parallel for schedule(static) if (groups * factor * d > SMALL)
    for (size_t r = 0; r < groups * factor; r++) {
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] += x[r / factor * d + i];
        }
    }
}

static void avx_unpool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
#pragma omp parallel for schedule(static) if (groups * factor * d > SMALL)
    for (size_t g = 0; g < groups; g++) {
        for (size_t f = 0; f < factor; f++) {
            for (size_t i = 0; i < d; i++) {
                dx[g * d + i] += dy[(g * factor + f) * d + i];
            }
        }
    }
}

static void avx_adamw(size_t count, float rate, float beta1, float beta2, float epsilon,
                      float decay, float bias1, float bias2, float scale, const float *gradient,
                      float *m, float *v, float *weight) {
    float fresh1 = 1 - beta1, fresh2 = 1 - beta2, unbias1 = 1 / bias1, unbias2 = 1 / bias2;
#pragma omp parallel for simd schedule(static) if (count > SMALL)
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        m[i] = beta1 * m[i] + fresh1 * g;
        v[i] = beta2 * v[i] + fresh2 * g * g;
        float step = m[i] * unbias1 / (sqrtf(v[i] * unbias2) + epsilon);
        weight[i] -= rate * (step + decay * weight[i]);
    }
}

static void avx_ema(size_t count, float keep, const float *weight, float *average) {
#pragma omp parallel for simd schedule(static) if (count > SMALL)
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

/* Each thread sums an even share; the shares are added in the order of the threads. */
static double avx_norm2(size_t count, const float *x) {
    double partial[MAX_THREADS] = {0}, total = 0;
    size_t threads = (size_t)team_size(count);
#pragma omp parallel for schedule(static, 1) if (threads > 1)
    for (size_t t = 0; t < threads; t++) {
        size_t from = count * t / threads, to = count * (t + 1) / threads;
        partial[t] = norm2_of(to - from, x + from);
    }
    for (size_t t = 0; t < threads; t++) {
        total += partial[t];
    }
    return total;
}

const stn_nn_kernels *stn_nn_kernels_avx2(void) {
    static const stn_nn_kernels table = {
        .name = "avx2+onednn",
        .gemm = avx_gemm,
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
