/* Pace of the runs of one side. */
#include "kernel/judge/pace.h"

#include "kernel/judge/distance.h"

#include <string.h>

static const uint64_t bin_ns[STN_PACE_BINS] = {1000000, 10000000, 100000000};

/* Sums over counts per bin; a bin that no event falls into counts as 0. */
typedef struct bin_sums {
    uint64_t n;
    double sum, squares;
} bin_sums;

static void add_bin(bin_sums *sums, double count) {
    sums->n++;
    sums->sum += count;
    sums->squares += count * count;
}

/* Bins begin at the first event; the last one, which is not whole, is left out. */
static void count_bins(bin_sums *sums, const stn_trace *trace, uint64_t width) {
    uint64_t begin = 0;
    uint64_t bin = 0;
    double count = 0;
    bool started = false;
    for (size_t i = 0; i < trace->count; i++) {
        const stn_event *event = &trace->events[i];
        if (event->type == STN_TYPE_LOST) {
            continue;
        }
        if (!started) {
            begin = event->time_ns;
            started = true;
        }
        uint64_t at = event->time_ns > begin ? (event->time_ns - begin) / width : 0;
        if (at > bin) {
            add_bin(sums, count);
            sums->n += at - bin - 1;
            bin = at;
            count = 0;
        }
        count++;
    }
}

/* What one trace adds to the rate and to the length of same-thread runs. */
typedef struct run_sums {
    uint64_t events, runs, span_ns;
} run_sums;

static void count_runs(run_sums *sums, const stn_trace *trace) {
    const stn_event *before = NULL; /* in the same run of a thread, maybe */
    const stn_event *first = NULL;
    uint64_t last = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const stn_event *event = &trace->events[i];
        if (event->type == STN_TYPE_LOST) {
            before = NULL;
            continue;
        }
        sums->events++;
        sums->runs += !before || event->tid != before->tid;
        first = first ? first : event;
        last = event->time_ns > last ? event->time_ns : last;
        before = event;
    }
    sums->span_ns += first ? last - first->time_ns : 0;
}

void stn_pace_measure(stn_pace *pace, const stn_trace *const *traces, size_t count) {
    run_sums all = {0};
    bin_sums sums[STN_PACE_BINS] = {{0}};
    for (size_t i = 0; i < count; i++) {
        count_runs(&all, traces[i]);
        for (unsigned b = 0; b < STN_PACE_BINS; b++) {
            count_bins(&sums[b], traces[i], bin_ns[b]);
        }
    }
    pace->rate = all.span_ns ? (double)all.events * 1e9 / (double)all.span_ns : 0;
    pace->run_length = all.runs ? (double)all.events / (double)all.runs : 0;
    for (unsigned b = 0; b < STN_PACE_BINS; b++) {
        pace->fano[b] = stn_fano(sums[b].n, sums[b].sum, sums[b].squares);
    }
}

stn_status stn_pace_steps(stn_samples *samples, const stn_trace *const *traces, size_t count,
                          const stn_alphabet *alphabet, stn_err *err) {
    for (size_t i = 0; i < count; i++) {
        const stn_event *before = NULL;
        for (size_t k = 0; k < traces[i]->count; k++) {
            const stn_event *event = &traces[i]->events[k];
            if (event->type == STN_TYPE_LOST) {
                before = NULL;
                continue;
            }
            if (before) {
                uint64_t step =
                    event->time_ns > before->time_ns ? event->time_ns - before->time_ns : 0;
                stn_status status =
                    stn_samples_push(samples, alphabet->symbol[event->type], (float)step, err);
                if (status) {
                    return status;
                }
            }
            before = event;
        }
    }
    return STN_OK;
}
