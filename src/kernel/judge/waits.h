/** @file
 *  Durations between two events that belong together: system calls, run-queue waits, block
 *  I/O. What was open when events were lost is forgotten.
 *  Pinned by tests/unit/test_judge_waits.c. */
#ifndef STN_KERNEL_JUDGE_WAITS_H
#define STN_KERNEL_JUDGE_WAITS_H

#include "kernel/judge/samples.h"

/** Zero-initialise. Values in nanoseconds. */
typedef struct stn_waits {
    /** [STN_WAIT_SYSCALL] is labelled with the string id of the system call,
     *  the others with 0 */
    stn_samples of[STN_WAIT_COUNT];
} stn_waits;

/** Collect from @p traces [count].
 *  - system call: sys_enter_X to the next sys_exit_X of the thread, if no other entry or exit
 *    of the thread lies between;
 *  - run queue: last sched_wakeup or sched_wakeup_new (sched_waking where a trace has neither)
 *    of a thread that is switched out, to its switch-in;
 *  - block: block_rq_issue to block_rq_complete of the device and sector, the last issue if it
 *    was issued again.
 *  @return STN_OK; STN_ENOMEM (waits is good for fini) */
stn_status stn_waits_collect(stn_waits *waits, const stn_trace *const *traces, size_t count,
                             const stn_catalog *catalog, stn_err *err) STN_MUST_USE;
void stn_waits_fini(stn_waits *waits);

#endif
