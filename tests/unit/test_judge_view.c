/* Views: symbols, segments, windows. */
#include "judge_views.h"

#include "core/base/alloc.h"

static void names_of_one_thing_are_one_symbol(void **state) {
    (void)state;
    stn_catalog *catalog;
    stn_alphabet alphabet;
    stn_err err = {0};
    assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
    uint32_t lttng = stn_catalog_type(catalog, "sys_enter_read", "syscall_entry_read");
    uint32_t ftrace = stn_catalog_type(catalog, "sys_enter_read", NULL);
    uint32_t other = stn_catalog_type(catalog, "sched_switch", NULL);
    assert_int_equal(stn_alphabet_make(&alphabet, catalog, &err), STN_OK);
    assert_int_equal(alphabet.count, 2);
    assert_int_equal(alphabet.symbol[lttng], alphabet.symbol[ftrace]);
    assert_int_not_equal(alphabet.symbol[lttng], alphabet.symbol[other]);
    assert_int_equal(alphabet.symbol[STN_TYPE_LOST], STN_NO_ID);
    assert_string_equal(stn_catalog_text(catalog, alphabet.name[alphabet.symbol[other]]),
                        "sched_switch");
    stn_alphabet_fini(&alphabet);
    stn_catalog_free(catalog);
}

static void segments_end_at_runs_and_marks(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    const stn_view *view = BOX_VIEW(&box, "|ab||cde", "f|");
    const uint32_t symbols[] = {0, 1, 2, 3, 4, 5};
    assert_int_equal(view->count, 6);
    assert_memory_equal(view->symbol, symbols, sizeof symbols);
    assert_int_equal(view->segment_count, 3);
    const size_t begins[] = {0, 2, 5, 6};
    assert_memory_equal(view->segment, begins, sizeof begins);
    box_close(&box);
}

static void windows_stay_inside_segments(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    const stn_view *view = BOX_VIEW(&box, "abc|de", "fghi");
    size_t start[8];
    assert_int_equal(stn_view_window_count(view, 3), 3); /* abc fgh ghi */
    assert_int_equal(stn_view_spread(view, 3, 8, 0, start), 3);
    assert_true(start[0] == 0 && start[1] == 5 && start[2] == 6);
    assert_int_equal(stn_view_spread(view, 2, 3, 0, start), 3); /* of ab bc de fg gh hi */
    assert_true(start[0] == 0 && start[1] == 3 && start[2] == 6);
    assert_int_equal(stn_view_spread(view, 2, 3, 0.75, start), 3);
    assert_true(start[0] == 1 && start[1] == 5 && start[2] == 7);
    assert_int_equal(stn_view_spread(view, 9, 3, 0, start), 0);
    box_close(&box);
}

static void nothing_makes_an_empty_view(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    const stn_view *view = BOX_VIEW(&box, "", "||");
    assert_int_equal(view->count, 0);
    assert_int_equal(view->segment_count, 0);
    assert_int_equal(stn_view_window_count(view, 1), 0);
    box_close(&box);
}

static void out_of_memory_leaves_nothing(void **state) {
    (void)state;
    letter_box box;
    box_open(&box);
    stn_err err = {0};
    letters side;
    letters_make(&side, box.catalog, (const char *const[]){"abc", NULL});
    for (uint64_t nth = 1; nth <= 2; nth++) {
        stn_view view;
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_view_make(&view, side.pointers, 1, &box.alphabet, &err), STN_ENOMEM);
        stn_alloc_fail_at(0);
        assert_null(view.symbol);
    }
    for (uint64_t nth = 1; nth <= 3; nth++) {
        stn_alphabet alphabet;
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_alphabet_make(&alphabet, box.catalog, &err), STN_ENOMEM);
        stn_alloc_fail_at(0);
        assert_null(alphabet.symbol);
    }
    letters_fini(&side);
    box_close(&box);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_one_thing_are_one_symbol),
        cmocka_unit_test(segments_end_at_runs_and_marks),
        cmocka_unit_test(windows_stay_inside_segments),
        cmocka_unit_test(nothing_makes_an_empty_view),
        cmocka_unit_test(out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
