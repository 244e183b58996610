/* Chains of counts: probabilities of Witten and Bell by hand, draws against them, files. */
#include "testing.h"

#include "core/base/alloc.h"
#include "kernel/synth/chain.h"

enum { X, Y, Z, W, SYMBOLS };
#define GENERAL  UINT64_C(0x1111000000001)
#define SPECIFIC UINT64_C(0x2222000000001)
#define UNSEEN   UINT64_C(0x3333000000001)

static void add(stn_chain_builder *builder, uint64_t context, uint32_t symbol, int times) {
    for (int i = 0; i < times; i++) {
        assert_int_equal(stn_chain_add(builder, context, symbol), STN_OK);
    }
}

/* General: X three times, Y once. Specific: X once. */
static void two_rungs(stn_chain_builder *builder, stn_chain *chain) {
    *builder = (stn_chain_builder){0};
    add(builder, GENERAL, X, 1);
    add(builder, SPECIFIC, X, 1);
    add(builder, GENERAL, Y, 1);
    add(builder, GENERAL, X, 2);
    assert_int_equal(stn_chain_build(chain, builder), STN_OK);
}

static void probabilities_are_those_of_witten_and_bell(void **state) {
    (void)state;
    stn_chain_builder builder;
    stn_chain chain;
    two_rungs(&builder, &chain);
    /* P0(X) = (3 + 2/4) / (4 + 2), P1(X) = (1 + P0(X)) / (1 + 1), and so on */
    static const double wanted[SYMBOLS][2] = {{3.5 / 6, (1 + 3.5 / 6) / 2},
                                              {1.5 / 6, 1.5 / 12},
                                              {0.5 / 6, 0.5 / 12},
                                              {0.5 / 6, 0.5 / 12}};
    const uint64_t rungs[] = {GENERAL, UNSEEN, SPECIFIC};
    double sum = 0;
    for (uint32_t symbol = 0; symbol < SYMBOLS; symbol++) {
        double p[3];
        stn_chain_probabilities(&chain, rungs, 3, symbol, SYMBOLS, p);
        assert_float_equal(p[0], wanted[symbol][0], 1e-12);
        assert_float_equal(p[1], wanted[symbol][0], 1e-12); /* an unseen rung says nothing new */
        assert_float_equal(p[2], wanted[symbol][1], 1e-12);
        sum += p[2];
    }
    assert_float_equal(sum, 1, 1e-12);
    double p;
    stn_chain_probabilities(&chain, &rungs[1], 1, X, SYMBOLS, &p);
    assert_float_equal(p, 0.25, 1e-12);
    stn_chain_fini(&chain);
    stn_chain_builder_fini(&builder);
}

static double share_of(const stn_chain *chain, const uint64_t *rungs, uint32_t count,
                       uint32_t trust, uint32_t symbol) {
    enum { DRAWS = 40000 };
    stn_rng rng;
    stn_rng_init(&rng, 7);
    double hits = 0;
    for (int i = 0; i < DRAWS; i++) {
        hits += stn_chain_draw(chain, rungs, count, trust, &rng) == symbol;
    }
    return hits / DRAWS;
}

static void draws_step_down_as_often_as_they_should(void **state) {
    (void)state;
    stn_chain_builder builder;
    stn_chain chain;
    two_rungs(&builder, &chain);
    const uint64_t rungs[] = {GENERAL, SPECIFIC};
    /* the specific rung keeps one half; below, X has three quarters */
    assert_float_equal(share_of(&chain, rungs, 2, UINT32_MAX, X), 0.875, 0.01);
    assert_float_equal(share_of(&chain, rungs, 2, UINT32_MAX, Y), 0.125, 0.01);
    assert_float_equal(share_of(&chain, rungs, 1, UINT32_MAX, X), 0.75, 0.01);
    /* one case is enough to trust it */
    assert_float_equal(share_of(&chain, rungs, 2, 1, X), 1, 0);
    const uint64_t unseen[] = {UNSEEN};
    assert_float_equal(share_of(&chain, unseen, 1, UINT32_MAX, STN_CHAIN_NONE), 1, 0);
    stn_chain empty = {0};
    assert_float_equal(share_of(&empty, rungs, 2, UINT32_MAX, STN_CHAIN_NONE), 1, 0);
    assert_null(stn_chain_find(&empty, GENERAL));
    stn_chain_fini(&chain);
    stn_chain_builder_fini(&builder);
}

/* More successors than are looked at one by one: symbol s comes s + 1 times. */
static void many_successors_keep_their_shares(void **state) {
    (void)state;
    enum { MANY = 40 };
    stn_chain_builder builder = {0};
    stn_chain chain;
    for (uint32_t s = 0; s < MANY; s++) {
        add(&builder, GENERAL, s, (int)s + 1);
    }
    assert_int_equal(stn_chain_build(&chain, &builder), STN_OK);
    const stn_chain_node *node = stn_chain_find(&chain, GENERAL);
    assert_non_null(node);
    assert_int_equal(node->count, MANY);
    assert_int_equal(node->total, MANY * (MANY + 1) / 2);
    assert_int_equal(chain.nexts[node->first].symbol, MANY - 1); /* the most frequent first */
    const uint64_t rungs[] = {GENERAL};
    static const uint32_t some[] = {0, 3, 19, 36, 39};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        double share = (some[i] + 1.0) / (MANY * (MANY + 1) / 2.0);
        assert_float_equal(share_of(&chain, rungs, 1, UINT32_MAX, some[i]), share, 0.006);
    }
    stn_chain_fini(&chain);
    stn_chain_builder_fini(&builder);
}

static void the_builder_goes_on_after_a_chain_was_made(void **state) {
    (void)state;
    stn_chain_builder builder;
    stn_chain chain, later;
    two_rungs(&builder, &chain);
    add(&builder, GENERAL, X, 1);
    add(&builder, UNSEEN, Z, 2);
    assert_int_equal(stn_chain_build(&later, &builder), STN_OK);
    assert_int_equal(stn_chain_find(&chain, GENERAL)->total, 4);
    assert_null(stn_chain_find(&chain, UNSEEN));
    assert_int_equal(stn_chain_find(&later, GENERAL)->total, 5);
    assert_int_equal(stn_chain_find(&later, GENERAL)->count, 2);
    assert_int_equal(stn_chain_find(&later, UNSEEN)->total, 2);
    stn_chain_fini(&chain);
    stn_chain_fini(&later);
    stn_chain_builder_fini(&builder);
}

static void a_file_gives_the_same_chain(void **state) {
    (void)state;
    stn_chain_builder builder;
    stn_chain chain, back;
    stn_blob blob = {0}, again = {0};
    two_rungs(&builder, &chain);
    stn_chain_put(&chain, &blob);
    stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
    assert_int_equal(stn_chain_get(&back, &cursor, SYMBOLS), STN_OK);
    assert_int_equal(cursor.at, cursor.size);
    stn_chain_put(&back, &again);
    assert_int_equal(again.size, blob.size);
    assert_memory_equal(again.bytes, blob.bytes, blob.size);
    const uint64_t rungs[] = {GENERAL, SPECIFIC};
    stn_rng one, two;
    stn_rng_init(&one, 3);
    stn_rng_init(&two, 3);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(stn_chain_draw(&chain, rungs, 2, UINT32_MAX, &one),
                         stn_chain_draw(&back, rungs, 2, UINT32_MAX, &two));
    }
    stn_chain_fini(&back);
    stn_blob_fini(&again);
    /* Y is 1: a file with it is not one of a chain whose symbols are below 1 */
    cursor.at = 0;
    assert_int_equal(stn_chain_get(&back, &cursor, 1), STN_EFORMAT);
    stn_blob_fini(&blob);
    stn_chain_fini(&chain);
    stn_chain_builder_fini(&builder);
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    stn_chain_builder builder;
    stn_chain chain, back;
    stn_blob blob = {0};
    two_rungs(&builder, &chain);
    stn_chain_put(&chain, &blob);
    for (size_t size = 0; size < blob.size; size++) {
        stn_cursor cursor = {.bytes = blob.bytes, .size = size};
        assert_int_equal(stn_chain_get(&back, &cursor, SYMBOLS), STN_EFORMAT);
    }
    for (size_t at = 0; at < blob.size; at++) { /* refused, or a chain that can be drawn from */
        blob.bytes[at] ^= 0xff;
        stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
        if (stn_chain_get(&back, &cursor, SYMBOLS) == STN_OK) {
            const uint64_t rungs[] = {GENERAL, SPECIFIC};
            stn_rng rng;
            stn_rng_init(&rng, at);
            uint32_t symbol = stn_chain_draw(&back, rungs, 2, UINT32_MAX, &rng);
            assert_true(symbol < SYMBOLS || symbol == STN_CHAIN_NONE);
            stn_chain_fini(&back);
        }
        blob.bytes[at] ^= 0xff;
    }
    stn_blob_fini(&blob);
    stn_chain_fini(&chain);
    stn_chain_builder_fini(&builder);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_chain_builder builder = {0};
    stn_chain chain;
    stn_alloc_fail_at(1);
    assert_int_equal(stn_chain_add(&builder, GENERAL, X), STN_ENOMEM);
    stn_alloc_fail_at(0);
    add(&builder, GENERAL, X, 1);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_chain_build(&chain, &builder), STN_ENOMEM);
        stn_alloc_fail_at(0);
    }
    assert_int_equal(stn_chain_build(&chain, &builder), STN_OK);
    assert_int_equal(stn_chain_find(&chain, GENERAL)->total, 1);
    stn_blob blob = {0};
    stn_chain_put(&chain, &blob);
    stn_chain_fini(&chain);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_chain_get(&chain, &cursor, SYMBOLS), STN_ENOMEM);
        stn_alloc_fail_at(0);
    }
    stn_blob_fini(&blob);
    stn_chain_builder_fini(&builder);
}

static void contexts_are_never_nought(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 10000; i++) {
        assert_true(stn_chain_mix(i * UINT64_C(0x9e3779b97f4a7c15), i) != 0);
        assert_true(stn_chain_mix(1, i) != stn_chain_mix(1, i + 1));
        assert_true(stn_chain_mix(2 * i, 1) != stn_chain_mix(2 * i + 2, 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_those_of_witten_and_bell),
        cmocka_unit_test(draws_step_down_as_often_as_they_should),
        cmocka_unit_test(many_successors_keep_their_shares),
        cmocka_unit_test(the_builder_goes_on_after_a_chain_was_made),
        cmocka_unit_test(a_file_gives_the_same_chain),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
        cmocka_unit_test(contexts_are_never_nought),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
