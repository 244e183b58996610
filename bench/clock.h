/** @file
 *  Clocks of the benchmarks. */
#ifndef STN_BENCH_CLOCK_H
#define STN_BENCH_CLOCK_H

#include <time.h>

static inline double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/** Of all threads of this process: what neighbours on the machine disturb least. */
static inline double cpu_s(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

#endif
