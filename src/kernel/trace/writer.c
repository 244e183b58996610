/* Writing a trace in any format: choosing the row, keeping the order, naming the place. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/outfile.h"
#include "kernel/trace/format.h"

struct stn_writer {
    const stn_format *format;
    void *self;
    char *path;
    uint64_t last_ns;
    uint64_t count;       /* events and marks */
    stn_written done;     /* so far */
    stn_written *written; /* NULL: nobody wants to know */
};

/* Is @p ending (of @p size bytes) a word of the space-separated list @p words? */
static bool word_in(const char *words, const char *ending, size_t size) {
    while (words && *words) {
        size_t length = strcspn(words, " ");
        if (length == size && strncmp(words, ending, size) == 0) {
            return true;
        }
        words += length + (words[length] == ' ');
    }
    return false;
}

/* Ending of the last component of @p path without .zst or .gz: "a.txt.zst" -> ".txt". */
static const char *path_ending(const char *path, size_t *size) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".zst") == 0) {
        length -= 4;
    } else if (length > 3 && strcmp(base + length - 3, ".gz") == 0) {
        length -= 3;
    }
    size_t at = length;
    while (at > 0 && base[at - 1] != '.') {
        at--;
    }
    *size = at ? length - at + 1 : 0;
    return at ? base + at - 1 : base + length;
}

static const stn_format *format_by_path(const char *path) {
    size_t length = strlen(path);
    if (length && path[length - 1] == '/') {
        return stn_format_find("ctf");
    }
    size_t size;
    const char *ending = path_ending(path, &size);
    if (!size) {
        return stn_format_find("ctf");
    }
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        const stn_format *row = stn_format_row(i);
        if (row->write && (word_in(row->info.extension, ending, size) ||
                           word_in(row->more_extensions, ending, size))) {
            return row;
        }
    }
    return NULL;
}

static stn_status writer_format(const char *path, const char *name, const stn_format **format,
                                stn_err *err) {
    bool to_stdout = strcmp(path, "-") == 0;
    if (to_stdout && !name) {
        return stn_err_set(err, STN_ERANGE,
                           "-: standard output has no ending that names a format; expected the "
                           "format to be given, as csv");
    }
    *format = name ? stn_format_find(name) : format_by_path(path);
    if (!*format && name) {
        return stn_err_set(err, STN_ERANGE, "no format is called '%s'", name);
    }
    if (!*format) {
        return stn_err_set(
            err, STN_ERANGE,
            "%s: the ending names no format that is written; expected none (a CTF folder), .ctf, "
            ".txt, .csv, .json or .parquet",
            path);
    }
    if (!(*format)->write) {
        return stn_err_set(err, STN_ERANGE, "format '%s' is read, not written",
                           (*format)->info.name);
    }
    if (to_stdout && strcmp((*format)->info.extension, "/") == 0) {
        return stn_err_set(err, STN_ERANGE,
                           "-: format '%s' is a folder, which standard output cannot be",
                           (*format)->info.name);
    }
    if ((*format)->whole && stn_outfile_packs(path)) {
        return stn_err_set(err, STN_ERANGE,
                           "%s: format '%s' is not compressed as a whole; expected a name without "
                           ".zst or .gz",
                           path, (*format)->info.name);
    }
    return STN_OK;
}

stn_status stn_writer_open(stn_writer **out, const char *path, const char *format,
                           const stn_catalog *catalog, const stn_trace_meta *meta,
                           const stn_writer_options *options, stn_err *err) {
    static const stn_trace_meta no_meta;
    static const stn_writer_options defaults;
    *out = NULL;
    const stn_format *row = NULL;
    stn_status status = writer_format(path, format, &row, err);
    if (status) {
        return status;
    }
    if (options && options->max_events && row->write != &stn_write_json) {
        return stn_err_set(err, STN_ERANGE,
                           "%s: only JSON can keep a part of the events; the format is '%s'", path,
                           row->info.name);
    }
    stn_writer *writer = stn_calloc(1, sizeof *writer);
    char *path_copy = stn_strdup(path);
    if (!writer || !path_copy) {
        stn_free(writer);
        stn_free(path_copy);
        return stn_err_set(err, STN_ENOMEM, "%s: out of memory", path);
    }
    writer->format = row;
    writer->path = path_copy;
    writer->written = options ? options->written : NULL;
    status = row->write->open(&writer->self, path, catalog, meta ? meta : &no_meta,
                              options ? options : &defaults, err);
    if (status) {
        status = stn_err_prepend(err, status, "%s", path);
        stn_free(path_copy);
        stn_free(writer);
        return status;
    }
    *out = writer;
    return STN_OK;
}

stn_status stn_writer_write(stn_writer *writer, const stn_event *event, stn_err *err) {
    if (event->time_ns < writer->last_ns) {
        return stn_err_set(err, STN_EFORMAT,
                           "%s: event %llu at %llu ns comes before the one written last (%llu ns)",
                           writer->path, (unsigned long long)writer->count,
                           (unsigned long long)event->time_ns, (unsigned long long)writer->last_ns);
    }
    stn_status status = writer->format->write->write(writer->self, event, err);
    if (status) {
        return stn_err_prepend(err, status, "%s", writer->path);
    }
    writer->last_ns = event->time_ns;
    writer->count++;
    writer->done.events += event->type != STN_TYPE_LOST;
    return STN_OK;
}

static void writer_free(stn_writer *writer) {
    stn_free(writer->path);
    stn_free(writer);
}

stn_status stn_writer_commit(stn_writer *writer, stn_err *err) {
    if (writer->written) {
        *writer->written = writer->done; /* JSON knows better */
    }
    stn_status status = writer->format->write->commit(writer->self, err);
    if (status) {
        status = stn_err_prepend(err, status, "%s", writer->path);
    }
    writer_free(writer);
    return status;
}

void stn_writer_abort(stn_writer *writer) {
    if (!writer) {
        return;
    }
    writer->format->write->abort(writer->self);
    writer_free(writer);
}
