/** @file
 *  Events from lines of text for the tests of the rules:
 *    MICROSECONDS CPU TID TYPE FIELD=VALUE …   ("lost" as type is a lost mark, "-" no thread) */
#ifndef STN_TESTS_UNIT_RULES_TRACE_H
#define STN_TESTS_UNIT_RULES_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <standin/rules.h>

#include "testing.h"

/** One event and its storage; valid until the next call with it. */
typedef struct line_event {
    stn_event event;
    stn_field fields[16];
    char text[512];
} line_event;

static inline void line_field(line_event *line, char *word, stn_catalog *catalog) {
    char *value = strchr(word, '=');
    assert_non_null(value);
    *value++ = '\0';
    stn_field *field = &line->fields[line->event.field_count++];
    char *end;
    field->name = stn_catalog_cstring(catalog, word);
    field->kind = STN_FIELD_INT;
    field->v.i = strtoll(value, &end, 0);
    if (*end) {
        field->kind = STN_FIELD_STR;
        field->v.s = value;
    }
}

static inline const stn_event *line_read(line_event *line, const char *text, stn_catalog *catalog) {
    char tid[32], type[64];
    unsigned long long us;
    unsigned cpu;
    int used = 0;
    assert_int_equal(sscanf(text, "%llu %u %31s %63s%n", &us, &cpu, tid, type, &used), 4);
    line->event = (stn_event){.time_ns = us * 1000,
                              .cpu = (uint16_t)cpu,
                              .tid = *tid == '-' ? STN_NO_TID : atoi(tid),
                              .comm = STN_NO_ID,
                              .fields = line->fields};
    line->event.type =
        strcmp(type, "lost") != 0 ? stn_catalog_type(catalog, type, NULL) : STN_TYPE_LOST;
    snprintf(line->text, sizeof line->text, "%s", text + used);
    for (char *word = strtok(line->text, " \n"); word; word = strtok(NULL, " \n")) {
        line_field(line, word, catalog);
    }
    return &line->event;
}

#endif
