/* the known word nearest to a mistyped one */
#include <string.h>

#include "testing.h"

#include "app/suggest.h"

static void distances_are_those_worked_out_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        unsigned distance;
    } cases[] = {
        {"", "", 0},           {"", "abc", 3},
        {"abc", "", 3},        {"info", "info", 0},
        {"inof", "info", 1},   {"kernle", "kernel", 1},
        {"chekc", "check", 1}, {"chck", "check", 1},
        {"xheck", "check", 1}, {"kitten", "sitting", 3},
        {"ca", "abc", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(stn_edit_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(stn_edit_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void long_words_are_far(void **state) {
    (void)state;
    char word[200];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(stn_edit_distance(word, "aaa"), 199);
}

static const char *nearest(const char *word) {
    static const char *const known[] = {"record", "info", "convert", "check", "mine", "train"};
    stn_suggest suggest = {word, NULL, 0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        stn_suggest_offer(&suggest, known[i]);
    }
    return suggest.nearest;
}

static void the_nearest_word_is_offered_and_nothing_far(void **state) {
    (void)state;
    assert_string_equal(nearest("inof"), "info");
    assert_string_equal(nearest("rec"), "record");
    assert_string_equal(nearest("trian"), "train");
    assert_null(nearest("zzzzzz"));
    assert_null(nearest("x"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_those_worked_out_by_hand),
        cmocka_unit_test(long_words_are_far),
        cmocka_unit_test(the_nearest_word_is_offered_and_nothing_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
