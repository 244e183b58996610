#include "core/base/rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void stn_rng_init(stn_rng *rng, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        rng->s[i] = splitmix(&seed);
    }
}

stn_rng stn_rng_fork(const stn_rng *rng, uint64_t stream) {
    uint64_t seed = rng->s[0] ^ rng->s[3] ^ (stream * 0xd1342543de82ef95u + 1);
    stn_rng fork;
    stn_rng_init(&fork, seed);
    return fork;
}

double stn_rng_normal(stn_rng *rng) {
    double u = 1.0 - stn_rng_double(rng); /* (0, 1], so that log is finite */
    double v = stn_rng_double(rng);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
