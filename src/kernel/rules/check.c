/* The pass: one event after the other steps the automata that its type touches. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/checker.h"
#include "kernel/rules/files.h"

/* Words of the log that one automaton can change: state, registers (emptied, then set), counts. */
enum { LOG_PER_TOUCH = STN_REGISTERS * 4 + 4, LOG_PER_STEP = 16 };

/* ---- values of an event --------------------------------------------------------- */

static int64_t field_value(const stn_field *field) {
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        return field->v.i;
    case STN_FIELD_UINT:
    case STN_FIELD_HEX:
        return (int64_t)field->v.u;
    case STN_FIELD_STR:
        return stn_text_value(field->v.s, strlen(field->v.s));
    case STN_FIELD_REAL:
        return (int64_t)field->v.f;
    case STN_FIELD_SEQ:
        break;
    }
    return STN_NO_VALUE;
}

static int64_t fetch_field(stn_plan_field *want, const stn_event *event) {
    uint32_t hint = atomic_load_explicit(&want->hint, memory_order_relaxed);
    if (hint < event->field_count && event->fields[hint].name == want->names[0]) {
        return field_value(&event->fields[hint]);
    }
    for (uint32_t n = 0; n < want->name_count; n++) {
        for (uint32_t i = 0; i < event->field_count; i++) {
            if (event->fields[i].name == want->names[n]) {
                atomic_store_explicit(&want->hint, i, memory_order_relaxed);
                return field_value(&event->fields[i]);
            }
        }
    }
    return STN_NO_VALUE;
}

static int64_t files_of(const stn_checker *checker, int64_t tid) {
    const stn_table *threads = &checker->tables[STN_DOMAIN_THREAD];
    uint32_t at = tid == STN_NO_VALUE ? UINT32_MAX : stn_table_find(threads, &tid);
    if (at == UINT32_MAX) {
        return STN_NO_VALUE;
    }
    const stn_cell *cell = &stn_table_at(threads, at)->cells[0];
    if (STN_CELL_EPOCH(cell->word) != checker->epoch || !STN_CELL_STATE(cell->word)) {
        return STN_NO_VALUE;
    }
    const stn_table *files = &checker->tables[STN_DOMAIN_FILES];
    at = stn_table_find(files, &cell->reg[0]);
    const stn_cell *renewed = at == UINT32_MAX ? NULL : &stn_table_at(files, at)->cells[0];
    int64_t renewals =
        renewed && STN_CELL_EPOCH(renewed->word) == checker->epoch ? renewed->reg[0] : 0;
    return (int64_t)((uint64_t)cell->reg[0] << 24) + renewals;
}

void stn_checker_fetch(const stn_checker *checker, const stn_plan *plan, const stn_event *event,
                       int64_t *values) {
    values[STN_VALUE_TIME] = (int64_t)event->time_ns;
    values[STN_VALUE_CPU] = event->cpu == STN_NO_CPU ? STN_NO_VALUE : event->cpu;
    values[STN_VALUE_TID] = event->tid;
    if (event->tid == STN_NO_TID) {
        values[STN_VALUE_TID] = event->cpu < checker->running_count
                                    ? (int64_t)checker->running[event->cpu]
                                    : STN_NO_VALUE;
    }
    values[STN_VALUE_SYSCALL] = plan->syscall;
    values[STN_VALUE_COMM] = STN_NO_VALUE;
    if (plan->comm_used && event->comm != STN_NO_ID) {
        const char *comm = stn_catalog_text(checker->catalog, event->comm);
        values[STN_VALUE_COMM] = stn_text_value(comm, strlen(comm));
    }
    values[STN_VALUE_FILES] =
        plan->files_used ? files_of(checker, values[STN_VALUE_TID]) : STN_NO_VALUE;
    for (uint32_t i = 0; i < plan->field_count; i++) {
        values[STN_VALUE_FIELDS + i] = fetch_field(&plan->fields[i], event);
    }
}

/* ---- conditions ------------------------------------------------------------------- */

static bool in_ranges(const stn_plan_cond *cond, int64_t value) {
    if (cond->range_count <= 8) {
        for (uint32_t i = 0; i < cond->range_count; i++) {
            if (value >= cond->ranges[i].low && value <= cond->ranges[i].high) {
                return true;
            }
        }
        return false;
    }
    uint32_t low = 0;
    uint32_t high = cond->range_count; /* the last range that begins at or before the value */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (cond->ranges[middle].low <= value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low && value <= cond->ranges[low - 1].high;
}

static bool compare(const stn_plan_cond *cond, int64_t left, int64_t right, bool missing) {
    bool ordered = cond->compare >= STN_COMPARE_LT && cond->compare <= STN_COMPARE_NOMASK;
    if (ordered && (left < STN_TEXT_VALUES || right < STN_TEXT_VALUES)) {
        return missing; /* a text is neither more nor less than a number */
    }
    switch ((stn_compare)cond->compare) {
    case STN_COMPARE_EQ:
        return left == right;
    case STN_COMPARE_NE:
        return left != right;
    case STN_COMPARE_LT:
        return left < right;
    case STN_COMPARE_LE:
        return left <= right;
    case STN_COMPARE_GT:
        return left > right;
    case STN_COMPARE_GE:
        return left >= right;
    case STN_COMPARE_MASK:
        return (left & right) != 0;
    case STN_COMPARE_NOMASK:
        return (left & right) == 0;
    case STN_COMPARE_IN:
        return in_ranges(cond, left);
    case STN_COMPARE_NOT_IN:
        return !in_ranges(cond, left);
    }
    return missing;
}

bool stn_cond_holds(const stn_plan_cond *cond, const int64_t *values, const int64_t *regs,
                    bool missing) {
    int64_t left = stn_plan_value(&cond->left, values, regs);
    int64_t right = stn_plan_value(&cond->right, values, regs);
    if (left == STN_NO_VALUE || right == STN_NO_VALUE) {
        return missing;
    }
    if (cond->subtracts) {
        int64_t minus = stn_plan_value(&cond->minus, values, regs);
        if (minus == STN_NO_VALUE) {
            return missing;
        }
        left = (int64_t)((uint64_t)left - (uint64_t)minus);
    }
    right = (int64_t)((uint64_t)right + (uint64_t)cond->add);
    return compare(cond, left, right, missing);
}

static inline bool all_hold(const stn_plan_cond *conds, uint32_t count, const int64_t *values,
                            const int64_t *regs, bool missing) {
    for (uint32_t i = 0; i < count; i++) {
        if (conds[i].compare == STN_COMPARE_EQ && !conds[i].subtracts && !conds[i].add) {
            int64_t left = stn_plan_value(&conds[i].left, values, regs);
            int64_t right = stn_plan_value(&conds[i].right, values, regs);
            if (left == STN_NO_VALUE || right == STN_NO_VALUE ? !missing : left != right) {
                return false;
            }
        } else if (!stn_cond_holds(&conds[i], values, regs, missing)) {
            return false;
        }
    }
    return true;
}

/* Is one of the frames open? A stack whose bottom is not known answers yes. */
static bool inside(const stn_plan_row *row, uint32_t state, uint64_t stack) {
    bool bottom = false;
    while (true) {
        if (row->inside >> state & 1) {
            return true;
        }
        if (state <= 1) {
            bottom = state == 1;
            break;
        }
        state = (uint32_t)(stack & 0xff);
        stack >>= 8;
    }
    return !bottom;
}

/* ---- states ------------------------------------------------------------------------- */

static void log_state(stn_checker *checker, stn_cell *cell, uint32_t rule, uint32_t slot) {
    checker->log[checker->log_count++] = (stn_log_entry){&cell->word, cell->word, rule, slot};
}

static stn_cell *live_cell(const stn_checker *checker, uint32_t rule_index, uint32_t slot) {
    const stn_rule *rule = checker->rules->rules[rule_index];
    return &stn_table_at(&checker->tables[rule->domain], slot)->cells[rule->cell];
}

static void live_remove(stn_checker *checker, uint32_t rule, const stn_cell *cell) {
    stn_live *list = &checker->live[rule][STN_CELL_STATE(cell->word)];
    uint32_t place = STN_CELL_PLACE(cell->word);
    uint32_t moved = list->slots[--list->count];
    if (place < list->count) {
        list->slots[place] = moved;
        stn_cell *other = live_cell(checker, rule, moved);
        other->word = (other->word & 0xffffffff) | ((uint64_t)place << 32);
    }
}

static stn_status live_add(stn_checker *checker, uint32_t rule, uint32_t slot, stn_cell *cell) {
    stn_live *list = &checker->live[rule][STN_CELL_STATE(cell->word)];
    if (stn_grow(&list->slots, &list->capacity, list->count + 1, sizeof *list->slots)) {
        return STN_ENOMEM;
    }
    cell->word = (cell->word & 0xffffffff) | ((uint64_t)list->count << 32);
    list->slots[list->count++] = slot;
    return STN_OK;
}

stn_status stn_checker_set_state(stn_checker *checker, const stn_rule *rule, uint32_t rule_index,
                                 uint32_t slot, stn_cell *cell, uint32_t state) {
    (void)rule;
    log_state(checker, cell, rule_index, slot);
    uint64_t word = state | checker->epoch << 16;
    if (!checker->live[rule_index]) {
        cell->word = word;
        return STN_OK;
    }
    if (STN_CELL_EPOCH(cell->word) == checker->epoch) {
        live_remove(checker, rule_index, cell);
    }
    cell->word = word;
    return live_add(checker, rule_index, slot, cell);
}

stn_status stn_checker_relive(stn_checker *checker) {
    for (uint32_t r = 0; r < checker->rule_count; r++) {
        if (!checker->live[r]) {
            continue;
        }
        const stn_rule *rule = checker->rules->rules[r];
        const stn_table *table = &checker->tables[rule->domain];
        for (uint32_t s = 0; s < rule->info.state_count; s++) {
            checker->live[r][s].count = 0;
        }
        for (uint32_t i = 0; i < table->slot_count; i++) {
            stn_cell *cell = &stn_table_at(table, i)->cells[rule->cell];
            if (stn_table_at(table, i)->used && STN_CELL_EPOCH(cell->word) == checker->epoch &&
                live_add(checker, r, i, cell)) {
                return STN_ENOMEM;
            }
        }
    }
    return STN_OK;
}

/* ---- the log ---------------------------------------------------------------------------- */

static void put_back(stn_checker *checker, const stn_log_entry *entry, bool relive) {
    if (entry->rule == STN_LOG_PLAIN || relive || !checker->live[entry->rule]) {
        *entry->where = entry->old;
        return;
    }
    stn_cell *cell = live_cell(checker, entry->rule, entry->slot);
    if (STN_CELL_EPOCH(cell->word) == checker->epoch) {
        live_remove(checker, entry->rule, cell);
    }
    cell->word = entry->old;
    if (STN_CELL_EPOCH(cell->word) == checker->epoch) {
        /* The list held this slot before, so there is room. */
        (void)!live_add(checker, entry->rule, entry->slot, cell);
    }
}

void stn_checker_undo(stn_checker *checker, stn_mark mark) {
    bool relive = false;
    for (size_t i = mark; i < checker->log_count; i++) {
        relive |= checker->log[i].where == &checker->epoch;
    }
    while (checker->log_count > mark) {
        put_back(checker, &checker->log[--checker->log_count], relive);
    }
    if (relive) {
        (void)!stn_checker_relive(checker);
    }
}

stn_mark stn_checker_mark(stn_checker *checker) {
    checker->marking = true;
    return checker->log_count;
}

void stn_checker_keep(stn_checker *checker) {
    checker->marking = false;
    checker->log_count = 0;
}

static stn_status reserve_log(stn_checker *checker, const stn_plan *plan) {
    size_t need = checker->log_count + plan->touch_count * LOG_PER_TOUCH + plan->key_count +
                  plan->need_count * 2 + LOG_PER_STEP;
    return need <= checker->log_capacity
               ? STN_OK
               : stn_grow(&checker->log, &checker->log_capacity, need, sizeof *checker->log);
}

/* ---- one automaton ------------------------------------------------------------------------ */

static void set_registers(stn_checker *checker, const stn_plan_row *row, stn_cell *cell) {
    for (uint32_t i = 0; i < row->set_count; i++) {
        const stn_plan_assign *set = &row->sets[i];
        int64_t value = stn_plan_value(&set->from, checker->values, cell->reg);
        int64_t *reg = &cell->reg[set->reg];
        if (set->adds) {
            value = value == STN_NO_VALUE || *reg == STN_NO_VALUE
                        ? STN_NO_VALUE
                        : (int64_t)((uint64_t)*reg + (uint64_t)value);
        }
        if (*reg != value) {
            stn_checker_log(checker, (uint64_t *)reg);
            *reg = value;
        }
    }
}

/* State after the frame action of @p row, with the stack below it changed. */
static uint32_t move_stack(stn_checker *checker, const stn_plan_row *row, uint32_t state,
                           stn_cell *cell) {
    uint64_t stack = (uint64_t)cell->reg[0];
    if (row->action == STN_ACTION_PUSH) {
        stack = stack << 8 | state;
        state = row->to;
    } else if (row->action == STN_ACTION_POP) {
        uint64_t rest = stack;
        uint32_t top = state;
        while (top != row->to && top > 1) { /* frames that were left without notice */
            top = (uint32_t)(rest & 0xff);
            rest >>= 8;
        }
        if (top == row->to) {
            state = (uint32_t)(rest & 0xff);
            stack = rest >> 8;
        }
    } else if (row->to != STN_STATE_SAME) {
        state = row->to;
        stack = 0;
    }
    if (stack != (uint64_t)cell->reg[0]) {
        stn_checker_log(checker, (uint64_t *)&cell->reg[0]);
        cell->reg[0] = (int64_t)stack;
    }
    return state;
}

static stn_status apply(stn_checker *checker, const stn_touch *touch, const stn_plan_row *row,
                        uint32_t slot, stn_cell *cell, uint32_t state, bool broken) {
    uint32_t to;
    if (touch->owner->framed) {
        to = move_stack(checker, row, state, cell);
    } else {
        to = row->to == STN_STATE_SAME ? state : row->to;
        if (row->set_count) {
            set_registers(checker, row, cell);
        }
    }
    if (broken && row->otherwise != STN_STATE_SAME) {
        to = row->otherwise;
    }
    bool seen = STN_CELL_EPOCH(cell->word) == checker->epoch;
    if (seen ? STN_CELL_STATE(cell->word) == to : !to && !row->set_count) {
        return STN_OK;
    }
    return stn_checker_set_state(checker, touch->owner, touch->rule, slot, cell, to);
}

static void keep_violation(stn_checker *checker, const stn_touch *touch, const stn_plan_row *tried,
                           uint32_t state, const stn_cell *cell, const stn_event *event) {
    if (checker->stats[touch->rule].violations >= STN_VIOLATIONS_KEPT) {
        return;
    }
    stn_checker_log(checker, &checker->violation_count);
    stn_violation *violation = &checker->violations[checker->violation_count++];
    *violation = (stn_violation){.rule = touch->rule,
                                 .time_ns = event->time_ns,
                                 .type = event->type,
                                 .tid = event->tid,
                                 .cpu = event->cpu};
    stn_checker_explain(checker, touch, tried, state, cell, event, violation->text,
                        sizeof violation->text);
}

/* A cell not seen in this epoch starts from its rule's state, with empty registers. */
static void refresh(stn_checker *checker, const stn_touch *touch, stn_cell *cell) {
    int64_t empty = touch->owner->framed ? 0 : STN_NO_VALUE;
    for (uint32_t i = 0; i < STN_REGISTERS; i++) {
        if (cell->reg[i] != empty) {
            stn_checker_log(checker, (uint64_t *)&cell->reg[i]);
            cell->reg[i] = empty;
        }
    }
}

/* @return STN_OK, STN_ECHECK (broken, and only tried), STN_ENOMEM */
static stn_status step_touch(stn_checker *checker, const stn_touch *touch, stn_table *table,
                             uint32_t slot, stn_cell *cell, const stn_event *event, bool trying) {
    uint32_t state = stn_cell_state(checker, touch->owner, table, cell, event->time_ns);
    const stn_plan_row *first = NULL;
    const stn_plan_row *row = NULL;
    for (uint32_t i = 0; i < touch->row_count && !row; i++) {
        const stn_plan_row *tried = &touch->rows[i];
        if (tried->where_count &&
            !all_hold(tried->where, tried->where_count, checker->values, cell->reg, false)) {
            continue;
        }
        if (!first) {
            first = tried;
            if (STN_CELL_EPOCH(cell->word) != checker->epoch) {
                refresh(checker, touch, cell);
            }
        }
        if (stn_row_accepts(tried, state) &&
            (!tried->if_count ||
             all_hold(tried->ifs, tried->if_count, checker->values, cell->reg, true)) &&
            (!tried->inside || inside(tried, state, (uint64_t)cell->reg[0]))) {
            row = tried;
        }
    }
    if (!first) {
        return STN_OK;
    }
    bool broken = !row && state;
    row = row ? row : first;
    if (state && !row->free) {
        stn_checker_log(checker, &checker->stats[touch->rule].checked);
        checker->stats[touch->rule].checked++;
    }
    if (broken) {
        if (checker->first_broken == STN_NO_ID) {
            checker->first_broken = touch->rule;
        }
        checker->broken++;
        if (trying) {
            return STN_ECHECK;
        }
        keep_violation(checker, touch, first, state, cell, event);
        stn_checker_log(checker, &checker->stats[touch->rule].violations);
        checker->stats[touch->rule].violations++;
    }
    return apply(checker, touch, row, slot, cell, state, broken);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void note_texts(stn_checker *checker, const stn_plan *plan, const stn_plan_key *key,
                       const stn_event *event) {
    for (uint32_t i = 0; i < key->part_count; i++) {
        if (key->parts[i] < STN_VALUE_FIELDS ||
            !stn_value_is_text(checker->values[key->parts[i]])) {
            continue;
        }
        const stn_plan_field *field = &plan->fields[key->parts[i] - STN_VALUE_FIELDS];
        for (uint32_t n = 0; n < field->name_count; n++) {
            const stn_field *found = stn_event_field(event, field->names[n]);
            if (found && found->kind == STN_FIELD_STR) {
                stn_checker_note_text(checker, found->v.s);
                break;
            }
        }
    }
}

/* Slot of the key, UINT32_MAX if the event forms none. */
static stn_status key_slot(stn_checker *checker, const stn_plan *plan, const stn_plan_key *key,
                           const stn_event *event, uint32_t *slot) {
    int64_t parts[STN_KEY_PARTS] = {0};
    *slot = UINT32_MAX;
    for (uint32_t i = 0; i < key->part_count; i++) {
        parts[i] = checker->values[key->parts[i]];
        if (parts[i] == STN_NO_VALUE) {
            return STN_OK;
        }
    }
    stn_table *table = &checker->tables[key->domain];
    *slot = stn_table_find(table, parts);
    if (*slot == UINT32_MAX) {
        *slot = stn_table_put(table, parts);
        checker->created = true;
        note_texts(checker, plan, key, event);
    }
    if (*slot == UINT32_MAX) {
        return STN_ENOMEM;
    }
    stn_table_at(table, *slot)->touched = event->time_ns;
    return STN_OK;
}

static stn_status step_keys(stn_checker *checker, const stn_plan *plan, const stn_event *event,
                            bool trying) {
    for (uint32_t k = 0; k < plan->key_count; k++) {
        const stn_plan_key *key = &plan->keys[k];
        uint32_t slot;
        stn_status status = key_slot(checker, plan, key, event, &slot);
        if (status || slot == UINT32_MAX) {
            if (status) {
                return status;
            }
            continue;
        }
        stn_table *table = &checker->tables[key->domain];
        stn_cell *cells = stn_table_at(table, slot)->cells;
        const stn_touch *touch = &plan->touches[key->touch_first];
        for (uint32_t i = 0; i < key->touch_count; i++, touch++) {
            if (checker->missing[touch->rule]) {
                continue;
            }
            status = step_touch(checker, touch, table, slot, &cells[touch->cell], event, trying);
            if (status) {
                return status;
            }
        }
    }
    return STN_OK;
}

/* ---- what the engine knows without rules ---------------------------------------------------- */

static void log_set(stn_checker *checker, uint64_t *where, uint64_t value) {
    if (*where != value) {
        stn_checker_log(checker, where);
        *where = value;
    }
}

static void note_running(stn_checker *checker, const stn_plan *plan, const stn_event *event) {
    if (event->cpu < checker->running_count) {
        int64_t tid = checker->values[plan->next_value ? plan->next_value : STN_VALUE_TID];
        log_set(checker, &checker->running[event->cpu], (uint64_t)tid);
    }
}

static stn_cell *engine_cell(stn_checker *checker, uint32_t domain, int64_t key) {
    int64_t parts[STN_KEY_PARTS] = {key};
    uint32_t at = stn_table_put(&checker->tables[domain], parts);
    return at == UINT32_MAX ? NULL : &stn_table_at(&checker->tables[domain], at)->cells[0];
}

static void set_files(stn_checker *checker, stn_cell *cell, bool known, int64_t table) {
    log_set(checker, &cell->word, (known ? 1u : 0u) | checker->epoch << 16);
    log_set(checker, (uint64_t *)&cell->reg[0], (uint64_t)table);
}

static stn_status new_task(stn_checker *checker, const stn_plan *plan) {
    enum { CLONE_FILES_FLAG = 0x400 };
    int64_t child = checker->values[plan->pid_value];
    int64_t flags = checker->values[plan->flags_value];
    int64_t parent = checker->values[STN_VALUE_TID];
    if (child == STN_NO_VALUE || flags == STN_NO_VALUE || parent == STN_NO_VALUE) {
        return STN_OK;
    }
    stn_cell *from = engine_cell(checker, STN_DOMAIN_THREAD, parent);
    stn_cell *to = engine_cell(checker, STN_DOMAIN_THREAD, child);
    if (!from || !to) {
        return STN_ENOMEM;
    }
    if (flags & CLONE_FILES_FLAG) {
        bool known =
            STN_CELL_EPOCH(from->word) == checker->epoch && STN_CELL_STATE(from->word) == 1;
        set_files(checker, to, known, from->reg[0]);
        return STN_OK;
    }
    log_set(checker, &checker->next_files, checker->next_files + 1);
    set_files(checker, to, true, (int64_t)checker->next_files);
    return STN_OK;
}

static stn_status step_files(stn_checker *checker, const stn_plan *plan) {
    int64_t tid = checker->values[STN_VALUE_TID];
    if (plan->files_act == STN_FILES_NEW_TASK) {
        return new_task(checker, plan);
    }
    stn_cell *cell = tid == STN_NO_VALUE ? NULL : engine_cell(checker, STN_DOMAIN_THREAD, tid);
    if (!cell) {
        return tid == STN_NO_VALUE ? STN_OK : STN_ENOMEM;
    }
    if (plan->files_act == STN_FILES_EXEC) {
        log_set(checker, &checker->next_files, checker->next_files + 1);
        set_files(checker, cell, true, (int64_t)checker->next_files);
    } else if (plan->files_act == STN_FILES_FORGET) {
        set_files(checker, cell, false, 0);
    } else if (STN_CELL_EPOCH(cell->word) == checker->epoch && STN_CELL_STATE(cell->word)) {
        stn_cell *files = engine_cell(checker, STN_DOMAIN_FILES, cell->reg[0]);
        if (!files) {
            return STN_ENOMEM;
        }
        int64_t renewals = STN_CELL_EPOCH(files->word) == checker->epoch ? files->reg[0] : 0;
        set_files(checker, files, true, renewals + 1);
    }
    return STN_OK;
}

/* Rules whose needs are now seen wake up, with every key unknown. */
static void step_needs(stn_checker *checker, const stn_plan *plan) {
    for (uint32_t i = 0; i < plan->need_count; i++) {
        uint32_t need = plan->needs[i];
        if (!checker->need_seen[need]) {
            log_set(checker, &checker->need_seen[need], 1);
            uint64_t *missing = &checker->missing[checker->rules->needs[need].rule];
            log_set(checker, missing, *missing - 1);
        }
    }
}

static stn_status step_lost(stn_checker *checker, const stn_event *event) {
    size_t need = checker->log_count + checker->running_count + LOG_PER_STEP;
    if (stn_grow(&checker->log, &checker->log_capacity, need, sizeof *checker->log)) {
        return STN_ENOMEM;
    }
    stn_checker_log(checker, &checker->epoch);
    if (++checker->epoch > 0xffff) {
        for (size_t i = 0; i < checker->table_count && !checker->marking; i++) {
            stn_table_clear(&checker->tables[i]);
        }
        checker->epoch = 1;
    }
    log_set(checker, &checker->epoch_begin, event->time_ns);
    for (size_t i = 0; i < checker->running_count; i++) {
        log_set(checker, &checker->running[i], (uint64_t)STN_NO_VALUE);
    }
    return stn_checker_relive(checker);
}

/* ---- dead keys ---------------------------------------------------------------------------------
 */

typedef struct sweep {
    stn_checker *checker;
    const stn_table *table;
    uint32_t domain;
    uint64_t now;
    uint64_t older; /* keys not touched since are dropped whatever their state */
} sweep;

static bool is_dead(void *user, const stn_slot *slot, uint32_t at) {
    const sweep *s = user;
    stn_checker *checker = s->checker;
    bool dead = slot->touched < s->older;
    bool plain = true;
    if (s->domain <= STN_DOMAIN_FILES) {
        uint64_t word = slot->cells[0].word;
        plain = STN_CELL_EPOCH(word) != checker->epoch || !STN_CELL_STATE(word);
    }
    for (uint32_t r = 0; r < checker->rule_count && plain && !dead; r++) {
        const stn_rule *rule = checker->rules->rules[r];
        if (rule->domain == s->domain) {
            const stn_cell *cell = &slot->cells[rule->cell];
            uint32_t state = STN_CELL_STATE(cell->word);
            uint32_t absent = stn_cell_state(checker, rule, s->table, &(stn_cell){0}, s->now);
            plain = STN_CELL_EPOCH(cell->word) != checker->epoch || state == absent;
        }
    }
    dead |= plain;
    for (uint32_t r = 0; r < checker->rule_count && dead; r++) {
        const stn_rule *rule = checker->rules->rules[r];
        const stn_cell *cell = &slot->cells[rule->domain == s->domain ? rule->cell : 0];
        if (rule->domain == s->domain && checker->live[r] &&
            STN_CELL_EPOCH(cell->word) == checker->epoch) {
            live_remove(checker, r, cell);
        }
    }
    (void)at;
    return dead;
}

/* Time before which a quarter of the keys were last touched, by a sample of them. */
static uint64_t old_time(const stn_table *table) {
    uint64_t least = UINT64_MAX;
    uint64_t sum = 0;
    uint32_t step = table->slot_count / 1024 + 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->slot_count; i += step) {
        const stn_slot *slot = stn_table_at(table, i);
        if (slot->used) {
            least = slot->touched < least ? slot->touched : least;
            sum += slot->touched / 1024;
            count++;
        }
    }
    return count ? least + (sum / count * 1024 - least) / 2 + 1 : 0;
}

/* Before a table grows: give back what says nothing, then, past the bound, what is old. */
static void make_room(stn_checker *checker, uint64_t now) {
    for (size_t i = 0; i < checker->table_count; i++) {
        stn_table *table = &checker->tables[i];
        if (table->free_head || table->slot_count < table->sweep_at) {
            continue;
        }
        sweep s = {checker, table, (uint32_t)i, now, 0};
        stn_table_sweep(table, is_dead, &s);
        if (table->used_count >= table->slots_max) {
            s.older = old_time(table);
            stn_table_sweep(table, is_dead, &s);
            table->forgot = true;
        }
        /* Few freed: let it grow, else the next sweep comes too soon. */
        if (table->used_count > table->slot_count / 4 * 3) {
            table->sweep_at = table->slot_count + table->slot_count / 2;
        }
    }
}

/* ---- steps -------------------------------------------------------------------------------------
 */

static stn_status step_event(stn_checker *checker, const stn_plan *plan, const stn_event *event,
                             bool trying) {
    log_set(checker, &checker->now, event->time_ns);
    if (!checker->begun) {
        log_set(checker, &checker->begun, 1);
        log_set(checker, &checker->epoch_begin, event->time_ns);
    }
    if (event->type == STN_TYPE_LOST) {
        return step_lost(checker, event);
    }
    checker->plan = plan;
    stn_checker_fetch(checker, plan, event, checker->values);
    step_needs(checker, plan);
    stn_status status = step_keys(checker, plan, event, trying);
    if (!status && plan->files_act) {
        status = step_files(checker, plan);
    }
    note_running(checker, plan, event);
    return status;
}

static stn_status step(stn_checker *checker, const stn_event *event, bool trying) {
    const stn_plan *plan =
        event->type < checker->plan_capacity ? checker->plans[event->type] : NULL;
    if (!plan && !(plan = stn_checker_plan(checker, event->type))) {
        return STN_ENOMEM;
    }
    if (reserve_log(checker, plan)) {
        return STN_ENOMEM;
    }
    size_t begin = checker->log_count;
    checker->first_broken = STN_NO_ID;
    stn_status status = step_event(checker, plan, event, trying);
    if (status) {
        stn_checker_undo(checker, begin);
    }
    if (!checker->marking) {
        checker->log_count = 0;
        if (checker->created) {
            checker->created = false;
            make_room(checker, event->time_ns);
        }
    }
    return status;
}

stn_status stn_checker_step(stn_checker *checker, const stn_event *event, uint32_t *violations,
                            stn_err *err) {
    uint64_t before = checker->broken;
    stn_status status = step(checker, event, false);
    if (status) {
        return stn_err_set(err, status, "out of memory for the state of the rules");
    }
    if (violations) {
        *violations = (uint32_t)(checker->broken - before);
    }
    return STN_OK;
}

stn_status stn_checker_try(stn_checker *checker, const stn_event *event, uint32_t *broken) {
    stn_status status = step(checker, event, true);
    if (broken) {
        *broken = checker->first_broken;
    }
    return status;
}
