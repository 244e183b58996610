/** @file
 *  Holes that a model fills before a trace is repaired: those that the user names and those that
 *  the lost marks tell of. Pinned by tests/e2e/infill.bats. */
#ifndef STN_APP_GAPS_H
#define STN_APP_GAPS_H

#include <jansson.h>

#include <standin/synth.h>

#include "app/command.h"

/** Zero-initialise, then use. */
typedef struct stn_gaps {
    stn_gap *items; /**< [count] by rising begin */
    size_t count;
    uint64_t base_ns; /**< time of the trace's first event */
} stn_gaps;

/** Are all of @p holes ranges "A..B"? @return STN_OK; STN_ERANGE with app->usage set */
stn_status stn_gaps_usage(stn_app *app, const stn_texts *holes, stn_err *err) STN_MUST_USE;
/** The holes named (in time since the first event), and with @p marked those of the lost marks.
 *  @return STN_OK; STN_ERANGE (a hole outside the trace, or over another one), STN_EFORMAT (none at
 *  all), STN_ENOMEM */
stn_status stn_gaps_gather(stn_gaps *gaps, const stn_texts *holes, bool marked,
                           const stn_trace *trace, stn_err *err) STN_MUST_USE;
/** [{"begin_ns", "end_ns", "cpu", "lost", "made", "replaced"}] */
json_t *stn_gaps_json(const stn_gaps *gaps);
/** Events made in all of them. */
uint64_t stn_gaps_made(const stn_gaps *gaps);
/** A line each, of many the first few, and their sum. */
void stn_gaps_print(FILE *to, const stn_gaps *gaps);
void stn_gaps_fini(stn_gaps *gaps);

#endif
