/** @file
 *  The data behind the plots of the page, as one JSON object that report.js reads. */
#ifndef STN_APP_REPORT_DATA_H
#define STN_APP_REPORT_DATA_H

#include "app/report.h"

/** @param[out] out  the caller's reference  @return STN_OK, STN_ENOMEM */
stn_status stn_report_data(const stn_evaluation *evaluation, const stn_report_input *input,
                           json_t **out, stn_err *err) STN_MUST_USE;

#endif
