/** @file
 *  How events follow each other in time: inter-event times, rate, burstiness, runs of one
 *  thread. Pinned by tests/unit/test_judge_pace.c. */
#ifndef STN_KERNEL_JUDGE_PACE_H
#define STN_KERNEL_JUDGE_PACE_H

#include "kernel/judge/samples.h"
#include "kernel/judge/view.h"

#define STN_PACE_BINS 3u /**< 1, 10, 100 ms */

typedef struct stn_pace {
    double rate;                /**< events per second of all runs together; 0 if no time passes */
    double fano[STN_PACE_BINS]; /**< of counts in whole bins of 1, 10, 100 ms; NAN if too short */
    double run_length;          /**< mean events of one thread in a row */
} stn_pace;

/** @param traces [count]  Marks are no events; bins in which events were lost count as seen. */
void stn_pace_measure(stn_pace *pace, const stn_trace *const *traces, size_t count);

/** Time since the event before, in ns, labelled with the symbol of the later event; not over
 *  the edge of a segment. A step back in time counts as 0.
 *  @param[out] samples  zero-initialised by the caller  @return STN_OK, STN_ENOMEM */
stn_status stn_pace_steps(stn_samples *samples, const stn_trace *const *traces, size_t count,
                          const stn_alphabet *alphabet, stn_err *err) STN_MUST_USE;

#endif
