/* An abort within a guard is a failure, one outside is what it was. */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/trace/guard.h"

static void aborts(void *self) {
    ++*(int *)self;
    fprintf(stderr, "this is not to be seen\n");
    abort();
}

static void returns(void *self) {
    ++*(int *)self;
}

static void an_abort_is_a_failure(void **state) {
    (void)state;
    int calls = 0;
    FILE *was = stderr;
    for (int i = 0; i < 3; i++) {
        assert_false(stn_guard(aborts, &calls));
        assert_true(stn_guard(returns, &calls));
        assert_ptr_equal(stderr, was);
    }
    assert_int_equal(calls, 6);
}

static void outside_it_aborts(void **state) {
    (void)state;
    int calls = 0;
    assert_false(stn_guard(aborts, &calls));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        freopen("/dev/null", "w", stderr);
        abort();
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abort_is_a_failure),
        cmocka_unit_test(outside_it_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
