/** @file
 *  Time steps as symbols: 0 is no step, then 8 bins per octave of nanoseconds; a draw is
 *  uniform within the bin. Pinned by tests/unit/test_synth_step.c. */
#ifndef STN_KERNEL_SYNTH_STEP_H
#define STN_KERNEL_SYNTH_STEP_H

#include "core/base/rng.h"

enum { STN_STEP_PER_OCTAVE = 8, STN_STEP_SYMBOLS = 64 * STN_STEP_PER_OCTAVE + 1 };

/** Bin of a step. */
uint32_t stn_step_symbol(uint64_t step_ns);
/** First step of a bin; that of bin + 1 is one more than the last. @pre symbol < SYMBOLS + 1 */
uint64_t stn_step_low(uint32_t symbol);
/** A step of the bin. */
uint64_t stn_step_draw(uint32_t symbol, stn_rng *rng);

#endif
