/* Lost stretches that are to be filled. A hole is a place on the tape. Nothing is put there
 * until an event behind it is refused: then what would make it acceptable directly before it
 * is moved into the latest hole from where everything up to the event still stands. So the
 * automata's states before and after the hole are joined by the fewest events, and an event
 * goes into the hole and not to where its absence shows. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/repair.h"

#define HOLE_REACH 512u /* tape items behind a hole within which it is filled */
#define HOLE_DEPTH 3u   /* events put in at a time */
#define HOLE_WAYS  6u
/* More refused behind it than this is not the right way. */
#define HOLE_REFUSED 8u

void stn_hole_open(stn_repairer *r, const stn_event *mark) {
    size_t at = r->tape_count;
    while (at > 0 && r->tape[at - 1].event.time_ns >= mark->time_ns) {
        at--;
    }
    if (r->hole_count == STN_HOLES_KEPT) {
        memmove(r->holes, r->holes + 1, (STN_HOLES_KEPT - 1) * sizeof *r->holes);
        r->hole_count--;
    }
    int64_t count = stn_field_int(stn_event_field(mark, r->names.count), 0);
    int64_t begin = stn_field_int(stn_event_field(mark, r->names.begin_ns), 0);
    r->holes[r->hole_count++] = (stn_hole){
        .at = at,
        .begin_ns = begin > 0 && (uint64_t)begin <= mark->time_ns ? (uint64_t)begin : 0,
        .end_ns = mark->time_ns,
        .left = count > 0 ? (uint64_t)count : UINT64_MAX,
        .cpu = mark->cpu,
    };
}

/* Emit @p made [count] spread over what the hole leaves between its neighbours. */
static bool emit_spread(stn_repairer *r, const stn_hole *hole, const stn_item *made, size_t count,
                        uint64_t next_ns, uint32_t rule) {
    uint64_t lo = stn_tape_time(r), hi = hole->end_ns < next_ns ? hole->end_ns : next_ns;
    hi = hi > lo ? hi : lo;
    /* After edits around it the hole may lie before what stands earlier than it begins. */
    lo = lo > hole->begin_ns ? lo : hole->begin_ns;
    lo = lo < hi ? lo : hi;
    for (size_t i = 0; i < count; i++) {
        stn_event event = made[i].event;
        event.time_ns = lo + (hi - lo) / (count + 1) * (i + 1);
        if (!stn_tape_emit(r, &event, STN_EDIT_RESTORE, rule, NULL)) {
            return false;
        }
    }
    return true;
}

static bool put_back(stn_repairer *r, const stn_item *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!stn_put_item(r, &items[i])) {
            return false;
        }
    }
    return true;
}

/* @p behind [n] are the tape's items behind the hole. Leaves the tape with @p made in the hole
 * and @p goal at the end, or as it was. */
static bool move_into(stn_repairer *r, stn_hole *hole, const stn_item *made, size_t count,
                      const stn_item *behind, size_t n, const stn_event *goal, uint32_t rule) {
    uint64_t next_ns = n ? behind[0].event.time_ns : goal->time_ns;
    for (size_t i = 0; i < count; i++) {
        if (hole->cpu != STN_NO_CPU && made[i].event.cpu != hole->cpu) {
            return false;
        }
    }
    stn_tape_rewind(r, hole->at);
    if (emit_spread(r, hole, made, count, next_ns, rule) && put_back(r, behind, n) &&
        stn_tape_emit(r, goal, STN_EDIT_NONE, STN_NO_ID, NULL)) {
        return true;
    }
    stn_tape_rewind(r, hole->at);
    (void)put_back(r, behind, n);
    return false;
}

static void hole_took(stn_repairer *r, uint32_t hole, size_t count) {
    if (r->holes[hole].left != UINT64_MAX) {
        r->holes[hole].left -= count;
    }
    for (uint32_t i = hole; i < r->hole_count; i++) {
        r->holes[i].at += count;
    }
}

/* One way to make the goal acceptable, @p made [count], into the latest hole that takes it. */
static bool into_holes(stn_repairer *r, const stn_item *made, size_t count, const stn_event *goal,
                       uint32_t rule) {
    for (uint32_t h = r->hole_count; h > 0 && !r->failed; h--) {
        stn_hole *hole = &r->holes[h - 1];
        if (hole->at > r->tape_count || r->tape_count - hole->at > HOLE_REACH || !hole->left) {
            continue;
        }
        size_t n = r->tape_count - hole->at;
        stn_item *behind = stn_malloc(n * sizeof *behind);
        if (!behind) {
            r->failed = true;
            return false;
        }
        memcpy(behind, r->tape + hole->at, n * sizeof *behind);
        bool moved = hole->left >= count && move_into(r, hole, made, count, behind, n, goal, rule);
        stn_free(behind);
        if (moved) {
            hole_took(r, h - 1, count);
            return true;
        }
    }
    return false;
}

/* What a way to make an event acceptable is tried with. */
typedef struct filling {
    stn_repairer *r;
    const stn_event *goal;
    size_t tail; /* tape index where the way begins */
    uint32_t rule, way;
    uint32_t best, best_way; /* least refused behind it */
    uint32_t chosen;         /* way to keep; HOLE_WAYS: still weighing */
} filling;

/* First all ways are weighed by what they leave refused, then the best one is kept. */
static bool filling_found(void *user) {
    filling *f = user;
    stn_item made[HOLE_DEPTH];
    size_t count = f->r->tape_count - f->tail - 1;
    uint32_t way = f->way++;
    if (count == 0 || count > HOLE_DEPTH || way >= HOLE_WAYS) {
        return false;
    }
    if (f->chosen < HOLE_WAYS && f->chosen != way) {
        return false;
    }
    memcpy(made, f->r->tape + f->tail, count * sizeof *made);
    if (f->chosen == HOLE_WAYS) {
        uint32_t refused = stn_count_refused(f->r, f->r->next + 1, f->best);
        if (refused < f->best) {
            f->best = refused;
            f->best_way = way;
        }
        return false;
    }
    stn_tape_rewind(f->r, f->tail);
    return into_holes(f->r, made, count, f->goal, f->rule);
}

bool stn_hole_fill(stn_repairer *r, const stn_event *event, uint32_t rule) {
    filling f = {.r = r,
                 .goal = event,
                 .tail = r->tape_count,
                 .rule = rule,
                 .chosen = HOLE_WAYS,
                 .best = HOLE_REFUSED + 1,
                 .best_way = HOLE_WAYS};
    if (!r->hole_count || r->credit <= 0) {
        return false;
    }
    (void)stn_plan_insert(r, event, STN_EDIT_NONE, rule, HOLE_DEPTH, filling_found, &f);
    if (f.best_way == HOLE_WAYS) {
        return false;
    }
    f.chosen = f.best_way;
    f.way = 0;
    return stn_plan_insert(r, event, STN_EDIT_NONE, rule, HOLE_DEPTH, filling_found, &f);
}
