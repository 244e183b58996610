/* The n-gram judge: predictions, macro-F1 by hand, equal budgets. */
#include <math.h>

#include "judge_views.h"

#include "core/base/alloc.h"
#include "kernel/judge/ngram.h"

static stn_ngram trained_on(const stn_view *view, uint64_t budget) {
    stn_ngram ngram = {0};
    stn_err err = {0};
    assert_int_equal(stn_ngram_train(&ngram, view, budget, NULL, &err), STN_OK);
    return ngram;
}

static char after(const stn_ngram *ngram, const char *past) {
    uint32_t symbols[16];
    size_t length = strlen(past);
    for (size_t i = 0; i < length; i++) {
        symbols[i] = (uint32_t)(past[i] - 'a');
    }
    return (char)('a' + stn_ngram_predict(ngram, symbols, length));
}

static void the_longest_known_context_decides(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    /* b is followed by c after a, by d after x */
    stn_ngram ngram = trained_on(BOX_VIEW(&box, "abcabcxbdxbdabcabc"), UINT64_MAX);
    assert_int_equal(ngram.trained, 18);
    assert_int_equal(after(&ngram, "ab"), 'c');
    assert_int_equal(after(&ngram, "xb"), 'd');
    assert_int_equal(after(&ngram, "zb"), 'c');  /* backs off to b: c 4 times, d 2 */
    assert_int_equal(after(&ngram, "zzz"), 'b'); /* backs off to nothing: b 6 times */
    stn_ngram_fini(&ngram);
    box_close(&box);
}

static void a_context_seen_once_is_no_evidence(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    stn_ngram ngram = trained_on(BOX_VIEW(&box, "aaaaqz"), UINT64_MAX);
    assert_int_equal(after(&ngram, "q"), 'a');
    stn_ngram_fini(&ngram);
    assert_int_equal(stn_ngram_predict(&ngram, NULL, 0), STN_NO_ID);
    box_close(&box);
}

static void contexts_do_not_cross_runs(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    /* "x" always ends a run or precedes a mark: nothing was ever seen to follow it */
    stn_ngram ngram = trained_on(BOX_VIEW(&box, "cccx|dddx", "dddx", "dddx"), UINT64_MAX);
    assert_int_equal(after(&ngram, "x"), 'd'); /* the most frequent of all, 9 of 16 */
    assert_int_equal(after(&ngram, "c"), 'c');
    stn_ngram_fini(&ngram);
    box_close(&box);
}

static void macro_f1_by_hand(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    /* Always predicts a. Test aab: a is hit twice of 3 predictions, F1 = 2*2/(2+3) = 0.8;
     * b never, F1 = 0; mean of the two 0.4; accuracy 2/3. */
    stn_ngram ngram = trained_on(BOX_VIEW(&box, "aaaaaaaa"), UINT64_MAX);
    stn_ngram_score score;
    stn_err err = {0};
    const stn_view *test = BOX_VIEW(&box, "aab");
    assert_int_equal(stn_ngram_test(&ngram, test, box.alphabet.count, &score, NULL, &err), STN_OK);
    assert_float_equal(score.macro_f1, 0.4, 1e-9);
    assert_float_equal(score.accuracy, 2.0 / 3, 1e-9);
    /* Test bbc, of which nothing was learned: 0. */
    const stn_view *strange = BOX_VIEW(&box, "bbc");
    assert_int_equal(stn_ngram_test(&ngram, strange, box.alphabet.count, &score, NULL, &err),
                     STN_OK);
    assert_float_equal(score.macro_f1, 0, 1e-9);
    assert_float_equal(score.accuracy, 0, 1e-9);
    stn_ngram_fini(&ngram);
    box_close(&box);
}

static char *repeated(const char *text, size_t times) {
    size_t size = strlen(text);
    char *all = stn_malloc(size * times + 1);
    assert_non_null(all);
    for (size_t i = 0; i < times; i++) {
        memcpy(all + i * size, text, size);
    }
    all[size * times] = 0;
    return all;
}

static void a_budget_is_kept_and_spread(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    char *first = repeated("ab", 10000);
    char *second = repeated("cd", 20000);
    const stn_view *view = BOX_VIEW(&box, first, second);
    for (uint64_t budget = 10000; budget <= 60000; budget += 12500) {
        stn_ngram ngram = trained_on(view, budget);
        assert_in_range(ngram.trained, budget - 2, budget);
        /* both runs are learned from, in proportion */
        assert_int_equal(after(&ngram, "a"), 'b');
        assert_int_equal(after(&ngram, "c"), 'd');
        assert_int_equal(after(&ngram, "z"), 'c');
        stn_ngram_fini(&ngram);
    }
    stn_ngram all = trained_on(view, UINT64_MAX);
    assert_int_equal(all.trained, 60000);
    stn_ngram_fini(&all);
    stn_free(first);
    stn_free(second);
    box_close(&box);
}

static void a_copy_is_as_good_as_real(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    char *real = repeated("abcabdabe", 200);
    char *noise = repeated("edcba", 100);
    const stn_view *train = BOX_VIEW(&box, real);
    const stn_view *copy = BOX_VIEW(&box, real);
    stn_judge_score score;
    stn_err err = {0};
    assert_int_equal(stn_ngram_judge(train, train, copy, box.alphabet.count, &score, NULL, &err),
                     STN_OK);
    assert_float_equal(score.ratio, 1, 1e-9);
    assert_true(score.trtr_macro_f1 > 0.95);
    assert_int_equal(score.train_events, 1800);
    const stn_view *wrong = BOX_VIEW(&box, noise);
    assert_int_equal(stn_ngram_judge(train, train, wrong, box.alphabet.count, &score, NULL, &err),
                     STN_OK);
    assert_int_equal(score.train_events, 500); /* the smaller side's */
    assert_true(score.ratio < 0.5);
    assert_true(score.combined_macro_f1 > score.tstr_macro_f1);
    stn_free(real);
    stn_free(noise);
    box_close(&box);
}

static bool refuse(void *user, uint64_t done, uint64_t total) {
    (void)user;
    (void)done;
    (void)total;
    return false;
}

static void it_stops_when_told(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    const stn_view *view = BOX_VIEW(&box, "abcabc");
    stn_work work = {.progress = refuse};
    stn_ngram ngram = {0};
    stn_err err = {0};
    assert_int_equal(stn_ngram_train(&ngram, view, 6, &work, &err), STN_EINTR);
    stn_ngram_fini(&ngram);
    box_close(&box);
}

static void out_of_memory_is_clean(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    const stn_view *view = BOX_VIEW(&box, "abcabcabdabxyzabcxyzqrstuv");
    stn_judge_score score;
    stn_err err = {0};
    uint64_t before = stn_alloc_count();
    assert_int_equal(stn_ngram_judge(view, view, view, box.alphabet.count, &score, NULL, &err),
                     STN_OK);
    uint64_t needed = stn_alloc_count() - before;
    assert_true(needed > 5);
    for (uint64_t nth = 1; nth <= needed; nth++) {
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_ngram_judge(view, view, view, box.alphabet.count, &score, NULL, &err),
                         STN_ENOMEM);
    }
    stn_alloc_fail_at(0);
    box_close(&box);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_known_context_decides),
        cmocka_unit_test(a_context_seen_once_is_no_evidence),
        cmocka_unit_test(contexts_do_not_cross_runs),
        cmocka_unit_test(macro_f1_by_hand),
        cmocka_unit_test(a_budget_is_kept_and_spread),
        cmocka_unit_test(a_copy_is_as_good_as_real),
        cmocka_unit_test(it_stops_when_told),
        cmocka_unit_test(out_of_memory_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
