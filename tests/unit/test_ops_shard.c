/* Sharded graphs: nothing but collectives comes in, every node still fits its sources, what crosses
 * ranks and stages is what arithmetic says. */
#include "ops_lab.h"

#include "core/base/alloc.h"
#include "llm/ops/file.h"
#include "llm/ops/rules.h"
#include "llm/ops/shard.h"

#define GRAPHS STN_SOURCE_DIR "/tests/fuzz/corpus/opgraph/"

typedef struct row {
    const char *graph;
    stn_sharding by;
    uint32_t reduce, gather, exchange, send; /* collectives of each kind */
} row;

/* Two layers of llama and gpt-oss, three of DeepSeek with one dense. A reduction for the embedding
 * and for attention and feed-forward of each layer. */
static const row rows[] = {
    {"llama", {2, 1, 1}, 5, 1, 0, 0},
    {"llama", {4, 1, 1}, 5, 1, 0, 0}, /* two key heads: one a rank */
    {"llama", {1, 1, 2}, 0, 0, 0, 1},
    {"llama", {2, 1, 2}, 5, 1, 0, 1},
    {"gpt_oss", {2, 1, 1}, 5, 1, 0, 0}, /* biases are added on one rank */
    {"gpt_oss", {1, 4, 1}, 0, 0, 4, 0}, /* to the experts and back, each layer */
    {"gpt_oss", {1, 2, 2}, 0, 0, 4, 1},
    {"deepseek_v3", {4, 1, 1}, 7, 1, 0, 0},
    {"deepseek_v3", {1, 8, 1}, 0, 0, 4, 0},
    {"deepseek_v3", {1, 1, 3}, 0, 0, 0, 2},
};

static void load(stn_graph *graph, const char *name) {
    char path[1024];
    stn_err err = {0};
    snprintf(path, sizeof path, "%s%s", GRAPHS, name);
    if (stn_graph_read(graph, path, &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
}

static uint32_t count_of(const stn_graph *graph, const char *op) {
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        count += strcmp(graph->nodes[i].op, op) == 0;
    }
    return count;
}

/* The sizes of @p node are those that its rule gives for its sources. */
static void fits(stn_graph *graph, const row *r, const stn_node *node) {
    const stn_node *srcs[STN_SRCS] = {NULL};
    stn_node again = *node;
    for (uint32_t s = 0; s < STN_SRCS; s++) {
        srcs[s] = node->src[s] == STN_NO_NODE ? NULL : &graph->nodes[node->src[s]];
    }
    const stn_rule_row *rule = stn_rule_find(node->op);
    assert_non_null(rule);
    if (rule->fn && strcmp(node->op, "CONCAT") != 0 && strcmp(node->op, "PERMUTE") != 0) {
        return; /* strides are not in a file */
    }
    stn_rule_apply(&graph->exprs, &again, srcs);
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        if (again.dims[d] == STN_EXPR_UNKNOWN) {
            fail_msg("%s tp %u ep %u: %s (%s), dimension %u: %s", r->graph, r->by.tp, r->by.ep,
                     node->name, node->op, d, again.why[d]);
        }
    }
    bool product = strncmp(node->op, "MUL_MAT", 7) == 0;
    if (product && srcs[0]->ne[0] != srcs[1]->ne[0]) {
        fail_msg("%s tp %u ep %u: %s: %lld by %lld", r->graph, r->by.tp, r->by.ep, node->name,
                 (long long)srcs[0]->ne[0], (long long)srcs[1]->ne[0]);
    }
}

static int64_t values_of(const stn_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->node_count; i++) {
        const int64_t *ne = graph->nodes[i].ne;
        if (strcmp(graph->nodes[i].name, name) == 0) {
            return ne[0] * ne[1] * ne[2] * ne[3];
        }
    }
    return 0;
}

static void every_node_fits_its_sources(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        stn_graph whole;
        stn_graph part;
        stn_err err = {0};
        load(&whole, r->graph);
        load(&part, r->graph);
        if (stn_shard(&part, &r->by, &err) != STN_OK) {
            fail_msg("row %zu: %s", i, err.text);
        }
        size_t at = 0;
        int32_t stage = 0;
        for (size_t n = 0; n < part.node_count; n++) {
            const stn_node *node = &part.nodes[n];
            if (node->kind == STN_KIND_COLLECTIVE) {
                stage = node->stage > stage ? node->stage : stage;
                continue;
            }
            assert_string_equal(node->op, whole.nodes[at].op);
            assert_string_equal(node->name, whole.nodes[at++].name);
            stage = node->stage > stage ? node->stage : stage;
            if (stn_node_computed(node)) {
                fits(&part, r, node);
            }
        }
        assert_int_equal(at, whole.node_count);
        assert_int_equal(stage, (int32_t)r->by.pp - 1);
        if (count_of(&part, "ALL_REDUCE") != r->reduce ||
            count_of(&part, "ALL_GATHER") != r->gather ||
            count_of(&part, "ALL_TO_ALL") != r->exchange ||
            count_of(&part, "SEND_RECV") != r->send) {
            fail_msg("row %zu: %u ALL_REDUCE, %u ALL_GATHER, %u ALL_TO_ALL, %u SEND_RECV", i,
                     count_of(&part, "ALL_REDUCE"), count_of(&part, "ALL_GATHER"),
                     count_of(&part, "ALL_TO_ALL"), count_of(&part, "SEND_RECV"));
        }
        const char *weight =
            strcmp(r->graph, "llama") == 0 ? "blk.1.ffn_up.weight" : "blk.1.ffn_up_exps.weight";
        assert_int_equal(values_of(&part, weight) * r->by.tp * r->by.ep, values_of(&whole, weight));
        stn_graph_fini(&whole);
        stn_graph_fini(&part);
    }
}

static void what_does_not_divide_is_said(void **state) {
    (void)state;
    static const struct {
        const char *graph;
        stn_sharding by;
        const char *message;
    } bad[] = {
        {"llama", {3, 1, 1}, "n_head 4 cannot be cut for 3 ranks"},
        {"llama", {1, 2, 1}, "--ep 2: the model has no experts"},
        {"gpt_oss", {1, 3, 1}, "n_expert 4 cannot be cut for 3 ranks"},
        {"gpt_oss",
         {2, 2, 1},
         "--ep 2 beside --tp 2: experts are spread over ranks that each have all of the rest; "
         "expected one of them"},
        {"llama", {1, 1, 3}, "--pp 3: there are 2 layers"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stn_graph graph;
        stn_err err = {0};
        load(&graph, bad[i].graph);
        assert_int_equal(stn_shard(&graph, &bad[i].by, &err), STN_ERANGE);
        assert_string_equal(err.text, bad[i].message);
        stn_graph_fini(&graph);
    }
    stn_graph graph;
    stn_err err = {0};
    stn_sharding by = {2, 1, 1};
    load(&graph, "llama");
    assert_int_equal(stn_shard(&graph, &by, &err), STN_OK);
    assert_int_equal(stn_shard(&graph, &by, &err), STN_ERANGE);
    assert_string_equal(err.text, "is sharded already");
    stn_graph_fini(&graph);
}

static void every_failing_allocation_is_said(void **state) {
    (void)state;
    bool whole = false;
    for (uint64_t nth = 1; !whole; nth++) {
        stn_graph graph;
        stn_sharding by = {2, 1, 2};
        load(&graph, "llama");
        stn_alloc_fail_at(nth);
        stn_status status = stn_shard(&graph, &by, NULL);
        stn_alloc_fail_at(0);
        whole = status == STN_OK;
        assert_true(whole || status == STN_ENOMEM);
        stn_graph_fini(&graph);
        assert_true(nth < 2000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_fits_its_sources),
        cmocka_unit_test(what_does_not_divide_is_said),
        cmocka_unit_test(every_failing_allocation_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
