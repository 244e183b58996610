/* A line of output in the making. */
#include "kernel/trace/write_line.h"

#include <math.h>
#include <stdio.h>

#include "core/base/alloc.h"

/* Above this, doubles no longer hold every integer, and JSON numbers are doubles to most. */
#define JSON_EXACT ((uint64_t)1 << 53)

bool stn_line_grow(stn_line *text, size_t more) {
    if (stn_grow(&text->bytes, &text->capacity, text->size + more, 1)) {
        text->failed = true;
        return false;
    }
    return true;
}

void stn_line_fini(stn_line *text) {
    stn_free(text->bytes);
    *text = (stn_line){0};
}

/* Digits of @p value, right-aligned in @p digits; returns where they begin. */
static unsigned digits_of(uint64_t value, char digits[20]) {
    unsigned at = 20;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return at;
}

void stn_line_u64(stn_line *text, uint64_t value) {
    char digits[20];
    unsigned at = digits_of(value, digits);
    stn_line_bytes(text, digits + at, 20 - at);
}

void stn_line_i64(stn_line *text, int64_t value) {
    if (value < 0) {
        stn_line_char(text, '-');
    }
    stn_line_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void stn_line_padded(stn_line *text, uint64_t value, unsigned width) {
    char digits[20];
    unsigned at = digits_of(value, digits);
    while (20 - at < width) {
        digits[--at] = '0';
    }
    stn_line_bytes(text, digits + at, 20 - at);
}

void stn_line_hex(stn_line *text, uint64_t value) {
    static const char hex[] = "0123456789abcdef";
    char digits[18];
    unsigned at = sizeof digits;
    do {
        digits[--at] = hex[value & 15];
        value >>= 4;
    } while (value);
    digits[--at] = 'x';
    digits[--at] = '0';
    stn_line_bytes(text, digits + at, sizeof digits - at);
}

void stn_line_real(stn_line *text, double value) {
    char digits[32];
    if (isnan(value)) {
        stn_line_string(text, signbit(value) ? "-nan" : "nan");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        double back;
        if (sscanf(digits, "%lf", &back) == 1 && back == value) {
            break;
        }
    }
    char *comma = strchr(digits, ','); /* a locale of the program's */
    if (comma) {
        *comma = '.';
    }
    stn_line_string(text, digits);
}

void stn_line_seconds(stn_line *text, uint64_t time_ns) {
    stn_line_u64(text, time_ns / 1000000000u);
    stn_line_char(text, '.');
    stn_line_padded(text, time_ns % 1000000000u, 9);
}

void stn_line_fill(stn_line *text, size_t size) {
    if (text->size < size && stn_line_reserve(text, size - text->size)) {
        memset(text->bytes + text->size, ' ', size - text->size);
        text->size = size;
    }
}

/* ---- JSON ------------------------------------------------------------ */

/* Bytes of the UTF-8 sequence at @p s, 0 if it is none (too long, a surrogate, cut). */
static unsigned utf8_size(const unsigned char *s) {
    if (s[0] < 0x80) {
        return 1;
    }
    unsigned size = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (unsigned i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool wrong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
                 (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
    return wrong ? 0 : size;
}

/* One character at @p s, which is not ASCII; returns where the next begins. */
static const unsigned char *put_character(stn_line *text, const unsigned char *s) {
    unsigned size = utf8_size(s);
    if (size) {
        stn_line_bytes(text, (const char *)s, size);
    } else {
        stn_line_string(text, "\xef\xbf\xbd");
    }
    return s + (size ? size : 1);
}

void stn_line_utf8(stn_line *text, const char *string) {
    const unsigned char *s = (const unsigned char *)string;
    while (*s) {
        const unsigned char *plain = s;
        while (*s && *s < 0x80) {
            s++;
        }
        stn_line_bytes(text, (const char *)plain, (size_t)(s - plain));
        s = *s ? put_character(text, s) : s;
    }
}

static void json_escape(stn_line *text, unsigned char c) {
    static const char hex[] = "0123456789abcdef";
    char out[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    if (c == '"' || c == '\\') {
        out[1] = (char)c;
        stn_line_bytes(text, out, 2);
    } else {
        stn_line_bytes(text, out, sizeof out);
    }
}

void stn_line_json(stn_line *text, const char *string) {
    const unsigned char *s = (const unsigned char *)string;
    stn_line_char(text, '"');
    while (*s) {
        const unsigned char *plain = s;
        while (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\') {
            s++;
        }
        stn_line_bytes(text, (const char *)plain, (size_t)(s - plain));
        if (*s >= 0x80) {
            s = put_character(text, s);
        } else if (*s) {
            json_escape(text, *s++);
        }
    }
    stn_line_char(text, '"');
}

/* Integers that a double cannot hold go as strings, so that no reader rounds them. */
static void json_integer(stn_line *text, bool negative, uint64_t magnitude) {
    const char *quote = magnitude > JSON_EXACT ? "\"" : "";
    stn_line_string(text, quote);
    if (negative) {
        stn_line_char(text, '-');
    }
    stn_line_u64(text, magnitude);
    stn_line_string(text, quote);
}

static void json_seq(stn_line *text, const stn_seq *seq) {
    stn_line_char(text, '[');
    for (uint32_t i = 0; i < seq->count; i++) {
        if (i) {
            stn_line_char(text, ',');
        }
        bool negative = seq->is_signed && seq->items[i] < 0;
        uint64_t bits = (uint64_t)seq->items[i];
        json_integer(text, negative, negative ? 0 - bits : bits);
    }
    stn_line_char(text, ']');
}

void stn_line_json_value(stn_line *text, const stn_field *field) {
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        json_integer(text, field->v.i < 0,
                     field->v.i < 0 ? 0 - (uint64_t)field->v.i : (uint64_t)field->v.i);
        break;
    case STN_FIELD_UINT:
        json_integer(text, false, field->v.u);
        break;
    case STN_FIELD_HEX:
        stn_line_char(text, '"');
        stn_line_hex(text, field->v.u);
        stn_line_char(text, '"');
        break;
    case STN_FIELD_REAL: {
        const char *quote = isfinite(field->v.f) ? "" : "\"";
        stn_line_string(text, quote);
        stn_line_real(text, field->v.f);
        stn_line_string(text, quote);
        break;
    }
    case STN_FIELD_STR:
        stn_line_json(text, field->v.s);
        break;
    case STN_FIELD_SEQ:
        json_seq(text, field->v.seq);
        break;
    }
}

void stn_line_seq(stn_line *text, const stn_seq *seq, char separator) {
    stn_line_char(text, '[');
    for (uint32_t i = 0; i < seq->count; i++) {
        if (i) {
            stn_line_char(text, separator);
        }
        if (seq->is_signed) {
            stn_line_i64(text, seq->items[i]);
        } else {
            stn_line_u64(text, (uint64_t)seq->items[i]);
        }
    }
    stn_line_string(text, seq->is_signed ? "]" : "]u");
}

stn_status stn_line_file_open(stn_line_file *lines, const char *path, const char *header,
                              stn_err *err) {
    stn_status status = stn_outfile_open(&lines->file, path, err);
    if (!status) {
        status = stn_outfile_write(lines->file, header, strlen(header), err);
    }
    if (status) {
        (void)stn_line_file_close(lines, false, NULL);
    }
    return status;
}

stn_status stn_line_file_put(stn_line_file *lines, stn_err *err) {
    if (lines->line.failed) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a line");
    }
    return stn_outfile_write(lines->file, lines->line.bytes, lines->line.size, err);
}

stn_status stn_line_file_close(stn_line_file *lines, bool whole, stn_err *err) {
    stn_status status = STN_OK;
    if (whole) {
        status = stn_outfile_commit(lines->file, err);
    } else {
        stn_outfile_abort(lines->file);
    }
    stn_line_fini(&lines->line);
    memset(lines, 0, sizeof *lines);
    return status;
}
