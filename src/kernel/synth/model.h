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

/** What a kind is asked: what comes next on a CPU? */
typedef struct stn_ask {
    uint16_t cpu;
    uint32_t attempt;        /**< refusals since the CPU's last event */
    uint64_t elapsed_ns;     /**< since the moment that its next event hangs on */
    double speed;            /**< the trace's time runs so much faster than the model's here, until
                                  the next event */
    const uint64_t *refused; /**< [(type_count + 63) / 64] bit set of types to be kept clear of */
    const uint64_t *driven;  /**< bit set of types that come by themselves: taken as nothing */
    const float *weights;    /**< [type_count] 0 < w <= 1: how readily a type is to be taken, lower
                                  for those that came too often of late */
} stn_ask;

/** Nothing comes until then: ask again. */
#define STN_ANSWER_WAIT UINT32_MAX

typedef struct stn_answer {
    uint32_t type;    /**< dense, or STN_ANSWER_WAIT */
    uint64_t step_ns; /**< since that moment, in the model's time */
} stn_answer;

typedef struct stn_generator_kind {
    const char *name;
    bool network; /**< learns one step by step: budget, steps, context, channels, workloads, resume
                       of the options are for it */
    uint32_t walks; /**< times that training walks through the runs, for the progress */
    /** Learn @p state from @p runs; vocabulary, domains and attributes are there. */
    stn_status (*train)(stn_model *model, stn_runs *runs, const stn_train_options *options,
                        stn_train_stats *stats, stn_err *err);
    void (*put)(const stn_model *model, stn_blob *blob);
    stn_status (*get)(stn_model *model, stn_cursor *cursor);
    void (*free)(stn_model *model);
    /** Set up what one generated trace needs; with end(), may be NULL. */
    stn_status (*begin)(const stn_model *model, const stn_generate_options *options, void **run,
                        stn_err *err);
    void (*end)(void *run);
    /** Something happened by which @p cpu hangs on another moment, and nothing will be asked
     *  about it yet; may be NULL. */
    void (*see)(void *run, const stn_world *world, uint16_t cpu);
    /** From now on like @p workload, see steer.h; NULL: the kind has no workloads.
     *  @return STN_OK; STN_ERANGE */
    stn_status (*steer)(void *run, const char *workload, double weight, stn_err *err);
    /** Events a second of the training traces that the trace is to be like; NULL: of all. */
    double (*rate)(const stn_model *model, const void *run);
    /** What comes next on one CPU, and when. Asked after each event of the CPU, and when
     *  another one changed who waits there (stn_cpu::trigger_ns is the moment).
     *  @param run  what begin() made, or NULL  @return false if the model has nothing to say */
    bool (*next)(const stn_model *model, void *run, stn_world *world, const stn_ask *ask,
                 stn_rng *rng, stn_answer *answer);
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

extern const stn_generator_kind stn_markov_kind, stn_diffusion_kind;

/** Kind called @p name (NULL: the default). @return STN_OK; STN_ERANGE: there is none */
stn_status stn_generator_kind_named(const stn_generator_kind **out, const char *name,
                                    stn_err *err) STN_MUST_USE;
/** Kind called @p name, or NULL. */
const stn_generator_kind *stn_generator_kind_find(const char *name, size_t size);

/** Events a second over the time that they span, all traces together.
 *  @param[out] events  how many there are */
double stn_traces_rate(const stn_trace *const *traces, size_t count, uint64_t *events);

/** The bytes of a model file. @return STN_OK, STN_ENOMEM */
stn_status stn_model_bytes(const stn_model *model, stn_blob *blob, stn_err *err) STN_MUST_USE;
/** Read a model from the bytes of a file; messages do not name the file.
 *  @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_model_parse(stn_model **out, const uint8_t *bytes, size_t size, stn_catalog *catalog,
                           stn_err *err) STN_MUST_USE;

#endif
