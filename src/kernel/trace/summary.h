/** @file
 *  The figures behind `standin kernel info`: what a trace holds, in one pass and bounded
 *  memory (per event type, CPU, thread and system call; never per event).
 *  Pinned by tests/unit/test_summary.c. */
#ifndef STN_KERNEL_TRACE_SUMMARY_H
#define STN_KERNEL_TRACE_SUMMARY_H

#include <standin/trace.h>

#include "core/base/map.h"

/** Log-linear histogram of 64-bit values: 32 buckets to each power of two, so a quantile is
 *  off by at most 1/32 of its value (the layout of fio's and HdrHistogram's). */
#define STN_QUANTILE_BUCKETS 1920
typedef struct stn_quantiles {
    uint64_t count, sum, max;
    uint64_t bucket[STN_QUANTILE_BUCKETS];
} stn_quantiles;

void stn_quantiles_add(stn_quantiles *quantiles, uint64_t value);
/** Value below which the share @p q (0..1) of all values lies; 0 if there are none. */
uint64_t stn_quantiles_at(const stn_quantiles *quantiles, double q);

/** One event type by its canonical name. */
typedef struct stn_type_count {
    uint32_t name; /**< string id */
    uint64_t count;
} stn_type_count;

/** One system call. A call whose entry or exit lies outside the trace is counted where its
 *  entry is seen, and has no duration. */
typedef struct stn_syscall_count {
    uint32_t name;            /**< string id, "read" */
    uint64_t count;           /**< entries */
    stn_quantiles *durations; /**< entry to exit of the same thread */
} stn_syscall_count;

/** Zero-initialise, then use. */
typedef struct stn_summary {
    const stn_catalog *catalog; /**< borrowed */
    uint64_t events;
    uint64_t begin_ns, end_ns; /**< of the first and last event */
    uint64_t switches;         /**< sched_switch */
    uint32_t cpu_count;        /**< CPUs that have events */
    uint64_t thread_count;     /**< threads seen running */
    stn_type_count *types;     /**< [type_count] falling by count after stn_summary_finish() */
    size_t type_count;
    stn_syscall_count *syscalls; /**< [syscall_count] falling by count after finish */
    size_t syscall_count;
    /* inside */
    size_t type_capacity, syscall_capacity;
    stn_map type_of_name, syscall_of_name, threads, cpus;
    stn_map open_calls; /**< tid to open call: system call index + 1 in the upper 16 bits,
                             low 48 bits of its time */
    uint32_t switch_name;
} stn_summary;

void stn_summary_init(stn_summary *summary, const stn_catalog *catalog);
/** Count one event (a lost mark ends what is known of open calls).
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_summary_add(stn_summary *summary, const stn_event *event, stn_err *err) STN_MUST_USE;
/** Sort the tables. */
void stn_summary_finish(stn_summary *summary);
void stn_summary_fini(stn_summary *summary);

#endif
