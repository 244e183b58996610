/* params, block: the whole way back against central differences, a tiny task learnt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "core/nn/block.h"

#define ROWS 24

static const stn_nn_block_shape shape = {.d = 16, .heads = 2, .head_size = 8, .ff = 24};
static const stn_nn_span spans[] = {{0, 16, {0, 0}, {16, 0}, true, 0},
                                    {16, 24, {4, 16}, {16, 24}, false, 0}};

typedef struct fixture {
    stn_nn_params params;
    stn_nn_block block[2];
    stn_nn_block_saved saved[2];
    float rope[64 * 8];
    uint32_t pos[ROWS];
    float x[ROWS * 16], r[ROWS * 16];
    stn_nn_pass pass;
} fixture;

static void make(fixture *f, const stn_nn_kernels *kernels) {
    stn_err err = {0};
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < 2; i++) {
        const char *name = i ? "b1" : "b0";
        assert_int_equal(stn_nn_block_add(&f->block[i], &f->params, name, &shape, 2, &err), STN_OK);
        assert_int_equal(stn_nn_block_reserve(&f->saved[i], &shape, ROWS, &err), STN_OK);
    }
    assert_int_equal(stn_nn_params_make(&f->params, true, &err), STN_OK);
    stn_nn_params_init(&f->params, 5);
    stn_nn_rope_table(64, 8, f->rope);
    stn_rng rng;
    stn_rng_init(&rng, 9);
    for (uint32_t i = 0; i < ROWS; i++) {
        f->pos[i] = i % 16 + i / 16 * 20;
        for (uint32_t j = 0; j < 16; j++) {
            f->x[i * 16 + j] = (float)stn_rng_normal(&rng);
            f->r[i * 16 + j] = (float)stn_rng_normal(&rng);
        }
    }
    f->pass = (stn_nn_pass){.kernels = kernels,
                            .params = &f->params,
                            .spans = spans,
                            .span_count = 2,
                            .rows = ROWS,
                            .rope = f->rope,
                            .pos = f->pos};
}

static void unmake(fixture *f) {
    stn_nn_params_fini(&f->params);
    stn_nn_block_saved_fini(&f->saved[0]);
    stn_nn_block_saved_fini(&f->saved[1]);
}

static double loss(fixture *f) {
    float y[ROWS * 16];
    memcpy(y, f->x, sizeof y);
    stn_nn_block_forward(&f->block[0], &shape, &f->pass, &f->saved[0], y);
    stn_nn_block_forward(&f->block[1], &shape, &f->pass, &f->saved[1], y);
    double sum = 0;
    for (size_t i = 0; i < (size_t)ROWS * 16; i++) {
        sum += (double)y[i] * f->r[i];
    }
    return sum;
}

static void assert_derivative(fixture *f, float *x, double gradient, const char *what) {
    float kept = *x, step = 3e-3f;
    *x = kept + step;
    double up = loss(f);
    *x = kept - step;
    double down = loss(f);
    *x = kept;
    double want = (up - down) / (2 * (double)step);
    if (!(fabs(gradient - want) <= 2e-2 * (1 + fabs(want)))) {
        fail_msg("%s: %g, central difference %g", what, gradient, want);
    }
}

static void check_way_back(const stn_nn_kernels *kernels) {
    fixture f;
    make(&f, kernels);
    loss(&f);
    float dx[ROWS * 16];
    memcpy(dx, f.r, sizeof dx);
    float *scratch = malloc(stn_nn_block_scratch(&shape, ROWS) * sizeof *scratch);
    assert_non_null(scratch);
    stn_nn_block_backward(&f.block[1], &shape, &f.pass, &f.saved[1], dx, scratch);
    stn_nn_block_backward(&f.block[0], &shape, &f.pass, &f.saved[0], dx, scratch);
    free(scratch);
    for (size_t i = 0; i < (size_t)ROWS * 16; i += 13) {
        assert_derivative(&f, &f.x[i], dx[i], "input");
    }
    for (size_t t = 0; t < f.params.tensor_count; t++) {
        const stn_nn_tensor *tensor = &f.params.tensors[t];
        for (size_t i = 0; i < (size_t)tensor->rows * tensor->cols; i += 1 + tensor->rows * 3) {
            size_t at = tensor->offset + i;
            assert_derivative(&f, &f.params.weight[at], f.params.gradient[at], tensor->name);
        }
    }
    unmake(&f);
}

static void the_way_back_is_the_derivative(void **state) {
    (void)state;
    check_way_back(stn_nn_kernels_ref());
    check_way_back(stn_nn_kernels_best());
}

/* Future rows must not reach a causal span. */
static void causal_rows_do_not_see_ahead(void **state) {
    (void)state;
    fixture f;
    make(&f, stn_nn_kernels_best());
    float y0[ROWS * 16], y1[ROWS * 16];
    memcpy(y0, f.x, sizeof y0);
    stn_nn_block_forward(&f.block[0], &shape, &f.pass, &f.saved[0], y0);
    memcpy(y1, f.x, sizeof y1);
    y1[10 * 16] += 3;
    stn_nn_block_forward(&f.block[0], &shape, &f.pass, &f.saved[0], y1);
    assert_memory_equal(y0, y1, (size_t)10 * 16 * sizeof *y0);
    assert_memory_not_equal(y0 + 11 * 16, y1 + 11 * 16, (size_t)16 * sizeof *y0);
    unmake(&f);
}

enum { PART = 500, PARTS = 3, LONG = PART * PARTS };

/* One block forward and back over @p rows rows of @p x, which becomes the output; @p dx likewise
 * the input's gradient. */
static void run_rows(fixture *f, const stn_nn_span *parts, uint32_t count, uint32_t rows, float *x,
                     float *dx) {
    static uint32_t pos[LONG];
    stn_err err = {0};
    stn_nn_pass pass = f->pass;
    for (uint32_t i = 0; i < rows; i++) {
        pos[i] = i % PART % 64;
    }
    pass.spans = parts;
    pass.span_count = count;
    pass.rows = rows;
    pass.pos = pos;
    float *scratch = malloc(stn_nn_block_scratch(&shape, rows) * sizeof *scratch);
    assert_non_null(scratch);
    assert_int_equal(stn_nn_block_reserve(&f->saved[0], &shape, rows, &err), STN_OK);
    stn_nn_block_forward(&f->block[0], &shape, &pass, &f->saved[0], x);
    stn_nn_block_backward(&f->block[0], &shape, &pass, &f->saved[0], dx, scratch);
    free(scratch);
}

static void assert_near(const float *got, const float *want, size_t count, const char *what) {
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(got[i] - want[i]) <= 1e-3f * (1 + fabsf(want[i])))) {
            fail_msg("%s: item %zu of %zu: %g, expected %g", what, i, count, got[i], want[i]);
        }
    }
}

/* Rows pass the layers in tiles: more rows than one holds give what their parts give. */
static void many_rows_are_their_parts(void **state) {
    (void)state;
    static float x[2][LONG * 16], dx[2][LONG * 16], gradient[2][8192];
    stn_nn_span parts[PARTS];
    fixture f;
    make(&f, stn_nn_kernels_best());
    assert_true(f.params.count <= 8192);
    stn_rng rng;
    stn_rng_init(&rng, 2);
    for (size_t i = 0; i < (size_t)LONG * 16; i++) {
        x[0][i] = x[1][i] = (float)stn_rng_normal(&rng);
        dx[0][i] = dx[1][i] = (float)stn_rng_normal(&rng);
    }
    for (uint32_t p = 0; p < PARTS; p++) {
        uint32_t from = p * PART, to = from + PART;
        parts[p] = (stn_nn_span){from, to, {from, 0}, {to, 0}, false, 0};
    }
    run_rows(&f, parts, PARTS, LONG, x[0], dx[0]);
    memcpy(gradient[0], f.params.gradient, f.params.count * sizeof(float));
    memset(f.params.gradient, 0, f.params.count * sizeof(float));
    for (size_t p = 0; p < PARTS; p++) {
        run_rows(&f, parts, 1, PART, x[1] + p * PART * 16, dx[1] + p * PART * 16);
    }
    memcpy(gradient[1], f.params.gradient, f.params.count * sizeof(float));
    assert_near(x[0], x[1], (size_t)LONG * 16, "output");
    assert_near(dx[0], dx[1], (size_t)LONG * 16, "gradient of the input");
    assert_near(gradient[0], gradient[1], f.params.count, "gradient of the weights");
    unmake(&f);
}

static void a_step_descends_and_repeats(void **state) {
    (void)state;
    float first[2];
    for (int round = 0; round < 2; round++) {
        fixture f;
        make(&f, stn_nn_kernels_best());
        stn_nn_optimizer o = {.rate = 3e-3f,
                              .beta1 = 0.9f,
                              .beta2 = 0.99f,
                              .epsilon = 1e-8f,
                              .clip = 1,
                              .ema = 0.9f,
                              .warmup = 2,
                              .total = 20};
        double before = loss(&f), after = 0;
        float *scratch = malloc(stn_nn_block_scratch(&shape, ROWS) * sizeof *scratch);
        assert_non_null(scratch);
        for (int step = 0; step < 20; step++) {
            float dx[ROWS * 16];
            after = loss(&f);
            memcpy(dx, f.r, sizeof dx);
            stn_nn_block_backward(&f.block[1], &shape, &f.pass, &f.saved[1], dx, scratch);
            stn_nn_block_backward(&f.block[0], &shape, &f.pass, &f.saved[0], dx, scratch);
            assert_true(stn_nn_step(&o, &f.params, f.pass.kernels) > 0);
        }
        free(scratch);
        assert_true(after < before - 1);
        first[round] = f.params.weight[f.params.tensors[1].offset];
        unmake(&f);
    }
    assert_memory_equal(&first[0], &first[1], sizeof(float));
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state) {
    (void)state;
    fixture f;
    make(&f, stn_nn_kernels_ref());
    stn_nn_optimizer o = {.rate = 1, .beta1 = 0.9f, .beta2 = 0.99f, .epsilon = 1e-8f, .total = 9};
    float kept = f.params.weight[20];
    f.params.gradient[3] = NAN;
    assert_true(isnan(stn_nn_step(&o, &f.params, f.pass.kernels)));
    assert_int_equal(o.step, 0);
    assert_memory_equal(&kept, &f.params.weight[20], sizeof kept);
    assert_true(f.params.gradient[3] == 0);
    unmake(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_back_is_the_derivative),
        cmocka_unit_test(causal_rows_do_not_see_ahead),
        cmocka_unit_test(many_rows_are_their_parts),
        cmocka_unit_test(a_step_descends_and_repeats),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
