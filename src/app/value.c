/* Words of the command line to values, and values to words. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/value.h"
#include "core/base/alloc.h"

typedef struct unit {
    const char *suffix;
    double factor;
} unit;

static const unit count_units[] = {{"", 1},    {"k", 1e3},  {"K", 1e3}, {"M", 1e6},
                                   {"G", 1e9}, {"T", 1e12}, {NULL, 0}};
static const unit size_units[] = {{"", 1},         {"k", 0x1p10},   {"K", 0x1p10},   {"M", 0x1p20},
                                  {"G", 0x1p30},   {"KB", 0x1p10},  {"MB", 0x1p20},  {"GB", 0x1p30},
                                  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {NULL, 0}};
static const unit time_units[] = {{"", 1e9},   {"s", 1e9},  {"ns", 1},     {"us", 1e3}, {"µs", 1e3},
                                  {"ms", 1e6}, {"m", 60e9}, {"h", 3600e9}, {NULL, 0}};

/* A decimal number and one of the units. Only digits and a point: strtod would also take
 * "inf", "0x1p3" and a sign. */
static bool scaled(const char *text, size_t size, const unit *units, uint64_t *out) {
    size_t digits = strspn(text, "0123456789.");
    digits = digits < size ? digits : size;
    if (digits == 0 || digits > 30 || text[0] == '.') {
        return false;
    }
    char number[32];
    memcpy(number, text, digits);
    number[digits] = '\0';
    char *end = NULL;
    double value = strtod(number, &end);
    if (*end) {
        return false;
    }
    bool whole = !strchr(number, '.');
    for (const unit *u = units; u->suffix; u++) {
        if (strlen(u->suffix) != size - digits ||
            memcmp(u->suffix, text + digits, size - digits) != 0) {
            continue;
        }
        double product = value * u->factor;
        if (product >= 0x1p63) {
            return false;
        }
        /* Exact for whole numbers beyond 2^53 too. */
        *out =
            whole ? strtoull(number, NULL, 10) * (uint64_t)u->factor : (uint64_t)llround(product);
        return true;
    }
    return false;
}

stn_status stn_value_count(const char *text, uint64_t *out, stn_err *err) {
    if (!scaled(text, strlen(text), count_units, out)) {
        return stn_err_set(err, STN_ERANGE,
                           "\"%s\" is no count; expected a number like 250, 10k or 1M", text);
    }
    return STN_OK;
}

stn_status stn_value_size(const char *text, uint64_t *out, stn_err *err) {
    if (!scaled(text, strlen(text), size_units, out)) {
        return stn_err_set(err, STN_ERANGE,
                           "\"%s\" is no size; expected bytes like 4096, 64K or 256M", text);
    }
    return STN_OK;
}

stn_status stn_value_duration(const char *text, uint64_t *out, stn_err *err) {
    if (!scaled(text, strlen(text), time_units, out)) {
        return stn_err_set(err, STN_ERANGE,
                           "\"%s\" is no duration; expected one like 10s, 250ms or 5m", text);
    }
    return STN_OK;
}

stn_status stn_value_range(const char *text, stn_range *out, stn_err *err) {
    const char *dots = strstr(text, "..");
    stn_range range = {0, 0};
    bool good = dots != NULL && dots[2] != '.' && strlen(text) > 2;
    if (good && dots > text) {
        good = scaled(text, (size_t)(dots - text), time_units, &range.begin_ns);
    }
    if (good && dots[2]) {
        good = scaled(dots + 2, strlen(dots + 2), time_units, &range.end_ns);
    }
    if (!good) {
        return stn_err_set(
            err, STN_ERANGE,
            "\"%s\" is no time range; expected A..B in seconds, like 1.5..3 or 200ms..", text);
    }
    if (dots[2] && range.end_ns <= range.begin_ns) {
        return stn_err_set(err, STN_ERANGE, "\"%s\" ends before it begins", text);
    }
    *out = range;
    return STN_OK;
}

static stn_status push_number(stn_numbers *list, long value, stn_err *err) {
    if (stn_grow((void *)&list->items, &list->capacity, list->count + 1, sizeof *list->items) !=
        STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    list->items[list->count++] = (int32_t)value;
    return STN_OK;
}

/* The next number of a list; moves @p at behind it. */
static bool list_number(const char **at, long *out) {
    if (**at < '0' || **at > '9') {
        return false;
    }
    char *end = NULL;
    errno = 0;
    *out = strtol(*at, &end, 10);
    *at = end;
    return errno == 0 && *out <= INT32_MAX;
}

stn_status stn_value_numbers(const char *text, stn_numbers *out, stn_err *err) {
    const char *at = text;
    for (;;) {
        long first = 0;
        long last = 0;
        bool good = list_number(&at, &first);
        last = first;
        if (good && *at == '-') {
            at++;
            good = list_number(&at, &last) && last >= first && last - first < 65536;
        }
        if (!good || (*at && *at != ',')) {
            return stn_err_set(err, STN_ERANGE, "\"%s\" is no list; expected numbers like 0,2-3",
                               text);
        }
        for (long value = first; value <= last; value++) {
            stn_status status = push_number(out, value, err);
            if (status != STN_OK) {
                return status;
            }
        }
        if (!*at) {
            return STN_OK;
        }
        at++;
    }
}

const char *stn_value_grouped(uint64_t value, char buffer[32]) {
    char plain[24];
    int size = snprintf(plain, sizeof plain, "%" PRIu64, value);
    char *to = buffer;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = plain[i];
    }
    *to = '\0';
    return buffer;
}

/* Three significant digits. */
static const char *three(double value, const char *suffix, char buffer[32]) {
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(buffer, 32, "%.*f%s", decimals, value, suffix);
    return buffer;
}

const char *stn_value_time(double ns, char buffer[32]) {
    if (ns < 999.5) {
        snprintf(buffer, 32, "%.0f ns", ns);
        return buffer;
    }
    return ns < 999.5e3   ? three(ns / 1e3, " us", buffer)
           : ns < 999.5e6 ? three(ns / 1e6, " ms", buffer)
                          : three(ns / 1e9, " s", buffer);
}

const char *stn_value_short(double value, char buffer[32]) {
    if (value < 999.5) {
        snprintf(buffer, 32, "%.0f", value);
        return buffer;
    }
    return value < 999.5e3   ? three(value / 1e3, " k", buffer)
           : value < 999.5e6 ? three(value / 1e6, " M", buffer)
                             : three(value / 1e9, " G", buffer);
}
