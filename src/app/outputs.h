/** @file
 *  Writing a whole trace from memory, and trying where output goes. Pinned by
 *  tests/e2e/pipeline.bats. */
#ifndef STN_APP_OUTPUTS_H
#define STN_APP_OUTPUTS_H

#include <standin/trace.h>

/** Write all of @p trace to @p path, there whole or not at all.
 *  @param format NULL: by the ending of @p path  @param meta what to say of its origin */
stn_status stn_outputs_write(const char *path, const char *format, const stn_trace *trace,
                             const stn_trace_meta *meta, stn_err *err) STN_MUST_USE;

/** Could a trace be written to @p path? For a command that works long before it writes: what it
 *  would end with is said at once. Nothing is left there. @return as stn_writer_open() */
stn_status stn_outputs_try(const char *path, const char *format, stn_catalog *catalog,
                           stn_err *err) STN_MUST_USE;
/** Refuse what cannot be read again: standard output, and a name that asks for compression.
 *  @param what  "a model"  @return STN_OK; STN_ERANGE */
stn_status stn_outputs_plain(const char *path, const char *what, stn_err *err) STN_MUST_USE;
/** The same for a single file of any kind. @return as stn_outfile_open() */
stn_status stn_outputs_try_file(const char *path, stn_err *err) STN_MUST_USE;

#endif
