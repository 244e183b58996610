/* The pass: one event after the other steps the automata that its type touches. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/checker.h"

/* Words of the log that one automaton can change: state, registers (emptied, then set), counts. */
enum { LOG_PER_TOUCH = STN_REGISTERS * 4 + 4, LOG_PER_STEP = 16 };

static inline bool all_hold(const stn_plan_cond *conds, uint32_t count, const int64_t *values,
                            const int64_t *regs, bool missing) {
    for (uint32_t i = 0; i < count; i++) {
        if (conds[i].plain) {
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

static stn_status reserve_log(stn_checker *checker, const stn_plan *plan) {
    size_t need = checker->log_count + plan->touch_count * LOG_PER_TOUCH + plan->key_count +
                  plan->need_count * 3 + LOG_PER_STEP;
    return need <= checker->log_capacity
               ? STN_OK
               : stn_grow(&checker->log, &checker->log_capacity, need, sizeof *checker->log);
}

/* ---- one automaton ------------------------------------------------------------ */

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

/* State after a violation: what the row says behind "else", else where it leads; a row that
 * leads nowhere puts the automaton where it should have been, so that one fault is told once. */
static uint32_t recover(const stn_plan_row *row, uint32_t state, uint32_t to) {
    if (row->otherwise != STN_STATE_SAME) {
        return row->otherwise;
    }
    if (row->to != STN_STATE_SAME || row->action || stn_row_accepts(row, state)) {
        return to;
    }
    const stn_row *said = row->row;
    uint32_t first = said->from_count && !said->from_list[0] ? 1 : 0;
    return said->from_count == first + 1 ? said->from_list[first] : 0;
}

static inline stn_status apply(stn_checker *checker, const stn_touch *touch,
                               const stn_plan_row *row, uint32_t slot, stn_cell *cell,
                               uint32_t state, bool seen, bool broken) {
    uint32_t to;
    if (touch->framed) {
        to = move_stack(checker, row, state, cell);
    } else {
        to = row->to == STN_STATE_SAME ? state : row->to;
        if (row->set_count) {
            set_registers(checker, row, cell);
        }
    }
    if (broken) {
        to = recover(row, state, to);
    }
    if (seen ? STN_CELL_STATE(cell->word) == to : !to && !row->set_count && !touch->kept) {
        return STN_OK;
    }
    return stn_checker_set_state(checker, touch->rule, slot, cell, to);
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

static void count_violation(stn_checker *checker, const stn_touch *touch, const stn_plan_row *tried,
                            uint32_t state, const stn_cell *cell, const stn_event *event) {
    checker->broken++;
    keep_violation(checker, touch, tried, state, cell, event);
    stn_checker_log(checker, &checker->stats[touch->rule].violations);
    checker->stats[touch->rule].violations++;
}

/* A cell not seen in this epoch starts from its rule's state, with empty registers. */
static void refresh(stn_checker *checker, const stn_touch *touch, stn_cell *cell) {
    int64_t empty = touch->framed ? 0 : STN_NO_VALUE;
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
    bool seen = STN_CELL_EPOCH(cell->word) == checker->epoch;
    uint32_t state = seen ? STN_CELL_STATE(cell->word)
                          : stn_cell_state(checker, touch->owner, table, cell, event->time_ns);
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
            if (!seen) {
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
    if (state && !row->free && !checker->silent) {
        stn_checker_log(checker, &checker->stats[touch->rule].checked);
        checker->stats[touch->rule].checked++;
    }
    if (broken) {
        if (checker->first_broken == STN_NO_ID) {
            checker->first_broken = touch->rule;
        }
        if (trying) {
            checker->broken++;
            return STN_ECHECK;
        }
        if (!checker->silent) {
            count_violation(checker, touch, first, state, cell, event);
        }
    }
    return apply(checker, touch, row, slot, cell, state, seen, broken);
}

/* ---- keys ------------------------------------------------------------ */

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

/* ---- steps ------------------------------------------------------------ */

static stn_status step_event(stn_checker *checker, const stn_plan *plan, const stn_event *event,
                             bool trying) {
    stn_checker_put(checker, &checker->now, event->time_ns);
    if (!checker->begun) {
        stn_checker_put(checker, &checker->begun, 1);
        stn_checker_put(checker, &checker->epoch_begin, event->time_ns);
    }
    if (event->type == STN_TYPE_LOST) {
        return stn_checker_step_lost(checker, event);
    }
    checker->plan = plan;
    stn_checker_fetch(checker, plan, event, checker->values);
    stn_checker_step_needs(checker, plan);
    stn_status status = step_keys(checker, plan, event, trying);
    if (!status && plan->files_act) {
        status = stn_checker_step_files(checker, plan);
    }
    stn_checker_note_running(checker, plan, event);
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
            stn_checker_tidy(checker);
        }
    }
    return status;
}

stn_status stn_checker_step(stn_checker *checker, const stn_event *event, uint32_t *violations,
                            stn_err *err) {
    uint64_t before = checker->broken;
    if (step(checker, event, false)) {
        return stn_rules_no_plan(checker->rules, err);
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
