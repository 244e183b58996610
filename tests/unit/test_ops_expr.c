/* Expressions: canonical forms, values, text there and back, replacing, running out of memory. */
#include "ops_lab.h"

#include "core/base/alloc.h"

typedef struct row {
    const char *text, *expected; /* as it is written again */
    int64_t value;               /* -1: none */
} row;

static const row rows[] = {
    {"1", "1", 1},
    {"n_head*head_dim", "n_head*head_dim", 64},
    {"head_dim*n_head", "head_dim*n_head", 64}, /* the order in memory is kept */
    {"2*3*n_ff", "6*n_ff", 576},
    {"1*n_ff*1", "n_ff", 96},
    {"(n_head*head_dim)*n_tokens", "n_head*head_dim*n_tokens", 768},
    {"n_tokens/n_seqs", "n_tokens/n_seqs", 4},
    {"n_seqs*(n_tokens/n_seqs)", "n_tokens", 12},
    {"(n_tokens/n_seqs)*n_seqs", "n_tokens", 12},
    {"n_tokens/n_tokens", "1", 1},
    {"n_head*head_dim/n_head", "head_dim", 16},
    {"12/4", "3", 3},
    {"n_tokens/8", "n_tokens/8", -1}, /* leaves a rest */
    {"kv_lora_rank+qk_rope_dim", "kv_lora_rank+qk_rope_dim", 48},
    {"n_head*(kv_lora_rank+qk_rope_dim)", "n_head*(kv_lora_rank+qk_rope_dim)", 192},
    {"1+2+n_ff+0", "3+n_ff", 99},
    {"(n_ff+n_ff)/2", "(n_ff+n_ff)/2", 96},
    {"n_embd/(n_head*head_dim)", "n_embd/(n_head*head_dim)", 1},
    {"?", "?", -1},
    {"n_head*?", "?", -1},
    {"n_head+?", "?", -1},
    {"n_head/0", "n_head/0", -1},
};

static void texts_are_canonical(void **state) {
    (void)state;
    stn_exprs pool;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128];
        int64_t value = -1;
        stn_expr e = lab_expr(&pool, rows[i].text);
        assert_string_equal(stn_expr_text(&pool, e, text, sizeof text), rows[i].expected);
        assert_int_equal(stn_expr_eval(&pool, e, NULL, &value), rows[i].value >= 0);
        assert_int_equal(rows[i].value >= 0 ? value : -1, rows[i].value);
        assert_int_equal(lab_expr(&pool, text), e); /* one number for one expression */
    }
    stn_exprs_fini(&pool);
}

static void equal_sizes_of_other_origin_are_not_equal(void **state) {
    (void)state;
    stn_exprs pool;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    assert_int_not_equal(lab_expr(&pool, "n_head"), lab_expr(&pool, "n_outputs"));
    assert_int_not_equal(lab_expr(&pool, "n_head"), lab_expr(&pool, "4"));
    assert_true(stn_expr_has(&pool, lab_expr(&pool, "n_head*n_tokens"), STN_ORIGIN_REQUEST));
    assert_false(stn_expr_has(&pool, lab_expr(&pool, "n_head*head_dim"), STN_ORIGIN_REQUEST));
    stn_exprs_fini(&pool);
}

static void labels_are_bound_and_replaced(void **state) {
    (void)state;
    stn_exprs pool;
    char text[64];
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    stn_expr e = lab_expr(&pool, "n_head*head_dim*(n_tokens/n_seqs)");
    stn_expr bound = stn_expr_bind(&pool, e, STN_ORIGIN_MODEL);
    assert_string_equal(stn_expr_text(&pool, bound, text, sizeof text), "64*(n_tokens/n_seqs)");
    stn_expr sharded =
        stn_expr_replace(&pool, e, lab_expr(&pool, "n_head"), lab_expr(&pool, "n_head/2"));
    assert_string_equal(stn_expr_text(&pool, sharded, text, sizeof text),
                        "(n_head/2)*head_dim*(n_tokens/n_seqs)");
    int64_t values[32];
    for (size_t i = 0; i < pool.label_count; i++) {
        values[i] = pool.labels[i].value * 2;
    }
    int64_t value;
    assert_true(stn_expr_eval(&pool, e, values, &value));
    assert_int_equal(value, 8 * 32 * 4);
    values[pool.label_count - 1] = 0;
    assert_string_equal(stn_expr_text(&pool, e, text, 12), "n_head*head");
    stn_exprs_fini(&pool);
}

static void wrong_text_says_where(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "\"\": column 1: expected a number, a label or a bracket"},
        {"n_head*", "\"n_head*\": column 8: expected a number, a label or a bracket"},
        {"n_other", "\"n_other\": column 1: expected a label of the graph"},
        {"(n_head", "\"(n_head\": column 8: expected \")\""},
        {"n_head n_ff", "\"n_head n_ff\": column 7: expected an operator or the end"},
        {"9999999999999999999", "\"9999999999999999999\": column 19: expected a number below 2^63"},
    };
    stn_exprs pool;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stn_expr e;
        stn_err err = {0};
        assert_int_equal(stn_expr_parse(&pool, bad[i].text, &e, &err), STN_EFORMAT);
        assert_string_equal(err.text, bad[i].message);
    }
    char deep[100];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    stn_expr e;
    assert_int_equal(stn_expr_parse(&pool, deep, &e, NULL), STN_EFORMAT);
    stn_exprs_fini(&pool);
}

static void sizes_that_do_not_fit_are_unknown(void **state) {
    (void)state;
    stn_exprs pool;
    int64_t value;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    stn_expr large = stn_expr_label(&pool, "large", STN_ORIGIN_MODEL, INT64_MAX / 2);
    assert_false(
        stn_expr_eval(&pool, stn_expr_product(&pool, (stn_expr[]){large, large}, 2), NULL, &value));
    stn_expr many[STN_EXPR_ARGS + 1];
    for (size_t i = 0; i <= STN_EXPR_ARGS; i++) {
        many[i] = large;
    }
    assert_int_equal(stn_expr_product(&pool, many, STN_EXPR_ARGS + 1), STN_EXPR_UNKNOWN);
    assert_int_equal(stn_expr_sum(&pool, many, STN_EXPR_ARGS + 1), STN_EXPR_UNKNOWN);
    stn_exprs_fini(&pool);
}

static void every_failing_allocation_is_said(void **state) {
    (void)state;
    bool whole = false;
    for (uint64_t nth = 1; !whole; nth++) {
        stn_exprs pool;
        stn_expr e;
        stn_alloc_fail_at(nth);
        stn_status status = stn_exprs_init(&pool, NULL);
        if (status == STN_OK) {
            stn_expr_label(&pool, "a", STN_ORIGIN_MODEL, 2);
            status = stn_expr_parse(&pool, "a*3+a/2", &e, NULL);
            whole = status == STN_OK;
            assert_true(status == STN_OK || pool.out_of_memory);
            stn_exprs_fini(&pool);
        }
        stn_alloc_fail_at(0);
        assert_true(nth < 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_canonical),
        cmocka_unit_test(equal_sizes_of_other_origin_are_not_equal),
        cmocka_unit_test(labels_are_bound_and_replaced),
        cmocka_unit_test(wrong_text_says_where),
        cmocka_unit_test(sizes_that_do_not_fit_are_unknown),
        cmocka_unit_test(every_failing_allocation_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
