/* The kernels in plain C: slow, obvious, the meaning that every other table is held to. */
#include <math.h>
#include <string.h>

#include "core/nn/kernel.h"

static void ref_threads(int count) {
    (void)count; /* there is one, always */
}

static void ref_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                     size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++) {
                sum += (double)(ta ? a[l * lda + i] : a[i * lda + l]) *
                       (tb ? b[j * ldb + l] : b[l * ldb + j]);
            }
            float *out = &c[i * ldc + j];
            *out = (float)(alpha * sum) + (beta == 0 ? 0 : beta * *out);
        }
    }
}

static size_t ref_packed_size(size_t n, size_t k) {
    return n * k;
}

static void ref_pack(size_t n, size_t k, const float *w, float *packed) {
    memcpy(packed, w, n * k * sizeof *packed);
}

static void ref_packed_linear(size_t rows, size_t n, size_t k, const float *x, const float *packed,
                              bool add, float *y) {
    ref_gemm(false, true, rows, n, k, 1, x, k, packed, k, add ? 1 : 0, y, n);
}

static void ref_rmsnorm(size_t rows, size_t d, const float *x, const float *gain, float *y,
                        float *inv_rms, float *kept) {
    if (kept) {
        memcpy(kept, x, rows * d * sizeof *kept);
    }
    for (size_t r = 0; r < rows; r++) {
        double square = 0;
        for (size_t i = 0; i < d; i++) {
            square += (double)x[r * d + i] * x[r * d + i];
        }
        inv_rms[r] = (float)(1 / sqrt(square / (double)d + 1e-6));
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] = x[r * d + i] * inv_rms[r] * gain[i];
        }
    }
}

/* y_i = g_i x_i s, s = (mean x^2 + e)^-1/2, ds/dx_j = -s^3 x_j / d. */
static void ref_rmsnorm_back(size_t rows, size_t d, const float *x, const float *gain,
                             const float *inv_rms, const float *dy, float *dx, float *dgain) {
    for (size_t r = 0; r < rows; r++) {
        double dot = 0, s = inv_rms[r];
        for (size_t i = 0; i < d; i++) {
            dot += (double)dy[r * d + i] * gain[i] * x[r * d + i];
        }
        for (size_t i = 0; i < d; i++) {
            double xi = x[r * d + i], dyi = dy[r * d + i];
            dx[r * d + i] += (float)(dyi * gain[i] * s - dot * s * s * s * xi / (double)d);
            dgain[i] += (float)(dyi * xi * s);
        }
    }
}

static void ref_rope(size_t rows, size_t heads, size_t head_size, size_t stride, const float *table,
                     const uint32_t *pos, bool inverse, float *x) {
    size_t half = head_size / 2;
    for (size_t r = 0; r < rows; r++) {
        const float *cosine = table + pos[r] * head_size, *sine = cosine + half;
        for (size_t h = 0; h < heads; h++) {
            float *head = x + r * stride + h * head_size;
            for (size_t i = 0; i < half; i++) {
                float s = inverse ? -sine[i] : sine[i];
                float a = head[i], b = head[i + half];
                head[i] = a * cosine[i] - b * s;
                head[i + half] = a * s + b * cosine[i];
            }
        }
    }
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void ref_swiglu(size_t rows, size_t d, const float *x, float *y) {
    for (size_t r = 0; r < rows; r++) {
        const float *gate = x + r * 2 * d, *up = gate + d;
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] = (float)(gate[i] * sigmoid(gate[i]) * up[i]);
        }
    }
}

static void ref_swiglu_back(size_t rows, size_t d, const float *x, const float *dy, float *dx) {
    for (size_t r = 0; r < rows; r++) {
        const float *gate = x + r * 2 * d, *up = gate + d;
        for (size_t i = 0; i < d; i++) {
            double g = gate[i], s = sigmoid(g), dyi = dy[r * d + i];
            dx[r * 2 * d + i] = (float)(dyi * up[i] * s * (1 + g * (1 - s)));
            dx[r * 2 * d + d + i] = (float)(dyi * g * s);
        }
    }
}

static void ref_embed(size_t rows, size_t d, const uint32_t *id, const float *table, float *y) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] += table[id[r] * d + i];
        }
    }
}

static void ref_embed_back(size_t rows, size_t d, const uint32_t *id, const float *dy,
                           float *dtable) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < d; i++) {
            dtable[id[r] * d + i] += dy[r * d + i];
        }
    }
}

/* ---- attention ------------------------------------------------------- */

static bool span_sees(const stn_nn_span *span, uint32_t q, int range, uint32_t k) {
    return range || !span->causal || k - span->k_begin[0] <= q - span->q_begin + span->causal_shift;
}

static double head_dot(const stn_nn_attention *s, const float *a, const float *b) {
    double sum = 0;
    for (uint32_t i = 0; i < s->head_size; i++) {
        sum += (double)a[i] * b[i];
    }
    return sum;
}

/* Walks the keys that query q of a span sees: for (walk w = walk_keys(…); walk_next(&w);) w.k */
typedef struct walk {
    const stn_nn_span *span;
    uint32_t q, next, k;
    int range;
} walk;

static walk walk_keys(const stn_nn_span *span, uint32_t q) {
    return (walk){.span = span, .q = q, .next = span->k_begin[0]};
}

static bool walk_next(walk *w) {
    while (w->range < 2) {
        if (w->next >= w->span->k_end[w->range]) {
            w->range++;
            w->next = w->range < 2 ? w->span->k_begin[w->range] : 0;
        } else {
            w->k = w->next++;
            if (span_sees(w->span, w->q, w->range, w->k)) {
                return true;
            }
        }
    }
    return false;
}

static void ref_attention_row(const stn_nn_attention *s, const stn_nn_span *span, uint32_t q,
                              uint32_t h, const float *qs, const float *ks, const float *vs,
                              float *out, float *lse) {
    size_t at = (size_t)h * s->head_size;
    const float *query = qs + (size_t)q * s->stride + at;
    float *o = out + (size_t)(q - s->out_first) * s->out_stride + at;
    double scale = 1 / sqrt((double)s->head_size), high = -INFINITY, sum = 0;
    for (walk w = walk_keys(span, q); walk_next(&w);) {
        high = fmax(high, scale * head_dot(s, query, ks + (size_t)w.k * s->stride + at));
    }
    memset(o, 0, s->head_size * sizeof *o);
    for (walk w = walk_keys(span, q); walk_next(&w);) {
        sum += exp(scale * head_dot(s, query, ks + (size_t)w.k * s->stride + at) - high);
    }
    lse[(size_t)h * s->rows + q] = (float)(high + log(sum));
    for (walk w = walk_keys(span, q); walk_next(&w);) {
        double p = exp(scale * head_dot(s, query, ks + (size_t)w.k * s->stride + at) - high) / sum;
        for (uint32_t i = 0; i < s->head_size; i++) {
            o[i] += (float)(p * vs[(size_t)w.k * s->stride + at + i]);
        }
    }
}

static void ref_attention(const stn_nn_attention *s, const float *q, const float *k, const float *v,
                          float *out, float *lse) {
    for (uint32_t n = 0; n < s->span_count; n++) {
        for (uint32_t row = s->spans[n].q_begin; row < s->spans[n].q_end; row++) {
            for (uint32_t h = 0; h < s->heads; h++) {
                ref_attention_row(s, &s->spans[n], row, h, q, k, v, out, lse);
            }
        }
    }
}

typedef struct attention_grads {
    const float *q, *k, *v, *out, *lse, *dout;
    float *dq, *dk, *dv;
} attention_grads;

static void ref_attention_back_row(const stn_nn_attention *s, const stn_nn_span *span, uint32_t q,
                                   uint32_t h, const attention_grads *g) {
    size_t at = (size_t)h * s->head_size, row = (size_t)q * s->stride + at;
    size_t out_row = (size_t)(q - s->out_first) * s->out_stride + at;
    double scale = 1 / sqrt((double)s->head_size);
    double delta = head_dot(s, g->dout + out_row, g->out + out_row);
    for (walk w = walk_keys(span, q); walk_next(&w);) {
        size_t key = (size_t)w.k * s->stride + at;
        double score = scale * head_dot(s, g->q + row, g->k + key);
        double p = exp(score - g->lse[(size_t)h * s->rows + q]);
        double ds = p * (head_dot(s, g->dout + out_row, g->v + key) - delta) * scale;
        for (uint32_t i = 0; i < s->head_size; i++) {
            g->dv[key + i] += (float)(p * g->dout[out_row + i]);
            g->dq[row + i] += (float)(ds * g->k[key + i]);
            g->dk[key + i] += (float)(ds * g->q[row + i]);
        }
    }
}

static void ref_attention_back(const stn_nn_attention *s, const float *q, const float *k,
                               const float *v, const float *out, const float *lse,
                               const float *dout, float *dq, float *dk, float *dv) {
    const attention_grads g = {q, k, v, out, lse, dout, dq, dk, dv};
    for (uint32_t n = 0; n < s->span_count; n++) {
        for (uint32_t row = s->spans[n].q_begin; row < s->spans[n].q_end; row++) {
            for (uint32_t h = 0; h < s->heads; h++) {
                ref_attention_back_row(s, &s->spans[n], row, h, &g);
            }
        }
    }
}

/* ---- loss, sampling, optimiser --------------------------------------- */

static double ref_cross_entropy(size_t rows, size_t classes, const float *logits,
                                const uint32_t *target, const float *weight, float *dlogits) {
    double loss = 0;
    for (size_t r = 0; r < rows; r++) {
        const float *row = logits + r * classes;
        double high = -INFINITY, sum = 0;
        for (size_t c = 0; c < classes; c++) {
            high = fmax(high, row[c]);
        }
        for (size_t c = 0; c < classes; c++) {
            sum += exp(row[c] - high);
        }
        double log_sum = high + log(sum);
        loss += weight[r] == 0 ? 0 : weight[r] * (log_sum - row[target[r]]);
        for (size_t c = 0; dlogits && c < classes; c++) {
            double p = exp(row[c] - log_sum);
            dlogits[r * classes + c] = (float)(weight[r] * (p - (c == target[r])));
        }
    }
    return loss;
}

static void ref_pool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = 0; i < d; i++) {
            double sum = 0;
            for (size_t f = 0; f < factor; f++) {
                sum += x[(g * factor + f) * d + i];
            }
            y[g * d + i] = (float)(sum / (double)factor);
        }
    }
}

static void ref_pool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
    for (size_t r = 0; r < groups * factor; r++) {
        for (size_t i = 0; i < d; i++) {
            dx[r * d + i] += dy[r / factor * d + i] / (float)factor;
        }
    }
}

static void ref_unpool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
    for (size_t r = 0; r < groups * factor; r++) {
        for (size_t i = 0; i < d; i++) {
            y[r * d + i] += x[r / factor * d + i];
        }
    }
}

static void ref_unpool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
    for (size_t r = 0; r < groups * factor; r++) {
        for (size_t i = 0; i < d; i++) {
            dx[r / factor * d + i] += dy[r * d + i];
        }
    }
}

static void ref_adamw(size_t count, float rate, float beta1, float beta2, float epsilon,
                      float decay, float bias1, float bias2, float scale, const float *gradient,
                      float *m, float *v, float *weight) {
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        float step = (m[i] / bias1) / (sqrtf(v[i] / bias2) + epsilon);
        weight[i] -= rate * (step + decay * weight[i]);
    }
}

static void ref_ema(size_t count, float keep, const float *weight, float *average) {
    for (size_t i = 0; i < count; i++) {
        average[i] = keep * average[i] + (1 - keep) * weight[i];
    }
}

static double ref_norm2(size_t count, const float *x) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)x[i] * x[i];
    }
    return sum;
}

const stn_nn_kernels *stn_nn_kernels_ref(void) {
    static const stn_nn_kernels table = {
        .name = "reference",
        .threads = ref_threads,
        .gemm = ref_gemm,
        .packed_size = ref_packed_size,
        .pack = ref_pack,
        .packed_linear = ref_packed_linear,
        .rmsnorm = ref_rmsnorm,
        .rmsnorm_back = ref_rmsnorm_back,
        .rope = ref_rope,
        .swiglu = ref_swiglu,
        .swiglu_back = ref_swiglu_back,
        .embed = ref_embed,
        .embed_back = ref_embed_back,
        .attention = ref_attention,
        .attention_back = ref_attention_back,
        .cross_entropy = ref_cross_entropy,
        .pool = ref_pool,
        .pool_back = ref_pool_back,
        .unpool = ref_unpool,
        .unpool_back = ref_unpool_back,
        .adamw = ref_adamw,
        .ema = ref_ema,
        .norm2 = ref_norm2,
    };
    return &table;
}
