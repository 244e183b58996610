/* A whole trace in memory. Events hold pointers into the arena, so an event may be
 * copied by value between traces only while both live. */
#include <string.h>

#include <standin/trace.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"

#define PROGRESS_EVERY 65536u

void stn_trace_init(stn_trace *trace, stn_catalog *catalog) {
    *trace = (stn_trace){.catalog = catalog};
}

void stn_trace_fini(stn_trace *trace) {
    if (trace->arena) {
        stn_arena_fini(trace->arena);
        stn_free(trace->arena);
    }
    stn_free(trace->events);
    *trace = (stn_trace){.catalog = trace->catalog};
}

static const stn_seq *seq_copy(stn_arena *arena, const stn_seq *seq) {
    stn_seq *copy = stn_arena_alloc(arena, sizeof *copy);
    int64_t *items = stn_arena_alloc(arena, seq->count * sizeof *items);
    if (!copy || !items) {
        return NULL;
    }
    if (seq->count) {
        memcpy(items, seq->items, seq->count * sizeof *items);
    }
    *copy = (stn_seq){.count = seq->count, .is_signed = seq->is_signed, .items = items};
    return copy;
}

/* Deep copy of @p count fields into @p arena; NULL if out of memory. */
static const stn_field *fields_copy(stn_arena *arena, const stn_field *fields, uint32_t count) {
    stn_field *copy = stn_arena_alloc(arena, count * sizeof *copy);
    if (!copy) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = fields[i];
        if (fields[i].kind == STN_FIELD_STR) {
            copy[i].v.s = stn_arena_text(arena, fields[i].v.s, strlen(fields[i].v.s));
            if (!copy[i].v.s) {
                return NULL;
            }
        } else if (fields[i].kind == STN_FIELD_SEQ) {
            copy[i].v.seq = seq_copy(arena, fields[i].v.seq);
            if (!copy[i].v.seq) {
                return NULL;
            }
        }
    }
    return copy;
}

stn_status stn_trace_append(stn_trace *trace, const stn_event *event, stn_err *err) {
    if (!trace->arena) {
        trace->arena = stn_calloc(1, sizeof(stn_arena));
    }
    if (!trace->arena ||
        stn_grow(&trace->events, &trace->capacity, trace->count + 1, sizeof *trace->events)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory after %zu events", trace->count);
    }
    stn_event copy = *event;
    copy.fields = NULL;
    if (event->field_count) {
        copy.fields = fields_copy(trace->arena, event->fields, event->field_count);
        if (!copy.fields) {
            return stn_err_set(err, STN_ENOMEM, "out of memory after %zu events", trace->count);
        }
    }
    trace->events[trace->count++] = copy;
    return STN_OK;
}

static stn_status trace_fill(stn_trace *trace, stn_reader *reader, stn_progress_fn progress,
                             void *user, stn_err *err) {
    for (;;) {
        stn_event event;
        stn_status status = stn_reader_next(reader, &event, err);
        if (status == STN_END) {
            trace->meta = *stn_reader_meta(reader);
            return STN_OK;
        }
        if (!status) {
            status = stn_trace_append(trace, &event, err);
        }
        if (status) {
            return status;
        }
        if (progress && trace->count % PROGRESS_EVERY == 0 && !progress(user, trace->count, 0)) {
            return stn_err_set(err, STN_EINTR, "stopped after %zu events", trace->count);
        }
    }
}

stn_status stn_trace_load(stn_trace *trace, const char *path, const stn_filter *filter,
                          stn_catalog *catalog, stn_progress_fn progress, void *user,
                          stn_err *err) {
    stn_trace_init(trace, catalog);
    stn_reader *reader;
    stn_status status = stn_reader_open(&reader, path, NULL, filter, catalog, err);
    if (status) {
        return status;
    }
    status = trace_fill(trace, reader, progress, user, err);
    stn_reader_close(reader);
    if (status) {
        stn_trace_fini(trace);
    }
    return status;
}
