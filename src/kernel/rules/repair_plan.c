/* Planning insertions by chaining backwards: the goal is refused by a rule; each type that
 * moves this rule's automaton for the goal's key may be put before it; if one of those is
 * refused itself, it becomes a goal in turn. Everything is tried on the checker and taken
 * back. */
#include "kernel/rules/repair.h"

#define PLAN_CHAINED 6u   /* candidates per goal that may have needs of their own */
#define PLAN_FITS    4u   /* rounds of setting fields */
#define PLAN_STEPS   1000 /* checker steps that one plan may take */

/* What one level of the chain works on. */
typedef struct plan {
    stn_repairer *r;
    const stn_event *goal;
    uint32_t edit, rule; /* of the goal, once emitted */
    uint32_t broken;     /* why the goal is refused */
    stn_plan_found_fn found;
    void *user;
    uint32_t ways; /* found so far */
    int64_t floor; /* credit at which it is given up */
} plan;

/* Inserted events stand shortly before the goal, spread evenly if the gap is small. */
#define PLAN_STEP_NS 2000u

static uint64_t insert_time(const stn_repairer *r, const stn_event *goal) {
    uint64_t from = stn_tape_time(r), to = goal->time_ns > from ? goal->time_ns : from;
    uint64_t step = (to - from) / 2;
    return to - (step < PLAN_STEP_NS ? step : PLAN_STEP_NS);
}

bool stn_emit_fitted(stn_repairer *r, const stn_event *event, uint32_t edit, uint32_t rule,
                     const stn_binding *fixed) {
    stn_event now = *event, next;
    for (uint32_t round = 0; round < PLAN_FITS; round++) {
        uint32_t why;
        if (stn_tape_emit(r, &now, edit, rule, &why)) {
            return true;
        }
        if (why == STN_NO_ID ||
            (!stn_make_solved(r, &now, why, fixed, &next) &&
             !stn_make_rekeyed(r, &now, why, fixed, &next) &&
             !stn_make_solved(r, &now, STN_NO_ID, fixed, &next) &&
             !(edit == STN_EDIT_INSERT && stn_make_fresh(r, &now, why, fixed, &next)))) {
            return false;
        }
        now = next;
    }
    return false;
}

static bool plan_chain(plan *p, uint32_t depth);

/* The tape holds a way: does who asked want it? */
static bool plan_take(plan *p) {
    p->ways++;
    return !p->found || p->found(p->user);
}

/* Does @p made directly before the goal suffice? */
static bool plan_direct(plan *p, const stn_event *made, const stn_binding *binding) {
    size_t before = p->r->tape_count;
    if (stn_emit_fitted(p->r, made, STN_EDIT_INSERT, p->broken, binding) &&
        stn_tape_emit(p->r, p->goal, p->edit, p->rule, NULL) && plan_take(p)) {
        return true;
    }
    stn_tape_rewind(p->r, before);
    return false;
}

/* Put @p made before the goal with what either needs. */
static bool plan_chained(plan *p, const stn_event *made, const stn_binding *binding,
                         uint32_t depth) {
    size_t before = p->r->tape_count;
    plan need = {
        .r = p->r, .goal = made, .edit = STN_EDIT_INSERT, .rule = p->broken, .floor = p->floor};
    if (stn_emit_fitted(p->r, made, STN_EDIT_INSERT, p->broken, binding) ||
        plan_chain(&need, depth - 1)) {
        size_t used = p->r->tape_count - before;
        plan rest = *p;
        rest.found = NULL;
        if (plan_chain(&rest, used < depth ? depth - (uint32_t)used : 0) && plan_take(p)) {
            return true;
        }
    }
    stn_tape_rewind(p->r, before);
    return false;
}

/* System calls: an exit needs the entry of its own call, an entry never another entry. */
static bool is_vain(const plan *p, uint32_t type) {
    const stn_type *made = stn_catalog_type_at(p->r->catalog, type);
    const stn_type *goal = stn_catalog_type_at(p->r->catalog, p->goal->type);
    return made->syscall_enter &&
           (goal->syscall_enter || (goal->syscall_exit && goal->syscall_id != made->syscall_id));
}

static bool plan_type(plan *p, uint32_t type, const stn_key *key, uint32_t depth, uint32_t *tried) {
    stn_repairer *r = p->r;
    stn_place place = {.time_ns = insert_time(r, p->goal), .goal = p->goal};
    uint32_t count, state = stn_checker_state(r->checker, p->broken, key);
    const stn_binding *bindings = stn_rules_bindings(r->rules, type, &count);
    for (uint32_t b = 0; b < count && !r->failed; b++) {
        stn_event made;
        if (bindings[b].rule != p->broken || bindings[b].part_count != key->count ||
            !stn_rules_accepts(r->rules, p->broken, state, type)) {
            continue;
        }
        for (uint32_t v = 0; stn_make_event(r, type, &bindings[b], key, &place, v, &made); v++) {
            if (depth == 0 && plan_direct(p, &made, &bindings[b])) {
                return true;
            }
            if (depth > 0 && ++*tried <= PLAN_CHAINED &&
                plan_chained(p, &made, &bindings[b], depth)) {
                return true;
            }
        }
    }
    return false;
}

/* Try all ways to move the broken rule with one of the goal's keys. @p depth 0: direct. */
static bool plan_keys(plan *p, uint32_t depth) {
    stn_repairer *r = p->r;
    uint32_t count, tried = 0;
    const stn_binding *bindings = stn_rules_bindings(r->rules, p->goal->type, &count);
    for (uint32_t b = 0; b < count; b++) {
        stn_key key;
        if (bindings[b].rule != p->broken ||
            !stn_checker_key(r->checker, &bindings[b], p->goal, &key)) {
            continue;
        }
        const stn_type_list *movers = &r->movers[p->broken];
        for (uint32_t t = 0; t < movers->count && !r->failed && r->credit > p->floor; t++) {
            /* What opens a frame helps only what closes it, and that at once. */
            if (!is_vain(p, movers->types[t]) &&
                (depth == 0 || !stn_opens_frame(r, movers->types[t], p->broken)) &&
                plan_type(p, movers->types[t], &key, depth, &tried)) {
                return true;
            }
        }
    }
    return false;
}

static bool plan_chain(plan *p, uint32_t depth) {
    if (stn_tape_emit(p->r, p->goal, p->edit, p->rule, &p->broken)) {
        return plan_take(p);
    }
    if (depth == 0 || p->broken == STN_NO_ID || p->r->failed) {
        return false;
    }
    return plan_keys(p, 0) || (depth > 1 && !p->ways && plan_keys(p, depth));
}

bool stn_plan_insert(stn_repairer *r, const stn_event *goal, uint32_t edit, uint32_t rule,
                     uint32_t depth, stn_plan_found_fn found, void *user) {
    size_t before = r->tape_count;
    int64_t floor = r->credit > PLAN_STEPS ? r->credit - PLAN_STEPS : 0;
    plan p = {.floor = floor,
              .r = r,
              .goal = goal,
              .edit = edit,
              .rule = rule,
              .found = found,
              .user = user};
    if (plan_chain(&p, depth)) {
        return true;
    }
    stn_tape_rewind(r, before);
    return false;
}
