/* Ladders of contexts: what they depend on, and what they do not. */
#include "synth_lab.h"

#include "kernel/synth/context.h"

static const char *const vocabulary[] = {
    "1 0 1 a",
    "2 0 1 b",
    "3 0 1 c",
    "4 0 1 sys_enter_read fd=3",
    "5 0 1 sys_exit_read ret=3",
    "6 0 2 irq_handler_entry irq=3",
    "7 0 2 irq_handler_exit irq=3",
    "8 0 2 sched_wakeup pid=1 target_cpu=0",
};

static int open_lab(void **state) {
    *state = LAB_OPEN(vocabulary, NULL);
    return 0;
}

static int close_lab(void **state) {
    lab_close(*state);
    return 0;
}

/* A fresh world in which @p lines happen, separated by '|'. */
static void story(lab *l, const char *lines) {
    char text[512], *rest = text, *line;
    snprintf(text, sizeof text, "%s", lines);
    lab_again(l);
    while ((line = strsep(&rest, "|"))) {
        lab_happen(l, line);
    }
}

static stn_rungs type_rungs(lab *l, const char *lines, stn_view view, uint16_t cpu,
                            uint32_t order) {
    stn_rungs rungs;
    story(l, lines);
    stn_rungs_type(&l->world, view, cpu, stn_world_rank(&l->world, cpu), order, &rungs);
    return rungs;
}

/* How many rungs from the general end on are alike. */
static uint32_t alike(const stn_rungs *a, const stn_rungs *b) {
    uint32_t same = 0;
    while (same < a->count && same < b->count && a->hash[same] == b->hash[same]) {
        same++;
    }
    return same;
}

static void ladders_rise_and_end_at_the_order(void **state) {
    lab *l = *state;
    static const char past[] =
        "1 0 5 a|2 0 5 b|3 0 5 c|4 0 5 a|5 0 5 b|6 0 5 c|7 0 5 a|8 0 5 b|9 0 5 c";
    for (uint32_t order = 1; order <= STN_ORDER_MAX; order++) {
        for (int view = 0; view <= STN_VIEWS; view++) {
            stn_rungs rungs;
            if (view < STN_VIEWS) {
                rungs = type_rungs(l, past, (stn_view)view, 0, order);
            } else {
                stn_rungs_rank(&l->world, order, &rungs);
            }
            assert_in_range(rungs.count, 2, STN_RUNGS_MAX);
            assert_int_equal(rungs.order[0], 0);
            for (uint32_t i = 0; i < rungs.count; i++) {
                assert_true(rungs.hash[i] != 0);
                assert_true(rungs.order[i] <= order);
                assert_true(i == 0 || rungs.order[i] >= rungs.order[i - 1]);
                for (uint32_t k = 0; k < i; k++) {
                    assert_true(rungs.hash[k] != rungs.hash[i]);
                }
            }
        }
    }
}

static void the_cpu_view_sees_its_cpu_alone(void **state) {
    lab *l = *state;
    stn_rungs here = type_rungs(l, "1 0 5 a|3 0 5 b|5 0 5 c", STN_VIEW_CPU, 0, 3);
    stn_rungs mixed = type_rungs(l, "1 0 5 a|2 1 6 c|3 0 5 b|4 1 6 a|5 0 5 c", STN_VIEW_CPU, 0, 3);
    assert_int_equal(here.count, 4);
    assert_int_equal(alike(&here, &mixed), 4);
    /* the last event alike, the one before not: rungs 0 and 1 stay */
    stn_rungs other = type_rungs(l, "1 0 5 a|3 0 5 a|5 0 5 c", STN_VIEW_CPU, 0, 3);
    assert_int_equal(alike(&here, &other), 2);
}

static void the_trace_view_sees_all_cpus(void **state) {
    lab *l = *state;
    stn_rungs one = type_rungs(l, "1 0 5 a|2 1 6 b|3 0 5 c", STN_VIEW_TRACE, 0, 3);
    stn_rungs again = type_rungs(l, "1 0 5 a|2 1 6 b|3 0 5 c", STN_VIEW_TRACE, 0, 3);
    stn_rungs other = type_rungs(l, "1 0 5 a|2 1 6 c|3 0 5 c", STN_VIEW_TRACE, 0, 3);
    assert_int_equal(one.count, 4);
    assert_int_equal(alike(&one, &again), 4);
    assert_int_equal(alike(&one, &other), 2);
    stn_rungs elsewhere; /* the next event on the other CPU: nothing alike */
    stn_rungs_type(&l->world, STN_VIEW_TRACE, 1, 1, 3, &elsewhere);
    assert_int_equal(alike(&other, &elsewhere), 0);
}

static void inside_a_handler_only_the_handler_counts(void **state) {
    lab *l = *state;
    stn_rungs one =
        type_rungs(l, "1 0 5 a|2 0 5 irq_handler_entry irq=3|3 0 5 b", STN_VIEW_STACK, 0, 3);
    stn_rungs two =
        type_rungs(l, "1 0 5 c|2 0 5 irq_handler_entry irq=3|3 0 5 b", STN_VIEW_STACK, 0, 3);
    stn_rungs inner =
        type_rungs(l, "1 0 5 c|2 0 5 irq_handler_entry irq=3|3 0 5 c", STN_VIEW_STACK, 0, 3);
    assert_int_equal(alike(&one, &two), one.count);
    assert_int_equal(one.order[one.count - 1], 2); /* since the handler began */
    assert_true(alike(&one, &inner) < one.count);
    assert_true(alike(&one, &inner) > 0); /* in the same place */
}

static void an_interrupt_does_not_disturb_the_thread(void **state) {
    lab *l = *state;
    static const char plain[] = "1 0 5 a|2 0 5 b|5 0 5 c";
    static const char disturbed[] =
        "1 0 5 a|2 0 5 b|3 0 5 irq_handler_entry irq=3|4 0 5 irq_handler_exit irq=3|5 0 5 c";
    stn_rungs one = type_rungs(l, plain, STN_VIEW_STACK, 0, 8);
    stn_rungs two = type_rungs(l, disturbed, STN_VIEW_STACK, 0, 8);
    assert_int_equal(alike(&one, &two), one.count);
    one = type_rungs(l, plain, STN_VIEW_CPU, 0, 8);
    two = type_rungs(l, disturbed, STN_VIEW_CPU, 0, 8);
    assert_int_equal(alike(&one, &two), 2);
    /* just after it, the handler that ended is known */
    one = type_rungs(l, "1 0 5 a|2 0 5 b", STN_VIEW_STACK, 0, 8);
    two =
        type_rungs(l, "1 0 5 a|2 0 5 b|3 0 5 irq_handler_entry irq=3|4 0 5 irq_handler_exit irq=3",
                   STN_VIEW_STACK, 0, 8);
    assert_true(alike(&one, &two) < one.count);
}

static void places_are_told_by_what_is_open(void **state) {
    lab *l = *state;
    stn_rungs user, call, again, done, waits;
    story(l, "1 0 5 a");
    stn_rungs_place(&l->world, 0, &user);
    story(l, "1 0 5 sys_enter_read fd=3|2 0 5 b");
    stn_rungs_place(&l->world, 0, &call);
    story(l, "1 0 5 sys_enter_read fd=4|2 0 5 c|3 0 5 c");
    stn_rungs_place(&l->world, 0, &again);
    story(l, "1 0 5 sys_enter_read fd=3|2 0 5 sys_exit_read ret=1");
    stn_rungs_place(&l->world, 0, &done);
    story(l, "1 0 5 a|2 0 5 sched_wakeup pid=9 target_cpu=0");
    stn_rungs_place(&l->world, 0, &waits);
    assert_int_equal(alike(&user, &call), 0);
    assert_int_equal(alike(&call, &again), call.count);
    assert_int_equal(alike(&user, &done), user.count);
    assert_int_equal(alike(&user, &waits), 1); /* the same place, but somebody waits */
}

static void steps_are_told_by_type_and_past(void **state) {
    lab *l = *state;
    stn_rungs one, other, past;
    story(l, "1 0 5 a|2 0 5 b");
    stn_rungs_step(&l->world, lab_type(l, "a"), 0, 0, &one);
    stn_rungs_step(&l->world, lab_type(l, "c"), 0, 0, &other);
    story(l, "1 0 5 a|2 0 5 c");
    stn_rungs_step(&l->world, lab_type(l, "a"), 0, 0, &past);
    assert_int_equal(alike(&one, &other), 1);
    assert_int_equal(alike(&one, &past), 2);
}

#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_LAB(ladders_rise_and_end_at_the_order),
        IN_LAB(the_cpu_view_sees_its_cpu_alone),
        IN_LAB(the_trace_view_sees_all_cpus),
        IN_LAB(inside_a_handler_only_the_handler_counts),
        IN_LAB(an_interrupt_does_not_disturb_the_thread),
        IN_LAB(places_are_told_by_what_is_open),
        IN_LAB(steps_are_told_by_type_and_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
