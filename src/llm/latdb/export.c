/* Rows as CSV: one line a row with everything that it belongs to, so that each can be read by
 * itself. The header is projected from the tables. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/data/outfile.h"
#include "llm/latdb/form.h"
#include "llm/latdb/handle.h"

typedef struct export {
    stn_latdb *db;
    stn_outfile *file;
    const char *path;
    const stn_lat_series *series;
    size_t axes; /* of the series */
    const stn_lat_watch *watch;
    uint64_t rows;
    bool begun; /* a cell stands in the line */
}
export;

static stn_status say(const export *out, stn_status status, stn_err *err) {
    return status == STN_OK ? status : stn_err_prepend(err, status, "%s", out->path);
}

static stn_status put(const export *out, const char *bytes, size_t size, stn_err *err) {
    return say(out, stn_outfile_write(out->file, bytes, size, err), err);
}

static stn_status cell(export *out, const char *text, stn_err *err) {
    stn_status status = out->begun ? put(out, ",", 1, err) : STN_OK;
    out->begun = true;
    if (status != STN_OK || !strpbrk(text, ",\"")) {
        return status == STN_OK ? put(out, text, strlen(text), err) : status;
    }
    status = put(out, "\"", 1, err);
    while (*text && status == STN_OK) {
        size_t size = strcspn(text, "\"");
        status = put(out, text, size, err);
        text += size;
        if (*text == '"' && status == STN_OK) {
            status = put(out, "\"\"", 2, err);
            text++;
        }
    }
    return status == STN_OK ? put(out, "\"", 1, err) : status;
}

static stn_status end_line(export *out, stn_err *err) {
    out->begun = false;
    return put(out, "\n", 1, err);
}

/* The tables whose columns make a line, and what stands before their names. */
static const struct {
    stn_lat_table_id table;
    const char *prefix;
} parts[] = {
    {STN_LAT_T_HARDWARE, "hardware_"}, {STN_LAT_T_ENGINE, "engine_"}, {STN_LAT_T_SIGNATURE, ""},
    {STN_LAT_T_LATENCY, ""},           {STN_LAT_T_SOURCE, "source_"},
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

/* Fingerprints follow from the rest and are left out. */
static bool left_out(const stn_lat_column *column) {
    return column->form == STN_LAT_GIVEN && column->type == STN_LAT_INT;
}

static stn_status write_header(export *out, stn_err *err) {
    stn_status status = STN_OK;
    for (size_t p = 0; p < PART_COUNT; p++) {
        const stn_lat_table *table = stn_lat_table_of(parts[p].table);
        for (size_t i = 0; i < table->count && status == STN_OK; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s", parts[p].prefix, table->columns[i].name);
            status = left_out(&table->columns[i]) ? STN_OK : cell(out, name, err);
        }
    }
    return status == STN_OK ? end_line(out, err) : status;
}

static stn_status write_value(export *out, const stn_lat_value *value, bool zero, stn_err *err) {
    char text[40] = "";
    if (value->type == STN_LAT_TEXT) {
        return cell(out, value->v.s, err);
    }
    if (value->type == STN_LAT_INT && (value->v.i || zero)) {
        snprintf(text, sizeof text, "%" PRId64, value->v.i);
    } else if (value->type == STN_LAT_REAL && !value->null) {
        snprintf(text, sizeof text, "%.17g", value->v.f);
        char brief[40];
        snprintf(brief, sizeof brief, "%.15g", value->v.f);
        double back;
        if (sscanf(brief, "%lf", &back) == 1 && back == value->v.f) {
            memcpy(text, brief, sizeof text);
        }
    }
    return cell(out, text, err);
}

static stn_status write_part(export *out, stn_lat_table_id id, const void *item, stn_err *err) {
    const stn_lat_table *table = stn_lat_table_of(id);
    stn_lat_value values[STN_LAT_COLUMNS_MAX];
    stn_status status = STN_OK;
    stn_lat_pack(table, item, values);
    for (size_t i = 0; i < table->count && status == STN_OK; i++) {
        /* 0 is "not known", but not as the coordinate of an axis. */
        bool axis = id == STN_LAT_T_LATENCY && i > 0 && i <= out->axes;
        status = left_out(&table->columns[i]) ? STN_OK : write_value(out, &values[i], axis, err);
    }
    return status;
}

static stn_status write_row(export *out, const stn_lat_row *row, stn_err *err) {
    stn_lat_source source;
    stn_status status = stn_latdb_source(out->db, row->source, &source, err);
    const void *items[PART_COUNT] = {out->series->hardware, out->series->engine,
                                     out->series->signature, row, &source};
    for (size_t p = 0; p < PART_COUNT && status == STN_OK; p++) {
        status = write_part(out, parts[p].table, items[p], err);
    }
    out->rows++;
    return status == STN_OK ? end_line(out, err) : status;
}

static stn_status write_series(void *user, const stn_lat_series *series, stn_err *err) {
    export *out = user;
    stn_lat_row *rows;
    size_t count;
    out->series = series;
    out->axes = stn_lat_axes_count(series->signature->axes);
    stn_status status = stn_latdb_series_rows(out->db, series->id, &rows, &count, err);
    for (size_t i = 0; i < count && status == STN_OK; i++) {
        status = write_row(out, &rows[i], err);
        status = status == STN_OK ? stn_latdb_tick(out->watch, out->rows, err) : status;
    }
    stn_lat_rows_free(rows);
    return status;
}

stn_status stn_latdb_export_csv(stn_latdb *db, const stn_lat_filter *filter, const char *path,
                                const stn_lat_watch *watch, uint64_t *rows, stn_err *err) {
    export out = {.db = db, .path = path, .watch = watch};
    stn_status status = say(&out, stn_outfile_open(&out.file, path, err), err);
    if (status != STN_OK) {
        return status;
    }
    status = write_header(&out, err);
    status = status == STN_OK ? stn_latdb_each_series(db, filter, write_series, &out, err) : status;
    *rows = out.rows;
    if (status != STN_OK) {
        stn_outfile_abort(out.file);
        return status;
    }
    return say(&out, stn_outfile_commit(out.file, err), err);
}
