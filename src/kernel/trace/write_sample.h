/** @file
 *  A uniform sample of a stream of unknown length: item i has the fixed random rank
 *  stn_hash_u64(i), and the @c limit items of lowest rank stay. So the sample is the same on
 *  every run, and a smaller one is part of a larger. Items wait in an unnamed file.
 *  Pinned by tests/unit/test_write_sample.c. */
#ifndef STN_KERNEL_TRACE_WRITE_SAMPLE_H
#define STN_KERNEL_TRACE_WRITE_SAMPLE_H

#include <standin/base.h>

#include "core/data/outfile.h"

typedef struct stn_sample stn_sample;

/** @param limit items to keep, at least 1  @return STN_OK, STN_ENOMEM, STN_EIO */
stn_status stn_sample_open(stn_sample **out, uint64_t limit, stn_err *err) STN_MUST_USE;
/** Next item: false if it is not in the sample, and need not be made. */
bool stn_sample_admit(stn_sample *sample);
/** The item that was admitted last; it stands for @p events.
 *  @return STN_OK, STN_ENOMEM, STN_EIO */
stn_status stn_sample_keep(stn_sample *sample, const char *bytes, size_t size, uint64_t events,
                           stn_err *err) STN_MUST_USE;
/** Write the items of the sample to @p file in stream order. */
stn_status stn_sample_drain(stn_sample *sample, stn_outfile *file, stn_err *err) STN_MUST_USE;
/** Items seen, and items in the sample. */
uint64_t stn_sample_seen(const stn_sample *sample);
uint64_t stn_sample_count(const stn_sample *sample);
/** Events that the drained items stand for. */
uint64_t stn_sample_events(const stn_sample *sample);
/** Legal on NULL. */
void stn_sample_close(stn_sample *sample);

#endif
