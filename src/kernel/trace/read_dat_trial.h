/** @file
 *  Opening a trace.dat for trial in a child process: libtraceevent 1.7.1 can fail with a
 *  segmentation fault on damaged event formats, and a child's end is only a status.
 *  Pinned by tests/unit/test_read_trace_dat.c. */
#ifndef STN_KERNEL_TRACE_READ_DAT_TRIAL_H
#define STN_KERNEL_TRACE_READ_DAT_TRIAL_H

#include <standin/base.h>

/** @return STN_OK if libtracecmd opens @p path, or if no child can be made; STN_EFORMAT */
stn_status stn_dat_trial(const char *path, stn_err *err) STN_MUST_USE;

#endif
