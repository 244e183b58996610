/* The life of a pass, and looking into it. */
#include "kernel/rules/checker.h"

#include <string.h>

#include "core/base/alloc.h"

enum { RUNNING_CPUS = 4096, TEXTS_MAX = 1 << 16 };

/* ---- life ---------------------------------------------------------------------- */

static void start(stn_checker *checker) {
    checker->begun = 0;
    checker->log_count = 0;
    checker->marking = false;
    checker->silent = false;
    checker->violation_count = 0;
    for (size_t i = 0; i < checker->running_count; i++) {
        checker->running[i] = (uint64_t)STN_NO_VALUE;
    }
    if (checker->rule_count) {
        memset(checker->stats, 0, checker->rule_count * sizeof *checker->stats);
    }
    for (uint32_t r = 0; r < checker->rule_count; r++) {
        const stn_rule *rule = checker->rules->rules[r];
        checker->missing[r] = rule->need_count;
        checker->woken_ns[r] = 0;
        for (uint32_t s = 0; checker->live[r] && s < rule->info.state_count; s++) {
            checker->live[r][s].count = 0;
        }
    }
    if (checker->rules->need_count) {
        memset(checker->need_seen, 0, checker->rules->need_count * sizeof *checker->need_seen);
    }
}

static stn_status make_tables(stn_checker *checker) {
    const stn_rules *rules = checker->rules;
    checker->tables = stn_calloc(rules->domain_count, sizeof *checker->tables);
    if (!checker->tables) {
        return STN_ENOMEM;
    }
    for (size_t i = 0; i < rules->domain_count; i++) {
        checker->table_count = i + 1;
        if (stn_table_init(&checker->tables[i], rules->domains[i].part_count,
                           rules->domains[i].cell_count)) {
            return STN_ENOMEM;
        }
    }
    return STN_OK;
}

stn_status stn_checker_new(stn_checker **out, const stn_rules *rules, stn_catalog *catalog,
                           stn_err *err) {
    *out = NULL;
    stn_checker *checker = stn_calloc(1, sizeof *checker);
    if (!checker) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a checker");
    }
    checker->rules = rules;
    checker->catalog = catalog;
    checker->rule_count = (uint32_t)rules->count;
    checker->epoch = 1;
    checker->running_count = RUNNING_CPUS;
    checker->running = stn_malloc(RUNNING_CPUS * sizeof *checker->running);
    checker->stats = stn_calloc(rules->count, sizeof *checker->stats);
    checker->missing = stn_calloc(rules->count, sizeof *checker->missing);
    checker->need_seen = stn_calloc(rules->need_count, sizeof *checker->need_seen);
    checker->woken_ns = stn_calloc(rules->count, sizeof *checker->woken_ns);
    checker->live = stn_calloc(rules->count, sizeof *checker->live);
    checker->violations =
        stn_calloc(rules->count * STN_VIOLATIONS_KEPT, sizeof *checker->violations);
    if (!checker->running || !checker->stats || !checker->missing || !checker->need_seen ||
        !checker->woken_ns || !checker->live || !checker->violations || make_tables(checker)) {
        stn_checker_free(checker);
        return stn_err_set(err, STN_ENOMEM, "out of memory for a checker");
    }
    start(checker);
    *out = checker;
    return STN_OK;
}

static void free_live(stn_checker *checker, uint32_t rule) {
    if (checker->live && checker->live[rule]) {
        for (uint32_t s = 0; s < checker->rules->rules[rule]->info.state_count; s++) {
            stn_free(checker->live[rule][s].slots);
        }
        stn_free(checker->live[rule]);
        checker->live[rule] = NULL;
    }
}

void stn_checker_free(stn_checker *checker) {
    if (!checker) {
        return;
    }
    for (size_t i = 0; i < checker->table_count; i++) {
        stn_table_fini(&checker->tables[i]);
    }
    for (uint32_t r = 0; r < checker->rule_count; r++) {
        free_live(checker, r);
    }
    stn_free(checker->tables);
    stn_free(checker->plans);
    stn_free(checker->stats);
    stn_free(checker->missing);
    stn_free(checker->need_seen);
    stn_free(checker->woken_ns);
    stn_free(checker->running);
    stn_free(checker->log);
    stn_free(checker->violations);
    stn_free(checker->live);
    stn_intern_fini(&checker->texts);
    stn_map_fini(&checker->text_ids);
    stn_free(checker);
}

void stn_checker_reset(stn_checker *checker) {
    if (++checker->epoch > STN_EPOCHS) {
        for (size_t i = 0; i < checker->table_count; i++) {
            stn_table_clear(&checker->tables[i]);
        }
        checker->epoch = 1;
    }
    start(checker);
}

/* The checker's own array of plans: one load in the hot path. */
const stn_plan *stn_checker_plan(stn_checker *checker, uint32_t type) {
    size_t before = checker->plan_capacity;
    if (type >= before) {
        if (stn_grow(&checker->plans, &checker->plan_capacity, (size_t)type + 64,
                     sizeof(const stn_plan *))) {
            return NULL;
        }
        memset(checker->plans + before, 0,
               (checker->plan_capacity - before) * sizeof(const stn_plan *));
    }
    checker->plans[type] = stn_rules_plan(checker->rules, type);
    return checker->plans[type];
}

void stn_checker_count(stn_checker *checker, bool on) {
    checker->silent = !on;
}

const stn_rule_stats *stn_checker_stats(const stn_checker *checker) {
    return checker->stats;
}

const stn_violation *stn_checker_violations(const stn_checker *checker, uint32_t *count) {
    *count = (uint32_t)checker->violation_count;
    return checker->violations;
}

/* ---- keys ------------------------------------------------------------------------ */

void stn_checker_note_text(stn_checker *checker, const char *text) {
    size_t size = strlen(text);
    if (checker->texts.count >= TEXTS_MAX) {
        return;
    }
    bool added;
    uint64_t *id = stn_map_put(&checker->text_ids, (uint64_t)stn_text_value(text, size), &added);
    if (id && added) {
        *id = stn_intern_add(&checker->texts, text, size);
    }
}

const char *stn_checker_key_text(const stn_checker *checker, int64_t part) {
    const uint64_t *id =
        stn_value_is_text(part) ? stn_map_get(&checker->text_ids, (uint64_t)part) : NULL;
    return id && *id < checker->texts.count ? checker->texts.texts[*id] : NULL;
}

static const stn_plan_key *key_of_touch(const stn_plan *plan, uint32_t touch) {
    for (uint32_t k = 0; k < plan->key_count; k++) {
        const stn_plan_key *key = &plan->keys[k];
        if (touch >= key->touch_first && touch < key->touch_first + key->touch_count) {
            return key;
        }
    }
    return NULL;
}

bool stn_checker_key(const stn_checker *checker, const stn_binding *binding, const stn_event *event,
                     stn_key *out) {
    const stn_plan *plan = stn_rules_plan(checker->rules, event->type);
    if (!plan || binding < plan->bindings || binding >= plan->bindings + plan->touch_count) {
        return false;
    }
    const stn_plan_key *key = key_of_touch(plan, (uint32_t)(binding - plan->bindings));
    int64_t values[STN_VALUES_MAX];
    stn_checker_fetch(checker, plan, event, values);
    *out = (stn_key){.count = key->part_count};
    for (uint32_t i = 0; i < key->part_count; i++) {
        out->v[i] = values[key->parts[i]];
        if (out->v[i] == STN_NO_VALUE) {
            return false;
        }
    }
    return true;
}

static const stn_cell *find_cell(const stn_checker *checker, uint32_t rule, const stn_key *key) {
    const stn_rule *r = checker->rules->rules[rule];
    const stn_table *table = &checker->tables[r->domain];
    uint32_t at = stn_table_find(table, key->v);
    return at == UINT32_MAX ? NULL : &stn_table_at(table, at)->cells[r->cell];
}

uint32_t stn_checker_state_at(const stn_checker *checker, uint32_t rule, const stn_key *key,
                              uint64_t time_ns) {
    const stn_rule *r = checker->rules->rules[rule];
    if (checker->missing[rule]) {
        return 0;
    }
    static const stn_cell absent = {0};
    const stn_cell *cell = find_cell(checker, rule, key);
    return stn_cell_state(checker, r, &checker->tables[r->domain], cell ? cell : &absent, time_ns);
}

uint32_t stn_checker_state(const stn_checker *checker, uint32_t rule, const stn_key *key) {
    return stn_checker_state_at(checker, rule, key, checker->now);
}

bool stn_checker_register(const stn_checker *checker, uint32_t rule, const stn_key *key,
                          uint32_t index, int64_t *value) {
    const stn_cell *cell = find_cell(checker, rule, key);
    if (!cell || index >= STN_REGISTERS || STN_CELL_EPOCH(cell->word) != checker->epoch ||
        cell->reg[index] == STN_NO_VALUE) {
        return false;
    }
    *value = cell->reg[index];
    return true;
}

stn_mark stn_checker_changed(const stn_checker *checker, uint32_t rule, const stn_key *key,
                             stn_mark before) {
    const stn_cell *cell = find_cell(checker, rule, key);
    size_t at = before < checker->log_count ? before : checker->log_count;
    while (cell && at > 0) {
        const uint64_t *where = checker->log[--at].where;
        if (where == &cell->word || (const int64_t *)where == &cell->reg[0] ||
            (const int64_t *)where == &cell->reg[1]) {
            return at;
        }
    }
    return SIZE_MAX;
}

int32_t stn_checker_running(const stn_checker *checker, uint16_t cpu) {
    int64_t tid = cpu < checker->running_count ? (int64_t)checker->running[cpu] : STN_NO_VALUE;
    return tid == STN_NO_VALUE ? STN_NO_TID : (int32_t)tid;
}

/* ---- live instances ------------------------------------------------------------------ */

stn_status stn_checker_track(stn_checker *checker, uint32_t rule, bool on) {
    if (!on) {
        free_live(checker, rule);
        return STN_OK;
    }
    if (checker->live[rule]) {
        return STN_OK;
    }
    checker->live[rule] =
        stn_calloc(checker->rules->rules[rule]->info.state_count, sizeof **checker->live);
    if (!checker->live[rule]) {
        return STN_ENOMEM;
    }
    stn_status status = stn_checker_relive(checker);
    if (status) {
        free_live(checker, rule);
    }
    return status;
}

/* The @p index-th slot in the state by looking at all; UINT32_MAX and the count if fewer. */
static uint32_t scan(const stn_checker *checker, const stn_rule *rule, uint32_t state,
                     uint32_t index, uint32_t *count) {
    const stn_table *table = &checker->tables[rule->domain];
    *count = 0;
    for (uint32_t i = 0; i < table->slot_count; i++) {
        const stn_slot *slot = stn_table_at(table, i);
        uint64_t word = slot->cells[rule->cell].word;
        if (slot->used && STN_CELL_EPOCH(word) == checker->epoch && STN_CELL_STATE(word) == state &&
            (*count)++ == index) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t stn_checker_live_count(const stn_checker *checker, uint32_t rule, uint32_t state) {
    if (checker->live[rule]) {
        return (uint32_t)checker->live[rule][state].count;
    }
    uint32_t count;
    scan(checker, checker->rules->rules[rule], state, UINT32_MAX, &count);
    return count;
}

bool stn_checker_live(const stn_checker *checker, uint32_t rule, uint32_t state, uint32_t index,
                      stn_key *key) {
    const stn_rule *r = checker->rules->rules[rule];
    const stn_table *table = &checker->tables[r->domain];
    uint32_t at;
    if (checker->live[rule]) {
        const stn_live *list = &checker->live[rule][state];
        at = index < list->count ? list->slots[index] : UINT32_MAX;
    } else {
        uint32_t count;
        at = scan(checker, r, state, index, &count);
    }
    if (at == UINT32_MAX) {
        return false;
    }
    key->count = table->part_count;
    memcpy(key->v, stn_table_at(table, at)->key, sizeof key->v);
    return true;
}
