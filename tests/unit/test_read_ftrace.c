/* ftrace and trace-cmd report text: anchors, payloads, losses, bad lines. */
#include "read_events.h"

typedef struct row {
    const char *line;
    const char *want;
} row;

static void check_rows(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        shown out;
        stn_status status = show_text(&out, rows[i].line, "ftrace");
        assert_string_equal(out.err.text, "");
        assert_int_equal(status, STN_END);
        assert_string_equal(out.text, rows[i].want);
    }
}

static void anchors(void **state) {
    static const row rows[] = {
        {"            bash-23996   [001] ..... 1.000228648: x: a=1\n",
         "1000228648 1 23996 bash x a=1\n"},
        {"  <idle>-0  [000] 12.000001: x: \n", "12000001000 0 0 <idle> x\n"},
        {"   <...>-7  [003] d..2.  0.5: x: a=1", "500000000 3 7 - x a=1\n"},
        {"  Web Content-12-7 [002] .... 3.000001: x: a=1", "3000001000 2 7 Web Content-12 x a=1\n"},
        {"  a [1] b-9  (  44) [000] .... 3.000001: x: a=1", "3000001000 0 9 a [1] b x a=1\n"},
        {"  sh-9  (-----) [000] .... 3.000001: x: a=1", "3000001000 0 9 sh x a=1\n"},
        {"  kworker/0:1-9 [000] 3000001: x: a=1", "3000001 0 9 kworker/0:1 x a=1\n"},
        {"trace-cm-6973    2d..4. 25.106949: x: a=1", "25106949000 2 6973 trace-cm x a=1\n"},
        {"  sh-9     0d..2   10us+: x: a=1", "10000 0 9 sh x a=1\n"},
        {"inst:           bash-9     [000]     1.000002: x: a=1\r\n",
         "1000002000 0 9 bash x a=1\n"},
        {"  sh-9 [000] .... 1.0: sched:sched_switch: prev_pid=9 next_pid=0",
         "1000000000 0 9 sh sched_switch(sched:sched_switch) prev_pid=9 next_pid=0\n"},
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

#define AT "a-1 [000] .... 1.000000: "
#define EV "1000000000 0 1 a "
#define LINE(event, payload, want)                                                                 \
    { AT event ": " payload, EV event want "\n" }

static void pairs(void **state) {
    static const row rows[] = {
        LINE("sched_switch",
             "prev_comm=trace cmd prev_pid=6973 prev_prio=120 prev_state=R+ ==> next_comm=x=y "
             "next_pid=0 next_prio=120",
             " prev_comm=\"trace cmd\" prev_pid=6973 prev_prio=120 prev_state=256 "
             "next_comm=\"x=y\" next_pid=0 next_prio=120"),
        LINE("sched_wakeup", "comm=123 pid=1 prio=120 target_cpu=003",
             " comm=\"123\" pid=1 prio=120 target_cpu=3"),
        LINE("softirq_entry", "vec=4 [action=BLOCK]", " vec=4"),
        LINE("softirq_raise", "vec=BLOCK", " vec=4"),
        LINE("irq_handler_exit", "irq=36 ret=handled", " irq=36 ret=1"),
        LINE("irq_handler_exit", "irq=36 ret=unhandled", " irq=36 ret=0"),
        LINE("cpu_idle", "state=-1", " state=4294967295u"),
        LINE("cpu_idle", "state=4294967295 cpu_id=0", " state=4294967295 cpu_id=0"),
        LINE("block_rq_issue", "dev=254,0 sector=354161664 nr=784 rwbs=DS",
             " dev=266338304u sector=354161664 nr_sector=784 rwbs=\"DS\""),
        LINE("page_fault_user", "err=6", " error_code=6"),
        LINE("sched_stat_runtime", "comm=a pid=1 runtime=239769 [ns]",
             " comm=\"a\" pid=1 runtime=239769"),
        LINE("x", "a=0x1f b=18446744073709551615 c=-5 d=007 e= f=ffff888100000000",
             " a=0x1f b=18446744073709551615u c=-5 d=\"007\" e=\"\" f=0xffff888100000000"),
        LINE("x", "mode=1, flags=2", " mode=1 flags=2"),
        LINE("x", "before a=1", " text=\"before\" a=1"),
        LINE("workqueue_queue_work",
             "work struct=0000000012345678 function=f workqueue=events req_cpu=8192 cpu=1",
             " work=0x12345678 function=\"f\" workqueue=\"events\" req_cpu=8192 cpu=1"),
        LINE("workqueue_execute_start", "work struct 0x12: function f",
             " work=0x12 function=\"f\""),
        LINE("napi_poll", "napi poll on napi struct 0x12 for device eth0 work 1 budget 64",
             " napi=0x12 dev_name=\"eth0\" work=1 budget=64"),
        LINE("sched_process_fork", "comm=a pid=1 child_comm=b child_pid=2",
             " parent_comm=\"a\" parent_pid=1 child_comm=\"b\" child_pid=2"),
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

static void other_forms(void **state) {
    static const row rows[] = {
        LINE("sched_switch", "trace-cmd:6973 [120] D|W ==> swapper/2:0 [120]",
             " prev_comm=\"trace-cmd\" prev_pid=6973 prev_prio=120 prev_state=1026 "
             "next_comm=\"swapper/2\" next_pid=0 next_prio=120"),
        LINE("sched_wakeup", "a:b:79 [120] success=1 CPU:001",
             " comm=\"a:b\" pid=79 prio=120 success=1 target_cpu=1"),
        LINE("sched_waking", "sh:79 [120]<CPU:003>", " comm=\"sh\" pid=79 prio=120 target_cpu=3"),
        LINE("block_rq_issue", "8,0 WS 4096 () 1234 + 8 [fio]",
             " dev=8388608u sector=1234 nr_sector=8 bytes=4096 rwbs=\"WS\" comm=\"fio\""),
        LINE("block_rq_issue", "8,0 WS 4096 (cmd) 1234 + 8 none,0,0 [kworker/0:1]",
             " dev=8388608u sector=1234 nr_sector=8 bytes=4096 rwbs=\"WS\" cmd=\"cmd\" "
             "ioprio=\"none,0,0\" comm=\"kworker/0:1\""),
        LINE("block_rq_complete", "8,0 R () 1234 + 8 [-5]",
             " dev=8388608u sector=1234 nr_sector=8 rwbs=\"R\" error=-5"),
        LINE("block_bio_queue", "8,0 WS 1234 + 8 [7]",
             " dev=8388608u sector=1234 nr_sector=8 rwbs=\"WS\" comm=\"7\""),
        LINE("block_bio_remap", "8,0 R 1234 + 8 <- (8,1) 34",
             " dev=8388608u sector=1234 nr_sector=8 rwbs=\"R\" old_dev=8388609u old_sector=34"),
        LINE("sys_enter_read", "fd: 0x00000003, buf: 0x7ffe12, count: 0x00000400",
             " fd=0x3 buf=0x7ffe12 count=0x400"),
        LINE("sys_exit_read", "0xfffffffffffffff2", " ret=-14"),
        LINE("sys_enter_read", "fd=3 count=-1", " fd=3 count=-1"),
        LINE("tracing_mark_write", "B|123|a=1 b", " text=\"B|123|a=1 b\""),
        LINE("console", "any text = all", " text=\"any text = all\""),
        LINE("ext4_x", "dev 8,1 ino 12", " text=\"dev 8,1 ino 12\""),
        {AT "sys_enter: NR 0 (7, 55d0, ffffffffffffffff)",
         EV "sys_enter_read(sys_enter) id=0 args=[7 21968 18446744073709551615]u\n"},
        {AT "raw_syscalls:sys_exit: NR 0 = -11",
         EV "sys_exit_read(raw_syscalls:sys_exit) id=0 ret=-11\n"},
        {AT "sys_enter: NR -1 (0)", EV "sys_enter id=-1 args=[0]u\n"},
        {AT "sys_read(fd: 3, buf: 7ffe, count: ff)",
         EV "sys_enter_read fd=0x3 buf=0x7ffe count=0xff\n"},
        {AT "sys_openat(dfd: 1, filename: 7f \"/etc/a, b\", flags: 0)",
         EV "sys_enter_openat dfd=0x1 filename=\"7f \"/etc/a\" text=\"b\", flags: 0\"\n"},
        {AT "sys_read -> 0x10", EV "sys_exit_read ret=16\n"},
        {AT "schedule <-do_syscall", EV "function text=\"schedule <-do_syscall\"\n"},
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

static void losses_are_marks(void **state) {
    static const char text[] = "# tracer: nop\n"
                               "# entries-in-buffer/entries-written: 205/1000   #P:4\n"
                               "version = 6\ncpus=2\n"
                               "a-1 [001] .... 1.000000: x: \n"
                               "CPU:1 [LOST 23 EVENTS]\n"
                               "a-1 [000] .... 2.000000: x: \n"
                               "CPU:0 [EVENTS DROPPED]\n"
                               "buf: CPU:0 [7 EVENTS DROPPED]\n"
                               "a-1 [001] .... 3.000000: x: \n";
    static const char want[] = "1000000000 - - - lost_events count=795u begin_ns=0u\n"
                               "1000000000 1 1 a x\n"
                               "2000000000 1 - - lost_events count=23u begin_ns=1000000000u\n"
                               "2000000000 0 1 a x\n"
                               "3000000000 0 - - lost_events count=0u begin_ns=2000000000u\n"
                               "3000000000 0 - - lost_events count=7u begin_ns=2000000000u\n"
                               "3000000000 1 1 a x\n";
    shown out;
    (void)state;
    assert_int_equal(show_text(&out, text, NULL), STN_END);
    assert_string_equal(out.text, want);
    assert_int_equal(out.meta.event_count, 3);
    assert_int_equal(out.meta.lost_count, 795 + 23 + 7);
    assert_int_equal(out.meta.lost_marks, 4);
    assert_int_equal(out.meta.cpu_count, 4);
    assert_string_equal(out.meta.format, "ftrace");
}

static void a_loss_at_the_end_is_told(void **state) {
    shown out;
    (void)state;
    assert_int_equal(show_text(&out, AT "x: \nCPU:0 [LOST 3 EVENTS]\n", NULL), STN_END);
    assert_string_equal(out.text,
                        EV "x\n"
                           "1000000000 0 - - lost_events count=3u begin_ns=1000000000u\n");
}

static void bad_lines_are_named(void **state) {
    static const char *const bad[] = {
        "hello",
        "a-1 [000] .... : x: ",
        "a-1 [99999] .... 1.0: x: ",
        "a-99999999999 [000] .... 1.0: x: ",
        "a [000] .... 1.0: x: ",
        "a-1 [000] .... 1.00022",
        "a-1 [000] .... 99999999999999999999.0: x: ",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[256];
        shown out;
        snprintf(text, sizeof text, AT "x: \n%s\n", bad[i]);
        assert_int_equal(show_text(&out, text, NULL), STN_EFORMAT);
        assert_non_null(strstr(out.err.text, "line 2: no event of the form"));
        assert_string_equal(out.text, EV "x\n");
    }
}

static void other_files_are_refused(void **state) {
    static const char *const texts[] = {"", "hello world\n", "{\"a\": 1}\n", "a,b,c\n1,2,3\n",
                                        "line one\nline two with [brackets] 1.0: x\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        shown out;
        assert_int_equal(show_text(&out, texts[i], NULL), STN_EFORMAT);
        assert_string_equal(out.text, "");
    }
}

static void an_empty_trace_is_a_trace(void **state) {
    shown out;
    (void)state;
    assert_int_equal(show_text(&out, "# tracer: nop\n#\n", NULL), STN_END);
    assert_int_equal(out.meta.event_count, 0);
}

static void a_giant_line_is_an_error(void **state) {
    const size_t size = (size_t)3 << 20;
    char *text = malloc(size);
    char path[64];
    shown out;
    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, AT "x: a=", strlen(AT "x: a="));
    put_file(path, text, size);
    assert_int_equal(show_trace(&out, path, NULL), STN_EFORMAT);
    assert_non_null(strstr(out.err.text, "line 1: longer than"));
    unlink(path);
    free(text);
}

static void out_of_memory_is_clean(void **state) {
    static const char text[] =
        "CPU:0 [LOST 3 EVENTS]\n" AT "sys_enter: NR 0 (7, 55d0)\n" AT "sys_exit: NR 0 = 1\n" AT
        "sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b next_pid=2\n";
    char path[64];
    (void)state;
    put_file(path, text, sizeof text - 1);
    fail_each_allocation(path, "ftrace", 400);
    unlink(path);
}

static void recordings_are_whole(void **state) {
    static const char *const names[] = {"build.run1", "fio_randrw.run2", "scimark.run3",
                                        "untar.run1", "redis.run2",      "hackbench.run1"};
    char folder[4096];
    (void)state;
    if (!shared_folder(folder, "data/kernel")) {
        skip();
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[4300];
        char command[4400];
        stn_trace_meta meta;
        stn_err err = {{0}};
        uint64_t backwards;
        snprintf(path, sizeof path, "%s/%s.txt.zst", folder, names[i]);
        snprintf(command, sizeof command, "zstd -dcq '%s'", path);
        assert_int_equal(count_trace(path, NULL, &meta, &backwards, &err), STN_END);
        long long lines = count_lines(command, "#");
        if (lines >= 0) {
            assert_int_equal(meta.event_count, lines);
        }
        assert_int_equal(backwards, 0);
        assert_int_equal(meta.cpu_count, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anchors),
        cmocka_unit_test(pairs),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(losses_are_marks),
        cmocka_unit_test(a_loss_at_the_end_is_told),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(an_empty_trace_is_a_trace),
        cmocka_unit_test(a_giant_line_is_an_error),
        cmocka_unit_test(out_of_memory_is_clean),
        cmocka_unit_test(recordings_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
