/* Which fields name instances, as read off the bindings of rules. */
#include "synth_lab.h"

static const char *const vocabulary[] = {
    "1 0 1 make id=1 color=4",
    "2 0 1 use color=4 id=1",
    "3 0 1 drop id=1",
    "4 0 1 look id=1",
    "5 0 1 issue dev=1 sector=8",
    "6 0 1 complete dev=1 sector=8",
    "7 0 1 raise vec=1",
    "8 0 1 lower vec=1",
    "9 0 1 open_it fd=1",
    "10 0 1 close_it fd=1",
    "11 0 1 alone one=1",
    "12 0 1 sched_waking pid=1 id=1",
    "13 0 1 both id=1 dev=1 sector=8",
};

static const char rules[] = "standin-rules 1\n"
                            "rule thing\n"
                            "  key thing by id\n"
                            "  states gone there\n"
                            "  on make to there\n"
                            "  on use from there to there\n"
                            "  on both from there to there\n"
                            "rule thing_too\n" /* the same fields of the same type: one domain */
                            "  key other by id\n"
                            "  states gone there\n"
                            "  on make to there\n"
                            "  on drop to gone\n"
                            "rule request\n"
                            "  key block by dev sector\n"
                            "  states out in\n"
                            "  on issue to in\n"
                            "  on complete to out\n"
                            "  on both to out\n"
                            "rule vector\n"
                            "  key softirq by cpu vec\n"
                            "  states off on\n"
                            "  on raise to on\n"
                            "  on lower to off\n"
                            "rule handle\n"
                            "  key descriptor by files fd\n"
                            "  states closed open\n"
                            "  on open_it to open\n"
                            "  on close_it to closed\n"
                            "rule single\n" /* one type alone: nothing to be the same as */
                            "  key lonely by one\n"
                            "  states a b\n"
                            "  on alone to b\n"
                            "rule woken\n" /* a field that names a thread is no key */
                            "  key who by pid\n"
                            "  states a b\n"
                            "  on sched_waking to b\n";

static int open_lab(void **state) {
    *state = LAB_OPEN(vocabulary, rules);
    return 0;
}

static int close_lab(void **state) {
    lab_close(*state);
    return 0;
}

static const stn_type_keys *keys_of(const lab *l, const char *type) {
    return &l->domains.types[lab_type(l, type)];
}

static uint8_t domain_of(const lab *l, const char *type) {
    assert_int_equal(keys_of(l, type)->count, 1);
    return keys_of(l, type)->keys[0].domain;
}

static void rules_with_the_same_keys_are_one_domain(void **state) {
    lab *l = *state;
    assert_int_equal(l->domains.count, 4);
    uint8_t thing = domain_of(l, "make");
    assert_int_equal(domain_of(l, "use"), thing);
    assert_int_equal(domain_of(l, "drop"), thing);
    assert_int_equal(l->domains.scope[thing], STN_SCOPE_ALL);
    const stn_type_key *key = &keys_of(l, "use")->keys[0];
    assert_int_equal(key->field_count, 1);
    assert_int_equal(key->fields[0], lab_field(l, lab_type(l, "use"), "id"));
    assert_int_equal(lab_means(l, "use", "id"), STN_MEANS_KEY);
    assert_int_equal(lab_means(l, "use", "color"), STN_MEANS_VALUE);
}

static void a_name_that_no_rule_binds_is_adopted(void **state) {
    lab *l = *state;
    assert_int_equal(domain_of(l, "look"), domain_of(l, "make"));
    assert_int_equal(lab_means(l, "look", "id"), STN_MEANS_KEY);
}

static void keys_may_have_two_fields_and_types_two_keys(void **state) {
    lab *l = *state;
    const stn_type_key *key = &keys_of(l, "complete")->keys[0];
    assert_int_equal(key->field_count, 2);
    assert_int_equal(domain_of(l, "issue"), key->domain);
    const stn_type_keys *both = keys_of(l, "both");
    assert_int_equal(both->count, 2);
    assert_int_equal(both->keys[0].domain, key->domain); /* the longer key first */
    assert_int_equal(both->keys[1].domain, domain_of(l, "make"));
}

static void cpus_and_threads_make_the_scope(void **state) {
    lab *l = *state;
    assert_int_equal(l->domains.scope[domain_of(l, "raise")], STN_SCOPE_CPU);
    assert_int_equal(domain_of(l, "lower"), domain_of(l, "raise"));
    assert_int_equal(keys_of(l, "raise")->keys[0].field_count, 1);
    assert_int_equal(l->domains.scope[domain_of(l, "open_it")], STN_SCOPE_THREAD);
}

static void what_names_nothing_else_is_no_key(void **state) {
    lab *l = *state;
    assert_int_equal(keys_of(l, "alone")->count, 0);
    assert_int_equal(lab_means(l, "alone", "one"), STN_MEANS_VALUE);
    assert_int_equal(lab_means(l, "sched_waking", "pid"), STN_MEANS_THREAD);
}

/* A vocabulary as it is before domains are read, from its own file. */
static void bare_vocab(lab *l, stn_vocab *vocab) {
    stn_blob blob = {0};
    stn_vocab_put(&l->vocab, &blob);
    stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
    assert_int_equal(stn_vocab_get(vocab, &cursor, l->catalog), STN_OK);
    stn_blob_fini(&blob);
}

static void a_file_gives_the_same_domains(void **state) {
    lab *l = *state;
    stn_vocab vocab;
    stn_domains back;
    stn_blob blob = {0}, again = {0};
    bare_vocab(l, &vocab);
    stn_domains_put(&l->domains, &l->vocab, &blob);
    stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
    assert_int_equal(stn_domains_get(&back, &cursor, &vocab), STN_OK);
    assert_int_equal(cursor.at, cursor.size);
    stn_domains_put(&back, &vocab, &again);
    assert_int_equal(again.size, blob.size);
    assert_memory_equal(again.bytes, blob.bytes, blob.size);
    for (uint32_t t = 0; t < vocab.type_count; t++) {
        for (uint16_t f = 0; f < vocab.types[t].field_count; f++) {
            assert_int_equal(vocab.types[t].fields[f].means, l->vocab.types[t].fields[f].means);
        }
    }
    stn_domains_fini(&back);
    stn_vocab_fini(&vocab);
    for (size_t size = 0; size < blob.size; size++) {
        bare_vocab(l, &vocab);
        cursor = (stn_cursor){.bytes = blob.bytes, .size = size};
        assert_int_equal(stn_domains_get(&back, &cursor, &vocab), STN_EFORMAT);
        stn_vocab_fini(&vocab);
    }
    stn_blob_fini(&blob);
    stn_blob_fini(&again);
}

static void each_failed_allocation_is_clean(void **state) {
    lab *l = *state;
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    while (status != STN_OK && nth < 100) {
        stn_vocab vocab;
        stn_domains domains;
        bare_vocab(l, &vocab);
        stn_alloc_fail_at(++nth);
        status = stn_domains_learn(&domains, l->rules, &vocab);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
        stn_domains_fini(&domains);
        stn_vocab_fini(&vocab);
    }
    assert_int_equal(status, STN_OK);
    assert_true(nth > 4);
}

#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_LAB(rules_with_the_same_keys_are_one_domain),
        IN_LAB(a_name_that_no_rule_binds_is_adopted),
        IN_LAB(keys_may_have_two_fields_and_types_two_keys),
        IN_LAB(cpus_and_threads_make_the_scope),
        IN_LAB(what_names_nothing_else_is_no_key),
        IN_LAB(a_file_gives_the_same_domains),
        IN_LAB(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
