/* Generated traces against the recording that they were learned from: same seed, same trace;
 * no rule broken when guided; times, shares and population like those of the recording. */
#include "synth_lab.h"
#include "synth_model.h"

#include <unistd.h>

#include "core/base/alloc.h"
#include "kernel/judge/distance.h"
#include "kernel/synth/markov.h"

enum { EVENTS = 20000 };

static lesson *learned;

static int learn(void **state) {
    (void)state;
    learned = lesson_learn(0);
    return 0;
}

static int forget(void **state) {
    (void)state;
    lesson_end(learned);
    return 0;
}

static void generate(uint64_t seed, bool unguided, size_t count, stn_trace *out,
                     stn_generate_stats *stats) {
    stn_trace_init(out, learned->catalog);
    lesson_generate(learned->model, learned->catalog, seed, unguided, count, out, stats);
    assert_int_equal(out->count, count);
}

static uint64_t violations_of(const stn_trace *trace) {
    stn_checker *checker;
    stn_err err = {0};
    uint64_t sum = 0;
    assert_int_equal(
        stn_checker_new(&checker, stn_model_rules(learned->model), learned->catalog, &err), STN_OK);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t violations = 0;
        assert_int_equal(stn_checker_step(checker, &trace->events[i], &violations, &err), STN_OK);
        sum += violations;
    }
    stn_checker_free(checker);
    return sum;
}

static void a_seed_makes_one_trace(void **state) {
    (void)state;
    stn_trace one, two, other;
    generate(4, false, 3000, &one, NULL);
    generate(4, false, 3000, &two, NULL);
    generate(5, false, 3000, &other, NULL);
    assert_int_equal(lesson_alike(&one, &two), 3000);
    assert_in_range(lesson_alike(&one, &other), 0, 300);
    stn_trace_fini(&one);
    stn_trace_fini(&two);
    stn_trace_fini(&other);
}

static void a_guided_trace_breaks_no_rule(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        stn_trace trace;
        stn_generate_stats stats;
        generate(seed, false, EVENTS, &trace, &stats);
        assert_int_equal(violations_of(&trace), 0);
        assert_int_equal(stats.violations, 0);
        assert_int_equal(stats.events, EVENTS);
        assert_true(stats.rejected > 0); /* the rules had something to do */
        stn_trace_fini(&trace);
    }
}

static void an_unguided_trace_counts_what_it_breaks(void **state) {
    (void)state;
    stn_trace trace;
    stn_generate_stats stats;
    generate(1, true, 5000, &trace, &stats);
    assert_true(stats.violations > 0);
    assert_int_equal(stats.violations, violations_of(&trace));
    assert_int_equal(stats.events, 5000);
    stn_trace_fini(&trace);
}

static void wants_rising(const stn_trace *trace) {
    assert_true(trace->events[0].time_ns >= 5000);
    assert_true(trace->events[0].time_ns < 5000 + UINT64_C(1000000000));
    for (size_t i = 1; i < trace->count; i++) {
        assert_true(trace->events[i].time_ns > trace->events[i - 1].time_ns);
    }
}

static void times_begin_where_asked_and_always_rise(void **state) {
    (void)state;
    for (int unguided = 0; unguided < 2; unguided++) {
        stn_trace trace;
        uint64_t cpus = 0;
        generate(2, unguided, 5000, &trace, NULL);
        wants_rising(&trace);
        for (size_t i = 1; i < trace.count; i++) {
            cpus |= UINT64_C(1) << trace.events[i].cpu % 64;
        }
        assert_true(cpus > 1); /* over all of them */
        stn_trace_fini(&trace);
    }
}

/* Replace the cases of @p type, or all if it is STN_MARKOV_WAIT, by "nothing comes". */
static void silence(stn_model *model, uint32_t type) {
    stn_markov *markov = model->state;
    for (uint32_t i = 0; i < markov->pool.case_count; i++) {
        uint32_t *at = &markov->pool.cases[i];
        if (type == STN_MARKOV_WAIT || *at >> 16 == type) {
            *at = STN_MARKOV_WAIT << 16 | (*at & 0xffffu);
        }
    }
}

static void a_model_that_only_waits_still_goes_on(void **state) {
    (void)state;
    lesson *l = lesson_learn(2000);
    silence(l->model, STN_MARKOV_WAIT);
    for (int unguided = 0; unguided < 2; unguided++) {
        stn_trace trace;
        stn_trace_init(&trace, l->catalog);
        lesson_generate(l->model, l->catalog, 1, unguided, 300, &trace, NULL);
        wants_rising(&trace);
        stn_trace_fini(&trace);
    }
    lesson_end(l);
}

/* ---- a workload of two threads --------------------------------------------------------------- */

typedef struct pair {
    lab *lab;
    stn_model *model;
} pair;

static void pair_learn(pair *p) {
    const stn_trace *runs[] = {&p->lab->trace};
    stn_train_options options = {.rules = p->lab->rules};
    if (stn_model_train(&p->model, runs, 1, &options, NULL, p->lab->catalog, NULL, NULL,
                        &p->lab->err)) {
        fail_msg("%s", p->lab->err.text);
    }
}

/* On CPU 1 the waker ticks, each 10 us; on CPU 0 one of two sleepers works when it is woken, after
 * 6 to 10 ticks, by the waker or from the idle CPU in turn.
 * @p waking  a wake-up begins with an event of its own */
static pair pair_new(bool waking) {
    enum { TURNS = 240, STEPS = 5, TICKS = 10, LINES = STEPS + TICKS };
    static const char *const wakers[] = {"1 8", "0 0"};
    static char lines[TURNS * LINES][80];
    static const char *texts[TURNS * LINES];
    size_t count = 0;
    int us = 1000;
    for (int i = 0; i < TURNS; i++) {
        char steps[STEPS][64];
        int tid = i / 2 % 2 ? 9 : 7;
        snprintf(steps[0], 64, "%s sched_waking pid=%d target_cpu=0", wakers[i % 2], tid);
        snprintf(steps[1], 64, "%s sched_wakeup pid=%d target_cpu=0", wakers[i % 2], tid);
        snprintf(steps[2], 64, "0 0 sched_switch prev_pid=0 prev_state=0 next_pid=%d", tid);
        snprintf(steps[3], 64, "0 %d work", tid);
        snprintf(steps[4], 64, "0 %d sched_switch prev_pid=%d prev_state=1 next_pid=0", tid, tid);
        for (int k = waking ? 0 : 1; k < STEPS + 6 + i * 7 % 5; k++) {
            us += k < STEPS ? 1 : 10;
            snprintf(lines[count], sizeof lines[0], "%d %s", us, k < STEPS ? steps[k] : "1 8 tick");
            texts[count] = lines[count];
            count++;
        }
    }
    pair p = {.lab = lab_open(texts, count, NULL)};
    for (size_t i = 0; i < count; i++) {
        stn_event *event = &p.lab->trace.events[i];
        const char *name = event->tid == 0 ? "<idle>" : event->tid == 8 ? "waker" : "sleeper";
        event->comm = stn_catalog_cstring(p.lab->catalog, name);
    }
    pair_learn(&p);
    return p;
}

static void pair_free(pair *p) {
    stn_model_free(p->model);
    lab_close(p->lab);
}

static stn_trace pair_generate(const pair *p) {
    stn_trace trace;
    stn_trace_init(&trace, p->lab->catalog);
    lesson_generate(p->model, p->lab->catalog, 3, false, 3000, &trace, NULL);
    return trace;
}

/* Half the sum of the differences of shares by canonical type: 0 alike, 1 nothing in common. */
static double share_distance(const stn_trace *a, const stn_trace *b) {
    uint32_t types = stn_catalog_type_count(learned->catalog);
    double *share = stn_calloc(types, sizeof *share);
    assert_non_null(share);
    for (size_t i = 0; i < a->count; i++) {
        share[a->events[i].type] += 1.0 / (double)a->count;
    }
    for (size_t i = 0; i < b->count; i++) {
        share[b->events[i].type] -= 1.0 / (double)b->count;
    }
    double sum = 0;
    for (uint32_t i = 0; i < types; i++) {
        sum += share[i] > 0 ? share[i] : -share[i];
    }
    stn_free(share);
    return sum / 2;
}

static void event_shares_are_near_those_of_the_recording(void **state) {
    (void)state;
    stn_trace trace;
    generate(3, false, EVENTS, &trace, NULL);
    /* the halves of the recording are 0.08 apart */
    double distance = share_distance(&learned->trace, &trace);
    print_message("distance of event shares: %.3f\n", distance);
    assert_true(distance < 0.3);
    assert_float_equal(share_distance(&trace, &trace), 0, 1e-9);
    stn_trace_fini(&trace);
}

static size_t count_type(const stn_trace *trace, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        count += !strcmp(stn_catalog_type_at(trace->catalog, trace->events[i].type)->name, name);
    }
    return count;
}

/* Of thread @p tid. */
static size_t count_of(const stn_trace *trace, const char *name, int32_t tid) {
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        count += trace->events[i].tid == tid &&
                 !strcmp(stn_catalog_type_at(trace->catalog, trace->events[i].type)->name, name);
    }
    return count;
}

static const char *const wakes[] = {"sched_wakeup", "sched_waking"};

static void sleepers_are_woken_with_or_without_a_beginning(void **state) {
    (void)state;
    for (int waking = 0; waking < 2; waking++) {
        pair p = pair_new(waking);
        stn_trace trace = pair_generate(&p);
        /* in 3,000 events as often as in training: about once in 12 or 13 */
        assert_in_range(count_type(&trace, "sched_wakeup"), 150, 300);
        assert_in_range(count_type(&trace, "work"), 150, 300);
        assert_in_range(count_of(&trace, wakes[waking], 8), 50, 200); /* by the waker */
        assert_in_range(count_of(&trace, wakes[waking], 0), 50, 200);
        assert_int_equal(count_of(&trace, "tick", 8), count_type(&trace, "tick"));
        stn_trace_fini(&trace);
        pair_free(&p);
    }
}

/* The sleepers' events on CPU 0 say for how long each slept: from its switch to its wake-up. */
static uint64_t longest_sleep(const stn_trace *trace, const char *wake) {
    uint64_t since[2] = {0}, longest = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const stn_event *event = &trace->events[i];
        const char *name = stn_catalog_type_at(trace->catalog, event->type)->name;
        if (event->tid == 7 || event->tid == 9) {
            since[event->tid == 9] = event->time_ns;
        } else if (strcmp(name, wake) == 0) {
            uint32_t pid = stn_catalog_cstring(trace->catalog, "pid");
            uint64_t from = since[stn_event_field(event, pid)->v.i == 9];
            longest = from && event->time_ns - from > longest ? event->time_ns - from : longest;
        }
    }
    return longest;
}

/* Wake-ups are taken out of the order of events: what remains comes from the alarm. */
static void a_forgotten_sleeper_is_woken(void **state) {
    (void)state;
    for (int waking = 0; waking < 2; waking++) {
        pair p = pair_new(waking);
        uint64_t slept = longest_sleep(&p.lab->trace, wakes[waking]);
        uint32_t type = 0;
        while (strcmp(stn_vocab_name(&p.model->vocab, p.model->vocab.types[type].name),
                      wakes[waking]) != 0) {
            type++;
        }
        silence(p.model, type);
        stn_trace trace = pair_generate(&p);
        assert_true(count_type(&trace, wakes[waking]) > 50);
        assert_int_equal(count_of(&trace, wakes[waking], 8), 0); /* from an idle CPU */
        assert_true(count_type(&trace, "work") > 50);            /* and they run then */
        assert_in_range(longest_sleep(&trace, wakes[waking]), slept / 2, 4 * slept);
        stn_trace_fini(&trace);
        stn_sleeps_fini(&p.model->attr.sleeps); /* no alarm */
        trace = pair_generate(&p);
        assert_int_equal(count_type(&trace, wakes[waking]), 0);
        stn_trace_fini(&trace);
        pair_free(&p);
    }
}

/* ---- names --------------------------------------------------------------------------------- */

/* A shell makes a child, which becomes a hammer or a saw, works and ends. */
static pair pair_of_shell_and_child(void) {
    enum { TURNS = 200, STEPS = 7 };
    static const char *const tools[] = {"hammer", "saw"};
    static char lines[TURNS * STEPS][96];
    static const char *texts[TURNS * STEPS];
    for (int i = 0; i < TURNS * STEPS; i++) {
        texts[i] = lines[i];
    }
    for (int i = 0, us = 1000; i < TURNS; i++, us += 100) {
        int tid = 100 + i;
        char(*at)[96] = &lines[i * STEPS];
        snprintf(at[0], 96, "%d 0 7 prompt", us);
        snprintf(at[1], 96, "%d 0 7 sched_process_fork child_pid=%d", us + 10, tid);
        snprintf(at[2], 96, "%d 0 7 sched_switch prev_pid=7 prev_state=1 next_pid=%d", us + 20,
                 tid);
        snprintf(at[3], 96, "%d 0 %d task_rename pid=%d newcomm=%s", us + 30, tid, tid,
                 tools[i % 2]);
        snprintf(at[4], 96, "%d 0 %d work", us + 40, tid);
        snprintf(at[5], 96, "%d 0 %d sched_process_exit pid=%d", us + 50, tid, tid);
        snprintf(at[6], 96, "%d 0 %d sched_switch prev_pid=%d prev_state=16 next_pid=7", us + 60,
                 tid, tid);
    }
    pair p = {.lab = lab_open(texts, TURNS * STEPS, NULL)};
    for (size_t i = 0; i < TURNS * STEPS; i++) {
        p.lab->trace.events[i].comm =
            stn_catalog_cstring(p.lab->catalog, i % STEPS < 3 ? "shell" : tools[i / STEPS % 2]);
    }
    pair_learn(&p);
    return p;
}

/* Each event bears the name that its thread got last. */
static void a_renamed_thread_gets_the_new_name(void **state) {
    (void)state;
    pair p = pair_of_shell_and_child();
    stn_trace trace = pair_generate(&p);
    uint32_t field = stn_catalog_cstring(trace.catalog, "newcomm");
    uint32_t shell = stn_catalog_cstring(trace.catalog, "shell");
    static uint32_t names[1 << 16]; /* by tid; 0: not renamed */
    uint32_t saw = stn_catalog_cstring(trace.catalog, "saw");
    size_t renamed = 0, saws = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const stn_event *event = &trace.events[i];
        const stn_field *name = stn_event_field(event, field);
        assert_in_range(event->tid, 0, (1 << 16) - 1);
        if (name) {
            names[event->tid] = stn_catalog_cstring(trace.catalog, name->v.s);
            saws += names[event->tid] == saw;
        }
        if (names[event->tid]) {
            assert_int_equal(event->comm, names[event->tid]);
            renamed += !name;
        } else if (event->tid == 7) {
            assert_int_equal(event->comm, shell);
        }
    }
    assert_in_range(renamed, 300, 3000);
    assert_in_range(saws, 50, count_type(&trace, "task_rename") - 50); /* some become hammers */
    stn_trace_fini(&trace);
    pair_free(&p);
}

/* ---- recordings ------------------------------------------------------------------------------ */

static void load(stn_trace *trace, const char *name, int run, stn_catalog *catalog) {
    const char *shared = getenv("STN_SHARED") ? getenv("STN_SHARED") : STN_SHARED_DIR;
    char path[4096];
    stn_err err = {0};
    snprintf(path, sizeof path, "%s/data/kernel/%s.run%d.txt.zst", shared, name, run);
    stn_trace_init(trace, catalog);
    if (stn_trace_load(trace, path, NULL, catalog, NULL, NULL, &err)) {
        fail_msg("%s", err.text);
    }
}

static double type_divergence(const stn_trace *a, const stn_trace *b) {
    uint32_t types = stn_catalog_type_count(a->catalog);
    double *shares = stn_calloc(2 * (size_t)types, sizeof *shares), sum = 0;
    assert_non_null(shares);
    for (size_t i = 0; i < a->count; i++) {
        shares[a->events[i].type] += 1.0 / (double)a->count;
    }
    for (size_t i = 0; i < b->count; i++) {
        shares[types + b->events[i].type] += 1.0 / (double)b->count;
    }
    for (uint32_t t = 0; t < types; t++) {
        sum += stn_jensen_shannon_part(shares[t], shares[types + t]);
    }
    stn_free(shares);
    return sum;
}

static void types_are_those_of_a_run_held_out(void **state) {
    (void)state;
    static const char *const names[] = {"redis", "hackbench"};
    const char *shared = getenv("STN_SHARED") ? getenv("STN_SHARED") : STN_SHARED_DIR;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/data/kernel", shared);
    if (access(folder, R_OK)) {
        print_message("no recordings in %s: skipped\n", folder);
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        stn_catalog *catalog;
        stn_trace first, held_out, trace;
        stn_model *model;
        stn_err err = {0};
        assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
        load(&first, names[i], 1, catalog);
        load(&held_out, names[i], 3, catalog);
        const stn_trace *taught[] = {&first};
        assert_int_equal(stn_model_train(&model, taught, 1, NULL, NULL, catalog, NULL, NULL, &err),
                         STN_OK);
        stn_trace_init(&trace, catalog);
        lesson_generate(model, catalog, 1, false, 60000, &trace, NULL);
        double divergence = type_divergence(&trace, &held_out);
        print_message("%s: divergence of types %.3f, of the run learned from %.3f\n", names[i],
                      divergence, type_divergence(&first, &held_out));
        assert_true(divergence < 0.12);
        assert_true(divergence > 0);
        stn_trace_fini(&trace);
        stn_trace_fini(&first);
        stn_trace_fini(&held_out);
        stn_model_free(model);
        stn_catalog_free(catalog);
    }
}

/* Threads that had an event among the last @p window events. */
static size_t live_tids(const stn_trace *trace, size_t end, size_t window) {
    static int32_t tids[EVENTS];
    size_t count = 0;
    for (size_t i = end - window; i < end; i++) {
        size_t k = 0;
        while (k < count && tids[k] != trace->events[i].tid) {
            k++;
        }
        if (k == count) {
            tids[count++] = trace->events[i].tid;
        }
    }
    return count;
}

static void threads_end_about_as_often_as_they_begin(void **state) {
    (void)state;
    stn_trace trace;
    generate(6, false, EVENTS, &trace, NULL);
    size_t most = 0;
    for (size_t end = 4000; end <= learned->trace.count; end += 4000) {
        size_t now = live_tids(&learned->trace, end, 4000);
        most = now > most ? now : most;
    }
    for (size_t end = 4000; end <= trace.count; end += 4000) {
        assert_in_range(live_tids(&trace, end, 4000), 2, 3 * most);
    }
    size_t born = count_type(&trace, "task_newtask") + count_type(&trace, "sched_process_fork");
    size_t dead = count_type(&trace, "sched_process_exit");
    const stn_attr *attr = &learned->model->attr;
    assert_true(born <= 2 * (dead + attr->thread_limit));
    stn_trace_fini(&trace);
}

typedef struct brake {
    uint64_t calls, stop_at, last, total;
    bool fell;
} brake;

static bool stop_at(void *user, uint64_t done, uint64_t total) {
    brake *b = user;
    b->fell |= done < b->last || done > total;
    b->last = done;
    b->total = total;
    return ++b->calls != b->stop_at;
}

static void training_can_be_stopped(void **state) {
    (void)state;
    const stn_trace *runs[] = {&learned->trace};
    static const uint64_t calls[] = {1, 5};
    for (size_t i = 0; i < 2; i++) {
        brake b = {.stop_at = calls[i]};
        stn_model *model = NULL;
        stn_err err = {0};
        assert_int_equal(
            stn_model_train(&model, runs, 1, NULL, NULL, learned->catalog, stop_at, &b, &err),
            STN_EINTR);
        assert_null(model);
        assert_int_equal(b.calls, calls[i]); /* not asked again */
        assert_false(b.fell);
        assert_true(b.total >= learned->trace.count);
    }
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_status status = STN_ENOMEM;
    size_t failures = 0;
    for (uint64_t nth = 1; status != STN_OK && nth < 100000; nth += 1 + nth / 5) {
        stn_generator *generator = NULL;
        stn_event event;
        stn_err err = {0};
        stn_alloc_fail_at(nth);
        status = stn_generator_new(&generator, learned->model, NULL, learned->catalog, &err);
        for (int i = 0; i < 300 && status == STN_OK; i++) {
            status = stn_generator_next(generator, &event, &err);
        }
        stn_alloc_fail_at(0);
        if (status != STN_OK) {
            assert_int_equal(status, STN_ENOMEM);
            assert_non_null(strstr(err.text, "memory"));
            failures++;
        }
        stn_generator_free(generator);
    }
    assert_int_equal(status, STN_OK);
    assert_true(failures > 5);
}

static void another_catalog_is_refused(void **state) {
    (void)state;
    stn_catalog *catalog;
    stn_generator *generator;
    stn_err err = {0};
    assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
    assert_int_equal(stn_generator_new(&generator, learned->model, NULL, catalog, &err),
                     STN_ERANGE);
    assert_null(generator);
    assert_non_null(strstr(err.text, "catalog"));
    stn_catalog_free(catalog);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_makes_one_trace),
        cmocka_unit_test(a_guided_trace_breaks_no_rule),
        cmocka_unit_test(an_unguided_trace_counts_what_it_breaks),
        cmocka_unit_test(times_begin_where_asked_and_always_rise),
        cmocka_unit_test(a_model_that_only_waits_still_goes_on),
        cmocka_unit_test(sleepers_are_woken_with_or_without_a_beginning),
        cmocka_unit_test(a_forgotten_sleeper_is_woken),
        cmocka_unit_test(a_renamed_thread_gets_the_new_name),
        cmocka_unit_test(types_are_those_of_a_run_held_out),
        cmocka_unit_test(event_shares_are_near_those_of_the_recording),
        cmocka_unit_test(threads_end_about_as_often_as_they_begin),
        cmocka_unit_test(training_can_be_stopped),
        cmocka_unit_test(each_failed_allocation_is_clean),
        cmocka_unit_test(another_catalog_is_refused),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
