/** @file
 *  Who wakes whom: for each kind of place that threads are woken from, the kin of threads that
 *  it wakes most. A world counts how many of each kin are asleep, so what comes next somewhere
 *  can depend on whether those that are usually woken from there wait for it.
 *  Pinned by tests/unit/test_synth_wakes.c. */
#ifndef STN_KERNEL_SYNTH_WAKES_H
#define STN_KERNEL_SYNTH_WAKES_H

#include "core/base/map.h"
#include "kernel/synth/blob.h"

enum {
    STN_WAKE_TARGETS = 3, /**< kin kept for a place */
    STN_WAKE_SHARE = 10,  /**< … each of them with at least one tenth of its wake-ups */
};
#define STN_KIN_NONE UINT32_MAX

typedef struct stn_wake {
    uint64_t place; /**< hash */
    uint32_t kin[STN_WAKE_TARGETS];
    uint32_t count;
} stn_wake;

/** Zero-initialised: nobody wakes anybody. */
typedef struct stn_wakes {
    stn_wake *rows; /**< [row_count] */
    uint32_t row_count;
    uint64_t *kins; /**< [kin_count] hashes */
    uint32_t kin_count;
    stn_map by_place; /**< place -> row + 1 */
    stn_map by_kin;   /**< hash of a kin -> number + 1 */
} stn_wakes;

typedef struct stn_wake_case {
    uint64_t place, kin;
    uint32_t count;
} stn_wake_case;

/** Collects cases; zero-initialise, then add. */
typedef struct stn_wakes_builder {
    stn_map seen; /**< hash of place and kin -> index + 1 */
    stn_wake_case *cases;
    size_t count, capacity;
} stn_wakes_builder;

/** @return STN_OK, STN_ENOMEM */
stn_status stn_wakes_add(stn_wakes_builder *builder, uint64_t place, uint64_t kin) STN_MUST_USE;
/** @param[out] out  the caller frees with stn_wakes_fini()  @return STN_OK, STN_ENOMEM */
stn_status stn_wakes_build(stn_wakes *out, stn_wakes_builder *builder) STN_MUST_USE;
void stn_wakes_builder_fini(stn_wakes_builder *builder);
void stn_wakes_fini(stn_wakes *wakes);

/** Whom a place wakes, or NULL. */
const stn_wake *stn_wakes_of(const stn_wakes *wakes, uint64_t place);
/** Number of a kin, or STN_KIN_NONE if no place wakes it often. */
uint32_t stn_wakes_kin(const stn_wakes *wakes, uint64_t kin);

void stn_wakes_put(const stn_wakes *wakes, stn_blob *blob);
/** @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_wakes_get(stn_wakes *wakes, stn_cursor *cursor) STN_MUST_USE;

#endif
