/* One case and more for every row of the table of operations. */
#include "ops_lab.h"

#include "llm/ops/rules.h"

typedef struct row {
    const char *op;
    const char *srcs[7]; /* labels of the sources; "": there is none */
    int32_t params[8];
    const char *shape;    /* labels that have the sizes of the result */
    const char *expected; /* NULL: as shape */
} row;

#define A "n_embd n_tokens"
static const row rows[] = {
    {"RESHAPE", {"n_head*head_dim n_tokens"}, {0}, "head_dim n_head n_tokens", NULL},
    {"VIEW", {"kv_lora_rank+qk_rope_dim n_tokens"}, {128}, "qk_rope_dim n_tokens", NULL},
    {"PERMUTE", {"head_dim n_head n_tokens"}, {0, 2, 1, 3}, "head_dim n_tokens n_head", NULL},
    {"TRANSPOSE", {A}, {0}, "n_tokens n_embd", NULL},
    {"DUP", {A}, {0}, A, NULL},
    {"CONT", {"head_dim n_head n_tokens"}, {0}, "head_dim n_head n_tokens", NULL},
    {"CONT", {"head_dim n_head n_tokens"}, {0}, "n_head*head_dim n_tokens", NULL},
    {"CPY", {A, "n_head*head_dim n_tokens"}, {0}, "n_head*head_dim n_tokens", NULL},
    {"CPY", {A}, {0}, A, NULL},
    {"CONCAT",
     {"kv_lora_rank n_head n_tokens", "qk_rope_dim n_head n_tokens"},
     {0},
     "kv_lora_rank+qk_rope_dim n_head n_tokens",
     NULL},
    {"CONCAT", {"n_embd n_head", "n_embd n_outputs"}, {1}, "n_embd n_head+n_outputs", NULL},
    {"REPEAT", {"head_dim 1 n_tokens"}, {0}, "head_dim n_head n_tokens", "head_dim ? n_tokens"},
    {"REPEAT_BACK",
     {"head_dim n_head n_tokens"},
     {0},
     "head_dim 1 n_tokens",
     "head_dim ? n_tokens"},
    {"GET_ROWS", {"n_embd n_vocab", "n_tokens"}, {0}, "n_embd n_tokens", NULL},
    {"GET_ROWS",
     {"1 n_expert n_tokens", "n_expert_used n_tokens"},
     {0},
     "1 n_expert_used n_tokens",
     NULL},
    {"GET_ROWS_BACK", {"n_embd n_tokens", "n_tokens"}, {0}, "n_embd n_vocab", "n_embd ?"},
    {"SET_ROWS",
     {"n_embd n_tokens", "n_tokens", "n_embd n_ctx_seq*n_seq_max"},
     {0},
     "n_embd n_ctx_seq*n_seq_max",
     NULL},
    {"SET", {A, "n_embd"}, {0}, A, NULL},
    {"ACC", {A, "n_embd"}, {0}, A, NULL},
    {"PAD", {A}, {0}, A, NULL},
    {"PAD", {A}, {1, 2}, "67 n_tokens", "? n_tokens"},
    {"PAD_REFLECT_1D", {A}, {1, 1}, "66 n_tokens", "? n_tokens"},
    {"ROLL", {A}, {0}, A, NULL},
    {"DIAG", {"n_embd 1 n_tokens"}, {0}, "n_embd n_embd n_tokens", NULL},
    {"FILL", {A}, {0}, A, NULL},
    {"ARANGE", {""}, {0}, "n_tokens", "?"},
    {"MUL_MAT", {"n_embd n_ff", "n_embd n_tokens"}, {0}, "n_ff n_tokens", NULL},
    {"MUL_MAT",
     {"head_dim n_kv n_head_kv n_seqs", "head_dim n_tokens/n_seqs n_head n_seqs"},
     {0},
     "n_kv n_tokens/n_seqs n_head n_seqs",
     NULL},
    {"MUL_MAT_ID",
     {"n_embd n_ff n_expert", "n_embd 1 n_tokens", "n_expert_used n_tokens"},
     {0},
     "n_ff n_expert_used n_tokens",
     NULL},
    {"OUT_PROD", {"n_embd n_tokens", "n_ff n_tokens"}, {0}, "n_embd n_ff", NULL},
    {"SOLVE_TRI", {"head_dim head_dim", "n_tokens head_dim"}, {0}, "n_tokens head_dim", NULL},
    {"ADD", {A, "n_embd"}, {0}, A, NULL},
    {"ADD_ID",
     {"n_ff n_expert_used n_tokens", "n_ff n_expert", "n_expert_used n_tokens"},
     {0},
     "n_ff n_expert_used n_tokens",
     NULL},
    {"ADD1", {A, "1"}, {0}, A, NULL},
    {"SUB", {A, A}, {0}, A, NULL},
    {"MUL", {A, "n_embd"}, {0}, A, NULL},
    {"DIV", {A, "1 n_tokens"}, {0}, A, NULL},
    {"SQR", {A}, {0}, A, NULL},
    {"SQRT", {A}, {0}, A, NULL},
    {"LOG", {A}, {0}, A, NULL},
    {"SIN", {A}, {0}, A, NULL},
    {"COS", {A}, {0}, A, NULL},
    {"SCALE", {A}, {0}, A, NULL},
    {"CLAMP", {A}, {0}, A, NULL},
    {"CUMSUM", {A}, {0}, A, NULL},
    {"TRI", {"n_tokens n_tokens"}, {0}, "n_tokens n_tokens", NULL},
    {"DIAG_MASK_INF", {"n_kv n_tokens"}, {0}, "n_kv n_tokens", NULL},
    {"DIAG_MASK_ZERO", {"n_kv n_tokens"}, {0}, "n_kv n_tokens", NULL},
    {"MAP_CUSTOM1", {A}, {0}, A, NULL},
    {"MAP_CUSTOM2", {A, A}, {0}, A, NULL},
    {"MAP_CUSTOM3", {A, A, A}, {0}, A, NULL},
    {"CUSTOM", {A}, {0}, A, "? ? ? ?"},
    {"UNARY", {A}, {0}, A, NULL},
    {"GLU", {"n_ff n_tokens", "n_ff n_tokens"}, {0}, "n_ff n_tokens", NULL},
    {"GLU", {"n_ff+n_ff n_tokens"}, {0}, "n_ff n_tokens", NULL},
    {"GLU", {"n_ff n_tokens"}, {0}, "n_ff/2 n_tokens", NULL},
    {"LEAKY_RELU", {A}, {0}, A, NULL},
    {"SILU_BACK", {A, A}, {0}, A, NULL},
    {"SUM", {A}, {0}, "1", NULL},
    {"SUM_ROWS", {"n_expert_used n_tokens"}, {0}, "1 n_tokens", NULL},
    {"MEAN", {A}, {0}, "1 n_tokens", NULL},
    {"ARGMAX", {"n_vocab n_outputs"}, {0}, "n_outputs", NULL},
    {"COUNT_EQUAL", {A, A}, {0}, "1", NULL},
    {"ARGSORT", {"n_expert n_tokens"}, {0}, "n_expert n_tokens", NULL},
    {"TOP_K", {"n_expert n_tokens"}, {0}, "n_expert_used n_tokens", NULL},
    {"TOP_K", {"n_vocab n_tokens"}, {0}, "40 n_tokens", "? n_tokens"},
    {"NORM", {A}, {0}, A, NULL},
    {"RMS_NORM", {A}, {0}, A, NULL},
    {"RMS_NORM_BACK", {A, A}, {0}, A, NULL},
    {"GROUP_NORM", {A}, {0}, A, NULL},
    {"L2_NORM", {A}, {0}, A, NULL},
    {"ROPE", {"head_dim n_head n_tokens", "n_tokens"}, {0}, "head_dim n_head n_tokens", NULL},
    {"ROPE_BACK", {"head_dim n_head n_tokens", "n_tokens"}, {0}, "head_dim n_head n_tokens", NULL},
    {"SOFT_MAX", {"n_kv n_tokens n_head", "n_kv n_tokens"}, {0}, "n_kv n_tokens n_head", NULL},
    {"SOFT_MAX_BACK", {"n_kv n_tokens", "n_kv n_tokens"}, {0}, "n_kv n_tokens", NULL},
    {"FLASH_ATTN_EXT",
     {"head_dim n_tokens/n_seqs n_head n_seqs", "head_dim n_kv n_head_kv n_seqs",
      "kv_lora_rank n_kv n_head_kv n_seqs", "n_kv n_tokens/n_seqs 1 n_seqs"},
     {0},
     "kv_lora_rank n_head n_tokens/n_seqs n_seqs",
     NULL},
    {"FLASH_ATTN_BACK", {A, A, A, A}, {0}, "12345", "?"},
    {"LIGHTNING_INDEXER",
     {"head_dim n_head n_tokens", "head_dim 1 n_kv", "n_head n_tokens", "n_kv n_tokens"},
     {0},
     "n_kv n_tokens",
     NULL},
    {"GET_REL_POS", {"head_dim 5"}, {0}, "head_dim 3 3", "head_dim ? ?"},
    {"ADD_REL_POS", {A, "n_embd", "n_embd"}, {0}, A, NULL},
    {"WIN_PART", {"n_embd 9 9"}, {0}, "n_embd 4 4 9", "n_embd ? ? ?"},
    {"WIN_UNPART", {"n_embd 4 4 9"}, {0}, "n_embd 9 9", "n_embd ? ?"},
    {"SSM_CONV",
     {"2+n_tokens/n_seqs n_embd n_seqs", "d_conv n_embd"},
     {0},
     "n_embd n_tokens/n_seqs n_seqs",
     NULL},
    {"SSM_CONV",
     {"n_tokens n_embd n_seqs", "d_conv n_embd"},
     {0},
     "n_embd 10 n_seqs",
     "n_embd ? n_seqs"},
    {"SSM_SCAN",
     {"head_dim n_head_kv n_head n_seq_max", "n_head_kv n_head n_tokens/n_seqs n_seqs", "n_head",
      "1 n_head", "head_dim", "head_dim", "n_seqs"},
     {1},
     "n_seqs*(n_tokens/n_seqs)*n_head*n_head_kv+n_seqs*n_head*n_head_kv*head_dim",
     "n_tokens*n_head*n_head_kv+n_seqs*n_head*n_head_kv*head_dim"},
    {"RWKV_WKV6",
     {"head_dim n_head n_tokens", A, A, A, A, "n_embd n_seqs"},
     {0},
     "n_head*head_dim n_tokens+n_seqs*head_dim",
     NULL},
    {"RWKV_WKV7",
     {A, A, "head_dim n_head n_tokens", A, A, A, "n_embd n_seqs"},
     {0},
     "n_head*head_dim n_tokens+n_seqs*head_dim",
     NULL},
    {"GATED_LINEAR_ATTN",
     {"head_dim n_head n_tokens", A, A, A, "n_embd n_seqs"},
     {0},
     "n_head*head_dim n_tokens+n_seqs*head_dim",
     NULL},
    {"GATED_DELTA_NET",
     {A, A, "head_dim n_head n_tokens/n_seqs n_seqs", A, A, A},
     {1},
     "n_head*head_dim n_tokens+n_seqs*head_dim",
     NULL},
    {"DSV4_HC_COMB", {"24 n_tokens", "3", "24"}, {0}, "4 4 n_tokens", "? ? n_tokens"},
    {"DSV4_HC_PRE", {"n_embd 4 n_tokens", "4 n_tokens"}, {0}, "n_embd n_tokens", NULL},
    {"DSV4_HC_POST",
     {"n_embd n_tokens", "n_embd n_head n_tokens"},
     {0},
     "n_embd n_head n_tokens",
     NULL},
    {"CONV_TRANSPOSE_1D", {A, A}, {0}, A, "? ? ? ?"},
    {"IM2COL", {A, A}, {0}, A, "? ? ? ?"},
    {"IM2COL_BACK", {A, A}, {0}, A, "? ? ? ?"},
    {"IM2COL_3D", {A, A}, {0}, A, "? ? ? ?"},
    {"COL2IM_1D", {A}, {0}, A, "? ? ? ?"},
    {"CONV_2D",
     {"3 3 n_embd n_ff", "9 9 n_embd n_seqs"},
     {0},
     "7 7 n_ff n_seqs",
     "? ? n_ff n_seqs"},
    {"CONV_3D", {A, A}, {0}, A, "? ? ? ?"},
    {"CONV_2D_DW",
     {"3 3 1 n_embd", "9 9 n_embd n_seqs"},
     {0},
     "7 7 n_embd n_seqs",
     "? ? n_embd n_seqs"},
    {"CONV_TRANSPOSE_2D",
     {"3 3 n_ff n_embd", "9 9 n_embd n_seqs"},
     {0},
     "11 11 n_ff n_seqs",
     "? ? n_ff n_seqs"},
    {"POOL_1D", {A}, {0}, "32 n_tokens", "? n_tokens"},
    {"POOL_2D", {"9 9 n_embd"}, {0}, "3 3 n_embd", "? ? n_embd"},
    {"POOL_2D_BACK", {A, "n_ff n_tokens"}, {0}, "n_ff n_tokens", NULL},
    {"UPSCALE", {A}, {0}, "128 24", "? ? ? ?"},
    {"TIMESTEP_EMBEDDING", {"n_tokens"}, {32}, "32 n_tokens", "? n_tokens"},
    {"CROSS_ENTROPY_LOSS", {A, A}, {0}, "1", NULL},
    {"CROSS_ENTROPY_LOSS_BACK",
     {"1", "n_vocab n_outputs", "n_vocab n_outputs"},
     {0},
     "n_vocab n_outputs",
     NULL},
    {"OPT_STEP_ADAMW", {A, A, A, A, "7"}, {0}, A, NULL},
    {"OPT_STEP_SGD", {A, A, "2"}, {0}, A, NULL},
};

static void apply(stn_exprs *pool, const row *r, stn_node *node) {
    stn_node srcs[7] = {{0}};
    const stn_node *all[STN_SRCS] = {NULL};
    memset(node, 0, sizeof *node);
    lab_shape(pool, node, r->shape);
    node->op = r->op;
    for (uint32_t i = 0; i < 7; i++) {
        if (r->srcs[i] && r->srcs[i][0]) {
            lab_shape(pool, &srcs[i], r->srcs[i]);
            srcs[i].op = "NONE";
            all[i] = &srcs[i];
        }
    }
    memcpy(node->params, r->params, sizeof r->params);
    if (strcmp(r->op, "VIEW") == 0) {
        for (uint32_t d = 1; d < STN_DIMS; d++) {
            node->nb[d] = all[0]->nb[d];
        }
    }
    stn_rule_apply(pool, node, all);
}

static void every_case_holds(void **state) {
    (void)state;
    stn_exprs pool;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stn_node node;
        char found[256];
        apply(&pool, &rows[i], &node);
        lab_dims(&pool, node.dims, found, sizeof found);
        const char *expected = rows[i].expected ? rows[i].expected : rows[i].shape;
        if (strcmp(found, expected) != 0) {
            fail_msg("case %zu, %s: expected %s, found %s (%s)", i, rows[i].op, expected, found,
                     node.why[0] ? node.why[0] : "");
        }
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            assert_int_equal(node.why[d] != NULL, node.dims[d] == STN_EXPR_UNKNOWN);
        }
    }
    stn_exprs_fini(&pool);
}

static void every_row_has_a_case(void **state) {
    (void)state;
    const stn_rule_row *row;
    for (uint32_t i = 0; (row = stn_rule_at(i)) != NULL; i++) {
        size_t cases = 0;
        for (size_t c = 0; c < sizeof rows / sizeof *rows; c++) {
            cases += strcmp(rows[c].op, row->op) == 0;
        }
        if (cases == 0) {
            fail_msg("%s: no case", row->op);
        }
        assert_ptr_equal(stn_rule_find(row->op), row); /* and no op has two rows */
    }
}

/* What a rule says does not count if the size is another one. */
static void a_rule_that_is_wrong_is_unknown(void **state) {
    (void)state;
    stn_exprs pool;
    stn_node node;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    row wrong = {"ADD", {A, A}, {0}, "n_embd n_seqs", NULL};
    apply(&pool, &wrong, &node);
    assert_int_equal(node.dims[0], lab_expr(&pool, "n_embd"));
    assert_int_equal(node.dims[1], STN_EXPR_UNKNOWN);
    assert_string_equal(node.why[1], "its rule gives another size");
    row without = {"NEW_OP", {A}, {0}, A, NULL};
    apply(&pool, &without, &node);
    assert_string_equal(node.why[0], "there is no rule for its operation");
    assert_int_equal(node.kind, STN_KIND_OTHER);
    stn_exprs_fini(&pool);
}

/* No row reads a source that is not there. */
static void sources_may_be_missing(void **state) {
    (void)state;
    stn_exprs pool;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    const stn_rule_row *found;
    for (uint32_t i = 0; (found = stn_rule_at(i)) != NULL; i++) {
        stn_node node;
        row none = {found->op, {""}, {0}, A, NULL};
        row one = {found->op, {A}, {9, 9, 9, 9}, A, NULL};
        apply(&pool, strcmp(found->op, "VIEW") == 0 ? &one : &none, &node);
        apply(&pool, &one, &node);
    }
    stn_exprs_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_holds),
        cmocka_unit_test(every_row_has_a_case),
        cmocka_unit_test(a_rule_that_is_wrong_is_unknown),
        cmocka_unit_test(sources_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
