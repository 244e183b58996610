/** @file
 *  A trace that is being generated, from the inside: for what lets real events happen in it
 *  (prompt.c) or sets its pace. Pinned by tests/unit/test_synth_generator.c. */
#ifndef STN_KERNEL_SYNTH_GENERATOR_H
#define STN_KERNEL_SYNTH_GENERATOR_H

#include "kernel/synth/model.h"
#include "kernel/synth/pace.h"
#include "kernel/synth/prefer.h"
#include "kernel/synth/script.h"

enum { STN_WEIGH_EVERY = 128 /**< events after which the shares are looked at anew */ };

typedef struct stn_cpu_clock {
    uint64_t time_ns; /**< when it fires */
    uint32_t type;    /**< what comes then, or STN_ANSWER_WAIT: it is asked again */
    uint32_t attempt; /**< refusals since it was wound */
    uint64_t wound_ns;
    bool waits;   /**< the CPU was idle then */
    double speed; /**< that the time to its event runs at, see pace.h */
} stn_cpu_clock;

struct stn_generator {
    const stn_model *model;
    stn_catalog *catalog;
    stn_checker *checker;
    stn_prefer prefer;
    stn_world world;
    stn_rng rng;
    stn_draft draft;
    stn_event event;
    stn_field fields[STN_VFIELD_MAX];
    stn_generate_stats stats;
    stn_cpu_clock *clocks; /**< [cpu_count] */
    uint64_t *refused;     /**< [cpu_count][words] types refused since the clock was wound */
    uint32_t words;
    stn_alarms alarms;    /**< of sleepers, by tid */
    stn_alarms due;       /**< of timers, by index */
    uint32_t *armed;      /**< [cpu_count] of them, those overtaken too */
    uint64_t *not_driven; /**< [words] no bit set */
    uint32_t waking;      /**< type that begins to wake, or STN_ANSWER_WAIT */
    uint32_t silences;    /**< in a row */
    float *usual;         /**< [type_count] share in training */
    float *lately;        /**< [type_count] events, those long ago counting less */
    float *weights;       /**< [type_count] of stn_ask */
    void *run;            /**< the kind's own */
    stn_pace pace;
    const stn_script *script; /**< borrowed; NULL: none */
    size_t phase;             /**< of it that comes next */
    const char *workload;     /**< of now; NULL: none in particular */
    double label_weight;
    stn_rate rate;
    uint64_t start_ns;  /**< where the generated part begins */
    uint64_t length_ns; /**< of it; 0: not known */
    uint64_t begin_ns;
    /* filling in (infill.c) */
    uint64_t until_ns; /**< nothing comes then or later; 0: no end */
    bool *live;        /**< [cpu_count] where something may come; NULL: everywhere */
    double share;      /**< of the CPUs that are live; 0: all */
    bool blank;        /**< begin with an empty world */
    uint64_t seen;     /**< real events that happened */
    bool wound;        /**< the clocks are */
    bool unguided;
};

/** Weigh the types by what came of late, which then counts less. */
void stn_generator_weigh(stn_generator *generator);

/** A generator in an empty world, which real events are to happen in. See stn_generator_new(). */
stn_status stn_generator_blank(stn_generator **out, const stn_model *model,
                               const stn_generate_options *options, stn_catalog *catalog,
                               stn_err *err) STN_MUST_USE;
/** After real events: set the alarms of those that sleep and of the timers that are armed anew.
 *  The next stn_generator_next() winds the clocks. @return STN_OK, STN_ENOMEM */
stn_status stn_generator_go(stn_generator *generator, stn_err *err) STN_MUST_USE;
/** Wind the clock of a CPU where another event is to come next. */
void stn_generator_wind(stn_generator *generator, uint16_t cpu, uint64_t elapsed_ns);

/** From now on at the generator's rate. @param span_s  for so long; 0: not known */
void stn_generator_hurry(stn_generator *generator, double span_s);

/* ---- real events (prompt.c) -------------------------------------------------------- */

/** Let a real event happen in the world, the rules and the kind's past; no clock is wound.
 *  @param deep  into the kind's past as well
 *  @return STN_OK; STN_EFORMAT (a CPU that the model does not have), STN_ENOMEM */
stn_status stn_generator_see(stn_generator *generator, const stn_event *event, bool deep,
                             stn_err *err) STN_MUST_USE;
/** Make the world after real events one to go on from. */
void stn_generator_complete(stn_generator *generator, uint64_t now_ns);
/** Let all of @p prompt happen, and make the world one to go on from.
 *  @return STN_OK; STN_EFORMAT (no events, none of a type that the model has, or a CPU that it
 *  does not have), STN_ENOMEM */
stn_status stn_generator_replay(stn_generator *generator, const stn_trace *prompt,
                                stn_err *err) STN_MUST_USE;

#endif
