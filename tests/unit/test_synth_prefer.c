/* Rules that are preferred: a proposal against one is turned away by chance, never in the last
 * resort; what is hard stays hard; a trace without preferences is what it was. */
#include "synth_model.h"

#include "kernel/synth/prefer.h"

enum { LEARNED = 12000, MADE = 6000 };

static const char *const rule_text = "standin-rules 1\n"
                                     "rule on_cpu_0\n"
                                     "  doc \"Threads are woken for CPU 0 only.\"\n"
                                     "  key none\n"
                                     "  value sched_waking target_cpu == 0\n"
                                     "  value sched_wakeup target_cpu == 0\n";

static lesson *learned;
static stn_rules *rules;

static int learn(void **state) {
    (void)state;
    learned = lesson_learn(LEARNED);
    return stn_rules_parse(&rules, rule_text, strlen(rule_text), "test", learned->catalog,
                           &learned->err);
}

static int forget(void **state) {
    (void)state;
    stn_rules_free(rules);
    lesson_end(learned);
    return 0;
}

static bool is_against(const stn_event *event) {
    const stn_type *type = stn_catalog_type_at(learned->catalog, event->type);
    uint32_t name = stn_catalog_find(learned->catalog, "target_cpu");
    const stn_field *target = stn_event_field(event, name);
    return (!strcmp(type->name, "sched_waking") || !strcmp(type->name, "sched_wakeup")) && target &&
           target->v.i != 0;
}

/* Events against the rule, counted here; @p stats as the generator says. */
static uint64_t make(const stn_generate_options *options, stn_generate_stats *stats,
                     uint64_t *hash) {
    stn_generator *generator;
    uint64_t against = 0;
    assert_int_equal(
        stn_generator_new(&generator, learned->model, options, learned->catalog, &learned->err),
        STN_OK);
    *hash = 0;
    for (int i = 0; i < MADE; i++) {
        stn_event event;
        assert_int_equal(stn_generator_next(generator, &event, &learned->err), STN_OK);
        against += is_against(&event);
        *hash = (*hash ^ event.time_ns) * 0x9e3779b97f4a7c15u + event.type;
    }
    stn_generator_stats(generator, stats);
    stn_generator_free(generator);
    return against;
}

static void what_is_preferred_is_kept_more_often(void **state) {
    (void)state;
    stn_generate_stats stats;
    stn_generate_options options = {.seed = 5};
    uint64_t plain_hash, hash;
    uint64_t plain = make(&options, &stats, &plain_hash);
    assert_true(plain > 100);
    assert_int_equal(stats.against, 0);
    options.preferred = rules;
    options.preference = 1e-300; /* looked at, and never turned away */
    uint64_t weak = make(&options, &stats, &hash);
    assert_int_equal(weak, stats.against);
    assert_true(weak > 100);
    options.preference = 0; /* the usual */
    uint64_t strong = make(&options, &stats, &hash);
    assert_int_equal(strong, stats.against);
    assert_true(strong * 2 < weak);
    assert_int_equal(stats.violations, 0);
    options.preferred = NULL;
    assert_int_equal(make(&options, &stats, &hash), plain);
    assert_true(hash == plain_hash);
}

/* ---- by itself ----------------------------------------------------------------------------- */

static stn_event waking(int64_t cpu, stn_field *field) {
    uint32_t type = stn_catalog_type(learned->catalog, "sched_waking", NULL);
    *field = (stn_field){.name = stn_catalog_cstring(learned->catalog, "target_cpu"),
                         .kind = STN_FIELD_INT,
                         .v.i = cpu};
    return (stn_event){
        .time_ns = 1, .type = type, .comm = STN_NO_ID, .fields = field, .field_count = 1};
}

static void the_last_resort_takes_all(void **state) {
    (void)state;
    stn_prefer prefer;
    stn_rng rng;
    stn_field field;
    stn_event event = waking(1, &field);
    bool stands;
    stn_rng_init(&rng, 1);
    assert_int_equal(stn_prefer_begin(&prefer, rules, 1, learned->catalog, &learned->err), STN_OK);
    assert_int_equal(stn_prefer_ask(&prefer, &event, &rng, &stands, &learned->err), STN_OK);
    assert_false(stands);
    prefer.yields = true;
    assert_int_equal(stn_prefer_ask(&prefer, &event, &rng, &stands, &learned->err), STN_OK);
    assert_true(stands);
    stn_prefer_settle(&prefer, false);
    assert_int_equal(prefer.against, 0); /* it did not happen */
    assert_int_equal(stn_prefer_ask(&prefer, &event, &rng, &stands, &learned->err), STN_OK);
    stn_prefer_settle(&prefer, true);
    assert_int_equal(prefer.against, 1);
    assert_int_equal(stn_prefer_see(&prefer, &event, false, &learned->err), STN_OK);
    assert_int_equal(prefer.against, 1); /* a real one */
    stn_prefer_fini(&prefer);
}

static void nothing_preferred_costs_nothing(void **state) {
    (void)state;
    stn_prefer prefer;
    stn_rng rng, before;
    stn_field field;
    stn_event event = waking(1, &field);
    bool stands = false;
    stn_rng_init(&rng, 1);
    before = rng;
    assert_int_equal(stn_prefer_begin(&prefer, NULL, 0, learned->catalog, &learned->err), STN_OK);
    assert_int_equal(stn_prefer_ask(&prefer, &event, &rng, &stands, &learned->err), STN_OK);
    stn_prefer_settle(&prefer, true);
    assert_true(stands && prefer.against == 0);
    assert_memory_equal(&rng, &before, sizeof rng);
    stn_prefer_fini(&prefer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_preferred_is_kept_more_often),
        cmocka_unit_test(the_last_resort_takes_all),
        cmocka_unit_test(nothing_preferred_costs_nothing),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
