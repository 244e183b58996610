/** @file
 *  Where the value of a field comes from: which other value, known before it, tells most
 *  about it. Pinned by tests/unit/test_synth_source.c. */
#ifndef STN_KERNEL_SYNTH_SOURCE_H
#define STN_KERNEL_SYNTH_SOURCE_H

#include "kernel/synth/world.h"

typedef enum stn_source_kind {
    STN_SOURCE_NONE = 0,
    STN_SOURCE_FIELD,       /**< field @c index of the same event */
    STN_SOURCE_THREAD,      /**< what field @c index of type @c type last held on this thread */
    STN_SOURCE_CPU,         /**< … on this CPU */
    STN_SOURCE_INSTANCE,    /**< what the instance remembers of the same-named field */
    STN_SOURCE_STATE,       /**< type that touched the instance last */
    STN_SOURCE_COMM,        /**< name of the running thread */
    STN_SOURCE_NAMED_COMM,  /**< name of the thread that the event names */
    STN_SOURCE_NAMED_CPU,   /**< CPU where that thread is */
    STN_SOURCE_NAMED_STATE, /**< its state */
    STN_SOURCE_HERE,        /**< the CPU itself */
    STN_SOURCE_PAST, /**< the thread's last event of its own and whether somebody waits for the CPU
                      */
    STN_SOURCE_BEFORE,     /**< type of the CPU's last event */
    STN_SOURCE_BEFORE_TWO, /**< types of its last two */
    STN_SOURCE_CHILD,      /**< the thread that the running one made last */
    STN_SOURCE_KINDS,
} stn_source_kind;

typedef struct stn_source {
    uint8_t kind;  /**< stn_source_kind */
    uint8_t index; /**< field */
    uint16_t type; /**< dense */
} stn_source;

/** What an event is about, beyond CPU and running thread; STN_WORLD_NONE where it is not. */
typedef struct stn_subject {
    uint32_t current;  /**< running thread */
    uint32_t thread;   /**< thread named by the event */
    uint32_t instance; /**< first instance named */
} stn_subject;

/** Value of a source now; kind NONE if there is none. @p field is the one to be told. */
stn_val stn_source_value(const stn_world *world, const stn_source *source, const stn_draft *draft,
                         const stn_subject *subject, uint16_t field);
/** A word for the value as a context: exact for small numbers and texts, else its size. */
uint64_t stn_val_word(stn_val val);

/** Sources that may tell about @p field of @p type. @return how many, at most @p limit */
uint32_t stn_source_candidates(const stn_vocab *vocab, uint32_t type, uint16_t field,
                               stn_source *out, uint32_t limit);

#endif
