/* ftrace and trace-cmd report text. A line is found by its anchors, never by columns:
 *
 *     comm-tid  (tgid)? [cpu] flags? time: event: payload
 *     comm-tid  cpu+flags time: event: payload               latency format
 *
 * The comm may hold blanks, dashes and brackets, so the anchor is the first place where all of
 * it fits. Lines of a report that are no events (headers, stacks, "cpus=2") are known by name;
 * anything else is an error with its line number. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/trace/format.h"
#include "kernel/trace/read_lines.h"

typedef struct anchor {
    const char *comm;
    size_t comm_size;
    uint64_t tid;
    uint64_t cpu; /* STN_NO_CPU for "???" */
    uint64_t time_ns;
    const char *rest; /* behind the colon of the time */
} anchor;

typedef struct ftrace_reader {
    stn_lines lines;
} ftrace_reader;

/* ---- anchors --------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && *at == ' ') {
        at++;
    }
    return at;
}

static const char *trim_end(const char *at, const char *end) {
    while (end > at && end[-1] == ' ') {
        end--;
    }
    return end;
}

/* "12.345678:", "12us+:", "12us :"; moves *at behind the colon. */
static bool take_time(const char **at, const char *end, uint64_t *time_ns) {
    const char *p = *at;
    if (!stn_text_time(&p, end, time_ns)) {
        return false;
    }
    if (end - p > 2 && p[0] == 'u' && p[1] == 's') {
        p += 2;
        while (p < end && strchr("+!#*@$ ", *p)) {
            p++;
        }
        *time_ns *= 1000;
    }
    if (p == end || *p != ':') {
        return false;
    }
    *at = p + 1;
    return true;
}

/* Flags, if there are any, and the time. */
static bool take_flags_and_time(const char *at, const char *end, anchor *a) {
    at = skip_blanks(at, end);
    if (!take_time(&at, end, &a->time_ns)) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        if (!blank || blank - at > 12) {
            return false;
        }
        at = skip_blanks(blank, end);
        if (!take_time(&at, end, &a->time_ns)) {
            return false;
        }
    }
    a->rest = at;
    return true;
}

/* "  comm-12 (  34)" */
static bool take_task(const char *line, const char *end, anchor *a) {
    end = trim_end(line, end);
    if (end > line && end[-1] == ')') {
        while (end > line && *end != '(') {
            end--;
        }
        end = trim_end(line, end);
    }
    const char *digits = end;
    while (digits > line && digits[-1] >= '0' && digits[-1] <= '9') {
        digits--;
    }
    if (digits == line || digits[-1] != '-') {
        return false;
    }
    const char *at = digits;
    a->comm = skip_blanks(line, digits - 1);
    if (digits - 1 - a->comm > 15) {
        /* Longer than a name can be: trace-cmd puts the buffer's before it, "inst:    comm". */
        const char *blank = memchr(a->comm, ' ', (size_t)(digits - 1 - a->comm));
        a->comm = blank && blank[-1] == ':' ? skip_blanks(blank, digits - 1) : a->comm;
    }
    a->comm_size = (size_t)(digits - 1 - a->comm);
    return stn_text_decimal(&at, end, &a->tid) && a->tid <= INT32_MAX && a->comm_size > 0;
}

/* "003"; "???" where the trace does not say. */
static bool take_cpu(const char **at, const char *end, uint64_t *cpu) {
    if (end - *at > 3 && memcmp(*at, "???", 3) == 0) {
        *at += 3;
        *cpu = STN_NO_CPU;
        return true;
    }
    return stn_text_decimal(at, end, cpu) && *cpu < STN_NO_CPU;
}

static bool find_bracket_anchor(const char *line, const char *end, anchor *a) {
    const char *open = line;
    while ((open = memchr(open, '[', (size_t)(end - open)))) {
        const char *at = open + 1;
        if (take_cpu(&at, end, &a->cpu) && at < end && *at == ']' && take_task(line, open, a) &&
            take_flags_and_time(at + 1, end, a)) {
            return true;
        }
        open++;
    }
    return false;
}

/* "comm-12   3d..2   14us : ": CPU and flags are one word. */
static bool find_latency_anchor(const char *line, const char *end, anchor *a) {
    const char *dash = line;
    while ((dash = memchr(dash, '-', (size_t)(end - dash)))) {
        const char *at = ++dash;
        if (!stn_text_decimal(&at, end, &a->tid) || a->tid > INT32_MAX || at == end || *at != ' ') {
            continue;
        }
        a->comm = skip_blanks(line, dash - 1);
        a->comm_size = (size_t)(dash - 1 - a->comm);
        at = skip_blanks(at, end);
        const char *word = at;
        if (!a->comm_size || !stn_text_decimal(&at, end, &a->cpu) || a->cpu >= STN_NO_CPU) {
            continue;
        }
        const char *blank = memchr(word, ' ', (size_t)(end - word));
        if (!blank || blank - at < 3 || blank - at > 8) {
            continue;
        }
        at = skip_blanks(blank, end);
        if (take_time(&at, end, &a->time_ns)) {
            a->rest = at;
            return true;
        }
    }
    return false;
}

static bool find_anchor(const char *line, size_t size, anchor *a) {
    return find_bracket_anchor(line, line + size, a) || find_latency_anchor(line, line + size, a);
}

/* ---- lines that are no events ---------------------------------------- */

static bool begins(const char *line, const char *word) {
    return strncmp(line, word, strlen(word)) == 0;
}

static bool is_aside(const char *line) {
    static const char *const asides[] = {
        "#",    "cpus=", "version =", "trace-cmd:", "=> ",   "<stack",
        "CPU ", "-----", "VIRT:",     "FTRACE:",    "plugin"};
    line += strspn(line, " \t");
    if (*line == '\0') {
        return true;
    }
    for (size_t i = 0; i < sizeof asides / sizeof *asides; i++) {
        if (begins(line, asides[i])) {
            return true;
        }
    }
    return false;
}

/* Behind the name of a buffer, which trace-cmd puts before each line: "inst: CPU:0 …". */
static const char *after_buffer(const char *line) {
    line += strspn(line, " ");
    const char *colon = strstr(line, ": CPU");
    return colon && !memchr(line, ' ', (size_t)(colon - line)) ? colon + 2 : line;
}

static bool is_loss(const char *line) {
    return (begins(line, "CPU:") || begins(line, "CPU ")) &&
           (strstr(line, "[LOST") || strstr(line, "EVENTS DROPPED"));
}

/* "CPU:1 [LOST 23 EVENTS]", "CPU:1 [23 EVENTS DROPPED]", "CPU:1 [EVENTS DROPPED]" */
static stn_status take_loss(ftrace_reader *reader, const char *line, bool *found, stn_err *err) {
    line = after_buffer(line);
    const char *end = line + strlen(line);
    *found = is_loss(line);
    if (!*found) {
        return STN_OK;
    }
    uint64_t cpu = STN_NO_CPU;
    uint64_t count = 0;
    const char *at = line + 4;
    if (!stn_text_decimal(&at, end, &cpu) || cpu >= STN_NO_CPU) {
        cpu = STN_NO_CPU;
    }
    at = strchr(line, '[');
    at += begins(at, "[LOST ") ? 6 : 1;
    if (!stn_text_decimal(&at, end, &count)) {
        count = 0;
    }
    /* Our own writer puts the stretch behind it: "[LOST 3 EVENTS] 1.000000005..1.250000000". */
    stn_loss loss = {.count = count, .cpu = (uint16_t)cpu};
    at = strstr(line, "EVENTS] ");
    at = at ? at + 8 : end;
    if (stn_text_time(&at, end, &loss.begin_ns) && end - at > 2 && at[0] == '.' && at[1] == '.') {
        at += 2;
        if (stn_text_time(&at, end, &loss.end_ns)) {
            return stn_marks_add_from(&reader->lines.marks, loss, err);
        }
    }
    return stn_marks_add(&reader->lines.marks, (uint16_t)cpu, count, err);
}

/* "# entries-in-buffer/entries-written: 205/1000   #P:2": what was overwritten is lost. */
static stn_status take_comment(ftrace_reader *reader, const char *line, stn_err *err) {
    const char *end = line + strlen(line);
    const char *at = strstr(line, "entries-in-buffer/entries-written:");
    uint64_t kept;
    uint64_t written;
    stn_status status = STN_OK;
    if (at) {
        at = skip_blanks(at + strlen("entries-in-buffer/entries-written:"), end);
        if (stn_text_decimal(&at, end, &kept) && at < end && *at++ == '/' &&
            stn_text_decimal(&at, end, &written) && written > kept) {
            stn_loss loss = {.count = written - kept, .cpu = STN_NO_CPU};
            status = stn_marks_add_from(&reader->lines.marks, loss, err);
        }
    }
    at = strstr(line, "#P:");
    uint64_t cpus;
    if (at) {
        at += 3;
        if (stn_text_decimal(&at, end, &cpus) && cpus > reader->lines.meta->cpu_count &&
            cpus <= STN_NO_CPU) {
            reader->lines.meta->cpu_count = (uint32_t)cpus;
        }
    }
    return status;
}

/* ---- events ---------------------------------------------------------- */

/* The event's name ends at a colon before the first blank. NULL if there is none. */
static char *name_end(char *at, char *end) {
    char *blank = memchr(at, ' ', (size_t)(end - at));
    char *stop = blank ? blank : end;
    return stop > at + 1 && stop[-1] == ':' ? stop - 1 : NULL;
}

static stn_status parse_event(ftrace_reader *reader, char *at, char *end, stn_err *err) {
    stn_text *text = &reader->lines.text;
    bool found = false;
    while (at < end && *at == ' ') {
        at++;
    }
    stn_status status = stn_text_call(text, at, (size_t)(end - at), &found, err);
    if (status || found) {
        return status;
    }
    char *colon = name_end(at, end);
    if (!colon) {
        /* The function tracers print what was called without a name. */
        status = stn_text_event(text, "function", 8, err);
        return status ? status : stn_text_payload(text, at, (size_t)(end - at), err);
    }
    status = stn_text_event(text, at, (size_t)(colon - at), err);
    return status ? status : stn_text_payload(text, colon + 1, (size_t)(end - colon - 1), err);
}

static stn_status parse_line(ftrace_reader *reader, char *line, size_t size, const anchor *a,
                             stn_err *err) {
    bool unknown = a->comm_size == 5 && memcmp(a->comm, "<...>", 5) == 0;
    stn_event *event = &reader->lines.held;
    *event = (stn_event){
        .time_ns = a->time_ns, .tid = (int32_t)a->tid, .cpu = (uint16_t)a->cpu, .comm = STN_NO_ID};
    if (unknown && a->tid == 0) {
        event->tid = STN_NO_TID; /* the idle thread would be "<idle>" */
    }
    if (!unknown) {
        event->comm = stn_catalog_string(reader->lines.catalog, a->comm, a->comm_size);
        if (event->comm == STN_NO_ID) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for a process name");
        }
    }
    stn_status status = parse_event(reader, line + (a->rest - line), line + size, err);
    if (!status) {
        stn_text_finish(&reader->lines.text, event);
        reader->lines.holds = true;
    }
    return status;
}

static stn_status malformed(const char *line, stn_err *err) {
    return stn_err_set(err, STN_EFORMAT,
                       "no event of the form 'comm-tid [cpu] time: event: …' but '%.60s'", line);
}

static stn_status take_line(stn_lines *lines, char *line, size_t size, stn_err *err) {
    ftrace_reader *reader = (ftrace_reader *)lines;
    anchor a;
    if (find_anchor(line, size, &a)) {
        return parse_line(reader, line, size, &a, err);
    }
    bool found = false;
    stn_status status = take_loss(reader, line, &found, err);
    if (status || found) {
        return status;
    }
    if (!is_aside(line)) {
        return malformed(line, err);
    }
    return *line == '#' ? take_comment(reader, line, err) : STN_OK;
}

/* ---- the format's row ------------------------------------------------ */

static stn_status ftrace_next(void *self, stn_event *event, stn_err *err) {
    ftrace_reader *reader = self;
    return stn_lines_next(&reader->lines, event, err);
}

static void ftrace_close(void *self) {
    ftrace_reader *reader = self;
    if (reader) {
        stn_lines_close(&reader->lines);
        stn_free(reader);
    }
}

static stn_status ftrace_open(void **self, const char *path, stn_catalog *catalog,
                              stn_trace_meta *meta, stn_err *err) {
    ftrace_reader *reader = stn_calloc(1, sizeof *reader);
    if (!reader) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    reader->lines.take = take_line;
    stn_status status = stn_lines_open(&reader->lines, path, catalog, meta, "ftrace", err);
    if (status) {
        ftrace_close(reader);
        return status;
    }
    *self = reader;
    return STN_OK;
}

/* A trace if the first line that is no aside is an event, or if there is none but the header
 * of an empty trace is there. */
static int ftrace_probe(const stn_probe *probe) {
    const char *at = probe->head;
    const char *end = at + probe->head_size;
    bool header = false;
    while (!probe->is_folder && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline ? newline : end) - at);
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)(size < 500 ? size : 500), at);
        anchor a;
        if (find_anchor(at, size, &a)) {
            return 90;
        }
        header = header || begins(line, "# tracer:");
        bool aside = is_aside(line) || is_loss(after_buffer(line));
        if (!aside) {
            break;
        }
        at = newline ? newline + 1 : end;
    }
    return header ? 60 : 0;
}

const stn_read_ops stn_read_ftrace = {ftrace_probe, ftrace_open, ftrace_next, ftrace_close};
