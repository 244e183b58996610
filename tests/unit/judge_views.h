/** @file
 *  Views of letters for the tests of the judges: one run per string. */
#ifndef STN_TESTS_UNIT_JUDGE_VIEWS_H
#define STN_TESTS_UNIT_JUDGE_VIEWS_H

#include "judge_traces.h"

#include "kernel/judge/view.h"

/** Up to 4 runs of one side, with what they need. */
typedef struct letters {
    stn_trace traces[4];
    const stn_trace *pointers[4];
    size_t count;
} letters;

/** Runs of @p texts (NULL-terminated), see put_letters(). */
static inline void letters_make(letters *side, stn_catalog *catalog, const char *const *texts) {
    for (side->count = 0; texts[side->count]; side->count++) {
        stn_trace *trace = &side->traces[side->count];
        stn_trace_init(trace, catalog);
        put_letters(trace, texts[side->count]);
        side->pointers[side->count] = trace;
    }
}

static inline void letters_fini(letters *side) {
    for (size_t i = 0; i < side->count; i++) {
        stn_trace_fini(&side->traces[i]);
    }
}

/** A catalog in which type_a … type_z are symbols 0 … 25, and views over it. */
typedef struct letter_box {
    stn_catalog *catalog;
    stn_alphabet alphabet;
    letters sides[3];
    stn_view views[3];
    size_t side_count;
} letter_box;

static inline void box_open(letter_box *box) {
    stn_err err = {0};
    memset(box, 0, sizeof *box);
    assert_int_equal(stn_catalog_new(&box->catalog, &err), STN_OK);
    char name[] = "type_x";
    for (char c = 'a'; c <= 'z'; c++) {
        name[5] = c;
        assert_int_not_equal(stn_catalog_type(box->catalog, name, NULL), STN_NO_ID);
    }
    assert_int_equal(stn_alphabet_make(&box->alphabet, box->catalog, &err), STN_OK);
}

static inline const stn_view *box_view(letter_box *box, const char *const *texts) {
    stn_err err = {0};
    letters *side = &box->sides[box->side_count];
    stn_view *view = &box->views[box->side_count++];
    letters_make(side, box->catalog, texts);
    assert_int_equal(stn_view_make(view, side->pointers, side->count, &box->alphabet, &err),
                     STN_OK);
    return view;
}

/** A view of one or two runs. */
#define BOX_VIEW(box, ...) box_view((box), (const char *const[]){__VA_ARGS__, NULL})

static inline void box_close(letter_box *box) {
    for (size_t i = 0; i < box->side_count; i++) {
        stn_view_fini(&box->views[i]);
        letters_fini(&box->sides[i]);
    }
    stn_alphabet_fini(&box->alphabet);
    stn_catalog_free(box->catalog);
}

#endif
