/* What is read of a config.json, and what is refused, with the key at fault. */
#include "engine_lab.h"

#include <math.h>

#include "core/base/alloc.h"

#define BASE                                                                                       \
    "\"hidden_size\":64,\"num_hidden_layers\":2,\"vocab_size\":99,\"num_attention_heads\":4,"      \
    "\"max_position_embeddings\":512,\"rms_norm_eps\":1e-5,\"intermediate_size\":96"
#define LLAMA "{\"model_type\":\"llama\"," BASE

static stn_status parse(const char *text, stn_config *config, stn_err *err) {
    return stn_config_parse(config, text, strlen(text), "c.json", err);
}

static void values_are_read_and_completed(void **state) {
    (void)state;
    stn_config c;
    stn_err err = {0};
    assert_int_equal(parse(LLAMA "}", &c, &err), STN_OK);
    assert_string_equal(c.model_type, "llama");
    const double *v = c.values;
    assert_true(v[STN_V_EMBD] == 64 && v[STN_V_HEADS_KV] == 4 && v[STN_V_HEAD_DIM] == 16);
    assert_true(v[STN_V_Q_DIM] == 64 && v[STN_V_ROPE_HALF] == 8 && v[STN_V_ROPE_THETA] == 10000);
    assert_true(v[STN_V_TIED] == 0 && v[STN_V_ROPE_TYPE] == STN_ROPE_DEFAULT);
    assert_true(isnan(v[STN_V_ROPE_FACTOR]) && isnan(v[STN_V_EXPERTS]));
    /* The second home of the rotation, null as absent, a head wider than its share. */
    assert_int_equal(parse(LLAMA ",\"rope_scaling\":null,\"head_dim\":32,\"num_key_value_heads\":2,"
                                 "\"rope_parameters\":{\"rope_theta\":5e5,\"rope_type\":\"yarn\","
                                 "\"factor\":2,\"original_max_position_embeddings\":128}}",
                           &c, &err),
                     STN_OK);
    assert_true(v[STN_V_Q_DIM] == 128 && v[STN_V_KV_DIM] == 64 && v[STN_V_ROPE_THETA] == 5e5);
    assert_true(v[STN_V_ROPE_TYPE] == STN_ROPE_YARN && v[STN_V_ROPE_ORIGINAL] == 128);
    assert_true(isnan(v[STN_V_ROPE_LOW]) && isnan(v[STN_V_ROPE_BETA_FAST]));
}

static void what_is_wrong_is_said_with_its_key(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        stn_status status;
    } rows[] = {
        {"", "c.json: line 1, column 0: not JSON: ", STN_EFORMAT},
        {"{\"model_type\":", "c.json: line 1, column 14: not JSON: ", STN_EFORMAT},
        {"{\n\"a\":1,\n\"a\":2}", "c.json: line 3, column 3: not JSON: dupl", STN_EFORMAT},
        {"[1]", "c.json: is a list; expected an object", STN_EFORMAT},
        {"7", "c.json: is a number; expected an object", STN_EFORMAT},
        {"{}", "c.json: model_type: is missing", STN_EFORMAT},
        {"{\"model_type\":7}", "c.json: model_type: is 7; expected a text", STN_EFORMAT},
        {"{\"model_type\":\"bert\"}",
         "c.json: model_type: \"bert\" is an architecture that is not known; known are llama, "
         "qwen2, mimo, qwen3, qwen3_moe, mixtral, gpt_oss, gemma, deepseek_v3",
         STN_EUNSUPPORTED},
        {"{\"model_type\":\"llama\"}", "c.json: hidden_size: is missing", STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"hidden_size\":\"64\"}",
         "c.json: hidden_size: is \"64\"; expected a whole number from 1 to 16777216", STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"hidden_size\":64.5}", "c.json: hidden_size: is 64.5; ",
         STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"hidden_size\":-1}", "c.json: hidden_size: is -1; ",
         STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"hidden_size\":0}", "c.json: hidden_size: is 0; ",
         STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"hidden_size\":1000000000000000}",
         "c.json: hidden_size: is 1000000000000000; ", STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"hidden_size\":{}}", "c.json: hidden_size: is an object; ",
         STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":513}",
         "c.json: num_hidden_layers: is 513; expected a whole number from 1 to 512", STN_EFORMAT},
        {LLAMA ",\"tie_word_embeddings\":1}",
         "c.json: tie_word_embeddings: is 1; expected true or false", STN_EFORMAT},
        {LLAMA ",\"rope_theta\":-2}", "c.json: rope_theta: is -2; expected a number above 0",
         STN_EFORMAT},
        {LLAMA ",\"rope_scaling\":4}", "c.json: rope_scaling: is a number; expected an object",
         STN_EFORMAT},
        {LLAMA ",\"rope_scaling\":{\"type\":\"dynamic\"}}",
         "c.json: rope_scaling.type: is \"dynamic\"; expected one of default|linear|yarn|llama3",
         STN_EUNSUPPORTED},
        {LLAMA ",\"rope_scaling\":{\"type\":\"yarn\"}}", "c.json: rope_scaling.factor: is missing",
         STN_EFORMAT},
        {LLAMA ",\"num_key_value_heads\":3}",
         "c.json: num_attention_heads: is 4; expected a multiple of num_key_value_heads, which is "
         "3",
         STN_EFORMAT},
        {LLAMA ",\"head_dim\":15}", "c.json: head_dim: is 15; expected an even number",
         STN_EFORMAT},
        {"{\"model_type\":\"llama\",\"intermediate_size\":96,\"hidden_size\":65,\"num_hidden_"
         "layers\":2,\"vocab_size\":99,"
         "\"max_position_embeddings\":512,\"num_attention_heads\":4,\"rms_norm_eps\":1e-5}",
         "c.json: head_dim: is missing, and hidden_size / num_attention_heads is no whole number",
         STN_EFORMAT},
        {"{\"model_type\":\"qwen2\"," BASE ",\"head_dim\":32}",
         "c.json: num_attention_heads * head_dim: is 128; expected the same as hidden_size, which "
         "is 64",
         STN_EFORMAT},
        {"{\"model_type\":\"qwen3\"," BASE ",\"attention_bias\":true}",
         "c.json: attention_bias: comes to 1; for qwen3 llama.cpp has only 0", STN_EUNSUPPORTED},
        {"{\"model_type\":\"qwen3\"," BASE ",\"use_sliding_window\":true}",
         "c.json: use_sliding_window: comes to 1; for qwen3 llama.cpp has only 0",
         STN_EUNSUPPORTED},
        {"{\"model_type\":\"gpt_oss\"," BASE ",\"num_local_experts\":4,\"num_experts_per_tok\":2,"
         "\"sliding_window\":32,\"layer_types\":[\"sliding_attention\",\"sliding_attention\"]}",
         "c.json: layer_types: comes to 1; for gpt_oss llama.cpp has only 0", STN_EUNSUPPORTED},
        {"{\"model_type\":\"gpt_oss\"," BASE ",\"num_local_experts\":4,\"num_experts_per_tok\":2,"
         "\"sliding_window\":32,\"layer_types\":\"full\"}",
         "c.json: layer_types: is \"full\"; expected a list", STN_EFORMAT},
        {"{\"model_type\":\"mixtral\"," BASE ",\"num_local_experts\":2,\"num_experts_per_tok\":4}",
         "c.json: num_experts_per_tok: is 4; expected at most num_local_experts, which is 2",
         STN_EFORMAT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stn_config config;
        stn_err err = {0};
        stn_status status = parse(rows[i].text, &config, &err);
        if (status != rows[i].status ||
            strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0) {
            fail_msg("%s\ngave %d: %s", rows[i].text, status, err.text);
        }
    }
}

static void deep_nesting_and_long_files_are_refused(void **state) {
    (void)state;
    stn_config config;
    stn_err err = {0};
    char *text = stn_malloc(1000000);
    memset(text, '[', 1000000);
    assert_int_equal(stn_config_parse(&config, text, 1000000, "deep", &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "deep: line 1"));
    stn_free(text);

    char path[] = "/tmp/stn-config-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)STN_CONFIG_MAX + 1), 0);
    assert_int_equal(stn_config_load(&config, path, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "longer than 1048576 bytes"));
    assert_int_equal(ftruncate(fd, 0), 0);
    stn_alloc_fail_at(1);
    assert_int_equal(stn_config_load(&config, path, &err), STN_ENOMEM);
    stn_alloc_fail_at(0);
    close(fd);
    unlink(path);
    assert_int_equal(stn_config_load(&config, path, &err), STN_ENOTFOUND);
    assert_int_equal(stn_config_load(&config, "/", &err), STN_EIO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_and_completed),
        cmocka_unit_test(what_is_wrong_is_said_with_its_key),
        cmocka_unit_test(deep_nesting_and_long_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
