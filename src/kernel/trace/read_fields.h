/** @file
 *  The fields of the event that a reader is decoding. Pinned by tests/unit/test_read_ctf.c,
 *  test_read_trace_dat.c. */
#ifndef STN_KERNEL_TRACE_READ_FIELDS_H
#define STN_KERNEL_TRACE_READ_FIELDS_H

#include <standin/trace.h>

/** Zero-initialise, then use; a new event begins with count 0. */
typedef struct stn_fields {
    stn_field *items; /**< [count] */
    size_t count, capacity;
} stn_fields;

/** @return STN_OK; STN_ENOMEM; STN_EFORMAT: the event has more than 65535 */
stn_status stn_fields_add(stn_fields *fields, stn_field field, stn_err *err) STN_MUST_USE;
/** Lend them to @p event. */
void stn_fields_lend(const stn_fields *fields, stn_event *event);
void stn_fields_fini(stn_fields *fields);

#endif
