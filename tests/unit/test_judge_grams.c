/* n-grams: counts inside segments, divergence by hand. */
#include <math.h>

#include "judge_views.h"

#include "core/base/alloc.h"
#include "kernel/judge/grams.h"

static uint64_t key_of(const char *gram) {
    uint64_t key = 0;
    for (; *gram; gram++) {
        key = key << STN_GRAM_BITS | (uint64_t)(*gram - 'a');
    }
    return key;
}

static stn_grams counted(const stn_view *view, uint32_t n) {
    stn_grams grams;
    stn_err err = {0};
    assert_int_equal(stn_grams_count(&grams, view, n, &err), STN_OK);
    return grams;
}

static void grams_do_not_cross_segments(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    const stn_view *view = BOX_VIEW(&box, "abab|ab", "ba");
    stn_grams two = counted(view, 2); /* ab ba ab | ab, ba */
    assert_int_equal(two.total, 5);
    assert_int_equal(two.counts.count, 2);
    assert_float_equal(stn_grams_share(&two, key_of("ab")), 0.6, 1e-9);
    assert_float_equal(stn_grams_share(&two, key_of("ba")), 0.4, 1e-9);
    assert_float_equal(stn_grams_share(&two, key_of("bb")), 0, 0);
    stn_grams three = counted(view, 3); /* aba bab */
    assert_int_equal(three.total, 2);
    assert_float_equal(stn_grams_share(&three, key_of("bab")), 0.5, 1e-9);
    stn_grams_fini(&two);
    stn_grams_fini(&three);
    box_close(&box);
}

static void divergence_by_hand(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    stn_grams a = counted(BOX_VIEW(&box, "aaaa"), 1);
    stn_grams half = counted(BOX_VIEW(&box, "abab"), 1);
    stn_grams other = counted(BOX_VIEW(&box, "cc"), 1);
    assert_float_equal(stn_grams_divergence(&a, &a), 0, 1e-12);
    assert_float_equal(stn_grams_divergence(&a, &other), 1, 1e-12);
    /* (1, 0) against (1/2, 1/2) */
    assert_float_equal(stn_grams_divergence(&a, &half), 0.3112781, 1e-6);
    assert_float_equal(stn_grams_divergence(&half, &a), 0.3112781, 1e-6);
    stn_grams none = {0};
    assert_true(isnan(stn_grams_divergence(&a, &none)));
    stn_grams_fini(&a);
    stn_grams_fini(&half);
    stn_grams_fini(&other);
    box_close(&box);
}

static void out_of_memory_leaves_nothing(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    const stn_view *view = BOX_VIEW(&box, "abcd");
    for (uint64_t nth = 1; nth <= 3; nth++) {
        stn_grams grams;
        stn_err err = {0};
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_grams_count(&grams, view, 2, &err), STN_ENOMEM);
        stn_alloc_fail_at(0);
        assert_int_equal(grams.total, 0);
    }
    box_close(&box);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grams_do_not_cross_segments),
        cmocka_unit_test(divergence_by_hand),
        cmocka_unit_test(out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
