/* The tape: what stands of the repaired trace since the last flush. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/checker.h"
#include "kernel/rules/repair.h"

uint64_t stn_tape_time(const stn_repairer *r) {
    for (size_t i = r->tape_count; i > 0; i--) {
        if (r->tape[i - 1].edit != STN_EDIT_DELETE) {
            return r->tape[i - 1].event.time_ns;
        }
    }
    return r->flushed_ns;
}

static stn_item *tape_room(stn_repairer *r) {
    if (stn_grow(&r->tape, &r->tape_capacity, r->tape_count + 1, sizeof *r->tape)) {
        r->failed = true;
        return NULL;
    }
    return &r->tape[r->tape_count];
}

bool stn_tape_emit(stn_repairer *r, const stn_event *event, uint32_t edit, uint32_t rule,
                   uint32_t *broken) {
    stn_item *item = tape_room(r);
    uint32_t refused = STN_NO_ID;
    if (broken) {
        *broken = STN_NO_ID;
    }
    if (!item || event->time_ns < stn_tape_time(r)) {
        return false; /* no memory, or it would stand before what stands already */
    }
    stn_item made = {.event = *event, .edit = edit, .rule = rule};
    made.before = stn_checker_mark(r->checker);
    r->credit--;
    r->spent++;
    stn_status status = stn_checker_try(r->checker, event, &refused);
    if (status) {
        r->failed = r->failed || status == STN_ENOMEM;
        if (broken) {
            *broken = refused;
        }
        return false;
    }
    *item = made;
    r->tape_count++;
    return true;
}

bool stn_tape_delete(stn_repairer *r, const stn_event *event, uint32_t rule) {
    stn_item *item = tape_room(r);
    if (!item) {
        return false;
    }
    *item = (stn_item){.event = *event,
                       .edit = STN_EDIT_DELETE,
                       .rule = rule,
                       .before = stn_checker_mark(r->checker)};
    r->tape_count++;
    return true;
}

bool stn_put_item(stn_repairer *r, const stn_item *item) {
    if (item->edit == STN_EDIT_DELETE) {
        return stn_tape_delete(r, &item->event, item->rule);
    }
    return stn_tape_emit(r, &item->event, item->edit, item->rule, NULL);
}

void stn_tape_rewind(stn_repairer *r, size_t count) {
    if (count < r->tape_count) {
        stn_checker_undo(r->checker, r->tape[count].before);
        r->tape_count = count;
        r->noted = r->noted < count ? r->noted : count;
    }
}

static void count_edit(stn_repairer *r, const stn_item *item) {
    if (item->edit == STN_EDIT_NONE) {
        return;
    }
    r->edits[item->edit]++;
    if (item->rule < r->rule_count) {
        r->edits_by_rule[item->rule]++;
    }
}

/* The first @p count items to the output. */
static stn_status write_items(stn_repairer *r, size_t count, stn_err *err) {
    for (size_t i = 0; i < count; i++) {
        const stn_item *item = &r->tape[i];
        count_edit(r, item);
        if (item->edit == STN_EDIT_DELETE) {
            continue;
        }
        stn_status status = stn_trace_append(r->out, &item->event, err);
        if (status) {
            return status;
        }
        r->flushed_ns = item->event.time_ns;
    }
    return STN_OK;
}

stn_status stn_tape_flush(stn_repairer *r, stn_err *err) {
    stn_status status = write_items(r, r->tape_count, err);
    if (status) {
        return status;
    }
    r->tape_count = 0;
    r->noted = 0;
    r->hole_count = 0;
    stn_checker_keep(r->checker);
    (void)stn_checker_mark(r->checker);
    stn_arena_reset(&r->arena);
    r->arena_bytes = 0;
    return STN_OK;
}

/* Holes that lie in the first @p count items are gone. */
static void shift_holes(stn_repairer *r, size_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->hole_count; i++) {
        if (r->holes[i].at >= count) {
            r->holes[kept] = r->holes[i];
            r->holes[kept++].at -= count;
        }
    }
    r->hole_count = kept;
}

stn_status stn_tape_shorten(stn_repairer *r, size_t keep, stn_err *err) {
    if (r->tape_count <= keep) {
        return STN_OK;
    }
    size_t count = r->tape_count - keep;
    stn_status status = write_items(r, count, err);
    if (status) {
        return status;
    }
    stn_mark dropped = r->tape[count].before;
    stn_checker_drop(r->checker, dropped);
    memmove(r->tape, r->tape + count, keep * sizeof *r->tape);
    r->tape_count = keep;
    for (size_t i = 0; i < keep; i++) {
        r->tape[i].before -= dropped;
    }
    r->noted -= r->noted < count ? r->noted : count;
    shift_holes(r, count);
    return STN_OK;
}
