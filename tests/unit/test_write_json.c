/* Chrome trace JSON: always valid, slices paired, a sample that keeps pairs and losses. */
#include "fixture.h"

#include <jansson.h>

static stn_written counts; /* of the file written last */

static json_t *written(fixture *fx, uint64_t max_events) {
    const char *path = fx_path(fx, "out.json");
    stn_writer_options options = {.max_events = max_events, .written = &counts};
    if (fx_try_write(fx, path, "json", &options)) {
        fail_msg("%s", fx->err.text);
    }
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        fail_msg("line %d: %s", error.line, error.text);
    }
    return root;
}

static const char *text_of(const json_t *item, const char *key) {
    const char *text = json_string_value(json_object_get(item, key));
    return text ? text : "";
}

static double number_of(const json_t *item, const char *key) {
    return json_number_value(json_object_get(item, key));
}

/* Items of phase @p phase and name @p name; the first of them in *first. */
static size_t find(const json_t *root, const char *phase, const char *name, json_t **first) {
    size_t index, count = 0;
    json_t *item;
    *first = NULL;
    json_array_foreach(json_object_get(root, "traceEvents"), index, item) {
        if (strcmp(text_of(item, "ph"), phase) == 0 && strcmp(text_of(item, "name"), name) == 0) {
            *first = *first ? *first : item;
            count++;
        }
    }
    return count;
}

static json_t *only(const json_t *root, const char *phase, const char *name) {
    json_t *item;
    assert_int_equal(find(root, phase, name, &item), 1);
    return item;
}

static void test_slices(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    json_t *root = written(fx, 0);
    const json_t *call = only(root, "X", "read");
    assert_int_equal(number_of(call, "pid"), 3);
    assert_int_equal(number_of(call, "tid"), 42);
    assert_float_equal(number_of(call, "ts"), 0, 1e-9);
    assert_float_equal(number_of(call, "dur"), 1.0, 1e-9);
    const json_t *args = json_object_get(call, "args");
    assert_string_equal(text_of(args, "buf"), "0x7ffdc0de1234");
    assert_int_equal(number_of(args, "ret"), -11);
    const json_t *idle = only(root, "X", "idle");
    assert_int_equal(number_of(idle, "pid"), 1);
    assert_float_equal(number_of(idle, "ts"), 0.1, 1e-9);
    assert_float_equal(number_of(idle, "dur"), 0.8, 1e-9);
    assert_int_equal(number_of(json_object_get(idle, "args"), "synth"), 6492);
    const json_t *irq = only(root, "X", "irq virtio1-req.0");
    assert_int_equal(number_of(irq, "pid"), 2);
    assert_int_equal(number_of(json_object_get(irq, "args"), "exit_irq"), 36);
    assert_float_equal(number_of(only(root, "X", "softirq BLOCK"), "dur"), 0.2, 1e-9);
    only(root, "i", "sched_waking");
    only(root, "i", "sched_switch"); /* the first: what ran before is not known */
    json_decref(root);
}

/* What is open in the end is closed there and says so. */
static void test_open_slices(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    json_t *root = written(fx, 0);
    const json_t *call = only(root, "X", "futex");
    assert_true(json_is_true(json_object_get(json_object_get(call, "args"), "unfinished")));
    const json_t *bash = only(root, "X", "bash");
    assert_float_equal(number_of(bash, "ts") + number_of(bash, "dur"), 1.1, 1e-9);
    json_decref(root);
}

/* An exit without its entry, an entry without its exit, a handler whose inner end was lost. */
static void test_broken_pairs(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1000, 0, 1, "a", "sys_exit_read", NULL, FX_INT("ret", 0));
    FX_ADD(fx, 2000, 0, 1, "a", "sys_enter_write", NULL, FX_INT("fd", 0));
    FX_ADD(fx, 3000, 0, 1, "a", "sys_enter_open", NULL, FX_INT("fd", 0));
    FX_ADD(fx, 4000, 0, 1, "a", "sys_exit_close", NULL, FX_INT("ret", 0));
    FX_ADD(fx, 5000, 0, 1, "a", "irq_handler_entry", NULL, FX_INT("irq", 1));
    FX_ADD(fx, 6000, 0, 1, "a", "softirq_entry", NULL, FX_INT("vec", 1));
    FX_ADD(fx, 7000, 0, 1, "a", "irq_handler_exit", NULL, FX_INT("irq", 1));
    FX_ADD(fx, 8000, 0, 1, "a", "softirq_exit", NULL, FX_INT("vec", 1));
    json_t *root = written(fx, 0);
    only(root, "i", "sys_exit_read");
    only(root, "i", "sys_exit_close");
    only(root, "i", "softirq_exit");
    assert_float_equal(number_of(only(root, "X", "write"), "dur"), 1.0, 1e-9);
    assert_float_equal(number_of(only(root, "X", "open"), "dur"), 5.0, 1e-9);
    assert_float_equal(number_of(only(root, "X", "softirq TIMER"), "dur"), 1.0, 1e-9);
    assert_float_equal(number_of(only(root, "X", "irq"), "dur"), 2.0, 1e-9);
    json_decref(root);
}

static void test_edges_are_valid(void **state) {
    fixture *fx = *state;
    fx_add_edges(fx);
    FX_ADD(fx, 6000000001, 1, 7, "\xff\xfe", "bad \xc0 name", NULL, FX_STR("a\"b", "\xed\xa0\x80"));
    json_t *root = written(fx, 0);
    const json_t *text = json_object_get(only(root, "i", "edge_text"), "args");
    assert_string_equal(text_of(text, "quote"), "say \"hi\"\\ \t\n");
    assert_string_equal(text_of(text, "utf8"), "gr\xc3\xbc\xc3\x9f");
    json_decref(root);
}

static void test_no_events(void **state) {
    json_t *root = written(*state, 0);
    assert_int_equal(json_array_size(json_object_get(root, "traceEvents")), 3);
    json_decref(root);
    root = written(*state, 5);
    assert_int_equal(json_array_size(json_object_get(root, "traceEvents")), 3);
    json_decref(root);
}

static size_t count_items(const json_t *root) {
    size_t index, count = 0;
    json_t *item;
    json_array_foreach(json_object_get(root, "traceEvents"), index, item) {
        count += strcmp(text_of(item, "ph"), "M") != 0 && strcmp(text_of(item, "cat"), "lost") != 0;
    }
    return count;
}

/* Exactly as many items as asked for; every slice has both ends; losses stay. */
static void test_sample(void **state) {
    fixture *fx = *state;
    for (uint64_t i = 0; i < 500; i++) {
        FX_ADD(fx, i * 2000, 0, 1, "a", "sys_enter_read", NULL, FX_UINT("fd", i));
        FX_ADD(fx, i * 2000 + 1000, 0, 1, "a", "sys_exit_read", NULL, FX_UINT("ret", i));
    }
    fx_add_loss(fx, 2000000, 0, 9, 999000);
    json_t *root = written(fx, 100);
    assert_int_equal(count_items(root), 100);
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(root, "traceEvents"), index, item) {
        if (strcmp(text_of(item, "ph"), "X") == 0) {
            const json_t *args = json_object_get(item, "args");
            assert_float_equal(number_of(item, "dur"), 1.0, 1e-9);
            assert_int_equal(number_of(args, "fd"), number_of(args, "ret"));
        }
    }
    only(root, "i", "lost events");
    const json_t *other = json_object_get(root, "otherData");
    assert_int_equal(number_of(other, "items"), 100);
    assert_int_equal(number_of(other, "items_of"), 500);
    assert_int_equal(number_of(other, "events"), 1000);
    assert_int_equal(counts.events, 200);
    assert_int_equal(counts.items, 100);
    assert_int_equal(counts.items_of, 500);
    json_decref(root);
}

/* What the kept items tell of adds up: all events if all are kept, a switch never twice. */
static void test_counts(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    fx_add_loss(fx, 1000001500, 0, 5, 1000001100);
    fx_add_edges(fx);
    json_t *root = written(fx, 0);
    uint64_t events = (uint64_t)number_of(json_object_get(root, "otherData"), "events");
    json_decref(root);
    assert_int_equal(counts.events, events);
    uint64_t items = counts.items_of;
    assert_true(items > 3 && items < events);
    uint64_t before = 0;
    for (uint64_t n = 1; n <= items; n++) {
        json_decref(written(fx, n));
        assert_int_equal(counts.items, n);
        assert_int_equal(counts.items_of, items);
        assert_true(counts.events >= before && counts.events <= before + 2);
        before = counts.events;
    }
    assert_int_equal(before, events);
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_slices),          ONE(test_open_slices), ONE(test_broken_pairs),
        ONE(test_edges_are_valid), ONE(test_no_events),   ONE(test_sample),
        ONE(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
