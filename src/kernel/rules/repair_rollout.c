/* Rolling out: the input is followed behind the tape as it is, leaving out what is refused. What
 * had to be left out tells how good the tape's end is. */
#include "kernel/rules/repair.h"

#define REFUSED_COST   1.1 /* of the first event that a rule refuses on a CPU … */
#define REPEATED_COST  0.3 /* … and of a later one: one edit mends what has one cause */
#define WINDOW_STRETCH 4u  /* the window may grow to so many times the look-ahead */
#define WINDOW_CPUS    64u
#define WINDOW_EACH    4u /* events of each CPU wanted in it */

stn_event stn_input_clamped(const stn_repairer *r, size_t index) {
    stn_event event = r->in->events[index];
    uint64_t time = stn_tape_time(r);
    event.time_ns = event.time_ns < time ? time : event.time_ns;
    return event;
}

uint32_t stn_edit_of_time(const stn_repairer *r, const stn_event *event, size_t index) {
    return event->time_ns == r->in->events[index].time_ns ? STN_EDIT_NONE : STN_EDIT_RETIME;
}

bool stn_emit_input(stn_repairer *r, size_t index, uint32_t *broken) {
    if (stn_is_taken(r, index) || (r->fill_lost && r->in->events[index].type == STN_TYPE_LOST)) {
        return true;
    }
    stn_event event = stn_input_clamped(r, index);
    return stn_tape_emit(r, &event, stn_edit_of_time(r, &event, index), STN_NO_ID, broken);
}

bool stn_is_pulled(const stn_pulled *pulled, size_t index) {
    for (uint32_t i = 0; i < pulled->count; i++) {
        if (pulled->at[i] == index) {
            return true;
        }
    }
    return false;
}

/* Each rule on each CPU counts in full once, then little. */
static void count_refused(stn_rollout *out, uint32_t rule, uint16_t cpu) {
    out->refused++;
    for (uint32_t i = 0; i < out->causes; i++) {
        if (out->rules[i] == rule && out->cpus[i] == cpu) {
            out->cost += REPEATED_COST;
            return;
        }
    }
    out->rules[out->causes] = rule;
    out->cpus[out->causes++] = cpu;
    out->cost += REFUSED_COST;
}

void stn_roll_out(stn_repairer *r, const stn_pulled *pulled, size_t next, size_t end, double limit,
                  stn_rollout *out) {
    *out = (stn_rollout){.next = end, .broken = STN_NO_ID};
    size_t i = next;
    for (; i < end && !r->failed && out->refused < STN_ROLLOUT_REFUSED; i++) {
        uint32_t broken;
        if ((pulled && stn_is_pulled(pulled, i)) || stn_emit_input(r, i, &broken)) {
            continue;
        }
        if (!out->refused) {
            out->count = r->tape_count;
            out->next = i;
            out->broken = broken;
        }
        count_refused(out, broken, r->in->events[i].cpu);
        if (out->cost > limit) {
            break;
        }
    }
    out->count = out->refused ? out->count : r->tape_count;
    /* A rollout that was given up would have gone on like this. */
    out->cost *= i > next ? (double)(end - next) / (double)(i - next) : 1;
}

size_t stn_window_end(const stn_repairer *r, uint32_t lookahead) {
    size_t end = r->next + 1, far = r->next + (size_t)lookahead * WINDOW_STRETCH;
    uint32_t seen[WINDOW_CPUS] = {0},
             cpus = r->cpu_count < WINDOW_CPUS ? r->cpu_count : WINDOW_CPUS;
    uint32_t waiting = cpus;
    while (end < r->in->count && end < far && (end < r->next + lookahead || waiting)) {
        const stn_event *event = &r->in->events[end];
        waiting -= event->cpu < cpus && ++seen[event->cpu] == WINDOW_EACH;
        end++;
    }
    return end;
}

uint32_t stn_count_refused(stn_repairer *r, size_t next, uint32_t most) {
    size_t tail = r->tape_count, end = stn_window_end(r, r->lookahead);
    uint32_t refused = 0;
    for (size_t i = next; i < end && refused < most && !r->failed; i++) {
        refused += !stn_emit_input(r, i, NULL);
    }
    stn_tape_rewind(r, tail);
    return refused;
}
