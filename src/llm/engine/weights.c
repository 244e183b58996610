/* Random weights: bits are drawn, and only what must not be random is masked away. */
#include "llm/engine/weights.h"

#include <math.h>
#include <string.h>

/* Random 64-bit words, each through `(word & keep) | set`. */
static void fill_words(unsigned char *bytes, size_t size, uint64_t keep, uint64_t set,
                       stn_rng *rng) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = (stn_rng_u64(rng) & keep) | set;
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
}

/* Four 16-bit numbers of one exponent: sign and mantissa are random. */
#define FOUR(x) ((uint64_t)(x)*UINT64_C(0x0001000100010001))

/* Blocks of a scale (f16) and random quants; the scale makes the largest weight about 1/16. */
static void fill_blocks(unsigned char *bytes, size_t size, size_t block, uint16_t scale,
                        stn_rng *rng) {
    fill_words(bytes, size, UINT64_MAX, 0, rng);
    for (size_t i = 0; i + block <= size; i += block) {
        memcpy(bytes + i, &scale, sizeof scale);
    }
}

static void fill_floats(unsigned char *bytes, size_t size, float centre, stn_rng *rng) {
    for (size_t i = 0; i < size; i += sizeof(float)) {
        float value = centre + (float)(stn_rng_double(rng) - 0.5) / 16;
        memcpy(bytes + i, &value, sizeof value);
    }
}

void stn_weights_fill(unsigned char *bytes, size_t size, stn_gguf_type type, stn_role role,
                      stn_rng *rng) {
    switch (type) {
    case STN_GGUF_F16: /* exponent 2^-6 */
        fill_words(bytes, size, FOUR(0x83ff), FOUR(9 << 10), rng);
        break;
    case STN_GGUF_BF16:
        fill_words(bytes, size, FOUR(0x807f), FOUR(121 << 7), rng);
        break;
    case STN_GGUF_Q8_0: /* 2^-11 times -128 … 127 */
        fill_blocks(bytes, size, 34, 4 << 10, rng);
        break;
    case STN_GGUF_Q4_0: /* 2^-7 times -8 … 7 */
        fill_blocks(bytes, size, 18, 8 << 10, rng);
        break;
    case STN_GGUF_F32:
        fill_floats(bytes, size, role == STN_ROLE_NORM ? 1.0F : 0.0F, rng);
        break;
    }
}

void stn_weights_rope(float *factors, size_t count, const double *values) {
    double factor = values[STN_V_ROPE_FACTOR];
    double low = values[STN_V_ROPE_LOW];
    double high = values[STN_V_ROPE_HIGH];
    double original = values[STN_V_ROPE_ORIGINAL];
    for (size_t i = 0; i < count; i++) {
        double turn = pow(values[STN_V_ROPE_THETA], (double)i / (double)count);
        double length = 2 * 3.14159265358979323846 * turn;
        double result = 1;
        if (length > original / low) {
            result = factor;
        } else if (length >= original / high) {
            double smooth = (original / length - low) / (high - low);
            result = 1 / ((1 - smooth) / factor + smooth);
        }
        factors[i] = (float)result;
    }
}
