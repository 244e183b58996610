/* Events as Chrome trace JSON, docs/formats/json.md. What lasts is one item with a beginning and
 * a duration ("X"), never two halves, so a sample keeps pairs together by construction:
 *
 *   process 1  CPUs        a row per CPU: which thread runs
 *   process 2  Interrupts  a row per CPU: handlers, nested
 *   process 3  Threads     a row per thread: system calls; all other events as instants
 *
 * Memory is bounded by what is open at a time: one slice per CPU, handlers by nesting, one
 * system call per thread. */
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/map.h"
#include "core/data/outfile.h"
#include "kernel/trace/canon.h"
#include "kernel/trace/format.h"
#include "kernel/trace/write_line.h"
#include "kernel/trace/write_sample.h"

enum { PID_CPUS = 1, PID_INTERRUPTS = 2, PID_THREADS = 3 };

#define DEPTH_MAX  8  /* handlers open on a CPU */
#define FIELDS_MAX 64 /* of an entry whose names are remembered */

typedef enum event_role {
    ROLE_INSTANT,
    ROLE_SWITCH,
    ROLE_ENTER,
    ROLE_LEAVE,
    ROLE_OPEN,
    ROLE_CLOSE
} event_role;

/* Handlers: what opens and closes them, and the field that tells one from another. */
typedef struct handler_row {
    const char *name;
    const char *open;
    const char *close;
    const char *label;
} handler_row;

static const handler_row handlers[] = {
    {"irq", "irq_handler_entry", "irq_handler_exit", "name"},
    {"softirq", "softirq_entry", "softirq_exit", "vec"},
    {"tasklet", "tasklet_entry", "tasklet_exit", NULL},
    {"hrtimer", "hrtimer_expire_entry", "hrtimer_expire_exit", "function"},
    {"timer", "timer_expire_entry", "timer_expire_exit", "function"},
    {"local timer", "local_timer_entry", "local_timer_exit", NULL},
    {"reschedule", "reschedule_entry", "reschedule_exit", NULL},
    {"call function", "call_function_entry", "call_function_exit", NULL},
    {"call function single", "call_function_single_entry", "call_function_single_exit", NULL},
    {"irq work", "irq_work_entry", "irq_work_exit", NULL},
};
#define HANDLER_COUNT (sizeof handlers / sizeof *handlers)

/* Something that has begun. */
typedef struct slice {
    bool open;
    uint64_t begin_ns;
    uint32_t type;    /* of the event that began it */
    uint32_t handler; /* row of handlers */
    int32_t tid;
    stn_line name; /* as JSON */
    stn_line args; /* as JSON, without braces */
    uint32_t fields[FIELDS_MAX];
    uint32_t field_count;
} slice;

typedef struct cpu_rows {
    slice running;
    slice stack[DEPTH_MAX];
    uint32_t depth;
} cpu_rows;

typedef struct type_role {
    bool known;
    event_role role;
    uint32_t handler;
} type_role;

typedef struct json_writer {
    const stn_catalog *catalog;
    stn_outfile *file;
    stn_sample *sample; /* NULL: everything */
    stn_written *written;
    stn_line line;
    uint64_t begin_ns, last_ns;
    uint64_t events, items;
    bool started;
    cpu_rows **cpus; /* [cpu_count] NULL where a CPU was not seen */
    size_t cpu_count, cpu_capacity;
    stn_map calls;  /* tid to index of slices + 1 */
    slice **slices; /* [slice_count] system calls, one per thread */
    size_t slice_count, slice_capacity;
    stn_map comms; /* tid to string id + 1 */
    type_role *roles;
    size_t role_count, role_capacity;
    uint32_t next_comm, next_pid;
} json_writer;

/* ---- items ----------------------------------------------------------- */

static void put_time(stn_line *line, uint64_t ns) {
    stn_line_u64(line, ns / 1000);
    stn_line_char(line, '.');
    stn_line_padded(line, ns % 1000, 3);
}

static void item_begin(json_writer *writer, char phase, int pid, int64_t tid, uint64_t at_ns) {
    stn_line *line = &writer->line;
    stn_line_clear(line);
    stn_line_string(line, ",\n{\"ph\":\"");
    stn_line_char(line, phase);
    stn_line_string(line, "\",\"pid\":");
    stn_line_i64(line, pid);
    stn_line_string(line, ",\"tid\":");
    stn_line_i64(line, tid);
    stn_line_string(line, ",\"ts\":");
    put_time(line, at_ns - writer->begin_ns);
}

static stn_status line_write(json_writer *writer, stn_err *err) {
    if (writer->line.failed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a line");
    }
    return stn_outfile_write(writer->file, writer->line.bytes, writer->line.size, err);
}

/* @param events  how many of them the item tells of */
static stn_status item_end(json_writer *writer, uint32_t events, stn_err *err) {
    stn_line_char(&writer->line, '}');
    writer->items++;
    if (!writer->sample) {
        return line_write(writer, err);
    }
    if (writer->line.failed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a line");
    }
    return stn_sample_keep(writer->sample, writer->line.bytes, writer->line.size, events, err);
}

static bool item_wanted(json_writer *writer) {
    return !writer->sample || stn_sample_admit(writer->sample);
}

static bool in_fields(const slice *begun, uint32_t name) {
    for (uint32_t i = 0; begun && i < begun->field_count; i++) {
        if (begun->fields[i] == name) {
            return true;
        }
    }
    return false;
}

/* "name":value pairs; a name that @p begun has used already gets "exit_" before it. */
static void put_args(json_writer *writer, stn_line *out, const stn_event *event,
                     const slice *begun) {
    bool comma = begun && begun->args.size;
    for (uint32_t i = 0; i < event->field_count; i++) {
        const stn_field *field = &event->fields[i];
        const char *name = stn_catalog_text(writer->catalog, field->name);
        if (comma) {
            stn_line_char(out, ',');
        }
        comma = true;
        size_t at = out->size;
        stn_line_json(out, name);
        if (in_fields(begun, field->name)) {
            out->size = at;
            stn_line_string(out, "\"exit_");
            at = out->size;
            stn_line_json(out, name);
            if (!out->failed) {
                memmove(out->bytes + at, out->bytes + at + 1, out->size - at - 1);
                out->size--;
            }
        }
        stn_line_char(out, ':');
        stn_line_json_value(out, field);
    }
}

/* ---- slices ---------------------------------------------------------- */

static stn_status slice_begin(json_writer *writer, slice *s, const stn_event *event, stn_err *err) {
    s->open = true;
    s->begin_ns = event->time_ns;
    s->type = event->type;
    s->tid = event->tid;
    s->field_count = 0;
    stn_line_clear(&s->args);
    put_args(writer, &s->args, event, NULL);
    for (uint32_t i = 0; i < event->field_count && s->field_count < FIELDS_MAX; i++) {
        s->fields[s->field_count++] = event->fields[i].name;
    }
    return s->args.failed ? stn_err_set(err, STN_ENOMEM, "out of memory for a slice") : STN_OK;
}

/* @param event  what ended it, NULL if the trace, or something around it, did */
static stn_status slice_end(json_writer *writer, slice *s, int pid, int64_t tid,
                            const char *category, const stn_event *event, stn_err *err) {
    s->open = false;
    if (!item_wanted(writer)) {
        return STN_OK;
    }
    stn_line *line = &writer->line;
    item_begin(writer, 'X', pid, tid, s->begin_ns);
    stn_line_string(line, ",\"dur\":");
    put_time(line, (event ? event->time_ns : writer->last_ns) - s->begin_ns);
    stn_line_string(line, ",\"cat\":\"");
    stn_line_string(line, category);
    stn_line_string(line, "\",\"name\":");
    stn_line_bytes(line, s->name.bytes, s->name.size);
    stn_line_string(line, ",\"args\":{");
    stn_line_bytes(line, s->args.bytes, s->args.size);
    if (event) {
        put_args(writer, line, event, s);
    } else {
        stn_line_string(line, s->args.size ? ",\"unfinished\":true" : "\"unfinished\":true");
    }
    stn_line_char(line, '}');
    /* A switch belongs to the thread that it takes away, so that none counts twice. */
    uint32_t begun = pid == PID_CPUS ? 0 : 1;
    return item_end(writer, begun + (event ? 1 : 0), err);
}

static void slice_free(slice *s) {
    stn_line_fini(&s->name);
    stn_line_fini(&s->args);
}

static void put_args_with_cpu(json_writer *writer, stn_line *line, const stn_event *event) {
    if (event->cpu != STN_NO_CPU) {
        stn_line_string(line, "\"(cpu)\":");
        stn_line_u64(line, event->cpu);
        stn_line_string(line, event->field_count ? "," : "");
    }
    put_args(writer, line, event, NULL);
}

static stn_status put_instant(json_writer *writer, const stn_event *event, stn_err *err) {
    if (!item_wanted(writer)) {
        return STN_OK;
    }
    stn_line *line = &writer->line;
    bool threaded = event->tid != STN_NO_TID;
    int64_t row = threaded ? event->tid : event->cpu == STN_NO_CPU ? 0 : event->cpu;
    item_begin(writer, 'i', threaded ? PID_THREADS : PID_CPUS, row, event->time_ns);
    stn_line_string(line, ",\"s\":\"t\",\"cat\":\"event\",\"name\":");
    stn_line_json(line, stn_catalog_type_at(writer->catalog, event->type)->name);
    stn_line_string(line, ",\"args\":{");
    put_args_with_cpu(writer, line, event);
    stn_line_char(line, '}');
    return item_end(writer, 1, err);
}

/* ---- rows of CPUs ---------------------------------------------------- */

static stn_status cpu_of(json_writer *writer, uint16_t cpu, cpu_rows **out, stn_err *err) {
    if (cpu >= writer->cpu_count) {
        size_t need = (size_t)cpu + 1;
        if (stn_grow(&writer->cpus, &writer->cpu_capacity, need, sizeof *writer->cpus)) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for a CPU");
        }
        memset(writer->cpus + writer->cpu_count, 0,
               (need - writer->cpu_count) * sizeof *writer->cpus);
        writer->cpu_count = need;
    }
    if (!writer->cpus[cpu]) {
        writer->cpus[cpu] = stn_calloc(1, sizeof **writer->cpus);
        if (!writer->cpus[cpu]) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for a CPU");
        }
    }
    *out = writer->cpus[cpu];
    return STN_OK;
}

static const stn_field *field_of(json_writer *writer, const stn_event *event, const char *name,
                                 uint32_t *id) {
    if (*id == STN_NO_ID) {
        *id = stn_catalog_find(writer->catalog, name);
    }
    return *id == STN_NO_ID ? NULL : stn_event_field(event, *id);
}

static stn_status running_begin(json_writer *writer, slice *s, const stn_event *event,
                                stn_err *err) {
    const stn_field *pid = field_of(writer, event, "next_pid", &writer->next_pid);
    const stn_field *comm = field_of(writer, event, "next_comm", &writer->next_comm);
    int64_t tid = stn_field_int(pid, -1);
    const uint64_t *known = stn_map_get(&writer->comms, (uint64_t)tid);
    const char *name = tid == 0                              ? "idle"
                       : comm && comm->kind == STN_FIELD_STR ? comm->v.s
                       : known ? stn_catalog_text(writer->catalog, (uint32_t)*known - 1)
                               : "unknown";
    s->open = true;
    s->begin_ns = event->time_ns;
    s->tid = (int32_t)tid;
    s->field_count = 0;
    stn_line_clear(&s->name);
    stn_line_json(&s->name, name);
    stn_line_clear(&s->args);
    stn_line_string(&s->args, "\"tid\":");
    stn_line_i64(&s->args, tid);
    bool failed = s->name.failed || s->args.failed;
    return failed ? stn_err_set(err, STN_ENOMEM, "out of memory for a slice") : STN_OK;
}

static stn_status on_switch(json_writer *writer, const stn_event *event, stn_err *err) {
    cpu_rows *cpu;
    stn_status status = cpu_of(writer, event->cpu, &cpu, err);
    if (!status && cpu->running.open) {
        status = slice_end(writer, &cpu->running, PID_CPUS, event->cpu, "sched", event, err);
    } else if (!status) {
        status = put_instant(writer, event, err); /* what ran before it is not known */
    }
    return status ? status : running_begin(writer, &cpu->running, event, err);
}

static void handler_name(json_writer *writer, slice *s, const stn_event *event) {
    const handler_row *row = &handlers[s->handler];
    uint32_t id = row->label ? stn_catalog_find(writer->catalog, row->label) : STN_NO_ID;
    const stn_field *label = id == STN_NO_ID ? NULL : stn_event_field(event, id);
    const char *softirq =
        label && s->handler == 1 ? stn_softirq_text(stn_field_int(label, -1)) : NULL;
    char name[256];
    if (label && label->kind == STN_FIELD_STR) {
        snprintf(name, sizeof name, "%s %s", row->name, label->v.s);
    } else {
        snprintf(name, sizeof name, softirq ? "%s %s" : "%s", row->name, softirq);
    }
    stn_line_clear(&s->name);
    stn_line_json(&s->name, name);
}

static stn_status on_open(json_writer *writer, const stn_event *event, uint32_t handler,
                          stn_err *err) {
    cpu_rows *cpu;
    stn_status status = cpu_of(writer, event->cpu, &cpu, err);
    if (status || cpu->depth == DEPTH_MAX) {
        return status ? status : put_instant(writer, event, err);
    }
    slice *s = &cpu->stack[cpu->depth++];
    s->handler = handler;
    handler_name(writer, s, event);
    status = slice_begin(writer, s, event, err);
    return !status && s->name.failed ? stn_err_set(err, STN_ENOMEM, "out of memory") : status;
}

static stn_status on_close(json_writer *writer, const stn_event *event, uint32_t handler,
                           stn_err *err) {
    cpu_rows *cpu;
    stn_status status = cpu_of(writer, event->cpu, &cpu, err);
    if (status) {
        return status;
    }
    uint32_t at = cpu->depth;
    while (at > 0 && cpu->stack[at - 1].handler != handler) {
        at--;
    }
    if (at == 0) {
        return put_instant(writer, event, err); /* it began before the trace */
    }
    while (!status && cpu->depth > at) {
        slice *inner = &cpu->stack[--cpu->depth]; /* its end was lost */
        status = slice_end(writer, inner, PID_INTERRUPTS, event->cpu, "irq", NULL, err);
    }
    if (status) {
        return status;
    }
    slice *s = &cpu->stack[--cpu->depth];
    return slice_end(writer, s, PID_INTERRUPTS, event->cpu, "irq", event, err);
}

/* ---- rows of threads ------------------------------------------------- */

static stn_status call_of(json_writer *writer, int32_t tid, slice **out, stn_err *err) {
    uint64_t *index = stn_map_put(&writer->calls, (uint64_t)(int64_t)tid, NULL);
    if (index && *index == 0) {
        slice *made = stn_calloc(1, sizeof *made);
        if (!made || stn_grow(&writer->slices, &writer->slice_capacity, writer->slice_count + 1,
                              sizeof *writer->slices)) {
            stn_free(made);
            return stn_err_set(err, STN_ENOMEM, "out of memory for a thread");
        }
        writer->slices[writer->slice_count++] = made;
        *index = writer->slice_count;
    }
    if (!index) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a thread");
    }
    *out = writer->slices[*index - 1];
    return STN_OK;
}

static stn_status on_enter(json_writer *writer, const stn_event *event, stn_err *err) {
    slice *s;
    stn_status status = call_of(writer, event->tid, &s, err);
    if (!status && s->open) { /* its exit was lost */
        status = slice_end(writer, s, PID_THREADS, s->tid, "syscall", NULL, err);
    }
    if (status) {
        return status;
    }
    const stn_type *type = stn_catalog_type_at(writer->catalog, event->type);
    stn_line_clear(&s->name);
    stn_line_json(&s->name, stn_catalog_text(writer->catalog, type->syscall_id));
    status = slice_begin(writer, s, event, err);
    return !status && s->name.failed ? stn_err_set(err, STN_ENOMEM, "out of memory") : status;
}

static stn_status on_leave(json_writer *writer, const stn_event *event, stn_err *err) {
    slice *s;
    stn_status status = call_of(writer, event->tid, &s, err);
    if (status) {
        return status;
    }
    uint32_t call = stn_catalog_type_at(writer->catalog, event->type)->syscall_id;
    if (!s->open || stn_catalog_type_at(writer->catalog, s->type)->syscall_id != call) {
        return put_instant(writer, event, err);
    }
    return slice_end(writer, s, PID_THREADS, event->tid, "syscall", event, err);
}

/* ---- events ---------------------------------------------------------- */

static void describe(const json_writer *writer, uint32_t type, type_role *out) {
    const stn_type *t = stn_catalog_type_at(writer->catalog, type);
    out->known = true;
    out->role = strcmp(t->name, "sched_switch") == 0 ? ROLE_SWITCH
                : t->syscall_enter                   ? ROLE_ENTER
                : t->syscall_exit                    ? ROLE_LEAVE
                                                     : ROLE_INSTANT;
    for (uint32_t i = 0; i < HANDLER_COUNT; i++) {
        bool opens = strcmp(t->name, handlers[i].open) == 0;
        if (opens || strcmp(t->name, handlers[i].close) == 0) {
            out->role = opens ? ROLE_OPEN : ROLE_CLOSE;
            out->handler = i;
        }
    }
}

static stn_status role_of(json_writer *writer, uint32_t type, type_role *out, stn_err *err) {
    if (type >= writer->role_count) {
        size_t need = (size_t)type + 1;
        if (stn_grow(&writer->roles, &writer->role_capacity, need, sizeof *writer->roles)) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for event types");
        }
        memset(writer->roles + writer->role_count, 0,
               (need - writer->role_count) * sizeof *writer->roles);
        writer->role_count = need;
    }
    if (!writer->roles[type].known) {
        describe(writer, type, &writer->roles[type]);
    }
    *out = writer->roles[type];
    return STN_OK;
}

/* Always kept, whatever the sample: losses are never hidden. */
static stn_status put_mark(json_writer *writer, const stn_event *event, stn_err *err) {
    stn_line *line = &writer->line;
    int64_t row = event->cpu == STN_NO_CPU ? 0 : event->cpu;
    item_begin(writer, 'i', PID_CPUS, row, event->time_ns);
    stn_line_string(line, ",\"s\":\"p\",\"cat\":\"lost\",\"name\":\"lost events\",\"args\":{");
    put_args_with_cpu(writer, line, event);
    stn_line_string(line, "}}");
    return line_write(writer, err);
}

static stn_status learn_comm(json_writer *writer, const stn_event *event, stn_err *err) {
    if (event->tid == STN_NO_TID) {
        return STN_OK;
    }
    uint64_t *comm = stn_map_put(&writer->comms, (uint64_t)(int64_t)event->tid, NULL);
    if (!comm) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the names of threads");
    }
    if (event->comm != STN_NO_ID) {
        *comm = (uint64_t)event->comm + 1;
    }
    return STN_OK;
}

static stn_status json_write(void *self, const stn_event *event, stn_err *err) {
    json_writer *writer = self;
    if (!writer->started) {
        writer->started = true;
        writer->begin_ns = event->time_ns;
    }
    writer->last_ns = event->time_ns;
    if (event->type == STN_TYPE_LOST) {
        return put_mark(writer, event, err);
    }
    writer->events++;
    type_role role = {0};
    stn_status status = role_of(writer, event->type, &role, err);
    if (!status) {
        status = learn_comm(writer, event, err);
    }
    if (status) {
        return status;
    }
    bool on_cpu = event->cpu != STN_NO_CPU, on_thread = event->tid != STN_NO_TID;
    if (role.role == ROLE_SWITCH && on_cpu) {
        return on_switch(writer, event, err);
    }
    if (role.role == ROLE_OPEN && on_cpu) {
        return on_open(writer, event, role.handler, err);
    }
    if (role.role == ROLE_CLOSE && on_cpu) {
        return on_close(writer, event, role.handler, err);
    }
    if (role.role == ROLE_ENTER && on_thread) {
        return on_enter(writer, event, err);
    }
    if (role.role == ROLE_LEAVE && on_thread) {
        return on_leave(writer, event, err);
    }
    return put_instant(writer, event, err);
}

/* ---- beginning and end ----------------------------------------------- */

static void json_abort(void *self) {
    json_writer *writer = self;
    stn_outfile_abort(writer->file);
    stn_sample_close(writer->sample);
    for (size_t c = 0; c < writer->cpu_count; c++) {
        if (writer->cpus[c]) {
            slice_free(&writer->cpus[c]->running);
            for (uint32_t d = 0; d < DEPTH_MAX; d++) {
                slice_free(&writer->cpus[c]->stack[d]);
            }
            stn_free(writer->cpus[c]);
        }
    }
    for (size_t i = 0; i < writer->slice_count; i++) {
        slice_free(writer->slices[i]);
        stn_free(writer->slices[i]);
    }
    stn_free(writer->cpus);
    stn_free(writer->slices);
    stn_free(writer->roles);
    stn_map_fini(&writer->calls);
    stn_map_fini(&writer->comms);
    stn_line_fini(&writer->line);
    stn_free(writer);
}

static stn_status json_open(void **self, const char *path, const stn_catalog *catalog,
                            const stn_trace_meta *meta, const stn_writer_options *options,
                            stn_err *err) {
    static const char head[] =
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"CPUs\"}},\n"
        "{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":\"Interrupts\"}},\n"
        "{\"ph\":\"M\",\"pid\":3,\"name\":\"process_name\",\"args\":{\"name\":\"Threads\"}}";
    (void)meta;
    json_writer *writer = stn_calloc(1, sizeof *writer);
    if (!writer) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    writer->catalog = catalog;
    writer->written = options->written;
    writer->next_comm = STN_NO_ID;
    writer->next_pid = STN_NO_ID;
    stn_status status = stn_outfile_open(&writer->file, path, err);
    if (!status && options->max_events) {
        status = stn_sample_open(&writer->sample, options->max_events, err);
    }
    if (!status) {
        status = stn_outfile_write(writer->file, head, sizeof head - 1, err);
    }
    if (status) {
        json_abort(writer);
        return status;
    }
    *self = writer;
    return STN_OK;
}

static stn_status close_slices(json_writer *writer, stn_err *err) {
    stn_status status = STN_OK;
    for (size_t c = 0; c < writer->cpu_count && !status; c++) {
        cpu_rows *cpu = writer->cpus[c];
        while (cpu && cpu->depth && !status) {
            slice *s = &cpu->stack[--cpu->depth];
            status = slice_end(writer, s, PID_INTERRUPTS, (int64_t)c, "irq", NULL, err);
        }
        if (cpu && cpu->running.open && !status) {
            status = slice_end(writer, &cpu->running, PID_CPUS, (int64_t)c, "sched", NULL, err);
        }
    }
    for (size_t i = 0; i < writer->slice_count && !status; i++) {
        slice *s = writer->slices[i];
        if (s->open) {
            status = slice_end(writer, s, PID_THREADS, s->tid, "syscall", NULL, err);
        }
    }
    return status;
}

static stn_status put_row_name(json_writer *writer, int pid, int64_t tid, const char *name,
                               stn_err *err) {
    stn_line *line = &writer->line;
    stn_line_clear(line);
    stn_line_string(line, ",\n{\"ph\":\"M\",\"pid\":");
    stn_line_i64(line, pid);
    stn_line_string(line, ",\"tid\":");
    stn_line_i64(line, tid);
    stn_line_string(line, ",\"name\":\"thread_name\",\"args\":{\"name\":");
    stn_line_json(line, name);
    stn_line_string(line, "}}");
    return line_write(writer, err);
}

static stn_status put_row_names(json_writer *writer, stn_err *err) {
    stn_status status = STN_OK;
    for (size_t c = 0; c < writer->cpu_count && !status; c++) {
        char name[32];
        snprintf(name, sizeof name, "CPU %zu", c);
        if (writer->cpus[c]) {
            status = put_row_name(writer, PID_CPUS, (int64_t)c, name, err);
        }
        if (writer->cpus[c] && !status) {
            status = put_row_name(writer, PID_INTERRUPTS, (int64_t)c, name, err);
        }
    }
    size_t at = 0;
    uint64_t tid, comm;
    while (!status && stn_map_next(&writer->comms, &at, &tid, &comm)) {
        const char *name = comm ? stn_catalog_text(writer->catalog, (uint32_t)comm - 1) : "unknown";
        status = put_row_name(writer, PID_THREADS, (int64_t)tid, tid ? name : "idle", err);
    }
    return status;
}

static stn_status put_tail(json_writer *writer, stn_err *err) {
    uint64_t kept = writer->sample ? stn_sample_count(writer->sample) : writer->items;
    uint64_t seen = writer->sample ? stn_sample_seen(writer->sample) : writer->items;
    return stn_outfile_printf(
        writer->file, err,
        "\n],\"otherData\":{\"writer\":\"standin %s\",\"begin_ns\":\"%llu\",\"events\":%llu,"
        "\"items\":%llu,\"items_of\":%llu}}\n",
        stn_version(), (unsigned long long)writer->begin_ns, (unsigned long long)writer->events,
        (unsigned long long)kept, (unsigned long long)seen);
}

static void tell_written(const json_writer *writer) {
    const stn_sample *sample = writer->sample;
    *writer->written = (stn_written){.events = sample ? stn_sample_events(sample) : writer->events,
                                     .items = sample ? stn_sample_count(sample) : writer->items,
                                     .items_of = sample ? stn_sample_seen(sample) : writer->items};
}

static stn_status json_commit(void *self, stn_err *err) {
    json_writer *writer = self;
    stn_status status = close_slices(writer, err);
    if (!status && writer->sample) {
        status = stn_sample_drain(writer->sample, writer->file, err);
    }
    if (!status) {
        status = put_row_names(writer, err);
    }
    if (!status) {
        status = put_tail(writer, err);
    }
    if (!status && writer->written) {
        tell_written(writer);
    }
    if (!status) {
        status = stn_outfile_commit(writer->file, err);
        writer->file = NULL;
    }
    json_abort(writer);
    return status;
}

const stn_write_ops stn_write_json = {json_open, json_write, json_commit, json_abort};
