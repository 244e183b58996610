/* Bringing one database into another. Series by series, both sides by rising point: the two lists
 * are walked together, so that memory is that of one series and nothing is looked up row by row. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "llm/latdb/handle.h"

typedef struct merge {
    stn_latdb *into, *from;
    stn_lat_conflict_fn conflict;
    void *user;
    const stn_lat_watch *watch;
    stn_lat_merged *merged;
    const stn_lat_series *series; /* that is walked */
} merge;

static int by_point(const stn_lat_row *a, const stn_lat_row *b) {
    for (size_t i = 0; i < STN_LAT_AXES_MAX; i++) {
        if (a->point[i] != b->point[i]) {
            return a->point[i] < b->point[i] ? -1 : 1;
        }
    }
    return 0;
}

static bool same_time(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static bool same(const stn_lat_row *a, const stn_lat_row *b) {
    return same_time(a->mean_ns, b->mean_ns) && same_time(a->median_ns, b->median_ns) &&
           same_time(a->min_ns, b->min_ns) && same_time(a->max_ns, b->max_ns) &&
           same_time(a->std_ns, b->std_ns) && a->count == b->count && a->source == b->source &&
           a->line == b->line && a->time_s == b->time_s;
}

/* What a database would not have taken is in the other: that one is at fault. */
static stn_status spoilt(const merge *m, stn_status status, stn_err *err) {
    return status == STN_ERANGE ? stn_latdb_say(m->from, STN_EFORMAT, err) : status;
}

static stn_status put(const merge *m, const stn_lat_row *row, stn_err *err) {
    stn_lat_source source;
    stn_lat_id id;
    stn_status status = stn_latdb_source(m->from, row->source, &source, err);
    status = status == STN_OK ? stn_latdb_source_put(m->into, &source, &id, err) : status;
    status = status == STN_OK ? stn_latdb_row_put(m->into, row, err) : status;
    return spoilt(m, status, err);
}

static stn_status meet(const merge *m, const stn_lat_row *there, const stn_lat_row *newcomer,
                       stn_err *err) {
    if (same(there, newcomer)) {
        m->merged->duplicates++;
        return STN_OK;
    }
    bool replaced = newcomer->count > there->count;
    m->merged->conflicts++;
    m->merged->replaced += replaced;
    stn_status status =
        m->conflict ? m->conflict(m->user, m->series, there, newcomer, replaced, err) : STN_OK;
    return status == STN_OK && replaced ? put(m, newcomer, err) : status;
}

static stn_status merge_rows(const merge *m, const stn_lat_row *there, size_t there_count,
                             const stn_lat_row *rows, size_t count, stn_err *err) {
    stn_status status = STN_OK;
    size_t at = 0;
    for (size_t i = 0; i < count && status == STN_OK; i++) {
        while (at < there_count && by_point(&there[at], &rows[i]) < 0) {
            at++;
        }
        m->merged->rows++;
        status = stn_latdb_tick(m->watch, m->merged->rows, err);
        if (status != STN_OK) {
            break;
        }
        if (at < there_count && by_point(&there[at], &rows[i]) == 0) {
            status = meet(m, &there[at], &rows[i], err);
        } else {
            m->merged->added++;
            status = put(m, &rows[i], err);
        }
    }
    return status;
}

static stn_status merge_series(void *user, const stn_lat_series *series, stn_err *err) {
    merge *m = user;
    stn_lat_row *rows = NULL;
    stn_lat_row *there = NULL;
    size_t count = 0;
    size_t there_count = 0;
    stn_lat_id id;
    m->series = series;
    stn_status status = stn_latdb_series_put(m->into, series->hardware, series->engine,
                                             series->signature, &id, err);
    status = spoilt(m, status, err);
    if (status == STN_OK && id != series->id) {
        status = stn_latdb_say(m->from,
                               stn_err_set(err, STN_EFORMAT,
                                           "a series has not the fingerprint of what it is; "
                                           "standin db check says more"),
                               err);
    }
    status =
        status == STN_OK ? stn_latdb_series_rows(m->from, series->id, &rows, &count, err) : status;
    status = status == STN_OK
                 ? stn_latdb_series_rows(m->into, series->id, &there, &there_count, err)
                 : status;
    status = status == STN_OK ? merge_rows(m, there, there_count, rows, count, err) : status;
    stn_lat_rows_free(rows);
    stn_lat_rows_free(there);
    return status;
}

stn_status stn_latdb_merge(stn_latdb *into, stn_latdb *from, stn_lat_conflict_fn conflict,
                           void *user, const stn_lat_watch *watch, stn_lat_merged *merged,
                           stn_err *err) {
    merge m = {into, from, conflict, user, watch, merged, NULL};
    if (!into->writing) {
        return stn_latdb_say(
            into, stn_err_set(err, STN_ERANGE, "a merge needs an open transaction"), err);
    }
    return stn_latdb_each_series(from, NULL, merge_series, &m, err);
}
