/* The log that undoes steps, and the lists of live instances that it keeps true. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/checker.h"

static void log_state(stn_checker *checker, stn_cell *cell, uint32_t rule, uint32_t slot) {
    checker->log[checker->log_count++] = (stn_log_entry){&cell->word, cell->word, rule, slot};
}

static stn_cell *live_cell(const stn_checker *checker, uint32_t rule_index, uint32_t slot) {
    const stn_rule *rule = checker->rules->rules[rule_index];
    return &stn_table_at(&checker->tables[rule->domain], slot)->cells[rule->cell];
}

void stn_live_remove(stn_checker *checker, uint32_t rule, const stn_cell *cell) {
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

stn_status stn_checker_set_state(stn_checker *checker, uint32_t rule_index, uint32_t slot,
                                 stn_cell *cell, uint32_t state) {
    log_state(checker, cell, rule_index, slot);
    uint64_t word = state | checker->epoch << 16;
    if (!checker->live[rule_index]) {
        cell->word = word;
        return STN_OK;
    }
    if (STN_CELL_EPOCH(cell->word) == checker->epoch) {
        stn_live_remove(checker, rule_index, cell);
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

static void put_back(stn_checker *checker, const stn_log_entry *entry, bool relive) {
    if (entry->rule == STN_LOG_PLAIN || relive || !checker->live[entry->rule]) {
        *entry->where = entry->old;
        return;
    }
    stn_cell *cell = live_cell(checker, entry->rule, entry->slot);
    if (STN_CELL_EPOCH(cell->word) == checker->epoch) {
        stn_live_remove(checker, entry->rule, cell);
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

void stn_checker_drop(stn_checker *checker, stn_mark mark) {
    checker->log_count -= mark;
    memmove(checker->log, checker->log + mark, checker->log_count * sizeof *checker->log);
}

void stn_checker_keep(stn_checker *checker) {
    checker->marking = false;
    checker->log_count = 0;
    if (checker->created) {
        stn_checker_tidy(checker);
    }
    if (checker->epoch > STN_EPOCHS / 2) {
        stn_checker_renumber(checker);
    }
}
