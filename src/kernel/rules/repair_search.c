/* Beam search for the edits that mend a break. A node is a tail of the tape and the input
 * event that is refused behind it; its children are all edits that get past this event. A
 * child is rolled out: the input is followed up to the end of the window, leaving out what is
 * refused, and what had to be left out counts as edits still to come. The best node is
 * expanded, the best few are kept, until the best one reaches the end of the window clean or
 * what is refused there is clearly another break. The window begins a few events back, so that an
 * event that was wrongly accepted can still be taken out or overtaken. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/repair.h"

#define SEARCH_BACK     8u /* tape items that may still be changed */
#define SEARCH_DEPTH    6u /* edits deep, about, that the expansions suffice for */
#define SEARCH_CHILDREN 512u
#define MOVE_REACH      5u  /* places an event may be moved */
#define RETYPES         3u  /* kept per break */
#define PULL_REACH      64u /* input events looked at for one to pull forward */
#define PULLS           2u
#define INSERT_WAYS     6u
#define INSERT_DEPTH    4u
#define BISECTIONS      10u

/* Credit below which the search is narrowed, or not made at all. */
#define CREDIT_FULL 20000
/* One search may spend a share of the credit, and a little more. */
#define CREDIT_SHARE     16
#define CREDIT_LEAST     4000
#define NARROW_LOOKAHEAD 12u
#define NARROW_BEAM      2u

/* What an edit costs. All count as one; the small differences break ties: keep rather than
 * drop, move rather than invent. */
static const double edit_cost[STN_EDIT_COUNT] = {
    [STN_EDIT_INSERT] = 0.8,  [STN_EDIT_DELETE] = STN_DELETE_COST, [STN_EDIT_RETYPE] = 0.9,
    [STN_EDIT_RETIME] = 0.88, [STN_EDIT_REASSIGN] = 0.85,
};
#define PULL_COST    1.15 /* more than an insertion: it leaves a gap where it is taken */
#define SCORE_MARGIN 3.0  /* children worse than the best by more are not kept */
#define DOUBLE_COST  0.7  /* of deleting what has just been there at the same time */
/* An exit made an entry is rarely the truth, and leaves a debt behind the window. */
#define TURN_COST 0.8
/* So is a change to something else altogether. */
#define FAMILY_COST 0.5
/* A frame that an edit opened and that is still open at the window's end wants another. */
#define DEBT_COST 1.0
/* A settled way that costs no more is a single edit: no need to look for another cause. */
#define ORDINARY_SCORE 1.2
#define CAUSE_ROUND    2u

typedef struct node {
    stn_pulled pulled; /* at or behind next */
    stn_item *items;   /* [count] from the base on */
    size_t count;
    size_t next;     /* input event that is refused behind them, or the window's end */
    uint32_t broken; /* by it; STN_NO_ID at the end */
    uint32_t refused;
    double cost, score;
} node;

typedef struct search {
    stn_repairer *r;
    size_t base, begin, end; /* tape index; input indices */
    uint32_t beam, expansions;
    int64_t floor;   /* credit at which it ends */
    stn_arena arena; /* items of nodes */
    node *children;  /* [SEARCH_CHILDREN] found and not expanded */
    size_t child_count;
    double best_score; /* of all found so far */
    bool best_settled; /* the best one would end the search: only better ones still matter */
    /* of the node being expanded */
    size_t tail; /* tape index where its items end */
    size_t next;
    uint32_t broken;
    stn_pulled pulled;
    uint32_t ways; /* insertions found */
    double cost;
} search;

static stn_item *copy_items(search *s, size_t from, size_t to) {
    stn_item *items = stn_arena_alloc(&s->arena, (to - from + 1) * sizeof *items);
    if (!items) {
        s->r->failed = true;
        return NULL;
    }
    memcpy(items, s->r->tape + from, (to - from) * sizeof *items);
    return items;
}

static void restore(search *s, const node *n) {
    stn_tape_rewind(s->r, s->base);
    for (size_t i = 0; i < n->count; i++) {
        if (!stn_put_item(s->r, &n->items[i])) {
            return; /* only if out of memory: the checker is deterministic */
        }
    }
}

/* Frames opened by edits of the tape that are still open: someone will have to close them. */
static double debts(const search *s, size_t count) {
    double debt = 0;
    for (size_t i = s->base; i < count; i++) {
        const stn_item *item = &s->r->tape[i];
        if (item->edit == STN_EDIT_INSERT || item->edit == STN_EDIT_RESTORE ||
            item->edit == STN_EDIT_RETYPE) {
            debt += stn_frame_open(s->r, &item->event) ? DEBT_COST : 0;
        }
    }
    return debt;
}

static double score_limit(const search *s) {
    return !s->child_count ? 1e9 : s->best_settled ? s->best_score : s->best_score + SCORE_MARGIN;
}

/* May an edit that costs at least @p least still be chosen? */
static bool is_worth(const search *s, double least) {
    return s->cost + least <= score_limit(s);
}

/* Good enough to stop: clean, or what is refused is few and far, so another break. */
static bool is_settled(const search *s, const node *n) {
    size_t far = (s->end - s->begin) / 4;
    return n->broken == STN_NO_ID || (n->refused <= 2 && n->next >= s->begin + far + 2);
}

/* The tape holds a child that cost @p cost and goes on with input event @p next. */
static void add_child(search *s, double cost, size_t next) {
    stn_repairer *r = s->r;
    node child = {.cost = cost};
    double limit = score_limit(s);
    size_t edited = r->tape_count;
    stn_rollout out;
    stn_roll_out(r, &s->pulled, next, s->end, limit - cost, &out);
    child.count = out.count;
    child.next = out.next;
    child.broken = out.broken;
    child.refused = out.refused;
    child.score = cost + out.cost;
    child.score += debts(s, edited);
    if (child.score <= limit && s->child_count < SEARCH_CHILDREN) {
        child.items = copy_items(s, s->base, child.count);
        child.count -= s->base;
        child.pulled = s->pulled;
        if (child.items) {
            if (!s->child_count || child.score < s->best_score) {
                s->best_score = child.score;
                s->best_settled = is_settled(s, &child);
            }
            s->children[s->child_count++] = child;
        }
    }
    stn_tape_rewind(r, s->tail);
}

/* ---- edits --------------------------------------------------------------- */

/* Has the event just been there? */
static bool is_double(const search *s, const stn_event *event) {
    const stn_repairer *r = s->r;
    for (size_t i = s->tail; i > s->base; i--) {
        const stn_event *before = &r->tape[i - 1].event;
        if (before->type == event->type && before->tid == event->tid && before->cpu == event->cpu &&
            before->time_ns == event->time_ns) {
            return true;
        }
    }
    return false;
}

static void child_delete(search *s) {
    stn_event event = stn_input_clamped(s->r, s->next);
    double cost = is_double(s, &event) ? DOUBLE_COST : edit_cost[STN_EDIT_DELETE];
    if (stn_tape_delete(s->r, &event, s->broken)) {
        add_child(s, s->cost + cost, s->next + 1);
    }
}

/* A way to insert is on the tape. */
static bool child_insert(void *user) {
    search *s = user;
    double cost = s->cost;
    for (size_t i = s->tail; i < s->r->tape_count; i++) {
        if (s->r->tape[i].edit == STN_EDIT_INSERT) {
            cost += edit_cost[STN_EDIT_INSERT] + s->r->unlikely[s->r->tape[i].event.type];
        }
    }
    add_child(s, cost, s->next + 1);
    return ++s->ways == INSERT_WAYS;
}

static void children_insert(search *s) {
    stn_event event = stn_input_clamped(s->r, s->next);
    uint32_t edit = stn_edit_of_time(s->r, &event, s->next);
    if (!is_worth(s, edit_cost[STN_EDIT_INSERT])) {
        return;
    }
    s->ways = 0;
    stn_plan_insert(s->r, &event, edit, s->broken, INSERT_DEPTH, child_insert, s);
    stn_tape_rewind(s->r, s->tail);
}

/* One changed event in the place of the refused one. */
static bool child_change(search *s, const stn_event *event, uint32_t edit) {
    if (!is_worth(s, edit_cost[edit]) || !stn_tape_emit(s->r, event, edit, s->broken, NULL)) {
        return false;
    }
    add_child(s, s->cost + edit_cost[edit], s->next + 1);
    return true;
}

static void children_reassign(search *s) {
    stn_repairer *r = s->r;
    stn_event event = stn_input_clamped(r, s->next), made;
    int32_t running = stn_checker_running(r->checker, event.cpu);
    uint16_t cpu = stn_cpu_of(r, event.tid);
    if (running != STN_NO_TID && running != event.tid) {
        made = stn_make_reassigned(r, &event, running, event.cpu);
        child_change(s, &made, STN_EDIT_REASSIGN);
    }
    if (cpu != STN_NO_CPU && cpu != event.cpu) {
        made = stn_make_reassigned(r, &event, event.tid, cpu);
        child_change(s, &made, STN_EDIT_REASSIGN);
    }
    const stn_field *prev = stn_event_field(&event, r->names.prev_pid);
    int32_t leaves = (int32_t)stn_field_int(prev, event.tid);
    if (leaves != event.tid) {
        cpu = stn_cpu_of(r, leaves);
        made = stn_make_reassigned(r, &event, leaves, cpu == STN_NO_CPU ? event.cpu : cpu);
        child_change(s, &made, STN_EDIT_REASSIGN);
    }
}

/* One changed event, with what else then has to be set. */
static bool child_fitted(search *s, const stn_event *event, uint32_t edit, double cost) {
    if (!is_worth(s, edit_cost[edit] + cost) ||
        !stn_emit_fitted(s->r, event, edit, s->broken, NULL)) {
        return false;
    }
    add_child(s, s->cost + edit_cost[edit] + cost, s->next + 1);
    return true;
}

/* The refused event with the values that the rules want. */
static void child_solve(search *s) {
    stn_event event = stn_input_clamped(s->r, s->next);
    child_fitted(s, &event, STN_EDIT_RETYPE, 0);
}

static bool may_retype(const search *s, const stn_event *event, uint32_t type) {
    const stn_repairer *r = s->r;
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(r->rules, type, &count);
    stn_event probe = *event;
    probe.type = type;
    for (uint32_t b = 0; b < count; b++) {
        stn_key key;
        if (bindings[b].rule == s->broken &&
            stn_checker_key(r->checker, &bindings[b], &probe, &key)) {
            uint32_t state = stn_checker_state(r->checker, s->broken, &key);
            return stn_rules_accepts(r->rules, s->broken, state, type);
        }
    }
    return true;
}

/* Do the names begin alike, "sys_", "sched_"? */
static bool same_family(const char *a, const char *b) {
    size_t size = strcspn(a, "_");
    return size == strcspn(b, "_") && strncmp(a, b, size) == 0;
}

/* Does one name open something and the other close it? */
static bool turns_round(const stn_repairer *r, uint32_t a, uint32_t b) {
    static const char *const closing[] = {"exit", "_end", "_complete", "_cancel"};
    bool closes[2] = {false, false};
    for (size_t i = 0; i < sizeof closing / sizeof *closing; i++) {
        closes[0] |= strstr(stn_catalog_type_at(r->catalog, a)->name, closing[i]) != NULL;
        closes[1] |= strstr(stn_catalog_type_at(r->catalog, b)->name, closing[i]) != NULL;
    }
    return closes[0] != closes[1];
}

static double unlikely_cost(const stn_repairer *r, uint32_t from, uint32_t to) {
    bool alike = same_family(stn_catalog_type_at(r->catalog, from)->name,
                             stn_catalog_type_at(r->catalog, to)->name);
    return (turns_round(r, from, to) ? TURN_COST : 0) + (alike ? 0 : FAMILY_COST) + r->unlikely[to];
}

static void children_retype(search *s) {
    stn_repairer *r = s->r;
    stn_event event = stn_input_clamped(r, s->next), made;
    const stn_type_list *movers = &r->movers[s->broken];
    uint32_t kept = 0;
    for (uint32_t t = 0; t < movers->count && kept < RETYPES; t++) {
        uint32_t type = movers->types[t];
        if (type != event.type && may_retype(s, &event, type) &&
            stn_make_retyped(r, &event, type, &made)) {
            kept += child_fitted(s, &made, STN_EDIT_RETYPE, unlikely_cost(r, event.type, type));
        }
    }
}

/* Let the refused event wait until 1 … MOVE_REACH later ones have passed. */
static void children_defer(search *s) {
    stn_repairer *r = s->r;
    for (uint32_t k = 1;
         k <= MOVE_REACH && s->next + k < s->end && is_worth(s, edit_cost[STN_EDIT_RETIME]); k++) {
        bool whole = true;
        for (uint32_t i = 1; whole && i <= k; i++) {
            whole = stn_is_pulled(&s->pulled, s->next + i) || stn_emit_input(r, s->next + i, NULL);
        }
        if (!whole) {
            stn_tape_rewind(r, s->tail);
            return;
        }
        stn_event event = stn_input_clamped(r, s->next);
        if (stn_tape_emit(r, &event, STN_EDIT_RETIME, s->broken, NULL)) {
            add_child(s, s->cost + edit_cost[STN_EDIT_RETIME], s->next + k + 1);
        }
        stn_tape_rewind(r, s->tail);
    }
}

/* Does @p event touch the broken rule with the key of @p goal? */
static bool same_key(const search *s, const stn_event *event, const stn_event *goal) {
    const stn_repairer *r = s->r;
    uint32_t count, goal_count;
    const stn_binding *a = stn_rules_bindings(r->rules, event->type, &count);
    const stn_binding *b = stn_rules_bindings(r->rules, goal->type, &goal_count);
    for (uint32_t i = 0; i < count; i++) {
        stn_key key, wanted;
        if (a[i].rule != s->broken || !stn_checker_key(r->checker, &a[i], event, &key)) {
            continue;
        }
        for (uint32_t k = 0; k < goal_count; k++) {
            if (b[k].rule == s->broken && stn_checker_key(r->checker, &b[k], goal, &wanted) &&
                key.count == wanted.count &&
                memcmp(key.v, wanted.v, key.count * sizeof *key.v) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* What the refused event needs may stand too late: pull it forward. */
static void children_pull(search *s) {
    stn_repairer *r = s->r;
    stn_event goal = stn_input_clamped(r, s->next);
    uint32_t edit = stn_edit_of_time(r, &goal, s->next), found = 0;
    size_t far = s->next + PULL_REACH < s->end ? s->next + PULL_REACH : s->end;
    for (size_t i = s->next + 1;
         i < far && found < PULLS && s->pulled.count < STN_PULLED_MAX && is_worth(s, PULL_COST);
         i++) {
        stn_event event = r->in->events[i];
        if (event.type == STN_TYPE_LOST || stn_is_pulled(&s->pulled, i) || stn_is_taken(r, i) ||
            !same_key(s, &event, &goal)) {
            continue;
        }
        event.time_ns = goal.time_ns;
        if (stn_tape_emit(r, &event, STN_EDIT_RETIME, s->broken, NULL) &&
            stn_tape_emit(r, &goal, edit, s->broken, NULL)) {
            s->pulled.at[s->pulled.count++] = i;
            add_child(s, s->cost + PULL_COST, s->next + 1);
            s->pulled.count--;
            found++;
        }
        stn_tape_rewind(r, s->tail);
    }
}

/* Put back @p items, the one at @p without (or none) as deleted. */
static bool put_items(search *s, const stn_item *items, size_t count, size_t without) {
    for (size_t i = 0; i < count; i++) {
        bool put = i == without ? stn_tape_delete(s->r, &items[i].event, s->broken)
                                : stn_put_item(s->r, &items[i]);
        if (!put) {
            return false;
        }
    }
    return true;
}

/* The tape again as it was when @p items [count], its last ones, had been copied. */
static void put_back(search *s, const stn_item *items, size_t count) {
    stn_tape_rewind(s->r, s->tail - count);
    (void)put_items(s, items, count, count);
}

/* Let the refused event overtake @p items [count], the last ones of the tape. */
static void child_overtake(search *s, const stn_item *items, size_t count) {
    stn_event event = s->r->in->events[s->next];
    event.time_ns = items->event.time_ns;
    stn_tape_rewind(s->r, s->tail - count);
    if (stn_tape_emit(s->r, &event, STN_EDIT_RETIME, s->broken, NULL) &&
        put_items(s, items, count, count)) {
        /* s->tail is no longer on the tape: add_child() must not rewind to it */
        add_child(s, s->cost + edit_cost[STN_EDIT_RETIME], s->next + 1);
    }
    put_back(s, items, count);
}

/* Take out the first of @p items [count], the last ones of the tape. */
static void child_without(search *s, const stn_item *items, size_t count) {
    stn_tape_rewind(s->r, s->tail - count);
    if (put_items(s, items, count, 0) && stn_emit_input(s->r, s->next, NULL)) {
        add_child(s, s->cost + edit_cost[STN_EDIT_DELETE], s->next + 1);
    }
    put_back(s, items, count);
}

/* Change what came before. */
static void children_back(search *s) {
    size_t reach = s->tail - s->base;
    const stn_item *items = copy_items(s, s->base, s->tail);
    for (size_t k = 1; items && k <= reach && !s->r->failed; k++) {
        const stn_item *moved = &items[reach - k];
        if (moved->edit != STN_EDIT_NONE) {
            continue;
        }
        if (k <= MOVE_REACH && is_worth(s, edit_cost[STN_EDIT_RETIME])) {
            child_overtake(s, moved, k);
        }
        if (moved->event.type != STN_TYPE_LOST && is_worth(s, edit_cost[STN_EDIT_DELETE]) &&
            stn_moves(s->r, moved->event.type, s->broken)) {
            child_without(s, moved, k);
        }
    }
}

/* Another time between the neighbours: the nearest that is accepted. */
static void child_retime(search *s, uint64_t extreme) {
    stn_repairer *r = s->r;
    stn_event event = stn_input_clamped(r, s->next);
    uint64_t refused = event.time_ns, good = extreme;
    event.time_ns = extreme;
    if (extreme == refused || !is_worth(s, edit_cost[STN_EDIT_RETIME]) ||
        !stn_tape_emit(r, &event, STN_EDIT_RETIME, s->broken, NULL)) {
        return;
    }
    stn_tape_rewind(r, s->tail);
    for (uint32_t i = 0; i < BISECTIONS; i++) {
        event.time_ns = good / 2 + refused / 2 + (good & refused & 1);
        if (stn_tape_emit(r, &event, STN_EDIT_RETIME, s->broken, NULL)) {
            good = event.time_ns;
            stn_tape_rewind(r, s->tail);
        } else {
            refused = event.time_ns;
        }
    }
    event.time_ns = good;
    child_change(s, &event, STN_EDIT_RETIME);
}

static void children_retime(search *s) {
    child_retime(s, stn_tape_time(s->r));
    if (s->next + 1 < s->end) {
        child_retime(s, stn_input_clamped(s->r, s->next + 1).time_ns);
    }
}

static void expand(search *s, const node *n) {
    restore(s, n);
    s->tail = s->base + n->count;
    s->next = n->next;
    s->broken = n->broken;
    s->cost = n->cost;
    s->pulled = n->pulled;
    /* What costs least to look at first: the better the best, the sooner the others are given up.
     */
    child_delete(s);
    children_reassign(s);
    child_solve(s);
    children_defer(s);
    children_retime(s);
    children_back(s);
    children_insert(s);
    children_pull(s);
    children_retype(s);
}

/* ---- levels --------------------------------------------------------------- */

static int node_order(const void *left, const void *right) {
    const node *a = left, *b = right;
    if (a->score != b->score) {
        return a->score < b->score ? -1 : 1;
    }
    if (a->next != b->next) {
        return a->next > b->next ? -1 : 1;
    }
    return (a->items > b->items) - (a->items < b->items);
}

/* Best first, with no more than the beam's width kept: after each expansion the open nodes
 * are ordered and the worst dropped. Ends when the best of all is settled, or what the search may
 * spend is gone. If no single edit mends it, the cause may be one long past.
 * @return STN_OK; STN_END if a cause was taken out, which is on the tape; STN_ENOMEM */
static stn_status search_run(search *s, const node *root, node *best) {
    node now = *root;
    for (uint32_t round = 0; round < s->expansions; round++) {
        expand(s, &now);
        if (s->r->failed || !s->child_count) {
            return s->r->failed || !round ? STN_ENOMEM : STN_OK;
        }
        qsort(s->children, s->child_count, sizeof *s->children, node_order);
        s->child_count = s->child_count < s->beam ? s->child_count : s->beam;
        if (!round || s->children[0].score < best->score) {
            *best = s->children[0];
        }
        now = s->children[0];
        bool settled = is_settled(s, &now);
        settled |= s->r->failed || s->r->credit <= s->floor;
        if ((round == CAUSE_ROUND || (settled && round < CAUSE_ROUND)) &&
            best->score > ORDINARY_SCORE) {
            restore(s, root);
            if (stn_repair_cause(s->r, root->broken, s->end, best->score)) {
                return STN_END;
            }
        }
        if (settled) {
            break;
        }
        memmove(s->children, s->children + 1, --s->child_count * sizeof *s->children);
    }
    return STN_OK;
}

static void accept(search *s, const node *best) {
    restore(s, best);
    for (uint32_t i = 0; i < best->pulled.count; i++) {
        stn_take(s->r, best->pulled.at[i]);
    }
    s->r->next = best->next;
}

stn_status stn_repair_search(stn_repairer *r, uint32_t rule) {
    bool full = r->credit > CREDIT_FULL;
    if (r->credit <= 0) {
        stn_event event = stn_input_clamped(r, r->next++);
        return stn_tape_delete(r, &event, rule) ? STN_OK : STN_ENOMEM;
    }
    size_t back = r->tape_count < SEARCH_BACK ? r->tape_count : SEARCH_BACK;
    search s = {
        .r = r,
        .base = r->tape_count - back,
        .begin = r->next,
        .end = stn_window_end(r, full ? r->lookahead : NARROW_LOOKAHEAD),
        .beam = full ? r->beam : NARROW_BEAM,
        .expansions = full ? SEARCH_DEPTH * r->beam / 2 : NARROW_BEAM,
        .floor = r->credit - r->credit / CREDIT_SHARE - CREDIT_LEAST,
        .children = stn_malloc(SEARCH_CHILDREN * sizeof *s.children),
    };
    node root = {.count = back, .next = r->next, .broken = rule}, best = {0};
    root.items = s.children ? copy_items(&s, s.base, r->tape_count) : NULL;
    stn_status status = root.items ? search_run(&s, &root, &best) : STN_ENOMEM;
    if (!status) {
        accept(&s, &best);
    }
    stn_free(s.children);
    stn_arena_fini(&s.arena);
    return r->failed || (status && status != STN_END) ? STN_ENOMEM : STN_OK;
}
