/* Conditions solved for fields: a transition that would accept an event but for "if current ==
 * prev_pid" names the value that the field must have. What a rule remembers in a register is
 * read from the checker. Only conditions with one unknown are solved. */
#include <string.h>

#include "kernel/rules/checker.h"
#include "kernel/rules/repair.h"

/* What is known while one rule is applied to one draft. */
typedef struct unify {
    stn_repairer *r;
    const stn_event *event;
    const stn_rule *rule;
    const int64_t *regs; /* NULL: key never seen */
} unify;

static const stn_cell *cell_of(const stn_repairer *r, uint32_t rule, const stn_key *key) {
    const stn_rule *owner = r->rules->rules[rule];
    const stn_table *table = &r->checker->tables[owner->domain];
    if (key->count != table->part_count) {
        return NULL;
    }
    uint32_t slot = stn_table_find(table, key->v);
    return slot == UINT32_MAX ? NULL : &stn_table_at(table, slot)->cells[owner->cell];
}

static const stn_field *operand_field(const stn_event *event, const stn_operand *operand) {
    for (uint32_t i = 0; i < operand->name_count; i++) {
        const stn_field *field = stn_event_field(event, operand->names[i]);
        if (field) {
            return field;
        }
    }
    return NULL;
}

/* Value of @p operand; STN_NO_VALUE if there is none. */
static int64_t operand_value(const unify *u, const stn_operand *operand) {
    const stn_field *field;
    switch (operand->kind) {
    case STN_OPERAND_CONST:
        return operand->value;
    case STN_OPERAND_REG:
        return u->regs ? u->regs[operand->reg] : STN_NO_VALUE;
    case STN_OPERAND_TIME:
        return (int64_t)u->event->time_ns;
    case STN_OPERAND_TID:
        return u->event->tid == STN_NO_TID ? STN_NO_VALUE : u->event->tid;
    case STN_OPERAND_CPU:
        return u->event->cpu;
    case STN_OPERAND_FIELD:
        field = operand_field(u->event, operand);
        if (!field) {
            return STN_NO_VALUE;
        }
        return field->kind == STN_FIELD_STR ? stn_text_value(field->v.s, strlen(field->v.s))
                                            : stn_field_int(field, STN_NO_VALUE);
    default:
        return STN_NO_VALUE;
    }
}

/* The allowed value nearest to @p have. */
static int64_t nearest(const stn_cond *cond, int64_t have) {
    int64_t best = STN_NO_VALUE;
    double best_away = 0;
    for (uint32_t i = 0; i < cond->range_count; i++) {
        int64_t value = have;
        value = value < cond->ranges[i].low ? cond->ranges[i].low : value;
        value = value > cond->ranges[i].high ? cond->ranges[i].high : value;
        double away = (double)value - (double)have;
        away = away < 0 ? -away : away;
        if (best == STN_NO_VALUE || away < best_away) {
            best = value;
            best_away = away;
        }
    }
    return best;
}

/* Value that the left side must have for the condition to hold; STN_NO_VALUE if any or not
 * to be said. */
static int64_t wanted(const unify *u, const stn_cond *cond, int64_t left, int64_t right) {
    if (cond->compare == STN_COMPARE_IN) {
        return nearest(cond, left);
    }
    if (right == STN_NO_VALUE || cond->subtracts) {
        return STN_NO_VALUE;
    }
    (void)u;
    right += stn_value_is_text(right) ? 0 : cond->add;
    switch (cond->compare) {
    case STN_COMPARE_EQ:
        return right;
    case STN_COMPARE_LE:
        return left <= right ? STN_NO_VALUE : right;
    case STN_COMPARE_GE:
        return left >= right ? STN_NO_VALUE : right;
    case STN_COMPARE_LT:
        return left < right ? STN_NO_VALUE : right - 1;
    case STN_COMPARE_GT:
        return left > right ? STN_NO_VALUE : right + 1;
    default:
        return STN_NO_VALUE;
    }
}

static bool settable(const stn_operand *operand) {
    return operand->kind == STN_OPERAND_FIELD || operand->kind == STN_OPERAND_TID ||
           operand->kind == STN_OPERAND_CPU;
}

static uint32_t operand_part(const unify *u, const stn_operand *operand) {
    if (operand->kind == STN_OPERAND_TID) {
        return STN_PART_TID;
    }
    if (operand->kind == STN_OPERAND_CPU) {
        return STN_PART_CPU;
    }
    const stn_field *field = operand_field(u->event, operand);
    return field ? field->name : operand->names[0];
}

/* The mirror image of a comparison, for "register OP field". */
static stn_compare mirrored(uint32_t compare) {
    switch (compare) {
    case STN_COMPARE_LT:
        return STN_COMPARE_GT;
    case STN_COMPARE_LE:
        return STN_COMPARE_GE;
    case STN_COMPARE_GT:
        return STN_COMPARE_LT;
    case STN_COMPARE_GE:
        return STN_COMPARE_LE;
    default:
        return (stn_compare)compare;
    }
}

static void solve(const unify *u, const stn_cond *cond, stn_solution *solution) {
    stn_cond turned = *cond;
    if (!settable(&cond->left) && settable(&cond->right) && cond->compare != STN_COMPARE_IN &&
        !cond->add) {
        turned.left = cond->right;
        turned.right = cond->left;
        turned.compare = mirrored(cond->compare);
    }
    if (!settable(&turned.left)) {
        return;
    }
    int64_t left = operand_value(u, &turned.left);
    int64_t value = wanted(u, &turned, left, operand_value(u, &turned.right));
    if (value == STN_NO_VALUE || value == left || solution->count == STN_SOLUTION_MAX) {
        return;
    }
    solution->part[solution->count] = operand_part(u, &turned.left);
    solution->value[solution->count++] = value;
}

static const stn_touch *touch_of(const stn_plan *plan, uint32_t rule, uint32_t skip) {
    for (uint32_t i = 0; i < plan->touch_count; i++) {
        if (plan->touches[i].rule == rule && skip-- == 0) {
            return &plan->touches[i];
        }
    }
    return NULL;
}

bool stn_unify(stn_repairer *r, const stn_event *event, const stn_binding *binding,
               const stn_key *key, bool which, stn_solution *solution) {
    const stn_plan *plan = stn_rules_plan(r->rules, event->type);
    const stn_touch *touch = plan ? touch_of(plan, binding->rule, binding->order) : NULL;
    uint32_t state = stn_checker_state(r->checker, binding->rule, key);
    const stn_cell *cell = cell_of(r, binding->rule, key);
    unify u = {.r = r,
               .event = event,
               .rule = r->rules->rules[binding->rule],
               .regs = cell ? cell->reg : NULL};
    solution->count = 0;
    for (uint32_t i = 0; touch && !solution->count && i < touch->row_count; i++) {
        const stn_row *row = touch->rows[i].row;
        if (!(row->from[state / 64] >> (state % 64) & 1)) {
            continue;
        }
        for (uint32_t c = 0; which && c < row->where_count; c++) {
            solve(&u, &row->where[c], solution);
        }
        for (uint32_t c = 0; c < row->if_count; c++) {
            solve(&u, &row->ifs[c], solution);
        }
    }
    return solution->count > 0;
}

bool stn_moves(const stn_repairer *r, uint32_t type, uint32_t rule) {
    const stn_plan *plan = stn_rules_plan(r->rules, type);
    const stn_touch *touch;
    for (uint32_t i = 0; plan && (touch = touch_of(plan, rule, i)) != NULL; i++) {
        for (uint32_t k = 0; k < touch->row_count; k++) {
            const stn_row *row = touch->rows[k].row;
            bool stays =
                row->to == STN_STATE_SAME || (row->from_count == 1 && row->from_list[0] == row->to);
            if (!stays || row->set_count || row->action != STN_ACTION_NONE) {
                return true;
            }
        }
    }
    return false;
}

bool stn_frame_open(const stn_repairer *r, const stn_event *event) {
    const stn_plan *plan = stn_rules_plan(r->rules, event->type);
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(r->rules, event->type, &count);
    for (uint32_t b = 0; plan && b < count; b++) {
        const stn_touch *touch = touch_of(plan, bindings[b].rule, bindings[b].order);
        stn_key key;
        if (!touch || !r->rules->rules[bindings[b].rule]->framed ||
            !stn_checker_key(r->checker, &bindings[b], event, &key)) {
            continue;
        }
        uint32_t state = stn_checker_state(r->checker, bindings[b].rule, &key);
        for (uint32_t k = 0; k < touch->row_count; k++) {
            const stn_row *row = touch->rows[k].row;
            if (row->action == STN_ACTION_PUSH && row->to == state) {
                return true;
            }
        }
    }
    return false;
}

bool stn_opens_frame(const stn_repairer *r, uint32_t type, uint32_t rule) {
    const stn_plan *plan = r->rules->rules[rule]->framed ? stn_rules_plan(r->rules, type) : NULL;
    const stn_touch *touch;
    for (uint32_t i = 0; plan && (touch = touch_of(plan, rule, i)) != NULL; i++) {
        for (uint32_t k = 0; k < touch->row_count; k++) {
            if (touch->rows[k].row->action == STN_ACTION_PUSH) {
                return true;
            }
        }
    }
    return false;
}

bool stn_forgets(const stn_repairer *r, uint32_t type) {
    const stn_plan *plan = stn_rules_plan(r->rules, type);
    for (uint32_t i = 0; plan && i < plan->touch_count; i++) {
        const stn_touch *touch = &plan->touches[i];
        for (uint32_t k = 0; k < touch->row_count; k++) {
            const stn_row *row = touch->rows[k].row;
            bool stays = row->from_count == 1 && row->from_list[0] == 0;
            if (row->to == 0 && !stays && !row->where_count && !row->if_count) {
                return true;
            }
        }
    }
    return false;
}
