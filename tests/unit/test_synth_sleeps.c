/* How long is too long a sleep, and the heap of alarms. */
#include "synth_bytes.h"

#include <string.h>

#include "kernel/synth/sleeps.h"

enum { ANN = 1, BEN, CAT };

/* Sleeps of 0 to @p count - 1, in no order: @p step is prime to @p count. */
static void add(stn_sleeps_builder *builder, uint64_t kin, uint64_t count, uint64_t step) {
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(stn_sleeps_add(builder, kin, i * step % count), STN_OK);
    }
}

static const stn_sleep *row_of(const stn_sleeps *sleeps, uint64_t kin) {
    for (uint32_t i = 0; i < sleeps->count; i++) {
        if (sleeps->rows[i].kin == kin) {
            return &sleeps->rows[i];
        }
    }
    fail_msg("no such kin");
    return NULL;
}

/* Ann has many cases, Ben the most that are few, Cat one more. */
static void build(stn_sleeps *sleeps) {
    stn_sleeps_builder builder = {0};
    add(&builder, BEN, 31, 7);
    add(&builder, ANN, 500, 33);
    add(&builder, CAT, 32, 5);
    for (uint64_t i = 500; i < 1001; i++) {
        assert_int_equal(stn_sleeps_add(&builder, ANN, 1500 - i), STN_OK);
    }
    assert_int_equal(stn_sleeps_build(sleeps, &builder), STN_OK);
    stn_sleeps_builder_fini(&builder);
}

static void points_run_from_the_ninth_tenth_to_the_longest(void **state) {
    (void)state;
    stn_sleeps sleeps;
    build(&sleeps);
    assert_int_equal(sleeps.count, 4); /* and all kins together */
    assert_int_equal(row_of(&sleeps, STN_KIN_ANY)->longest_ns[STN_SLEEP_POINTS - 1], 1000);
    for (uint64_t p = 0; p < STN_SLEEP_POINTS; p++) {
        assert_int_equal(row_of(&sleeps, ANN)->longest_ns[p],
                         900 + 100 * p / (STN_SLEEP_POINTS - 1));
        assert_int_equal(row_of(&sleeps, BEN)->longest_ns[p], 30); /* of few cases the longest */
    }
    assert_int_equal(row_of(&sleeps, CAT)->longest_ns[0], 27); /* the 0.9 quantile of 0 to 31 */
    assert_int_equal(row_of(&sleeps, CAT)->longest_ns[STN_SLEEP_POINTS - 1], 31);
    stn_sleeps_fini(&sleeps);
}

static void draws_lie_evenly_between_the_points(void **state) {
    (void)state;
    enum { DRAWS = 70000 };
    stn_sleeps sleeps;
    stn_rng rng;
    uint64_t between[STN_SLEEP_POINTS] = {0};
    build(&sleeps);
    stn_rng_init(&rng, 2);
    const uint64_t *points = row_of(&sleeps, ANN)->longest_ns;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t late = stn_sleeps_draw(&sleeps, ANN, &rng);
        assert_in_range(late, points[0] + 1, points[STN_SLEEP_POINTS - 1] + 1);
        int p = 0;
        while (late > points[p + 1]) {
            p++;
        }
        between[p < STN_SLEEP_POINTS - 1 ? p : STN_SLEEP_POINTS - 2]++;
        assert_int_equal(stn_sleeps_draw(&sleeps, BEN, &rng), 31); /* later than ever */
    }
    for (int p = 0; p + 1 < STN_SLEEP_POINTS; p++) {
        assert_in_range(between[p], DRAWS / 7 - 400, DRAWS / 7 + 400);
    }
    assert_true(stn_sleeps_draw(&sleeps, 99, &rng) == UINT64_MAX);
    stn_sleeps_fini(&sleeps);
    assert_true(stn_sleeps_draw(&sleeps, ANN, &rng) == UINT64_MAX);
}

/* ---- files -------------------------------------------------------------------------------- */

static stn_status read_sleeps(stn_cursor *cursor, stn_blob *again) {
    stn_sleeps sleeps;
    stn_rng rng;
    stn_rng_init(&rng, 1);
    stn_status status = stn_sleeps_get(&sleeps, cursor);
    for (uint32_t i = 0; status == STN_OK && i < sleeps.count; i++) {
        uint64_t late = stn_sleeps_draw(&sleeps, sleeps.rows[i].kin, &rng);
        assert_true(late > 0 && late <= UINT64_C(1) << 63); /* a moment that can be added to */
    }
    if (status == STN_OK && again) {
        stn_sleeps_put(&sleeps, again);
    }
    stn_sleeps_fini(&sleeps);
    return status;
}

static void a_file_gives_the_same(void **state) {
    (void)state;
    stn_sleeps sleeps;
    stn_blob blob = {0};
    build(&sleeps);
    stn_sleeps_put(&sleeps, &blob);
    stn_sleeps_fini(&sleeps);
    bytes_come_back(&blob, read_sleeps);
    stn_blob_fini(&blob);
    stn_sleeps_put(&sleeps, &blob); /* nothing is known */
    bytes_come_back(&blob, read_sleeps);
    stn_blob_fini(&blob);
}

static void damaged_files_are_refused_or_do_no_harm(void **state) {
    (void)state;
    stn_sleeps sleeps;
    stn_blob blob = {0};
    build(&sleeps);
    stn_sleeps_put(&sleeps, &blob);
    bytes_cut(&blob, read_sleeps);
    assert_true(bytes_damage(&blob, read_sleeps) > 0);
    stn_blob_fini(&blob);
    sleeps.rows[0].longest_ns[3] = sleeps.rows[0].longest_ns[2] - 1; /* falling */
    stn_sleeps_put(&sleeps, &blob);
    assert_int_equal(bytes_try(&blob, blob.size, read_sleeps), STN_EFORMAT);
    stn_blob_fini(&blob);
    for (int p = 3; p < STN_SLEEP_POINTS; p++) {
        sleeps.rows[0].longest_ns[p] = (uint64_t)INT64_MAX + (p == STN_SLEEP_POINTS - 1);
    }
    stn_sleeps_put(&sleeps, &blob);
    assert_int_equal(bytes_try(&blob, blob.size, read_sleeps), STN_EFORMAT);
    stn_blob_fini(&blob);
    stn_sleeps_fini(&sleeps);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_sleeps_builder builder = {0};
    stn_sleeps sleeps;
    stn_blob blob = {0};
    stn_alloc_fail_at(1);
    assert_int_equal(stn_sleeps_add(&builder, ANN, 5), STN_ENOMEM);
    stn_alloc_fail_at(0);
    assert_int_equal(builder.count, 0);
    add(&builder, ANN, 3, 1);
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    while (status != STN_OK && nth < 100) {
        stn_alloc_fail_at(++nth);
        status = stn_sleeps_build(&sleeps, &builder);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || (status == STN_ENOMEM && !sleeps.rows));
    }
    assert_true(nth > 2);
    stn_sleeps_put(&sleeps, &blob);
    assert_in_range(bytes_faults(&blob, read_sleeps), 2, 20);
    stn_blob_fini(&blob);
    stn_sleeps_fini(&sleeps);
    stn_sleeps_builder_fini(&builder);
}

/* ---- alarms ------------------------------------------------------------------------------- */

enum { ROUNDS = 4000, DUES = 50, WHATS = 8 };

/* A heap without order: find the earliest by looking at all. */
typedef struct plain {
    stn_alarm all[ROUNDS];
    size_t count;
} plain;

static stn_alarm plain_take(plain *p) {
    size_t best = 0;
    for (size_t i = 1; i < p->count; i++) {
        const stn_alarm *a = &p->all[i], *b = &p->all[best];
        best = a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->what < b->what) ? i : best;
    }
    stn_alarm taken = p->all[best];
    p->all[best] = p->all[--p->count];
    return taken;
}

/* More go in than come out, then all come out; many are due at once. */
static void alarms_come_out_the_earliest_first(void **state) {
    (void)state;
    static plain reference;
    stn_alarms alarms = {0};
    stn_rng rng;
    stn_rng_init(&rng, 8);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        bool adds = round < ROUNDS && (alarms.count == 0 || stn_rng_below(&rng, 3) > 0);
        if (adds) {
            stn_alarm alarm = {stn_rng_below(&rng, DUES), stn_rng_below(&rng, WHATS)};
            assert_int_equal(stn_alarms_add(&alarms, alarm.due_ns, alarm.what), STN_OK);
            reference.all[reference.count++] = alarm;
        } else if (alarms.count > 0) {
            stn_alarm wanted = plain_take(&reference), taken = stn_alarms_take(&alarms);
            assert_int_equal(taken.due_ns, wanted.due_ns);
            assert_int_equal(taken.what, wanted.what);
        }
        assert_int_equal(alarms.count, reference.count);
    }
    assert_int_equal(alarms.count, 0);
    stn_alarms_fini(&alarms);
}

static void an_alarm_that_finds_no_room_changes_nothing(void **state) {
    (void)state;
    stn_alarms alarms = {0};
    while (alarms.count == 0 || alarms.count < alarms.capacity) {
        assert_int_equal(stn_alarms_add(&alarms, 20 - alarms.count % 20, alarms.count), STN_OK);
    }
    size_t full = alarms.count;
    stn_alarm earliest = alarms.heap[0];
    stn_alloc_fail_at(1);
    assert_int_equal(stn_alarms_add(&alarms, 0, 0), STN_ENOMEM);
    stn_alloc_fail_at(0);
    assert_int_equal(alarms.count, full);
    stn_alarm first = stn_alarms_take(&alarms);
    assert_int_equal(first.due_ns, earliest.due_ns);
    assert_int_equal(first.what, earliest.what);
    stn_alarms_fini(&alarms);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_run_from_the_ninth_tenth_to_the_longest),
        cmocka_unit_test(draws_lie_evenly_between_the_points),
        cmocka_unit_test(a_file_gives_the_same),
        cmocka_unit_test(damaged_files_are_refused_or_do_no_harm),
        cmocka_unit_test(each_failed_allocation_is_clean),
        cmocka_unit_test(alarms_come_out_the_earliest_first),
        cmocka_unit_test(an_alarm_that_finds_no_room_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
