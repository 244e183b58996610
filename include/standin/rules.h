/** @file
 *  Rules that a kernel trace obeys: language, built-in set, mining, checking, repair.
 *
 *  A rule set is text (docs/formats/rules.md) compiled against a catalog into
 *  automata, one instance per key (a thread, a CPU, a device and sector …).
 *  A ::stn_checker holds the state of all instances while events pass; every step
 *  can be undone, so that sampling and repair can try an event and take it back.
 *  Pinned by tests/unit/test_rules_*.c.
 */
#ifndef STANDIN_RULES_H
#define STANDIN_RULES_H

#include <standin/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rule sets ------------------------------------------------------- */

typedef struct stn_rules stn_rules;

typedef struct stn_rule_info {
    const char *name;          /**< "syscall_pair" */
    const char *doc;           /**< one sentence */
    const char *exceptions;    /**< when it does not apply, "" if always */
    uint64_t support;          /**< mined rules: how many cases; 0 otherwise */
    uint32_t state_count;      /**< states of its automaton */
    const char *const *states; /**< [state_count] names; state 0 is "unknown" */
    const char *source;        /**< where the kernel says so, "kernel/sched/core.c"; "" if none */
} stn_rule_info;

/** Compile rule text. @param name what to call the text in messages ("my.rules")
 *  @return STN_OK; STN_EFORMAT ("my.rules: line 7: …"), STN_ENOMEM */
stn_status stn_rules_parse(stn_rules **out, const char *text, size_t size, const char *name,
                           stn_catalog *catalog, stn_err *err) STN_MUST_USE;
/** Read rule text from a file. */
stn_status stn_rules_load(stn_rules **out, const char *path, stn_catalog *catalog,
                          stn_err *err) STN_MUST_USE;
/** The built-in kernel rules. */
stn_status stn_rules_builtin(stn_rules **out, stn_catalog *catalog, stn_err *err) STN_MUST_USE;
/** Text of the built-in kernel rules; static storage. */
const char *stn_rules_builtin_text(void);
/** Add the rules of @p more to @p rules; a name that is there already is an error. */
stn_status stn_rules_add(stn_rules *rules, const stn_rules *more, stn_err *err) STN_MUST_USE;
/** Text of the whole set in the rule language; the caller frees with stn_text_free(). */
stn_status stn_rules_text(const stn_rules *rules, char **out, stn_err *err) STN_MUST_USE;
void stn_text_free(char *text);
void stn_rules_free(stn_rules *rules);

uint32_t stn_rules_count(const stn_rules *rules);
/** @pre index < stn_rules_count() */
const stn_rule_info *stn_rules_at(const stn_rules *rules, uint32_t index);

/* ---- checking -------------------------------------------------------- */

typedef struct stn_checker stn_checker;

/** One broken rule at one event. */
typedef struct stn_violation {
    uint32_t rule; /**< index into the rule set */
    uint64_t time_ns;
    uint32_t type;
    int32_t tid;
    uint16_t cpu;
    char text[160]; /**< what was found and what was expected, filled for the first few only */
} stn_violation;

typedef struct stn_rule_stats {
    uint64_t checked; /**< cases judged */
    uint64_t violations;
} stn_rule_stats;

/** Begin a pass. Both are borrowed for its life. @return STN_OK, STN_ENOMEM */
stn_status stn_checker_new(stn_checker **out, const stn_rules *rules, stn_catalog *catalog,
                           stn_err *err) STN_MUST_USE;
void stn_checker_free(stn_checker *checker);
/** Forget everything but the rules. */
void stn_checker_reset(stn_checker *checker);

/** Advance over @p event, counting and keeping violations; a lost mark makes every
 *  key unknown again. @param[out] violations rules broken by this event; may be NULL
 *  @return STN_OK; STN_ENOMEM; STN_EUNSUPPORTED: the rules look at too many fields of the event's
 *          type (state as before) */
stn_status stn_checker_step(stn_checker *checker, const stn_event *event, uint32_t *violations,
                            stn_err *err) STN_MUST_USE;

/** Are the steps to come counted: in the statistics, among the violations kept, and in what
 *  stn_checker_step() says? The state moves all the same. They are after new and reset. */
void stn_checker_count(stn_checker *checker, bool on);

/** Advance only if no rule is broken.
 *  @param[out] broken index of the first broken rule, STN_NO_ID if none; may be NULL
 *  @return STN_OK (advanced), STN_ECHECK (state as before, @p broken set), STN_ENOMEM */
stn_status stn_checker_try(stn_checker *checker, const stn_event *event,
                           uint32_t *broken) STN_MUST_USE;

/** Remember this moment; steps after it can be undone, the last mark first. Marks nest. */
typedef size_t stn_mark;
stn_mark stn_checker_mark(stn_checker *checker);
/** Go back to @p mark, which stays valid. */
void stn_checker_undo(stn_checker *checker, stn_mark mark);
/** Keep what happened since the outermost mark and end marking. */
void stn_checker_keep(stn_checker *checker);

/** [stn_rules_count()] counts so far; valid until the next step. */
const stn_rule_stats *stn_checker_stats(const stn_checker *checker);
/** The first violations kept (at most @c STN_VIOLATIONS_KEPT per rule), in time order. */
#define STN_VIOLATIONS_KEPT 8
const stn_violation *stn_checker_violations(const stn_checker *checker, uint32_t *count);

/* ---- looking into the automata (sampling, attributes, repair) -------- */

/** Values that name an instance of a rule's automaton. Strings are hashed to ids. */
typedef struct stn_key {
    uint32_t count;
    int64_t v[4];
} stn_key;

/** How an event type touches a rule: with which key, built from which fields. */
typedef struct stn_binding {
    uint32_t rule;
    uint32_t part_count;
    /** string id of each key part's field, or one of those below */
    uint32_t part[4];
    uint32_t order; /**< 0 first transition for this type, 1 second … (a switch touches
                         the thread that leaves and the one that comes) */
} stn_binding;
#define STN_PART_TID (UINT32_MAX - 1) /**< the event's thread */
#define STN_PART_CPU (UINT32_MAX - 2) /**< the event's CPU */
/** The descriptor table of the event's thread, a number that the checker gives. */
#define STN_PART_FILES (UINT32_MAX - 3)
#define STN_PART_COMM  (UINT32_MAX - 4) /**< the event's process name, hashed */

/** Bindings of @p type; valid as long as the rules. [*count] */
const stn_binding *stn_rules_bindings(const stn_rules *rules, uint32_t type, uint32_t *count);

/** State of the instance of @p rule with @p key at the time of the last event. A key never
 *  seen is in state 0 (unknown), or in the rule's "fresh" state once the pass is older than
 *  its warm-up. */
uint32_t stn_checker_state(const stn_checker *checker, uint32_t rule, const stn_key *key);
/** The same for a key of an event that comes at @p time_ns. */
uint32_t stn_checker_state_at(const stn_checker *checker, uint32_t rule, const stn_key *key,
                              uint64_t time_ns);
/** Register @p index (0, 1: as the rule's "registers" line has them) of an instance.
 *  @return false if it holds no value */
bool stn_checker_register(const stn_checker *checker, uint32_t rule, const stn_key *key,
                          uint32_t index, int64_t *value);
/** Key that @p event forms for @p binding. @return false if a field is missing */
bool stn_checker_key(const stn_checker *checker, const stn_binding *binding, const stn_event *event,
                     stn_key *key);
/** Would some transition of @p rule accept @p type from @p state, guards aside? */
bool stn_rules_accepts(const stn_rules *rules, uint32_t rule, uint32_t state, uint32_t type);

/** Keep lists of the instances of @p rule by state from now on, so that the two functions
 *  below take constant time; without, they look at every instance. @return STN_OK, STN_ENOMEM */
stn_status stn_checker_track(stn_checker *checker, uint32_t rule, bool on) STN_MUST_USE;
/** How many instances of @p rule are in @p state. Keys never seen do not count. */
uint32_t stn_checker_live_count(const stn_checker *checker, uint32_t rule, uint32_t state);
/** Instance @p index of them (0 .. count-1); order is arbitrary but deterministic. */
bool stn_checker_live(const stn_checker *checker, uint32_t rule, uint32_t state, uint32_t index,
                      stn_key *key);
/** Text that a hashed string part stands for; NULL if the part is a number. */
const char *stn_checker_key_text(const stn_checker *checker, int64_t part);
/** Thread running on @p cpu, STN_NO_TID if not known. */
int32_t stn_checker_running(const stn_checker *checker, uint16_t cpu);

/* ---- mining ---------------------------------------------------------- */

typedef struct stn_mine_options {
    uint32_t min_support; /**< cases that a rule needs; 0: 50 */
    double
        range_slack; /**< Δt and value ranges are widened by this share of the log range; <0: 0.1 */
} stn_mine_options;

/** Learn what always holds in all of @p traces: successions per thread and CPU, pairings,
 *  value sets, value and Δt ranges. The result is rule text compiled for @p catalog.
 *  @param traces [count] borrowed  @return STN_OK, STN_ENOMEM, STN_EINTR */
stn_status stn_rules_mine(stn_rules **out, const stn_trace *const *traces, size_t count,
                          const stn_mine_options *options, stn_catalog *catalog,
                          stn_progress_fn progress, void *user, stn_err *err) STN_MUST_USE;

/* ---- repair ---------------------------------------------------------- */

#define STN_REPAIR_BEAM_MAX      64u
#define STN_REPAIR_LOOKAHEAD_MAX 4096u

typedef struct stn_repair_options {
    uint32_t beam;      /**< states kept side by side, at most STN_REPAIR_BEAM_MAX; 0: 8 */
    uint32_t lookahead; /**< events looked ahead before an edit is chosen, at most
                             STN_REPAIR_LOOKAHEAD_MAX; 0: 32 */
    bool fill_lost;     /**< treat lost stretches as to be filled, not excused */
    uint64_t seed;
} stn_repair_options;

typedef struct stn_repair_stats {
    uint64_t events_in, events_out;
    uint64_t violations_before, violations_after;
    uint64_t inserted, deleted, retyped, retimed, reassigned; /**< edits by kind */
    uint64_t lost;           /**< events that the marks of the input say were lost */
    uint64_t lost_uncounted; /**< marks that do not say how many */
    uint64_t restored;       /**< of the inserted ones, those put into lost stretches */
    const uint64_t
        *edits_by_rule; /**< [stn_rules_count()], owned by the repairer's caller: see free */
} stn_repair_stats;

/** Smallest edits after which no rule is broken.
 *  @param in   borrowed, time-ordered
 *  @param out  initialised by the caller; receives the whole repaired trace
 *  @return STN_OK (violations_after is 0), STN_ENOMEM, STN_EINTR */
stn_status stn_repair(const stn_rules *rules, const stn_trace *in, stn_trace *out,
                      const stn_repair_options *options, stn_repair_stats *stats,
                      stn_progress_fn progress, void *user, stn_err *err) STN_MUST_USE;
void stn_repair_stats_fini(stn_repair_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
