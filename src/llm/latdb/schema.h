/** @file
 *  The schema's numbered migrations, the same for every backend. docs/formats/latency-database.md
 *  documents the result. Pinned by tests/unit/test_latdb_schema.c. */
#ifndef STN_LLM_LATDB_SCHEMA_H
#define STN_LLM_LATDB_SCHEMA_H

#include "llm/latdb/driver.h"

/** Step @c version brings a database of the version before it here. Never changed once released. */
typedef struct stn_lat_migration {
    uint32_t version; /**< 1, 2, 3 … */
    const char *name;
    const char *sql; /**< "@suffix@" stands for the driver's table_suffix */
} stn_lat_migration;

/** @param[out] count  how many; the last one's version is the newest schema */
const stn_lat_migration *stn_lat_migrations(size_t *count);

/** Make sure that a database has the newest schema, as @p mode allows.
 *  @param migrations [count]
 *  @param[out] version  that it has now
 *  @return STN_OK; STN_ENOTFOUND (nothing there), STN_EFORMAT (another program's; no migration in
 *          it), STN_EUNSUPPORTED (of a newer standin; older and opened to read) and as the driver
 */
stn_status stn_lat_schema_ready(const stn_lat_driver *driver, void *self, stn_latdb_mode mode,
                                const stn_lat_migration *migrations, size_t count,
                                uint32_t *version, stn_err *err) STN_MUST_USE;

#endif
