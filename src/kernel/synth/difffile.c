/* The diffusion kind in model files. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/diffusion.h"

enum { LABELS_MAX = 4096, CONTEXT_MAX = 1 << 20, WINDOW_MAX = 1 << 16, WIDTH_MAX = 4096 };

void stn_diffusion_free(stn_model *model) {
    stn_diffusion *d = model->state;
    if (d) {
        stn_pool_fini(&d->markov.pool);
        stn_denoiser_fini(&d->net);
        stn_channels_fini(&d->channels);
        for (uint32_t i = 0; i < d->label_count; i++) {
            stn_free(d->labels[i]);
        }
        stn_free(d->labels);
        stn_free(d->rates);
        stn_free(d->met_steps);
        stn_free(d);
    }
    model->state = NULL;
}

static size_t met_words(const stn_model *model) {
    return (model->vocab.type_count + (size_t)1) * STN_STEP_WORDS;
}

void stn_diffusion_put(const stn_model *model, stn_blob *blob) {
    const stn_diffusion *d = model->state;
    const stn_denoiser_shape *s = &d->net.shape;
    stn_markov_put(&d->markov, blob);
    stn_channels_put(&d->channels, blob);
    for (size_t i = 0; i < met_words(model); i++) {
        stn_blob_u64(blob, d->met_steps[i]);
    }
    stn_blob_u32(blob, d->context);
    stn_blob_u32(blob, d->label_count);
    for (uint32_t i = 0; i < d->label_count; i++) {
        stn_blob_text(blob, d->labels[i]);
        stn_blob_f64(blob, d->rates[i]);
    }
    const uint32_t sizes[] = {s->window, s->layers, s->coarse_layers, s->d, s->heads, s->ff};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        stn_blob_u32(blob, sizes[i]);
    }
    stn_blob_u64(blob, d->net.params.count);
    for (size_t i = 0; i < d->net.params.count; i++) {
        uint32_t bits;
        memcpy(&bits, &d->net.params.weight[i], sizeof bits);
        stn_blob_u32(blob, bits);
    }
}

static stn_status met_get(stn_model *model, stn_diffusion *d, stn_cursor *cursor) {
    d->met_steps = stn_malloc(met_words(model) * sizeof *d->met_steps);
    if (!d->met_steps) {
        return STN_ENOMEM;
    }
    for (size_t i = 0; i < met_words(model); i++) {
        d->met_steps[i] = stn_cursor_u64(cursor);
    }
    return cursor->failed ? STN_EFORMAT : STN_OK;
}

static stn_status labels_get(stn_diffusion *d, stn_cursor *cursor) {
    d->context = stn_cursor_u32(cursor);
    uint32_t count = stn_cursor_count(cursor, 12);
    if (count < 1 || count > LABELS_MAX || d->context < 1 || d->context > CONTEXT_MAX) {
        return STN_EFORMAT;
    }
    d->labels = stn_calloc(count, sizeof *d->labels);
    d->rates = stn_calloc(count, sizeof *d->rates);
    if (!d->labels || !d->rates) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = 0;
        const char *text = stn_cursor_text(cursor, &size);
        if (!text) {
            return STN_EFORMAT;
        }
        d->labels[i] = stn_strndup(text, size);
        if (!d->labels[i]) {
            return STN_ENOMEM;
        }
        d->label_count++;
        d->rates[i] = stn_cursor_f64(cursor);
        if (!isfinite(d->rates[i]) || d->rates[i] < 0) {
            return STN_EFORMAT;
        }
    }
    return STN_OK;
}

/* A shape of so many weights at least as the file can hold: no damaged number makes a huge
 * allocation. */
static bool shape_fits(const stn_denoiser_shape *s, const stn_cursor *cursor) {
    bool sane = s->window <= WINDOW_MAX && s->d >= 1 && s->d <= WIDTH_MAX && s->ff >= 1 &&
                s->ff <= WIDTH_MAX && s->layers <= STN_LAYERS_MAX &&
                s->coarse_layers <= STN_LAYERS_MAX && s->heads >= 1 && s->heads <= s->d;
    uint64_t rows = 0;
    for (uint32_t c = 0; c < s->channels; c++) {
        rows += s->classes[c];
    }
    uint64_t layer = 4 * (uint64_t)s->d * s->d + 3 * (uint64_t)s->d * s->ff;
    uint64_t least = rows * s->d + (s->layers + s->coarse_layers) * layer;
    return sane && least <= (cursor->size - cursor->at) / sizeof(float);
}

static stn_status weights_get(stn_diffusion *d, stn_cursor *cursor) {
    uint64_t count = stn_cursor_u64(cursor);
    if (count != d->net.params.count || cursor->failed ||
        cursor->size - cursor->at < count * sizeof(float)) {
        return STN_EFORMAT;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = stn_cursor_u32(cursor);
        float weight;
        memcpy(&weight, &bits, sizeof weight);
        if (!isfinite(weight)) {
            return STN_EFORMAT;
        }
        d->net.params.weight[i] = weight;
    }
    return STN_OK;
}

static stn_status net_get(stn_diffusion *d, stn_cursor *cursor) {
    stn_denoiser_shape s = {.labels = d->label_count, .block = STN_DIFFUSION_BLOCK};
    uint32_t *sizes[] = {&s.window, &s.layers, &s.coarse_layers, &s.d, &s.heads, &s.ff};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *sizes[i] = stn_cursor_u32(cursor);
    }
    stn_channels_shape(&d->channels, &s);
    if (cursor->failed || !shape_fits(&s, cursor)) {
        return STN_EFORMAT;
    }
    stn_status status = stn_denoiser_init(&d->net, &s, false, 0, NULL);
    if (status == STN_OK) {
        status = weights_get(d, cursor);
    }
    return status == STN_ERANGE ? STN_EFORMAT : status;
}

stn_status stn_diffusion_get(stn_model *model, stn_cursor *cursor) {
    stn_diffusion *d = stn_calloc(1, sizeof *d);
    if (!d) {
        return STN_ENOMEM;
    }
    model->state = d;
    stn_status status = stn_markov_get(&d->markov, cursor, model->vocab.type_count);
    if (status == STN_OK) {
        status = stn_channels_get(&d->channels, cursor, &model->vocab, model->attr.cpu_count);
    }
    if (status == STN_OK) {
        status = met_get(model, d, cursor);
    }
    if (status == STN_OK) {
        status = labels_get(d, cursor);
    }
    return status == STN_OK ? net_get(d, cursor) : status;
}
