/* A value with its top bit at e and the next three bits m lies in bin 8 e + m + 1, which is
 * linear within the octave: exact integers, no logarithm. Below 8 the bins that hold no
 * integer stay empty. */
#include "kernel/synth/step.h"

uint32_t stn_step_symbol(uint64_t step_ns) {
    if (step_ns == 0) {
        return 0;
    }
    uint32_t top = 63u - (uint32_t)__builtin_clzll(step_ns);
    uint32_t part = (uint32_t)((top >= 3 ? step_ns >> (top - 3) : step_ns << (3 - top)) & 7);
    return top * STN_STEP_PER_OCTAVE + part + 1;
}

uint64_t stn_step_low(uint32_t symbol) {
    if (symbol == 0) {
        return 0;
    }
    if (symbol >= STN_STEP_SYMBOLS) {
        return UINT64_MAX;
    }
    uint32_t top = (symbol - 1) / STN_STEP_PER_OCTAVE;
    uint64_t part = 8 + (symbol - 1) % STN_STEP_PER_OCTAVE;
    return top >= 3 ? part << (top - 3) : (part + (1u << (3 - top)) - 1) >> (3 - top);
}

uint64_t stn_step_draw(uint32_t symbol, stn_rng *rng) {
    uint64_t low = stn_step_low(symbol);
    uint32_t top = symbol > 0 ? (symbol - 1) / STN_STEP_PER_OCTAVE : 0;
    /* from 8 on the bins of an octave are all as wide */
    uint64_t high = top >= 3 ? low + (UINT64_C(1) << (top - 3)) : stn_step_low(symbol + 1);
    if (symbol == 0 || high <= low + 1) {
        return low;
    }
    return low + (uint64_t)(stn_rng_double(rng) * (double)(high - low));
}
