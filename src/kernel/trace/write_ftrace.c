/* Events as ftrace prints them, docs/formats/ftrace.md: a line per event that Perfetto's systrace
 * importer, trace-cmd-style parsers and our own reader take. Events of the table in
 * write_slots.c get the kernel's own layout when all of it is known; whatever is left over, and
 * all other events, stand as name=value. */
#include <stdio.h>

#include "core/base/alloc.h"
#include "kernel/trace/canon.h"
#include "kernel/trace/format.h"
#include "kernel/trace/read_text.h"
#include "kernel/trace/write_line.h"
#include "kernel/trace/write_slots.h"

#define TASK_WIDTH 16
#define PID_WIDTH  8 /* with the hyphen */

static const char header[] = "# tracer: nop\n"
                             "#\n"
                             "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
                             "#              | |         |   |||||     |         |\n";

typedef struct ftrace_writer {
    const stn_catalog *catalog;
    stn_line_file out;
    stn_filler filler;
    uint32_t count_id, begin_id; /* of lost marks */
} ftrace_writer;

/* ---- values ---------------------------------------------------------- */

/* A name as the kernel prints it; what would break the line becomes a question mark. */
static void put_raw(stn_line *line, const char *string) {
    size_t begin = line->size;
    stn_line_string(line, string);
    for (size_t i = begin; i < line->size; i++) {
        unsigned char c = (unsigned char)line->bytes[i];
        if (c < 0x20 || c == 0x7f) {
            line->bytes[i] = '?';
        }
    }
}

/* Would a reader that looks for " name=" or for a number see more in it than text? */
static bool needs_quotes(const char *s) {
    stn_field number;
    if (!*s || strchr(" \"[", *s) || stn_text_number(s, strlen(s), &number)) {
        return true;
    }
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f || *s == '=' || *s == '"' || *s == '\\') {
            return true;
        }
    }
    return strchr(" [(,])>", s[-1]) != NULL;
}

/* A field's name, with what a reader of names would not take as part of one replaced. */
static void put_name(stn_line *line, const char *name) {
    size_t begin = line->size;
    stn_line_string(line, name);
    for (size_t i = begin; i < line->size; i++) {
        char c = line->bytes[i];
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
        line->bytes[i] = plain ? c : '_';
    }
}

static void put_string(stn_line *line, const char *s) {
    static const char hex[] = "0123456789abcdef";
    if (!needs_quotes(s)) {
        stn_line_string(line, s);
        return;
    }
    stn_line_char(line, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == 0x7f) {
            char out[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
            stn_line_bytes(line, out, sizeof out);
        } else {
            if (c == '"' || c == '\\') {
                stn_line_char(line, '\\');
            }
            stn_line_char(line, *s);
        }
    }
    stn_line_char(line, '"');
}

static void put_real(stn_line *line, double value) {
    size_t begin = line->size;
    stn_line_real(line, value);
    for (size_t i = begin; i < line->size; i++) {
        if (strchr(".einf", line->bytes[i])) {
            return;
        }
    }
    stn_line_string(line, ".0");
}

static void put_value(stn_line *line, const stn_field *field) {
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        stn_line_i64(line, field->v.i);
        break;
    case STN_FIELD_UINT:
        stn_line_u64(line, field->v.u);
        break;
    case STN_FIELD_HEX:
        stn_line_hex(line, field->v.u);
        break;
    case STN_FIELD_REAL:
        put_real(line, field->v.f);
        break;
    case STN_FIELD_STR:
        put_string(line, field->v.s);
        break;
    case STN_FIELD_SEQ:
        stn_line_seq(line, field->v.seq, ',');
        break;
    }
}

/* ---- the kernel's own layouts ---------------------------------------- */

static bool is_integer(const stn_field *field) {
    return field->kind == STN_FIELD_INT || field->kind == STN_FIELD_UINT ||
           field->kind == STN_FIELD_HEX;
}

/* One word, so that the parts between which it stands remain in sight. */
static bool is_word(const char *s) {
    return *s && !strpbrk(s, " \t\n\r[]()");
}

/* Can the slot's style show this value so that it reads back the same? */
static bool slot_fits(const stn_slot *slot, const stn_field *value) {
    int64_t number = stn_field_int(value, -1);
    if (slot->style == STN_SLOT_TEXT) {
        bool word = strcmp(slot->name, "rwbs") == 0;
        return value->kind == STN_FIELD_STR && (!word || is_word(value->v.s));
    }
    if (!is_integer(value)) {
        return false;
    }
    switch (slot->style) {
    case STN_SLOT_DEV:
        return number >= 0 && number <= UINT32_MAX;
    case STN_SLOT_VEC:
        return stn_softirq_text(number) != NULL;
    case STN_SLOT_HANDLED:
        return number == 0 || number == 1;
    case STN_SLOT_CPU:
        return number >= 0;
    case STN_SLOT_INT:
    case STN_SLOT_TEXT:
    case STN_SLOT_STATE:
        break;
    }
    return true;
}

/* A positional layout ("8,0 WS 4096 () …") has no place for further fields. */
static bool layout_fits(const stn_slotted *seen, const stn_event *event) {
    bool positional = seen->whole && *seen->row->slots[0].before == '\0';
    if (positional && (uint32_t)__builtin_popcountll(seen->used) != event->field_count) {
        return false;
    }
    for (uint32_t s = 0; seen->whole && s < seen->row->count; s++) {
        if (!slot_fits(&seen->row->slots[s], &seen->values[s])) {
            return false;
        }
    }
    return seen->whole;
}

static void put_state(stn_line *line, int64_t state) {
    char letters[64];
    const char *text = stn_task_state_text(state, letters, sizeof letters);
    if (stn_task_state_parse(text, strlen(text)) == state) {
        stn_line_string(line, text);
    } else {
        stn_line_i64(line, state);
    }
}

static void put_slot(stn_line *line, const stn_slot *slot, const stn_field *value) {
    int64_t number = slot->style == STN_SLOT_TEXT ? 0 : stn_field_int(value, 0);
    stn_line_string(line, slot->before);
    switch (slot->style) {
    case STN_SLOT_INT:
        put_value(line, &(stn_field){.kind = value->kind == STN_FIELD_INT ? STN_FIELD_INT
                                                                          : STN_FIELD_UINT,
                                     .v.u = value->v.u});
        break;
    case STN_SLOT_CPU:
        stn_line_padded(line, (uint64_t)number, 3);
        break;
    case STN_SLOT_TEXT:
        put_raw(line, value->v.s);
        break;
    case STN_SLOT_STATE:
        put_state(line, number);
        break;
    case STN_SLOT_VEC:
        stn_line_i64(line, number);
        stn_line_string(line, " [action=");
        stn_line_string(line, stn_softirq_text(number));
        stn_line_char(line, ']');
        break;
    case STN_SLOT_HANDLED:
        stn_line_string(line, number ? "handled" : "unhandled");
        break;
    case STN_SLOT_DEV:
        stn_line_i64(line, number >> 20);
        stn_line_char(line, ',');
        stn_line_i64(line, number & 0xfffff);
        break;
    }
}

/* ---- a line ---------------------------------------------------------- */

static void put_task(ftrace_writer *writer, const stn_event *event) {
    stn_line *line = &writer->out.line;
    const char *comm = event->comm != STN_NO_ID ? stn_catalog_text(writer->catalog, event->comm)
                       : event->tid == 0        ? "<idle>"
                                                : "<...>";
    size_t size = strlen(comm);
    stn_line_fill(line, size < TASK_WIDTH ? TASK_WIDTH - size : 0);
    put_raw(line, comm);
    size_t begin = line->size;
    stn_line_char(line, '-');
    stn_line_i64(line, event->tid == STN_NO_TID ? 0 : event->tid); /* "<...>-0": not known */
    stn_line_fill(line, begin + PID_WIDTH);
}

static void put_cpu(stn_line *line, uint16_t cpu) {
    if (cpu == STN_NO_CPU) {
        stn_line_string(line, "???");
    } else {
        stn_line_padded(line, cpu, 3);
    }
}

static void put_payload(ftrace_writer *writer, const stn_event *event, const stn_slotted *seen) {
    stn_line *line = &writer->out.line;
    uint64_t used = 0;
    if (layout_fits(seen, event)) {
        stn_line_char(line, ' ');
        for (uint32_t s = 0; s < seen->row->count; s++) {
            put_slot(line, &seen->row->slots[s], &seen->values[s]);
        }
        stn_line_string(line, seen->row->after);
        used = seen->used;
    }
    for (uint32_t i = 0; i < event->field_count; i++) {
        if (i < 64 && (used >> i & 1)) {
            continue;
        }
        stn_line_char(line, ' ');
        put_name(line, stn_catalog_text(writer->catalog, event->fields[i].name));
        stn_line_char(line, '=');
        put_value(line, &event->fields[i]);
    }
    stn_line_char(line, '\n');
}

static void put_event(ftrace_writer *writer, const stn_event *event, const stn_slotted *seen) {
    stn_line *line = &writer->out.line;
    put_task(writer, event);
    stn_line_string(line, " [");
    put_cpu(line, event->cpu);
    stn_line_string(line, "] ..... ");
    stn_line_seconds(line, event->time_ns);
    stn_line_string(line, ": ");
    put_raw(line, stn_catalog_type_at(writer->catalog, event->type)->name);
    stn_line_char(line, ':');
    put_payload(writer, event, seen);
}

/* ---- the writer ------------------------------------------------------ */

static const stn_field *mark_field(const stn_event *event, const stn_catalog *catalog,
                                   const char *name, uint32_t *id) {
    if (*id == STN_NO_ID) {
        *id = stn_catalog_find(catalog, name);
    }
    return *id == STN_NO_ID ? NULL : stn_event_field(event, *id);
}

/* As the kernel and trace-cmd print it, where and how long behind it. */
static void put_mark(ftrace_writer *writer, const stn_event *event) {
    stn_line *line = &writer->out.line;
    const stn_field *count = mark_field(event, writer->catalog, "count", &writer->count_id);
    const stn_field *begin = mark_field(event, writer->catalog, "begin_ns", &writer->begin_id);
    uint64_t lost = (uint64_t)stn_field_int(count, 0);
    stn_line_string(line, "CPU:");
    if (event->cpu == STN_NO_CPU) {
        stn_line_char(line, '?');
    } else {
        stn_line_u64(line, event->cpu);
    }
    stn_line_string(line, " [LOST ");
    if (lost) {
        stn_line_u64(line, lost);
        stn_line_char(line, ' ');
    }
    stn_line_string(line, "EVENTS] ");
    stn_line_seconds(line, (uint64_t)stn_field_int(begin, (int64_t)event->time_ns));
    stn_line_string(line, "..");
    stn_line_seconds(line, event->time_ns);
    stn_line_char(line, '\n');
}

static void ftrace_abort(void *self) {
    ftrace_writer *writer = self;
    (void)stn_line_file_close(&writer->out, false, NULL);
    stn_filler_fini(&writer->filler);
    stn_free(writer);
}

static stn_status ftrace_open(void **self, const char *path, const stn_catalog *catalog,
                              const stn_trace_meta *meta, const stn_writer_options *options,
                              stn_err *err) {
    (void)meta;
    (void)options;
    ftrace_writer *writer = stn_calloc(1, sizeof *writer);
    if (!writer) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    writer->catalog = catalog;
    writer->filler.catalog = catalog;
    writer->count_id = STN_NO_ID;
    writer->begin_id = STN_NO_ID;
    stn_status status = stn_line_file_open(&writer->out, path, header, err);
    if (status) {
        ftrace_abort(writer);
        return status;
    }
    *self = writer;
    return STN_OK;
}

static stn_status ftrace_write(void *self, const stn_event *event, stn_err *err) {
    ftrace_writer *writer = self;
    stn_line_clear(&writer->out.line);
    if (event->type == STN_TYPE_LOST) {
        put_mark(writer, event);
    } else {
        stn_slotted seen;
        stn_status status = stn_filler_see(&writer->filler, event, &seen, err);
        if (status) {
            return status;
        }
        put_event(writer, event, &seen);
    }
    return stn_line_file_put(&writer->out, err);
}

static stn_status ftrace_commit(void *self, stn_err *err) {
    ftrace_writer *writer = self;
    stn_status status = stn_line_file_close(&writer->out, true, err);
    ftrace_abort(writer);
    return status;
}

const stn_write_ops stn_write_ftrace = {ftrace_open, ftrace_write, ftrace_commit, ftrace_abort};
