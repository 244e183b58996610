/** @file
 *  The numeric kernels that networks are made of, behind one table. All matrices are
 *  row-major float32; a row is one position of a sequence. Networks see only the table:
 *  where it runs (plain C, SIMD and a BLAS, one day a GPU) is decided in kernel.c.
 *
 *  Forward kernels overwrite their output; backward kernels ADD to every gradient unless they
 *  say that they overwrite it. The plain C table (kernel_ref.c) is the meaning; every other table
 *  is held against it on edge-biased input, and every backward against central differences.
 *  Pinned by tests/unit/test_nn_kernel.c and tests/unit/test_nn_gradient.c. */
#ifndef STN_CORE_NN_KERNEL_H
#define STN_CORE_NN_KERNEL_H

#include <standin/base.h>

/** Queries that see the same keys. Rows q_begin .. q_end-1 attend to the keys of up to two
 *  ranges of rows; with @c causal, query q sees of range 0 only keys k with
 *  k - k_begin[0] <= q - q_begin + causal_shift (its own position, where both start at one). */
typedef struct stn_nn_span {
    uint32_t q_begin, q_end;
    uint32_t k_begin[2], k_end[2]; /**< an empty range has begin == end */
    bool causal;
    uint32_t causal_shift;
} stn_nn_span;

/** Shape of an attention: q, k, v, out are [rows][heads * head_size] inside rows of @c stride. */
typedef struct stn_nn_attention {
    const stn_nn_span *spans; /**< [span_count]; query ranges are disjoint */
    uint32_t span_count;
    uint32_t heads;
    uint32_t head_size; /**< multiple of 8 */
    uint32_t stride;    /**< floats from one row to the next in q, k, v and their gradients */
    uint32_t out_stride;
    uint32_t rows;      /**< rows of q, k, v */
    uint32_t out_first; /**< out's first row answers this row of q; 0 when out has all rows */
} stn_nn_attention;

typedef struct stn_nn_kernels {
    const char *name;

    /** Threads that calls from this thread may use from now on; 0: one a processor. With
     *  the same number the same calls give the same bits; with another, sums over rows may be
     *  taken in another order. */
    void (*threads)(int count);

    /** c[m][n] = alpha * op(a) op(b) + beta * c, op transposes if asked. lda … are row strides. */
    void (*gemm)(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                 size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc);

    /** Products with the same matrix over and over, of any number of rows but made for few: pack()
     *  lays w [n][k] out as the table likes it, in packed_size() floats, and packed_linear() is
     *  y [rows][n] = x [rows][k] w^T (+ y if @p add). */
    size_t (*packed_size)(size_t n, size_t k);
    void (*pack)(size_t n, size_t k, const float *w, float *packed);
    void (*packed_linear)(size_t rows, size_t n, size_t k, const float *x, const float *packed,
                          bool add, float *y);

    /** y = x * inv_rms * gain, inv_rms[row] = 1 / sqrt(mean(x^2) + 1e-6). [rows][d]. @p kept
     *  [rows][d], unless NULL, gets x itself, which the way back needs when x changes in place.
     *  Source: Zhang, Sennrich, arXiv:1910.07467. */
    void (*rmsnorm)(size_t rows, size_t d, const float *x, const float *gain, float *y,
                    float *inv_rms, float *kept);
    void (*rmsnorm_back)(size_t rows, size_t d, const float *x, const float *gain,
                         const float *inv_rms, const float *dy, float *dx, float *dgain);

    /** Rotate pairs (i, i + head_size/2) of each head of x [rows][heads*head_size] (row stride
     *  @p stride) in place by pos[row] * base^(-2i/head_size), base 10000; @p inverse rotates
     *  back, which is its backward. @p table [positions][head_size] holds cos then sin.
     *  Source: Su et al., arXiv:2104.09864. */
    void (*rope)(size_t rows, size_t heads, size_t head_size, size_t stride, const float *table,
                 const uint32_t *pos, bool inverse, float *x);

    /** y = silu(x[:, :d]) * x[:, d:], x [rows][2d], y [rows][d]; its backward overwrites dx.
     *  Source: Shazeer, arXiv:2002.05202. */
    void (*swiglu)(size_t rows, size_t d, const float *x, float *y);
    void (*swiglu_back)(size_t rows, size_t d, const float *x, const float *dy, float *dx);

    /** y[row] += table[id[row]], table [ids][d]. */
    void (*embed)(size_t rows, size_t d, const uint32_t *id, const float *table, float *y);
    void (*embed_back)(size_t rows, size_t d, const uint32_t *id, const float *dy, float *dtable);

    /** out = softmax(q k^T / sqrt(head_size)) v within the spans; lse [heads][rows] keeps the log
     *  of each row's sum for the way back. Rows in no span are left as they are. */
    void (*attention)(const stn_nn_attention *shape, const float *q, const float *k, const float *v,
                      float *out, float *lse);
    void (*attention_back)(const stn_nn_attention *shape, const float *q, const float *k,
                           const float *v, const float *out, const float *lse, const float *dout,
                           float *dq, float *dk, float *dv);

    /** Sum over rows of weight[row] * -log softmax(logits[row])[target[row]]; a weight of 0 skips
     *  the row. @p dlogits (may be logits itself, or NULL) = weight * (softmax - onehot),
     *  overwritten. [rows][classes]. */
    double (*cross_entropy)(size_t rows, size_t classes, const float *logits,
                            const uint32_t *target, const float *weight, float *dlogits);

    /** y[group] = mean of @p factor rows. x [groups*factor][d]. */
    void (*pool)(size_t groups, size_t factor, size_t d, const float *x, float *y);
    void (*pool_back)(size_t groups, size_t factor, size_t d, const float *dy, float *dx);
    /** y[group*factor + i] += x[group] for i < factor, and its backward. */
    void (*unpool)(size_t groups, size_t factor, size_t d, const float *x, float *y);
    void (*unpool_back)(size_t groups, size_t factor, size_t d, const float *dy, float *dx);

    /** AdamW with decoupled decay; @p scale multiplies the gradient first (clipping).
     *  bias1, bias2 = 1 - beta^t. Source: Loshchilov, Hutter, arXiv:1711.05101. */
    void (*adamw)(size_t count, float rate, float beta1, float beta2, float epsilon, float decay,
                  float bias1, float bias2, float scale, const float *gradient, float *m, float *v,
                  float *weight);
    /** average = keep * average + (1 - keep) * weight. */
    void (*ema)(size_t count, float keep, const float *weight, float *average);
    /** Sum of squares, in double, in a fixed order for a thread count. */
    double (*norm2)(size_t count, const float *x);
} stn_nn_kernels;

/** Plain C: the meaning of every entry. */
const stn_nn_kernels *stn_nn_kernels_ref(void);
/** The best table for this machine; the reference table where nothing better runs. */
const stn_nn_kernels *stn_nn_kernels_best(void);
/** The SIMD table (AVX2 and FMA, oneDNN products), or NULL if this processor lacks them. */
const stn_nn_kernels *stn_nn_kernels_avx2(void);

/** Fill a rope table [positions][head_size]. */
void stn_nn_rope_table(size_t positions, size_t head_size, float *table);

#endif
