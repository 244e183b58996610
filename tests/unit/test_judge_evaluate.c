/* stn_evaluate on the bundled recordings: two real runs are as good as each other, a shuffled
 * one is not; bad sides, interruption and lack of memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "judge_traces.h"

#include "core/base/alloc.h"
#include "core/base/rng.h"

#include <standin/standin.h>

static stn_catalog *catalog;
static stn_trace runs[3];

static int load_runs(void **state) {
    (void)state;
    stn_err err = {0};
    if (stn_catalog_new(&catalog, &err)) {
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/examples/backup.run%d.txt.zst", STN_SOURCE_DIR, i + 1);
        stn_trace_init(&runs[i], catalog);
        if (stn_trace_load(&runs[i], path, NULL, catalog, NULL, NULL, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    }
    return 0;
}

static int drop_runs(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        stn_trace_fini(&runs[i]);
    }
    stn_catalog_free(catalog);
    return 0;
}

/* One run a side. */
static stn_status judge(const stn_trace *train, const stn_trace *real, const stn_trace *synthetic,
                        stn_evaluation *out, stn_progress_fn progress, stn_err *err) {
    const stn_trace *const sides[] = {train, real, synthetic};
    return stn_evaluate(&sides[0], 1, &sides[1], 1, &sides[2], 1, NULL, catalog, out, progress,
                        NULL, err);
}

static void a_real_run_is_as_good_as_a_real_run(void **state) {
    (void)state;
    stn_evaluation e;
    stn_err err = {0};
    assert_int_equal(judge(&runs[0], &runs[2], &runs[1], &e, NULL, &err), STN_OK);
    assert_true(e.ngram.ratio > 0.85 && e.ngram.ratio < 1.15);
    assert_true(e.ngram.trtr_macro_f1 > 0.3 && e.ngram.trtr_accuracy > 0.6);
    for (int n = 0; n < 3; n++) {
        assert_true(e.jsd[n] >= 0 && e.jsd[n] < 3 * e.jsd_real[n] + 0.005);
    }
    assert_true(e.jsd[0] <= e.jsd[1] && e.jsd[1] <= e.jsd[2]);
    assert_true(e.dt_wasserstein < 0.15);
    assert_true(e.ks_syscall >= 0 && e.ks_syscall < 0.2);
    assert_true(e.verbatim64_synthetic < 0.9 && e.verbatim64_held_out < 0.9);
    assert_true(e.nn_distance_ratio > 0.7 && e.nn_distance_ratio < 1.4);
    assert_int_equal(e.events_real, runs[2].meta.event_count);
    assert_int_equal(e.dt_real.total, e.events_real - 1);
    assert_true(e.type_count > 100 && e.syscall_count > 20 && e.gram_count > 500);
    assert_int_equal(e.cpu_count, 2);
    assert_true(e.types[0].real_count >= e.types[1].real_count);
    uint64_t events = 0;
    for (uint32_t i = 0; i < e.type_count; i++) {
        events += e.types[i].real_count;
    }
    assert_int_equal(events, e.events_real);
    stn_evaluation_fini(&e);
    assert_null(e.types);
}

static void the_training_run_itself_is_a_perfect_copy(void **state) {
    (void)state;
    stn_evaluation e;
    stn_err err = {0};
    assert_int_equal(judge(&runs[0], &runs[2], &runs[0], &e, NULL, &err), STN_OK);
    assert_float_equal(e.ngram.ratio, 1, 1e-9);
    assert_float_equal(e.verbatim64_synthetic, 1, 0);
    assert_float_equal(e.nn_distance_synthetic, 0, 0);
    assert_float_equal(e.jsd[2], e.jsd_real[2], 1e-12);
    assert_float_equal(e.dt_wasserstein, e.dt_wasserstein_real, 1e-12);
    assert_float_equal(e.cpu_share_distance, e.cpu_share_distance_real, 1e-12);
    stn_evaluation_fini(&e);
}

/* The events of @p from in another order, at the same times. */
static void shuffle_into(stn_trace *to, const stn_trace *from) {
    stn_rng rng;
    stn_err err = {0};
    size_t *order = stn_malloc(from->count * sizeof *order);
    assert_non_null(order);
    stn_rng_init(&rng, 1);
    for (size_t i = 0; i < from->count; i++) {
        size_t k = (size_t)stn_rng_below(&rng, i + 1);
        order[i] = i;
        order[i] = order[k];
        order[k] = i;
    }
    stn_trace_init(to, from->catalog);
    for (size_t i = 0; i < from->count; i++) {
        stn_event event = from->events[order[i]];
        event.time_ns = from->events[i].time_ns;
        assert_int_equal(stn_trace_append(to, &event, &err), STN_OK);
    }
    stn_free(order);
}

static void a_shuffled_run_is_found_out(void **state) {
    (void)state;
    stn_trace shuffled;
    stn_evaluation e;
    stn_err err = {0};
    shuffle_into(&shuffled, &runs[1]);
    assert_int_equal(judge(&runs[0], &runs[2], &shuffled, &e, NULL, &err), STN_OK);
    assert_true(e.ngram.ratio < 0.2);
    assert_true(e.jsd[0] < 0.02 && e.jsd[1] > 0.3 && e.jsd[2] > 0.6);
    assert_true(e.violations_per_1000_synthetic > 10);
    assert_true(e.violations_per_1000_synthetic > 10 * e.violations_per_1000_real);
    assert_true(e.violation_count > 0 && e.violations[0].text[0] != 0);
    assert_true(e.verbatim64_synthetic < 0.001);
    assert_true(e.nn_distance_ratio > 1.5);
    assert_true(e.run_length_synthetic < e.run_length_real);
    stn_evaluation_fini(&e);
    stn_trace_fini(&shuffled);
}

static void short_sides_are_refused(void **state) {
    (void)state;
    stn_trace tiny;
    stn_trace_init(&tiny, catalog);
    for (int i = 0; i < 63; i++) {
        put_letters(&tiny, "a");
    }
    stn_evaluation e;
    stn_err err = {0};
    assert_int_equal(judge(&tiny, &runs[2], &runs[1], &e, NULL, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "training runs hold 63 events"));
    assert_int_equal(judge(&runs[0], &tiny, &runs[1], &e, NULL, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "real runs hold 63 events"));
    assert_int_equal(judge(&runs[0], &runs[2], &tiny, &e, NULL, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "synthetic runs hold 63 events"));
    const stn_trace *real = &runs[2];
    assert_int_equal(stn_evaluate(NULL, 0, &real, 1, &real, 1, NULL, catalog, &e, NULL, NULL, &err),
                     STN_EFORMAT);
    assert_null(e.types);
    stn_trace_fini(&tiny);
}

static bool refuse_late(void *user, uint64_t done, uint64_t total) {
    (void)user;
    return done * 2 < total;
}

static void it_stops_when_told(void **state) {
    (void)state;
    stn_evaluation e;
    stn_err err = {0};
    assert_int_equal(judge(&runs[0], &runs[2], &runs[1], &e, refuse_late, &err), STN_EINTR);
    assert_null(e.grams);
    assert_null(e.types);
}

static void put_small(stn_trace *trace, int32_t tid) {
    stn_trace_init(trace, catalog);
    for (uint64_t i = 0; i < 100; i++) {
        put_event(trace, 2000 * i, (uint16_t)(i % 2), tid, "kworker/0:1", "sys_enter_read", NULL,
                  0);
        put_event(trace, 2000 * i + 700, (uint16_t)(i % 2), tid, "x", "sys_exit_read", NULL, 0);
    }
}

static void out_of_memory_is_clean(void **state) {
    (void)state;
    stn_trace small[2];
    put_small(&small[0], 1);
    put_small(&small[1], 2);
    const stn_trace *sides[] = {&small[0], &small[1]};
    stn_rules *rules;
    stn_err err = {0};
    static const char text[] = "standin-rules 1\n"
                               "rule time_order\n"
                               "  doc \"Time does not decrease.\"\n"
                               "  source \"kernel/trace/ring_buffer.c\"\n"
                               "  key cpu\n"
                               "  monotone time *\n";
    assert_int_equal(stn_rules_parse(&rules, text, sizeof text - 1, "one rule", catalog, &err),
                     STN_OK);
    stn_evaluate_options options = {.seed = 1, .rules = rules};
    stn_evaluation e;
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    while (status == STN_ENOMEM) {
        stn_alloc_fail_at(++nth);
        status = stn_evaluate(&sides[0], 1, &sides[1], 1, &sides[0], 1, &options, catalog, &e, NULL,
                              NULL, &err);
        stn_alloc_fail_at(0);
    }
    assert_int_equal(status, STN_OK); /* the first that needs no more than it could have */
    assert_true(nth > 100);
    stn_evaluation_fini(&e);
    stn_rules_free(rules);
    stn_trace_fini(&small[0]);
    stn_trace_fini(&small[1]);
}

static void recorded_workloads_are_as_good_as_themselves(void **state) {
    (void)state;
    const char *shared = getenv("STN_SHARED") ? getenv("STN_SHARED") : STN_SHARED_DIR;
    stn_trace three[3];
    for (int i = 0; i < 3; i++) {
        char path[512];
        stn_err err = {0};
        snprintf(path, sizeof path, "%s/data/kernel/hackbench.run%d.txt.zst", shared, i + 1);
        if (access(path, R_OK) != 0) {
            printf("skipped: ../shared not there\n");
            skip();
        }
        stn_trace_init(&three[i], catalog);
        assert_int_equal(stn_trace_load(&three[i], path, NULL, catalog, NULL, NULL, &err), STN_OK);
    }
    stn_evaluation e;
    stn_err err = {0};
    assert_int_equal(judge(&three[0], &three[2], &three[1], &e, NULL, &err), STN_OK);
    assert_true(e.ngram.ratio > 0.93 && e.ngram.ratio < 1.07);
    assert_true(e.jsd[2] < 0.04);
    assert_float_equal(e.violations_per_1000_real, 0, 0.05);
    stn_evaluation_fini(&e);
    for (int i = 0; i < 3; i++) {
        stn_trace_fini(&three[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_run_is_as_good_as_a_real_run),
        cmocka_unit_test(the_training_run_itself_is_a_perfect_copy),
        cmocka_unit_test(a_shuffled_run_is_found_out),
        cmocka_unit_test(short_sides_are_refused),
        cmocka_unit_test(it_stops_when_told),
        cmocka_unit_test(out_of_memory_is_clean),
        cmocka_unit_test(recorded_workloads_are_as_good_as_themselves),
    };
    return cmocka_run_group_tests(tests, load_runs, drop_runs);
}
