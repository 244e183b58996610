/** @file
 *  How close generated traces are to real ones: judges, fidelity, validity, memory.
 *
 *  Implements the protocol of docs/evaluation.md: split by run, synthetic alone
 *  (TSTR) against real (TRTR) with the same budget, figures of fidelity, and how much
 *  of the training data was copied. Pinned by tests/unit/test_judge_*.c.
 */
#ifndef STANDIN_JUDGE_H
#define STANDIN_JUDGE_H

#include <standin/rules.h>
#include <standin/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Macro-F1 in 0..1 over the event types that the test run holds. */
typedef struct stn_judge_score {
    double trtr_macro_f1;     /**< trained on real, tested on held-out real */
    double tstr_macro_f1;     /**< trained on synthetic alone */
    double combined_macro_f1; /**< half real, half synthetic */
    double ratio;             /**< tstr / trtr */
    double trtr_accuracy, tstr_accuracy, combined_accuracy;
    uint64_t train_events; /**< the same on both sides */
    uint64_t test_events;
} stn_judge_score;

/** Equal-width histogram of log10 of a positive quantity. */
typedef struct stn_loghist {
    double low, high; /**< log10 of the outer edges */
    uint32_t bins;    /**< at most 96 */
    uint64_t count[96];
    uint64_t total;
} stn_loghist;

/** Share of one n-gram of canonical event types among all n-grams of its n. */
typedef struct stn_gram {
    uint32_t n;       /**< 1, 2 or 3 */
    uint32_t name[3]; /**< [n] string ids */
    double real, synthetic;
} stn_gram;

/** Share of a CPU or a thread class among the events. */
typedef struct stn_share {
    uint32_t name; /**< string id of the class, or the number of the CPU */
    double real, synthetic;
} stn_share;

/** Waits that are measured between two events. */
typedef enum stn_wait {
    STN_WAIT_SYSCALL = 0,  /**< entry to exit of one call of one thread */
    STN_WAIT_RUNQUEUE = 1, /**< wake-up to switch-in of one thread */
    STN_WAIT_BLOCK = 2,    /**< issue to complete of one device and sector */
    STN_WAIT_COUNT = 3,
} stn_wait;

/** One type or system call, real beside synthetic. */
typedef struct stn_side {
    uint32_t name; /**< string id */
    uint64_t real_count, synthetic_count;
    double real_p50_ns, real_p99_ns, synthetic_p50_ns,
        synthetic_p99_ns;  /**< durations; 0 if none */
    double ks;             /**< Kolmogorov-Smirnov distance of the durations, NAN if none */
    double dt_wasserstein; /**< of log10 of the time since the event before, NAN if none */
} stn_side;

typedef struct stn_evaluation {
    stn_judge_score ngram;
    double jsd[3];              /**< Jensen-Shannon divergence (base 2) of 1-, 2-, 3-grams */
    double jsd_real[3];         /**< the same between train and held-out real */
    double dt_wasserstein;      /**< of log10 Δt(ns), synthetic against held-out */
    double dt_wasserstein_real; /**< train against held-out */
    double ks_syscall, ks_runqueue, ks_block;                /**< NAN where a side has none */
    double ks_syscall_real, ks_runqueue_real, ks_block_real; /**< train against held-out */
    double fano_real[3], fano_synthetic[3];                  /**< counts per 1, 10, 100 ms */
    double rate_real, rate_synthetic;                        /**< events per second */
    double cpu_share_distance;                    /**< total variation of events per CPU */
    double thread_share_distance;                 /**< total variation of events per process name */
    double run_length_real, run_length_synthetic; /**< mean events of one thread in a row */
    double violations_per_1000_real, violations_per_1000_synthetic;
    stn_rule_stats *rules_real, *rules_synthetic; /**< [rule_count] */
    uint32_t rule_count;
    double verbatim64_synthetic, verbatim64_held_out; /**< share of 64-event windows in train */
    double nn_distance_ratio; /**< nearest training window: synthetic over held-out */
    stn_loghist dt_real, dt_synthetic;
    stn_side *types; /**< [type_count] by real count, falling */
    uint32_t type_count;
    stn_side *syscalls; /**< [syscall_count] by real count, falling */
    uint32_t syscall_count;

    uint64_t events_train, events_real, events_synthetic; /**< all that was given */
    double fano_train[3], rate_train, run_length_train;
    double cpu_share_distance_real, thread_share_distance_real; /**< train against held-out */
    double nn_distance_synthetic, nn_distance_held_out; /**< mean, edits per 64 events; NAN */
    stn_loghist wait_real[STN_WAIT_COUNT], wait_synthetic[STN_WAIT_COUNT]; /**< ns */
    stn_gram *grams; /**< [gram_count] the most frequent of either side, by n, then falling */
    uint32_t gram_count;
    stn_share *cpus; /**< [cpu_count] by number */
    uint32_t cpu_count;
    stn_share *threads; /**< [thread_count] classes by real share, falling */
    uint32_t thread_count;
    stn_violation *violations; /**< [violation_count] the first of the synthetic runs */
    uint32_t violation_count;
} stn_evaluation;

typedef struct stn_evaluate_options {
    uint64_t seed;
    const stn_rules *rules; /**< for the validity figures; NULL: built-in */
} stn_evaluate_options;

/** Judge @p synthetic against @p real (held-out runs), given the runs @p train that the
 *  generator learned from. All borrowed, all of one catalog.
 *  @param[out] out  zeroed on error; the caller frees with stn_evaluation_fini()
 *  @return STN_OK; STN_EFORMAT (a side is empty or too short), STN_ENOMEM, STN_EINTR */
stn_status stn_evaluate(const stn_trace *const *train, size_t train_count,
                        const stn_trace *const *real, size_t real_count,
                        const stn_trace *const *synthetic, size_t synthetic_count,
                        const stn_evaluate_options *options, stn_catalog *catalog,
                        stn_evaluation *out, stn_progress_fn progress, void *user,
                        stn_err *err) STN_MUST_USE;
void stn_evaluation_fini(stn_evaluation *evaluation);

#ifdef __cplusplus
}
#endif
#endif
