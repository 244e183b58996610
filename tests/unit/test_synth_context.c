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
    "9 0 2 sched_waking pid=1 target_cpu=0",
    "10 0 2 sched_process_exit pid=2",
    "11 0 2 sched_switch prev_pid=2 prev_state=1 next_pid=3",
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

static stn_rungs rungs_of(lab *l, uint16_t cpu, uint32_t order) {
    stn_rungs rungs;
    stn_rungs_next(&l->world, cpu, order, &rungs);
    return rungs;
}

/* Ladder on CPU 0 after @p lines. */
static stn_rungs after(lab *l, const char *lines, uint32_t order) {
    story(l, lines);
    return rungs_of(l, 0, order);
}

/* How many rungs from the general end on are alike. */
static uint32_t alike(const stn_rungs *a, const stn_rungs *b) {
    uint32_t same = 0;
    while (same < a->count && same < b->count && a->hash[same] == b->hash[same]) {
        same++;
    }
    return same;
}

/* Rungs of at most @p order events. */
static uint32_t up_to(const stn_rungs *rungs, uint32_t order) {
    uint32_t count = 0;
    while (count < rungs->count && rungs->order[count] <= order) {
        count++;
    }
    return count;
}

/* Rungs of a thread's ladder in their order. */
enum { OPEN = 0, WHO, LAST_EVENT, WAITING, RAISED, CLOSER, HANDLER_BEFORE, RUN, TASK_RUNGS };

static const char past[] =
    "1 0 5 a|2 0 5 b|3 0 5 c|4 0 5 a|5 0 5 b|6 0 5 c|7 0 5 a|8 0 5 b|9 0 5 c";
static const char nested[] = "1 0 5 irq_handler_entry irq=3|2 0 5 b|3 0 5 c|4 0 5 a|5 0 5 b|"
                             "6 0 5 c|7 0 5 a|8 0 5 b|9 0 5 c|10 0 5 a";

static void ladders_rise_and_end_at_the_order(void **state) {
    lab *l = *state;
    static const char *const pasts[] = {past, nested};
    for (size_t which = 0; which < 2; which++) {
        stn_rungs longest = after(l, pasts[which], STN_ORDER_MAX);
        assert_int_equal(longest.order[longest.count - 1], STN_ORDER_MAX);
        for (uint32_t order = 1; order <= STN_ORDER_MAX; order++) {
            stn_rungs rungs = rungs_of(l, 0, order);
            assert_in_range(rungs.count, 3, STN_POOL_DEPTH);
            assert_int_equal(rungs.count, up_to(&longest, order));
            assert_int_equal(alike(&rungs, &longest), rungs.count); /* the rest is cut off */
            assert_int_equal(rungs.sure, longest.sure);
            assert_in_range(rungs.sure, 1, rungs.count);
            assert_int_equal(rungs.order[0], 0);
            for (uint32_t i = 0; i < rungs.count; i++) {
                assert_true(rungs.hash[i] != 0);
                assert_true(i == 0 || rungs.order[i] >= rungs.order[i - 1]);
                for (uint32_t k = 0; k < i; k++) {
                    assert_true(rungs.hash[k] != rungs.hash[i]);
                }
            }
        }
    }
}

static void a_thread_hangs_on_its_own_past(void **state) {
    lab *l = *state;
    stn_rungs here = after(l, "1 0 5 a|3 0 5 b|5 0 5 c", 3);
    assert_int_equal(here.count, TASK_RUNGS + 2);
    stn_rungs mixed = after(l, "1 0 5 a|2 1 6 c|3 0 5 b|4 1 6 a|5 0 5 c", 3);
    assert_int_equal(alike(&here, &mixed), here.count); /* whatever the other CPU does */
    stn_rungs other = after(l, "1 0 5 a|3 0 5 a|5 0 5 c", 3);
    assert_int_equal(alike(&here, &other), up_to(&here, 1)); /* the last event alike */
    other = after(l, "1 0 5 a|3 0 5 b|5 0 5 b", 3);
    assert_int_equal(alike(&here, &other), LAST_EVENT);
    /* on another CPU it is the same thread */
    story(l, "1 0 5 a|3 1 5 b|5 1 5 c");
    stn_rungs moved = rungs_of(l, 1, 3);
    assert_int_equal(alike(&here, &moved), here.count);
}

static void repetitions_stand_once_and_are_counted(void **state) {
    lab *l = *state;
    stn_rungs once = after(l, "1 0 5 b|2 0 5 a", 3);
    stn_rungs often =
        after(l, "1 0 5 b|2 0 5 a|3 0 5 a|4 0 5 a|5 0 5 a|6 0 5 a|7 0 5 a|8 0 5 a|9 0 5 a", 3);
    assert_int_equal(alike(&once, &often), RUN);
    /* once more after so many tells nothing */
    stn_rungs more = after(
        l, "1 0 5 b|2 0 5 a|3 0 5 a|4 0 5 a|5 0 5 a|6 0 5 a|7 0 5 a|8 0 5 a|9 0 5 a|10 0 5 a", 3);
    assert_int_equal(alike(&often, &more), often.count);
    /* and nothing once another one came */
    once = after(l, "1 0 5 b|2 0 5 a|9 0 5 c", 3);
    often = after(l, "1 0 5 b|2 0 5 a|3 0 5 a|4 0 5 a|5 0 5 a|6 0 5 a|7 0 5 a|9 0 5 c", 3);
    assert_int_equal(alike(&once, &often), once.count);
}

static void inside_a_handler_only_the_handler_counts(void **state) {
    lab *l = *state;
    stn_rungs one = after(l, "1 0 5 a|2 0 5 irq_handler_entry irq=3|3 0 5 b", 3);
    stn_rungs two = after(l, "1 0 5 c|2 0 5 irq_handler_entry irq=3|3 0 5 b", 3);
    stn_rungs inner = after(l, "1 0 5 c|2 0 5 irq_handler_entry irq=3|3 0 5 c", 3);
    assert_int_equal(alike(&one, &two), one.count);
    assert_int_equal(one.order[one.count - 1], 2); /* since the handler began */
    assert_int_equal(alike(&one, &inner), 1);      /* in the same place */
    stn_rungs outside = after(l, "1 0 5 a|3 0 5 b", 3);
    assert_int_equal(alike(&one, &outside), 0);
}

static void an_interrupt_does_not_disturb_the_thread(void **state) {
    lab *l = *state;
    stn_rungs one = after(l, "1 0 5 a|2 0 5 b|5 0 5 c", 8);
    stn_rungs two = after(
        l, "1 0 5 a|2 0 5 b|3 0 5 irq_handler_entry irq=3|4 0 5 irq_handler_exit irq=3|5 0 5 c", 8);
    assert_int_equal(alike(&one, &two), one.count);
    /* just after it, it is known that a handler ended */
    one = after(l, "1 0 5 a|2 0 5 b", 8);
    two = after(l, "1 0 5 a|2 0 5 b|3 0 5 irq_handler_entry irq=3|4 0 5 irq_handler_exit irq=3", 8);
    assert_int_equal(alike(&one, &two), WAITING);
}

static void places_are_told_by_what_is_open(void **state) {
    lab *l = *state;
    stn_rungs user = after(l, "1 0 5 a", 1);
    stn_rungs call = after(l, "1 0 5 sys_enter_read fd=3|2 0 5 b", 1);
    stn_rungs again = after(l, "1 0 5 sys_enter_read fd=4|2 0 5 c|3 0 5 c", 1);
    stn_rungs done = after(l, "1 0 5 sys_enter_read fd=3|2 0 5 sys_exit_read ret=1", 1);
    stn_rungs idle = after(l, "1 0 0 a", 1);
    stn_rungs ends = after(l, "1 0 5 sched_process_exit pid=5|2 0 5 a", 1);
    assert_int_equal(alike(&user, &call), 0);
    assert_int_equal(alike(&call, &again), LAST_EVENT);
    assert_int_equal(alike(&user, &done), LAST_EVENT);
    assert_int_equal(alike(&user, &idle), 0);
    assert_int_equal(alike(&user, &ends), 0);
    assert_int_equal(alike(&idle, &ends), 0);
}

static void names_are_told_apart(void **state) {
    lab *l = *state;
    uint32_t comm = stn_vocab_ctext(&l->vocab, "smith");
    stn_rungs nameless = after(l, "1 0 5 a|2 0 5 b", 3);
    l->world.threads[stn_world_thread(&l->world, 5, 0)].comm = comm;
    stn_rungs named = rungs_of(l, 0, 3);
    assert_int_equal(alike(&nameless, &named), WHO);
    stn_rungs other = after(l, "1 0 6 a|2 0 6 b", 3);
    l->world.threads[stn_world_thread(&l->world, 6, 0)].comm = comm;
    other = rungs_of(l, 0, 3);
    assert_int_equal(alike(&other, &named), named.count);
    /* handlers are told by who runs only beyond a few events */
    nameless = after(l, nested, 8);
    l->world.threads[stn_world_thread(&l->world, 5, 0)].comm = comm;
    named = rungs_of(l, 0, 8);
    assert_int_equal(alike(&nameless, &named), up_to(&nameless, 3) - 1);
    /* idle threads by their CPU */
    story(l, "1 0 0 a|2 1 0 a");
    stn_rungs first = rungs_of(l, 0, 3), second = rungs_of(l, 1, 3);
    assert_int_equal(alike(&first, &second), WHO);
}

static void who_waits_is_told(void **state) {
    lab *l = *state;
    stn_rungs nobody = after(l, "1 0 5 a|3 0 5 b", 3);
    stn_rungs ready = after(l, "1 0 5 a|2 1 6 sched_wakeup pid=9 target_cpu=0|3 0 5 b", 3);
    stn_rungs waking = after(l, "1 0 5 a|2 1 6 sched_waking pid=9 target_cpu=0|3 0 5 b", 3);
    stn_rungs elsewhere = after(l, "1 0 5 a|2 1 6 sched_wakeup pid=9 target_cpu=1|3 0 5 b", 3);
    assert_int_equal(alike(&nobody, &ready), WAITING);
    assert_int_equal(alike(&nobody, &waking), WAITING);
    assert_int_equal(alike(&ready, &waking), WAITING);
    assert_int_equal(alike(&nobody, &elsewhere), nobody.count);
    /* and whether the other CPU has just seen to it */
    stn_rungs just = after(l, "1 0 5 a|2 0 5 b|3 1 6 sched_wakeup pid=9 target_cpu=0", 3);
    assert_int_equal(alike(&ready, &just), CLOSER);
    /* in a handler too */
    nobody = after(l, "1 0 5 irq_handler_entry irq=3|3 0 5 b", 3);
    ready =
        after(l, "1 0 5 irq_handler_entry irq=3|2 1 6 sched_wakeup pid=9 target_cpu=0|3 0 5 b", 3);
    just =
        after(l, "1 0 5 irq_handler_entry irq=3|2 0 5 b|3 1 6 sched_wakeup pid=9 target_cpu=0", 3);
    assert_int_equal(alike(&nobody, &ready), 2);
    assert_int_equal(alike(&ready, &just), 4);
}

/* Threads in no call are woken by threads in no call. */
static void who_sleeps_is_told(void **state) {
    lab *l = *state;
    static const char one[] = "1 0 9 a|2 0 9 sched_switch prev_pid=9 prev_state=1 next_pid=5|"
                              "3 0 5 a|4 0 5 b";
    static const char two[] = "0 1 8 a|1 1 8 sched_switch prev_pid=8 prev_state=1 next_pid=6|"
                              "1 0 9 a|2 0 9 sched_switch prev_pid=9 prev_state=1 next_pid=5|"
                              "3 0 5 a|4 0 5 b";
    stn_rungs before = after(l, one, 3);
    stn_wakes_builder builder = {0};
    stn_wakes wakes;
    uint64_t kin = stn_world_kin(lab_thread(l, 9));
    assert_int_equal(stn_wakes_add(&builder, stn_world_place_of(&l->world, 0), kin), STN_OK);
    assert_int_equal(stn_wakes_build(&wakes, &builder), STN_OK);
    l->slots.wakes = &wakes;
    stn_rungs sleeps = after(l, one, 3);
    assert_int_equal(stn_world_asleep(&l->world, 0), 1);
    assert_int_equal(alike(&before, &sleeps), WAITING);
    stn_rungs several = after(l, two, 3);
    assert_int_equal(stn_world_asleep(&l->world, 0), 2);
    assert_int_equal(alike(&sleeps, &several), CLOSER);
    l->slots.wakes = NULL;
    lab_again(l);
    stn_wakes_fini(&wakes);
    stn_wakes_builder_fini(&builder);
}

#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_LAB(ladders_rise_and_end_at_the_order),
        IN_LAB(a_thread_hangs_on_its_own_past),
        IN_LAB(repetitions_stand_once_and_are_counted),
        IN_LAB(inside_a_handler_only_the_handler_counts),
        IN_LAB(an_interrupt_does_not_disturb_the_thread),
        IN_LAB(places_are_told_by_what_is_open),
        IN_LAB(names_are_told_apart),
        IN_LAB(who_waits_is_told),
        IN_LAB(who_sleeps_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
