/* Keys that say nothing any more give their slots back. */
#include "kernel/rules/checker.h"

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
            stn_live_remove(checker, r, cell);
        }
    }
    (void)at;
    return dead;
}

/* Time half way between the oldest key's and the mean, by a sample: a quarter or so is older. */
static uint64_t old_time(const stn_table *table) {
    uint64_t least = UINT64_MAX;
    double sum = 0;
    uint32_t step = table->slot_count / 1024 + 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->slot_count; i += step) {
        const stn_slot *slot = stn_table_at(table, i);
        if (slot->used) {
            least = slot->touched < least ? slot->touched : least;
            sum += (double)slot->touched;
            count++;
        }
    }
    if (!count) {
        return 0;
    }
    double middle = (sum / count + (double)least) / 2;
    return middle > (double)least ? (uint64_t)middle + 1 : least + 1;
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
        if (table->used_count > table->slot_count / 4 * 3 && table->slot_count < table->slots_max) {
            table->sweep_at = table->slot_count + table->slot_count / 2;
        }
    }
}

void stn_checker_tidy(stn_checker *checker) {
    checker->created = false;
    make_room(checker, checker->now);
}

void stn_checker_renumber(stn_checker *checker) {
    for (size_t i = 0; i < checker->table_count; i++) {
        const stn_table *table = &checker->tables[i];
        for (uint32_t at = 0; at < table->slot_count; at++) {
            stn_slot *slot = stn_table_at(table, at);
            for (uint32_t c = 0; c < table->cell_count; c++) {
                bool now = STN_CELL_EPOCH(slot->cells[c].word) == checker->epoch;
                slot->cells[c].word &= ~UINT64_C(0xffff0000);
                slot->cells[c].word |= now ? UINT64_C(1) << 16 : 0;
            }
        }
    }
    checker->epoch = 1;
}
