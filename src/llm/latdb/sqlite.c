/* SQLite: one file. Rollback journal rather than write-ahead log: the database is always one file
 * that can be copied, mailed and read from a write-protected folder; writers are short. A file is
 * known as ours by its application id. */
#include "llm/latdb/driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "llm/latdb/statement.h"

#define APPLICATION_ID "1398033996" /* "STNL" */

typedef struct statement {
    const stn_lat_query *query;
    sqlite3_stmt *prepared;
} statement;

typedef struct store {
    sqlite3 *db;
    stn_arena statements;
    stn_lat_sql put_sql;
    void *put; /* a statement, once a row was put */
} store;

static stn_status failed(const store *s, stn_err *err) {
    int code = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    case SQLITE_CORRUPT:
        return stn_err_set(err, STN_EFORMAT, "is cut short or damaged (%s)", sqlite3_errmsg(s->db));
    case SQLITE_NOTADB:
        return stn_err_set(err, STN_EFORMAT, "is not an SQLite database");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return stn_err_set(err, STN_EIO, "was locked by another writer for %d s", STN_LAT_WAIT_S);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return stn_err_set(err, STN_EPERM, "cannot be written to: %s", sqlite3_errmsg(s->db));
    default:
        return stn_err_set(err, STN_EIO, "SQLite: %s", sqlite3_errmsg(s->db));
    }
}

static stn_status sqlite_script(void *self, const char *sql, stn_err *err) {
    store *s = self;
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? STN_OK : failed(s, err);
}

/* SQLite itself takes any file name; what cannot be one is said more clearly here. */
static stn_status check_place(const char *place, stn_latdb_mode mode, stn_err *err) {
    struct stat file;
    if (stat(place, &file) != 0) {
        return mode == STN_LATDB_CREATE ? STN_OK : stn_err_set(err, STN_ENOTFOUND, "is not there");
    }
    return S_ISREG(file.st_mode) ? STN_OK
                                 : stn_err_set(err, STN_EFORMAT, "is not an ordinary file");
}

static stn_status sqlite_open(void **self, const char *place, stn_latdb_mode mode, stn_err *err) {
    store *s = stn_calloc(1, sizeof *s);
    *self = s;
    if (!s) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    stn_status status = check_place(place, mode, err);
    if (status != STN_OK) {
        return status;
    }
    /* Also to read: what a killed writer left half done has to be rolled back first. */
    int flags = SQLITE_OPEN_READWRITE | (mode == STN_LATDB_CREATE ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(place, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        return failed(s, err);
    }
    sqlite3_busy_timeout(s->db, STN_LAT_WAIT_S * 1000);
    if (mode != STN_LATDB_READ && sqlite3_db_readonly(s->db, "main") == 1) {
        return stn_err_set(err, STN_EPERM, "cannot be written to");
    }
    return sqlite_script(s,
                         mode == STN_LATDB_READ ? "PRAGMA query_only=1"
                                                : "PRAGMA foreign_keys=1; PRAGMA cache_size=-32768",
                         err);
}

static stn_status sqlite_begin(void *self, stn_err *err) {
    return sqlite_script(self, "BEGIN IMMEDIATE", err);
}

static stn_status sqlite_commit(void *self, stn_err *err) {
    return sqlite_script(self, "COMMIT", err);
}

static void sqlite_rollback(void *self) {
    store *s = self;
    if (!sqlite3_get_autocommit(s->db)) {
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
}

static stn_status sqlite_prepare(void *self, const stn_lat_query *query, void **out, stn_err *err) {
    store *s = self;
    statement *made = stn_arena_alloc(&s->statements, sizeof *made);
    if (!made) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    *made = (statement){query, NULL};
    *out = made;
    return sqlite3_prepare_v3(s->db, query->sql, -1, SQLITE_PREPARE_PERSISTENT, &made->prepared,
                              NULL) == SQLITE_OK
               ? STN_OK
               : failed(s, err);
}

/* Texts are borrowed until the statement is reset, which run() does before it returns. */
static int bind(const statement *st, const stn_lat_value *in) {
    int code = SQLITE_OK;
    for (int i = 0; in && i < (int)st->query->in_count && code == SQLITE_OK; i++) {
        const stn_lat_value *value = &in[i];
        if (value->null) {
            code = sqlite3_bind_null(st->prepared, i + 1);
        } else if (value->type == STN_LAT_TEXT) {
            code = sqlite3_bind_text(st->prepared, i + 1, value->v.s, -1, SQLITE_STATIC);
        } else if (value->type == STN_LAT_INT) {
            code = sqlite3_bind_int64(st->prepared, i + 1, value->v.i);
        } else {
            code = sqlite3_bind_double(st->prepared, i + 1, value->v.f);
        }
    }
    return code;
}

/* @return false: out of memory */
static bool columns(const statement *st, stn_lat_value *values) {
    for (int i = 0; i < (int)st->query->out_count; i++) {
        stn_lat_value *value = &values[i];
        value->type = st->query->out[i];
        value->null =
            value->type == STN_LAT_REAL && sqlite3_column_type(st->prepared, i) == SQLITE_NULL;
        if (value->type == STN_LAT_TEXT) {
            value->v.s = (const char *)sqlite3_column_text(st->prepared, i);
            if (!value->v.s && sqlite3_column_type(st->prepared, i) != SQLITE_NULL) {
                return false;
            }
            value->v.s = value->v.s ? value->v.s : "";
        } else if (value->type == STN_LAT_INT) {
            value->v.i = sqlite3_column_int64(st->prepared, i);
        } else {
            value->v.f = sqlite3_column_double(st->prepared, i);
        }
    }
    return true;
}

static stn_status sqlite_run(void *self, void *statement_, const stn_lat_value *in,
                             stn_lat_query_fn each, void *user, stn_err *err) {
    store *s = self;
    const statement *st = statement_;
    stn_lat_value values[STN_LAT_COLUMNS_MAX] = {{0}};
    stn_status status = STN_OK;
    int code = bind(st, in);
    while (code == SQLITE_OK || (code == SQLITE_ROW && status == STN_OK)) {
        code = sqlite3_step(st->prepared);
        if (code == SQLITE_ROW && each) {
            status = columns(st, values) ? each(user, values, err)
                                         : stn_err_set(err, STN_ENOMEM, "out of memory");
        }
    }
    if (status == STN_OK && code != SQLITE_DONE) {
        status = failed(s, err);
    }
    sqlite3_reset(st->prepared);
    return status;
}

static stn_status sqlite_put(void *self, const stn_lat_value *values, stn_err *err) {
    store *s = self;
    stn_status status = STN_OK;
    if (!s->put) {
        stn_lat_sql_upsert(&s->put_sql, stn_lat_table_of(STN_LAT_T_LATENCY));
        void *made = NULL;
        status = sqlite_prepare(s, &s->put_sql.query, &made, err);
        s->put = status == STN_OK ? made : NULL;
    }
    return status == STN_OK ? sqlite_run(s, s->put, values, NULL, NULL, err) : status;
}

static stn_status sqlite_claim(void *self, stn_err *err) {
    return sqlite_script(self, "PRAGMA application_id=" APPLICATION_ID, err);
}

/* One line of a PRAGMA that lists faults. */
typedef struct faults {
    stn_lat_verify_fn fault;
    void *user;
} faults;

static stn_status take_fault(void *user, const stn_lat_value *values, stn_err *err) {
    const faults *to = user;
    (void)err;
    if (strcmp(values[0].v.s, "ok") != 0) {
        to->fault(to->user, values[0].v.s);
    }
    return STN_OK;
}

static stn_status sqlite_verify(void *self, stn_lat_verify_fn fault, void *user, stn_err *err) {
    static const stn_lat_query queries[] = {
        {.sql = "SELECT integrity_check FROM pragma_integrity_check(20)",
         .out = {STN_LAT_TEXT},
         .out_count = 1},
        {.sql = "SELECT \"table\" || ' ' || rowid || ' refers to what is not in ' || parent FROM "
                "pragma_foreign_key_check",
         .out = {STN_LAT_TEXT},
         .out_count = 1},
    };
    faults to = {fault, user};
    stn_status status = STN_OK;
    for (size_t i = 0; i < sizeof queries / sizeof *queries && status == STN_OK; i++) {
        void *statement_ = NULL;
        status = sqlite_prepare(self, &queries[i], &statement_, err);
        status =
            status == STN_OK ? sqlite_run(self, statement_, NULL, take_fault, &to, err) : status;
    }
    return status;
}

static void sqlite_close(void *self) {
    store *s = self;
    if (!s) {
        return;
    }
    for (sqlite3_stmt *st; s->db && (st = sqlite3_next_stmt(s->db, NULL)) != NULL;) {
        sqlite3_finalize(st);
    }
    sqlite3_close(s->db);
    stn_arena_fini(&s->statements);
    stn_free(s);
}

static stn_status take_found(void *user, const stn_lat_value *values, stn_err *err) {
    stn_lat_found *found = user;
    (void)err;
    *found = values[0].v.i   ? STN_LAT_FOUND_OURS
             : values[1].v.i ? STN_LAT_FOUND_OTHER
                             : STN_LAT_FOUND_NOTHING;
    return STN_OK;
}

static stn_status sqlite_look(void *self, stn_lat_found *found, stn_err *err) {
    static const stn_lat_query query = {
        .sql = "SELECT application_id=" APPLICATION_ID ", (SELECT COUNT(*) FROM sqlite_schema) "
               "FROM pragma_application_id",
        .out = {STN_LAT_INT, STN_LAT_INT},
        .out_count = 2,
    };
    void *statement_ = NULL;
    *found = STN_LAT_FOUND_NOTHING;
    stn_status status = sqlite_prepare(self, &query, &statement_, err);
    return status == STN_OK ? sqlite_run(self, statement_, NULL, take_found, found, err) : status;
}

const stn_lat_driver stn_lat_sqlite = {
    .name = "sqlite",
    .table_suffix = " WITHOUT ROWID",
    .open = sqlite_open,
    .look = sqlite_look,
    .claim = sqlite_claim,
    .script = sqlite_script,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .prepare = sqlite_prepare,
    .run = sqlite_run,
    .put = sqlite_put,
    .verify = sqlite_verify,
    .close = sqlite_close,
};
