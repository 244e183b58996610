/** @file
 *  SQL projected from the tables. Pinned by tests/unit/test_latdb_table.c. */
#ifndef STN_LLM_LATDB_STATEMENT_H
#define STN_LLM_LATDB_STATEMENT_H

#include "llm/latdb/driver.h"

#define STN_LAT_SQL_MAX 1600

/** A statement and its text; the query points into it: do not copy. */
typedef struct stn_lat_sql {
    stn_lat_query query;
    char text[STN_LAT_SQL_MAX];
    size_t used;
} stn_lat_sql;

/** INSERT a row of @p table unless its key is there. */
void stn_lat_sql_insert(stn_lat_sql *sql, const stn_lat_table *table);
/** INSERT a row of @p table; one with its key takes the new values. */
void stn_lat_sql_upsert(stn_lat_sql *sql, const stn_lat_table *table);
/** SELECT all columns of @p table by rising key. @param by_first only those whose first column is
 *  the parameter */
void stn_lat_sql_select(stn_lat_sql *sql, const stn_lat_table *table, bool by_first);

/** Begin a statement of one's own, and add to it. */
void stn_lat_sql_begin(stn_lat_sql *sql);
void stn_lat_sql_add(stn_lat_sql *sql, const char *fmt, ...) STN_PRINTF(2, 3);
/** Add the names of the columns @p first … @p end - 1, commas between. */
void stn_lat_sql_names(stn_lat_sql *sql, const stn_lat_table *table, size_t first, size_t end);
/** Add "ON CONFLICT (key) DO UPDATE SET …". */
void stn_lat_sql_replace(stn_lat_sql *sql, const stn_lat_table *table);

#endif
