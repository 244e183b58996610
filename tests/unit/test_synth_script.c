/* Plans over time: what is read and what is refused, where; mixtures of workloads; traces whose
 * phases have the rate and the workload that the plan says. */
#include "synth_model.h"

#include <math.h>

#include "kernel/synth/diffusion.h"
#include "kernel/synth/generator.h"
#include "kernel/synth/script.h"

static stn_status parse(const char *text, stn_script **script, stn_err *err) {
    return stn_script_parse(script, text, strlen(text), "plan.csv", err);
}

/* ---- files ------------------------------------------------------------------------------ */

static void a_plan_is_read(void **state) {
    (void)state;
    stn_script *script;
    stn_err err = {0};
    const char *text = "# a plan\r\n rate, seconds ,workload,guidance\r\n"
                       "2x,0,fio,150\r\n\r\n,1.5,fio:0.7+redis:0.3,\n20k,2,,";
    assert_int_equal(parse(text, &script, &err), STN_OK);
    assert_int_equal(script->count, 3);
    const stn_phase *p = script->phases;
    assert_true(p[0].begin_ns == 0 && p[1].begin_ns == 1500000000 && p[2].begin_ns == 2000000000);
    assert_true(p[0].line == 3 && p[1].line == 5 && p[2].line == 6);
    assert_true(p[0].has_rate && p[0].rate.times && p[0].rate.value == 2);
    assert_true(!p[1].has_rate && p[2].has_rate && !p[2].rate.times && p[2].rate.value == 20000);
    assert_true(p[0].weight == 1.5 && p[1].weight == 0);
    assert_string_equal(p[0].workload, "fio");
    assert_string_equal(p[1].workload, "fio:0.7+redis:0.3");
    assert_null(p[2].workload);
    stn_script_free(script);
    stn_script_free(NULL);
}

static void what_is_wrong_is_said_with_its_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "plan.csv: holds no phase"},
        {"seconds,rate\n", "plan.csv: holds no phase"},
        {"0,2x\n", "plan.csv: line 1: the first line names the columns"},
        {"# x\nseconds\n0\n", "plan.csv: line 2: the first line names the columns"},
        {"rate,workload\n2x,a\n", "plan.csv: line 1: the first line names the columns"},
        {"seconds,seconds\n0,1\n", "plan.csv: line 1: the first line names the columns"},
        {"seconds,colour\n0,red\n", "plan.csv: line 1: the first line names the columns"},
        {"seconds,rate\n0\n", "plan.csv: line 2: not as many cells"},
        {"seconds,rate\n0,2x,fio\n", "plan.csv: line 2: not as many cells"},
        {"seconds,rate\n0,1,2,3,4\n", "plan.csv: line 2: more cells than there are columns"},
        {"seconds,rate\n0,2x\n-1,2x\n", "plan.csv: line 3: seconds is \"-1\""},
        {"seconds,rate\nsoon,2x\n", "plan.csv: line 2: seconds is \"soon\""},
        {"seconds,rate\n,2x\n", "plan.csv: line 2: seconds is \"\""},
        {"seconds,rate\n1e3,2x\n", "plan.csv: line 2: seconds is \"1e3\""},
        {"seconds,rate\n9999999999,2x\n", "plan.csv: line 2: seconds is \"9999999999\""},
        {"seconds,rate\n2,2x\n1,2x\n", "plan.csv: line 3: the phase does not begin later"},
        {"seconds,rate\n1,2x\n1.0,2x\n", "plan.csv: line 3: the phase does not begin later"},
        {"seconds,rate\n0,fast\n", "plan.csv: line 2: \"fast\" is no rate"},
        {"seconds,rate\n0,0x\n", "plan.csv: line 2: \"0x\" is no rate"},
        {"seconds,guidance\n0,no\n", "plan.csv: line 2: guidance is a percentage"},
        {"seconds,guidance\n0,0\n", "plan.csv: line 2: guidance is a percentage"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stn_script *script = (stn_script *)&script;
        stn_err err = {0};
        assert_int_equal(parse(rows[i].text, &script, &err), STN_EFORMAT);
        assert_null(script);
        if (strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0) {
            fail_msg("%s\ngave: %s", rows[i].text, err.text);
        }
    }
    stn_script *script;
    stn_err err = {0};
    assert_int_equal(stn_script_load(&script, "/nowhere/plan.csv", &err), STN_ENOTFOUND);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_status status = STN_ENOMEM;
    size_t failures = 0;
    for (uint64_t nth = 1; status != STN_OK && nth < 100; nth++) {
        stn_script *script;
        stn_err err = {0};
        stn_alloc_fail_at(nth);
        status = parse("seconds,workload\n0,a\n1,b\n", &script, &err);
        stn_alloc_fail_at(0);
        failures += status == STN_ENOMEM;
        stn_script_free(script);
    }
    assert_int_equal(status, STN_OK);
    assert_true(failures >= 4);
}

/* ---- mixtures ------------------------------------------------------------------------------ */

static char *labels[] = {"fio", "redis", "a+b"};

static void mixtures_are_read(void **state) {
    (void)state;
    stn_steer s;
    stn_err err = {0};
    assert_int_equal(stn_steer_read(&s, labels, 3, "fio:0.7+redis:0.3", 0, &err), STN_OK);
    assert_true(s.count == 2 && s.label[0] == 0 && s.label[1] == 1 && s.weight == 1);
    assert_true(fabs((double)s.share[0] - 0.7) < 1e-6 && fabs((double)s.share[1] - 0.3) < 1e-6);
    assert_int_equal(stn_steer_read(&s, labels, 3, "redis:3+fio", 1.5, &err), STN_OK);
    assert_true(s.share[0] == 0.75F && s.share[1] == 0.25F && s.weight == 1.5F);
    assert_int_equal(stn_steer_read(&s, labels, 3, "a+b", 0, &err), STN_OK);
    assert_true(s.count == 1 && s.label[0] == 2 && s.share[0] == 1);
    assert_int_equal(stn_steer_read(&s, labels, 3, NULL, 0, &err), STN_OK);
    assert_true(s.count == 1 && s.label[0] == 3); /* none */
    assert_int_equal(stn_steer_read(&s, labels, 1, NULL, 0, &err), STN_OK);
    assert_true(s.label[0] == 0);
    static const char *const none[] = {"fio:",    "fio:0", "fio:-1", "fio:x",
                                       ":1",      "fio+",  "+fio",   "fio+fio+fio+fio+fio",
                                       "fio:1:2", ""};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(stn_steer_read(&s, labels, 3, none[i], 0, &err), STN_ERANGE);
        assert_non_null(strstr(err.text, "is no mixture"));
    }
    assert_int_equal(stn_steer_read(&s, labels, 3, "fio+mail:2", 0, &err), STN_ERANGE);
    assert_string_equal(err.text, "the model knows no workload 'mail'; it knows 'fio', 'redis', "
                                  "'a+b'");
}

/* ---- traces --------------------------------------------------------------------------------- */

static lesson *network;

/* A network that knows one workload by name. */
static int learn(void **state) {
    (void)state;
    static const char *const workloads[] = {"mail"};
    stn_train_options options = {
        .kind = "diffusion", .steps = 3, .context = 32, .workloads = workloads};
    network = lesson_learn_as(3000, &options);
    return 0;
}

static int forget(void **state) {
    (void)state;
    lesson_end(network);
    return 0;
}

static stn_status begin(const lesson *l, const stn_generate_options *options, stn_generator **out,
                        stn_err *err) {
    return stn_generator_new(out, l->model, options, l->catalog, err);
}

static void logits_after(const stn_steer *steer, uint32_t mixed, bool free, float *type,
                         float *step) {
    const stn_diffusion *d = network->model->state;
    uint32_t at = stn_channels_type(&d->channels);
    stn_past past;
    stn_err err = {0};
    uint16_t value[STN_CHANNEL_COUNT] = {0};
    assert_int_equal(stn_past_init(&past, d, NULL, steer, mixed, free, &err), STN_OK);
    for (uint16_t i = 0; i < 6; i++) {
        value[at] = i;
        stn_past_settle(&past, value, 1);
    }
    value[at] = 2;
    memcpy(type, stn_past_logits(&past, at, value), d->channels.classes[at] * sizeof *type);
    memcpy(step, stn_past_logits(&past, at + 1, value), STN_STEP_CLASSES * sizeof *step);
    stn_past_fini(&past);
}

/* As probabilities. */
static void normalise(float *logits, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += exp((double)logits[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        logits[i] = (float)(exp((double)logits[i]) / sum);
    }
}

/* p(type, step) of a mixture is the sum of those of its labels by their shares. */
static void a_mixture_is_the_sum_of_its_labels(void **state) {
    (void)state;
    const stn_diffusion *d = network->model->state;
    uint32_t types = d->channels.classes[stn_channels_type(&d->channels)];
    const stn_steer mail = {1, {0}, {1}, 1}, none = {1, {1}, {1}, 1},
                    both = {2, {0, 1}, {0.7F, 0.3F}, 1};
    float *type[3], step[3][STN_STEP_CLASSES];
    const stn_steer *steers[] = {&mail, &none, &both};
    double apart = 0;
    for (int i = 0; i < 3; i++) {
        type[i] = calloc(types, sizeof(float));
        logits_after(steers[i], i == 2 ? 2 : 1, false, type[i], step[i]);
        normalise(type[i], types);
        normalise(step[i], STN_STEP_CLASSES);
    }
    for (uint32_t t = 0; t < types; t++) {
        double want = 0.7 * (double)type[0][t] + 0.3 * (double)type[1][t];
        assert_true(fabs((double)type[2][t] - want) < 1e-5);
        apart += fabs((double)type[0][t] - (double)type[1][t]);
    }
    assert_true(apart > 1e-3);
    double a = 0.7 * (double)type[0][2], b = 0.3 * (double)type[1][2];
    for (uint32_t s = 0; s < STN_STEP_CLASSES; s++) {
        double want = (a * (double)step[0][s] + b * (double)step[1][s]) / (a + b);
        assert_true(fabs((double)step[2][s] - want) < 1e-5);
    }
    for (int i = 0; i < 3; i++) {
        free(type[i]);
    }
}

static void phases_begin_when_the_plan_says(void **state) {
    (void)state;
    stn_script *script;
    stn_err err = {0};
    assert_int_equal(
        parse("seconds,workload,rate,guidance\n0.1,mail,,200\n0.2,,20k,\n", &script, &err), STN_OK);
    stn_generate_options options = {.seed = 2, .begin_ns = 7, .script = script};
    stn_generator *g;
    stn_event event = {0};
    assert_int_equal(begin(network, &options, &g, &err), STN_OK);
    while (event.time_ns < 7 + 250000000) {
        size_t phase = g->phase;
        uint64_t before = event.time_ns;
        assert_int_equal(stn_generator_next(g, &event, &err), STN_OK);
        if (g->phase > phase) {
            assert_true(before >= 7 + script->phases[phase].begin_ns);
        } else if (phase < 2) {
            assert_true(before < 7 + script->phases[phase].begin_ns);
        }
    }
    assert_int_equal(g->phase, 2);
    assert_string_equal(g->workload, "mail");
    assert_true(g->label_weight == 2 && g->pace.target == 20000);
    stn_generator_free(g);
    stn_script_free(script);
}

static void a_plan_that_the_model_cannot_follow_is_refused(void **state) {
    (void)state;
    stn_script *script;
    stn_err err = {0};
    stn_generator *g;
    assert_int_equal(parse("seconds,workload\n0,mail\n1,web\n", &script, &err), STN_OK);
    stn_generate_options options = {.script = script};
    assert_int_equal(begin(network, &options, &g, &err), STN_EFORMAT);
    assert_string_equal(err.text, "plan.csv: line 3: the model knows no workload 'web'; it knows "
                                  "'mail'");
    lesson *l = lesson_learn(2000);
    assert_int_equal(begin(l, &options, &g, &err), STN_EFORMAT);
    assert_string_equal(err.text, "plan.csv: line 2: a markov model knows no workloads; train one "
                                  "with --kind diffusion");
    options = (stn_generate_options){.workload = "mail"};
    assert_int_equal(begin(l, &options, &g, &err), STN_ERANGE);
    stn_script_free(script);
    lesson_end(l);
}

static void rates_change_along_the_trace(void **state) {
    (void)state;
    lesson *l = lesson_learn(0);
    stn_script *script;
    stn_err err = {0};
    stn_generator *g;
    static const double rates[] = {20000, 60000, 15000};
    assert_int_equal(parse("seconds,rate\n0,20k\n1,60k\n2,15k\n", &script, &err), STN_OK);
    stn_generate_options options = {.seed = 1, .script = script, .duration_ns = 3000000000};
    assert_int_equal(begin(l, &options, &g, &err), STN_OK);
    double counts[4] = {0};
    for (stn_event event = {0}; event.time_ns < 3000000000; counts[event.time_ns / 1000000000]++) {
        assert_int_equal(stn_generator_next(g, &event, &err), STN_OK);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(counts[i] / rates[i] - 1) < 0.08);
    }
    stn_generate_stats stats;
    stn_generator_stats(g, &stats);
    assert_int_equal(stats.violations, 0);
    stn_generator_free(g);
    stn_script_free(script);
    lesson_end(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_read),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(each_failed_allocation_is_clean),
        cmocka_unit_test(mixtures_are_read),
        cmocka_unit_test(a_mixture_is_the_sum_of_its_labels),
        cmocka_unit_test(phases_begin_when_the_plan_says),
        cmocka_unit_test(a_plan_that_the_model_cannot_follow_is_refused),
        cmocka_unit_test(rates_change_along_the_trace),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
