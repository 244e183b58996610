/** @file
 *  What the text readers share: names looked up once, values typed, payloads taken apart into
 *  fields. Values are lent from the line, which is cut up in place; nothing is allocated per
 *  event once the buffers have grown. Pinned by tests/unit/test_read_ftrace.c. */
#ifndef STN_KERNEL_TRACE_READ_TEXT_H
#define STN_KERNEL_TRACE_READ_TEXT_H

#include <standin/trace.h>

#include "core/base/arena.h"
#include "core/base/intern.h"
#include "core/base/map.h"

typedef struct stn_text_type stn_text_type;

/** Zero-initialise, set catalog, then use. */
typedef struct stn_text {
    stn_catalog *catalog;
    stn_intern events;    /**< names as read; the id is a slot of types */
    stn_text_type *types; /**< [type_capacity], used up to events.count */
    size_t type_capacity;
    stn_intern keys;  /**< field names as read */
    stn_map key_ids;  /**< slot << 32 | key -> string id << 8 | kind of value */
    stn_map call_ids; /**< slot << 32 | system call number -> type */
    stn_field *fields;
    size_t field_count;
    size_t field_capacity;
    stn_arena arena; /**< sequences of the present event */
    uint32_t type;   /**< type of the present event, set by stn_text_event() */
    uint32_t slot;
} stn_text;

/** Begin an event called @p name (as read). Canonical type in text->type.
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_text_event(stn_text *text, const char *name, size_t size, stn_err *err) STN_MUST_USE;
/** Add a field; @p value is typed by its look and by the field's canonical name.
 *  @pre value[value_size] may be overwritten with NUL and lives as long as the event */
stn_status stn_text_put(stn_text *text, const char *key, size_t key_size, char *value,
                        size_t value_size, stn_err *err) STN_MUST_USE;
/** Add a field with a value that is typed already; the name is made canonical. */
stn_status stn_text_put_field(stn_text *text, const char *key, size_t key_size, stn_field field,
                              stn_err *err) STN_MUST_USE;
/** Add a sequence field; items are copied. */
stn_status stn_text_put_seq(stn_text *text, const char *key, size_t key_size, const int64_t *items,
                            uint32_t count, bool is_signed, stn_err *err) STN_MUST_USE;
/** Take @p payload of the present event apart: k=v pairs, "k: v, k: v", raw system calls,
 *  block requests, trace-cmd's forms; what has no known form becomes the field "text". */
stn_status stn_text_payload(stn_text *text, char *payload, size_t size, stn_err *err) STN_MUST_USE;
/** The ends of a system call as ftrace prints them without an event name: "sys_read(fd: 3, …)",
 *  "sys_read -> 0x1". Begins the event too. @p found false: it is none of these. */
stn_status stn_text_call(stn_text *text, char *payload, size_t size, bool *found,
                         stn_err *err) STN_MUST_USE;
/** Fill type and fields of @p event from the present event. */
void stn_text_finish(const stn_text *text, stn_event *event);
void stn_text_fini(stn_text *text);

/** Unsigned decimal without sign at @p *at, at most 2^64 - 1; moves @p *at behind it.
 *  @return false if there is none or it is too large (then @p *at is unchanged) */
bool stn_text_decimal(const char **at, const char *end, uint64_t *value);
/** "12.345678", "12.345678901" or a whole number of nanoseconds; moves @p *at behind it. */
bool stn_text_time(const char **at, const char *end, uint64_t *time_ns);
/** Number by its look: "-5", "18446744073709551615", "0x1f". */
bool stn_text_number(const char *value, size_t size, stn_field *field);

#endif
