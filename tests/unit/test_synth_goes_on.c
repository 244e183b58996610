/* A generated workload does not come to a standstill: what is due comes before what is only
 * overdue, the last thread of a name that was always there does not end, handlers are left. */
#include "synth_lab.h"
#include "synth_model.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/rng.h"
#include "kernel/synth/generator.h"

enum { LINES_MAX = 16384, TEXT = 96 };

/* A recording in the making. */
typedef struct script {
    char texts[LINES_MAX][TEXT];
    const char *lines[LINES_MAX];
    size_t count;
} script;

static script made;

#define SAY(...)                                                                                   \
    (made.lines[made.count] = made.texts[made.count],                                              \
     snprintf(made.texts[made.count++], TEXT, __VA_ARGS__))

typedef struct student {
    lab *lab;
    stn_model *model;
} student;

/* Learn from what was made; @p name: of all threads but the idle ones. */
static student student_new(const char *rules, const char *name) {
    student s = {.lab = lab_open(made.lines, made.count, rules)};
    for (size_t i = 0; i < made.count; i++) {
        stn_event *event = &s.lab->trace.events[i];
        event->comm = stn_catalog_cstring(s.lab->catalog, event->tid == 0 ? "<idle>" : name);
    }
    const stn_trace *runs[] = {&s.lab->trace};
    stn_train_options options = {.rules = s.lab->rules};
    if (stn_model_train(&s.model, runs, 1, &options, NULL, s.lab->catalog, NULL, NULL,
                        &s.lab->err)) {
        fail_msg("%s", s.lab->err.text);
    }
    made.count = 0;
    return s;
}

static void student_free(student *s) {
    stn_model_free(s->model);
    lab_close(s->lab);
}

static const char *name_of(const stn_trace *trace, size_t i) {
    return stn_catalog_type_at(trace->catalog, trace->events[i].type)->name;
}

static int64_t number_of(const stn_trace *trace, size_t i, const char *field) {
    return stn_event_field(&trace->events[i], stn_catalog_cstring(trace->catalog, field))->v.i;
}

/* ---- timers before alarms --------------------------------------------------------------- */

static const char timers[] = "standin-rules 1\n"
                             "rule timers\n"
                             "  doc \"A timer is armed before it expires.\"\n"
                             "  key timer by hrtimer\n"
                             "  states off armed\n"
                             "  on hrtimer_start to armed\n"
                             "  on hrtimer_expire_entry from armed to off\n";

/* CPU 0 idles and arms its timer for one or for twenty milliseconds; on CPU 1 a thread sleeps
 * for two, and is woken from CPU 0. */
static void record_timers(void) {
    stn_rng rng;
    stn_rng_init(&rng, 1);
    int us = 1000;
    for (int i = 0; i < 500; i++) {
        int wait = stn_rng_below(&rng, 2) ? 1000 : 20000;
        SAY("%d 0 0 hrtimer_start hrtimer=1 in=%d000", us, wait);
        for (int at = 2000; at < wait; at += 2000) {
            SAY("%d 0 0 sched_wakeup pid=7 target_cpu=1", us + at);
            SAY("%d 1 0 sched_switch prev_pid=0 prev_state=0 next_pid=7", us + at + 1);
            SAY("%d 1 7 work", us + at + 2);
            SAY("%d 1 7 sched_switch prev_pid=7 prev_state=1 next_pid=0", us + at + 3);
        }
        us += wait + 5;
        SAY("%d 0 0 local_timer_entry", us);
        SAY("%d 0 0 hrtimer_expire_entry hrtimer=1", us + 1);
        SAY("%d 0 0 hrtimer_expire_exit hrtimer=1", us + 2);
        SAY("%d 0 0 local_timer_exit", us + 3);
        us += 5;
    }
}

static void no_alarm_rings_before_a_timer_that_is_due_earlier(void **state) {
    (void)state;
    record_timers();
    student s = student_new(timers, "sleeper");
    stn_trace trace;
    stn_trace_init(&trace, s.lab->catalog);
    lesson_generate(s.model, s.lab->catalog, 1, false, 4000, &trace, NULL);
    uint64_t due_ns = 0;
    size_t came = 0;
    for (size_t i = 0; i < trace.count; i++) {
        if (strcmp(name_of(&trace, i), "hrtimer_start") == 0) {
            due_ns = trace.events[i].time_ns + (uint64_t)number_of(&trace, i, "in");
        } else if (strcmp(name_of(&trace, i), "local_timer_entry") == 0 && due_ns > 0) {
            assert_true(trace.events[i].time_ns <= due_ns + 100000);
            due_ns = 0;
            came++;
        }
    }
    assert_true(came > 100);
    stn_trace_fini(&trace);
    student_free(&s);
}

/* ---- the last of a name -------------------------------------------------------------------- */

/* A worker makes another one and ends, again and again: there is always one. */
static void record_workers(void) {
    for (int i = 0, us = 1000; i < 300; i++, us += 100) {
        int tid = 100 + i;
        SAY("%d 0 %d work", us, tid);
        SAY("%d 0 %d sched_process_fork child_pid=%d", us + 10, tid, tid + 1);
        SAY("%d 0 %d sys_enter_exit_group n=0", us + 20, tid);
        SAY("%d 0 %d sched_process_exit pid=%d", us + 30, tid, tid);
        SAY("%d 0 %d sched_switch prev_pid=%d prev_state=16 next_pid=%d", us + 40, tid, tid,
            tid + 1);
    }
}

static void happens(const student *s, stn_generator *generator, const char *text) {
    line_event line;
    stn_event event = *line_read(&line, text, s->lab->catalog);
    event.comm = stn_catalog_cstring(s->lab->catalog, "worker");
    assert_int_equal(stn_generator_see(generator, &event, false, &s->lab->err), STN_OK);
}

/* Can an event of that name come next on CPU 0? */
static bool may_come(const student *s, stn_generator *generator, const char *name) {
    stn_rng rng;
    stn_rng_init(&rng, 1);
    stn_draft draft = {.time_ns = generator->world.now_ns + 1000};
    while (strcmp(stn_vocab_name(&s->model->vocab, s->model->vocab.types[draft.type].name), name) !=
           0) {
        draft.type++;
    }
    return stn_attr_propose(&s->model->attr, &generator->world, 0, &draft, &rng);
}

static void the_last_of_a_name_does_not_begin_to_end(void **state) {
    (void)state;
    record_workers();
    student s = student_new(NULL, "worker");
    stn_generator *generator;
    assert_int_equal(stn_generator_blank(&generator, s.model, NULL, s.lab->catalog, &s.lab->err),
                     STN_OK);
    happens(&s, generator, "1000 0 7 work");
    assert_false(may_come(&s, generator, "sys_enter_exit_group"));
    assert_false(may_come(&s, generator, "sched_process_exit"));
    happens(&s, generator, "1010 0 7 sched_process_fork child_pid=8");
    assert_true(may_come(&s, generator, "sys_enter_exit_group"));
    happens(&s, generator, "1020 0 7 sys_enter_exit_group n=0");
    /* it is not counted any more, and has to be able to go on */
    assert_int_equal(stn_world_named(&generator->world, generator->world.threads[LAB_CPUS].comm),
                     1);
    assert_true(may_come(&s, generator, "sched_process_exit"));
    stn_generator_free(generator);
    student_free(&s);
}

/* ---- handlers ------------------------------------------------------------------------------ */

/* Numbers of timers repeat so often there that the number by itself takes fewer bits than whose
 * exit it is. */
static void a_handlers_exit_names_what_was_entered(void **state) {
    (void)state;
    const char *shared = getenv("STN_SHARED") ? getenv("STN_SHARED") : STN_SHARED_DIR;
    char path[4096];
    snprintf(path, sizeof path, "%s/data/kernel/fio_randrw.run1.txt.zst", shared);
    if (access(path, R_OK)) {
        print_message("%s not there: skipped\n", path);
        skip();
    }
    stn_catalog *catalog;
    stn_model *model;
    stn_trace trace;
    stn_err err = {0};
    assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
    stn_trace_init(&trace, catalog);
    assert_int_equal(stn_trace_load(&trace, path, NULL, catalog, NULL, NULL, &err), STN_OK);
    const stn_trace *runs[] = {&trace};
    assert_int_equal(stn_model_train(&model, runs, 1, NULL, NULL, catalog, NULL, NULL, &err),
                     STN_OK);
    size_t seen = 0;
    for (uint32_t t = 0; t < model->vocab.type_count; t++) {
        bool exit = model->vocab.types[t].frame == STN_FRAME_POP;
        for (uint8_t k = 0; exit && k < model->domains.types[t].count; k++, seen++) {
            assert_int_not_equal(model->attr.key_age[t][k], STN_KEY_BY_VALUE);
        }
    }
    assert_true(seen > 3);
    stn_model_free(model);
    stn_trace_fini(&trace);
    stn_catalog_free(catalog);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_alarm_rings_before_a_timer_that_is_due_earlier),
        cmocka_unit_test(the_last_of_a_name_does_not_begin_to_end),
        cmocka_unit_test(a_handlers_exit_names_what_was_entered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
