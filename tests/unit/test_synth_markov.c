/* The Markov kind on a trace of which the order is known by heart: a b c, a b d, and again. */
#include "synth_lab.h"

#include "kernel/synth/markov.h"

enum { ROUNDS = 200 };
static const char *const circle[] = {"a", "b", "c", "a", "b", "d"};

typedef struct lesson {
    lab *lab; /* for its catalog and trace */
    stn_model *model;
    stn_train_stats stats;
} lesson;

static int learn(void **state) {
    static char lines[ROUNDS * 6][48];
    static const char *texts[ROUNDS * 6];
    lesson *s = calloc(1, sizeof *s);
    for (int i = 0; i < ROUNDS * 6; i++) {
        snprintf(lines[i], sizeof lines[i], "%d 0 7 %s", 1000 + 8 * i, circle[i % 6]);
        texts[i] = lines[i];
    }
    s->lab = lab_open(texts, ROUNDS * 6, NULL);
    const stn_trace *runs[] = {&s->lab->trace};
    stn_train_options options = {.rules = s->lab->rules};
    if (stn_model_train(&s->model, runs, 1, &options, &s->stats, s->lab->catalog, NULL, NULL,
                        &s->lab->err)) {
        fail_msg("%s", s->lab->err.text);
    }
    *state = s;
    return 0;
}

static int forget(void **state) {
    lesson *s = *state;
    stn_model_free(s->model);
    lab_close(s->lab);
    free(s);
    return 0;
}

static uint32_t type_of(const lesson *s, const char *name) {
    for (uint32_t t = 0; t < s->model->vocab.type_count; t++) {
        if (strcmp(stn_vocab_name(&s->model->vocab, s->model->vocab.types[t].name), name) == 0) {
            return t;
        }
    }
    fail_msg("no type %s", name);
    return 0;
}

static void what_comes_next_is_foreseen(void **state) {
    lesson *s = *state;
    const stn_model *model = s->model;
    stn_world world;
    stn_draft draft;
    assert_int_equal(stn_world_init(&world, &model->vocab, &model->domains, &model->attr.slots,
                                    model->attr.cpu_count),
                     STN_OK);
    for (int i = 0; i < 60; i++) {
        double sum = 0;
        for (uint32_t t = 0; t < model->vocab.type_count; t++) {
            sum += stn_markov_probability(model->state, &world, t);
        }
        assert_float_equal(sum, 1, 1e-6);
        if (i >= 8) { /* c or d: the last three events say which */
            double p = stn_markov_probability(model->state, &world, type_of(s, circle[i % 6]));
            assert_true(p > 0.95 && p < 1);
        }
        assert_int_equal(stn_draft_from(&draft, &s->model->vocab, &s->lab->trace.events[i]),
                         STN_OK);
        assert_int_equal(stn_world_apply(&world, &draft), STN_OK);
    }
    stn_world_fini(&world);
}

static void order_and_weights_are_those_of_the_circle(void **state) {
    lesson *s = *state;
    const stn_markov *markov = s->model->state;
    assert_in_range(markov->order, 3, STN_ORDER_MAX); /* two events do not tell c from d */
    assert_int_equal(s->stats.order, markov->order);
    assert_true(s->stats.valid_loss < 0.05);
    assert_true(s->stats.train_loss < 0.05);
    double sum = 0;
    for (int view = 0; view < STN_VIEWS; view++) {
        assert_true(markov->weights[0][view] >= 0);
        sum += markov->weights[0][view];
    }
    assert_float_equal(sum, 1, 1e-6);
}

static void an_order_can_be_forbidden(void **state) {
    lesson *s = *state;
    const stn_trace *runs[] = {&s->lab->trace};
    stn_train_options options = {.rules = s->lab->rules, .max_order = 1};
    stn_train_stats stats;
    stn_model *model;
    assert_int_equal(stn_model_train(&model, runs, 1, &options, &stats, s->lab->catalog, NULL, NULL,
                                     &s->lab->err),
                     STN_OK);
    assert_int_equal(stats.order, 1);
    /* one of three events is c or d with equal odds: at least ln 2 / 3 nats an event */
    assert_true(stats.valid_loss > 0.2);
    assert_true(stats.valid_loss < 0.4);
    stn_model_free(model);
}

static void what_is_generated_goes_round(void **state) {
    lesson *s = *state;
    stn_generator *generator;
    stn_generate_options options = {.seed = 9, .begin_ns = 1};
    stn_event event;
    stn_err err = {0};
    char last = 0;
    size_t right = 0;
    uint64_t before = 0;
    assert_int_equal(stn_generator_new(&generator, s->model, &options, s->lab->catalog, &err),
                     STN_OK);
    for (int i = 0; i < 600; i++) {
        assert_int_equal(stn_generator_next(generator, &event, &err), STN_OK);
        char now = *stn_catalog_type_at(s->lab->catalog, event.type)->name;
        right += last == 0 || (last == 'a' ? now == 'b' : last == 'b' ? now > 'b' : now == 'a');
        if (i > 0) { /* always 8 µs apart: the bin of 8000 is 7680 to 8191 */
            assert_in_range(event.time_ns - before, 7680, 8191);
        }
        before = event.time_ns;
        last = now;
        assert_int_equal(event.cpu, 0);
    }
    assert_in_range(right, 570, 600);
    stn_generator_free(generator);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_next_is_foreseen),
        cmocka_unit_test(order_and_weights_are_those_of_the_circle),
        cmocka_unit_test(an_order_can_be_forbidden),
        cmocka_unit_test(what_is_generated_goes_round),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
