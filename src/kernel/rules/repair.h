/** @file
 *  Repair: what its parts share. Internal to the room; docs/repair.md is the page.
 *
 *  Invariant: the tape holds what stands of the repaired trace so far, and the checker has
 *  accepted every event of it in order. Nothing is ever put on the tape that the checker
 *  refuses, so whatever the search chooses, the result breaks no rule; deleting an event is
 *  always possible, so it ends. A hypothesis is a tail of the tape: taken off by rewinding,
 *  put on again by emitting its items.
 *  Pinned by tests/unit/test_rules_repair.c. */
#ifndef STN_KERNEL_RULES_REPAIR_H
#define STN_KERNEL_RULES_REPAIR_H

#include <standin/rules.h>

#include "core/base/arena.h"
#include "core/base/map.h"

typedef enum stn_edit {
    STN_EDIT_NONE = 0,
    STN_EDIT_INSERT,
    STN_EDIT_DELETE, /**< the item holds the event that is gone */
    STN_EDIT_RETYPE,
    STN_EDIT_RETIME,
    STN_EDIT_REASSIGN,
    STN_EDIT_RESTORE, /**< an insertion into a lost stretch */
    STN_EDIT_COUNT,
} stn_edit;

/** One event of the tape. */
typedef struct stn_item {
    stn_event event;
    stn_mark before; /**< the checker just before it */
    uint32_t edit;   /**< stn_edit */
    uint32_t rule;   /**< that made the edit necessary; STN_NO_ID */
} stn_item;

/** A lost stretch that is to be filled. */
typedef struct stn_hole {
    size_t at; /**< tape index where events may be put in */
    uint64_t begin_ns, end_ns;
    uint64_t left; /**< events it may still take; UINT64_MAX if the tracer did not count */
    uint16_t cpu;  /**< STN_NO_CPU: any */
} stn_hole;

enum { STN_HOLES_KEPT = 64 };

typedef struct stn_names {
    uint32_t prev_pid, prev_comm, prev_state, next_pid, next_comm, pid, comm, child_pid, target_cpu,
        orig_cpu, dest_cpu, ret, synth, begin_ns, count;
    uint32_t sched_switch; /**< name ids of types */
} stn_names;

typedef struct stn_type_list {
    uint32_t *types; /**< [count] */
    size_t count, capacity;
} stn_type_list;

typedef struct stn_repairer {
    const stn_rules *rules;
    stn_catalog *catalog;
    stn_checker *checker;
    const stn_trace *in;
    stn_trace *out;
    uint32_t beam, lookahead;
    bool fill_lost;
    stn_item *tape; /**< [tape_count], since the last flush */
    size_t tape_count, tape_capacity;
    uint64_t flushed_ns; /**< time of the last event before the tape */
    stn_arena arena;     /**< fields of edited events on the tape, and of drafts since the flush */
    size_t arena_bytes;
    size_t noted;     /**< tape items told to stn_note_item() */
    stn_map last_on;  /**< type << 32 | cpu to index in lasts + 1 */
    stn_event *lasts; /**< [last_count] last event of a type on a CPU that stood */
    size_t last_count, last_capacity;
    stn_arena kept; /**< fields of those that were edited */
    stn_names names;
    size_t flush_at;       /**< index in @c in at which the whole tape is written */
    size_t next;           /**< index in @c in of the event at hand */
    uint32_t *last;        /**< [type_count] index + 1 in @c in of the type's last event … */
    uint32_t *first;       /**< … and of its first */
    uint32_t type_count;   /**< types when repair began; it adds none */
    float *unlikely;       /**< [type_count] cost of making an event of the type, beyond the edit */
    uint64_t *taken;       /**< bit set of input events pulled forward */
    uint32_t cpu_count;    /**< highest CPU of the input, plus one */
    stn_map last_of;       /**< type << 32 | tid to index + 1 of the last event */
    stn_map comm_of;       /**< tid to comm + 1 */
    stn_type_list *movers; /**< [rule_count] types that occur and move the rule's automaton */
    uint32_t rule_count;
    stn_hole holes[STN_HOLES_KEPT];
    uint32_t hole_count;
    int64_t credit; /**< checker steps that may still be spent on searching */
    uint64_t spent; /**< checker steps so far */
    uint64_t edits[STN_EDIT_COUNT];
    uint64_t *edits_by_rule;
    uint64_t fresh_key; /**< numbers given to things never seen */
    bool failed;        /**< out of memory somewhere; checked by the driver */
} stn_repairer;

/* ---- tape (repair_tape.c) ---------------------------------------------- */

/** Put @p event on the tape if the checker accepts it. @param[out] broken may be NULL */
bool stn_tape_emit(stn_repairer *r, const stn_event *event, uint32_t edit, uint32_t rule,
                   uint32_t *broken);
/** Note that @p event was left out. */
bool stn_tape_delete(stn_repairer *r, const stn_event *event, uint32_t rule);
/** Put back an item that was taken off. @return false if the checker refuses it now */
bool stn_put_item(stn_repairer *r, const stn_item *item);
/** Take off all items from @p count on. */
void stn_tape_rewind(stn_repairer *r, size_t count);
/** Time of the last event. */
uint64_t stn_tape_time(const stn_repairer *r);
/** Move the whole tape to the output; what the checker knows of the past is tidied. */
stn_status stn_tape_flush(stn_repairer *r, stn_err *err) STN_MUST_USE;
/** Move all but the last @p keep items, at least 1, to the output. */
stn_status stn_tape_shorten(stn_repairer *r, size_t keep, stn_err *err) STN_MUST_USE;

/** Was input event @p index pulled forward? */
static inline bool stn_is_taken(const stn_repairer *r, size_t index) {
    return r->taken[index / 64] >> (index % 64) & 1;
}
static inline void stn_take(stn_repairer *r, size_t index) {
    r->taken[index / 64] |= UINT64_C(1) << (index % 64);
}

/* ---- making events (repair_make.c) ------------------------------------- */

/** Where a new event is to stand. */
typedef struct stn_place {
    uint64_t time_ns;
    const stn_event *goal; /**< the event it makes possible; borrowed */
} stn_place;

/** Event of @p type such that @p binding forms @p key (both may be NULL), the rest from the
 *  goal, the running threads and the last event of the type. @param variant 0, 1, …: other
 *  guesses for what is not fixed. @return false if there are no more, or out of memory */
bool stn_make_event(stn_repairer *r, uint32_t type, const stn_binding *binding, const stn_key *key,
                    const stn_place *place, uint32_t variant, stn_event *event);
/** @p event with fields set as rule @p rule wants them; those of @p fixed (may be NULL) stay.
 *  @return false if nothing is to be set */
bool stn_make_solved(stn_repairer *r, const stn_event *event, uint32_t rule,
                     const stn_binding *fixed, stn_event *made);
/** @p event with another key for @p rule: the latest one in a state that accepts its type. */
bool stn_make_rekeyed(stn_repairer *r, const stn_event *event, uint32_t rule,
                      const stn_binding *fixed, stn_event *made);
/** @p event with a key for @p rule that was never seen, a thing from before the trace. */
bool stn_make_fresh(stn_repairer *r, const stn_event *event, uint32_t rule,
                    const stn_binding *fixed, stn_event *made);
/** @p event with another type, fields from the last event of that type. */
bool stn_make_retyped(stn_repairer *r, const stn_event *event, uint32_t type, stn_event *made);
/** @p event given to thread @p tid. */
stn_event stn_make_reassigned(const stn_repairer *r, const stn_event *event, int32_t tid,
                              uint16_t cpu);
/** CPU on which @p tid runs, STN_NO_CPU. */
uint16_t stn_cpu_of(const stn_repairer *r, int32_t tid);
/** Remember input event @p index as the last of its type. */
bool stn_note_event(stn_repairer *r, size_t index);
/** Remember the event of a tape item as the last of its type on its CPU. */
bool stn_note_item(stn_repairer *r, const stn_item *item);

/* ---- solving conditions (repair_unify.c) ------------------------------- */

enum { STN_SOLUTION_MAX = 4 };

/** Values that parts of an event must have: fields by string id, or STN_PART_*. */
typedef struct stn_solution {
    uint32_t count;
    uint32_t part[STN_SOLUTION_MAX];
    int64_t value[STN_SOLUTION_MAX];
} stn_solution;

/** What would have to be set in @p event for the first transition of @p binding's rule that
 *  leaves the state of @p key to hold. @param which also what makes a transition the event's
 *  ("where")  @return false if nothing */
bool stn_unify(stn_repairer *r, const stn_event *event, const stn_binding *binding,
               const stn_key *key, bool which, stn_solution *solution);
/** Can an event of @p type change the state or a register of @p rule? */
bool stn_moves(const stn_repairer *r, uint32_t type, uint32_t rule);

/** Does @p type open a frame of @p rule? */
bool stn_opens_frame(const stn_repairer *r, uint32_t type, uint32_t rule);
/** Does @p type make some rule forget what it knew? */
bool stn_forgets(const stn_repairer *r, uint32_t type);
/** Did @p event open a frame that its key is in now? */
bool stn_frame_open(const stn_repairer *r, const stn_event *event);

/* ---- planning (repair_plan.c) ------------------------------------------ */

/** Told of each way found, which is on the tape. Return true to keep it there and stop; else
 *  the tape is put back to where the planning began. */
typedef bool (*stn_plan_found_fn)(void *user);

/** Put @p goal on the tape as edit @p edit for @p rule, with insertions before it as needed.
 *  On failure the tape is as before.
 *  @param depth insertions that may be put in  @param found NULL: take the first way */
bool stn_plan_insert(stn_repairer *r, const stn_event *goal, uint32_t edit, uint32_t rule,
                     uint32_t depth, stn_plan_found_fn found, void *user);
/** Emit @p event, its fields set until no rule refuses it; those of @p fixed (may be NULL) stay. */
bool stn_emit_fitted(stn_repairer *r, const stn_event *event, uint32_t edit, uint32_t rule,
                     const stn_binding *fixed);

/* ---- rolling out (repair_rollout.c) -------------------------------------- */

/** Input event @p index, not earlier than the end of the tape. */
stn_event stn_input_clamped(const stn_repairer *r, size_t index);
/** STN_EDIT_RETIME if @p event, made of input event @p index, has another time, else NONE. */
uint32_t stn_edit_of_time(const stn_repairer *r, const stn_event *event, size_t index);
/** Emit input event @p index as it is; what is done with, and a mark that is to be filled, are
 *  left out. */
bool stn_emit_input(stn_repairer *r, size_t index, uint32_t *broken);

enum { STN_PULLED_MAX = 4, STN_ROLLOUT_REFUSED = 24 };

/** Input events that a way pulls forward. */
typedef struct stn_pulled {
    size_t at[STN_PULLED_MAX + 1]; /**< [count] input indices */
    uint32_t count;
} stn_pulled;

bool stn_is_pulled(const stn_pulled *pulled, size_t index);

typedef struct stn_rollout {
    size_t next;      /**< the input event refused first; the end if there is none */
    size_t count;     /**< items on the tape then */
    uint32_t broken;  /**< by it; STN_NO_ID */
    uint32_t refused; /**< how many were */
    double cost;      /**< of what was refused, in edits, scaled to the whole stretch */
    uint32_t causes;
    uint32_t rules[STN_ROLLOUT_REFUSED]; /**< [causes] rule and CPU of what was refused */
    uint16_t cpus[STN_ROLLOUT_REFUSED];
} stn_rollout;

/** Follow the input from event @p next to @p end, leaving out what is refused; given up if that
 *  costs more than @p limit or is STN_ROLLOUT_REFUSED events. The caller rewinds the tape.
 *  @param pulled left out silently; may be NULL */
void stn_roll_out(stn_repairer *r, const stn_pulled *pulled, size_t next, size_t end, double limit,
                  stn_rollout *out);
/** Input index behind the window that begins with r->next: @p lookahead events, and some of every
 *  CPU that is not idle for long, since an edit may show only on a CPU that is quiet now. */
size_t stn_window_end(const stn_repairer *r, uint32_t lookahead);
/** Events of the window from input event @p next on that are refused, those before left out; at
 *  most @p most are counted. The tape stays as it is. */
uint32_t stn_count_refused(stn_repairer *r, size_t next, uint32_t most);

/* ---- search (repair_search.c, repair_cause.c) ----------------------------- */

#define STN_DELETE_COST 1.1 /**< of an event that goes */

/** Mend the break of @p rule by the input event r->next; advances r->next.
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_repair_search(stn_repairer *r, uint32_t rule) STN_MUST_USE;
/** Take out an event of the tape that made @p rule refuse the input event r->next, if with what
 *  is refused up to input event @p end that costs less than @p limit. Else the tape is as
 *  before. */
bool stn_repair_cause(stn_repairer *r, uint32_t rule, size_t end, double limit);

/* ---- lost stretches (repair_hole.c) ------------------------------------ */

void stn_hole_open(stn_repairer *r, const stn_event *mark);
/** Make input event r->next acceptable by events put into a hole. */
bool stn_hole_fill(stn_repairer *r, const stn_event *event, uint32_t rule);

#endif
