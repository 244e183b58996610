/** @file
 *  The kind "markov": which CPU, which type and how long after, each from variable-order
 *  contexts. The type is drawn from one of three views (trace, CPU, stack), chosen by weights
 *  that expectation maximisation found on the held-back end of the runs: a mixture of experts
 *  of which only one has to be asked. Pinned by tests/unit/test_synth_markov.c. */
#ifndef STN_KERNEL_SYNTH_MARKOV_H
#define STN_KERNEL_SYNTH_MARKOV_H

#include "kernel/synth/context.h"
#include "kernel/synth/model.h"

enum { STN_RANK_CLASSES = 2 /**< the CPU of the event before, or another */ };

typedef struct stn_markov {
    stn_chain rank, type, step;
    uint32_t order;
    double weights[STN_RANK_CLASSES][STN_VIEWS];
} stn_markov;

/** P(type of the next event), summed over CPUs. */
double stn_markov_probability(const stn_markov *markov, const stn_world *world, uint32_t type);

/** Learn order, weights and tables; see stn_generator_kind::train. */
stn_status stn_markov_train(stn_model *model, stn_runs *runs, const stn_train_options *options,
                            stn_train_stats *stats, stn_err *err) STN_MUST_USE;

#endif
