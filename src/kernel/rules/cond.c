/* Fetching the values of an event, and conditions on them. */
#include <string.h>

#include "kernel/rules/checker.h"

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
