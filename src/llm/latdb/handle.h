/** @file
 *  The inside of an open database, for the files of this room: items by their fingerprints,
 *  statements prepared when they are first needed. Pinned by tests/unit/test_latdb.c. */
#ifndef STN_LLM_LATDB_HANDLE_H
#define STN_LLM_LATDB_HANDLE_H

#include "core/base/arena.h"
#include "core/base/map.h"
#include "llm/latdb/driver.h"
#include "llm/latdb/schema.h"
#include "llm/latdb/statement.h"

typedef enum stn_lat_verb {
    STN_LAT_INSERT,
    STN_LAT_SELECT_ALL,
    STN_LAT_SELECT_SOME, /**< by the first column */
    STN_LAT_VERB_COUNT,
} stn_lat_verb;

typedef struct stn_lat_prepared {
    stn_lat_sql sql;
    void *statement; /**< the driver's; NULL: not prepared yet */
} stn_lat_prepared;

struct stn_latdb {
    const stn_lat_driver *driver;
    void *self;  /**< the driver's */
    char *place; /**< without a password */
    stn_latdb_mode mode;
    uint32_t schema;
    bool writing; /**< a transaction is open */
    bool walking; /**< a callback runs: the database must not be used */
    stn_lat_prepared prepared[STN_LAT_T_COUNT][STN_LAT_VERB_COUNT];
    void *list_series; /**< a statement of read.c, once prepared */
    stn_map known;     /**< fingerprints that are stored for certain, value 1 */
    stn_map items;     /**< fingerprint to the address of its item, which lies in the arena */
    stn_arena arena;
};

/** Put the place before the message, unless it went well. @return @p status */
stn_status stn_latdb_say(const stn_latdb *db, stn_status status, stn_err *err);

/** Run a statement of a table; the place stands before an error that is not the callback's.
 *  @param in [in_count] NULL if there is none  @param each NULL if there is no result */
stn_status stn_latdb_run(stn_latdb *db, stn_lat_table_id table, stn_lat_verb verb,
                         const stn_lat_value *in, stn_lat_query_fn each, void *user,
                         stn_err *err) STN_MUST_USE;
/** The same for a statement that is not of a table.
 *  @param[in,out] statement  NULL: not prepared yet */
stn_status stn_latdb_query(stn_latdb *db, const stn_lat_query *query, void **statement,
                           const stn_lat_value *in, stn_lat_query_fn each, void *user,
                           stn_err *err) STN_MUST_USE;

/** The item of @p table with the fingerprint @p id.
 *  @param[out] item  the database's until it is closed
 *  @return STN_OK; STN_ENOTFOUND */
stn_status stn_latdb_item(stn_latdb *db, stn_lat_table_id table, stn_lat_id id, const void **item,
                          stn_err *err) STN_MUST_USE;

/** The rows of a series by rising point; no rows are no error.
 *  @param[out] rows  [count], NULL after an error; stn_lat_rows_free() */
stn_status stn_latdb_series_rows(stn_latdb *db, stn_lat_id series, stn_lat_row **rows,
                                 size_t *count, stn_err *err) STN_MUST_USE;

/** Say that @p done rows are done. @return STN_OK; STN_EINTR */
stn_status stn_latdb_tick(const stn_lat_watch *watch, uint64_t done, stn_err *err) STN_MUST_USE;

/** Open with other migrations than the program's. Tests only. */
stn_status stn_latdb_open_as(stn_latdb **out, const char *place, stn_latdb_mode mode,
                             const stn_lat_migration *migrations, size_t count,
                             stn_err *err) STN_MUST_USE;

#endif
