/* An open latency database: places, transactions, putting. What a place is decides the driver. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "llm/latdb/handle.h"

stn_status stn_latdb_say(const stn_latdb *db, stn_status status, stn_err *err) {
    return status == STN_OK ? status : stn_err_prepend(err, status, "%s", db->place);
}

stn_status stn_latdb_tick(const stn_lat_watch *watch, uint64_t done, stn_err *err) {
    if (!watch || done % 1024 || watch->progress(watch->user, done, 0)) {
        return STN_OK;
    }
    return stn_err_set(err, STN_EINTR, "interrupted; nothing was written");
}

/* ---- places ---------------------------------------------------------- */

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_postgres(const char *place) {
    return begins(place, "postgresql://") || begins(place, "postgres://");
}

/* Cut @p size bytes of @p text at @p at down to "***"; there is room. */
static void hide(char *text, size_t at, size_t size) {
    char *rest = text + at + size;
    memmove(text + at + 3, rest, strlen(rest) + 1);
    memset(text + at, '*', 3);
}

/* A copy of a place without passwords: in a URL they lie between ':' and the last '@' before the
 * path, and behind "password=". */
static char *without_password(const char *place) {
    size_t room = strlen(place) + 2 * sizeof "***";
    char *copy = stn_malloc(room);
    if (!copy) {
        return NULL;
    }
    snprintf(copy, room, "%s", place);
    if (!is_postgres(place)) {
        return copy;
    }
    const char *host = strstr(copy, "://") + 3;
    size_t size = strcspn(host, "/?");
    const char *colon = memchr(host, ':', size);
    const char *sign = memrchr(host, '@', size);
    if (colon && sign && colon < sign) {
        hide(copy, (size_t)(colon + 1 - copy), (size_t)(sign - colon - 1));
    }
    const char *key = strstr(copy, "password=");
    if (key) {
        const char *value = key + sizeof "password=" - 1;
        hide(copy, (size_t)(value - copy), strcspn(value, "&"));
    }
    return copy;
}

static const stn_lat_driver *driver_of(const char *place, stn_err *err) {
    size_t scheme = 0;
    while (isalnum((unsigned char)place[scheme]) ||
           (scheme && strchr("+-.", place[scheme]) && place[scheme])) {
        scheme++;
    }
    if (is_postgres(place)) {
        return &stn_lat_postgres;
    }
    if (scheme && begins(place + scheme, "://")) {
        (void)stn_err_set(err, STN_EUNSUPPORTED,
                          "no database of this kind; there are SQLite files and postgresql://");
        return NULL;
    }
    return &stn_lat_sqlite;
}

/* ---- opening --------------------------------------------------------- */

static stn_status open_place(stn_latdb *db, const char *place, const stn_lat_migration *migrations,
                             size_t count, stn_err *err) {
    db->driver = driver_of(place, err);
    if (!db->driver) {
        return stn_latdb_say(db, STN_EUNSUPPORTED, err);
    }
    stn_status status = db->driver->open(&db->self, place, db->mode, err);
    if (status == STN_OK) {
        status = stn_lat_schema_ready(db->driver, db->self, db->mode, migrations, count,
                                      &db->schema, err);
    }
    return stn_latdb_say(db, status, err);
}

/* A database of an older schema that is opened to read: somebody has to write it once. */
static stn_status bring_up(stn_latdb *db, const char *place, const stn_lat_migration *migrations,
                           size_t count, stn_err *err) {
    stn_latdb *writer;
    uint32_t newest = migrations[count - 1].version;
    stn_status status = stn_latdb_open_as(&writer, place, STN_LATDB_WRITE, migrations, count, err);
    stn_latdb_close(writer);
    if (status != STN_OK) {
        return stn_err_prepend(err, status, "schema %" PRIu32 " cannot be brought up to %" PRIu32,
                               db->schema, newest);
    }
    db->schema = newest;
    return STN_OK;
}

stn_status stn_latdb_open_as(stn_latdb **out, const char *place, stn_latdb_mode mode,
                             const stn_lat_migration *migrations, size_t count, stn_err *err) {
    *out = NULL;
    if (!*place) {
        return stn_err_set(err, STN_ERANGE, "a database needs a name");
    }
    stn_latdb *db = stn_calloc(1, sizeof *db);
    char *shown = db ? without_password(place) : NULL;
    if (!shown) {
        stn_free(db);
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    db->place = shown;
    db->mode = mode;
    stn_status status = open_place(db, place, migrations, count, err);
    if (status == STN_OK && db->schema < migrations[count - 1].version) {
        status = bring_up(db, place, migrations, count, err);
    }
    if (status != STN_OK) {
        stn_latdb_close(db);
        return status;
    }
    *out = db;
    return STN_OK;
}

stn_status stn_latdb_open(stn_latdb **out, const char *place, stn_latdb_mode mode, stn_err *err) {
    size_t count;
    const stn_lat_migration *migrations = stn_lat_migrations(&count);
    return stn_latdb_open_as(out, place, mode, migrations, count, err);
}

void stn_latdb_close(stn_latdb *db) {
    if (!db) {
        return;
    }
    stn_latdb_rollback(db);
    if (db->driver) {
        db->driver->close(db->self);
    }
    stn_map_fini(&db->known);
    stn_map_fini(&db->items);
    stn_arena_fini(&db->arena);
    stn_free(db->place);
    stn_free(db);
}

const char *stn_latdb_place(const stn_latdb *db) {
    return db->place;
}

const char *stn_latdb_backend(const stn_latdb *db) {
    return db->driver->name;
}

uint32_t stn_latdb_schema(const stn_latdb *db) {
    return db->schema;
}

/* ---- statements ------------------------------------------------------ */

static stn_status busy(const stn_latdb *db, stn_err *err) {
    return db->walking
               ? stn_latdb_say(
                     db, stn_err_set(err, STN_ERANGE, "is being read; a callback may not use it"),
                     err)
               : STN_OK;
}

/* Tells an error of the callback, which has its own words, from one of the database. */
typedef struct visit {
    stn_lat_query_fn each;
    void *user;
    bool refused;
} visit;

static stn_status visit_row(void *user, const stn_lat_value *values, stn_err *err) {
    visit *v = user;
    stn_status status = v->each(v->user, values, err);
    v->refused = status != STN_OK;
    return status;
}

static stn_status run(stn_latdb *db, void *statement, const stn_lat_value *in,
                      stn_lat_query_fn each, void *user, stn_err *err) {
    visit v = {each, user, false};
    db->walking = true;
    stn_status status = db->driver->run(db->self, statement, in, each ? visit_row : NULL, &v, err);
    db->walking = false;
    return v.refused ? status : stn_latdb_say(db, status, err);
}

static void write_sql(stn_lat_sql *sql, const stn_lat_table *table, stn_lat_verb verb) {
    if (verb == STN_LAT_INSERT) {
        stn_lat_sql_insert(sql, table);
    } else {
        stn_lat_sql_select(sql, table, verb == STN_LAT_SELECT_SOME);
    }
}

stn_status stn_latdb_query(stn_latdb *db, const stn_lat_query *query, void **statement,
                           const stn_lat_value *in, stn_lat_query_fn each, void *user,
                           stn_err *err) {
    stn_status status = busy(db, err);
    if (status == STN_OK && !*statement) {
        void *made;
        status = stn_latdb_say(db, db->driver->prepare(db->self, query, &made, err), err);
        *statement = status == STN_OK ? made : NULL;
    }
    return status == STN_OK ? run(db, *statement, in, each, user, err) : status;
}

stn_status stn_latdb_run(stn_latdb *db, stn_lat_table_id table, stn_lat_verb verb,
                         const stn_lat_value *in, stn_lat_query_fn each, void *user, stn_err *err) {
    stn_lat_prepared *p = &db->prepared[table][verb];
    if (!p->statement) {
        write_sql(&p->sql, stn_lat_table_of(table), verb);
    }
    return stn_latdb_query(db, &p->sql.query, &p->statement, in, each, user, err);
}

/* ---- transactions ---------------------------------------------------- */

static stn_status writable(const stn_latdb *db, stn_err *err) {
    stn_status status = busy(db, err);
    if (status == STN_OK && db->mode == STN_LATDB_READ) {
        status = stn_latdb_say(db, stn_err_set(err, STN_EPERM, "was opened to read"), err);
    }
    return status;
}

stn_status stn_latdb_begin(stn_latdb *db, stn_err *err) {
    stn_status status = writable(db, err);
    if (status == STN_OK && db->writing) {
        status = stn_latdb_say(db, stn_err_set(err, STN_ERANGE, "a transaction is open"), err);
    }
    if (status == STN_OK) {
        db->writing = true;
        status = stn_latdb_say(db, db->driver->begin(db->self, err), err);
        if (status != STN_OK) {
            stn_latdb_rollback(db);
        }
    }
    return status;
}

stn_status stn_latdb_commit(stn_latdb *db, stn_err *err) {
    stn_status status = writable(db, err);
    if (status == STN_OK && !db->writing) {
        status = stn_latdb_say(db, stn_err_set(err, STN_ERANGE, "no transaction is open"), err);
    }
    if (status == STN_OK) {
        status = stn_latdb_say(db, db->driver->commit(db->self, err), err);
        if (status == STN_OK) {
            db->writing = false;
        } else {
            stn_latdb_rollback(db);
        }
    }
    return status;
}

void stn_latdb_rollback(stn_latdb *db) {
    if (db->writing) {
        db->driver->rollback(db->self);
        db->writing = false;
        stn_map_clear(&db->known);
        stn_map_clear(&db->items);
    }
}

/* A call that puts has a transaction of its own unless one is open. */
static stn_status put_begin(stn_latdb *db, bool *own, stn_err *err) {
    stn_status status = writable(db, err);
    *own = status == STN_OK && !db->writing;
    return *own ? stn_latdb_begin(db, err) : status;
}

static stn_status put_end(stn_latdb *db, bool own, stn_status status, stn_err *err) {
    if (own && status == STN_OK) {
        return stn_latdb_commit(db, err);
    }
    if (own) {
        stn_latdb_rollback(db);
    }
    return status;
}

/* ---- items ----------------------------------------------------------- */

/* An item that is there, held against the one that is put. */
typedef struct comparison {
    const stn_lat_table *table;
    const void *item;
    bool found, same;
} comparison;

static stn_status compare(void *user, const stn_lat_value *there, stn_err *err) {
    comparison *c = user;
    stn_lat_value mine[STN_LAT_COLUMNS_MAX];
    (void)err;
    stn_lat_pack(c->table, c->item, mine);
    c->found = c->same = true;
    for (size_t i = 0; i < c->table->count; i++) {
        const stn_lat_column *column = &c->table->columns[i];
        bool same = column->type == STN_LAT_TEXT ? strcmp(mine[i].v.s, there[i].v.s) == 0
                                                 : mine[i].v.i == there[i].v.i;
        c->same = c->same && (same || !column->identity);
    }
    return STN_OK;
}

static stn_status remember(stn_latdb *db, stn_lat_id id, stn_err *err) {
    uint64_t *slot = stn_map_put(&db->known, id, NULL);
    if (!slot) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    *slot = 1;
    return STN_OK;
}

/* Inside a transaction. @param item with its fingerprint */
static stn_status put_item(stn_latdb *db, stn_lat_table_id id, const stn_lat_item *item,
                           stn_err *err) {
    const stn_lat_table *table = stn_lat_table_of(id);
    stn_lat_value values[STN_LAT_COLUMNS_MAX];
    if (stn_map_get(&db->known, item->id)) {
        return STN_OK;
    }
    stn_status status = stn_latdb_say(db, stn_lat_table_check(table, item, err), err);
    if (status == STN_OK) {
        stn_lat_pack(table, item, values);
        status = stn_latdb_run(db, id, STN_LAT_INSERT, values, NULL, NULL, err);
    }
    if (status == STN_OK) {
        comparison c = {table, item, false, false};
        status = stn_latdb_run(db, id, STN_LAT_SELECT_SOME, values, compare, &c, err);
        if (status == STN_OK && !c.same) {
            status = stn_latdb_say(db,
                                   stn_err_set(err, STN_ECHECK,
                                               "two things have the fingerprint %016" PRIx64
                                               " in the table %s",
                                               item->id, table->name),
                                   err);
        }
    }
    return status == STN_OK ? remember(db, item->id, err) : status;
}

stn_status stn_latdb_series_put(stn_latdb *db, const stn_lat_hardware *hardware,
                                const stn_lat_engine *engine, const stn_lat_signature *signature,
                                stn_lat_id *series, stn_err *err) {
    stn_lat_item items[] = {
        [STN_LAT_T_HARDWARE].hardware = *hardware,
        [STN_LAT_T_ENGINE].engine = *engine,
        [STN_LAT_T_SIGNATURE].signature = *signature,
        [STN_LAT_T_SERIES].series = {0},
    };
    stn_lat_link *link = &items[STN_LAT_T_SERIES].series;
    link->hardware = items[STN_LAT_T_HARDWARE].id = stn_lat_hardware_id(hardware);
    link->engine = items[STN_LAT_T_ENGINE].id = stn_lat_engine_id(engine);
    link->signature = items[STN_LAT_T_SIGNATURE].id = stn_lat_signature_id(signature);
    link->id = stn_lat_series_id(link->hardware, link->engine, link->signature);
    static const stn_lat_table_id order[] = {STN_LAT_T_HARDWARE, STN_LAT_T_ENGINE,
                                             STN_LAT_T_SIGNATURE, STN_LAT_T_SERIES};
    bool own;
    stn_status status = put_begin(db, &own, err);
    for (size_t i = 0; i < sizeof order / sizeof *order && status == STN_OK; i++) {
        status = put_item(db, order[i], &items[order[i]], err);
    }
    status = put_end(db, own, status, err);
    *series = status == STN_OK ? link->id : 0;
    return status;
}

stn_status stn_latdb_source_put(stn_latdb *db, const stn_lat_source *source, stn_lat_id *id,
                                stn_err *err) {
    stn_lat_item item = {.source = *source};
    item.id = stn_lat_source_id(source);
    bool own;
    stn_status status = put_begin(db, &own, err);
    status = status == STN_OK ? put_item(db, STN_LAT_T_SOURCE, &item, err) : status;
    status = put_end(db, own, status, err);
    *id = status == STN_OK ? item.id : 0;
    return status;
}

/* ---- rows ------------------------------------------------------------ */

static stn_status exists(void *user, const stn_lat_value *values, stn_err *err) {
    (void)values;
    (void)err;
    *(bool *)user = true;
    return STN_OK;
}

/* What a row refers to has to be there: asked once for each. */
static stn_status refer(stn_latdb *db, stn_lat_table_id table, stn_lat_id id, stn_err *err) {
    stn_lat_value key = {.type = STN_LAT_INT, .v.i = (int64_t)id};
    bool found = false;
    if (stn_map_get(&db->known, id)) {
        return STN_OK;
    }
    stn_status status = stn_latdb_run(db, table, STN_LAT_SELECT_SOME, &key, exists, &found, err);
    if (status == STN_OK && !found) {
        status = stn_latdb_say(db,
                               stn_err_set(err, STN_ENOTFOUND, "has no %s %016" PRIx64,
                                           stn_lat_table_of(table)->name, id),
                               err);
    }
    return status == STN_OK ? remember(db, id, err) : status;
}

stn_status stn_latdb_row_put(stn_latdb *db, const stn_lat_row *row, stn_err *err) {
    stn_lat_value values[STN_LAT_COLUMNS_MAX];
    bool own;
    stn_status status = stn_latdb_say(db, stn_lat_row_check(row, err), err);
    if (status != STN_OK) {
        return status;
    }
    status = put_begin(db, &own, err);
    status = status == STN_OK ? refer(db, STN_LAT_T_SERIES, row->series, err) : status;
    status = status == STN_OK ? refer(db, STN_LAT_T_SOURCE, row->source, err) : status;
    if (status == STN_OK) {
        stn_lat_pack(stn_lat_table_of(STN_LAT_T_LATENCY), row, values);
        status = stn_latdb_say(db, db->driver->put(db->self, values, err), err);
    }
    return put_end(db, own, status, err);
}
