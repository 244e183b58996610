/* The world that training and generating walk through, event by event. */
#include "synth_lab.h"

static const char *const vocabulary[] = {
    "1 0 1 sys_enter_read fd=3",
    "2 0 1 sys_exit_read ret=3",
    "3 0 1 sched_switch prev_pid=1 prev_state=1 next_pid=2",
    "4 0 2 sched_waking pid=1 target_cpu=0",
    "5 0 2 sched_wakeup pid=1 target_cpu=0",
    "6 0 2 irq_handler_entry irq=3",
    "7 0 2 irq_handler_exit irq=3",
    "8 0 2 sched_process_fork child_pid=9",
    "9 0 2 sched_process_exit pid=2",
    "10 0 2 sched_process_free pid=1",
    "11 0 2 sched_migrate_task pid=1 dest_cpu=1",
    "12 0 2 make id=1 color=4",
    "13 0 2 use id=1 color=4",
    "14 0 2 task_rename pid=2",
    "15 0 2 softirq_entry vec=3",
    "16 0 2 softirq_exit vec=3",
};

static int open_lab(void **state) {
    *state = LAB_OPEN(vocabulary, lab_things);
    return 0;
}

static int close_lab(void **state) {
    lab_close(*state);
    return 0;
}

static void wants(const lab *l, int32_t tid, stn_thread_state state, uint16_t cpu) {
    assert_int_equal(lab_thread(l, tid)->state, state);
    assert_int_equal(lab_thread(l, tid)->cpu, cpu);
    if (state > STN_THREAD_WOKEN) { /* and it is in the list of its state */
        uint32_t at = stn_world_list(&l->world, cpu, state)->newest;
        while (at != STN_WORLD_NONE && l->world.threads[at].tid != tid) {
            at = l->world.threads[at].older;
        }
        assert_true(at != STN_WORLD_NONE);
    }
}

static void a_thread_sleeps_is_woken_and_runs(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 sys_enter_read fd=3");
    wants(l, 10, STN_THREAD_RUNNING, 0);
    lab_happen(l, "2 0 10 sched_switch prev_pid=10 prev_state=1 next_pid=11");
    wants(l, 10, STN_THREAD_BLOCKED, 0);
    wants(l, 11, STN_THREAD_RUNNING, 0);
    assert_int_equal(lab_thread(l, 11)->history[0], STN_SYMBOL_IN);
    assert_int_equal(lab_thread(l, 10)->since_ns, 2000);
    lab_happen(l, "3 1 12 sched_waking pid=10 target_cpu=1");
    wants(l, 10, STN_THREAD_WAKING, 1);
    assert_int_equal(stn_world_population(&l->world, STN_THREAD_WAKING), 1);
    assert_int_equal(l->world.cpus[1].last_tid, 10);
    lab_happen(l, "4 1 12 sched_wakeup pid=10 target_cpu=1");
    wants(l, 10, STN_THREAD_READY, 1);
    assert_int_equal(stn_world_population(&l->world, STN_THREAD_WAKING), 0);
    assert_int_equal(stn_world_population(&l->world, STN_THREAD_READY), 1);
    lab_happen(l, "5 1 12 sched_switch prev_pid=12 prev_state=0 next_pid=10");
    wants(l, 12, STN_THREAD_READY, 1);
    wants(l, 10, STN_THREAD_RUNNING, 1);
    const uint16_t *history = lab_thread(l, 10)->history;
    assert_int_equal(history[0], STN_SYMBOL_IN);
    assert_int_equal(history[1], lab_type(l, "sched_switch"));
    assert_int_equal(history[2], lab_type(l, "sys_enter_read"));
    assert_int_equal(history[3], STN_SYMBOL_NONE);
    assert_int_equal(l->world.now_ns, 5000);
    assert_int_equal(l->world.events, 5);
}

static void one_woken_on_its_way_to_sleep_waits_for_the_cpu(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 sys_enter_read fd=3");
    lab_happen(l, "2 1 12 sched_waking pid=10 target_cpu=0");
    wants(l, 10, STN_THREAD_WOKEN, 0);
    lab_happen(l, "3 0 10 sched_switch prev_pid=10 prev_state=1 next_pid=11");
    wants(l, 10, STN_THREAD_WAKING, 0);
    lab_happen(l, "4 1 12 sched_wakeup pid=10 target_cpu=0");
    wants(l, 10, STN_THREAD_READY, 0);
    lab_happen(l, "5 1 12 sched_migrate_task pid=10 dest_cpu=1");
    wants(l, 10, STN_THREAD_READY, 1);
}

static void a_child_takes_over_its_parents_past(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 sys_enter_read fd=3");
    lab_happen(l, "2 0 10 sched_process_fork child_pid=20");
    wants(l, 20, STN_THREAD_NEW, 0);
    const stn_thread *child = lab_thread(l, 20);
    assert_int_equal(lab_thread(l, 10)->child, stn_world_thread(&l->world, 20, 0));
    assert_int_equal(child->history[0], STN_SYMBOL_FORKED);
    assert_int_equal(child->history[1], lab_type(l, "sched_process_fork"));
    assert_int_equal(child->history[2], lab_type(l, "sys_enter_read"));
    assert_int_equal(child->depth, 1);
    assert_int_equal(child->open[0], lab_type(l, "sys_enter_read"));
    assert_true(l->world.next_tid > 20);
}

static void a_thread_ends_and_is_freed(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 sched_process_exit pid=10");
    uint32_t before = l->world.live_threads;
    assert_true(lab_thread(l, 10)->exiting);
    lab_happen(l, "2 0 10 sched_switch prev_pid=10 prev_state=1 next_pid=11");
    wants(l, 10, STN_THREAD_DEAD, 0); /* whatever the state says: it had its exit */
    lab_happen(l, "3 0 11 sched_waking pid=10 target_cpu=0");
    wants(l, 10, STN_THREAD_DEAD, 0);
    lab_happen(l, "4 0 11 sched_process_free pid=10");
    assert_int_equal(stn_world_thread(&l->world, 10, 0), STN_WORLD_NONE);
    assert_int_equal(l->world.live_threads, before); /* 11 came, 10 went */
}

static void exited_threads_do_not_pile_up(void **state) {
    lab *l = *state;
    for (int i = 0; i < 5000; i++) {
        char line[128];
        snprintf(line, sizeof line, "%d 0 %d sched_process_exit pid=%d", 2 * i, 100 + i, 100 + i);
        lab_happen(l, line);
        snprintf(line, sizeof line, "%d 0 %d sched_switch prev_pid=%d prev_state=16 next_pid=%d",
                 2 * i + 1, 100 + i, 100 + i, 101 + i);
        lab_happen(l, line);
    }
    assert_in_range(l->world.live_threads, STN_DEAD_KEPT, STN_DEAD_KEPT + 8);
    assert_in_range(l->world.thread_count, STN_DEAD_KEPT, STN_DEAD_KEPT + 8);
    assert_int_equal(stn_world_thread(&l->world, 100, 0), STN_WORLD_NONE);
    assert_int_equal(lab_thread(l, 5099)->state, STN_THREAD_DEAD);
}

static void handlers_nest_and_leave_the_thread_alone(void **state) {
    lab *l = *state;
    lab_happen(l, "1 1 10 sys_enter_read fd=3");
    lab_happen(l, "2 1 10 irq_handler_entry irq=5");
    lab_happen(l, "3 1 10 irq_handler_entry irq=6");
    lab_happen(l, "4 1 10 use id=1 color=2");
    const stn_cpu *cpu = &l->world.cpus[1];
    assert_int_equal(cpu->depth, 2);
    assert_int_equal(cpu->stack[1], lab_type(l, "irq_handler_entry"));
    assert_int_equal(cpu->handler_count, 3);
    assert_int_equal(cpu->handler_history[0], lab_type(l, "use"));
    assert_int_equal(lab_thread(l, 10)->history[0], lab_type(l, "sys_enter_read"));
    lab_happen(l, "5 1 10 irq_handler_exit irq=6");
    lab_happen(l, "6 1 10 irq_handler_exit irq=5");
    assert_int_equal(cpu->depth, 0);
    lab_happen(l, "7 1 10 irq_handler_exit irq=5"); /* its entry was not seen */
    assert_int_equal(cpu->depth, 0);
    assert_int_equal(lab_thread(l, 10)->depth, 1);
    lab_happen(l, "8 1 10 sys_exit_read ret=0");
    assert_int_equal(lab_thread(l, 10)->depth, 0);
    assert_int_equal(lab_thread(l, 10)->history[1], lab_type(l, "sys_enter_read"));
    assert_int_equal(cpu->history[1], lab_type(l, "irq_handler_exit"));
}

static void ranks_count_the_cpus_in_between(void **state) {
    lab *l = *state;
    static const int cpus[] = {0, 0, 1, 1, 0}, ranks[] = {0, 0, 1, 0, 1};
    for (int i = 0; i < 5; i++) {
        char line[64];
        assert_int_equal(stn_world_rank(&l->world, (uint16_t)cpus[i]), ranks[i]);
        snprintf(line, sizeof line, "%d %d 1%d sys_enter_read fd=3", i + 1, cpus[i], cpus[i]);
        lab_happen(l, line);
        assert_int_equal(stn_world_rank(&l->world, (uint16_t)cpus[i]), 0);
        assert_int_equal(stn_world_rank(&l->world, (uint16_t)!cpus[i]), 1);
    }
    assert_int_equal(l->world.cpus[1].last_ns, 4000);
}

static void repetitions_are_counted_on_their_thread(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 use id=1 color=2");
    assert_int_equal(lab_thread(l, 10)->run, 1);
    lab_happen(l, "2 0 10 use id=1 color=2");
    lab_happen(l, "3 1 11 use id=1 color=2"); /* another thread */
    lab_happen(l, "4 0 10 irq_handler_entry irq=5");
    lab_happen(l, "5 0 10 make id=1 color=2"); /* in a handler */
    lab_happen(l, "6 0 10 irq_handler_exit irq=5");
    lab_happen(l, "7 0 10 use id=1 color=2");
    assert_int_equal(lab_thread(l, 10)->run, 3);
    assert_int_equal(lab_thread(l, 11)->run, 1);
    assert_int_equal(lab_thread(l, 10)->history[0], lab_type(l, "use")); /* they stand once */
    assert_int_equal(lab_thread(l, 10)->history[1], STN_SYMBOL_NONE);
    assert_int_equal(l->world.cpus[0].history[0], lab_type(l, "use"));
    assert_int_equal(l->world.cpus[0].history[4], lab_type(l, "use")); /* all of the CPU's do */
    lab_happen(l, "8 0 10 make id=2 color=2");
    assert_int_equal(lab_thread(l, 10)->run, 1);
    assert_int_equal(lab_thread(l, 10)->history[1], lab_type(l, "use"));
    lab_happen(l, "9 0 10 make id=3 color=2");
    lab_happen(l, "10 0 10 sched_switch prev_pid=10 prev_state=1 next_pid=12");
    lab_happen(l, "11 0 12 sched_switch prev_pid=12 prev_state=1 next_pid=10");
    assert_int_equal(lab_thread(l, 10)->run, 1);
    assert_int_equal(lab_thread(l, 10)->history[0], STN_SYMBOL_IN);
}

/* The moment that the next event of a CPU hangs on. */
static void wants_trigger(const lab *l, uint16_t cpu, uint64_t us, bool touched) {
    assert_int_equal(l->world.cpus[cpu].trigger_ns, us * 1000);
    assert_int_equal(l->world.cpus[cpu].touched, touched);
}

static void an_event_touches_cpus_where_it_changes_who_waits(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 use id=1 color=2");
    lab_happen(l, "2 1 12 use id=1 color=2");
    assert_int_equal(l->world.touched_count, 0);
    lab_happen(l, "3 1 12 sched_waking pid=20 target_cpu=0");
    assert_int_equal(l->world.touched_count, 1);
    assert_int_equal(l->world.touched[0], 0);
    wants_trigger(l, 0, 3, true);
    wants_trigger(l, 1, 3, false);
    assert_int_equal(l->world.cpus[0].last_ns, 1000);
    lab_happen(l, "4 1 12 sched_wakeup pid=20 target_cpu=0");
    assert_int_equal(l->world.touched_count, 1); /* once, though it leaves and enters there */
    wants_trigger(l, 0, 4, true);
    lab_happen(l, "5 0 10 use id=1 color=2");
    assert_int_equal(l->world.touched_count, 0);
    wants_trigger(l, 0, 5, false);
    lab_happen(l, "6 1 12 sched_wakeup pid=21 target_cpu=1"); /* its own */
    assert_int_equal(l->world.touched_count, 0);
    lab_happen(l, "7 1 12 sched_migrate_task pid=20 dest_cpu=1"); /* taken away */
    assert_int_equal(l->world.touched_count, 1);
    wants_trigger(l, 0, 7, true);
    lab_happen(l, "8 1 12 sched_waking pid=10 target_cpu=0"); /* it runs there: nobody waits */
    assert_int_equal(l->world.touched_count, 0);
    wants_trigger(l, 0, 7, true);
}

static void what_a_call_returned_is_kept(void **state) {
    lab *l = *state;
    static const struct {
        const char *exit;
        stn_returned wanted;
    } cases[] = {{"0", STN_RETURNED_ZERO},
                 {"4096", STN_RETURNED_MORE},
                 {"-11", STN_RETURNED_AGAIN},
                 {"-2", STN_RETURNED_ERROR}};
    char text[64];
    assert_int_equal(l->world.threads[0].returned, STN_RETURNED_NOTHING);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%zu 0 10 sys_enter_read fd=3", 2 * i + 1);
        lab_happen(l, text);
        snprintf(text, sizeof text, "%zu 0 10 sys_exit_read ret=%s", 2 * i + 2, cases[i].exit);
        lab_happen(l, text);
        assert_int_equal(lab_thread(l, 10)->returned, cases[i].wanted);
    }
}

static void who_falls_asleep_is_told(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 use id=1 color=2");
    assert_int_equal(l->world.fallen, STN_WORLD_NONE);
    lab_happen(l, "2 0 10 sched_switch prev_pid=10 prev_state=0 next_pid=11"); /* still ready */
    assert_int_equal(l->world.fallen, STN_WORLD_NONE);
    lab_happen(l, "3 0 11 sched_switch prev_pid=11 prev_state=1 next_pid=10");
    assert_int_equal(l->world.fallen, stn_world_thread(&l->world, 11, 0));
    assert_int_equal(l->world.threads[l->world.fallen].since_ns, 3000);
    lab_happen(l, "4 0 10 sched_wakeup pid=11 target_cpu=0");
    assert_int_equal(l->world.fallen, STN_WORLD_NONE);
    lab_happen(l, "5 0 12 use id=1 color=2"); /* the switch was not seen */
    assert_int_equal(l->world.fallen, stn_world_thread(&l->world, 10, 0));
}

static void kin_share_a_name_and_a_call(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 use id=1 color=2");
    lab_happen(l, "2 1 11 use id=1 color=2");
    assert_true(stn_world_kin(lab_thread(l, 10)) == stn_world_kin(lab_thread(l, 11)));
    lab_happen(l, "3 0 10 sys_enter_read fd=3");
    assert_true(stn_world_kin(lab_thread(l, 10)) != stn_world_kin(lab_thread(l, 11)));
    lab_happen(l, "4 1 11 sys_enter_read fd=4");
    assert_true(stn_world_kin(lab_thread(l, 10)) == stn_world_kin(lab_thread(l, 11)));
    l->world.threads[stn_world_thread(&l->world, 11, 0)].comm = stn_vocab_ctext(&l->vocab, "ann");
    assert_true(stn_world_kin(lab_thread(l, 10)) != stn_world_kin(lab_thread(l, 11)));
}

static void places_are_calls_and_handlers(void **state) {
    lab *l = *state;
    const stn_world *world = &l->world;
    lab_happen(l, "1 0 10 use id=1 color=2");
    uint64_t user = stn_world_place_of(world, 0);
    lab_happen(l, "2 0 10 sys_enter_read fd=3");
    uint64_t call = stn_world_place_of(world, 0);
    lab_happen(l, "3 0 10 softirq_entry vec=3");
    uint64_t softirq_in_call = stn_world_place_of(world, 0);
    lab_happen(l, "4 0 10 softirq_exit vec=3");
    assert_true(stn_world_place_of(world, 0) == call);
    lab_happen(l, "5 0 10 irq_handler_entry irq=3");
    uint64_t interrupt = stn_world_place_of(world, 0);
    lab_happen(l, "6 0 10 irq_handler_exit irq=3");
    lab_happen(l, "7 0 10 sys_exit_read ret=3");
    assert_true(stn_world_place_of(world, 0) == user);
    lab_happen(l, "8 0 10 irq_handler_entry irq=3"); /* whatever it interrupts */
    assert_true(stn_world_place_of(world, 0) == interrupt);
    lab_happen(l, "9 1 11 softirq_entry vec=3"); /* in no call: the handler counts */
    uint64_t softirq = stn_world_place_of(world, 1);
    const uint64_t all[] = {user, call, softirq_in_call, interrupt, softirq};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(all[i] != all[k]);
        }
    }
}

/* Threads in no call are woken from where thread 10 is, in a call. */
static void those_asleep_are_counted_by_kin(void **state) {
    lab *l = *state;
    stn_wakes_builder builder = {0};
    stn_wakes wakes;
    lab_happen(l, "1 0 11 use id=1 color=2");
    uint64_t kin = stn_world_kin(lab_thread(l, 11));
    lab_happen(l, "2 0 10 sys_enter_read fd=3");
    assert_int_equal(stn_wakes_add(&builder, stn_world_place_of(&l->world, 0), kin), STN_OK);
    assert_int_equal(stn_wakes_build(&wakes, &builder), STN_OK);
    stn_wakes_builder_fini(&builder);
    l->slots.wakes = &wakes;
    lab_again(l);
    static const struct {
        const char *line;
        uint32_t asleep, from_here;
    } steps[] = {
        {"1 1 11 use id=1 color=2", 0, 0},
        {"2 1 11 sched_switch prev_pid=11 prev_state=1 next_pid=12", 1, 0},
        {"3 1 12 sched_switch prev_pid=12 prev_state=2 next_pid=13", 2, 0},
        {"4 1 13 sched_switch prev_pid=13 prev_state=0 next_pid=14", 2, 0}, /* ready */
        {"5 1 14 sys_enter_read fd=3", 2, 0},
        {"6 1 14 sched_switch prev_pid=14 prev_state=1 next_pid=13", 2, 0}, /* other kin */
        {"7 0 10 sys_enter_read fd=3", 2, 2},
        {"8 0 10 sched_waking pid=11 target_cpu=1", 1, 1},
        {"9 0 10 sched_waking pid=14 target_cpu=1", 1, 1},
        {"10 0 10 sched_wakeup pid=12 target_cpu=1", 0, 0},
        {"11 1 13 sched_switch prev_pid=13 prev_state=1 next_pid=11", 1, 1},
        {"12 0 10 sys_exit_read ret=3", 1, 0}, /* elsewhere now */
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        lab_happen(l, steps[i].line);
        assert_int_equal(l->world.asleep[0], steps[i].asleep);
        assert_int_equal(stn_world_asleep(&l->world, 0), steps[i].from_here);
    }
    stn_world_retire(&l->world); /* the sleeper is gone */
    assert_int_equal(l->world.asleep[0], 0);
    l->slots.wakes = NULL;
    lab_again(l);
    stn_wakes_fini(&wakes);
}

static void name(lab *l, const char *text, const char *comm) {
    lab_draft(l, text);
    l->draft.comm = stn_vocab_ctext(&l->vocab, comm);
}

static void a_thread_bears_its_old_name_until_it_is_renamed(void **state) {
    lab *l = *state;
    uint32_t current;
    name(l, "1 0 10 use id=1 color=2", "ann");
    assert_int_equal(stn_world_apply(&l->world, &l->draft), STN_OK);
    uint32_t ann = stn_vocab_ctext(&l->vocab, "ann"), ben = stn_vocab_ctext(&l->vocab, "ben");
    assert_int_equal(lab_thread(l, 10)->comm, ann);
    name(l, "2 0 10 task_rename pid=10", "ben"); /* the event bears the new name already */
    assert_int_equal(stn_world_seat(&l->world, &l->draft, &current), STN_OK);
    assert_int_equal(l->world.threads[current].comm, ann);
    assert_int_equal(stn_world_apply(&l->world, &l->draft), STN_OK);
    assert_int_equal(lab_thread(l, 10)->comm, ben);
    name(l, "3 0 10 use id=1 color=2", "cat"); /* any other event says who it is */
    assert_int_equal(stn_world_seat(&l->world, &l->draft, &current), STN_OK);
    assert_int_equal(lab_thread(l, 10)->comm, stn_vocab_ctext(&l->vocab, "cat"));
    name(l, "4 0 30 task_rename pid=30", "ben"); /* one never heard of has no other name */
    assert_int_equal(stn_world_seat(&l->world, &l->draft, &current), STN_OK);
    assert_int_equal(lab_thread(l, 30)->comm, ben);
}

static void a_switch_that_was_not_seen_is_made_up_for(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 sys_enter_read fd=3");
    lab_happen(l, "2 0 11 sys_enter_read fd=3");
    wants(l, 10, STN_THREAD_BLOCKED, 0);
    wants(l, 11, STN_THREAD_RUNNING, 0);
    lab_happen(l, "3 0 - use id=1 color=2"); /* no thread said: the running one */
    assert_int_equal(lab_thread(l, 11)->history[0], lab_type(l, "use"));
    lab_happen(l, "4 0 0 use id=1 color=2"); /* the idle thread is that of the CPU */
    assert_int_equal(l->world.cpus[0].thread, 0);
    assert_int_equal(stn_world_thread(&l->world, 0, 1), 1);
}

static void states_are_told_by_number_and_by_letter(void **state) {
    lab *l = *state;
    static const struct {
        int64_t number;
        stn_leaving leaves;
    } numbers[] = {{0, STN_LEAVES_READY},  {1, STN_LEAVES_BLOCKED}, {2, STN_LEAVES_DISK},
                   {16, STN_LEAVES_GONE},  {32, STN_LEAVES_GONE},   {256, STN_LEAVES_READY},
                   {4, STN_LEAVES_BLOCKED}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        stn_val val = {.v = numbers[i].number, .kind = STN_FIELD_INT};
        assert_int_equal(stn_world_leaving(&l->world, &val), numbers[i].leaves);
    }
    static const struct {
        const char *text;
        stn_leaving leaves;
    } letters[] = {{"R", STN_LEAVES_READY}, {"R+", STN_LEAVES_READY}, {"S", STN_LEAVES_BLOCKED},
                   {"D", STN_LEAVES_DISK},  {"X", STN_LEAVES_GONE},   {"Z", STN_LEAVES_GONE}};
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        stn_val val = {.v = stn_vocab_ctext(&l->vocab, letters[i].text), .kind = STN_FIELD_STR};
        assert_int_equal(stn_world_leaving(&l->world, &val), letters[i].leaves);
    }
}

static void fields_are_remembered_by_thread_and_cpu(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 sys_enter_read fd=3");
    lab_happen(l, "2 0 11 sys_enter_read fd=4");
    uint32_t type = lab_type(l, "sys_enter_read");
    size_t slot = l->slots.of[(size_t)type * STN_VFIELD_MAX + lab_field(l, type, "fd")];
    size_t of = (size_t)stn_world_thread(&l->world, 10, 0) * l->slots.count;
    assert_int_equal(l->world.thread_memory[of + slot].v, 3);
    assert_int_equal(l->world.cpu_memory[slot].v, 4);
    assert_int_equal(l->world.cpu_memory[l->slots.count + slot].kind, STN_VAL_NONE);
}

static void instances_remember_who_touched_them(void **state) {
    lab *l = *state;
    stn_val seven = {.v = 7, .kind = STN_FIELD_INT};
    lab_happen(l, "1 0 10 make id=7 color=4");
    lab_happen(l, "2 0 10 make id=8 color=5");
    uint32_t index = stn_instance_find(&l->world, 0, 0, &seven, 1);
    assert_true(index != STN_WORLD_NONE);
    assert_int_equal(stn_instance_list(&l->world, 0, 0, 0)->count, 2);
    assert_true(stn_instance_list(&l->world, 0, 0, 0)->oldest == index);
    lab_happen(l, "3 1 11 use id=7 color=6");
    assert_int_equal(stn_instance_find(&l->world, 0, 0, &seven, 1), index);
    const stn_instance *instance = &l->world.instances[index];
    assert_int_equal(instance->last, lab_type(l, "use"));
    assert_int_equal(instance->owner, 11);
    assert_int_equal(instance->cpu, 1);
    assert_true(stn_instance_list(&l->world, 0, 0, 0)->newest == index);
    assert_int_equal(stn_instance_value(instance, stn_vocab_ctext(&l->vocab, "color")).v, 6);
    assert_int_equal(stn_instance_value(instance, stn_vocab_ctext(&l->vocab, "fd")).kind,
                     STN_VAL_NONE);
    seven.v = 9;
    assert_int_equal(stn_instance_find(&l->world, 0, 0, &seven, 1), STN_WORLD_NONE);
}

/* Ids of the instances that @p type touched last, newest first, as decimal digits; @p back
 * from the oldest. */
static int64_t like(const lab *l, const char *type, bool back) {
    const stn_list *list = &l->world.like_lists[lab_type(l, type)];
    int64_t ids = 0;
    uint32_t count = 0;
    for (uint32_t at = back ? list->oldest : list->newest; at != STN_WORLD_NONE; count++) {
        const stn_instance *instance = &l->world.instances[at];
        ids = ids * 10 + instance->parts[0].v;
        at = back ? instance->like_newer : instance->like_older;
    }
    assert_int_equal(count, list->count);
    return ids;
}

static void instances_are_listed_by_who_touched_them_last(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 make id=1 color=4");
    lab_happen(l, "2 0 10 make id=2 color=4");
    lab_happen(l, "3 0 10 make id=3 color=4");
    assert_int_equal(like(l, "make", false), 321);
    assert_int_equal(like(l, "make", true), 123);
    assert_int_equal(like(l, "use", false), 0);
    lab_happen(l, "4 1 11 use id=2 color=4");
    assert_int_equal(like(l, "make", false), 31);
    assert_int_equal(like(l, "make", true), 13);
    assert_int_equal(like(l, "use", false), 2);
    lab_happen(l, "5 1 11 use id=3 color=4");
    lab_happen(l, "6 0 10 make id=1 color=4"); /* again by the same type: to the front */
    lab_happen(l, "7 0 10 make id=4 color=4");
    lab_happen(l, "8 0 10 make id=1 color=4");
    assert_int_equal(like(l, "make", false), 14);
    assert_int_equal(like(l, "make", true), 41);
    assert_int_equal(like(l, "use", false), 32);
    for (int i = 10; i < 1000; i++) { /* those forgotten leave it too */
        char line[64];
        snprintf(line, sizeof line, "%d 0 10 make id=%d color=4", i, i);
        lab_happen(l, line);
    }
    const stn_list *all = stn_instance_list(&l->world, 0, 0, 0);
    assert_int_equal(like(l, "use", false), 0);
    assert_int_equal(l->world.like_lists[lab_type(l, "make")].count, all->count);
}

static void the_one_that_slept_longest_retires(void **state) {
    lab *l = *state;
    uint32_t comm = stn_vocab_ctext(&l->vocab, "worker");
    for (int32_t tid = 30; tid < 33; tid++) {
        uint32_t index = stn_world_meet(&l->world, tid, comm, 0);
        l->world.now_ns = (uint64_t)tid * 1000;
        stn_world_move(&l->world, index, STN_THREAD_BLOCKED, 0);
    }
    assert_int_equal(stn_world_named(&l->world, comm), 3);
    stn_world_retire(&l->world);
    assert_int_equal(stn_world_named(&l->world, comm), 2);
    assert_int_equal(stn_world_thread(&l->world, 30, 0), STN_WORLD_NONE);
    wants(l, 31, STN_THREAD_BLOCKED, 0);
}

static void drafts_hold_what_the_vocabulary_knows(void **state) {
    lab *l = *state;
    line_event line;
    lab_draft(l, "8 1 42 make color=4 size=9 id=7");
    assert_int_equal(l->draft.type, lab_type(l, "make"));
    assert_int_equal(l->draft.tid, 42);
    assert_int_equal(l->draft.time_ns, 8000);
    assert_int_equal(l->draft.val_count, 2);
    assert_int_equal(l->draft.vals[lab_field(l, l->draft.type, "id")].v, 7);
    assert_int_equal(l->draft.vals[lab_field(l, l->draft.type, "color")].v, 4);
    lab_draft(l, "8 1 42 make id=7");
    assert_int_equal(l->draft.vals[lab_field(l, l->draft.type, "color")].kind, STN_VAL_NONE);
    assert_int_equal(
        stn_draft_from(&l->draft, &l->vocab, line_read(&line, "8 1 42 never_seen", l->catalog)),
        STN_ENOTFOUND);
}

static void each_failed_allocation_is_clean(void **state) {
    lab *l = *state;
    stn_world world;
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    while (status != STN_OK && nth < 1000) {
        stn_alloc_fail_at(++nth);
        status = stn_world_init(&world, &l->vocab, &l->domains, &l->slots, LAB_CPUS);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
    }
    assert_int_equal(status, STN_OK);
    assert_true(nth > 4);
    stn_world_fini(&world);
}

#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_LAB(a_thread_sleeps_is_woken_and_runs),
        IN_LAB(one_woken_on_its_way_to_sleep_waits_for_the_cpu),
        IN_LAB(a_child_takes_over_its_parents_past),
        IN_LAB(a_thread_ends_and_is_freed),
        IN_LAB(exited_threads_do_not_pile_up),
        IN_LAB(handlers_nest_and_leave_the_thread_alone),
        IN_LAB(ranks_count_the_cpus_in_between),
        IN_LAB(repetitions_are_counted_on_their_thread),
        IN_LAB(an_event_touches_cpus_where_it_changes_who_waits),
        IN_LAB(who_falls_asleep_is_told),
        IN_LAB(what_a_call_returned_is_kept),
        IN_LAB(kin_share_a_name_and_a_call),
        IN_LAB(places_are_calls_and_handlers),
        IN_LAB(those_asleep_are_counted_by_kin),
        IN_LAB(a_thread_bears_its_old_name_until_it_is_renamed),
        IN_LAB(a_switch_that_was_not_seen_is_made_up_for),
        IN_LAB(states_are_told_by_number_and_by_letter),
        IN_LAB(fields_are_remembered_by_thread_and_cpu),
        IN_LAB(instances_remember_who_touched_them),
        IN_LAB(instances_are_listed_by_who_touched_them_last),
        IN_LAB(the_one_that_slept_longest_retires),
        IN_LAB(drafts_hold_what_the_vocabulary_knows),
        IN_LAB(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
