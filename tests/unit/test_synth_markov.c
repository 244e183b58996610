/* The Markov kind on a trace of which the order is known by heart: a b c, a b d, and again; and
 * on one in which another CPU meddles. */
#include "synth_lab.h"

#include "kernel/synth/markov.h"

enum { ROUNDS = 200 };
static const char *const circle[] = {"a", "b", "c", "a", "b", "d"};

typedef struct lesson {
    lab *lab; /* for its catalog and trace */
    stn_model *model;
    stn_train_stats stats;
} lesson;

static lesson *lesson_new(const char *const *lines, size_t count) {
    lesson *s = calloc(1, sizeof *s);
    s->lab = lab_open(lines, count, NULL);
    for (size_t i = 0; i < count; i++) { /* threads without a name are not there at the start */
        s->lab->trace.events[i].comm = stn_catalog_cstring(s->lab->catalog, "round");
    }
    const stn_trace *runs[] = {&s->lab->trace};
    stn_train_options options = {.rules = s->lab->rules};
    if (stn_model_train(&s->model, runs, 1, &options, &s->stats, s->lab->catalog, NULL, NULL,
                        &s->lab->err)) {
        fail_msg("%s", s->lab->err.text);
    }
    return s;
}

static void lesson_free(lesson *s) {
    stn_model_free(s->model);
    lab_close(s->lab);
    free(s);
}

static int learn(void **state) {
    static char lines[ROUNDS * 6][48];
    static const char *texts[ROUNDS * 6];
    for (int i = 0; i < ROUNDS * 6; i++) {
        snprintf(lines[i], sizeof lines[i], "%d 0 7 %s", 1000 + 8 * i, circle[i % 6]);
        texts[i] = lines[i];
    }
    *state = lesson_new(texts, ROUNDS * 6);
    return 0;
}

static int forget(void **state) {
    lesson_free(*state);
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

static void world_open(const lesson *s, stn_world *world) {
    const stn_model *model = s->model;
    assert_int_equal(stn_world_init(world, &model->vocab, &model->domains, &model->attr.slots,
                                    model->attr.cpu_count),
                     STN_OK);
}

/* The first @p count events of the trace happen. */
static void happen(lesson *s, stn_world *world, size_t first, size_t count) {
    stn_draft draft;
    for (size_t i = first; i < first + count; i++) {
        assert_int_equal(stn_draft_from(&draft, &s->model->vocab, &s->lab->trace.events[i]),
                         STN_OK);
        assert_int_equal(stn_world_apply(world, &draft), STN_OK);
    }
}

static double probability(const lesson *s, const stn_world *world, uint32_t type, uint32_t order) {
    const stn_markov *markov = s->model->state;
    stn_rungs rungs;
    double p[STN_ORDER_MAX];
    stn_rungs_next(world, 0, STN_ORDER_MAX, &rungs);
    stn_markov_probability(&markov->pool, &rungs, type, s->model->vocab.type_count, p);
    return p[order - 1];
}

static void what_comes_next_is_foreseen(void **state) {
    lesson *s = *state;
    const stn_markov *markov = s->model->state;
    stn_world world;
    world_open(s, &world);
    for (size_t i = 0; i < 60; i++) {
        for (uint32_t order = 1; order <= STN_ORDER_MAX; order++) {
            double sum = 0;
            for (uint32_t t = 0; t < s->model->vocab.type_count; t++) {
                double p = probability(s, &world, t, order);
                assert_true(p > 0 && p <= 1);
                sum += p;
            }
            assert_float_equal(sum, 1, 1e-6);
        }
        if (i >= 8) { /* c or d: the last three events say which, fewer do not */
            uint32_t type = type_of(s, circle[i % 6]);
            assert_true(probability(s, &world, type, markov->order) > 0.95);
            double blind = probability(s, &world, type, 2);
            assert_true(i % 3 == 2 ? blind < 0.6 : blind > 0.95);
        }
        happen(s, &world, i, 1);
    }
    stn_world_fini(&world);
}

static void order_and_losses_are_those_of_the_circle(void **state) {
    lesson *s = *state;
    const stn_markov *markov = s->model->state;
    assert_in_range(markov->order, 3, STN_ORDER_MAX); /* two events do not tell c from d */
    assert_int_equal(s->stats.order, markov->order);
    assert_true(s->stats.valid_loss < 0.05);
    assert_true(s->stats.train_loss < 0.05);
    /* nobody meddles, so each case is one event, but for the first, which nothing came before */
    assert_int_equal(markov->pool.case_count, ROUNDS * 6 - 1);
    for (uint32_t i = 0; i < markov->pool.case_count; i++) {
        assert_true(markov->pool.cases[i] >> 16 < s->model->vocab.type_count);
        assert_int_equal(markov->pool.cases[i] & 0xffffu, stn_step_symbol(8000));
    }
}

/* ---- what the generator asks --------------------------------------------------------------- */

typedef struct question {
    stn_world world;
    stn_ask ask;
    uint64_t refused, driven;
    float weights[8];
    stn_rng rng;
} question;

/* After a b c a b d …, @p count events. */
static void question_open(question *q, lesson *s, size_t count) {
    *q = (question){.refused = 0};
    world_open(s, &q->world);
    happen(s, &q->world, 0, count);
    assert_in_range(s->model->vocab.type_count, 1, 8);
    for (int i = 0; i < 8; i++) {
        q->weights[i] = 1;
    }
    q->ask = (stn_ask){.refused = &q->refused, .driven = &q->driven, .weights = q->weights};
    stn_rng_init(&q->rng, 6);
}

static bool answers(question *q, const lesson *s, stn_answer *answer) {
    return stn_markov_kind.next(s->model, NULL, &q->world, &q->ask, &q->rng, answer);
}

static void what_was_refused_is_not_offered_again(void **state) {
    lesson *s = *state;
    question q;
    stn_answer answer;
    question_open(&q, s, 18);
    uint32_t a = type_of(s, "a");
    for (int i = 0; i < 100; i++) {
        assert_true(answers(&q, s, &answer));
        assert_int_equal(answer.type, a); /* after d always */
        assert_in_range(answer.step_ns, 7680, 8191);
    }
    q.refused = UINT64_C(1) << a;
    for (q.ask.attempt = 1; q.ask.attempt < 20; q.ask.attempt++) {
        if (answers(&q, s, &answer)) {
            assert_true(answer.type != a);
        }
    }
    q.ask.attempt = 12; /* whatever happens anywhere: b, c or d */
    assert_true(answers(&q, s, &answer));
    q.refused = UINT64_MAX;
    for (q.ask.attempt = 1; q.ask.attempt < 20; q.ask.attempt++) {
        assert_false(answers(&q, s, &answer));
    }
    stn_world_fini(&q.world);
}

/* How many of 200 answers are of another type. */
static int others_than(question *q, const lesson *s, uint32_t type) {
    int others = 0;
    for (int i = 0; i < 200; i++) {
        stn_answer answer;
        assert_true(answers(q, s, &answer));
        others += answer.type != type;
    }
    return others;
}

static void what_came_too_often_makes_way(void **state) {
    lesson *s = *state;
    question q;
    question_open(&q, s, 18);
    uint32_t a = type_of(s, "a");
    q.weights[a] = 1e-6F;
    assert_in_range(others_than(&q, s, a), 150, 200);
    for (uint32_t t = 0; t < s->model->vocab.type_count; t++) {
        q.weights[t] = 1e-6F; /* all of them: then the most likely */
    }
    assert_in_range(others_than(&q, s, a), 0, 5);
    stn_world_fini(&q.world);
}

static void what_is_over_is_not_offered(void **state) {
    lesson *s = *state;
    question q;
    stn_answer answer;
    question_open(&q, s, 18);
    for (q.ask.elapsed_ns = 100; q.ask.elapsed_ns < 100000; q.ask.elapsed_ns *= 2) {
        for (int i = 0; i < 20; i++) {
            assert_true(answers(&q, s, &answer));
            assert_true(answer.step_ns > q.ask.elapsed_ns);
        }
    }
    stn_world_fini(&q.world);
}

/* CPU 1 wakes somebody for CPU 0 in the middle of each pause there. */
static void a_case_that_another_cpu_ends_says_so(void **state) {
    (void)state;
    enum { TURNS = 100, LINES = 3 };
    static char lines[TURNS * LINES][64];
    static const char *texts[TURNS * LINES];
    for (int i = 0; i < TURNS; i++) {
        snprintf(lines[LINES * i], sizeof lines[0], "%d 0 7 a", 1000 + 100 * i);
        snprintf(lines[LINES * i + 1], sizeof lines[0], "%d 1 8 sched_wakeup pid=%d target_cpu=0",
                 1030 + 100 * i, 20 + i);
        snprintf(lines[LINES * i + 2], sizeof lines[0],
                 "%d 0 7 sched_switch prev_pid=7 prev_state=0 next_pid=7", 1070 + 100 * i);
    }
    for (int i = 0; i < TURNS * LINES; i++) {
        texts[i] = lines[i];
    }
    lesson *s = lesson_new(texts, TURNS * LINES);
    const stn_markov *markov = s->model->state;
    uint32_t waits = 0, after_a = 0, after_wakeup = 0;
    for (uint32_t i = 0; i < markov->pool.case_count; i++) {
        uint32_t type = markov->pool.cases[i] >> 16, step = markov->pool.cases[i] & 0xffffu;
        waits += type == STN_MARKOV_WAIT && step == stn_step_symbol(30000); /* from a to it */
        after_wakeup += type == type_of(s, "sched_switch") && step == stn_step_symbol(40000);
        after_a += type == type_of(s, "sched_switch") && step == stn_step_symbol(70000);
    }
    assert_int_equal(waits, TURNS);
    assert_int_equal(after_wakeup, TURNS);
    assert_int_equal(after_a, 0);
    /* drawn like the others, but not once it is over */
    question q;
    stn_answer answer;
    question_open(&q, s, 4); /* a has just happened */
    assert_true(answers(&q, s, &answer));
    assert_int_equal(answer.type, STN_ANSWER_WAIT);
    assert_int_equal(stn_step_symbol(answer.step_ns), stn_step_symbol(30000));
    q.ask.elapsed_ns = 50000;
    for (int i = 0; i < 50; i++) {
        assert_true(answers(&q, s, &answer));
        assert_true(answer.step_ns > q.ask.elapsed_ns);
    }
    stn_world_fini(&q.world);
    lesson_free(s);
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
        cmocka_unit_test(order_and_losses_are_those_of_the_circle),
        cmocka_unit_test(what_was_refused_is_not_offered_again),
        cmocka_unit_test(what_came_too_often_makes_way),
        cmocka_unit_test(what_is_over_is_not_offered),
        cmocka_unit_test(a_case_that_another_cpu_ends_says_so),
        cmocka_unit_test(an_order_can_be_forbidden),
        cmocka_unit_test(what_is_generated_goes_round),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
