/* The pass over small rule sets: states, conditions, frames, warm-up, losses, memory. */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "rules_trace.h"

typedef struct bench {
    stn_catalog *catalog;
    stn_rules *rules;
    stn_checker *checker;
} bench;

static void bench_open(bench *b, const char *text) {
    stn_err err = {0};
    assert_int_equal(stn_catalog_new(&b->catalog, &err), STN_OK);
    if (stn_rules_parse(&b->rules, text, strlen(text), "test", b->catalog, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(stn_checker_new(&b->checker, b->rules, b->catalog, &err), STN_OK);
}

static void bench_close(bench *b) {
    stn_checker_free(b->checker);
    stn_rules_free(b->rules);
    stn_catalog_free(b->catalog);
}

/* Rules broken by one event. */
static uint32_t step(bench *b, const char *text) {
    line_event line;
    stn_err err = {0};
    uint32_t broken;
    const stn_event *event = line_read(&line, text, b->catalog);
    assert_int_equal(stn_checker_step(b->checker, event, &broken, &err), STN_OK);
    return broken;
}

/* A rule and events; "!" before an event: it breaks the rule. */
typedef struct row {
    const char *rule;
    const char *events[12];
} row;

static void language_means_what_it_says(void **state) {
    (void)state;
    static const row rows[] = {
        {"key thread\npair a b",
         {"1 0 5 b", "2 0 5 a", "3 0 5 b", "!4 0 5 b", "5 0 6 b", "!6 0 6 b"}},
        {"key thread\npair a b match n",
         {"1 0 5 a n=1", "2 0 5 b n=1", "3 0 5 a n=1", "!4 0 5 b n=2", "5 0 5 a n=3"}},
        {"key cpu\norder a b\nfresh idle after 0", {"!1 0 5 b", "2 0 5 a", "3 0 5 b", "!4 1 5 b"}},
        {"key thread\nfollow a after a b\nfollow b after a",
         {"1 0 5 a", "2 0 5 b", "!3 0 5 b", "4 0 5 a", "5 0 5 x", "6 0 5 b", "7 0 6 b"}},
        {"key none\nvalue a f in (1..3 7)",
         {"1 0 5 a f=1", "2 0 5 a f=7", "!3 0 5 a f=4", "4 0 5 a", "5 0 5 b f=4"}},
        {"key none\nvalue a f in (red \"light green\")", {"1 0 5 a f=red", "!2 0 5 a f=blue"}},
        {"key none\nvalue a f < 3", {"1 0 5 a f=2", "!2 0 5 a f=3", "3 0 5 a f=text"}},
        {"key none\nvalue a f & 0x10", {"1 0 5 a f=0x30", "!2 0 5 a f=0x20"}},
        {"key none\nvalue a f !& 0x10", {"!1 0 5 a f=0x30", "2 0 5 a f=0x20"}},
        {"key none\nvalue a f not in (1 2 3 4 5 6 7 8 9 11)",
         {"!1 0 5 a f=1", "2 0 5 a f=10", "!3 0 5 a f=11", "4 0 5 a f=0", "5 0 5 a f=12"}},
        {"key none\nvalue a g|f == 3", {"1 0 5 a f=3", "!2 0 5 a g=4", "!3 0 5 a g=4 f=3"}},
        {"key none\nvalue a f == \"red\"", {"1 0 5 a f=red", "!2 0 5 a f=7"}},
        {"key none\nvalue a f <= g + 5", {"1 0 5 a f=6 g=1", "!2 0 5 a f=7 g=1"}},
        {"key none\nnever a where f == 1", {"!1 0 5 a f=1", "2 0 5 a f=2", "3 0 5 a"}},
        {"key thread\ndelta a b 10us..20us",
         {"1 0 5 b", "2 0 5 a", "12 0 5 b", "20 0 5 a", "!41 0 5 b", "42 0 5 b", "50 0 5 a",
          "!51 0 5 b"}},
        {"key thread\nneeds a b\norder a b\nfresh idle after 0",
         {"1 0 5 a", "2 0 5 b", "3 0 5 b", "!4 0 6 b", "5 0 6 a", "6 0 6 b"}},
        {"key thread\nneeds c\norder a b\nfresh idle after 20us",
         {"1 0 5 a", "50 0 5 c", "51 0 5 b", "70 0 5 b", "!71 0 6 b"}},
        {"key cpu\nmonotone f a", {"1 0 5 a f=1", "2 0 5 a f=1", "!3 0 5 a f=0", "4 1 5 a f=0"}},
        {"key cpu\ncontinuity a p n",
         {"1 0 5 a p=1 n=2", "2 0 5 a p=2 n=3", "!3 0 5 a p=2 n=4", "4 0 5 a p=4 n=5"}},
        {"key cpu\nframe f in out\nframe g gin gout over f\non x from none to none\non y within g",
         {"1 0 5 x", "2 0 5 in", "!3 0 5 x", "4 0 5 in", "!5 0 5 y", "6 0 5 gin", "7 0 5 y",
          "8 0 5 gout", "9 0 5 out", "!10 0 5 gin", "11 0 5 gout"}},
        {"key cpu\nframe f in out\non y within f", {"1 0 5 y", "2 0 5 out", "3 0 5 in"}},
        {"key thread\nstates s t\non a b to s\non b from t", {"1 0 5 a", "2 0 5 b"}},
        {"key thread\nstates s t\non * but b to s\non c from t",
         {"1 0 5 a", "2 0 5 b", "!3 0 5 c"}},
        {"key thread\nstates s t\nregisters r\non a to s set r = 1\non a2 from s set r += 2\n"
         "on b from s if r == 3",
         {"1 0 5 a", "!2 0 5 b", "3 0 5 a2", "4 0 5 b"}},
        {"key thread\nstates s t u\non a from s to t else u\non b to s\non c from u",
         {"1 0 5 b", "2 0 5 a", "!3 0 5 a", "4 0 5 c"}},
        {"key thread\nstates s\nneeds a\nfresh s after 0\non b if f == 1",
         {"1 0 5 b f=2", "2 0 5 a", "!3 0 5 b f=2"}},
        {"key dev by dev sector\npair a b",
         {"1 0 5 a dev=1 sector=2", "2 0 5 a dev=1 sector=3", "3 0 5 b dev=1 sector=2",
          "!4 0 5 b dev=1 sector=2", "5 0 5 b dev=1"}},
        {"key name by n\npair a b", {"1 0 5 a n=x", "2 0 5 a n=y", "3 0 5 b n=x", "!4 0 5 b n=x"}},
        {"key thread\npair a b",
         {"1 0 5 sched_switch prev_pid=5 next_pid=6", "2 0 - a", "!3 0 6 a", "4 1 - a"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        bench b;
        snprintf(text, sizeof text, "standin-rules 1\nrule r\n%s\n", rows[i].rule);
        bench_open(&b, text);
        for (size_t e = 0; e < 12 && rows[i].events[e]; e++) {
            const char *event = rows[i].events[e];
            uint32_t want = *event == '!';
            if (step(&b, event + want) != want) {
                fail_msg("%s\nat %s", rows[i].rule, event);
            }
        }
        bench_close(&b);
    }
}

static void unseen_keys_are_fresh_after_the_warm_up(void **state) {
    (void)state;
    bench b;
    bench_open(&b, "standin-rules 1\nrule r\nkey k by n\nstates idle busy\nfresh idle after 1ms\n"
                   "on a to busy\non b from busy to idle\n");
    assert_int_equal(step(&b, "0 0 5 b n=1"), 0);
    assert_int_equal(step(&b, "999 0 5 b n=2"), 0);
    assert_int_equal(step(&b, "1000 0 5 b n=3"), 1);
    assert_int_equal(step(&b, "1001 0 5 lost"), 0);
    assert_int_equal(step(&b, "1002 0 5 b n=3"), 0); /* unknown again, and a new warm-up */
    assert_int_equal(step(&b, "2000 0 5 b n=4"), 0);
    assert_int_equal(step(&b, "2001 0 5 b n=5"), 1);
    bench_close(&b);
}

static void a_loss_makes_all_unknown(void **state) {
    (void)state;
    bench b;
    bench_open(&b, "standin-rules 1\nrule r\nkey thread\npair a b\n");
    uint32_t rule_open = 2;
    stn_key key = {1, {5}};
    step(&b, "1 3 5 a");
    assert_int_equal(stn_checker_state(b.checker, 0, &key), rule_open);
    assert_int_equal(stn_checker_running(b.checker, 3), 5);
    step(&b, "2 0 0 lost");
    assert_int_equal(stn_checker_state(b.checker, 0, &key), 0);
    assert_int_equal(stn_checker_running(b.checker, 3), STN_NO_TID);
    assert_int_equal(step(&b, "3 3 5 a"), 0);
    assert_int_equal(stn_checker_stats(b.checker)[0].violations, 0);
    bench_close(&b);
}

static void violations_are_told(void **state) {
    (void)state;
    bench b;
    bench_open(&b, "standin-rules 1\nrule r\nkey k by n\nstates shut open\nregisters m\n"
                   "on a from shut to open set m = v\non b from open if m == v to shut\n");
    step(&b, "1 2 5 a n=7 v=1");
    step(&b, "2 2 5 b n=7 v=3");
    step(&b, "3 2 6 b n=7 v=3");
    for (int i = 0; i < 20; i++) {
        step(&b, "4 2 6 b n=7 v=3");
    }
    uint32_t count;
    const stn_violation *told = stn_checker_violations(b.checker, &count);
    assert_int_equal(count, STN_VIOLATIONS_KEPT);
    assert_int_equal(stn_checker_stats(b.checker)[0].violations, 22);
    assert_string_equal(told[0].text, "b in state open of k 7; expected m (1) == v (3)");
    assert_string_equal(told[1].text, "b in state shut of k 7; expected open");
    assert_int_equal(told[0].time_ns, 2000);
    assert_int_equal(told[0].cpu, 2);
    assert_int_equal(told[1].tid, 6);
    stn_checker_reset(b.checker);
    stn_checker_violations(b.checker, &count);
    assert_int_equal(count, 0);
    assert_int_equal(stn_checker_stats(b.checker)[0].checked, 0);
    assert_int_equal(step(&b, "9 2 6 b n=7 v=3"), 0);
    bench_close(&b);
}

/* An address of the kernel is told as the trace shows it; an error number stays a number. */
/* What is not counted moves the state all the same. */
static void silent_steps_are_evidence(void **state) {
    (void)state;
    bench b;
    bench_open(&b, "standin-rules 1\nrule r\nkey thread\npair a b\n");
    assert_int_equal(step(&b, "1 0 5 a"), 0);
    stn_checker_count(b.checker, false);
    assert_int_equal(step(&b, "2 0 5 a"), 0); /* broken, not counted */
    assert_int_equal(step(&b, "3 0 5 b"), 0);
    stn_checker_count(b.checker, true);
    assert_int_equal(stn_checker_stats(b.checker)[0].violations, 0);
    assert_int_equal(stn_checker_stats(b.checker)[0].checked, 0);
    assert_int_equal(step(&b, "4 0 5 b"), 1); /* it knows of the silent one before */
    assert_int_equal(stn_checker_stats(b.checker)[0].checked, 1);
    uint32_t kept = 0;
    assert_int_equal(stn_checker_violations(b.checker, &kept)[0].time_ns, 4000);
    assert_int_equal(kept, 1);
    bench_close(&b);
}

/* Rule text of @p count rules that each look at @p fields fields of events a. */
static char *many_rules(unsigned count, unsigned fields) {
    size_t size = 64 + (size_t)count * (64 + fields * 32);
    char *text = malloc(size);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, size, "standin-rules 1\n");
    for (unsigned i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used, "rule r%u\nkey thread\n", i);
        for (unsigned f = 0; f < fields; f++) {
            used += (size_t)snprintf(text + used, size - used, "value a f%u < 3\n",
                                     (i * fields + f) % 130);
        }
    }
    return text;
}

/* A plan has place for so many fields of one event type: which rule is too much is said. */
static void too_many_fields_are_told(void **state) {
    (void)state;
    bench b;
    char *text = many_rules(13, 10);
    bench_open(&b, text);
    free(text);
    assert_int_equal(step(&b, "1 0 5 b"), 0);
    line_event line;
    stn_err err = {0};
    const stn_event *event = line_read(&line, "2 0 5 a f0=1", b.catalog);
    assert_int_equal(stn_checker_step(b.checker, event, NULL, &err), STN_EUNSUPPORTED);
    assert_string_equal(err.text, "rule r12 (line 146): with it the rules look at more than 122 "
                                  "fields of a; check fewer rules at a time");
    assert_int_equal(step(&b, "3 0 5 b"), 0);
    bench_close(&b);
}

/* Memory for what an event type means grows with the rules, not with their square (which
 * would be 20 GB here). */
static void many_rules_may_look_at_one_event(void **state) {
    (void)state;
    bench b;
    char *text = many_rules(20000, 1);
    text[strlen(text) - 1] = '\0';
    for (char *at = text; (at = strstr(at, "value a f")) != NULL; at += 9) {
        for (char *digit = at + 9; *digit >= '0' && *digit <= '9'; digit++) {
            *digit = '1'; /* f1, f11, f111: three fields */
        }
    }
    bench_open(&b, text);
    free(text);
    assert_int_equal(step(&b, "1 0 5 a f1=1 f11=2 f111=2"), 0);
    assert_true(step(&b, "2 0 5 a f1=5 f11=2 f111=2") > 1000);
    stn_rules *more;
    stn_err err = {0};
    static const char again[] = "standin-rules 1\nrule r7\nkey thread\nvalue a g < 3\n";
    assert_int_equal(stn_rules_parse(&more, again, sizeof again - 1, "m", b.catalog, &err), STN_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stn_rules_add(b.rules, more, &err), STN_EFORMAT);
        assert_non_null(strstr(err.text, "rule r7 is there already"));
    }
    stn_rules_free(more);
    bench_close(&b);
}

static void addresses_are_told_in_hexadecimal(void **state) {
    (void)state;
    bench b;
    bench_open(&b, "standin-rules 1\nrule r\nkey k by n\nstates shut open\n"
                   "on a from shut to open\non b from open to shut\n");
    step(&b, "1 2 5 a n=-2084253568");
    step(&b, "2 2 5 a n=-2084253568");
    step(&b, "3 2 5 a n=-14");
    step(&b, "4 2 5 a n=-14");
    uint32_t count;
    const stn_violation *told = stn_checker_violations(b.checker, &count);
    assert_int_equal(count, 2);
    assert_string_equal(told[0].text, "a in state open of k 0xffffffff83c4d080; expected shut");
    assert_string_equal(told[1].text, "a in state open of k -14; expected shut");
    bench_close(&b);
}

static void trying_changes_nothing_when_it_fails(void **state) {
    (void)state;
    bench b;
    line_event line;
    uint32_t broken;
    bench_open(&b,
               "standin-rules 1\nrule q\nkey cpu\nvalue z f > 0\nrule r\nkey thread\npair a b\n");
    stn_key key = {1, {5}};
    step(&b, "1 0 5 a");
    assert_int_equal(stn_checker_try(b.checker, line_read(&line, "2 0 5 a", b.catalog), &broken),
                     STN_ECHECK);
    assert_int_equal(broken, 1);
    assert_int_equal(stn_checker_state(b.checker, 1, &key), 2);
    assert_int_equal(stn_checker_stats(b.checker)[1].checked, 0);
    assert_int_equal(stn_checker_try(b.checker, line_read(&line, "2 0 5 b", b.catalog), &broken),
                     STN_OK);
    assert_int_equal(broken, STN_NO_ID);
    assert_int_equal(stn_checker_state(b.checker, 1, &key), 1);
    assert_int_equal(stn_checker_stats(b.checker)[1].checked, 1);
    bench_close(&b);
}

static void keys_and_live_instances(void **state) {
    (void)state;
    bench b;
    line_event line;
    uint32_t count;
    stn_key key;
    bench_open(&b, "standin-rules 1\nrule r\nkey k by n cpu\npair a b match v\n");
    for (int tracked = 0; tracked < 2; tracked++) {
        stn_checker_reset(b.checker);
        assert_int_equal(stn_checker_track(b.checker, 0, tracked == 1), STN_OK);
        step(&b, "1 0 5 a n=name v=4");
        step(&b, "2 1 5 a n=name v=5");
        step(&b, "3 2 5 a n=7 v=6");
        assert_int_equal(stn_checker_live_count(b.checker, 0, 2), 3);
        step(&b, "4 1 5 b n=name v=5");
        assert_int_equal(stn_checker_live_count(b.checker, 0, 2), 2);
        assert_int_equal(stn_checker_live_count(b.checker, 0, 1), 1);
        assert_true(stn_checker_live(b.checker, 0, 1, 0, &key));
        assert_false(stn_checker_live(b.checker, 0, 1, 1, &key));
        assert_int_equal(key.count, 2);
        assert_string_equal(stn_checker_key_text(b.checker, key.v[0]), "name");
        assert_null(stn_checker_key_text(b.checker, 7));
        assert_int_equal(key.v[1], 1);
        const stn_event *event = line_read(&line, "5 0 5 b n=name v=4", b.catalog);
        const stn_binding *bound = stn_rules_bindings(b.rules, event->type, &count);
        assert_true(stn_checker_key(b.checker, &bound[0], event, &key));
        assert_int_equal(stn_checker_state(b.checker, 0, &key), 2);
        int64_t value = 0;
        assert_true(stn_checker_register(b.checker, 0, &key, 0, &value));
        assert_int_equal(value, 4);
        event = line_read(&line, "5 0 5 b v=4", b.catalog);
        assert_false(stn_checker_key(b.checker, &bound[0], event, &key));
    }
    bench_close(&b);
}

static void dead_keys_give_their_memory_back(void **state) {
    (void)state;
    bench b;
    bench_open(&b, "standin-rules 1\nrule r\nkey k by n\nstates idle busy\nfresh idle after 0\n"
                   "on a from idle to busy\non b from busy to idle\n");
    char text[64];
    uint64_t allocations = 0;
    for (int i = 0; i < 200000; i++) {
        snprintf(text, sizeof text, "%d 0 5 a n=%d", i, 1000000000 + i);
        assert_int_equal(step(&b, text), 0);
        snprintf(text, sizeof text, "%d 0 5 b n=%d", i, 1000000000 + i);
        assert_int_equal(step(&b, text), 0);
        if (i == 20000) {
            allocations = stn_alloc_count();
        }
    }
    assert_true(stn_alloc_count() - allocations < 10);
    bench_close(&b);
}

static void out_of_memory_leaves_the_state(void **state) {
    (void)state;
    bench b;
    line_event line;
    bench_open(&b, "standin-rules 1\nrule r\nkey thread\npair a b\nrule s\nkey k by n\npair a b\n");
    stn_key five = {1, {5}};
    step(&b, "1 0 5 a n=1");
    unsigned failures = 0;
    for (int i = 0; i < 300; i++) {
        char text[64];
        snprintf(text, sizeof text, "%d 0 %d a n=%d", i + 2, 1000 + i, i + 5);
        if (i % 2 == 0) { /* a type whose plan is still to be made */
            snprintf(text, sizeof text, "%d 0 %d new%d n=%d", i + 2, 1000 + i, i, i + 5);
        }
        const stn_event *event = line_read(&line, text, b.catalog);
        stn_key key = {1, {1000 + i}};
        stn_alloc_fail_at(1 + (uint64_t)i / 2 % 12);
        stn_status status = stn_checker_step(b.checker, event, NULL, NULL);
        stn_alloc_fail_at(0);
        failures += status == STN_ENOMEM;
        assert_true(status == STN_OK || status == STN_ENOMEM);
        assert_int_equal(stn_checker_state(b.checker, 0, &key), status || i % 2 == 0 ? 0 : 2);
        assert_int_equal(stn_checker_state(b.checker, 0, &five), 2);
    }
    assert_true(failures > 1);
    bench_close(&b);
}

static void descriptor_tables_follow_threads(void **state) {
    (void)state;
    static const struct {
        const char *events[9];
    } rows[] = {
        /* a thread that shares its table sees what its sibling closed */
        {{"1 0 5 task_newtask pid=6 clone_flags=0", "2 0 6 task_newtask pid=7 clone_flags=0x400",
          "3 0 6 o ret=3", "4 0 7 c fd=3", "!5 0 6 u fd=3"}},
        /* a process has a copy: what it does is its own */
        {{"1 0 5 task_newtask pid=6 clone_flags=0", "2 0 6 task_newtask pid=7 clone_flags=0",
          "3 0 6 o ret=3", "4 0 7 c fd=3", "5 0 6 u fd=3", "!6 0 7 u fd=3"}},
        /* a thread of unknown origin, and one that shares with it, are not judged */
        {{"1 0 5 o ret=3", "2 0 5 o ret=3", "3 0 5 task_newtask pid=6 clone_flags=0x400",
          "4 0 6 o ret=3"}},
        /* exec: a table of its own, with nothing known in it */
        {{"1 0 5 task_newtask pid=6 clone_flags=0", "2 0 6 o ret=3", "3 0 6 sched_process_exec",
          "4 0 6 o ret=3", "!5 0 6 o ret=3"}},
        /* pipe returns descriptors that no field shows */
        {{"1 0 5 task_newtask pid=6 clone_flags=0", "2 0 6 c fd=3", "3 0 6 sys_exit_pipe2 ret=0",
          "4 0 6 u fd=3", "5 0 6 c fd=3", "!6 0 6 u fd=3"}},
        {{"1 0 5 task_newtask pid=6 clone_flags=0", "2 0 6 c fd=3", "3 0 6 sys_exit_unshare ret=0",
          "4 0 6 u fd=3"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench b;
        bench_open(&b, "standin-rules 1\nrule r\nkey d by files fd\nstates open closed\n"
                       "on o by files ret from closed to open\non c to closed\non u from open\n");
        for (size_t e = 0; e < 9 && rows[i].events[e]; e++) {
            uint32_t want = *rows[i].events[e] == '!';
            if (step(&b, rows[i].events[e] + want) != want) {
                fail_msg("row %zu at %s", i, rows[i].events[e]);
            }
        }
        bench_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(language_means_what_it_says),
        cmocka_unit_test(unseen_keys_are_fresh_after_the_warm_up),
        cmocka_unit_test(a_loss_makes_all_unknown),
        cmocka_unit_test(violations_are_told),
        cmocka_unit_test(silent_steps_are_evidence),
        cmocka_unit_test(too_many_fields_are_told),
        cmocka_unit_test(many_rules_may_look_at_one_event),
        cmocka_unit_test(addresses_are_told_in_hexadecimal),
        cmocka_unit_test(trying_changes_nothing_when_it_fails),
        cmocka_unit_test(keys_and_live_instances),
        cmocka_unit_test(dead_keys_give_their_memory_back),
        cmocka_unit_test(out_of_memory_leaves_the_state),
        cmocka_unit_test(descriptor_tables_follow_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
