/* Named sets of tracepoints. All of them together are what is needed to check every
 * built-in rule; "sys_enter" and "sys_exit" of raw_syscalls stand for all system calls. */
#include "kernel/trace/record.h"

static const char *const sched[] = {
    "sched:sched_switch",       "sched:sched_waking",       "sched:sched_wakeup",
    "sched:sched_wakeup_new",   "sched:sched_migrate_task", "sched:sched_process_fork",
    "sched:sched_process_exec", "sched:sched_process_exit", "sched:sched_process_free",
    "sched:sched_process_wait", "task:task_rename",         "task:task_newtask",
    "signal:signal_generate",   "signal:signal_deliver",    NULL};

static const char *const syscalls[] = {"raw_syscalls:sys_enter", "raw_syscalls:sys_exit",
                                       "exceptions:page_fault_user", NULL};

static const char *const irq[] = {"irq:irq_handler_entry",
                                  "irq:irq_handler_exit",
                                  "irq:softirq_raise",
                                  "irq:softirq_entry",
                                  "irq:softirq_exit",
                                  "irq_vectors:local_timer_entry",
                                  "irq_vectors:local_timer_exit",
                                  "irq_vectors:reschedule_entry",
                                  "irq_vectors:reschedule_exit",
                                  "irq_vectors:call_function_single_entry",
                                  "irq_vectors:call_function_single_exit",
                                  "irq_vectors:call_function_entry",
                                  "irq_vectors:call_function_exit",
                                  NULL};

static const char *const timer[] = {"timer:hrtimer_start",
                                    "timer:hrtimer_cancel",
                                    "timer:hrtimer_expire_entry",
                                    "timer:hrtimer_expire_exit",
                                    "timer:timer_start",
                                    "timer:timer_cancel",
                                    "timer:timer_expire_entry",
                                    "timer:timer_expire_exit",
                                    "timer:tick_stop",
                                    "power:cpu_idle",
                                    "workqueue:workqueue_queue_work",
                                    "workqueue:workqueue_activate_work",
                                    "workqueue:workqueue_execute_start",
                                    "workqueue:workqueue_execute_end",
                                    NULL};

static const char *const block[] = {"block:block_bio_queue",
                                    "block:block_rq_insert",
                                    "block:block_rq_issue",
                                    "block:block_rq_complete",
                                    "writeback:writeback_start",
                                    "writeback:writeback_written",
                                    "writeback:writeback_single_inode",
                                    "jbd2:jbd2_start_commit",
                                    "jbd2:jbd2_end_commit",
                                    "ext4:ext4_sync_file_enter",
                                    "ext4:ext4_sync_file_exit",
                                    NULL};

static const char *const net[] = {"net:net_dev_queue", "net:netif_receive_skb",    "napi:napi_poll",
                                  "skb:kfree_skb",     "sock:inet_sock_set_state", NULL};

static const stn_event_set sets[] = {
    {"sched", "switches, wake-ups, processes, signals", sched},
    {"syscalls", "entry and exit of every system call, page faults", syscalls},
    {"irq", "interrupts, softirqs, messages between CPUs", irq},
    {"timer", "timers, the tick, idling, work queues", timer},
    {"block", "block devices, writeback, journal", block},
    {"net", "network packets and sockets", net},
};

const stn_event_set *stn_event_set_at(uint32_t index) {
    return index < sizeof sets / sizeof *sets ? &sets[index] : NULL;
}
