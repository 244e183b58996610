/* perf script text. */
#include "read_events.h"

typedef struct row {
    const char *text;
    const char *want;
} row;

static void check_rows(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        shown out;
        stn_status status = show_text(&out, rows[i].text, "perf");
        assert_string_equal(out.err.text, "");
        assert_int_equal(status, STN_END);
        assert_string_equal(out.text, rows[i].want);
    }
}

static void lines(void **state) {
    static const row rows[] = {
        {"            perf 12903 [001]  1840.366508:       sched:sched_switch: prev_comm=perf "
         "prev_pid=12903 prev_prio=120 prev_state=S ==> next_comm=a b next_pid=0 next_prio=120\n",
         "1840366508000 1 12903 perf sched_switch(sched:sched_switch) prev_comm=\"perf\" "
         "prev_pid=12903 prev_prio=120 prev_state=1 next_comm=\"a b\" next_pid=0 next_prio=120\n"},
        {"perf 12900/12903  1840.366508: raw_syscalls:sys_enter: NR 16 (4d, 2400)\n",
         "1840366508000 - 12903 perf sys_enter_ioctl(raw_syscalls:sys_enter) id=16 args=[77 "
         "9216]u\n"},
        {"Web Content 5 [003] 0.000000001:     250000 cycles:u: 55d0 main (/bin/x)\n",
         "1 3 5 Web Content cycles:u period=250000 text=\"55d0 main (/bin/x)\"\n"},
        {":-1    -1 [000]  2.5: irq:softirq_raise: vec=1 [action=TIMER]\n",
         "2500000000 0 - :-1 softirq_raise(irq:softirq_raise) vec=1\n"},
        {"# comment\n\nsh 5 [000] 1.5: syscalls:sys_enter_read: fd: 0x00000003, buf: 0x7f\n"
         "\tffffffff813b972a update_se+0x13a ([kernel.kallsyms])\n"
         "            7f00 main (/bin/sh)\n\n"
         "sh 5 [000] 1.6: x:y: a=1\n",
         "1500000000 0 5 sh sys_enter_read(syscalls:sys_enter_read) fd=0x3 buf=0x7f\n"
         "1600000000 0 5 sh x:y a=1\n"},
        {"sh 5 [000] 1.5: x:y: a=1\nsh 5 [000] 1.7: PERF_RECORD_LOST lost 12\n"
         "sh 5 [000] 1.8: x:y: a=2\n",
         "1500000000 0 5 sh x:y a=1\n"
         "1800000000 0 - - lost_events count=12u begin_ns=1500000000u\n"
         "1800000000 0 5 sh x:y a=2\n"},
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

static void recognised_beside_ftrace(void **state) {
    shown out;
    (void)state;
    assert_int_equal(show_text(&out, "sh 5 [000] 1.5: sched:x: a=1\n", NULL), STN_END);
    assert_string_equal(out.meta.format, "perf");
    assert_int_equal(show_text(&out, "sh-5 [000] 1.5: x: a=1\n", NULL), STN_END);
    assert_string_equal(out.meta.format, "ftrace");
}

static void bad_lines_are_named(void **state) {
    static const char *const bad[] = {"hello", "sh 5 [000] 1.5: noname", "sh [000] 1.5: x:y: a",
                                      "sh 5 [99999] 1.5: x:y: a=1", "5 [000] 1.5: x:y: a=1"};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[256];
        shown out;
        snprintf(text, sizeof text, "sh 5 [000] 1.5: x:y: a=1\n%s\n", bad[i]);
        assert_int_equal(show_text(&out, text, NULL), STN_EFORMAT);
        assert_non_null(strstr(out.err.text, "line 2: "));
    }
}

static void out_of_memory_is_clean(void **state) {
    static const char text[] =
        "sh 5 [000] 1.5: x:y: a=1\nsh 5 [000] 1.7: PERF_RECORD_LOST lost 12\n"
        "sh 5 [000] 1.8: raw_syscalls:sys_enter: NR 16 (4d, 2400)\n";
    char path[64];
    (void)state;
    put_file(path, text, sizeof text - 1);
    fail_each_allocation(path, "perf", 400);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(recognised_beside_ftrace),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(out_of_memory_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
