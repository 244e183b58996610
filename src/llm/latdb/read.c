/* Reading: items of the small tables, series, rows. */
#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "llm/latdb/handle.h"

/* ---- one item -------------------------------------------------------- */

typedef struct fetch {
    stn_latdb *db;
    const stn_lat_table *table;
    stn_lat_item *item; /* in the database's arena; NULL: none came */
} fetch;

static stn_status keep(void *user, const stn_lat_value *values, stn_err *err) {
    fetch *f = user;
    stn_lat_value kept[STN_LAT_COLUMNS_MAX];
    stn_lat_item *item = stn_arena_alloc(&f->db->arena, sizeof *item);
    bool whole = item != NULL;
    for (size_t i = 0; i < f->table->count; i++) {
        kept[i] = values[i];
        if (whole && kept[i].type == STN_LAT_TEXT) {
            kept[i].v.s = stn_arena_text(&f->db->arena, values[i].v.s, strlen(values[i].v.s));
            whole = kept[i].v.s != NULL;
        }
    }
    if (!whole) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    stn_lat_unpack(f->table, kept, item);
    f->item = item;
    return STN_OK;
}

stn_status stn_latdb_item(stn_latdb *db, stn_lat_table_id table, stn_lat_id id, const void **item,
                          stn_err *err) {
    const uint64_t *cached = stn_map_get(&db->items, id);
    if (cached) {
        memcpy(item, cached, sizeof *item);
        return STN_OK;
    }
    fetch f = {db, stn_lat_table_of(table), NULL};
    stn_lat_value key = {.type = STN_LAT_INT, .v.i = (int64_t)id};
    stn_status status = stn_latdb_run(db, table, STN_LAT_SELECT_SOME, &key, keep, &f, err);
    if (status != STN_OK) {
        return status;
    }
    if (!f.item) {
        return stn_latdb_say(
            db, stn_err_set(err, STN_ENOTFOUND, "has no %s %016" PRIx64, f.table->name, id), err);
    }
    uint64_t *slot = stn_map_put(&db->items, id, NULL);
    if (!slot) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    *item = f.item;
    memcpy(slot, item, sizeof *item);
    return STN_OK;
}

/* ---- all items ------------------------------------------------------- */

/* The public functions of each kind of item: by its fingerprint, and all of them. */
#define ITEM(type, table)                                                                          \
    typedef struct type##_walk {                                                                   \
        stn_lat_##type##_fn each;                                                                  \
        void *user;                                                                                \
    } type##_walk;                                                                                 \
    static stn_status type##_visit(void *user, const stn_lat_value *values, stn_err *err) {        \
        const type##_walk *walk = user;                                                            \
        stn_lat_##type item;                                                                       \
        stn_lat_unpack(stn_lat_table_of(table), values, &item);                                    \
        return walk->each(walk->user, &item, err);                                                 \
    }                                                                                              \
    stn_status stn_latdb_each_##type(stn_latdb *db, stn_lat_##type##_fn each, void *user,          \
                                     stn_err *err) {                                               \
        type##_walk walk = {each, user};                                                           \
        return stn_latdb_run(db, table, STN_LAT_SELECT_ALL, NULL, type##_visit, &walk, err);       \
    }                                                                                              \
    stn_status stn_latdb_##type(stn_latdb *db, stn_lat_id id, stn_lat_##type *item,                \
                                stn_err *err) {                                                    \
        const void *found = NULL;                                                                  \
        stn_status status = stn_latdb_item(db, table, id, &found, err);                            \
        if (status == STN_OK && found) {                                                           \
            memcpy(item, found, sizeof *item);                                                     \
        }                                                                                          \
        return status;                                                                             \
    }

ITEM(hardware, STN_LAT_T_HARDWARE)
ITEM(engine, STN_LAT_T_ENGINE)
ITEM(signature, STN_LAT_T_SIGNATURE)
ITEM(source, STN_LAT_T_SOURCE)

/* ---- rows ------------------------------------------------------------ */

typedef struct row_walk {
    stn_lat_row_fn each;
    void *user;
} row_walk;

static stn_status visit_row(void *user, const stn_lat_value *values, stn_err *err) {
    const row_walk *walk = user;
    stn_lat_row row;
    stn_lat_unpack(stn_lat_table_of(STN_LAT_T_LATENCY), values, &row);
    return walk->each(walk->user, &row, err);
}

stn_status stn_latdb_each_row(stn_latdb *db, stn_lat_id series, stn_lat_row_fn each, void *user,
                              stn_err *err) {
    row_walk walk = {each, user};
    stn_lat_value key = {.type = STN_LAT_INT, .v.i = (int64_t)series};
    return stn_latdb_run(db, STN_LAT_T_LATENCY, STN_LAT_SELECT_SOME, &key, visit_row, &walk, err);
}

typedef struct row_list {
    stn_lat_row *items;
    size_t count, capacity;
} row_list;

static stn_status add_row(void *user, const stn_lat_row *row, stn_err *err) {
    row_list *list = user;
    if (stn_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    list->items[list->count++] = *row;
    return STN_OK;
}

stn_status stn_latdb_series_rows(stn_latdb *db, stn_lat_id series, stn_lat_row **rows,
                                 size_t *count, stn_err *err) {
    row_list list = {0};
    stn_status status = stn_latdb_each_row(db, series, add_row, &list, err);
    if (status != STN_OK) {
        stn_free(list.items);
        list = (row_list){0};
    }
    *rows = list.items;
    *count = list.count;
    return status;
}

stn_status stn_latdb_rows(stn_latdb *db, stn_lat_id hardware, stn_lat_id engine,
                          stn_lat_id signature, stn_lat_row **rows, size_t *count, stn_err *err) {
    stn_lat_id series = stn_lat_series_id(hardware, engine, signature);
    stn_status status = stn_latdb_series_rows(db, series, rows, count, err);
    if (status == STN_OK && !*count) {
        status = stn_latdb_say(db,
                               stn_err_set(err, STN_ENOTFOUND,
                                           "has no row of signature %016" PRIx64
                                           " on hardware %016" PRIx64 " under engine %016" PRIx64,
                                           signature, hardware, engine),
                               err);
    }
    return status;
}

void stn_lat_rows_free(stn_lat_row *rows) {
    stn_free(rows);
}

/* ---- series ---------------------------------------------------------- */

typedef struct series_row {
    stn_lat_id id, hardware, engine, signature;
    uint64_t rows;
} series_row;

typedef struct series_list {
    series_row *items;
    size_t count, capacity;
} series_list;

static stn_status add_series(void *user, const stn_lat_value *values, stn_err *err) {
    series_list *list = user;
    if (stn_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    list->items[list->count++] =
        (series_row){(uint64_t)values[0].v.i, (uint64_t)values[1].v.i, (uint64_t)values[2].v.i,
                     (uint64_t)values[3].v.i, (uint64_t)values[4].v.i};
    return STN_OK;
}

static stn_status visit_series(stn_latdb *db, const series_row *row, stn_lat_series_fn each,
                               void *user, stn_err *err) {
    const void *hardware = NULL;
    const void *engine = NULL;
    const void *signature = NULL;
    stn_status status = stn_latdb_item(db, STN_LAT_T_HARDWARE, row->hardware, &hardware, err);
    if (status == STN_OK) {
        status = stn_latdb_item(db, STN_LAT_T_ENGINE, row->engine, &engine, err);
    }
    if (status == STN_OK) {
        status = stn_latdb_item(db, STN_LAT_T_SIGNATURE, row->signature, &signature, err);
    }
    stn_lat_series series = {row->id, hardware, engine, signature, row->rows};
    return status == STN_OK ? each(user, &series, err) : status;
}

/* The list is read first, so that a callback may go on to the rows of its series. */
stn_status stn_latdb_each_series(stn_latdb *db, const stn_lat_filter *filter,
                                 stn_lat_series_fn each, void *user, stn_err *err) {
    static const stn_lat_query query = {
        .sql = "SELECT id, hardware, engine, signature, (SELECT COUNT(*) FROM latency WHERE "
               "latency.series=series.id) FROM series WHERE ($1=0 OR hardware=$1) AND "
               "($2=0 OR engine=$2) AND ($3=0 OR signature=$3) "
               "ORDER BY hardware, engine, signature",
        .in = {STN_LAT_INT, STN_LAT_INT, STN_LAT_INT},
        .in_count = 3,
        .out = {STN_LAT_INT, STN_LAT_INT, STN_LAT_INT, STN_LAT_INT, STN_LAT_INT},
        .out_count = 5,
    };
    stn_lat_filter any = {0};
    filter = filter ? filter : &any;
    stn_lat_value in[] = {{.type = STN_LAT_INT, .v.i = (int64_t)filter->hardware},
                          {.type = STN_LAT_INT, .v.i = (int64_t)filter->engine},
                          {.type = STN_LAT_INT, .v.i = (int64_t)filter->signature}};
    series_list list = {0};
    stn_status status = stn_latdb_query(db, &query, &db->list_series, in, add_series, &list, err);
    for (size_t i = 0; i < list.count && status == STN_OK; i++) {
        status = visit_series(db, &list.items[i], each, user, err);
    }
    stn_free(list.items);
    return status;
}
