/** @file
 *  One name for one thing: LTTng, perf and ftrace names of event types and fields mapped to
 *  the canonical ones (those of ftrace), and back for writers. The tables are in canon.c;
 *  docs/formats/events.md is their page. Pinned by tests/unit/test_canon.c.
 *
 *  Canonical values are the kernel's integers (prev_state bits, softirq vec, dev), whatever
 *  text a format shows for them:
 *  sched_switch: prev_comm prev_pid prev_prio prev_state next_comm next_pid next_prio;
 *  prev_state is an integer of bits: 0 R, 1 S, 2 D, 4 T, 8 t, 16 X, 32 Z, 64 P, 128 I, 256 R+;
 *  sched_waking/wakeup/wakeup_new: comm pid prio target_cpu; sched_migrate_task: comm pid prio
 *  orig_cpu dest_cpu; sched_process_fork: parent_comm parent_pid child_comm child_pid;
 *  softirq_*: vec (0 HI 1 TIMER 2 NET_TX 3 NET_RX 4 BLOCK 5 IRQ_POLL 6 TASKLET 7 SCHED 8 HRTIMER
 *  9 RCU); irq_handler_entry: irq name; irq_handler_exit: irq ret; block_*: dev (major << 20 |
 *  minor) sector nr_sector rwbs bytes comm error; sys_enter_NAME: its arguments; sys_exit_NAME:
 * ret. */
#ifndef STN_KERNEL_TRACE_CANON_H
#define STN_KERNEL_TRACE_CANON_H

#include <standin/trace.h>

/** Canonical name of an event type called @p original by a tracer (any of the known ones).
 *  @param buffer scratch for names that are put together  @return @p original itself if unknown */
const char *stn_canon_event(const char *original, char *buffer, size_t size);
/** Canonical name of the field @p field of the (canonical) event @p event. */
const char *stn_canon_field(const char *event, const char *field);
/** LTTng's name of a canonical event type, for writers. */
const char *stn_lttng_event(const char *canonical, char *buffer, size_t size);
/** LTTng's name of a canonical field. */
const char *stn_lttng_field(const char *event, const char *field);

/** System call number to name and back, x86-64. @return NULL / -1 if unknown */
const char *stn_syscall_name(int64_t number);
int64_t stn_syscall_number(const char *name);

/** "S", "R+", "D|K" … to state bits; -1 if it is none. */
int64_t stn_task_state_parse(const char *text, size_t size);
/** State bits to the letters that the kernel prints. */
const char *stn_task_state_text(int64_t state, char *buffer, size_t size);
/** LTTng's priorities of threads count from the first that is not real-time, the kernel's from 0:
 *  add this to LTTng's. */
#define STN_LTTNG_PRIO_BASE 100
/** Is @p field of the canonical event @p event such a priority? */
bool stn_canon_is_prio(const char *event, const char *field);

/** "BLOCK" to 4; -1 if it is none. And back; NULL if out of range. */
int64_t stn_softirq_parse(const char *text, size_t size);
const char *stn_softirq_text(int64_t vec);

/** LTTng's integer of a block request's operation (1 W, 2 D, 4 R, 8 A, 32 S, 64 M, flushes
 *  256, 512, 1024) to the letters that ftrace prints ("WS"); and back, -1 if a letter is none of
 * them.
 *  @p buffer at least 16 bytes. */
const char *stn_rwbs_text(int64_t bits, char *buffer, size_t size);
int64_t stn_rwbs_parse(const char *text, size_t size);

/** Canonical value of sched_switch's prev_state as kernels before 4.14 keep it: @p limit is
 *  their TASK_STATE_MAX, the bit of "R+" (1024, 2048 …). Letters that later kernels have given
 *  up keep bits of their own: 512 K, 1024 W, 2048 N. */
int64_t stn_task_state_old(int64_t state, int64_t limit);
/** TASK_STATE_MAX of the kernel whose uname release is @p release ("4.4.0-116-generic"); 0 if it
 *  is 4.14 or later, or no release. */
int64_t stn_task_state_limit(const char *release);

#endif
