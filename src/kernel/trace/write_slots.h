/** @file
 *  The events that have a fixed layout elsewhere: which fields they have, in which order,
 *  between which words the kernel prints them, and where a missing one can be taken from.
 *  One table (write_slots.c) serves the ftrace writer, which prints in that layout, and the
 *  CTF writer, because Trace Compass's analyses rely on the fields being there.
 *
 *  What is filled in is never invented about the machine: the last known name of the same
 *  thread, the priority it had last, or 120 (nice 0).
 *  Pinned by tests/unit/test_write_slots.c. */
#ifndef STN_KERNEL_TRACE_WRITE_SLOTS_H
#define STN_KERNEL_TRACE_WRITE_SLOTS_H

#include <standin/trace.h>

#include "core/base/map.h"

typedef enum stn_slot_style {
    STN_SLOT_INT,     /**< decimal */
    STN_SLOT_CPU,     /**< three digits */
    STN_SLOT_TEXT,    /**< as it is */
    STN_SLOT_STATE,   /**< "S", "R+" */
    STN_SLOT_VEC,     /**< "4 [action=BLOCK]" */
    STN_SLOT_HANDLED, /**< "handled", "unhandled" */
    STN_SLOT_DEV,     /**< "8,0" */
} stn_slot_style;

typedef enum stn_slot_fill {
    STN_FILL_NONE,  /**< must be there, else the event has not this layout */
    STN_FILL_COMM,  /**< name of the thread in slot @c of */
    STN_FILL_PRIO,  /**< priority of the thread in slot @c of */
    STN_FILL_OWN,   /**< name of the running thread */
    STN_FILL_BYTES, /**< 512 times slot @c of */
} stn_slot_fill;

typedef struct stn_slot {
    const char *name;   /**< canonical field */
    const char *before; /**< what the kernel prints before it */
    stn_slot_style style;
    stn_slot_fill fill;
    uint8_t of; /**< index of another slot of the row */
} stn_slot;

#define STN_SLOTS_MAX 8

typedef struct stn_slot_row {
    const char *event; /**< canonical name */
    const stn_slot *slots;
    uint32_t count;    /**< 1..STN_SLOTS_MAX */
    const char *after; /**< what the kernel prints after the last one */
} stn_slot_row;

typedef struct stn_slot_plan stn_slot_plan;

/** What the stream has told so far. Zero-initialise, set @c catalog, then use. */
typedef struct stn_filler {
    const stn_catalog *catalog;
    stn_map comms; /**< tid to string id */
    stn_map prios; /**< tid to priority */
    stn_slot_plan *plans;
    size_t plan_count;
    size_t plan_capacity;
    char swapper[2][24]; /**< names of idle threads, made up */
} stn_filler;

/** An event seen through its row. */
typedef struct stn_slotted {
    const stn_slot_row *row;         /**< NULL: the event type has none */
    bool whole;                      /**< every slot has a value */
    uint64_t used;                   /**< bit i: field i (below 64) of the event is in a slot */
    uint32_t filled;                 /**< bit s: values[s] was filled in */
    uint32_t present;                /**< bit s: values[s] is valid */
    stn_field values[STN_SLOTS_MAX]; /**< names are not set in filled ones */
} stn_slotted;

/** Look at @p event through the table and remember what it tells about threads.
 *  Strings in @p out live as long as the event and the catalog, a "swapper/N" until the next
 *  call.  @return STN_OK, STN_ENOMEM */
stn_status stn_filler_see(stn_filler *filler, const stn_event *event, stn_slotted *out,
                          stn_err *err) STN_MUST_USE;
void stn_filler_fini(stn_filler *filler);

#endif
