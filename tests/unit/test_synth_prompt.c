/* Real traces continued: the world after the prompt is what its events made it, what is generated
 * goes on in its time, threads and names, and no rule is broken where the two meet. */
#include "synth_model.h"

#include "kernel/synth/generator.h"

enum { PROMPT = 9000, MORE = 6000, LEARNED = 12000 };

static lesson *learned;

static int learn(void **state) {
    (void)state;
    learned = lesson_learn(LEARNED);
    return 0;
}

static int forget(void **state) {
    (void)state;
    lesson_end(learned);
    return 0;
}

static stn_status begin(const lesson *l, const stn_trace *prompt, uint64_t seed,
                        stn_generator **generator, stn_err *err) {
    stn_generate_options options = {.seed = seed, .prompt = prompt};
    return stn_generator_new(generator, l->model, &options, l->catalog, err);
}

/* @p count events after @p prompt, appended to @p out. */
static void go_on(const lesson *l, const stn_trace *prompt, uint64_t seed, size_t count,
                  stn_trace *out) {
    stn_generator *generator;
    stn_err err = {0};
    if (begin(l, prompt, seed, &generator, &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < count; i++) {
        stn_event event;
        assert_int_equal(stn_generator_next(generator, &event, &err), STN_OK);
        assert_int_equal(stn_trace_append(out, &event, &err), STN_OK);
    }
    stn_generate_stats stats;
    stn_generator_stats(generator, &stats);
    assert_int_equal(stats.events, count);
    assert_int_equal(stats.violations, 0);
    stn_generator_free(generator);
}

/* The first @p count events of the recording, copied. */
static void prompt_take(const lesson *l, size_t count, stn_trace *prompt) {
    stn_err err = {0};
    stn_trace_init(prompt, l->catalog);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(stn_trace_append(prompt, &l->trace.events[i], &err), STN_OK);
    }
}

static uint64_t violations_of(const lesson *l, const stn_trace *trace) {
    stn_checker *checker;
    stn_err err = {0};
    uint64_t sum = 0;
    assert_int_equal(stn_checker_new(&checker, stn_model_rules(l->model), l->catalog, &err),
                     STN_OK);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t violations = 0;
        assert_int_equal(stn_checker_step(checker, &trace->events[i], &violations, &err), STN_OK);
        sum += violations;
    }
    stn_checker_free(checker);
    return sum;
}

static bool has_thread(const stn_trace *trace, size_t count, int32_t tid) {
    for (size_t i = 0; i < count; i++) {
        if (trace->events[i].tid == tid) {
            return true;
        }
    }
    return false;
}

static void it_goes_on_where_the_prompt_ends(void **state) {
    (void)state;
    size_t same = 0, all = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        stn_trace whole;
        size_t end = PROMPT + 111 * seed;
        prompt_take(learned, end, &whole);
        stn_trace prompt = whole; /* borrows; whole grows */
        stn_trace more;
        stn_trace_init(&more, learned->catalog);
        go_on(learned, &prompt, seed, MORE, &more);
        assert_true(more.events[0].time_ns > prompt.events[end - 1].time_ns);
        assert_true(more.events[0].time_ns < prompt.events[end - 1].time_ns + 100000000);
        for (size_t i = 0; i < more.count; i++) {
            same += has_thread(&prompt, end, more.events[i].tid);
            assert_int_equal(stn_trace_append(&whole, &more.events[i], &learned->err), STN_OK);
        }
        all += more.count;
        assert_int_equal(violations_of(learned, &whole), 0);
        stn_trace_fini(&more);
        stn_trace_fini(&whole);
    }
    assert_true(same > all / 2);
}

static void a_prompt_and_a_seed_make_one_trace(void **state) {
    (void)state;
    stn_trace one, two, other;
    stn_trace *all[] = {&one, &two, &other};
    stn_trace prompt;
    prompt_take(learned, PROMPT, &prompt);
    for (int i = 0; i < 3; i++) {
        stn_trace_init(all[i], learned->catalog);
        prompt.count = i < 2 ? PROMPT : PROMPT - 1000;
        go_on(learned, &prompt, 3, 1000, all[i]);
    }
    assert_int_equal(lesson_alike(&one, &two), 1000);
    assert_in_range(lesson_alike(&one, &other), 0, 50);
    for (int i = 0; i < 3; i++) {
        stn_trace_fini(all[i]);
    }
    prompt.count = PROMPT;
    stn_trace_fini(&prompt);
}

/* ---- what the model does not know ------------------------------------------------------- */

/* Thread of most events outside the idle one. */
static int32_t busiest(const stn_trace *trace) {
    int32_t best = 0;
    size_t most = 0;
    for (size_t i = 0; i < trace->count; i += 97) {
        size_t count = 0;
        for (size_t j = 0; j < trace->count; j++) {
            count += trace->events[j].tid == trace->events[i].tid;
        }
        if (trace->events[i].tid > 0 && count > most) {
            most = count;
            best = trace->events[i].tid;
        }
    }
    return best;
}

static size_t events_of(const stn_trace *trace, int32_t tid, uint32_t comm) {
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        count += trace->events[i].tid == tid && trace->events[i].comm == comm;
    }
    return count;
}

/* A thread with a name that no training run had. */
static void a_strangers_name_is_carried(void **state) {
    (void)state;
    lesson *l = lesson_learn(3000);
    stn_trace prompt, more;
    prompt_take(l, PROMPT, &prompt);
    uint32_t name = stn_catalog_cstring(l->catalog, "stranger");
    int32_t tid = busiest(&prompt);
    for (size_t i = 0; i < prompt.count; i++) {
        if (prompt.events[i].tid == tid) {
            prompt.events[i].comm = name;
        }
    }
    for (int met = 0; met < 2; met++) {
        size_t events = 0;
        if (met) {
            assert_int_equal(stn_model_meet(l->model, &prompt, &l->err), STN_OK);
        }
        for (uint64_t seed = 1; seed <= 5; seed++) {
            stn_trace_init(&more, l->catalog);
            go_on(l, &prompt, seed, MORE, &more);
            events += events_of(&more, tid, met ? name : STN_NO_ID);
            assert_int_equal(events_of(&more, tid, met ? STN_NO_ID : name), 0);
            stn_trace_fini(&more);
        }
        assert_true(events > 10);
    }
    stn_trace_fini(&prompt);
    lesson_end(l);
}

/* The same event under another tracer's name is the model's type, others are passed over. */
static void types_are_met_by_their_name(void **state) {
    (void)state;
    lesson *l = lesson_learn(3000);
    stn_trace prompt;
    prompt_take(l, 2000, &prompt);
    uint32_t none = stn_catalog_type(l->catalog, "never_heard_of", NULL);
    for (size_t i = 0; i < prompt.count; i++) {
        const char *name = stn_catalog_type_at(l->catalog, prompt.events[i].type)->name;
        uint32_t type = stn_catalog_type(l->catalog, name, "another tracer's");
        prompt.events[i].type = i % 10 == 3 ? none : type;
    }
    stn_generator *generator;
    stn_err err = {0};
    assert_int_equal(begin(l, &prompt, 1, &generator, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "no event of a type"));
    assert_null(generator);
    assert_int_equal(stn_model_meet(l->model, &prompt, &l->err), STN_OK);
    assert_int_equal(begin(l, &prompt, 1, &generator, &err), STN_OK);
    assert_int_equal(generator->seen, 1800);
    assert_int_equal(generator->world.events, 1800);
    stn_generator_free(generator);
    stn_trace_fini(&prompt);
    lesson_end(l);
}

static void a_loss_closes_the_handlers(void **state) {
    (void)state;
    stn_trace prompt;
    stn_generator *generator;
    stn_err err = {0};
    size_t end = PROMPT;
    prompt_take(learned, PROMPT, &prompt);
    do { /* to a place within a handler of the last event's CPU */
        prompt.count = --end;
        assert_int_equal(begin(learned, &prompt, 1, &generator, &err), STN_OK);
        uint16_t depth = generator->world.cpus[prompt.events[end - 1].cpu].depth;
        if (depth == 0) {
            stn_generator_free(generator);
            continue;
        }
        break;
    } while (end > PROMPT - 500);
    uint16_t cpu = prompt.events[end - 1].cpu;
    stn_event lost = {.time_ns = prompt.events[end - 1].time_ns,
                      .type = STN_TYPE_LOST,
                      .tid = STN_NO_TID,
                      .comm = STN_NO_ID,
                      .cpu = cpu};
    assert_true(generator->world.cpus[cpu].depth > 0);
    lost.cpu = (uint16_t)!cpu; /* of the other one: no matter */
    assert_int_equal(stn_generator_see(generator, &lost, true, &err), STN_OK);
    assert_true(generator->world.cpus[cpu].depth > 0);
    lost.cpu = STN_NO_CPU;
    assert_int_equal(stn_generator_see(generator, &lost, true, &err), STN_OK);
    assert_int_equal(generator->world.cpus[cpu].depth, 0);
    stn_generator_free(generator);
    prompt.count = PROMPT;
    stn_trace_fini(&prompt);
}

static void wrong_prompts_are_refused(void **state) {
    (void)state;
    stn_trace prompt;
    stn_generator *generator;
    stn_err err = {0};
    prompt_take(learned, 10, &prompt);
    prompt.events[7].cpu = 5;
    assert_int_equal(begin(learned, &prompt, 1, &generator, &err), STN_EFORMAT);
    assert_string_equal(err.text, "event 8 of the prompt: an event on CPU 5: the model learned "
                                  "from CPUs 0 to 1 only");
    prompt.count = 0;
    assert_int_equal(begin(learned, &prompt, 1, &generator, &err), STN_EFORMAT);
    assert_string_equal(err.text, "the prompt has no events");
    prompt.count = 10;
    stn_trace_fini(&prompt);
    stn_catalog *catalog;
    assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
    stn_trace_init(&prompt, catalog);
    assert_int_equal(stn_model_meet(learned->model, &prompt, &err), STN_ERANGE);
    stn_trace_fini(&prompt);
    stn_catalog_free(catalog);
}

/* ---- the neural kind ------------------------------------------------------------------------ */

/* Ask the kind what comes next on both CPUs. */
static void ask_both(const lesson *l, stn_generator *g, void *run, const uint64_t *none,
                     const float *weights, stn_answer *answers) {
    stn_rng rng;
    stn_rng_init(&rng, 5);
    for (uint16_t cpu = 0; cpu < 2; cpu++) {
        uint64_t elapsed = g->world.now_ns - g->world.cpus[cpu].trigger_ns;
        stn_ask ask = {.cpu = cpu,
                       .elapsed_ns = elapsed,
                       .speed = 1,
                       .refused = none,
                       .driven = none,
                       .weights = weights};
        answers[cpu] = (stn_answer){.type = STN_ANSWER_WAIT};
        assert_true(l->model->kind->next(l->model, run, &g->world, &ask, &rng, &answers[cpu]));
    }
}

/* A past filled by seeing is the one filled by asking at each event. */
static void seeing_fills_the_past_as_asking_does(void **state) {
    (void)state;
    stn_train_options options = {.kind = "diffusion", .steps = 2, .context = 32};
    lesson *l = lesson_learn_as(1500, &options);
    stn_generate_options plain = {.seed = 1};
    const uint64_t *none = calloc(64, sizeof *none);
    float *weights = calloc(4096, sizeof *weights);
    stn_answer answers[2][2];
    for (int t = 0; t < 4096; t++) {
        weights[t] = 1;
    }
    for (int asking = 0; asking < 2; asking++) {
        stn_generator *g;
        assert_int_equal(stn_generator_new(&g, l->model, &plain, l->catalog, &l->err), STN_OK);
        for (size_t i = 0; i < 400; i++) {
            assert_int_equal(stn_generator_see(g, &l->trace.events[i], asking == 0, &l->err),
                             STN_OK);
            if (asking) {
                ask_both(l, g, g->run, none, weights, answers[1]);
            }
        }
        ask_both(l, g, g->run, none, weights, answers[asking]);
        stn_generator_free(g);
    }
    for (int cpu = 0; cpu < 2; cpu++) {
        assert_int_equal(answers[0][cpu].type, answers[1][cpu].type);
        assert_int_equal(answers[0][cpu].step_ns, answers[1][cpu].step_ns);
    }
    free((void *)none);
    free(weights);
    lesson_end(l);
}

static void a_network_continues_too(void **state) {
    (void)state;
    stn_train_options options = {.kind = "diffusion", .steps = 3, .context = 64};
    lesson *l = lesson_learn_as(3000, &options);
    stn_trace prompt, more, again;
    prompt_take(l, 2500, &prompt);
    stn_trace_init(&more, l->catalog);
    stn_trace_init(&again, l->catalog);
    go_on(l, &prompt, 2, 1500, &more);
    go_on(l, &prompt, 2, 1500, &again);
    assert_int_equal(lesson_alike(&more, &again), 1500);
    for (size_t i = 0; i < more.count; i++) {
        assert_int_equal(stn_trace_append(&prompt, &more.events[i], &l->err), STN_OK);
    }
    assert_int_equal(violations_of(l, &prompt), 0);
    stn_trace_fini(&more);
    stn_trace_fini(&again);
    stn_trace_fini(&prompt);
    lesson_end(l);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_trace prompt;
    prompt_take(learned, 400, &prompt);
    stn_status status = STN_ENOMEM;
    size_t failures = 0;
    for (uint64_t nth = 1; status != STN_OK && nth < 100000; nth += 1 + nth / 8) {
        stn_err err = {0};
        stn_generator *generator = NULL;
        stn_alloc_fail_at(nth);
        status = begin(learned, &prompt, 1, &generator, &err);
        stn_alloc_fail_at(0);
        if (status != STN_OK) {
            assert_int_equal(status, STN_ENOMEM);
            assert_null(generator);
            failures++;
        }
        stn_generator_free(generator);
    }
    assert_int_equal(status, STN_OK);
    assert_true(failures > 10);
    stn_trace_fini(&prompt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_where_the_prompt_ends),
        cmocka_unit_test(a_prompt_and_a_seed_make_one_trace),
        cmocka_unit_test(a_strangers_name_is_carried),
        cmocka_unit_test(types_are_met_by_their_name),
        cmocka_unit_test(a_loss_closes_the_handlers),
        cmocka_unit_test(wrong_prompts_are_refused),
        cmocka_unit_test(seeing_fills_the_past_as_asking_does),
        cmocka_unit_test(a_network_continues_too),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
