/* Labelled samples: growth, counting sort by label, sorting within. */
#include "kernel/judge/samples.h"

#include "core/base/alloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

stn_status stn_samples_push(stn_samples *samples, uint32_t label, float value, stn_err *err) {
    size_t need = samples->count + 1;
    if (stn_grow(&samples->label, &samples->label_capacity, need, sizeof *samples->label) ||
        stn_grow(&samples->value, &samples->value_capacity, need, sizeof *samples->value)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for %zu samples", need);
    }
    samples->label[samples->count] = label;
    samples->value[samples->count++] = value;
    return STN_OK;
}

void stn_samples_fini(stn_samples *samples) {
    stn_free(samples->label);
    stn_free(samples->value);
    memset(samples, 0, sizeof *samples);
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a;
    float y = *(const float *)b;
    return (x > y) - (x < y);
}

static void sort_floats(float *value, size_t count) {
    if (count > 1) {
        qsort(value, count, sizeof *value, compare_floats);
    }
}

/* Counting sort: begin[label] walks to the end of its label's values and is put back after. */
static void spread(stn_groups *groups, const stn_samples *samples) {
    size_t *begin = groups->begin;
    for (size_t i = 0; i < samples->count; i++) {
        begin[samples->label[i] + 1]++;
    }
    for (uint32_t label = 0; label < groups->label_count; label++) {
        begin[label + 1] += begin[label];
    }
    for (size_t i = 0; i < samples->count; i++) {
        groups->value[begin[samples->label[i]]++] = samples->value[i];
    }
    memmove(begin + 1, begin, groups->label_count * sizeof *begin);
    begin[0] = 0;
}

stn_status stn_groups_make(stn_groups *groups, const stn_samples *samples, uint32_t label_count,
                           stn_err *err) {
    memset(groups, 0, sizeof *groups);
    groups->count = samples->count;
    groups->label_count = label_count;
    groups->pooled = stn_malloc(samples->count * sizeof *groups->pooled);
    groups->value = stn_malloc(samples->count * sizeof *groups->value);
    groups->begin = stn_calloc((size_t)label_count + 1, sizeof *groups->begin);
    if (!groups->pooled || !groups->value || !groups->begin) {
        stn_groups_fini(groups);
        return stn_err_set(err, STN_ENOMEM, "out of memory for %zu samples", samples->count);
    }
    if (samples->count) {
        memcpy(groups->pooled, samples->value, samples->count * sizeof *groups->pooled);
    }
    sort_floats(groups->pooled, groups->count);
    spread(groups, samples);
    for (uint32_t label = 0; label < label_count; label++) {
        sort_floats(groups->value + groups->begin[label],
                    groups->begin[label + 1] - groups->begin[label]);
    }
    return STN_OK;
}

void stn_groups_fini(stn_groups *groups) {
    stn_free(groups->pooled);
    stn_free(groups->value);
    stn_free(groups->begin);
    memset(groups, 0, sizeof *groups);
}

const float *stn_groups_of(const stn_groups *groups, uint32_t label, size_t *count) {
    assert(label < groups->label_count);
    *count = groups->begin[label + 1] - groups->begin[label];
    return groups->value + groups->begin[label];
}

void stn_loghist_fill(stn_loghist *hist, const float *value, size_t count, double low, double high,
                      uint32_t bins) {
    assert(bins > 0 && bins <= sizeof hist->count / sizeof *hist->count && low < high);
    memset(hist, 0, sizeof *hist);
    hist->low = low;
    hist->high = high;
    hist->bins = bins;
    hist->total = count;
    for (size_t i = 0; i < count; i++) {
        double position = (log10(fmax(value[i], 1)) - low) / (high - low) * bins;
        double bin = fmin(fmax(floor(position), 0), bins - 1.0);
        hist->count[(uint32_t)bin]++;
    }
}
