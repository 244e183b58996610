/* perf script text. The anchor of a line is its time: the first word "seconds.fraction:"
 * that follows a thread id, with or without the CPU between them:
 *
 *     comm  (pid/)?tid  ([cpu])?  time:  (period)?  event:  payload
 *
 * Lines of a call chain below an event are indented and have no such word; they are left out. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/trace/format.h"
#include "kernel/trace/read_lines.h"

typedef struct anchor {
    const char *comm;
    size_t comm_size;
    int32_t tid;
    uint16_t cpu;
    uint64_t time_ns;
    const char *rest; /* behind the colon of the time */
} anchor;

typedef struct perf_reader {
    stn_lines lines;
    bool lost;    /* the line was a loss, no event */
    bool started; /* an event has been seen: call chains may follow */
} perf_reader;

/* ---- anchors --------------------------------------------------------- */

/* Begin of the word that ends at @p end. */
static const char *word_before(const char *line, const char *end) {
    while (end > line && end[-1] != ' ') {
        end--;
    }
    return end;
}

static const char *trim_end(const char *line, const char *end) {
    while (end > line && end[-1] == ' ') {
        end--;
    }
    return end;
}

/* "12" or "11/12"; perf prints -1 for a thread that it does not know. */
static bool take_tid(const char *at, const char *end, int32_t *tid) {
    const char *slash = memchr(at, '/', (size_t)(end - at));
    at = slash ? slash + 1 : at;
    if (end - at == 2 && at[0] == '-' && at[1] == '1') {
        *tid = STN_NO_TID;
        return true;
    }
    uint64_t value;
    if (!stn_text_decimal(&at, end, &value) || at != end || value > INT32_MAX) {
        return false;
    }
    *tid = (int32_t)value;
    return true;
}

/* What stands before the time. */
static bool take_task(const char *line, const char *end, anchor *a) {
    a->cpu = STN_NO_CPU;
    end = trim_end(line, end);
    if (end > line && end[-1] == ']') {
        const char *open = word_before(line, end);
        const char *at = open + 1;
        uint64_t cpu;
        if (*open != '[' || !stn_text_decimal(&at, end, &cpu) || at != end - 1 ||
            cpu >= STN_NO_CPU) {
            return false;
        }
        a->cpu = (uint16_t)cpu;
        end = trim_end(line, open);
    }
    const char *word = word_before(line, end);
    if (word == line || !take_tid(word, end, &a->tid)) {
        return false;
    }
    end = trim_end(line, word);
    while (line < end && *line == ' ') {
        line++;
    }
    a->comm = line;
    a->comm_size = (size_t)(end - line);
    return a->comm_size > 0;
}

static bool find_anchor(const char *line, size_t size, anchor *a) {
    const char *end = line + size;
    const char *colon = line;
    while ((colon = memchr(colon, ':', (size_t)(end - colon)))) {
        const char *word = word_before(line, colon);
        const char *at = word;
        bool fraction = memchr(word, '.', (size_t)(colon - word)) != NULL;
        if (fraction && stn_text_time(&at, end, &a->time_ns) && at == colon &&
            (colon + 1 == end || colon[1] == ' ') && take_task(line, word, a)) {
            a->rest = colon + 1;
            return true;
        }
        colon++;
    }
    return false;
}

/* ---- events ---------------------------------------------------------- */

/* "PERF_RECORD_LOST lost 12": tells of a loss instead of an event. */
static stn_status take_record(perf_reader *reader, const anchor *a, const char *at, const char *end,
                              stn_err *err) {
    const char *lost = memmem(at, (size_t)(end - at), "lost ", 5);
    uint64_t count = 0;
    if (lost) {
        lost += 5;
        if (!stn_text_decimal(&lost, end, &count)) {
            count = 0;
        }
    }
    reader->lost = true;
    return stn_marks_add(&reader->lines.marks, a->cpu, count, err);
}

static stn_status put_period(stn_text *text, const char *at, const char *end, stn_err *err) {
    stn_field field;
    if (at == end || !stn_text_number(at, (size_t)(end - at), &field)) {
        return STN_OK;
    }
    return stn_text_put_field(text, "period", 6, field, err);
}

static stn_status parse_event(perf_reader *reader, const anchor *a, char *at, char *end,
                              stn_err *err) {
    at += strspn(at, " ");
    char *period = at;
    char *period_end = at + strspn(at, "0123456789");
    if (period_end > period && *period_end == ' ') {
        at = period_end + strspn(period_end, " ");
    } else {
        period_end = period;
    }
    char *blank = memchr(at, ' ', (size_t)(end - at));
    char *stop = blank ? blank : end;
    bool record = strncmp(at, "PERF_RECORD_", 12) == 0;
    if (record && strncmp(at, "PERF_RECORD_LOST", 16) == 0) {
        return take_record(reader, a, at, end, err);
    }
    if (stop == at || (stop[-1] != ':' && !record)) {
        return stn_err_set(err, STN_EFORMAT, "no event name and ':' behind the time but '%.60s'",
                           at);
    }
    size_t name_size = (size_t)(stop - at) - (stop[-1] == ':');
    if (name_size == 0) {
        return stn_err_set(err, STN_EFORMAT, "an empty event name behind the time");
    }
    stn_status status = stn_text_event(&reader->lines.text, at, name_size, err);
    if (!status) {
        status = put_period(&reader->lines.text, period, period_end, err);
    }
    return status ? status : stn_text_payload(&reader->lines.text, stop, (size_t)(end - stop), err);
}

static stn_status take_line(stn_lines *lines, char *line, size_t size, stn_err *err) {
    perf_reader *reader = (perf_reader *)lines;
    anchor a;
    if (!find_anchor(line, size, &a)) {
        size_t blanks = strspn(line, " \t");
        if (line[blanks] == '\0' || line[0] == '#' || (blanks > 0 && reader->started)) {
            return STN_OK;
        }
        return stn_err_set(err, STN_EFORMAT,
                           "no event of the form 'comm tid [cpu] time: event: …' but '%.60s'",
                           line);
    }
    reader->started = true;
    stn_event *event = &reader->lines.held;
    *event = (stn_event){.time_ns = a.time_ns, .tid = a.tid, .cpu = a.cpu};
    event->comm = stn_catalog_string(reader->lines.catalog, a.comm, a.comm_size);
    if (event->comm == STN_NO_ID) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a process name");
    }
    reader->lost = false;
    stn_status status = parse_event(reader, &a, line + (a.rest - line), line + size, err);
    if (!status && !reader->lost) {
        stn_text_finish(&reader->lines.text, event);
        reader->lines.holds = true;
    }
    return status;
}

/* ---- the format's row ------------------------------------------------ */

static stn_status perf_next(void *self, stn_event *event, stn_err *err) {
    perf_reader *reader = self;
    return stn_lines_next(&reader->lines, event, err);
}

static void perf_close(void *self) {
    perf_reader *reader = self;
    if (reader) {
        stn_lines_close(&reader->lines);
        stn_free(reader);
    }
}

static stn_status perf_open(void **self, const char *path, stn_catalog *catalog,
                            stn_trace_meta *meta, stn_err *err) {
    perf_reader *reader = stn_calloc(1, sizeof *reader);
    if (!reader) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    reader->lines.take = take_line;
    stn_status status = stn_lines_open(&reader->lines, path, catalog, meta, "perf", err);
    if (status) {
        perf_close(reader);
        return status;
    }
    *self = reader;
    return STN_OK;
}

/* The first line that is neither blank nor a comment has to be an event. */
static int perf_probe(const stn_probe *probe) {
    const char *at = probe->head;
    const char *end = at + probe->head_size;
    while (!probe->is_folder && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        anchor a;
        if (find_anchor(at, (size_t)(stop - at), &a)) {
            return 80;
        }
        if (at < stop && *at != '#') {
            break;
        }
        at = newline ? newline + 1 : end;
    }
    return 0;
}

const stn_read_ops stn_read_perf = {perf_probe, perf_open, perf_next, perf_close};
