/** @file
 *  Which events a filter lets through. Pinned by tests/unit/test_read_csv.c (a reader's filter),
 *  tests/e2e/check.bats. */
#ifndef STN_KERNEL_TRACE_SIEVE_H
#define STN_KERNEL_TRACE_SIEVE_H

#include <standin/trace.h>

/** A filter over the events of one trace, with what it found out about their names. */
typedef struct stn_sieve stn_sieve;

/** Both are borrowed for its life. @return STN_OK, STN_ENOMEM */
stn_status stn_sieve_new(stn_sieve **out, const stn_filter *filter, const stn_catalog *catalog,
                         stn_err *err) STN_MUST_USE;
/** Legal on NULL. */
void stn_sieve_free(stn_sieve *sieve);
/** Does @p event pass? The first event that is asked for is where the filter's times begin.
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_sieve_passes(stn_sieve *sieve, const stn_event *event, bool *passes,
                            stn_err *err) STN_MUST_USE;

#endif
