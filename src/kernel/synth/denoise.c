/* The network with a memory: rows of a block against rings of keys and values.
 *
 * A ring buffer of one layer holds rows of q|k|v: [0, W) the clean past, in any order (rotary
 * positions are in the keys already), [W, W+B) the block at hand. */
#include "kernel/synth/denoise.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

typedef struct ring {
    float *qkv;    /* [size + step][3d] */
    uint32_t size; /* rows of past at most; multiple of step */
    uint32_t step; /* rows that come at a time */
    uint32_t have; /* rows of past there */
    uint32_t next; /* where the next step goes */
} ring;

struct stn_denoise {
    const stn_denoiser *n;
    ring fine[STN_LAYERS_MAX], coarse[STN_LAYERS_MAX];
    uint64_t block; /* number of the block at hand */
    float *x;       /* [B][d] rows at hand */
    float *norm, *inv, *att, *lse, *gate, *act;
    float *angles;            /* [B][head_size] rope of the block's positions */
    uint32_t *index;          /* [B] 0 … B-1 */
    uint32_t *id;             /* [B] */
    float *summary;           /* [d] of all blocks before this one */
    float *pooled, *coarse_x; /* [d] */
    bool has_summary;
    float *sum, *mixed, *logits; /* one row of a head */
};

static stn_status ring_init(ring *r, uint32_t size, uint32_t step, size_t d, stn_err *err) {
    *r = (ring){.size = size, .step = step};
    r->qkv = stn_calloc((size_t)(size + step) * 3 * d, sizeof(float));
    return r->qkv ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for a context");
}

static stn_status rings_init(stn_denoise *s, uint32_t context, stn_err *err) {
    const stn_denoiser_shape *shape = &s->n->shape;
    uint32_t blocks = (context + shape->block - 1) / shape->block;
    stn_status status = STN_OK;
    for (uint32_t i = 0; !status && i < shape->layers; i++) {
        status = ring_init(&s->fine[i], shape->window, shape->block, shape->d, err);
    }
    for (uint32_t i = 0; !status && i < shape->coarse_layers; i++) {
        status = ring_init(&s->coarse[i], blocks ? blocks : 1, 1, shape->d, err);
    }
    return status;
}

stn_status stn_denoise_new(stn_denoise **out, const stn_denoiser *n, uint32_t context,
                           stn_err *err) {
    *out = NULL;
    stn_denoise *s = stn_calloc(1, sizeof *s);
    if (!s) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for sampling");
    }
    s->n = n;
    size_t b = n->shape.block, d = n->shape.d, widest = 0;
    for (uint32_t c = 0; c < n->shape.channels; c++) {
        widest = n->shape.classes[c] > widest ? n->shape.classes[c] : widest;
    }
    size_t blocks = (context + b - 1) / b;
    size_t past = blocks > n->shape.window ? blocks : n->shape.window;
    const struct {
        float **array;
        size_t count;
    } arrays[] = {
        {&s->x, b * d},
        {&s->norm, b * d},
        {&s->inv, b},
        {&s->att, b * d},
        {&s->lse, n->shape.heads * (past + b)},
        {&s->gate, b * 2 * n->shape.ff},
        {&s->act, b * n->shape.ff},
        {&s->angles, b * n->block_shape.head_size},
        {&s->summary, d},
        {&s->pooled, d},
        {&s->coarse_x, d},
        {&s->sum, 2 * d},
        {&s->mixed, 4 * d},
        {&s->logits, widest},
    };
    stn_status status = rings_init(s, context, err);
    for (size_t i = 0; !status && i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].array = stn_calloc(arrays[i].count, sizeof(float));
        status = *arrays[i].array ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    s->index = stn_malloc(b * sizeof *s->index);
    s->id = stn_malloc(b * sizeof *s->id);
    if (status || !s->index || !s->id) {
        stn_denoise_free(s);
        return status ? status : stn_err_set(err, STN_ENOMEM, "out of memory for sampling");
    }
    for (uint32_t i = 0; i < b; i++) {
        s->index[i] = i;
    }
    *out = s;
    return STN_OK;
}

void stn_denoise_free(stn_denoise *s) {
    if (!s) {
        return;
    }
    for (int i = 0; i < STN_LAYERS_MAX; i++) {
        stn_free(s->fine[i].qkv);
        stn_free(s->coarse[i].qkv);
    }
    void *arrays[] = {s->x,        s->norm,   s->inv,   s->att,   s->lse,     s->gate,
                      s->act,      s->angles, s->index, s->id,    s->summary, s->pooled,
                      s->coarse_x, s->sum,    s->mixed, s->logits};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        stn_free(arrays[i]);
    }
    stn_free(s);
}

static const float *weight_of(const stn_denoise *s, size_t index) {
    return stn_nn_params_at(&s->n->params, s->n->params.weight, index);
}

/* Rope of positions first … first+count-1. */
static void angles_fill(stn_denoise *s, uint64_t first, uint32_t count) {
    uint32_t size = s->n->block_shape.head_size, half = size / 2;
    for (uint32_t p = 0; p < count; p++) {
        for (uint32_t i = 0; i < half; i++) {
            double angle = (double)(first + p) * pow(10000, -2.0 * i / size);
            s->angles[p * size + i] = (float)cos(angle);
            s->angles[p * size + half + i] = (float)sin(angle);
        }
    }
}

/* One transformer block over @p rows rows of x, keys from the ring and the rows themselves;
 * a coarse row (rows == 1) sees itself, as a causal row does. */
static void block_run(stn_denoise *s, const stn_nn_block *b, ring *r, uint32_t rows, float *x) {
    const stn_nn_block_shape *shape = &s->n->block_shape;
    const stn_nn_kernels *k = s->n->kernels;
    size_t d = shape->d, ff = shape->ff;
    float *qkv = r->qkv + (size_t)r->size * 3 * d;
    const stn_nn_span span = {.q_begin = r->size,
                              .q_end = r->size + rows,
                              .k_begin = {0, r->size},
                              .k_end = {r->have, r->size + rows}};
    const stn_nn_attention attention = {.spans = &span,
                                        .span_count = 1,
                                        .heads = shape->heads,
                                        .head_size = shape->head_size,
                                        .stride = 3 * shape->d,
                                        .out_stride = shape->d,
                                        .rows = r->size + rows,
                                        .out_first = r->size};
    k->rmsnorm(rows, d, x, weight_of(s, b->norm1), s->norm, s->inv, NULL);
    stn_nn_linear(k, rows, 3 * d, d, s->norm, weight_of(s, b->qkv), false, qkv);
    k->rope(rows, (size_t)2 * shape->heads, shape->head_size, 3 * d, s->angles, s->index, false,
            qkv);
    k->attention(&attention, r->qkv, r->qkv + d, r->qkv + 2 * d, s->att, s->lse);
    stn_nn_linear(k, rows, d, d, s->att, weight_of(s, b->out), true, x);
    k->rmsnorm(rows, d, x, weight_of(s, b->norm2), s->norm, s->inv, NULL);
    stn_nn_linear(k, rows, 2 * ff, d, s->norm, weight_of(s, b->gate), false, s->gate);
    k->swiglu(rows, ff, s->gate, s->act);
    stn_nn_linear(k, rows, d, ff, s->act, weight_of(s, b->down), true, x);
}

/* The rows at hand become past. */
static void ring_keep(ring *r, size_t d) {
    memcpy(r->qkv + (size_t)r->next * 3 * d, r->qkv + (size_t)r->size * 3 * d,
           (size_t)r->step * 3 * d * sizeof(float));
    r->next = (r->next + r->step) % r->size;
    r->have = r->have < r->size ? r->have + r->step : r->size;
}

static void rows_embed(stn_denoise *s, const uint16_t *const *value, const bool *masked,
                       uint32_t label) {
    size_t d = s->n->shape.d, b = s->n->shape.block;
    const float *start = weight_of(s, s->n->label) + label * d;
    for (size_t i = 0; i < b; i++) {
        memcpy(s->x + i * d, start, d * sizeof *start);
    }
    for (uint32_t c = 0; c < s->n->shape.channels; c++) {
        for (size_t i = 0; i < b; i++) {
            s->id[i] = masked && masked[i] ? s->n->shape.classes[c] : value[c][i];
        }
        s->n->kernels->embed(b, d, s->id, weight_of(s, s->n->channel[c].in), s->x);
    }
}

static void add_summary(stn_denoise *s) {
    size_t d = s->n->shape.d;
    if (s->has_summary) {
        s->n->kernels->unpool(1, s->n->shape.block, d, s->summary, s->x);
    }
}

void stn_denoise_look(stn_denoise *s, const uint16_t *const *value, const bool *masked,
                      uint32_t label) {
    uint32_t b = s->n->shape.block;
    rows_embed(s, value, masked, label);
    angles_fill(s, s->block * b, b);
    for (uint32_t i = 0; i < s->n->shape.layers; i++) {
        block_run(s, &s->n->fine[i], &s->fine[i], b, s->x);
        if (i == 0) {
            add_summary(s);
        }
    }
}

/* The summary that the next block will see. */
static void coarse_step(stn_denoise *s) {
    const stn_denoiser *n = s->n;
    size_t d = n->shape.d;
    if (!n->shape.coarse_layers) {
        return;
    }
    n->kernels->pool(1, n->shape.block, d, s->x, s->coarse_x);
    angles_fill(s, s->block, 1);
    for (uint32_t i = 0; i < n->shape.coarse_layers; i++) {
        block_run(s, &n->coarse[i], &s->coarse[i], 1, s->coarse_x);
        ring_keep(&s->coarse[i], d);
    }
    n->kernels->rmsnorm(1, d, s->coarse_x, weight_of(s, n->coarse_norm), s->pooled, s->inv, NULL);
    stn_nn_linear(n->kernels, 1, d, d, s->pooled, weight_of(s, n->coarse_out), false, s->coarse_x);
}

void stn_denoise_commit(stn_denoise *s, const uint16_t *const *value, uint32_t label) {
    uint32_t b = s->n->shape.block;
    size_t d = s->n->shape.d;
    rows_embed(s, value, NULL, label);
    angles_fill(s, s->block * b, b);
    for (uint32_t i = 0; i < s->n->shape.layers; i++) {
        block_run(s, &s->n->fine[i], &s->fine[i], b, s->x);
        ring_keep(&s->fine[i], d);
        if (i == 0) {
            coarse_step(s);
            add_summary(s);
            angles_fill(s, s->block * b, b);
        }
    }
    memcpy(s->summary, s->coarse_x, d * sizeof *s->summary);
    s->has_summary = s->n->shape.coarse_layers > 0;
    s->block++;
}

const float *stn_denoise_logits(stn_denoise *s, uint32_t row, uint32_t channel,
                                const uint16_t *given) {
    const stn_denoiser *n = s->n;
    const stn_channel_params *p = &n->channel[channel];
    size_t d = n->shape.d;
    float inv;
    float *sum = s->sum, *norm = s->sum + d;
    memcpy(sum, s->x + row * d, d * sizeof *sum);
    for (uint32_t c = 0; c < channel; c++) {
        const float *known = weight_of(s, n->channel[c].given) + given[c] * d;
        for (size_t i = 0; i < d; i++) {
            sum[i] += known[i];
        }
    }
    n->kernels->rmsnorm(1, d, sum, weight_of(s, p->norm), norm, &inv, NULL);
    if (p->mix != SIZE_MAX) {
        float *gated = s->mixed + 2 * d;
        stn_nn_linear(n->kernels, 1, 2 * d, d, norm, weight_of(s, p->mix), false, s->mixed);
        n->kernels->swiglu(1, d, s->mixed, gated);
        stn_nn_linear(n->kernels, 1, d, d, gated, weight_of(s, p->unmix), false, norm);
    }
    stn_nn_linear(n->kernels, 1, n->shape.classes[channel], d, norm, weight_of(s, p->head), false,
                  s->logits);
    return s->logits;
}
