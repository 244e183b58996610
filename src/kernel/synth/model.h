/** @file
 *  A trained generator from the inside: what all kinds share, and what a kind adds.
 *
 *  A kind proposes the two channels, type (with its CPU) and time of the next event, from the
 *  world; attributes, rules and everything else are shared. To add a kind, fill one
 *  ::stn_generator_kind and name it in the table of model.c. Pinned by
 * tests/unit/test_synth_model.c. */
#ifndef STN_KERNEL_SYNTH_MODEL_H
#define STN_KERNEL_SYNTH_MODEL_H

#include <standin/synth.h>

#include "kernel/synth/attr.h"
#include "kernel/synth/walk.h"

typedef struct stn_generator_kind {
    const char *name;
    uint32_t walks; /**< times that training walks through the runs, for the progress */
    /** Learn @p state from @p runs; vocabulary, domains and attributes are there. */
    stn_status (*train)(stn_model *model, stn_runs *runs, const stn_train_options *options,
                        stn_train_stats *stats, stn_err *err);
    void (*put)(const stn_model *model, stn_blob *blob);
    stn_status (*get)(stn_model *model, stn_cursor *cursor);
    void (*free)(stn_model *model);
    /** Set type, CPU and time (not before world->now_ns) of @p draft. @p attempt counts
     *  the refusals so far, @p refused [cpu_count][(type_count + 63) / 64] holds them: bit
     *  sets of types to be kept clear of. */
    void (*propose)(const stn_model *model, stn_world *world, stn_rng *rng, uint32_t attempt,
                    const uint64_t *refused, stn_draft *draft);
} stn_generator_kind;

struct stn_model {
    const stn_generator_kind *kind;
    stn_catalog *catalog; /**< borrowed */
    stn_vocab vocab;
    stn_domains domains;
    stn_attr attr;
    stn_rules *rules;
    double rate; /**< events a second */
    void *state; /**< the kind's own */
};

extern const stn_generator_kind stn_markov_kind;

/** Kind called @p name, or NULL. */
const stn_generator_kind *stn_generator_kind_find(const char *name, size_t size);

/** The bytes of a model file. @return STN_OK, STN_ENOMEM */
stn_status stn_model_bytes(const stn_model *model, stn_blob *blob, stn_err *err) STN_MUST_USE;
/** Read a model from the bytes of a file; messages do not name the file.
 *  @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_model_parse(stn_model **out, const uint8_t *bytes, size_t size, stn_catalog *catalog,
                           stn_err *err) STN_MUST_USE;

#endif
