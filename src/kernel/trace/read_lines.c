#include "kernel/trace/read_lines.h"

#include <stdio.h>

stn_status stn_lines_open(stn_lines *lines, const char *path, stn_catalog *catalog,
                          stn_trace_meta *meta, const char *tracer, stn_err *err) {
    lines->catalog = catalog;
    lines->meta = meta;
    lines->text.catalog = catalog;
    snprintf(meta->tracer, sizeof meta->tracer, "%s", tracer);
    return stn_instream_open(&lines->in, path, err);
}

void stn_lines_close(stn_lines *lines) {
    stn_instream_close(lines->in);
    stn_text_fini(&lines->text);
    stn_marks_fini(&lines->marks);
}

static stn_status hold_next(stn_lines *lines, stn_err *err) {
    while (!lines->holds) {
        char *line;
        size_t size;
        stn_status status = stn_instream_line(lines->in, &line, &size, err);
        if (status) {
            return status;
        }
        status = lines->take(lines, line, size, err);
        if (status) {
            return stn_err_prepend(err, status, "line %llu",
                                   (unsigned long long)stn_instream_line_number(lines->in));
        }
    }
    return STN_OK;
}

stn_status stn_lines_next(stn_lines *lines, stn_event *event, stn_err *err) {
    stn_status status = hold_next(lines, err);
    if (status && status != STN_END) {
        return status;
    }
    if (stn_marks_waiting(&lines->marks)) {
        if (status == STN_END) { /* a loss at the very end is later than the last event */
            uint64_t end_ns = lines->marks.losses[lines->marks.at].end_ns;
            lines->held.time_ns = end_ns > lines->held.time_ns ? end_ns : lines->held.time_ns;
        }
        return stn_marks_take(&lines->marks, lines->catalog, lines->held.time_ns, event, err);
    }
    if (status) {
        return status;
    }
    *event = lines->held;
    lines->holds = false;
    return stn_marks_saw(&lines->marks, event->cpu, event->time_ns, err);
}
