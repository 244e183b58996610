/* From what the shim writes to a labelled graph, its operations, its file and back. */
#include "ops_lab.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "llm/ops/file.h"
#include "llm/ops/operation.h"
#include "llm/ops/raw.h"
#include "llm/ops/taint.h"

#define META                                                                                       \
    "{\"meta\":{\"general.architecture\":\"llama\",\"llama.embedding_length\":\"8\","              \
    "\"llama.attention.head_count\":\"2\",\"llama.vocab_size\":\"32\"}}\n"
#define LEAF(name, type, ne, nb, more)                                                             \
    "{\"name\":\"" name "\",\"op\":\"NONE\",\"desc\":\"NONE\",\"type\":\"" type                    \
    "\",\"block\":1,\"ne\":[" ne "],\"nb\":[" nb "],\"params\":[],\"src\":[],\"view\":-1,"         \
    "\"offset\":0," more "}"
#define NODE(name, op, ne, nb, src)                                                                \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"desc\":\"" op                                      \
    "\",\"type\":\"f32\",\"block\":1,\"ne\":[" ne "],\"nb\":[" nb "],\"params\":[],\"src\":[" src  \
    "],\"view\":-1,\"offset\":0,\"input\":false,\"weight\":false}"
#define WEIGHT "\"input\":false,\"weight\":true"
#define INPUT  "\"input\":true,\"weight\":false"
/* Two layers of a norm, a product with a weight that nobody knows, and something unknown. @p T is
 * the number of tokens, @p S of bytes of a row of them. */
#define PASS(T, S)                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        \
    "{\"ggml\":\"1.2\",\"tensors\":[" LEAF(                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
        "token_embd.weight", "f32", "8,32,1,1", "4,32,1024,1024",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         \
        WEIGHT) "," LEAF("inp_tokens", "i32", T ",1,1,1", "4," S "," S "," S,                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             \
                         INPUT) "," NODE("embd", "GET_ROWS", "8," T ",1,1", "4,32,999,999",                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
                                         "0,1") "," LEAF("blk.0.attn_norm.weight",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        \
                                                         "f32", "8,1,1,1", "4,32,32,32", WEIGHT) "," NODE("norm-0", "RMS_NORM", "8," T ",1,1", "4,32,999,999", "2") "," NODE("attn_norm-0", "MUL", "8," T ",1,1", "4,32,999,999", "4,3") "," LEAF("blk.0.odd.weight", "f32", "8,5,1,1", "4,32,160,160", WEIGHT) "," NODE("odd-0",                                                                                                                                                                                                                                         \
                                                                                                                                                                                                                                                                                                                         "MUL_MAT", "5," T ",1,1", "4,20,999,999", "6,5") "," LEAF("strange",                                                                                                                                                                             \
                                                                                                                                                                                                                                                                                                                                                                                   "f32",                                                                                                                                                                                 \
                                                                                                                                                                                                                                                                                                                                                                                   "3,1,1,1",                                                                                                                                                                             \
                                                                                                                                                                                                                                                                                                                                                                                   "4,12,12,12",                                                                                                                                                                          \
                                                                                                                                                                                                                                                                                                                                                                                   INPUT) "," NODE("lost-0", "SQR", "3,1,1,1", "4,12,12,12", "8") "," LEAF("blk.1.attn_norm.weight",                                                                                      \
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "f32",                                                                                                         \
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "8,1,1,1",                                                                                                     \
                                                                                                                                                                                                                                                                                                                                                                                                                                                           "4,32,32,32",                                                                                                  \
                                                                                                                                                                                                                                                                                                                                                                                                                                                           WEIGHT) "," NODE("norm-1",                                                                                     \
                                                                                                                                                                                                                                                                                                                                                                                                                                                                            "RMS_NORM", "8," T ",1,1", "4,32,999,999", "2") "," NODE("attn_norm-1", "MUL", "8," T ",1,1", \
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     "4,32,999,999",                      \
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     "11,10") "]}\n"

static void read_raw(stn_raw *raw, const char *text) {
    stn_err err = {0};
    memset(raw, 0, sizeof *raw);
    if (stn_raw_read(raw, text, strlen(text), "t", &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
}

static void passes_are_labelled(void **state) {
    (void)state;
    static const struct {
        uint32_t node;
        const char *dims;
        int32_t layer;
        stn_kind kind;
    } rows[] = {
        {0, "n_embd n_vocab", -1, STN_KIND_NONE},
        {1, "n_tokens", -1, STN_KIND_NONE},
        {2, "n_embd n_tokens", -1, STN_KIND_EMBEDDING},
        {5, "n_embd n_tokens", 0, STN_KIND_NORM},
        {6, "blk.0.odd.weight.0 blk.0.odd.weight.1", 0, STN_KIND_NONE},
        {7, "blk.0.odd.weight.1 n_tokens", 0, STN_KIND_GEMM},
        {8, "?", -1, STN_KIND_NONE},
        {9, "?", 0, STN_KIND_ELEMENTWISE},
        {12, "n_embd n_tokens", 1, STN_KIND_NORM},
    };
    stn_raw raw;
    char text[256];
    read_raw(&raw, META PASS("6", "24"));
    stn_graph *graph = &raw.passes[0];
    assert_int_equal(stn_taint(graph, NULL), STN_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const stn_node *node = &graph->nodes[rows[i].node];
        assert_string_equal(lab_dims(&graph->exprs, node->dims, text, sizeof text), rows[i].dims);
        assert_int_equal(node->layer, rows[i].layer);
        assert_int_equal(node->kind, rows[i].kind);
    }
    assert_int_equal(stn_taint_unknown(graph), 2);
    assert_string_equal(graph->nodes[8].why[0], "an input that nothing names");
    assert_string_equal(stn_graph_meta(graph, "vocab_size"), "32");
    assert_null(stn_graph_meta(graph, "block_count"));
    stn_raw_fini(&raw);
}

static void another_pass_is_predicted_or_not(void **state) {
    (void)state;
    stn_raw raw;
    stn_err err = {0};
    int64_t values[32];
    read_raw(&raw, META PASS("6", "24"));
    const char *more[] = {META PASS("1", "4"), META PASS("9", "36")};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(stn_raw_read(&raw, more[i], strlen(more[i]), "t", NULL), STN_OK);
    }
    assert_int_equal(raw.count, 3);
    assert_int_equal(stn_raw_fullest(&raw), 2); /* the fewest ones, then the largest */
    assert_int_equal(stn_raw_fullest_like(&raw, 1), 2);
    stn_graph *a = &raw.passes[0];
    stn_graph *b = &raw.passes[2];
    assert_int_equal(stn_taint(a, NULL), STN_OK);
    stn_sources_label(b);
    stn_taint_values(a, b, values);
    assert_int_equal(stn_taint_check(a, b, values, &err), STN_OK);
    b->nodes[5].ne[1] = 10;
    assert_int_equal(stn_taint_check(a, b, values, &err), STN_ECHECK);
    assert_string_equal(err.text, "node 5 (attn_norm-0, MUL): dimension 1: n_tokens = 9, but there "
                                  "it is 10");
    b->nodes[5].ne[1] = 9;
    stn_taint_move(a, b, values);
    assert_int_equal(a->nodes[12].ne[1], 9);
    int64_t value;
    assert_true(stn_expr_eval(&a->exprs, a->nodes[12].dims[1], NULL, &value) && value == 9);
    b->nodes[4].op = "NORM";
    assert_int_equal(stn_taint_check(a, b, values, &err), STN_ECHECK);
    b->node_count--;
    assert_int_equal(stn_taint_check(a, b, values, &err), STN_ECHECK);
    assert_string_equal(err.text, "one pass has 13 nodes, the other 12");
    stn_raw_fini(&raw);
}

static void operations_are_distinct(void **state) {
    (void)state;
    stn_raw raw;
    stn_operations list;
    read_raw(&raw, META PASS("6", "24"));
    assert_int_equal(stn_taint(&raw.passes[0], NULL), STN_OK);
    assert_int_equal(stn_operations_init(&list, &raw.passes[0], NULL), STN_OK);
    static const char *const expected[] = {
        "GET_ROWS f32[8,32] i32[n_tokens] -> f32[8,n_tokens]",
        "RMS_NORM+MUL f32[8,n_tokens] f32[8] -> f32[8,n_tokens]",
        "MUL_MAT f32[8,5] f32[8,n_tokens] -> f32[5,n_tokens]",
        "SQR f32[?] -> f32[?]",
    };
    assert_int_equal(list.count, 4);
    for (size_t i = 0; i < list.count; i++) {
        assert_string_equal(list.items[i].signature, expected[i]);
    }
    assert_int_equal(list.items[1].count, 2);
    assert_int_equal(list.items[1].layer_count, 2);
    assert_int_equal(list.items[1].layers[1], 1);
    stn_operations_fini(&list);
    stn_raw_fini(&raw);
}

static void a_file_comes_back_as_it_was(void **state) {
    (void)state;
    char path[64];
    stn_raw raw;
    stn_graph back;
    stn_err err = {0};
    snprintf(path, sizeof path, "/tmp/stn-graph-%d.json", (int)getpid());
    read_raw(&raw, META PASS("6", "24"));
    stn_graph *graph = &raw.passes[0];
    assert_int_equal(stn_taint(graph, NULL), STN_OK);
    assert_int_equal(stn_graph_write(graph, path, &err), STN_OK);
    if (stn_graph_read(&back, path, &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(back.node_count, graph->node_count);
    for (size_t i = 0; i < back.node_count; i++) {
        char a[256];
        char b[256];
        assert_string_equal(back.nodes[i].name, graph->nodes[i].name);
        assert_string_equal(back.nodes[i].op, graph->nodes[i].op);
        assert_int_equal(back.nodes[i].flags, graph->nodes[i].flags);
        assert_int_equal(back.nodes[i].kind, graph->nodes[i].kind);
        assert_int_equal(back.nodes[i].layer, graph->nodes[i].layer);
        assert_memory_equal(back.nodes[i].src, graph->nodes[i].src, sizeof graph->nodes[i].src);
        assert_memory_equal(back.nodes[i].ne, graph->nodes[i].ne, sizeof graph->nodes[i].ne);
        assert_string_equal(lab_dims(&back.exprs, back.nodes[i].dims, a, sizeof a),
                            lab_dims(&graph->exprs, graph->nodes[i].dims, b, sizeof b));
    }
    assert_string_equal(stn_graph_meta(&back, "general.architecture"), "llama");
    assert_int_equal(stn_graph_write(graph, "/nowhere/t.json", &err), STN_EIO);
    stn_graph_fini(&back);
    stn_raw_fini(&raw);
    unlink(path);
}

static void what_is_no_graph_is_said(void **state) {
    (void)state;
#define HEAD "{\"format\":\"standin-opgraph\",\"version\":1,\"labels\":[],\"nodes\":["
#define N(more)                                                                                    \
    "{\"name\":\"a\",\"op\":\"ADD\",\"desc\":\"ADD\",\"kind\":\"gemm\",\"type\":\"f32\"," more "}" \
    "]"                                                                                            \
    "}"
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{", "t: line 1: string or '}' expected near end of file"},
        {"[]", "t: is no op graph: expected \"format\": \"standin-opgraph\""},
        {"{\"format\":\"standin-opgraph\",\"version\":2}",
         "t: is an op graph of version 2; known is 1"},
        {"{\"format\":\"standin-opgraph\",\"version\":1,\"labels\":[{\"name\":\"1\"}]}",
         "t: label 0: expected a name, an origin and a positive value"},
        {HEAD "{}]}", "t: node 0: expected name, op, desc, type and a known kind"},
        {HEAD N("\"inputs\":[0]"), "t: node 0: inputs: expected earlier nodes"},
        {HEAD N("\"dims\":[\"2\"]"), "t: node 0: dims and size: expected one to four of both"},
        {HEAD N("\"dims\":[\"2\"],\"size\":[0]"),
         "t: node 0: dims and size: expected texts and positive numbers"},
        {HEAD N("\"dims\":[\"n_x\"],\"size\":[2]"),
         "t: node 0: \"n_x\": column 1: expected a label of the graph"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stn_graph graph;
        stn_err err = {0};
        assert_int_equal(stn_graph_parse(&graph, bad[i].text, strlen(bad[i].text), "t", &err),
                         STN_EFORMAT);
        assert_string_equal(err.text, bad[i].message);
    }
    stn_graph graph;
    assert_int_equal(stn_graph_read(&graph, "/nowhere/t.json", NULL), STN_EIO);
}

static void what_is_no_capture_is_said(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        stn_status status;
    } bad[] = {
        {META "{\"tens", "t: line 2: premature end of input near '\"tens'", STN_EFORMAT},
        {"{}\n", "t: line 1: expected meta, tensors or error", STN_EFORMAT},
        {"{\"error\":\"too old\"}\n", "t: line 1: too old", STN_EUNSUPPORTED},
        {"{\"tensors\":[{}]}\n", "t: line 1: tensor 0: expected name, op, desc and type",
         STN_EFORMAT},
        {"{\"tensors\":[" NODE("a", "ADD", "1,1,1", "", "") "]}\n",
         "t: line 1: tensor 0: ne: expected four positive numbers", STN_EFORMAT},
        {"{\"tensors\":[" NODE("a", "ADD", "1,1,1,1", "4,4,4", "") "]}\n",
         "t: line 1: tensor 0: nb: expected four numbers", STN_EFORMAT},
        {"{\"tensors\":[" NODE("a", "ADD", "1,1,1,1", "4,4,4,4", "0") "]}\n",
         "t: line 1: tensor 0: src: expected at most 10 earlier tensors", STN_EFORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stn_raw raw = {0};
        stn_err err = {0};
        assert_int_equal(stn_raw_read(&raw, bad[i].text, strlen(bad[i].text), "t", &err),
                         bad[i].status);
        assert_string_equal(err.text, bad[i].message);
        stn_raw_fini(&raw);
    }
}

static void every_failing_allocation_is_said(void **state) {
    (void)state;
    const char *text = META PASS("6", "24");
    bool whole = false;
    for (uint64_t nth = 1; !whole; nth++) {
        stn_raw raw = {0};
        stn_operations list = {0};
        stn_alloc_fail_at(nth);
        stn_status status = stn_raw_read(&raw, text, strlen(text), "t", NULL);
        if (status == STN_OK) {
            status = stn_taint(&raw.passes[0], NULL);
        }
        if (status == STN_OK) {
            status = stn_operations_init(&list, &raw.passes[0], NULL);
        }
        stn_alloc_fail_at(0);
        whole = status == STN_OK;
        assert_true(whole || status == STN_ENOMEM);
        stn_operations_fini(&list);
        stn_raw_fini(&raw);
        assert_true(nth < 2000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_labelled),
        cmocka_unit_test(another_pass_is_predicted_or_not),
        cmocka_unit_test(operations_are_distinct),
        cmocka_unit_test(a_file_comes_back_as_it_was),
        cmocka_unit_test(what_is_no_graph_is_said),
        cmocka_unit_test(what_is_no_capture_is_said),
        cmocka_unit_test(every_failing_allocation_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
