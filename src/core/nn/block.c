#include "core/nn/block.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

void stn_nn_linear(const stn_nn_kernels *kernels, size_t rows, size_t n, size_t k, const float *x,
                   const float *w, bool add, float *y) {
    kernels->gemm(false, true, rows, n, k, 1, x, k, w, k, add ? 1 : 0, y, n);
}

void stn_nn_linear_back(const stn_nn_kernels *kernels, size_t rows, size_t n, size_t k,
                        const float *x, const float *w, const float *dy, bool add, float *dx,
                        float *dw) {
    if (dx) {
        kernels->gemm(false, false, rows, k, n, 1, dy, n, w, k, add ? 1 : 0, dx, k);
    }
    if (dw) {
        kernels->gemm(true, false, n, k, rows, 1, dy, n, x, k, 1, dw, k);
    }
}

stn_status stn_nn_block_add(stn_nn_block *block, stn_nn_params *params, const char *name,
                            const stn_nn_block_shape *s, uint32_t depth, stn_err *err) {
    float in = 1 / sqrtf((float)s->d);
    float out = 1 / sqrtf(2.0f * (float)depth);
    const struct {
        const char *part;
        size_t *index;
        uint32_t rows, cols;
        stn_nn_init init;
        float scale;
        bool decays;
    } rows[] = {
        {"norm1", &block->norm1, 1, s->d, STN_NN_INIT_ONE, 0, false},
        {"qkv", &block->qkv, 3 * s->d, s->d, STN_NN_INIT_NORMAL, in, true},
        {"out", &block->out, s->d, s->d, STN_NN_INIT_NORMAL, in * out, true},
        {"norm2", &block->norm2, 1, s->d, STN_NN_INIT_ONE, 0, false},
        {"gate", &block->gate, 2 * s->ff, s->d, STN_NN_INIT_NORMAL, in, true},
        {"down", &block->down, s->d, s->ff, STN_NN_INIT_NORMAL, out / sqrtf((float)s->ff), true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char full[48];
        snprintf(full, sizeof full, "%s.%s", name, rows[i].part);
        *rows[i].index = stn_nn_params_add(params, full, rows[i].rows, rows[i].cols, rows[i].init,
                                           rows[i].scale, rows[i].decays);
        if (*rows[i].index == SIZE_MAX) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for the tensors of %s", name);
        }
    }
    return STN_OK;
}

stn_status stn_nn_block_reserve(stn_nn_block_saved *saved, const stn_nn_block_shape *s, size_t rows,
                                stn_err *err) {
    if (rows <= saved->row_capacity) {
        return STN_OK;
    }
    size_t d = s->d, ff = s->ff;
    size_t floats = rows * (8 * d + 3 * ff + 2 + s->heads);
    stn_nn_block_saved_fini(saved);
    saved->memory = stn_malloc(floats * sizeof(float));
    if (!saved->memory) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the activations of %zu rows", rows);
    }
    saved->row_capacity = rows;
    float *at = saved->memory;
    const struct {
        float **part;
        size_t width;
    } parts[] = {
        {&saved->x1, d},   {&saved->n1, d},   {&saved->qkv, 3 * d},    {&saved->att, d},
        {&saved->x2, d},   {&saved->n2, d},   {&saved->gate, 2 * ff},  {&saved->act, ff},
        {&saved->inv1, 1}, {&saved->inv2, 1}, {&saved->lse, s->heads},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].part = at;
        at += rows * parts[i].width;
    }
    return STN_OK;
}

void stn_nn_block_saved_fini(stn_nn_block_saved *saved) {
    stn_free(saved->memory);
    *saved = (stn_nn_block_saved){0};
}

static stn_nn_attention block_attention(const stn_nn_block_shape *s, const stn_nn_pass *pass) {
    return (stn_nn_attention){.spans = pass->spans,
                              .span_count = pass->span_count,
                              .heads = s->heads,
                              .head_size = s->head_size,
                              .stride = 3 * s->d,
                              .out_stride = s->d,
                              .rows = pass->rows};
}

/* Weights or gradients of one tensor. */
static float *weight_of(const stn_nn_pass *pass, size_t index) {
    return stn_nn_params_at(pass->params, pass->params->weight, index);
}

static float *gradient_of(const stn_nn_pass *pass, size_t index) {
    return stn_nn_params_at(pass->params, pass->params->gradient, index);
}

/* Rows that pass a chain of layers together, so that what one writes is still in the cache when the
 * next one reads it. */
#define ROW_TILE 1024

static size_t tile_rows(size_t rows, size_t from) {
    return rows - from < ROW_TILE ? rows - from : ROW_TILE;
}

/* Rows from … of x to queries, keys and values. */
static void qkv_forward(const stn_nn_block *b, const stn_nn_block_shape *s, const stn_nn_pass *pass,
                        stn_nn_block_saved *saved, const float *x, size_t from, size_t rows) {
    const stn_nn_kernels *k = pass->kernels;
    size_t d = s->d;
    float *n1 = saved->n1 + from * d, *qkv = saved->qkv + from * 3 * d;
    k->rmsnorm(rows, d, x + from * d, weight_of(pass, b->norm1), n1, saved->inv1 + from,
               saved->x1 + from * d);
    stn_nn_linear(k, rows, 3 * d, d, n1, weight_of(pass, b->qkv), false, qkv);
    k->rope(rows, (size_t)2 * s->heads, s->head_size, 3 * d, pass->rope, pass->pos + from, false,
            qkv);
}

/* Rows from … of x, after attention. */
static void mlp_forward(const stn_nn_block *b, const stn_nn_block_shape *s, const stn_nn_pass *pass,
                        stn_nn_block_saved *saved, float *x, size_t from, size_t rows) {
    const stn_nn_kernels *k = pass->kernels;
    size_t d = s->d, ff = s->ff;
    float *n2 = saved->n2 + from * d, *gate = saved->gate + from * 2 * ff;
    float *act = saved->act + from * ff;
    x += from * d;
    stn_nn_linear(k, rows, d, d, saved->att + from * d, weight_of(pass, b->out), true, x);
    k->rmsnorm(rows, d, x, weight_of(pass, b->norm2), n2, saved->inv2 + from, saved->x2 + from * d);
    stn_nn_linear(k, rows, 2 * ff, d, n2, weight_of(pass, b->gate), false, gate);
    k->swiglu(rows, ff, gate, act);
    stn_nn_linear(k, rows, d, ff, act, weight_of(pass, b->down), true, x);
}

void stn_nn_block_forward(const stn_nn_block *b, const stn_nn_block_shape *s,
                          const stn_nn_pass *pass, stn_nn_block_saved *saved, float *x) {
    const stn_nn_attention attention = block_attention(s, pass);
    size_t rows = pass->rows, d = s->d;
    for (size_t from = 0; from < rows; from += ROW_TILE) {
        qkv_forward(b, s, pass, saved, x, from, tile_rows(rows, from));
    }
    pass->kernels->attention(&attention, saved->qkv, saved->qkv + d, saved->qkv + 2 * d, saved->att,
                             saved->lse);
    for (size_t from = 0; from < rows; from += ROW_TILE) {
        mlp_forward(b, s, pass, saved, x, from, tile_rows(rows, from));
    }
}

/* datt [rows][d], dqkv [rows][3d], and of a tile dn [d], dact [ff], dgate [2ff]. */
size_t stn_nn_block_scratch(const stn_nn_block_shape *s, size_t rows) {
    size_t tile = rows < ROW_TILE ? rows : ROW_TILE;
    return rows * 4 * s->d + tile * (s->d + 3 * (size_t)s->ff);
}

/* Rows from … of dx through the gate, then through the product after attention to datt. */
static void mlp_backward(const stn_nn_block *b, const stn_nn_block_shape *s,
                         const stn_nn_pass *pass, const stn_nn_block_saved *saved, float *dx,
                         float *datt, float *scratch, size_t from, size_t rows) {
    const stn_nn_kernels *k = pass->kernels;
    size_t d = s->d, ff = s->ff;
    float *dn = scratch, *dact = dn + rows * d, *dgate = dact + rows * ff;
    dx += from * d;
    stn_nn_linear_back(k, rows, d, ff, saved->act + from * ff, weight_of(pass, b->down), dx, false,
                       dact, gradient_of(pass, b->down));
    k->swiglu_back(rows, ff, saved->gate + from * 2 * ff, dact, dgate);
    stn_nn_linear_back(k, rows, 2 * ff, d, saved->n2 + from * d, weight_of(pass, b->gate), dgate,
                       false, dn, gradient_of(pass, b->gate));
    k->rmsnorm_back(rows, d, saved->x2 + from * d, weight_of(pass, b->norm2), saved->inv2 + from,
                    dn, dx, gradient_of(pass, b->norm2));
    stn_nn_linear_back(k, rows, d, d, saved->att + from * d, weight_of(pass, b->out), dx, false,
                       datt + from * d, gradient_of(pass, b->out));
}

static void qkv_backward(const stn_nn_block *b, const stn_nn_block_shape *s,
                         const stn_nn_pass *pass, const stn_nn_block_saved *saved, float *dx,
                         float *dqkv, float *dn, size_t from, size_t rows) {
    const stn_nn_kernels *k = pass->kernels;
    size_t d = s->d;
    dqkv += from * 3 * d;
    k->rope(rows, (size_t)2 * s->heads, s->head_size, 3 * d, pass->rope, pass->pos + from, true,
            dqkv);
    stn_nn_linear_back(k, rows, 3 * d, d, saved->n1 + from * d, weight_of(pass, b->qkv), dqkv,
                       false, dn, gradient_of(pass, b->qkv));
    k->rmsnorm_back(rows, d, saved->x1 + from * d, weight_of(pass, b->norm1), saved->inv1 + from,
                    dn, dx + from * d, gradient_of(pass, b->norm1));
}

void stn_nn_block_backward(const stn_nn_block *b, const stn_nn_block_shape *s,
                           const stn_nn_pass *pass, const stn_nn_block_saved *saved, float *dx,
                           float *scratch) {
    const stn_nn_attention attention = block_attention(s, pass);
    size_t rows = pass->rows, d = s->d;
    float *datt = scratch, *dqkv = datt + rows * d, *tile = dqkv + rows * 3 * d;
    for (size_t from = 0; from < rows; from += ROW_TILE) {
        mlp_backward(b, s, pass, saved, dx, datt, tile, from, tile_rows(rows, from));
    }
    memset(dqkv, 0, rows * 3 * d * sizeof *dqkv);
    pass->kernels->attention_back(&attention, saved->qkv, saved->qkv + d, saved->qkv + 2 * d,
                                  saved->att, saved->lse, datt, dqkv, dqkv + d, dqkv + 2 * d);
    for (size_t from = 0; from < rows; from += ROW_TILE) {
        qkv_backward(b, s, pass, saved, dx, dqkv, tile, from, tile_rows(rows, from));
    }
}
