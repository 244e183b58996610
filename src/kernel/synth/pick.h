/** @file
 *  Picking the thread or the instance that an event is about: the code of relations shared by
 *  learning (which one was it?) and generating (take that one).
 *  Pinned by tests/unit/test_synth_generator.c. */
#ifndef STN_KERNEL_SYNTH_PICK_H
#define STN_KERNEL_SYNTH_PICK_H

#include "kernel/synth/attr.h"

/** Relations of a thread to the event. The first four come with the state that it is in:
 *  symbol = relation * STN_THREAD_STATES + state. */
enum {
    STN_PICK_SELF = 0,                        /**< the running thread */
    STN_PICK_CHILD,                           /**< the one that it made last */
    STN_PICK_LAST,                            /**< the one named last on this CPU */
    STN_PICK_OWNER,                           /**< owner of the instance touched last on this CPU */
    STN_PICK_RELATED = 4 * STN_THREAD_STATES, /**< below: one of these */
    STN_PICK_IDLE = STN_PICK_RELATED,
    STN_PICK_LITERAL, /**< not a thread: -1, 0 */
    STN_PICK_FRESH,   /**< one never seen */
    STN_PICK_STATE,   /**< + 2 state + here: from that list */
    STN_PICK_SYMBOLS = STN_PICK_STATE + 2 * STN_THREAD_STATES,
    STN_PICK_AGES = 16, /**< ages told apart; the last stands for all older ones */
};
enum {
    STN_KEY_LAST = 0, /**< the instance of the domain touched last on this CPU */
    STN_KEY_FRESH,
    STN_KEY_PARTNER, /**< the one that the entry named, of which this is the exit */
    STN_KEY_STATE,   /**< + 4 (type that touched it last) + 2 own + here */
};

/** Seeds of the contexts in stn_attr::chain. */
enum {
    STN_TABLE_PICK = 101,
    STN_TABLE_COMM,
    STN_TABLE_AGE,
    STN_TABLE_KEY,
    STN_TABLE_KEY_AGE,
    STN_TABLE_VALUE,
};

/** Ladders. @p part is the field, or the number of the key. */
uint32_t stn_pick_rungs(const stn_world *world, uint32_t table, const stn_draft *draft,
                        uint16_t part, uint64_t word, uint32_t current, uint64_t *out);

/** What the choice of a thread depends on beside the ladder: whether somebody waits for the
 *  CPU and, at a switch, how the other leaves. */
uint64_t stn_pick_word(const stn_world *world, const stn_draft *draft);
/** How the thread @p index (STN_WORLD_NONE: never seen) stands to the event. */
uint32_t stn_pick_relation(const stn_world *world, const stn_draft *draft, uint8_t means,
                           uint32_t current, uint32_t index, int64_t tid);
/** Threads that are told apart by age alone. */
typedef struct stn_kin {
    uint32_t comm; /**< their name, or STN_WORLD_NONE: any */
    uint32_t open; /**< the innermost call that they are in, or STN_TEMPLATE_NONE: any */
} stn_kin;
static const stn_kin stn_kin_any = {STN_WORLD_NONE, STN_TEMPLATE_NONE};
/** The kin of thread @p index. */
stn_kin stn_pick_kin(const stn_world *world, uint32_t index);
/** Age of thread @p index in its list, among its kin. */
uint32_t stn_pick_age(const stn_world *world, uint32_t index, uint16_t cpu, bool here, stn_age age);
/** Thread of age @p rank in the list that @p relation means, or the one next to it in age;
 *  if none is in that call, one of the name; STN_WORLD_NONE if there is none. */
uint32_t stn_pick_thread(const stn_world *world, uint32_t relation, uint16_t cpu, stn_kin kin,
                         uint32_t rank, stn_age age);

/** A type split by a value takes only instances that do not remember another. */
bool stn_key_suits(const stn_vtype *type, const stn_instance *instance);
uint32_t stn_key_relation(const stn_world *world, const stn_draft *draft, uint8_t domain,
                          uint32_t current, uint32_t index);
uint32_t stn_key_age(stn_world *world, const stn_draft *draft, uint8_t domain, uint32_t current,
                     uint32_t index, stn_age age);
uint32_t stn_key_pick(stn_world *world, const stn_draft *draft, uint8_t domain, uint32_t current,
                      uint32_t relation, uint32_t rank, stn_age age);

#endif
