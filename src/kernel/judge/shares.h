/** @file
 *  Who the events belong to: share per CPU and per thread class, side beside side.
 *  Pinned by tests/unit/test_judge_shares.c. */
#ifndef STN_KERNEL_JUDGE_SHARES_H
#define STN_KERNEL_JUDGE_SHARES_H

#include "core/base/map.h"

#include <standin/judge.h>

/** How many events each key has. Zero-initialise. */
typedef struct stn_tallies {
    stn_map counts;
    uint64_t total;
} stn_tallies;

/** Events per CPU of @p traces [count]. @return STN_OK; STN_ENOMEM (tallies good for fini) */
stn_status stn_tallies_cpus(stn_tallies *tallies, const stn_trace *const *traces, size_t count,
                            stn_err *err) STN_MUST_USE;
/** Events per thread class: the name of the process; where it holds a slash (kernel threads:
 *  "kworker/1:1H", "ksoftirqd/0") with each run of digits written '#', so that the workers of
 *  a pool are one class. Key: string id of the class, which is added to @p catalog. */
stn_status stn_tallies_threads(stn_tallies *tallies, const stn_trace *const *traces, size_t count,
                               stn_catalog *catalog, stn_err *err) STN_MUST_USE;
void stn_tallies_fini(stn_tallies *tallies);

/** Total variation: half the sum of the differences of the shares; 0..1, NAN if one is empty. */
double stn_tallies_distance(const stn_tallies *a, const stn_tallies *b);

/** Both as rows. @param[out] rows  [*count], the caller frees with stn_free(); unordered */
stn_status stn_tallies_rows(const stn_tallies *real, const stn_tallies *synthetic, stn_share **rows,
                            uint32_t *count, stn_err *err) STN_MUST_USE;

#endif
