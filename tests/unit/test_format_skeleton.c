/* The skeleton of docs/add-a-format.md compiles and does what a format must. */
#include "fixture.h"

#include "../../examples/skeleton/format_lines.c" // NOLINT(bugprone-suspicious-include)

static void write_lines(fixture *fx, const char *path) {
    void *self;
    assert_int_equal(stn_write_lines.open(&self, path, fx->catalog, &fx->trace.meta,
                                          &(stn_writer_options){0}, &fx->err),
                     STN_OK);
    for (size_t i = 0; i < fx->trace.count; i++) {
        assert_int_equal(stn_write_lines.write(self, &fx->trace.events[i], &fx->err), STN_OK);
    }
    assert_int_equal(stn_write_lines.commit(self, &fx->err), STN_OK);
}

static void test_there_and_back(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    const char *path = fx_path(fx, "out.lines");
    write_lines(fx, path);
    char *text = fx_content(path);
    stn_probe probe = {.path = path, .head = text, .head_size = strlen(text)};
    assert_int_equal(stn_read_lines.probe(&probe), 100);
    probe.head_size = 5;
    assert_int_equal(stn_read_lines.probe(&probe), 0);
    free(text);
    void *self;
    stn_event event;
    assert_int_equal(stn_read_lines.open(&self, path, fx->catalog, &fx->trace.meta, &fx->err),
                     STN_OK);
    for (size_t i = 0; i < fx->trace.count; i++) {
        assert_int_equal(stn_read_lines.next(self, &event, &fx->err), STN_OK);
        assert_int_equal(event.time_ns, fx->trace.events[i].time_ns);
        assert_int_equal(event.type, fx->trace.events[i].type);
        assert_int_equal(event.tid, fx->trace.events[i].tid);
    }
    assert_int_equal(stn_read_lines.next(self, &event, &fx->err), STN_END);
    stn_read_lines.close(self);
}

static void test_bad_line(void **state) {
    fixture *fx = *state;
    const char *path = fx_path(fx, "bad.lines");
    FILE *file = fopen(path, "w");
    fprintf(file, "%s\n1 0 two name\n", MAGIC);
    fclose(file);
    void *self;
    stn_event event;
    assert_int_equal(stn_read_lines.open(&self, path, fx->catalog, &fx->trace.meta, &fx->err),
                     STN_OK);
    assert_int_equal(stn_read_lines.next(self, &event, &fx->err), STN_EFORMAT);
    assert_non_null(strstr(fx->err.text, "line 2: 'time cpu thread name' expected"));
    stn_read_lines.close(self);
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {ONE(test_there_and_back), ONE(test_bad_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
