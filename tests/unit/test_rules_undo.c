/* Undoing: whatever was tried after a mark, what comes after is as if it had not been. */
#include "core/base/rng.h"
#include "kernel/rules/checker.h"
#include "rules_trace.h"

static const char rules_text[] =
    "standin-rules 1\n"
    "rule pairs\nkey thread\npair a b match v\n"
    "rule nest\nkey cpu\nframe f fin fout\nframe g gin gout\non a b from none to none\n"
    "rule blocks\nkey k by n cpu\nstates idle busy\nregisters r\nfresh idle after 20us\n"
    "on a to busy set r = v\non b from busy to idle\non c from busy if r == v set r += 1\n"
    "rule late\nkey none\nneeds c\nvalue a v < 3\n"
    "rule files\nkey d by files v\npair a b\n";

static const char *const names[] = {"a",   "b",    "c",    "fin",          "fout",
                                    "gin", "gout", "lost", "task_newtask", "sched_switch"};

/* A random event over few keys, so that states are met again. */
static const stn_event *random_event(line_event *line, stn_rng *rng, uint64_t time,
                                     stn_catalog *catalog) {
    char text[128];
    const char *name = names[stn_rng_below(rng, 40) ? stn_rng_below(rng, 7) : 7 + time % 3];
    snprintf(text, sizeof text, "%llu %d %d %s v=%d n=%d pid=%d clone_flags=%d next_pid=%d",
             (unsigned long long)time, (int)stn_rng_below(rng, 3), (int)stn_rng_below(rng, 4), name,
             (int)stn_rng_below(rng, 4), (int)stn_rng_below(rng, 6) - 1, (int)stn_rng_below(rng, 4),
             (int)stn_rng_below(rng, 2) * 0x400, (int)stn_rng_below(rng, 4));
    return line_read(line, text, catalog);
}

/* All that a user can see of a checker, as one number. */
static uint64_t fingerprint(const stn_checker *c) {
    uint64_t sum = 0;
    for (uint32_t r = 0; r < c->rule_count; r++) {
        const stn_rule *rule = c->rules->rules[r];
        sum = stn_hash_u64(sum ^ c->stats[r].checked) ^ stn_hash_u64(sum + c->stats[r].violations);
        sum = stn_hash_u64(sum + c->missing[r]);
        const stn_table *table = &c->tables[rule->domain];
        uint64_t cells = 0; /* in any order: slots may differ */
        for (uint32_t i = 0; i < table->slot_count; i++) {
            const stn_slot *slot = stn_table_at(table, i);
            const stn_cell *cell = &slot->cells[rule->cell];
            if (!slot->used || STN_CELL_EPOCH(cell->word) != c->epoch) {
                continue;
            }
            uint64_t one = STN_CELL_STATE(cell->word) + 1;
            for (int k = 0; k < 4; k++) {
                one = stn_hash_u64(one * 31 + (uint64_t)slot->key[k]);
            }
            cells += stn_hash_u64(one ^ (uint64_t)cell->reg[0] * 3 ^ (uint64_t)cell->reg[1]);
        }
        sum = stn_hash_u64(sum + cells);
        for (uint32_t s = 0; s < rule->info.state_count; s++) {
            sum = stn_hash_u64(sum + stn_checker_live_count(c, r, s));
        }
    }
    for (uint16_t cpu = 0; cpu < 4; cpu++) {
        sum = stn_hash_u64(sum + (uint64_t)stn_checker_running(c, cpu));
    }
    return sum + c->violation_count;
}

/* Lists and a look at all instances agree. */
static void lists_are_true(stn_checker *c) {
    for (uint32_t r = 0; r < c->rule_count; r++) {
        for (uint32_t s = 1; s < c->rules->rules[r]->info.state_count; s++) {
            uint32_t listed = stn_checker_live_count(c, r, s);
            stn_live *held = c->live[r];
            c->live[r] = NULL;
            uint32_t scanned = stn_checker_live_count(c, r, s);
            c->live[r] = held;
            assert_int_equal(listed, scanned);
        }
    }
}

static void undone_steps_leave_no_trace(void **state) {
    (void)state;
    stn_catalog *catalog;
    stn_rules *rules;
    stn_checker *c;
    stn_rng rng;
    line_event line;
    stn_rng_init(&rng, 11);
    assert_int_equal(stn_catalog_new(&catalog, NULL), STN_OK);
    assert_int_equal(stn_rules_parse(&rules, rules_text, strlen(rules_text), "t", catalog, NULL),
                     STN_OK);
    assert_int_equal(stn_checker_new(&c, rules, catalog, NULL), STN_OK);
    for (uint32_t r = 0; r < 3; r++) {
        assert_int_equal(stn_checker_track(c, r, true), STN_OK);
    }
    uint64_t time = 0;
    for (int round = 0; round < 2000; round++) {
        stn_mark marks[3];
        uint64_t prints[3];
        for (int m = 0; m < 3; m++) {
            marks[m] = stn_checker_mark(c);
            prints[m] = fingerprint(c);
            for (int i = (int)stn_rng_below(&rng, 6); i >= 0; i--) {
                const stn_event *event = random_event(&line, &rng, ++time, catalog);
                if (stn_rng_below(&rng, 2)) {
                    assert_int_equal(stn_checker_step(c, event, NULL, NULL), STN_OK);
                } else {
                    uint64_t before = fingerprint(c);
                    if (stn_checker_try(c, event, NULL) == STN_ECHECK) {
                        assert_int_equal(fingerprint(c), before);
                    }
                }
            }
            lists_are_true(c);
        }
        stn_mark dropped = round % 3 ? 0 : marks[1];
        stn_checker_drop(c, dropped);
        for (int m = 2; m >= (dropped ? 1 : (int)stn_rng_below(&rng, 4)); m--) {
            marks[m] -= dropped;
            stn_checker_undo(c, marks[m]);
            assert_true(fingerprint(c) == prints[m]);
            lists_are_true(c);
        }
        stn_checker_keep(c);
    }
    stn_checker_free(c);
    stn_rules_free(rules);
    stn_catalog_free(catalog);
}

typedef struct pass {
    stn_catalog *catalog;
    stn_rules *rules;
    stn_checker *checker;
    line_event line;
} pass;

static void pass_begin(pass *p, const char *text) {
    assert_int_equal(stn_catalog_new(&p->catalog, NULL), STN_OK);
    assert_int_equal(stn_rules_parse(&p->rules, text, strlen(text), "t", p->catalog, NULL), STN_OK);
    assert_int_equal(stn_checker_new(&p->checker, p->rules, p->catalog, NULL), STN_OK);
}

static void pass_end(pass *p) {
    stn_checker_free(p->checker);
    stn_rules_free(p->rules);
    stn_catalog_free(p->catalog);
}

static uint32_t pass_step(pass *p, const char *text) {
    uint32_t broken = 0;
    const stn_event *event = line_read(&p->line, text, p->catalog);
    assert_int_equal(stn_checker_step(p->checker, event, &broken, NULL), STN_OK);
    return broken;
}

/* Losses are numbered in 16 bits; what was known before one must not come back 65,535 later. */
static void many_losses_make_nothing_known_again(void **state) {
    (void)state;
    for (int marking = 0; marking < 2; marking++) {
        pass p;
        pass_begin(&p, "standin-rules 1\nrule pairs\nkey thread\npair a b\n");
        assert_int_equal(pass_step(&p, "1 0 1 a"), 0);
        for (uint32_t i = 0; i < STN_EPOCHS; i++) {
            if (marking) {
                (void)stn_checker_mark(p.checker);
            }
            assert_int_equal(pass_step(&p, "2 0 0 lost"), 0);
            if (marking) {
                stn_checker_keep(p.checker);
            }
        }
        assert_int_equal(pass_step(&p, "3 0 1 a"), 0); /* known, it would be inside */
        assert_int_equal(pass_step(&p, "4 0 1 a"), 1);
        pass_end(&p);
    }
}

/* Keys that say nothing any more give their room back also between marks that are kept. */
static void memory_is_bounded_while_marking(void **state) {
    (void)state;
    pass p;
    pass_begin(&p, "standin-rules 1\nrule once\nkey thing by n\nstates held\n"
                   "on a from unknown to held\non b from held to unknown\n");
    (void)stn_checker_mark(p.checker);
    for (int i = 0; i < 100000; i++) {
        char text[64];
        snprintf(text, sizeof text, "%d 0 1 a n=%d", i + 1, i);
        assert_int_equal(pass_step(&p, text), 0);
        snprintf(text, sizeof text, "%d 0 1 b n=%d", i + 1, i);
        assert_int_equal(pass_step(&p, text), 0);
        if (i % 500 == 499) {
            stn_checker_keep(p.checker);
            (void)stn_checker_mark(p.checker);
        }
    }
    uint32_t most = 0;
    for (size_t t = 0; t < p.checker->table_count; t++) {
        uint32_t count = p.checker->tables[t].slot_count;
        most = count > most ? count : most;
    }
    assert_true(most >= 500 && most < 4000);
    pass_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(undone_steps_leave_no_trace),
                                       cmocka_unit_test(many_losses_make_nothing_known_again),
                                       cmocka_unit_test(memory_is_bounded_while_marking)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
