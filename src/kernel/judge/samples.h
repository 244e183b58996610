/** @file
 *  Labelled samples of a positive quantity: collected in any order, then grouped by label
 *  and sorted, so that distances and quantiles are one pass. Values are floats: 24 bits are
 *  more than a clock of a tracer is good for. Pinned by tests/unit/test_judge_samples.c. */
#ifndef STN_KERNEL_JUDGE_SAMPLES_H
#define STN_KERNEL_JUDGE_SAMPLES_H

#include <standin/judge.h>

/** Zero-initialise, then push. */
typedef struct stn_samples {
    uint32_t *label; /**< [count] */
    float *value;    /**< [count] not negative, not NAN */
    size_t count;
    size_t label_capacity;
    size_t value_capacity;
} stn_samples;

/** @return STN_OK; STN_ENOMEM (samples unchanged) */
stn_status stn_samples_push(stn_samples *samples, uint32_t label, float value,
                            stn_err *err) STN_MUST_USE;
void stn_samples_fini(stn_samples *samples);

/** Samples sorted twice: all together, and within each label. */
typedef struct stn_groups {
    float *pooled; /**< [count] rising */
    float *value;  /**< [count] by label, rising within each */
    size_t *begin; /**< [label_count + 1] where each label's values begin in value */
    size_t count;
    uint32_t label_count;
} stn_groups;

/** @param[out] groups  the caller frees with stn_groups_fini(); zeroed on error
 *  @pre every label is below @p label_count  @return STN_OK, STN_ENOMEM */
stn_status stn_groups_make(stn_groups *groups, const stn_samples *samples, uint32_t label_count,
                           stn_err *err) STN_MUST_USE;
void stn_groups_fini(stn_groups *groups);
/** Values of @p label, rising. @param[out] count how many */
const float *stn_groups_of(const stn_groups *groups, uint32_t label, size_t *count);

/** Fill @p hist with @p bins equal bins of log10 from @p low to @p high. What lies outside
 *  is counted in the outer bins, so the total is @p count; values below 1 count as 1.
 *  @param value [count]  @pre 0 < bins <= 96 and low < high */
void stn_loghist_fill(stn_loghist *hist, const float *value, size_t count, double low, double high,
                      uint32_t bins);

#endif
