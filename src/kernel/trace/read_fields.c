/* The fields of the event that a reader is decoding. */
#include "kernel/trace/read_fields.h"

#include "core/base/alloc.h"

stn_status stn_fields_add(stn_fields *fields, stn_field field, stn_err *err) {
    if (fields->count >= UINT16_MAX) {
        return stn_err_set(err, STN_EFORMAT, "an event of more than 65535 fields");
    }
    if (fields->count >= fields->capacity &&
        stn_grow(&fields->items, &fields->capacity, fields->count + 1, sizeof *fields->items)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the fields of an event");
    }
    fields->items[fields->count++] = field;
    return STN_OK;
}

void stn_fields_lend(const stn_fields *fields, stn_event *event) {
    event->fields = fields->items;
    event->field_count = (uint16_t)fields->count;
}

void stn_fields_fini(stn_fields *fields) {
    stn_free(fields->items);
    *fields = (stn_fields){0};
}
