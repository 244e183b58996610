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

static void avx_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                     size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    if (!m || !n) {
        return;
    }
    dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k, alpha,
               a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)ldc);
}

static void avx_rmsnorm(size_t rows, size_t d, const float *x, const float *gain, float *y,
                        float *inv_rms) {
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        const float *row = x + r * d;
        float square = 0;
#pragma omp simd reduction(+ : square)
        for (size_t i = 0; i < d; i++) {
            square += row[i] * row[i];
        }
        float s = 1 / sqrtf(square / (float)d + 1e-6f);
        inv_rms[r] = s;
#pragma omp simd
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] = row[i] * s * gain[i];
        }
    }
}

/* dgain is a sum over all rows: each thread sums its own rows into a row of @p partial, the
 * partial sums are added in thread order. d is cut into strips so that partial fits. */
#define STRIP 2048
static void gain_back(size_t rows, size_t d, size_t from, size_t size, const float *x,
                      const float *inv_rms, const float *dy, float *dgain) {
    static _Thread_local float partial[MAX_THREADS][STRIP];
    float(*sums)[STRIP] = partial; /* the caller's copy, shared by the team */
    int threads = omp_get_max_threads() < MAX_THREADS ? omp_get_max_threads() : MAX_THREADS;
#pragma omp parallel num_threads(threads)
    {
        float *mine = sums[omp_get_thread_num()];
        memset(mine, 0, size * sizeof *mine);
#pragma omp for schedule(static)
        for (size_t r = 0; r < rows; r++) {
            const float *xr = x + r * d + from, *dyr = dy + r * d + from;
            float s = inv_rms[r];
#pragma omp simd
            for (size_t i = 0; i < size; i++) {
                mine[i] += dyr[i] * xr[i] * s;
            }
        }
    }
    for (int t = 0; t < threads; t++) {
        for (size_t i = 0; i < size; i++) {
            dgain[from + i] += sums[t][i];
        }
    }
}

static void avx_rmsnorm_back(size_t rows, size_t d, const float *x, const float *gain,
                             const float *inv_rms, const float *dy, float *dx, float *dgain) {
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        const float *xr = x + r * d, *dyr = dy + r * d;
        float *dxr = dx + r * d;
        float dot = 0, s = inv_rms[r];
#pragma omp simd reduction(+ : dot)
        for (size_t i = 0; i < d; i++) {
            dot += dyr[i] * gain[i] * xr[i];
        }
        float pull = dot * s * s * s / (float)d;
#pragma omp simd
        for (size_t i = 0; i < d; i++) {
            dxr[i] += dyr[i] * gain[i] * s - pull * xr[i];
        }
    }
    for (size_t from = 0; from < d; from += STRIP) {
        gain_back(rows, d, from, d - from < STRIP ? d - from : STRIP, x, inv_rms, dy, dgain);
    }
}

static void avx_rope(size_t rows, size_t heads, size_t head_size, size_t stride, const float *table,
                     const uint32_t *pos, bool inverse, float *x) {
    size_t half = head_size / 2;
    float sign = inverse ? -1.0f : 1.0f;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        const float *cosine = table + pos[r] * head_size, *sine = cosine + half;
        for (size_t h = 0; h < heads; h++) {
            float *low = x + r * stride + h * head_size, *high = low + half;
#pragma omp simd
            for (size_t i = 0; i < half; i++) {
                float a = low[i], b = high[i], s = sign * sine[i];
                low[i] = a * cosine[i] - b * s;
                high[i] = a * s + b * cosine[i];
            }
        }
    }
}

static void avx_swiglu(size_t rows, size_t d, const float *x, float *y) {
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        const float *gate = x + r * 2 * d, *up = gate + d;
#pragma omp simd
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] = gate[i] * up[i] / (1 + stn_exp_fast(-gate[i]));
        }
    }
}

static void avx_swiglu_back(size_t rows, size_t d, const float *x, const float *dy, float *dx) {
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        const float *gate = x + r * 2 * d, *up = gate + d, *dyr = dy + r * d;
        float *dgate = dx + r * 2 * d, *dup = dgate + d;
#pragma omp simd
        for (size_t i = 0; i < d; i++) {
            float g = gate[i], s = 1 / (1 + stn_exp_fast(-g));
            dgate[i] += dyr[i] * up[i] * s * (1 + g * (1 - s));
            dup[i] += dyr[i] * g * s;
        }
    }
}

static void avx_embed(size_t rows, size_t d, const uint32_t *id, const float *table, float *y) {
#pragma omp parallel for schedule(static)
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
#pragma omp parallel for schedule(static)
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

static double row_cross_entropy(size_t classes, const float *row, uint32_t target, float weight,
                                float *dlogits) {
    float high = row[0], sum = 0;
    for (size_t c = 1; c < classes; c++) {
        high = row[c] > high ? row[c] : high;
    }
    float wanted = row[target];
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < classes; c++) {
        sum += stn_exp_fast(row[c] - high);
    }
    if (dlogits) {
        float share = weight / sum;
#pragma omp simd
        for (size_t c = 0; c < classes; c++) {
            dlogits[c] = share * stn_exp_fast(row[c] - high);
        }
        dlogits[target] -= weight;
    }
    return weight * ((double)high - wanted + log((double)sum));
}

static double avx_cross_entropy(size_t rows, size_t classes, const float *logits,
                                const uint32_t *target, const float *weight, float *dlogits) {
    double partial[MAX_THREADS] = {0};
    int threads = omp_get_max_threads() < MAX_THREADS ? omp_get_max_threads() : MAX_THREADS;
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
#pragma omp parallel for schedule(static)
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
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < groups * factor; r++) {
        for (size_t i = 0; i < d; i++) {
            dx[r * d + i] += share * dy[r / factor * d + i];
        }
    }
}

static void avx_unpool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < groups * factor; r++) {
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] += x[r / factor * d + i];
        }
    }
}

static void avx_unpool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
#pragma omp parallel for schedule(static)
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
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        m[i] = beta1 * m[i] + fresh1 * g;
        v[i] = beta2 * v[i] + fresh2 * g * g;
        float step = m[i] * unbias1 / (sqrtf(v[i] * unbias2) + epsilon);
        weight[i] -= rate * (step + decay * weight[i]);
    }
}

static void avx_ema(size_t count, float keep, const float *weight, float *average) {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; i++) {
        average[i] = keep * average[i] + (1 - keep) * weight[i];
    }
}

static double avx_norm2(size_t count, const float *x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) {
        sum += (double)x[i] * x[i];
    }
    return sum;
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
