/* Escaping. JSON inside a script element needs no more than that no "</script" and no "<!--"
 * can arise: < > & are written as \u003c … and all else beyond ASCII as \uXXXX too. */
#include "app/report_text.h"

#include "core/base/alloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the UTF-8 sequence at @p s, 0 if there is none (RFC 3629, table 3-7 of Unicode). */
static size_t sequence(const unsigned char *s) {
    if (s[0] < 0x80) {
        return 1;
    }
    size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) {
        return 0;
    }
    return size;
}

json_t *stn_json_text(const char *text) {
    json_t *json = json_string(text);
    if (json) {
        return json;
    }
    size_t size = strlen(text);
    char *clean = stn_malloc(3 * size + 1);
    if (!clean) {
        return NULL;
    }
    char *to = clean;
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t length = sequence(s);
        memcpy(to, length ? (const char *)s : REPLACEMENT, length ? length : 3);
        to += length ? length : 3;
        s += length ? length : 1;
    }
    *to = 0;
    json = json_string(clean);
    stn_free(clean);
    return json;
}

json_t *stn_json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

void stn_page_bytes(stn_page *page, const void *bytes, size_t size) {
    if (!page->status && size) {
        page->status = stn_outfile_write(page->file, bytes, size, page->err);
    }
}

void stn_page_put(stn_page *page, const char *markup) {
    stn_page_bytes(page, markup, strlen(markup));
}

void stn_page_printf(stn_page *page, const char *fmt, ...) {
    char text[2048];
    va_list args;
    va_start(args, fmt);
    int size = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (size >= 0) {
        stn_page_bytes(page, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
    }
}

static const char *reference(unsigned char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void stn_page_text(stn_page *page, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t length = sequence(s);
        const char *instead = length ? reference(*s) : REPLACEMENT;
        if (instead) {
            stn_page_put(page, instead);
        } else {
            stn_page_bytes(page, s, length);
        }
        s += length ? length : 1;
    }
}

/* Called by jansson for each piece; plain runs are passed on whole. */
static int put_piece(const char *bytes, size_t size, void *user) {
    stn_page *page = user;
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '<' || bytes[i] == '>' || bytes[i] == '&') {
            stn_page_bytes(page, bytes + from, i - from);
            stn_page_printf(page, "\\u%04x", (unsigned)(unsigned char)bytes[i]);
            from = i + 1;
        }
    }
    stn_page_bytes(page, bytes + from, size - from);
    return page->status ? -1 : 0;
}

void stn_page_json(stn_page *page, const json_t *json) {
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(7);
    if (!page->status && json_dump_callback(json, put_piece, page, flags) && !page->status) {
        page->status = stn_err_set(page->err, STN_ENOMEM, "out of memory for the page's data");
    }
}
