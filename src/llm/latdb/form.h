/** @file
 *  Texts that have one canonical form, so that equal things have equal fingerprints.
 *  Pinned by tests/unit/test_latdb_table.c. */
#ifndef STN_LLM_LATDB_FORM_H
#define STN_LLM_LATDB_FORM_H

#include "llm/latdb/table.h"

/** Does @p text have @p form? @return NULL if so; else what it should be, as the end of a sentence:
 *  "names that rise, each with =" */
const char *stn_lat_form_wrong(stn_lat_form form, const char *text);

/** How many names "a,b,c" has; 0 for "". */
size_t stn_lat_axes_count(const char *axes);

/** "tokens=8 kv=16" into @p text, which it returns. @param point [STN_LAT_AXES_MAX] */
const char *stn_lat_point_text(const char *axes, const int64_t *point, char *text, size_t size);

/** Is @p text valid UTF-8 without control characters? */
bool stn_lat_text_clean(const char *text);

#endif
