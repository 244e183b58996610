/* Events as an Apache Parquet file, docs/formats/parquet.md. DuckDB writes it; its library is
 * looked for when first wanted, so that nothing else needs it. The events go into a database
 * beside the output, chunk by chunk, and from there into the file: memory stays bounded by
 * DuckDB's own limit. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/data/outfile.h"
#include "kernel/trace/format.h"
#include "kernel/trace/write_line.h"

#if defined(__aarch64__)
#define NPM_PACKAGE "@duckdb/node-bindings-linux-arm64"
#else
#define NPM_PACKAGE "@duckdb/node-bindings-linux-x64"
#endif

/* ---- the part of DuckDB's C API that is used ------------------------- */

enum { TYPE_INTEGER = 4, TYPE_USMALLINT = 7, TYPE_UBIGINT = 9, TYPE_VARCHAR = 17 };

/* duckdb_result is a struct of six words; there is room for more. */
typedef struct duck_result {
    uint64_t words[16];
} duck_result;

/* result, name, arguments. Handles are pointers; states are 0 for success. */
#define DUCK_FUNCTIONS(X)                                                                          \
    X(int, open, (const char *path, void **database))                                              \
    X(void, close, (void **database))                                                              \
    X(int, connect, (void *database, void **connection))                                           \
    X(void, disconnect, (void **connection))                                                       \
    X(int, query, (void *connection, const char *sql, duck_result *result))                        \
    X(void, destroy_result, (duck_result * result))                                                \
    X(const char *, result_error, (duck_result * result))                                          \
    X(int, appender_create,                                                                        \
      (void *connection, const char *schema, const char *table, void **appender))                  \
    X(int, appender_close, (void *appender))                                                       \
    X(int, appender_destroy, (void **appender))                                                    \
    X(const char *, appender_error, (void *appender))                                              \
    X(int, append_data_chunk, (void *appender, void *chunk))                                       \
    X(void *, create_logical_type, (int type))                                                     \
    X(void, destroy_logical_type, (void **type))                                                   \
    X(void *, create_data_chunk, (void **types, uint64_t column_count))                            \
    X(void, destroy_data_chunk, (void **chunk))                                                    \
    X(void, data_chunk_reset, (void *chunk))                                                       \
    X(void, data_chunk_set_size, (void *chunk, uint64_t size))                                     \
    X(void *, data_chunk_get_vector, (void *chunk, uint64_t column))                               \
    X(void *, vector_get_data, (void *vector))                                                     \
    X(void, vector_ensure_validity_writable, (void *vector))                                       \
    X(uint64_t *, vector_get_validity, (void *vector))                                             \
    X(void, vector_assign_string_element_len,                                                      \
      (void *vector, uint64_t row, const char *text, uint64_t size))                               \
    X(uint64_t, vector_size, (void))

typedef struct duck_api {
#define X(result, name, arguments) result(*name) arguments; // NOLINT(bugprone-macro-parentheses)
    DUCK_FUNCTIONS(X)
#undef X
    bool loaded;
} duck_api;

static duck_api duck;
static pthread_once_t duck_once = PTHREAD_ONCE_INIT;

static void *duck_open_library(void) {
    static const char *const places[] = {
        "libduckdb.so",
        "node_modules/" NPM_PACKAGE "/libduckdb.so",
        "build/npm/node_modules/" NPM_PACKAGE "/libduckdb.so",
        "/usr/local/lib/node_modules/" NPM_PACKAGE "/libduckdb.so",
        "/usr/lib/node_modules/" NPM_PACKAGE "/libduckdb.so",
    };
    const char *named = getenv("STANDIN_DUCKDB");
    if (named && *named) {
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    }
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* Never closed again: DuckDB has threads. */
static void duck_load(void) {
    void *library = duck_open_library();
    if (!library) {
        return;
    }
    duck.loaded = true;
#define X(result, name, arguments)                                                                 \
    *(void **)&duck.name = dlsym(library, "duckdb_" #name);                                        \
    duck.loaded = duck.loaded && duck.name;
    DUCK_FUNCTIONS(X)
#undef X
}

bool stn_parquet_available(void) {
    pthread_once(&duck_once, duck_load);
    return duck.loaded;
}

/* ---- the writer ------------------------------------------------------ */

enum { TIME, CPU, TID, COMM, EVENT, ORIGINAL, FIELDS, COLUMN_COUNT };

static const int column_types[COLUMN_COUNT] = {TYPE_UBIGINT, TYPE_USMALLINT, TYPE_INTEGER,
                                               TYPE_VARCHAR, TYPE_VARCHAR,   TYPE_VARCHAR,
                                               TYPE_VARCHAR};

static const char setup[] =
    "SET autoinstall_known_extensions = false;"
    "SET memory_limit = '256MB';"
    "SET threads = 2;"
    "CREATE TABLE events(time_ns UBIGINT, cpu USMALLINT, tid INTEGER, comm VARCHAR,"
    " event VARCHAR, original VARCHAR, fields VARCHAR);";

typedef struct parquet_writer {
    const stn_catalog *catalog;
    stn_trace_meta meta;
    char *path;
    char *temporary; /* folder with the database and the file in the making */
    void *database, *connection, *appender, *chunk;
    void *vectors[COLUMN_COUNT];
    uint64_t row, row_max;
    stn_line text;
} parquet_writer;

static stn_status run(parquet_writer *writer, const char *sql, stn_err *err) {
    duck_result result = {0};
    stn_status status = STN_OK;
    if (duck.query(writer->connection, sql, &result)) {
        const char *reason = duck.result_error(&result);
        status = stn_err_set(err, STN_EIO, "DuckDB: %.300s", reason ? reason : "no reason given");
    }
    duck.destroy_result(&result);
    return status;
}

static stn_status chunk_flush(parquet_writer *writer, stn_err *err) {
    duck.data_chunk_set_size(writer->chunk, writer->row);
    if (writer->row && duck.append_data_chunk(writer->appender, writer->chunk)) {
        const char *reason = duck.appender_error(writer->appender);
        return stn_err_set(err, STN_EIO, "DuckDB: %.300s", reason ? reason : "no reason given");
    }
    duck.data_chunk_reset(writer->chunk);
    for (uint64_t c = 0; c < COLUMN_COUNT; c++) {
        writer->vectors[c] = duck.data_chunk_get_vector(writer->chunk, c);
    }
    writer->row = 0;
    return STN_OK;
}

static void put_null(parquet_writer *writer, int column) {
    duck.vector_ensure_validity_writable(writer->vectors[column]);
    uint64_t *valid = duck.vector_get_validity(writer->vectors[column]);
    valid[writer->row / 64] &= ~((uint64_t)1 << (writer->row % 64));
}

static void put_text(parquet_writer *writer, int column, const char *string) {
    stn_line_clear(&writer->text);
    stn_line_utf8(&writer->text, string);
    duck.vector_assign_string_element_len(writer->vectors[column], writer->row, writer->text.bytes,
                                          writer->text.size);
}

static void put_fields(parquet_writer *writer, const stn_event *event) {
    stn_line *text = &writer->text;
    stn_line_clear(text);
    stn_line_char(text, '{');
    for (uint32_t i = 0; i < event->field_count; i++) {
        stn_line_string(text, i ? "," : "");
        stn_line_json(text, stn_catalog_text(writer->catalog, event->fields[i].name));
        stn_line_char(text, ':');
        stn_line_json_value(text, &event->fields[i]);
    }
    stn_line_char(text, '}');
    duck.vector_assign_string_element_len(writer->vectors[FIELDS], writer->row, text->bytes,
                                          text->size);
}

static stn_status parquet_write(void *self, const stn_event *event, stn_err *err) {
    parquet_writer *writer = self;
    const stn_type *type = stn_catalog_type_at(writer->catalog, event->type);
    uint64_t row = writer->row;
    ((uint64_t *)duck.vector_get_data(writer->vectors[TIME]))[row] = event->time_ns;
    ((uint16_t *)duck.vector_get_data(writer->vectors[CPU]))[row] = event->cpu;
    ((int32_t *)duck.vector_get_data(writer->vectors[TID]))[row] = event->tid;
    if (event->cpu == STN_NO_CPU) {
        put_null(writer, CPU);
    }
    if (event->tid == STN_NO_TID) {
        put_null(writer, TID);
    }
    if (event->comm == STN_NO_ID) {
        put_null(writer, COMM);
    } else {
        put_text(writer, COMM, stn_catalog_text(writer->catalog, event->comm));
    }
    put_text(writer, EVENT, type->name);
    put_text(writer, ORIGINAL, type->original);
    put_fields(writer, event);
    if (writer->text.failed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a row");
    }
    writer->row++;
    return writer->row == writer->row_max ? chunk_flush(writer, err) : STN_OK;
}

static void duck_fini(parquet_writer *writer) {
    if (!duck.loaded) {
        return;
    }
    if (writer->chunk) {
        duck.destroy_data_chunk(&writer->chunk);
    }
    if (writer->appender) {
        duck.appender_destroy(&writer->appender);
    }
    if (writer->connection) {
        duck.disconnect(&writer->connection);
    }
    if (writer->database) {
        duck.close(&writer->database);
    }
}

static void parquet_abort(void *self) {
    parquet_writer *writer = self;
    duck_fini(writer);
    stn_outdir_abort(writer->temporary);
    stn_free(writer->temporary);
    stn_free(writer->path);
    stn_line_fini(&writer->text);
    stn_free(writer);
}

/* "folder/name" of the temporary folder; the caller frees. */
static char *inside(const parquet_writer *writer, const char *name) {
    size_t size = strlen(writer->temporary) + strlen(name) + 2;
    char *path = stn_malloc(size);
    if (path) {
        snprintf(path, size, "%s/%s", writer->temporary, name);
    }
    return path;
}

static stn_status duck_begin(parquet_writer *writer, stn_err *err) {
    char *database = inside(writer, "events.duckdb");
    if (!database) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    bool failed = duck.open(database, &writer->database) ||
                  duck.connect(writer->database, &writer->connection);
    stn_free(database);
    stn_status status = failed ? stn_err_set(err, STN_EIO, "DuckDB cannot make its database here")
                               : run(writer, setup, err);
    if (status) {
        return status;
    }
    void *types[COLUMN_COUNT];
    for (int c = 0; c < COLUMN_COUNT; c++) {
        types[c] = duck.create_logical_type(column_types[c]);
    }
    writer->chunk = duck.create_data_chunk(types, COLUMN_COUNT);
    for (int c = 0; c < COLUMN_COUNT; c++) {
        duck.destroy_logical_type(&types[c]);
    }
    writer->row_max = duck.vector_size();
    if (!writer->chunk ||
        duck.appender_create(writer->connection, NULL, "events", &writer->appender)) {
        return stn_err_set(err, STN_EIO, "DuckDB cannot append to its table");
    }
    return chunk_flush(writer, err);
}

/* A folder, a device or a pipe cannot be replaced by a file. */
static stn_status check_target(const char *path, stn_err *err) {
    struct stat stat_of;
    if (strcmp(path, "-") == 0 || (stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode))) {
        return stn_err_set(err, STN_ERANGE, "Parquet goes to a regular file only");
    }
    return STN_OK;
}

static stn_status parquet_open(void **self, const char *path, const stn_catalog *catalog,
                               const stn_trace_meta *meta, const stn_writer_options *options,
                               stn_err *err) {
    (void)options;
    if (!stn_parquet_available()) {
        return stn_err_set(err, STN_EUNSUPPORTED,
                           "Parquet needs DuckDB's library: npm install " NPM_PACKAGE
                           ", or set STANDIN_DUCKDB to the path of libduckdb.so");
    }
    stn_status status = check_target(path, err);
    if (status) {
        return status;
    }
    parquet_writer *writer = stn_calloc(1, sizeof *writer);
    if (!writer) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    writer->catalog = catalog;
    writer->meta = *meta;
    writer->path = stn_strdup(path);
    status = writer->path && stn_line_reserve(&writer->text, 256)
                 ? stn_outdir_open(path, &writer->temporary, err)
                 : stn_err_set(err, STN_ENOMEM, "out of memory");
    if (!status) {
        status = duck_begin(writer, err);
    }
    if (status) {
        parquet_abort(writer);
        return status;
    }
    *self = writer;
    return STN_OK;
}

static void put_sql(stn_line *sql, const char *string) {
    stn_line_char(sql, '\'');
    size_t begin = sql->size;
    stn_line_utf8(sql, string);
    for (size_t i = begin; i < sql->size; i++) {
        if (sql->bytes[i] == '\'') {
            stn_line_char(sql, ' ');
            if (sql->failed) {
                return;
            }
            memmove(sql->bytes + i + 1, sql->bytes + i, sql->size - i - 1);
            i++;
        }
    }
    stn_line_char(sql, '\'');
}

static stn_status copy_out(parquet_writer *writer, const char *file, stn_err *err) {
    stn_line *sql = &writer->text;
    char epoch[24];
    snprintf(epoch, sizeof epoch, "%llu", (unsigned long long)writer->meta.epoch_ns);
    stn_line_clear(sql);
    stn_line_string(sql, "COPY events TO ");
    put_sql(sql, file);
    stn_line_string(sql, " (FORMAT parquet, COMPRESSION zstd, KV_METADATA {standin: ");
    put_sql(sql, stn_version());
    stn_line_string(sql, ", clock: ");
    put_sql(sql, writer->meta.clock);
    stn_line_string(sql, ", host: ");
    put_sql(sql, writer->meta.host);
    stn_line_string(sql, ", tracer: ");
    put_sql(sql, writer->meta.tracer);
    stn_line_string(sql, ", epoch_ns: ");
    put_sql(sql, epoch);
    stn_line_bytes(sql, "});", sizeof "});");
    return sql->failed ? stn_err_set(err, STN_ENOMEM, "out of memory")
                       : run(writer, sql->bytes, err);
}

static stn_status finish(parquet_writer *writer, const char *file, stn_err *err) {
    stn_status status = chunk_flush(writer, err);
    if (!status && duck.appender_close(writer->appender)) {
        const char *reason = duck.appender_error(writer->appender);
        status = stn_err_set(err, STN_EIO, "DuckDB: %.300s", reason ? reason : "no reason given");
    }
    if (!status) {
        status = copy_out(writer, file, err);
    }
    duck_fini(writer);
    if (!status && rename(file, writer->path)) {
        status = stn_err_set(err, STN_EIO, "cannot rename the finished file: %s", strerror(errno));
    }
    return status;
}

static stn_status parquet_commit(void *self, stn_err *err) {
    parquet_writer *writer = self;
    char *file = inside(writer, "events.parquet");
    stn_status status =
        file ? finish(writer, file, err) : stn_err_set(err, STN_ENOMEM, "out of memory");
    stn_free(file);
    parquet_abort(writer);
    return status;
}

const stn_write_ops stn_write_parquet = {parquet_open, parquet_write, parquet_commit,
                                         parquet_abort};
