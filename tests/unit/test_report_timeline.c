/* The timeline: bars, events, equal width on both sides. */
#include "judge_traces.h"

#include "app/report_timeline.h"

static stn_catalog *catalog;
static stn_trace real;
static stn_trace synthetic;
static json_t *timeline;

static int make(void **state) {
    (void)state;
    stn_err err = {0};
    stn_status status = stn_catalog_new(&catalog, &err);
    stn_trace_init(&real, catalog);
    stn_trace_init(&synthetic, catalog);
    timeline = NULL;
    return status;
}

static int unmake(void **state) {
    (void)state;
    json_decref(timeline);
    stn_trace_fini(&real);
    stn_trace_fini(&synthetic);
    stn_catalog_free(catalog);
    return 0;
}

static void draw(void) {
    const stn_trace *const sides[] = {&real, &synthetic};
    stn_report_input input = {.real = {.traces = &sides[0], .count = 1},
                              .synthetic = {.traces = &sides[1], .count = 1},
                              .catalog = catalog};
    stn_err err = {0};
    assert_int_equal(stn_report_timeline(&input, &timeline, &err), STN_OK);
}

/* "cpus" of a side of stretch @p index. */
static json_t *cpus_of(size_t index, const char *side) {
    json_t *stretch = json_array_get(json_object_get(timeline, "stretches"), index);
    return json_object_get(json_object_get(stretch, side), "cpus");
}

static const char *name_at(const json_t *flat, size_t index) {
    size_t name = (size_t)json_integer_value(json_array_get(flat, index));
    return json_string_value(json_array_get(json_object_get(timeline, "names"), name));
}

static int64_t number_at(const json_t *flat, size_t index) {
    return json_integer_value(json_array_get(flat, index));
}

/* a runs 400 of every 1000 ns on CPU 0, then nothing; c is on CPU 3 */
static void put_pattern(stn_trace *trace, uint64_t turns) {
    const stn_field out[] = {number(catalog, "next_pid", 0)};
    const stn_field in[] = {number(catalog, "next_pid", 7)};
    for (uint64_t i = 0; i < turns; i++) {
        uint64_t t = 5000 + 1000 * i;
        put_event(trace, t, 0, 0, "<idle>", "sched_switch", in, 1);
        put_event(trace, t + 100, 0, 7, "a", "sys_enter_read", NULL, 0);
        put_event(trace, t + 400, 0, 7, "a", "sched_switch", out, 1);
        put_event(trace, t + 500, 3, 9, "c", "tick", NULL, 0);
    }
}

static void bars_follow_the_switches(void **state) {
    (void)state;
    put_pattern(&real, 1000);
    put_pattern(&synthetic, 1000);
    draw();
    json_t *stretches = json_object_get(timeline, "stretches");
    assert_int_equal(json_array_size(stretches), 3);
    json_t *cpus = cpus_of(1, "real");
    assert_int_equal(json_array_size(cpus), 2);
    json_t *second = json_array_get(cpus, 1);
    assert_int_equal(json_integer_value(json_object_get(second, "cpu")), 3);
    json_t *runs = json_object_get(json_array_get(cpus, 0), "runs");
    /* the middle of 4000 events is a switch to a: a for 400, idle for 600, … */
    assert_int_equal(number_at(runs, 0), 0);
    assert_int_equal(number_at(runs, 1), 400);
    assert_string_equal(name_at(runs, 2), "a");
    assert_int_equal(number_at(runs, 3), 400);
    assert_int_equal(number_at(runs, 4), 600);
    assert_string_equal(name_at(runs, 5), "<idle>");
    json_t *width = json_object_get(json_array_get(stretches, 1), "width_ns");
    assert_int_equal(json_integer_value(width), 375000); /* 1,500 events */
}

static void both_sides_show_the_same_length_of_time(void **state) {
    (void)state;
    put_pattern(&real, 1000);
    put_pattern(&synthetic, 300); /* ends before the stretch of the late point does */
    draw();
    json_t *stretches = json_object_get(timeline, "stretches");
    for (size_t i = 0; i < 3; i++) {
        json_t *width = json_object_get(json_array_get(stretches, i), "width_ns");
        json_t *runs = json_object_get(json_array_get(cpus_of(i, "synthetic"), 0), "runs");
        size_t count = json_array_size(runs);
        assert_true(count > 0 && count % 3 == 0);
        assert_int_equal(number_at(runs, count - 3) + number_at(runs, count - 2),
                         json_integer_value(width));
    }
}

static void unknown_names_and_strange_cpus_do_not_break_it(void **state) {
    (void)state;
    stn_err err = {0};
    for (uint64_t i = 0; i < 100; i++) {
        stn_event event = {.time_ns = 10 * i,
                           .type = stn_catalog_type(catalog, "tick", NULL),
                           .tid = STN_NO_TID,
                           .comm = STN_NO_ID,
                           .cpu = i % 2 ? STN_NO_CPU : 1};
        assert_int_equal(stn_trace_append(&real, &event, &err), STN_OK);
        event.time_ns = 1000 - event.time_ns; /* backwards */
        assert_int_equal(stn_trace_append(&synthetic, &event, &err), STN_OK);
    }
    put_mark(&real, 2000);
    draw();
    assert_int_equal(json_array_size(cpus_of(0, "real")), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bars_follow_the_switches, make, unmake),
        cmocka_unit_test_setup_teardown(both_sides_show_the_same_length_of_time, make, unmake),
        cmocka_unit_test_setup_teardown(unknown_names_and_strange_cpus_do_not_break_it, make,
                                        unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
