/* Shares of CPUs and thread classes. */
#include <math.h>

#include "judge_traces.h"

#include "core/base/alloc.h"
#include "kernel/judge/shares.h"

static stn_catalog *catalog;
static stn_trace real;
static stn_trace synthetic;
static const stn_trace *const real_runs[] = {&real};
static const stn_trace *const synthetic_runs[] = {&synthetic};

static int make(void **state) {
    (void)state;
    stn_err err = {0};
    stn_status status = stn_catalog_new(&catalog, &err);
    stn_trace_init(&real, catalog);
    stn_trace_init(&synthetic, catalog);
    return status;
}

static int unmake(void **state) {
    (void)state;
    stn_trace_fini(&real);
    stn_trace_fini(&synthetic);
    stn_catalog_free(catalog);
    return 0;
}

static void put(stn_trace *trace, uint16_t cpu, const char *comm, size_t times) {
    for (size_t i = 0; i < times; i++) {
        put_event(trace, trace->count, cpu, 1, comm, "tick", NULL, 0);
    }
}

static void distance_by_hand(void **state) {
    (void)state;
    put(&real, 0, "a", 3);
    put(&real, 1, "a", 1);
    put_mark(&real, 100);
    put(&synthetic, 0, "a", 1);
    put(&synthetic, 2, "a", 1);
    stn_tallies a = {0};
    stn_tallies b = {0};
    stn_err err = {0};
    assert_int_equal(stn_tallies_cpus(&a, real_runs, 1, &err), STN_OK);
    assert_int_equal(stn_tallies_cpus(&b, synthetic_runs, 1, &err), STN_OK);
    assert_int_equal(a.total, 4);
    /* (.75, .25, 0) against (.5, 0, .5): (.25 + .25 + .5) / 2 */
    assert_float_equal(stn_tallies_distance(&a, &b), 0.5, 1e-9);
    assert_float_equal(stn_tallies_distance(&a, &a), 0, 1e-9);
    stn_share *rows;
    uint32_t count;
    assert_int_equal(stn_tallies_rows(&a, &b, &rows, &count, &err), STN_OK);
    assert_int_equal(count, 3);
    double sums[2] = {0};
    for (uint32_t i = 0; i < count; i++) {
        sums[0] += rows[i].real;
        sums[1] += rows[i].synthetic;
    }
    assert_float_equal(sums[0], 1, 1e-9);
    assert_float_equal(sums[1], 1, 1e-9);
    stn_free(rows);
    stn_tallies_fini(&a);
    stn_tallies_fini(&b);
    assert_true(isnan(stn_tallies_distance(&a, &b)));
}

static void workers_of_a_pool_are_one_class(void **state) {
    (void)state;
    put(&real, 0, "kworker/0:1H", 2);
    put(&real, 0, "kworker/12:13H", 1);
    put(&real, 0, "x264", 1);
    put(&real, 0, "a-name-with-a/slash-that-is-far-longer-than-any-name-the-kernel-has-12", 1);
    stn_tallies a = {0};
    stn_err err = {0};
    assert_int_equal(stn_tallies_threads(&a, real_runs, 1, catalog, &err), STN_OK);
    assert_int_equal(a.total, 5);
    assert_int_equal(a.counts.count, 3);
    const uint64_t *workers = stn_map_get(&a.counts, stn_catalog_find(catalog, "kworker/#:#H"));
    assert_non_null(workers);
    assert_int_equal(*workers, 3);
    assert_non_null(stn_map_get(&a.counts, stn_catalog_find(catalog, "x264")));
    stn_tallies_fini(&a);
}

static void out_of_memory_is_clean(void **state) {
    (void)state;
    put(&real, 0, "kworker/0:1H", 2);
    stn_err err = {0};
    for (uint64_t nth = 1; nth <= 6; nth++) {
        stn_tallies a = {0};
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_tallies_threads(&a, real_runs, 1, catalog, &err), STN_ENOMEM);
        stn_alloc_fail_at(0);
        stn_tallies_fini(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(distance_by_hand, make, unmake),
        cmocka_unit_test_setup_teardown(workers_of_a_pool_are_one_class, make, unmake),
        cmocka_unit_test_setup_teardown(out_of_memory_is_clean, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
