/* Which table this machine gets. */
#include "core/nn/kernel.h"

#include <math.h>

const stn_nn_kernels *stn_nn_kernels_best(void) {
    const stn_nn_kernels *fast = stn_nn_kernels_avx2();
    return fast ? fast : stn_nn_kernels_ref();
}

void stn_nn_rope_table(size_t positions, size_t head_size, float *table) {
    size_t half = head_size / 2;
    for (size_t p = 0; p < positions; p++) {
        for (size_t i = 0; i < half; i++) {
            double angle = (double)p * pow(10000, -2.0 * (double)i / (double)head_size);
            table[p * head_size + i] = (float)cos(angle);
            table[p * head_size + half + i] = (float)sin(angle);
        }
    }
}
