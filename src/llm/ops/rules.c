/* The table of operations. Most rows are a formula; what needs more than the sources' dimensions
 * has a function below. */
#include "llm/ops/rules.h"

#include <string.h>

#include "llm/ops/layout.h"

static void as_source(stn_node *node, const stn_node *a) {
    memcpy(node->dims, a->dims, sizeof node->dims);
    memcpy(node->why, a->why, sizeof node->why);
}

static void regroup(stn_exprs *pool, stn_node *node, const stn_node *a, bool view,
                    uint64_t offset) {
    stn_layout from = {.ne = a->ne,
                       .nb = view ? a->nb : NULL,
                       .dims = a->dims,
                       .block = view ? a->block : 1,
                       .sorted = strcmp(a->op, "ARGSORT") == 0};
    stn_layout to = {.ne = node->ne, .nb = view ? node->nb : NULL};
    stn_layout_regroup(pool, &from, &to, offset, node->dims, node->why);
}

static void reshape(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    regroup(pool, node, srcs[0], false, 0);
}

static void view(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    uint64_t offset;
    memcpy(&offset, node->params, sizeof offset);
    regroup(pool, node, srcs[0], true, offset);
}

/* ggml_cont keeps the shape, ggml_cont_2d … change it as a reshape does. */
static void cont(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    if (memcmp(node->ne, srcs[0]->ne, sizeof node->ne) == 0) {
        as_source(node, srcs[0]);
    } else {
        regroup(pool, node, srcs[0], false, 0);
    }
}

/* ggml_cpy writes into its second source, ggml_cast has none. Both may differ in shape. */
static void cpy(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    (void)pool;
    as_source(node, srcs[1] ? srcs[1] : srcs[0]);
}

static void permute(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    (void)pool;
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        uint32_t axis = (uint32_t)node->params[d];
        if (axis < STN_DIMS) {
            node->dims[axis] = srcs[0]->dims[d];
            node->why[axis] = srcs[0]->why[d];
        }
    }
}

static void concat(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    uint32_t axis = (uint32_t)node->params[0];
    as_source(node, srcs[0]);
    if (axis < STN_DIMS && srcs[1]) {
        node->dims[axis] =
            stn_expr_sum(pool, (stn_expr[]){srcs[0]->dims[axis], srcs[1]->dims[axis]}, 2);
    }
}

/* ggml keeps no word of what a tensor was repeated to; a size that stayed is what it was. */
static void repeat(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    (void)pool;
    as_source(node, srcs[0]);
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        if (node->ne[d] != srcs[0]->ne[d]) {
            node->dims[d] = STN_EXPR_UNKNOWN;
            node->why[d] = "repeated; ggml does not keep like what";
        }
    }
}

/* Gate and value side by side in one tensor, or in two. */
static void glu(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    as_source(node, srcs[0]);
    if (srcs[1]) {
        return;
    }
    stn_expr whole = srcs[0]->dims[0];
    const stn_expr_node *sum = stn_expr_at(pool, whole);
    bool twice = sum->kind == STN_EXPR_IS_SUM && sum->count == 2 && sum->args[0] == sum->args[1];
    node->dims[0] = twice ? sum->args[0] : stn_expr_quotient(pool, whole, stn_expr_const(pool, 2));
}

static void top_k(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    as_source(node, srcs[0]);
    node->dims[0] = stn_layout_best(pool, srcs[0]->dims[0], node->ne[0]);
    node->why[0] = "the best of a dimension that nothing names";
}

static void pad(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    (void)pool;
    as_source(node, srcs[0]);
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        int64_t more = (int64_t)node->params[2 * d] + node->params[2 * d + 1];
        if (more > 0) {
            node->dims[d] = STN_EXPR_UNKNOWN;
            node->why[d] = "padded by a number of unknown origin";
        }
    }
}

/* Columns of the window before, then the tokens: [d_conv-1 + n_t, d_inner, n_seqs]. */
static void ssm_conv(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    const stn_expr_node *columns = stn_expr_at(pool, srcs[0]->dims[0]);
    int64_t before;
    bool parts = columns->kind == STN_EXPR_IS_SUM && columns->count == 2 && srcs[1] &&
                 stn_expr_eval(pool, columns->args[0], NULL, &before) &&
                 before == srcs[1]->ne[0] - 1;
    node->dims[0] = srcs[0]->dims[1];
    node->dims[1] = parts ? columns->args[1] : STN_EXPR_UNKNOWN;
    node->why[1] = "the window and the tokens cannot be told apart";
    node->dims[2] = srcs[0]->dims[2];
    node->dims[3] = STN_EXPR_ONE;
}

/* Keeps n_tokens*n_seqs rows of output and then K states of S_v rows a sequence. */
static void delta_net(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    if (!srcs[2]) {
        return;
    }
    const stn_expr *v = srcs[2]->dims;
    stn_expr states =
        stn_expr_product(pool, (stn_expr[]){v[0], v[3], stn_expr_const(pool, node->params[0])}, 3);
    stn_expr tokens = stn_expr_product(pool, (stn_expr[]){v[2], v[3]}, 2);
    node->dims[0] = stn_expr_product(pool, (stn_expr[]){v[0], v[1]}, 2);
    node->dims[1] = stn_expr_sum(pool, (stn_expr[]){tokens, states}, 2);
    node->dims[2] = node->dims[3] = STN_EXPR_ONE;
}

/* d_state*head_dim*n_head*n_seqs values of each of K states behind the output. */
static void ssm_scan(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    if (!srcs[1]) {
        return;
    }
    const stn_expr *s = srcs[0]->dims;
    const stn_expr *x = srcs[1]->dims;
    stn_expr ids = srcs[6] ? srcs[6]->dims[0] : STN_EXPR_UNKNOWN;
    stn_expr states = stn_expr_product(
        pool, (stn_expr[]){s[0], s[1], s[2], ids, stn_expr_const(pool, node->params[0])}, 5);
    node->dims[0] =
        stn_expr_sum(pool, (stn_expr[]){stn_expr_product(pool, x, STN_DIMS), states}, 2);
    node->dims[1] = node->dims[2] = node->dims[3] = STN_EXPR_ONE;
}

/* clang-format off */
#define AS_A   NULL, NULL
#define ALONE  "1 1 1 1", NULL
#define ROWS   "1 a1 a2 a3", NULL
#define LOST   "? ? ? ?", NULL
static const stn_rule_row rows[] = {
    /* looks at memory in another way */
    {"RESHAPE",                STN_KIND_NONE,        NULL, reshape},
    {"VIEW",                   STN_KIND_NONE,        NULL, view},
    {"PERMUTE",                STN_KIND_NONE,        NULL, permute},
    {"TRANSPOSE",              STN_KIND_NONE,        "a1 a0 a2 a3", NULL},
    /* moves values */
    {"DUP",                    STN_KIND_COPY,        AS_A},
    {"CONT",                   STN_KIND_COPY,        NULL, cont},
    {"CPY",                    STN_KIND_COPY,        NULL, cpy},
    {"CONCAT",                 STN_KIND_COPY,        NULL, concat},
    {"REPEAT",                 STN_KIND_COPY,        NULL, repeat},
    {"REPEAT_BACK",            STN_KIND_COPY,        NULL, repeat},
    {"GET_ROWS",               STN_KIND_COPY,        "a0 b0 b1 b2", NULL},
    {"GET_ROWS_BACK",          STN_KIND_COPY,        "a0 ? 1 1", NULL},
    {"SET_ROWS",               STN_KIND_COPY,        "c0 c1 c2 c3", NULL},
    {"SET",                    STN_KIND_COPY,        AS_A},
    {"ACC",                    STN_KIND_COPY,        AS_A},
    {"PAD",                    STN_KIND_COPY,        NULL, pad},
    {"PAD_REFLECT_1D",         STN_KIND_COPY,        "? a1 a2 a3", NULL},
    {"ROLL",                   STN_KIND_COPY,        AS_A},
    {"DIAG",                   STN_KIND_COPY,        "a0 a0 a2 a3", NULL},
    {"FILL",                   STN_KIND_COPY,        AS_A},
    {"ARANGE",                 STN_KIND_COPY,        "? 1 1 1", NULL},
    /* products of matrices */
    {"MUL_MAT",                STN_KIND_GEMM,        "a1 b1 b2 b3", NULL},
    {"MUL_MAT_ID",             STN_KIND_MOE,         "a1 c0 b2 1", NULL},
    {"OUT_PROD",               STN_KIND_GEMM,        "a0 b0 b2 b3", NULL},
    {"SOLVE_TRI",              STN_KIND_GEMM,        "b0 b1 b2 b3", NULL},
    /* value by value; the second source is repeated over the first */
    {"ADD",                    STN_KIND_ELEMENTWISE, AS_A},
    {"ADD_ID",                 STN_KIND_MOE,         AS_A},
    {"ADD1",                   STN_KIND_ELEMENTWISE, AS_A},
    {"SUB",                    STN_KIND_ELEMENTWISE, AS_A},
    {"MUL",                    STN_KIND_ELEMENTWISE, AS_A},
    {"DIV",                    STN_KIND_ELEMENTWISE, AS_A},
    {"SQR",                    STN_KIND_ELEMENTWISE, AS_A},
    {"SQRT",                   STN_KIND_ELEMENTWISE, AS_A},
    {"LOG",                    STN_KIND_ELEMENTWISE, AS_A},
    {"SIN",                    STN_KIND_ELEMENTWISE, AS_A},
    {"COS",                    STN_KIND_ELEMENTWISE, AS_A},
    {"SCALE",                  STN_KIND_ELEMENTWISE, AS_A},
    {"CLAMP",                  STN_KIND_ELEMENTWISE, AS_A},
    {"CUMSUM",                 STN_KIND_ELEMENTWISE, AS_A},
    {"TRI",                    STN_KIND_ELEMENTWISE, AS_A},
    {"DIAG_MASK_INF",          STN_KIND_ELEMENTWISE, AS_A},
    {"DIAG_MASK_ZERO",         STN_KIND_ELEMENTWISE, AS_A},
    {"MAP_CUSTOM1",            STN_KIND_OTHER,       AS_A},
    {"MAP_CUSTOM2",            STN_KIND_OTHER,       AS_A},
    {"MAP_CUSTOM3",            STN_KIND_OTHER,       AS_A},
    {"CUSTOM",                 STN_KIND_OTHER,       LOST},
    /* activations */
    {"UNARY",                  STN_KIND_ACTIVATION,  AS_A},
    {"GLU",                    STN_KIND_ACTIVATION,  NULL, glu},
    {"LEAKY_RELU",             STN_KIND_ACTIVATION,  AS_A},
    {"SILU_BACK",              STN_KIND_ACTIVATION,  AS_A},
    /* sums and orders */
    {"SUM",                    STN_KIND_ELEMENTWISE, ALONE},
    {"SUM_ROWS",               STN_KIND_ELEMENTWISE, ROWS},
    {"MEAN",                   STN_KIND_ELEMENTWISE, ROWS},
    {"ARGMAX",                 STN_KIND_HEAD,        "a1 1 1 1", NULL},
    {"COUNT_EQUAL",            STN_KIND_ELEMENTWISE, ALONE},
    {"ARGSORT",                STN_KIND_MOE,         AS_A},
    {"TOP_K",                  STN_KIND_MOE,         NULL, top_k},
    /* norms and positions */
    {"NORM",                   STN_KIND_NORM,        AS_A},
    {"RMS_NORM",               STN_KIND_NORM,        AS_A},
    {"RMS_NORM_BACK",          STN_KIND_NORM,        AS_A},
    {"GROUP_NORM",             STN_KIND_NORM,        AS_A},
    {"L2_NORM",                STN_KIND_NORM,        AS_A},
    {"ROPE",                   STN_KIND_ROPE,        AS_A},
    {"ROPE_BACK",              STN_KIND_ROPE,        AS_A},
    /* attention */
    {"SOFT_MAX",               STN_KIND_ATTENTION,   AS_A},
    {"SOFT_MAX_BACK",          STN_KIND_ATTENTION,   AS_A},
    {"FLASH_ATTN_EXT",         STN_KIND_ATTENTION,   "c0 a2 a1 a3", NULL},
    {"FLASH_ATTN_BACK",        STN_KIND_ATTENTION,   "? 1 1 1", NULL},
    {"LIGHTNING_INDEXER",      STN_KIND_ATTENTION,   "b2 a2 1 a3", NULL},
    {"GET_REL_POS",            STN_KIND_ATTENTION,   "a0 ? ? 1", NULL},
    {"ADD_REL_POS",            STN_KIND_ATTENTION,   AS_A},
    {"WIN_PART",               STN_KIND_COPY,        "a0 ? ? ?", NULL},
    {"WIN_UNPART",             STN_KIND_COPY,        "a0 ? ? 1", NULL},
    /* recurrent state */
    {"SSM_CONV",               STN_KIND_STATE,       NULL, ssm_conv},
    {"SSM_SCAN",               STN_KIND_STATE,       NULL, ssm_scan},
    {"RWKV_WKV6",              STN_KIND_STATE,       "a1*a0 a2+f1*a0 1 1", NULL},
    {"RWKV_WKV7",              STN_KIND_STATE,       "c1*c0 c2+g1*c0 1 1", NULL},
    {"GATED_LINEAR_ATTN",      STN_KIND_STATE,       "a1*a0 a2+e1*a0 1 1", NULL},
    {"GATED_DELTA_NET",        STN_KIND_STATE,       NULL, delta_net},
    {"DSV4_HC_COMB",           STN_KIND_ELEMENTWISE, "? ? a1 1", NULL},
    {"DSV4_HC_PRE",            STN_KIND_ELEMENTWISE, "a0 a2 1 1", NULL},
    {"DSV4_HC_POST",           STN_KIND_ELEMENTWISE, "a0 b1 a1 1", NULL},
    /* pictures and sound: their sizes come from strides and padding of unknown origin */
    {"CONV_TRANSPOSE_1D",      STN_KIND_OTHER,       LOST},
    {"IM2COL",                 STN_KIND_OTHER,       LOST},
    {"IM2COL_BACK",            STN_KIND_OTHER,       LOST},
    {"IM2COL_3D",              STN_KIND_OTHER,       LOST},
    {"COL2IM_1D",              STN_KIND_OTHER,       LOST},
    {"CONV_2D",                STN_KIND_OTHER,       "? ? a3 b3", NULL},
    {"CONV_3D",                STN_KIND_OTHER,       LOST},
    {"CONV_2D_DW",             STN_KIND_OTHER,       "? ? b2 b3", NULL},
    {"CONV_TRANSPOSE_2D",      STN_KIND_OTHER,       "? ? a2 b3", NULL},
    {"POOL_1D",                STN_KIND_OTHER,       "? a1 a2 a3", NULL},
    {"POOL_2D",                STN_KIND_OTHER,       "? ? a2 a3", NULL},
    {"POOL_2D_BACK",           STN_KIND_OTHER,       "b0 b1 b2 b3", NULL},
    {"UPSCALE",                STN_KIND_OTHER,       LOST},
    {"TIMESTEP_EMBEDDING",     STN_KIND_OTHER,       "? a0 1 1", NULL},
    /* training */
    {"CROSS_ENTROPY_LOSS",     STN_KIND_OTHER,       ALONE},
    {"CROSS_ENTROPY_LOSS_BACK", STN_KIND_OTHER,      "b0 b1 b2 b3", NULL},
    {"OPT_STEP_ADAMW",         STN_KIND_OTHER,       AS_A},
    {"OPT_STEP_SGD",           STN_KIND_OTHER,       AS_A},
};
/* clang-format on */

const stn_rule_row *stn_rule_at(uint32_t index) {
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

const stn_rule_row *stn_rule_find(const char *op) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].op, op) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* One word of a formula; @p at moves behind it. */
static stn_expr word(stn_exprs *pool, const char **at, const stn_node *const *srcs) {
    stn_expr terms[4];
    stn_expr factors[4];
    size_t terms_count = 0;
    size_t first = 4; /* factors are filled from behind: the outermost stands first */
    for (; **at && **at != ' '; ++*at) {
        char c = **at;
        if (c == '1' || c == '?') {
            factors[--first] = c == '1' ? STN_EXPR_ONE : STN_EXPR_UNKNOWN;
        } else if (c >= 'a' && c <= 'j') {
            const stn_node *src = srcs[c - 'a'];
            factors[--first] = src ? src->dims[*++*at - '0'] : STN_EXPR_UNKNOWN;
        } else if (c == '+') {
            terms[terms_count++] = stn_expr_product(pool, factors + first, 4 - first);
            first = 4;
        }
    }
    terms[terms_count++] = stn_expr_product(pool, factors + first, 4 - first);
    *at += **at == ' ';
    return stn_expr_sum(pool, terms, terms_count);
}

static void by_row(stn_exprs *pool, const stn_rule_row *row, stn_node *node,
                   const stn_node *const *srcs) {
    if (!row->fn && !row->formula) {
        as_source(node, srcs[0]);
    } else if (row->fn) {
        row->fn(pool, node, srcs);
    } else {
        const char *at = row->formula;
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            node->why[d] = *at == '?' ? "its operation does not say" : "its source is unknown";
            node->dims[d] = word(pool, &at, srcs);
        }
    }
}

void stn_rule_apply(stn_exprs *pool, stn_node *node, const stn_node *const *srcs) {
    const stn_rule_row *row = stn_rule_find(node->op);
    bool known = row && (srcs[0] || (row->formula && row->formula[0] == '?'));
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        node->dims[d] = STN_EXPR_UNKNOWN;
        node->why[d] = row ? "it has no source" : "there is no rule for its operation";
    }
    if (known) {
        by_row(pool, row, node, srcs);
    }
    node->kind = row ? row->kind : STN_KIND_OTHER;
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        int64_t value;
        if (node->dims[d] != STN_EXPR_UNKNOWN &&
            (!stn_expr_eval(pool, node->dims[d], NULL, &value) || value != node->ne[d])) {
            node->dims[d] = STN_EXPR_UNKNOWN;
            node->why[d] = "its rule gives another size";
        } else if (node->dims[d] != STN_EXPR_UNKNOWN) {
            node->why[d] = NULL;
        } else if (!node->why[d]) {
            node->why[d] = "its source is unknown";
        }
    }
}
