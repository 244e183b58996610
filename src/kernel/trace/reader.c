/* Opening a trace of any format, counting. The formats only decode. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/data/instream.h"
#include "kernel/trace/format.h"
#include "kernel/trace/sieve.h"

#define PROBE_SIZE ((size_t)65536)

struct stn_reader {
    const stn_format *format;
    void *self;
    stn_catalog *catalog;
    stn_sieve *sieve; /* NULL: all pass */
    stn_trace_meta meta;
    char *path;
    /* The first event is read when opening: only then do some formats know clock and host. */
    bool has_ahead;
    stn_event ahead;
    stn_status ahead_status;
    stn_err ahead_err;
};

/* ---- choosing the format --------------------------------------------- */

static const stn_format *probe_rows(const stn_probe *probe) {
    const stn_format *best = NULL;
    int best_score = 0;
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        const stn_format *row = stn_format_row(i);
        int score = row->read && row->read->probe ? row->read->probe(probe) : 0;
        if (score > best_score) {
            best = row;
            best_score = score;
        }
    }
    return best;
}

static stn_status no_format(const stn_probe *probe, stn_err *err) {
    if (probe->is_folder) {
        return stn_err_set(err, STN_EFORMAT,
                           "no CTF trace in this folder: no file 'metadata' in it or below it");
    }
    if (probe->head_size == 0) {
        return stn_err_set(err, STN_EFORMAT, "the file is empty (0 bytes)");
    }
    return stn_err_set(err, STN_EFORMAT,
                       "not a trace of a known format (CTF folder, trace.dat, ftrace or perf "
                       "script text, CSV with a header)");
}

static stn_status recognise(const char *path, const stn_format **format, stn_err *err) {
    struct stat stat_of;
    if (stat(path, &stat_of)) {
        return stn_err_set(err, errno == ENOENT || errno == ENOTDIR ? STN_ENOTFOUND : STN_EIO, "%s",
                           strerror(errno));
    }
    if (S_ISFIFO(stat_of.st_mode) || S_ISSOCK(stat_of.st_mode)) {
        return stn_err_set(err, STN_ERANGE,
                           "a pipe can be read only once, so its format is not recognised; "
                           "expected the format to be given, as ftrace, or a file");
    }
    stn_probe probe = {.path = path, .is_folder = S_ISDIR(stat_of.st_mode)};
    stn_instream *in = NULL;
    stn_status status = STN_OK;
    if (!probe.is_folder) {
        status = stn_instream_open(&in, path, err);
        if (!status) {
            status = stn_instream_peek(in, PROBE_SIZE, &probe.head, &probe.head_size, err);
        }
    }
    if (!status) {
        *format = probe_rows(&probe);
        status = *format ? STN_OK : no_format(&probe, err);
    }
    stn_instream_close(in);
    return status;
}

static stn_status named_format(const char *name, const stn_format **format, stn_err *err) {
    *format = stn_format_find(name);
    if (!*format) {
        return stn_err_set(err, STN_ERANGE, "no format is called '%s'", name);
    }
    if (!(*format)->read) {
        return stn_err_set(err, STN_ERANGE, "format '%s' is written, not read", name);
    }
    return STN_OK;
}

stn_status stn_reader_open(stn_reader **out, const char *path, const char *format,
                           const stn_filter *filter, stn_catalog *catalog, stn_err *err) {
    *out = NULL;
    stn_reader *reader = stn_calloc(1, sizeof *reader);
    char *path_copy = stn_strdup(path);
    if (!reader || !path_copy) {
        stn_free(reader);
        stn_free(path_copy);
        return stn_err_set(err, STN_ENOMEM, "%s: out of memory", path);
    }
    reader->path = path_copy;
    reader->catalog = catalog;
    stn_status status = filter ? stn_sieve_new(&reader->sieve, filter, catalog, err) : STN_OK;
    if (!status) {
        status = format ? named_format(format, &reader->format, err)
                        : recognise(path, &reader->format, err);
    }
    if (!status) {
        memcpy(reader->meta.format, reader->format->info.name,
               strlen(reader->format->info.name) + 1);
        status = reader->format->read->open(&reader->self, path, catalog, &reader->meta, err);
    }
    if (status) {
        status = stn_err_prepend(err, status, "%s", path);
        reader->self = NULL;
        stn_reader_close(reader);
        return status;
    }
    reader->has_ahead = true;
    reader->ahead_status =
        reader->format->read->next(reader->self, &reader->ahead, &reader->ahead_err);
    *out = reader;
    return STN_OK;
}

/* ---- reading --------------------------------------------------------- */

static uint64_t lost_count(const stn_reader *reader, const stn_event *mark) {
    uint32_t name = stn_catalog_find(reader->catalog, "count");
    int64_t count = stn_field_int(stn_event_field(mark, name), 0);
    return count > 0 ? (uint64_t)count : 0;
}

static void reader_count(stn_reader *reader, const stn_event *event) {
    if (event->type == STN_TYPE_LOST) {
        reader->meta.lost_marks++;
        reader->meta.lost_count += lost_count(reader, event);
        return;
    }
    reader->meta.event_count++;
    if (event->cpu != STN_NO_CPU && event->cpu >= reader->meta.cpu_count) {
        reader->meta.cpu_count = event->cpu + 1u;
    }
}

static stn_status read_event(stn_reader *reader, stn_event *event, stn_err *err) {
    if (!reader->has_ahead) {
        return reader->format->read->next(reader->self, event, err);
    }
    reader->has_ahead = false;
    *event = reader->ahead;
    if (reader->ahead_status && err) {
        *err = reader->ahead_err;
    }
    return reader->ahead_status;
}

static stn_status reader_step(stn_reader *reader, stn_event *event, bool *passes, stn_err *err) {
    stn_status status = read_event(reader, event, err);
    if (status) {
        return status == STN_END ? status : stn_err_prepend(err, status, "%s", reader->path);
    }
    *passes = true;
    status = reader->sieve ? stn_sieve_passes(reader->sieve, event, passes, err) : STN_OK;
    return status ? stn_err_prepend(err, status, "%s", reader->path) : STN_OK;
}

stn_status stn_reader_next(stn_reader *reader, stn_event *event, stn_err *err) {
    bool passes = false;
    while (!passes) {
        stn_status status = reader_step(reader, event, &passes, err);
        if (status) {
            return status;
        }
    }
    reader_count(reader, event);
    return STN_OK;
}

const stn_trace_meta *stn_reader_meta(const stn_reader *reader) {
    return &reader->meta;
}

void stn_reader_close(stn_reader *reader) {
    if (!reader) {
        return;
    }
    if (reader->self) {
        reader->format->read->close(reader->self);
    }
    stn_sieve_free(reader->sieve);
    stn_free(reader->path);
    stn_free(reader);
}
