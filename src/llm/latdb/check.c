/* Looking at everything that a database holds. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "llm/latdb/form.h"
#include "llm/latdb/handle.h"

typedef struct inspection {
    stn_latdb *db;
    stn_lat_fault_fn fault;
    void *user;
    stn_lat_checked *checked;
    const stn_lat_watch *watch;
    stn_lat_table_id table; /* whose items are looked at */
    uint64_t *count;        /* of them */
    size_t axes;            /* of the series whose rows are looked at */
    const char *axes_names;
    stn_lat_id series;
} inspection;

static void tell(inspection *in, const char *fmt, ...) STN_PRINTF(2, 3);

static void tell(inspection *in, const char *fmt, ...) {
    char text[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    in->checked->faults++;
    if (in->fault) {
        in->fault(in->user, text);
    }
}

static void tell_verify(void *user, const char *fault) {
    tell(user, "%s", fault);
}

static stn_status inspect_item(void *user, const stn_lat_value *values, stn_err *err) {
    inspection *in = user;
    const stn_lat_table *table = stn_lat_table_of(in->table);
    stn_lat_item item;
    stn_err why = {{0}};
    (void)err;
    stn_lat_unpack(table, values, &item);
    ++*in->count;
    if (stn_lat_table_check(table, &item, &why) != STN_OK) {
        tell(in, "%s (%016" PRIx64 ")", why.text, item.id);
    }
    stn_lat_id right = stn_lat_fingerprint(table, &item);
    if (right != item.id) {
        tell(in, "%s %016" PRIx64 ": its fingerprint should be %016" PRIx64, table->name, item.id,
             right);
    }
    return STN_OK;
}

static stn_status inspect_items(inspection *in, stn_err *err) {
    const struct {
        stn_lat_table_id table;
        uint64_t *count;
    } kinds[] = {{STN_LAT_T_HARDWARE, &in->checked->hardware},
                 {STN_LAT_T_ENGINE, &in->checked->engines},
                 {STN_LAT_T_SIGNATURE, &in->checked->signatures},
                 {STN_LAT_T_SOURCE, &in->checked->sources},
                 {STN_LAT_T_SERIES, &in->checked->series}};
    stn_status status = STN_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == STN_OK; i++) {
        in->table = kinds[i].table;
        in->count = kinds[i].count;
        status =
            stn_latdb_run(in->db, kinds[i].table, STN_LAT_SELECT_ALL, NULL, inspect_item, in, err);
    }
    return status;
}

/* What refers to what is not there: id of the one that refers, and of the one that is missing. */
static stn_status inspect_orphan(void *user, const stn_lat_value *values, stn_err *err) {
    (void)err;
    tell(user, "%s %016" PRIx64 " refers to %s %016" PRIx64 ", which is not there", values[0].v.s,
         (uint64_t)values[1].v.i, values[2].v.s, (uint64_t)values[3].v.i);
    return STN_OK;
}

#define ORPHANS(from, column, to)                                                                  \
    "SELECT DISTINCT '" from "', " from "." #column ", '" to "', " from "." to " FROM " from       \
    " LEFT JOIN " to " ON " to ".id=" from "." to " WHERE " to ".id IS NULL"

static stn_status inspect_references(inspection *in, stn_err *err) {
    static const char *const sql[] = {
        ORPHANS("series", id, "hardware"),    ORPHANS("series", id, "engine"),
        ORPHANS("series", id, "signature"),   ORPHANS("latency", series, "source"),
        ORPHANS("latency", series, "series"),
    };
    static const stn_lat_query shape = {
        .out = {STN_LAT_TEXT, STN_LAT_INT, STN_LAT_TEXT, STN_LAT_INT}, .out_count = 4};
    stn_lat_query queries[sizeof sql / sizeof *sql];
    stn_status status = STN_OK;
    for (size_t i = 0; i < sizeof sql / sizeof *sql && status == STN_OK; i++) {
        void *statement = NULL;
        queries[i] = shape;
        queries[i].sql = sql[i];
        status = stn_latdb_query(in->db, &queries[i], &statement, NULL, inspect_orphan, in, err);
    }
    return status;
}

static stn_status inspect_row(void *user, const stn_lat_row *row, stn_err *err) {
    inspection *in = user;
    stn_err why = {{0}};
    in->checked->rows++;
    stn_status status = stn_lat_row_check(row, &why);
    for (size_t i = in->axes; i < STN_LAT_AXES_MAX && status == STN_OK; i++) {
        if (row->point[i]) {
            status =
                stn_err_set(&why, STN_ERANGE, "p%zu is %" PRId64 "; the signature has %zu axes", i,
                            row->point[i], in->axes);
        }
    }
    if (status != STN_OK) {
        char point[300];
        tell(in, "series %016" PRIx64 " at %s: %s", in->series,
             stn_lat_point_text(in->axes_names, row->point, point, sizeof point), why.text);
    }
    return stn_latdb_tick(in->watch, in->checked->rows, err);
}

static stn_status inspect_series(void *user, const stn_lat_series *series, stn_err *err) {
    inspection *in = user;
    in->series = series->id;
    in->axes_names = series->signature->axes;
    in->axes = stn_lat_axes_count(series->signature->axes);
    in->axes = in->axes < STN_LAT_AXES_MAX ? in->axes : STN_LAT_AXES_MAX;
    return stn_latdb_each_row(in->db, series->id, inspect_row, in, err);
}

stn_status stn_latdb_check(stn_latdb *db, stn_lat_fault_fn fault, void *user,
                           const stn_lat_watch *watch, stn_lat_checked *checked, stn_err *err) {
    inspection in = {.db = db, .fault = fault, .user = user, .watch = watch, .checked = checked};
    memset(checked, 0, sizeof *checked);
    stn_status status = STN_OK;
    if (db->driver->verify) {
        status = stn_latdb_say(db, db->driver->verify(db->self, tell_verify, &in, err), err);
    }
    status = status == STN_OK ? inspect_items(&in, err) : status;
    status = status == STN_OK ? inspect_references(&in, err) : status;
    /* Rows of series that are not whole were told above; walking them needs what is missing. */
    if (status == STN_OK) {
        status = stn_latdb_each_series(db, NULL, inspect_series, &in, err);
        status = status == STN_ENOTFOUND && checked->faults ? STN_OK : status;
    }
    return status;
}
