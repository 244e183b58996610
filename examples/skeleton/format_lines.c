/* A trace format to copy: docs/add-a-format.md. A line per event,
 *
 *     # lines 1
 *     1000000100 0 42 sched_wakeup
 *
 * with time in ns, CPU, thread, name. Fields are not kept: a real format keeps them.
 * Compiled and run by tests/unit/test_format_skeleton.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/instream.h"
#include "core/data/outfile.h"
#include "kernel/trace/canon.h"
#include "kernel/trace/format.h"

#define MAGIC "# lines 1"

/* ---- reading --------------------------------------------------------- */

typedef struct lines_reader {
    stn_instream *in;
    stn_catalog *catalog;
    stn_trace_meta *meta;
} lines_reader;

/* Look at the first bytes only. 100 is "surely mine". */
static int lines_probe(const stn_probe *probe) {
    size_t size = sizeof MAGIC - 1;
    bool mine = !probe->is_folder && probe->head_size > size &&
                memcmp(probe->head, MAGIC "\n", size + 1) == 0;
    return mine ? 100 : 0;
}

/* Legal on what a failed open has left. */
static void lines_close(void *self) {
    lines_reader *reader = self;
    stn_instream_close(reader->in);
    stn_free(reader);
}

static stn_status lines_open(void **self, const char *path, stn_catalog *catalog,
                             stn_trace_meta *meta, stn_err *err) {
    lines_reader *reader = stn_calloc(1, sizeof *reader);
    if (!reader) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    reader->catalog = catalog;
    reader->meta = meta;
    stn_status status = stn_instream_open(&reader->in, path, err);
    if (status) {
        lines_close(reader);
        return status;
    }
    *self = reader;
    return STN_OK;
}

static stn_status parse_line(lines_reader *reader, const char *line, stn_event *event,
                             stn_err *err) {
    char name[64], buffer[128];
    int end = 0;
    *event = (stn_event){.comm = STN_NO_ID};
    if (sscanf(line, "%" SCNu64 " %" SCNu16 " %" SCNd32 " %63s%n", &event->time_ns, &event->cpu,
               &event->tid, name, &end) != 4 ||
        line[end]) {
        return stn_err_set(err, STN_EFORMAT,
                           "line %" PRIu64 ": 'time cpu thread name' expected, '%.60s' found",
                           stn_instream_line_number(reader->in), line);
    }
    const char *canonical = stn_canon_event(name, buffer, sizeof buffer);
    event->type = stn_catalog_type(reader->catalog, canonical, name);
    return event->type == STN_NO_ID ? stn_err_set(err, STN_ENOMEM, "out of memory for a name")
                                    : STN_OK;
}

/* Lent until the next call: point into your own buffers, do not allocate per event. */
static stn_status lines_next(void *self, stn_event *event, stn_err *err) {
    lines_reader *reader = self;
    for (;;) {
        char *line;
        size_t size;
        stn_status status = stn_instream_line(reader->in, &line, &size, err);
        if (status) {
            return status; /* STN_END at the end */
        }
        if (size && *line != '#') {
            return parse_line(reader, line, event, err);
        }
    }
}

const stn_read_ops stn_read_lines = {lines_probe, lines_open, lines_next, lines_close};

/* ---- writing --------------------------------------------------------- */

typedef struct lines_writer {
    stn_outfile *file; /* a temporary until commit */
    const stn_catalog *catalog;
} lines_writer;

static void lines_abort(void *self) {
    lines_writer *writer = self;
    stn_outfile_abort(writer->file);
    stn_free(writer);
}

static stn_status lines_begin(void **self, const char *path, const stn_catalog *catalog,
                              const stn_trace_meta *meta, const stn_writer_options *options,
                              stn_err *err) {
    (void)meta;
    (void)options;
    lines_writer *writer = stn_calloc(1, sizeof *writer);
    if (!writer) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    writer->catalog = catalog;
    stn_status status = stn_outfile_open(&writer->file, path, err);
    if (!status) {
        status = stn_outfile_printf(writer->file, err, "%s\n", MAGIC);
    }
    if (status) {
        lines_abort(writer);
        return status;
    }
    *self = writer;
    return STN_OK;
}

/* Times come in order: the caller sees to it. */
static stn_status lines_write(void *self, const stn_event *event, stn_err *err) {
    lines_writer *writer = self;
    return stn_outfile_printf(writer->file, err, "%" PRIu64 " %u %" PRId32 " %s\n", event->time_ns,
                              event->cpu, event->tid,
                              stn_catalog_type_at(writer->catalog, event->type)->name);
}

/* Frees the writer in either case; on error nothing is left under the final name. */
static stn_status lines_commit(void *self, stn_err *err) {
    lines_writer *writer = self;
    stn_status status = stn_outfile_commit(writer->file, err);
    writer->file = NULL;
    lines_abort(writer);
    return status;
}

const stn_write_ops stn_write_lines = {lines_begin, lines_write, lines_commit, lines_abort};
