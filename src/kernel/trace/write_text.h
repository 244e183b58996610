/** @file
 *  A line of output in the making: appends digits, names and escaped text without printf,
 *  which the text writers call millions of times a second.
 *  Running out of memory sticks (::stn_text::failed) and is asked for once per line.
 *  Pinned by tests/unit/test_write_text.c. */
#ifndef STN_KERNEL_TRACE_WRITE_TEXT_H
#define STN_KERNEL_TRACE_WRITE_TEXT_H

#include <string.h>

#include <standin/trace.h>

/** Zero-initialise, then use. */
typedef struct stn_text {
    char *bytes; /**< [capacity]; not NUL-terminated */
    size_t size;
    size_t capacity;
    bool failed; /**< out of memory since the last stn_text_clear() */
} stn_text;

/** Make room for @p more bytes; false (and failed) if out of memory. */
bool stn_text_reserve(stn_text *text, size_t more);
void stn_text_fini(stn_text *text);

static inline void stn_text_clear(stn_text *text) {
    text->size = 0;
    text->failed = false;
}

static inline void stn_text_bytes(stn_text *text, const char *bytes, size_t size) {
    if (stn_text_reserve(text, size)) {
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
    }
}

static inline void stn_text_char(stn_text *text, char c) {
    stn_text_bytes(text, &c, 1);
}

static inline void stn_text_string(stn_text *text, const char *string) {
    stn_text_bytes(text, string, strlen(string));
}

/** Decimal digits. */
void stn_text_u64(stn_text *text, uint64_t value);
void stn_text_i64(stn_text *text, int64_t value);
/** Decimal digits with zeros before, at least @p width of them. @pre width <= 20 */
void stn_text_padded(stn_text *text, uint64_t value, unsigned width);
/** "0x" and lower-case digits. */
void stn_text_hex(stn_text *text, uint64_t value);
/** The shortest decimal form that reads back as the same number; "inf", "-inf", "nan", "-nan". */
void stn_text_real(stn_text *text, double value);
/** Nanoseconds as "seconds.nnnnnnnnn". */
void stn_text_seconds(stn_text *text, uint64_t time_ns);
/** Blanks until the line is @p size bytes long. */
void stn_text_fill(stn_text *text, size_t size);
/** A JSON string with its quotes. What is not UTF-8 becomes U+FFFD, so the output always is. */
void stn_text_json(stn_text *text, const char *string);
/** A JSON value of @p field: numbers as numbers, HEX as "0x…", infinities as strings. */
void stn_text_json_value(stn_text *text, const stn_field *field);

#endif
