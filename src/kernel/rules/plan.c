/* Plans: what one event type means to a rule set. Made when the type is first seen. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/files.h"
#include "kernel/rules/set.h"

/* A row that concerns the type, and the key it forms. */
typedef struct match {
    const stn_rule *rule;
    uint32_t rule_index;
    const stn_row *row;
    uint32_t key;
    bool exact;
} match;

typedef struct planner {
    stn_rules *rules;
    stn_arena *arena;
    const stn_type *type;
    const stn_rule *at; /* the rule at hand */
    stn_plan *plan;
    stn_plan_field fields[STN_VALUES_MAX];
    stn_plan_key *keys;
    size_t key_count, key_capacity;
    match *matches;
    size_t match_count, match_capacity;
    bool failed; /* out of memory or of value places: then rules->crowded_rule is set */
} planner;

/* ---- values ----------------------------------------------------------------- */

static uint16_t field_value(planner *p, const uint32_t *names, uint32_t count) {
    uint32_t i = 0;
    for (; i < p->plan->field_count; i++) {
        if (p->fields[i].name_count == count &&
            !memcmp(p->fields[i].names, names, count * sizeof *names)) {
            return (uint16_t)(STN_VALUE_FIELDS + i);
        }
    }
    if (STN_VALUE_FIELDS + i >= STN_VALUES_MAX) {
        p->failed = true;
        p->rules->crowded_type = p->type->name_id;
        p->rules->crowded_rule = p->at;
        return STN_VALUE_TIME;
    }
    p->fields[i].name_count = count;
    memcpy(p->fields[i].names, names, count * sizeof *names);
    p->plan->field_count++;
    return (uint16_t)(STN_VALUE_FIELDS + i);
}

static uint16_t named_value(planner *p, const char *name) {
    uint32_t id = stn_catalog_cstring(p->rules->catalog, name);
    p->failed |= id == STN_NO_ID;
    return field_value(p, &id, 1);
}

static stn_plan_operand plan_operand(planner *p, const stn_operand *operand) {
    static const uint16_t places[] = {
        [STN_OPERAND_TIME] = STN_VALUE_TIME,       [STN_OPERAND_TID] = STN_VALUE_TID,
        [STN_OPERAND_CPU] = STN_VALUE_CPU,         [STN_OPERAND_COMM] = STN_VALUE_COMM,
        [STN_OPERAND_SYSCALL] = STN_VALUE_SYSCALL, [STN_OPERAND_FILES] = STN_VALUE_FILES};
    stn_plan_operand out = {.source = STN_SOURCE_VALUE};
    switch ((stn_operand_kind)operand->kind) {
    case STN_OPERAND_CONST:
        return (stn_plan_operand){.source = STN_SOURCE_CONST, .value = operand->value};
    case STN_OPERAND_REG:
        return (stn_plan_operand){.source = STN_SOURCE_REG, .index = (uint16_t)operand->reg};
    case STN_OPERAND_FIELD:
        out.index = field_value(p, operand->names, operand->name_count);
        return out;
    default:
        out.index = places[operand->kind];
        p->plan->comm_used |= operand->kind == STN_OPERAND_COMM;
        p->plan->files_used |= operand->kind == STN_OPERAND_FILES;
        return out;
    }
}

/* ---- rows --------------------------------------------------------------------- */

static const stn_plan_cond *plan_conds(planner *p, const stn_cond *conds, uint32_t count) {
    stn_plan_cond *out = stn_arena_alloc(p->arena, count * sizeof *out);
    if (!out) {
        p->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (stn_plan_cond){
            .compare = conds[i].compare,
            .subtracts = conds[i].subtracts,
            .plain = conds[i].compare == STN_COMPARE_EQ && !conds[i].subtracts && !conds[i].add,
            .left = plan_operand(p, &conds[i].left),
            .right = plan_operand(p, &conds[i].right),
            .add = conds[i].add,
            .ranges = conds[i].ranges,
            .range_count = conds[i].range_count,
        };
        if (conds[i].subtracts) {
            out[i].minus = plan_operand(p, &conds[i].minus);
        }
    }
    return out;
}

static const stn_plan_assign *plan_sets(planner *p, const stn_row *row) {
    stn_plan_assign *out = stn_arena_alloc(p->arena, row->set_count * sizeof *out);
    if (!out) {
        p->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < row->set_count; i++) {
        out[i] = (stn_plan_assign){row->sets[i].reg, row->sets[i].adds,
                                   plan_operand(p, &row->sets[i].from)};
    }
    return out;
}

static void plan_row(planner *p, const stn_row *row, stn_plan_row *out) {
    *out = (stn_plan_row){
        .row = row,
        .from = row->from,
        .from0 = row->from[0],
        .where = plan_conds(p, row->where, row->where_count),
        .ifs = plan_conds(p, row->ifs, row->if_count),
        .sets = plan_sets(p, row),
        .where_count = (uint16_t)row->where_count,
        .if_count = (uint16_t)row->if_count,
        .set_count = (uint16_t)row->set_count,
        .action = (uint16_t)row->action,
        .to = row->to,
        .otherwise = row->otherwise,
        .free = !row->from_list && !row->if_count && !row->inside_count,
    };
    for (uint32_t i = 0; i < row->inside_count; i++) {
        out->inside |= UINT64_C(1) << row->inside[i];
    }
}

/* ---- which rows ---------------------------------------------------------------- */

static bool is_glob(const char *pattern) {
    return strpbrk(pattern, "*?[") != NULL;
}

/* 0: not for this type, 1: by a pattern, 2: by its own name. */
static int row_match(const stn_row *row, const char *name) {
    if (row->excluded_count && stn_patterns_match(row->excluded, row->excluded_count, name)) {
        return 0;
    }
    int found = 0;
    for (uint32_t i = 0; i < row->pattern_count && found < 2; i++) {
        if (!strcmp(row->patterns[i], name)) {
            found = 2;
        } else if (is_glob(row->patterns[i]) && stn_patterns_match(&row->patterns[i], 1, name)) {
            found = 1;
        }
    }
    return found;
}

/* The key of the row, not before @p from: a rule's keys keep the order of its text. */
static uint32_t key_of(planner *p, const stn_rule *rule, const stn_row *row, uint32_t from) {
    const stn_operand *parts = row->part_count ? row->parts : rule->parts;
    stn_plan_key key = {.domain = rule->domain,
                        .part_count = row->part_count ? row->part_count : rule->part_count};
    for (uint32_t i = 0; i < key.part_count; i++) {
        key.parts[i] = plan_operand(p, &parts[i]).index;
    }
    for (uint32_t i = from; i < p->key_count; i++) {
        const stn_plan_key *other = &p->keys[i];
        if (other->domain == key.domain && !memcmp(other->parts, key.parts, sizeof key.parts)) {
            return i;
        }
    }
    if (stn_grow(&p->keys, &p->key_capacity, p->key_count + 1, sizeof *p->keys)) {
        p->failed = true;
        return 0;
    }
    p->keys[p->key_count] = key;
    return (uint32_t)p->key_count++;
}

/* Do two rows of a rule form the same key? */
static bool same_parts(const stn_row *a, const stn_row *b) {
    bool same = a->part_count == b->part_count;
    for (uint32_t i = 0; i < a->part_count && same; i++) {
        const stn_operand *x = &a->parts[i];
        const stn_operand *y = &b->parts[i];
        same = x->kind == y->kind && x->name_count == y->name_count &&
               !memcmp(x->names, y->names, x->name_count * sizeof *x->names);
    }
    return same;
}

/* A key that the rule uses already, else the first that comes after all of those. */
static uint32_t key_in_order(planner *p, const stn_rule *rule, const stn_row *row,
                             size_t rule_first) {
    uint32_t after = 0;
    for (size_t i = rule_first; i < p->match_count; i++) {
        uint32_t key = p->matches[i].key;
        if (same_parts(p->matches[i].row, row)) {
            return key;
        }
        after = key + 1 > after ? key + 1 : after;
    }
    return key_of(p, rule, row, after);
}

static void match_rule(planner *p, uint32_t rule_index) {
    const stn_rule *rule = p->rules->rules[rule_index];
    size_t first = p->match_count;
    p->at = rule;
    for (uint32_t i = 0; i < rule->row_count; i++) {
        int found = row_match(&rule->rows[i], p->type->name);
        if (!found) {
            continue;
        }
        uint32_t key = key_in_order(p, rule, &rule->rows[i], first);
        if (stn_grow(&p->matches, &p->match_capacity, p->match_count + 1, sizeof *p->matches)) {
            p->failed = true;
            return;
        }
        p->matches[p->match_count++] = (match){rule, rule_index, &rule->rows[i], key, found == 2};
    }
    /* A row that names the type hides the patterns of the same rule and key. */
    size_t kept = first;
    for (size_t i = first; i < p->match_count; i++) {
        bool hidden = false;
        for (size_t j = first; j < p->match_count && !p->matches[i].exact; j++) {
            hidden |= p->matches[j].exact && p->matches[j].key == p->matches[i].key;
        }
        if (!hidden) {
            p->matches[kept++] = p->matches[i];
        }
    }
    p->match_count = kept;
}

/* ---- touches -------------------------------------------------------------------- */

/* @p at [count] are the matches of one rule with one key. */
static void plan_touch(planner *p, stn_touch *touch, const uint32_t *at, uint32_t count) {
    const match *head = &p->matches[at[0]];
    p->at = head->rule;
    stn_plan_row *rows = stn_arena_alloc(p->arena, count * sizeof *rows);
    if (!rows) {
        p->failed = true;
        return;
    }
    *touch = (stn_touch){.rule = head->rule_index,
                         .cell = head->rule->cell,
                         .owner = head->rule,
                         .rows = rows,
                         .row_count = count,
                         .framed = head->rule->framed,
                         .kept = head->rule->fresh && head->rule->need_count};
    for (uint32_t i = 0; i < count; i++) {
        plan_row(p, p->matches[at[i]].row, &rows[i]);
    }
}

/* Indices of the matches by their keys, those of a key in order: @p out [match_count];
 * @p begins [key_count + 1] where each key's begin. */
static void sort_by_key(const planner *p, uint32_t *out, uint32_t *begins) {
    for (size_t i = 0; i < p->match_count; i++) {
        begins[p->matches[i].key + 1]++;
    }
    for (size_t k = 0; k < p->key_count; k++) {
        begins[k + 1] += begins[k];
    }
    for (size_t i = 0; i < p->match_count; i++) {
        out[begins[p->matches[i].key]++] = (uint32_t)i;
    }
    memmove(begins + 1, begins, p->key_count * sizeof *begins);
    begins[0] = 0;
}

static void touch_keys(planner *p, stn_touch *touches, const uint32_t *sorted,
                       const uint32_t *begins) {
    uint32_t used = 0;
    for (uint32_t k = 0; k < p->key_count; k++) {
        p->keys[k].touch_first = used;
        uint32_t end = begins[k + 1];
        for (uint32_t i = begins[k]; i < end && !p->failed;) {
            const stn_rule *rule = p->matches[sorted[i]].rule;
            uint32_t count = 1;
            while (i + count < end && p->matches[sorted[i + count]].rule == rule) {
                count++;
            }
            plan_touch(p, &touches[used++], sorted + i, count);
            i += count;
        }
        p->keys[k].touch_count = used - p->keys[k].touch_first;
    }
    p->plan->touches = touches;
    p->plan->touch_count = used;
}

static void plan_touches(planner *p) {
    stn_touch *touches = stn_arena_alloc(p->arena, p->match_count * sizeof *touches);
    uint32_t *sorted = stn_calloc(p->match_count, sizeof *sorted);
    uint32_t *begins = stn_calloc(p->key_count + 1, sizeof *begins);
    if (touches && sorted && begins) {
        sort_by_key(p, sorted, begins);
        touch_keys(p, touches, sorted, begins);
    } else {
        p->failed = true;
    }
    stn_free(sorted);
    stn_free(begins);
}

static uint32_t part_name(const planner *p, uint16_t value) {
    switch (value) {
    case STN_VALUE_TID:
        return STN_PART_TID;
    case STN_VALUE_CPU:
        return STN_PART_CPU;
    case STN_VALUE_FILES:
        return STN_PART_FILES;
    case STN_VALUE_COMM:
        return STN_PART_COMM;
    case STN_VALUE_TIME:
    case STN_VALUE_SYSCALL:
        return STN_NO_ID;
    default:
        return p->fields[value - STN_VALUE_FIELDS].names[0];
    }
}

static void plan_bindings(planner *p) {
    stn_plan *plan = p->plan;
    stn_binding *out = stn_arena_alloc(p->arena, plan->touch_count * sizeof *out);
    uint32_t *seen = stn_calloc(p->rules->count, sizeof *seen); /* touches of each rule so far */
    if (!out || !seen) {
        stn_free(seen);
        p->failed = true;
        return;
    }
    for (uint32_t k = 0; k < p->key_count; k++) {
        const stn_plan_key *key = &p->keys[k];
        for (uint32_t i = 0; i < key->touch_count; i++) {
            uint32_t at = key->touch_first + i;
            out[at] = (stn_binding){.rule = plan->touches[at].rule, .part_count = key->part_count};
            for (uint32_t part = 0; part < key->part_count; part++) {
                out[at].part[part] = part_name(p, key->parts[part]);
            }
            out[at].order = seen[out[at].rule]++;
        }
    }
    stn_free(seen);
    plan->bindings = out;
}

static void plan_needs(planner *p) {
    const stn_rules *rules = p->rules;
    uint32_t *out = stn_arena_alloc(p->arena, rules->need_count * sizeof *out);
    if (!out) {
        p->failed = true;
        return;
    }
    for (size_t i = 0; i < rules->need_count; i++) {
        if (stn_patterns_match(&rules->needs[i].pattern, 1, p->type->name)) {
            out[p->plan->need_count++] = (uint32_t)i;
        }
    }
    p->plan->needs = out;
}

/* Values that the engine itself looks at. */
static void plan_engine(planner *p) {
    stn_plan *plan = p->plan;
    plan->syscall =
        p->type->syscall_id == STN_NO_ID
            ? STN_NO_VALUE
            : stn_text_value(stn_catalog_text(p->rules->catalog, p->type->syscall_id),
                             strlen(stn_catalog_text(p->rules->catalog, p->type->syscall_id)));
    if (!strcmp(p->type->name, "sched_switch")) {
        plan->next_value = named_value(p, "next_pid");
    }
    plan->files_act = stn_files_act_of(p->type->name);
    if (plan->files_act == STN_FILES_NEW_TASK) {
        plan->pid_value = named_value(p, "pid");
        plan->flags_value = named_value(p, "clone_flags");
    }
}

static void plan_all(planner *p) {
    for (uint32_t i = 0; i < p->rules->count && !p->failed; i++) {
        match_rule(p, i);
    }
    if (!p->failed) {
        plan_touches(p);
        plan_engine(p);
        plan_needs(p);
    }
    if (!p->failed) {
        plan_bindings(p);
    }
    stn_plan *plan = p->plan;
    plan->fields = stn_arena_alloc(p->arena, plan->field_count * sizeof *plan->fields);
    stn_plan_key *keys = stn_arena_alloc(p->arena, p->key_count * sizeof *keys);
    if (!plan->fields || !keys) {
        p->failed = true;
        return;
    }
    for (uint32_t i = 0; i < plan->field_count; i++) {
        plan->fields[i].name_count = p->fields[i].name_count;
        memcpy(plan->fields[i].names, p->fields[i].names, sizeof p->fields[i].names);
        atomic_init(&plan->fields[i].hint, 0);
    }
    if (p->key_count) {
        memcpy(keys, p->keys, p->key_count * sizeof *keys);
    }
    plan->keys = keys;
    plan->key_count = (uint32_t)p->key_count;
}

static stn_plan *make_plan(stn_rules *rules, uint32_t type) {
    stn_plan *plan = stn_arena_alloc(&rules->plan_arena, sizeof *plan);
    if (!plan) {
        return NULL;
    }
    *plan = (stn_plan){0};
    stn_type copy = *stn_catalog_type_at(rules->catalog, type); /* interning may move types */
    planner *p = stn_calloc(1, sizeof *p);
    if (!p) {
        return NULL;
    }
    p->rules = rules;
    p->arena = &rules->plan_arena;
    p->type = &copy;
    p->plan = plan;
    if (type != STN_TYPE_LOST) {
        plan_all(p);
    }
    bool failed = p->failed;
    stn_free(p->keys);
    stn_free(p->matches);
    stn_free(p);
    return failed ? NULL : plan;
}

static stn_plan_slot *chunk_of(stn_rules *rules, uint32_t type) {
    _Atomic(stn_plan_slot *) *place = &rules->plans[type / STN_PLAN_CHUNK];
    stn_plan_slot *chunk = atomic_load(place);
    if (!chunk) {
        chunk = stn_calloc(STN_PLAN_CHUNK, sizeof *chunk);
        atomic_store(place, chunk);
    }
    return chunk;
}

const stn_plan *stn_rules_plan(const stn_rules *shared, uint32_t type) {
    stn_rules *rules = (stn_rules *)shared; /* the plans are a cache behind a lock */
    if (type / STN_PLAN_CHUNK >= STN_PLAN_CHUNKS) {
        return NULL;
    }
    stn_plan_slot *chunk = atomic_load(&rules->plans[type / STN_PLAN_CHUNK]);
    stn_plan *plan = chunk ? atomic_load(&chunk[type % STN_PLAN_CHUNK]) : NULL;
    if (plan) {
        return plan;
    }
    pthread_mutex_lock(&rules->lock);
    chunk = chunk_of(rules, type);
    plan = chunk ? atomic_load(&chunk[type % STN_PLAN_CHUNK]) : NULL;
    if (chunk && !plan) {
        plan = make_plan(rules, type);
        atomic_store(&chunk[type % STN_PLAN_CHUNK], plan);
    }
    pthread_mutex_unlock(&rules->lock);
    return plan;
}

stn_status stn_rules_no_plan(const stn_rules *rules, stn_err *err) {
    const stn_rule *rule = rules->crowded_rule;
    if (!rule) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the state of the rules");
    }
    return stn_err_set(err, STN_EUNSUPPORTED,
                       "rule %s (line %u): with it the rules look at more than %d fields of %s; "
                       "check fewer rules at a time",
                       rule->info.name, rule->line, STN_VALUES_MAX - STN_VALUE_FIELDS,
                       stn_catalog_text(rules->catalog, rules->crowded_type));
}

void stn_rules_forget_plans(stn_rules *rules) {
    rules->crowded_rule = NULL;
    for (size_t i = 0; i < STN_PLAN_CHUNKS; i++) {
        stn_free(atomic_load(&rules->plans[i]));
        atomic_store(&rules->plans[i], NULL);
    }
    stn_arena_reset(&rules->plan_arena);
}

/* ---- what others may ask --------------------------------------------------------- */

const stn_binding *stn_rules_bindings(const stn_rules *rules, uint32_t type, uint32_t *count) {
    const stn_plan *plan = stn_rules_plan(rules, type);
    *count = plan ? plan->touch_count : 0;
    return plan ? plan->bindings : NULL;
}

bool stn_rules_accepts(const stn_rules *rules, uint32_t rule, uint32_t state, uint32_t type) {
    const stn_plan *plan = stn_rules_plan(rules, type);
    bool touched = false;
    for (uint32_t i = 0; plan && i < plan->touch_count; i++) {
        const stn_touch *touch = &plan->touches[i];
        for (uint32_t r = 0; touch->rule == rule && r < touch->row_count; r++) {
            touched = true;
            if (touch->rows[r].from[state / 64] >> (state % 64) & 1) {
                return true;
            }
        }
    }
    return !touched;
}
