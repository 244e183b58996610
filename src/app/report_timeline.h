/** @file
 *  The timeline of the page: who ran on each CPU, in a few stretches of the first real and the
 *  first synthetic run, and every event there. Pinned by tests/unit/test_report_timeline.c. */
#ifndef STN_APP_REPORT_TIMELINE_H
#define STN_APP_REPORT_TIMELINE_H

#include "app/report.h"

/** Stretches of equal length in time on both sides, taken at an early, a middle and a late
 *  point of each run: {"names": […], "types": […], "stretches": [{"label", "width_ns",
 *  "real": S, "synthetic": S}]} with S = {"begin_ns", "cut", "cpus": [{"cpu",
 *  "runs": [begin, length, name, …], "events": [time, type, name, …]}]}; times in ns from
 *  begin_ns, names and types by position, flat arrays of triples.
 *  @param[out] out  the caller's reference  @return STN_OK, STN_ENOMEM */
stn_status stn_report_timeline(const stn_report_input *input, json_t **out,
                               stn_err *err) STN_MUST_USE;

#endif
