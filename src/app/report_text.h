/** @file
 *  Text that comes from traces, made safe for JSON and for HTML. Process and event names are
 *  hostile input: any byte may stand in them. Pinned by tests/unit/test_report_text.c. */
#ifndef STN_APP_REPORT_TEXT_H
#define STN_APP_REPORT_TEXT_H

#include "core/data/outfile.h"

#include <jansson.h>

/** A JSON string; what is not UTF-8 becomes U+FFFD. NULL if out of memory. */
json_t *stn_json_text(const char *text);
/** A JSON number; null if it is not finite. */
json_t *stn_json_number(double value);

/** A page being written. The first failure sticks; later calls do nothing. */
typedef struct stn_page {
    stn_outfile *file;
    stn_status status;
    stn_err *err;
} stn_page;

/** Write markup as it is. */
void stn_page_put(stn_page *page, const char *markup);
void stn_page_bytes(stn_page *page, const void *bytes, size_t size);
void stn_page_printf(stn_page *page, const char *fmt, ...) STN_PRINTF(2, 3);
/** Write text with &, <, >, " and ' as references; what is not UTF-8 becomes U+FFFD. */
void stn_page_text(stn_page *page, const char *text);
/** Write @p json for the inside of a script element: no '<', '>' or '&' is left in it. */
void stn_page_json(stn_page *page, const json_t *json);

#endif
