/** @file
 *  Events of libbabeltrace2 as ours: for each event class a plan is made once that says what
 *  every member of its structures is called and means; decoding walks the plan and the fields
 *  together. Pinned by tests/unit/test_read_ctf.c. */
#ifndef STN_KERNEL_TRACE_READ_CTF_EVENT_H
#define STN_KERNEL_TRACE_READ_CTF_EVENT_H

#include <babeltrace2/babeltrace.h>
#include <standin/trace.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "kernel/trace/read_fields.h"

typedef struct stn_ctf_class stn_ctf_class;

/** Zero-initialise, set catalog, then use. */
typedef struct stn_ctf_events {
    stn_catalog *catalog;
    int64_t state_limit;   /**< TASK_STATE_MAX of a kernel before 4.14, 0 of a later one */
    stn_map classes;       /**< address of a bt_event_class -> stn_ctf_class */
    stn_ctf_class **owned; /**< [owned_count] each holds a reference to its class */
    size_t owned_count;
    size_t owned_capacity;
    stn_arena plans;  /**< for as long as the reader */
    stn_arena values; /**< sequences of the present event */
    stn_fields fields;
} stn_ctf_events;

/** Decode @p event. Sets type and fields of @p out; tid, comm and cpu only if the event says
 *  them. Text values are @p event's and live as long as it does.
 *  @return STN_OK, STN_ENOMEM, STN_EFORMAT (more than 65535 fields) */
stn_status stn_ctf_decode(stn_ctf_events *events, const bt_event *event, stn_event *out,
                          stn_err *err) STN_MUST_USE;
/** Value of the integer member called @p name of the structure @p field; false if none. */
bool stn_ctf_member(const bt_field *field, const char *name, uint64_t *value);
void stn_ctf_events_fini(stn_ctf_events *events);

#endif
