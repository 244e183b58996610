/** @file
 *  A tracefs instance of our own: made, set up, read out, always removed.
 *  Pinned by tests/e2e/record.bats. */
#ifndef STN_KERNEL_TRACE_RECORD_INSTANCE_H
#define STN_KERNEL_TRACE_RECORD_INSTANCE_H

#include <tracefs.h>

#include "kernel/trace/record.h"

/** A tracepoint that is on. */
typedef struct stn_enabled {
    char system[64], event[96];
} stn_enabled;

/** Zero-initialise, then use. */
typedef struct stn_instance {
    struct tracefs_instance *tracefs;
    stn_enabled *enabled; /**< [enabled_count], in the order of system names */
    size_t enabled_count;
    size_t enabled_capacity;
    uint32_t missing;     /**< tracepoints of sets that this kernel has not got */
    long cmdlines_before; /**< saved_cmdlines_size to go back to, 0: untouched */
    uint64_t lost;        /**< by the kernel's counters, after stn_instance_counters() */
    uint64_t read_events; /**< events read out, after stn_instance_counters() */
} stn_instance;

/** Make the instance (mounting tracefs if we may) with clock, buffers, CPUs and events.
 *  @return STN_OK; STN_EPERM, STN_EUNSUPPORTED, STN_ENOTFOUND, STN_ERANGE, STN_EIO, STN_ENOMEM;
 *          on error nothing is left behind */
stn_status stn_instance_open(stn_instance *instance, const stn_record_options *options,
                             stn_err *err) STN_MUST_USE;
/** Switch tracing on or off. */
stn_status stn_instance_switch(stn_instance *instance, bool on, stn_err *err) STN_MUST_USE;
/** Text of per_cpu/cpuN/stats, NULL if it cannot be read; the caller frees with free().
 *  Adds to lost and read_events. */
char *stn_instance_counters(stn_instance *instance, int cpu);
/** Does the kernel have a buffer for this CPU? */
bool stn_instance_has_cpu(const stn_instance *instance, int cpu);
/** Remove it. Legal on a zeroed one. */
void stn_instance_close(stn_instance *instance);

#endif
