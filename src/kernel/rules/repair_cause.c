/* Causes long past. An event may be refused because of one that was wrongly accepted far beyond the
 * reach of the search: an interrupt that never was leaves its CPU in a handler, an exit that never
 * was leaves a living thread dead, and without this whatever comes then would be taken out piece
 * by piece. The checker's log tells where the automaton that refuses came into its state; if all
 * that was accepted since holds without that event too, it is the one to go. */
#include "kernel/rules/checker.h"
#include "kernel/rules/repair.h"

#include <string.h>

#include "core/base/alloc.h"

#define CAUSE_LOOKS   64u /* changes of an automaton looked at */
#define CAUSE_TRIES   2u
#define CAUSE_REFUSED 2u /* items that may be refused without it */
/* What was accepted for long is likely right: the others must be that much worse. */
#define CAUSE_MARGIN 1.0

/* Key of the rule with which the refused event meets a state that it must not. */
static bool refused_key(const stn_repairer *r, uint32_t rule, const stn_event *goal, stn_key *key) {
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(r->rules, goal->type, &count);
    bool found = false;
    for (uint32_t b = 0; b < count; b++) {
        stn_key made;
        if (bindings[b].rule != rule || !stn_checker_key(r->checker, &bindings[b], goal, &made)) {
            continue;
        }
        uint32_t state = stn_checker_state(r->checker, rule, &made);
        if (!stn_rules_accepts(r->rules, rule, state, goal->type)) {
            *key = made;
            return true;
        }
        *key = found ? *key : made;
        found = true;
    }
    return found;
}

/* Tape index of the item that made the log longer than @p at. */
static size_t item_of_mark(const stn_repairer *r, stn_mark at) {
    size_t low = 0, high = r->tape_count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        *(r->tape[middle].before <= at ? &low : &high) = middle;
    }
    return low;
}

/* Tape indices of items that may have brought about the state that refuses @p goal, the latest
 * first. In a stack of frames those that opened one which is still open. */
static uint32_t find_causes(const stn_repairer *r, uint32_t rule, const stn_event *goal,
                            size_t causes[CAUSE_TRIES]) {
    stn_key key;
    if (!refused_key(r, rule, goal, &key)) {
        return 0;
    }
    bool framed = r->rules->rules[rule]->framed;
    uint32_t count = 0, closed = 0;
    stn_mark at = SIZE_MAX;
    size_t last = SIZE_MAX;
    for (uint32_t looked = 0; looked < CAUSE_LOOKS && count < CAUSE_TRIES; looked++) {
        at = stn_checker_changed(r->checker, rule, &key, at);
        if (at == SIZE_MAX) {
            break;
        }
        size_t item = item_of_mark(r, at);
        if (item == last || r->tape[item].event.type == STN_TYPE_LOST) {
            continue;
        }
        last = item;
        bool opens = framed && stn_opens_frame(r, r->tape[item].event.type, rule);
        if (framed && (!opens || closed)) {
            closed += opens ? -1u : 1u;
            continue;
        }
        causes[count++] = item;
    }
    return count;
}

/* @p item is not put back: an event of the input is deleted, one that was put in is gone. */
static void leave_out(stn_repairer *r, const stn_item *item, uint32_t rule) {
    if (item->edit != STN_EDIT_INSERT && item->edit != STN_EDIT_RESTORE) {
        (void)stn_tape_delete(r, &item->event, rule);
    }
}

/* Put back @p items but the first, and what is refused then. @return how many of those; more than
 * CAUSE_REFUSED: it was given up */
static uint32_t put_without(stn_repairer *r, const stn_item *items, size_t count, uint32_t rule) {
    uint32_t refused = 0;
    leave_out(r, &items[0], rule);
    for (size_t i = 1; i < count && refused <= CAUSE_REFUSED && !r->failed; i++) {
        if (!stn_put_item(r, &items[i])) {
            refused++;
            leave_out(r, &items[i], rule);
        }
    }
    return refused;
}

/* Without tape item @p at: does it cost less than @p limit? If not, the tape is as before. */
static bool try_without(stn_repairer *r, size_t at, uint32_t rule, size_t end, double limit) {
    size_t count = r->tape_count - at;
    stn_item *items = stn_malloc(count * sizeof *items);
    if (!items) {
        r->failed = true;
        return false;
    }
    memcpy(items, r->tape + at, count * sizeof *items);
    stn_tape_rewind(r, at);
    uint32_t refused = put_without(r, items, count, rule);
    double cost = STN_DELETE_COST * (1 + refused) + CAUSE_MARGIN;
    size_t tail = r->tape_count, gone = at + count - tail;
    bool better = refused <= CAUSE_REFUSED && cost < limit;
    if (better) {
        stn_rollout out;
        stn_roll_out(r, NULL, r->next, end, limit - cost, &out);
        better = cost + out.cost < limit;
    }
    stn_tape_rewind(r, better ? tail : at);
    for (size_t i = 0; i < count && !better; i++) {
        (void)stn_put_item(r, &items[i]);
    }
    for (uint32_t h = 0; h < r->hole_count && better; h++) {
        r->holes[h].at -= r->holes[h].at > at ? gone : 0;
    }
    stn_free(items);
    return better;
}

bool stn_repair_cause(stn_repairer *r, uint32_t rule, size_t end, double limit) {
    size_t causes[CAUSE_TRIES];
    stn_event goal = stn_input_clamped(r, r->next);
    uint32_t count = find_causes(r, rule, &goal, causes);
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        if ((int64_t)(r->tape_count - causes[i]) * 2 > r->credit) {
            return false;
        }
        if (try_without(r, causes[i], rule, end, limit)) {
            return true;
        }
    }
    return false;
}
