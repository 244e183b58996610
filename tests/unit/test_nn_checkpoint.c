/* checkpoint: what was saved comes back, and nothing else is taken for one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "core/nn/checkpoint.h"

static char path[] = "/tmp/stn_ckpt_XXXXXX";

static int make_file(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void make(stn_nn_params *params, uint32_t rows, uint64_t seed) {
    stn_err err = {0};
    *params = (stn_nn_params){0};
    assert_int_equal(stn_nn_params_add(params, "a", rows, 7, STN_NN_INIT_NORMAL, 1, true), 0);
    assert_int_equal(stn_nn_params_add(params, "b", 1, 5, STN_NN_INIT_ONE, 0, false), 1);
    assert_int_equal(stn_nn_params_make(params, true, &err), STN_OK);
    stn_nn_params_init(params, seed);
}

/* A few steps on a made-up gradient. */
static void train(stn_nn_params *params, stn_nn_optimizer *o, int steps) {
    for (int s = 0; s < steps; s++) {
        for (size_t i = 0; i < params->count; i++) {
            params->gradient[i] = params->weight[i] * (float)(1 + o->step % 3);
        }
        assert_true(stn_nn_step(o, params, stn_nn_kernels_best()) > 0);
    }
}

static const stn_nn_optimizer start = {.rate = 0.01f,
                                       .beta1 = 0.9f,
                                       .beta2 = 0.99f,
                                       .epsilon = 1e-8f,
                                       .decay = 0.1f,
                                       .clip = 1,
                                       .ema = 0.9f,
                                       .warmup = 3,
                                       .total = 50};

static void resuming_equals_never_having_stopped(void **state) {
    (void)state;
    stn_err err = {0};
    stn_nn_params whole, half, rest;
    stn_nn_optimizer o1 = start, o2 = start, o3 = {0};
    uint64_t note = 0x1234, got = 0;
    make(&whole, 3, 1);
    make(&half, 3, 1);
    make(&rest, 3, 2);
    train(&whole, &o1, 20);
    train(&half, &o2, 9);
    assert_int_equal(stn_nn_checkpoint_save(path, &half, &o2, &note, sizeof note, &err), STN_OK);
    assert_int_equal(stn_nn_checkpoint_load(path, &rest, &o3, &got, sizeof got, &err), STN_OK);
    assert_int_equal(got, note);
    train(&rest, &o3, 11);
    assert_memory_equal(whole.weight, rest.weight, whole.count * sizeof(float));
    assert_memory_equal(whole.average, rest.average, whole.count * sizeof(float));
    stn_nn_params_fini(&whole);
    stn_nn_params_fini(&half);
    stn_nn_params_fini(&rest);
}

static stn_status load(stn_nn_params *params, stn_err *err) {
    uint64_t note;
    stn_nn_optimizer o;
    return stn_nn_checkpoint_load(path, params, &o, &note, sizeof note, err);
}

static void what_is_no_checkpoint_is_refused(void **state) {
    (void)state;
    stn_err err = {0};
    stn_nn_params params, other;
    make(&params, 3, 1);
    make(&other, 4, 1);
    float kept = params.weight[0];
    assert_int_equal(load(&other, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "this network wants 'a' [4][7]"));
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 300, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, 300, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    assert_int_equal(load(&params, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "hash"));
    assert_int_equal(truncate(path, 400), 0);
    assert_int_equal(load(&params, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "cut short"));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(load(&params, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "not a training checkpoint"));
    assert_memory_equal(&kept, &params.weight[0], sizeof kept);
    stn_nn_params_fini(&params);
    stn_nn_params_fini(&other);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        stn_err err = {0};
        stn_nn_params params;
        stn_nn_optimizer o = start;
        make(&params, 3, 1);
        stn_alloc_fail_at(nth);
        stn_status status = stn_nn_checkpoint_save(path, &params, &o, "n", 1, &err);
        if (!status) {
            char note;
            status = stn_nn_checkpoint_load(path, &params, &o, &note, 1, &err);
        }
        stn_alloc_fail_at(0);
        failed = status != STN_OK;
        assert_int_equal(status, failed ? STN_ENOMEM : STN_OK);
        stn_nn_params_fini(&params);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resuming_equals_never_having_stopped),
        cmocka_unit_test(what_is_no_checkpoint_is_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
