/** @file
 *  Who runs where: for traces whose events do not say in which thread they happened (LTTng
 *  without contexts, perf), told from sched_switch; names of threads from switches, wake-ups,
 *  forks and state dumps; the name of a nameless system-call exit from the thread's open call.
 *  Pinned by tests/unit/test_read_ctf.c. */
#ifndef STN_KERNEL_TRACE_READ_THREAD_H
#define STN_KERNEL_TRACE_READ_THREAD_H

#include <standin/trace.h>

#include "core/base/map.h"

/** String ids of the fields that are looked at. */
typedef struct stn_thread_names {
    uint32_t pid, comm, prev_pid, prev_comm, next_pid, next_comm, child_pid, child_comm;
    uint32_t filename, tid, name;
} stn_thread_names;

typedef struct stn_running {
    int32_t tid;        /**< STN_NO_TID: not known */
    uint32_t idle_comm; /**< name of this CPU's idle thread, STN_NO_ID */
} stn_running;

/** Zero-initialise, stn_threads_init(), then use. */
typedef struct stn_threads {
    stn_catalog *catalog;
    stn_map comms;        /**< tid -> string id + 1 */
    stn_map calls;        /**< tid -> string id of the open call + 1, 0 none */
    stn_map exits;        /**< string id of a call -> type of its exit */
    unsigned char *roles; /**< [role_count] by type; what an event tells */
    size_t role_count;
    size_t role_capacity;
    stn_running *running; /**< [cpu_count] */
    size_t cpu_count;
    size_t cpu_capacity;
    stn_thread_names names;
} stn_threads;

/** @return STN_OK, STN_ENOMEM */
stn_status stn_threads_init(stn_threads *threads, stn_catalog *catalog, stn_err *err) STN_MUST_USE;
/** Fill in what @p event does not say (tid STN_NO_TID, comm STN_NO_ID, type sys_exit) and learn
 *  from what it does. @return STN_OK, STN_ENOMEM */
stn_status stn_threads_apply(stn_threads *threads, stn_event *event, stn_err *err) STN_MUST_USE;
/** Events were lost on @p cpu (STN_NO_CPU: on all): who runs there is not known any more. */
void stn_threads_forget(stn_threads *threads, uint16_t cpu);
void stn_threads_fini(stn_threads *threads);

#endif
