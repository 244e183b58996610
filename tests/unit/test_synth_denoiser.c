/* The denoiser: its way back is the derivative, nothing looks ahead, it learns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "core/base/rng.h"
#include "core/nn/checkpoint.h"
#include "kernel/synth/denoiser.h"

#define LENGTH 24

static const stn_denoiser_shape small = {.channels = 4,
                                         .classes = {7, 6, 5, 3},
                                         .seen = {false, true, false, false},
                                         .labels = 2,
                                         .block = 4,
                                         .window = 8,
                                         .layers = 2,
                                         .coarse_layers = 1,
                                         .d = 16,
                                         .heads = 2,
                                         .ff = 16};

typedef struct sample {
    uint16_t value[4][LENGTH];
    float weight[LENGTH];
    stn_denoiser_window window;
} sample;

static void make_sample(sample *s, uint64_t seed) {
    stn_rng rng;
    stn_rng_init(&rng, seed);
    s->window = (stn_denoiser_window){.length = LENGTH, .weight = s->weight, .label = 1};
    for (uint32_t c = 0; c < 4; c++) {
        s->window.value[c] = s->value[c];
        for (uint32_t i = 0; i < LENGTH; i++) {
            s->value[c][i] = (uint16_t)stn_rng_below(&rng, small.classes[c]);
        }
    }
    for (uint32_t i = 0; i < LENGTH; i++) {
        s->weight[i] = stn_rng_double(&rng) < 0.5 ? 0 : 1.5f;
    }
    s->weight[9] = 1;
}

static double total(stn_denoiser *n, stn_denoiser_tape *t, const sample *s) {
    stn_err err = {0};
    double loss[4] = {0};
    assert_int_equal(stn_denoiser_loss(n, t, &s->window, false, 1, loss, &err), STN_OK);
    return loss[0] + loss[2] + loss[3];
}

static void the_way_back_is_the_derivative(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoiser_tape *t;
    sample s;
    make_sample(&s, 3);
    assert_int_equal(stn_denoiser_init(&n, &small, true, 4, &err), STN_OK);
    assert_int_equal(stn_denoiser_tape_new(&t, &err), STN_OK);
    double loss[4] = {0};
    assert_int_equal(stn_denoiser_loss(&n, t, &s.window, true, 2, loss, &err), STN_OK);
    for (size_t i = 0; i < n.params.tensor_count; i++) {
        const stn_nn_tensor *tensor = &n.params.tensors[i];
        size_t size = (size_t)tensor->rows * tensor->cols;
        for (size_t j = 0; j < size; j += 1 + size / 23) {
            float *x = &n.params.weight[tensor->offset + j], kept = *x, step = 1e-2f;
            *x = kept + step;
            double up = total(&n, t, &s);
            *x = kept - step;
            double down = total(&n, t, &s);
            *x = kept;
            double want = (up - down) / (2 * (double)step) / 2;
            double got = n.params.gradient[tensor->offset + j];
            if (!(fabs(got - want) <= 2e-2 * (1 + fabs(want)))) {
                fail_msg("%s[%zu]: %g, central difference %g", tensor->name, j, got, want);
            }
        }
    }
    stn_denoiser_tape_free(t);
    stn_denoiser_fini(&n);
}

/* Loss of a single masked event, as a function of one clean event elsewhere. */
static double loss_of(stn_denoiser *n, stn_denoiser_tape *t, sample *s, uint32_t masked,
                      uint32_t changed, uint16_t value) {
    memset(s->weight, 0, sizeof s->weight);
    s->weight[masked] = 1;
    uint16_t kept = s->value[0][changed];
    s->value[0][changed] = value;
    double loss = total(n, t, s);
    s->value[0][changed] = kept;
    return loss;
}

static void a_block_sees_the_past_and_itself(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoiser_tape *t;
    sample s;
    make_sample(&s, 3);
    assert_int_equal(stn_denoiser_init(&n, &small, true, 4, &err), STN_OK);
    assert_int_equal(stn_denoiser_tape_new(&t, &err), STN_OK);
    uint32_t masked = 18; /* block 4: 16 .. 19; window 8 .. 15; the coarse path sees 0 .. 15 */
    static const struct {
        uint32_t changed;
        bool seen;
    } cases[] = {{0, true},  {9, true},   {15, true}, {16, true},
                 {19, true}, {20, false}, {23, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double a = loss_of(&n, t, &s, masked, cases[i].changed, 1);
        double b = loss_of(&n, t, &s, masked, cases[i].changed, 2);
        assert_true((fabs(a - b) > 1e-9) == cases[i].seen);
    }
    stn_denoiser_tape_free(t);
    stn_denoiser_fini(&n);
}

/* A periodic stream: the loss falls to nearly nothing. */
static void it_learns_a_cycle(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoiser_tape *t;
    sample s;
    make_sample(&s, 3);
    for (uint32_t i = 0; i < LENGTH; i++) {
        s.value[0][i] = (uint16_t)(i % 6);
        s.value[1][i] = (uint16_t)(i % 6 == 2 ? 4 : 1);
        s.value[2][i] = (uint16_t)(i % 3);
        s.value[3][i] = (uint16_t)(i % 2);
    }
    assert_int_equal(stn_denoiser_init(&n, &small, true, 4, &err), STN_OK);
    assert_int_equal(stn_denoiser_tape_new(&t, &err), STN_OK);
    stn_nn_optimizer o = {.rate = 5e-3f,
                          .beta1 = 0.9f,
                          .beta2 = 0.98f,
                          .epsilon = 1e-8f,
                          .clip = 1,
                          .ema = 0.9f,
                          .warmup = 5,
                          .total = 120};
    stn_rng rng;
    stn_rng_init(&rng, 1);
    double first = 0, last = 0;
    for (int step = 0; step < 120; step++) {
        double loss[4] = {0}, masked = 0;
        for (uint32_t i = 0; i < LENGTH; i++) {
            s.weight[i] = stn_rng_double(&rng) < 0.5 ? 0 : 1;
            masked += s.weight[i];
        }
        assert_int_equal(stn_denoiser_loss(&n, t, &s.window, true, masked + 1, loss, &err), STN_OK);
        assert_true(stn_nn_step(&o, &n.params, n.kernels) > 0);
        last = (loss[0] + loss[2] + loss[3]) / (masked + 1);
        first = step ? first : last;
    }
    assert_true(first > 3);
    assert_true(last < 0.3);
    stn_denoiser_tape_free(t);
    stn_denoiser_fini(&n);
}

/* A window of context only, or masked but not asked for: no loss, no gradient, nothing odd. */
static void nothing_asked_costs_nothing(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoiser_tape *t;
    sample s;
    make_sample(&s, 3);
    assert_int_equal(stn_denoiser_init(&n, &small, true, 4, &err), STN_OK);
    assert_int_equal(stn_denoiser_tape_new(&t, &err), STN_OK);
    for (int round = 0; round < 2; round++) {
        double loss[4] = {0};
        for (uint32_t i = 0; i < LENGTH; i++) {
            s.weight[i] = round ? -1.0f : 0.0f;
        }
        assert_int_equal(stn_denoiser_loss(&n, t, &s.window, true, 1, loss, &err), STN_OK);
        assert_true(loss[0] == 0 && loss[2] == 0 && loss[3] == 0);
        assert_true(n.kernels->norm2(n.params.count, n.params.gradient) == 0);
    }
    s.window.length = LENGTH - 1;
    double loss[4] = {0};
    assert_int_equal(stn_denoiser_loss(&n, t, &s.window, true, 1, loss, &err), STN_ERANGE);
    stn_denoiser_tape_free(t);
    stn_denoiser_fini(&n);
}

/* ---- training that is stopped, that is repeated -------------------------- */

static const stn_nn_optimizer training = {.rate = 5e-3f,
                                          .beta1 = 0.9f,
                                          .beta2 = 0.98f,
                                          .epsilon = 1e-8f,
                                          .decay = 0.01f,
                                          .clip = 1,
                                          .ema = 0.9f,
                                          .warmup = 5,
                                          .total = 30};

/* A network in training: everything that a checkpoint has to bring back. */
typedef struct trainee {
    stn_denoiser n;
    stn_denoiser_tape *tape;
    stn_nn_optimizer optimizer;
    stn_rng rng; /* draws the masks; a checkpoint's note */
    sample s;
} trainee;

static void trainee_make(trainee *t, const stn_denoiser_shape *shape, uint64_t seed) {
    stn_err err = {0};
    make_sample(&t->s, 3);
    t->optimizer = training;
    stn_rng_init(&t->rng, seed);
    assert_int_equal(stn_denoiser_init(&t->n, shape, true, seed, &err), STN_OK);
    assert_int_equal(stn_denoiser_tape_new(&t->tape, &err), STN_OK);
}

static void trainee_fini(trainee *t) {
    stn_denoiser_tape_free(t->tape);
    stn_denoiser_fini(&t->n);
}

/* The losses of the next @p steps steps, to @p curve. */
static void trainee_train(trainee *t, int steps, double *curve) {
    stn_err err = {0};
    for (int step = 0; step < steps; step++) {
        double loss[4] = {0};
        for (uint32_t i = 0; i < LENGTH; i++) {
            t->s.weight[i] = stn_rng_double(&t->rng) < 0.5 ? 0 : 1;
        }
        assert_int_equal(stn_denoiser_loss(&t->n, t->tape, &t->s.window, true, LENGTH, loss, &err),
                         STN_OK);
        assert_true(stn_nn_step(&t->optimizer, &t->n.params, t->n.kernels) > 0);
        curve[step] = loss[0] + loss[2] + loss[3];
    }
}

/* 20 steps are 10 steps, a checkpoint, and 10 steps of another process: to the bit. */
static void a_resumed_training_has_the_same_curve(void **state) {
    (void)state;
    stn_err err = {0};
    char path[] = "/tmp/stn_resume_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    trainee whole, first, second;
    double want[20], got[20];
    trainee_make(&whole, &small, 4);
    trainee_make(&first, &small, 4);
    trainee_make(&second, &small, 99);
    trainee_train(&whole, 20, want);
    trainee_train(&first, 10, got);
    assert_int_equal(stn_nn_checkpoint_save(path, &first.n.params, &first.optimizer, &first.rng,
                                            sizeof first.rng, &err),
                     STN_OK);
    trainee_fini(&first);
    assert_int_equal(stn_nn_checkpoint_load(path, &second.n.params, &second.optimizer, &second.rng,
                                            sizeof second.rng, &err),
                     STN_OK);
    trainee_train(&second, 10, got + 10);
    assert_memory_equal(want, got, sizeof want);
    assert_memory_equal(whole.n.params.weight, second.n.params.weight,
                        whole.n.params.count * sizeof(float));
    assert_memory_equal(whole.n.params.average, second.n.params.average,
                        whole.n.params.count * sizeof(float));
    assert_true(want[19] < want[0]);
    trainee_fini(&whole);
    trainee_fini(&second);
    assert_int_equal(unlink(path), 0);
}

/* Wide enough that two threads share every kernel. */
static void a_seed_and_a_thread_count_give_the_same_bits(void **state) {
    (void)state;
    stn_denoiser_shape shape = small;
    shape.d = 512;
    shape.heads = 4;
    shape.ff = 512;
    double curve[3][4];
    float *weight[3] = {0};
    static const int threads[3] = {2, 2, 1};
    size_t size = 0;
    for (int i = 0; i < 3; i++) {
        trainee t;
        trainee_make(&t, &shape, 4);
        t.n.kernels->threads(threads[i]);
        trainee_train(&t, 4, curve[i]);
        size = t.n.params.count * sizeof(float);
        weight[i] = malloc(size);
        assert_non_null(weight[i]);
        memcpy(weight[i], t.n.params.weight, size);
        trainee_fini(&t);
    }
    assert_memory_equal(curve[0], curve[1], sizeof curve[0]);
    assert_memory_equal(weight[0], weight[1], size);
    for (int step = 0; step < 4; step++) {
        assert_true(fabs(curve[2][step] - curve[0][step]) < 1e-2 * curve[0][step]);
    }
    for (int i = 0; i < 3; i++) {
        free(weight[i]);
    }
}

static void impossible_shapes_are_refused(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoiser_shape s = small;
    s.heads = 3;
    assert_int_equal(stn_denoiser_init(&n, &s, false, 1, &err), STN_ERANGE);
    s = small;
    s.window = 6;
    assert_int_equal(stn_denoiser_init(&n, &s, false, 1, &err), STN_ERANGE);
    s = small;
    s.classes[1] = 0;
    assert_int_equal(stn_denoiser_init(&n, &s, false, 1, &err), STN_ERANGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_back_is_the_derivative),
        cmocka_unit_test(a_block_sees_the_past_and_itself),
        cmocka_unit_test(it_learns_a_cycle),
        cmocka_unit_test(nothing_asked_costs_nothing),
        cmocka_unit_test(a_resumed_training_has_the_same_curve),
        cmocka_unit_test(a_seed_and_a_thread_count_give_the_same_bits),
        cmocka_unit_test(impossible_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
