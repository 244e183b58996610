/* What leaves are: hyper-parameters from metadata, weights and inputs by their names in GGUF and
 * llama.cpp. A row counts only if all its labels are there and it evaluates to the shape. */
#include <stdio.h>
#include <string.h>

#include "llm/ops/taint.h"

/* A hyper-parameter and the key that holds it. */
static const struct {
    const char *label, *key;
} metas[] = {
    {"n_embd", "embedding_length"},
    {"n_vocab", "vocab_size"},
    {"n_ff", "feed_forward_length"},
    {"n_head", "attention.head_count"},
    {"n_head_kv", "attention.head_count_kv"},
    {"n_rot", "rope.dimension_count"},
    {"n_expert", "expert_count"},
    {"n_expert_used", "expert_used_count"},
    {"n_ff_expert", "expert_feed_forward_length"},
    {"n_expert_shared", "expert_shared_count"},
    {"n_ff_shared", "expert_shared_feed_forward_length"},
    {"n_expert_groups", "expert_group_count"},
    {"n_expert_groups_used", "expert_group_used_count"},
    {"q_lora_rank", "attention.q_lora_rank"},
    {"kv_lora_rank", "attention.kv_lora_rank"},
};

typedef struct row {
    const char *name; /* behind "blk.<n>." */
    const char *dims[3];
} row;

/* clang-format off */
#define BOTH(name, dim) {name ".weight", {dim, NULL, NULL}}, {name ".bias", {dim, NULL, NULL}}
#define MATRIX(name, in, out) {name ".weight", {in, out, NULL}}, {name ".bias", {out, NULL, NULL}}
#define EXPERTS(name, in, out)                                                                    \
    {name ".weight", {in, out, "n_expert"}}, {name ".bias", {out, "n_expert", NULL}}
static const row weights[] = {
    {"token_embd.weight",        {"n_embd", "n_vocab", NULL}},
    {"output.weight",            {"n_embd", "n_vocab", NULL}},
    BOTH("output_norm", "n_embd"),
    BOTH("token_embd_norm", "n_embd"),
    {"rope_freqs.weight",        {"n_rot/2", NULL, NULL}},
    BOTH("attn_norm", "n_embd"),
    BOTH("ffn_norm", "n_embd"),
    BOTH("post_attention_norm", "n_embd"),
    BOTH("post_ffw_norm", "n_embd"),
    MATRIX("attn_q", "n_embd", "n_head*head_dim"),
    MATRIX("attn_k", "n_embd", "n_head_kv*head_dim"),
    MATRIX("attn_v", "n_embd", "n_head_kv*head_dim_v"),
    MATRIX("attn_v", "n_embd", "n_head_kv*head_dim"),
    MATRIX("attn_qkv", "n_embd", "n_head*head_dim+n_head_kv*head_dim+n_head_kv*head_dim"),
    MATRIX("attn_output", "n_head*v_head_dim", "n_embd"),
    MATRIX("attn_output", "n_head*head_dim_v", "n_embd"),
    MATRIX("attn_output", "n_head*head_dim", "n_embd"),
    {"attn_q_norm.weight",       {"head_dim", NULL, NULL}},
    {"attn_k_norm.weight",       {"head_dim", NULL, NULL}},
    {"attn_sinks.weight",        {"n_head", NULL, NULL}},
    {"attn_q_a.weight",          {"n_embd", "q_lora_rank", NULL}},
    {"attn_q_a_norm.weight",     {"q_lora_rank", NULL, NULL}},
    {"attn_q_b.weight",          {"q_lora_rank", "n_head*(qk_nope_dim+qk_rope_dim)", NULL}},
    {"attn_kv_a_mqa.weight",     {"n_embd", "kv_lora_rank+qk_rope_dim", NULL}},
    {"attn_kv_a_norm.weight",    {"kv_lora_rank", NULL, NULL}},
    {"attn_k_b.weight",          {"qk_nope_dim", "kv_lora_rank", "n_head"}},
    {"attn_v_b.weight",          {"kv_lora_rank", "v_head_dim", "n_head"}},
    {"attn_kv_b.weight",         {"kv_lora_rank", "n_head*(qk_nope_dim+v_head_dim)", NULL}},
    MATRIX("ffn_gate", "n_embd", "n_ff"),
    MATRIX("ffn_up", "n_embd", "n_ff"),
    MATRIX("ffn_down", "n_ff", "n_embd"),
    MATRIX("ffn_gate_inp", "n_embd", "n_expert"),
    {"exp_probs_b.bias",         {"n_expert", NULL, NULL}},
    EXPERTS("ffn_gate_exps", "n_embd", "n_ff_expert"),
    EXPERTS("ffn_up_exps", "n_embd", "n_ff_expert"),
    EXPERTS("ffn_down_exps", "n_ff_expert", "n_embd"),
    EXPERTS("ffn_gate_up_exps", "n_embd", "n_ff_expert+n_ff_expert"),
    MATRIX("ffn_gate_shexp", "n_embd", "n_ff_shared"),
    MATRIX("ffn_up_shexp", "n_embd", "n_ff_shared"),
    MATRIX("ffn_down_shexp", "n_ff_shared", "n_embd"),
    MATRIX("ffn_gate_shexp", "n_embd", "n_expert_shared*n_ff_expert"),
    MATRIX("ffn_up_shexp", "n_embd", "n_expert_shared*n_ff_expert"),
    MATRIX("ffn_down_shexp", "n_expert_shared*n_ff_expert", "n_embd"),
};

/* Inputs as llama.cpp names them; what the request fixes first. */
static const row inputs[] = {
    {"inp_tokens",               {"n_tokens", NULL, NULL}},
    {"inp_embd",                 {"n_embd", "n_tokens", NULL}},
    {"inp_pos",                  {"n_tokens", NULL, NULL}},
    {"inp_pos",                  {"4*n_tokens", NULL, NULL}},
    {"inp_attn_scale",           {"1", "1", "n_tokens"}},
    {"attn_inp_k_idxs",          {"n_tokens", NULL, NULL}},
    {"attn_inp_v_idxs",          {"n_tokens", NULL, NULL}},
    {"out_ids",                  {"n_outputs", NULL, NULL}},
    {"self_kq_mask",             {"n_tokens", "n_tokens", NULL}},
    {"mean",                     {"n_tokens", "n_seqs", NULL}},
    {"cls",                      {"n_seqs", NULL, NULL}},
};
/* clang-format on */

static void meta_label(stn_graph *graph, const char *label, int64_t value) {
    if (value > 0) {
        stn_expr_label(&graph->exprs, label, STN_ORIGIN_MODEL, value);
    }
}

/* Latent attention has heads of its own; what key_length says there is the compressed key. */
static void label_heads(stn_graph *graph) {
    int64_t heads = stn_graph_number(graph, "attention.head_count");
    int64_t embd = stn_graph_number(graph, "embedding_length");
    int64_t key = stn_graph_number(graph, "attention.key_length");
    int64_t value = stn_graph_number(graph, "attention.value_length");
    int64_t key_mla = stn_graph_number(graph, "attention.key_length_mla");
    int64_t rope = stn_graph_number(graph, "rope.dimension_count");
    if (key_mla) {
        meta_label(graph, "qk_rope_dim", rope);
        meta_label(graph, "qk_nope_dim", key_mla - rope);
        meta_label(graph, "v_head_dim", stn_graph_number(graph, "attention.value_length_mla"));
        return;
    }
    key = key ? key : heads ? embd / heads : 0;
    meta_label(graph, "head_dim", key);
    if (value && value != key) {
        meta_label(graph, "head_dim_v", value);
    }
    if (!stn_graph_number(graph, "attention.head_count_kv")) {
        meta_label(graph, "n_head_kv", heads);
    }
    meta_label(graph, "n_rot", rope ? rope : key);
}

static void label_model(stn_graph *graph) {
    for (size_t i = 0; i < sizeof metas / sizeof *metas; i++) {
        meta_label(graph, metas[i].label, stn_graph_number(graph, metas[i].key));
    }
    label_heads(graph);
    if (stn_graph_number(graph, "expert_count")) { /* where it is not said it is that of a layer */
        meta_label(graph, "n_ff_expert", stn_graph_number(graph, "feed_forward_length"));
    }
    for (size_t i = 0; i < graph->node_count; i++) { /* a tokenizer's words are in no number */
        if (strcmp(graph->nodes[i].name, "token_embd.weight") == 0) {
            meta_label(graph, "n_vocab", graph->nodes[i].ne[1]);
        }
    }
}

/* Does @p rows say what @p node is? Then label it. */
static bool by_row(stn_graph *graph, stn_node *node, const row *one) {
    stn_expr dims[STN_DIMS] = {STN_EXPR_ONE, STN_EXPR_ONE, STN_EXPR_ONE, STN_EXPR_ONE};
    stn_err unused;
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        int64_t value;
        if (d < 3 && one->dims[d] &&
            stn_expr_parse(&graph->exprs, one->dims[d], &dims[d], &unused) != STN_OK) {
            return false;
        }
        if (!stn_expr_eval(&graph->exprs, dims[d], NULL, &value) || value != node->ne[d]) {
            return false;
        }
    }
    memcpy(node->dims, dims, sizeof dims);
    memset(node->why, 0, sizeof node->why);
    return true;
}

static bool by_name(stn_graph *graph, stn_node *node, const row *rows, size_t count,
                    const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0 && by_row(graph, node, &rows[i])) {
            return true;
        }
    }
    return false;
}

static const char *behind_block(const char *name) {
    int used = 0;
    return sscanf(name, "blk.%*d.%n", &used) == 0 && used ? name + used : name;
}

/* The model's, whatever it stands for: a label of the weight's own name. */
static void own_labels(stn_graph *graph, stn_node *node) {
    char name[120];
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        snprintf(name, sizeof name, "%.100s.%u", node->name, d);
        for (char *c = name; *c; c++) {
            bool fine = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                        *c == '.' || (c > name && *c >= '0' && *c <= '9');
            *c = fine ? *c : '_';
        }
        node->dims[d] = node->ne[d] == 1
                            ? STN_EXPR_ONE
                            : stn_expr_label(&graph->exprs, name, STN_ORIGIN_MODEL, node->ne[d]);
        node->why[d] = NULL;
    }
}

/* Beyond the last size there is nothing; what lies before it is not known. */
static void unknown_leaf(stn_node *node) {
    uint32_t used = STN_DIMS;
    while (used > 1 && node->ne[used - 1] == 1) {
        used--;
    }
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        node->dims[d] = d < used ? STN_EXPR_UNKNOWN : STN_EXPR_ONE;
        node->why[d] = d < used ? "an input that nothing names" : NULL;
    }
}

/* ---- caches and their masks ------------------------------------------ */

/* The leaf that @p at looks at, through views and copies. */
static uint32_t root_of(const stn_graph *graph, uint32_t at) {
    static const char *const through[] = {"VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE", "CPY",
                                          "CONT", "DUP",     "SCALE",   "ADD",       "UNARY"};
    while (at != STN_NO_NODE && stn_node_computed(&graph->nodes[at])) {
        bool pass = false;
        for (size_t i = 0; i < sizeof through / sizeof *through; i++) {
            pass = pass || strcmp(graph->nodes[at].op, through[i]) == 0;
        }
        if (!pass) {
            break;
        }
        at = graph->nodes[at].src[0];
    }
    return at;
}

/* An attention and the mask and caches it works on; false if @p node is none. */
static bool attention_of(const stn_graph *graph, const stn_node *node, uint32_t *mask,
                         uint32_t caches[2]) {
    caches[1] = STN_NO_NODE;
    if (strcmp(node->op, "FLASH_ATTN_EXT") == 0) {
        *mask = root_of(graph, node->src[3]);
        caches[0] = root_of(graph, node->src[1]);
        caches[1] = root_of(graph, node->src[2]);
    } else if (strcmp(node->op, "SOFT_MAX") == 0 && node->src[1] != STN_NO_NODE) {
        uint32_t product = root_of(graph, node->src[0]);
        *mask = root_of(graph, node->src[1]);
        caches[0] =
            product != STN_NO_NODE ? root_of(graph, graph->nodes[product].src[0]) : STN_NO_NODE;
    } else {
        return false;
    }
    return *mask != STN_NO_NODE && caches[0] != STN_NO_NODE;
}

static bool is_cache(const stn_node *node) {
    return strncmp(node->name, "cache_", 6) == 0 && (node->flags & STN_NODE_LEAF);
}

typedef struct cache_kind {
    uint32_t mask;
    int64_t cells;
} cache_kind;

/* The masks of the pass, that of the cache with most cells first: of a model with windows the
 * other is the windows'. @return how many, at most 2 */
static uint32_t find_kinds(const stn_graph *graph, cache_kind kinds[2]) {
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        uint32_t mask;
        uint32_t caches[2];
        if (!attention_of(graph, &graph->nodes[i], &mask, caches) ||
            !is_cache(&graph->nodes[caches[0]])) {
            continue;
        }
        bool known = false;
        for (uint32_t k = 0; k < count; k++) {
            known = known || kinds[k].mask == mask;
        }
        if (!known && count < 2) {
            kinds[count++] = (cache_kind){mask, graph->nodes[caches[0]].ne[1]};
        }
    }
    if (count == 2 && kinds[1].cells > kinds[0].cells) {
        cache_kind first = kinds[0];
        kinds[0] = kinds[1];
        kinds[1] = first;
    }
    return count;
}

static void label_cache(stn_graph *graph, stn_node *cache, const char *cells) {
    row rows[] = {{"", {"kv_lora_rank+qk_rope_dim", cells, "1"}},
                  {"", {"n_head_kv*head_dim_v", cells, "1"}},
                  {"", {"n_head_kv*head_dim", cells, "1"}}};
    stn_expr_label(&graph->exprs, cells, STN_ORIGIN_CONTEXT, cache->ne[1]);
    bool values = strncmp(cache->name, "cache_v", 7) == 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].dims[2] = cache->ne[2] > 1 ? "n_seq_max" : "1";
        if ((i != 1 || values) && by_row(graph, cache, &rows[i])) {
            return;
        }
    }
    own_labels(graph, cache);
}

static void label_caches(stn_graph *graph) {
    static const char *const cells[] = {"n_ctx_seq", "n_ctx_swa"};
    static const char *const used[] = {"n_kv", "n_kv_swa"};
    cache_kind kinds[2];
    uint32_t count = find_kinds(graph, kinds);
    for (uint32_t k = 0; k < count; k++) {
        const stn_node *mask = &graph->nodes[kinds[k].mask];
        stn_expr_label(&graph->exprs, used[k], STN_ORIGIN_REQUEST, mask->ne[0]);
        for (size_t i = 0; i < graph->node_count; i++) {
            uint32_t own;
            uint32_t caches[2];
            if (!attention_of(graph, &graph->nodes[i], &own, caches) || own != kinds[k].mask) {
                continue;
            }
            for (uint32_t c = 0; c < 2; c++) {
                if (caches[c] != STN_NO_NODE && is_cache(&graph->nodes[caches[c]])) {
                    stn_node *cache = &graph->nodes[caches[c]];
                    if (cache->ne[2] > 1) { /* a stream a sequence; else all share one */
                        stn_expr_label(&graph->exprs, "n_seq_max", STN_ORIGIN_CONTEXT,
                                       cache->ne[2]);
                        stn_expr_label(&graph->exprs, "n_seqs", STN_ORIGIN_REQUEST, mask->ne[3]);
                    }
                    label_cache(graph, cache, cells[k]);
                }
            }
        }
        bool streams = stn_expr_find(&graph->exprs, "n_seqs") != STN_EXPR_UNKNOWN;
        row one = {"", {used[k], streams ? "n_tokens/n_seqs" : "n_tokens", "1"}};
        stn_node *node = &graph->nodes[kinds[k].mask];
        stn_node flat = *node; /* a row has three dimensions, a mask a fourth */
        flat.ne[3] = 1;
        if (by_row(graph, &flat, &one)) {
            memcpy(node->dims, flat.dims, sizeof node->dims);
            node->dims[3] = streams ? stn_expr_find(&graph->exprs, "n_seqs") : STN_EXPR_ONE;
            memset(node->why, 0, sizeof node->why);
        }
    }
}

/* Sizes of the request, each from the input that has it. */
static void label_request(stn_graph *graph) {
    static const struct {
        const char *label, *input;
        uint32_t dim;
    } rows[] = {{"n_tokens", "inp_tokens", 0},
                {"n_tokens", "inp_embd", 1},
                {"n_tokens", "inp_pos", 0},
                {"n_outputs", "out_ids", 0},
                {"n_seqs", "cls", 0}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (size_t i = 0; i < graph->node_count; i++) {
            const stn_node *node = &graph->nodes[i];
            if ((node->flags & STN_NODE_LEAF) && strcmp(node->name, rows[r].input) == 0) {
                stn_expr_label(&graph->exprs, rows[r].label, STN_ORIGIN_REQUEST,
                               node->ne[rows[r].dim]);
            }
        }
    }
}

void stn_sources_label(stn_graph *graph) {
    label_model(graph);
    label_request(graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        if (!stn_node_computed(&graph->nodes[i])) {
            unknown_leaf(&graph->nodes[i]);
        }
    }
    label_caches(graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        stn_node *node = &graph->nodes[i];
        if (stn_node_computed(node) || node->dims[0] != STN_EXPR_UNKNOWN) {
            continue;
        }
        if (!by_name(graph, node, inputs, sizeof inputs / sizeof *inputs, node->name) &&
            !by_name(graph, node, weights, sizeof weights / sizeof *weights,
                     behind_block(node->name)) &&
            (node->flags & STN_NODE_WEIGHT)) {
            own_labels(graph, node);
        }
    }
}
