/* Which handler comes for timers, how late, and what their part of a model file refuses. */
#include "synth_bytes.h"
#include "synth_lab.h"

#include "kernel/synth/dues.h"

static const char timers[] = "standin-rules 1\n"
                             "rule timers\n"
                             "  doc \"A timer is armed before it expires.\"\n"
                             "  key timer by hrtimer\n"
                             "  states off armed\n"
                             "  on hrtimer_start to armed\n"
                             "  on hrtimer_expire_entry from armed to off\n";

static const char *const tick[] = {
    "10 0 7 hrtimer_start hrtimer=1 in=1000000",
    "1012 0 7 local_timer_entry",
    "1013 0 7 hrtimer_expire_entry hrtimer=1",
    "1014 0 7 hrtimer_expire_exit hrtimer=1",
    "1015 0 7 local_timer_exit",
};

enum { ROUNDS = 40, PERIOD_US = 1000 };

/* Ticks armed for a thousand microseconds; the handler comes @p late_us and a few more later. */
static void run(lab *l, stn_dues_builder *builder, unsigned late_us) {
    char text[128];
    unsigned at = 10;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned due = at + PERIOD_US, came = due + late_us + i % 5;
        const char *const forms[] = {
            "%u 0 7 hrtimer_start hrtimer=1 in=1000000", "%u 0 7 local_timer_entry",
            "%u 0 7 hrtimer_expire_entry hrtimer=1", "%u 0 7 hrtimer_expire_exit hrtimer=1",
            "%u 0 7 local_timer_exit"};
        for (unsigned e = 0; e < 5; e++) {
            snprintf(text, sizeof text, forms[e], e == 0 ? at : came + e);
            lab_draft(l, text);
            uint32_t current;
            assert_int_equal(stn_world_seat(&l->world, &l->draft, &current), STN_OK);
            assert_int_equal(stn_dues_see(builder, &l->world, &l->draft, current), STN_OK);
            assert_int_equal(stn_world_apply(&l->world, &l->draft), STN_OK);
        }
        at = came + 10;
    }
}

static void a_punctual_handler_is_driven(void **state) {
    (void)state;
    lab *l = LAB_OPEN(tick, timers);
    stn_dues_builder builder = {0};
    stn_dues dues;
    run(l, &builder, 20);
    assert_int_equal(stn_dues_build(&dues, &builder, l->vocab.type_count), STN_OK);
    const stn_due *due = stn_dues_of(&dues, (uint16_t)lab_type(l, "hrtimer_start"));
    assert_non_null(due);
    assert_int_equal(due->handler, lab_type(l, "local_timer_entry"));
    assert_true(stn_dues_driven(&dues, due->handler));
    assert_false(stn_dues_driven(&dues, lab_type(l, "hrtimer_expire_entry")));
    assert_null(stn_dues_of(&dues, (uint16_t)lab_type(l, "local_timer_exit")));
    /* the entry is the second event of a round: a microsecond after it came */
    assert_int_equal(due->late_ns[0], 21000);
    assert_int_equal(due->late_ns[STN_DUE_POINTS - 1], 25000);
    stn_rng rng;
    stn_rng_init(&rng, 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t late = stn_due_draw(due, &rng);
        assert_true(late >= 21000 && late <= 25000);
    }
    stn_dues_builder_fini(&builder);
    stn_dues_fini(&dues);
    lab_close(l);
}

static void one_that_comes_whenever_is_not(void **state) {
    (void)state;
    lab *l = LAB_OPEN(tick, timers);
    stn_dues_builder builder = {0};
    stn_dues dues;
    run(l, &builder, 2000); /* far later than due: it came for something else */
    assert_int_equal(stn_dues_build(&dues, &builder, l->vocab.type_count), STN_OK);
    assert_int_equal(dues.count, 0);
    assert_false(stn_dues_driven(&dues, lab_type(l, "local_timer_entry")));
    stn_dues_builder_fini(&builder);
    stn_dues_fini(&dues);
    lab_close(l);
}

/* ---- completions ---------------------------------------------------------------------- */

static const char requests[] = "standin-rules 1\n"
                               "rule requests\n"
                               "  doc \"A request is issued before it completes.\"\n"
                               "  key request by sector\n"
                               "  states idle issued\n"
                               "  on block_rq_issue to issued\n"
                               "  on block_rq_complete from issued to idle\n";

static const char *const disk[] = {
    "10 0 7 block_rq_issue sector=1",
    "111 1 8 irq_handler_entry irq=5",
    "112 1 8 block_rq_complete sector=1",
    "113 1 8 irq_handler_exit irq=5",
};

static void see(lab *l, stn_dues_builder *builder, const char *form, unsigned at, unsigned sector) {
    char text[128];
    snprintf(text, sizeof text, form, at, sector);
    lab_draft(l, text);
    uint32_t current;
    assert_int_equal(stn_world_seat(&l->world, &l->draft, &current), STN_OK);
    assert_int_equal(stn_dues_see(builder, &l->world, &l->draft, current), STN_OK);
    assert_int_equal(stn_world_apply(&l->world, &l->draft), STN_OK);
}

/* Two requests of CPU 0 at a time; an interrupt on CPU 1 a hundred microseconds and a few after
 * the first completes both, or, @p by_itself, CPU 0 does so in the next round. */
static void run_disk(lab *l, stn_dues_builder *builder, unsigned by_itself) {
    unsigned at = 10;
    for (unsigned i = 0; i < ROUNDS; i++) {
        see(l, builder, "%u 0 7 block_rq_issue sector=%u", at, 1);
        see(l, builder, "%u 0 7 block_rq_issue sector=%u", at + 50, 2);
        unsigned came = at + 100 + i % 5;
        if (i < by_itself) {
            see(l, builder, "%u 0 7 block_rq_complete sector=%u", came, 1);
            see(l, builder, "%u 0 7 block_rq_complete sector=%u", came + 1, 2);
        } else {
            see(l, builder, "%u 1 8 irq_handler_entry irq=5", came, 0);
            see(l, builder, "%u 1 8 block_rq_complete sector=%u", came + 1, 1);
            see(l, builder, "%u 1 8 block_rq_complete sector=%u", came + 2, 2);
            see(l, builder, "%u 1 8 irq_handler_exit irq=5", came + 3, 0);
        }
        at = came + 1000;
    }
}

static void an_interrupt_comes_for_requests(void **state) {
    (void)state;
    lab *l = LAB_OPEN(disk, requests);
    stn_dues_builder builder = {0};
    stn_dues dues;
    run_disk(l, &builder, 0);
    assert_int_equal(stn_dues_build(&dues, &builder, l->vocab.type_count), STN_OK);
    const stn_due *due = stn_dues_of(&dues, (uint16_t)lab_type(l, "block_rq_issue"));
    assert_non_null(due);
    assert_true(due->completion);
    assert_int_equal(due->handler, lab_type(l, "irq_handler_entry"));
    assert_int_equal(due->taker, lab_type(l, "block_rq_complete"));
    assert_int_equal(due->cpu, 1);
    assert_true(stn_dues_driven(&dues, due->handler));
    /* counted from the first of the two; the second came along */
    assert_int_equal(due->late_ns[0], 100000);
    assert_int_equal(due->late_ns[STN_DUE_POINTS - 1], 104000);
    stn_dues_builder_fini(&builder);
    stn_dues_fini(&dues);
    lab_close(l);
}

static void what_is_completed_otherwise_waits_for_none(void **state) {
    (void)state;
    lab *l = LAB_OPEN(disk, requests);
    stn_dues_builder builder = {0};
    stn_dues dues;
    run_disk(l, &builder, ROUNDS / 2);
    assert_int_equal(stn_dues_build(&dues, &builder, l->vocab.type_count), STN_OK);
    assert_int_equal(dues.count, 0);
    assert_false(stn_dues_driven(&dues, lab_type(l, "irq_handler_entry")));
    stn_dues_builder_fini(&builder);
    stn_dues_fini(&dues);
    lab_close(l);
}

/* Each CPU has a request of its own that an event of a type named last there. */
static void what_was_named_last_is_known(void **state) {
    (void)state;
    lab *l = LAB_OPEN(disk, requests);
    stn_dues_builder builder = {0};
    uint32_t issue = lab_type(l, "block_rq_issue");
    assert_int_equal(stn_instance_sole(&l->world, 0, issue), STN_WORLD_NONE);
    see(l, &builder, "%u 0 7 block_rq_issue sector=%u", 10, 1);
    see(l, &builder, "%u 1 8 block_rq_issue sector=%u", 11, 2);
    see(l, &builder, "%u 1 8 block_rq_complete sector=%u", 12, 1);
    for (uint16_t cpu = 0; cpu < 2; cpu++) {
        uint32_t index = stn_instance_sole(&l->world, cpu, issue);
        assert_int_not_equal(index, STN_WORLD_NONE);
        assert_int_equal(l->world.instances[index].parts[0].v, cpu + 1);
    }
    stn_dues_builder_fini(&builder);
    lab_close(l);
}

/* ---- files --------------------------------------------------------------------------- */

enum { TYPES = 5 };

static stn_status read_back(stn_cursor *cursor, stn_blob *again) {
    stn_dues dues = {0};
    stn_status status = stn_dues_get(&dues, cursor, TYPES, 2);
    if (status == STN_OK) {
        for (uint32_t t = 0; t < 2 * TYPES; t++) {
            stn_dues_driven(&dues, t);
            const stn_due *due = stn_dues_of(&dues, (uint16_t)t);
            assert_true(!due || due->handler < TYPES);
        }
        if (again) {
            stn_dues_put(&dues, again);
        }
    }
    stn_dues_fini(&dues);
    return status;
}

static void the_file_part_is_checked(void **state) {
    (void)state;
    lab *l = LAB_OPEN(tick, timers);
    stn_dues_builder builder = {0};
    stn_dues dues;
    run(l, &builder, 20);
    assert_int_equal(l->vocab.type_count, TYPES);
    assert_int_equal(stn_dues_build(&dues, &builder, TYPES), STN_OK);
    stn_blob blob = {0};
    stn_dues_put(&dues, &blob);
    bytes_come_back(&blob, read_back);
    bytes_cut(&blob, read_back);
    assert_true(bytes_damage(&blob, read_back) > 0);
    assert_true(bytes_faults(&blob, read_back) > 0);
    stn_blob_fini(&blob);
    stn_dues_builder_fini(&builder);
    stn_dues_fini(&dues);
    lab_close(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_punctual_handler_is_driven),
        cmocka_unit_test(one_that_comes_whenever_is_not),
        cmocka_unit_test(an_interrupt_comes_for_requests),
        cmocka_unit_test(what_is_completed_otherwise_waits_for_none),
        cmocka_unit_test(what_was_named_last_is_known),
        cmocka_unit_test(the_file_part_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
