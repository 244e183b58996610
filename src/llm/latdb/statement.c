/* SQL projected from the tables. The texts are bounded by the tables: an overflow is a programming
 * error. */
#include "llm/latdb/statement.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void stn_lat_sql_begin(stn_lat_sql *sql) {
    memset(sql, 0, sizeof *sql);
    sql->query.sql = sql->text;
}

void stn_lat_sql_add(stn_lat_sql *sql, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int more = vsnprintf(sql->text + sql->used, sizeof sql->text - sql->used, fmt, args);
    va_end(args);
    assert(more >= 0 && sql->used + (size_t)more < sizeof sql->text);
    sql->used += (size_t)more;
}

void stn_lat_sql_names(stn_lat_sql *sql, const stn_lat_table *table, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        stn_lat_sql_add(sql, "%s%s", i > first ? "," : "", table->columns[i].name);
    }
}

static void add_insert(stn_lat_sql *sql, const stn_lat_table *table) {
    stn_lat_sql_begin(sql);
    stn_lat_sql_add(sql, "INSERT INTO %s(", table->name);
    stn_lat_sql_names(sql, table, 0, table->count);
    stn_lat_sql_add(sql, ") VALUES(");
    for (size_t i = 0; i < table->count; i++) {
        stn_lat_sql_add(sql, "%s$%zu", i ? "," : "", i + 1);
        sql->query.in[sql->query.in_count++] = table->columns[i].type;
    }
    stn_lat_sql_add(sql, ")");
}

void stn_lat_sql_insert(stn_lat_sql *sql, const stn_lat_table *table) {
    add_insert(sql, table);
    stn_lat_sql_add(sql, " ON CONFLICT DO NOTHING");
}

void stn_lat_sql_replace(stn_lat_sql *sql, const stn_lat_table *table) {
    stn_lat_sql_add(sql, " ON CONFLICT(");
    stn_lat_sql_names(sql, table, 0, table->key_count);
    stn_lat_sql_add(sql, ") DO UPDATE SET ");
    for (size_t i = table->key_count; i < table->count; i++) {
        const char *name = table->columns[i].name;
        stn_lat_sql_add(sql, "%s%s=excluded.%s", i > table->key_count ? "," : "", name, name);
    }
}

void stn_lat_sql_upsert(stn_lat_sql *sql, const stn_lat_table *table) {
    add_insert(sql, table);
    stn_lat_sql_replace(sql, table);
}

void stn_lat_sql_select(stn_lat_sql *sql, const stn_lat_table *table, bool by_first) {
    stn_lat_sql_begin(sql);
    stn_lat_sql_add(sql, "SELECT ");
    stn_lat_sql_names(sql, table, 0, table->count);
    stn_lat_sql_add(sql, " FROM %s", table->name);
    if (by_first) {
        stn_lat_sql_add(sql, " WHERE %s=$1", table->columns[0].name);
        sql->query.in[sql->query.in_count++] = table->columns[0].type;
    }
    stn_lat_sql_add(sql, " ORDER BY ");
    stn_lat_sql_names(sql, table, 0, table->key_count);
    for (size_t i = 0; i < table->count; i++) {
        sql->query.out[sql->query.out_count++] = table->columns[i].type;
    }
}
