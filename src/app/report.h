/** @file
 *  What `standin kernel evaluate` shows: terminal table, JSON, one HTML page.
 *  The page is self-contained: no network, works from file://, names that come from
 *  traces are text and never markup. Pinned by tests/e2e/report.bats, tests/browser. */
#ifndef STN_APP_REPORT_H
#define STN_APP_REPORT_H

#include <standin/judge.h>

#include <jansson.h>
#include <stdio.h>

/** One side of an evaluation, as the user named it. All borrowed. */
typedef struct stn_report_side {
    const stn_trace *const *traces; /**< [count] */
    const char *const *paths;       /**< [count] shown by their last part */
    size_t count;
} stn_report_side;

/** What a report shows besides the figures. All borrowed. */
typedef struct stn_report_input {
    stn_report_side train, real, synthetic;
    const stn_rules *rules; /**< the set that the evaluation used: names of the rules */
    const stn_catalog *catalog;
    const char *title; /**< NULL: made of the names */
    uint64_t seed;
} stn_report_input;

/** Figures as aligned text for a terminal. @param out borrowed */
void stn_report_table(const stn_evaluation *evaluation, const stn_report_input *input, FILE *out);

/** The object that `evaluate --json` prints; figures that do not exist are null.
 *  @param[out] out  the caller's reference  @return STN_OK, STN_ENOMEM */
stn_status stn_report_json(const stn_evaluation *evaluation, const stn_report_input *input,
                           json_t **out, stn_err *err) STN_MUST_USE;

/** Write the page to @p path (temporary, then renamed). @return STN_OK, STN_EIO, STN_ENOMEM */
stn_status stn_report_html(const stn_evaluation *evaluation, const stn_report_input *input,
                           const char *path, stn_err *err) STN_MUST_USE;

#endif
