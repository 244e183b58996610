/** @file
 *  One transformer block: x += Wo attention(rope(Wqkv norm(x))), x += Wdown swiglu(Wgu norm(x)),
 *  with the way back. Bidirectional, causal or windowed: the spans say it.
 *  Source: Vaswani et al., arXiv:1706.03762; pre-norm, RMSNorm, rotary, SwiGLU as in LLaMA
 *  (arXiv:2302.13971). Pinned by tests/unit/test_nn_block.c. */
#ifndef STN_CORE_NN_BLOCK_H
#define STN_CORE_NN_BLOCK_H

#include "core/nn/params.h"

typedef struct stn_nn_block_shape {
    uint32_t d; /**< width; heads * head_size */
    uint32_t heads;
    uint32_t head_size; /**< multiple of 8 */
    uint32_t ff;        /**< inner width of the gate */
} stn_nn_block_shape;

/** Tensor indices of a block in its stn_nn_params. */
typedef struct stn_nn_block {
    size_t norm1; /**< [1][d] */
    size_t qkv;   /**< [3d][d] */
    size_t out;   /**< [d][d] */
    size_t norm2; /**< [1][d] */
    size_t gate;  /**< [2ff][d] gate over up */
    size_t down;  /**< [d][ff] */
} stn_nn_block;

/** What forward keeps for the way back. Zero-initialise; owned by the caller, fini frees. */
typedef struct stn_nn_block_saved {
    size_t row_capacity;
    float *memory;
    float *x1, *n1, *inv1, *qkv, *att, *lse, *x2, *n2, *inv2, *gate, *act;
} stn_nn_block_saved;

/** What all blocks of a pass share. */
typedef struct stn_nn_pass {
    const stn_nn_kernels *kernels;
    const stn_nn_params *params;
    const stn_nn_span *spans; /**< [span_count], every row in the query range of one */
    uint32_t span_count;
    uint32_t rows;
    const float *rope;   /**< stn_nn_rope_table() */
    const uint32_t *pos; /**< [rows] */
} stn_nn_pass;

/** Add the tensors of block @p name to @p params. @p depth blocks in all scale the outputs.
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_nn_block_add(stn_nn_block *block, stn_nn_params *params, const char *name,
                            const stn_nn_block_shape *shape, uint32_t depth,
                            stn_err *err) STN_MUST_USE;
/** Make room for @p rows rows. */
stn_status stn_nn_block_reserve(stn_nn_block_saved *saved, const stn_nn_block_shape *shape,
                                size_t rows, stn_err *err) STN_MUST_USE;
void stn_nn_block_saved_fini(stn_nn_block_saved *saved);

/** x [rows][d] in place. @pre saved has room */
void stn_nn_block_forward(const stn_nn_block *block, const stn_nn_block_shape *shape,
                          const stn_nn_pass *pass, stn_nn_block_saved *saved, float *x);
/** dx [rows][d] in place (of the output, then of the input); adds to the gradients.
 *  @param scratch floats: stn_nn_block_scratch() */
void stn_nn_block_backward(const stn_nn_block *block, const stn_nn_block_shape *shape,
                           const stn_nn_pass *pass, const stn_nn_block_saved *saved, float *dx,
                           float *scratch);
/** Floats of scratch that backward needs for @p rows rows. */
size_t stn_nn_block_scratch(const stn_nn_block_shape *shape, size_t rows);

/** y [rows][n] = x [rows][k] w^T (+ y if @p add), w [n][k]; and its way back: dx = dy w
 *  (+ dx if @p add), dw += dy^T x (either may be NULL). */
void stn_nn_linear(const stn_nn_kernels *kernels, size_t rows, size_t n, size_t k, const float *x,
                   const float *w, bool add, float *y);
void stn_nn_linear_back(const stn_nn_kernels *kernels, size_t rows, size_t n, size_t k,
                        const float *x, const float *w, const float *dy, bool add, float *dx,
                        float *dw);

#endif
