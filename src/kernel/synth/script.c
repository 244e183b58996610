/* Rows of cells parted by commas, below a header that names the columns. */
#include "kernel/synth/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

enum { SECONDS, WORKLOAD, RATE, GUIDANCE, COLUMNS };
static const char *const columns[COLUMNS] = {"seconds", "workload", "rate", "guidance"};
static const double most_seconds = 1e9, most_percent = 100000;

typedef struct reading {
    stn_script *script;
    uint32_t line;
    uint32_t count;          /* cells of a row; 0: no header yet */
    uint32_t which[COLUMNS]; /* column of each cell */
    char cells[COLUMNS][STN_SCRIPT_TEXT];
    stn_err *err;
} reading;

/* Where it is and what is wrong. @return STN_EFORMAT */
static stn_status wrong(const reading *r, const char *what) {
    return stn_err_set(r->err, STN_EFORMAT, "%s: line %u: %s", r->script->name, r->line, what);
}

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The line [text, end) into trimmed cells. @return how many, COLUMNS + 1 if too many or too long */
static uint32_t split(reading *r, const char *text, const char *end) {
    uint32_t count = 0;
    for (const char *at = text; at <= end; count++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end, *next = stop + 1;
        while (at < stop && blank(*at)) {
            at++;
        }
        while (stop > at && blank(stop[-1])) {
            stop--;
        }
        size_t size = (size_t)(stop - at);
        if (count == COLUMNS || size >= STN_SCRIPT_TEXT || memchr(at, '\0', size)) {
            return COLUMNS + 1;
        }
        memcpy(r->cells[count], at, size);
        r->cells[count][size] = '\0';
        at = next;
    }
    return count;
}

static stn_status header(reading *r, uint32_t count) {
    static const char expected[] = "the first line names the columns: seconds, and of workload, "
                                   "rate, guidance those that the rows have";
    bool seen[COLUMNS] = {false};
    for (uint32_t i = 0; i < count && i < COLUMNS; i++) {
        uint32_t c = 0;
        while (c < COLUMNS && strcmp(columns[c], r->cells[i]) != 0) {
            c++;
        }
        if (c == COLUMNS || seen[c]) {
            return wrong(r, expected);
        }
        seen[c] = true;
        r->which[i] = c;
    }
    if (count > COLUMNS || !seen[SECONDS] || count < 2) {
        return wrong(r, expected);
    }
    r->count = count;
    return STN_OK;
}

/* A plain decimal number without sign or exponent. */
static bool decimal(const char *text, double most, double *out) {
    char *end = NULL;
    if (*text == '\0' || *text == '.' || text[strspn(text, "0123456789.")] != '\0') {
        return false;
    }
    *out = strtod(text, &end);
    return *end == '\0' && *out <= most;
}

static stn_status read_seconds(reading *r, const char *text, stn_phase *phase) {
    const stn_script *script = r->script;
    double seconds;
    if (!decimal(text, most_seconds, &seconds)) {
        return stn_err_set(
            r->err, STN_EFORMAT,
            "%s: line %u: seconds is \"%.40s\"; expected when the phase begins, like "
            "0 or 2.5",
            script->name, r->line, text);
    }
    phase->begin_ns = (uint64_t)(seconds * 1e9 + 0.5);
    if (script->count > 0 && phase->begin_ns <= script->phases[script->count - 1].begin_ns) {
        return wrong(r, "the phase does not begin later than the one before");
    }
    return STN_OK;
}

static stn_status read_cell(reading *r, uint32_t column, const char *text, stn_phase *phase) {
    double percent;
    switch (column) {
    case SECONDS:
        return read_seconds(r, text, phase);
    case RATE:
        phase->has_rate = *text != '\0';
        if (phase->has_rate && stn_rate_parse(text, &phase->rate, r->err) != STN_OK) {
            return stn_err_prepend(r->err, STN_EFORMAT, "%s: line %u", r->script->name, r->line);
        }
        return STN_OK;
    case GUIDANCE:
        if (*text && (!decimal(text, most_percent, &percent) || percent <= 0)) {
            return wrong(r, "guidance is a percentage, like 100 or 150");
        }
        phase->weight = *text ? percent / 100 : 0;
        return STN_OK;
    default:
        phase->workload = *text ? stn_strdup(text) : NULL;
        return *text && !phase->workload
                   ? stn_err_set(r->err, STN_ENOMEM, "out of memory for a script")
                   : STN_OK;
    }
}

static stn_status row(reading *r, uint32_t count) {
    stn_script *script = r->script;
    if (count != r->count) {
        return wrong(r, "not as many cells as the first line has columns");
    }
    if (script->count == STN_SCRIPT_PHASES ||
        stn_grow(&script->phases, &script->capacity, script->count + 1, sizeof *script->phases) !=
            STN_OK) {
        return stn_err_set(r->err, STN_ENOMEM, "out of memory for a script");
    }
    stn_phase phase = {.line = r->line};
    stn_status status = STN_OK;
    for (uint32_t i = 0; i < count && status == STN_OK; i++) {
        status = read_cell(r, r->which[i], r->cells[i], &phase);
    }
    if (status != STN_OK) {
        stn_free(phase.workload);
        return status;
    }
    script->phases[script->count++] = phase;
    return STN_OK;
}

stn_status stn_script_parse(stn_script **out, const char *text, size_t size, const char *name,
                            stn_err *err) {
    reading r = {.script = stn_calloc(1, sizeof *r.script), .err = err};
    *out = NULL;
    if (r.script) {
        r.script->name = stn_strdup(name);
    }
    if (!r.script || !r.script->name) {
        stn_script_free(r.script);
        return stn_err_set(err, STN_ENOMEM, "out of memory for a script");
    }
    stn_status status = STN_OK;
    for (const char *at = text, *end = text + size; at < end && status == STN_OK;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        r.line++;
        uint32_t count = split(&r, at, stop);
        bool empty = count == 1 && r.cells[0][0] == '\0';
        if (count > COLUMNS) {
            status = wrong(&r, "more cells than there are columns, or one that is too long");
        } else if (!empty && *at != '#') {
            status = r.count == 0 ? header(&r, count) : row(&r, count);
        }
        at = stop + 1;
    }
    if (status == STN_OK && r.script->count == 0) {
        status = stn_err_set(err, STN_EFORMAT, "%s: holds no phase", name);
    }
    if (status != STN_OK) {
        stn_script_free(r.script);
        return status;
    }
    *out = r.script;
    return STN_OK;
}

stn_status stn_script_load(stn_script **out, const char *path, stn_err *err) {
    enum { MOST = 1 << 24 };
    *out = NULL;
    errno = 0;
    FILE *file = fopen(path, "rb");
    if (!file) {
        stn_status status = errno == ENOENT ? STN_ENOTFOUND : STN_EIO;
        return stn_err_set(err, status, "%s: %s", path, strerror(errno));
    }
    char *text = stn_malloc(MOST);
    size_t size = text ? fread(text, 1, MOST, file) : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    stn_status status = !text    ? stn_err_set(err, STN_ENOMEM, "out of memory for a script")
                        : failed ? stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno))
                        : size == MOST
                            ? stn_err_set(err, STN_EFORMAT, "%s: too long for a script", path)
                            : stn_script_parse(out, text, size, path, err);
    stn_free(text);
    return status;
}

void stn_script_free(stn_script *script) {
    if (script) {
        for (size_t i = 0; i < script->count; i++) {
            stn_free(script->phases[i].workload);
        }
        stn_free(script->phases);
        stn_free(script->name);
        stn_free(script);
    }
}
