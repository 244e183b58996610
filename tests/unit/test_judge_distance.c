/* Distances on cases computed by hand. */
#include <math.h>

#include "testing.h"

#include "core/base/rng.h"
#include "kernel/judge/distance.h"

#define NEAR 1e-6

static void wasserstein_of_a_shift_is_the_shift(void **state) {
    (void)state;
    const float a[] = {1, 2, 5, 9};
    const float b[] = {4, 5, 8, 12};
    assert_float_equal(stn_wasserstein(a, 4, b, 4), 3, NEAR);
    assert_float_equal(stn_wasserstein(b, 4, a, 4), 3, NEAR);
    assert_float_equal(stn_wasserstein(a, 4, a, 4), 0, NEAR);
}

static void wasserstein_of_unequal_sizes(void **state) {
    (void)state;
    /* Half of the mass of a has to go from 0 to 1. */
    const float a[] = {0, 1};
    const float b[] = {1};
    assert_float_equal(stn_wasserstein(a, 2, b, 1), 0.5, NEAR);
    /* {0,0,0,6} against {0,3}: F-G is 1/4 on [0,3) and -1/4 on [3,6). */
    const float c[] = {0, 0, 0, 6};
    const float d[] = {0, 3};
    assert_float_equal(stn_wasserstein(c, 4, d, 2), 1.5, NEAR);
}

static void wasserstein_of_logarithms(void **state) {
    (void)state;
    const float a[] = {10, 100, 1000};
    const float b[] = {1000, 10000, 100000};
    assert_float_equal(stn_wasserstein_log10(a, 3, b, 3), 2, NEAR);
    /* 0 counts as 1, whose logarithm is 0 */
    const float zero[] = {0};
    const float ten[] = {10};
    assert_float_equal(stn_wasserstein_log10(zero, 1, ten, 1), 1, NEAR);
}

static void kolmogorov_by_hand(void **state) {
    (void)state;
    const float a[] = {1, 2, 3, 4};
    const float b[] = {3, 4, 5, 6};
    const float far[] = {10, 11};
    assert_float_equal(stn_kolmogorov(a, 4, b, 4), 0.5, NEAR);
    assert_float_equal(stn_kolmogorov(a, 4, far, 2), 1, NEAR);
    assert_float_equal(stn_kolmogorov(a, 4, a, 4), 0, NEAR);
    /* ties: F(1) = 3/4, G(1) = 1/4 */
    const float c[] = {1, 1, 1, 2};
    const float d[] = {1, 2, 2, 2};
    assert_float_equal(stn_kolmogorov(c, 4, d, 4), 0.5, NEAR);
}

static void empty_sides_have_no_distance(void **state) {
    (void)state;
    const float a[] = {1};
    assert_true(isnan(stn_wasserstein(a, 1, NULL, 0)));
    assert_true(isnan(stn_wasserstein_log10(NULL, 0, a, 1)));
    assert_true(isnan(stn_kolmogorov(NULL, 0, NULL, 0)));
    assert_float_equal(stn_quantile(NULL, 0, 0.5), 0, 0);
}

static void quantiles_interpolate(void **state) {
    (void)state;
    const float a[] = {10, 20, 30, 50};
    assert_float_equal(stn_quantile(a, 4, 0), 10, NEAR);
    assert_float_equal(stn_quantile(a, 4, 1), 50, NEAR);
    assert_float_equal(stn_quantile(a, 4, 0.5), 25, NEAR);
    assert_float_equal(stn_quantile(a, 4, 0.9), 44, NEAR); /* at 2.7: 30 + .7 * 20 */
}

static double divergence(const double *p, const double *q, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += stn_jensen_shannon_part(p[i], q[i]);
    }
    return sum;
}

static void jensen_shannon_by_hand(void **state) {
    (void)state;
    const double a[] = {1, 0};
    const double b[] = {0, 1};
    const double even[] = {0.5, 0.5};
    assert_float_equal(divergence(a, b, 2), 1, NEAR);
    assert_float_equal(divergence(even, even, 2), 0, NEAR);
    /* m = (3/4, 1/4): H(m) - (0 + 1)/2 = 0.8112781 - 0.5 */
    assert_float_equal(divergence(a, even, 2), 0.3112781, NEAR);
}

static void fano_by_hand(void **state) {
    (void)state;
    assert_float_equal(stn_fano(4, 8, 16), 0, NEAR); /* 2 2 2 2 */
    assert_float_equal(stn_fano(2, 4, 16), 2, NEAR); /* 0 4: variance 4, mean 2 */
    assert_true(isnan(stn_fano(1, 4, 16)));
    assert_true(isnan(stn_fano(4, 0, 0)));
}

static void fano_of_a_poisson_stream_is_one(void **state) {
    (void)state;
    stn_rng rng;
    stn_rng_init(&rng, 7);
    double sum = 0;
    double squares = 0;
    const uint64_t bins = 20000;
    for (uint64_t b = 0; b < bins; b++) {
        double count = 0; /* arrivals at rate 5 in one unit of time */
        for (double t = -log(1 - stn_rng_double(&rng)) / 5; t < 1; count++) {
            t += -log(1 - stn_rng_double(&rng)) / 5;
        }
        sum += count;
        squares += count * count;
    }
    assert_float_equal(sum / (double)bins, 5, 0.1);
    assert_float_equal(stn_fano(bins, sum, squares), 1, 0.05);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wasserstein_of_a_shift_is_the_shift),
        cmocka_unit_test(wasserstein_of_unequal_sizes),
        cmocka_unit_test(wasserstein_of_logarithms),
        cmocka_unit_test(kolmogorov_by_hand),
        cmocka_unit_test(empty_sides_have_no_distance),
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(jensen_shannon_by_hand),
        cmocka_unit_test(fano_by_hand),
        cmocka_unit_test(fano_of_a_poisson_stream_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
