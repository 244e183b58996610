/** @file
 *  The weights of a network as one list of named tensors in one allocation, so that the
 *  optimiser, the checkpoint and the parameter count see one flat array.
 *  Pinned by tests/unit/test_nn_params.c. */
#ifndef STN_CORE_NN_PARAMS_H
#define STN_CORE_NN_PARAMS_H

#include <standin/base.h>

#include "core/base/rng.h"
#include "core/nn/kernel.h"

/** How a tensor starts. */
typedef enum stn_nn_init {
    STN_NN_INIT_NORMAL, /**< normal with standard deviation @c scale */
    STN_NN_INIT_ONE,
    STN_NN_INIT_ZERO,
} stn_nn_init;

/** One tensor [rows][cols], row-major. */
typedef struct stn_nn_tensor {
    char name[48]; /**< unique within the network; what a checkpoint calls it */
    uint32_t rows, cols;
    stn_nn_init init;
    float scale;
    bool decays;   /**< takes part in weight decay */
    size_t offset; /**< first float in each of the flat arrays */
} stn_nn_tensor;

/** Zero-initialise, add tensors, then stn_nn_params_make(). Owns its arrays until fini. */
typedef struct stn_nn_params {
    stn_nn_tensor *tensors; /**< [tensor_count] */
    size_t tensor_count, tensor_capacity;
    size_t count;    /**< floats in all */
    float *weight;   /**< [count] */
    float *gradient; /**< [count] NULL in a network that only runs */
    float *m, *v;    /**< [count] AdamW's moments */
    float *average;  /**< [count] exponential moving average of weight */
} stn_nn_params;

/** Add a tensor; @return its index, or SIZE_MAX if out of memory. */
size_t stn_nn_params_add(stn_nn_params *params, const char *name, uint32_t rows, uint32_t cols,
                         stn_nn_init init, float scale, bool decays);
/** Allocate the arrays; with @p training also gradients, moments and average. */
stn_status stn_nn_params_make(stn_nn_params *params, bool training, stn_err *err) STN_MUST_USE;
/** Draw the initial weights; the same seed gives the same weights. */
void stn_nn_params_init(stn_nn_params *params, uint64_t seed);
/** Floats of tensor @p index in the flat array @p array (weight, gradient …). */
float *stn_nn_params_at(const stn_nn_params *params, float *array, size_t index);
void stn_nn_params_fini(stn_nn_params *params);

/** How the learning rate goes once it is warm. */
typedef enum stn_nn_schedule {
    STN_NN_SCHEDULE_COSINE,   /**< cosine over the steps, to a tenth of the peak at @c total */
    STN_NN_SCHEDULE_CONSTANT, /**< stays at the peak */
    STN_NN_SCHEDULE_BUDGET,   /**< the same cosine over @c share, for a budget of time */
} stn_nn_schedule;

/** AdamW's settings and where it stands. */
typedef struct stn_nn_optimizer {
    stn_nn_schedule schedule;
    float share; /**< of the budget that is used, 0 … 1; the caller's to set before a step */
    float rate;  /**< peak learning rate */
    float beta1, beta2, epsilon, decay;
    float clip;      /**< largest gradient norm; 0: no bound */
    float ema;       /**< keep share of the average a step */
    uint64_t warmup; /**< steps of linear rise, whatever the schedule */
    uint64_t total;  /**< steps of the whole cosine over steps */
    uint64_t step;   /**< steps done */
} stn_nn_optimizer;

/** Rate at @p step: linear warm-up, then what the schedule says. */
float stn_nn_rate(const stn_nn_optimizer *optimizer, uint64_t step);
/** One step from the gradients, which are zeroed.
 *  @return norm of the gradient before clipping; not a number if a gradient was not finite
 *  (then nothing but the gradients changed) */
double stn_nn_step(stn_nn_optimizer *optimizer, stn_nn_params *params,
                   const stn_nn_kernels *kernels);

#endif
