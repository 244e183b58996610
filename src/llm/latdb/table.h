/** @file
 *  The tables of the latency database as rows: each column with its type, its place in the public
 *  structure and what it may hold. SQL, fingerprints, checks and the CSV file are projected from
 *  these rows; the migrations (schema.c) are the only other place that names columns, and
 *  tests/unit/test_latdb.c holds them together. Pinned by tests/unit/test_latdb_table.c. */
#ifndef STN_LLM_LATDB_TABLE_H
#define STN_LLM_LATDB_TABLE_H

#include <standin/latdb.h>

/** How a column is stored; the C type of its member. */
typedef enum stn_lat_type {
    STN_LAT_TEXT, /**< const char *; UTF-8 text, not NULL */
    STN_LAT_INT,  /**< uint64_t or int64_t of 0 … INT64_MAX */
    STN_LAT_REAL, /**< double; NAN is NULL */
} stn_lat_type;

/** What a column may hold beyond its type. */
typedef enum stn_lat_form {
    STN_LAT_ANY,
    STN_LAT_GIVEN,    /**< not "", not 0 */
    STN_LAT_DIMS,     /**< "k=4096,n=14336": rising names, whole numbers */
    STN_LAT_SETTINGS, /**< "a=x,b=2": rising names, values without comma */
    STN_LAT_AXES,     /**< "seqs,kv": different names, at most STN_LAT_AXES_MAX */
    STN_LAT_HARDWARE_KIND,
    STN_LAT_SOURCE_KIND,
} stn_lat_form;

typedef struct stn_lat_column {
    const char *name;
    stn_lat_type type;
    size_t at;     /**< offset of the member */
    bool identity; /**< part of the fingerprint */
    stn_lat_form form;
} stn_lat_column;

#define STN_LAT_COLUMNS_MAX 20

typedef struct stn_lat_table {
    const char *name;
    const stn_lat_column *columns; /**< [count] */
    size_t count;
    size_t key_count; /**< the first so many columns are the primary key */
} stn_lat_table;

/** A row of the table "series". */
typedef struct stn_lat_link {
    stn_lat_id id, hardware, engine, signature;
} stn_lat_link;

/** The tables in the order in which one refers to another. */
typedef enum stn_lat_table_id {
    STN_LAT_T_HARDWARE, /**< stn_lat_hardware */
    STN_LAT_T_ENGINE,   /**< stn_lat_engine */
    STN_LAT_T_SIGNATURE,
    STN_LAT_T_SOURCE,
    STN_LAT_T_SERIES,  /**< stn_lat_link */
    STN_LAT_T_LATENCY, /**< stn_lat_row */
    STN_LAT_T_COUNT,
} stn_lat_table_id;

/** The structure of the largest item of the tables with fingerprints. */
typedef union stn_lat_item {
    stn_lat_id id; /* first member of each */
    stn_lat_hardware hardware;
    stn_lat_engine engine;
    stn_lat_signature signature;
    stn_lat_source source;
    stn_lat_link series;
} stn_lat_item;

const stn_lat_table *stn_lat_table_of(stn_lat_table_id id);

/** One value on its way to or from a database. */
typedef struct stn_lat_value {
    stn_lat_type type;
    bool null; /**< only of a STN_LAT_REAL */
    union {
        int64_t i;
        double f;
        const char *s; /**< borrowed */
    } v;
} stn_lat_value;

/** A structure as values, column by column. @param[out] values [table->count] */
void stn_lat_pack(const stn_lat_table *table, const void *item, stn_lat_value *values);
/** And back; texts are borrowed from @p values. */
void stn_lat_unpack(const stn_lat_table *table, const stn_lat_value *values, void *item);

/** Fingerprint of the identity columns: FNV-1a of "TABLE\n" and of "COLUMN=VALUE\n" for each that
 * is not "" or 0, mixed, of 63 bits. Columns that come later do not change it while they are empty.
 */
stn_lat_id stn_lat_fingerprint(const stn_lat_table *table, const void *item);

/** May @p item be stored? @return STN_OK; STN_ERANGE: which column, what it holds, what it may */
stn_status stn_lat_table_check(const stn_lat_table *table, const void *item,
                               stn_err *err) STN_MUST_USE;

#endif
