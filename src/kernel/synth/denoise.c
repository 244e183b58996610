/* The network with a memory: rows of a block against rings of keys and values.
 *
 * The ring of a layer holds rows of q|k|v: first W rows of past for each stream, in any order
 * (rotary positions are in the keys already), then the B rows at hand of each stream, side by side
 * so that one product fills them all. */
#include "kernel/synth/denoise.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

typedef struct ring {
    float *qkv;    /* [streams * (size + step)][3d] */
    uint32_t size; /* rows of past of a stream at most; multiple of step */
    uint32_t step; /* rows of a stream that come at a time */
    uint32_t have; /* rows of past there */
    uint32_t next; /* where the next step goes */
} ring;

struct stn_denoise {
    const stn_denoiser *n;
    uint32_t streams, rows; /* rows: streams * B */
    ring fine[STN_LAYERS_MAX], coarse[STN_LAYERS_MAX];
    float *packed;         /* the matrices, laid out for few rows */
    size_t *packed_at;     /* [tensors] where each begins; SIZE_MAX: no matrix */
    bool borrows;          /* both of them, from another one */
    uint64_t block;        /* number of the block at hand */
    uint64_t angles_block; /* block that angles are of; UINT64_MAX at first */
    float *x;              /* [rows][d] */
    float *norm, *inv, *att, *lse, *gate, *act;
    double *frequency;             /* [head_size / 2] radians an event */
    float *angles, *coarse_angles; /* [B][head_size], [1][head_size] cos then sin */
    float *summary;                /* [streams][d] of all blocks before this one */
    float *pooled, *coarse_x;      /* [streams][d] */
    float *sum, *mixed, *logits;   /* one row of a head */
    uint32_t *index, *origin, *id; /* [rows] 0 … B-1 over and over; [streams] 0; [rows] */
    stn_nn_span *spans;            /* [streams] */
    bool has_summary;
};

/* ---- making -------------------------------------------------------------- */

static stn_status ring_init(ring *r, uint32_t streams, uint32_t size, uint32_t step, size_t d,
                            stn_err *err) {
    *r = (ring){.size = size, .step = step};
    r->qkv = stn_calloc((size_t)streams * (size + step) * 3 * d, sizeof(float));
    return r->qkv ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for a context");
}

static stn_status rings_init(stn_denoise *s, uint32_t coarse_blocks, stn_err *err) {
    const stn_denoiser_shape *shape = &s->n->shape;
    stn_status status = STN_OK;
    for (uint32_t i = 0; !status && i < shape->layers; i++) {
        status = ring_init(&s->fine[i], s->streams, shape->window, shape->block, shape->d, err);
    }
    for (uint32_t i = 0; !status && i < shape->coarse_layers; i++) {
        status = ring_init(&s->coarse[i], s->streams, coarse_blocks, 1, shape->d, err);
    }
    return status;
}

static void pack_block(stn_denoise *s, const stn_nn_block *b) {
    const size_t matrices[] = {b->qkv, b->out, b->gate, b->down};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        s->packed_at[matrices[i]] = 0;
    }
}

/* Mark every matrix that rows are multiplied with. */
static void pack_mark(stn_denoise *s) {
    const stn_denoiser *n = s->n;
    for (size_t t = 0; t < n->params.tensor_count; t++) {
        s->packed_at[t] = SIZE_MAX;
    }
    for (uint32_t i = 0; i < n->shape.layers; i++) {
        pack_block(s, &n->fine[i]);
    }
    for (uint32_t i = 0; i < n->shape.coarse_layers; i++) {
        pack_block(s, &n->coarse[i]);
    }
    s->packed_at[n->coarse_out] = 0;
    for (uint32_t c = 0; c < n->shape.channels; c++) {
        const size_t matrices[] = {n->channel[c].mix, n->channel[c].unmix, n->channel[c].head};
        for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
            if (matrices[i] != SIZE_MAX) {
                s->packed_at[matrices[i]] = 0;
            }
        }
    }
}

static stn_status weights_pack(stn_denoise *s, stn_err *err) {
    const stn_nn_params *params = &s->n->params;
    const stn_nn_kernels *k = s->n->kernels;
    size_t floats = 0;
    s->packed_at = stn_malloc(params->tensor_count * sizeof *s->packed_at);
    if (!s->packed_at) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for sampling");
    }
    pack_mark(s);
    for (size_t t = 0; t < params->tensor_count; t++) {
        if (s->packed_at[t] != SIZE_MAX) {
            s->packed_at[t] = floats;
            floats += k->packed_size(params->tensors[t].rows, params->tensors[t].cols);
        }
    }
    s->packed = stn_malloc(floats * sizeof *s->packed);
    if (!s->packed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the weights of sampling");
    }
    for (size_t t = 0; t < params->tensor_count; t++) {
        if (s->packed_at[t] != SIZE_MAX) {
            k->pack(params->tensors[t].rows, params->tensors[t].cols,
                    stn_nn_params_at(params, params->weight, t), s->packed + s->packed_at[t]);
        }
    }
    return STN_OK;
}

static stn_status arrays_init(stn_denoise *s, uint32_t coarse_blocks, stn_err *err) {
    const stn_denoiser_shape *shape = &s->n->shape;
    size_t rows = s->rows, streams = s->streams, d = shape->d, widest = 0;
    for (uint32_t c = 0; c < shape->channels; c++) {
        widest = shape->classes[c] > widest ? shape->classes[c] : widest;
    }
    size_t head = s->n->block_shape.head_size;
    size_t past = coarse_blocks > shape->window ? coarse_blocks : shape->window;
    const struct {
        void *array; /* where the pointer goes */
        size_t count, size;
    } arrays[] = {
        {&s->x, rows * d, sizeof *s->x},
        {&s->norm, rows * d, sizeof *s->norm},
        {&s->inv, rows, sizeof *s->inv},
        {&s->att, rows * d, sizeof *s->att},
        {&s->lse, shape->heads * streams * (past + shape->block), sizeof *s->lse},
        {&s->gate, rows * 2 * shape->ff, sizeof *s->gate},
        {&s->act, rows * shape->ff, sizeof *s->act},
        {&s->frequency, head / 2, sizeof *s->frequency},
        {&s->angles, shape->block * head, sizeof *s->angles},
        {&s->coarse_angles, head, sizeof *s->coarse_angles},
        {&s->summary, streams * d, sizeof *s->summary},
        {&s->pooled, streams * d, sizeof *s->pooled},
        {&s->coarse_x, streams * d, sizeof *s->coarse_x},
        {&s->sum, 2 * d, sizeof *s->sum},
        {&s->mixed, 4 * d, sizeof *s->mixed},
        {&s->logits, widest, sizeof *s->logits},
        {&s->index, rows, sizeof *s->index},
        {&s->origin, streams, sizeof *s->origin},
        {&s->id, rows, sizeof *s->id},
        {&s->spans, streams, sizeof *s->spans},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *made = stn_calloc(arrays[i].count, arrays[i].size);
        memcpy(arrays[i].array, &made, sizeof made);
        if (!made) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for sampling");
        }
    }
    for (uint32_t i = 0; i < rows; i++) {
        s->index[i] = i % shape->block;
    }
    for (uint32_t i = 0; i < head / 2; i++) {
        s->frequency[i] = pow(10000, -2.0 * i / (double)head);
    }
    return STN_OK;
}

/* @p weights: whose packed weights to use; NULL: own ones */
static stn_status new_streams(stn_denoise **out, const stn_denoiser *n, const stn_denoise *weights,
                              uint32_t context, uint32_t streams, stn_err *err) {
    *out = NULL;
    stn_denoise *s = stn_calloc(1, sizeof *s);
    if (!s) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for sampling");
    }
    s->n = n;
    s->streams = streams;
    s->rows = streams * n->shape.block;
    s->angles_block = UINT64_MAX;
    uint32_t blocks = (context + n->shape.block - 1) / n->shape.block;
    blocks = blocks ? blocks : 1;
    stn_status status = rings_init(s, blocks, err);
    if (!status) {
        status = arrays_init(s, blocks, err);
    }
    if (!status && weights) {
        s->packed = weights->packed;
        s->packed_at = weights->packed_at;
        s->borrows = true;
    } else if (!status) {
        status = weights_pack(s, err);
    }
    if (status) {
        stn_denoise_free(s);
        return status;
    }
    *out = s;
    return STN_OK;
}

stn_status stn_denoise_new_streams(stn_denoise **out, const stn_denoiser *n, uint32_t context,
                                   uint32_t streams, stn_err *err) {
    return new_streams(out, n, NULL, context, streams, err);
}

stn_status stn_denoise_new_beside(stn_denoise **out, const stn_denoise *first, uint32_t context,
                                  stn_err *err) {
    return new_streams(out, first->n, first, context, first->streams, err);
}

stn_status stn_denoise_new(stn_denoise **out, const stn_denoiser *n, uint32_t context,
                           stn_err *err) {
    return stn_denoise_new_streams(out, n, context, 1, err);
}

void stn_denoise_free(stn_denoise *s) {
    if (!s) {
        return;
    }
    for (int i = 0; i < STN_LAYERS_MAX; i++) {
        stn_free(s->fine[i].qkv);
        stn_free(s->coarse[i].qkv);
    }
    if (!s->borrows) {
        stn_free(s->packed);
        stn_free(s->packed_at);
    }
    void *arrays[] = {s->x,      s->norm,          s->inv,     s->att,       s->lse,
                      s->gate,   s->act,           s->index,   s->frequency, s->angles,
                      s->origin, s->coarse_angles, s->summary, s->pooled,    s->coarse_x,
                      s->sum,    s->mixed,         s->logits,  s->id,        s->spans};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        stn_free(arrays[i]);
    }
    stn_free(s);
}

/* ---- layers -------------------------------------------------------------- */

static const float *weight_of(const stn_denoise *s, size_t index) {
    return stn_nn_params_at(&s->n->params, s->n->params.weight, index);
}

/* y = x w^T (+ y) with matrix @p index. */
static void linear(const stn_denoise *s, size_t rows, size_t index, const float *x, bool add,
                   float *y) {
    const stn_nn_tensor *w = &s->n->params.tensors[index];
    s->n->kernels->packed_linear(rows, w->rows, w->cols, x, s->packed + s->packed_at[index], add,
                                 y);
}

/* Rope of positions first … first+count-1, as stn_nn_rope_table() has it. */
static void angles_fill(const stn_denoise *s, uint64_t first, uint32_t count, float *angles) {
    uint32_t size = s->n->block_shape.head_size, half = size / 2;
    for (uint32_t i = 0; i < half; i++) {
        for (uint32_t p = 0; p < count; p++) {
            double angle = (double)(first + p) * s->frequency[i];
            angles[p * size + i] = (float)cos(angle);
            angles[p * size + half + i] = (float)sin(angle);
        }
    }
}

/* Where the rows at hand begin. */
static float *ring_hand(const stn_denoise *s, const ring *r) {
    return r->qkv + (size_t)s->streams * r->size * 3 * s->n->shape.d;
}

/* Each stream's rows at hand see its past and themselves. */
static stn_nn_attention ring_attention(const stn_denoise *s, const ring *r) {
    const stn_nn_block_shape *shape = &s->n->block_shape;
    uint32_t hand = s->streams * r->size;
    for (uint32_t i = 0; i < s->streams; i++) {
        uint32_t past = i * r->size, at = hand + i * r->step;
        s->spans[i] = (stn_nn_span){.q_begin = at,
                                    .q_end = at + r->step,
                                    .k_begin = {past, at},
                                    .k_end = {past + r->have, at + r->step}};
    }
    return (stn_nn_attention){.spans = s->spans,
                              .span_count = s->streams,
                              .heads = shape->heads,
                              .head_size = shape->head_size,
                              .stride = 3 * shape->d,
                              .out_stride = shape->d,
                              .rows = hand + s->streams * r->step,
                              .out_first = hand};
}

/* One transformer block over the rows at hand of all streams; a coarse row sees itself, as a causal
 * row does. */
static void block_run(const stn_denoise *s, const stn_nn_block *b, ring *r, const float *angles,
                      const uint32_t *pos, float *x) {
    const stn_nn_block_shape *shape = &s->n->block_shape;
    const stn_nn_kernels *k = s->n->kernels;
    size_t d = shape->d, ff = shape->ff, rows = (size_t)s->streams * r->step;
    float *qkv = ring_hand(s, r);
    const stn_nn_attention attention = ring_attention(s, r);
    k->rmsnorm(rows, d, x, weight_of(s, b->norm1), s->norm, s->inv, NULL);
    linear(s, rows, b->qkv, s->norm, false, qkv);
    k->rope(rows, (size_t)2 * shape->heads, shape->head_size, 3 * d, angles, pos, false, qkv);
    k->attention(&attention, r->qkv, r->qkv + d, r->qkv + 2 * d, s->att, s->lse);
    linear(s, rows, b->out, s->att, true, x);
    k->rmsnorm(rows, d, x, weight_of(s, b->norm2), s->norm, s->inv, NULL);
    linear(s, rows, b->gate, s->norm, false, s->gate);
    k->swiglu(rows, ff, s->gate, s->act);
    linear(s, rows, b->down, s->act, true, x);
}

/* The rows at hand become past. */
static void ring_keep(const stn_denoise *s, ring *r) {
    size_t row = 3 * (size_t)s->n->shape.d, size = r->step * row;
    const float *hand = ring_hand(s, r);
    for (size_t i = 0; i < s->streams; i++) {
        memcpy(r->qkv + (i * r->size + r->next) * row, hand + i * size, size * sizeof *hand);
    }
    r->next = (r->next + r->step) % r->size;
    r->have = r->have < r->size ? r->have + r->step : r->size;
}

/* ---- blocks -------------------------------------------------------------- */

static void rows_embed(const stn_denoise *s, const stn_denoise_hand *hands, bool known) {
    size_t d = s->n->shape.d, b = s->n->shape.block;
    for (size_t i = 0; i < s->rows; i++) {
        const float *label = weight_of(s, s->n->label) + hands[i / b].label * d;
        memcpy(s->x + i * d, label, d * sizeof *label);
    }
    for (uint32_t c = 0; c < s->n->shape.channels; c++) {
        for (size_t i = 0; i < s->rows; i++) {
            const stn_denoise_hand *hand = &hands[i / b];
            bool masked = !known && hand->masked && hand->masked[i % b];
            s->id[i] = masked ? s->n->shape.classes[c] : hand->value[c][i % b];
        }
        s->n->kernels->embed(s->rows, d, s->id, weight_of(s, s->n->channel[c].in), s->x);
    }
}

static void add_summary(const stn_denoise *s) {
    if (s->has_summary) {
        s->n->kernels->unpool(s->streams, s->n->shape.block, s->n->shape.d, s->summary, s->x);
    }
}

static void block_angles(stn_denoise *s) {
    if (s->angles_block != s->block) {
        uint32_t b = s->n->shape.block;
        angles_fill(s, s->block * b, b, s->angles);
        s->angles_block = s->block;
    }
}

void stn_denoise_look_streams(stn_denoise *s, const stn_denoise_hand *hands) {
    rows_embed(s, hands, false);
    block_angles(s);
    for (uint32_t i = 0; i < s->n->shape.layers; i++) {
        block_run(s, &s->n->fine[i], &s->fine[i], s->angles, s->index, s->x);
        if (i == 0) {
            add_summary(s);
        }
    }
}

/* The summary that the next block will see. */
static void coarse_step(stn_denoise *s) {
    const stn_denoiser *n = s->n;
    size_t d = n->shape.d, streams = s->streams;
    if (!n->shape.coarse_layers) {
        return;
    }
    n->kernels->pool(streams, n->shape.block, d, s->x, s->coarse_x);
    angles_fill(s, s->block, 1, s->coarse_angles);
    for (uint32_t i = 0; i < n->shape.coarse_layers; i++) {
        block_run(s, &n->coarse[i], &s->coarse[i], s->coarse_angles, s->origin, s->coarse_x);
        ring_keep(s, &s->coarse[i]);
    }
    n->kernels->rmsnorm(streams, d, s->coarse_x, weight_of(s, n->coarse_norm), s->pooled, s->inv,
                        NULL);
    linear(s, streams, n->coarse_out, s->pooled, false, s->coarse_x);
}

void stn_denoise_commit_streams(stn_denoise *s, const stn_denoise_hand *hands) {
    rows_embed(s, hands, true);
    block_angles(s);
    for (uint32_t i = 0; i < s->n->shape.layers; i++) {
        block_run(s, &s->n->fine[i], &s->fine[i], s->angles, s->index, s->x);
        ring_keep(s, &s->fine[i]);
        if (i == 0) {
            coarse_step(s);
            add_summary(s);
        }
    }
    memcpy(s->summary, s->coarse_x, (size_t)s->streams * s->n->shape.d * sizeof *s->summary);
    s->has_summary = s->n->shape.coarse_layers > 0;
    s->block++;
}

const float *stn_denoise_logits_stream(stn_denoise *s, uint32_t stream, uint32_t row,
                                       uint32_t channel, const uint16_t *given) {
    const stn_denoiser *n = s->n;
    const stn_channel_params *p = &n->channel[channel];
    size_t d = n->shape.d, at = (size_t)stream * n->shape.block + row;
    float inv;
    float *sum = s->sum, *norm = s->sum + d;
    memcpy(sum, s->x + at * d, d * sizeof *sum);
    for (uint32_t c = 0; c < channel; c++) {
        const float *known = weight_of(s, n->channel[c].given) + given[c] * d;
        for (size_t i = 0; i < d; i++) {
            sum[i] += known[i];
        }
    }
    n->kernels->rmsnorm(1, d, sum, weight_of(s, p->norm), norm, &inv, NULL);
    if (p->mix != SIZE_MAX) {
        float *gated = s->mixed + 2 * d;
        linear(s, 1, p->mix, norm, false, s->mixed);
        n->kernels->swiglu(1, d, s->mixed, gated);
        linear(s, 1, p->unmix, gated, false, norm);
    }
    linear(s, 1, p->head, norm, false, s->logits);
    return s->logits;
}

/* ---- one stream ---------------------------------------------------------- */

void stn_denoise_look(stn_denoise *s, const uint16_t *const *value, const bool *masked,
                      uint32_t label) {
    assert(s->streams == 1);
    const stn_denoise_hand hand = {value, masked, label};
    stn_denoise_look_streams(s, &hand);
}

const float *stn_denoise_logits(stn_denoise *s, uint32_t row, uint32_t channel,
                                const uint16_t *given) {
    return stn_denoise_logits_stream(s, 0, row, channel, given);
}

void stn_denoise_commit(stn_denoise *s, const uint16_t *const *value, uint32_t label) {
    assert(s->streams == 1);
    const stn_denoise_hand hand = {value, NULL, label};
    stn_denoise_commit_streams(s, &hand);
}
