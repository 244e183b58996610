/** @file
 *  The state of a pass: tables of instances, their cells, the log that undoes a step.
 *
 *  Every change goes through one log of words. A step begins by taking the log's length;
 *  if it fails, or is only tried, the words are put back. Marks are positions in the log.
 *  Pinned by tests/unit/test_rules_check.c, test_rules_undo.c. */
#ifndef STN_KERNEL_RULES_CHECKER_H
#define STN_KERNEL_RULES_CHECKER_H

#include "core/base/intern.h"
#include "core/base/map.h"
#include "kernel/rules/set.h"

/** State of one automaton. word: state | epoch << 16 | place in the live list << 32. A cell
 *  of another epoch counts as not seen, so forgetting everything is one addition. */
typedef struct stn_cell {
    uint64_t word;
    int64_t reg[STN_REGISTERS];
} stn_cell;

#define STN_EPOCHS           0xffffu /* epochs are 1 … STN_EPOCHS; 0 is none */
#define STN_CELL_STATE(word) ((uint32_t)((word)&0xffff))
#define STN_CELL_EPOCH(word) ((uint32_t)((word) >> 16 & 0xffff))
#define STN_CELL_PLACE(word) ((uint32_t)((word) >> 32))

/** All automata of one key. */
typedef struct stn_slot {
    uint64_t touched; /**< time of the last event with the key */
    uint32_t next;    /**< free list */
    uint32_t used;
    int64_t key[STN_KEY_PARTS];
    stn_cell cells[];
} stn_slot;

enum { STN_SLOT_CHUNK = 64, STN_DIRECT_MAX = 1 << 22 };

/** Keys to slots. Slots never move, so the log may point into them. */
typedef struct stn_table {
    uint32_t part_count, cell_count;
    size_t slot_size;
    unsigned char **chunks; /**< [chunk_count] of STN_SLOT_CHUNK slots */
    size_t chunk_count, chunk_capacity;
    uint32_t slot_count; /**< slots ever taken from the chunks */
    uint32_t used_count;
    uint32_t free_head; /**< slot + 1, 0: none */
    uint32_t *direct;   /**< [direct_count] small one-part keys to slot + 1 */
    size_t direct_count;
    uint64_t *index; /**< [index_count] hash tag << 32 | slot + 1, 0 empty */
    size_t index_count;
    uint32_t indexed;   /**< slots in the index */
    uint32_t slots_max; /**< beyond this, old keys are forgotten */
    uint32_t sweep_at;  /**< slots taken at which dead keys are looked for */
    bool forgot;        /**< some key was: absent no longer means fresh */
} stn_table;

stn_status stn_table_init(stn_table *table, uint32_t part_count, uint32_t cell_count);
void stn_table_fini(stn_table *table);
static inline stn_slot *stn_table_at(const stn_table *table, uint32_t slot) {
    return (stn_slot *)(void *)(table->chunks[slot / STN_SLOT_CHUNK] +
                                (slot % STN_SLOT_CHUNK) * table->slot_size);
}
/** Slot of @p key or UINT32_MAX. */
uint32_t stn_table_find(const stn_table *table, const int64_t *key);
/** Slot of @p key, added if new; UINT32_MAX if out of memory. */
uint32_t stn_table_put(stn_table *table, const int64_t *key);
/** Drop every slot that @p dead says is dead. */
void stn_table_sweep(stn_table *table, bool (*dead)(void *user, const stn_slot *slot, uint32_t at),
                     void *user);
void stn_table_clear(stn_table *table);

/** One word changed: what stood there before. rule says whose state it was, else NO. */
typedef struct stn_log_entry {
    uint64_t *where;
    uint64_t old;
    uint32_t rule, slot;
} stn_log_entry;

#define STN_LOG_PLAIN UINT32_MAX

/** Instances of a rule by state, kept only for rules that are tracked. */
typedef struct stn_live {
    uint32_t *slots; /**< [count] */
    size_t count, capacity;
} stn_live;

struct stn_checker {
    const stn_rules *rules;
    stn_catalog *catalog;
    stn_table *tables; /**< [table_count] one per domain */
    size_t table_count;
    const stn_plan **plans; /**< [plan_capacity] by type, NULL not looked up yet */
    size_t plan_capacity;
    stn_rule_stats *stats; /**< [rule_count] */
    uint64_t *missing;     /**< [rule_count] needs not seen yet: 0 armed */
    uint64_t *need_seen;   /**< [need_count] */
    uint64_t *woken_ns;    /**< [rule_count] time of the event that fulfilled the last need */
    uint32_t rule_count;
    uint64_t epoch;       /**< of live cells, 1 … 65535 */
    uint64_t epoch_begin; /**< time of the first event of the epoch */
    uint64_t begun;       /**< 1 once epoch_begin is set */
    uint64_t *running;    /**< [running_count] thread on each CPU, as int64 */
    size_t running_count;
    uint64_t next_files; /**< number of the next descriptor table */
    stn_log_entry *log;
    size_t log_count, log_capacity;
    bool marking;
    bool silent;     /**< steps are not counted */
    bool created;    /**< a slot was added: perhaps there are dead ones */
    uint64_t broken; /**< violations met so far, undone or not */
    stn_violation *violations;
    size_t violation_capacity;
    uint64_t violation_count;
    stn_live **live;  /**< [rule_count] NULL or [state_count] lists */
    stn_intern texts; /**< of hashed strings */
    stn_map text_ids; /**< value of a text -> its id */
    int64_t values[STN_VALUES_MAX];
    const stn_plan *plan; /**< of the event being stepped */
    uint64_t now;         /**< time of the last event */
    uint32_t first_broken;
};

/** Plan of @p type or NULL if out of memory. */
const stn_plan *stn_checker_plan(stn_checker *checker, uint32_t type);
/** Fetch the values of @p event that @p plan needs. */
void stn_checker_fetch(const stn_checker *checker, const stn_plan *plan, const stn_event *event,
                       int64_t *values);
/** Set a state word, keeping the live lists. @pre the log has room */
stn_status stn_checker_set_state(stn_checker *checker, uint32_t rule_index, uint32_t slot,
                                 stn_cell *cell, uint32_t state) STN_MUST_USE;
/** Take a cell of a tracked rule out of its live list. */
void stn_live_remove(stn_checker *checker, uint32_t rule, const stn_cell *cell);
/** Before a table grows: give back slots of keys that say nothing, then, past the bound,
 *  those of the oldest keys. @pre nothing is marked, a slot was added since the last time */
void stn_checker_tidy(stn_checker *checker);
/** Number the epochs anew, so that none comes twice. @pre nothing is marked */
void stn_checker_renumber(stn_checker *checker);
/** Forget what stands in the log before @p mark: steps before it cannot be undone any more, and
 *  later marks are smaller by it. */
void stn_checker_drop(stn_checker *checker, stn_mark mark);

/* What the engine knows without rules (engine.c). */

/** Remember which thread runs on the event's CPU after it. */
void stn_checker_note_running(stn_checker *checker, const stn_plan *plan, const stn_event *event);
/** Do to descriptor tables what the type does. */
stn_status stn_checker_step_files(stn_checker *checker, const stn_plan *plan) STN_MUST_USE;
/** Wake the rules whose needs are now all seen, with every key unknown. */
void stn_checker_step_needs(stn_checker *checker, const stn_plan *plan);
/** Forget every key: events were lost. */
stn_status stn_checker_step_lost(stn_checker *checker, const stn_event *event) STN_MUST_USE;

/** Does @p cond hold for these values? Missing values give @p missing. */
bool stn_cond_holds(const stn_plan_cond *cond, const int64_t *values, const int64_t *regs,
                    bool missing);
/** Write the sentence of a violation (explain.c). */
void stn_checker_explain(const stn_checker *checker, const stn_touch *touch,
                         const stn_plan_row *tried, uint32_t state, const stn_cell *cell,
                         const stn_event *event, char *text, size_t size);
/** Remember the text of a hashed string, if there is room. */
void stn_checker_note_text(stn_checker *checker, const char *text);
/** Mark just before the last change, earlier than mark @p before (SIZE_MAX: the latest), of the
 *  automaton of @p rule with @p key; SIZE_MAX if there is none since the outermost mark. */
stn_mark stn_checker_changed(const stn_checker *checker, uint32_t rule, const stn_key *key,
                             stn_mark before);
/** Rebuild the live lists of tracked rules from the tables. */
stn_status stn_checker_relive(stn_checker *checker);

/** Does the row hold in this state? */
static inline bool stn_row_accepts(const stn_plan_row *row, uint32_t state) {
    return (state < 64 ? row->from0 >> state : row->from[state / 64] >> (state % 64)) & 1;
}

/** State of a cell as the rule sees it: fresh or unknown if not seen in this epoch. */
static inline uint32_t stn_cell_state(const stn_checker *checker, const stn_rule *rule,
                                      const stn_table *table, const stn_cell *cell, uint64_t now) {
    if (STN_CELL_EPOCH(cell->word) == checker->epoch) {
        return STN_CELL_STATE(cell->word);
    }
    if (!rule->fresh || (rule->warmup_ns && table->forgot)) {
        return 0;
    }
    /* What came before a rule woke up it has not seen, nor how far the event is that woke it. */
    bool awake = !rule->need_count || now > checker->woken_ns[rule->index] + rule->warmup_ns;
    return awake && now >= checker->epoch_begin + rule->warmup_ns ? rule->fresh : 0;
}

static inline void stn_checker_log(stn_checker *checker, uint64_t *where) {
    checker->log[checker->log_count++] = (stn_log_entry){where, *where, STN_LOG_PLAIN, 0};
}

/** Set a word, logged if it changes. @pre the log has room */
static inline void stn_checker_put(stn_checker *checker, uint64_t *where, uint64_t value) {
    if (*where != value) {
        stn_checker_log(checker, where);
        *where = value;
    }
}

static inline int64_t stn_plan_value(const stn_plan_operand *operand, const int64_t *values,
                                     const int64_t *regs) {
    return operand->source == STN_SOURCE_VALUE ? values[operand->index]
           : operand->source == STN_SOURCE_REG ? regs[operand->index]
                                               : operand->value;
}

#endif
