/* denoise: block after block equals the training pass, streams do not mix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "kernel/synth/denoise.h"

enum { LENGTH = 40, STREAMS = 3, CHANNELS = 4 };

static const stn_denoiser_shape small = {.channels = CHANNELS,
                                         .classes = {7, 6, 5, 3},
                                         .seen = {false, true, false, false},
                                         .labels = 2,
                                         .block = 4,
                                         .window = 8,
                                         .layers = 2,
                                         .coarse_layers = 1,
                                         .d = 16,
                                         .heads = 2,
                                         .ff = 20};

/* Events of one stream, some of them masked. */
typedef struct sample {
    uint16_t value[CHANNELS][LENGTH];
    float weight[LENGTH];
    uint32_t label;
} sample;

static void make_sample(sample *s, uint64_t seed) {
    stn_rng rng;
    stn_rng_init(&rng, seed);
    s->label = (uint32_t)(seed % 3); /* 2: no label */
    for (uint32_t i = 0; i < LENGTH; i++) {
        for (uint32_t c = 0; c < CHANNELS; c++) {
            s->value[c][i] = (uint16_t)stn_rng_below(&rng, small.classes[c]);
        }
        s->weight[i] = stn_rng_double(&rng) < 0.5 ? 0 : 1.5f;
    }
}

/* The block of @p s at @p at. */
typedef struct hand {
    const uint16_t *value[CHANNELS];
    bool masked[4];
} hand;

static stn_denoise_hand hand_at(hand *h, const sample *s, uint32_t at) {
    for (uint32_t c = 0; c < CHANNELS; c++) {
        h->value[c] = s->value[c] + at;
    }
    for (uint32_t i = 0; i < small.block; i++) {
        h->masked[i] = s->weight[at + i] != 0;
    }
    return (stn_denoise_hand){h->value, h->masked, s->label};
}

/* Adds the loss of the block's masked rows, channel by channel. */
static void block_loss(stn_denoise *run, const stn_denoiser *n, uint32_t stream, const sample *s,
                       uint32_t at, double *loss) {
    for (uint32_t i = 0; i < small.block; i++) {
        uint16_t given[CHANNELS];
        for (uint32_t c = 0; c < CHANNELS; c++) {
            given[c] = s->value[c][at + i];
        }
        for (uint32_t c = 0; s->weight[at + i] > 0 && c < CHANNELS; c++) {
            if (!small.seen[c]) {
                uint32_t target = given[c];
                const float *logits = stn_denoise_logits_stream(run, stream, i, c, given);
                loss[c] += n->kernels->cross_entropy(1, small.classes[c], logits, &target,
                                                     &s->weight[at + i], NULL);
            }
        }
    }
}

static void training_loss(stn_denoiser *n, const sample *s, double *loss) {
    stn_err err = {0};
    stn_denoiser_tape *t;
    stn_denoiser_window w = {.length = LENGTH, .weight = s->weight, .label = s->label};
    for (uint32_t c = 0; c < CHANNELS; c++) {
        w.value[c] = s->value[c];
    }
    assert_int_equal(stn_denoiser_tape_new(&t, &err), STN_OK);
    assert_int_equal(stn_denoiser_loss(n, t, &w, false, 1, loss, &err), STN_OK);
    stn_denoiser_tape_free(t);
}

static void assert_losses(const double *got, const double *want) {
    for (uint32_t c = 0; c < CHANNELS; c++) {
        if (!(fabs(got[c] - want[c]) < 1e-4 * (1 + want[c]))) {
            fail_msg("channel %u: %g, expected %g", c, got[c], want[c]);
        }
    }
    assert_true(want[0] > 1);
}

/* The same loss, though the rings come round (the past is longer than the window). */
static void check_running(const stn_nn_kernels *kernels, const stn_denoiser_shape *shape) {
    stn_err err = {0};
    stn_denoiser n;
    stn_denoise *run;
    sample s;
    make_sample(&s, 3);
    assert_int_equal(stn_denoiser_init(&n, shape, true, 4, &err), STN_OK);
    n.kernels = kernels;
    assert_int_equal(stn_denoise_new(&run, &n, LENGTH, &err), STN_OK);
    double want[CHANNELS] = {0}, got[CHANNELS] = {0};
    training_loss(&n, &s, want);
    for (uint32_t at = 0; at < LENGTH; at += small.block) {
        hand h;
        const stn_denoise_hand now = hand_at(&h, &s, at);
        stn_denoise_look(run, now.value, now.masked, now.label);
        block_loss(run, &n, 0, &s, at, got);
        stn_denoise_commit(run, now.value, now.label);
    }
    assert_losses(got, want);
    stn_denoise_free(run);
    stn_denoiser_fini(&n);
}

static void running_equals_training(void **state) {
    (void)state;
    check_running(stn_nn_kernels_ref(), &small);
    check_running(stn_nn_kernels_best(), &small);
    stn_denoiser_shape fine_only = small;
    fine_only.coarse_layers = 0;
    check_running(stn_nn_kernels_best(), &fine_only);
}

static void streams_do_not_mix(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoise *run;
    static sample s[STREAMS];
    double want[STREAMS][CHANNELS] = {0}, got[STREAMS][CHANNELS] = {0};
    assert_int_equal(stn_denoiser_init(&n, &small, true, 4, &err), STN_OK);
    for (uint32_t i = 0; i < STREAMS; i++) {
        make_sample(&s[i], 3 + i);
        training_loss(&n, &s[i], want[i]);
    }
    assert_true(fabs(want[0][0] - want[1][0]) > 1e-3);
    assert_int_equal(stn_denoise_new_streams(&run, &n, LENGTH, STREAMS, &err), STN_OK);
    for (uint32_t at = 0; at < LENGTH; at += small.block) {
        hand h[STREAMS];
        stn_denoise_hand hands[STREAMS];
        for (uint32_t i = 0; i < STREAMS; i++) {
            hands[i] = hand_at(&h[i], &s[i], at);
        }
        stn_denoise_look_streams(run, hands);
        for (uint32_t i = 0; i < STREAMS; i++) {
            block_loss(run, &n, i, &s[i], at, got[i]);
        }
        stn_denoise_commit_streams(run, hands);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_losses(got[i], want[i]);
    }
    stn_denoise_free(run);
    stn_denoiser_fini(&n);
}

/* One that shares another's weights has a past of its own, though the other one goes on. */
static void one_beside_answers_alike(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoise *first, *beside;
    sample s;
    make_sample(&s, 3);
    assert_int_equal(stn_denoiser_init(&n, &small, true, 4, &err), STN_OK);
    assert_int_equal(stn_denoise_new(&first, &n, LENGTH, &err), STN_OK);
    assert_int_equal(stn_denoise_new_beside(&beside, first, LENGTH, &err), STN_OK);
    double want[CHANNELS] = {0}, got[CHANNELS] = {0};
    training_loss(&n, &s, want);
    for (uint32_t at = 0; at < LENGTH; at += small.block) {
        hand h, other;
        const stn_denoise_hand now = hand_at(&h, &s, at);
        const stn_denoise_hand elsewhere = hand_at(&other, &s, LENGTH - small.block - at);
        stn_denoise_commit(first, elsewhere.value, elsewhere.label);
        stn_denoise_look(beside, now.value, now.masked, now.label);
        block_loss(beside, &n, 0, &s, at, got);
        stn_denoise_commit(beside, now.value, now.label);
    }
    assert_losses(got, want);
    stn_denoise_free(beside);
    stn_denoise_free(first);
    stn_denoiser_fini(&n);
}

/* Looking again and again at a block leaves no trace: only a commit does. */
static void looks_leave_no_trace(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    stn_denoise *run;
    sample s;
    hand h;
    float first[7];
    const uint16_t given[CHANNELS] = {0};
    make_sample(&s, 3);
    s.weight[6] = 1;
    assert_int_equal(stn_denoiser_init(&n, &small, false, 4, &err), STN_OK);
    assert_int_equal(stn_denoise_new(&run, &n, LENGTH, &err), STN_OK);
    stn_denoise_commit(run, hand_at(&h, &s, 0).value, s.label);
    stn_denoise_hand now = hand_at(&h, &s, 4);
    stn_denoise_look(run, now.value, now.masked, now.label);
    memcpy(first, stn_denoise_logits(run, 2, 0, given), sizeof first);
    hand other;
    stn_denoise_hand else_where = hand_at(&other, &s, 20);
    stn_denoise_look(run, else_where.value, else_where.masked, 0);
    assert_memory_not_equal(first, stn_denoise_logits(run, 2, 0, given), sizeof first);
    stn_denoise_look(run, now.value, now.masked, now.label);
    assert_memory_equal(first, stn_denoise_logits(run, 2, 0, given), sizeof first);
    stn_denoise_free(run);
    stn_denoiser_fini(&n);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_err err = {0};
    stn_denoiser n;
    assert_int_equal(stn_denoiser_init(&n, &small, false, 4, &err), STN_OK);
    stn_status status = STN_ENOMEM;
    uint64_t nth = 1;
    for (; status == STN_ENOMEM; nth++) {
        stn_denoise *run;
        stn_alloc_fail_at(nth);
        status = stn_denoise_new_streams(&run, &n, LENGTH, 2, &err);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK ? run != NULL : run == NULL);
        stn_denoise_free(run);
    }
    assert_int_equal(status, STN_OK);
    assert_true(nth > 20);
    stn_denoiser_fini(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_equals_training),         cmocka_unit_test(streams_do_not_mix),
        cmocka_unit_test(one_beside_answers_alike),        cmocka_unit_test(looks_leave_no_trace),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
