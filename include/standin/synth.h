/** @file
 *  Generators: learn from traces, write new ones.
 *
 *  A model file (docs/formats/model.md) holds one generator of some kind
 *  ("markov", "diffusion") with its vocabulary, tables and mined rules; everything
 *  in it comes from the training traces alone.
 *  Pinned by tests/unit/test_synth_*.c.
 */
#ifndef STANDIN_SYNTH_H
#define STANDIN_SYNTH_H

#include <standin/rules.h>
#include <standin/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stn_model stn_model;

/** Where training of a network stands. */
typedef struct stn_train_report {
    uint64_t steps;
    uint64_t events; /**< seen so far, repeats included */
    double share;    /**< of the budget that is used, 0 … 1 */
    double seconds;
    double train_loss; /**< nats per event, type and time, running mean */
    double valid_loss; /**< nats per event type on the held-back share, the best so far */
} stn_train_report;

/** Called after each step; return false to stop with ::STN_EINTR after a checkpoint. */
typedef bool (*stn_train_report_fn)(void *user, const stn_train_report *report);

typedef struct stn_train_options {
    const char *kind;   /**< "markov", "diffusion"; NULL: the default kind */
    uint32_t max_order; /**< Markov: highest order tried; 0: 8 */
    double valid_share; /**< share at the end of each run used to choose; <= 0: 0.1 */
    uint64_t seed;
    const stn_rules
        *rules; /**< rules to train the attribute tables with and to store; NULL: built-in */
    /* the rest is for the kind "diffusion" */
    double budget_s;              /**< time to train the network; 0: 600 */
    uint64_t steps;               /**< exactly so many steps instead: repeatable; 0: no */
    uint32_t context;             /**< events of a CPU that it looks back; 0: 512 */
    const char *channels;         /**< "event,dt" …; NULL: all */
    const char *const *workloads; /**< [count] label of each trace; NULL: one for all */
    const char *checkpoint;       /**< file to write now and then; NULL: none */
    bool resume;                  /**< go on from the checkpoint */
    stn_train_report_fn report;   /**< may be NULL */
    void *report_user;
} stn_train_options;

typedef struct stn_train_stats {
    uint64_t events;
    double seconds;
    uint64_t peak_rss_bytes;
    uint64_t parameters; /**< free parameters stored */
    double train_loss;   /**< nats per event type */
    double valid_loss;   /**< nats per event type on the held-back share */
    uint32_t order;      /**< Markov: order chosen */
    double markov_loss;  /**< diffusion: of the Markov tables on the held-back share */
    double step_loss;    /**< diffusion: nats per time step on the held-back share */
    uint64_t steps;      /**< diffusion: of training */
} stn_train_stats;

/** Train on @p traces [count] (borrowed; windows never cross them).
 *  @return STN_OK; STN_ERANGE (a kind or channel that is none), STN_EFORMAT (no events, too
 *  few, too many), STN_ENOMEM, STN_EINTR; of a checkpoint also STN_ENOTFOUND, STN_EIO, STN_EPERM */
stn_status stn_model_train(stn_model **out, const stn_trace *const *traces, size_t count,
                           const stn_train_options *options, stn_train_stats *stats,
                           stn_catalog *catalog, stn_progress_fn progress, void *user,
                           stn_err *err) STN_MUST_USE;

/** Write to @p path (temporary, then renamed). @return STN_OK, STN_EIO, STN_ENOMEM */
stn_status stn_model_save(const stn_model *model, const char *path, stn_err *err) STN_MUST_USE;
/** Read a model; its names are interned in @p catalog.
 *  @return STN_OK; STN_EFORMAT (not a model, wrong version, damaged: hash), STN_EIO, STN_ENOMEM */
stn_status stn_model_load(stn_model **out, const char *path, stn_catalog *catalog,
                          stn_err *err) STN_MUST_USE;
void stn_model_free(stn_model *model);
/** Make the process names, texts and event types of @p trace known, so that generators that
 *  continue it carry them; what was learned stays as it is. Not while one is at work.
 *  @return STN_OK; STN_ERANGE (another catalog), STN_ENOMEM */
stn_status stn_model_meet(stn_model *model, const stn_trace *trace, stn_err *err) STN_MUST_USE;
/** "markov", "diffusion" */
const char *stn_model_kind(const stn_model *model);
/** Rules stored with the model; borrowed from it. */
const stn_rules *stn_model_rules(const stn_model *model);
/** Events a second of the training traces (mean). */
double stn_model_rate(const stn_model *model);

typedef struct stn_generator stn_generator;

/** A plan over time: docs/formats/script.md. */
typedef struct stn_script stn_script;
/** @param name  what to call it in messages
 *  @return STN_OK; STN_EFORMAT ("plan.csv: line 3: …"), STN_ENOMEM */
stn_status stn_script_parse(stn_script **out, const char *text, size_t size, const char *name,
                            stn_err *err) STN_MUST_USE;
/** @return the same; STN_ENOTFOUND, STN_EIO */
stn_status stn_script_load(stn_script **out, const char *path, stn_err *err) STN_MUST_USE;
/** Legal on NULL. */
void stn_script_free(stn_script *script);

/** How many events a second. Zero: as the model has them. */
typedef struct stn_rate {
    double value;
    bool times; /**< value is a multiple of the learned rate */
} stn_rate;

/** "2x", "0.5x"; "800", "20k", "1.5M". @return STN_OK; STN_ERANGE (@p out untouched) */
stn_status stn_rate_parse(const char *text, stn_rate *out, stn_err *err) STN_MUST_USE;

typedef struct stn_generate_options {
    uint64_t seed;
    uint64_t begin_ns; /**< time of the first event; not looked at if there is a prompt */
    const stn_trace
        *prompt; /**< real trace to continue, borrowed for stn_generator_new(); its names are to
                      be made known with stn_model_meet(); NULL: begin like a training run */
    const char *workload;     /**< diffusion: label to generate, or a mixture by share
                                   ("fio:0.7+redis:0.3"); NULL: the only one, or none */
    double label_weight;      /**< diffusion: weight of the label; 0: 1, no more than was learnt */
    stn_rate rate;            /**< that the trace is to have */
    const stn_script *script; /**< changes of these three over time, borrowed for the life of the
                                   generator; NULL: none */
    uint64_t count;           /**< events that will be asked for, */
    uint64_t duration_ns; /**< … or how long the trace is to be, for the rate to come out right by
                               its end; 0: not known */
    bool unguided;        /**< do not let the rules mask: to measure what guidance is worth */
    const stn_rules *preferred; /**< rules that it rather keeps, borrowed; NULL: none */
    double preference;          /**< chance that a proposal against them is turned away; 0: 0.9 */
} stn_generate_options;

typedef struct stn_generate_stats {
    uint64_t events;
    uint64_t rejected;   /**< proposals the rules refused */
    uint64_t violations; /**< violations in what was handed out */
    uint64_t against;    /**< events handed out that break preferred rules */
    double learned_rate; /**< events a second of the training traces it is to be like */
    double wait_speed;   /**< waiting of idle CPUs runs so much faster than learned, */
    double work_speed;   /**< … and everything else but timers so much */
} stn_generate_stats;

/** Begin a trace; @p model is borrowed. Same model, seed, prompt and build: same trace.
 *  @return STN_OK; STN_ERANGE (another catalog; no such workload, or of a kind that has none),
 *  STN_EFORMAT (a prompt without events of the model's types, or with a CPU that it does not have;
 *  a script with such a workload), STN_ENOMEM */
stn_status stn_generator_new(stn_generator **out, const stn_model *model,
                             const stn_generate_options *options, stn_catalog *catalog,
                             stn_err *err) STN_MUST_USE;
/** Next event, lent until the next call; never ends. @return STN_OK, STN_ENOMEM */
stn_status stn_generator_next(stn_generator *generator, stn_event *event,
                              stn_err *err) STN_MUST_USE;
void stn_generator_stats(const stn_generator *generator, stn_generate_stats *stats);
void stn_generator_free(stn_generator *generator);

/* ---- filling in ------------------------------------------------------ */

/** A stretch in which events are missing. */
typedef struct stn_gap {
    uint64_t begin_ns, end_ns; /**< begin <= time < end */
    uint16_t cpu;              /**< STN_NO_CPU: all of them */
    uint64_t lost;             /**< events that were lost; 0: not known, as many as usual */
    bool replace;              /**< what stands in it is taken out */
    uint64_t replaced, made;   /**< set by stn_infill() */
} stn_gap;

/** The stretches that the lost marks of @p trace stand for, in time order.
 *  @param[out] gaps  [*count] the caller frees with stn_gaps_free()  @return STN_OK, STN_ENOMEM */
stn_status stn_gaps_marked(const stn_trace *trace, stn_gap **gaps, size_t *count,
                           stn_err *err) STN_MUST_USE;
void stn_gaps_free(stn_gap *gaps);

typedef struct stn_infill_options {
    uint64_t seed;
    const char *workload; /**< as in stn_generate_options */
} stn_infill_options;

/** Let the model make what is missing: before each gap the world is what the events before it
 *  made it. What comes after may not join on; stn_repair() mends that.
 *  @param in    borrowed; its names are to be made known with stn_model_meet()
 *  @param gaps  [count] by rising begin; @c made and @c replaced are set
 *  @param out   initialised by the caller; receives the events, without the lost marks
 *  @return STN_OK; STN_EFORMAT (a CPU that the model does not have), STN_ENOMEM, STN_EINTR */
stn_status stn_infill(const stn_model *model, const stn_trace *in, stn_gap *gaps, size_t count,
                      const stn_infill_options *options, stn_trace *out, stn_progress_fn progress,
                      void *user, stn_err *err) STN_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
