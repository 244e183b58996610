/* Paces: words for rates, the control on a made-up machine, and generated traces whose rate is the
 * one asked for. */
#include "synth_model.h"

#include <math.h>

#include "kernel/synth/diffusion.h"
#include "kernel/synth/generator.h"

/* ---- words ----------------------------------------------------------------------------- */

static void rates_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
        bool times;
    } good[] = {{"2x", 2, true},
                {"0.5x", 0.5, true},
                {"800", 800, false},
                {"20k", 2e4, false},
                {"1.5M", 1.5e6, false}};
    static const char *const bad[] = {"",   "x",      "0x",  "0",    "-2x",  "2 x",      "2xx",
                                      "2y", "1.2.3x", "nan", "infx", "20kx", "9999999M", "1e3"};
    stn_rate rate;
    stn_err err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(stn_rate_parse(good[i].text, &rate, &err), STN_OK);
        assert_true(fabs(rate.value - good[i].value) < 1e-9 && rate.times == good[i].times);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rate.value = 77;
        assert_int_equal(stn_rate_parse(bad[i], &rate, &err), STN_ERANGE);
        assert_non_null(strstr(err.text, "is no rate; expected"));
        assert_true(rate.value == 77);
    }
}

/* ---- control ------------------------------------------------------------------------------- */

/* One CPU on which ten events of service follow each wait. @return events a second */
static double run(stn_pace *pace, uint64_t wait_ns, uint64_t work_ns, int events) {
    uint64_t now = pace->begin_ns, begin = now;
    for (int i = 0; i < events; i++) {
        bool waits = i % 11 == 0;
        double speed = stn_pace_speed(pace, waits);
        uint64_t step = stn_pace_trace(speed, waits ? wait_ns : work_ns);
        stn_pace_spent(pace, waits, speed, step);
        stn_pace_event(pace, now += step);
    }
    return events * 1e9 / (double)(now - begin);
}

static void without_a_target_times_are_as_drawn(void **state) {
    (void)state;
    stn_pace pace = {0};
    stn_pace_set(&pace, 0, 1000, 5);
    assert_true(stn_pace_speed(&pace, true) == 1 && stn_pace_speed(&pace, false) == 1);
    run(&pace, 1000000, 10000, 1000);
    assert_true(stn_pace_speed(&pace, true) == 1 && stn_pace_mean(&pace, true) == 1);
    assert_int_equal(stn_pace_trace(1, UINT64_MAX - 1), UINT64_MAX - 1);
    assert_int_equal(stn_pace_model(2, stn_pace_trace(2, 1000)), 1000);
}

/* 1 ms of waiting and ten times 10 us of service: 10,000 events a second. */
static void waiting_gives_way_before_service(void **state) {
    (void)state;
    static const struct {
        double target, work_least, work_most;
    } rows[] = {{10000, 0.95, 1.05}, {20000, 0.9, 1.1}, {5000, 0.9, 1.1}, {200000, 2, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stn_pace pace = {0};
        stn_pace_set(&pace, rows[i].target, 10000, 7);
        pace.span_s = 100000 / rows[i].target;
        double rate = run(&pace, 1000000, 10000, 100000);
        assert_true(fabs(rate / rows[i].target - 1) < 0.02);
        double work = stn_pace_mean(&pace, false), wait = stn_pace_mean(&pace, true);
        assert_true(work > rows[i].work_least && work < rows[i].work_most);
        assert_true(rows[i].target <= 10000 || wait > 1.5 * work);
        assert_true(rows[i].target != 5000 || wait < 0.6);
    }
}

static void a_new_target_is_taken_up(void **state) {
    (void)state;
    stn_pace pace = {0};
    stn_pace_set(&pace, 20000, 10000, 0);
    run(&pace, 1000000, 10000, 20000);
    stn_pace_set(&pace, 5000, 10000, 9000000000);
    pace.span_s = 10;
    assert_true(fabs(run(&pace, 1000000, 10000, 50000) / 5000 - 1) < 0.02);
}

static void a_stretched_wait_ends_before_the_trace_falls_behind(void **state) {
    (void)state;
    stn_pace pace = {0};
    stn_pace_set(&pace, 1000, 2000, 0);
    pace.span_s = 1;
    pace.events = 100; /* planned for 0.1 s; 0.02 s late at most */
    assert_true(stn_pace_limit(&pace, 0.5, 10000000, 50000000) == 0.5);
    double speed = stn_pace_limit(&pace, 0.1, 10000000, 50000000);
    assert_int_equal(llround(10000000 / speed), 70000000);
    assert_true(stn_pace_limit(&pace, 0.5, 10000000, 200000000) == 1);
    assert_true(stn_pace_limit(&pace, 2, 10000000, 200000000) == 2);
}

/* 5 ms, of which 1 ms is gone: a wait takes 0.4 ms at most. Longer spans have time for it. */
static void a_short_span_is_not_slept_through(void **state) {
    (void)state;
    stn_pace pace = {0};
    stn_pace_set(&pace, 100000, 10000, 0);
    pace.span_s = 0.005;
    assert_int_equal(llround(50000000 / stn_pace_limit(&pace, 2, 50000000, 1000000)), 400000);
    assert_true(stn_pace_limit(&pace, 2, 700000, 1000000) == 2);
    assert_true(stn_pace_limit(&pace, 2, 50000000, 5000000) >= 50000000);
    pace.span_s = 0.05;
    assert_true(stn_pace_limit(&pace, 2, 50000000, 1000000) == 2);
    pace.span_s = 0;
    assert_true(stn_pace_limit(&pace, 2, 50000000, 1000000) == 2);
}

/* Nothing comes in the first half of 4 ms: what is asked for is still made up for by its end. */
static void a_short_span_is_made_up_for(void **state) {
    (void)state;
    stn_pace pace = {0};
    stn_pace_set(&pace, 100000, 100000, 0);
    pace.span_s = 0.004;
    uint64_t now = 2000000;
    uint32_t events = 0;
    for (; now < 4000000; events++) {
        stn_pace_event(&pace, now);
        now += stn_pace_trace(stn_pace_speed(&pace, false), 10000);
    }
    assert_true(events > 300); /* of 400; 200 without haste */
}

/* ---- traces ---------------------------------------------------------------------------------- */

/* Generate, and let no rule be broken. @return events a second */
static double generate(const lesson *l, stn_rate rate, const char *workload, size_t count,
                       stn_trace *out, stn_generate_stats *stats) {
    stn_generate_options options = {
        .seed = 3, .begin_ns = 5000, .rate = rate, .count = count, .workload = workload};
    stn_generator *generator;
    stn_err err = {0};
    stn_trace_init(out, l->catalog);
    assert_int_equal(stn_generator_new(&generator, l->model, &options, l->catalog, &err), STN_OK);
    for (size_t i = 0; i < count; i++) {
        stn_event event;
        assert_int_equal(stn_generator_next(generator, &event, &err), STN_OK);
        assert_int_equal(stn_trace_append(out, &event, &err), STN_OK);
    }
    stn_generator_stats(generator, stats);
    assert_int_equal(stats->violations, 0);
    stn_generator_free(generator);
    return (double)count * 1e9 / (double)(out->events[count - 1].time_ns - 5000);
}

static void a_trace_has_the_rate_asked_for(void **state) {
    (void)state;
    lesson *l = lesson_learn(0);
    stn_trace trace;
    stn_generate_stats stats;
    double learned = stn_model_rate(l->model);
    static const stn_rate rates[] = {{0.5, true}, {1, true}, {2, true}, {100000, false}};
    for (size_t i = 0; i < 4; i++) {
        double target = rates[i].times ? rates[i].value * learned : rates[i].value;
        double rate = generate(l, rates[i], NULL, 40000, &trace, &stats);
        assert_true(fabs(rate / target - 1) < 0.06);
        assert_true(fabs(stats.learned_rate - learned) < 1e-6);
        assert_true(stats.wait_speed > 0 && stats.work_speed > 0);
        stn_trace_fini(&trace);
    }
    lesson_end(l);
}

static void a_network_has_it_too_and_by_its_workload(void **state) {
    (void)state;
    static const char *const workloads[] = {"mail"};
    stn_train_options options = {
        .kind = "diffusion", .steps = 3, .context = 32, .workloads = workloads};
    lesson *l = lesson_learn_as(4000, &options);
    stn_diffusion *d = l->model->state;
    assert_true(fabs(d->rates[0] - stn_model_rate(l->model)) < 1e-6);
    d->rates[0] *= 3; /* as if others had been slower */
    stn_trace trace;
    stn_generate_stats stats;
    double rate = generate(l, (stn_rate){0.5, true}, "mail", 20000, &trace, &stats);
    assert_true(fabs(stats.learned_rate - d->rates[0]) < 1e-6);
    assert_true(fabs(rate / d->rates[0] - 0.5) < 0.1);
    stn_trace_fini(&trace);
    lesson_end(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_read),
        cmocka_unit_test(without_a_target_times_are_as_drawn),
        cmocka_unit_test(waiting_gives_way_before_service),
        cmocka_unit_test(a_new_target_is_taken_up),
        cmocka_unit_test(a_short_span_is_not_slept_through),
        cmocka_unit_test(a_short_span_is_made_up_for),
        cmocka_unit_test(a_stretched_wait_ends_before_the_trace_falls_behind),
        cmocka_unit_test(a_trace_has_the_rate_asked_for),
        cmocka_unit_test(a_network_has_it_too_and_by_its_workload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
