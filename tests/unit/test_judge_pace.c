/* Pace: rate, bins, same-thread runs, inter-event times. */
#include <math.h>

#include "judge_traces.h"

#include "core/base/rng.h"
#include "kernel/judge/pace.h"

#define MS ((uint64_t)1000000)

static stn_catalog *catalog;
static stn_trace trace;
static const stn_trace *const traces[] = {&trace};

static int make(void **state) {
    (void)state;
    stn_err err = {0};
    stn_status status = stn_catalog_new(&catalog, &err);
    stn_trace_init(&trace, catalog);
    return status;
}

static int unmake(void **state) {
    (void)state;
    stn_trace_fini(&trace);
    stn_catalog_free(catalog);
    return 0;
}

static void rate_and_runs_by_hand(void **state) {
    (void)state;
    const int32_t tids[] = {1, 1, 2, 2, 2, 1}; /* runs of 2, 3, 1 */
    for (size_t i = 0; i < 6; i++) {
        put_event(&trace, 5 * MS + i * MS, 0, tids[i], "a", "tick", NULL, 0);
    }
    stn_pace pace;
    stn_pace_measure(&pace, traces, 1);
    assert_float_equal(pace.rate, 6 / 0.005, 1e-6);
    assert_float_equal(pace.run_length, 2, 1e-9);
    assert_float_equal(pace.fano[0], 0, 1e-9); /* one in each of the 5 whole bins */
    assert_true(isnan(pace.fano[1]));          /* not two whole bins of 10 ms */
}

static void bins_without_events_count_as_zero(void **state) {
    (void)state;
    /* whole bins of 1 ms: 4 0 0 4 0 0 (the last event's own bin is not whole) */
    for (size_t burst = 0; burst < 2; burst++) {
        for (size_t i = 0; i < 4; i++) {
            put_event(&trace, burst * 3 * MS + i, 0, 1, "a", "tick", NULL, 0);
        }
    }
    put_event(&trace, 6 * MS, 0, 1, "a", "tick", NULL, 0);
    stn_pace pace;
    stn_pace_measure(&pace, traces, 1);
    /* mean 8/6, variance 32/6 - 16/9 = 32/9; ratio 8/3 */
    assert_float_equal(pace.fano[0], 8.0 / 3, 1e-9);
}

static void a_poisson_stream_is_not_bursty(void **state) {
    (void)state;
    stn_rng rng;
    stn_rng_init(&rng, 5);
    double at = 0;
    for (size_t i = 0; i < 60000; i++) { /* 20 per ms, 3 s */
        at += -log(1 - stn_rng_double(&rng)) * 50000;
        put_event(&trace, (uint64_t)at, 0, 1, "a", "tick", NULL, 0);
    }
    stn_pace pace;
    stn_pace_measure(&pace, traces, 1);
    assert_float_equal(pace.rate, 20000, 400);
    assert_float_equal(pace.fano[0], 1, 0.1);
    assert_float_equal(pace.fano[1], 1, 0.25);
}

static void steps_stop_at_marks_and_runs(void **state) {
    (void)state;
    stn_trace second;
    stn_trace_init(&second, catalog);
    put_event(&trace, 100, 0, 1, "a", "x", NULL, 0);
    put_event(&trace, 130, 0, 1, "a", "y", NULL, 0);
    put_mark(&trace, 500);
    put_event(&trace, 600, 0, 1, "a", "y", NULL, 0);
    put_event(&trace, 600, 1, 2, "b", "x", NULL, 0);
    put_event(&second, 7, 0, 1, "a", "x", NULL, 0);
    put_event(&second, 9, 0, 1, "a", "x", NULL, 0);
    const stn_trace *const both[] = {&trace, &second};
    stn_alphabet alphabet;
    stn_samples samples = {0};
    stn_err err = {0};
    assert_int_equal(stn_alphabet_make(&alphabet, catalog, &err), STN_OK);
    assert_int_equal(stn_pace_steps(&samples, both, 2, &alphabet, &err), STN_OK);
    assert_int_equal(samples.count, 3);
    assert_true(samples.value[0] == 30 && samples.label[0] == 1);
    assert_true(samples.value[1] == 0 && samples.label[1] == 0);
    assert_true(samples.value[2] == 2 && samples.label[2] == 0);
    stn_samples_fini(&samples);
    stn_alphabet_fini(&alphabet);
    stn_trace_fini(&second);
}

static void an_empty_side_has_no_pace(void **state) {
    (void)state;
    stn_pace pace;
    stn_pace_measure(&pace, traces, 1);
    assert_float_equal(pace.rate, 0, 0);
    assert_float_equal(pace.run_length, 0, 0);
    assert_true(isnan(pace.fano[2]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rate_and_runs_by_hand, make, unmake),
        cmocka_unit_test_setup_teardown(bins_without_events_count_as_zero, make, unmake),
        cmocka_unit_test_setup_teardown(a_poisson_stream_is_not_bursty, make, unmake),
        cmocka_unit_test_setup_teardown(steps_stop_at_marks_and_runs, make, unmake),
        cmocka_unit_test_setup_teardown(an_empty_side_has_no_pace, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
