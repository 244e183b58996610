/** @file
 *  Words of the command line to values. Every function leaves @p out untouched on error and
 *  says what was found and what was expected. Pinned by tests/unit/test_value.c. */
#ifndef STN_APP_VALUE_H
#define STN_APP_VALUE_H

#include "app/command.h"

/** "250", "10k", "1.5M", "2G": powers of 1000. @return STN_OK, STN_ERANGE */
stn_status stn_value_count(const char *text, uint64_t *out, stn_err *err) STN_MUST_USE;
/** "4096", "64K", "1.5M", "2G": bytes in powers of 1024. */
stn_status stn_value_size(const char *text, uint64_t *out, stn_err *err) STN_MUST_USE;
/** "10", "250ms", "10us", "5m", "1h", "7ns": nanoseconds; seconds without a unit. */
stn_status stn_value_duration(const char *text, uint64_t *out, stn_err *err) STN_MUST_USE;
/** "A..B", "A..", "..B": durations since the first event. */
stn_status stn_value_range(const char *text, stn_range *out, stn_err *err) STN_MUST_USE;
/** "0,2-3" appended to @p out. @return STN_OK, STN_ERANGE, STN_ENOMEM */
stn_status stn_value_numbers(const char *text, stn_numbers *out, stn_err *err) STN_MUST_USE;

/** Write 1234567 as "1,234,567". @return @p buffer */
const char *stn_value_grouped(uint64_t value, char buffer[32]);
/** Write nanoseconds for a reader: "870 ns", "12.3 us", "4.05 ms", "3.00 s". */
const char *stn_value_time(double ns, char buffer[32]);
/** Write a number for a reader: "950", "12.3 k", "1.25 M". */
const char *stn_value_short(double value, char buffer[32]);

#endif
