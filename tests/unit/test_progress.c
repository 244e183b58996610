/* the progress line and the flag that Ctrl-C sets */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "testing.h"

#include "app/progress.h"

static void the_line_has_rate_and_time_left(void **state) {
    (void)state;
    stn_progress progress = {.what = "reading a", .unit = "events", .begin_ns = 1000000000};
    char line[160];
    stn_progress_line(&progress, 250000, 1000000, 1500000000, line, sizeof line);
    assert_string_equal(line, "reading a: 250 k events, 500 k/s, 25 %, 2 s left");
    stn_progress_line(&progress, 250000, 0, 1500000000, line, sizeof line);
    assert_string_equal(line, "reading a: 250 k events, 500 k/s");
    stn_progress_line(&progress, 0, 10, 1000000000, line, sizeof line);
    assert_string_equal(line, "reading a: 0 events, 0/s");
    char small[12];
    stn_progress_line(&progress, 250000, 1000000, 1500000000, small, sizeof small);
    assert_string_equal(small, "reading a: ");
}

static void nothing_is_drawn_without_a_terminal(void **state) {
    (void)state;
    char text[64] = "";
    FILE *notes = fmemopen(text, sizeof text, "w");
    assert_non_null(notes);
    stn_progress progress;
    stn_progress_begin(&progress, NULL, false, "x", "events");
    assert_true(stn_progress_tick(&progress, 1, 2));
    stn_progress_end(&progress);
    fclose(notes);
    assert_string_equal(text, "");
}

static void the_first_signal_sets_the_flag_and_a_later_one_ends(void **state) {
    (void)state;
    stn_signals_init();
    stn_progress progress;
    stn_progress_begin(&progress, NULL, true, "x", "events");
    assert_int_equal(stn_signals_came(), 0);
    assert_true(stn_progress_tick(&progress, 1, 2));
    raise(SIGTERM);
    assert_int_equal(stn_signals_came(), SIGTERM);
    assert_false(stn_progress_tick(&progress, 1, 2));
    raise(SIGTERM); /* so soon that it is the same one */
    pid_t child = fork();
    if (child == 0) {
        struct timespec nap = {0, 250000000};
        nanosleep(&nap, NULL);
        raise(SIGTERM);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_has_rate_and_time_left),
        cmocka_unit_test(nothing_is_drawn_without_a_terminal),
        cmocka_unit_test(the_first_signal_sets_the_flag_and_a_later_one_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
