/* Sources of field values, each by hand. */
#include "synth_lab.h"

#include "kernel/synth/source.h"

static const char *const vocabulary[] = {
    "1 0 1 sys_enter_read fd=3 count=10",
    "2 0 1 sys_exit_read ret=3",
    "3 0 2 sched_waking comm=a pid=1 target_cpu=0",
    "4 0 2 sched_process_fork child_pid=9",
    "5 0 2 make id=1 color=4",
    "6 0 2 use id=1 color=4",
};

static const char things[] = "standin-rules 1\n"
                             "rule thing\n"
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

static const stn_subject nobody = {STN_WORLD_NONE, STN_WORLD_NONE, STN_WORLD_NONE};

static stn_val value(const lab *l, stn_source_kind kind, const char *type, const char *field,
                     const stn_subject *subject) {
    stn_source source = {.kind = (uint8_t)kind};
    if (type) {
        source.type = (uint16_t)lab_type(l, type);
        source.index = (uint8_t)lab_field(l, source.type, field);
    }
    return stn_source_value(&l->world, &source, &l->draft, subject, 1);
}

static void fields_are_told_by_what_was_before(void **state) {
    lab *l = *state;
    lab_happen(l, "1 0 10 sys_enter_read fd=3 count=10");
    lab_happen(l, "2 0 11 sys_enter_read fd=4 count=20");
    lab_draft(l, "3 0 10 sys_enter_read fd=5 count=30");
    stn_subject subject = nobody;
    subject.current = stn_world_thread(&l->world, 10, 0);
    assert_int_equal(value(l, STN_SOURCE_FIELD, "sys_enter_read", "fd", &subject).v, 5);
    assert_int_equal(value(l, STN_SOURCE_THREAD, "sys_enter_read", "fd", &subject).v, 3);
    assert_int_equal(value(l, STN_SOURCE_CPU, "sys_enter_read", "fd", &subject).v, 4);
    assert_int_equal(value(l, STN_SOURCE_THREAD, "sys_exit_read", "ret", &subject).kind,
                     STN_VAL_NONE);
    assert_int_equal(value(l, STN_SOURCE_NONE, NULL, NULL, &subject).kind, STN_VAL_NONE);
    assert_int_equal(value(l, STN_SOURCE_HERE, NULL, NULL, &subject).v, 0);
    assert_int_equal(value(l, STN_SOURCE_BEFORE, NULL, NULL, &subject).v,
                     lab_type(l, "sys_enter_read"));
}

static void threads_tell_their_name_cpu_and_state(void **state) {
    lab *l = *state;
    lab_happen(l, "1 1 10 sched_process_fork child_pid=20");
    lab_happen(l, "2 0 11 sys_exit_read ret=0");
    lab_draft(l, "3 1 10 sched_waking pid=20 target_cpu=1");
    stn_subject subject = {.current = stn_world_thread(&l->world, 10, 0),
                           .thread = stn_world_thread(&l->world, 20, 0),
                           .instance = STN_WORLD_NONE};
    uint32_t comm = stn_vocab_ctext(&l->vocab, "shell");
    l->world.threads[subject.current].comm = comm;
    assert_int_equal(value(l, STN_SOURCE_COMM, NULL, NULL, &subject).v, comm);
    assert_int_equal(value(l, STN_SOURCE_COMM, NULL, NULL, &subject).kind, STN_FIELD_STR);
    assert_int_equal(value(l, STN_SOURCE_NAMED_COMM, NULL, NULL, &subject).kind, STN_VAL_NONE);
    assert_int_equal(value(l, STN_SOURCE_NAMED_CPU, NULL, NULL, &subject).v, 1);
    assert_int_equal(value(l, STN_SOURCE_NAMED_STATE, NULL, NULL, &subject).v, STN_THREAD_NEW);
    assert_int_equal(value(l, STN_SOURCE_CHILD, NULL, NULL, &subject).v, 20);
    assert_int_equal(value(l, STN_SOURCE_HERE, NULL, NULL, &subject).v, 1);
    assert_int_equal(value(l, STN_SOURCE_BEFORE, NULL, NULL, &subject).v,
                     lab_type(l, "sched_process_fork"));
    subject.thread = STN_WORLD_NONE;
    assert_int_equal(value(l, STN_SOURCE_NAMED_CPU, NULL, NULL, &subject).kind, STN_VAL_NONE);
}

static void instances_tell_their_state_and_fields(void **state) {
    lab *l = *state;
    stn_val seven = {.v = 7, .kind = STN_FIELD_INT};
    lab_happen(l, "1 0 10 make id=7 color=44");
    lab_draft(l, "2 0 10 use id=7 color=1");
    stn_subject subject = {.current = stn_world_thread(&l->world, 10, 0),
                           .thread = STN_WORLD_NONE,
                           .instance = stn_instance_find(&l->world, 0, 0, &seven, 1)};
    stn_source source = {.kind = STN_SOURCE_INSTANCE};
    uint16_t color = lab_field(l, lab_type(l, "use"), "color");
    assert_int_equal(stn_source_value(&l->world, &source, &l->draft, &subject, color).v, 44);
    assert_int_equal(value(l, STN_SOURCE_STATE, NULL, NULL, &subject).v, lab_type(l, "make"));
    subject.instance = STN_WORLD_NONE;
    assert_int_equal(stn_source_value(&l->world, &source, &l->draft, &subject, color).kind,
                     STN_VAL_NONE);
    assert_int_equal(value(l, STN_SOURCE_STATE, NULL, NULL, &subject).v, -1);
}

static void words_are_exact_for_small_values_only(void **state) {
    (void)state;
    static const int64_t exact[] = {-4095, -11, -1, 0, 1, 2, 4096, 65535};
    uint64_t words[20];
    size_t count = 0;
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        words[count++] = stn_val_word((stn_val){.v = exact[i], .kind = STN_FIELD_INT});
    }
    words[count++] = stn_val_word((stn_val){.v = 2, .kind = STN_FIELD_STR});
    words[count++] = stn_val_word((stn_val){.v = 2, .kind = STN_VAL_CODE});
    words[count++] = stn_val_word((stn_val){.v = 2, .kind = STN_VAL_NONE});
    words[count++] = stn_val_word((stn_val){.v = 1000000, .kind = STN_FIELD_INT});
    words[count++] = stn_val_word((stn_val){.v = -1000000, .kind = STN_FIELD_INT});
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(words[i] != words[k]);
        }
    }
    /* 1,000,000 and 1,000,001 are of one size, twice that is another */
    assert_true(words[count - 2] == stn_val_word((stn_val){.v = 1000001, .kind = STN_FIELD_INT}));
    assert_true(words[count - 2] != stn_val_word((stn_val){.v = 2000000, .kind = STN_FIELD_INT}));
    /* the kind of a number says nothing */
    assert_true(stn_val_word((stn_val){.v = 7, .kind = STN_FIELD_INT}) ==
                stn_val_word((stn_val){.v = 7, .kind = STN_FIELD_HEX}));
}

static bool offers(const stn_source *sources, uint32_t count, stn_source wanted) {
    for (uint32_t i = 0; i < count; i++) {
        if (sources[i].kind == wanted.kind && sources[i].index == wanted.index &&
            sources[i].type == wanted.type) {
            return true;
        }
    }
    return false;
}

static void candidates_are_known_before_the_field(void **state) {
    lab *l = *state;
    stn_source sources[64];
    uint16_t enter = (uint16_t)lab_type(l, "sys_enter_read");
    uint32_t count = stn_source_candidates(&l->vocab, enter, 1, sources, 64);
    assert_in_range(count, 5, 64);
    assert_true(offers(sources, count, (stn_source){STN_SOURCE_FIELD, 0, 0}));
    assert_false(offers(sources, count, (stn_source){STN_SOURCE_FIELD, 1, 0}));
    assert_true(offers(sources, count, (stn_source){STN_SOURCE_THREAD, 1, enter}));
    count = stn_source_candidates(&l->vocab, enter, 0, sources, 64);
    assert_false(offers(sources, count, (stn_source){STN_SOURCE_FIELD, 1, 0})); /* comes later */
    /* an exit sees the fields of its entry */
    count = stn_source_candidates(&l->vocab, lab_type(l, "sys_exit_read"), 0, sources, 64);
    assert_true(offers(sources, count, (stn_source){STN_SOURCE_THREAD, 1, enter}));
    /* what names the thread is drawn before it is known which one */
    uint16_t waking = (uint16_t)lab_type(l, "sched_waking");
    count = stn_source_candidates(&l->vocab, waking, lab_field(l, waking, "pid"), sources, 64);
    assert_false(offers(sources, count, (stn_source){STN_SOURCE_NAMED_CPU, 0, 0}));
    count =
        stn_source_candidates(&l->vocab, waking, lab_field(l, waking, "target_cpu"), sources, 64);
    assert_true(offers(sources, count, (stn_source){STN_SOURCE_NAMED_CPU, 0, 0}));
    for (uint32_t limit = 0; limit < 12; limit++) {
        assert_in_range(stn_source_candidates(&l->vocab, enter, 1, sources, limit), 0, limit);
    }
}

#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_LAB(fields_are_told_by_what_was_before),
        IN_LAB(threads_tell_their_name_cpu_and_state),
        IN_LAB(instances_tell_their_state_and_fields),
        cmocka_unit_test(words_are_exact_for_small_values_only),
        IN_LAB(candidates_are_known_before_the_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
