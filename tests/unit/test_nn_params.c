/* params: one list of tensors, and the optimiser over it, by hand-computed numbers. */
#include <math.h>
#include <string.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "core/nn/params.h"

static void make(stn_nn_params *params, uint64_t seed) {
    stn_err err = {0};
    *params = (stn_nn_params){0};
    assert_int_equal(stn_nn_params_add(params, "w", 3, 7, STN_NN_INIT_NORMAL, 0.5f, true), 0);
    assert_int_equal(stn_nn_params_add(params, "gain", 1, 5, STN_NN_INIT_ONE, 0, false), 1);
    assert_int_equal(stn_nn_params_add(params, "bias", 1, 2, STN_NN_INIT_ZERO, 0, false), 2);
    assert_int_equal(stn_nn_params_make(params, true, &err), STN_OK);
    stn_nn_params_init(params, seed);
}

static void tensors_lie_in_one_array(void **state) {
    (void)state;
    stn_nn_params p;
    make(&p, 1);
    assert_int_equal(p.tensor_count, 3);
    assert_int_equal(p.tensors[0].offset, 0);
    assert_int_equal(p.tensors[1].offset, 32); /* 21 floats, rounded up to cache lines */
    assert_int_equal(p.tensors[2].offset, 48);
    assert_int_equal(p.count, 64);
    assert_string_equal(p.tensors[1].name, "gain");
    assert_ptr_equal(stn_nn_params_at(&p, p.gradient, 1), p.gradient + 32);
    for (size_t i = 0; i < 5; i++) {
        assert_float_equal(stn_nn_params_at(&p, p.weight, 1)[i], 1, 0);
    }
    assert_float_equal(stn_nn_params_at(&p, p.weight, 2)[1], 0, 0);
    assert_memory_equal(p.weight, p.average, p.count * sizeof(float));
    stn_nn_params_fini(&p);
}

static void a_seed_gives_the_same_weights(void **state) {
    (void)state;
    stn_nn_params a, b, c;
    make(&a, 7);
    make(&b, 7);
    make(&c, 8);
    assert_memory_equal(a.weight, b.weight, a.count * sizeof(float));
    assert_memory_not_equal(a.weight, c.weight, 21 * sizeof(float));
    double square = 0;
    for (size_t i = 0; i < 21; i++) {
        square += (double)a.weight[i] * a.weight[i];
    }
    assert_true(sqrt(square / 21) > 0.25 && sqrt(square / 21) < 0.8); /* drawn with 0.5 */
    stn_nn_params_fini(&a);
    stn_nn_params_fini(&b);
    stn_nn_params_fini(&c);
}

static const stn_nn_optimizer adam = {.schedule = STN_NN_SCHEDULE_CONSTANT,
                                      .rate = 0.1f,
                                      .beta1 = 0.9f,
                                      .beta2 = 0.99f,
                                      .epsilon = 1e-8f,
                                      .ema = 0.5f};

/* The first step of Adam is the rate along the sign, whatever the size of the gradient; decay
 * pulls what decays only; the average follows. */
static void the_first_step_by_hand(void **state) {
    (void)state;
    const stn_nn_kernels *tables[] = {stn_nn_kernels_ref(), stn_nn_kernels_best()};
    for (size_t t = 0; t < 2; t++) {
        stn_nn_params p;
        make(&p, 1);
        stn_nn_optimizer o = adam;
        o.decay = 0.5f;
        float before = p.weight[0];
        p.gradient[0] = 3;
        p.gradient[32] = -4; /* gain[0] */
        assert_float_equal(stn_nn_step(&o, &p, tables[t]), 5, 1e-6);
        assert_int_equal(o.step, 1);
        assert_float_equal(p.weight[0], before - 0.1f - 0.1f * 0.5f * before, 1e-6);
        assert_float_equal(p.weight[32], 1.1f, 1e-6);
        assert_float_equal(p.weight[33], 1, 0);
        /* keep = min(0.5, (1 + 1) / (10 + 1)) */
        assert_float_equal(p.average[32], 1 * 2 / 11.0f + 1.1f * 9 / 11.0f, 1e-6);
        assert_float_equal(p.gradient[0], 0, 0);
        stn_nn_params_fini(&p);
    }
}

/* Clipping scales what the moments see; the norm told is the one before. */
static void clipping_bounds_the_gradient(void **state) {
    (void)state;
    stn_nn_params p;
    make(&p, 1);
    stn_nn_optimizer o = adam;
    o.clip = 1;
    p.gradient[0] = 3;
    p.gradient[1] = 4;
    assert_float_equal(stn_nn_step(&o, &p, stn_nn_kernels_best()), 5, 1e-6);
    assert_float_equal(p.m[0], 0.1f * 0.6f, 1e-6);
    assert_float_equal(p.v[1], 0.01f * 0.8f * 0.8f, 1e-6);
    p.gradient[0] = 0.5f; /* below the bound: as it is */
    stn_nn_step(&o, &p, stn_nn_kernels_best());
    assert_float_equal(p.m[0], 0.9f * 0.06f + 0.1f * 0.5f, 1e-6);
    stn_nn_params_fini(&p);
}

static void the_rate_follows_its_schedule(void **state) {
    (void)state;
    static const struct {
        stn_nn_schedule schedule;
        float share;
        uint64_t step;
        float rate;
    } cases[] = {
        {STN_NN_SCHEDULE_COSINE, 0, 0, 0.1f},   {STN_NN_SCHEDULE_COSINE, 0, 9, 1},
        {STN_NN_SCHEDULE_COSINE, 0, 10, 1},     {STN_NN_SCHEDULE_COSINE, 0.9f, 60, 0.55f},
        {STN_NN_SCHEDULE_COSINE, 0, 110, 0.1f}, {STN_NN_SCHEDULE_COSINE, 0, 5000, 0.1f},
        {STN_NN_SCHEDULE_CONSTANT, 1, 0, 0.1f}, {STN_NN_SCHEDULE_CONSTANT, 1, 10, 1},
        {STN_NN_SCHEDULE_CONSTANT, 1, 5000, 1}, {STN_NN_SCHEDULE_BUDGET, 0.9f, 4, 0.5f},
        {STN_NN_SCHEDULE_BUDGET, 0, 10, 1},     {STN_NN_SCHEDULE_BUDGET, 0.5f, 5000, 0.55f},
        {STN_NN_SCHEDULE_BUDGET, 1, 20, 0.1f},  {STN_NN_SCHEDULE_BUDGET, 1.5f, 20, 0.1f},
        {STN_NN_SCHEDULE_BUDGET, -1.0f, 20, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const stn_nn_optimizer o = {.schedule = cases[i].schedule,
                                    .share = cases[i].share,
                                    .rate = 1,
                                    .warmup = 10,
                                    .total = 110};
        float rate = stn_nn_rate(&o, cases[i].step);
        if (fabsf(rate - cases[i].rate) > 1e-6f) {
            fail_msg("case %zu: %g, expected %g", i, rate, cases[i].rate);
        }
    }
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        stn_err err = {0};
        stn_nn_params p = {0};
        stn_alloc_fail_at(nth);
        size_t at = stn_nn_params_add(&p, "w", 3, 7, STN_NN_INIT_ONE, 0, true);
        failed = at == SIZE_MAX || stn_nn_params_make(&p, true, &err) != STN_OK;
        stn_alloc_fail_at(0);
        assert_true(failed || nth > 5); /* the list and five arrays */
        stn_nn_params_fini(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_lie_in_one_array),
        cmocka_unit_test(a_seed_gives_the_same_weights),
        cmocka_unit_test(the_first_step_by_hand),
        cmocka_unit_test(clipping_bounds_the_gradient),
        cmocka_unit_test(the_rate_follows_its_schedule),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
