/** @file
 *  Attributes from two channels: given the type of the next event, its CPU and its time,
 *  which thread, which process name, which value of every field.
 *
 *  Fields that name a thread or an instance are picked from the world: the tables hold, for
 *  each type, from which state (or by which relation: the running thread, its child, the one
 *  named last, the owner of the instance) and how far down the list in age. All other fields
 *  are drawn given their best source, a copy of it being one of the outcomes. Any generator
 *  that gives types and times can use it. Pinned by tests/unit/test_synth_generator.c. */
#ifndef STN_KERNEL_SYNTH_ATTR_H
#define STN_KERNEL_SYNTH_ATTR_H

#include "kernel/synth/chain.h"
#include "kernel/synth/dues.h"
#include "kernel/synth/sleeps.h"
#include "kernel/synth/source.h"
#include "kernel/synth/start.h"
#include "kernel/synth/step.h"
#include "kernel/synth/template.h"
#include "kernel/synth/walk.h"

/** How the age of the one picked is counted. */
typedef enum stn_age {
    STN_AGE_NEWEST = 0, /**< from the one touched last */
    STN_AGE_OLDEST,     /**< from the one not touched for longest */
    STN_AGE_DUE,        /**< from the one that is due first (instances only) */
    STN_AGES,
    STN_KEY_BY_VALUE = STN_AGES, /**< the value says more than state and age: drawn as such */
} stn_age;

typedef struct stn_attr_field {
    stn_source source;
    uint8_t kind; /**< stn_field_kind of numbers that were not kept exactly */
    uint8_t age;  /**< fields that name a thread: stn_age */
} stn_attr_field;

/** Symbols of values: a copy of the source, a bin of numbers by sign and size, then the
 *  values kept exactly. */
enum {
    STN_VALUE_COPY = 0,
    STN_VALUE_BIN = 1,
    STN_VALUE_EXACT = STN_VALUE_BIN + 2 * STN_STEP_SYMBOLS,
    STN_VALUE_RUNGS = 3,
};

typedef struct stn_attr {
    const stn_vocab *vocab;     /**< borrowed */
    const stn_domains *domains; /**< borrowed */
    stn_slots slots;
    stn_wakes wakes;
    stn_attr_field *fields;            /**< [type_count][STN_VFIELD_MAX] */
    uint8_t (*key_age)[STN_TYPE_KEYS]; /**< [type_count] stn_age, or STN_KEY_BY_VALUE */
    stn_val *values;                   /**< values kept exactly */
    uint32_t value_count;
    stn_templates templates; /**< attributes drawn together: asked first */
    stn_chain chain;         /**< and each by itself: all tables */
    stn_start *starts;       /**< [start_count] moments to begin from */
    uint32_t start_count;
    stn_crowd *crowds; /**< [crowd_count] by name */
    uint32_t crowd_count;
    stn_sleeps sleeps;
    stn_dues dues;
    uint16_t cpu_count;
    uint32_t thread_limit; /**< most threads alive at once in a training run */
} stn_attr;

/** Learn from @p runs, two walks. @return STN_OK; STN_ENOMEM, STN_EINTR */
stn_status stn_attr_learn(stn_attr *attr, stn_vocab *vocab, const stn_domains *domains,
                          stn_runs *runs, stn_err *err) STN_MUST_USE;
void stn_attr_fini(stn_attr *attr);
/** Tables hold so many free parameters. */
uint64_t stn_attr_parameters(const stn_attr *attr);

/** Make @p world what a run began with. @return STN_OK, STN_ENOMEM */
stn_status stn_attr_begin(const stn_attr *attr, stn_world *world, stn_rng *rng) STN_MUST_USE;
/** Fill thread, name and fields of @p draft, whose type, CPU and time are set.
 *  @param attempt how often this was refused: then numbers are kept plain
 *  @return false if the world has nothing that the event could be about */
bool stn_attr_propose(const stn_attr *attr, stn_world *world, uint32_t attempt, stn_draft *draft,
                      stn_rng *rng);

/** Context of a value given its source; rung 0 is the field alone. @return rungs */
uint32_t stn_attr_value_rungs(uint32_t type, uint16_t field, const stn_source *source, bool idle,
                              stn_val told, uint64_t *out);

/** Hash of the words of what tells about the fields of @p draft and is known before any. */
uint64_t stn_attr_told(const stn_attr *attr, const stn_world *world, const stn_draft *draft,
                       uint32_t current);

void stn_attr_put(const stn_attr *attr, stn_blob *blob);
/** @p vocab and @p domains are those read before. @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_attr_get(stn_attr *attr, stn_cursor *cursor, const stn_vocab *vocab,
                        const stn_domains *domains) STN_MUST_USE;

#endif
