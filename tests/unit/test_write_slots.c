/* What fills the gaps of events with a fixed layout. */
#include "fixture.h"

#include "core/base/alloc.h"
#include "kernel/trace/write_slots.h"

typedef struct walk {
    stn_filler filler;
    stn_slotted seen;
} walk;

static walk see_all(fixture *fx) {
    walk w = {.filler.catalog = fx->catalog};
    for (size_t i = 0; i < fx->trace.count; i++) {
        assert_int_equal(stn_filler_see(&w.filler, &fx->trace.events[i], &w.seen, &fx->err),
                         STN_OK);
    }
    return w;
}

static void test_whole_event_is_left_alone(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "sched_switch", NULL, FX_STR("prev_comm", "a"), FX_INT("prev_pid", 1),
           FX_INT("prev_prio", 100), FX_INT("prev_state", 1), FX_STR("next_comm", "b"),
           FX_INT("next_pid", 2), FX_INT("next_prio", 98), FX_INT("more", 1));
    walk w = see_all(fx);
    assert_true(w.seen.whole);
    assert_int_equal(w.seen.filled, 0);
    assert_int_equal(w.seen.used, 0x7f);
    assert_int_equal(w.seen.values[6].v.i, 98);
    stn_filler_fini(&w.filler);
}

/* Names and priorities come from what the stream told before, of the same thread. */
static void test_gaps(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 5, "worker", "sys_enter_read", NULL, FX_INT("fd", 1));
    FX_ADD(fx, 2, 0, 5, "worker", "sched_waking", NULL, FX_STR("comm", "worker"), FX_INT("pid", 6),
           FX_INT("prio", 98), FX_INT("target_cpu", 0));
    FX_ADD(fx, 3, 1, 5, "worker", "sched_switch", NULL, FX_INT("next_pid", 6),
           FX_INT("prev_state", 1), FX_INT("prev_pid", 5));
    walk w = see_all(fx);
    assert_true(w.seen.whole);
    assert_int_equal(w.seen.used, 7);
    assert_int_equal(w.seen.filled, 1 << 0 | 1 << 2 | 1 << 4 | 1 << 6);
    assert_string_equal(w.seen.values[0].v.s, "worker");
    assert_int_equal(w.seen.values[1].v.i, 5);
    assert_int_equal(w.seen.values[2].v.i, 120); /* never told: nice 0 */
    assert_string_equal(w.seen.values[4].v.s, "worker");
    assert_int_equal(w.seen.values[6].v.i, 98);
    stn_filler_fini(&w.filler);
}

static void test_idle_and_unknown_threads(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 3, 0, NULL, "sched_switch", NULL, FX_INT("prev_pid", 0), FX_INT("prev_state", 0),
           FX_INT("next_pid", 77));
    walk w = see_all(fx);
    assert_string_equal(w.seen.values[0].v.s, "swapper/3");
    assert_string_equal(w.seen.values[4].v.s, "<...>");
    stn_filler_fini(&w.filler);
}

/* What cannot be taken from anywhere is not made up. */
static void test_needed_field_missing(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 3, 1, "a", "sched_switch", NULL, FX_INT("prev_pid", 1), FX_INT("next_pid", 2));
    walk w = see_all(fx);
    assert_non_null(w.seen.row);
    assert_false(w.seen.whole);
    stn_filler_fini(&w.filler);
}

static void test_other_events_have_no_row(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 3, 1, "a", "sys_exit_read", NULL, FX_INT("ret", 1));
    walk w = see_all(fx);
    assert_null(w.seen.row);
    assert_int_equal(w.seen.filled, 0);
    stn_filler_fini(&w.filler);
}

/* A field name that the catalog learns late is found from then on. */
static void test_catalog_grows(void **state) {
    fixture *fx = *state;
    walk w = {.filler.catalog = fx->catalog};
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            FX_ADD(fx, 1, 0, 1, "a", "sched_process_exit", NULL, FX_INT("pid", 1));
        } else {
            FX_ADD(fx, 2, 0, 1, "a", "sched_process_exit", NULL, FX_INT("pid", 1),
                   FX_INT("prio", 7));
        }
        assert_int_equal(stn_filler_see(&w.filler, &fx->trace.events[i], &w.seen, &fx->err),
                         STN_OK);
        assert_int_equal(w.seen.values[2].v.i, i == 0 ? 120 : 7);
    }
    stn_filler_fini(&w.filler);
}

static void test_no_memory(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        walk w = {.filler.catalog = fx->catalog};
        stn_status status = STN_OK;
        stn_alloc_fail_at(nth);
        for (size_t i = 0; i < fx->trace.count && !status; i++) {
            status = stn_filler_see(&w.filler, &fx->trace.events[i], &w.seen, &fx->err);
        }
        stn_alloc_fail_at(0);
        failed = status != STN_OK;
        assert_int_equal(status, failed ? STN_ENOMEM : STN_OK);
        stn_filler_fini(&w.filler);
        assert_true(nth < 1000);
    }
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_whole_event_is_left_alone),
        ONE(test_gaps),
        ONE(test_idle_and_unknown_threads),
        ONE(test_needed_field_missing),
        ONE(test_other_events_have_no_row),
        ONE(test_catalog_grows),
        ONE(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
