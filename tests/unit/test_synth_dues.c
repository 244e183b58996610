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

/* ---- files --------------------------------------------------------------------------- */

enum { TYPES = 5 };

static stn_status read_back(stn_cursor *cursor, stn_blob *again) {
    stn_dues dues = {0};
    stn_status status = stn_dues_get(&dues, cursor, TYPES);
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
        cmocka_unit_test(the_file_part_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
