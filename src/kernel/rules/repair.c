/* Repair: follow the input, mend where a rule is broken, check the result. */
#include "kernel/rules/repair.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

#define REPAIR_BEAM      8u
#define REPAIR_BEAM_MAX  64u
#define REPAIR_LOOKAHEAD 32u
#define REPAIR_AHEAD_MAX 4096u
#define FLUSH_ITEMS      8192u
#define RARITY_COST      0.1 /* per factor of ten that a type is rarer than all events */
#define FORGET_COST      1.5f
#define PROGRESS_STEP    4096u
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

/* Rules broken in a whole trace. */
static stn_status count_violations(stn_repairer *r, const stn_trace *trace, uint64_t *total,
                                   stn_err *err) {
    *total = 0;
    stn_checker_reset(r->checker);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t broken = 0;
        stn_status status = stn_checker_step(r->checker, &trace->events[i], &broken, err);
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

static stn_status pass_all(stn_repairer *r, stn_progress_fn progress, void *user, stn_err *err) {
    size_t told = 0;
    while (r->next < r->in->count) {
        size_t from = r->next;
        const stn_event *event = &r->in->events[from];
        stn_status status = STN_OK;
        if (progress && from >= told) {
            told = from + PROGRESS_STEP;
            if (!progress(user, from, r->in->count)) {
                return stn_err_set(err, STN_EINTR, "repair stopped");
            }
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
        if (r->tape_count >= FLUSH_ITEMS && (status = stn_tape_flush(r, err))) {
            return status;
        }
    }
    return stn_tape_flush(r, err);
}

static void fill_stats(const stn_repairer *r, stn_repair_stats *stats) {
    stats->inserted = r->edits[STN_EDIT_INSERT];
    stats->deleted = r->edits[STN_EDIT_DELETE];
    stats->retyped = r->edits[STN_EDIT_RETYPE];
    stats->retimed = r->edits[STN_EDIT_RETIME];
    stats->reassigned = r->edits[STN_EDIT_REASSIGN];
    stats->edits_by_rule = r->edits_by_rule;
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
    stn_status status = repairer_init(r, err);
    if (!status) {
        status = count_violations(r, r->in, &stats->violations_before, err);
    }
    if (!status) {
        (void)stn_checker_mark(r->checker);
        status = pass_all(r, progress, user, err);
    }
    if (!status) {
        status = count_violations(r, r->out, &stats->violations_after, err);
    }
    if (!status) {
        stats->events_in = count_events(r->in);
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
    };
    if (r.beam > REPAIR_BEAM_MAX || r.lookahead > REPAIR_AHEAD_MAX) {
        return stn_err_set(err, STN_ERANGE, "repair: beam %u, look-ahead %u: at most %u and %u",
                           r.beam, r.lookahead, REPAIR_BEAM_MAX, REPAIR_AHEAD_MAX);
    }
    if (in->count >= UINT32_MAX) {
        return stn_err_set(err, STN_ERANGE, "repair: %zu events are too many for one piece",
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
