/** @file
 *  The Markov generator: for each CPU, what comes next there and how long after the moment
 *  that it hangs on, together, by the deepest context that training met often enough.
 *
 *  The moment is the CPU's last event, or a later one by which another CPU changed who waits
 *  here. Then the case is begun anew, so some cases of training end without an event: they say
 *  that nothing came for so long, and are drawn like the others. Without them the times on a
 *  CPU that is often disturbed would come out too short (Kaplan and Meier 1958).
 *  Pinned by tests/unit/test_synth_markov.c. */
#ifndef STN_KERNEL_SYNTH_MARKOV_H
#define STN_KERNEL_SYNTH_MARKOV_H

#include "kernel/synth/context.h"
#include "kernel/synth/model.h"

typedef struct stn_markov {
    stn_pool pool; /**< values: type << 16 | step symbol */
    uint32_t order;
} stn_markov;

/** A type that is none: nothing came. */
#define STN_MARKOV_WAIT 0xffffu

static inline uint32_t stn_markov_value(uint32_t type, uint64_t step_ns) {
    return type << 16 | stn_step_symbol(step_ns);
}

/** P(type of the next event on @p cpu), an estimate that leaves something for every type.
 *  @param[out] p  [STN_ORDER_MAX] for contexts of at most 1, 2, … events */
void stn_markov_probability(const stn_pool *pool, const stn_rungs *rungs, uint32_t type,
                            uint32_t types, double *p);

/** Learn order and cases into @p markov, which is zeroed; it is the caller's, also on error.
 *  See stn_generator_kind::train. */
stn_status stn_markov_train(stn_markov *markov, stn_model *model, stn_runs *runs,
                            const stn_train_options *options, stn_train_stats *stats,
                            stn_err *err) STN_MUST_USE;
/** See stn_generator_kind::next. */
bool stn_markov_next(const stn_markov *markov, const stn_world *world, const stn_ask *ask,
                     stn_rng *rng, stn_answer *answer);
void stn_markov_put(const stn_markov *markov, stn_blob *blob);
/** @p markov is zeroed; it is the caller's, also on error. @return STN_OK, STN_EFORMAT, STN_ENOMEM
 */
stn_status stn_markov_get(stn_markov *markov, stn_cursor *cursor, uint32_t types) STN_MUST_USE;

#endif
