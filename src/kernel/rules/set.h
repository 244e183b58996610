/** @file
 *  A rule set from the inside: what the parser makes of rule text, and the per-type plans
 *  that the checker runs. docs/formats/rules.md is the page of the language.
 *
 *  Picture: rule text -> stn_rule (rows with patterns, conditions, state sets) -> for each
 *  event type that turns up, a stn_plan: the values to fetch from the event, the keys to
 *  form from them, and for each key the automata to step with the rows that apply. A plan is
 *  made when its type is first seen, so types may be interned after the rules were compiled.
 *  Pinned by tests/unit/test_rules_parse.c, test_rules_check.c. */
#ifndef STN_KERNEL_RULES_SET_H
#define STN_KERNEL_RULES_SET_H

#include <pthread.h>
#include <stdatomic.h>

#include <standin/rules.h>

#include "core/base/arena.h"
#include "core/base/intern.h"

/* ---- values ----------------------------------------------------------- */

/** "There is no value": a field that the event lacks, a register never set. Conditions on
 *  it do not hold in @c where (the row is not for this event) and hold in @c if (it cannot
 *  be judged). */
#define STN_NO_VALUE INT64_MIN

/** Strings take part in keys and conditions by their hash, below this bound, so that
 *  they never equal a number that a kernel writes. */
#define STN_TEXT_VALUES (-((int64_t)1 << 62))

/** The value that stands for a text. */
int64_t stn_text_value(const char *text, size_t size);
static inline bool stn_value_is_text(int64_t value) {
    return value < STN_TEXT_VALUES && value != STN_NO_VALUE;
}

/* ---- rules as parsed --------------------------------------------------- */

enum { STN_ALTERNATIVES = 4, STN_KEY_PARTS = 4, STN_REGISTERS = 2 };

typedef enum stn_operand_kind {
    STN_OPERAND_CONST = 0,
    STN_OPERAND_REG,
    STN_OPERAND_TIME,    /**< the event's time_ns */
    STN_OPERAND_TID,     /**< its thread, or the one known to run on its CPU */
    STN_OPERAND_CPU,     /**< its CPU */
    STN_OPERAND_COMM,    /**< its process name */
    STN_OPERAND_SYSCALL, /**< name of the system call that the type enters or leaves */
    STN_OPERAND_FILES,   /**< the descriptor table of its thread, if its origin was seen */
    STN_OPERAND_FIELD,
} stn_operand_kind;

typedef struct stn_operand {
    uint32_t kind; /**< stn_operand_kind */
    uint32_t reg;
    uint32_t name_count;
    uint32_t names[STN_ALTERNATIVES]; /**< string ids; the first that the event has */
    int64_t value;                    /**< of a constant */
} stn_operand;

typedef enum stn_compare {
    STN_COMPARE_EQ = 0,
    STN_COMPARE_NE,
    STN_COMPARE_LT,
    STN_COMPARE_LE,
    STN_COMPARE_GT,
    STN_COMPARE_GE,
    STN_COMPARE_MASK,   /**< some bit of the right side is set */
    STN_COMPARE_NOMASK, /**< none is */
    STN_COMPARE_IN,
    STN_COMPARE_NOT_IN,
} stn_compare;

/** Inclusive. */
typedef struct stn_range {
    int64_t low, high;
} stn_range;

typedef struct stn_cond {
    stn_operand left, right;
    stn_operand minus;       /**< subtracted from the left side: "time - since <= 5ms" */
    int64_t add;             /**< added to the right side */
    const stn_range *ranges; /**< [range_count], sorted, for IN and NOT_IN */
    uint32_t range_count;
    uint32_t compare; /**< stn_compare */
    bool subtracts;   /**< @c minus is there */
} stn_cond;

typedef struct stn_assign {
    uint32_t reg;
    bool adds;
    stn_operand from;
} stn_assign;

typedef enum stn_action {
    STN_ACTION_NONE = 0,
    STN_ACTION_PUSH, /**< enter the frame @c to */
    STN_ACTION_POP,  /**< leave it */
} stn_action;

#define STN_STATE_SAME UINT32_MAX

/** One transition. */
typedef struct stn_row {
    uint32_t line;
    const char *const *patterns; /**< [pattern_count] globs on canonical type names */
    uint32_t pattern_count;
    const char *const *excluded; /**< [excluded_count] the same, after "but" */
    uint32_t excluded_count;
    uint32_t part_count; /**< 0: the rule's own key fields */
    stn_operand parts[STN_KEY_PARTS];
    const stn_cond *where, *ifs; /**< [where_count], [if_count] */
    uint32_t where_count, if_count;
    const uint32_t *from_list; /**< [from_count] states; NULL: any */
    uint32_t from_count;
    uint64_t *from;     /**< [rule words] bit set of states, with bit 0 always set */
    uint32_t to;        /**< state or STN_STATE_SAME */
    uint32_t otherwise; /**< state after a violation, or STN_STATE_SAME: as if it had held */
    uint32_t action;
    const uint32_t *inside; /**< [inside_count] frames, one of which must be open */
    uint32_t inside_count;
    const stn_assign *sets; /**< [set_count] */
    uint32_t set_count;
} stn_row;

typedef struct stn_rule {
    stn_rule_info info;
    const char *text; /**< normalised, "rule NAME\n  …\n" */
    uint32_t line;
    uint32_t index;  /**< in the set */
    uint32_t domain; /**< which table of instances */
    uint32_t cell;   /**< which cell of an instance there */
    uint32_t part_count;
    stn_operand parts[STN_KEY_PARTS]; /**< default key */
    const char *registers[STN_REGISTERS];
    uint32_t register_count;
    uint32_t fresh; /**< state of a key not seen since @c warmup_ns, 0: unknown for ever */
    uint64_t warmup_ns;
    const char *const *needs; /**< [need_count] patterns that must each have been seen */
    uint32_t need_count;
    bool framed;    /**< states above 1 are frames of a stack, state 1 is "none" */
    uint32_t words; /**< of a bit set of states */
    const stn_row *rows;
    uint32_t row_count;
} stn_rule;

/** Rules with the same kind of key share one table, so that a key is looked up once. */
typedef struct stn_domain {
    uint32_t part_count;
    uint32_t cell_count;
} stn_domain;

/** One pattern of a "needs" line: until an event matches it, the rule sleeps. */
typedef struct stn_need {
    uint32_t rule;
    const char *pattern;
} stn_need;

enum { STN_DOMAIN_THREAD = 0, STN_DOMAIN_FILES = 1, STN_DOMAIN_CPU = 2, STN_DOMAIN_NONE = 3 };

/* ---- plans -------------------------------------------------------------- */

/** Where a value comes from when a plan runs: the event's values are fetched once. */
enum {
    STN_VALUE_TIME = 0,
    STN_VALUE_TID,
    STN_VALUE_CPU,
    STN_VALUE_COMM,
    STN_VALUE_SYSCALL,
    STN_VALUE_FILES,
    STN_VALUE_FIELDS, /**< the first field of the plan */
    STN_VALUES_MAX = 128,
};

typedef enum stn_source {
    STN_SOURCE_VALUE = 0, /**< index into the event's values */
    STN_SOURCE_REG,
    STN_SOURCE_CONST,
} stn_source;

typedef struct stn_plan_operand {
    uint16_t source, index;
    int64_t value;
} stn_plan_operand;

typedef struct stn_plan_cond {
    uint32_t compare;
    bool subtracts;
    bool plain; /**< left == right and no more, as most are */
    stn_plan_operand left, right, minus;
    int64_t add;
    const stn_range *ranges;
    uint32_t range_count;
} stn_plan_cond;

typedef struct stn_plan_assign {
    uint32_t reg;
    bool adds;
    stn_plan_operand from;
} stn_plan_assign;

typedef struct stn_plan_row {
    uint64_t from0; /**< first word of from, all there is up to 64 states */
    const uint64_t *from;
    const stn_row *row;
    const stn_plan_cond *where, *ifs;
    const stn_plan_assign *sets;
    uint64_t inside; /**< bit set of frames, 0: anywhere */
    uint16_t where_count, if_count, set_count, action;
    uint32_t to, otherwise;
    bool free; /**< holds in every state: nothing is judged */
} stn_plan_row;

/** One automaton that a key of the event steps. */
typedef struct stn_touch {
    uint32_t rule;
    uint32_t cell;
    const stn_rule *owner;
    const stn_plan_row *rows;
    uint32_t row_count;
    bool framed; /**< as its owner */
    bool kept;   /**< a key that it meets while it warms up stays unknown: not fresh later on */
} stn_touch;

/** One key of the event and what it steps. */
typedef struct stn_plan_key {
    uint32_t domain;
    uint32_t part_count;
    uint16_t parts[STN_KEY_PARTS]; /**< indices of the event's values */
    uint32_t touch_first, touch_count;
} stn_plan_key;

/** One field to fetch. */
typedef struct stn_plan_field {
    uint32_t name_count;
    uint32_t names[STN_ALTERNATIVES];
    atomic_uint hint; /**< where it stood in the last event */
} stn_plan_field;

typedef struct stn_plan {
    uint32_t field_count;
    stn_plan_field *fields;
    uint32_t key_count;
    const stn_plan_key *keys;
    uint32_t touch_count;
    const stn_touch *touches;
    const uint32_t *needs; /**< [need_count] which needs this type fulfils, rising */
    uint32_t need_count;
    int64_t syscall;                 /**< value of the system call's name */
    bool comm_used;                  /**< some condition looks at the process name */
    bool files_used;                 /**< some key is made from the thread's descriptor table */
    uint32_t files_act;              /**< stn_files_act: what the type does to descriptor tables */
    uint16_t next_value;             /**< sched_switch: the value next_pid; 0: no switch */
    uint16_t pid_value, flags_value; /**< of files_act */
    const stn_binding *bindings;     /**< [touch_count] in touch order */
} stn_plan;

enum { STN_PLAN_CHUNK = 256, STN_PLAN_CHUNKS = 1024 };

typedef _Atomic(stn_plan *) stn_plan_slot;

struct stn_rules {
    stn_catalog *catalog;
    stn_arena arena;
    stn_rule **rules;
    size_t count, capacity;
    stn_domain *domains;
    size_t domain_count, domain_capacity;
    stn_need *needs;
    size_t need_count, need_capacity;
    stn_intern names;        /**< of rules; ids are indices of @c rules */
    stn_intern domain_names; /**< ids are indices of @c domains */
    /** The rule for which an event type's plan ran out of values, and the type; NULL: none did. */
    const stn_rule *crowded_rule;
    uint32_t crowded_type;
    /** Plans, made under the lock, read without it. */
    pthread_mutex_t lock;
    stn_arena plan_arena;
    _Atomic(stn_plan_slot *) plans[STN_PLAN_CHUNKS];
};

/** Plan of @p type, made if new; NULL if out of memory, or if the rules look at too many of its
 *  fields. Safe from several threads. */
const stn_plan *stn_rules_plan(const stn_rules *rules, uint32_t type);
/** Why there was no plan. @return STN_ENOMEM; STN_EUNSUPPORTED: which rule wants too many fields */
stn_status stn_rules_no_plan(const stn_rules *rules, stn_err *err);
/** Forget all plans: rules were added. */
void stn_rules_forget_plans(stn_rules *rules);
/** A new rule set without rules. */
stn_status stn_rules_new(stn_rules **out, stn_catalog *catalog, stn_err *err) STN_MUST_USE;
/** Parse @p text into @p rules; on error some rules may have been added. */
stn_status stn_rules_parse_into(stn_rules *rules, const char *text, size_t size, const char *name,
                                stn_err *err) STN_MUST_USE;
/** Index of the domain @p name, added if new; UINT32_MAX if out of memory. */
uint32_t stn_rules_domain(stn_rules *rules, const char *name, uint32_t part_count);
/** Does a glob of @p patterns [@p count] match @p name? */
bool stn_patterns_match(const char *const *patterns, uint32_t count, const char *name);

#endif
