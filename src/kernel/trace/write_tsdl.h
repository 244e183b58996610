/** @file
 *  Event classes of a CTF trace in the making: which fields of which kinds an event of a type
 *  has, how they lie in a packet, and the TSDL text that says so.
 *
 *  A type whose events differ in their fields gets several classes of one name. Integers take
 *  32 bits as long as all values fit; the first that does not opens a class with 64 for it.
 *  Pinned by tests/unit/test_write_ctf.c. */
#ifndef STN_KERNEL_TRACE_WRITE_TSDL_H
#define STN_KERNEL_TRACE_WRITE_TSDL_H

#include <standin/trace.h>

#include "kernel/trace/write_line.h"
#include "kernel/trace/write_slots.h"

typedef struct stn_tsdl_class stn_tsdl_class;

/** Zero-initialise, set catalog and originals, then use. */
typedef struct stn_tsdl_classes {
    const stn_catalog *catalog;
    bool originals;         /**< event names as LTTng gave them, not made from canonical ones */
    bool kernel;            /**< values as LTTng's kernel tracer gives them */
    stn_tsdl_class **lists; /**< [list_count] by type: its classes, the one used last first */
    size_t list_count;
    size_t list_capacity;
    stn_tsdl_class **all; /**< [count] in order of making; owner */
    size_t count;
    size_t capacity;
    uint32_t next_id[8]; /**< by stream class */
} stn_tsdl_classes;

/** The class that @p event has in stream class @p stream, made if new.
 *  @param seen    what stn_filler_see() said of the event; its filled-in values are fields too
 *  @param[out] id number of the class in its stream class
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_tsdl_class_find(stn_tsdl_classes *classes, const stn_event *event,
                               const stn_slotted *seen, uint32_t stream, const stn_tsdl_class **out,
                               uint32_t *id, stn_err *err) STN_MUST_USE;
/** Append the payload of @p event to @p packet. @pre @p class is what find gave for it */
void stn_tsdl_class_put(const stn_tsdl_class *class, const stn_event *event,
                        const stn_slotted *seen, stn_line *packet);
/** Append the TSDL of all classes. */
void stn_tsdl_classes_text(const stn_tsdl_classes *classes, stn_line *out);
void stn_tsdl_classes_fini(stn_tsdl_classes *classes);

/** Append @p string as a TSDL string literal with its quotes. */
void stn_tsdl_literal(stn_line *out, const char *string);
/** Append the low @p size bytes of @p value, little-endian. @pre size <= 8 */
static inline void stn_tsdl_integer(stn_line *packet, uint64_t value, unsigned size) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    stn_line_bytes(packet, (const char *)bytes, size);
}

#endif
