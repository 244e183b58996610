/* The sentence of a violation: what was found, what was expected. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/rules/checker.h"

typedef struct out {
    char *text;
    size_t size, used;
} out;

static void say(out *o, const char *fmt, ...) STN_PRINTF(2, 3);

static void say(out *o, const char *fmt, ...) {
    if (o->used + 1 >= o->size) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    int wrote = vsnprintf(o->text + o->used, o->size - o->used, fmt, args);
    va_end(args);
    size_t room = o->size - o->used - 1;
    o->used += wrote < 0 ? 0 : (size_t)wrote < room ? (size_t)wrote : room;
}

enum { LEAST_DECIMAL = -65536 }; /* below: an address of the kernel, above: an error number */

/* A value of the event: texts as they stand there. */
static void say_value(out *o, const stn_checker *checker, int64_t value) {
    if (value == STN_NO_VALUE) {
        say(o, "none");
        return;
    }
    if (!stn_value_is_text(value)) {
        say(o, value < LEAST_DECIMAL ? "0x%" PRIx64 : "%" PRId64, value);
        return;
    }
    const char *text = stn_checker_key_text(checker, value);
    for (uint32_t i = 0; !text && i < stn_catalog_string_count(checker->catalog); i++) {
        const char *known = stn_catalog_text(checker->catalog, i);
        text = stn_text_value(known, strlen(known)) == value ? known : NULL;
    }
    say(o, "%s", text ? text : "(text)");
}

static const char *operand_name(const stn_checker *checker, const stn_rule *rule,
                                const stn_operand *operand) {
    static const char *const names[] = {
        [STN_OPERAND_TIME] = "time",   [STN_OPERAND_TID] = "tid",
        [STN_OPERAND_CPU] = "cpu",     [STN_OPERAND_COMM] = "comm",
        [STN_OPERAND_FILES] = "files", [STN_OPERAND_SYSCALL] = "syscall",
        [STN_OPERAND_FIELD] = ""};
    if (operand->kind == STN_OPERAND_REG) {
        return rule->registers[operand->reg];
    }
    if (operand->kind == STN_OPERAND_FIELD) {
        return stn_catalog_text(checker->catalog, operand->names[0]);
    }
    return names[operand->kind];
}

static void say_operand(out *o, const stn_checker *checker, const stn_rule *rule,
                        const stn_operand *operand, const stn_plan_operand *plan,
                        const stn_cell *cell) {
    if (operand->kind == STN_OPERAND_CONST) {
        say_value(o, checker, operand->value);
        return;
    }
    say(o, "%s (", operand_name(checker, rule, operand));
    say_value(o, checker, stn_plan_value(plan, checker->values, cell->reg));
    say(o, ")");
}

static void say_cond(out *o, const stn_checker *checker, const stn_rule *rule, const stn_cond *cond,
                     const stn_plan_cond *plan, const stn_cell *cell) {
    static const char *const signs[] = {
        "==", "!=", "<", "<=", ">", ">=", "&", "!&", "in the set of", "outside the set of"};
    say_operand(o, checker, rule, &cond->left, &plan->left, cell);
    if (cond->subtracts) {
        say(o, " - ");
        say_operand(o, checker, rule, &cond->minus, &plan->minus, cell);
    }
    say(o, " %s ", signs[cond->compare]);
    if (cond->compare == STN_COMPARE_IN || cond->compare == STN_COMPARE_NOT_IN) {
        if (cond->range_count == 1) {
            say(o, "%" PRId64 "..%" PRId64, cond->ranges[0].low, cond->ranges[0].high);
        } else {
            say(o, "%u", cond->range_count);
        }
        return;
    }
    say_operand(o, checker, rule, &cond->right, &plan->right, cell);
    if (cond->add) {
        say(o, " + %" PRId64, cond->add);
    }
}

/* The states in which a row for this event would have held. */
static void say_states(out *o, const stn_checker *checker, const stn_touch *touch,
                       const stn_cell *cell) {
    const stn_rule *rule = touch->owner;
    uint32_t said = 0;
    for (uint32_t s = 1; s < rule->info.state_count; s++) {
        bool held = false;
        for (uint32_t r = 0; r < touch->row_count && !held; r++) {
            const stn_plan_row *row = &touch->rows[r];
            held = stn_row_accepts(row, s);
            for (uint32_t i = 0; i < row->where_count && held; i++) {
                held = stn_cond_holds(&row->where[i], checker->values, cell->reg, false);
            }
        }
        if (held && said < 4) {
            say(o, "%s%s", said ? " or " : "", rule->info.states[s]);
        }
        said += held;
    }
    say(o, "%s", said > 4 ? " or others" : said ? "" : "no such event");
}

static void say_key(out *o, const stn_checker *checker, const stn_touch *touch) {
    uint32_t at = (uint32_t)(touch - checker->plan->touches);
    for (uint32_t k = 0; k < checker->plan->key_count; k++) {
        const stn_plan_key *key = &checker->plan->keys[k];
        if (at < key->touch_first || at >= key->touch_first + key->touch_count) {
            continue;
        }
        if (key->part_count) {
            say(o, " of %s", checker->rules->domain_names.texts[touch->owner->domain]);
        }
        for (uint32_t i = 0; i < key->part_count; i++) {
            say(o, i ? "," : " ");
            say_value(o, checker, checker->values[key->parts[i]]);
        }
    }
}

void stn_checker_explain(const stn_checker *checker, const stn_touch *touch,
                         const stn_plan_row *tried, uint32_t state, const stn_cell *cell,
                         const stn_event *event, char *text, size_t size) {
    out o = {text, size, 0};
    const stn_rule *rule = touch->owner;
    say(&o, "%s in state %s", stn_catalog_type_at(checker->catalog, event->type)->name,
        rule->info.states[state]);
    say_key(&o, checker, touch);
    /* The row that came nearest: right state, wrong condition. */
    const stn_plan_row *near = tried;
    bool in_state = stn_row_accepts(tried, state);
    for (uint32_t i = 0; i < touch->row_count && !in_state; i++) {
        const stn_plan_row *row = &touch->rows[i];
        if (stn_row_accepts(row, state) && row->row->from_list) {
            near = row;
            in_state = true;
        }
    }
    say(&o, "; expected ");
    if (!in_state) {
        say_states(&o, checker, touch, cell);
        return;
    }
    const char *between = "";
    for (uint32_t i = 0; i < near->if_count; i++) {
        if (!stn_cond_holds(&near->ifs[i], checker->values, cell->reg, true)) {
            say(&o, "%s", between);
            say_cond(&o, checker, rule, &near->row->ifs[i], &near->ifs[i], cell);
            between = " and ";
        }
    }
    if (!near->if_count && near->row->inside_count) {
        say(&o, "within %s", rule->info.states[near->row->inside[0]]);
    }
}
