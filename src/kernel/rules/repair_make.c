/* Making events: what a rule does not fix is taken from the last event of the same type, of
 * the same thread if there is one, and from what the checker knows to be running. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/repair.h"

#define MAKE_FIELDS 32u
/* How far ahead in the input to look for what a CPU or thread does next. */
#define MAKE_AHEAD 256u

#define MAKE_FRESH      16u
#define MAKE_FRESH_FROM 1000000u /* numbers of things never seen begin here */
#define MAKE_BACK       64u      /* tape items looked at for keys */

/* Parts at and above it are not fields. */
#define PART_FIRST STN_PART_COMM

#define STATE_RUNNING  0
#define STATE_SLEEPING 1

uint16_t stn_cpu_of(const stn_repairer *r, int32_t tid) {
    for (uint32_t cpu = 0; cpu < r->cpu_count; cpu++) {
        if (stn_checker_running(r->checker, (uint16_t)cpu) == tid) {
            return (uint16_t)cpu;
        }
    }
    return STN_NO_CPU;
}

bool stn_note_event(stn_repairer *r, size_t index) {
    const stn_event *event = &r->in->events[index];
    if (event->type == STN_TYPE_LOST || event->type >= r->type_count) {
        return true;
    }
    r->last[event->type] = (uint32_t)index + 1;
    uint64_t *slot =
        stn_map_put(&r->last_of, (uint64_t)event->type << 32 | (uint32_t)event->tid, NULL);
    if (!slot) {
        return false;
    }
    *slot = index + 1;
    if (event->comm != STN_NO_ID) {
        slot = stn_map_put(&r->comm_of, (uint32_t)event->tid, NULL);
        if (!slot) {
            return false;
        }
        *slot = (uint64_t)event->comm + 1;
    }
    return true;
}

bool stn_note_item(stn_repairer *r, const stn_item *item) {
    stn_event event = item->event;
    if (event.type == STN_TYPE_LOST || item->edit == STN_EDIT_DELETE) {
        return true;
    }
    uint64_t *slot = stn_map_put(&r->last_on, (uint64_t)event.type << 32 | event.cpu, NULL);
    if (!slot) {
        return false;
    }
    if (!*slot) {
        if (stn_grow(&r->lasts, &r->last_capacity, r->last_count + 1, sizeof *r->lasts)) {
            return false;
        }
        *slot = ++r->last_count;
    }
    if (item->edit != STN_EDIT_NONE && event.field_count) {
        stn_field *fields = stn_arena_alloc(&r->kept, event.field_count * sizeof *fields);
        if (!fields) {
            return false;
        }
        memcpy(fields, event.fields, event.field_count * sizeof *fields);
        event.fields = fields;
    }
    r->lasts[*slot - 1] = event;
    return true;
}

static uint32_t comm_of(const stn_repairer *r, int32_t tid) {
    const uint64_t *comm = stn_map_get(&r->comm_of, (uint32_t)tid);
    return comm ? (uint32_t)(*comm - 1) : STN_NO_ID;
}

static const stn_event *template_of(const stn_repairer *r, uint32_t type, int32_t tid) {
    const uint64_t *own = stn_map_get(&r->last_of, (uint64_t)type << 32 | (uint32_t)tid);
    uint32_t index = own ? (uint32_t)*own : r->last[type];
    if (!index) {
        index = r->first[type];
    }
    return index ? &r->in->events[index - 1] : NULL;
}

/* Thread that the input shows next on @p cpu, 0 (idle) if none soon. */
static int32_t next_tid_on(const stn_repairer *r, uint16_t cpu) {
    for (size_t i = r->next; i < r->in->count && i < r->next + MAKE_AHEAD; i++) {
        const stn_event *event = &r->in->events[i];
        if (event->type != STN_TYPE_LOST && event->cpu == cpu && event->tid != STN_NO_TID) {
            return event->tid;
        }
    }
    return 0;
}

/* ---- fields of an event under construction ------------------------------ */

typedef struct draft {
    stn_repairer *r;
    stn_event event;
    stn_field fields[MAKE_FIELDS];
} draft;

static void draft_copy(draft *d, const stn_event *from) {
    d->event.field_count = from->field_count < MAKE_FIELDS ? from->field_count : MAKE_FIELDS;
    if (d->event.field_count) {
        memcpy(d->fields, from->fields, d->event.field_count * sizeof *d->fields);
    }
}

static void draft_remove(draft *d, uint32_t name) {
    for (uint32_t i = 0; i < d->event.field_count; i++) {
        if (d->fields[i].name == name) {
            d->event.field_count--;
            memmove(d->fields + i, d->fields + i + 1,
                    (d->event.field_count - i) * sizeof *d->fields);
            return;
        }
    }
}

static stn_field *draft_field(draft *d, uint32_t name) {
    for (uint32_t i = 0; i < d->event.field_count; i++) {
        if (d->fields[i].name == name) {
            return &d->fields[i];
        }
    }
    return NULL;
}

/* Set a number; @p add: even if the template has no such field. */
static void draft_number(draft *d, uint32_t name, int64_t value, bool add) {
    stn_field *field = draft_field(d, name);
    if (name == STN_NO_ID || (!field && (!add || d->event.field_count == MAKE_FIELDS))) {
        return;
    }
    if (!field) {
        field = &d->fields[d->event.field_count++];
        *field = (stn_field){.name = name, .kind = STN_FIELD_INT};
    }
    if (field->kind != STN_FIELD_UINT && field->kind != STN_FIELD_HEX) {
        field->kind = STN_FIELD_INT;
    }
    field->v.i = value;
}

static void draft_text(draft *d, uint32_t name, const char *text, bool add) {
    stn_field *field = draft_field(d, name);
    if (name == STN_NO_ID || (!field && (!add || d->event.field_count == MAKE_FIELDS))) {
        return;
    }
    if (!field) {
        field = &d->fields[d->event.field_count++];
        field->name = name;
    }
    field->kind = STN_FIELD_STR;
    field->v.s = text;
}

static void draft_comm(draft *d, uint32_t name, int32_t tid) {
    uint32_t comm = comm_of(d->r, tid);
    if (comm != STN_NO_ID) {
        draft_text(d, name, stn_catalog_text(d->r->catalog, comm), false);
    }
}

static bool draft_finish(draft *d, stn_event *event) {
    stn_field *fields = NULL;
    if (d->event.field_count) {
        fields = stn_arena_alloc(&d->r->arena, d->event.field_count * sizeof *fields);
        if (!fields) {
            d->r->failed = true;
            return false;
        }
        memcpy(fields, d->fields, d->event.field_count * sizeof *fields);
        d->r->arena_bytes += d->event.field_count * sizeof *fields;
    }
    d->event.fields = fields;
    *event = d->event;
    return true;
}

/* ---- what the names of fields say --------------------------------------- */

static bool is_type(const stn_repairer *r, uint32_t type, uint32_t name) {
    return name != STN_NO_ID && stn_catalog_type_at(r->catalog, type)->name_id == name;
}

/* A switch: from the thread that runs to the one that the goal needs. */
static void fill_switch(draft *d, uint32_t variant) {
    const stn_repairer *r = d->r;
    const stn_names *n = &r->names;
    int32_t prev = stn_checker_running(r->checker, d->event.cpu);
    const stn_field *next = draft_field(d, n->next_pid);
    int32_t tid = (int32_t)stn_field_int(next, 0);
    if (prev == STN_NO_TID) {
        prev = d->event.tid;
    }
    d->event.tid = prev;
    draft_number(d, n->prev_pid, prev, true);
    draft_comm(d, n->prev_comm, prev);
    draft_comm(d, n->next_comm, tid);
    draft_number(d, n->prev_state, variant & 1 ? STATE_SLEEPING : STATE_RUNNING, true);
    draft_remove(d, n->synth);
    if (variant & 4) {
        /* Inferred, within so many ns: what recordings say of a switch that was hidden. */
        draft_number(d, n->synth, (int64_t)(d->event.time_ns - stn_tape_time(r)), true);
    }
}

/* Give the event the thread of the key, wherever the key has it. */
static void fill_key(draft *d, const stn_binding *binding, const stn_key *key) {
    const stn_names *n = &d->r->names;
    for (uint32_t i = 0; i < binding->part_count && i < key->count; i++) {
        uint32_t part = binding->part[i];
        if (part == STN_PART_TID) {
            d->event.tid = (int32_t)key->v[i];
        } else if (part == STN_PART_CPU) {
            d->event.cpu = (uint16_t)key->v[i];
        } else if (part < PART_FIRST) { /* the others follow from the thread */
            const char *text = stn_checker_key_text(d->r->checker, key->v[i]);
            if (text) {
                draft_text(d, part, text, true);
            } else {
                draft_number(d, part, key->v[i], true);
            }
            if (part == n->prev_pid) {
                uint16_t cpu = stn_cpu_of(d->r, (int32_t)key->v[i]);
                d->event.cpu = cpu != STN_NO_CPU ? cpu : d->event.cpu;
            }
        }
    }
}

static bool key_has(const stn_binding *binding, uint32_t part) {
    for (uint32_t i = 0; binding && i < binding->part_count; i++) {
        if (binding->part[i] == part) {
            return true;
        }
    }
    return false;
}

/* The thread runs where it runs; an event without one gets that of its CPU. */
static void settle_thread(draft *d, const stn_binding *binding) {
    const stn_repairer *r = d->r;
    if (key_has(binding, STN_PART_TID)) {
        uint16_t cpu = stn_cpu_of(r, d->event.tid);
        if (cpu != STN_NO_CPU && !key_has(binding, STN_PART_CPU)) {
            d->event.cpu = cpu;
        }
        return;
    }
    int32_t running = stn_checker_running(r->checker, d->event.cpu);
    if (running != STN_NO_TID) {
        d->event.tid = running;
    }
}

/* Fields that name the thread or the CPU that the event is about. */
static void fill_roles(draft *d, const stn_binding *binding, const stn_place *place,
                       uint32_t variant) {
    const stn_repairer *r = d->r;
    const stn_names *n = &r->names;
    const stn_event *goal = place->goal;
    if (is_type(r, d->event.type, n->sched_switch)) {
        int32_t next = goal->tid;
        if (is_type(r, goal->type, n->sched_switch) && goal->cpu == d->event.cpu) {
            next = (int32_t)stn_field_int(stn_event_field(goal, n->prev_pid), goal->tid);
        }
        if (goal->cpu != d->event.cpu) {
            next = next_tid_on(r, d->event.cpu);
        }
        if (variant & 2) {
            next = 0;
        }
        if (!key_has(binding, n->next_pid)) {
            draft_number(d, n->next_pid, next, true);
        }
        fill_switch(d, variant);
        return;
    }
    int32_t about = (int32_t)stn_field_int(draft_field(d, n->pid), STN_NO_TID);
    if (about != STN_NO_TID) {
        draft_comm(d, n->comm, about);
    }
    draft_number(d, n->target_cpu, goal->cpu, false);
    draft_number(d, n->dest_cpu, goal->cpu, false);
}

static void draft_part(draft *d, uint32_t part, int64_t value) {
    const char *text;
    if (part == STN_PART_TID) {
        d->event.tid = (int32_t)value;
    } else if (part == STN_PART_CPU) {
        d->event.cpu = (uint16_t)value;
    } else if ((text = stn_checker_key_text(d->r->checker, value)) != NULL) {
        draft_text(d, part, text, true);
    } else {
        draft_number(d, part, value, true);
    }
}

static bool names_thread(const stn_names *n, uint32_t part) {
    return part == n->prev_pid || part == n->next_pid;
}

/* Set what @p rule wants, or all rules if STN_NO_ID; @p fixed: parts of a key that stay. */
static bool draft_unify(draft *d, const stn_binding *fixed, uint32_t rule) {
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(d->r->rules, d->event.type, &count);
    bool changed = false, is_switch = is_type(d->r, d->event.type, d->r->names.sched_switch);
    for (uint32_t b = 0; b < count; b++) {
        stn_key key;
        stn_solution solution;
        d->event.fields = d->fields;
        if ((rule != STN_NO_ID && bindings[b].rule != rule) ||
            !stn_checker_key(d->r->checker, &bindings[b], &d->event, &key) ||
            !stn_unify(d->r, &d->event, &bindings[b], &key, rule != STN_NO_ID, &solution)) {
            continue;
        }
        for (uint32_t i = 0; i < solution.count; i++) {
            if (solution.part[i] < PART_FIRST && !key_has(fixed, solution.part[i]) &&
                !(is_switch && rule == STN_NO_ID && names_thread(&d->r->names, solution.part[i]))) {
                draft_part(d, solution.part[i], solution.value[i]);
                changed = true;
                if (is_switch && solution.part[i] == d->r->names.prev_pid) {
                    d->event.tid = (int32_t)solution.value[i]; /* who leaves makes the event */
                }
            }
        }
    }
    return changed;
}

/* Does @p found differ from @p key only in parts that may be set? */
static bool key_fits(const stn_binding *binding, const stn_binding *fixed, const stn_key *key,
                     const stn_key *found) {
    for (uint32_t part = 0; part < binding->part_count; part++) {
        bool set = binding->part[part] < PART_FIRST && !key_has(fixed, binding->part[part]);
        if (!set && found->v[part] != key->v[part]) {
            return false;
        }
    }
    return found->count == key->count;
}

/* A key of @p binding's rule that @p event has, in a state that accepts the draft's type. */
static bool accepting_key(const draft *d, const stn_event *event, const stn_binding *binding,
                          const stn_binding *fixed, const stn_key *key, stn_key *found) {
    const stn_repairer *r = d->r;
    uint32_t count;
    const stn_binding *theirs = stn_rules_bindings(r->rules, event->type, &count);
    for (uint32_t b = 0; b < count; b++) {
        if (theirs[b].rule == binding->rule &&
            stn_checker_key(r->checker, &theirs[b], event, found) &&
            key_fits(binding, fixed, key, found)) {
            uint32_t state = stn_checker_state(r->checker, binding->rule, found);
            return state && stn_rules_accepts(r->rules, binding->rule, state, d->event.type);
        }
    }
    return false;
}

/* Such a key of the last event on the draft's CPU of a type that moves the rule, the latest. */
static bool last_key(const draft *d, const stn_binding *binding, const stn_binding *fixed,
                     const stn_key *key, stn_key *found) {
    const stn_repairer *r = d->r;
    const stn_type_list *movers = &r->movers[binding->rule];
    uint64_t latest = 0;
    bool any = false;
    for (size_t t = 0; t < movers->count; t++) {
        const uint64_t *slot =
            stn_map_get(&r->last_on, (uint64_t)movers->types[t] << 32 | d->event.cpu);
        const stn_event *event = slot ? &r->lasts[*slot - 1] : NULL;
        stn_key theirs;
        if (event && (!any || event->time_ns > latest) &&
            accepting_key(d, event, binding, fixed, key, &theirs)) {
            *found = theirs;
            latest = event->time_ns;
            any = true;
        }
    }
    return any;
}

/* Such a key of the latest event on the tape, whatever its CPU. */
static bool recent_key(const draft *d, const stn_binding *binding, const stn_binding *fixed,
                       const stn_key *key, stn_key *found) {
    const stn_repairer *r = d->r;
    for (size_t i = r->tape_count; i > 0 && i + MAKE_BACK > r->tape_count; i--) {
        const stn_event *event = &r->tape[i - 1].event;
        if (event->type != STN_TYPE_LOST && accepting_key(d, event, binding, fixed, key, found)) {
            return true;
        }
    }
    return false;
}

/* Where the key is in a state that refuses the type (the timer that expired last is not the
 * one that runs), take a key that is in one that accepts it. */
static bool may_rekey(const stn_binding *binding, const stn_binding *fixed) {
    for (uint32_t part = 0; part < binding->part_count; part++) {
        if (binding->part[part] < PART_FIRST && !key_has(fixed, binding->part[part])) {
            return true;
        }
    }
    return false;
}

static bool draft_rekey(draft *d, const stn_binding *fixed, uint32_t rule) {
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(d->r->rules, d->event.type, &count);
    bool changed = false;
    for (uint32_t b = 0; b < count; b++) {
        stn_key key, found;
        d->event.fields = d->fields;
        if (bindings[b].rule != rule || !may_rekey(&bindings[b], fixed) ||
            !stn_checker_key(d->r->checker, &bindings[b], &d->event, &key) ||
            (!last_key(d, &bindings[b], fixed, &key, &found) &&
             !recent_key(d, &bindings[b], fixed, &key, &found))) {
            continue;
        }
        for (uint32_t part = 0; part < bindings[b].part_count; part++) {
            if (bindings[b].part[part] < PART_FIRST && key.v[part] != found.v[part]) {
                draft_part(d, bindings[b].part[part], found.v[part]);
                changed = true;
            }
        }
    }
    return changed;
}

static bool draft_begin(draft *d, const stn_event *event) {
    d->event = *event;
    draft_copy(d, event);
    return event->field_count <= MAKE_FIELDS;
}

bool stn_make_solved(stn_repairer *r, const stn_event *event, uint32_t rule,
                     const stn_binding *fixed, stn_event *made) {
    draft d = {.r = r};
    return draft_begin(&d, event) && draft_unify(&d, fixed, rule) && draft_finish(&d, made);
}

bool stn_make_rekeyed(stn_repairer *r, const stn_event *event, uint32_t rule,
                      const stn_binding *fixed, stn_event *made) {
    draft d = {.r = r};
    return draft_begin(&d, event) && draft_rekey(&d, fixed, rule) && draft_finish(&d, made);
}

bool stn_make_fresh(stn_repairer *r, const stn_event *event, uint32_t rule,
                    const stn_binding *fixed, stn_event *made) {
    draft d = {.r = r};
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(r->rules, event->type, &count);
    if (!draft_begin(&d, event)) {
        return false;
    }
    for (uint32_t b = 0; b < count; b++) {
        stn_key key;
        d.event.fields = d.fields;
        if (bindings[b].rule != rule || bindings[b].part_count != 1 ||
            !may_rekey(&bindings[b], fixed) ||
            !stn_checker_key(r->checker, &bindings[b], &d.event, &key) ||
            stn_checker_key_text(r->checker, key.v[0])) {
            continue;
        }
        for (uint32_t tries = 0; tries < MAKE_FRESH; tries++) {
            key.v[0] = (int64_t)(MAKE_FRESH_FROM + r->fresh_key++);
            if (!stn_checker_state(r->checker, rule, &key)) {
                draft_part(&d, bindings[b].part[0], key.v[0]);
                return draft_finish(&d, made);
            }
        }
    }
    return false;
}

bool stn_make_event(stn_repairer *r, uint32_t type, const stn_binding *binding, const stn_key *key,
                    const stn_place *place, uint32_t variant, stn_event *event) {
    bool is_switch = is_type(r, type, r->names.sched_switch);
    if (variant >= (is_switch ? 8u : 1u)) {
        return false;
    }
    draft d = {.r = r,
               .event = {.time_ns = place->time_ns,
                         .type = type,
                         .tid = place->goal->tid,
                         .cpu = place->goal->cpu,
                         .comm = STN_NO_ID}};
    const stn_event *template = template_of(r, type, place->goal->tid);
    if (template) {
        draft_copy(&d, template);
    }
    if (binding && key) {
        fill_key(&d, binding, key);
    }
    settle_thread(&d, binding);
    fill_roles(&d, binding, place, variant);
    d.event.comm = comm_of(r, d.event.tid);
    return draft_finish(&d, event);
}

bool stn_make_retyped(stn_repairer *r, const stn_event *event, uint32_t type, stn_event *made) {
    draft d = {.r = r, .event = *event};
    const stn_event *template = template_of(r, type, event->tid);
    d.event.type = type;
    d.event.field_count = 0;
    if (template) {
        draft_copy(&d, template);
    }
    for (uint32_t i = 0; i < event->field_count; i++) {
        stn_field *same = draft_field(&d, event->fields[i].name);
        if (same && same->kind == event->fields[i].kind) {
            *same = event->fields[i];
        }
    }
    if (is_type(r, type, r->names.sched_switch)) {
        fill_switch(&d, 0);
    }
    return draft_finish(&d, made);
}

stn_event stn_make_reassigned(const stn_repairer *r, const stn_event *event, int32_t tid,
                              uint16_t cpu) {
    stn_event made = *event;
    made.tid = tid;
    made.cpu = cpu;
    if (tid != event->tid) {
        made.comm = comm_of(r, tid);
    }
    return made;
}
