/* Verdict: each question's limits. */
#include <math.h>
#include <string.h>

#include "testing.h"

#include "app/report_verdict.h"

/* As good as it gets. */
static stn_evaluation perfect(void) {
    return (stn_evaluation){
        .ngram = {.trtr_macro_f1 = 0.5, .tstr_macro_f1 = 0.5, .ratio = 1},
        .jsd = {0.01, 0.02, 0.03},
        .jsd_real = {0.01, 0.02, 0.03},
        .dt_wasserstein = 0.05,
        .dt_wasserstein_real = 0.05,
        .verbatim64_synthetic = 0.2,
        .verbatim64_held_out = 0.2,
        .nn_distance_synthetic = 10,
        .nn_distance_held_out = 10,
        .nn_distance_ratio = 1,
    };
}

enum { USEFUL, LIFELIKE, VALID, ORIGINAL };

/* Level of @p question; all others must be good, so that the worst is its. */
static stn_verdict_level level_of(const stn_evaluation *e, int question) {
    stn_verdict verdicts[STN_VERDICT_COUNT];
    stn_verdict_level worst = stn_verdicts(e, verdicts);
    for (int i = 0; i < STN_VERDICT_COUNT; i++) {
        assert_true(i == question || verdicts[i].level == STN_VERDICT_GOOD);
        assert_true(strlen(verdicts[i].text) > 40);
        assert_non_null(verdicts[i].question);
    }
    assert_int_equal(worst, verdicts[question].level);
    return verdicts[question].level;
}

static void perfect_is_good(void **state) {
    (void)state;
    stn_evaluation e = perfect();
    for (int i = 0; i < STN_VERDICT_COUNT; i++) {
        assert_int_equal(level_of(&e, i), STN_VERDICT_GOOD);
    }
}

#define EXPECT(field, value, question, wanted)                                                     \
    do {                                                                                           \
        stn_evaluation e = perfect();                                                              \
        e.field = (value);                                                                         \
        assert_int_equal(level_of(&e, question), wanted);                                          \
    } while (0)

static void limits(void **state) {
    (void)state;
    EXPECT(ngram.ratio, 0.9, USEFUL, STN_VERDICT_GOOD);
    EXPECT(ngram.ratio, 0.89, USEFUL, STN_VERDICT_FAIR);
    EXPECT(ngram.ratio, 0.69, USEFUL, STN_VERDICT_POOR);
    EXPECT(ngram.ratio, NAN, USEFUL, STN_VERDICT_POOR);
    EXPECT(jsd[2], 0.044, LIFELIKE, STN_VERDICT_GOOD);
    EXPECT(jsd[2], 0.046, LIFELIKE, STN_VERDICT_FAIR);
    EXPECT(jsd[2], 0.091, LIFELIKE, STN_VERDICT_POOR);
    EXPECT(dt_wasserstein, 0.074, LIFELIKE, STN_VERDICT_GOOD);
    EXPECT(dt_wasserstein, 0.076, LIFELIKE, STN_VERDICT_FAIR);
    EXPECT(dt_wasserstein, 0.16, LIFELIKE, STN_VERDICT_POOR);
    EXPECT(violations_per_1000_synthetic, 0.01, VALID, STN_VERDICT_FAIR);
    EXPECT(violations_per_1000_synthetic, 1.01, VALID, STN_VERDICT_POOR);
    EXPECT(verbatim64_synthetic, 0.26, ORIGINAL, STN_VERDICT_FAIR);
    EXPECT(verbatim64_synthetic, 0.41, ORIGINAL, STN_VERDICT_POOR);
    EXPECT(nn_distance_ratio, 0.7, ORIGINAL, STN_VERDICT_FAIR);
    EXPECT(nn_distance_ratio, 0.4, ORIGINAL, STN_VERDICT_POOR);
    EXPECT(nn_distance_ratio, NAN, ORIGINAL, STN_VERDICT_GOOD);
}

static void tiny_yardsticks_are_no_bar(void **state) {
    (void)state;
    stn_evaluation e = perfect();
    e.jsd_real[2] = 0;
    e.jsd[2] = 0.007;
    e.dt_wasserstein_real = 0;
    e.dt_wasserstein = 0.029;
    assert_int_equal(level_of(&e, LIFELIKE), STN_VERDICT_GOOD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfect_is_good),
        cmocka_unit_test(limits),
        cmocka_unit_test(tiny_yardsticks_are_no_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
