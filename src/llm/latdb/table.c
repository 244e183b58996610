/* The tables as rows, and what is projected from them. */
#include "llm/latdb/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/intern.h"

/* clang-format off */
#define COLUMN(structure, member, type, identity, form) \
    {#member, STN_LAT_##type, offsetof(structure, member), identity, STN_LAT_##form}

#define HARDWARE(member, type, identity, form) COLUMN(stn_lat_hardware, member, type, identity, form)
static const stn_lat_column hardware[] = {
    HARDWARE(id,                 INT,  false, GIVEN),
    HARDWARE(kind,               TEXT, true,  HARDWARE_KIND),
    HARDWARE(vendor,             TEXT, true,  ANY),
    HARDWARE(name,               TEXT, true,  GIVEN),
    HARDWARE(revision,           TEXT, true,  ANY),
    HARDWARE(isa,                TEXT, true,  ANY),
    HARDWARE(sockets,            INT,  true,  ANY),
    HARDWARE(cores,              INT,  true,  ANY),
    HARDWARE(threads,            INT,  true,  ANY),
    HARDWARE(clock_max_hz,       INT,  true,  ANY),
    HARDWARE(l1d_bytes,          INT,  true,  ANY),
    HARDWARE(l2_bytes,           INT,  true,  ANY),
    HARDWARE(l3_bytes,           INT,  true,  ANY),
    HARDWARE(memory_bytes,       INT,  true,  ANY),
    HARDWARE(clock_hz,           INT,  false, ANY),
    HARDWARE(memory_bytes_per_s, INT,  false, ANY),
    HARDWARE(driver,             TEXT, false, ANY),
};

#define ENGINE(member, type, identity, form) COLUMN(stn_lat_engine, member, type, identity, form)
static const stn_lat_column engine[] = {
    ENGINE(id,            INT,  false, GIVEN),
    ENGINE(name,          TEXT, true,  GIVEN),
    ENGINE(version,       TEXT, true,  ANY),
    ENGINE(backend,       TEXT, true,  ANY),
    ENGINE(kernel_source, TEXT, true,  ANY),
    ENGINE(settings,      TEXT, true,  SETTINGS),
};

#define SIGNATURE(member, type, identity, form) \
    COLUMN(stn_lat_signature, member, type, identity, form)
static const stn_lat_column signature[] = {
    SIGNATURE(id,     INT,  false, GIVEN),
    SIGNATURE(kind,   TEXT, true,  GIVEN),
    SIGNATURE(dtypes, TEXT, true,  ANY),
    SIGNATURE(dims,   TEXT, true,  DIMS),
    SIGNATURE(layout, TEXT, true,  ANY),
    SIGNATURE(axes,   TEXT, true,  AXES),
};

#define SOURCE(member, type, identity, form) COLUMN(stn_lat_source, member, type, identity, form)
static const stn_lat_column source[] = {
    SOURCE(id,     INT,  false, GIVEN),
    SOURCE(kind,   TEXT, true,  SOURCE_KIND),
    SOURCE(format, TEXT, true,  ANY),
    SOURCE(file,   TEXT, true,  ANY),
    SOURCE(tool,   TEXT, true,  ANY),
};

#define SERIES(member, identity) COLUMN(stn_lat_link, member, INT, identity, GIVEN)
static const stn_lat_column series[] = {
    SERIES(id,        false),
    SERIES(hardware,  true),
    SERIES(engine,    true),
    SERIES(signature, true),
};

#define LATENCY(member, type, form) COLUMN(stn_lat_row, member, type, false, form)
#define POINT(n) {"p" #n, STN_LAT_INT, offsetof(stn_lat_row, point[n]), false, STN_LAT_ANY}
static const stn_lat_column latency[] = {
    LATENCY(series,    INT,  GIVEN),
    POINT(0), POINT(1), POINT(2), POINT(3), POINT(4), POINT(5),
    LATENCY(mean_ns,   REAL, ANY),
    LATENCY(median_ns, REAL, ANY),
    LATENCY(min_ns,    REAL, ANY),
    LATENCY(max_ns,    REAL, ANY),
    LATENCY(std_ns,    REAL, ANY),
    LATENCY(count,     INT,  ANY),
    LATENCY(source,    INT,  GIVEN),
    LATENCY(line,      INT,  ANY),
    LATENCY(time_s,    INT,  ANY),
};
_Static_assert(STN_LAT_AXES_MAX == 6, "one POINT row for each axis");

#define TABLE(rows, keys) {#rows, rows, sizeof (rows) / sizeof *(rows), keys}
static const stn_lat_table tables[STN_LAT_T_COUNT] = {
    [STN_LAT_T_HARDWARE] = TABLE(hardware, 1),
    [STN_LAT_T_ENGINE] = TABLE(engine, 1),
    [STN_LAT_T_SIGNATURE] = TABLE(signature, 1),
    [STN_LAT_T_SOURCE] = TABLE(source, 1),
    [STN_LAT_T_SERIES] = TABLE(series, 1),
    [STN_LAT_T_LATENCY] = TABLE(latency, 1 + STN_LAT_AXES_MAX),
};
/* clang-format on */

const stn_lat_table *stn_lat_table_of(stn_lat_table_id id) {
    return &tables[id];
}

/* ---- structures and values ------------------------------------------- */

static const char *text_of(const stn_lat_column *column, const void *item) {
    const char *text;
    memcpy(&text, (const char *)item + column->at, sizeof text);
    return text ? text : "";
}

static int64_t int_of(const stn_lat_column *column, const void *item) {
    int64_t number;
    memcpy(&number, (const char *)item + column->at, sizeof number);
    return number;
}

void stn_lat_pack(const stn_lat_table *table, const void *item, stn_lat_value *values) {
    for (size_t i = 0; i < table->count; i++) {
        const stn_lat_column *column = &table->columns[i];
        stn_lat_value *value = &values[i];
        value->type = column->type;
        value->null = false;
        switch (column->type) {
        case STN_LAT_TEXT:
            value->v.s = text_of(column, item);
            break;
        case STN_LAT_INT:
            value->v.i = int_of(column, item);
            break;
        case STN_LAT_REAL:
            memcpy(&value->v.f, (const char *)item + column->at, sizeof value->v.f);
            value->null = isnan(value->v.f);
            break;
        }
    }
}

void stn_lat_unpack(const stn_lat_table *table, const stn_lat_value *values, void *item) {
    for (size_t i = 0; i < table->count; i++) {
        const stn_lat_value *value = &values[i];
        char *member = (char *)item + table->columns[i].at;
        double real = value->null ? NAN : value->v.f;
        switch (table->columns[i].type) {
        case STN_LAT_TEXT:
            memcpy(member, &value->v.s, sizeof value->v.s);
            break;
        case STN_LAT_INT:
            memcpy(member, &value->v.i, sizeof value->v.i);
            break;
        case STN_LAT_REAL:
            memcpy(member, &real, sizeof real);
            break;
        }
    }
}

/* ---- fingerprints ---------------------------------------------------- */

static uint64_t fnv1a(uint64_t hash, const char *text) {
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

stn_lat_id stn_lat_fingerprint(const stn_lat_table *table, const void *item) {
    uint64_t hash = fnv1a(fnv1a(UINT64_C(0xcbf29ce484222325), table->name), "\n");
    for (size_t i = 0; i < table->count; i++) {
        const stn_lat_column *column = &table->columns[i];
        char number[24] = "";
        const char *text = number;
        if (column->type == STN_LAT_TEXT) {
            text = text_of(column, item);
        } else if (column->type == STN_LAT_INT && int_of(column, item)) {
            snprintf(number, sizeof number, "%" PRId64, int_of(column, item));
        }
        if (column->identity && *text) {
            hash = fnv1a(fnv1a(fnv1a(fnv1a(hash, column->name), "="), text), "\n");
        }
    }
    hash = stn_hash_u64(hash) & INT64_MAX;
    return hash ? hash : 1;
}

stn_lat_id stn_lat_hardware_id(const stn_lat_hardware *item) {
    return stn_lat_fingerprint(&tables[STN_LAT_T_HARDWARE], item);
}

stn_lat_id stn_lat_engine_id(const stn_lat_engine *item) {
    return stn_lat_fingerprint(&tables[STN_LAT_T_ENGINE], item);
}

stn_lat_id stn_lat_signature_id(const stn_lat_signature *item) {
    return stn_lat_fingerprint(&tables[STN_LAT_T_SIGNATURE], item);
}

stn_lat_id stn_lat_source_id(const stn_lat_source *item) {
    return stn_lat_fingerprint(&tables[STN_LAT_T_SOURCE], item);
}

stn_lat_id stn_lat_series_id(stn_lat_id hardware_id, stn_lat_id engine_id,
                             stn_lat_id signature_id) {
    stn_lat_link link = {0, hardware_id, engine_id, signature_id};
    return stn_lat_fingerprint(&tables[STN_LAT_T_SERIES], &link);
}
