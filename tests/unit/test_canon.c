/* Names and values of other tracers, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kernel/trace/canon.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void event_names(void **state) {
    static const char *const rows[][2] = {
        {"sched_switch", "sched_switch"},
        {"sched:sched_switch", "sched_switch"},
        {"syscall_entry_read", "sys_enter_read"},
        {"syscall_exit_newfstat", "sys_exit_newfstat"},
        {"compat_syscall_entry_read", "sys_enter_read"},
        {"compat_syscall_exit_read", "sys_exit_read"},
        {"sys_read", "sys_enter_read"},
        {"compat_sys_open", "sys_enter_open"},
        {"exit_syscall", "sys_exit"},
        {"raw_syscalls:sys_enter", "sys_enter"},
        {"sys_enter", "sys_enter"},
        {"sys_exit", "sys_exit"},
        {"sys_exit_group", "sys_enter_exit_group"},
        {"sys_exit_exit_group", "sys_exit_exit_group"},
        {"sys_enter_exit_group", "sys_enter_exit_group"},
        {"sys_exit_exit", "sys_exit_exit"},
        {"sys_enter_exit", "sys_enter_exit"},
        {"compat_sys_exit_group", "sys_enter_exit_group"},
        {"sys_", "sys_"},
        {"sys_enter_read", "sys_enter_read"},
        {"syscalls:sys_enter_read", "sys_enter_read"},
        {"irq_softirq_raise", "softirq_raise"},
        {"softirq_raise", "softirq_raise"},
        {"irq_handler_entry", "irq_handler_entry"},
        {"timer_hrtimer_expire_entry", "hrtimer_expire_entry"},
        {"timer_start", "timer_start"},
        {"power_cpu_idle", "cpu_idle"},
        {"net_if_receive_skb", "netif_receive_skb"},
        {"kmem_mm_page_alloc", "mm_page_alloc"},
        {"x86_irq_vectors_local_timer_entry", "local_timer_entry"},
        {"x86_exceptions_page_fault_user", "page_fault_user"},
        {"skb_kfree", "kfree_skb"},
        {"kvm_x86_exit", "kvm_exit"},
        {"my_provider:event", "my_provider:event"},
        {"sched:", "sched:"},
        {":x", ":x"},
        {"", ""},
    };
    char buffer[128];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(stn_canon_event(rows[i][0], buffer, sizeof buffer), rows[i][1]);
    }
}

static void long_names_are_cut(void **state) {
    char buffer[16];
    (void)state;
    const char *name = stn_canon_event("syscall_entry_clock_nanosleep", buffer, sizeof buffer);
    assert_string_equal(name, "sys_enter_clock");
}

static void lttng_names_come_back(void **state) {
    static const char *const names[] = {"sys_enter_read",
                                        "sys_exit_read",
                                        "softirq_entry",
                                        "hrtimer_start",
                                        "cpu_idle",
                                        "mm_page_free",
                                        "local_timer_exit",
                                        "page_fault_kernel",
                                        "sched_switch",
                                        "consume_skb",
                                        "call_function_single_entry"};
    char lttng[128];
    char back[128];
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *other = stn_lttng_event(names[i], lttng, sizeof lttng);
        assert_string_equal(stn_canon_event(other, back, sizeof back), names[i]);
    }
    assert_string_equal(stn_lttng_event("local_timer_exit", lttng, sizeof lttng),
                        "x86_irq_vectors_local_timer_exit");
}

static void field_names(void **state) {
    static const char *const rows[][3] = {
        {"sched_switch", "prev_tid", "prev_pid"},
        {"sched_switch", "next_tid", "next_pid"},
        {"sched_wakeup", "tid", "pid"},
        {"sched_process_fork", "child_tid", "child_pid"},
        {"sched_process_exec", "old_tid", "old_pid"},
        {"sched_process_exec", "file", "filename"},
        {"block_rq_complete", "errors", "error"},
        {"block_rq_issue", "nr", "nr_sector"},
        {"block_rq_issue", "tid", "tid"},
        {"page_fault_user", "err", "error_code"},
        {"hrtimer_start", "t", "hrtimer"},
        {"timer_start", "t", "timer"},
        {"sys_enter_tgkill", "tid", "tid"},
        {"net_dev_queue", "dev", "name"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(stn_canon_field(rows[i][0], rows[i][1]), rows[i][2]);
    }
    assert_string_equal(stn_lttng_field("sched_switch", "prev_pid"), "prev_tid");
    assert_string_equal(stn_lttng_field("sched_wakeup", "pid"), "tid");
    assert_string_equal(stn_lttng_field("sched_process_fork", "child_pid"), "child_tid");
    assert_string_equal(stn_lttng_field("sched_process_fork", "child_tgid"), "child_pid");
    assert_string_equal(stn_lttng_field("block_rq_issue", "nr_sector"), "nr_sector");
    assert_string_equal(stn_lttng_field("signal_generate", "pid"), "pid");
}

static void system_calls(void **state) {
    (void)state;
    assert_string_equal(stn_syscall_name(0), "read");
    assert_string_equal(stn_syscall_name(4), "newstat");
    assert_string_equal(stn_syscall_name(435), "clone3");
    assert_null(stn_syscall_name(-1));
    assert_null(stn_syscall_name(400));
    assert_null(stn_syscall_name(100000));
    assert_int_equal(stn_syscall_number("stat"), 4);
    assert_int_equal(stn_syscall_number("newstat"), 4);
    assert_int_equal(stn_syscall_number("no_such_call"), -1);
    for (int64_t number = 0; number < 500; number++) {
        const char *name = stn_syscall_name(number);
        assert_true(!name || stn_syscall_number(name) == number);
    }
}

static void task_states(void **state) {
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {{"R", 0},    {"S", 1},   {"D", 2},     {"T", 4},     {"t", 8},
                {"X", 16},   {"Z", 32},  {"P", 64},    {"I", 128},   {"R+", 256},
                {"D+", 258}, {"S|D", 3}, {"D|K", 514}, {"D|W", 1026}};
    char buffer[40];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(stn_task_state_parse(rows[i].text, strlen(rows[i].text)), rows[i].value);
        assert_string_equal(stn_task_state_text(rows[i].value, buffer, sizeof buffer),
                            rows[i].text);
    }
    static const char *const none[] = {"", "+", "Q", "S|", "SD", "|S", "0"};
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_int_equal(stn_task_state_parse(none[i], strlen(none[i])), -1);
    }
    assert_int_equal(stn_task_state_parse("x", 1), 16);
}

static void task_states_of_old_kernels(void **state) {
    (void)state;
    assert_int_equal(stn_task_state_old(0, 1024), 0);
    assert_int_equal(stn_task_state_old(1024, 1024), 256);
    assert_int_equal(stn_task_state_old(2048 | 1, 2048), 257);
    assert_int_equal(stn_task_state_old(64, 1024), 16);
    assert_int_equal(stn_task_state_old(130, 1024), 514);
    assert_int_equal(stn_task_state_old(1, 4096), 1);
    assert_int_equal(stn_task_state_limit("2.6.39"), 512);
    assert_int_equal(stn_task_state_limit("3.10.31-ltsi"), 1024);
    assert_int_equal(stn_task_state_limit("4.4.0-116-generic"), 2048);
    assert_int_equal(stn_task_state_limit("4.13.0"), 4096);
    assert_int_equal(stn_task_state_limit("4.14.1"), 0);
    assert_int_equal(stn_task_state_limit("6.18"), 0);
    assert_int_equal(stn_task_state_limit(""), 0);
}

static void softirqs(void **state) {
    (void)state;
    for (int64_t vec = 0; vec < 10; vec++) {
        const char *name = stn_softirq_text(vec);
        assert_int_equal(stn_softirq_parse(name, strlen(name)), vec);
    }
    assert_int_equal(stn_softirq_parse("BLOCK", 5), 4);
    assert_int_equal(stn_softirq_parse("BLOCKS", 6), -1);
    assert_null(stn_softirq_text(10));
    assert_null(stn_softirq_text(-1));
}

static void block_operations(void **state) {
    static const struct {
        const char *text;
        int64_t bits;
    } rows[] = {{"W", 1},
                {"WS", 33},
                {"R", 4},
                {"RA", 12},
                {"D", 2},
                {"F", 256},
                {"FWFSM", 1024 | 1 | 512 | 32 | 64},
                {"N", 0},
                {"FF", 1024 | 256},
                {"DE", 130},
                {"WFS", 1 | 512 | 32}};
    char buffer[16];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(stn_rwbs_parse(rows[i].text, strlen(rows[i].text)), rows[i].bits);
        assert_string_equal(stn_rwbs_text(rows[i].bits, buffer, sizeof buffer), rows[i].text);
    }
    assert_int_equal(stn_rwbs_parse("Wx", 2), -1);
    assert_int_equal(stn_rwbs_parse("", 0), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_names),      cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(field_names),      cmocka_unit_test(lttng_names_come_back),
        cmocka_unit_test(system_calls),     cmocka_unit_test(task_states),
        cmocka_unit_test(softirqs),         cmocka_unit_test(task_states_of_old_kernels),
        cmocka_unit_test(block_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
