/** @file
 *  Reproducible random numbers: xoshiro256** (Blackman, Vigna 2018), seeded through
 *  splitmix64. Same seed, same numbers, on every machine. Pinned by tests/unit/test_core_base.c. */
#ifndef STN_CORE_BASE_RNG_H
#define STN_CORE_BASE_RNG_H

#include <standin/base.h>

typedef struct stn_rng {
    uint64_t s[4];
} stn_rng;

void stn_rng_init(stn_rng *rng, uint64_t seed);
/** A generator independent of @p rng, for a sub-task named by @p stream. */
stn_rng stn_rng_fork(const stn_rng *rng, uint64_t stream);

/** 64 uniform bits. */
static inline uint64_t stn_rng_u64(stn_rng *rng) {
    uint64_t *s = rng->s;
    uint64_t x = s[1] * 5;
    uint64_t result = ((x << 7) | (x >> 57)) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/** Uniform in [0, 1), 53 bits. */
static inline double stn_rng_double(stn_rng *rng) {
    return (double)(stn_rng_u64(rng) >> 11) * 0x1p-53;
}

/** Uniform in 0 .. bound-1 (bias at most bound / 2^53). @pre 0 < bound < 2^53 */
static inline uint64_t stn_rng_below(stn_rng *rng, uint64_t bound) {
    return (uint64_t)(stn_rng_double(rng) * (double)bound);
}

/** Standard normal (Box-Muller, one of the pair). */
double stn_rng_normal(stn_rng *rng);

#endif
