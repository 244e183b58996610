/** @file
 *  One JSON object on standard output. Pinned by the end-to-end tests, which read every object
 *  with jq. */
#ifndef STN_APP_EMIT_H
#define STN_APP_EMIT_H

#include <jansson.h>

#include "app/command.h"

/** Print @p object, which is consumed. NULL (jansson was out of memory) is ::STN_ENOMEM. */
stn_status stn_emit_json(FILE *out, json_t *object, stn_err *err) STN_MUST_USE;

/** A finite number, or null: JSON has neither NaN nor infinity. */
json_t *stn_emit_real(double value);

#endif
