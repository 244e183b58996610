/* Keys to slots against a plain list; dead keys go, and past the bound the oldest. */
#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "kernel/rules/checker.h"
#include "rules_trace.h"

enum { KEYS = 3000 };

/* Keys of every kind: direct ones, negative, beyond the direct array, texts. */
static void make_key(int64_t *key, uint32_t parts, uint32_t i) {
    static const int64_t odd[] = {-1, INT64_MAX, (int64_t)1 << 40, STN_DIRECT_MAX};
    memset(key, 0, STN_KEY_PARTS * sizeof *key);
    key[0] = i % 5 ? (int64_t)i : odd[i % 4] - (int64_t)i;
    for (uint32_t p = 1; p < parts; p++) {
        key[p] = (int64_t)(i / 7) * p;
    }
}

static bool odd_is_dead(void *user, const stn_slot *slot, uint32_t at) {
    (void)user;
    (void)at;
    return slot->touched & 1;
}

static void keys_find_their_slots(void **state) {
    (void)state;
    for (uint32_t parts = 1; parts <= STN_KEY_PARTS; parts++) {
        stn_table table;
        static uint32_t slots[KEYS];
        int64_t key[STN_KEY_PARTS];
        assert_int_equal(stn_table_init(&table, parts, 2), STN_OK);
        for (uint32_t i = 0; i < KEYS; i++) {
            make_key(key, parts, i);
            assert_int_equal(stn_table_find(&table, key), UINT32_MAX);
            slots[i] = stn_table_put(&table, key);
            assert_int_equal(stn_table_put(&table, key), slots[i]);
            stn_table_at(&table, slots[i])->touched = i;
        }
        stn_table_sweep(&table, odd_is_dead, NULL);
        assert_int_equal(table.used_count, KEYS / 2);
        for (uint32_t i = 0; i < KEYS; i++) {
            make_key(key, parts, i);
            assert_int_equal(stn_table_find(&table, key), i & 1 ? UINT32_MAX : slots[i]);
        }
        for (uint32_t i = 1; i < KEYS; i += 2) {
            make_key(key, parts, i);
            assert_true(stn_table_put(&table, key) < KEYS); /* a slot of a dead key */
        }
        assert_int_equal(table.slot_count, KEYS);
        stn_table_clear(&table);
        make_key(key, parts, 0);
        assert_int_equal(stn_table_find(&table, key), UINT32_MAX);
        stn_table_fini(&table);
    }
}

static void past_the_bound_the_oldest_go(void **state) {
    (void)state;
    static const char text[] = "standin-rules 1\nrule r\nkey k by n\nstates idle busy\n"
                               "fresh idle after 1us\non a to busy\non b from busy to idle\n";
    stn_catalog *catalog;
    stn_rules *rules;
    stn_checker *checker;
    stn_err err = {0};
    assert_int_equal(stn_catalog_new(&catalog, &err), STN_OK);
    assert_int_equal(stn_rules_parse(&rules, text, strlen(text), "t", catalog, &err), STN_OK);
    assert_int_equal(stn_checker_new(&checker, rules, catalog, &err), STN_OK);
    stn_table *table = &checker->tables[rules->rules[0]->domain];
    assert_true(table->slots_max > 100000 && table->slots_max * table->slot_size < 64u << 20);
    table->slots_max = 2000;
    assert_int_equal(stn_checker_track(checker, 0, true), STN_OK);
    stn_field field = {.name = stn_catalog_cstring(catalog, "n"), .kind = STN_FIELD_INT};
    stn_event event = {.type = stn_catalog_type(catalog, "a", NULL),
                       .tid = 1,
                       .comm = STN_NO_ID,
                       .field_count = 1,
                       .fields = &field};
    for (int i = 0; i < 50000; i++) {
        event.time_ns = 10000 + (uint64_t)i;
        field.v.i = (int64_t)1 << 32 | i;
        assert_int_equal(stn_checker_step(checker, &event, NULL, &err), STN_OK);
    }
    assert_true(table->used_count <= 4000);
    assert_int_equal(table->used_count, stn_checker_live_count(checker, 0, 2));
    /* The newest is known; of a forgotten one nothing is claimed. */
    event.type = stn_catalog_type(catalog, "b", NULL);
    uint32_t broken;
    assert_int_equal(stn_checker_step(checker, &event, &broken, &err), STN_OK);
    assert_int_equal(broken, 0);
    assert_int_equal(stn_checker_stats(checker)[0].checked, 1);
    field.v.i = (int64_t)1 << 32;
    assert_int_equal(stn_checker_step(checker, &event, &broken, &err), STN_OK);
    assert_int_equal(broken, 0);
    stn_checker_free(checker);
    stn_rules_free(rules);
    stn_catalog_free(catalog);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_find_their_slots),
        cmocka_unit_test(past_the_bound_the_oldest_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
