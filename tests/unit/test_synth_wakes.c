/* Who wakes whom: which kin are kept for a place, and files. */
#include "synth_bytes.h"

#include <string.h>

#include "kernel/synth/wakes.h"

#define MARKET UINT64_C(0x8c61f5a3b0427d19)
#define HARBOR UINT64_C(0x27be90d4e8153fa7)
#define HILL   UINT64_C(0xd5039c7e164ab82b)
enum { ANN = 1, BEN, CAT, DAN, EVE };

static void add(stn_wakes_builder *builder, uint64_t place, uint64_t kin, int times) {
    for (int i = 0; i < times; i++) {
        assert_int_equal(stn_wakes_add(builder, place, kin), STN_OK);
    }
}

/* Market: Cat ten, Ann six, Ben two of twenty, Dan and Eve less than a tenth. Harbor: four
 * alike. Hill: Ben alone. */
static void build(stn_wakes *wakes) {
    stn_wakes_builder builder = {0};
    add(&builder, MARKET, ANN, 3);
    add(&builder, HARBOR, EVE, 5);
    add(&builder, MARKET, DAN, 1);
    add(&builder, MARKET, CAT, 10);
    add(&builder, HARBOR, CAT, 5);
    add(&builder, HARBOR, ANN, 5);
    add(&builder, MARKET, EVE, 1);
    add(&builder, MARKET, BEN, 2);
    add(&builder, HARBOR, BEN, 5);
    add(&builder, MARKET, ANN, 3);
    add(&builder, HILL, BEN, 1);
    assert_int_equal(builder.count, 10); /* place and kin */
    assert_int_equal(stn_wakes_build(wakes, &builder), STN_OK);
    stn_wakes_builder_fini(&builder);
}

static void wants(const stn_wakes *wakes, uint64_t place, uint32_t count, const uint64_t *kins) {
    const stn_wake *wake = stn_wakes_of(wakes, place);
    assert_non_null(wake);
    assert_int_equal(wake->place, place);
    assert_int_equal(wake->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(wake->kin[i], stn_wakes_kin(wakes, kins[i]));
        assert_in_range(wake->kin[i], 0, wakes->kin_count - 1);
        assert_int_equal(wakes->kins[wake->kin[i]], kins[i]);
    }
}

static void wants_all(const stn_wakes *wakes) {
    static const uint64_t market[] = {CAT, ANN, BEN}, harbor[] = {ANN, BEN, CAT}, hill[] = {BEN};
    wants(wakes, MARKET, 3, market);
    wants(wakes, HARBOR, STN_WAKE_TARGETS, harbor);
    wants(wakes, HILL, 1, hill);
    assert_int_equal(wakes->row_count, 3);
    assert_int_equal(wakes->kin_count, 3);
    assert_int_equal(stn_wakes_kin(wakes, DAN), STN_KIN_NONE);
    assert_int_equal(stn_wakes_kin(wakes, EVE), STN_KIN_NONE);
    assert_null(stn_wakes_of(wakes, 99));
}

static void a_place_keeps_those_that_it_wakes_most(void **state) {
    (void)state;
    stn_wakes wakes;
    build(&wakes);
    wants_all(&wakes);
    stn_wakes_fini(&wakes);
}

static void a_tenth_is_enough_and_less_is_not(void **state) {
    (void)state;
    for (int others = 9; others <= 10; others++) {
        stn_wakes_builder builder = {0};
        stn_wakes wakes;
        add(&builder, HILL, ANN, others);
        add(&builder, HILL, BEN, 1);
        assert_int_equal(stn_wakes_build(&wakes, &builder), STN_OK);
        assert_int_equal(stn_wakes_of(&wakes, HILL)->count, others == 9 ? 2 : 1);
        assert_int_equal(stn_wakes_kin(&wakes, BEN) == STN_KIN_NONE, others != 9);
        stn_wakes_fini(&wakes);
        stn_wakes_builder_fini(&builder);
    }
}

static void nobody_wakes_nobody(void **state) {
    (void)state;
    stn_wakes_builder builder = {0};
    stn_wakes wakes = {0};
    assert_null(stn_wakes_of(&wakes, HILL));
    assert_int_equal(stn_wakes_kin(&wakes, ANN), STN_KIN_NONE);
    assert_int_equal(stn_wakes_build(&wakes, &builder), STN_OK);
    assert_null(stn_wakes_of(&wakes, HILL));
    assert_int_equal(stn_wakes_kin(&wakes, ANN), STN_KIN_NONE);
    stn_wakes_fini(&wakes);
    stn_wakes_builder_fini(&builder);
}

/* What a world does with it: count by the numbers of each row. */
static stn_status read_wakes(stn_cursor *cursor, stn_blob *again) {
    stn_wakes wakes;
    stn_status status = stn_wakes_get(&wakes, cursor);
    for (uint32_t i = 0; status == STN_OK && i < wakes.row_count; i++) {
        const stn_wake *wake = stn_wakes_of(&wakes, wakes.rows[i].place);
        assert_non_null(wake);
        assert_in_range(wake->count, 1, STN_WAKE_TARGETS);
        for (uint32_t k = 0; k < wake->count; k++) {
            assert_true(wake->kin[k] < wakes.kin_count);
        }
    }
    if (status == STN_OK && again) {
        stn_wakes_put(&wakes, again);
    }
    stn_wakes_fini(&wakes);
    return status;
}

static void a_file_gives_the_same(void **state) {
    (void)state;
    stn_wakes wakes, back;
    stn_blob blob = {0};
    build(&wakes);
    stn_wakes_put(&wakes, &blob);
    stn_wakes_fini(&wakes);
    bytes_come_back(&blob, read_wakes);
    stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
    assert_int_equal(stn_wakes_get(&back, &cursor), STN_OK);
    wants_all(&back);
    stn_wakes_fini(&back);
    stn_blob_fini(&blob);
}

static void damaged_files_are_refused_or_do_no_harm(void **state) {
    (void)state;
    stn_wakes wakes;
    stn_blob blob = {0};
    build(&wakes);
    stn_wakes_put(&wakes, &blob);
    stn_wakes_fini(&wakes);
    bytes_cut(&blob, read_wakes);
    assert_true(bytes_damage(&blob, read_wakes) > 0);
    memcpy(blob.bytes + 4 + 8, blob.bytes + 4, 8); /* a kin twice */
    assert_int_equal(bytes_try(&blob, blob.size, read_wakes), STN_EFORMAT);
    stn_blob_fini(&blob);
    stn_blob_u32(&blob, 1); /* one kin, one row that names it */
    stn_blob_u64(&blob, ANN);
    stn_blob_u32(&blob, 1);
    stn_blob_u64(&blob, HILL);
    stn_blob_u32(&blob, 1);
    stn_blob_u32(&blob, 0);
    assert_int_equal(bytes_try(&blob, blob.size, read_wakes), STN_OK);
    blob.bytes[28] = 1; /* the second of one */
    assert_int_equal(bytes_try(&blob, blob.size, read_wakes), STN_EFORMAT);
    blob.bytes[28] = 0;
    blob.bytes[24] = 0; /* a row of none */
    assert_int_equal(bytes_try(&blob, blob.size, read_wakes), STN_EFORMAT);
    blob.bytes[24] = STN_WAKE_TARGETS + 1;
    for (int i = 0; i < STN_WAKE_TARGETS; i++) {
        stn_blob_u32(&blob, 0);
    }
    assert_int_equal(bytes_try(&blob, blob.size, read_wakes), STN_EFORMAT);
    stn_blob_fini(&blob);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_wakes_builder builder = {0};
    stn_wakes wakes;
    stn_blob blob = {0};
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    while (status != STN_OK && nth < 100) {
        stn_alloc_fail_at(++nth);
        status = stn_wakes_add(&builder, HILL, ANN);
        stn_alloc_fail_at(0);
    }
    assert_true(nth > 2); /* the map and the array */
    assert_int_equal(builder.cases[0].count, 1);
    status = STN_ENOMEM;
    for (nth = 0; status != STN_OK && nth < 100;) {
        stn_alloc_fail_at(++nth);
        status = stn_wakes_build(&wakes, &builder);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || (status == STN_ENOMEM && !wakes.rows && !wakes.kins));
    }
    assert_true(nth > 4); /* rows, kins and two maps */
    assert_int_equal(stn_wakes_of(&wakes, HILL)->count, 1);
    stn_wakes_put(&wakes, &blob);
    assert_in_range(bytes_faults(&blob, read_wakes), 4, 20);
    stn_blob_fini(&blob);
    stn_wakes_fini(&wakes);
    stn_wakes_builder_fini(&builder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_keeps_those_that_it_wakes_most),
        cmocka_unit_test(a_tenth_is_enough_and_less_is_not),
        cmocka_unit_test(nobody_wakes_nobody),
        cmocka_unit_test(a_file_gives_the_same),
        cmocka_unit_test(damaged_files_are_refused_or_do_no_harm),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
