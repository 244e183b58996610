/* Verbatim windows and edit distance, against a plain reference. */
#include <math.h>

#include "judge_views.h"

#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "kernel/judge/memory.h"

/* Random letters a … a+range-1. */
static char *random_text(stn_rng *rng, size_t length, uint64_t range) {
    char *text = stn_malloc(length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)('a' + stn_rng_below(rng, range));
    }
    text[length] = 0;
    return text;
}

static void a_copy_is_all_verbatim_a_shuffle_is_not(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    stn_rng rng;
    stn_rng_init(&rng, 1);
    char *text = random_text(&rng, 5000, 4);
    const stn_view *train = BOX_VIEW(&box, "", text);
    const stn_view *copy = BOX_VIEW(&box, text + 100);
    for (size_t i = strlen(text) - 1; i > 0; i--) {
        size_t k = (size_t)stn_rng_below(&rng, i + 1);
        char kept = text[i];
        text[i] = text[k];
        text[k] = kept;
    }
    const stn_view *shuffled = BOX_VIEW(&box, text);
    stn_memory memory = {0};
    stn_err err = {0};
    assert_int_equal(stn_memory_make(&memory, train, NULL, &err), STN_OK);
    assert_float_equal(stn_memory_verbatim(&memory, copy), 1, 0);
    assert_float_equal(stn_memory_verbatim(&memory, shuffled), 0, 0);
    stn_memory_fini(&memory);
    stn_free(text);
    box_close(&box);
}

static void windows_are_counted_one_by_one(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    stn_rng rng;
    stn_rng_init(&rng, 2);
    char *text = random_text(&rng, 200, 20);
    const stn_view *train = BOX_VIEW(&box, text);
    text[100] = 'z'; /* the 64 windows over it differ; 137 - 64 = 73 are left */
    const stn_view *changed = BOX_VIEW(&box, text);
    const stn_view *tiny = BOX_VIEW(&box, "abc");
    stn_memory memory = {0};
    stn_err err = {0};
    assert_int_equal(stn_memory_make(&memory, train, NULL, &err), STN_OK);
    assert_float_equal(stn_memory_verbatim(&memory, changed), 73.0 / 137, 1e-9);
    assert_true(isnan(stn_memory_verbatim(&memory, tiny)));
    stn_memory_fini(&memory);
    stn_free(text);
    box_close(&box);
}

/* Edit distance by the textbook table. */
static uint32_t plain_edits(const uint32_t *a, const uint32_t *b) {
    uint32_t row[STN_MEMORY_WINDOW + 1];
    for (uint32_t j = 0; j <= STN_MEMORY_WINDOW; j++) {
        row[j] = j;
    }
    for (uint32_t i = 1; i <= STN_MEMORY_WINDOW; i++) {
        uint32_t corner = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= STN_MEMORY_WINDOW; j++) {
            uint32_t best = corner + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[STN_MEMORY_WINDOW];
}

static void bit_parallel_edits_equal_the_textbook(void **state) {
    (void)state;
    stn_rng rng;
    stn_rng_init(&rng, 3);
    uint64_t places[30] = {0};
    uint32_t a[STN_MEMORY_WINDOW];
    uint32_t b[STN_MEMORY_WINDOW];
    for (int round = 0; round < 400; round++) {
        uint64_t range = 1 + stn_rng_below(&rng, 30);
        uint64_t keep = stn_rng_below(&rng, 101);
        size_t shift = (size_t)stn_rng_below(&rng, 5);
        for (size_t i = 0; i < STN_MEMORY_WINDOW; i++) {
            a[i] = (uint32_t)stn_rng_below(&rng, range);
        }
        for (size_t i = 0; i < STN_MEMORY_WINDOW; i++) {
            bool kept = stn_rng_below(&rng, 100) < keep && i + shift < STN_MEMORY_WINDOW;
            b[i] = kept ? a[i + shift] : (uint32_t)stn_rng_below(&rng, range);
        }
        assert_int_equal(stn_memory_edits(a, b, places), plain_edits(a, b));
        assert_int_equal(stn_memory_edits(a, a, places), 0);
    }
    for (size_t i = 0; i < 30; i++) {
        assert_int_equal(places[i], 0);
    }
}

static double mean_nearest(const stn_memory *memory, const stn_view *view, uint32_t symbols) {
    double mean;
    stn_err err = {0};
    assert_int_equal(stn_memory_nearest(memory, view, symbols, 0.5, &mean, NULL, &err), STN_OK);
    return mean;
}

static void the_nearest_of_a_copy_is_itself(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    stn_rng rng;
    stn_rng_init(&rng, 4);
    char *text = random_text(&rng, 20000, 20);
    const stn_view *train = BOX_VIEW(&box, text);
    stn_memory memory = {0};
    stn_err err = {0};
    uint32_t symbols = box.alphabet.count;
    assert_int_equal(stn_memory_make(&memory, train, NULL, &err), STN_OK);
    assert_float_equal(mean_nearest(&memory, train, symbols), 0, 0);
    char near[65];
    memcpy(near, text, 64); /* the first window of all is one of those compared with */
    near[64] = 0;
    near[10] = near[30] = 'z';
    assert_float_equal(mean_nearest(&memory, BOX_VIEW(&box, near), symbols), 2, 0);
    char *other = random_text(&rng, 400, 20);
    const stn_view *strange = BOX_VIEW(&box, other, "abc");
    double far = mean_nearest(&memory, strange, symbols);
    assert_true(far > 30 && far < 64);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_memory_nearest(&memory, strange, symbols, 0.5, &far, NULL, &err),
                         STN_ENOMEM);
        stn_alloc_fail_at(0);
    }
    stn_memory_fini(&memory);
    stn_free(text);
    stn_free(other);
    box_close(&box);
}

static void too_short_a_side_has_no_nearest(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    stn_memory memory = {0};
    stn_err err = {0};
    assert_int_equal(stn_memory_make(&memory, BOX_VIEW(&box, "abc"), NULL, &err), STN_OK);
    assert_true(isnan(mean_nearest(&memory, BOX_VIEW(&box, "abc"), box.alphabet.count)));
    stn_memory_fini(&memory);
    box_close(&box);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_all_verbatim_a_shuffle_is_not),
        cmocka_unit_test(windows_are_counted_one_by_one),
        cmocka_unit_test(bit_parallel_edits_equal_the_textbook),
        cmocka_unit_test(the_nearest_of_a_copy_is_itself),
        cmocka_unit_test(too_short_a_side_has_no_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
