/** @file
 *  Denoising block after block: the running side of a denoiser, at constant cost and memory per
 *  block. Keys and values of clean blocks are kept in rings: W events for the fine layers,
 *  @c coarse_blocks block summaries for the coarse path.
 *  Pinned by tests/unit/test_synth_denoiser.c (equals the training pass). */
#ifndef STN_KERNEL_SYNTH_DENOISE_H
#define STN_KERNEL_SYNTH_DENOISE_H

#include "kernel/synth/denoiser.h"

typedef struct stn_denoise stn_denoise;

/** Begin with an empty past. @p denoiser is borrowed.
 *  @param context  events that the coarse path remembers; rounded up to blocks */
stn_status stn_denoise_new(stn_denoise **out, const stn_denoiser *denoiser, uint32_t context,
                           stn_err *err) STN_MUST_USE;
void stn_denoise_free(stn_denoise *denoise);

/** Look at the current block: rows[i] with masked[i] are unknown, the others have value[c][i].
 *  @param label  workload label, shape.labels for none
 *  After it, stn_denoise_logits() answers for masked rows. */
void stn_denoise_look(stn_denoise *denoise, const uint16_t *const *value, const bool *masked,
                      uint32_t label);

/** Logits [classes[channel]] of @p row in the block looked at last, given the values of the
 *  channels before it; lent until the next call. */
const float *stn_denoise_logits(stn_denoise *denoise, uint32_t row, uint32_t channel,
                                const uint16_t *given);

/** The block is known: take it into the past. */
void stn_denoise_commit(stn_denoise *denoise, const uint16_t *const *value, uint32_t label);

#endif
