/** @file
 *  Records of libtraceevent as our events. Every offset that a record or a format names is
 *  checked against the record's size. Pinned by tests/unit/test_read_trace_dat.c. */
#ifndef STN_KERNEL_TRACE_READ_DAT_EVENT_H
#define STN_KERNEL_TRACE_READ_DAT_EVENT_H

#include <standin/trace.h>
#include <traceevent/event-parse.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "kernel/trace/read_fields.h"

typedef struct stn_dat_type stn_dat_type;

/** Zero-initialise, set catalog, tep and x86_64, then use. */
typedef struct stn_dat_events {
    stn_catalog *catalog;
    struct tep_handle *tep; /**< borrowed */
    bool x86_64;            /**< raw system calls are named by their number */
    stn_map ids;            /**< id of the file -> index of types + 1 */
    stn_dat_type **types;   /**< [type_count] */
    size_t type_count;
    size_t type_capacity;
    stn_map comms; /**< tid -> string id + 1, 0: not known */
    stn_map calls; /**< index of a type << 32 | system call number -> type + 1 */
    stn_arena values;
    stn_fields fields;
} stn_dat_events;

/** Decode @p record: type, tid, comm and fields of @p event, valid until the next call.
 *  @return STN_OK, STN_ENOMEM, STN_EFORMAT */
stn_status stn_dat_decode(stn_dat_events *events, struct tep_record *record, stn_event *event,
                          stn_err *err) STN_MUST_USE;
void stn_dat_events_fini(stn_dat_events *events);

#endif
