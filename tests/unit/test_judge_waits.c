/* Durations between events that belong together. */
#include "judge_traces.h"

#include "core/base/alloc.h"
#include "kernel/judge/waits.h"

static stn_catalog *catalog;
static stn_trace trace;
static const stn_trace *const traces[] = {&trace};
static stn_waits waits;

static int make(void **state) {
    (void)state;
    stn_err err = {0};
    stn_status status = stn_catalog_new(&catalog, &err);
    stn_trace_init(&trace, catalog);
    waits = (stn_waits){0};
    return status;
}

static int unmake(void **state) {
    (void)state;
    stn_waits_fini(&waits);
    stn_trace_fini(&trace);
    stn_catalog_free(catalog);
    return 0;
}

static void plain(uint64_t time_ns, int32_t tid, const char *name) {
    put_event(&trace, time_ns, 0, tid, "a", name, NULL, 0);
}

static void wake(uint64_t time_ns, const char *name, int64_t pid) {
    const stn_field fields[] = {number(catalog, "pid", pid)};
    put_event(&trace, time_ns, 0, 0, "a", name, fields, 1);
}

static void change(uint64_t time_ns, int64_t prev, int64_t next) {
    const stn_field fields[] = {number(catalog, "prev_pid", prev),
                                number(catalog, "next_pid", next)};
    put_event(&trace, time_ns, 0, (int32_t)prev, "a", "sched_switch", fields, 2);
}

static void block(uint64_t time_ns, const char *name, int64_t dev, int64_t sector) {
    const stn_field fields[] = {number(catalog, "dev", dev), number(catalog, "sector", sector)};
    put_event(&trace, time_ns, 0, 0, "a", name, fields, 2);
}

/* Collect; @p count values of @p wait must be @p expected, in order. */
static void expect(stn_wait wait, const float *expected, size_t count) {
    stn_err err = {0};
    assert_int_equal(stn_waits_collect(&waits, traces, 1, catalog, &err), STN_OK);
    assert_int_equal(waits.of[wait].count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(waits.of[wait].value[i] == expected[i]);
    }
}

static void calls_of_threads_do_not_mix(void **state) {
    (void)state;
    plain(90, 1, "sys_exit_write"); /* open before the trace: no duration */
    plain(100, 1, "sys_enter_read");
    plain(110, 2, "sys_enter_read");
    plain(150, 1, "sys_exit_read");
    plain(200, 2, "sys_exit_read");
    plain(300, 1, "sys_enter_openat");
    plain(310, 1, "sys_exit_close"); /* of another call: the open one is given up */
    plain(320, 1, "sys_exit_openat");
    plain(400, STN_NO_TID, "sys_enter_read");
    plain(410, STN_NO_TID, "sys_exit_read");
    expect(STN_WAIT_SYSCALL, (const float[]){50, 90}, 2);
    assert_int_equal(waits.of[STN_WAIT_SYSCALL].label[0], stn_catalog_find(catalog, "read"));
}

static void what_is_open_at_a_loss_is_forgotten(void **state) {
    (void)state;
    plain(100, 1, "sys_enter_read");
    wake(100, "sched_wakeup", 7);
    block(100, "block_rq_issue", 8, 64);
    put_mark(&trace, 150);
    plain(200, 1, "sys_exit_read");
    change(200, 0, 7);
    block(200, "block_rq_complete", 8, 64);
    for (int wait = 0; wait < STN_WAIT_COUNT; wait++) {
        expect((stn_wait)wait, NULL, 0);
    }
}

static void the_run_queue_wait_begins_at_the_wake_up(void **state) {
    (void)state;
    wake(100, "sched_waking", 7);
    wake(110, "sched_wakeup", 7);
    change(150, 0, 7);
    wake(160, "sched_wakeup", 7); /* while it runs: no wait */
    change(170, 7, 0);
    change(200, 0, 7);
    wake(210, "sched_wakeup_new", 8);
    change(300, 7, 8);
    expect(STN_WAIT_RUNQUEUE, (const float[]){40, 90}, 2);
}

static void waking_stands_in_where_there_is_no_wakeup(void **state) {
    (void)state;
    wake(100, "sched_waking", 7);
    change(150, 0, 7);
    expect(STN_WAIT_RUNQUEUE, (const float[]){50}, 1);
}

static void requests_are_known_by_device_and_sector(void **state) {
    (void)state;
    block(100, "block_rq_issue", 8, 64);
    block(110, "block_rq_issue", 9, 64);
    block(120, "block_rq_issue", 8, 128);
    block(200, "block_rq_complete", 8, 64);
    block(210, "block_rq_complete", 9, 64);
    block(220, "block_rq_complete", 8, 256); /* never issued */
    block(230, "block_rq_issue", 8, 128);    /* issued again: from here */
    block(240, "block_rq_complete", 8, 128);
    block(250, "block_rq_complete", 8, 128);
    expect(STN_WAIT_BLOCK, (const float[]){100, 100, 10}, 3);
}

static void devices_may_be_text(void **state) {
    (void)state;
    const stn_field fields[] = {
        {.name = stn_catalog_cstring(catalog, "dev"), .kind = STN_FIELD_STR, .v.s = "254,0"},
        number(catalog, "sector", 8)};
    put_event(&trace, 10, 0, 0, "a", "block_rq_issue", fields, 2);
    put_event(&trace, 30, 0, 0, "a", "block_rq_complete", fields, 2);
    put_event(&trace, 40, 0, 0, "a", "block_rq_complete", fields, 1); /* no sector: ignored */
    expect(STN_WAIT_BLOCK, (const float[]){20}, 1);
}

static void out_of_memory_is_clean(void **state) {
    (void)state;
    plain(100, 1, "sys_enter_read");
    plain(150, 1, "sys_exit_read");
    wake(160, "sched_wakeup", 7);
    change(170, 0, 7);
    block(180, "block_rq_issue", 8, 64);
    block(190, "block_rq_complete", 8, 64);
    stn_err err = {0};
    uint64_t before = stn_alloc_count();
    assert_int_equal(stn_waits_collect(&waits, traces, 1, catalog, &err), STN_OK);
    uint64_t needed = stn_alloc_count() - before;
    for (uint64_t nth = 1; nth <= needed; nth++) {
        stn_waits_fini(&waits);
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_waits_collect(&waits, traces, 1, catalog, &err), STN_ENOMEM);
        stn_alloc_fail_at(0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_of_threads_do_not_mix, make, unmake),
        cmocka_unit_test_setup_teardown(what_is_open_at_a_loss_is_forgotten, make, unmake),
        cmocka_unit_test_setup_teardown(the_run_queue_wait_begins_at_the_wake_up, make, unmake),
        cmocka_unit_test_setup_teardown(waking_stands_in_where_there_is_no_wakeup, make, unmake),
        cmocka_unit_test_setup_teardown(requests_are_known_by_device_and_sector, make, unmake),
        cmocka_unit_test_setup_teardown(devices_may_be_text, make, unmake),
        cmocka_unit_test_setup_teardown(out_of_memory_is_clean, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
