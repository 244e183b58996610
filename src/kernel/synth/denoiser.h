/** @file
 *  The denoiser: a block-diffusion transformer over the channels of an event stream.
 *
 *  A trace is cut into blocks of B events. Training sees every block twice: clean, as context,
 *  and noisy, with a random part of its events masked (absorbing state); the noisy copy of block
 *  b attends to itself in both directions and to the clean events of the W before it, and learns
 *  to tell what was masked. A coarse path pools each block of clean events into one row, runs a
 *  causal transformer over all blocks of the context and hands block b the summary of everything
 *  up to block b-1, so that the cost grows linearly with the context.
 *
 *      clean  [L rows]  ── fine 0 ──┬────────────── + ── fine 1 … n-1   (context only)
 *      noisy  [L rows]  ── fine 0 ──│────────────── + ── fine 1 … n-1 ── heads
 *                                   └ pool B ─ coarse ┘ shifted by one block
 *
 *  Channels come in order, each predicted from the row and the channels before it:
 *  p(x_0 | h) p(x_1 | h, x_0) … A channel that is only seen has no head: it is what is known of
 *  the machine once the channels before it are (which thread runs on the CPU that was drawn).
 *
 *  Sources: masked diffusion, Sahoo et al., arXiv:2406.07524; block diffusion, Arriola et al.,
 *  arXiv:2503.09573. Pinned by tests/unit/test_synth_denoiser.c. */
#ifndef STN_KERNEL_SYNTH_DENOISER_H
#define STN_KERNEL_SYNTH_DENOISER_H

#include "core/nn/block.h"

#define STN_CHANNELS_MAX 24
#define STN_LAYERS_MAX   8

typedef struct stn_denoiser_shape {
    uint32_t channels;                  /**< 1 … STN_CHANNELS_MAX */
    uint32_t classes[STN_CHANNELS_MAX]; /**< values of each channel; the mask is one more */
    bool seen[STN_CHANNELS_MAX];        /**< only seen, never predicted: no head */
    uint32_t labels;                    /**< workload labels; the empty label is one more */
    uint32_t block;                     /**< B, events a block */
    uint32_t window; /**< W, clean events before a block that it sees; multiple of B */
    uint32_t layers, coarse_layers;
    uint32_t d, heads, ff; /**< d / heads is a multiple of 8 */
} stn_denoiser_shape;

/** Weights of one channel. */
typedef struct stn_channel_params {
    size_t in;    /**< [classes + 1][d] embedding, the last row is the mask */
    size_t given; /**< [classes][d] embedding of the value once it is known, for later heads */
    size_t norm;  /**< [1][d]; SIZE_MAX where there is no head, as the next three */
    size_t mix;   /**< [2d][d] gate of the head's hidden layer; SIZE_MAX for channel 0 and
                       where there is no head */
    size_t unmix; /**< [d][d] */
    size_t head;  /**< [classes][d] */
} stn_channel_params;

typedef struct stn_denoiser {
    stn_denoiser_shape shape;
    stn_nn_block_shape block_shape;
    stn_nn_params params;
    stn_channel_params channel[STN_CHANNELS_MAX];
    size_t label; /**< [labels + 1][d] */
    stn_nn_block fine[STN_LAYERS_MAX], coarse[STN_LAYERS_MAX];
    size_t coarse_norm, coarse_out; /**< [1][d], [d][d] */
    const stn_nn_kernels *kernels;
} stn_denoiser;

/** Lay out the weights of @p shape and draw them from @p seed.
 *  @return STN_OK; STN_ERANGE (a shape that cannot be), STN_ENOMEM */
stn_status stn_denoiser_init(stn_denoiser *denoiser, const stn_denoiser_shape *shape, bool training,
                             uint64_t seed, stn_err *err) STN_MUST_USE;
void stn_denoiser_fini(stn_denoiser *denoiser);

/** Working memory of training steps: grows to the longest window seen. */
typedef struct stn_denoiser_tape stn_denoiser_tape;
stn_status stn_denoiser_tape_new(stn_denoiser_tape **out, stn_err *err) STN_MUST_USE;
void stn_denoiser_tape_free(stn_denoiser_tape *tape);

/** One window of a training batch. */
typedef struct stn_denoiser_window {
    uint32_t length;                         /**< L, multiple of B */
    const uint16_t *value[STN_CHANNELS_MAX]; /**< [L] clean classes */
    const float *weight;                     /**< [L] 0: clean; > 0: masked, with this weight
                                                  in the loss; < 0: masked, not in the loss */
    uint32_t label;                          /**< shape.labels: no label */
} stn_denoiser_window;

/** Loss of a window: per channel, sum of weight * -log p, added to @p loss [channels].
 *  With @p backward the gradient of (sum over channels / divisor) is added to params.gradient. */
stn_status stn_denoiser_loss(stn_denoiser *denoiser, stn_denoiser_tape *tape,
                             const stn_denoiser_window *window, bool backward, double divisor,
                             double *loss, stn_err *err) STN_MUST_USE;

#endif
