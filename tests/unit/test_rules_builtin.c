/* Every built-in rule holds where it should and breaks where it should (rules_cases.txt); on
 * the recordings nothing breaks but what hidden switches explain; damaged recordings are seen. */
#include <dirent.h>
#include <unistd.h>

#include "core/base/rng.h"
#include "rules_trace.h"

enum { RULES_MAX = 128 };

typedef struct bench {
    stn_catalog *catalog;
    stn_rules *rules;
    stn_checker *checker;
} bench;

static void bench_open(bench *b) {
    stn_err err = {0};
    assert_int_equal(stn_catalog_new(&b->catalog, &err), STN_OK);
    if (stn_rules_builtin(&b->rules, b->catalog, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(stn_checker_new(&b->checker, b->rules, b->catalog, &err), STN_OK);
}

static void bench_close(bench *b) {
    stn_checker_free(b->checker);
    stn_rules_free(b->rules);
    stn_catalog_free(b->catalog);
}

static uint32_t rule_named(const stn_rules *rules, const char *name) {
    for (uint32_t i = 0; i < stn_rules_count(rules); i++) {
        if (!strcmp(stn_rules_at(rules, i)->name, name)) {
            return i;
        }
    }
    fail_msg("rules_cases.txt: no built-in rule is called %s", name);
    return 0;
}

/* ---- the cases ------------------------------------------------------------- */

typedef struct tally {
    bench b;
    uint32_t rule;
    char mode; /* 'g', 'b', 0 before the first */
    unsigned want;
    unsigned line;
    unsigned good[RULES_MAX], bad[RULES_MAX];
} tally;

static void case_end(tally *t) {
    const stn_rule_stats *stats = stn_checker_stats(t->b.checker);
    const char *name = stn_rules_at(t->b.rules, t->rule)->name;
    if (t->mode == 'g') {
        t->good[t->rule]++;
        for (uint32_t r = 0; r < stn_rules_count(t->b.rules); r++) {
            uint32_t count;
            const stn_violation *first = stn_checker_violations(t->b.checker, &count);
            if (stats[r].violations) {
                fail_msg("rules_cases.txt: before line %u: %s breaks %s in a good trace: %s",
                         t->line, name, stn_rules_at(t->b.rules, r)->name, first[0].text);
            }
        }
        if (!stats[t->rule].checked) {
            fail_msg("rules_cases.txt: before line %u: %s judged nothing", t->line, name);
        }
    }
    if (t->mode == 'b') {
        t->bad[t->rule]++;
        if (stats[t->rule].violations != t->want) {
            fail_msg("rules_cases.txt: before line %u: %s broken %u times, expected %u", t->line,
                     name, (unsigned)stats[t->rule].violations, t->want);
        }
    }
    t->mode = 0;
    stn_checker_reset(t->b.checker);
}

static void case_line(tally *t, const char *text) {
    char word[64] = "";
    if (sscanf(text, "rule %63s", word) == 1) {
        case_end(t);
        t->rule = rule_named(t->b.rules, word);
    } else if (!strncmp(text, "good", 4) || !strncmp(text, "bad", 3)) {
        case_end(t);
        t->mode = text[0];
        t->want = text[3] == ' ' ? (unsigned)atoi(text + 4) : 1;
    } else if (*text != '#' && *text != '\n') {
        line_event line;
        stn_err err = {0};
        const stn_event *event = line_read(&line, text, t->b.catalog);
        assert_int_equal(stn_checker_step(t->b.checker, event, NULL, &err), STN_OK);
    }
}

static void each_rule_holds_and_breaks(void **state) {
    (void)state;
    static tally t;
    bench_open(&t.b);
    FILE *file = fopen(STN_SOURCE_DIR "/tests/unit/rules_cases.txt", "r");
    assert_non_null(file);
    char text[512];
    while (fgets(text, sizeof text, file)) {
        t.line++;
        case_line(&t, text);
    }
    case_end(&t);
    fclose(file);
    for (uint32_t r = 0; r < stn_rules_count(t.b.rules); r++) {
        if (!t.good[r] || !t.bad[r]) {
            fail_msg("rule %s has no good or no bad trace in rules_cases.txt",
                     stn_rules_at(t.b.rules, r)->name);
        }
    }
    bench_close(&t.b);
}

static void each_rule_is_documented(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    for (uint32_t r = 0; r < stn_rules_count(b.rules); r++) {
        const stn_rule_info *info = stn_rules_at(b.rules, r);
        assert_true(strlen(info->doc) > 20);
        assert_true(strlen(info->source) > 5);
        assert_string_equal(info->states[0], "unknown");
        assert_int_equal(info->support, 0);
    }
    bench_close(&b);
}

/* ---- the recordings ---------------------------------------------------------- */

/* What breaks there, and why: the machine hid a switch, and the recorder set the inferred one
 * too late (the thread is woken or moved while it still seems to run), or hid the waker. */
static const struct {
    const char *file, *rule;
    unsigned violations;
} explained[] = {
    {"build.run2", "one_cpu", 1},           {"build.run2", "wake_before_run", 1},
    {"iperf3.run2", "one_cpu", 2},          {"iperf3.run2", "wake_before_run", 1},
    {"scimark.run1", "one_cpu", 1},         {"scimark.run1", "wake_before_run", 1},
    {"scimark.run3", "wake_before_run", 1}, {"stream.run3", "one_cpu", 1},
    {"stream.run3", "wake_before_run", 1},
};

static unsigned explained_of(const char *file, const char *rule) {
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++) {
        if (!strncmp(file, explained[i].file, strlen(explained[i].file)) &&
            !strcmp(rule, explained[i].rule)) {
            return explained[i].violations;
        }
    }
    return 0;
}

static void load(bench *b, stn_trace *trace, const char *file) {
    char path[512];
    stn_err err = {0};
    snprintf(path, sizeof path, "%s/data/kernel/%s", STN_SHARED_DIR, file);
    stn_trace_init(trace, b->catalog);
    if (stn_trace_load(trace, path, NULL, b->catalog, NULL, NULL, &err)) {
        fail_msg("%s", err.text);
    }
}

static void check_recording(const char *file) {
    bench b;
    stn_trace trace;
    stn_err err = {0};
    bench_open(&b);
    load(&b, &trace, file);
    for (size_t i = 0; i < trace.count; i++) {
        assert_int_equal(stn_checker_step(b.checker, &trace.events[i], NULL, &err), STN_OK);
    }
    const stn_rule_stats *stats = stn_checker_stats(b.checker);
    for (uint32_t r = 0; r < stn_rules_count(b.rules); r++) {
        const char *name = stn_rules_at(b.rules, r)->name;
        if (stats[r].violations != explained_of(file, name)) {
            fail_msg("%s: %s: %u violations, %u are explained", file, name,
                     (unsigned)stats[r].violations, explained_of(file, name));
        }
    }
    stn_trace_fini(&trace);
    bench_close(&b);
}

static void recordings_break_nothing_unexplained(void **state) {
    (void)state;
    DIR *folder = opendir(STN_SHARED_DIR "/data/kernel");
    if (!folder) {
        print_message("skipped: ../shared not there\n");
        skip();
    }
    unsigned files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strstr(entry->d_name, ".txt.zst")) {
            check_recording(entry->d_name);
            files++;
        }
    }
    closedir(folder);
    assert_true(files >= 1);
}

/* ---- damaged recordings --------------------------------------------------------- */

typedef enum damage {
    DAMAGE_SWAP,
    DAMAGE_DROP,
    DAMAGE_DOUBLE,
    DAMAGE_TID,
    DAMAGE_CPU,
    DAMAGE_RET,
    DAMAGE_TYPE,
    DAMAGE_COUNT,
} damage;

static const char *const damage_names[] = {"swap", "drop", "double", "thread",
                                           "cpu",  "ret",  "type"};

static void damage_ret(stn_event *event, uint32_t ret, stn_field *storage) {
    for (uint32_t i = 0; i < event->field_count; i++) {
        if (event->fields[i].name == ret && event->field_count <= 16) {
            memcpy(storage, event->fields, event->field_count * sizeof *storage);
            storage[i].kind = STN_FIELD_INT;
            storage[i].v.i = 1 << 20;
            event->fields = storage;
        }
    }
}

static uint64_t step_damaged(bench *b, const stn_trace *trace, damage how, stn_rng *rng) {
    static const double shares[] = {0.01, 0.001, 0.001, 0.001, 0.001, 0.01, 0.001};
    uint32_t ret = stn_catalog_cstring(b->catalog, "ret");
    stn_err err = {0};
    uint64_t hurt = 0;
    for (size_t i = 0; i < trace->count; i++) {
        stn_event event = trace->events[i];
        stn_field storage[16];
        const stn_event *other = &trace->events[stn_rng_below(rng, trace->count)];
        bool hit = i + 1 < trace->count && stn_rng_double(rng) < shares[how];
        hurt += hit;
        if (hit && how == DAMAGE_SWAP) {
            event = trace->events[i + 1];
            event.time_ns = trace->events[i].time_ns;
            assert_int_equal(stn_checker_step(b->checker, &event, NULL, &err), STN_OK);
            event = trace->events[i++];
            event.time_ns = trace->events[i].time_ns;
        } else if (hit && how == DAMAGE_DROP) {
            continue;
        } else if (hit && how == DAMAGE_DOUBLE) {
            assert_int_equal(stn_checker_step(b->checker, &event, NULL, &err), STN_OK);
        } else if (hit && how == DAMAGE_TID) {
            event.tid = other->tid;
        } else if (hit && how == DAMAGE_CPU) {
            event.cpu ^= 1;
        } else if (hit && how == DAMAGE_RET) {
            damage_ret(&event, ret, storage);
        } else if (hit && how == DAMAGE_TYPE) {
            event.type = other->type;
        }
        assert_int_equal(stn_checker_step(b->checker, &event, NULL, &err), STN_OK);
    }
    return hurt;
}

static void damage_is_seen(void **state) {
    (void)state;
    static const char *const files[] = {"fio_randrw.run1.txt.zst", "redis.run1.txt.zst",
                                        "build.run1.txt.zst"};
    /* Rules that must flag each damage over these three recordings. */
    static const unsigned least[] = {22, 22, 18, 8, 8, 2, 28};
    unsigned seen[DAMAGE_COUNT] = {0};
    bool flagged[DAMAGE_COUNT][RULES_MAX] = {{0}};
    if (access(STN_SHARED_DIR "/data/kernel", R_OK)) {
        print_message("skipped: ../shared not there\n");
        skip();
    }
    for (size_t f = 0; f < 3; f++) {
        bench b;
        stn_trace trace;
        bench_open(&b);
        load(&b, &trace, files[f]);
        for (uint32_t how = 0; how < DAMAGE_COUNT; how++) {
            stn_rng rng;
            stn_rng_init(&rng, 7 + how);
            stn_checker_reset(b.checker);
            assert_true(step_damaged(&b, &trace, (damage)how, &rng) > 0);
            for (uint32_t r = 0; r < stn_rules_count(b.rules); r++) {
                bool now = stn_checker_stats(b.checker)[r].violations > 0;
                seen[how] += now && !flagged[how][r];
                flagged[how][r] |= now;
            }
        }
        stn_trace_fini(&trace);
        bench_close(&b);
    }
    for (uint32_t how = 0; how < DAMAGE_COUNT; how++) {
        print_message("%s: %u rules flag it\n", damage_names[how], seen[how]);
        assert_true(seen[how] >= least[how]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_holds_and_breaks),
        cmocka_unit_test(each_rule_is_documented),
        cmocka_unit_test(recordings_break_nothing_unexplained),
        cmocka_unit_test(damage_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
