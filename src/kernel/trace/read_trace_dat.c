/* trace.dat of trace-cmd, version 6 and 7, through libtracecmd and libtraceevent. The library
 * hands out one record per CPU and buffer at a time; they are merged by time here, so memory
 * stays bounded. Fields are read by the formats that the file itself holds: a plan per event
 * type, made when the type is first seen. */
#include <stdio.h>
#include <string.h>

#include <trace-cmd/trace-cmd.h>

#include "core/base/alloc.h"
#include "core/base/map.h"
#include "kernel/trace/canon.h"
#include "kernel/trace/format.h"
#include "kernel/trace/read_dat_check.h"
#include "kernel/trace/read_dat_event.h"
#include "kernel/trace/read_dat_trial.h"
#include "kernel/trace/read_mark.h"

/* Exported by libtracecmd but not declared in its header; absent in some versions. */
extern const char *tracecmd_get_uname(struct tracecmd_input *handle) __attribute__((weak));
extern const char *tracecmd_get_trace_clock(struct tracecmd_input *handle) __attribute__((weak));

#define BUFFERS_MAX 1024

/* A CPU of a buffer and its next record. */
typedef struct lane {
    struct tracecmd_input *handle; /* borrowed from the reader's */
    int cpu;
    struct tep_record *record; /* NULL: at its end */
} lane;

typedef struct dat_reader {
    stn_catalog *catalog;
    struct tracecmd_input *handle;
    struct tracecmd_input **buffers; /* [buffer_count] instances; each is closed */
    size_t buffer_count;
    lane *lanes; /* [lane_count] */
    size_t lane_count;
    size_t lane_capacity;
    struct tep_record *lent; /* its event is in use until the next call */
    lane *marked;            /* its record's loss has been told */
    stn_dat_events events;
    stn_marks marks;
} dat_reader;

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory for a trace.dat");
}

/* ---- opening --------------------------------------------------------- */

static stn_status add_lanes(dat_reader *reader, struct tracecmd_input *handle, stn_err *err) {
    int cpus = tep_get_cpus(tracecmd_get_tep(handle));
    for (int cpu = 0; cpu < cpus && cpu < STN_NO_CPU; cpu++) {
        struct tep_record *record = tracecmd_read_cpu_first(handle, cpu);
        if (!record) {
            continue;
        }
        if (stn_grow(&reader->lanes, &reader->lane_capacity, reader->lane_count + 1,
                     sizeof *reader->lanes)) {
            tracecmd_free_record(record);
            return no_memory(err);
        }
        reader->lanes[reader->lane_count++] = (lane){handle, cpu, record};
    }
    return STN_OK;
}

static stn_status add_buffers(dat_reader *reader, stn_err *err) {
    int count = tracecmd_buffer_instances(reader->handle);
    stn_status status = add_lanes(reader, reader->handle, err);
    if (status || count <= 0) {
        return status;
    }
    if (count > BUFFERS_MAX) {
        return stn_err_set(err, STN_EFORMAT, "%d buffers; at most %d are read", count, BUFFERS_MAX);
    }
    reader->buffers = stn_calloc((size_t)count, sizeof(void *));
    if (!reader->buffers) {
        return no_memory(err);
    }
    for (int i = 0; i < count && !status; i++) {
        struct tracecmd_input *buffer = tracecmd_buffer_instance_handle(reader->handle, i);
        if (!buffer) {
            return stn_err_set(err, STN_EFORMAT, "buffer %d: libtracecmd cannot read it", i);
        }
        reader->buffers[reader->buffer_count++] = buffer;
        status = add_lanes(reader, buffer, err);
    }
    return status;
}

/* "[local] global counter": the chosen clock stands in brackets. */
static void copy_clock(stn_trace_meta *meta, const char *clocks) {
    const char *open = clocks ? strchr(clocks, '[') : NULL;
    const char *close = open ? strchr(open, ']') : NULL;
    if (close) {
        snprintf(meta->clock, sizeof meta->clock, "%.*s", (int)(close - open - 1), open + 1);
    } else if (clocks) {
        snprintf(meta->clock, sizeof meta->clock, "%.*s", (int)strcspn(clocks, " \n"), clocks);
    }
}

/* "Linux host 6.1.0 #1 … x86_64": host is the second word. */
static void copy_host(stn_trace_meta *meta, const char *uname) {
    const char *at = uname ? strchr(uname, ' ') : NULL;
    if (at) {
        at++;
        snprintf(meta->host, sizeof meta->host, "%.*s", (int)strcspn(at, " "), at);
    }
}

static bool is_x86_64(struct tep_handle *tep, const char *uname) {
    if (uname && strstr(uname, "x86_64")) {
        return true;
    }
    /* Older files do not say; only x86 has these events. */
    return !uname && tep_get_long_size(tep) == 8 &&
           (tep_find_event_by_name(tep, "exceptions", "page_fault_user") ||
            tep_find_event_by_name(tep, "irq_vectors", "local_timer_entry"));
}

static void dat_close(void *self) {
    dat_reader *reader = self;
    if (!reader) {
        return;
    }
    for (size_t i = 0; i < reader->lane_count; i++) {
        if (reader->lanes[i].record) {
            tracecmd_free_record(reader->lanes[i].record);
        }
    }
    if (reader->lent) {
        tracecmd_free_record(reader->lent);
    }
    for (size_t i = 0; i < reader->buffer_count; i++) {
        tracecmd_close(reader->buffers[i]);
    }
    if (reader->handle) {
        tracecmd_close(reader->handle);
    }
    stn_dat_events_fini(&reader->events);
    stn_marks_fini(&reader->marks);
    stn_free(reader->buffers);
    stn_free(reader->lanes);
    stn_free(reader);
}

static stn_status open_handle(dat_reader *reader, const char *path, stn_trace_meta *meta,
                              stn_err *err) {
    reader->handle = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
    if (!reader->handle) {
        return stn_err_set(err, STN_EFORMAT,
                           "libtracecmd cannot read it: cut short or damaged in its headers");
    }
    struct tep_handle *tep = tracecmd_get_tep(reader->handle);
    const char *uname = tracecmd_get_uname ? tracecmd_get_uname(reader->handle) : NULL;
    copy_host(meta, uname);
    copy_clock(meta, tracecmd_get_trace_clock ? tracecmd_get_trace_clock(reader->handle) : NULL);
    snprintf(meta->tracer, sizeof meta->tracer, "trace-cmd");
    int cpus = tep_get_cpus(tep);
    meta->cpu_count = cpus > 0 && cpus < STN_NO_CPU ? (uint32_t)cpus : 0;
    reader->events.catalog = reader->catalog;
    reader->events.tep = tep;
    reader->events.x86_64 = is_x86_64(tep, uname);
    return add_buffers(reader, err);
}

static stn_status dat_open(void **self, const char *path, stn_catalog *catalog,
                           stn_trace_meta *meta, stn_err *err) {
    stn_status status = stn_dat_check(path, err);
    if (!status) {
        tracecmd_set_loglevel(TEP_LOG_NONE);
        tep_set_loglevel(TEP_LOG_NONE);
        status = stn_dat_trial(path, err);
    }
    if (status) {
        return status;
    }
    dat_reader *reader = stn_calloc(1, sizeof *reader);
    if (!reader) {
        return no_memory(err);
    }
    reader->catalog = catalog;
    status = open_handle(reader, path, meta, err);
    if (status) {
        dat_close(reader);
        return status;
    }
    *self = reader;
    return STN_OK;
}

/* ---- reading --------------------------------------------------------- */

static lane *earliest(dat_reader *reader) {
    lane *first = NULL;
    for (size_t i = 0; i < reader->lane_count; i++) {
        lane *l = &reader->lanes[i];
        if (l->record && (!first || l->record->ts < first->record->ts)) {
            first = l;
        }
    }
    return first;
}

static stn_status dat_next(void *self, stn_event *event, stn_err *err) {
    dat_reader *reader = self;
    if (reader->lent) {
        tracecmd_free_record(reader->lent);
        reader->lent = NULL;
    }
    lane *l = earliest(reader);
    if (!l) {
        return STN_END;
    }
    struct tep_record *record = l->record;
    stn_status status = STN_OK;
    if (record->missed_events && reader->marked != l) {
        uint64_t count = record->missed_events > 0 ? (uint64_t)record->missed_events : 0;
        reader->marked = l;
        status = stn_marks_add(&reader->marks, (uint16_t)l->cpu, count, err);
        return status ? status
                      : stn_marks_take(&reader->marks, reader->catalog, record->ts, event, err);
    }
    reader->marked = NULL;
    reader->lent = record;
    l->record = tracecmd_read_data(l->handle, l->cpu);
    *event = (stn_event){
        .time_ns = record->ts, .tid = STN_NO_TID, .comm = STN_NO_ID, .cpu = (uint16_t)l->cpu};
    status = stn_dat_decode(&reader->events, record, event, err);
    return status ? status : stn_marks_saw(&reader->marks, event->cpu, event->time_ns, err);
}

static int dat_probe(const stn_probe *probe) {
    return !probe->is_folder && probe->head_size >= STN_DAT_MAGIC_SIZE &&
                   memcmp(probe->head, STN_DAT_MAGIC, STN_DAT_MAGIC_SIZE) == 0
               ? 100
               : 0;
}

const stn_read_ops stn_read_trace_dat = {dat_probe, dat_open, dat_next, dat_close};
