/** @file
 *  How long threads sleep before they are woken, by name and the call that they sleep in; and
 *  the alarms of those that sleep now. A thread that sleeps for longer than its like ever did
 *  has been forgotten: the model took the one that would have woken it another way.
 *  Pinned by tests/unit/test_synth_sleeps.c. */
#ifndef STN_KERNEL_SYNTH_SLEEPS_H
#define STN_KERNEL_SYNTH_SLEEPS_H

#include "core/base/map.h"
#include "core/base/rng.h"
#include "kernel/synth/blob.h"

enum { STN_SLEEP_POINTS = 8 };

typedef struct stn_sleep {
    uint64_t kin;                          /**< hash */
    uint64_t longest_ns[STN_SLEEP_POINTS]; /**< rising, from the 0.9 quantile to the longest;
                                                of few cases all are the longest */
} stn_sleep;

/** Zero-initialised: nothing is known. */
typedef struct stn_sleeps {
    stn_sleep *rows; /**< [count] */
    uint32_t count;
    stn_map by_kin; /**< kin -> row + 1 */
} stn_sleeps;

typedef struct stn_sleep_case {
    uint64_t kin, slept_ns;
} stn_sleep_case;

/** Collects cases; zero-initialise, then add. */
typedef struct stn_sleeps_builder {
    stn_sleep_case *cases;
    size_t count, capacity;
} stn_sleeps_builder;

/** @return STN_OK, STN_ENOMEM */
stn_status stn_sleeps_add(stn_sleeps_builder *builder, uint64_t kin,
                          uint64_t slept_ns) STN_MUST_USE;
/** @param[out] out  the caller frees with stn_sleeps_fini()  @return STN_OK, STN_ENOMEM */
stn_status stn_sleeps_build(stn_sleeps *out, stn_sleeps_builder *builder) STN_MUST_USE;
void stn_sleeps_builder_fini(stn_sleeps_builder *builder);
void stn_sleeps_fini(stn_sleeps *sleeps);

/** All kins together, where one is not known by itself. */
#define STN_KIN_ANY 0
/** Draw how long is too long for a kin; UINT64_MAX if it is not known. */
uint64_t stn_sleeps_draw(const stn_sleeps *sleeps, uint64_t kin, stn_rng *rng);

void stn_sleeps_put(const stn_sleeps *sleeps, stn_blob *blob);
/** @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_sleeps_get(stn_sleeps *sleeps, stn_cursor *cursor) STN_MUST_USE;

/* ---- alarms ---------------------------------------------------------------------- */

typedef struct stn_alarm {
    uint64_t due_ns;
    uint64_t what; /**< the caller's */
} stn_alarm;

/** A heap, the earliest first. Zero-initialised: empty. */
typedef struct stn_alarms {
    stn_alarm *heap; /**< [count] */
    size_t count, capacity;
} stn_alarms;

/** @return STN_OK, STN_ENOMEM */
stn_status stn_alarms_add(stn_alarms *alarms, uint64_t due_ns, uint64_t what) STN_MUST_USE;
/** Take away the earliest; there must be one. */
stn_alarm stn_alarms_take(stn_alarms *alarms);
void stn_alarms_fini(stn_alarms *alarms);

#endif
