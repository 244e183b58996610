/** @file
 *  Small traces for the tests of the judges. */
#ifndef STN_TESTS_UNIT_JUDGE_TRACES_H
#define STN_TESTS_UNIT_JUDGE_TRACES_H

#include <string.h>

#include "testing.h"

#include <standin/trace.h>

/** Append an event of the type called @p name, of thread @p tid on CPU @p cpu. */
static inline void put_event(stn_trace *trace, uint64_t time_ns, uint16_t cpu, int32_t tid,
                             const char *comm, const char *name, const stn_field *fields,
                             uint16_t field_count) {
    stn_err err = {0};
    stn_event event = {
        .time_ns = time_ns,
        .type = stn_catalog_type(trace->catalog, name, NULL),
        .tid = tid,
        .comm = stn_catalog_cstring(trace->catalog, comm),
        .cpu = cpu,
        .fields = fields,
        .field_count = field_count,
    };
    assert_int_equal(stn_trace_append(trace, &event, &err), STN_OK);
}

/** A mark that events were lost. */
static inline void put_mark(stn_trace *trace, uint64_t time_ns) {
    stn_err err = {0};
    stn_event mark = {.time_ns = time_ns,
                      .type = STN_TYPE_LOST,
                      .tid = STN_NO_TID,
                      .comm = STN_NO_ID,
                      .cpu = STN_NO_CPU};
    assert_int_equal(stn_trace_append(trace, &mark, &err), STN_OK);
}

/** One event per letter of @p letters, of type "type_x", 1 us apart; '|' is a mark. */
static inline void put_letters(stn_trace *trace, const char *letters) {
    char name[] = "type_x";
    for (size_t i = 0; letters[i]; i++) {
        if (letters[i] == '|') {
            put_mark(trace, 1000 * i);
        } else {
            name[5] = letters[i];
            put_event(trace, 1000 * i, 0, 1, "a", name, NULL, 0);
        }
    }
}

/** A field with a number. */
static inline stn_field number(stn_catalog *catalog, const char *name, int64_t value) {
    return (stn_field){
        .name = stn_catalog_cstring(catalog, name), .kind = STN_FIELD_INT, .v.i = value};
}

#endif
