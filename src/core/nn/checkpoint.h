/** @file
 *  A network and its training on disk: resume gives the loss curve that an uninterrupted run
 *  would have given. Little-endian, versioned, hashed; docs/formats/checkpoint.md.
 *  Pinned by tests/unit/test_nn_checkpoint.c. */
#ifndef STN_CORE_NN_CHECKPOINT_H
#define STN_CORE_NN_CHECKPOINT_H

#include "core/nn/params.h"

/** Write weights, moments, average and @p optimizer, and @p note_size bytes of the caller's own
 *  (random state, position in the data), to @p path, whole or not at all.
 *  @return STN_OK; STN_EIO, STN_EPERM, STN_ENOMEM */
stn_status stn_nn_checkpoint_save(const char *path, const stn_nn_params *params,
                                  const stn_nn_optimizer *optimizer, const void *note,
                                  size_t note_size, stn_err *err) STN_MUST_USE;

/** Read into @p params, whose tensors are laid out and made for training already; untouched on
 *  error. @p note_size must be what was saved.
 *  @return STN_OK; STN_ENOTFOUND, STN_EIO, STN_EFORMAT (not a checkpoint, another version, cut,
 *  damaged, or of a network with other tensors), STN_ENOMEM */
stn_status stn_nn_checkpoint_load(const char *path, stn_nn_params *params,
                                  stn_nn_optimizer *optimizer, void *note, size_t note_size,
                                  stn_err *err) STN_MUST_USE;

#endif
