#include "core/nn/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* Tensors begin at multiples of 16 floats, a cache line. */
#define TENSOR_ALIGN ((size_t)16)

size_t stn_nn_params_add(stn_nn_params *params, const char *name, uint32_t rows, uint32_t cols,
                         stn_nn_init init, float scale, bool decays) {
    if (stn_grow(&params->tensors, &params->tensor_capacity, params->tensor_count + 1,
                 sizeof *params->tensors)) {
        return SIZE_MAX;
    }
    stn_nn_tensor *tensor = &params->tensors[params->tensor_count];
    *tensor = (stn_nn_tensor){.rows = rows,
                              .cols = cols,
                              .init = init,
                              .scale = scale,
                              .decays = decays,
                              .offset = params->count};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    size_t size = (size_t)rows * cols;
    params->count += (size + TENSOR_ALIGN - 1) & ~(TENSOR_ALIGN - 1);
    return params->tensor_count++;
}

stn_status stn_nn_params_make(stn_nn_params *params, bool training, stn_err *err) {
    params->weight = stn_calloc(params->count, sizeof(float));
    bool whole = params->weight != NULL;
    if (training) {
        params->gradient = stn_calloc(params->count, sizeof(float));
        params->m = stn_calloc(params->count, sizeof(float));
        params->v = stn_calloc(params->count, sizeof(float));
        params->average = stn_calloc(params->count, sizeof(float));
        whole = whole && params->gradient && params->m && params->v && params->average;
    }
    return whole ? STN_OK
                 : stn_err_set(err, STN_ENOMEM, "out of memory for %zu weights", params->count);
}

void stn_nn_params_init(stn_nn_params *params, uint64_t seed) {
    stn_rng rng;
    stn_rng_init(&rng, seed);
    for (size_t t = 0; t < params->tensor_count; t++) {
        const stn_nn_tensor *tensor = &params->tensors[t];
        float *weight = params->weight + tensor->offset;
        for (size_t i = 0; i < (size_t)tensor->rows * tensor->cols; i++) {
            weight[i] = tensor->init == STN_NN_INIT_NORMAL
                            ? tensor->scale * (float)stn_rng_normal(&rng)
                        : tensor->init == STN_NN_INIT_ONE ? 1.0f
                                                          : 0.0f;
        }
    }
    if (params->average) {
        memcpy(params->average, params->weight, params->count * sizeof(float));
    }
}

float *stn_nn_params_at(const stn_nn_params *params, float *array, size_t index) {
    return array + params->tensors[index].offset;
}

void stn_nn_params_fini(stn_nn_params *params) {
    stn_free(params->tensors);
    stn_free(params->weight);
    stn_free(params->gradient);
    stn_free(params->m);
    stn_free(params->v);
    stn_free(params->average);
    *params = (stn_nn_params){0};
}

/* Share of the way from the peak to the end. */
static double way_done(const stn_nn_optimizer *o, uint64_t step) {
    if (o->schedule == STN_NN_SCHEDULE_CONSTANT) {
        return 0;
    }
    if (o->schedule == STN_NN_SCHEDULE_BUDGET) {
        return fmin(1, fmax(0, o->share));
    }
    double span = o->total > o->warmup ? (double)(o->total - o->warmup) : 1;
    return fmin(1, (double)(step - o->warmup) / span);
}

float stn_nn_rate(const stn_nn_optimizer *o, uint64_t step) {
    if (step < o->warmup) {
        return o->rate * (float)(step + 1) / (float)o->warmup;
    }
    double cosine = cos(3.14159265358979323846 * way_done(o, step));
    return o->rate * (float)(0.1 + 0.9 * 0.5 * (1 + cosine));
}

double stn_nn_step(stn_nn_optimizer *o, stn_nn_params *params, const stn_nn_kernels *kernels) {
    double norm = sqrt(kernels->norm2(params->count, params->gradient));
    if (isfinite(norm)) {
        float scale = o->clip > 0 && norm > o->clip ? o->clip / (float)norm : 1;
        float rate = stn_nn_rate(o, o->step);
        o->step++;
        float bias1 = 1 - powf(o->beta1, (float)o->step);
        float bias2 = 1 - powf(o->beta2, (float)o->step);
        for (size_t t = 0; t < params->tensor_count; t++) {
            const stn_nn_tensor *tensor = &params->tensors[t];
            size_t at = tensor->offset;
            kernels->adamw((size_t)tensor->rows * tensor->cols, rate, o->beta1, o->beta2,
                           o->epsilon, tensor->decays ? o->decay : 0, bias1, bias2, scale,
                           params->gradient + at, params->m + at, params->v + at,
                           params->weight + at);
        }
        /* A young average follows the weights quickly, an old one slowly. */
        float keep = fminf(o->ema, (1 + (float)o->step) / (10 + (float)o->step));
        kernels->ema(params->count, keep, params->weight, params->average);
    }
    memset(params->gradient, 0, params->count * sizeof(float));
    return norm;
}
