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
};

static const char things[] = "standin-rules 1\n"
                             "rule thing\n"
                             "  doc \"A thing is made before it is used.\"\n"
                             "  key thing by id\n"
                             "  states gone there\n"
                             "  on make to there\n"
                             "  on use from there to there\n";

static int open_lab(void **state) {
    *state = LAB_OPEN(vocabulary, things);
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
    assert_int_equal(lab_thread(l, 10)->slept_ns, 2000);
    lab_happen(l, "3 1 12 sched_waking pid=10 target_cpu=1");
    wants(l, 10, STN_THREAD_WAKING, 1);
    assert_int_equal(l->world.waking, 1);
    assert_int_equal(l->world.cpus[1].last_tid, 10);
    lab_happen(l, "4 1 12 sched_wakeup pid=10 target_cpu=1");
    wants(l, 10, STN_THREAD_READY, 1);
    assert_int_equal(l->world.waking, 0);
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
        snprintf(line, sizeof line, "%d %d 1%d sys_enter_read fd=3", i + 1, cpus[i], cpus[i]);
        lab_happen(l, line);
        assert_int_equal(l->world.history_rank[0], ranks[i]);
        assert_int_equal(stn_world_rank(&l->world, (uint16_t)cpus[i]), 0);
        assert_int_equal(stn_world_rank(&l->world, (uint16_t)!cpus[i]), 1);
    }
    assert_int_equal(l->world.cpus[0].run, 3); /* the same type in a row */
    assert_int_equal(l->world.cpus[1].last_ns, 4000);
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
        IN_LAB(a_switch_that_was_not_seen_is_made_up_for),
        IN_LAB(states_are_told_by_number_and_by_letter),
        IN_LAB(fields_are_remembered_by_thread_and_cpu),
        IN_LAB(instances_remember_who_touched_them),
        IN_LAB(the_one_that_slept_longest_retires),
        IN_LAB(drafts_hold_what_the_vocabulary_knows),
        IN_LAB(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
