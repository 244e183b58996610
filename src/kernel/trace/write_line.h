/** @file
 *  A line of output in the making: appends digits, names and escaped text without printf,
 *  which the text writers call millions of times a second.
 *  Running out of memory sticks (::stn_line::failed) and is asked for once per line.
 *  Pinned by tests/unit/test_write_line.c. */
#ifndef STN_KERNEL_TRACE_WRITE_LINE_H
#define STN_KERNEL_TRACE_WRITE_LINE_H

#include <string.h>

#include <standin/trace.h>

#include "core/data/outfile.h"

/** Zero-initialise, then use. */
typedef struct stn_line {
    char *bytes; /**< [capacity]; not NUL-terminated */
    size_t size;
    size_t capacity;
    bool failed; /**< out of memory since the last stn_line_clear() */
} stn_line;

/** Make room for @p more bytes beyond the capacity; false (and failed) if out of memory. */
bool stn_line_grow(stn_line *text, size_t more);
/** Room for @p more bytes; false (and failed) if out of memory. */
static inline bool stn_line_reserve(stn_line *text, size_t more) {
    return text->capacity - text->size >= more || stn_line_grow(text, more);
}
void stn_line_fini(stn_line *text);

static inline void stn_line_clear(stn_line *text) {
    text->size = 0;
    text->failed = false;
}

static inline void stn_line_bytes(stn_line *text, const char *bytes, size_t size) {
    if (size && stn_line_reserve(text, size)) {
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
    }
}

static inline void stn_line_char(stn_line *text, char c) {
    if (stn_line_reserve(text, 1)) {
        text->bytes[text->size++] = c;
    }
}

static inline void stn_line_string(stn_line *text, const char *string) {
    stn_line_bytes(text, string, strlen(string));
}

/** Decimal digits. */
void stn_line_u64(stn_line *text, uint64_t value);
void stn_line_i64(stn_line *text, int64_t value);
/** Decimal digits with zeros before, at least @p width of them. @pre width <= 20 */
void stn_line_padded(stn_line *text, uint64_t value, unsigned width);
/** "0x" and lower-case digits. */
void stn_line_hex(stn_line *text, uint64_t value);
/** The shortest decimal form that reads back as the same number; "inf", "-inf", "nan", "-nan". */
void stn_line_real(stn_line *text, double value);
/** Nanoseconds as "seconds.nnnnnnnnn". */
void stn_line_seconds(stn_line *text, uint64_t time_ns);
/** "[1 2 3]" with @p separator between the numbers; "[1 2 3]u" if they are unsigned. */
void stn_line_seq(stn_line *text, const stn_seq *seq, char separator);
/** Blanks until the line is @p size bytes long. */
void stn_line_fill(stn_line *text, size_t size);
/** @p string as UTF-8, whatever it was: what is none becomes U+FFFD. */
void stn_line_utf8(stn_line *text, const char *string);
/** A JSON string with its quotes. What is not UTF-8 becomes U+FFFD, so the output always is. */
void stn_line_json(stn_line *text, const char *string);
/** A JSON value of @p field: numbers as numbers, HEX as "0x…", infinities as strings. */
void stn_line_json_value(stn_line *text, const stn_field *field);

/** A file of lines. Zero-initialise, then use. */
typedef struct stn_line_file {
    stn_outfile *file;
    stn_line line; /**< the one in the making */
} stn_line_file;

/** Begin what will be @p path with @p header. @return as stn_outfile_open(); then nothing is left
 *  to close */
stn_status stn_line_file_open(stn_line_file *lines, const char *path, const char *header,
                              stn_err *err) STN_MUST_USE;
/** Write the line. @return STN_ENOMEM if it could not be made; else as stn_outfile_write() */
stn_status stn_line_file_put(stn_line_file *lines, stn_err *err) STN_MUST_USE;
/** Close, and if @p whole the file is there. Legal on zeroes.
 *  @return as stn_outfile_commit(); STN_OK if not @p whole */
stn_status stn_line_file_close(stn_line_file *lines, bool whole, stn_err *err);

#endif
