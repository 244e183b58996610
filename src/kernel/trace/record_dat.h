/** @file
 *  A trace.dat file of version 6 around the raw pages of a recording.
 *
 *  Layout (trace-cmd.dat.v6(5)): magic, page size, the kernel's own description of its pages
 *  and events, function names, process names, options, a table of where each CPU's pages lie,
 *  the pages. Integers are in the machine's own order.
 *  Pinned by tests/e2e/record.bats, which reads it with trace-cmd and with our reader. */
#ifndef STN_KERNEL_TRACE_RECORD_DAT_H
#define STN_KERNEL_TRACE_RECORD_DAT_H

#include "core/data/outfile.h"
#include "kernel/trace/record_instance.h"

/** Raw pages of one CPU in a temporary file. */
typedef struct stn_cpu_pages {
    int fd;
    uint64_t size;  /**< a multiple of the page size */
    char *counters; /**< text of the kernel's statistics, or NULL */
} stn_cpu_pages;

typedef struct stn_dat_input {
    const stn_instance *instance;
    const stn_cpu_pages *cpus; /**< [cpu_count], index is the CPU's number */
    uint32_t cpu_count;
    uint32_t page_size;
} stn_dat_input;

/** Write all of the file. @param[out] size  bytes written
 *  @return STN_OK, STN_EIO, STN_ENOMEM */
stn_status stn_dat_write(stn_outfile *file, const stn_dat_input *input, uint64_t *size,
                         stn_err *err) STN_MUST_USE;

#endif
