/* Layout and files of models, without llama.cpp: order and sizes, the bytes of the header, holes,
 * random weights by seed, the factors of a scaled rotation, and what goes wrong. */
#include "engine_lab.h"

#include <math.h>

#include "core/base/alloc.h"
#include "llm/engine/weights.h"

static char folder[] = "/tmp/stn-model-XXXXXX";
static char out[64];

static int begin(void **state) {
    (void)state;
    snprintf(out, sizeof out, "%s/m.gguf", mkdtemp(folder));
    return 0;
}

static int end(void **state) {
    (void)state;
    unlink(out);
    return rmdir(folder); /* nothing else is left there */
}

static unsigned char *slurp(size_t *size) {
    FILE *file = fopen(out, "rb");
    assert_non_null(file);
    struct stat stat_of;
    assert_int_equal(fstat(fileno(file), &stat_of), 0);
    *size = (size_t)stat_of.st_size;
    unsigned char *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static const stn_gguf_tensor *tensor_of(const stn_llm_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->tensor_count; i++) {
        if (strcmp(plan->tensors[i].name, name) == 0) {
            return &plan->tensors[i];
        }
    }
    return NULL;
}

static void tensors_have_their_names_shapes_and_types(void **state) {
    (void)state;
    stn_llm_plan plan;
    lab_plan(&plan, LAB_CONFIGS "/deepseek_v3.json", STN_GGUF_Q8_0);
    const stn_gguf_tensor *t = tensor_of(&plan, "blk.1.ffn_gate_exps.weight");
    assert_non_null(t);
    assert_true(t->dims[0] == 64 && t->dims[1] == 32 && t->dims[2] == 8 && t->dim_count == 3);
    assert_true(t->type == STN_GGUF_Q8_0 && t->size == 64 * 32 * 8 / 32 * 34);
    assert_null(tensor_of(&plan, "blk.0.ffn_gate_exps.weight")); /* the dense layer */
    assert_null(tensor_of(&plan, "blk.1.ffn_gate.weight"));
    assert_int_equal(tensor_of(&plan, "blk.0.ffn_gate.weight")->dims[1], 96);
    t = tensor_of(&plan, "blk.2.attn_k_b.weight");
    assert_true(t->dims[0] == 32 && t->dims[1] == 64 && t->dims[2] == 4);
    assert_int_equal(tensor_of(&plan, "blk.2.ffn_gate_inp.weight")->type, STN_GGUF_F32);
    assert_string_equal(plan.tensors[0].name, "token_embd.weight");
    stn_llm_plan_fini(&plan);

    /* Rows that are no whole blocks stay F16; a tied output is not written. */
    lab_plan(&plan, LAB_CONFIGS "/qwen3-odd-width.json", STN_GGUF_Q4_0);
    assert_int_equal(tensor_of(&plan, "blk.0.attn_q.weight")->type, STN_GGUF_F16);
    assert_non_null(tensor_of(&plan, "output.weight"));
    stn_llm_plan_fini(&plan);
    lab_plan(&plan, LAB_CONFIGS "/qwen3.json", STN_GGUF_Q4_0);
    assert_int_equal(tensor_of(&plan, "blk.0.attn_q.weight")->type, STN_GGUF_Q4_0);
    assert_null(tensor_of(&plan, "output.weight"));
    stn_llm_plan_fini(&plan);
}

static void a_file_without_weights_is_a_hole(void **state) {
    (void)state;
    stn_config config;
    stn_llm_plan plan;
    stn_err err = {0};
    assert_int_equal(stn_config_load(&config, LAB_CONFIGS "/mixtral.json", &err), STN_OK);
    config.values[STN_V_EXPERTS] = 256; /* some gigabytes */
    config.values[STN_V_FF] = 1 << 16;
    assert_int_equal(stn_llm_plan_init(&plan, &config, STN_GGUF_F16, &err), STN_OK);
    uint64_t size = lab_write(&plan, out, false, 0);
    assert_true(size > UINT64_C(10000000000));
    struct stat stat_of;
    assert_int_equal(stat(out, &stat_of), 0);
    assert_int_equal(stat_of.st_size, size);
    assert_true(stat_of.st_blocks * 512 < 1 << 17);
    assert_int_equal(stat_of.st_mode & 0400, 0400);

    FILE *file = fopen(out, "rb");
    unsigned char head[24];
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    assert_memory_equal(head, "GGUF\3\0\0\0", 8);
    assert_int_equal(head[8] + 256 * head[9], plan.tensor_count);
    stn_llm_plan_fini(&plan);
}

static void random_weights_follow_the_seed(void **state) {
    (void)state;
    stn_llm_plan plan;
    lab_plan(&plan, LAB_CONFIGS "/llama.json", STN_GGUF_Q8_0);
    size_t size;
    size_t again;
    lab_write(&plan, out, true, 7);
    unsigned char *one = slurp(&size);
    lab_write(&plan, out, true, 7);
    unsigned char *same = slurp(&again);
    assert_int_equal(size, again);
    assert_memory_equal(one, same, size);
    lab_write(&plan, out, true, 8);
    unsigned char *other = slurp(&again);
    assert_int_equal(size, again);
    assert_memory_not_equal(one, other, size);
    free(one);
    free(same);
    free(other);
    stn_llm_plan_fini(&plan);
}

static void weights_are_small_and_centred(void **state) {
    (void)state;
    static const stn_gguf_type types[] = {STN_GGUF_F16, STN_GGUF_BF16};
    stn_rng rng;
    stn_rng_init(&rng, 1);
    uint16_t half[4096];
    for (size_t t = 0; t < 2; t++) {
        double sum = 0;
        stn_weights_fill((unsigned char *)half, sizeof half, types[t], STN_ROLE_MATRIX, &rng);
        for (size_t i = 0; i < 4096; i++) {
            bool wide = types[t] == STN_GGUF_BF16;
            int exponent = wide ? (half[i] >> 7 & 255) - 127 : (half[i] >> 10 & 31) - 15;
            double value =
                ldexp(1 + (half[i] & (wide ? 127 : 1023)) / (wide ? 128.0 : 1024.0), exponent);
            assert_true(value >= 1.0 / 64 && value < 1.0 / 32);
            sum += half[i] & 0x8000 ? -value : value;
        }
        assert_true(fabs(sum / 4096) < 0.002);
    }
    float norms[64];
    stn_weights_fill((unsigned char *)norms, sizeof norms, STN_GGUF_F32, STN_ROLE_NORM, &rng);
    for (size_t i = 0; i < 64; i++) {
        assert_true(norms[i] > 0.96F && norms[i] < 1.04F);
    }
}

/* Llama 3.1: the fastest 29 frequencies are kept, the slowest divided by 8, between them a ramp. */
static void rotation_factors_are_those_of_llama3(void **state) {
    (void)state;
    double values[STN_V_COUNT] = {[STN_V_ROPE_THETA] = 500000,
                                  [STN_V_ROPE_FACTOR] = 8,
                                  [STN_V_ROPE_LOW] = 1,
                                  [STN_V_ROPE_HIGH] = 4,
                                  [STN_V_ROPE_ORIGINAL] = 8192};
    float factors[64];
    stn_weights_rope(factors, 64, values);
    for (size_t i = 0; i < 64; i++) {
        assert_true(i == 0 || factors[i] >= factors[i - 1]);
        assert_true(i > 28 || factors[i] == 1);
        assert_true(i < 35 || factors[i] == 8);
    }
    assert_true(factors[29] > 1 && factors[34] < 8);
}

static bool stop(void *user, uint64_t done, uint64_t total) {
    (void)user;
    (void)total;
    return done < 20000;
}

static void what_fails_leaves_no_file(void **state) {
    (void)state;
    unlink(out);
    stn_llm_plan plan;
    stn_err err = {0};
    uint64_t size;
    lab_plan(&plan, LAB_CONFIGS "/llama.json", STN_GGUF_F16);
    stn_llm_write_options options = {.name = "x", .random = true, .progress = stop};
    assert_int_equal(stn_llm_plan_write(&plan, out, &options, &size, &err), STN_EINTR);
    assert_int_equal(access(out, F_OK), -1);
    options.random = false;
    assert_int_equal(stn_llm_plan_write(&plan, "/dev/null", &options, &size, &err), STN_ERANGE);
    assert_int_equal(stn_llm_plan_write(&plan, "/nowhere/m.gguf", &options, &size, &err), STN_EIO);
    assert_non_null(strstr(err.text, "/nowhere/m.gguf: "));
    plan.data_size = UINT64_C(1) << 60;
    options.random = true;
    assert_int_equal(stn_llm_plan_write(&plan, out, &options, &size, &err), STN_EIO);
    assert_non_null(strstr(err.text, "random weights take"));
    stn_llm_plan_fini(&plan);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_config config;
    stn_err err = {0};
    assert_int_equal(stn_config_load(&config, LAB_CONFIGS "/llama.json", &err), STN_OK);
    stn_llm_write_options options = {.name = "x", .random = true};
    stn_status status = STN_ENOMEM;
    unsigned nth = 0;
    while (status == STN_ENOMEM) {
        stn_llm_plan plan;
        uint64_t size;
        stn_alloc_fail_at(++nth);
        status = stn_llm_plan_init(&plan, &config, STN_GGUF_F16, &err);
        if (status == STN_OK) {
            status = stn_llm_plan_write(&plan, out, &options, &size, &err);
            stn_llm_plan_fini(&plan);
        }
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || access(out, F_OK) != 0);
    }
    assert_int_equal(status, STN_OK);
    assert_true(nth > 6);
}

static void an_absurd_model_is_refused(void **state) {
    (void)state;
    stn_config config;
    stn_llm_plan plan;
    stn_err err = {0};
    assert_int_equal(stn_config_load(&config, LAB_CONFIGS "/wide", &err), STN_OK);
    assert_int_equal(stn_llm_plan_init(&plan, &config, STN_GGUF_Q4_0, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "has 2.81e+14 values"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_their_names_shapes_and_types),
        cmocka_unit_test(a_file_without_weights_is_a_hole),
        cmocka_unit_test(random_weights_follow_the_seed),
        cmocka_unit_test(weights_are_small_and_centred),
        cmocka_unit_test(rotation_factors_are_those_of_llama3),
        cmocka_unit_test(what_fails_leaves_no_file),
        cmocka_unit_test(each_failed_allocation_is_clean),
        cmocka_unit_test(an_absurd_model_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
