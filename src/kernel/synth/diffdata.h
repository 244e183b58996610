/** @file
 *  Training runs as the diffusion kind sees them: of each CPU of each run the sequence of its
 *  cases, read off by channels. Pinned by tests/unit/test_synth_diffusion.c. */
#ifndef STN_KERNEL_SYNTH_DIFFDATA_H
#define STN_KERNEL_SYNTH_DIFFDATA_H

#include "kernel/synth/diffusion.h"
#include "kernel/synth/walk.h"

/** One CPU of one run. */
typedef struct stn_diff_stream {
    uint16_t *value[STN_CHANNEL_COUNT]; /**< [count] each */
    size_t count, capacity;
    size_t head; /**< cases before the held-back end */
    uint32_t label;
} stn_diff_stream;

typedef struct stn_diff_data {
    stn_diff_stream *streams; /**< [run_count][cpu_count] */
    size_t count;
} stn_diff_data;

/** Read the runs; also fills the process names of d->channels and d->met_steps.
 *  @param labels  [runs->count]  @param valid_share  held back at the end of each run
 *  @return STN_OK; STN_ENOMEM, STN_EINTR; stn_diff_data_fini() in any case */
stn_status stn_diff_data_read(stn_diff_data *data, stn_diffusion *d, stn_model *model,
                              stn_runs *runs, const uint32_t *labels,
                              double valid_share) STN_MUST_USE;
void stn_diff_data_fini(stn_diff_data *data);

#endif
