/* Fields of an event. */
#include <errno.h>
#include <stdlib.h>

#include <standin/trace.h>

const stn_field *stn_event_field(const stn_event *event, uint32_t name) {
    for (uint32_t i = 0; i < event->field_count; i++) {
        if (event->fields[i].name == name) {
            return &event->fields[i];
        }
    }
    return NULL;
}

static int64_t text_int(const char *text, int64_t fallback) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    return end == text || *end || errno ? fallback : value;
}

int64_t stn_field_int(const stn_field *field, int64_t fallback) {
    if (!field) {
        return fallback;
    }
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        return field->v.i;
    case STN_FIELD_UINT:
    case STN_FIELD_HEX:
        return (int64_t)field->v.u;
    case STN_FIELD_STR:
        return text_int(field->v.s, fallback);
    case STN_FIELD_REAL:
    case STN_FIELD_SEQ:
        break;
    }
    return fallback;
}
