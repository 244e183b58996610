/* Opening a trace of any format, filtering, counting. The formats only decode. */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/data/instream.h"
#include "kernel/trace/format.h"

#define PROBE_SIZE ((size_t)65536)

struct stn_reader {
    const stn_format *format;
    void *self;
    stn_catalog *catalog;
    const stn_filter *filter;
    stn_trace_meta meta;
    char *path;
    uint64_t first_ns;
    bool started;
    /* The first event is read when opening: only then do some formats know clock and host. */
    bool has_ahead;
    stn_event ahead;
    stn_status ahead_status;
    stn_err ahead_err;
    /* What the event and comm patterns say of a type or name: 0 not asked, 1 no, 2 yes. */
    unsigned char *type_passes;
    size_t type_capacity;
    unsigned char *comm_passes;
    size_t comm_capacity;
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
        return stn_err_set(err, STN_EUNSUPPORTED,
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
        return stn_err_set(err, STN_EUNSUPPORTED, "format '%s' is written, not read", name);
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
    reader->filter = filter;
    stn_status status =
        format ? named_format(format, &reader->format, err) : recognise(path, &reader->format, err);
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

/* ---- filtering ------------------------------------------------------- */

static bool matches_any(const char *const *patterns, uint32_t count, const char *text) {
    for (uint32_t i = 0; i < count; i++) {
        if (fnmatch(patterns[i], text, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* Room for answer number @p id, new answers "not asked". */
static stn_status answers_reserve(unsigned char **answers, size_t *capacity, size_t id) {
    size_t before = *capacity;
    stn_status status = stn_grow(answers, capacity, id + 1, 1);
    if (!status && *capacity > before) {
        memset(*answers + before, 0, *capacity - before);
    }
    return status;
}

static stn_status type_passes(stn_reader *reader, uint32_t id, bool *passes) {
    if (answers_reserve(&reader->type_passes, &reader->type_capacity, id)) {
        return STN_ENOMEM;
    }
    if (!reader->type_passes[id]) {
        const stn_filter *filter = reader->filter;
        const stn_type *type = stn_catalog_type_at(reader->catalog, id);
        bool yes = matches_any(filter->events, filter->event_count, type->name) ||
                   matches_any(filter->events, filter->event_count, type->original);
        reader->type_passes[id] = yes ? 2 : 1;
    }
    *passes = reader->type_passes[id] == 2;
    return STN_OK;
}

static stn_status comm_passes(stn_reader *reader, uint32_t id, bool *passes) {
    *passes = false;
    if (id == STN_NO_ID) {
        return STN_OK;
    }
    if (answers_reserve(&reader->comm_passes, &reader->comm_capacity, id)) {
        return STN_ENOMEM;
    }
    if (!reader->comm_passes[id]) {
        const stn_filter *filter = reader->filter;
        const char *comm = stn_catalog_text(reader->catalog, id);
        reader->comm_passes[id] = matches_any(filter->comms, filter->comm_count, comm) ? 2 : 1;
    }
    *passes = reader->comm_passes[id] == 2;
    return STN_OK;
}

static bool cpu_passes(const stn_filter *filter, uint16_t cpu) {
    for (uint32_t i = 0; i < filter->cpu_count; i++) {
        if (filter->cpus[i] == cpu) {
            return true;
        }
    }
    return filter->cpu_count == 0;
}

static bool tid_passes(const stn_filter *filter, int32_t tid) {
    for (uint32_t i = 0; i < filter->tid_count; i++) {
        if (filter->tids[i] == tid) {
            return true;
        }
    }
    return filter->tid_count == 0;
}

/* A lost mark passes unless it lies outside the time range or on another CPU: what is
 * left of a trace is still not whole. */
static stn_status event_passes(stn_reader *reader, const stn_event *event, bool *passes) {
    const stn_filter *filter = reader->filter;
    uint64_t time_ns = event->time_ns - reader->first_ns;
    *passes = time_ns >= filter->begin_ns && (!filter->end_ns || time_ns < filter->end_ns) &&
              (cpu_passes(filter, event->cpu) ||
               (event->type == STN_TYPE_LOST && event->cpu == STN_NO_CPU));
    if (!*passes || event->type == STN_TYPE_LOST) {
        return STN_OK;
    }
    *passes = tid_passes(filter, event->tid);
    stn_status status = STN_OK;
    if (*passes && filter->comm_count) {
        status = comm_passes(reader, event->comm, passes);
    }
    if (!status && *passes && filter->event_count) {
        status = type_passes(reader, event->type, passes);
    }
    return status;
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
    if (!reader->started) {
        reader->started = true;
        reader->first_ns = event->time_ns;
    }
    *passes = true;
    if (reader->filter && event_passes(reader, event, passes)) {
        return stn_err_set(err, STN_ENOMEM, "%s: out of memory for a filter", reader->path);
    }
    return STN_OK;
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
    stn_free(reader->type_passes);
    stn_free(reader->comm_passes);
    stn_free(reader->path);
    stn_free(reader);
}
