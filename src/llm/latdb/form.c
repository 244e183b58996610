/* Canonical forms of texts, and what a whole item may hold. */
#include "llm/latdb/form.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that follow the first byte of a UTF-8 sequence; -1 if none begins so. */
static int utf8_more(unsigned char c) {
    return c < 0x80                ? 0
           : c >= 0xc2 && c < 0xe0 ? 1
           : c >= 0xe0 && c < 0xf0 ? 2
           : c >= 0xf0 && c < 0xf5 ? 3
                                   : -1;
}

bool stn_lat_text_clean(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        int more = utf8_more(*at);
        unsigned char first = *at;
        if (more < 0 || first < 0x20 || first == 0x7f) {
            return false;
        }
        /* Overlong, surrogates, beyond U+10FFFF: the second byte tells. */
        unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        for (; more > 0; more--, low = 0x80, high = 0xbf) {
            at++;
            if (*at < low || *at > high) {
                return false;
            }
        }
    }
    return true;
}

static size_t name_size(const char *text) {
    size_t size = 0;
    while (isalnum((unsigned char)text[size]) || text[size] == '_') {
        size++;
    }
    return size;
}

/* Does the name at @p a come before the one at @p b? */
static bool rises(const char *a, size_t a_size, const char *b, size_t b_size) {
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order < 0 || (order == 0 && a_size < b_size);
}

static bool whole_number(const char *text, size_t size) {
    if (size == 0 || size > 18 || (size > 1 && text[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)text[i])) {
            return false;
        }
    }
    return true;
}

static const char *pairs_wrong(const char *text, bool numbers) {
    const char *before = NULL;
    size_t before_size = 0;
    while (*text) {
        size_t size = name_size(text);
        if (size == 0 || text[size] != '=') {
            return "name=value pairs with commas between";
        }
        if (before && !rises(before, before_size, text, size)) {
            return "name=value pairs by rising name, each once";
        }
        before = text;
        before_size = size;
        text += size + 1;
        size = strcspn(text, ",");
        if (size == 0 || (numbers && !whole_number(text, size))) {
            return numbers ? "pairs whose values are whole numbers" : "pairs that all have a value";
        }
        text += size;
        if (*text == ',' && !*++text) {
            return "pairs with a comma only between them";
        }
    }
    return NULL;
}

static const char *axes_wrong(const char *text) {
    const char *names[STN_LAT_AXES_MAX];
    size_t sizes[STN_LAT_AXES_MAX];
    size_t count = 0;
    while (*text) {
        size_t size = name_size(text);
        if (count == STN_LAT_AXES_MAX) {
            return "at most 6 names";
        }
        if (size == 0 || (text[size] && text[size] != ',') || (text[size] && !text[size + 1])) {
            return "names with commas between";
        }
        for (size_t i = 0; i < count; i++) {
            if (sizes[i] == size && memcmp(names[i], text, size) == 0) {
                return "names that all differ";
            }
        }
        names[count] = text;
        sizes[count++] = size;
        text += size + (text[size] == ',');
    }
    return NULL;
}

size_t stn_lat_axes_count(const char *axes) {
    size_t count = *axes != '\0';
    for (; *axes; axes++) {
        count += *axes == ',';
    }
    return count;
}

const char *stn_lat_point_text(const char *axes, const int64_t *point, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; *axes && i < STN_LAT_AXES_MAX && used < size; i++) {
        int width = (int)strcspn(axes, ",");
        int more = snprintf(text + used, size - used, "%s%.*s=%" PRId64, i ? " " : "", width, axes,
                            point[i]);
        used += more > 0 ? (size_t)more : 0;
        axes += width + (axes[width] == ',');
    }
    return text;
}

const char *stn_lat_form_wrong(stn_lat_form form, const char *text) {
    switch (form) {
    case STN_LAT_GIVEN:
        return *text ? NULL : "not empty";
    case STN_LAT_DIMS:
        return pairs_wrong(text, true);
    case STN_LAT_SETTINGS:
        return pairs_wrong(text, false);
    case STN_LAT_AXES:
        return axes_wrong(text);
    case STN_LAT_HARDWARE_KIND:
        return strcmp(text, "cpu") == 0 || strcmp(text, "gpu") == 0 ? NULL : "cpu or gpu";
    case STN_LAT_SOURCE_KIND:
        return strcmp(text, "measured") == 0 || strcmp(text, "imported") == 0
                   ? NULL
                   : "measured or imported";
    case STN_LAT_ANY:
        break;
    }
    return NULL;
}

static stn_status text_check(const stn_lat_table *table, const stn_lat_column *column,
                             const char *text, stn_err *err) {
    const char *wrong = strlen(text) > STN_LAT_TEXT_MAX ? "at most 4000 bytes"
                        : !stn_lat_text_clean(text)     ? "UTF-8 without control characters"
                                                        : stn_lat_form_wrong(column->form, text);
    return wrong ? stn_err_set(err, STN_ERANGE, "%s: %s is \"%.100s\"; expected %s", table->name,
                               column->name, text, wrong)
                 : STN_OK;
}

stn_status stn_lat_table_check(const stn_lat_table *table, const void *item, stn_err *err) {
    stn_lat_value values[STN_LAT_COLUMNS_MAX];
    stn_lat_pack(table, item, values);
    for (size_t i = 0; i < table->count; i++) {
        const stn_lat_column *column = &table->columns[i];
        stn_status status = STN_OK;
        if (column->type == STN_LAT_TEXT) {
            status = text_check(table, column, values[i].v.s, err);
        } else if (column->type == STN_LAT_INT &&
                   (values[i].v.i < 0 || (column->form == STN_LAT_GIVEN && !values[i].v.i))) {
            status = stn_err_set(err, STN_ERANGE, "%s: %s is %" PRId64 "; expected %s", table->name,
                                 column->name, values[i].v.i,
                                 column->form == STN_LAT_GIVEN ? "a fingerprint"
                                                               : "a number of 0 or more");
        }
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

/* ---- dimensions ------------------------------------------------------ */

typedef struct dim {
    const char *name;
    int64_t value;
} dim;

static int by_name(const void *a, const void *b) {
    return strcmp(((const dim *)a)->name, ((const dim *)b)->name);
}

stn_status stn_lat_dims(const char *const *names, const int64_t *values, size_t count, char *text,
                        size_t size, stn_err *err) {
    dim dims[64];
    if (count > sizeof dims / sizeof *dims || size == 0) {
        return stn_err_set(err, STN_ERANGE, "%zu dimensions; at most 64 are taken", count);
    }
    for (size_t i = 0; i < count; i++) {
        dims[i] = (dim){names[i], values[i]};
    }
    qsort(dims, count, sizeof *dims, by_name);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        int more = snprintf(text + used, size - used, "%s%s=%" PRId64, i ? "," : "", dims[i].name,
                            dims[i].value);
        if (more < 0 || (size_t)more >= size - used) {
            text[0] = '\0';
            return stn_err_set(err, STN_ERANGE, "%zu dimensions do not fit into %zu bytes", count,
                               size);
        }
        used += (size_t)more;
    }
    const char *wrong = stn_lat_form_wrong(STN_LAT_DIMS, text);
    if (wrong) {
        stn_status status =
            stn_err_set(err, STN_ERANGE, "dimensions are \"%.200s\"; expected %s", text, wrong);
        text[0] = '\0';
        return status;
    }
    return STN_OK;
}

/* ---- rows ------------------------------------------------------------ */

double stn_lat_row_ns(const stn_lat_row *row) {
    return isnan(row->median_ns) ? row->mean_ns : row->median_ns;
}

static stn_status time_check(const char *name, double ns, stn_err *err) {
    if (isnan(ns) || (ns > 0 && ns < STN_LAT_TIME_MAX_NS)) {
        return STN_OK;
    }
    return stn_err_set(err, STN_ERANGE,
                       "%s is %g ns; an operation takes more than 0 and less than "
                       "an hour",
                       name, ns);
}

/* NAN compares as false: what is not known contradicts nothing. */
static stn_status order_check(const stn_lat_row *row, stn_err *err) {
    const struct {
        const char *low_name, *high_name;
        double low, high;
    } orders[] = {
        {"min_ns", "median_ns", row->min_ns, row->median_ns},
        {"min_ns", "mean_ns", row->min_ns, row->mean_ns},
        {"median_ns", "max_ns", row->median_ns, row->max_ns},
        {"mean_ns", "max_ns", row->mean_ns, row->max_ns},
        {"min_ns", "max_ns", row->min_ns, row->max_ns},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        /* A mean of equal times may differ from them in its last digits. */
        if (orders[i].low > orders[i].high * (1 + 1e-9)) {
            return stn_err_set(err, STN_ERANGE, "%s is %g and %s is %g; expected it to be no less",
                               orders[i].low_name, orders[i].low, orders[i].high_name,
                               orders[i].high);
        }
    }
    return STN_OK;
}

stn_status stn_lat_row_check(const stn_lat_row *row, stn_err *err) {
    const struct {
        const char *name;
        double ns;
    } times[] = {{"mean_ns", row->mean_ns},
                 {"median_ns", row->median_ns},
                 {"min_ns", row->min_ns},
                 {"max_ns", row->max_ns}};
    stn_status status = stn_lat_table_check(stn_lat_table_of(STN_LAT_T_LATENCY), row, err);
    for (size_t i = 0; i < sizeof times / sizeof *times && status == STN_OK; i++) {
        status = time_check(times[i].name, times[i].ns, err);
    }
    if (status == STN_OK && isnan(row->mean_ns) && isnan(row->median_ns)) {
        status = stn_err_set(err, STN_ERANGE, "neither mean_ns nor median_ns is known");
    }
    if (status == STN_OK && (row->std_ns < 0 || row->std_ns >= STN_LAT_TIME_MAX_NS)) {
        status = stn_err_set(err, STN_ERANGE, "std_ns is %g; expected 0 or more, less than an hour",
                             row->std_ns);
    }
    return status == STN_OK ? order_check(row, err) : status;
}
