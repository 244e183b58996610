/* What is written comes back: event by event and field by field, through every format that is
 * both written and read; on a trace made by hand, and on real ones where they are there. */
#include "fixture.h"

/* ---- comparing ------------------------------------------------------- */

/* Text does not tell every kind: a number may come back in another kind with the same value. */
typedef enum strictness { KINDS, VALUES } strictness;

static bool is_integer(const stn_field *field) {
    return field->kind == STN_FIELD_INT || field->kind == STN_FIELD_UINT ||
           field->kind == STN_FIELD_HEX;
}

static bool same_items(const stn_seq *a, const stn_seq *b, strictness how) {
    return a->count == b->count &&
           (how == VALUES || a->count == 0 || a->is_signed == b->is_signed) &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
}

static bool same_value(const stn_field *a, const stn_field *b, strictness how) {
    if (how == VALUES && is_integer(a) && is_integer(b)) {
        return a->v.u == b->v.u;
    }
    if (how == VALUES && is_integer(a) && b->kind == STN_FIELD_STR) {
        return stn_field_int(b, ~a->v.i) == a->v.i; /* "name" is text to the text readers */
    }
    if (how == VALUES && a->kind == STN_FIELD_REAL && b->kind == STN_FIELD_STR) {
        return strtod(b->v.s, NULL) == a->v.f;
    }
    if (a->kind != b->kind) {
        return false;
    }
    switch ((stn_field_kind)a->kind) {
    case STN_FIELD_REAL:
        return a->v.f == b->v.f;
    case STN_FIELD_STR:
        return strcmp(a->v.s, b->v.s) == 0;
    case STN_FIELD_SEQ:
        return same_items(a->v.seq, b->v.seq, how);
    case STN_FIELD_INT:
    case STN_FIELD_UINT:
    case STN_FIELD_HEX:
        break;
    }
    return a->v.u == b->v.u;
}

static const stn_field *field_called(const stn_event *event, const stn_catalog *catalog,
                                     const char *name) {
    uint32_t id = stn_catalog_find(catalog, name);
    return id == STN_NO_ID ? NULL : stn_event_field(event, id);
}

/* What was not known may have been inferred from other events when reading back. */
static bool same_place(const stn_event *a, const stn_catalog *in_a, const stn_event *b,
                       const stn_catalog *in_b) {
    return a->time_ns == b->time_ns && a->cpu == b->cpu &&
           (a->tid == STN_NO_TID || a->tid == b->tid) &&
           (a->comm == STN_NO_ID ||
            strcmp(stn_catalog_text(in_a, a->comm), stn_catalog_text(in_b, b->comm)) == 0);
}

static void check_event(const stn_event *a, const stn_catalog *in_a, const stn_event *b,
                        const stn_catalog *in_b, strictness how) {
    const char *name = stn_catalog_type_at(in_a, a->type)->name;
    if (strcmp(name, stn_catalog_type_at(in_b, b->type)->name) != 0 ||
        !same_place(a, in_a, b, in_b)) {
        fail_msg("%s at %llu on CPU %u in %d %s became %s at %llu on CPU %u in %d %s", name,
                 (unsigned long long)a->time_ns, a->cpu, a->tid, stn_catalog_text(in_a, a->comm),
                 stn_catalog_type_at(in_b, b->type)->name, (unsigned long long)b->time_ns, b->cpu,
                 b->tid, stn_catalog_text(in_b, b->comm));
    }
    for (uint32_t i = 0; i < a->field_count; i++) {
        const char *field = stn_catalog_text(in_a, a->fields[i].name);
        const stn_field *other = field_called(b, in_b, field);
        if (!other || !same_value(&a->fields[i], other, how)) {
            fail_msg("%s at %llu: field %s is %s", name, (unsigned long long)a->time_ns, field,
                     other ? "another" : "missing");
        }
    }
}

/* The next event of @p trace on @p cpu from @p at on, not counting marks. */
static size_t next_on(const stn_trace *trace, size_t at, uint16_t cpu) {
    while (at < trace->count &&
           (trace->events[at].cpu != cpu || trace->events[at].type == STN_TYPE_LOST)) {
        at++;
    }
    return at;
}

/* Events of one CPU keep their order; equal times on different CPUs may come in another. */
static void check_events(const stn_trace *a, const stn_trace *b, strictness how) {
    size_t cursors[257] = {0}, events = 0;
    for (size_t i = 0; i < a->count; i++) {
        const stn_event *event = &a->events[i];
        if (event->type == STN_TYPE_LOST) {
            continue;
        }
        size_t *cursor = &cursors[event->cpu == STN_NO_CPU ? 256 : event->cpu];
        *cursor = next_on(b, *cursor, event->cpu);
        assert_true(*cursor < b->count);
        check_event(event, a->catalog, &b->events[(*cursor)++], b->catalog, how);
        events++;
    }
    assert_int_equal(b->meta.event_count, events);
}

static void check_marks(const stn_trace *a, const stn_trace *b) {
    size_t at = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (a->events[i].type != STN_TYPE_LOST) {
            continue;
        }
        while (at < b->count && b->events[at].type != STN_TYPE_LOST) {
            at++;
        }
        assert_true(at < b->count);
        const stn_event *mark = &a->events[i], *back = &b->events[at++];
        assert_int_equal(back->time_ns, mark->time_ns);
        assert_int_equal(back->cpu, mark->cpu);
        for (uint32_t f = 0; f < mark->field_count; f++) {
            const char *name = stn_catalog_text(a->catalog, mark->fields[f].name);
            assert_int_equal(stn_field_int(field_called(back, b->catalog, name), -1),
                             stn_field_int(&mark->fields[f], -2));
        }
    }
    while (at < b->count) {
        assert_int_not_equal(b->events[at++].type, STN_TYPE_LOST);
    }
}

static void load(stn_trace *trace, stn_catalog **catalog, const char *path) {
    stn_err err = {0};
    assert_int_equal(stn_catalog_new(catalog, &err), STN_OK);
    stn_trace_init(trace, *catalog);
    if (stn_trace_load(trace, path, NULL, *catalog, NULL, NULL, &err)) {
        fail_msg("%s", err.text);
    }
}

static void unload(stn_trace *trace, stn_catalog *catalog) {
    stn_trace_fini(trace);
    stn_catalog_free(catalog);
}

/* ---- the trace made by hand ------------------------------------------ */

static void fill(fixture *fx) {
    fx_add_kernel(fx);
    fx_add_loss(fx, 1000001500, 0, 5, 1000001100);
    FX_ADD(fx, 1000001600, 0, 42, "bash", "sys_enter_close", "syscall_entry_close",
           FX_UINT("fd", 3));
    fx_add_loss(fx, 1000001700, 1, 12, 1000001200);
    fx_add_edges(fx);
    fx_add_loss(fx, 6000000001, 0, 3, 1000001600);
    fx_add_loss(fx, 6000000005, 0, 4, 6000000001);
    fx_add_loss(fx, 6000000009, 0, 5, 6000000007);
    fx_add_loss(fx, 6000000010, 2, 6, 6000000002);
    FX_ADD(fx, 6000000020, 2, 9, "late", "sys_exit_read", NULL, FX_INT("ret", 0));
    fx_add_loss(fx, 6000000040, 2, 7, 6000000020);
}

static void go_and_back(fixture *fx, const char *name, const char *format, strictness how) {
    const char *path = fx_path(fx, name);
    fx_write(fx, path, format);
    stn_catalog *catalog;
    stn_trace back;
    load(&back, &catalog, path);
    check_events(&fx->trace, &back, how);
    check_marks(&fx->trace, &back);
    unload(&back, catalog);
}

static void test_csv(void **state) {
    fill(*state);
    go_and_back(*state, "trace.csv", "csv", KINDS);
    go_and_back(*state, "trace.csv.gz", "csv", KINDS);
}

static void test_ftrace(void **state) {
    fill(*state);
    go_and_back(*state, "trace.txt", "ftrace", VALUES);
    go_and_back(*state, "trace.txt.zst", "ftrace", VALUES);
}

static void test_ctf(void **state) {
    fill(*state);
    go_and_back(*state, "trace", "ctf", KINDS);
}

/* A second time nothing changes any more, to the byte. */
static void twice(fixture *fx, const char *first, const char *second, const char *format) {
    char a[160], b[160];
    snprintf(a, sizeof a, "%s", fx_path(fx, first));
    snprintf(b, sizeof b, "%s", fx_path(fx, second));
    fx_write(fx, a, format);
    fixture again = *fx;
    load(&again.trace, &again.catalog, a);
    fx_write(&again, b, format);
    unload(&again.trace, again.catalog);
    char *text_a = fx_content(a), *text_b = fx_content(b);
    assert_string_equal(text_a, text_b);
    free(text_a);
    free(text_b);
}

static void test_twice_is_the_same(void **state) {
    fill(*state);
    twice(*state, "a.csv", "b.csv", "csv");
    twice(*state, "a.txt", "b.txt", "ftrace");
}

/* The name that LTTng gave a type is kept beside the canonical one. */
static void test_originals(void **state) {
    fixture *fx = *state;
    snprintf(fx->trace.meta.tracer, sizeof fx->trace.meta.tracer, "lttng-modules 2.5");
    snprintf(fx->trace.meta.host, sizeof fx->trace.meta.host, "a \"host\"");
    fx->trace.meta.epoch_ns = 1700000000123456789;
    FX_ADD(fx, 100, 0, 1, "init", "sys_enter_open", "sys_open", FX_STR("filename", "/etc"));
    FX_ADD(fx, 200, 0, 1, "init", "softirq_entry", "softirq_entry", FX_UINT("vec", 1));
    const char *path = fx_path(fx, "old");
    fx_write(fx, path, "ctf");
    stn_catalog *catalog;
    stn_trace back;
    load(&back, &catalog, path);
    check_events(&fx->trace, &back, KINDS);
    const stn_type *type = stn_catalog_type_at(catalog, back.events[0].type);
    assert_string_equal(type->original, "sys_open");
    assert_string_equal(back.meta.tracer, "lttng-modules 2.5");
    assert_string_equal(back.meta.host, "a \"host\"");
    assert_int_equal(back.meta.epoch_ns, fx->trace.meta.epoch_ns);
    unload(&back, catalog);
}

/* Long enough for several packets, with a loss in each stretch. */
static void test_many_packets(void **state) {
    fixture *fx = *state;
    uint64_t last[2] = {0, 0};
    for (uint64_t i = 1; i <= 20000; i++) {
        uint16_t cpu = (uint16_t)(i % 2);
        if (i % 4999 == 0 && last[cpu]) {
            fx_add_loss(fx, i * 1000 - 1, cpu, i, last[cpu]);
        }
        FX_ADD(fx, i * 1000, cpu, (int32_t)(i % 9 + 1), "worker", "sys_exit_write", NULL,
               FX_INT("ret", (int64_t)i << (i % 3 * 16)), FX_STR("pad", "0123456789abcdef"));
        last[cpu] = i * 1000;
    }
    go_and_back(fx, "many", "ctf", KINDS);
    go_and_back(fx, "many.csv", "csv", KINDS);
    go_and_back(fx, "many.txt", "ftrace", VALUES);
}

static void test_no_events(void **state) {
    go_and_back(*state, "none.csv", "csv", KINDS);
    go_and_back(*state, "none.txt", "ftrace", KINDS);
    go_and_back(*state, "none", "ctf", KINDS);
}

/* ---- real traces ----------------------------------------------------- */

static const char *shared(void) {
    const char *folder = getenv("STN_SHARED");
    return folder ? folder : STN_SHARED_DIR;
}

/* Read @p name, write it as CTF, then that as CSV, then that as ftrace text. */
static void there_and_on(fixture *fx, const char *name, strictness last) {
    char path[512];
    snprintf(path, sizeof path, "%s/data/%s", shared(), name);
    if (access(path, R_OK)) {
        print_message("skipped: ../shared not there\n");
        skip();
    }
    static const struct {
        const char *name, *format;
    } legs[] = {{"leg", "ctf"}, {"leg.csv", "csv"}, {"leg.txt", "ftrace"}};
    fixture now = *fx;
    load(&now.trace, &now.catalog, path);
    for (size_t i = 0; i < 3; i++) {
        const char *leg = fx_path(fx, legs[i].name);
        fx_write(&now, leg, legs[i].format);
        fixture next = now;
        load(&next.trace, &next.catalog, leg);
        check_events(&now.trace, &next.trace, i == 2 ? last : KINDS);
        assert_int_equal(next.trace.meta.lost_count, now.trace.meta.lost_count);
        assert_int_equal(next.trace.meta.lost_marks, now.trace.meta.lost_marks);
        unload(&now.trace, now.catalog);
        now = next;
    }
    unload(&now.trace, now.catalog);
}

static void test_lttng(void **state) {
    there_and_on(*state, "ctf/basic-kernel-analysis", VALUES);
}

static void test_older_lttng(void **state) {
    there_and_on(*state, "ctf/bug446190", VALUES);
}

static void test_perf(void **state) {
    there_and_on(*state, "ctf/perf-taskset2", VALUES);
}

static void test_trace_dat(void **state) {
    there_and_on(*state, "ftrace/lisa_rtapp.dat", VALUES);
}

static void test_recording(void **state) {
    there_and_on(*state, "kernel/openssl.run1.txt.zst", VALUES);
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_csv),         ONE(test_ftrace),
        ONE(test_ctf),         ONE(test_twice_is_the_same),
        ONE(test_originals),   ONE(test_many_packets),
        ONE(test_no_events),   ONE(test_lttng),
        ONE(test_older_lttng), ONE(test_perf),
        ONE(test_trace_dat),   ONE(test_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
