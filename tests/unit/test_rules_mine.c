/* Mining: what is found in small traces made for it, and what mined rules say of a run that
 * they were not mined from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#include <standin/rules.h>

#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "judge_traces.h"

typedef struct bench {
    stn_catalog *catalog;
    stn_trace trace;
    stn_err err;
    uint64_t now;
} bench;

static int bench_up(void **state) {
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    assert_int_equal(stn_catalog_new(&b->catalog, &b->err), STN_OK);
    stn_trace_init(&b->trace, b->catalog);
    *state = b;
    return 0;
}

static int bench_down(void **state) {
    bench *b = *state;
    stn_trace_fini(&b->trace);
    stn_catalog_free(b->catalog);
    free(b);
    return 0;
}

static void put_with(bench *b, uint64_t step_ns, uint16_t cpu, int32_t tid, const char *name,
                     const char *field_name, int64_t value) {
    stn_field field = number(b->catalog, field_name, value);
    b->now += step_ns;
    put_event(&b->trace, b->now, cpu, tid, "task", name, &field, 1);
}

static void put(bench *b, uint64_t step_ns, uint16_t cpu, int32_t tid, const char *name,
                int64_t key) {
    put_with(b, step_ns, cpu, tid, name, "key", key);
}

static stn_rules *mine(bench *b) {
    const stn_trace *traces[] = {&b->trace};
    stn_rules *rules = NULL;
    stn_status status = stn_rules_mine(&rules, traces, 1, NULL, b->catalog, NULL, NULL, &b->err);
    if (status) {
        fail_msg("%s", b->err.text);
    }
    return rules;
}

static const stn_rule_info *find(const stn_rules *rules, const char *name) {
    for (uint32_t i = 0; i < stn_rules_count(rules); i++) {
        if (!strcmp(stn_rules_at(rules, i)->name, name)) {
            return stn_rules_at(rules, i);
        }
    }
    return NULL;
}

static bool has_prefix(const stn_rules *rules, const char *prefix) {
    for (uint32_t i = 0; i < stn_rules_count(rules); i++) {
        if (!strncmp(stn_rules_at(rules, i)->name, prefix, strlen(prefix))) {
            return true;
        }
    }
    return false;
}

static uint64_t violations(bench *b, const stn_rules *rules, const stn_trace *trace) {
    stn_checker *checker;
    uint64_t total = 0;
    assert_int_equal(stn_checker_new(&checker, rules, b->catalog, &b->err), STN_OK);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t broken = 0;
        assert_int_equal(stn_checker_step(checker, &trace->events[i], &broken, &b->err), STN_OK);
        total += broken;
    }
    stn_checker_free(checker);
    return total;
}

/* Work of @p rounds: two threads on two CPUs open and close resources; a third type comes in
 * between at random. */
static void put_work(bench *b, uint32_t rounds, uint64_t seed) {
    stn_rng rng;
    stn_rng_init(&rng, seed);
    for (uint32_t i = 0; i < rounds; i++) {
        uint16_t cpu = (uint16_t)(i & 1);
        int32_t tid = 10 + cpu;
        put(b, 100 + stn_rng_below(&rng, 900), cpu, tid, "res_open", i % 5);
        if (stn_rng_below(&rng, 2)) {
            put_with(b, 50, cpu, tid, "res_use", "mode", (int64_t)stn_rng_below(&rng, 3));
        }
        put(b, 1000 + stn_rng_below(&rng, 9000), cpu, tid, "res_close", i % 5);
    }
}

static void test_pair_is_found(void **state) {
    bench *b = *state;
    put_work(b, 1200, 1);
    stn_rules *rules = mine(b);
    const stn_rule_info *pair = find(rules, "mined_pair_res_open_res_close_per_cpu");
    assert_non_null(pair);
    assert_true(pair->support >= 1150 && pair->support <= 1200);
    assert_true(has_prefix(rules, "mined_pair_res_open_res_close_per_key"));
    assert_true(has_prefix(rules, "mined_delta_res_open_res_close"));
    assert_int_equal(violations(b, rules, &b->trace), 0);
    stn_rules_free(rules);
}

static void test_pair_that_fails_once_is_not(void **state) {
    bench *b = *state;
    put_work(b, 200, 1);
    put(b, 500, 0, 10, "res_close", 1);
    put_work(b, 200, 2);
    stn_rules *rules = mine(b);
    assert_false(has_prefix(rules, "mined_pair_res_open_res_close_per_cpu"));
    assert_false(has_prefix(rules, "mined_pair_res_open_res_close_per_tid"));
    assert_int_equal(violations(b, rules, &b->trace), 0);
    stn_rules_free(rules);
}

static void test_pair_across_a_lost_mark(void **state) {
    bench *b = *state;
    put_work(b, 200, 1);
    put(b, 500, 0, 10, "res_open", 1);
    put_mark(&b->trace, b->now);
    put_work(b, 200, 2);
    stn_rules *rules = mine(b);
    assert_true(has_prefix(rules, "mined_pair_res_open_res_close_per_cpu"));
    assert_int_equal(violations(b, rules, &b->trace), 0);
    stn_rules_free(rules);
}

static void test_rare_types_give_no_rule(void **state) {
    bench *b = *state;
    put_work(b, 20, 1);
    stn_rules *rules = mine(b);
    assert_false(has_prefix(rules, "mined_pair"));
    assert_false(has_prefix(rules, "mined_value"));
    stn_rules_free(rules);
}

static void test_values_and_breaks(void **state) {
    bench *b = *state;
    put_work(b, 20000, 1);
    stn_rules *rules = mine(b);
    assert_non_null(find(rules, "mined_value_res_use_mode"));
    assert_non_null(find(rules, "mined_follow_per_cpu"));
    stn_trace held;
    stn_trace_init(&held, b->catalog);
    stn_trace training = b->trace;
    b->trace = held;
    put_work(b, 500, 7);
    assert_int_equal(violations(b, rules, &b->trace), 0);
    put(b, 500, 0, 10, "res_open", 1);
    put_with(b, 500, 0, 10, "res_use", "mode", 99); /* a value never seen */
    assert_int_equal(violations(b, rules, &b->trace), 1);
    put(b, 500, 0, 10, "res_open", 1); /* and open already */
    assert_true(violations(b, rules, &b->trace) >= 2);
    stn_trace_fini(&b->trace);
    b->trace = training;
    stn_rules_free(rules);
}

/* Successors that keep coming up new are no saturated set. */
static void test_unsaturated_successors_are_left_out(void **state) {
    bench *b = *state;
    char name[32];
    for (uint32_t i = 0; i < 14000; i++) {
        put(b, 100, 0, 10, "alpha", 0);
        put(b, 100, 0, 10, "beta", 0);
        snprintf(name, sizeof name, "rare_%u", i);
        put(b, 100, 0, 10, i % 40 ? "common" : name, 0);
    }
    stn_rules *rules = mine(b);
    const stn_rule_info *follow = find(rules, "mined_follow_per_cpu");
    bool alpha = false, beta = false;
    for (uint32_t i = 0; follow && i < follow->state_count; i++) {
        alpha = alpha || !strcmp(follow->states[i], "alpha");
        beta = beta || !strcmp(follow->states[i], "beta");
    }
    assert_false(beta);
    assert_true(alpha);
    assert_int_equal(violations(b, rules, &b->trace), 0);
    stn_rules_free(rules);
}

static void test_text_is_rule_language(void **state) {
    bench *b = *state;
    put_work(b, 1000, 3);
    stn_rules *rules = mine(b), *again = NULL;
    char *text = NULL;
    assert_int_equal(stn_rules_text(rules, &text, &b->err), STN_OK);
    stn_status status = stn_rules_parse(&again, text, strlen(text), "again", b->catalog, &b->err);
    if (status) {
        fail_msg("%s", b->err.text);
    }
    assert_int_equal(stn_rules_count(again), stn_rules_count(rules));
    for (uint32_t i = 0; i < stn_rules_count(again); i++) {
        assert_string_equal(stn_rules_at(again, i)->name, stn_rules_at(rules, i)->name);
        assert_int_equal(stn_rules_at(again, i)->support, stn_rules_at(rules, i)->support);
        assert_true(stn_rules_at(again, i)->support >= 50);
    }
    stn_text_free(text);
    stn_rules_free(again);
    stn_rules_free(rules);
}

static bool refuse(void *user, uint64_t done, uint64_t total) {
    (void)user;
    assert_true(done <= total);
    return false;
}

static void test_stops_when_told(void **state) {
    bench *b = *state;
    put_work(b, 100, 1);
    const stn_trace *traces[] = {&b->trace};
    stn_rules *rules = (stn_rules *)b;
    assert_int_equal(stn_rules_mine(&rules, traces, 1, NULL, b->catalog, refuse, NULL, &b->err),
                     STN_EINTR);
    assert_null(rules);
}

static void test_no_trace_no_rule(void **state) {
    bench *b = *state;
    const stn_trace *traces[] = {&b->trace};
    stn_rules *rules = mine(b);
    assert_int_equal(stn_rules_count(rules), 0);
    stn_rules_free(rules);
    assert_int_equal(stn_rules_mine(&rules, traces, 0, NULL, b->catalog, NULL, NULL, &b->err),
                     STN_OK);
    stn_rules_free(rules);
}

static void test_every_allocation_may_fail(void **state) {
    bench *b = *state;
    put_work(b, 150, 1);
    const stn_trace *traces[] = {&b->trace};
    stn_rules *rules;
    stn_status status = STN_ENOMEM;
    for (uint64_t nth = 1; status == STN_ENOMEM; nth += nth < 200 ? 1 : 7) {
        stn_alloc_fail_at(nth);
        status = stn_rules_mine(&rules, traces, 1, NULL, b->catalog, NULL, NULL, &b->err);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
    }
    stn_rules_free(rules);
}

/* ---- real recordings ----------------------------------------------------- */

static void check_held_out(void **state, const char *folder, const char *workload) {
    bench *b = *state;
    stn_trace runs[3];
    const stn_trace *training[] = {&runs[0], &runs[1]};
    stn_rules *rules;
    for (int run = 0; run < 3; run++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.run%d.txt.zst", folder, workload, run + 1);
        stn_status status = stn_trace_load(&runs[run], path, NULL, b->catalog, NULL, NULL, &b->err);
        if (status == STN_ENOTFOUND) {
            for (int i = 0; i < run; i++) {
                stn_trace_fini(&runs[i]);
            }
            print_message("skipped: ../shared not there\n");
            skip();
        }
        assert_int_equal(status, STN_OK);
    }
    assert_int_equal(stn_rules_mine(&rules, training, 2, NULL, b->catalog, NULL, NULL, &b->err),
                     STN_OK);
    uint64_t broken = violations(b, rules, &runs[2]);
    double rate = 1000.0 * (double)broken / (double)runs[2].count;
    print_message("%s: %u rules, %.3f violations per 1,000 events of run 3\n", workload,
                  stn_rules_count(rules), rate);
    assert_int_equal(violations(b, rules, &runs[0]), 0);
    assert_int_equal(violations(b, rules, &runs[1]), 0);
    assert_true(stn_rules_count(rules) >= 50);
    assert_true(rate < 0.5);
    stn_rules_free(rules);
    for (int run = 0; run < 3; run++) {
        stn_trace_fini(&runs[run]);
    }
}

static const char *shared_folder(void) {
    const char *shared = getenv("STN_SHARED");
    static char folder[512];
    snprintf(folder, sizeof folder, "%s/data/kernel", shared ? shared : STN_SHARED_DIR);
    return folder;
}

static void test_bundled_recording(void **state) {
    check_held_out(state, STN_SOURCE_DIR "/examples", "backup");
}

static void test_redis(void **state) {
    check_held_out(state, shared_folder(), "redis");
}

static void test_build(void **state) {
    check_held_out(state, shared_folder(), "build");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pair_is_found, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_pair_that_fails_once_is_not, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_pair_across_a_lost_mark, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_rare_types_give_no_rule, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_values_and_breaks, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_unsaturated_successors_are_left_out, bench_up,
                                        bench_down),
        cmocka_unit_test_setup_teardown(test_text_is_rule_language, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_stops_when_told, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_no_trace_no_rule, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_bundled_recording, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_redis, bench_up, bench_down),
        cmocka_unit_test_setup_teardown(test_build, bench_up, bench_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
