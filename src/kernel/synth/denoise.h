/** @file
 *  Denoising block after block: the running side of a denoiser, at constant cost and memory per
 *  block. Keys and values of clean blocks are kept in rings: W events for the fine layers,
 *  @c coarse_blocks block summaries for the coarse path. Several streams can run side by side, each
 *  with a past of its own (with and without a label for guidance, or traces drawn at once): the
 *  weights are then read once for all of them.
 *  Pinned by tests/unit/test_synth_denoise.c (equals the training pass). */
#ifndef STN_KERNEL_SYNTH_DENOISE_H
#define STN_KERNEL_SYNTH_DENOISE_H

#include "kernel/synth/denoiser.h"

typedef struct stn_denoise stn_denoise;

/** The block at hand of one stream. All borrowed for the call. */
typedef struct stn_denoise_hand {
    const uint16_t *const *value; /**< [channels][B]; what masked rows hold is not looked at */
    const bool *masked;           /**< [B] rows that are unknown; NULL: none */
    uint32_t label;               /**< workload label, shape.labels for none */
} stn_denoise_hand;

/** Begin with an empty past, one stream. @p denoiser is borrowed; its weights are copied.
 *  @param context  events that the coarse path remembers; rounded up to blocks
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_denoise_new(stn_denoise **out, const stn_denoiser *denoiser, uint32_t context,
                           stn_err *err) STN_MUST_USE;
/** The same with @p streams >= 1 streams, which see blocks of the same number at a time. */
stn_status stn_denoise_new_streams(stn_denoise **out, const stn_denoiser *denoiser,
                                   uint32_t context, uint32_t streams, stn_err *err) STN_MUST_USE;
/** Another one of as many streams, with an empty past, over the packed weights of @p first, which
 *  must outlive it: for traces that do not go on in step. @return STN_OK, STN_ENOMEM */
stn_status stn_denoise_new_beside(stn_denoise **out, const stn_denoise *first, uint32_t context,
                                  stn_err *err) STN_MUST_USE;
void stn_denoise_free(stn_denoise *denoise);

/** Look at the current block: rows[i] with masked[i] are unknown, the others have value[c][i].
 *  @param label  workload label, shape.labels for none
 *  After it, stn_denoise_logits() answers for masked rows. One stream. */
void stn_denoise_look(stn_denoise *denoise, const uint16_t *const *value, const bool *masked,
                      uint32_t label);
/** The same for all streams. @param hands  [streams] */
void stn_denoise_look_streams(stn_denoise *denoise, const stn_denoise_hand *hands);

/** Logits [classes[channel]] of @p row in the block looked at last, given the values of the
 *  channels before it; lent until the next call. */
const float *stn_denoise_logits(stn_denoise *denoise, uint32_t row, uint32_t channel,
                                const uint16_t *given);
/** The same of stream @p stream. */
const float *stn_denoise_logits_stream(stn_denoise *denoise, uint32_t stream, uint32_t row,
                                       uint32_t channel, const uint16_t *given);

/** The block is known: take it into the past. One stream. */
void stn_denoise_commit(stn_denoise *denoise, const uint16_t *const *value, uint32_t label);
/** The same for all streams; their masks are not looked at. */
void stn_denoise_commit_streams(stn_denoise *denoise, const stn_denoise_hand *hands);

#endif
