/* The migrations, and bringing a database to the newest one. Several processes may open a new
 * database at the same moment: whoever has the write transaction looks again. */
#include "llm/latdb/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* Rows of latency refer to series and source without the database's own guard: it would double the
 * time of an import. latdb.c asks once for each that is new to it, and nothing is ever deleted. */
static const char first[] =
    "CREATE TABLE hardware(id BIGINT PRIMARY KEY, kind TEXT NOT NULL, vendor TEXT NOT NULL,"
    " name TEXT NOT NULL, revision TEXT NOT NULL, isa TEXT NOT NULL, sockets BIGINT NOT NULL,"
    " cores BIGINT NOT NULL, threads BIGINT NOT NULL, clock_max_hz BIGINT NOT NULL,"
    " l1d_bytes BIGINT NOT NULL, l2_bytes BIGINT NOT NULL, l3_bytes BIGINT NOT NULL,"
    " memory_bytes BIGINT NOT NULL, clock_hz BIGINT NOT NULL, memory_bytes_per_s BIGINT NOT NULL,"
    " driver TEXT NOT NULL)@suffix@;"
    "CREATE TABLE engine(id BIGINT PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL,"
    " backend TEXT NOT NULL, kernel_source TEXT NOT NULL, settings TEXT NOT NULL)@suffix@;"
    "CREATE TABLE signature(id BIGINT PRIMARY KEY, kind TEXT NOT NULL, dtypes TEXT NOT NULL,"
    " dims TEXT NOT NULL, layout TEXT NOT NULL, axes TEXT NOT NULL)@suffix@;"
    "CREATE TABLE source(id BIGINT PRIMARY KEY, kind TEXT NOT NULL, format TEXT NOT NULL,"
    " file TEXT NOT NULL, tool TEXT NOT NULL)@suffix@;"
    "CREATE TABLE series(id BIGINT PRIMARY KEY, hardware BIGINT NOT NULL REFERENCES hardware(id),"
    " engine BIGINT NOT NULL REFERENCES engine(id),"
    " signature BIGINT NOT NULL REFERENCES signature(id))@suffix@;"
    "CREATE INDEX series_signature ON series(signature);"
    "CREATE TABLE latency(series BIGINT NOT NULL, p0 BIGINT NOT NULL, p1 BIGINT NOT NULL,"
    " p2 BIGINT NOT NULL, p3 BIGINT NOT NULL, p4 BIGINT NOT NULL, p5 BIGINT NOT NULL,"
    " mean_ns DOUBLE PRECISION, median_ns DOUBLE PRECISION, min_ns DOUBLE PRECISION,"
    " max_ns DOUBLE PRECISION, std_ns DOUBLE PRECISION, count BIGINT NOT NULL,"
    " source BIGINT NOT NULL, line BIGINT NOT NULL, time_s BIGINT NOT NULL,"
    " PRIMARY KEY(series, p0, p1, p2, p3, p4, p5))@suffix@;";

static const stn_lat_migration all[] = {
    {1, "hardware, engines, signatures, sources, series and latencies", first},
};

const stn_lat_migration *stn_lat_migrations(size_t *count) {
    *count = sizeof all / sizeof *all;
    return all;
}

static stn_status take_version(void *user, const stn_lat_value *values, stn_err *err) {
    (void)err;
    *(int64_t *)user = values[0].v.i;
    return STN_OK;
}

/* 0 if there is no row. */
static stn_status read_version(const stn_lat_driver *driver, void *self, int64_t *version,
                               stn_err *err) {
    static const stn_lat_query query = {
        .sql = "SELECT COALESCE(MAX(version), 0) FROM migration",
        .out = {STN_LAT_INT},
        .out_count = 1,
    };
    void *statement;
    *version = 0;
    stn_status status = driver->prepare(self, &query, &statement, err);
    return status == STN_OK ? driver->run(self, statement, NULL, take_version, version, err)
                            : status;
}

/* @p sql with the driver's suffix in place of each mark. */
static stn_status script(const stn_lat_driver *driver, void *self, const char *sql, stn_err *err) {
    static const char mark[] = "@suffix@";
    size_t marks = 0;
    for (const char *at = sql; (at = strstr(at, mark)) != NULL; at++) {
        marks++;
    }
    size_t size = strlen(sql) + marks * strlen(driver->table_suffix) + 1;
    char *text = stn_malloc(size);
    if (!text) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    size_t used = 0;
    const char *found;
    while ((found = strstr(sql, mark)) != NULL) {
        used += (size_t)snprintf(text + used, size - used, "%.*s%s", (int)(found - sql), sql,
                                 driver->table_suffix);
        sql = found + sizeof mark - 1;
    }
    snprintf(text + used, size - used, "%s", sql);
    stn_status status = driver->script(self, text, err);
    stn_free(text);
    return status;
}

static stn_status apply(const stn_lat_driver *driver, void *self,
                        const stn_lat_migration *migration, stn_err *err) {
    char note[300];
    snprintf(note, sizeof note, "INSERT INTO migration(version, name) VALUES(%" PRIu32 ", '%s')",
             migration->version, migration->name);
    stn_status status = script(driver, self, migration->sql, err);
    status = status == STN_OK ? driver->script(self, note, err) : status;
    return status == STN_OK
               ? status
               : stn_err_prepend(err, status, "migration %" PRIu32, migration->version);
}

/* What is there, and of which version (0: nothing). */
static stn_status look(const stn_lat_driver *driver, void *self, int64_t *version, stn_err *err) {
    stn_lat_found found;
    *version = 0;
    stn_status status = driver->look(self, &found, err);
    if (status != STN_OK || found == STN_LAT_FOUND_NOTHING) {
        return status;
    }
    if (found == STN_LAT_FOUND_OTHER) {
        return stn_err_set(err, STN_EFORMAT,
                           "holds tables of another program; expected a latency database, or "
                           "nothing");
    }
    status = read_version(driver, self, version, err);
    if (status == STN_OK && *version < 1) {
        status = stn_err_set(err, STN_EFORMAT, "is a latency database without a schema version");
    }
    return status;
}

static stn_status migrate(const stn_lat_driver *driver, void *self,
                          const stn_lat_migration *migrations, size_t count, stn_err *err) {
    int64_t version;
    stn_status status = driver->begin(self, err);
    if (status != STN_OK) {
        return status;
    }
    status = look(driver, self, &version, err);
    if (status == STN_OK && version == 0) {
        status = driver->claim(self, err);
        status = status == STN_OK
                     ? script(driver, self,
                              "CREATE TABLE migration(version BIGINT PRIMARY KEY, name TEXT NOT "
                              "NULL)@suffix@",
                              err)
                     : status;
    }
    for (size_t i = 0; i < count && status == STN_OK; i++) {
        if (migrations[i].version > version) {
            status = apply(driver, self, &migrations[i], err);
        }
    }
    if (status == STN_OK) {
        status = driver->commit(self, err);
    }
    if (status != STN_OK) {
        driver->rollback(self);
    }
    return status;
}

stn_status stn_lat_schema_ready(const stn_lat_driver *driver, void *self, stn_latdb_mode mode,
                                const stn_lat_migration *migrations, size_t count,
                                uint32_t *version, stn_err *err) {
    int64_t newest = migrations[count - 1].version;
    int64_t there;
    stn_status status = look(driver, self, &there, err);
    if (status != STN_OK) {
        return status;
    }
    if (there > newest) {
        return stn_err_set(err, STN_EUNSUPPORTED,
                           "has schema %" PRId64 ", written by a newer standin; this one knows up "
                           "to %" PRId64,
                           there, newest);
    }
    if (there == 0 && mode != STN_LATDB_CREATE) {
        return stn_err_set(err, STN_ENOTFOUND, "holds no latency database yet");
    }
    if (there == newest || mode == STN_LATDB_READ) {
        *version = (uint32_t)there;
        return STN_OK;
    }
    *version = (uint32_t)newest;
    return migrate(driver, self, migrations, count, err);
}
