/** @file
 *  Reading a small trace in a test: what it holds as text, a line per event:
 *  "time cpu tid comm name(original) key=value …", "-" for what is not known; integers with u
 *  behind if unsigned, text in quotes, sequences in brackets. */
#ifndef STN_TESTS_UNIT_READ_EVENTS_H
#define STN_TESTS_UNIT_READ_EVENTS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include <standin/trace.h>

#include "core/base/alloc.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct shown {
    char text[16384];
    size_t used;
    stn_err err;
    stn_trace_meta meta;
} shown;

static inline void show(shown *out, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    size_t room = sizeof out->text - out->used;
    int size = vsnprintf(out->text + out->used, room, fmt, args);
    va_end(args);
    out->used += (size_t)size < room ? (size_t)size : room - 1;
}

static inline void show_seq(shown *out, const stn_seq *seq) {
    show(out, "[");
    for (uint32_t i = 0; i < seq->count; i++) {
        show(out, seq->is_signed ? "%s%" PRId64 : "%s%" PRIu64, i ? " " : "", seq->items[i]);
    }
    show(out, seq->is_signed ? "]" : "]u");
}

static inline void show_field(shown *out, const stn_catalog *catalog, const stn_field *field) {
    show(out, " %s=", stn_catalog_text(catalog, field->name));
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        show(out, "%" PRId64, field->v.i);
        break;
    case STN_FIELD_UINT:
        show(out, "%" PRIu64 "u", field->v.u);
        break;
    case STN_FIELD_HEX:
        show(out, "0x%" PRIx64, field->v.u);
        break;
    case STN_FIELD_REAL:
        show(out, "%gf", field->v.f);
        break;
    case STN_FIELD_STR:
        show(out, "\"%s\"", field->v.s);
        break;
    case STN_FIELD_SEQ:
        show_seq(out, field->v.seq);
        break;
    }
}

static inline void show_event(shown *out, const stn_catalog *catalog, const stn_event *event) {
    const stn_type *type = stn_catalog_type_at(catalog, event->type);
    show(out, "%" PRIu64, event->time_ns);
    show(out, event->cpu == STN_NO_CPU ? " -" : " %d", event->cpu);
    show(out, event->tid == STN_NO_TID ? " -" : " %d", event->tid);
    show(out, " %s %s", event->comm == STN_NO_ID ? "-" : stn_catalog_text(catalog, event->comm),
         type->name);
    if (type->original != type->name) {
        show(out, "(%s)", type->original);
    }
    for (uint32_t i = 0; i < event->field_count; i++) {
        show_field(out, catalog, &event->fields[i]);
    }
    show(out, "\n");
}

/** Read all of @p path into @p out; STN_END if it was read to its end. */
static inline stn_status show_trace(shown *out, const char *path, const char *format) {
    stn_catalog *catalog = NULL;
    stn_reader *reader = NULL;
    stn_event event;
    *out = (shown){.used = 0};
    stn_status status = stn_catalog_new(&catalog, &out->err);
    if (!status) {
        status = stn_reader_open(&reader, path, format, NULL, catalog, &out->err);
    }
    while (!status) {
        status = stn_reader_next(reader, &event, &out->err);
        if (!status) {
            show_event(out, catalog, &event);
        }
    }
    if (reader) {
        out->meta = *stn_reader_meta(reader);
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
    return status;
}

/** Read @p path to its end and count. Never fails on the trace: the status is handed back. */
static inline stn_status count_trace(const char *path, const char *format, stn_trace_meta *meta,
                                     uint64_t *backwards, stn_err *err) {
    stn_catalog *catalog = NULL;
    stn_reader *reader = NULL;
    stn_event event;
    uint64_t last = 0;
    stn_status status = stn_catalog_new(&catalog, err);
    if (!status) {
        status = stn_reader_open(&reader, path, format, NULL, catalog, err);
    }
    *backwards = 0;
    while (!status) {
        status = stn_reader_next(reader, &event, err);
        if (!status) {
            *backwards += event.time_ns < last;
            last = event.time_ns;
        }
    }
    if (reader) {
        *meta = *stn_reader_meta(reader);
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
    return status;
}

/** A temporary file of @p size bytes; the name is written over @p path. */
static inline void put_file(char path[64], const void *bytes, size_t size) {
    snprintf(path, 64, "/tmp/standin-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

/** show_trace() of a file that holds @p text. */
static inline stn_status show_text(shown *out, const char *text, const char *format) {
    char path[64];
    put_file(path, text, strlen(text));
    stn_status status = show_trace(out, path, format);
    unlink(path);
    return status;
}

/** Fail allocation 1, 2, 3 … of reading @p path until it comes through; the sanitizer looks
 *  for what is left behind. */
static inline void fail_each_allocation(const char *path, const char *format, int at_most) {
    stn_trace_meta meta;
    uint64_t backwards;
    stn_err err = {{0}};
    for (int i = 1; i <= at_most; i++) {
        stn_alloc_fail_at((uint64_t)i);
        stn_status status = count_trace(path, format, &meta, &backwards, &err);
        bool done = status == STN_END;
        stn_alloc_fail_at(0);
        if (done) {
            assert_true(i > 3);
            return;
        }
        assert_int_equal(status, STN_ENOMEM);
        assert_true(strlen(err.text) > 0);
    }
}

/** Folder of optional data; NULL (and a line about it) if it is not there. */
static inline const char *shared_folder(char path[4096], const char *below) {
    const char *base = getenv("STN_SHARED");
    snprintf(path, 4096, "%s/%s", base ? base : STN_SHARED_DIR, below);
    if (access(path, R_OK) == 0) {
        return path;
    }
    print_message("skipped: ../shared not there\n");
    return NULL;
}

/** Lines that @p command prints, less those that begin with a character of @p less;
 *  -1 if it cannot be run. */
static inline long long count_lines(const char *command, const char *less) {
    FILE *pipe = popen(command, "r"); // NOLINT(cert-env33-c)
    long long count = 0;
    char line[65536];
    if (!pipe) {
        return -1;
    }
    while (fgets(line, sizeof line, pipe)) {
        count += strchr(line, '\n') != NULL && !strchr(less, line[0]);
    }
    return pclose(pipe) == 0 ? count : -1;
}

#endif
