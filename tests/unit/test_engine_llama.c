/* llama.cpp itself over what is written: every architecture loads, with the values of its config
 * and every tensor; with random weights it runs and its logits are numbers. */
#include "engine_lab.h"

#include "llm/engine/llama.h"

typedef struct lab {
    stn_llama *llama;
    char out[64];
} lab;

static lab the;

/* Load @p path's model without weights and compare what llama.cpp makes of it. */
static void inspect(const char *path, void *user) {
    stn_llm_plan plan;
    stn_llama_facts facts;
    stn_err err = {0};
    lab_plan(&plan, path, *(const stn_gguf_type *)user);
    lab_write(&plan, the.out, false, 0);
    if (stn_llama_inspect(the.llama, the.out, &facts, &err) != STN_OK) {
        fail_msg("%s: %s", path, err.text);
    }
    const double *v = plan.config.values;
    if (facts.parameters != plan.parameters || facts.bytes != plan.weight_bytes ||
        facts.vocab != (int32_t)v[STN_V_VOCAB] || facts.embd != (int32_t)v[STN_V_EMBD] ||
        facts.layers != (int32_t)v[STN_V_LAYERS] || facts.heads != (int32_t)v[STN_V_HEADS] ||
        facts.heads_kv != (int32_t)v[STN_V_HEADS_KV] ||
        facts.context != (int32_t)v[STN_V_CONTEXT]) {
        fail_msg("%s: llama.cpp sees another model: %s", path, facts.description);
    }
    stn_llm_plan_fini(&plan);
}

static void run(const char *path, void *user) {
    stn_llm_plan plan;
    stn_err err = {0};
    float largest;
    lab_plan(&plan, path, *(const stn_gguf_type *)user);
    lab_write(&plan, the.out, true, 1);
    if (stn_llama_try(the.llama, the.out, 8, &largest, &err) != STN_OK) {
        fail_msg("%s: %s", path, err.text);
    }
    assert_true(largest > 0.001F && largest < 1e4F);
    stn_llm_plan_fini(&plan);
}

static void skip_without_engine(void) {
    if (!the.llama) {
        skip();
    }
}

static void every_architecture_loads(void **state) {
    (void)state;
    skip_without_engine();
    stn_gguf_type type;
    for (uint32_t i = 0; stn_quant_name(i); i++) {
        assert_int_equal(stn_quant_find(stn_quant_name(i), &type), STN_OK);
        assert_true(lab_each(LAB_CONFIGS, inspect, &type) >= 11);
    }
}

static void every_architecture_runs(void **state) {
    (void)state;
    skip_without_engine();
    stn_gguf_type type;
    for (uint32_t i = 0; stn_quant_name(i); i++) {
        assert_int_equal(stn_quant_find(stn_quant_name(i), &type), STN_OK);
        assert_true(lab_each(LAB_CONFIGS, run, &type) >= 11);
    }
}

/* The bundled configs name each architecture that there is. */
static void count_type(const char *path, void *user) {
    stn_llm_plan plan;
    lab_plan(&plan, path, STN_GGUF_F16);
    for (uint32_t i = 0; stn_arch_at(i); i++) {
        ((int *)user)[i] += stn_arch_at(i) == plan.config.arch;
    }
    stn_llm_plan_fini(&plan);
}

static void every_architecture_has_a_config(void **state) {
    (void)state;
    int seen[64] = {0};
    lab_each(LAB_CONFIGS, count_type, seen);
    for (uint32_t i = 0; stn_arch_at(i); i++) {
        assert_true(seen[i] > 0);
    }
}

static void real_configs_load(void **state) {
    (void)state;
    skip_without_engine();
    stn_gguf_type type = STN_GGUF_Q8_0;
    const char *shared = getenv("STN_SHARED");
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/data/llm/configs", shared ? shared : STN_SHARED_DIR);
    if (lab_each(folder, inspect, &type) < 0) {
        printf("skipped: ../shared not there\n");
        skip();
    }
}

static void what_is_no_model_is_refused_in_its_words(void **state) {
    (void)state;
    skip_without_engine();
    stn_llama_facts facts;
    stn_err err = {0};
    FILE *file = fopen(the.out, "wb");
    assert_non_null(file);
    fputs("GGUX", file);
    fclose(file);
    assert_int_equal(stn_llama_inspect(the.llama, the.out, &facts, &err), STN_ECHECK);
    assert_non_null(strstr(err.text, "llama.cpp refuses it: "));

    /* A layer more than there are tensors: llama.cpp says which is missing. */
    stn_llm_plan plan;
    lab_plan(&plan, LAB_CONFIGS "/llama.json", STN_GGUF_F16);
    plan.config.values[STN_V_LAYERS] += 1;
    lab_write(&plan, the.out, false, 0);
    stn_llm_plan_fini(&plan);
    assert_int_equal(stn_llama_inspect(the.llama, the.out, &facts, &err), STN_ECHECK);
    assert_non_null(strstr(err.text, "blk.2.attn_norm.weight"));
}

static void a_folder_without_it_is_said(void **state) {
    (void)state;
    stn_llama_place place;
    stn_llama *llama = (stn_llama *)&place;
    stn_err err = {0};
    setenv("STANDIN_LLAMA", "/nowhere", 1);
    assert_int_equal(stn_llama_find(&place, &err), STN_EUNSUPPORTED);
    assert_string_equal(err.text, "STANDIN_LLAMA=/nowhere: holds no libllama that loads");
    assert_int_equal(stn_llama_open(&llama, &err), STN_EUNSUPPORTED);
    assert_null(llama);
    unsetenv("STANDIN_LLAMA");
}

static int begin(void **state) {
    (void)state;
    stn_err err = {0};
    snprintf(the.out, sizeof the.out, "/tmp/stn-llama-%d.gguf", (int)getpid());
    if (stn_llama_open(&the.llama, &err) != STN_OK) {
        printf("skipped: %s\n", err.text);
    }
    return 0;
}

static int end(void **state) {
    (void)state;
    stn_llama_close(the.llama);
    unlink(the.out);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_has_a_config),
        cmocka_unit_test(every_architecture_loads),
        cmocka_unit_test(every_architecture_runs),
        cmocka_unit_test(real_configs_load),
        cmocka_unit_test(what_is_no_model_is_refused_in_its_words),
        cmocka_unit_test(a_folder_without_it_is_said),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
