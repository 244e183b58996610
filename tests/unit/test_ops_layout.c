/* Reshape and view: where products are cut, what parts are called, what stays unknown. */
#include "ops_lab.h"

#include "llm/ops/layout.h"

typedef struct row {
    const char *from;     /* labels of the source */
    const char *order;    /* the source is permuted: "0213" is its place of each dimension */
    int64_t ne[STN_DIMS]; /* of what looks at it */
    int64_t nb[STN_DIMS]; /* in values; of a view. 0: a reshape */
    uint64_t offset;      /* in values */
    bool sorted;
    const char *expected;
} row;

static const row rows[] = {
    /* reshape: split, merge, ones */
    {"n_head*head_dim n_tokens", "", {16, 4, 12, 1}, {0}, 0, false, "head_dim n_head n_tokens"},
    {"head_dim n_head n_tokens", "", {64, 12, 1, 1}, {0}, 0, false, "n_head*head_dim n_tokens"},
    {"head_dim n_head n_tokens/n_seqs n_seqs",
     "",
     {64, 12, 1, 1},
     {0},
     0,
     false,
     "n_head*head_dim n_tokens"},
    {"n_embd n_tokens", "", {64, 4, 3, 1}, {0}, 0, false, "n_embd n_tokens/n_seqs n_seqs"},
    {"n_embd n_tokens", "", {64, 1, 12, 1}, {0}, 0, false, "n_embd 1 n_tokens"},
    {"n_expert n_tokens", "", {1, 8, 12, 1}, {0}, 0, false, "1 n_expert n_tokens"},
    {"n_expert n_tokens",
     "",
     {2, 4, 12, 1},
     {0},
     0,
     false,
     "n_expert/n_expert_groups n_expert_groups n_tokens"},
    {"1 n_expert_used n_tokens", "", {2, 12, 1, 1}, {0}, 0, false, "n_expert_used n_tokens"},
    {"one_head*head_dim n_tokens", "", {16, 1, 12, 1}, {0}, 0, false, "head_dim one_head n_tokens"},
    {"head_dim one_head n_tokens", "", {16, 12, 1, 1}, {0}, 0, false, "one_head*head_dim n_tokens"},
    {"64 n_tokens", "", {16, 4, 12, 1}, {0}, 0, false, "16 4 n_tokens"},
    /* what a size alone would say is not said */
    {"n_embd n_tokens", "", {16, 4, 12, 1}, {0}, 0, false, "? ? n_tokens"},
    {"n_ff n_tokens", "", {32, 3, 12, 1}, {0}, 0, false, "? ? n_tokens"},
    {"n_embd n_single n_tokens", "", {64, 12, 1, 1}, {0}, 0, false, "? ?"}, /* either may hold it */
    {"? n_tokens", "", {7, 3, 4, 1}, {0}, 0, false, "? ? ?"},
    {"n_embd n_single*n_tokens", "", {64, 12, 1, 1}, {0}, 0, false, "n_embd ? ? ?"},
    {"n_embd n_tokens*n_single", "", {64, 12, 1, 1}, {0}, 0, false, "n_embd n_tokens*n_single"},
    {"n_embd n_single", "", {64, 1, 1, 1}, {0}, 0, false, "? ? ? ?"},
    {"head_dim one_head*n_tokens", "", {16, 12, 1, 1}, {0}, 0, false, "head_dim one_head*n_tokens"},
    {"head_dim n_tokens*one_head", "", {16, 12, 1, 1}, {0}, 0, false, "head_dim n_tokens*one_head"},
    {"n_embd ?", "", {64, 1, 7, 1}, {1, 64, 64, 448}, 0, false, "n_embd ? ?"},
    {"? n_tokens", "", {7, 12, 1, 1}, {0}, 0, false, "? n_tokens"},
    /* views */
    {"n_head_kv*head_dim n_ctx_seq n_seq_max",
     "",
     {16, 2, 256, 3},
     {1, 16, 32, 16384},
     0,
     false,
     "head_dim n_head_kv n_kv n_seqs"},
    {"one_head*head_dim n_ctx_seq",
     "",
     {16, 1, 256, 1},
     {1, 16, 16, 8192},
     0,
     false,
     "head_dim one_head n_kv"},
    {"head_dim n_head n_tokens",
     "",
     {64, 12, 1, 1},
     {1, 64, 768, 768},
     0,
     false,
     "n_head*head_dim n_tokens"},
    {"head_dim n_head n_tokens",
     "",
     {16, 4, 4, 3},
     {1, 16, 64, 256},
     0,
     false,
     "head_dim n_head n_tokens/n_seqs n_seqs"},
    {"n_embd n_expert_used n_tokens",
     "",
     {64, 12, 1, 1},
     {1, 128, 1536, 1536},
     64,
     false,
     "n_embd n_tokens"},
    {"kv_lora_rank+qk_rope_dim n_tokens",
     "",
     {32, 12, 1, 1},
     {1, 48, 576, 576},
     0,
     false,
     "kv_lora_rank n_tokens"},
    {"kv_lora_rank+qk_rope_dim n_tokens",
     "",
     {16, 1, 12, 1},
     {1, 48, 48, 576},
     32,
     false,
     "qk_rope_dim 1 n_tokens"},
    {"kv_lora_rank+qk_rope_dim n_tokens",
     "",
     {16, 12, 1, 1},
     {1, 48, 576, 576},
     0,
     false,
     "? n_tokens"}, /* 16 of the first term: it has a size of its own */
    {"n_expert n_tokens", "", {2, 12, 1, 1}, {1, 8, 96, 96}, 0, true, "n_expert_used n_tokens"},
    {"n_expert_groups n_tokens",
     "",
     {2, 12, 1, 1},
     {1, 4, 48, 48},
     0,
     true,
     "n_expert_groups_used n_tokens"},
    {"n_expert/n_expert_groups n_tokens", "", {2, 12, 1, 1}, {1, 2, 24, 24}, 0, true, "2 n_tokens"},
    {"n_expert n_tokens", "", {3, 12, 1, 1}, {1, 8, 96, 96}, 0, true, "? n_tokens"},
    {"n_expert n_tokens", "", {2, 12, 1, 1}, {1, 8, 96, 96}, 0, false, "? n_tokens"},
    {"n_embd n_tokens", "", {64, 5, 1, 1}, {1, 64, 320, 320}, 0, false, "n_embd ?"},
    {"n_embd n_tokens", "", {32, 12, 1, 1}, {2, 64, 768, 768}, 0, false, "? n_tokens"},
    /* a view of what is permuted finds dimensions by their strides */
    {"head_dim n_head n_tokens",
     "0213",
     {64, 12, 1, 1},
     {1, 64, 768, 768},
     0,
     false,
     "n_head*head_dim n_tokens"},
};

static void labels_follow_the_memory(void **state) {
    (void)state;
    stn_exprs pool;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        stn_node a = {0};
        lab_shape(&pool, &a, r->from);
        if (r->order[0]) {
            stn_node plain = a;
            for (uint32_t d = 0; d < STN_DIMS; d++) {
                a.ne[r->order[d] - '0'] = plain.ne[d];
                a.nb[r->order[d] - '0'] = plain.nb[d];
                a.dims[r->order[d] - '0'] = plain.dims[d];
            }
        }
        bool view = r->nb[0] != 0;
        uint64_t nb[STN_DIMS];
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            nb[d] = (uint64_t)r->nb[d] * 4;
        }
        stn_layout from = {
            .ne = a.ne, .nb = view ? a.nb : NULL, .dims = a.dims, .block = 1, .sorted = r->sorted};
        stn_layout to = {.ne = r->ne, .nb = view ? nb : NULL};
        stn_expr dims[STN_DIMS];
        const char *why[STN_DIMS];
        char text[256];
        stn_layout_regroup(&pool, &from, &to, r->offset * 4, dims, why);
        lab_dims(&pool, dims, text, sizeof text);
        if (strcmp(text, r->expected) != 0) {
            fail_msg("row %zu, %s: expected %s, found %s", i, r->from, r->expected, text);
        }
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            assert_int_equal(why[d] != NULL, dims[d] == STN_EXPR_UNKNOWN);
        }
    }
    stn_exprs_fini(&pool);
}

/* Values of a block lie together: its stride is of the block. */
static void blocks_are_one_step(void **state) {
    (void)state;
    stn_exprs pool;
    assert_int_equal(stn_exprs_init(&pool, NULL), STN_OK);
    lab_labels(&pool);
    stn_node a = {0};
    lab_shape(&pool, &a, "n_head*head_dim n_tokens"); /* 64 values in 2 blocks of 34 bytes */
    uint64_t nb[STN_DIMS] = {34, 68, 816, 816};
    uint64_t part[STN_DIMS] = {34, 34, 68, 816};
    stn_layout from = {.ne = a.ne, .nb = nb, .dims = a.dims, .block = 32};
    int64_t ne[STN_DIMS] = {64, 12, 1, 1};
    stn_layout to = {.ne = ne, .nb = nb};
    stn_expr dims[STN_DIMS];
    const char *why[STN_DIMS];
    char text[128];
    stn_layout_regroup(&pool, &from, &to, 0, dims, why);
    assert_string_equal(lab_dims(&pool, dims, text, sizeof text), "n_head*head_dim n_tokens");
    int64_t halves[STN_DIMS] = {32, 2, 12, 1};
    to = (stn_layout){.ne = halves, .nb = part};
    stn_layout_regroup(&pool, &from, &to, 0, dims, why);
    assert_int_equal(dims[0], STN_EXPR_UNKNOWN);
    assert_int_equal(dims[1], STN_EXPR_UNKNOWN);
    assert_int_equal(dims[2], lab_expr(&pool, "n_tokens"));
    stn_exprs_fini(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_follow_the_memory),
        cmocka_unit_test(blocks_are_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
