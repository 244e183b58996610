/* Names, types and their fields as learned from a trace; splits, partners, roles; files. */
#include "synth_lab.h"

static const char *const vocabulary[] = {
    "1 0 1 sys_enter_read fd=3 buf=1",
    "2 0 1 sys_exit_read ret=3",
    "3 0 1 sys_enter_read fd=3 buf=2 synth=7",
    "4 0 1 sys_enter_read fd=3",
    "5 0 1 sched_switch prev_comm=a prev_pid=1 prev_state=1 next_comm=b next_pid=2",
    "6 0 2 sched_waking comm=a pid=1 target_cpu=0",
    "7 0 2 irq_handler_entry irq=3",
    "8 0 2 irq_handler_exit irq=3",
    "9 0 2 jbd2_checkpoint_start dev=1",
    "10 0 2 jbd2_checkpoint_end dev=1",
    "11 0 2 sched_process_fork parent_pid=2 child_pid=9",
};

static int open_lab(void **state) {
    *state = LAB_OPEN(vocabulary, NULL);
    return 0;
}

static int close_lab(void **state) {
    lab_close(*state);
    return 0;
}

static void types_stand_by_falling_count(void **state) {
    lab *l = *state;
    assert_int_equal(l->vocab.type_count, 9);
    assert_int_equal(lab_type(l, "sys_enter_read"), 0);
    assert_int_equal(l->vocab.types[0].count, 3);
    for (uint32_t t = 1; t < l->vocab.type_count; t++) {
        assert_true(l->vocab.types[t].count <= l->vocab.types[t - 1].count);
    }
    line_event line;
    const stn_event *event = line_read(&line, "9 1 5 sched_waking pid=77", l->catalog);
    assert_int_equal(stn_vocab_type(&l->vocab, event), lab_type(l, "sched_waking"));
    event = line_read(&line, "9 1 5 never_seen", l->catalog);
    assert_int_equal(stn_vocab_type(&l->vocab, event), UINT32_MAX);
}

static void fields_are_those_that_most_events_have(void **state) {
    lab *l = *state;
    assert_int_equal(l->vocab.types[0].field_count, 2); /* two of three have buf; synth is out */
    assert_int_equal(lab_field(l, 0, "fd"), 0);
    assert_int_equal(lab_field(l, 0, "buf"), 1);
}

static void names_say_what_events_do(void **state) {
    lab *l = *state;
    const stn_vtype *types = l->vocab.types;
    const stn_vtype *sw = &types[lab_type(l, "sched_switch")];
    const stn_vtype *waking = &types[lab_type(l, "sched_waking")];
    assert_int_equal(sw->role, STN_ROLE_SWITCH);
    assert_int_equal(sw->thread_field, lab_field(l, lab_type(l, "sched_switch"), "next_pid"));
    assert_int_equal(sw->state_field, lab_field(l, lab_type(l, "sched_switch"), "prev_state"));
    assert_int_equal(sw->cpu_field, -1);
    assert_int_equal(waking->role, STN_ROLE_WAKING);
    assert_int_equal(waking->cpu_field, lab_field(l, lab_type(l, "sched_waking"), "target_cpu"));
    assert_int_equal(types[0].role, STN_ROLE_NONE);
    assert_true(types[0].syscall);
    assert_false(sw->syscall);
    assert_int_equal(types[lab_type(l, "irq_handler_entry")].frame, STN_FRAME_PUSH);
    assert_int_equal(types[lab_type(l, "irq_handler_exit")].frame, STN_FRAME_POP);
    assert_int_equal(types[0].frame, STN_FRAME_NONE);
    assert_int_equal(lab_means(l, "sched_switch", "prev_pid"), STN_MEANS_SELF);
    assert_int_equal(lab_means(l, "sched_switch", "next_pid"), STN_MEANS_NEXT);
    assert_int_equal(lab_means(l, "sched_switch", "next_comm"), STN_MEANS_THREAD_COMM);
    assert_int_equal(lab_means(l, "sched_waking", "pid"), STN_MEANS_THREAD);
    assert_int_equal(lab_means(l, "sched_process_fork", "parent_pid"), STN_MEANS_SELF);
    assert_int_equal(lab_means(l, "sched_process_fork", "child_pid"), STN_MEANS_CHILD);
    assert_int_equal(lab_means(l, "sys_enter_read", "fd"), STN_MEANS_VALUE);
}

static void exits_know_their_entries(void **state) {
    lab *l = *state;
    static const char *const pairs[][2] = {{"sys_enter_read", "sys_exit_read"},
                                           {"irq_handler_entry", "irq_handler_exit"},
                                           {"jbd2_checkpoint_start", "jbd2_checkpoint_end"}};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            uint32_t in = lab_type(l, pairs[i][0]), out = lab_type(l, pairs[j][1]);
            assert_int_equal(stn_vocab_pairs(&l->vocab, in, out), i == j);
            assert_true(l->vocab.types[in].entry);
            assert_false(l->vocab.types[out].entry);
            assert_int_equal(l->vocab.types[in].partner, STN_PARTNER_NONE);
        }
    }
    assert_false(stn_vocab_pairs(&l->vocab, lab_type(l, "sched_waking"), 0));
    assert_false(stn_vocab_pairs(&l->vocab, UINT32_MAX, lab_type(l, "sys_exit_read")));
}

static void texts_are_known_once(void **state) {
    lab *l = *state;
    uint32_t before = stn_vocab_ctext(&l->vocab, "fd");
    assert_string_equal(stn_vocab_name(&l->vocab, before), "fd");
    assert_int_equal(stn_vocab_text(&l->vocab, stn_catalog_find(l->catalog, "fd")), before);
    stn_field field = {.kind = STN_FIELD_STR, .v.s = "a text not seen"};
    stn_val val;
    val = stn_vocab_known(&l->vocab, &field);
    assert_int_equal(val.kind, STN_VAL_NONE);
    assert_int_equal(stn_vocab_val(&l->vocab, &field, &val), STN_OK);
    assert_int_equal(val.kind, STN_FIELD_STR);
    assert_string_equal(stn_vocab_name(&l->vocab, (uint32_t)val.v), "a text not seen");
    assert_int_equal(stn_vocab_ctext(&l->vocab, "a text not seen"), val.v);
    assert_string_equal(stn_vocab_name(&l->vocab, UINT32_MAX), "");
    uint32_t name = stn_catalog_cstring(l->catalog, "a name not seen");
    assert_int_equal(stn_vocab_known_text(&l->vocab, name), UINT32_MAX);
    uint32_t text = stn_vocab_text(&l->vocab, name);
    assert_int_equal(stn_vocab_known_text(&l->vocab, name), text);
    field = (stn_field){.kind = STN_FIELD_REAL, .v.f = 2.5};
    val = stn_vocab_known(&l->vocab, &field);
    assert_memory_equal(&val.v, &field.v.f, sizeof val.v);
}

/* 40 softirqs of vector 7, 30 of vector 9, 3 of vector 1: the last are too few. */
static void types_are_split_by_frequent_values(void **state) {
    (void)state;
    static const struct { int vec, count; } rows[] = {{7, 40}, {9, 30}, {1, 3}};
    char lines[146][64];
    const char *texts[146];
    size_t count = 0;
    for (size_t r = 0; r < 3; r++) {
        for (int i = 0; i < rows[r].count; i++) {
            snprintf(lines[count], sizeof lines[0], "%zu 0 0 softirq_entry vec=%d", count,
                     rows[r].vec);
            texts[count] = lines[count];
            count++;
            snprintf(lines[count], sizeof lines[0], "%zu 0 0 softirq_exit vec=%d", count,
                     rows[r].vec);
            texts[count] = lines[count];
            count++;
        }
    }
    lab *l = lab_open(texts, count, NULL);
    assert_int_equal(l->vocab.type_count, 6);
    uint32_t entries[3], exits[3];
    for (size_t r = 0; r < 3; r++) {
        lab_draft(l, texts[r == 0 ? 0 : r == 1 ? 80 : 140]);
        entries[r] = l->draft.type;
        lab_draft(l, texts[r == 0 ? 1 : r == 1 ? 81 : 141]);
        exits[r] = l->draft.type;
        assert_int_equal(l->vocab.types[entries[r]].count, rows[r].count);
        assert_int_equal(l->vocab.types[entries[r]].family, l->vocab.types[entries[0]].family);
        assert_true(l->vocab.types[entries[r]].softirq);
    }
    assert_int_equal(l->vocab.types[entries[1]].split_val.v, 9);
    assert_int_equal(l->vocab.types[entries[2]].split_field, -1);
    assert_true(stn_vocab_pairs(&l->vocab, entries[0], exits[0]));
    assert_false(stn_vocab_pairs(&l->vocab, entries[0], exits[1]));
    assert_true(stn_vocab_pairs(&l->vocab, entries[2], exits[2]));
    lab_draft(l, "1 0 0 softirq_entry vec=5"); /* not seen: with the rest */
    assert_int_equal(l->draft.type, entries[2]);
    lab_close(l);
}

static void a_file_gives_the_same_vocabulary(void **state) {
    lab *l = *state;
    stn_blob blob = {0}, again = {0};
    stn_vocab back;
    stn_catalog *catalog;
    stn_vocab_put(&l->vocab, &blob);
    assert_int_equal(stn_catalog_new(&catalog, &l->err), STN_OK);
    stn_catalog_cstring(catalog, "so that ids differ");
    stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
    assert_int_equal(stn_vocab_get(&back, &cursor, catalog), STN_OK);
    assert_int_equal(cursor.at, cursor.size);
    assert_int_equal(back.type_count, l->vocab.type_count);
    for (uint32_t t = 0; t < back.type_count; t++) {
        const stn_vtype *a = &l->vocab.types[t], *b = &back.types[t];
        assert_int_equal(a->name, b->name);
        assert_int_equal(a->count, b->count);
        assert_int_equal(a->role, b->role);
        assert_int_equal(a->frame, b->frame);
        assert_int_equal(a->partner, b->partner);
        assert_int_equal(a->family, b->family);
        assert_int_equal(a->entry, b->entry);
        assert_string_equal(stn_catalog_type_at(catalog, b->catalog_type)->name,
                            stn_vocab_name(&l->vocab, a->name));
    }
    stn_vocab_put(&back, &again);
    assert_int_equal(again.size, blob.size);
    assert_memory_equal(again.bytes, blob.bytes, blob.size);
    stn_vocab_fini(&back);
    for (size_t size = 0; size < blob.size; size++) {
        cursor = (stn_cursor){.bytes = blob.bytes, .size = size};
        assert_int_equal(stn_vocab_get(&back, &cursor, catalog), STN_EFORMAT);
    }
    stn_blob_fini(&blob);
    stn_blob_fini(&again);
    stn_catalog_free(catalog);
}

static void each_failed_allocation_is_clean(void **state) {
    lab *l = *state;
    const stn_trace *runs[] = {&l->trace};
    stn_vocab vocab;
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    while (status != STN_OK && nth < 1000) {
        stn_alloc_fail_at(++nth);
        status = stn_vocab_learn(&vocab, runs, 1, l->catalog, &l->err);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
    }
    assert_int_equal(status, STN_OK);
    assert_true(nth > 5);
    stn_vocab_fini(&vocab);
}

static void nothing_cannot_be_learned_from(void **state) {
    lab *l = *state;
    stn_trace trace;
    const stn_trace *runs[] = {&trace};
    stn_vocab vocab;
    stn_trace_init(&trace, l->catalog);
    assert_int_equal(stn_vocab_learn(&vocab, runs, 1, l->catalog, &l->err), STN_EFORMAT);
    line_event line; /* a mark is no event */
    const stn_event *lost = line_read(&line, "1 0 - lost count=3", l->catalog);
    assert_int_equal(stn_trace_append(&trace, lost, &l->err), STN_OK);
    assert_int_equal(stn_vocab_learn(&vocab, runs, 1, l->catalog, &l->err), STN_EFORMAT);
    assert_string_equal(l->err.text, "the training traces hold no events");
    stn_trace_fini(&trace);
}

#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_LAB(types_stand_by_falling_count),
        IN_LAB(fields_are_those_that_most_events_have),
        IN_LAB(names_say_what_events_do),
        IN_LAB(exits_know_their_entries),
        IN_LAB(texts_are_known_once),
        cmocka_unit_test(types_are_split_by_frequent_values),
        IN_LAB(a_file_gives_the_same_vocabulary),
        IN_LAB(each_failed_allocation_is_clean),
        IN_LAB(nothing_cannot_be_learned_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
