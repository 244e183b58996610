/* CSV with a header line: our own columns or those of Trace Compass's export; docs/formats/csv.md
 * is the page of both. A line is cut into cells in place, then the columns that the header
 * names are decoded by one function each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/instream.h"
#include "kernel/trace/format.h"
#include "kernel/trace/read_text.h"

#define CELLS_MAX 256

typedef struct cell {
    char *at;
    size_t size;
} cell;

typedef struct csv_reader csv_reader;

typedef struct column {
    const char *name;
    const char *expected;
    bool needed;
    /* NULL message on success, else what was expected. */
    stn_status (*decode)(csv_reader *reader, cell value, bool *good, stn_err *err);
} column;

struct csv_reader {
    stn_instream *in;
    stn_catalog *catalog;
    stn_text text;
    const column *columns[CELLS_MAX]; /* by place in the line; NULL: not read */
    size_t cell_count;
    cell cells[CELLS_MAX];
    stn_event event;
    cell name, original, fields; /* of the line at hand */
    bool trace_compass;
    uint64_t day_ns;  /* begin of the present day of a time without date */
    uint64_t last_ns; /* time of day before */
    stn_field mark[2];
};

/* ---- cells ----------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undo %XX in place. false: a '%' without two digits, or a NUL. */
static bool unescape(cell *c) {
    char *out = memchr(c->at, '%', c->size);
    if (!out) {
        return true;
    }
    const char *in = out;
    const char *end = c->at + c->size;
    while (in < end) {
        if (*in != '%') {
            *out++ = *in++;
            continue;
        }
        int high = end - in >= 3 ? hex_digit(in[1]) : -1;
        int low = end - in >= 3 ? hex_digit(in[2]) : -1;
        if (high < 0 || low < 0 || high + low == 0) {
            return false;
        }
        *out++ = (char)(high << 4 | low);
        in += 3;
    }
    c->size = (size_t)(out - c->at);
    return true;
}

/* A cell in quotes: unquoted in place. @return behind it; NULL if the quote is not closed */
static char *take_quoted(char *at, char *end, cell *out) {
    char *to = at;
    char *from = at + 1;
    out->at = at;
    while (from < end) {
        if (*from == '"') {
            if (from + 1 < end && from[1] == '"') {
                from++;
            } else {
                out->size = (size_t)(to - out->at);
                return from + 1;
            }
        }
        *to++ = *from++;
    }
    return NULL;
}

/* Cut the line at its commas. */
static stn_status cut_cells(csv_reader *reader, char *line, size_t size, size_t *count,
                            stn_err *err) {
    char *at = line;
    char *end = line + size;
    for (*count = 0;; (*count)++) {
        if (*count == CELLS_MAX) {
            return stn_err_set(err, STN_EFORMAT, "more than %d cells", CELLS_MAX);
        }
        cell *c = &reader->cells[*count];
        char *stop;
        if (at < end && *at == '"') {
            stop = take_quoted(at, end, c);
            if (!stop || (stop < end && *stop != ',')) {
                return stn_err_set(err, STN_EFORMAT, "cell %zu: a quote that does not end its cell",
                                   *count + 1);
            }
        } else {
            char *comma = memchr(at, ',', (size_t)(end - at));
            stop = comma ? comma : end;
            *c = (cell){at, (size_t)(stop - at)};
        }
        bool last = stop == end;
        if (!last || c->at + c->size < end) {
            c->at[c->size] = '\0';
        }
        if (last) {
            (*count)++;
            return STN_OK;
        }
        at = stop + 1;
    }
}

/* ---- columns --------------------------------------------------------- */

static bool whole_decimal(cell c, uint64_t *value) {
    const char *at = c.at;
    return stn_text_decimal(&at, c.at + c.size, value) && at == c.at + c.size;
}

static stn_status decode_time(csv_reader *reader, cell c, bool *good, stn_err *err) {
    (void)err;
    *good = whole_decimal(c, &reader->event.time_ns);
    return STN_OK;
}

static stn_status decode_cpu(csv_reader *reader, cell c, bool *good, stn_err *err) {
    uint64_t value = STN_NO_CPU;
    (void)err;
    *good = c.size == 0 || (whole_decimal(c, &value) && value < STN_NO_CPU);
    reader->event.cpu = (uint16_t)value;
    return STN_OK;
}

static stn_status decode_tid(csv_reader *reader, cell c, bool *good, stn_err *err) {
    uint64_t value = 0;
    (void)err;
    *good = c.size == 0 || (whole_decimal(c, &value) && value <= INT32_MAX);
    reader->event.tid = c.size ? (int32_t)value : STN_NO_TID;
    return STN_OK;
}

static stn_status decode_comm(csv_reader *reader, cell c, bool *good, stn_err *err) {
    *good = unescape(&c);
    reader->event.comm = STN_NO_ID;
    if (*good && c.size) {
        reader->event.comm = stn_catalog_string(reader->catalog, c.at, c.size);
        if (reader->event.comm == STN_NO_ID) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for a process name");
        }
    }
    return STN_OK;
}

static stn_status decode_event(csv_reader *reader, cell c, bool *good, stn_err *err) {
    (void)err;
    *good = unescape(&c) && c.size > 0;
    reader->name = c;
    return STN_OK;
}

static stn_status decode_original(csv_reader *reader, cell c, bool *good, stn_err *err) {
    (void)err;
    *good = unescape(&c);
    reader->original = c;
    return STN_OK;
}

static stn_status decode_fields(csv_reader *reader, cell c, bool *good, stn_err *err) {
    (void)err;
    *good = true;
    reader->fields = c;
    return STN_OK;
}

/* "2020-01-02 10:11:12.123 456 789", "10:11:12.123456789", "12.5", "12500000000" */
static stn_status decode_timestamp(csv_reader *reader, cell c, bool *good, stn_err *err) {
    char plain[64];
    size_t size = 0;
    char *colon = memchr(c.at, ':', c.size);
    char *clock = colon;
    (void)err;
    while (clock && clock > c.at && clock[-1] >= '0' && clock[-1] <= '9') {
        clock--;
    }
    uint64_t seconds = 0;
    const char *end = c.at + c.size;
    const char *at = clock ? clock : c.at;
    for (int part = 0; clock && part < 2; part++) {
        uint64_t value;
        *good = stn_text_decimal(&at, end, &value) && at < end && *at++ == ':' && value < 60;
        if (!*good) {
            return STN_OK;
        }
        seconds = seconds * 60 + value * 60;
    }
    for (; at < end && size < sizeof plain - 1; at++) {
        if (*at != ' ') {
            plain[size++] = *at;
        }
    }
    at = plain;
    uint64_t rest = 0;
    *good = at + size > plain && stn_text_time(&at, plain + size, &rest) && at == plain + size;
    if (clock && !memchr(plain, '.', size)) {
        rest *= 1000000000; /* whole seconds of a time of day */
    }
    uint64_t time_ns = seconds * 1000000000 + rest;
    const uint64_t day = UINT64_C(86400) * 1000000000;
    if (clock && time_ns + day / 2 < reader->last_ns) {
        reader->day_ns += day;
    }
    reader->last_ns = time_ns;
    reader->event.time_ns = reader->day_ns + time_ns;
    return STN_OK;
}

static const column own_columns[] = {
    {"time_ns", "nanoseconds, unsigned decimal", true, decode_time},
    {"event", "the name of an event type", true, decode_event},
    {"cpu", "0 to 65534 or nothing", false, decode_cpu},
    {"tid", "0 to 2147483647 or nothing", false, decode_tid},
    {"comm", "an escaped name", false, decode_comm},
    {"original", "an escaped name", false, decode_original},
    {"fields", "name=value;name=value", false, decode_fields},
};

static const column compass_columns[] = {
    {"Timestamp", "HH:MM:SS.fraction, seconds.fraction or nanoseconds", true, decode_timestamp},
    {"Event type", "the name of an event type", true, decode_event},
    {"CPU", "0 to 65534 or nothing", false, decode_cpu},
    {"TID", "0 to 2147483647 or nothing", false, decode_tid},
    {"Contents", "name=value, name=value", false, decode_fields},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- fields ---------------------------------------------------------- */

/* "[1 -2]" or "[1 2]u" */
static bool parse_seq(csv_reader *reader, cell key, cell value, stn_status *status, stn_err *err) {
    bool is_signed = value.at[value.size - 1] != 'u';
    const char *end = value.at + value.size - !is_signed;
    if (end - value.at < 2 || end[-1] != ']') {
        return false;
    }
    end--;
    size_t capacity = (size_t)(end - value.at) / 2 + 1;
    int64_t *items = stn_arena_alloc(&reader->text.arena, capacity * sizeof *items);
    if (!items) {
        *status = stn_err_set(err, STN_ENOMEM, "out of memory for a sequence");
        return true;
    }
    uint32_t count = 0;
    const char *at = value.at + 1;
    while (at < end) {
        bool negative = is_signed && *at == '-';
        uint64_t number;
        at += negative;
        if (!stn_text_decimal(&at, end, &number) || (at < end && *at++ != ' ')) {
            return false;
        }
        items[count++] = (int64_t)(negative ? 0 - number : number);
    }
    *status = stn_text_put_seq(&reader->text, key.at, key.size, items, count, is_signed, err);
    return true;
}

/* What begins with a digit or a sign. */
static bool parse_number(cell value, stn_field *field) {
    char last = value.at[value.size - 1];
    bool hex = value.size > 2 && value.at[0] == '0' && value.at[1] == 'x';
    if (!hex && last == 'f') {
        char *end;
        value.at[value.size - 1] = '\0';
        field->kind = STN_FIELD_REAL;
        field->v.f = strtod(value.at, &end);
        bool good = value.size > 1 && *end == '\0';
        value.at[value.size - 1] = last;
        return good;
    }
    if (!hex && last == 'u') {
        value.size--;
        field->kind = STN_FIELD_UINT;
        return whole_decimal(value, &field->v.u);
    }
    if (hex) {
        return stn_text_number(value.at, value.size, field);
    }
    bool negative = value.at[0] == '-';
    cell digits = {value.at + negative, value.size - negative};
    uint64_t number;
    field->kind = STN_FIELD_INT;
    if (!whole_decimal(digits, &number) || number > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    field->v.i = (int64_t)(negative ? 0 - number : number);
    return true;
}

static stn_status put_own(csv_reader *reader, cell key, cell value, bool *good, stn_err *err) {
    stn_text *text = &reader->text;
    stn_status status = STN_OK;
    char first = value.size ? value.at[0] : '\0';
    stn_field field = {.name = STN_NO_ID};
    if (first == '[') {
        *good = parse_seq(reader, key, value, &status, err);
        return status;
    }
    if (first == '+' || first == '-' || (first >= '0' && first <= '9')) {
        *good = parse_number(value, &field);
        return *good ? stn_text_put_field(text, key.at, key.size, field, err) : STN_OK;
    }
    if (first == '\'') {
        value.at++;
        value.size--;
    }
    *good = unescape(&value);
    value.at[value.size] = '\0';
    field = (stn_field){.kind = STN_FIELD_STR, .v.s = value.at};
    return *good ? stn_text_put_field(text, key.at, key.size, field, err) : STN_OK;
}

/* "name=value;name=value" */
static stn_status parse_own_fields(csv_reader *reader, cell all, stn_err *err) {
    char *at = all.at;
    char *end = all.at + all.size;
    while (at < end) {
        char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop ? stop : end;
        char *equals = memchr(at, '=', (size_t)(stop - at));
        if (!equals) {
            return stn_err_set(err, STN_EFORMAT,
                               "column 'fields': expected name=value, found '%.*s'",
                               (int)(stop - at < 60 ? stop - at : 60), at);
        }
        cell key = {at, (size_t)(equals - at)};
        cell value = {equals + 1, (size_t)(stop - equals - 1)};
        bool good = unescape(&key) && key.size > 0;
        *stop = '\0';
        stn_status status = good ? put_own(reader, key, value, &good, err) : STN_OK;
        if (status) {
            return status;
        }
        if (!good) {
            return stn_err_set(err, STN_EFORMAT,
                               "column 'fields': no number, text or sequence of "
                               "the format at '%.60s'",
                               at);
        }
        at = stop + 1;
    }
    return STN_OK;
}

/* Trace Compass shows "name=value, name=value"; a value may hold ", " itself. */
static stn_status parse_compass_fields(csv_reader *reader, cell all, stn_err *err) {
    char *at = all.at;
    char *end = all.at + all.size;
    stn_status status = STN_OK;
    while (!status && at < end) {
        char *equals = memchr(at, '=', (size_t)(end - at));
        if (!equals) {
            return stn_text_put(&reader->text, "text", 4, at, (size_t)(end - at), err);
        }
        char *next = equals;
        char *stop = end;
        while ((next = memmem(next, (size_t)(end - next), ", ", 2))) {
            size_t size = strcspn(next + 2, "=, ");
            if (size && next[2 + size] == '=') {
                stop = next;
                break;
            }
            next += 2;
        }
        status = stn_text_put(&reader->text, at, (size_t)(equals - at), equals + 1,
                              (size_t)(stop - equals - 1), err);
        at = stop + 2;
    }
    return status;
}

/* ---- lines ----------------------------------------------------------- */

static bool text_is(cell c, const char *text) {
    return c.size == strlen(text) && memcmp(c.at, text, c.size) == 0;
}

/* Our own lines name the canonical type and the original; the pair is one type. */
static stn_status begin_own_event(csv_reader *reader, stn_err *err) {
    stn_text *text = &reader->text;
    cell name = reader->name;
    cell original = reader->original;
    stn_status status = stn_text_event(text, name.at, name.size, err);
    if (status || !original.size) {
        return status;
    }
    name.at[name.size] = '\0';
    original.at[original.size] = '\0';
    text->type = stn_catalog_type(reader->catalog, name.at, original.at);
    return text->type == STN_NO_ID ? stn_err_set(err, STN_ENOMEM, "out of memory for a type")
                                   : STN_OK;
}

static stn_status decode_cells(csv_reader *reader, stn_err *err) {
    for (size_t i = 0; i < reader->cell_count; i++) {
        const column *col = reader->columns[i];
        bool good = true;
        stn_status status = col ? col->decode(reader, reader->cells[i], &good, err) : STN_OK;
        if (status) {
            return status;
        }
        if (!good) {
            return stn_err_set(err, STN_EFORMAT, "column '%s': '%.60s' is not %s", col->name,
                               reader->cells[i].at, col->expected);
        }
    }
    return STN_OK;
}

static stn_status parse_line(csv_reader *reader, char *line, size_t size, stn_err *err) {
    size_t count;
    stn_status status = cut_cells(reader, line, size, &count, err);
    if (!status && count != reader->cell_count) {
        status = stn_err_set(err, STN_EFORMAT, "%zu cells, but the header has %zu columns", count,
                             reader->cell_count);
    }
    if (status) {
        return status;
    }
    reader->event = (stn_event){.tid = STN_NO_TID, .cpu = STN_NO_CPU, .comm = STN_NO_ID};
    reader->original = (cell){NULL, 0};
    reader->fields = (cell){NULL, 0};
    status = decode_cells(reader, err);
    if (!status) {
        status = begin_own_event(reader, err);
    }
    if (!status && reader->fields.size) {
        status = reader->trace_compass ? parse_compass_fields(reader, reader->fields, err)
                                       : parse_own_fields(reader, reader->fields, err);
    }
    return status;
}

static stn_status csv_next(void *self, stn_event *event, stn_err *err) {
    csv_reader *reader = self;
    char *line;
    size_t size = 0;
    stn_status status = STN_OK;
    while (!status && size == 0) {
        status = stn_instream_line(reader->in, &line, &size, err);
    }
    if (status) {
        return status;
    }
    status = parse_line(reader, line, size, err);
    if (status) {
        return stn_err_prepend(err, status, "line %llu",
                               (unsigned long long)stn_instream_line_number(reader->in));
    }
    *event = reader->event;
    stn_text_finish(&reader->text, event);
    return STN_OK;
}

/* ---- header ---------------------------------------------------------- */

static stn_status bind_columns(csv_reader *reader, const column *table, size_t count,
                               stn_err *err) {
    for (size_t row = 0; row < count; row++) {
        size_t place = reader->cell_count;
        for (size_t i = 0; i < reader->cell_count; i++) {
            if (!text_is(reader->cells[i], table[row].name)) {
                continue;
            }
            if (place != reader->cell_count) {
                return stn_err_set(err, STN_EFORMAT, "column '%s' is there twice", table[row].name);
            }
            place = i;
        }
        if (place < reader->cell_count) {
            reader->columns[place] = &table[row];
        } else if (table[row].needed) {
            return stn_err_set(err, STN_EFORMAT, "the header has no column '%s'", table[row].name);
        }
    }
    return STN_OK;
}

static bool has_column(const csv_reader *reader, const char *name) {
    for (size_t i = 0; i < reader->cell_count; i++) {
        if (text_is(reader->cells[i], name)) {
            return true;
        }
    }
    return false;
}

static stn_status read_header(csv_reader *reader, stn_err *err) {
    char *line;
    size_t size;
    stn_status status = stn_instream_line(reader->in, &line, &size, err);
    if (status == STN_END) {
        return stn_err_set(err, STN_EFORMAT, "the file is empty: a header line was expected");
    }
    if (!status && size >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3; /* byte order mark */
        size -= 3;
    }
    if (status) {
        return status; /* names the line itself */
    }
    status = cut_cells(reader, line, size, &reader->cell_count, err);
    if (status) {
        return stn_err_prepend(err, status, "line 1");
    }
    reader->trace_compass = has_column(reader, "Timestamp") || has_column(reader, "Event type");
    status = reader->trace_compass
                 ? bind_columns(reader, compass_columns, COUNT(compass_columns), err)
                 : bind_columns(reader, own_columns, COUNT(own_columns), err);
    return status ? stn_err_prepend(err, status, "line 1") : STN_OK;
}

static void csv_close(void *self) {
    csv_reader *reader = self;
    if (!reader) {
        return;
    }
    stn_instream_close(reader->in);
    stn_text_fini(&reader->text);
    stn_free(reader);
}

static stn_status csv_open(void **self, const char *path, stn_catalog *catalog,
                           stn_trace_meta *meta, stn_err *err) {
    (void)meta;
    csv_reader *reader = stn_calloc(1, sizeof *reader);
    if (!reader) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    reader->catalog = catalog;
    reader->text.catalog = catalog;
    stn_status status = stn_instream_open(&reader->in, path, err);
    if (!status) {
        status = read_header(reader, err);
    }
    if (status) {
        csv_close(reader);
        return status;
    }
    *self = reader;
    return STN_OK;
}

/* A header names one of the columns without which there is no event; so a file that lacks
 * the other is still recognised and the message can name what is missing. */
static int csv_probe(const stn_probe *probe) {
    static const char *const names[] = {"time_ns", "event", "Timestamp", "Event type", "original"};
    if (probe->is_folder || probe->head_size == 0) {
        return 0;
    }
    const char *newline = memchr(probe->head, '\n', probe->head_size);
    size_t size = newline ? (size_t)(newline - probe->head) : probe->head_size;
    int found = 0;
    for (const char *at = probe->head, *end = at + size; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        while (stop > at && (stop[-1] == '\r' || stop[-1] == '"')) {
            stop--;
        }
        at += at < stop && *at == '"';
        for (size_t i = 0; i < COUNT(names); i++) {
            found += strlen(names[i]) == (size_t)(stop - at) &&
                     memcmp(names[i], at, (size_t)(stop - at)) == 0;
        }
        at = comma ? comma + 1 : end;
    }
    return found > 1 ? 85 : found * 50;
}

const stn_read_ops stn_read_csv = {csv_probe, csv_open, csv_next, csv_close};
