/* ftrace text to the letter: the kernel's own layouts, and what other parsers anchor on. */
#include "fixture.h"

#include <regex.h>

/* Lines of the output without the header; line i of @p wanted. */
static void expect_lines(fixture *fx, const char *const *wanted, size_t count) {
    const char *path = fx_path(fx, "out.txt");
    fx_write(fx, path, "ftrace");
    char *text = fx_content(path), *at = text;
    assert_memory_equal(text, "# tracer: nop\n", 14);
    while (*at == '#') {
        at = strchr(at, '\n') + 1;
    }
    for (size_t i = 0; i < count; i++) {
        char *end = strchr(at, '\n');
        assert_non_null(end);
        *end = '\0';
        assert_string_equal(at, wanted[i]);
        at = end + 1;
    }
    assert_string_equal(at, "");
    free(text);
}

#define EXPECT(fx, ...)                                                                            \
    expect_lines(fx, (const char *const[]){__VA_ARGS__},                                           \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void test_kernel_layouts(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    EXPECT(
        fx,
        "            bash-42      [000] ..... 1.000000100: sys_enter_read: fd=3 "
        "buf=0x7ffdc0de1234 count=4096",
        "            bash-42      [000] ..... 1.000000200: sched_switch: prev_comm=bash "
        "prev_pid=42 "
        "prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120",
        "   kworker/1:1 H-7       [001] ..... 1.000000300: sched_waking: comm=bash pid=42 prio=120 "
        "target_cpu=000",
        "       swapper/0-0       [000] ..... 1.000000400: irq_handler_entry: irq=36 "
        "name=virtio1-req.0",
        "       swapper/0-0       [000] ..... 1.000000500: softirq_raise: vec=4 [action=BLOCK]",
        "       swapper/0-0       [000] ..... 1.000000600: irq_handler_exit: irq=36 ret=handled",
        "       swapper/0-0       [000] ..... 1.000000700: softirq_entry: vec=4 [action=BLOCK]",
        "       swapper/0-0       [000] ..... 1.000000800: block_rq_complete: 8,1 WS () 2048 + 8 "
        "[0]",
        "       swapper/0-0       [000] ..... 1.000000900: softirq_exit: vec=4 [action=BLOCK]",
        "       swapper/0-0       [000] ..... 1.000001000: sched_switch: prev_comm=swapper/0 "
        "prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=bash next_pid=42 next_prio=120 "
        "synth=6492",
        "            bash-42      [000] ..... 1.000001100: sys_exit_read: ret=-11",
        "   kworker/1:1 H-7       [001] ..... 1.000001200: sys_enter_futex: op=128");
}

static void test_block_layouts(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1000000000, 0, 9, "fio", "block_rq_issue", NULL, FX_UINT("dev", 254 << 20),
           FX_UINT("sector", 99), FX_UINT("nr_sector", 8), FX_STR("rwbs", "R"));
    FX_ADD(fx, 1000000001, 0, 9, "fio", "block_bio_queue", NULL, FX_UINT("dev", 254 << 20),
           FX_UINT("sector", 99), FX_UINT("nr_sector", 8), FX_STR("rwbs", "R"),
           FX_STR("comm", "fio"));
    FX_ADD(fx, 1000000002, 0, 9, "fio", "block_rq_issue", NULL, FX_UINT("dev", 254 << 20),
           FX_UINT("sector", 99), FX_UINT("nr_sector", 8), FX_STR("rwbs", "R"), FX_INT("new", 1));
    EXPECT(fx,
           "             fio-9       [000] ..... 1.000000000: block_rq_issue: 254,0 R 4096 () 99 + "
           "8 [fio]",
           "             fio-9       [000] ..... 1.000000001: block_bio_queue: 254,0 R 99 + 8 "
           "[fio]",
           "             fio-9       [000] ..... 1.000000002: block_rq_issue: dev=266338304 "
           "sector=99 nr_sector=8 rwbs=R new=1");
}

/* A state, a vector, a result that the kernel's words cannot say stay numbers. */
static void test_values_outside_the_layouts(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1000000000, 0, 9, "a", "softirq_entry", NULL, FX_INT("vec", 77));
    FX_ADD(fx, 1000000001, 0, 9, "a", "irq_handler_exit", NULL, FX_INT("irq", 1), FX_INT("ret", 2));
    FX_ADD(fx, 1000000002, 0, 9, "a", "sched_switch", NULL, FX_INT("prev_pid", 9),
           FX_INT("prev_state", 1 << 20), FX_INT("next_pid", 8));
    EXPECT(fx, "               a-9       [000] ..... 1.000000000: softirq_entry: vec=77",
           "               a-9       [000] ..... 1.000000001: irq_handler_exit: irq=1 ret=2",
           "               a-9       [000] ..... 1.000000002: sched_switch: prev_comm=a prev_pid=9 "
           "prev_prio=120 prev_state=1048576 ==> next_comm=<...> next_pid=8 next_prio=120");
}

static void test_unknown_places_and_losses(void **state) {
    fixture *fx = *state;
    fx_add(fx, 2000000000, STN_NO_CPU, STN_NO_TID, NULL, "odd", NULL, NULL, 0);
    fx_add(fx, 2000000001, 200, 4194304, "a-long-name-of-20-by", "odd", NULL, NULL, 0);
    fx_add(fx, 2000000002, 1, 0, NULL, "odd", NULL, NULL, 0);
    fx_add(fx, 2000000003, 1, 5, "new\nline", "odd", NULL, NULL, 0);
    fx_add_loss(fx, 2500000000, 1, 23, 2000000003);
    fx_add_loss(fx, 2500000001, STN_NO_CPU, 0, 2000000003);
    EXPECT(fx, "           <...>-0       [\?\?\?] ..... 2.000000000: odd:",
           "a-long-name-of-20-by-4194304 [200] ..... 2.000000001: odd:",
           "          <idle>-0       [001] ..... 2.000000002: odd:",
           "        new?line-5       [001] ..... 2.000000003: odd:",
           "CPU:1 [LOST 23 EVENTS] 2.000000003..2.500000000",
           "CPU:? [LOST EVENTS] 2.000000003..2.500000001");
}

/* The pattern by which Perfetto's systrace importer takes a line apart. */
static void test_perfetto_pattern(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    const char *path = fx_path(fx, "out.txt");
    fx_write(fx, path, "ftrace");
    char *text = fx_content(path);
    regex_t pattern;
    assert_int_equal(regcomp(&pattern,
                             "-([0-9]+)[ ]+\\(?[ ]*([0-9]+|-+)?\\)?[ ]?\\[([0-9]+)\\][ ]*"
                             "[a-zA-Z0-9.]{0,5}[ ]+([0-9]+\\.[0-9]+):[ ]+([^ ]+):",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    size_t lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line != '#') {
            assert_int_equal(regexec(&pattern, line, 0, NULL, 0), 0);
            lines++;
        }
    }
    assert_int_equal(lines, fx->trace.count);
    regfree(&pattern);
    free(text);
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_kernel_layouts),
        ONE(test_block_layouts),
        ONE(test_values_outside_the_layouts),
        ONE(test_unknown_places_and_losses),
        ONE(test_perfetto_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
