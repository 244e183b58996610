/** @file
 *  Validity: rule violations of the runs of one side. */
#ifndef STN_KERNEL_JUDGE_VALIDITY_H
#define STN_KERNEL_JUDGE_VALIDITY_H

#include "kernel/judge/work.h"

#include <standin/judge.h>

#define STN_VALIDITY_KEPT 32u

/** What one side breaks. Zero-initialise. */
typedef struct stn_validity {
    stn_rule_stats *stats;     /**< [stn_rules_count()] */
    stn_violation *violations; /**< [violation_count] the first ones, at most STN_VALIDITY_KEPT */
    uint32_t violation_count;
    double per_1000; /**< violations per 1,000 events */
} stn_validity;

/** Check each of @p traces [count] from an empty state; counts are summed.
 *  @return STN_OK, STN_ENOMEM, STN_EINTR (validity is good for fini) */
stn_status stn_validity_check(stn_validity *validity, const stn_trace *const *traces, size_t count,
                              const stn_rules *rules, stn_catalog *catalog, const stn_work *work,
                              stn_err *err) STN_MUST_USE;
void stn_validity_fini(stn_validity *validity);

#endif
