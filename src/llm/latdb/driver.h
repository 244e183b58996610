/** @file
 *  What a database has to offer: one table of functions a backend, one file each (sqlite.c,
 *  postgres.c). SQL is the same for both: parameters are $1, $2 … in the order of their first use.
 *  A driver writes the cause of an error; latdb.c puts the database's place before it.
 *  Pinned by tests/unit/test_latdb.c, tests/unit/test_latdb_postgres.c. */
#ifndef STN_LLM_LATDB_DRIVER_H
#define STN_LLM_LATDB_DRIVER_H

#include "llm/latdb/table.h"

/** Seconds that a writer waits for another one. */
#define STN_LAT_WAIT_S 60

/** What lies at a place. */
typedef enum stn_lat_found {
    STN_LAT_FOUND_NOTHING, /**< nothing yet: it may be made */
    STN_LAT_FOUND_OURS,
    STN_LAT_FOUND_OTHER, /**< another program's */
} stn_lat_found;

/** One statement: parameters in, columns out. */
typedef struct stn_lat_query {
    const char *sql;
    stn_lat_type in[STN_LAT_COLUMNS_MAX], out[STN_LAT_COLUMNS_MAX];
    size_t in_count, out_count;
} stn_lat_query;

/** A row of a result; @p values [out_count] are lent for the call. */
typedef stn_status (*stn_lat_query_fn)(void *user, const stn_lat_value *values, stn_err *err);
/** One fault as a sentence. */
typedef void (*stn_lat_verify_fn)(void *user, const char *fault);

typedef struct stn_lat_driver {
    const char *name;         /**< "sqlite" */
    const char *table_suffix; /**< put behind CREATE TABLE (...) */

    /** @param[out] self freed by close, also after a failure */
    stn_status (*open)(void **self, const char *place, stn_latdb_mode mode, stn_err *err);
    /** What is there? Changes nothing. */
    stn_status (*look)(void *self, stn_lat_found *found, stn_err *err);
    /** Mark the place as ours; inside a write transaction. */
    stn_status (*claim)(void *self, stn_err *err);
    /** Statements without parameters and results. */
    stn_status (*script)(void *self, const char *sql, stn_err *err);
    /** A write transaction: one at a time, others wait up to STN_LAT_WAIT_S. */
    stn_status (*begin)(void *self, stn_err *err);
    stn_status (*commit)(void *self, stn_err *err);
    void (*rollback)(void *self);
    /** @param query  borrowed until close  @param[out] statement the driver's until close */
    stn_status (*prepare)(void *self, const stn_lat_query *query, void **statement, stn_err *err);
    /** @param in [in_count]  @param each NULL if there is no result */
    stn_status (*run)(void *self, void *statement, const stn_lat_value *in, stn_lat_query_fn each,
                      void *user, stn_err *err);
    /** Put a row of the table latency, or replace it; may be kept until flush, run or commit. Only
     *  inside a transaction. @param values [its columns] */
    stn_status (*put)(void *self, const stn_lat_value *values, stn_err *err);
    /** The database's own check of itself; NULL if it has none. */
    stn_status (*verify)(void *self, stn_lat_verify_fn fault, void *user, stn_err *err);
    /** Legal on NULL. */
    void (*close)(void *self);
} stn_lat_driver;

extern const stn_lat_driver stn_lat_sqlite;
/** Its open is STN_EUNSUPPORTED if libpq cannot be used. */
extern const stn_lat_driver stn_lat_postgres;

#endif
