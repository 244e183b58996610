/* Layout of the weights, and the training pass with its way back. */
#include "kernel/synth/denoiser.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* ---- weights --------------------------------------------------------- */

static stn_status shape_check(const stn_denoiser_shape *s, stn_err *err) {
    bool good = s->channels >= 1 && s->channels <= STN_CHANNELS_MAX && s->block >= 1 &&
                s->window >= s->block && s->window % s->block == 0 && s->layers >= 1 &&
                s->layers <= STN_LAYERS_MAX && s->coarse_layers <= STN_LAYERS_MAX &&
                s->heads >= 1 && s->d % s->heads == 0 && s->d / s->heads % 8 == 0 &&
                s->d / s->heads <= 128 && s->ff >= 8 && s->d >= 8 && s->d <= 4096 && s->ff <= 16384;
    for (uint32_t c = 0; good && c < s->channels; c++) {
        good = s->classes[c] >= 1 && s->classes[c] < UINT16_MAX;
    }
    return good ? STN_OK : stn_err_set(err, STN_ERANGE, "no network has this shape");
}

static stn_status channel_add(stn_denoiser *n, uint32_t c, stn_err *err) {
    uint32_t d = n->shape.d, classes = n->shape.classes[c];
    float in = 1 / sqrtf((float)d), embed = 0.5f;
    stn_channel_params *p = &n->channel[c];
    bool headed = !n->shape.seen[c], later = c > 0 && headed;
    bool last = c + 1 == n->shape.channels;
    const struct {
        const char *part;
        size_t *index;
        bool there;
        uint32_t rows, cols;
        stn_nn_init init;
        float scale;
        bool decays;
    } rows[] = {
        {"in", &p->in, true, classes + 1, d, STN_NN_INIT_NORMAL, embed, false},
        {"given", &p->given, !last, classes, d, STN_NN_INIT_NORMAL, embed, false},
        {"norm", &p->norm, headed, 1, d, STN_NN_INIT_ONE, 0, false},
        {"mix", &p->mix, later, 2 * d, d, STN_NN_INIT_NORMAL, in, true},
        {"unmix", &p->unmix, later, d, d, STN_NN_INIT_NORMAL, in, true},
        {"head", &p->head, headed, classes, d, STN_NN_INIT_NORMAL, 0.5f * in, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[48];
        snprintf(name, sizeof name, "channel%u.%s", c, rows[i].part);
        *rows[i].index = SIZE_MAX;
        if (rows[i].there) {
            *rows[i].index = stn_nn_params_add(&n->params, name, rows[i].rows, rows[i].cols,
                                               rows[i].init, rows[i].scale, rows[i].decays);
            if (*rows[i].index == SIZE_MAX) {
                return stn_err_set(err, STN_ENOMEM, "out of memory for the tensors of a network");
            }
        }
    }
    return STN_OK;
}

static stn_status blocks_add(stn_denoiser *n, stn_err *err) {
    const stn_denoiser_shape *s = &n->shape;
    stn_status status = STN_OK;
    char name[32];
    for (uint32_t i = 0; !status && i < s->layers; i++) {
        snprintf(name, sizeof name, "fine%u", i);
        status = stn_nn_block_add(&n->fine[i], &n->params, name, &n->block_shape, s->layers, err);
    }
    for (uint32_t i = 0; !status && i < s->coarse_layers; i++) {
        snprintf(name, sizeof name, "coarse%u", i);
        status = stn_nn_block_add(&n->coarse[i], &n->params, name, &n->block_shape,
                                  s->coarse_layers, err);
    }
    if (status) {
        return status;
    }
    n->label = stn_nn_params_add(&n->params, "label", s->labels + 1, s->d, STN_NN_INIT_NORMAL, 0.1f,
                                 false);
    n->coarse_norm =
        stn_nn_params_add(&n->params, "coarse.norm", 1, s->d, STN_NN_INIT_ONE, 0, false);
    n->coarse_out = stn_nn_params_add(&n->params, "coarse.out", s->d, s->d, STN_NN_INIT_NORMAL,
                                      0.3f / sqrtf((float)s->d), true);
    bool whole = n->label != SIZE_MAX && n->coarse_norm != SIZE_MAX && n->coarse_out != SIZE_MAX;
    return whole ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for a network");
}

stn_status stn_denoiser_init(stn_denoiser *n, const stn_denoiser_shape *shape, bool training,
                             uint64_t seed, stn_err *err) {
    *n = (stn_denoiser){.shape = *shape, .kernels = stn_nn_kernels_best()};
    stn_status status = shape_check(shape, err);
    if (status) {
        return status;
    }
    n->block_shape = (stn_nn_block_shape){.d = shape->d,
                                          .heads = shape->heads,
                                          .head_size = shape->d / shape->heads,
                                          .ff = shape->ff};
    for (uint32_t c = 0; !status && c < shape->channels; c++) {
        status = channel_add(n, c, err);
    }
    if (!status) {
        status = blocks_add(n, err);
    }
    if (!status) {
        status = stn_nn_params_make(&n->params, training, err);
    }
    if (status) {
        stn_denoiser_fini(n);
        return status;
    }
    stn_nn_params_init(&n->params, seed);
    return STN_OK;
}

void stn_denoiser_fini(stn_denoiser *n) {
    stn_nn_params_fini(&n->params);
    *n = (stn_denoiser){0};
}

/* ---- the tape -------------------------------------------------------- */

struct stn_denoiser_tape {
    uint32_t length, coarse_rows, masked_capacity;
    stn_nn_block_saved fine[STN_LAYERS_MAX], coarse[STN_LAYERS_MAX];
    stn_nn_span *spans; /* [2 * blocks] fine */
    stn_nn_span coarse_span;
    uint32_t *pos, *id, *masked, *target; /* [2L], [2L], [L], [L] */
    float *weight;                        /* [L] of the masked rows */
    float *rope;
    float *x;                                           /* [2L][d] */
    float *dx;                                          /* [2L][d] */
    float *pooled, *pooled_norm, *pooled_inv, *dpooled; /* [G][d] … */
    float *scratch;
    /* heads, masked rows only */
    float *hidden, *dhidden, *sum, *norm, *inv, *mixed, *gated, *dmixed, *logits;
    size_t logits_capacity;
};

stn_status stn_denoiser_tape_new(stn_denoiser_tape **out, stn_err *err) {
    *out = stn_calloc(1, sizeof **out);
    return *out ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for training");
}

static void tape_arrays_free(stn_denoiser_tape *t) {
    void *arrays[] = {t->spans,   t->pos,     t->id,     t->masked,  t->target,      t->weight,
                      t->rope,    t->x,       t->dx,     t->pooled,  t->pooled_norm, t->pooled_inv,
                      t->dpooled, t->scratch, t->hidden, t->dhidden, t->sum,         t->norm,
                      t->inv,     t->mixed,   t->gated,  t->dmixed,  t->logits};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        stn_free(arrays[i]);
    }
    for (int i = 0; i < STN_LAYERS_MAX; i++) {
        stn_nn_block_saved_fini(&t->fine[i]);
        stn_nn_block_saved_fini(&t->coarse[i]);
    }
    *t = (stn_denoiser_tape){0};
}

void stn_denoiser_tape_free(stn_denoiser_tape *t) {
    if (t) {
        tape_arrays_free(t);
        stn_free(t);
    }
}

/* Clean block b sees the clean window that ends with it; noisy block b the clean window before it
 * and itself. */
static void tape_spans(const stn_denoiser_shape *s, stn_denoiser_tape *t, uint32_t length) {
    uint32_t blocks = length / s->block;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t begin = b * s->block, end = begin + s->block;
        uint32_t from = begin > s->window ? begin - s->window : 0;
        t->spans[b] =
            (stn_nn_span){.q_begin = begin, .q_end = end, .k_begin = {from, 0}, .k_end = {end, 0}};
        t->spans[blocks + b] = (stn_nn_span){.q_begin = length + begin,
                                             .q_end = length + end,
                                             .k_begin = {from, length + begin},
                                             .k_end = {begin, length + end}};
    }
    t->coarse_span = (stn_nn_span){
        .q_begin = 0, .q_end = blocks, .k_begin = {0, 0}, .k_end = {blocks, 0}, .causal = true};
    for (uint32_t i = 0; i < length; i++) {
        t->pos[i] = t->pos[length + i] = i;
    }
}

static float *floats(size_t count) {
    return stn_malloc(count * sizeof(float));
}

static stn_status tape_reserve(const stn_denoiser *n, stn_denoiser_tape *t, uint32_t length,
                               stn_err *err) {
    if (length == t->length) {
        return STN_OK;
    }
    tape_arrays_free(t);
    const stn_denoiser_shape *s = &n->shape;
    size_t l = length, d = s->d, blocks = length / s->block, widest = 0;
    for (uint32_t c = 0; c < s->channels; c++) {
        widest = s->classes[c] > widest ? s->classes[c] : widest;
    }
    t->spans = stn_malloc(2 * blocks * sizeof *t->spans);
    t->pos = stn_malloc(2 * l * sizeof *t->pos);
    t->id = stn_malloc(2 * l * sizeof *t->id);
    t->masked = stn_malloc(l * sizeof *t->masked);
    t->target = stn_malloc(l * sizeof *t->target);
    t->weight = floats(l);
    t->rope = floats(l * n->block_shape.head_size);
    t->x = floats(2 * l * d);
    t->dx = floats(2 * l * d);
    t->pooled = floats(blocks * d);
    t->pooled_norm = floats(blocks * d);
    t->pooled_inv = floats(blocks);
    t->dpooled = floats(2 * blocks * d);
    t->scratch = floats(stn_nn_block_scratch(&n->block_shape, 2 * l));
    t->hidden = floats(l * d);
    t->dhidden = floats(l * d);
    t->sum = floats(l * d);
    t->norm = floats(l * d);
    t->inv = floats(l);
    t->mixed = floats(l * 2 * d);
    t->gated = floats(2 * l * d);
    t->dmixed = floats(l * 4 * d);
    t->logits = floats(l * widest);
    bool whole = t->spans && t->pos && t->id && t->masked && t->target && t->weight && t->rope &&
                 t->x && t->dx && t->pooled && t->pooled_norm && t->pooled_inv && t->dpooled &&
                 t->scratch && t->hidden && t->dhidden && t->sum && t->norm && t->inv && t->mixed &&
                 t->gated && t->dmixed && t->logits;
    stn_status status =
        whole ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for %u events", length);
    for (uint32_t i = 0; !status && i < s->layers; i++) {
        status = stn_nn_block_reserve(&t->fine[i], &n->block_shape, 2 * l, err);
    }
    for (uint32_t i = 0; !status && i < s->coarse_layers; i++) {
        status = stn_nn_block_reserve(&t->coarse[i], &n->block_shape, blocks, err);
    }
    if (status) {
        tape_arrays_free(t);
        return status;
    }
    t->length = length;
    stn_nn_rope_table(length, n->block_shape.head_size, t->rope);
    tape_spans(s, t, length);
    return STN_OK;
}

/* ---- the pass -------------------------------------------------------- */

/* One window on its way through the network. */
typedef struct run {
    stn_denoiser *n;
    stn_denoiser_tape *t;
    const stn_denoiser_window *w;
    const stn_nn_kernels *k;
    stn_nn_pass fine, coarse;
    uint32_t l, blocks, masked;
    size_t d;
} run;

static float *weights(const run *r, size_t index) {
    return stn_nn_params_at(&r->n->params, r->n->params.weight, index);
}

static float *grads(const run *r, size_t index) {
    return stn_nn_params_at(&r->n->params, r->n->params.gradient, index);
}

/* ids of channel c for all 2L rows: clean values, then the noisy ones with the mask. */
static void channel_ids(const run *r, uint32_t c) {
    const uint16_t *value = r->w->value[c];
    for (uint32_t i = 0; i < r->l; i++) {
        r->t->id[i] = value[i];
        r->t->id[r->l + i] = r->w->weight[i] != 0 ? r->n->shape.classes[c] : value[i];
    }
}

static void embed_forward(const run *r) {
    stn_denoiser_tape *t = r->t;
    const float *label = weights(r, r->n->label) + r->w->label * r->d;
    for (size_t row = 0; row < 2 * (size_t)r->l; row++) {
        memcpy(t->x + row * r->d, label, r->d * sizeof *label);
    }
    for (uint32_t c = 0; c < r->n->shape.channels; c++) {
        channel_ids(r, c);
        r->k->embed(2 * (size_t)r->l, r->d, t->id, weights(r, r->n->channel[c].in), t->x);
    }
}

static void embed_backward(const run *r) {
    stn_denoiser_tape *t = r->t;
    for (uint32_t i = 0; i < 2 * r->l; i++) {
        t->id[i] = r->w->label;
    }
    r->k->embed_back(2 * (size_t)r->l, r->d, t->id, t->dx, grads(r, r->n->label));
    for (uint32_t c = 0; c < r->n->shape.channels; c++) {
        channel_ids(r, c);
        r->k->embed_back(2 * (size_t)r->l, r->d, t->id, t->dx, grads(r, r->n->channel[c].in));
    }
}

/* Add the summary of block b-1 to the rows of block b, clean and noisy. */
static void coarse_forward(const run *r) {
    stn_denoiser_tape *t = r->t;
    const stn_denoiser_shape *s = &r->n->shape;
    if (!s->coarse_layers || r->blocks < 2) {
        return;
    }
    size_t d = r->d, shift = s->block * d;
    r->k->pool(r->blocks, s->block, d, t->x, t->pooled);
    for (uint32_t i = 0; i < s->coarse_layers; i++) {
        stn_nn_block_forward(&r->n->coarse[i], &r->n->block_shape, &r->coarse, &t->coarse[i],
                             t->pooled);
    }
    r->k->rmsnorm(r->blocks, d, t->pooled, weights(r, r->n->coarse_norm), t->pooled_norm,
                  t->pooled_inv, NULL);
    float *summary = t->dpooled; /* scratch on the way forward */
    stn_nn_linear(r->k, r->blocks, d, d, t->pooled_norm, weights(r, r->n->coarse_out), false,
                  summary);
    r->k->unpool(r->blocks - 1, s->block, d, summary, t->x + shift);
    r->k->unpool(r->blocks - 1, s->block, d, summary, t->x + r->l * d + shift);
}

static void coarse_backward(const run *r) {
    stn_denoiser_tape *t = r->t;
    const stn_denoiser_shape *s = &r->n->shape;
    if (!s->coarse_layers || r->blocks < 2) {
        return;
    }
    size_t d = r->d, shift = s->block * d, size = r->blocks * d;
    float *dsummary = t->dpooled, *dpooled = t->dpooled + size;
    memset(t->dpooled, 0, 2 * size * sizeof *dsummary);
    r->k->unpool_back(r->blocks - 1, s->block, d, t->dx + shift, dsummary);
    r->k->unpool_back(r->blocks - 1, s->block, d, t->dx + r->l * d + shift, dsummary);
    float *dnorm = t->gated; /* free on the way back */
    stn_nn_linear_back(r->k, r->blocks, d, d, t->pooled_norm, weights(r, r->n->coarse_out),
                       dsummary, false, dnorm, grads(r, r->n->coarse_out));
    r->k->rmsnorm_back(r->blocks, d, t->pooled, weights(r, r->n->coarse_norm), t->pooled_inv, dnorm,
                       dpooled, grads(r, r->n->coarse_norm));
    for (uint32_t i = s->coarse_layers; i-- > 0;) {
        stn_nn_block_backward(&r->n->coarse[i], &r->n->block_shape, &r->coarse, &t->coarse[i],
                              dpooled, t->scratch);
    }
    r->k->pool_back(r->blocks, s->block, d, dpooled, t->dx);
}

/* ---- heads ----------------------------------------------------------- */

static void rows_gather(const run *r, const float *x, float *out) {
    for (uint32_t i = 0; i < r->masked; i++) {
        memcpy(out + i * r->d, x + (r->l + (size_t)r->t->masked[i]) * r->d, r->d * sizeof *out);
    }
}

static void rows_scatter(const run *r, const float *x, float *out) {
    for (uint32_t i = 0; i < r->masked; i++) {
        memcpy(out + (r->l + (size_t)r->t->masked[i]) * r->d, x + i * r->d, r->d * sizeof *out);
    }
}

static void head_targets(const run *r, uint32_t c) {
    for (uint32_t i = 0; i < r->masked; i++) {
        r->t->target[i] = r->w->value[c][r->t->masked[i]];
    }
}

/* Channel c's logits from t->sum (the row plus what is known of earlier channels). A later
 * channel has a hidden layer: what it says depends on the event as much as on the row. */
static void head_forward(const run *r, uint32_t c) {
    stn_denoiser_tape *t = r->t;
    const stn_channel_params *p = &r->n->channel[c];
    size_t rows = r->masked, d = r->d;
    r->k->rmsnorm(rows, d, t->sum, weights(r, p->norm), t->norm, t->inv, NULL);
    const float *features = t->norm;
    if (p->mix != SIZE_MAX) {
        stn_nn_linear(r->k, rows, 2 * d, d, t->norm, weights(r, p->mix), false, t->mixed);
        r->k->swiglu(rows, d, t->mixed, t->gated);
        features = t->gated + rows * d;
        stn_nn_linear(r->k, rows, d, d, t->gated, weights(r, p->unmix), false, t->gated + rows * d);
    }
    stn_nn_linear(r->k, rows, r->n->shape.classes[c], d, features, weights(r, p->head), false,
                  t->logits);
}

/* t->logits holds dlogits; adds to t->dhidden. */
static void head_backward(const run *r, uint32_t c) {
    stn_denoiser_tape *t = r->t;
    const stn_channel_params *p = &r->n->channel[c];
    size_t rows = r->masked, d = r->d, classes = r->n->shape.classes[c];
    float *dnorm = t->dmixed, *dfeatures = dnorm + rows * d, *dmixed = dfeatures + rows * d;
    if (p->mix == SIZE_MAX) {
        stn_nn_linear_back(r->k, rows, classes, d, t->norm, weights(r, p->head), t->logits, false,
                           dnorm, grads(r, p->head));
    } else {
        float *features = t->gated + rows * d;
        stn_nn_linear_back(r->k, rows, classes, d, features, weights(r, p->head), t->logits, false,
                           dfeatures, grads(r, p->head));
        float *dgated = features; /* features have done their work */
        stn_nn_linear_back(r->k, rows, d, d, t->gated, weights(r, p->unmix), dfeatures, false,
                           dgated, grads(r, p->unmix));
        r->k->swiglu_back(rows, d, t->mixed, dgated, dmixed);
        stn_nn_linear_back(r->k, rows, 2 * d, d, t->norm, weights(r, p->mix), dmixed, false, dnorm,
                           grads(r, p->mix));
    }
    if (c == 0) {
        r->k->rmsnorm_back(rows, d, t->sum, weights(r, p->norm), t->inv, dnorm, t->dhidden,
                           grads(r, p->norm));
        return;
    }
    float *dsum = dfeatures;
    memset(dsum, 0, rows * d * sizeof *dsum);
    r->k->rmsnorm_back(rows, d, t->sum, weights(r, p->norm), t->inv, dnorm, dsum,
                       grads(r, p->norm));
    r->k->unpool(rows, 1, d, dsum, t->dhidden);
    for (uint32_t before = 0; before < c; before++) {
        head_targets(r, before);
        r->k->embed_back(rows, d, t->target, dsum, grads(r, r->n->channel[before].given));
    }
}

/* The weights are divided before the loss is taken, so that its gradient needs no other pass. */
static void head(const run *r, uint32_t c, bool backward, double divisor, double *loss) {
    stn_denoiser_tape *t = r->t;
    size_t rows = r->masked, classes = r->n->shape.classes[c];
    head_forward(r, c);
    head_targets(r, c);
    *loss += divisor * r->k->cross_entropy(rows, classes, t->logits, t->target, t->weight,
                                           backward ? t->logits : NULL);
    if (backward) {
        head_backward(r, c);
    }
}

static void heads(const run *r, bool backward, double divisor, double *loss) {
    stn_denoiser_tape *t = r->t;
    size_t rows = r->masked, d = r->d;
    rows_gather(r, t->x, t->hidden);
    memcpy(t->sum, t->hidden, rows * d * sizeof *t->sum);
    memset(t->dhidden, 0, rows * d * sizeof *t->dhidden);
    for (uint32_t c = 0; c < r->n->shape.channels; c++) {
        if (!r->n->shape.seen[c]) {
            head(r, c, backward, divisor, &loss[c]);
        }
        if (r->n->channel[c].given != SIZE_MAX) {
            head_targets(r, c);
            r->k->embed(rows, d, t->target, weights(r, r->n->channel[c].given), t->sum);
        }
    }
}

static void run_init(run *r, double divisor) {
    stn_denoiser_tape *t = r->t;
    r->masked = 0;
    for (uint32_t i = 0; i < r->l; i++) {
        if (r->w->weight[i] > 0) {
            t->masked[r->masked] = i;
            t->weight[r->masked++] = (float)(r->w->weight[i] / divisor);
        }
    }
    r->fine = (stn_nn_pass){.kernels = r->k,
                            .params = &r->n->params,
                            .spans = t->spans,
                            .span_count = 2 * r->blocks,
                            .rows = 2 * r->l,
                            .rope = t->rope,
                            .pos = t->pos};
    r->coarse = r->fine;
    r->coarse.spans = &t->coarse_span;
    r->coarse.span_count = 1;
    r->coarse.rows = r->blocks;
}

stn_status stn_denoiser_loss(stn_denoiser *n, stn_denoiser_tape *t, const stn_denoiser_window *w,
                             bool backward, double divisor, double *loss, stn_err *err) {
    if (!w->length || w->length % n->shape.block) {
        return stn_err_set(err, STN_ERANGE, "a window of %u events is no multiple of the block %u",
                           w->length, n->shape.block);
    }
    stn_status status = tape_reserve(n, t, w->length, err);
    if (status) {
        return status;
    }
    run r = {.n = n,
             .t = t,
             .w = w,
             .k = n->kernels,
             .l = w->length,
             .blocks = w->length / n->shape.block,
             .d = n->shape.d};
    run_init(&r, divisor);
    embed_forward(&r);
    for (uint32_t i = 0; i < n->shape.layers; i++) {
        stn_nn_block_forward(&n->fine[i], &n->block_shape, &r.fine, &t->fine[i], t->x);
        if (i == 0) {
            coarse_forward(&r);
        }
    }
    heads(&r, backward, divisor, loss);
    if (!backward) {
        return STN_OK;
    }
    memset(t->dx, 0, 2 * (size_t)r.l * r.d * sizeof *t->dx);
    rows_scatter(&r, t->dhidden, t->dx);
    for (uint32_t i = n->shape.layers; i-- > 0;) {
        if (i == 0) {
            coarse_backward(&r);
        }
        stn_nn_block_backward(&n->fine[i], &n->block_shape, &r.fine, &t->fine[i], t->dx,
                              t->scratch);
    }
    embed_backward(&r);
    return STN_OK;
}
