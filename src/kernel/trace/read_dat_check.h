/** @file
 *  Whether all that a trace.dat file announces lies inside of it, looked at before the file is
 *  given to libtracecmd, which ends the process on some files that are cut short.
 *  Layout: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5). Pinned by tests/unit/test_read_trace_dat.c. */
#ifndef STN_KERNEL_TRACE_READ_DAT_CHECK_H
#define STN_KERNEL_TRACE_READ_DAT_CHECK_H

#include <standin/base.h>

#define STN_DAT_MAGIC      "\x17\x08\x44tracing"
#define STN_DAT_MAGIC_SIZE ((size_t)10)

/** @return STN_OK; STN_EIO; STN_EFORMAT (message with offset, found, expected);
 *  STN_EUNSUPPORTED (another version, a latency tracer's file) */
stn_status stn_dat_check(const char *path, stn_err *err) STN_MUST_USE;

#endif
