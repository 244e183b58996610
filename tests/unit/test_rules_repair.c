/* Repair: whatever is done to a trace, the repaired one breaks no rule, and little is changed. */
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
    stn_rules *rules;
    stn_trace clean, in, out;
    stn_repair_stats stats;
    stn_err err;
    stn_rng rng;
} bench;

/* ---- what every test does ------------------------------------------------ */

static const char small_rules[] = "standin-rules 1\n"
                                  "rule call\n"
                                  "  doc \"An exit belongs to the open entry of its thread.\"\n"
                                  "  key thread\n"
                                  "  pair sys_enter_* sys_exit_* match syscall\n"
                                  "rule irq\n"
                                  "  doc \"Handlers nest per CPU.\"\n"
                                  "  key cpu\n"
                                  "  pair irq_handler_entry irq_handler_exit\n"
                                  "rule running\n"
                                  "  doc \"The thread that leaves is the one that came.\"\n"
                                  "  key cpu\n"
                                  "  continuity sched_switch prev_pid next_pid\n"
                                  "rule after_gamma\n"
                                  "  doc \"Only delta follows gamma.\"\n"
                                  "  key cpu\n"
                                  "  states gamma other\n"
                                  "  on gamma from other to gamma\n"
                                  "  on delta to other\n"
                                  "  on * but gamma delta from other to other\n";

static int bench_up(void **state) {
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    assert_int_equal(stn_catalog_new(&b->catalog, &b->err), STN_OK);
    stn_trace_init(&b->clean, b->catalog);
    stn_trace_init(&b->in, b->catalog);
    stn_trace_init(&b->out, b->catalog);
    stn_rng_init(&b->rng, 42);
    *state = b;
    return 0;
}

static int bench_down(void **state) {
    bench *b = *state;
    stn_repair_stats_fini(&b->stats);
    stn_trace_fini(&b->clean);
    stn_trace_fini(&b->in);
    stn_trace_fini(&b->out);
    stn_rules_free(b->rules);
    stn_catalog_free(b->catalog);
    free(b);
    return 0;
}

static void use_small_rules(bench *b) {
    stn_status status = stn_rules_parse(&b->rules, small_rules, sizeof small_rules - 1, "small",
                                        b->catalog, &b->err);
    if (status) {
        fail_msg("%s", b->err.text);
    }
}

static uint64_t edits(const bench *b) {
    return b->stats.inserted + b->stats.deleted + b->stats.retyped + b->stats.retimed +
           b->stats.reassigned;
}

static bool same_field(const stn_field *a, const stn_field *b) {
    if (a->name != b->name || a->kind != b->kind) {
        return false;
    }
    return a->kind == STN_FIELD_STR   ? strcmp(a->v.s, b->v.s) == 0
           : a->kind == STN_FIELD_SEQ ? a->v.seq->count == b->v.seq->count
                                      : a->v.u == b->v.u;
}

static bool same_event(const stn_event *a, const stn_event *b) {
    if (a->time_ns != b->time_ns || a->type != b->type || a->tid != b->tid || a->cpu != b->cpu ||
        a->comm != b->comm || a->field_count != b->field_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->field_count; i++) {
        if (!same_field(&a->fields[i], &b->fields[i])) {
            return false;
        }
    }
    return true;
}

static void assert_same_trace(const stn_trace *a, const stn_trace *b) {
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(same_event(&a->events[i], &b->events[i]));
    }
}

static uint64_t violations(bench *b, const stn_trace *trace) {
    stn_checker *checker;
    uint64_t total = 0;
    assert_int_equal(stn_checker_new(&checker, b->rules, b->catalog, &b->err), STN_OK);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t broken = 0;
        assert_int_equal(stn_checker_step(checker, &trace->events[i], &broken, &b->err), STN_OK);
        total += broken;
    }
    stn_checker_free(checker);
    return total;
}

static void assert_ordered(const stn_trace *trace) {
    for (size_t i = 1; i < trace->count; i++) {
        assert_true(trace->events[i].time_ns >= trace->events[i - 1].time_ns);
    }
}

/* Repair b->in into b->out; what must hold of every repair is asserted here. */
static void repair(bench *b, bool fill_lost) {
    stn_repair_options options = {.fill_lost = fill_lost};
    stn_trace_fini(&b->out);
    stn_repair_stats_fini(&b->stats);
    stn_status status =
        stn_repair(b->rules, &b->in, &b->out, &options, &b->stats, NULL, NULL, &b->err);
    if (status) {
        fail_msg("%s", b->err.text);
    }
    assert_int_equal(b->stats.violations_after, 0);
    assert_int_equal(violations(b, &b->out), 0);
    assert_ordered(&b->out);
    assert_int_equal(b->stats.events_out,
                     b->stats.events_in + b->stats.inserted - b->stats.deleted);
    uint64_t by_rule = 0;
    for (uint32_t i = 0; i < stn_rules_count(b->rules); i++) {
        by_rule += b->stats.edits_by_rule[i];
    }
    assert_true(by_rule <= edits(b));
}

/* A repaired trace needs no repair. */
static void assert_idempotent(bench *b) {
    stn_trace again;
    stn_repair_stats stats;
    stn_trace_init(&again, b->catalog);
    assert_int_equal(stn_repair(b->rules, &b->out, &again, NULL, &stats, NULL, NULL, &b->err),
                     STN_OK);
    assert_int_equal(stats.violations_before, 0);
    assert_int_equal(
        stats.inserted + stats.deleted + stats.retyped + stats.retimed + stats.reassigned, 0);
    assert_same_trace(&b->out, &again);
    stn_repair_stats_fini(&stats);
    stn_trace_fini(&again);
}

static uint64_t clock_ns(bench *b) {
    return b->in.count ? b->in.events[b->in.count - 1].time_ns + 1000 : 1000;
}

static void put(bench *b, uint16_t cpu, int32_t tid, const char *name) {
    put_event(&b->in, clock_ns(b), cpu, tid, "task", name, NULL, 0);
}

static void put_switch(bench *b, uint16_t cpu, int32_t from, int32_t to) {
    stn_field fields[] = {number(b->catalog, "prev_pid", from), number(b->catalog, "prev_state", 0),
                          number(b->catalog, "next_pid", to)};
    put_event(&b->in, clock_ns(b), cpu, from, "task", "sched_switch", fields, 3);
}

static void put_lost(bench *b, int64_t count) {
    stn_field field = number(b->catalog, "count", count);
    stn_event mark = {.time_ns = clock_ns(b),
                      .tid = STN_NO_TID,
                      .comm = STN_NO_ID,
                      .cpu = STN_NO_CPU,
                      .fields = &field,
                      .field_count = 1};
    assert_int_equal(stn_trace_append(&b->in, &mark, &b->err), STN_OK);
}

/* ---- one break, the right edit ------------------------------------------- */

static void test_clean_trace_is_returned(void **state) {
    bench *b = *state;
    use_small_rules(b);
    for (int i = 0; i < 50; i++) {
        put(b, 0, 1, "sys_enter_read");
        put(b, 0, 1, "sys_exit_read");
        put_switch(b, 0, 1, 2);
        put_switch(b, 0, 2, 1);
    }
    repair(b, false);
    assert_int_equal(b->stats.violations_before, 0);
    assert_int_equal(edits(b), 0);
    assert_same_trace(&b->in, &b->out);
}

static void test_empty_trace(void **state) {
    bench *b = *state;
    use_small_rules(b);
    repair(b, false);
    assert_int_equal(b->out.count, 0);
}

static void test_missing_exit_is_inserted(void **state) {
    bench *b = *state;
    use_small_rules(b);
    for (int i = 0; i < 10; i++) {
        put(b, 0, 1, "sys_enter_read");
        if (i != 5) {
            put(b, 0, 1, "sys_exit_read");
        }
    }
    repair(b, false);
    assert_int_equal(b->stats.inserted, 1);
    assert_int_equal(edits(b), 1);
    assert_string_equal(stn_catalog_type_at(b->catalog, b->out.events[11].type)->name,
                        "sys_exit_read");
    assert_int_equal(b->out.events[11].tid, 1);
    assert_int_equal(b->stats.edits_by_rule[0], 1);
}

static void test_missing_entry_is_inserted(void **state) {
    bench *b = *state;
    use_small_rules(b);
    for (int i = 0; i < 10; i++) {
        put(b, 0, 1, i & 1 ? "sys_enter_read" : "sys_enter_write");
        put(b, 0, 1, i & 1 ? "sys_exit_read" : "sys_exit_write");
    }
    put(b, 0, 1, "sys_exit_write");
    repair(b, false);
    assert_int_equal(edits(b), 1);
}

static void test_wrong_exit_is_retyped(void **state) {
    bench *b = *state;
    use_small_rules(b);
    for (int i = 0; i < 20; i++) {
        put(b, 0, 1, i & 1 ? "sys_enter_read" : "sys_enter_write");
        put(b, 0, 1, i == 10 || i & 1 ? "sys_exit_read" : "sys_exit_write");
    }
    repair(b, false);
    assert_int_equal(b->stats.retyped, 1);
    assert_int_equal(edits(b), 1);
}

static void test_swapped_neighbours_change_places(void **state) {
    bench *b = *state;
    use_small_rules(b);
    for (int i = 0; i < 20; i++) {
        put(b, 0, 1, i == 10 ? "sys_exit_read" : "sys_enter_read");
        put(b, 0, 1, i == 10 ? "sys_enter_read" : "sys_exit_read");
    }
    repair(b, false);
    assert_int_equal(b->stats.retimed, 1);
    assert_int_equal(edits(b), 1);
}

static void test_missing_switch_is_inserted_not_chased(void **state) {
    bench *b = *state;
    use_small_rules(b);
    for (int i = 0; i < 20; i++) {
        put_switch(b, 0, 1, 2);
        put(b, 0, 2, "beta");
        if (i != 10) {
            put_switch(b, 0, 2, 1);
        }
    }
    repair(b, false);
    assert_int_equal(b->stats.inserted, 1);
    assert_int_equal(edits(b), 1);
}

static void test_dead_end_is_left(void **state) {
    bench *b = *state;
    use_small_rules(b);
    put(b, 0, 1, "beta");
    put(b, 0, 1, "gamma");
    for (int i = 0; i < 40; i++) {
        put(b, 0, 1, "beta"); /* nothing but delta may follow, and there is none */
    }
    repair(b, false);
    assert_true(edits(b) <= 2);
    assert_idempotent(b);
}

static void test_lost_mark_excuses_or_is_filled(void **state) {
    bench *b = *state;
    use_small_rules(b);
    put(b, 0, 1, "sys_enter_read");
    put(b, 0, 1, "sys_exit_read");
    put(b, 0, 1, "sys_enter_read");
    put_mark(&b->in, clock_ns(b));
    put(b, 0, 1, "beta");
    put(b, 0, 1, "beta");
    put(b, 0, 1, "sys_enter_read");
    put(b, 0, 1, "sys_exit_read");
    repair(b, false);
    assert_int_equal(edits(b), 0);
    assert_same_trace(&b->in, &b->out);
    repair(b, true);
    assert_int_equal(b->stats.inserted, 1);
    assert_int_equal(edits(b), 1);
    assert_int_equal(b->out.count, b->in.count); /* the mark is gone, the exit is there */
    assert_string_equal(stn_catalog_type_at(b->catalog, b->out.events[3].type)->name,
                        "sys_exit_read"); /* in the hole, not where it is missed */
    assert_int_equal(b->stats.lost + b->stats.lost_uncounted, 1);
    assert_int_equal(b->stats.restored, 1);
}

/* Of two marks, one says three and what it hides shows once, the other says nothing. */
static void test_lost_events_are_accounted_for(void **state) {
    bench *b = *state;
    use_small_rules(b);
    put(b, 0, 1, "sys_enter_close");
    put(b, 0, 1, "sys_exit_close");
    put(b, 0, 1, "sys_enter_read");
    put(b, 0, 1, "sys_exit_read");
    put(b, 0, 1, "sys_enter_read");
    put_lost(b, 3);
    put(b, 0, 1, "sys_enter_write");
    put(b, 0, 1, "sys_exit_write");
    put_lost(b, 0);
    put(b, 0, 1, "beta");
    put(b, 0, 1, "sys_exit_close");
    repair(b, true);
    assert_int_equal(b->stats.lost, 3);
    assert_int_equal(b->stats.lost_uncounted, 1);
    assert_int_equal(b->stats.restored, 2);
    assert_int_equal(b->stats.inserted, 2);
    repair(b, false);
    assert_int_equal(b->stats.lost, 3);
    assert_int_equal(b->stats.restored, 0);
}

/* One wrong event, thousands before what it makes impossible, is taken out, and nothing else. */
static void test_cause_long_past_is_found(void **state) {
    bench *b = *state;
    static const char text[] = "standin-rules 1\nrule life\nkey thread\nstates alive dead\n"
                               "on die from alive to dead\non born from unknown to alive\n"
                               "on work from alive else dead\n";
    assert_int_equal(stn_rules_parse(&b->rules, text, sizeof text - 1, "t", b->catalog, &b->err),
                     STN_OK);
    put(b, 0, 1, "born");
    put(b, 0, 1, "die");
    for (int i = 0; i < 6000; i++) {
        put(b, 0, 2, "idle");
    }
    for (int i = 0; i < 400; i++) {
        put(b, 0, 1, "work");
    }
    repair(b, false);
    assert_int_equal(b->stats.violations_before, 400);
    assert_int_equal(edits(b), 1);
    assert_int_equal(b->stats.deleted, 1);
    assert_int_equal(b->out.count, b->in.count - 1);
}

static void test_options_out_of_range(void **state) {
    bench *b = *state;
    use_small_rules(b);
    const stn_repair_options options[] = {{.beam = STN_REPAIR_BEAM_MAX + 1},
                                          {.lookahead = STN_REPAIR_LOOKAHEAD_MAX + 1}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            stn_repair(b->rules, &b->in, &b->out, &options[i], &b->stats, NULL, NULL, &b->err),
            STN_ERANGE);
    }
}

static bool refuse(void *user, uint64_t done, uint64_t total) {
    (void)user;
    assert_true(done <= total);
    return false;
}

static void test_stops_when_told(void **state) {
    bench *b = *state;
    use_small_rules(b);
    put(b, 0, 1, "beta");
    assert_int_equal(stn_repair(b->rules, &b->in, &b->out, NULL, &b->stats, refuse, NULL, &b->err),
                     STN_EINTR);
}

/* ---- random breaks -------------------------------------------------------- */

typedef enum harm {
    HARM_DROP,
    HARM_DOUBLE,
    HARM_SWAP,
    HARM_RETYPE,
    HARM_RETIME,
    HARM_TID,
    HARM_CPU,
    HARM_COUNT,
} harm;

static const char *const harm_names[HARM_COUNT] = {"drop",   "double", "swap", "retype",
                                                   "retime", "tid",    "cpu"};

static int by_time(const void *left, const void *right) {
    const stn_event *a = left, *b = right;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static const stn_event *any_event(bench *b) {
    return &b->clean.events[stn_rng_below(&b->rng, b->clean.count)];
}

/* Harm one event; the trace is put in order afterwards. */
static void harm_event(bench *b, harm kind, stn_event event) {
    const stn_event *other = any_event(b);
    switch (kind) {
    case HARM_DROP:
        return;
    case HARM_DOUBLE:
        assert_int_equal(stn_trace_append(&b->in, &event, &b->err), STN_OK);
        break;
    case HARM_RETYPE:
        event.type = other->type;
        event.fields = other->fields;
        event.field_count = other->field_count;
        break;
    case HARM_RETIME:
        event.time_ns += 1000 + stn_rng_below(&b->rng, 100000);
        break;
    case HARM_TID:
        event.tid = other->tid;
        break;
    case HARM_CPU:
        event.cpu ^= 1;
        break;
    default:
        break;
    }
    assert_int_equal(stn_trace_append(&b->in, &event, &b->err), STN_OK);
}

/* b->in = b->clean with @p share of its events harmed. @return how many */
static uint64_t harm_trace(bench *b, harm kind, double share) {
    uint64_t harmed = 0;
    stn_trace_fini(&b->in);
    b->in.meta = b->clean.meta;
    for (size_t i = 0; i < b->clean.count; i++) {
        stn_event event = b->clean.events[i];
        if (event.type == STN_TYPE_LOST || stn_rng_double(&b->rng) >= share) {
            assert_int_equal(stn_trace_append(&b->in, &event, &b->err), STN_OK);
            continue;
        }
        harmed++;
        if (kind == HARM_SWAP && i + 1 < b->clean.count) {
            stn_event next = b->clean.events[++i];
            uint64_t time = event.time_ns;
            event.time_ns = next.time_ns;
            next.time_ns = time;
            assert_int_equal(stn_trace_append(&b->in, &next, &b->err), STN_OK);
        }
        harm_event(b, kind, event);
    }
    if (kind == HARM_RETIME) {
        qsort(b->in.events, b->in.count, sizeof *b->in.events, by_time);
    }
    return harmed;
}

static void repair_harmed(bench *b, const char *what) {
    static const double shares[] = {0.001, 0.01, 0.05};
    for (int kind = 0; kind < HARM_COUNT; kind++) {
        for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
            uint64_t harmed = harm_trace(b, (harm)kind, shares[s]);
            repair(b, false);
            print_message("%s, %s %.1f %%: %zu harmed, %zu broken, %zu edits (+%zu -%zu type %zu "
                          "time %zu of %zu)\n",
                          what, harm_names[kind], 100 * shares[s], (size_t)harmed,
                          (size_t)b->stats.violations_before, (size_t)edits(b),
                          (size_t)b->stats.inserted, (size_t)b->stats.deleted,
                          (size_t)b->stats.retyped, (size_t)b->stats.retimed,
                          (size_t)b->stats.reassigned);
            assert_true(edits(b) <= 2 * harmed + 20);
            assert_idempotent(b);
        }
    }
}

/* Threads that call, handlers that interrupt them, switches between them. */
static void put_synthetic(bench *b, uint32_t rounds) {
    static const char *const calls[][2] = {{"sys_enter_read", "sys_exit_read"},
                                           {"sys_enter_write", "sys_exit_write"},
                                           {"sys_enter_futex", "sys_exit_futex"}};
    int32_t running[2] = {1, 2};
    for (uint32_t i = 0; i < rounds; i++) {
        uint16_t cpu = (uint16_t)stn_rng_below(&b->rng, 2);
        int32_t tid = running[cpu];
        uint64_t call = stn_rng_below(&b->rng, 3);
        put(b, cpu, tid, calls[call][0]);
        if (stn_rng_below(&b->rng, 4) == 0) {
            put(b, cpu, tid, "irq_handler_entry");
            put(b, cpu, tid, "beta");
            put(b, cpu, tid, "irq_handler_exit");
        }
        put(b, cpu, tid, calls[call][1]);
        if (stn_rng_below(&b->rng, 3) == 0) {
            put(b, cpu, tid, "gamma");
            put(b, cpu, tid, "delta");
        }
        if (stn_rng_below(&b->rng, 2)) {
            running[cpu] = 10 * (cpu + 1) + (int32_t)stn_rng_below(&b->rng, 5);
            put_switch(b, cpu, tid, running[cpu]);
        }
    }
}

static void test_harmed_synthetic(void **state) {
    bench *b = *state;
    use_small_rules(b);
    put_synthetic(b, 1500);
    assert_int_equal(violations(b, &b->in), 0);
    b->clean = b->in;
    stn_trace_init(&b->in, b->catalog);
    repair_harmed(b, "synthetic");
}

/* Types, threads and CPUs drawn without any sense. */
static void put_soup(bench *b, size_t count) {
    stn_trace_fini(&b->in);
    for (size_t i = 0; i < count; i++) {
        stn_event event = *any_event(b);
        event.time_ns = 1000 + 500 * i;
        event.tid = any_event(b)->tid;
        event.cpu = (uint16_t)stn_rng_below(&b->rng, 2);
        assert_int_equal(stn_trace_append(&b->in, &event, &b->err), STN_OK);
    }
}

static void test_soup_of_small_rules(void **state) {
    bench *b = *state;
    use_small_rules(b);
    put_synthetic(b, 200);
    b->clean = b->in;
    stn_trace_init(&b->in, b->catalog);
    put_soup(b, 3000);
    repair(b, false);
    assert_true(b->stats.violations_before > 500);
    assert_idempotent(b);
}

/* ---- the built-in rules on real recordings -------------------------------- */

static bool load(bench *b, const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.txt.zst", folder, name);
    stn_status status = stn_trace_load(&b->clean, path, NULL, b->catalog, NULL, NULL, &b->err);
    if (status == STN_ENOTFOUND) {
        return false;
    }
    if (status) {
        fail_msg("%s", b->err.text);
    }
    status = stn_rules_builtin(&b->rules, b->catalog, &b->err);
    if (status) {
        fail_msg("%s", b->err.text);
    }
    return true;
}

static void load_bundled(bench *b) {
    assert_true(load(b, STN_SOURCE_DIR "/examples", "backup.run1"));
}

static void test_harmed_recording(void **state) {
    bench *b = *state;
    load_bundled(b);
    repair_harmed(b, "backup");
}

static void test_clean_recording(void **state) {
    bench *b = *state;
    load_bundled(b);
    b->in = b->clean;
    stn_trace_init(&b->clean, b->catalog);
    repair(b, false);
    assert_int_equal(edits(b), 0);
    assert_same_trace(&b->in, &b->out);
}

static void test_soup_of_recording(void **state) {
    bench *b = *state;
    load_bundled(b);
    put_soup(b, 20000);
    repair(b, false);
    print_message("soup: %zu events in, %zu broken, %zu out, %zu edits\n", b->in.count,
                  (size_t)b->stats.violations_before, b->out.count, (size_t)edits(b));
    assert_idempotent(b);
}

/* Drop @p share and leave a mark for each; how much of it comes back? */
static void drop_and_fill(bench *b, const char *what, double share) {
    stn_trace_fini(&b->in);
    uint64_t dropped = 0, restored = 0;
    uint8_t *gone = calloc(b->clean.count, 1);
    assert_non_null(gone);
    for (size_t i = 0; i < b->clean.count; i++) {
        const stn_event *event = &b->clean.events[i];
        gone[i] = event->type != STN_TYPE_LOST && stn_rng_double(&b->rng) < share;
        if (!gone[i]) {
            assert_int_equal(stn_trace_append(&b->in, event, &b->err), STN_OK);
            continue;
        }
        dropped++;
        stn_field fields[] = {number(b->catalog, "count", 1),
                              number(b->catalog, "begin_ns", (int64_t)event->time_ns)};
        stn_event mark = {.time_ns = event->time_ns,
                          .tid = STN_NO_TID,
                          .comm = STN_NO_ID,
                          .cpu = event->cpu,
                          .fields = fields,
                          .field_count = 2};
        assert_int_equal(stn_trace_append(&b->in, &mark, &b->err), STN_OK);
    }
    repair(b, true);
    /* restored: an event of the type, thread and CPU stands at the time of the hole */
    for (size_t i = 0, o = 0; i < b->clean.count; i++) {
        const stn_event *want = &b->clean.events[i];
        while (o < b->out.count && b->out.events[o].time_ns < want->time_ns) {
            o++;
        }
        for (size_t k = o; gone[i] && k < b->out.count && b->out.events[k].time_ns == want->time_ns;
             k++) {
            const stn_event *have = &b->out.events[k];
            if (have->type == want->type && have->tid == want->tid && have->cpu == want->cpu) {
                restored++;
                break;
            }
        }
    }
    print_message("%s: %.1f %% lost: %zu events, %zu restored by type, thread and place, %zu "
                  "edits (+%zu -%zu)\n",
                  what, 100 * share, (size_t)dropped, (size_t)restored, (size_t)edits(b),
                  (size_t)b->stats.inserted, (size_t)b->stats.deleted);
    assert_true(restored * 3 > dropped);
    for (size_t i = 0; i < b->out.count; i++) {
        assert_true(b->out.events[i].type != STN_TYPE_LOST);
    }
    free(gone);
}

static void test_lost_stretches_of_recording(void **state) {
    bench *b = *state;
    load_bundled(b);
    drop_and_fill(b, "backup", 0.001);
    drop_and_fill(b, "backup", 0.01);
}

static void test_every_allocation_may_fail(void **state) {
    bench *b = *state;
    use_small_rules(b);
    put_synthetic(b, 60);
    b->clean = b->in;
    stn_trace_init(&b->in, b->catalog);
    harm_trace(b, HARM_DROP, 0.05);
    stn_status status = STN_ENOMEM;
    for (uint64_t nth = 1; status == STN_ENOMEM; nth += nth < 300 ? 1 : 5) {
        stn_repair_stats_fini(&b->stats);
        stn_trace_fini(&b->out);
        stn_alloc_fail_at(nth);
        status = stn_repair(b->rules, &b->in, &b->out, NULL, &b->stats, NULL, NULL, &b->err);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
    }
    assert_int_equal(b->stats.violations_after, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_up, bench_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_clean_trace_is_returned),
        TEST(test_empty_trace),
        TEST(test_missing_exit_is_inserted),
        TEST(test_missing_entry_is_inserted),
        TEST(test_wrong_exit_is_retyped),
        TEST(test_swapped_neighbours_change_places),
        TEST(test_missing_switch_is_inserted_not_chased),
        TEST(test_dead_end_is_left),
        TEST(test_lost_mark_excuses_or_is_filled),
        TEST(test_lost_events_are_accounted_for),
        TEST(test_cause_long_past_is_found),
        TEST(test_options_out_of_range),
        TEST(test_stops_when_told),
        TEST(test_harmed_synthetic),
        TEST(test_soup_of_small_rules),
        TEST(test_clean_recording),
        TEST(test_harmed_recording),
        TEST(test_soup_of_recording),
        TEST(test_lost_stretches_of_recording),
        TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
