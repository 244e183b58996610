/* The table of figures. A getter per column keeps every row a line of data. */
#include "app/report_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GET(name, expression)                                                                      \
    static double name(const stn_evaluation *e) {                                                  \
        return expression;                                                                         \
    }

GET(tstr, e->ngram.tstr_macro_f1)
GET(trtr, e->ngram.trtr_macro_f1)
GET(ratio, e->ngram.ratio)
GET(combined, e->ngram.combined_macro_f1)
GET(tstr_accuracy, e->ngram.tstr_accuracy)
GET(trtr_accuracy, e->ngram.trtr_accuracy)
GET(jsd1, e->jsd[0])
GET(jsd2, e->jsd[1])
GET(jsd3, e->jsd[2])
GET(jsd1_real, e->jsd_real[0])
GET(jsd2_real, e->jsd_real[1])
GET(jsd3_real, e->jsd_real[2])
GET(dt, e->dt_wasserstein)
GET(dt_real, e->dt_wasserstein_real)
GET(ks_syscall, e->ks_syscall)
GET(ks_syscall_real, e->ks_syscall_real)
GET(ks_runqueue, e->ks_runqueue)
GET(ks_runqueue_real, e->ks_runqueue_real)
GET(ks_block, e->ks_block)
GET(ks_block_real, e->ks_block_real)
GET(cpu_distance, e->cpu_share_distance)
GET(cpu_distance_real, e->cpu_share_distance_real)
GET(thread_distance, e->thread_share_distance)
GET(thread_distance_real, e->thread_share_distance_real)
GET(rate_synthetic, e->rate_synthetic)
GET(rate_real, e->rate_real)
GET(rate_train, e->rate_train)
GET(fano1_synthetic, e->fano_synthetic[0])
GET(fano1_real, e->fano_real[0])
GET(fano1_train, e->fano_train[0])
GET(fano10_synthetic, e->fano_synthetic[1])
GET(fano10_real, e->fano_real[1])
GET(fano10_train, e->fano_train[1])
GET(fano100_synthetic, e->fano_synthetic[2])
GET(fano100_real, e->fano_real[2])
GET(fano100_train, e->fano_train[2])
GET(run_synthetic, e->run_length_synthetic)
GET(run_real, e->run_length_real)
GET(run_train, e->run_length_train)
GET(violations_synthetic, e->violations_per_1000_synthetic)
GET(violations_real, e->violations_per_1000_real)
GET(verbatim_synthetic, e->verbatim64_synthetic)
GET(verbatim_real, e->verbatim64_held_out)
GET(nearest_synthetic, e->nn_distance_synthetic)
GET(nearest_real, e->nn_distance_held_out)
GET(nearest_ratio, e->nn_distance_ratio)

#define USE     "Use: n-gram judge, next event"
#define EVENTS  "Likeness: which events"
#define TIMES   "Likeness: when"
#define OWNERS  "Likeness: whose"
#define VALID   "Validity"
#define MEMORY  "Memory of the training runs"
#define P       STN_ROW_PLAIN
#define PERCENT STN_ROW_PERCENT
#define COUNT   STN_ROW_COUNT

/* clang-format off: one row a line */
static const stn_report_row rows[] = {
    {USE, "macro-F1", P, tstr, trtr, NULL,
     "trained on each side, tested on held-out real; higher is better"},
    {USE, "accuracy", P, tstr_accuracy, trtr_accuracy, NULL, "higher is better"},
    {USE, "macro-F1, half and half", P, combined, trtr, NULL,
     "trained on half real, half synthetic"},
    {USE, "ratio of macro-F1", P, ratio, NULL, NULL, "synthetic over real; 1 is as good as real"},
    {EVENTS, "1-gram divergence", P, jsd1, NULL, jsd1_real,
     "Jensen-Shannon, bits; 0 is alike, 1 disjoint"},
    {EVENTS, "2-gram divergence", P, jsd2, NULL, jsd2_real, "the same of pairs"},
    {EVENTS, "3-gram divergence", P, jsd3, NULL, jsd3_real, "the same of triples"},
    {TIMES, "time between events", P, dt, NULL, dt_real,
     "Wasserstein-1 of log10 ns; 0.3 is a factor of 2"},
    {TIMES, "system call durations", P, ks_syscall, NULL, ks_syscall_real,
     "Kolmogorov-Smirnov; 0 is alike, 1 disjoint"},
    {TIMES, "run-queue waits", P, ks_runqueue, NULL, ks_runqueue_real, "wake-up to switch-in"},
    {TIMES, "block I/O latencies", P, ks_block, NULL, ks_block_real, "issue to complete"},
    {TIMES, "events per second", COUNT, rate_synthetic, rate_real, rate_train, "the same is good"},
    {TIMES, "burstiness in 1 ms", P, fano1_synthetic, fano1_real, fano1_train,
     "Fano factor: variance over mean of counts"},
    {TIMES, "burstiness in 10 ms", P, fano10_synthetic, fano10_real, fano10_train,
     "1 is a Poisson stream"},
    {TIMES, "burstiness in 100 ms", P, fano100_synthetic, fano100_real, fano100_train,
     "the same is good"},
    {OWNERS, "shares of CPUs", P, cpu_distance, NULL, cpu_distance_real,
     "total variation; 0 is alike, 1 disjoint"},
    {OWNERS, "shares of threads", P, thread_distance, NULL, thread_distance_real,
     "by class of process name"},
    {OWNERS, "events of a thread in a row", P, run_synthetic, run_real, run_train,
     "mean; the same is good"},
    {VALID, "violations per 1,000 events", P, violations_synthetic, violations_real, NULL,
     "of the kernel's rules; 0 is right"},
    {MEMORY, "windows of 64 verbatim", PERCENT, verbatim_synthetic, verbatim_real, NULL,
     "a copy exceeds the held-out run"},
    {MEMORY, "edits to the nearest window", P, nearest_synthetic, nearest_real, NULL,
     "mean, of 64; a copy is nearer"},
    {MEMORY, "ratio of the edits", P, nearest_ratio, NULL, NULL,
     "synthetic over held-out; far below 1 is a copy"},
};
/* clang-format on */

const stn_report_row *stn_report_rows(size_t *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

const char *stn_report_thousands(double value, char *buffer, size_t size) {
    char digits[64];
    int length = snprintf(digits, sizeof digits, "%.0f", value);
    size_t at = 0;
    for (int i = 0; i < length && at + 2 < size; i++) {
        buffer[at++] = digits[i];
        int left = length - 1 - i;
        if (left && left % 3 == 0 && digits[i] != '-') {
            buffer[at++] = ',';
        }
    }
    buffer[at] = 0;
    return buffer;
}

const char *stn_report_cell(const stn_report_row *row, double (*column)(const stn_evaluation *),
                            const stn_evaluation *e, char *buffer, size_t size) {
    buffer[0] = 0;
    if (!column) {
        return buffer;
    }
    double value = column(e);
    if (isnan(value) || value == 0) {
        snprintf(buffer, size, value == 0 ? "0" : "n/a");
    } else if (row->form == STN_ROW_PERCENT) {
        snprintf(buffer, size, "%.1f %%", 100 * value);
    } else if (row->form == STN_ROW_COUNT || fabs(value) >= 1000) {
        stn_report_thousands(value, buffer, size);
    } else if (fabs(value) >= 100) {
        snprintf(buffer, size, "%.1f", value);
    } else if (fabs(value) >= 10) {
        snprintf(buffer, size, "%.2f", value);
    } else if (fabs(value) < 0.1) {
        snprintf(buffer, size, "%.4f", value);
    } else {
        snprintf(buffer, size, "%.3f", value);
    }
    return buffer;
}
