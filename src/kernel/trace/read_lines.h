/** @file
 *  What formats of one event a line share: a line is taken apart into the held event, the marks
 *  of losses go before it. Pinned by tests/unit/test_read_ftrace.c, test_read_perf.c. */
#ifndef STN_KERNEL_TRACE_READ_LINES_H
#define STN_KERNEL_TRACE_READ_LINES_H

#include "core/data/instream.h"
#include "kernel/trace/read_mark.h"
#include "kernel/trace/read_text.h"

typedef struct stn_lines stn_lines;

/** First member of a format's reader. */
struct stn_lines {
    stn_instream *in;
    stn_catalog *catalog;
    stn_trace_meta *meta;
    stn_text text;
    stn_marks marks;
    stn_event held; /**< parsed, to be handed out once the marks before it are */
    bool holds;
    /** Take one line: hold an event, add a loss, or pass over it. The caller names the line. */
    stn_status (*take)(stn_lines *lines, char *line, size_t size, stn_err *err);
};

/** Open @p path as the lines of @p tracer; zeroed and with take set before.
 *  @return STN_OK; as stn_instream_open(). Close in either case. */
stn_status stn_lines_open(stn_lines *lines, const char *path, stn_catalog *catalog,
                          stn_trace_meta *meta, const char *tracer, stn_err *err) STN_MUST_USE;
/** As stn_reader_next(). */
stn_status stn_lines_next(stn_lines *lines, stn_event *event, stn_err *err) STN_MUST_USE;
/** Legal on a zeroed one. */
void stn_lines_close(stn_lines *lines);

#endif
