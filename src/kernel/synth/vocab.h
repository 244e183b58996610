/** @file
 *  What a model knows by name: event types with their fields, process names, texts. Learned
 *  from the training traces alone; dense ids, so that tables can be arrays.
 *  Pinned by tests/unit/test_synth_vocab.c. */
#ifndef STN_KERNEL_SYNTH_VOCAB_H
#define STN_KERNEL_SYNTH_VOCAB_H

#include <standin/trace.h>

#include "core/base/intern.h"
#include "core/base/map.h"
#include "kernel/synth/blob.h"

enum {
    STN_VTYPE_MAX = 8192, /**< event types of a model */
    STN_VFIELD_MAX = 24,  /**< fields of one type; more are not learned */
    STN_SPLIT_MAX = 12,   /**< values that a type is split by */
    STN_PARTNER_NONE = 0xffff,
};

/** A field's value. */
typedef struct stn_val {
    int64_t v;     /**< texts: id in the vocabulary; reals: their bits */
    uint32_t kind; /**< stn_field_kind or STN_VAL_NONE */
    uint32_t unused;
} stn_val;
#define STN_VAL_NONE 255u

/** A kind for what is a code and no value of a field: equal to nothing. */
#define STN_VAL_CODE STN_FIELD_SEQ

static inline bool stn_val_equal(stn_val a, stn_val b) {
    return a.kind != STN_VAL_CODE && b.kind != STN_VAL_CODE && a.v == b.v &&
           (a.kind == STN_FIELD_STR) == (b.kind == STN_FIELD_STR) &&
           (a.kind == STN_VAL_NONE) == (b.kind == STN_VAL_NONE);
}

/** What an event does to threads and CPUs beyond being an event of the running thread. */
typedef enum stn_role {
    STN_ROLE_NONE = 0,
    STN_ROLE_SWITCH,
    STN_ROLE_WAKING,
    STN_ROLE_WAKEUP,
    STN_ROLE_WAKEUP_NEW,
    STN_ROLE_MIGRATE,
    STN_ROLE_FORK,
    STN_ROLE_EXIT,
    STN_ROLE_FREE,
    STN_ROLE_RENAME,
    STN_ROLE_QUIT, /**< a call that nobody comes back from */
} stn_role;

/** How a type stands to the handlers of its CPU (interrupts, softirqs, expiring timers). */
typedef enum stn_frame {
    STN_FRAME_NONE = 0,
    STN_FRAME_PUSH,
    STN_FRAME_POP,
} stn_frame;

/** What a field says about a thread; decides how the value is rebuilt. */
typedef enum stn_meaning {
    STN_MEANS_VALUE = 0, /**< nothing special: learned tables */
    STN_MEANS_SELF,      /**< thread that was running (prev_pid) */
    STN_MEANS_SELF_COMM,
    STN_MEANS_NEXT,        /**< thread to be switched in */
    STN_MEANS_THREAD,      /**< another thread, or this one */
    STN_MEANS_CHILD,       /**< thread that did not exist before */
    STN_MEANS_THREAD_COMM, /**< name of the thread named by the event */
    STN_MEANS_NEW_COMM,    /**< name that the thread gets */
    STN_MEANS_KEY,         /**< names an instance of some automaton; see domain.h */
} stn_meaning;

/** Does the field name a thread that has to be picked? */
static inline bool stn_means_thread(uint8_t means) {
    return means == STN_MEANS_NEXT || means == STN_MEANS_THREAD || means == STN_MEANS_CHILD;
}

typedef struct stn_vfield {
    uint32_t name; /**< text id */
    uint8_t means; /**< stn_meaning */
} stn_vfield;

typedef struct stn_vtype {
    uint32_t name, original; /**< text ids */
    uint64_t count;          /**< training events */
    uint16_t field_count;
    uint16_t partner;    /**< the entry of this exit, or STN_PARTNER_NONE */
    uint16_t family;     /**< first of the types that are splits of one */
    uint16_t next_split; /**< another of them, or STN_PARTNER_NONE */
    int8_t split_field;  /**< index of the field whose value makes it a type of its own, or -1 */
    stn_val split_val;   /**< that value */
    uint8_t role;        /**< stn_role */
    uint8_t frame;       /**< stn_frame */
    bool entry;          /**< some type is the exit that belongs to it */
    bool softirq;        /**< enters a softirq */
    bool syscall;        /**< enters or leaves a system call */
    int8_t thread_field, cpu_field, state_field; /**< index of the field the role reads, or -1 */
    stn_vfield fields[STN_VFIELD_MAX];
    uint32_t catalog_type; /**< id in the catalog of this run; not stored */
} stn_vtype;

typedef struct stn_vocab {
    stn_intern texts; /**< all names and values that are texts */
    stn_vtype *types; /**< [type_count] by falling count */
    uint32_t type_count;
    stn_catalog *catalog;   /**< borrowed */
    uint32_t *text_catalog; /**< [texts.count] string id of each text in the catalog */
    size_t text_mapped, text_capacity;
    stn_map from_catalog; /**< catalog string id -> text id */
    uint32_t *from_type;  /**< [from_type_count] catalog type -> dense type or UINT32_MAX */
    uint32_t from_type_count;
} stn_vocab;

/** Learn types and their fields. @return STN_OK; STN_EFORMAT (no events, too many types),
 * STN_ENOMEM */
stn_status stn_vocab_learn(stn_vocab *vocab, const stn_trace *const *traces, size_t count,
                           stn_catalog *catalog, stn_err *err) STN_MUST_USE;
void stn_vocab_fini(stn_vocab *vocab);

/** Dense type of an event, or UINT32_MAX if not known. Types of which a small value decides
 *  what follows (a softirq's vector, a timer's function, the state of who leaves a CPU) are
 *  split by it, so that the order of events knows it too. */
uint32_t stn_vocab_type(const stn_vocab *vocab, const stn_event *event);
/** Is @p entry one that the exit @p exit can belong to? */
bool stn_vocab_pairs(const stn_vocab *vocab, uint32_t entry, uint32_t exit);
/** The field's value in the vocabulary's terms; an unknown text is made known.
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_vocab_val(stn_vocab *vocab, const stn_field *field, stn_val *val) STN_MUST_USE;
/** The same; kind NONE if its text is not known. */
stn_val stn_vocab_known(const stn_vocab *vocab, const stn_field *field);
/** Text id of a catalog string, added if new; UINT32_MAX if out of memory. */
uint32_t stn_vocab_text(stn_vocab *vocab, uint32_t catalog_string);
/** The same; UINT32_MAX if it is not known. */
uint32_t stn_vocab_known_text(const stn_vocab *vocab, uint32_t catalog_string);
/** Text id of a NUL-terminated text, added if new; UINT32_MAX if out of memory. */
uint32_t stn_vocab_ctext(stn_vocab *vocab, const char *text);
/** Name of a text id. */
const char *stn_vocab_name(const stn_vocab *vocab, uint32_t text);

void stn_vocab_put(const stn_vocab *vocab, stn_blob *blob);
/** Read, and intern all names in @p catalog. @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_vocab_get(stn_vocab *vocab, stn_cursor *cursor, stn_catalog *catalog) STN_MUST_USE;

#endif
