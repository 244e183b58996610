/* The proof of the labels, for every architecture: a second build of the graph that differs in one
 * size of the request, or in one hyper-parameter, has exactly the sizes that the labels of the
 * first predict, on every dimension of every node. */
#include "engine_lab.h"

#include <jansson.h>

#include "llm/engine/capture.h"
#include "llm/ops/operation.h"
#include "llm/ops/taint.h"

static struct {
    bool there;
    char model[64], config[64];
} the;

static void write_model(const char *config) {
    stn_llm_plan plan;
    lab_plan(&plan, config, STN_GGUF_Q8_0);
    lab_write(&plan, the.model, false, 0);
    stn_llm_plan_fini(&plan);
}

static void capture(const char *config, const stn_llama_pass *pass, stn_captured *out) {
    stn_err err = {0};
    write_model(config);
    if (stn_capture_model(out, the.model, pass, &err) != STN_OK) {
        fail_msg("%s: %s", config, err.text);
    }
}

static void skip_without_engine(void) {
    if (!the.there) {
        skip();
    }
}

static int64_t *value_of(const stn_graph *graph, int64_t *values, const char *label) {
    for (size_t i = 0; i < graph->exprs.label_count; i++) {
        if (strcmp(graph->exprs.labels[i].name, label) == 0) {
            return &values[i];
        }
    }
    return NULL;
}

/* Cells that a pass looks at: those in use, in steps of 256. */
static int64_t cells_seen(const stn_llama_pass *pass) {
    uint32_t share = pass->unified ? pass->seqs : 1; /* whose cells lie in one cache */
    uint32_t most = pass->cells * (pass->unified ? pass->seqs_max : 1);
    uint32_t cells = (pass->cells_used * share + 255) / 256 * 256;
    return cells < most ? cells : most;
}

/* @p a, asked for @p from, against another build asked for @p to. */
static void compare(const char *config, const stn_captured *a, const stn_llama_pass *to) {
    stn_captured b;
    stn_err err = {0};
    int64_t values[256];
    capture(config, to, &b);
    assert_true(a->graph.exprs.label_count < 256);
    stn_taint_values(&a->graph, &b.graph, values);
    /* What the inputs say must be what was asked for; it is this that predicts. */
    int64_t *seqs = value_of(&a->graph, values, "n_seqs");
    assert_int_equal(*value_of(&a->graph, values, "n_tokens"), to->tokens);
    assert_int_equal(*value_of(&a->graph, values, "n_outputs"), to->outputs);
    assert_int_equal(*value_of(&a->graph, values, "n_kv"), cells_seen(to));
    assert_true(to->unified ? !seqs : seqs && *seqs == to->seqs);
    if (stn_taint_check(&a->graph, &b.graph, values, &err) != STN_OK) {
        fail_msg("%s: %s", config, err.text);
    }
    stn_captured_fini(&b);
}

static void two_requests(const char *config, void *user) {
    stn_llama_pass first = stn_capture_pass();
    first.unified = *(bool *)user;
    stn_llama_pass others[] = {first, first, first, first, first};
    stn_captured a;
    others[0].tokens = 66;
    others[1].seqs = 2;
    others[2].cells_used = 700;
    others[3].outputs = 11;
    others[4].tokens = others[4].seqs = others[4].outputs = 3; /* all decode */
    others[4].cells_used = 200;
    capture(config, &first, &a);
    if (stn_taint_unknown(&a.graph) != 0) {
        fail_msg("%s: %zu dimensions are unknown", config, stn_taint_unknown(&a.graph));
    }
    assert_true(a.passes > 1 && a.checked == a.passes - 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        compare(config, &a, &others[i]);
    }
    stn_captured_fini(&a);
}

static void another_request_has_the_sizes_that_were_predicted(void **state) {
    (void)state;
    skip_without_engine();
    bool unified = false;
    assert_true(lab_each(LAB_CONFIGS, two_requests, &unified) >= 11);
    unified = true;
    assert_true(lab_each(LAB_CONFIGS, two_requests, &unified) >= 11);
}

/* Hyper-parameters and another value of each; those that change how many operations there are
 * (layers, experts in use) cannot be compared node by node. */
static const struct {
    const char *key;
    int value;
} changes[] = {
    {"vocab_size", 300},
    {"intermediate_size", 160},
    {"num_key_value_heads", 4},
    {"num_local_experts", 16},
    {"num_experts", 16},
    {"n_routed_experts", 16},
    {"moe_intermediate_size", 64},
    {"q_lora_rank", 64},
    {"kv_lora_rank", 96},
    {"qk_nope_head_dim", 64},
    {"qk_rope_head_dim", 16},
    {"v_head_dim", 64},
    {"head_dim", 64},
    {"hidden_size", 128},
    {"num_attention_heads", 8},
};

static void two_models(const char *config, void *user) {
    stn_llama_pass pass = stn_capture_pass();
    stn_captured a;
    int *compared = user;
    capture(config, &pass, &a);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        json_t *root = json_load_file(config, 0, NULL);
        json_t *old = json_object_get(root, changes[i].key);
        stn_config parsed;
        stn_captured b;
        stn_err err = {0};
        int64_t values[256];
        if (old && json_integer_value(old) != changes[i].value) {
            json_object_set_new(root, changes[i].key, json_integer(changes[i].value));
            assert_int_equal(json_dump_file(root, the.config, 0), 0);
            if (stn_config_load(&parsed, the.config, &err) ==
                STN_OK) { /* some do not go together */
                capture(the.config, &pass, &b);
                stn_taint_values(&a.graph, &b.graph, values);
                if (stn_taint_check(&a.graph, &b.graph, values, &err) != STN_OK) {
                    fail_msg("%s with %s %d: %s", config, changes[i].key, changes[i].value,
                             err.text);
                }
                stn_captured_fini(&b);
                compared[i]++;
            }
        }
        json_decref(root);
    }
    stn_captured_fini(&a);
}

static void another_model_has_the_sizes_that_were_predicted(void **state) {
    (void)state;
    skip_without_engine();
    int compared[sizeof changes / sizeof *changes] = {0};
    assert_true(lab_each(LAB_CONFIGS, two_models, compared) >= 11);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (compared[i] == 0) {
            fail_msg("%s: no config has it", changes[i].key);
        }
    }
}

/* The check finds a label that is wrong by origin but right by size. */
static void a_guess_by_size_would_be_found(void **state) {
    (void)state;
    skip_without_engine();
    stn_llama_pass pass = stn_capture_pass();
    stn_captured a;
    stn_captured b;
    stn_err err = {0};
    int64_t values[256];
    pass.outputs = pass.seqs; /* equal sizes of different origin */
    capture(LAB_CONFIGS "/llama.json", &pass, &a);
    pass.outputs = 5;
    capture(LAB_CONFIGS "/llama.json", &pass, &b);
    stn_taint_values(&a.graph, &b.graph, values);
    assert_int_equal(stn_taint_check(&a.graph, &b.graph, values, &err), STN_OK);
    stn_expr outputs = stn_expr_find(&a.graph.exprs, "n_outputs");
    stn_expr seqs = stn_expr_find(&a.graph.exprs, "n_seqs");
    stn_node *logits = &a.graph.nodes[a.graph.node_count - 1];
    assert_int_equal(logits->dims[1], outputs);
    logits->dims[1] = seqs;
    assert_int_equal(stn_taint_check(&a.graph, &b.graph, values, &err), STN_ECHECK);
    assert_non_null(strstr(err.text, "(result_output, MUL_MAT): dimension 1: n_seqs = 3, but there "
                                     "it is 5"));
    stn_captured_fini(&a);
    stn_captured_fini(&b);
}

static void real_configs_are_known(const char *config, void *user) {
    stn_llama_pass pass = stn_capture_pass();
    stn_captured a;
    (void)user;
    capture(config, &pass, &a);
    if (stn_taint_unknown(&a.graph) != 0 || a.checked != a.passes - 1 ||
        a.peak_rss_bytes > (1u << 30)) {
        fail_msg("%s: %zu unknown, %zu of %zu passes, %llu bytes", config,
                 stn_taint_unknown(&a.graph), a.checked, a.passes,
                 (unsigned long long)a.peak_rss_bytes);
    }
    stn_captured_fini(&a);
}

static void real_configs_take_little(void **state) {
    (void)state;
    skip_without_engine();
    const char *shared = getenv("STN_SHARED");
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/data/llm/configs", shared ? shared : STN_SHARED_DIR);
    if (lab_each(folder, real_configs_are_known, NULL) < 0) {
        printf("skipped: ../shared not there\n");
        skip();
    }
}

static void kinds_and_layers(void **state) {
    (void)state;
    skip_without_engine();
    static const struct {
        const char *config;
        stn_kind kind;
        uint32_t count; /* of nodes */
    } rows[] = {
        {LAB_CONFIGS "/llama.json", STN_KIND_ATTENTION, 2},
        {LAB_CONFIGS "/llama.json", STN_KIND_ROPE, 4},
        {LAB_CONFIGS "/llama.json", STN_KIND_NORM, 5},
        {LAB_CONFIGS "/llama.json", STN_KIND_GEMM, 14},
        {LAB_CONFIGS "/llama.json", STN_KIND_ACTIVATION, 2},
        {LAB_CONFIGS "/llama.json", STN_KIND_EMBEDDING, 1},
        {LAB_CONFIGS "/llama.json", STN_KIND_HEAD, 3}, /* rows of two tensors, the logits */
        {LAB_CONFIGS "/llama.json", STN_KIND_COPY, 4}, /* keys and values into the cache */
        {LAB_CONFIGS "/llama.json", STN_KIND_MOE, 0},
        {LAB_CONFIGS "/qwen3.json", STN_KIND_NORM, 9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stn_llama_pass pass = stn_capture_pass();
        stn_captured a;
        stn_operations list;
        uint32_t count = 0;
        capture(rows[i].config, &pass, &a);
        assert_int_equal(stn_operations_init(&list, &a.graph, NULL), STN_OK);
        for (size_t n = 0; n < list.count; n++) {
            count += list.items[n].kind == rows[i].kind ? list.items[n].count : 0;
        }
        if (count != rows[i].count) {
            fail_msg("%s: %u %s, expected %u", rows[i].config, count, stn_kind_name(rows[i].kind),
                     rows[i].count);
        }
        stn_operations_fini(&list);
        stn_captured_fini(&a);
    }
}

static void what_cannot_be_captured_is_said(void **state) {
    (void)state;
    skip_without_engine();
    stn_captured a;
    stn_err err = {0};
    stn_llama_pass pass = stn_capture_pass();
    pass.tokens = 40;
    assert_int_equal(stn_capture_model(&a, the.model, &pass, &err), STN_ERANGE);
    assert_string_equal(err.text,
                        "40 tokens of 3 sequences: expected a multiple, of at most 4 sequences");
    pass = stn_capture_pass();
    pass.outputs = 43;
    assert_int_equal(stn_capture_model(&a, the.model, &pass, &err), STN_ERANGE);
    pass = stn_capture_pass();
    pass.cells_used = 2000;
    assert_int_equal(stn_capture_model(&a, the.model, &pass, &err), STN_ERANGE);
    pass = stn_capture_pass();
    FILE *file = fopen(the.model, "wb");
    fputs("GGUF but no more", file);
    fclose(file);
    assert_int_equal(stn_capture_model(&a, the.model, &pass, &err), STN_ECHECK);
    assert_non_null(strstr(err.text, "llama.cpp refuses it"));
    assert_null(strchr(err.text, '\n'));
}

static int begin(void **state) {
    (void)state;
    stn_captured a = {0};
    stn_err err = {0};
    stn_llama_pass pass = stn_capture_pass();
    snprintf(the.model, sizeof the.model, "/tmp/stn-capture-%d.gguf", (int)getpid());
    snprintf(the.config, sizeof the.config, "/tmp/stn-capture-%d.json", (int)getpid());
    write_model(LAB_CONFIGS "/llama.json");
    stn_status status = stn_capture_model(&a, the.model, &pass, &err);
    the.there = status != STN_EUNSUPPORTED && status != STN_ENOTFOUND;
    if (!the.there) {
        printf("skipped: %s\n", err.text);
    }
    stn_captured_fini(&a);
    return 0;
}

static int end(void **state) {
    (void)state;
    unlink(the.model);
    unlink(the.config);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_request_has_the_sizes_that_were_predicted),
        cmocka_unit_test(another_model_has_the_sizes_that_were_predicted),
        cmocka_unit_test(a_guess_by_size_would_be_found),
        cmocka_unit_test(real_configs_take_little),
        cmocka_unit_test(kinds_and_layers),
        cmocka_unit_test(what_cannot_be_captured_is_said),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
