/* keeping outputs off inputs; the shared filter options */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include "app/inputs.h"

static char folder[] = "/tmp/standin-inputs-XXXXXX";

static int make(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        return -1;
    }
    FILE *file = fopen("a.txt", "w");
    if (!file || fclose(file) != 0) {
        return -1;
    }
    return mkdir("trace", 0700) != 0 || mkdir("trace/sub", 0700) != 0 ||
           symlink("a.txt", "link") != 0 || symlink("trace", "tlink") != 0 ||
           link("a.txt", "hard") != 0;
}

static int unmake(void **state) {
    (void)state;
    unlink("a.txt");
    unlink("link");
    unlink("tlink");
    unlink("hard");
    rmdir("trace/sub");
    rmdir("trace");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void an_input_is_never_written_over(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
        bool refused;
    } cases[] = {
        {"a.txt", "a.txt", true},
        {"a.txt", "./trace/../a.txt", true},
        {"a.txt", "link", true},
        {"a.txt", "hard", true},
        {"link", "a.txt", true},
        {"trace", "trace/", true},
        {"trace", "tlink", true},
        {"trace", "trace/new", true},
        {"tlink", "trace/new.csv", true},
        {"trace/sub", "trace", true},
        {"a.txt", "b.txt", false},
        {"a.txt", "a.txt.zst", false},
        {"trace", "trace2", false},
        {"trace", "-", false},
        {"nothing", "nowhere/at/all", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_app app = {stdout, stderr, false};
        stn_err err = {{0}};
        stn_status status = stn_inputs_guard(&app, cases[i].in, cases[i].out, &err);
        assert_int_equal(status, cases[i].refused ? STN_ERANGE : STN_OK);
        assert_true(app.usage == cases[i].refused);
    }
}

static void the_filter_is_that_of_the_options(void **state) {
    (void)state;
    int32_t cpus[] = {0, 3};
    int32_t tids[] = {42};
    const char *events[] = {"sys_*"};
    stn_common common = {.cpus = {cpus, 2, 2},
                         .tids = {tids, 1, 1},
                         .events = {events, 1, 1},
                         .time = {5, 9},
                         .format = "csv"};
    stn_selection selection;
    stn_err err = {{0}};
    stn_app app = {stdout, stderr, false};
    assert_int_equal(stn_selection_init(&selection, &app, &common, &err), STN_OK);
    const stn_filter *filter = &selection.filter;
    assert_true(filter->begin_ns == 5 && filter->end_ns == 9);
    assert_true(filter->cpu_count == 2 && filter->cpus[1] == 3);
    assert_true(filter->tid_count == 1 && filter->tids[0] == 42);
    assert_true(filter->event_count == 1 && filter->comm_count == 0);
    assert_string_equal(selection.format, "csv");
    stn_selection_fini(&selection);
    cpus[1] = 70000;
    assert_int_equal(stn_selection_init(&selection, &app, &common, &err), STN_ERANGE);
    assert_non_null(strstr(err.text, "no CPU 70000"));
    cpus[1] = 3;
    common.format = "cvs";
    assert_int_equal(stn_selection_init(&selection, &app, &common, &err), STN_ERANGE);
    assert_non_null(strstr(err.text, "did you mean \"csv\"?"));
    assert_true(app.usage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_is_never_written_over),
        cmocka_unit_test(the_filter_is_that_of_the_options),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
