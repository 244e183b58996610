/* Drawing. Threads and instances first, because other fields are told by them. */
#include "kernel/synth/attr.h"

#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/pick.h"

enum {
    TRIES = 4,
    TRUST = 6,
    WIDE_FROM = 1,  /* refusals after which templates are drawn without what tells, */
    ALONE_FROM = 3, /* after which each attribute is drawn by itself, */
    BASE_FROM = 4,  /* … values without their source, */
    COPY_FROM = 5,  /* … numbers repeat what tells about them, */
    ZERO_FROM = 6,  /* … are 0 */
    ANY_FROM = 7,   /* … and are any small number */
    ANY_MAX = 1024,
    SPARE_THREADS = 2,
    EARLY_EVENTS = 20000,
    TID_WRAP = 4194304,
    TID_FIRST = 300,
};

typedef struct drawing {
    const stn_attr *attr;
    stn_world *world;
    stn_draft *draft;
    const stn_vtype *type;
    stn_rng *rng;
    stn_subject subject;
    uint32_t attempt;
    const stn_layout *layout;
    const uint32_t *template; /* NULL: each attribute by itself */
} drawing;

/* A word of the template, which stands the first time that it is asked for; else NONE. */
static uint32_t word_of(const drawing *d, int attempt, uint32_t word) {
    return attempt == 0 && d->template ? d->template[word] : STN_TEMPLATE_NONE;
}

/* Where a thread or an instance is drawn from if the template does not say it. */
typedef struct ladder {
    uint32_t table;
    uint16_t part;
    uint64_t word;
    uint64_t rungs[3];
    uint32_t count; /* 0: not asked for yet, as most are not */
} ladder;

static const uint64_t *rungs_of(const drawing *d, ladder *from) {
    if (from->count == 0) {
        from->count = stn_pick_rungs(d->world, from->table, d->draft, from->part, from->word,
                                     d->subject.current, from->rungs);
    }
    return from->rungs;
}

static uint32_t word_or_draw(drawing *d, int attempt, uint32_t word, ladder *from) {
    uint32_t symbol = word_of(d, attempt, word);
    if (symbol != STN_TEMPLATE_NONE) {
        return symbol;
    }
    const uint64_t *rungs = rungs_of(d, from);
    return stn_chain_draw(&d->attr->chain, rungs, from->count, TRUST, d->rng);
}

/* ---- values -------------------------------------------------------------------- */

uint32_t stn_attr_value_rungs(uint32_t type, uint16_t field, const stn_source *source, bool idle,
                              stn_val told, uint64_t *out) {
    uint64_t hash =
        stn_chain_mix(STN_TABLE_VALUE * 0x9e3779b97f4a7c15u, (uint64_t)type << 8 | field);
    out[0] = hash;
    out[1] = stn_chain_mix(hash, idle);
    if (source->kind == STN_SOURCE_NONE) {
        return 2;
    }
    out[2] = stn_chain_mix(out[1], stn_val_word(told));
    return STN_VALUE_RUNGS;
}

static stn_val binned(const drawing *d, uint32_t bin, uint8_t kind) {
    bool negative = bin >= STN_STEP_SYMBOLS;
    uint64_t size = stn_step_draw(negative ? bin - STN_STEP_SYMBOLS : bin, d->rng);
    return (stn_val){.v = negative ? -(int64_t)(size & INT64_MAX) : (int64_t)size, .kind = kind};
}

static stn_val draw_value(drawing *d, uint16_t field) {
    if (field == d->type->split_field) {
        return d->type->split_val;
    }
    const stn_attr_field *how = &d->attr->fields[(size_t)d->draft->type * STN_VFIELD_MAX + field];
    stn_val told = stn_source_value(d->world, &how->source, d->draft, &d->subject, field);
    bool plain = d->type->partner != STN_PARTNER_NONE && how->kind <= STN_FIELD_HEX;
    if (plain && d->attempt >= ZERO_FROM) {
        bool zero = d->attempt < ANY_FROM;
        return (stn_val){.v = zero ? 0 : (int64_t)stn_rng_below(d->rng, ANY_MAX),
                         .kind = how->kind};
    }
    if (plain && d->attempt >= COPY_FROM && told.kind <= STN_FIELD_HEX) {
        return (stn_val){.v = told.v, .kind = how->kind};
    }
    uint64_t rungs[STN_VALUE_RUNGS];
    uint32_t count = 0;
    int first = stn_means_thread(d->type->fields[field].means) ? 1 : 0;
    for (int i = first; i < TRIES; i++) {
        uint32_t symbol = word_of(d, i, d->layout->field[field]);
        if (symbol == STN_TEMPLATE_NONE) {
            count = count > 0 ? count
                              : stn_attr_value_rungs(d->draft->type, field, &how->source,
                                                     d->draft->tid == 0, told, rungs);
            uint32_t known = d->attempt < BASE_FROM || count < 2 ? count : 2;
            symbol = stn_chain_draw(&d->attr->chain, rungs, known, TRUST, d->rng);
        }
        if (symbol == STN_VALUE_COPY && told.kind != STN_VAL_NONE) {
            told.kind = told.kind == STN_FIELD_STR ? STN_FIELD_STR : how->kind;
            return told;
        }
        if (symbol != STN_VALUE_COPY && symbol < STN_VALUE_EXACT) {
            return binned(d, symbol - STN_VALUE_BIN, how->kind);
        }
        if (symbol >= STN_VALUE_EXACT && symbol - STN_VALUE_EXACT < d->attr->value_count) {
            return d->attr->values[symbol - STN_VALUE_EXACT];
        }
        if (symbol == STN_CHAIN_NONE) {
            break;
        }
    }
    return (stn_val){.kind = STN_VAL_NONE};
}

/* ---- threads -------------------------------------------------------------------- */

static stn_val tid_val(int64_t tid) {
    return (stn_val){.v = tid, .kind = STN_FIELD_INT};
}

/* A tid that no thread bears. */
static int32_t fresh_tid(stn_world *world) {
    int32_t tid = world->next_tid;
    while (tid >= TID_WRAP || stn_world_thread(world, tid, 0) != STN_WORLD_NONE) {
        tid = tid >= TID_WRAP ? TID_FIRST : tid + 1;
    }
    world->next_tid = tid + 1;
    return tid;
}

/* Whoever is ready must run at last, and who is being woken must be awake at last, whatever
 * the name. */
static bool must_find(const drawing *d, uint16_t field) {
    return d->type->fields[field].means == STN_MEANS_NEXT || d->type->role == STN_ROLE_WAKEUP ||
           d->type->role == STN_ROLE_WAKEUP_NEW;
}

static uint32_t from_list(drawing *d, uint16_t field, uint32_t relation) {
    stn_age age = d->attr->fields[(size_t)d->draft->type * STN_VFIELD_MAX + field].age;
    ladder ages = {.table = STN_TABLE_AGE, .part = field, .word = relation};
    ladder names = {.table = STN_TABLE_COMM, .part = field, .word = relation};
    uint32_t words = d->layout->field[field];
    uint32_t rank = word_or_draw(d, 0, words + STN_WORD_AGE, &ages);
    rank = rank == STN_CHAIN_NONE ? 0 : rank;
    uint32_t open = d->template ? d->template[words + STN_WORD_OPEN] : STN_TEMPLATE_NONE;
    bool any = must_find(d, field);
    for (int i = 0; i < TRIES; i++) {
        uint32_t comm = word_or_draw(d, i, words + STN_WORD_COMM, &names);
        if (comm == STN_CHAIN_NONE) {
            break;
        }
        stn_kin kin = {comm, i == 0 ? open : STN_TEMPLATE_NONE};
        uint32_t found = stn_pick_thread(d->world, relation, d->draft->cpu, kin, rank, age);
        if (found != STN_WORLD_NONE) {
            return found;
        }
    }
    return any ? stn_pick_thread(d->world, relation, d->draft->cpu, stn_kin_any, rank, age)
               : STN_WORLD_NONE;
}

/* Index of the thread that the relation means; STN_WORLD_NONE if there is none. */
static uint32_t related(drawing *d, uint16_t field, uint32_t relation) {
    const stn_cpu *cpu = &d->world->cpus[d->draft->cpu];
    uint32_t index = STN_WORLD_NONE;
    if (relation == STN_PICK_IDLE) {
        bool wanted = stn_world_list(d->world, d->draft->cpu, STN_THREAD_READY)->count > 0;
        return wanted ? STN_WORLD_NONE : d->draft->cpu; /* no idling while somebody is ready */
    }
    if (relation >= STN_PICK_RELATED) {
        return from_list(d, field, relation);
    }
    switch (relation / STN_THREAD_STATES) {
    case STN_PICK_SELF:
        index = d->subject.current;
        break;
    case STN_PICK_CHILD:
        index = d->world->threads[d->subject.current].child;
        break;
    case STN_PICK_LAST:
        index = cpu->last_tid > 0 ? stn_world_thread(d->world, cpu->last_tid, d->draft->cpu)
                                  : STN_WORLD_NONE;
        break;
    default:
        index = cpu->last_owner > 0 ? stn_world_thread(d->world, cpu->last_owner, d->draft->cpu)
                                    : STN_WORLD_NONE;
        break;
    }
    bool fits = index != STN_WORLD_NONE && d->world->threads[index].used &&
                d->world->threads[index].state == relation % STN_THREAD_STATES;
    return fits ? index : STN_WORLD_NONE;
}

static const stn_crowd *crowd_of(const stn_attr *attr, uint32_t comm) {
    for (uint32_t i = 0; i < attr->crowd_count; i++) {
        if (attr->crowds[i].comm == comm) {
            return &attr->crowds[i];
        }
    }
    return NULL;
}

static bool draw_child(drawing *d, uint16_t field) {
    uint32_t comm = d->world->threads[d->subject.current].comm;
    const stn_crowd *crowd = crowd_of(d->attr, comm);
    if (crowd && stn_world_named(d->world, comm) >= crowd->most + SPARE_THREADS) {
        return false;
    }
    if (d->world->live_threads > 2 * d->attr->thread_limit + 64) {
        stn_world_retire(d->world);
    }
    d->draft->vals[field] = tid_val(fresh_tid(d->world));
    return true;
}

static bool take_thread(drawing *d, uint16_t field, uint32_t relation) {
    uint32_t index = related(d, field, relation);
    if (index == STN_WORLD_NONE) {
        return false;
    }
    const stn_thread *thread = &d->world->threads[index];
    if (d->type->role == STN_ROLE_WAKEUP && d->world->wakes_in_two && !thread->waked &&
        thread->state != STN_THREAD_UNSEEN) {
        return false; /* nobody began to wake it */
    }
    d->draft->vals[field] = tid_val(d->world->threads[index].tid);
    d->subject.thread = d->subject.thread == STN_WORLD_NONE ? index : d->subject.thread;
    return true;
}

static bool draw_thread(drawing *d, uint16_t field) {
    if (d->world->forgotten != STN_WORLD_NONE && d->type->role >= STN_ROLE_WAKING &&
        d->type->role <= STN_ROLE_WAKEUP) {
        d->draft->vals[field] = tid_val(d->world->threads[d->world->forgotten].tid);
        d->subject.thread = d->world->forgotten;
        return true;
    }
    ladder from = {
        .table = STN_TABLE_PICK, .part = field, .word = stn_pick_word(d->world, d->draft)};
    for (int i = 0; i < TRIES; i++) {
        uint32_t relation = word_or_draw(d, i, d->layout->field[field] + STN_WORD_RELATION, &from);
        if (relation == STN_PICK_LITERAL) {
            d->draft->vals[field] = draw_value(d, field);
            return true;
        }
        if (relation == STN_PICK_FRESH) {
            return draw_child(d, field);
        }
        if (relation >= STN_PICK_SYMBOLS) {
            break;
        }
        if (take_thread(d, field, relation)) {
            return true;
        }
    }
    /* none of those is there; if somebody must be, then by the most usual relation */
    const stn_chain_node *node = stn_chain_find(&d->attr->chain, *rungs_of(d, &from));
    bool must = must_find(d, field);
    for (uint32_t i = 0; must && node && i < node->count; i++) {
        uint32_t relation = d->attr->chain.nexts[node->first + i].symbol;
        if (relation < STN_PICK_SYMBOLS && relation != STN_PICK_LITERAL &&
            relation != STN_PICK_FRESH && take_thread(d, field, relation)) {
            return true;
        }
    }
    /* nor that: whoever is due for it here */
    uint32_t due = d->type->role == STN_ROLE_WAKEUP ? STN_THREAD_WAKING : STN_THREAD_READY;
    return must && take_thread(d, field, STN_PICK_STATE + 2 * due + 1);
}

/* ---- instances ------------------------------------------------------------------- */

/* Values for a key, if possible one that names no instance so far; the rules have the word. */
static void draw_fresh(drawing *d, const stn_type_key *key) {
    uint32_t scope = stn_instance_scope(d->world, key->domain, d->draft->cpu, d->subject.current);
    for (int i = 0; i < TRIES; i++) {
        stn_val parts[STN_KEY_FIELDS];
        for (uint8_t j = 0; j < key->field_count; j++) {
            parts[j] = d->draft->vals[key->fields[j]] = draw_value(d, key->fields[j]);
        }
        if (stn_instance_find(d->world, key->domain, scope, parts, key->field_count) ==
            STN_WORLD_NONE) {
            return;
        }
    }
}

static bool take_instance(drawing *d, const stn_type_key *key, uint32_t index) {
    const stn_instance *instance = &d->world->instances[index];
    if (instance->part_count != key->field_count) {
        return false;
    }
    for (uint8_t j = 0; j < key->field_count; j++) {
        d->draft->vals[key->fields[j]] = instance->parts[j];
    }
    d->subject.instance = d->subject.instance == STN_WORLD_NONE ? index : d->subject.instance;
    return true;
}

/* Does the event open something in a handler that comes for timers alone? */
static bool expires(const drawing *d) {
    const stn_cpu *cpu = &d->world->cpus[d->draft->cpu];
    return d->type->frame == STN_FRAME_PUSH && cpu->depth > 0 &&
           stn_dues_driven(&d->attr->dues, cpu->stack[0]);
}

static bool take_key(drawing *d, uint8_t number, const stn_type_key *key, uint32_t relation) {
    uint32_t rank = 0;
    if (relation >= STN_KEY_STATE) {
        ladder ages = {.table = STN_TABLE_KEY_AGE, .part = number, .word = relation};
        rank = word_or_draw(d, 0, d->layout->key[number] + STN_WORD_AGE, &ages);
    }
    uint32_t index =
        stn_key_pick(d->world, d->draft, key->domain, d->subject.current, relation,
                     rank == STN_CHAIN_NONE ? 0 : rank, d->attr->key_age[d->draft->type][number]);
    if (index == STN_WORLD_NONE) {
        return false;
    }
    if (expires(d) && d->world->instances[index].due_ns > d->draft->time_ns) {
        return false; /* its time has not come */
    }
    return take_instance(d, key, index);
}

/* The timer that the handler came for, if it still waits: that one or none. */
static bool take_due(drawing *d, const stn_type_key *key, bool *taken) {
    uint32_t index = d->world->cpus[d->draft->cpu].due_timer;
    const stn_instance *timer = index == STN_WORLD_NONE ? NULL : &d->world->instances[index];
    if (!expires(d) || !timer || !timer->used || timer->domain != key->domain ||
        timer->due_ns == 0 || timer->due_ns > d->draft->time_ns) {
        return false;
    }
    *taken = stn_key_suits(d->type, timer) && take_instance(d, key, index);
    return true;
}

static bool draw_key(drawing *d, uint8_t number, const stn_type_key *key) {
    bool taken;
    if (take_due(d, key, &taken)) {
        return taken;
    }
    ladder from = {.table = STN_TABLE_KEY, .part = number};
    for (int i = 0; i < TRIES; i++) {
        uint32_t relation = word_or_draw(d, i, d->layout->key[number] + STN_WORD_RELATION, &from);
        if (relation == STN_KEY_FRESH) {
            draw_fresh(d, key);
            return true;
        }
        if (relation == STN_CHAIN_NONE) {
            return false;
        }
        if (take_key(d, number, key, relation)) {
            return true;
        }
    }
    /* none of those is there: the most usual that is, or one never heard of if such came */
    const stn_chain_node *node = stn_chain_find(&d->attr->chain, *rungs_of(d, &from));
    bool fresh = false;
    for (uint32_t i = 0; node && i < node->count; i++) {
        uint32_t relation = d->attr->chain.nexts[node->first + i].symbol;
        fresh |= relation == STN_KEY_FRESH;
        if (relation != STN_KEY_FRESH && take_key(d, number, key, relation)) {
            return true;
        }
    }
    if (fresh || d->attr->domains->scope[key->domain] != STN_SCOPE_ALL) {
        draw_fresh(d, key);
        return true;
    }
    return false;
}

/* A key of few values: the value itself is drawn, the instance follows. */
static void draw_key_value(drawing *d, const stn_type_key *key) {
    stn_val parts[STN_KEY_FIELDS];
    for (uint8_t j = 0; j < key->field_count; j++) {
        parts[j] = d->draft->vals[key->fields[j]] = draw_value(d, key->fields[j]);
    }
    uint32_t scope = stn_instance_scope(d->world, key->domain, d->draft->cpu, d->subject.current);
    uint32_t index = stn_instance_find(d->world, key->domain, scope, parts, key->field_count);
    d->subject.instance = d->subject.instance == STN_WORLD_NONE ? index : d->subject.instance;
}

/* ---- events ------------------------------------------------------------------------ */

/* Rules that need a type to be seen first judge only from then on: what is then in the middle
 * of a handler would be judged by half. */
static bool is_early(const drawing *d, const stn_type_key *key) {
    return d->world->unheard[key->domain] > 0 && d->world->events < EARLY_EVENTS;
}

/* What opens or closes something names it. */
static bool is_nameless(const drawing *d, const stn_type_key *key) {
    if (!d->type->entry && d->type->partner == STN_PARTNER_NONE) {
        return false;
    }
    bool missing = false;
    for (uint8_t j = 0; j < key->field_count; j++) {
        missing |= d->draft->vals[key->fields[j]].kind == STN_VAL_NONE;
    }
    return missing;
}

static bool is_open(const drawing *d, const stn_type_key *key) {
    stn_val parts[STN_KEY_FIELDS];
    for (uint8_t j = 0; j < key->field_count; j++) {
        parts[j] = d->draft->vals[key->fields[j]];
    }
    uint32_t scope = stn_instance_scope(d->world, key->domain, d->draft->cpu, d->subject.current);
    uint32_t index = stn_instance_find(d->world, key->domain, scope, parts, key->field_count);
    return index != STN_WORLD_NONE && d->world->instances[index].open;
}

static bool draw_named(drawing *d) {
    for (uint16_t i = 0; i < d->type->field_count; i++) {
        d->draft->vals[i] = (stn_val){.kind = STN_VAL_NONE};
    }
    if (d->type->role == STN_ROLE_SWITCH && d->type->state_field >= 0) {
        /* who comes depends on how the other leaves */
        uint16_t state = (uint16_t)d->type->state_field;
        d->draft->vals[state] = draw_value(d, state);
    }
    for (uint16_t i = 0; i < d->type->field_count; i++) {
        switch (d->type->fields[i].means) {
        case STN_MEANS_SELF:
            d->draft->vals[i] = tid_val(d->draft->tid);
            break;
        case STN_MEANS_NEXT:
        case STN_MEANS_THREAD:
        case STN_MEANS_CHILD:
            if (!draw_thread(d, i)) {
                return false;
            }
            break;
        default:
            break;
        }
    }
    const stn_type_keys *keys = &d->attr->domains->types[d->draft->type];
    for (uint8_t k = 0; k < keys->count; k++) {
        bool fixed = (int)d->type->split_field == (int)keys->keys[k].fields[0];
        if (fixed || d->attr->key_age[d->draft->type][k] == STN_KEY_BY_VALUE) {
            draw_key_value(d, &keys->keys[k]);
        } else if (!draw_key(d, k, &keys->keys[k])) {
            return false;
        }
        if (is_nameless(d, &keys->keys[k])) {
            return false;
        }
        if (d->type->frame == STN_FRAME_PUSH &&
            (is_early(d, &keys->keys[k]) || is_open(d, &keys->keys[k]))) {
            return false; /* it is being handled already */
        }
    }
    return true;
}

static void draw_rest(drawing *d) {
    const stn_thread *threads = d->world->threads;
    for (uint16_t i = 0; i < d->type->field_count; i++) {
        uint32_t comm = STN_WORLD_NONE;
        switch (d->type->fields[i].means) {
        case STN_MEANS_VALUE:
            if (d->type->role != STN_ROLE_SWITCH || i != d->type->state_field) {
                d->draft->vals[i] = draw_value(d, i);
            }
            break;
        case STN_MEANS_NEW_COMM:
            d->draft->vals[i] = draw_value(d, i);
            if (d->draft->vals[i].kind == STN_FIELD_STR && d->draft->comm != STN_WORLD_NONE) {
                d->draft->comm = (uint32_t)d->draft->vals[i].v;
            }
            break;
        case STN_MEANS_SELF_COMM:
            comm = threads[d->subject.current].comm;
            break;
        case STN_MEANS_THREAD_COMM:
            comm = d->subject.thread == STN_WORLD_NONE ? threads[d->subject.current].comm
                                                       : threads[d->subject.thread].comm;
            break;
        default:
            break;
        }
        if (comm != STN_WORLD_NONE) {
            d->draft->vals[i] = (stn_val){.v = comm, .kind = STN_FIELD_STR};
        }
    }
}

/* The idle task never sleeps, and nobody is gone who did not exit. */
static bool leaves_rightly(const drawing *d) {
    if (d->type->role != STN_ROLE_SWITCH || d->type->state_field < 0) {
        return true;
    }
    stn_leaving leaves = stn_world_leaving(d->world, &d->draft->vals[d->type->state_field]);
    const stn_thread *current = &d->world->threads[d->subject.current];
    if (current->tid == 0) {
        return leaves == STN_LEAVES_READY;
    }
    return leaves != STN_LEAVES_GONE || current->exiting;
}

/* Does a thread of a name less remain, or begin to? */
static bool ends_name(const stn_vtype *type) {
    return type->role == STN_ROLE_EXIT || type->role == STN_ROLE_RENAME ||
           type->role == STN_ROLE_QUIT;
}

/* A workload goes on: the last thread of a name that was always there does not end. */
static bool may_end(const drawing *d) {
    const stn_thread *current = &d->world->threads[d->subject.current];
    const stn_crowd *crowd = crowd_of(d->attr, current->comm);
    return current->quits || !crowd || crowd->least == 0 ||
           stn_world_named(d->world, current->comm) > crowd->least;
}

uint64_t stn_attr_told(const stn_attr *attr, const stn_world *world, const stn_draft *draft,
                       uint32_t current) {
    const stn_vtype *type = &attr->vocab->types[draft->type];
    const stn_attr_field *fields = &attr->fields[(size_t)draft->type * STN_VFIELD_MAX];
    const stn_subject subject = {current, STN_WORLD_NONE, STN_WORLD_NONE};
    uint64_t hash = 1;
    for (uint16_t i = 0; i < type->field_count; i++) {
        uint8_t kind = fields[i].source.kind;
        bool early = kind == STN_SOURCE_THREAD || kind == STN_SOURCE_CPU;
        if (early && type->fields[i].means == STN_MEANS_VALUE) {
            stn_val told = stn_source_value(world, &fields[i].source, draft, &subject, i);
            hash = stn_chain_mix(hash, stn_val_word(told));
        }
    }
    return hash;
}

bool stn_attr_propose(const stn_attr *attr, stn_world *world, uint32_t attempt, stn_draft *draft,
                      stn_rng *rng) {
    uint32_t current = world->cpus[draft->cpu].thread;
    current = current == STN_WORLD_NONE ? draft->cpu : current;
    drawing d = {.attr = attr,
                 .world = world,
                 .draft = draft,
                 .type = &attr->vocab->types[draft->type],
                 .rng = rng,
                 .attempt = attempt,
                 .subject = {current, STN_WORLD_NONE, STN_WORLD_NONE}};
    d.layout = &attr->templates.layouts[draft->type];
    draft->tid = world->threads[current].tid;
    draft->comm = world->threads[current].comm;
    draft->val_count = d.type->field_count;
    if (attempt < ALONE_FROM && d.layout->size > 0) {
        bool wide = attempt >= WIDE_FROM;
        uint64_t told = wide ? 0 : stn_attr_told(attr, world, draft, current);
        d.template = stn_template_draw(&attr->templates, world, draft, current, told, wide, rng);
    }
    if ((ends_name(d.type) && !may_end(&d)) || !draw_named(&d)) {
        return false;
    }
    draw_rest(&d);
    return leaves_rightly(&d);
}

stn_status stn_attr_begin(const stn_attr *attr, stn_world *world, stn_rng *rng) {
    if (attr->start_count > 0) {
        return stn_start_restore(&attr->starts[stn_rng_below(rng, attr->start_count)], world);
    }
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        stn_world_place(world, i, i); /* the idle thread */
    }
    return STN_OK;
}

uint64_t stn_attr_parameters(const stn_attr *attr) {
    return attr->chain.next_count + attr->value_count + attr->templates.word_count +
           attr->templates.pool.case_count;
}

void stn_attr_fini(stn_attr *attr) {
    for (uint32_t i = 0; i < attr->start_count; i++) {
        stn_start_fini(&attr->starts[i]);
    }
    stn_free(attr->starts);
    stn_free(attr->crowds);
    stn_sleeps_fini(&attr->sleeps);
    stn_dues_fini(&attr->dues);
    stn_free(attr->slots.of);
    stn_free(attr->fields);
    stn_free(attr->key_age);
    stn_free(attr->values);
    stn_chain_fini(&attr->chain);
    stn_templates_fini(&attr->templates);
    stn_wakes_fini(&attr->wakes);
    *attr = (stn_attr){0};
}
