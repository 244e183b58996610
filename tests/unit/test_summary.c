/* what a trace holds: counts by hand, quantiles against sorting */
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "kernel/trace/summary.h"

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void quantiles_are_within_a_32nd(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    stn_quantiles *quantiles = calloc(1, sizeof *quantiles);
    uint64_t *values = calloc(COUNT, sizeof *values);
    assert_true(quantiles && values);
    stn_rng rng;
    stn_rng_init(&rng, 3);
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = stn_rng_u64(&rng) >> stn_rng_below(&rng, 64); /* all magnitudes */
        stn_quantiles_add(quantiles, values[i]);
    }
    qsort(values, COUNT, sizeof *values, by_value);
    static const double at[] = {0, 0.01, 0.25, 0.5, 0.75, 0.99, 0.999};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        double exact = (double)values[(size_t)(at[i] * COUNT)];
        double found = (double)stn_quantiles_at(quantiles, at[i]);
        assert_true(found >= exact * (1 - 1.0 / 32) - 1 && found <= exact * (1 + 1.0 / 32) + 1);
    }
    assert_true(stn_quantiles_at(quantiles, 1) == values[COUNT - 1]);
    free(values);
    free(quantiles);
}

static void quantiles_at_the_edges(void **state) {
    (void)state;
    stn_quantiles *quantiles = calloc(1, sizeof *quantiles);
    assert_non_null(quantiles);
    assert_true(stn_quantiles_at(quantiles, 0.5) == 0);
    stn_quantiles_add(quantiles, 0);
    assert_true(stn_quantiles_at(quantiles, 0.99) == 0);
    stn_quantiles_add(quantiles, UINT64_MAX);
    assert_true(stn_quantiles_at(quantiles, 1) == UINT64_MAX);
    assert_true(stn_quantiles_at(quantiles, 0.99) >= UINT64_MAX / 32 * 31);
    free(quantiles);
}

typedef struct row {
    uint64_t time_ns;
    int32_t tid;
    uint16_t cpu;
    const char *type;
} row;

/* Two calls of 10 and 30 ns by thread 7, one of thread 8 that stays open, one exit of a call
 * that began before the trace, one call that a lost stretch hides the exit of. */
static const row rows[] = {
    {100, 7, 0, "sys_exit_read"},  {110, 7, 0, "sys_enter_read"},  {115, 8, 1, "sys_enter_futex"},
    {120, 7, 0, "sys_exit_read"},  {130, 7, 0, "sys_enter_read"},  {150, 0, 1, "sched_switch"},
    {160, 7, 0, "sys_exit_read"},  {170, 7, 0, "sys_enter_write"}, {180, 0, 0, NULL},
    {190, 7, 0, "sys_exit_write"}, {200, 7, 0, "sched_switch"},
};

static stn_status add_all(stn_summary *summary, stn_catalog *catalog, stn_err *err) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stn_event event = {.time_ns = rows[i].time_ns, .tid = rows[i].tid, .cpu = rows[i].cpu};
        event.type = rows[i].type ? stn_catalog_type(catalog, rows[i].type, NULL) : STN_TYPE_LOST;
        event.comm = STN_NO_ID;
        stn_status status =
            event.type == STN_NO_ID ? STN_ENOMEM : stn_summary_add(summary, &event, err);
        if (status != STN_OK) {
            return status;
        }
    }
    stn_summary_finish(summary);
    return STN_OK;
}

static void counts_are_those_of_the_trace(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_catalog *catalog = NULL;
    assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
    stn_summary s;
    stn_summary_init(&s, catalog);
    assert_int_equal(add_all(&s, catalog, &err), STN_OK);
    assert_true(s.events == 10 && s.begin_ns == 100 && s.end_ns == 200);
    assert_true(s.cpu_count == 2 && s.thread_count == 2 && s.switches == 2);
    assert_int_equal(s.type_count, 6);
    assert_string_equal(stn_catalog_text(catalog, s.types[0].name), "sys_exit_read");
    assert_true(s.types[0].count == 3 && s.types[5].count == 1);
    assert_int_equal(s.syscall_count, 3);
    assert_string_equal(stn_catalog_text(catalog, s.syscalls[0].name), "read");
    assert_true(s.syscalls[0].count == 2 && s.syscalls[0].durations->count == 2);
    assert_true(s.syscalls[0].durations->sum == 40 && s.syscalls[0].durations->max == 30);
    for (size_t i = 1; i < 3; i++) { /* futex stays open; the exit of write is unknown */
        assert_true(s.syscalls[i].count == 1 && s.syscalls[i].durations->count == 0);
    }
    stn_summary_fini(&s);
    stn_catalog_free(catalog);
}

static void out_of_memory_is_told(void **state) {
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        assert_true(nth < 200);
        stn_err err = {{0}};
        stn_catalog *catalog = NULL;
        assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
        stn_summary s;
        stn_summary_init(&s, catalog);
        stn_alloc_fail_at(nth);
        stn_status status = add_all(&s, catalog, &err);
        stn_alloc_fail_at(0);
        stn_summary_fini(&s);
        stn_catalog_free(catalog);
        if (status == STN_OK) {
            assert_true(nth > 5);
            return;
        }
        assert_int_equal(status, STN_ENOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_within_a_32nd),
        cmocka_unit_test(quantiles_at_the_edges),
        cmocka_unit_test(counts_are_those_of_the_trace),
        cmocka_unit_test(out_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
