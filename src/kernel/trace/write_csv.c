/* Events as comma-separated values, docs/formats/csv.md: every kind of field comes back as it
 * was, and no cell needs quotes. */
#include "core/base/alloc.h"
#include "kernel/trace/format.h"
#include "kernel/trace/write_line.h"

static const char header[] = "time_ns,cpu,tid,comm,event,original,fields\n";

typedef struct csv_writer {
    const stn_catalog *catalog;
    stn_line_file out;
} csv_writer;

static bool needs_escape(unsigned char c) {
    return c < 0x20 || c == 0x7f || c == '%' || c == ',' || c == ';' || c == '=' || c == '"';
}

static void put_escaped(stn_line *line, const char *string) {
    static const char hex[] = "0123456789ABCDEF";
    const char *plain = string;
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (needs_escape(c)) {
            char out[3] = {'%', hex[c >> 4], hex[c & 15]};
            stn_line_bytes(line, plain, (size_t)(string - plain));
            stn_line_bytes(line, out, sizeof out);
            plain = string + 1;
        }
    }
    stn_line_bytes(line, plain, (size_t)(string - plain));
}

/* Text that could be taken for a number or a sequence has an apostrophe before it. */
static void put_string(stn_line *line, const char *string) {
    if (strchr("0123456789+-'[", *string) && *string) {
        stn_line_char(line, '\'');
    }
    put_escaped(line, string);
}

static void put_real(stn_line *line, double value) {
    size_t begin = line->size;
    stn_line_real(line, value);
    char first = begin < line->size ? line->bytes[begin] : '0';
    if (first == 'i' || first == 'n') {
        line->size = begin;
        stn_line_char(line, '+');
        stn_line_real(line, value);
    }
    stn_line_char(line, 'f');
}

static void put_value(stn_line *line, const stn_field *field) {
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        stn_line_i64(line, field->v.i);
        break;
    case STN_FIELD_UINT:
        stn_line_u64(line, field->v.u);
        stn_line_char(line, 'u');
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
        stn_line_seq(line, field->v.seq, ' ');
        break;
    }
}

static void put_line(csv_writer *writer, const stn_event *event) {
    stn_line *line = &writer->out.line;
    const stn_type *type = stn_catalog_type_at(writer->catalog, event->type);
    stn_line_u64(line, event->time_ns);
    stn_line_char(line, ',');
    if (event->cpu != STN_NO_CPU) {
        stn_line_u64(line, event->cpu);
    }
    stn_line_char(line, ',');
    if (event->tid != STN_NO_TID) {
        stn_line_i64(line, event->tid);
    }
    stn_line_char(line, ',');
    put_escaped(line, stn_catalog_text(writer->catalog, event->comm));
    stn_line_char(line, ',');
    put_escaped(line, type->name);
    stn_line_char(line, ',');
    if (type->original != type->name) {
        put_escaped(line, type->original);
    }
    for (uint32_t i = 0; i < event->field_count; i++) {
        stn_line_char(line, i ? ';' : ',');
        put_escaped(line, stn_catalog_text(writer->catalog, event->fields[i].name));
        stn_line_char(line, '=');
        put_value(line, &event->fields[i]);
    }
    stn_line_string(line, event->field_count ? "\n" : ",\n");
}

static void csv_abort(void *self) {
    csv_writer *writer = self;
    (void)stn_line_file_close(&writer->out, false, NULL);
    stn_free(writer);
}

static stn_status csv_open(void **self, const char *path, const stn_catalog *catalog,
                           const stn_trace_meta *meta, const stn_writer_options *options,
                           stn_err *err) {
    (void)meta;
    (void)options;
    csv_writer *writer = stn_calloc(1, sizeof *writer);
    if (!writer) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    writer->catalog = catalog;
    stn_status status = stn_line_file_open(&writer->out, path, header, err);
    if (status) {
        csv_abort(writer);
        return status;
    }
    *self = writer;
    return STN_OK;
}

static stn_status csv_write(void *self, const stn_event *event, stn_err *err) {
    csv_writer *writer = self;
    stn_line_clear(&writer->out.line);
    put_line(writer, event);
    return stn_line_file_put(&writer->out, err);
}

static stn_status csv_commit(void *self, stn_err *err) {
    csv_writer *writer = self;
    stn_status status = stn_line_file_close(&writer->out, true, err);
    csv_abort(writer);
    return status;
}

const stn_write_ops stn_write_csv = {csv_open, csv_write, csv_commit, csv_abort};
