/* Names and values of events in one dialect: ftrace's. Three tables, one row per event that
 * another tracer calls differently, per field, per system call; prefixes for whole families.
 * Nothing here is on a hot path: readers look a name up once and keep the answer. */
#include "kernel/trace/canon.h"

#include <stdio.h>
#include <string.h>

#include "kernel/trace/syscalls_x86_64.h"

/* ---- events ---------------------------------------------------------- */

typedef struct event_row {
    const char *name;  /* canonical */
    const char *lttng; /* LTTng 2.6 and later; what writers use */
    const char *older; /* one more name, or NULL */
} event_row;

static const event_row event_rows[] = {
    {"softirq_entry", "irq_softirq_entry", NULL},
    {"softirq_exit", "irq_softirq_exit", NULL},
    {"softirq_raise", "irq_softirq_raise", NULL},
    {"tasklet_entry", "irq_tasklet_entry", NULL},
    {"tasklet_exit", "irq_tasklet_exit", NULL},
    {"hrtimer_init", "timer_hrtimer_init", NULL},
    {"hrtimer_setup", "timer_hrtimer_setup", NULL},
    {"hrtimer_start", "timer_hrtimer_start", NULL},
    {"hrtimer_cancel", "timer_hrtimer_cancel", NULL},
    {"hrtimer_expire_entry", "timer_hrtimer_expire_entry", NULL},
    {"hrtimer_expire_exit", "timer_hrtimer_expire_exit", NULL},
    {"itimer_state", "timer_itimer_state", NULL},
    {"itimer_expire", "timer_itimer_expire", NULL},
    {"cpu_idle", "power_cpu_idle", NULL},
    {"cpu_frequency", "power_cpu_frequency", NULL},
    {"machine_suspend", "power_machine_suspend", NULL},
    {"suspend_resume", "power_suspend_resume", NULL},
    {"wakeup_source_activate", "power_wakeup_source_activate", NULL},
    {"wakeup_source_deactivate", "power_wakeup_source_deactivate", NULL},
    {"clock_enable", "power_clock_enable", NULL},
    {"clock_disable", "power_clock_disable", NULL},
    {"clock_set_rate", "power_clock_set_rate", NULL},
    {"power_domain_target", "power_domain_target", NULL},
    {"netif_receive_skb", "net_if_receive_skb", NULL},
    {"netif_rx", "net_if_rx", NULL},
    {"netif_rx_ni_entry", "net_if_rx_ni_entry", NULL},
    {"netif_rx_entry", "net_if_rx_entry", NULL},
    {"netif_receive_skb_entry", "net_if_receive_skb_entry", NULL},
    {"netif_receive_skb_list_entry", "net_if_receive_skb_list_entry", NULL},
    {"napi_gro_frags_entry", "net_napi_gro_frags_entry", NULL},
    {"napi_gro_receive_entry", "net_napi_gro_receive_entry", NULL},
    {"kmalloc", "kmem_kmalloc", NULL},
    {"kmalloc_node", "kmem_kmalloc_node", NULL},
    {"kfree", "kmem_kfree", NULL},
    {"kmem_cache_alloc", "kmem_cache_alloc", NULL},
    {"kmem_cache_free", "kmem_cache_free", NULL},
    {"mm_page_alloc", "kmem_mm_page_alloc", NULL},
    {"mm_page_free", "kmem_mm_page_free", NULL},
    {"mm_page_free_batched", "kmem_mm_page_free_batched", NULL},
    {"mm_page_alloc_zone_locked", "kmem_mm_page_alloc_zone_locked", NULL},
    {"mm_page_pcpu_drain", "kmem_mm_page_pcpu_drain", NULL},
    {"mm_page_alloc_extfrag", "kmem_mm_page_alloc_extfrag", NULL},
    {"mm_compaction_isolate_freepages", "compaction_isolate_freepages", NULL},
    {"mm_compaction_isolate_migratepages", "compaction_isolate_migratepages", NULL},
    {"mm_compaction_migratepages", "compaction_migratepages", NULL},
    {"kfree_skb", "skb_kfree", NULL},
    {"consume_skb", "skb_consume", NULL},
    {"console", "printk_console", NULL},
    {"mix_pool_bytes", "random_mix_pool_bytes", NULL},
    {"mix_pool_bytes_nolock", "random_mix_pool_bytes_nolock", NULL},
    {"credit_entropy_bits", "random_credit_entropy_bits", NULL},
    {"get_random_bytes", "random_get_random_bytes", NULL},
    {"extract_entropy", "random_extract_entropy", NULL},
    {"extract_entropy_user", "random_extract_entropy_user", NULL},
    {"page_fault_user", "x86_exceptions_page_fault_user", "exceptions_page_fault_user"},
    {"page_fault_kernel", "x86_exceptions_page_fault_kernel", "exceptions_page_fault_kernel"},
    {"sys_enter", "syscall_entry", "sys_enter"},
    {"sys_exit", "exit_syscall", "sys_exit"},
};

/* A prefix of LTTng's and what stands for it; applied when no row fits. */
typedef struct prefix_row {
    const char *lttng;
    const char *canonical;
} prefix_row;

static const prefix_row prefix_rows[] = {
    {"syscall_entry_", "sys_enter_"},
    {"syscall_exit_", "sys_exit_"},
    {"compat_syscall_entry_", "sys_enter_"},
    {"compat_syscall_exit_", "sys_exit_"},
    {"compat_sys_", "sys_enter_"},
    {"x86_irq_vectors_", ""},
    {"kvm_x86_", "kvm_"},
};

/* Interrupt vectors of x86 that have an _entry and an _exit. */
static const char *const irq_vectors[] = {
    "local_timer",    "spurious_apic",       "error_apic",    "x86_platform_ipi",
    "irq_work",       "reschedule",          "call_function", "call_function_single",
    "threshold_apic", "deferred_error_apic", "thermal_apic",
};

/* Groups of the kernel's tracepoints, as perf and trace-cmd put them before the name. A group
 * that is not here (user-space providers) is part of the name. */
static const char *const groups[] = {
    "alarmtimer",
    "asoc",
    "block",
    "bpf_trace",
    "bridge",
    "btrfs",
    "cgroup",
    "clk",
    "compaction",
    "context_tracking",
    "cpuhp",
    "dma_fence",
    "drm",
    "error_report",
    "exceptions",
    "ext3",
    "ext4",
    "f2fs",
    "fib",
    "fib6",
    "filelock",
    "filemap",
    "fs_dax",
    "ftrace",
    "gpio",
    "huge_memory",
    "hwmon",
    "i2c",
    "icmp",
    "initcall",
    "intel_iommu",
    "io_uring",
    "iocost",
    "iomap",
    "iommu",
    "ipi",
    "irq",
    "irq_matrix",
    "irq_vectors",
    "jbd",
    "jbd2",
    "kmem",
    "kprobes",
    "ksm",
    "kvm",
    "kvmmmu",
    "kyber",
    "libata",
    "lock",
    "maple_tree",
    "mce",
    "mdio",
    "migrate",
    "mmap",
    "mmap_lock",
    "mmc",
    "module",
    "mptcp",
    "msr",
    "napi",
    "neigh",
    "net",
    "netlink",
    "nfs",
    "nfs4",
    "nfsd",
    "nmi",
    "notifier",
    "nvme",
    "oom",
    "osnoise",
    "page_isolation",
    "page_pool",
    "page_ref",
    "pagemap",
    "percpu",
    "power",
    "preemptirq",
    "printk",
    "probe",
    "pwm",
    "qdisc",
    "random",
    "ras",
    "raw_syscalls",
    "rcu",
    "regmap",
    "regulator",
    "resctrl",
    "rpm",
    "rseq",
    "rtc",
    "sched",
    "scsi",
    "signal",
    "skb",
    "smbus",
    "sock",
    "spi",
    "sunrpc",
    "swiotlb",
    "sync_trace",
    "syscalls",
    "task",
    "tcp",
    "thermal",
    "thp",
    "timer",
    "timer_migration",
    "tlb",
    "udp",
    "vmalloc",
    "vmscan",
    "vsock",
    "vsyscall",
    "wbt",
    "workqueue",
    "writeback",
    "x86_fpu",
    "xdp",
    "xen",
    "xfs",
    "xhci-hcd",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *after_prefix(const char *text, const char *prefix) {
    size_t size = strlen(prefix);
    return strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

static const char *after_group(const char *name) {
    const char *colon = strchr(name, ':');
    if (!colon || colon == name || !colon[1]) {
        return name;
    }
    size_t size = (size_t)(colon - name);
    for (size_t i = 0; i < COUNT(groups); i++) {
        if (strlen(groups[i]) == size && memcmp(groups[i], name, size) == 0) {
            return colon + 1;
        }
    }
    return name;
}

static const char *joined(const char *a, const char *b, char *buffer, size_t size) {
    snprintf(buffer, size, "%s%s", a, b);
    return buffer;
}

/* LTTng before 2.6: sys_read is the entry of read; its exits carry no name. What begins like
 * ftrace's names of entries and exits is such an entry if that is a system call's whole name:
 * exit_group is one, and there is none called group. @return what is entered, or NULL */
static const char *old_entry(const char *name) {
    const char *rest = after_prefix(name, "sys_");
    if (!rest || !*rest) {
        return NULL;
    }
    bool enters = after_prefix(rest, "enter") != NULL;
    bool exits = strcmp(rest, "exit") == 0 || after_prefix(rest, "exit_");
    return (!enters && !exits) || (rest[4] && stn_syscall_number(rest) >= 0) ? rest : NULL;
}

const char *stn_canon_event(const char *original, char *buffer, size_t size) {
    const char *name = after_group(original);
    for (size_t i = 0; i < COUNT(event_rows); i++) {
        const event_row *row = &event_rows[i];
        if (strcmp(name, row->lttng) == 0 || (row->older && strcmp(name, row->older) == 0)) {
            return row->name;
        }
    }
    for (size_t i = 0; i < COUNT(prefix_rows); i++) {
        const char *rest = after_prefix(name, prefix_rows[i].lttng);
        if (rest && *rest) {
            return joined(prefix_rows[i].canonical, rest, buffer, size);
        }
    }
    const char *rest = old_entry(name);
    if (rest) {
        return joined("sys_enter_", rest, buffer, size);
    }
    return name;
}

static bool is_irq_vector(const char *name) {
    for (size_t i = 0; i < COUNT(irq_vectors); i++) {
        const char *rest = after_prefix(name, irq_vectors[i]);
        if (rest && (strcmp(rest, "_entry") == 0 || strcmp(rest, "_exit") == 0)) {
            return true;
        }
    }
    return false;
}

const char *stn_lttng_event(const char *canonical, char *buffer, size_t size) {
    const char *rest = after_prefix(canonical, "sys_enter_");
    if (rest) {
        return joined("syscall_entry_", rest, buffer, size);
    }
    rest = after_prefix(canonical, "sys_exit_");
    if (rest) {
        return joined("syscall_exit_", rest, buffer, size);
    }
    for (size_t i = 0; i < COUNT(event_rows); i++) {
        if (strcmp(canonical, event_rows[i].name) == 0) {
            return event_rows[i].lttng;
        }
    }
    if (is_irq_vector(canonical)) {
        return joined("x86_irq_vectors_", canonical, buffer, size);
    }
    return canonical;
}

/* ---- fields ---------------------------------------------------------- */

typedef enum field_dialect { LTTNG, TEXT } field_dialect;

/* A field that a tracer calls differently. The event is a prefix of the canonical name when
 * it ends in '*'. TEXT rows are abbreviations of recorders that write text. */
typedef struct field_row {
    const char *event;
    const char *other;
    const char *name;
    field_dialect dialect;
} field_row;

static const field_row field_rows[] = {
    {"sched_switch", "prev_tid", "prev_pid", LTTNG},
    {"sched_switch", "next_tid", "next_pid", LTTNG},
    {"sched_process_fork", "parent_tid", "parent_pid", LTTNG},
    {"sched_process_fork", "child_tid", "child_pid", LTTNG},
    {"sched_process_fork", "comm", "parent_comm", TEXT},
    {"sched_process_fork", "pid", "parent_pid", TEXT},
    {"sched_process_fork", "comm", "parent_comm", TEXT},
    {"sched_process_fork", "pid", "parent_pid", TEXT},
    {"sched_process_exec", "tid", "pid", LTTNG},
    {"sched_process_exec", "old_tid", "old_pid", LTTNG},
    {"sched_process_exec", "file", "filename", TEXT},
    {"sched_*", "tid", "pid", LTTNG},
    {"block_*", "errors", "error", LTTNG},
    {"block_*", "err", "error", TEXT},
    {"block_*", "nr", "nr_sector", TEXT},
    {"page_fault_*", "err", "error_code", TEXT},
    {"hrtimer_*", "t", "hrtimer", TEXT},
    {"hrtimer_*", "fn", "function", TEXT},
    {"timer_*", "t", "timer", TEXT},
    {"timer_*", "fn", "function", TEXT},
    {"workqueue_*", "w", "work", TEXT},
    {"workqueue_*", "fn", "function", TEXT},
    {"workqueue_*", "wq", "workqueue", TEXT},
    {"signal_*", "res", "result", TEXT},
    {"signal_*", "grp", "group", TEXT},
    {"tick_stop", "ok", "success", TEXT},
    {"tick_stop", "dep", "dependency", TEXT},
    {"inet_sock_set_state", "sk", "skaddr", TEXT},
    {"inet_sock_set_state", "old", "oldstate", TEXT},
    {"inet_sock_set_state", "new", "newstate", TEXT},
    {"napi_poll", "dev", "dev_name", TEXT},
    {"net_dev_*", "dev", "name", TEXT},
    {"netif_*", "dev", "name", TEXT},
    {"task_newtask", "flags", "clone_flags", TEXT},
    {"writeback_start", "nr", "nr_pages", TEXT},
    {"writeback_written", "nr", "nr_pages", TEXT},
};

static bool event_fits(const field_row *row, const char *event) {
    size_t size = strlen(row->event);
    if (row->event[size - 1] == '*') {
        return strncmp(row->event, event, size - 1) == 0;
    }
    return strcmp(row->event, event) == 0;
}

const char *stn_canon_field(const char *event, const char *field) {
    for (size_t i = 0; i < COUNT(field_rows); i++) {
        if (strcmp(field_rows[i].other, field) == 0 && event_fits(&field_rows[i], event)) {
            return field_rows[i].name;
        }
    }
    return field;
}

const char *stn_lttng_field(const char *event, const char *field) {
    if (strcmp(event, "sched_process_fork") == 0) {
        /* Here LTTng means the thread group by pid; the readers call that tgid. */
        if (strcmp(field, "parent_tgid") == 0) {
            return "parent_pid";
        }
        if (strcmp(field, "child_tgid") == 0) {
            return "child_pid";
        }
    }
    for (size_t i = 0; i < COUNT(field_rows); i++) {
        const field_row *row = &field_rows[i];
        if (row->dialect == LTTNG && strcmp(row->name, field) == 0 && event_fits(row, event) &&
            strcmp(row->other, "errors") != 0) {
            return row->other;
        }
    }
    return field;
}

/* ---- system calls ---------------------------------------------------- */

typedef struct syscall_row {
    int32_t number;
    const char *name;
    const char *alias;
} syscall_row;

#define SYSCALL_ROW(number, name, alias) {number, name, alias},
static const syscall_row syscall_rows[] = {STN_SYSCALLS_X86_64(SYSCALL_ROW)};

const char *stn_syscall_name(int64_t number) {
    size_t low = 0;
    size_t high = COUNT(syscall_rows);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (syscall_rows[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < COUNT(syscall_rows) && syscall_rows[low].number == number;
    return found ? syscall_rows[low].name : NULL;
}

int64_t stn_syscall_number(const char *name) {
    for (size_t i = 0; i < COUNT(syscall_rows); i++) {
        const syscall_row *row = &syscall_rows[i];
        if (strcmp(row->name, name) == 0 || (*row->alias && strcmp(row->alias, name) == 0)) {
            return row->number;
        }
    }
    return -1;
}

/* ---- values ---------------------------------------------------------- */

typedef struct bit_row {
    int64_t bit;
    char letter;
} bit_row;

static const bit_row state_rows[] = {
    {1, 'S'},  {2, 'D'},   {4, 'T'},   {8, 't'},    {16, 'X'},   {32, 'Z'},
    {64, 'P'}, {128, 'I'}, {512, 'K'}, {1024, 'W'}, {2048, 'N'},
};
#define STATE_PREEMPTED 256

static int64_t state_bit(char letter) {
    if (letter == 'x') {
        return 16;
    }
    for (size_t i = 0; i < COUNT(state_rows); i++) {
        if (state_rows[i].letter == letter) {
            return state_rows[i].bit;
        }
    }
    return letter == 'R' ? 0 : -1;
}

int64_t stn_task_state_parse(const char *text, size_t size) {
    int64_t state = 0;
    if (size > 0 && text[size - 1] == '+') {
        state = STATE_PREEMPTED;
        size--;
    }
    if (size == 0 || size % 2 == 0) {
        return -1;
    }
    for (size_t i = 0; i < size; i++) {
        int64_t bit = i % 2 == 0 ? state_bit(text[i]) : 0;
        if (bit < 0 || (i % 2 == 1 && text[i] != '|')) {
            return -1;
        }
        state |= bit;
    }
    return state;
}

bool stn_canon_is_prio(const char *event, const char *field) {
    static const char *const prios[] = {"prio", "prev_prio", "next_prio", "oldprio", "newprio"};
    for (size_t i = 0; i < COUNT(prios); i++) {
        if (strcmp(prios[i], field) == 0) {
            return strncmp(event, "sched_", 6) == 0;
        }
    }
    return false;
}

const char *stn_task_state_text(int64_t state, char *buffer, size_t size) {
    char text[40];
    size_t used = 0;
    for (size_t i = 0; i < COUNT(state_rows); i++) {
        if (state & state_rows[i].bit) {
            if (used) {
                text[used++] = '|';
            }
            text[used++] = state_rows[i].letter;
        }
    }
    if (used == 0) {
        text[used++] = 'R';
    }
    if (state & STATE_PREEMPTED) {
        text[used++] = '+';
    }
    text[used] = '\0';
    snprintf(buffer, size, "%s", text);
    return buffer;
}

int64_t stn_task_state_old(int64_t state, int64_t limit) {
    /* Bits 0..5 stayed; then x 64, K 128, W 256, P 512, N 1024, as far as they are below limit.
     * Tasks that are both (TASK_UNINTERRUPTIBLE | TASK_NOLOAD) came with 4.2 and print "D". */
    int64_t canonical = state & 63;
    static const int64_t moved[][2] = {{64, 16},  {128, 512}, {256, 1024},
                                       {512, 64}, {1024, 0},  {2048, 2048}};
    for (size_t i = 0; i < COUNT(moved); i++) {
        if (moved[i][0] < limit && (state & moved[i][0])) {
            canonical |= moved[i][1];
        }
    }
    return state & limit ? canonical | STATE_PREEMPTED : canonical;
}

int64_t stn_task_state_limit(const char *release) {
    /* The states that came with a release doubled the limit: P, NOLOAD, NEW. */
    static const struct {
        int version;
        int64_t limit;
    } rows[] = {{408, 4096}, {402, 2048}, {309, 1024}, {0, 512}};
    int major;
    int minor;
    if (sscanf(release, "%d.%d", &major, &minor) != 2 || major < 2 || minor < 0 || minor > 99 ||
        major * 100 + minor >= 414) {
        return 0;
    }
    size_t i = 0;
    while (major * 100 + minor < rows[i].version) {
        i++;
    }
    return rows[i].limit;
}

static const char *const softirqs[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                       "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

int64_t stn_softirq_parse(const char *text, size_t size) {
    for (size_t i = 0; i < COUNT(softirqs); i++) {
        if (strlen(softirqs[i]) == size && memcmp(softirqs[i], text, size) == 0) {
            return (int64_t)i;
        }
    }
    /* Its name before Linux 4.5. */
    return size == 12 && memcmp(text, "BLOCK_IOPOLL", 12) == 0 ? 5 : -1;
}

const char *stn_softirq_text(int64_t vec) {
    return vec >= 0 && vec < (int64_t)COUNT(softirqs) ? softirqs[vec] : NULL;
}

/* Bits of LTTng's rwbs in the order in which the kernel prints the letters: flush before,
 * operation, then the modifiers, of which 'F' is forced unit access. */
static const bit_row rwbs_rows[] = {
    {1024, 'F'}, {1, 'W'}, {2, 'D'},  {4, 'R'},  {256, 'F'}, {128, 'E'},
    {512, 'F'},  {8, 'A'}, {32, 'S'}, {64, 'M'}, {16, 'B'},
};
#define RWBS_OPERATIONS (1 | 2 | 4 | 256)

const char *stn_rwbs_text(int64_t bits, char *buffer, size_t size) {
    char text[16];
    size_t used = 0;
    if ((bits & (RWBS_OPERATIONS | 1024)) == 0) {
        text[used++] = 'N';
    }
    for (size_t i = 0; i < COUNT(rwbs_rows); i++) {
        if (bits & rwbs_rows[i].bit) {
            text[used++] = rwbs_rows[i].letter;
        }
    }
    text[used] = '\0';
    snprintf(buffer, size, "%s", text);
    return buffer;
}

/* Which of its three meanings an 'F' has. */
static int64_t rwbs_flush(const char *text, size_t size, size_t at) {
    if (at == 0 && size > 1 && strchr("WDRF", text[1])) {
        return 1024;
    }
    if (at + 1 < size && text[at + 1] == 'F') {
        return 256;
    }
    return at == 0 || (at == 1 && text[0] == 'F') ? 256 : 512;
}

int64_t stn_rwbs_parse(const char *text, size_t size) {
    int64_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        int64_t bit = text[i] == 'N' ? 0 : -1;
        for (size_t r = 0; r < COUNT(rwbs_rows) && bit < 0; r++) {
            bit = rwbs_rows[r].letter == text[i] ? rwbs_rows[r].bit : -1;
        }
        if (bit < 0) {
            return -1;
        }
        bits |= text[i] == 'F' ? rwbs_flush(text, size, i) : bit;
    }
    return size ? bits : -1;
}
