/* Places that cannot be written, and writing that is cut short: one clear sentence, and nothing
 * under the final name. The same for every format. */
#include "fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/base/alloc.h"

typedef struct format_row {
    const char *format, *name;
} format_row;

static const format_row rows[] = {
    {"ftrace", "out.txt"}, {"csv", "out.csv"},    {"json", "out.json"},
    {"ctf", "out"},        {"csv", "out.csv.gz"}, {"ftrace", "out.txt.zst"},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static void expect_error(fixture *fx, stn_status status, const char *part) {
    assert_int_not_equal(status, STN_OK);
    if (!strstr(fx->err.text, part)) {
        fail_msg("'%s' does not say '%s'", fx->err.text, part);
    }
}

static void test_no_such_folder(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/absent/%s", fx->folder, rows[i].name);
        expect_error(fx, fx_try_write(fx, path, rows[i].format, NULL), "No such file or directory");
        expect_error(fx, STN_EIO, path);
    }
    assert_int_equal(fx_entries(fx), 0);
}

static void test_full_disk(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    for (size_t i = 0; i < 3; i++) {
        stn_status status = fx_try_write(fx, "/dev/full", rows[i].format, NULL);
        assert_int_equal(status, STN_EIO);
        expect_error(fx, status, "No space left on device");
    }
    struct stat stat_of;
    assert_int_equal(stat("/dev/full", &stat_of), 0);
    assert_true(S_ISCHR(stat_of.st_mode));
}

static void test_something_in_the_way(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    const char *folder = fx_path(fx, "mine"), *note = fx_path(fx, "mine/note");
    assert_int_equal(mkdir(folder, 0777), 0);
    FILE *file = fopen(note, "w");
    fclose(file);
    for (size_t i = 0; i < 4; i++) {
        expect_error(fx, fx_try_write(fx, folder, rows[i].format, NULL), "folder");
    }
    assert_int_equal(access(note, F_OK), 0);
    expect_error(fx, fx_try_write(fx, note, "ctf", NULL), "in the way");
    assert_int_equal(fx_entries(fx), 1);
}

static void test_standard_output_needs_a_file_format(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    assert_int_equal(fx_try_write(fx, "-", NULL, NULL), STN_ERANGE);
    expect_error(fx, STN_ERANGE, "standard output has no ending");
    assert_int_equal(fx_try_write(fx, "-", "ctf", NULL), STN_ERANGE);
    expect_error(fx, STN_ERANGE, "'ctf' is a folder");
    assert_int_not_equal(access("-", F_OK), 0);
}

/* A trace that another tracer wrote is left alone; our own is replaced. */
static void test_foreign_trace_is_kept(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    const char *folder = fx_path(fx, "lttng"), *metadata = fx_path(fx, "lttng/metadata");
    assert_int_equal(mkdir(folder, 0777), 0);
    FILE *file = fopen(metadata, "w");
    fclose(file);
    expect_error(fx, fx_try_write(fx, folder, "ctf", NULL), "not written by standin");
    struct stat stat_of;
    assert_int_equal(stat(metadata, &stat_of), 0);
    assert_int_equal(stat_of.st_size, 0);
    const char *ours = fx_path(fx, "ours");
    fx_write(fx, ours, "ctf");
    fx_write(fx, ours, "ctf");
    assert_int_equal(fx_entries(fx), 2);
}

static void test_time_goes_backwards(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 200, 0, 1, "a", "first", NULL, FX_INT("a", 1));
    FX_ADD(fx, 100, 0, 1, "a", "second", NULL, FX_INT("a", 1));
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *path = fx_path(fx, rows[i].name);
        stn_status status = fx_try_write(fx, path, rows[i].format, NULL);
        assert_int_equal(status, STN_EFORMAT);
        expect_error(fx, status, "100 ns comes before the one written last (200 ns)");
    }
    assert_int_equal(fx_entries(fx), 0);
}

/* Fail allocation 1, 2, 3 … of writing: each time ENOMEM and nothing left, until all succeed. */
static void test_no_memory(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    fx_add_loss(fx, 1000001500, 0, 5, 1000001100);
    fx_add_edges(fx);
    const stn_writer_options some = {.max_events = 3};
    for (size_t i = 0; i < 8; i++) {
        const format_row *row = i < ROW_COUNT ? &rows[i] : &rows[2];
        const char *path = fx_path(fx, row->name);
        stn_status status = STN_ENOMEM;
        for (uint64_t nth = 1; status == STN_ENOMEM; nth++) {
            stn_alloc_fail_at(nth);
            status = fx_try_write(fx, path, row->format, i == 7 ? &some : NULL);
            stn_alloc_fail_at(0);
            assert_true(status == STN_OK || status == STN_ENOMEM);
            assert_int_equal(fx_entries(fx), status == STN_OK ? 1 : 0);
            assert_true(nth < 5000);
        }
        stn_outdir_abort(path);
        assert_int_equal(fx_entries(fx), 0);
    }
}

static void test_abort_leaves_nothing(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        stn_writer *writer;
        assert_int_equal(stn_writer_open(&writer, fx_path(fx, rows[i].name), rows[i].format,
                                         fx->catalog, NULL, NULL, &fx->err),
                         STN_OK);
        assert_int_equal(stn_writer_write(writer, fx->trace.events, &fx->err), STN_OK);
        stn_writer_abort(writer);
    }
    assert_int_equal(fx_entries(fx), 0);
}

/* Killed before commit: the final name is not there. */
static void test_killed_half_way(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *path = fx_path(fx, rows[i].name);
        pid_t child = fork();
        if (child == 0) {
            stn_writer *writer;
            if (stn_writer_open(&writer, path, rows[i].format, fx->catalog, NULL, NULL, NULL) ||
                stn_writer_write(writer, fx->trace.events, NULL)) {
                _exit(1);
            }
            raise(SIGKILL);
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_no_such_folder),
        ONE(test_full_disk),
        ONE(test_something_in_the_way),
        ONE(test_foreign_trace_is_kept),
        ONE(test_time_goes_backwards),
        ONE(test_no_memory),
        ONE(test_standard_output_needs_a_file_format),
        ONE(test_abort_leaves_nothing),
        ONE(test_killed_half_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
