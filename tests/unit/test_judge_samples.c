/* Samples: grouping, sorting, histograms. */
#include "testing.h"

#include "core/base/alloc.h"
#include "kernel/judge/samples.h"

static void push_all(stn_samples *samples, const uint32_t *label, const float *value,
                     size_t count) {
    stn_err err = {0};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(stn_samples_push(samples, label[i], value[i], &err), STN_OK);
    }
}

static void groups_are_sorted_within_and_over_all(void **state) {
    (void)state;
    const uint32_t label[] = {2, 0, 2, 0, 2, 3};
    const float value[] = {9, 5, 1, 4, 7, 6};
    stn_samples samples = {0};
    stn_groups groups;
    stn_err err = {0};
    push_all(&samples, label, value, 6);
    assert_int_equal(stn_groups_make(&groups, &samples, 4, &err), STN_OK);
    const float pooled[] = {1, 4, 5, 6, 7, 9};
    assert_memory_equal(groups.pooled, pooled, sizeof pooled);
    size_t count;
    const float *zero = stn_groups_of(&groups, 0, &count);
    assert_int_equal(count, 2);
    assert_true(zero[0] == 4 && zero[1] == 5);
    (void)stn_groups_of(&groups, 1, &count);
    assert_int_equal(count, 0);
    const float *two = stn_groups_of(&groups, 2, &count);
    assert_int_equal(count, 3);
    assert_true(two[0] == 1 && two[1] == 7 && two[2] == 9);
    const float *three = stn_groups_of(&groups, 3, &count);
    assert_int_equal(count, 1);
    assert_true(three[0] == 6);
    stn_groups_fini(&groups);
    stn_samples_fini(&samples);
}

static void no_samples_make_empty_groups(void **state) {
    (void)state;
    stn_samples samples = {0};
    stn_groups groups;
    stn_err err = {0};
    assert_int_equal(stn_groups_make(&groups, &samples, 0, &err), STN_OK);
    assert_int_equal(groups.count, 0);
    stn_groups_fini(&groups);
}

static void out_of_memory_leaves_nothing(void **state) {
    (void)state;
    const uint32_t label[] = {0, 1};
    const float value[] = {1, 2};
    stn_samples samples = {0};
    push_all(&samples, label, value, 2);
    for (uint64_t nth = 1; nth <= 3; nth++) {
        stn_groups groups;
        stn_err err = {0};
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_groups_make(&groups, &samples, 2, &err), STN_ENOMEM);
        stn_alloc_fail_at(0);
        assert_null(groups.pooled);
        assert_true(err.text[0] != 0);
    }
    stn_samples_fini(&samples);
}

static void histogram_keeps_all_and_clips_to_the_outer_bins(void **state) {
    (void)state;
    const float value[] = {0, 1, 9, 11, 99, 1e9f};
    stn_loghist hist;
    stn_loghist_fill(&hist, value, 6, 0, 2, 2);
    assert_int_equal(hist.total, 6);
    assert_int_equal(hist.bins, 2);
    assert_int_equal(hist.count[0], 3);
    assert_int_equal(hist.count[1], 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_sorted_within_and_over_all),
        cmocka_unit_test(no_samples_make_empty_groups),
        cmocka_unit_test(out_of_memory_leaves_nothing),
        cmocka_unit_test(histogram_keeps_all_and_clips_to_the_outer_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
