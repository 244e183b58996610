/** @file
 *  Recording the running kernel through tracefs into a trace.dat file.
 *
 *  A recording has a tracefs instance of its own (buffers, events, clock), which is removed
 *  whatever happens; instances that a killed recording left behind are removed by the next.
 *  Ring buffers are drained only when half full, so that a short recording is not disturbed
 *  by its recorder. The recorder's own system calls and page faults are filtered out; its
 *  switches, interrupts and timers stay, since without them a CPU's story has holes.
 *  Pinned by tests/e2e/record.bats, tests/unit/test_record.c. */
#ifndef STN_KERNEL_TRACE_RECORD_H
#define STN_KERNEL_TRACE_RECORD_H

#include <standin/base.h>

/** A named set of tracepoints. */
typedef struct stn_event_set {
    const char *name;          /**< "sched" */
    const char *summary;       /**< "scheduler: switches, wake-ups, processes" */
    const char *const *events; /**< "system:event", ends with NULL */
} stn_event_set;

/** Set @p index; NULL behind the last. "default" is all of them. */
const stn_event_set *stn_event_set_at(uint32_t index);

typedef struct stn_record_options {
    const char *const *events; /**< [event_count] sets and "system:event"; none: "default" */
    size_t event_count;
    const int32_t *cpus; /**< [cpu_count] trace these and run the command on them; none: all */
    size_t cpu_count;
    uint64_t duration_ns;       /**< 0: until the command ends, or until stopped */
    uint64_t buffer_size;       /**< bytes per CPU; 0: 64 MiB */
    const char *const *command; /**< ends with NULL; NULL: none */
} stn_record_options;

typedef struct stn_record_stats {
    uint64_t events;      /**< in the file */
    uint64_t lost_events; /**< overrun and dropped, from the kernel's own counters */
    uint64_t duration_ns; /**< tracing on to tracing off */
    uint64_t size;        /**< of the file */
    uint32_t enabled;     /**< tracepoints that were on */
    uint32_t missing;     /**< of the sets' tracepoints, that this kernel has not got */
    uint32_t cpu_count;
    bool command_ran;
    int command_status; /**< as wait() gives it */
    bool stopped;       /**< progress said stop, before the command or the time ended */
} stn_record_stats;

/** What helps when tracefs refuses with @p why (errno): another user, boot option or container.
 *  @return static text, NULL if nothing is known to */
const char *stn_record_way_out(int why);

/** Record into @p path (there whole or not at all).
 *  @param progress called about once a second with nanoseconds done and wanted; false ends the
 *                  recording in good order, which is ::STN_OK with stats->stopped
 *  @return STN_OK; STN_EPERM (which right is missing, and how to get it), STN_EUNSUPPORTED
 *          (no tracefs), STN_ERANGE (no such event or CPU), STN_ENOTFOUND (no such command),
 *          STN_EIO, STN_ENOMEM */
stn_status stn_record(const char *path, const stn_record_options *options, stn_record_stats *stats,
                      stn_progress_fn progress, void *user, stn_err *err) STN_MUST_USE;

#endif
