/** @file
 *  Progress and interruption of an evaluation. */
#ifndef STN_KERNEL_JUDGE_WORK_H
#define STN_KERNEL_JUDGE_WORK_H

#include <standin/base.h>

/** What is done of what; shared by all steps of one evaluation. */
typedef struct stn_work {
    stn_progress_fn progress; /**< NULL: nobody asks */
    void *user;
    uint64_t done, total;
} stn_work;

/** How many items a loop handles between two questions. */
#define STN_WORK_STRIDE ((size_t)1 << 16)

/** Report, ask. @return STN_OK; STN_EINTR if the work is to stop */
static inline stn_status stn_work_poll(const stn_work *work, stn_err *err) {
    if (work && work->progress && !work->progress(work->user, work->done, work->total)) {
        return stn_err_set(err, STN_EINTR, "stopped");
    }
    return STN_OK;
}

#endif
