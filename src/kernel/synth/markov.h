/** @file
 *  The kind "markov": which CPU, which type and how long after, each from variable-order
 *  contexts. The type is drawn from one of three views (trace, CPU, stack), chosen by weights
 *  that expectation maximisation found on the held-back end of the runs: a mixture of experts
 *  of which only one has to be asked. Pinned by tests/unit/test_synth_markov.c. */
#ifndef STN_KERNEL_SYNTH_MARKOV_H
#define STN_KERNEL_SYNTH_MARKOV_H

#include "kernel/synth/context.h"
#include "kernel/synth/model.h"

enum {
    STN_MATCHES = 3, /**< how far back a view knows the past: little, some, all */
    /** Kinds of moments that the views are weighed in: is the event on the CPU of the one
     *  before (2), and how well each view knows its past. */
    STN_MOMENTS = 2 * STN_MATCHES * STN_MATCHES * STN_MATCHES,
};

typedef struct stn_markov {
    stn_chain rank, type, step;
    stn_chain place; /**< which types were seen at all, by what is open */
    uint64_t *seen;  /**< [place.node_slots][seen_words] bit sets of types, made from place */
    uint32_t seen_words;
    uint32_t order;
    double weights[STN_MOMENTS][STN_VIEWS];
} stn_markov;

/** The ladders of all views for the next event on @p cpu. @return the moment */
uint32_t stn_markov_views(const stn_markov *markov, const stn_world *world, uint16_t cpu,
                          uint16_t rank, uint32_t order, stn_rungs views[STN_VIEWS]);
/** Make the bit sets. @return STN_OK, STN_ENOMEM */
stn_status stn_markov_index(stn_markov *markov, uint32_t types) STN_MUST_USE;
/** P(type of the next event), summed over CPUs. */
double stn_markov_probability(const stn_markov *markov, const stn_world *world, uint32_t type);

/** Learn order, weights and tables; see stn_generator_kind::train. */
stn_status stn_markov_train(stn_model *model, stn_runs *runs, const stn_train_options *options,
                            stn_train_stats *stats, stn_err *err) STN_MUST_USE;

#endif
