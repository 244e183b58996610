/* PostgreSQL: a server that a team shares. libpq is loaded at run time, so that the program runs
 * without it; without its headers at build time there is only the refusal at the end of this file.
 *
 * Tables lie in the schema "standin". Values travel in PostgreSQL's binary form: int8 and float8 as
 * eight bytes, highest first. Rows of latency are kept back and go in bundles through COPY, as each
 * statement costs a way to the server and back. COPY cannot replace what is there already: such a
 * bundle goes into a temporary table, from where one statement takes it over. Writers take one
 * advisory lock, so that no two of them can wait for each other. */
#include "llm/latdb/driver.h"

#include <stdio.h>

#ifdef STN_HAVE_LIBPQ

#include <dlfcn.h>
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "llm/latdb/statement.h"

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(PQlibVersion) X(PQconnectdb) X(PQstatus) X(PQerrorMessage) X(PQfinish)                      \
    X(PQsetNoticeProcessor) X(PQexec) X(PQprepare) X(PQsendQueryPrepared) X(PQsetSingleRowMode)   \
    X(PQgetResult) X(PQresultStatus) X(PQresultErrorField) X(PQclear) X(PQcmdStatus) X(PQntuples) \
    X(PQgetvalue) X(PQgetlength) X(PQgetisnull) X(PQputCopyData) X(PQputCopyEnd)
/* clang-format on */

static struct {
#define POINTER(name) __typeof__(&(name)) name; /* NOLINT(bugprone-macro-parentheses): a member */
    FUNCTIONS(POINTER)
#undef POINTER
    bool loaded;
} pq;
static pthread_once_t pq_once = PTHREAD_ONCE_INIT;

/* Never closed again: what it loads itself does not bear it. */
static void load(void) {
    void *library = dlopen("libpq.so.5", RTLD_LAZY | RTLD_LOCAL);
    pq.loaded = library != NULL;
#define RESOLVE(name)                                                                              \
    *(void **)&pq.name = library ? dlsym(library, #name) : NULL;                                   \
    pq.loaded = pq.loaded && pq.name;
    FUNCTIONS(RESOLVE)
#undef RESOLVE
}

bool stn_latdb_postgres(char *version, size_t size) {
    pthread_once(&pq_once, load);
    if (pq.loaded) {
        int number = pq.PQlibVersion();
        snprintf(version, size, "libpq %d.%d", number / 10000, number % 10000);
    } else {
        snprintf(version, size, "libpq.so.5 cannot be loaded");
    }
    return pq.loaded;
}

enum { OID_INT8 = 20, OID_TEXT = 25, OID_FLOAT8 = 701 };
enum {
    STAGED_MAX = 16384, /* rows kept back */
    STRAIGHT_MIN = 256, /* fewer are not worth a try */
};

#define WRITER_LOCK "1398033996" /* any number that others are not likely to take: "STNL" */

typedef struct statement {
    const stn_lat_query *query;
    char name[24];
} statement;

/* A row that is kept back: where in the bundle it begins. */
typedef struct staged_row {
    size_t at, size;
} staged_row;

typedef struct store {
    PGconn *connection;
    stn_arena statements;
    unsigned statement_count;
    bool in_transaction;
    bool staging;     /* the temporary table is there */
    bool overlaps;    /* a bundle of this transaction held what was there already */
    char *staged;     /* [staged_size] rows in COPY's binary form, as they came */
    staged_row *rows; /* [row_count] */
    size_t staged_size, staged_capacity, row_count, row_capacity;
} store;

/* ---- errors ---------------------------------------------------------- */

/* The first line of what PostgreSQL says, without the word "ERROR:". */
static stn_status said(stn_status status, const char *text, stn_err *err) {
    static const char *const heads[] = {"ERROR:  ", "FATAL:  "};
    for (size_t i = 0; i < 2; i++) {
        const char *found = strstr(text, heads[i]);
        text = found ? found + strlen(heads[i]) : text;
    }
    return stn_err_set(err, status, "PostgreSQL: %.*s", (int)strcspn(text, "\n"), text);
}

static const struct {
    const char *state; /* beginning of an SQLSTATE */
    stn_status status;
    const char *text; /* NULL: what PostgreSQL says */
} states[] = {
    {"55P03", STN_EIO, "was locked by another writer for 60 s"},
    {"40", STN_EIO, "another writer was in the way; nothing was written"},
    {"42501", STN_EPERM, NULL},
    {"25006", STN_EPERM, NULL},
    {"53200", STN_ENOMEM, NULL},
    {"XX", STN_EFORMAT, NULL},
};
_Static_assert(STN_LAT_WAIT_S == 60, "said above");

/* Frees @p result. */
static stn_status failed(const store *s, PGresult *result, stn_err *err) {
    const char *state = result ? pq.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = pq.PQerrorMessage(s->connection);
    stn_status status = said(STN_EIO, text && *text ? text : "no answer", err);
    for (size_t i = 0; state && i < sizeof states / sizeof *states; i++) {
        if (strncmp(state, states[i].state, strlen(states[i].state)) == 0) {
            status = states[i].text ? stn_err_set(err, states[i].status, "%s", states[i].text)
                                    : states[i].status;
            break;
        }
    }
    pq.PQclear(result);
    return status;
}

/* Run statements without parameters; the last one's result is of the kind @p want. */
static stn_status exec(const store *s, const char *sql, ExecStatusType want, PGresult **out,
                       stn_err *err) {
    PGresult *result = pq.PQexec(s->connection, sql);
    if (pq.PQresultStatus(result) != want) {
        return failed(s, result, err);
    }
    if (out) {
        *out = result;
    } else {
        pq.PQclear(result);
    }
    return STN_OK;
}

static stn_status postgres_script(void *self, const char *sql, stn_err *err) {
    return exec(self, sql, PGRES_COMMAND_OK, NULL, err);
}

/* ---- opening --------------------------------------------------------- */

static void say_nothing(void *user, const char *message) {
    (void)user;
    (void)message;
}

static stn_status postgres_open(void **self, const char *place, stn_latdb_mode mode, stn_err *err) {
    char version[64];
    *self = NULL;
    if (!stn_latdb_postgres(version, sizeof version)) {
        return stn_err_set(err, STN_EUNSUPPORTED,
                           "PostgreSQL cannot be used: %s; see standin doctor", version);
    }
    store *s = stn_calloc(1, sizeof *s);
    if (!s) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    *self = s;
    s->connection = pq.PQconnectdb(place);
    if (!s->connection) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    if (pq.PQstatus(s->connection) != CONNECTION_OK) {
        return failed(s, NULL, err);
    }
    pq.PQsetNoticeProcessor(s->connection, say_nothing, NULL);
    stn_status status = postgres_script(
        s, "SET client_encoding='UTF8'; SET search_path=standin; SET lock_timeout='60s'", err);
    if (status == STN_OK && mode == STN_LATDB_READ) {
        status = postgres_script(s, "SET default_transaction_read_only=on", err);
    }
    return status;
}

static stn_status postgres_look(void *self, stn_lat_found *found, stn_err *err) {
    PGresult *result = NULL;
    stn_status status =
        exec(self,
             "SELECT CASE WHEN to_regclass('standin.migration') IS NOT NULL THEN 'ours'"
             " WHEN EXISTS(SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace"
             " WHERE n.nspname='standin') THEN 'other' ELSE 'nothing' END",
             PGRES_TUPLES_OK, &result, err);
    if (status == STN_OK) {
        const char *word = pq.PQgetvalue(result, 0, 0);
        *found = strcmp(word, "ours") == 0    ? STN_LAT_FOUND_OURS
                 : strcmp(word, "other") == 0 ? STN_LAT_FOUND_OTHER
                                              : STN_LAT_FOUND_NOTHING;
        pq.PQclear(result);
    }
    return status;
}

static stn_status postgres_claim(void *self, stn_err *err) {
    return postgres_script(self, "CREATE SCHEMA IF NOT EXISTS standin", err);
}

/* ---- statements ------------------------------------------------------ */

static Oid oid_of(stn_lat_type type) {
    return type == STN_LAT_TEXT ? OID_TEXT : type == STN_LAT_INT ? OID_INT8 : OID_FLOAT8;
}

static stn_status postgres_prepare(void *self, const stn_lat_query *query, void **out,
                                   stn_err *err) {
    store *s = self;
    Oid types[STN_LAT_COLUMNS_MAX];
    for (size_t i = 0; i < query->in_count; i++) {
        types[i] = oid_of(query->in[i]);
    }
    statement *made = stn_arena_alloc(&s->statements, sizeof *made);
    if (!made) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    snprintf(made->name, sizeof made->name, "s%u", s->statement_count++);
    made->query = query;
    *out = made;
    PGresult *result =
        pq.PQprepare(s->connection, made->name, query->sql, (int)query->in_count, types);
    if (pq.PQresultStatus(result) != PGRES_COMMAND_OK) {
        return failed(s, result, err);
    }
    pq.PQclear(result);
    return STN_OK;
}

/* Eight bytes, highest first. */
static void encode(const stn_lat_value *value, char out[8]) {
    uint64_t bits = (uint64_t)value->v.i;
    if (value->type == STN_LAT_REAL) {
        memcpy(&bits, &value->v.f, sizeof bits);
    }
    bits = htobe64(bits);
    memcpy(out, &bits, sizeof bits);
}

static bool send(const store *s, const statement *st, const stn_lat_value *in) {
    char numbers[STN_LAT_COLUMNS_MAX][8];
    const char *values[STN_LAT_COLUMNS_MAX];
    int sizes[STN_LAT_COLUMNS_MAX];
    int binary[STN_LAT_COLUMNS_MAX];
    for (size_t i = 0; i < st->query->in_count; i++) {
        bool text = in[i].type == STN_LAT_TEXT;
        binary[i] = 1;
        sizes[i] = text ? (int)strlen(in[i].v.s) : 8;
        values[i] = in[i].null ? NULL : text ? in[i].v.s : numbers[i];
        if (!text && !in[i].null) {
            encode(&in[i], numbers[i]);
        }
    }
    return pq.PQsendQueryPrepared(s->connection, st->name, (int)st->query->in_count, values, sizes,
                                  binary, 1) &&
           pq.PQsetSingleRowMode(s->connection);
}

/* @return false: a column has not the size of its type */
static bool decode(const stn_lat_query *query, const PGresult *result, stn_lat_value *values) {
    for (size_t i = 0; i < query->out_count; i++) {
        int column = (int)i;
        stn_lat_value *value = &values[i];
        value->type = query->out[i];
        value->null = pq.PQgetisnull(result, 0, column) != 0;
        const char *bytes = pq.PQgetvalue(result, 0, column);
        if (value->type == STN_LAT_TEXT) {
            value->v.s = bytes; /* libpq puts a NUL behind */
            value->null = false;
            continue;
        }
        uint64_t bits = 0;
        if (!value->null && pq.PQgetlength(result, 0, column) != 8) {
            return false;
        }
        if (!value->null) {
            memcpy(&bits, bytes, sizeof bits);
        }
        bits = be64toh(bits);
        memcpy(&value->v, &bits, sizeof bits);
        value->null = value->null && value->type == STN_LAT_REAL;
    }
    return true;
}

static stn_status flush(store *s, stn_err *err);

static stn_status postgres_run(void *self, void *statement_, const stn_lat_value *in,
                               stn_lat_query_fn each, void *user, stn_err *err) {
    store *s = self;
    const statement *st = statement_;
    stn_lat_value values[STN_LAT_COLUMNS_MAX];
    stn_status status = flush(s, err);
    if (status == STN_OK && !send(s, st, in)) {
        status = failed(s, NULL, err);
    } else if (status == STN_OK) {
        PGresult *result;
        /* All results are fetched, also when what came was enough: the connection is free then. */
        while ((result = pq.PQgetResult(s->connection)) != NULL) {
            ExecStatusType kind = pq.PQresultStatus(result);
            if (status == STN_OK && kind == PGRES_SINGLE_TUPLE && each) {
                status = decode(st->query, result, values)
                             ? each(user, values, err)
                             : stn_err_set(err, STN_EFORMAT, "a column has another type");
            } else if (status == STN_OK && kind != PGRES_SINGLE_TUPLE && kind != PGRES_TUPLES_OK &&
                       kind != PGRES_COMMAND_OK) {
                status = failed(s, result, err);
                continue;
            }
            pq.PQclear(result);
        }
    }
    return status;
}

/* ---- rows in bundles ------------------------------------------------- */

static const char copy_head[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

static void put_big(char *at, uint32_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        at[i] = (char)(value >> (8 * (size - 1 - i)));
    }
}

/* A row in COPY's binary form: how many fields; of each its size (-1: NULL) and its bytes. */
enum { FIELD_SIZE = 4 + 8, KEY_AT = 2, KEY_SIZE = (1 + STN_LAT_AXES_MAX) * FIELD_SIZE };

static stn_status postgres_put(void *self, const stn_lat_value *values, stn_err *err) {
    store *s = self;
    const stn_lat_table *table = stn_lat_table_of(STN_LAT_T_LATENCY);
    size_t most = KEY_AT + FIELD_SIZE * table->count;
    stn_status status = stn_grow(&s->staged, &s->staged_capacity, s->staged_size + most, 1);
    if (status == STN_OK) {
        status = stn_grow(&s->rows, &s->row_capacity, s->row_count + 1, sizeof *s->rows);
    }
    if (status != STN_OK) {
        return stn_err_set(err, status, "out of memory");
    }
    char *at = s->staged + s->staged_size;
    s->rows[s->row_count] = (staged_row){s->staged_size, 0};
    put_big(at, (uint32_t)table->count, 2);
    at += 2;
    for (size_t i = 0; i < table->count; i++) {
        put_big(at, values[i].null ? UINT32_MAX : 8, 4);
        at += 4;
        if (!values[i].null) {
            encode(&values[i], at);
            at += 8;
        }
    }
    s->rows[s->row_count++].size = (size_t)(at - s->staged) - s->staged_size;
    s->staged_size = (size_t)(at - s->staged);
    return s->row_count < STAGED_MAX ? STN_OK : flush(s, err);
}

/* By rising key: numbers that are not negative and have their highest byte first compare as bytes.
 * Of one key the row that came later comes first. */
static int by_key(const void *a, const void *b, void *staged) {
    const staged_row *x = a;
    const staged_row *y = b;
    const char *base = staged;
    int order = memcmp(base + x->at + KEY_AT, base + y->at + KEY_AT, KEY_SIZE);
    return order ? order : x->at < y->at ? 1 : -1;
}

/* The bundle as COPY wants it, each key once.
 * @param[out] size of it  @return the caller frees; NULL: out of memory */
static char *pack(store *s, size_t *size) {
    char *out = stn_malloc(sizeof copy_head + s->staged_size + 2);
    const char *last = NULL;
    if (!out) {
        return NULL;
    }
    memcpy(out, copy_head, sizeof copy_head);
    *size = sizeof copy_head;
    qsort_r(s->rows, s->row_count, sizeof *s->rows, by_key, s->staged);
    for (size_t i = 0; i < s->row_count; i++) {
        const char *row = s->staged + s->rows[i].at;
        if (!last || memcmp(last + KEY_AT, row + KEY_AT, KEY_SIZE) != 0) {
            memcpy(out + *size, row, s->rows[i].size);
            *size += s->rows[i].size;
        }
        last = row;
    }
    put_big(out + *size, UINT16_MAX, 2); /* the end */
    *size += 2;
    return out;
}

/* Copy the bundle into @p name.
 * @param[out] overlaps  it failed because a key is there already */
static stn_status copy_in(store *s, const char *name, bool *overlaps, stn_err *err) {
    stn_lat_sql sql;
    const stn_lat_table *table = stn_lat_table_of(STN_LAT_T_LATENCY);
    size_t size;
    char *bytes = pack(s, &size);
    if (!bytes) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    stn_lat_sql_begin(&sql);
    stn_lat_sql_add(&sql, "COPY %s(", name);
    stn_lat_sql_names(&sql, table, 0, table->count);
    stn_lat_sql_add(&sql, ") FROM STDIN (FORMAT binary)");
    stn_status status = exec(s, sql.text, PGRES_COPY_IN, NULL, err);
    if (status != STN_OK) {
        stn_free(bytes);
        return status;
    }
    bool sent = pq.PQputCopyData(s->connection, bytes, (int)size) == 1 &&
                pq.PQputCopyEnd(s->connection, NULL) == 1;
    stn_free(bytes);
    PGresult *result;
    while ((result = pq.PQgetResult(s->connection)) != NULL) {
        if (status == STN_OK && pq.PQresultStatus(result) != PGRES_COMMAND_OK) {
            const char *state = pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
            *overlaps = state && strcmp(state, "23505") == 0;
            status = failed(s, result, err);
        } else {
            pq.PQclear(result);
        }
    }
    return status == STN_OK && !sent ? failed(s, NULL, err) : status;
}

static stn_status take_over(const store *s, stn_err *err) {
    stn_lat_sql sql;
    const stn_lat_table *table = stn_lat_table_of(STN_LAT_T_LATENCY);
    stn_lat_sql_begin(&sql);
    stn_lat_sql_add(&sql, "INSERT INTO %s(", table->name);
    stn_lat_sql_names(&sql, table, 0, table->count);
    stn_lat_sql_add(&sql, ") SELECT ");
    stn_lat_sql_names(&sql, table, 0, table->count);
    stn_lat_sql_add(&sql, " FROM pg_temp.staged");
    stn_lat_sql_replace(&sql, table);
    stn_lat_sql_add(&sql, "; TRUNCATE pg_temp.staged");
    return exec(s, sql.text, PGRES_COMMAND_OK, NULL, err);
}

static void forget_rows(store *s) {
    s->row_count = 0;
    s->staged_size = 0;
}

/* Through the temporary table: for a bundle of which something may be there already. */
static stn_status put_staged(store *s, stn_err *err) {
    bool overlaps;
    stn_status status = STN_OK;
    if (!s->staging) {
        /* A rollback may take it away again. */
        status = postgres_script(s,
                                 "CREATE TEMPORARY TABLE IF NOT EXISTS staged AS SELECT * FROM "
                                 "standin.latency WITH NO DATA",
                                 err);
        s->staging = status == STN_OK;
    }
    status = status == STN_OK ? copy_in(s, "pg_temp.staged", &overlaps, err) : status;
    return status == STN_OK ? take_over(s, err) : status;
}

/* Straight into the table.
 * @param[out] overlaps  nothing was put, for a key is there already */
static stn_status put_straight(store *s, bool *overlaps, stn_err *err) {
    *overlaps = false;
    stn_status status = postgres_script(s, "SAVEPOINT bundle", err);
    status = status == STN_OK ? copy_in(s, "standin.latency", overlaps, err) : status;
    if (status != STN_OK && !*overlaps) {
        return status;
    }
    return postgres_script(
        s, *overlaps ? "ROLLBACK TO SAVEPOINT bundle" : "RELEASE SAVEPOINT bundle", err);
}

/* An import is mostly of new rows: straight, until a bundle of the transaction overlaps. */
static stn_status flush(store *s, stn_err *err) {
    stn_status status = STN_OK;
    bool done = s->row_count == 0;
    if (s->row_count >= STRAIGHT_MIN && !s->overlaps) {
        status = put_straight(s, &s->overlaps, err);
        done = !s->overlaps;
    }
    if (status == STN_OK && !done) {
        status = put_staged(s, err);
    }
    forget_rows(s);
    return status;
}

/* ---- transactions ---------------------------------------------------- */

static stn_status postgres_begin(void *self, stn_err *err) {
    store *s = self;
    s->in_transaction = true;
    s->overlaps = false;
    return exec(s, "BEGIN; SELECT pg_advisory_xact_lock(" WRITER_LOCK ")", PGRES_TUPLES_OK, NULL,
                err);
}

static void postgres_rollback(void *self) {
    store *s = self;
    forget_rows(s);
    if (s->in_transaction) {
        s->in_transaction = false;
        s->staging = false;
        (void)postgres_script(s, "ROLLBACK", NULL);
    }
}

/* A transaction in which something failed ends with the word ROLLBACK instead. */
static stn_status postgres_commit(void *self, stn_err *err) {
    store *s = self;
    PGresult *result = NULL;
    stn_status status = flush(s, err);
    status = status == STN_OK ? exec(s, "COMMIT", PGRES_COMMAND_OK, &result, err) : status;
    if (status == STN_OK) {
        bool done = strcmp(pq.PQcmdStatus(result), "COMMIT") == 0;
        pq.PQclear(result);
        s->in_transaction = false;
        status = done ? STN_OK
                      : stn_err_set(err, STN_EIO, "a statement had failed; nothing was written");
    }
    return status;
}

static void postgres_close(void *self) {
    store *s = self;
    if (!s) {
        return;
    }
    pq.PQfinish(s->connection); /* ends an open transaction */
    stn_arena_fini(&s->statements);
    stn_free(s->staged);
    stn_free(s->rows);
    stn_free(s);
}

#else

bool stn_latdb_postgres(char *version, size_t size) {
    snprintf(version, size, "standin was built without libpq");
    return false;
}

static stn_status postgres_open(void **self, const char *place, stn_latdb_mode mode, stn_err *err) {
    (void)place;
    (void)mode;
    *self = NULL;
    return stn_err_set(err, STN_EUNSUPPORTED,
                       "PostgreSQL cannot be used: standin was built without "
                       "libpq");
}

static void postgres_close(void *self) {
    (void)self;
}

#define postgres_look     NULL
#define postgres_claim    NULL
#define postgres_script   NULL
#define postgres_begin    NULL
#define postgres_commit   NULL
#define postgres_rollback NULL
#define postgres_prepare  NULL
#define postgres_run      NULL
#define postgres_put      NULL

#endif

const stn_lat_driver stn_lat_postgres = {
    .name = "postgresql",
    .table_suffix = "",
    .open = postgres_open,
    .look = postgres_look,
    .claim = postgres_claim,
    .script = postgres_script,
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .prepare = postgres_prepare,
    .run = postgres_run,
    .put = postgres_put,
    .verify = NULL,
    .close = postgres_close,
};
