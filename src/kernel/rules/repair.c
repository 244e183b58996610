/* Repair: follow the input, mend where a rule is broken, check the result. */
#include "kernel/rules/repair.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

#define REPAIR_BEAM      8u
#define REPAIR_LOOKAHEAD 32u
#define TAPE_ITEMS       16384u
#define TAPE_KEPT        8192u
#define FLUSH_EVENTS     200000u
#define ARENA_BYTES      (16u << 20)
#define RARITY_COST      0.1 /* per factor of ten that a type is rarer than all events */
#define FORGET_COST      1.5f
/* Asked whether to go on after so many events, or steps of the checker if that is sooner. */
#define PROGRESS_EVENTS 4096u
#define PROGRESS_STEPS  32768u
/* Checker steps that may go into searching: so many per event, and so many saved up. This
 * bounds the time by the length of the trace, whatever is in it. */
#define CREDIT_EVENT 96
#define CREDIT_START 1000000
#define CREDIT_MAX   4000000

static void names_init(stn_names *n, const stn_catalog *c) {
    const struct {
        uint32_t *id;
        const char *name;
    } rows[] = {
        {&n->prev_pid, "prev_pid"},
        {&n->prev_comm, "prev_comm"},
        {&n->prev_state, "prev_state"},
        {&n->next_pid, "next_pid"},
        {&n->next_comm, "next_comm"},
        {&n->pid, "pid"},
        {&n->comm, "comm"},
        {&n->child_pid, "child_pid"},
        {&n->target_cpu, "target_cpu"},
        {&n->orig_cpu, "orig_cpu"},
        {&n->dest_cpu, "dest_cpu"},
        {&n->ret, "ret"},
        {&n->synth, "synth"},
        {&n->begin_ns, "begin_ns"},
        {&n->count, "count"},
        {&n->sched_switch, "sched_switch"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i].id = stn_catalog_find(c, rows[i].name);
    }
}

/* Which types of the input move which rule. */
static stn_status find_movers(stn_repairer *r) {
    for (uint32_t type = 1; type < r->type_count; type++) {
        uint32_t count = 0;
        const stn_binding *bindings =
            r->first[type] ? stn_rules_bindings(r->rules, type, &count) : NULL;
        for (uint32_t b = 0; b < count; b++) {
            stn_type_list *list = &r->movers[bindings[b].rule];
            if ((list->count && list->types[list->count - 1] == type) ||
                !stn_moves(r, type, bindings[b].rule)) {
                continue;
            }
            if (stn_grow(&list->types, &list->capacity, list->count + 1, sizeof *list->types)) {
                return STN_ENOMEM;
            }
            list->types[list->count++] = type;
        }
    }
    return STN_OK;
}

/* Rare types are rarely the truth; those that make a rule forget would excuse anything. */
static void weigh_types(stn_repairer *r) {
    for (size_t i = 0; i < r->in->count; i++) {
        r->unlikely[r->in->events[i].type]++;
    }
    for (uint32_t type = 0; type < r->type_count; type++) {
        double share = (r->unlikely[type] + 1.0) / ((double)r->in->count + 1.0);
        r->unlikely[type] = (float)(-RARITY_COST * log10(share));
        if (r->first[type] && stn_forgets(r, type)) {
            r->unlikely[type] += FORGET_COST;
        }
    }
}

static stn_status repairer_init(stn_repairer *r, stn_err *err) {
    r->type_count = stn_catalog_type_count(r->catalog);
    r->rule_count = stn_rules_count(r->rules);
    names_init(&r->names, r->catalog);
    r->first = stn_calloc(r->type_count, sizeof *r->first);
    r->taken = stn_calloc(r->in->count / 64 + 1, sizeof *r->taken);
    r->unlikely = stn_calloc(r->type_count, sizeof *r->unlikely);
    r->last = stn_calloc(r->type_count, sizeof *r->last);
    r->movers = stn_calloc(r->rule_count, sizeof *r->movers);
    r->edits_by_rule = stn_calloc(r->rule_count, sizeof *r->edits_by_rule);
    if (!r->taken || !r->unlikely || !r->first || !r->last || !r->movers || !r->edits_by_rule) {
        return stn_err_set(err, STN_ENOMEM, "repair: out of memory");
    }
    for (size_t i = 0; i < r->in->count; i++) {
        const stn_event *event = &r->in->events[i];
        if (!r->first[event->type]) {
            r->first[event->type] = (uint32_t)i + 1;
        }
        if (event->cpu != STN_NO_CPU && event->cpu >= r->cpu_count) {
            r->cpu_count = event->cpu + 1u;
        }
    }
    weigh_types(r);
    if (find_movers(r)) {
        return stn_err_set(err, STN_ENOMEM, "repair: out of memory");
    }
    return stn_checker_new(&r->checker, r->rules, r->catalog, err);
}

static void repairer_fini(stn_repairer *r) {
    stn_checker_free(r->checker);
    for (uint32_t rule = 0; r->movers && rule < r->rule_count; rule++) {
        stn_free(r->movers[rule].types);
    }
    stn_free(r->movers);
    stn_free(r->edits_by_rule);
    stn_free(r->first);
    stn_free(r->taken);
    stn_free(r->unlikely);
    stn_free(r->last);
    stn_free(r->tape);
    stn_map_fini(&r->last_of);
    stn_map_fini(&r->comm_of);
    stn_map_fini(&r->last_on);
    stn_free(r->lasts);
    stn_arena_fini(&r->kept);
    stn_arena_fini(&r->arena);
}

/* What long work asks now and then. */
typedef struct asker {
    stn_progress_fn progress;
    void *user;
    size_t told;    /* input event at which to ask again … */
    uint64_t spent; /* … or checker steps */
} asker;

static stn_status ask(asker *a, const stn_repairer *r, size_t done, stn_err *err) {
    if (!a->progress || (done < a->told && r->spent < a->spent)) {
        return STN_OK;
    }
    a->told = done + PROGRESS_EVENTS;
    a->spent = r->spent + PROGRESS_STEPS;
    return a->progress(a->user, done, r->in->count) ? STN_OK
                                                    : stn_err_set(err, STN_EINTR, "interrupted");
}

/* Rules broken in a whole trace. */
static stn_status count_violations(stn_repairer *r, const stn_trace *trace, uint64_t *total,
                                   asker *a, size_t done, stn_err *err) {
    *total = 0;
    stn_checker_reset(r->checker);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t broken = 0;
        stn_status status = stn_checker_step(r->checker, &trace->events[i], &broken, err);
        if (!status && ++r->spent >= a->spent) {
            status = ask(a, r, done, err);
        }
        if (status) {
            return status;
        }
        *total += broken;
    }
    stn_checker_reset(r->checker);
    return STN_OK;
}

static bool pass_mark(stn_repairer *r, const stn_event *mark) {
    if (r->fill_lost) {
        stn_hole_open(r, mark);
        return true;
    }
    stn_event event = *mark;
    uint64_t time = stn_tape_time(r);
    event.time_ns = event.time_ns < time ? time : event.time_ns;
    return stn_tape_emit(r, &event, STN_EDIT_NONE, STN_NO_ID, NULL);
}

/* The event at hand as it is, or with what it needs in a hole, or by searching. */
static stn_status pass_event(stn_repairer *r) {
    stn_event event = r->in->events[r->next];
    uint64_t time = stn_tape_time(r);
    uint32_t broken, edit = event.time_ns < time ? STN_EDIT_RETIME : STN_EDIT_NONE;
    event.time_ns = edit ? time : event.time_ns;
    if (stn_tape_emit(r, &event, edit, STN_NO_ID, &broken) ||
        (r->fill_lost && broken != STN_NO_ID && stn_hole_fill(r, &event, broken))) {
        r->next++;
        return STN_OK;
    }
    return r->failed || broken == STN_NO_ID ? STN_ENOMEM : stn_repair_search(r, broken);
}

/* The tape stays long enough for a cause to be found on it, and bounded. Now and then all of it
 * goes, so that what the checker keeps and the drafts of the search go as well. */
static stn_status bound_tape(stn_repairer *r, stn_err *err) {
    if (r->arena_bytes > ARENA_BYTES || r->next >= r->flush_at) {
        r->flush_at = r->next + FLUSH_EVENTS;
        return stn_tape_flush(r, err);
    }
    return r->tape_count < TAPE_ITEMS ? STN_OK : stn_tape_shorten(r, TAPE_KEPT, err);
}

static stn_status pass_all(stn_repairer *r, asker *a, stn_err *err) {
    while (r->next < r->in->count) {
        size_t from = r->next;
        const stn_event *event = &r->in->events[from];
        stn_status status = ask(a, r, from, err);
        if (status) {
            return status;
        }
        if (stn_is_taken(r, from)) {
            r->next++;
        } else if (event->type == STN_TYPE_LOST) {
            status = pass_mark(r, event) ? STN_OK : STN_ENOMEM;
            r->next++;
        } else {
            status = pass_event(r);
        }
        for (size_t i = from; i < r->next && !status; i++) {
            if (i > from && r->fill_lost && r->in->events[i].type == STN_TYPE_LOST) {
                stn_hole_open(r, &r->in->events[i]); /* the search has gone past it */
            }
            status = stn_note_event(r, i) ? STN_OK : STN_ENOMEM;
        }
        for (; r->noted < r->tape_count && !status; r->noted++) {
            status = stn_note_item(r, &r->tape[r->noted]) ? STN_OK : STN_ENOMEM;
        }
        r->credit += (int64_t)(r->next - from) * (CREDIT_EVENT + 1);
        r->credit = r->credit < CREDIT_MAX ? r->credit : CREDIT_MAX;
        if (status) {
            return stn_err_set(err, status, "repair: out of memory");
        }
        if ((status = bound_tape(r, err))) {
            return status;
        }
    }
    return stn_tape_flush(r, err);
}

static void fill_stats(const stn_repairer *r, stn_repair_stats *stats) {
    stats->inserted = r->edits[STN_EDIT_INSERT] + r->edits[STN_EDIT_RESTORE];
    stats->restored = r->edits[STN_EDIT_RESTORE];
    stats->deleted = r->edits[STN_EDIT_DELETE];
    stats->retyped = r->edits[STN_EDIT_RETYPE];
    stats->retimed = r->edits[STN_EDIT_RETIME];
    stats->reassigned = r->edits[STN_EDIT_REASSIGN];
    stats->edits_by_rule = r->edits_by_rule;
}

/* Events, and what the marks among them say. */
static void count_input(const stn_repairer *r, stn_repair_stats *stats) {
    for (size_t i = 0; i < r->in->count; i++) {
        const stn_event *event = &r->in->events[i];
        if (event->type != STN_TYPE_LOST) {
            stats->events_in++;
            continue;
        }
        int64_t count = stn_field_int(stn_event_field(event, r->names.count), 0);
        stats->lost += count > 0 ? (uint64_t)count : 0;
        stats->lost_uncounted += count <= 0;
    }
}

static uint64_t count_events(const stn_trace *trace) {
    uint64_t count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        count += trace->events[i].type != STN_TYPE_LOST;
    }
    return count;
}

static stn_status repair_run(stn_repairer *r, stn_repair_stats *stats, stn_progress_fn progress,
                             void *user, stn_err *err) {
    asker a = {.progress = progress, .user = user};
    stn_status status = repairer_init(r, err);
    if (!status) {
        status = count_violations(r, r->in, &stats->violations_before, &a, 0, err);
    }
    if (!status) {
        (void)stn_checker_mark(r->checker);
        status = pass_all(r, &a, err);
    }
    if (!status) {
        status = count_violations(r, r->out, &stats->violations_after, &a, r->in->count, err);
    }
    if (!status) {
        count_input(r, stats);
        stats->events_out = count_events(r->out);
        fill_stats(r, stats);
        r->edits_by_rule = NULL; /* now the caller's */
    }
    return status;
}

stn_status stn_repair(const stn_rules *rules, const stn_trace *in, stn_trace *out,
                      const stn_repair_options *options, stn_repair_stats *stats,
                      stn_progress_fn progress, void *user, stn_err *err) {
    stn_repair_options given = options ? *options : (stn_repair_options){0};
    stn_repair_stats unused = {0};
    stn_repairer r = {
        .rules = rules,
        .catalog = in->catalog,
        .in = in,
        .out = out,
        .beam = given.beam ? given.beam : REPAIR_BEAM,
        .lookahead = given.lookahead ? given.lookahead : REPAIR_LOOKAHEAD,
        .fill_lost = given.fill_lost,
        .credit = CREDIT_START,
        .flush_at = FLUSH_EVENTS,
    };
    if (r.beam > STN_REPAIR_BEAM_MAX || r.lookahead > STN_REPAIR_LOOKAHEAD_MAX) {
        return stn_err_set(err, STN_ERANGE, "repair: beam %u, look-ahead %u: at most %u and %u",
                           r.beam, r.lookahead, STN_REPAIR_BEAM_MAX, STN_REPAIR_LOOKAHEAD_MAX);
    }
    if (in->count >= UINT32_MAX) {
        return stn_err_set(err, STN_EFORMAT, "repair: %zu events are too many for one piece",
                           in->count);
    }
    stats = stats ? stats : &unused;
    *stats = (stn_repair_stats){0};
    out->meta = in->meta;
    stn_status status = repair_run(&r, stats, progress, user, err);
    repairer_fini(&r);
    if (stats == &unused) {
        stn_repair_stats_fini(stats);
    }
    return status;
}

void stn_repair_stats_fini(stn_repair_stats *stats) {
    stn_free((void *)(uintptr_t)stats->edits_by_rule);
    stats->edits_by_rule = NULL;
}
