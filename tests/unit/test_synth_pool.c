/* Pools of cases under nested contexts: which contexts are kept, which one a ladder finds, what
 * is drawn from it, and files. A ladder is spelled: the contexts of "abc" are a, ab and abc. */
#include "synth_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/synth/chain.h"
#include "kernel/synth/pool.h"

static uint32_t spell(const char *word, uint64_t *rungs) {
    uint32_t count = (uint32_t)strlen(word);
    uint64_t hash = 7;
    for (uint32_t i = 0; i < count; i++) {
        rungs[i] = hash = stn_chain_mix(hash, (uint64_t)word[i]);
    }
    return count;
}

static void add(stn_pool_builder *builder, const char *word, uint32_t sure, uint32_t value) {
    uint64_t rungs[STN_POOL_DEPTH];
    uint32_t count = spell(word, rungs);
    assert_int_equal(stn_pool_add(builder, rungs, count, sure, value), STN_OK);
}

static const stn_pool_node *node_of(const stn_pool *pool, const char *word) {
    uint64_t rungs[STN_POOL_DEPTH];
    return stn_pool_node_of(pool, rungs[spell(word, rungs) - 1]);
}

static uint32_t count_of(const stn_pool *pool, const char *word) {
    const stn_pool_node *node = node_of(pool, word);
    return node ? node->count : 0;
}

/* Values are single bits: which of them lie under the context. */
static uint32_t bits_of(const stn_pool *pool, const char *word) {
    const stn_pool_node *node = node_of(pool, word);
    uint32_t bits = 0;
    for (uint32_t i = 0; node && i < node->count; i++) {
        bits |= pool->cases[node->first + i];
    }
    return bits;
}

static void few_cases(stn_pool_builder *builder, uint32_t sure) {
    *builder = (stn_pool_builder){0};
    add(builder, "abc", sure, 1);
    add(builder, "b", sure, 2);
    add(builder, "abd", sure, 4);
    add(builder, "ac", sure, 8);
    add(builder, "abc", sure, 16);
}

static void few(stn_pool *pool, uint32_t least, uint32_t sure) {
    stn_pool_builder builder;
    few_cases(&builder, sure);
    assert_int_equal(stn_pool_build(pool, &builder, least), STN_OK);
    stn_pool_builder_fini(&builder);
}

static void contexts_hold_the_cases_of_those_within(void **state) {
    (void)state;
    stn_pool pool;
    few(&pool, 1, 0);
    assert_int_equal(pool.case_count, 5);
    assert_int_equal(pool.node_count, 6);
    static const struct {
        const char *word;
        uint32_t count, bits;
    } wanted[] = {{"a", 4, 1 | 4 | 8 | 16},
                  {"ab", 3, 1 | 4 | 16},
                  {"abc", 2, 1 | 16},
                  {"abd", 1, 4},
                  {"ac", 1, 8},
                  {"b", 1, 2},
                  {"abcd", 0, 0},
                  {"c", 0, 0},
                  {"bc", 0, 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_int_equal(count_of(&pool, wanted[i].word), wanted[i].count);
        assert_int_equal(bits_of(&pool, wanted[i].word), wanted[i].bits);
    }
    stn_pool_fini(&pool);
}

static void rare_contexts_are_left_out(void **state) {
    (void)state;
    static const struct {
        uint32_t least, sure;
        const char *kept; /* words, each between blanks */
    } wanted[] = {
        {1, 0, " a ab abc abd ac b "},
        {2, 0, " a ab abc "},
        {3, 0, " a ab "},
        {5, 0, " "},
        {5, 1, " a b "},
        {5, 2, " a ab ac b "},
        {3, 1, " a ab b "},
        {5, 3, " a ab abc abd ac b "},
    };
    static const char *const words[] = {"a", "ab", "abc", "abd", "ac", "b"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        stn_pool pool;
        uint32_t kept = 0;
        few(&pool, wanted[i].least, wanted[i].sure);
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
            char between[16];
            snprintf(between, sizeof between, " %s ", words[k]);
            bool keeps = strstr(wanted[i].kept, between) != NULL;
            assert_int_equal(node_of(&pool, words[k]) != NULL, keeps);
            kept += keeps;
        }
        assert_int_equal(pool.node_count, kept);
        assert_int_equal(pool.case_count, 5);
        stn_pool_fini(&pool);
    }
}

static void the_deepest_known_context_is_found(void **state) {
    (void)state;
    stn_pool pool;
    uint64_t rungs[STN_POOL_DEPTH];
    uint32_t depth = 99;
    few(&pool, 2, 0);
    uint32_t count = spell("abcabc", rungs);
    assert_ptr_equal(stn_pool_find(&pool, rungs, count, &depth), node_of(&pool, "abc"));
    assert_int_equal(depth, 2);
    assert_ptr_equal(stn_pool_find(&pool, rungs, 2, &depth), node_of(&pool, "ab"));
    assert_int_equal(depth, 1);
    count = spell("acb", rungs);
    assert_ptr_equal(stn_pool_find(&pool, rungs, count, NULL), node_of(&pool, "a"));
    count = spell("ba", rungs);
    assert_null(stn_pool_find(&pool, rungs, count, &depth));
    assert_null(stn_pool_find(&pool, rungs, 0, &depth));
    stn_pool_fini(&pool);
    assert_null(stn_pool_find(&pool, rungs, count, &depth)); /* an empty one */
}

/* ---- random data against a plain reference ------------------------------------------------ */

enum { CASES = 3000, QUERIES = 3000 };

typedef struct wild {
    stn_pool_builder builder;
    char words[CASES][STN_POOL_DEPTH + 1];
} wild;

/* Of three letters, the first far more frequent, so that there are deep contexts. */
static void wild_word(stn_rng *rng, char *word) {
    uint64_t length = 1 + stn_rng_below(rng, STN_POOL_DEPTH);
    for (uint64_t i = 0; i < length; i++) {
        uint64_t roll = stn_rng_below(rng, 10);
        word[i] = roll < 7 ? 'a' : roll < 9 ? 'b' : 'c';
    }
    word[length] = 0;
}

static wild *wild_new(stn_rng *rng) {
    wild *w = calloc(1, sizeof *w);
    assert_non_null(w);
    for (uint32_t i = 0; i < CASES; i++) {
        wild_word(rng, w->words[i]);
        add(&w->builder, w->words[i], 1, i);
    }
    return w;
}

static void wild_free(wild *w) {
    stn_pool_builder_fini(&w->builder);
    free(w);
}

/* Cases whose ladder begins with the first @p length letters of @p word. */
static uint32_t plainly(const wild *w, const char *word, size_t length) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        count += strncmp(w->words[i], word, length) == 0;
    }
    return count;
}

/* Climb down from the most general rung while it is known. */
static const stn_pool_node *climb(const stn_pool *pool, const uint64_t *rungs, uint32_t count,
                                  uint32_t *depth) {
    const stn_pool_node *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const stn_pool_node *node = stn_pool_node_of(pool, rungs[i]);
        if (!node) {
            break;
        }
        best = node;
        *depth = i;
    }
    return best;
}

static void halving_finds_what_climbing_finds(void **state) {
    (void)state;
    stn_rng rng;
    stn_rng_init(&rng, 3);
    wild *w = wild_new(&rng);
    for (uint32_t least = 1; least <= 9; least += 4) {
        stn_pool pool;
        uint32_t reached[STN_POOL_DEPTH] = {0};
        assert_int_equal(stn_pool_build(&pool, &w->builder, least), STN_OK);
        for (int i = 0; i < QUERIES; i++) {
            char word[STN_POOL_DEPTH + 1];
            uint64_t rungs[STN_POOL_DEPTH];
            uint32_t depth = 77, wanted = 88;
            wild_word(&rng, word);
            uint32_t count = spell(word, rungs);
            const stn_pool_node *found = stn_pool_find(&pool, rungs, count, &depth);
            assert_non_null(found);
            assert_ptr_equal(found, climb(&pool, rungs, count, &wanted));
            assert_int_equal(depth, wanted);
            reached[depth]++;
            if (i % 10 == 0) {
                assert_int_equal(found->count, plainly(w, word, depth + 1));
                uint32_t next = depth + 1 < count ? plainly(w, word, depth + 2) : 0;
                assert_true(next < least); /* it was not left out wrongly */
            }
        }
        assert_true(reached[0] > 0 && reached[2] > 0 && reached[5] > 0);
        stn_pool_fini(&pool);
    }
    wild_free(w);
}

static void the_order_of_adding_does_not_matter(void **state) {
    (void)state;
    stn_pool_builder forth, back = {0};
    stn_pool one, two;
    stn_blob bytes = {0}, again = {0};
    few_cases(&forth, 0);
    for (size_t i = forth.count; i-- > 0;) {
        const stn_pool_case *at = &forth.cases[i];
        uint32_t count = 0;
        while (count < STN_POOL_DEPTH && at->rungs[count]) {
            count++;
        }
        assert_int_equal(stn_pool_add(&back, at->rungs, count, at->sure, at->value), STN_OK);
    }
    assert_int_equal(stn_pool_build(&one, &forth, 1), STN_OK);
    assert_int_equal(stn_pool_build(&two, &back, 1), STN_OK);
    stn_pool_put(&one, &bytes);
    stn_pool_put(&two, &again);
    assert_int_equal(bytes.size, again.size);
    assert_memory_equal(bytes.bytes, again.bytes, bytes.size);
    stn_pool_fini(&two);
    /* and the builder goes on */
    add(&forth, "abc", 0, 32);
    assert_int_equal(stn_pool_build(&two, &forth, 1), STN_OK);
    assert_int_equal(count_of(&one, "abc"), 2);
    assert_int_equal(count_of(&two, "abc"), 3);
    stn_blob_fini(&bytes);
    stn_blob_fini(&again);
    stn_pool_fini(&one);
    stn_pool_fini(&two);
    stn_pool_builder_fini(&forth);
    stn_pool_builder_fini(&back);
}

static void draws_are_uniform_over_the_cases(void **state) {
    (void)state;
    enum { DRAWS = 60000 };
    static const struct {
        const char *word;
        uint32_t values[4]; /* a quarter each */
    } wanted[] = {{"ab", {3, 4, 5, 5}}, {"ba", {6, 6, 6, 7}}};
    stn_pool_builder builder = {0};
    stn_pool pool;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 4; k++) {
            add(&builder, wanted[i].word, 0, wanted[i].values[k]);
        }
    }
    assert_int_equal(stn_pool_build(&pool, &builder, 1), STN_OK);
    stn_rng rng;
    stn_rng_init(&rng, 5);
    for (size_t i = 0; i < 2; i++) {
        double drawn[8] = {0}, share[8] = {0};
        for (int n = 0; n < DRAWS; n++) {
            uint32_t value = stn_pool_draw(&pool, node_of(&pool, wanted[i].word), &rng);
            assert_in_range(value, 0, 7);
            drawn[value] += 1.0 / DRAWS;
        }
        for (size_t k = 0; k < 4; k++) {
            share[wanted[i].values[k]] += 0.25;
        }
        for (size_t k = 0; k < 8; k++) {
            assert_float_equal(drawn[k], share[k], share[k] > 0 ? 0.01 : 0);
        }
    }
    stn_pool_fini(&pool);
    stn_pool_builder_fini(&builder);
}

/* ---- files and memory --------------------------------------------------------------------- */

/* Look every word up and draw from what is found: nothing may lie out of bounds. */
static stn_status read_pool(stn_cursor *cursor, stn_blob *again) {
    stn_pool pool;
    stn_status status = stn_pool_get(&pool, cursor);
    if (status == STN_OK) {
        static const char *const words[] = {"abc", "abd", "ac", "b", "aaaa"};
        stn_rng rng;
        stn_rng_init(&rng, 1);
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            uint64_t rungs[STN_POOL_DEPTH];
            uint32_t count = spell(words[i], rungs);
            const stn_pool_node *node = stn_pool_find(&pool, rungs, count, NULL);
            for (int n = 0; node && n < 20; n++) {
                assert_true(node->first < pool.case_count);
                assert_true(node->count <= pool.case_count - node->first);
                (void)stn_pool_draw(&pool, node, &rng);
            }
        }
        if (again) {
            stn_pool_put(&pool, again);
        }
    }
    stn_pool_fini(&pool);
    return status;
}

static void a_file_gives_the_same_pool(void **state) {
    (void)state;
    stn_pool pool, back;
    stn_blob blob = {0};
    few(&pool, 1, 0);
    stn_pool_put(&pool, &blob);
    bytes_come_back(&blob, read_pool);
    stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
    assert_int_equal(stn_pool_get(&back, &cursor), STN_OK);
    assert_int_equal(bits_of(&back, "ab"), bits_of(&pool, "ab"));
    assert_int_equal(count_of(&back, "a"), 4);
    stn_pool_fini(&back);
    stn_pool_fini(&pool);
    stn_blob_fini(&blob);
    stn_pool_put(&pool, &blob); /* an empty one */
    bytes_come_back(&blob, read_pool);
    stn_blob_fini(&blob);
}

static void damaged_files_are_refused_or_do_no_harm(void **state) {
    (void)state;
    stn_pool pool;
    stn_blob blob = {0};
    few(&pool, 1, 0);
    stn_pool_put(&pool, &blob);
    stn_pool_fini(&pool);
    bytes_cut(&blob, read_pool);
    assert_true(bytes_damage(&blob, read_pool) > 0);
    /* a context twice, a context that is none, cases that are not there */
    memcpy(blob.bytes + 8 + 16, blob.bytes + 8, 8);
    assert_int_equal(bytes_try(&blob, blob.size, read_pool), STN_EFORMAT);
    memset(blob.bytes + 8 + 16, 0, 8);
    assert_int_equal(bytes_try(&blob, blob.size, read_pool), STN_EFORMAT);
    stn_blob_fini(&blob);
    stn_blob_u32(&blob, 1);
    stn_blob_u32(&blob, 2);
    stn_blob_u64(&blob, 0x123456789);
    stn_blob_u32(&blob, 1);
    stn_blob_u32(&blob, 1);
    stn_blob_u64(&blob, 0);
    assert_int_equal(bytes_try(&blob, blob.size, read_pool), STN_OK);
    blob.bytes[20] = 2; /* two from the second of two on */
    assert_int_equal(bytes_try(&blob, blob.size, read_pool), STN_EFORMAT);
    blob.bytes[20] = 0; /* none */
    assert_int_equal(bytes_try(&blob, blob.size, read_pool), STN_EFORMAT);
    stn_blob_fini(&blob);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    stn_pool_builder builder = {0};
    stn_pool pool;
    uint64_t rungs[STN_POOL_DEPTH];
    stn_blob blob = {0};
    uint32_t count = spell("abc", rungs);
    stn_alloc_fail_at(1);
    assert_int_equal(stn_pool_add(&builder, rungs, count, 0, 1), STN_ENOMEM);
    stn_alloc_fail_at(0);
    assert_int_equal(builder.count, 0);
    add(&builder, "abc", 0, 1);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_pool_build(&pool, &builder, 1), STN_ENOMEM);
        stn_alloc_fail_at(0);
        assert_null(pool.nodes);
        assert_null(pool.cases);
    }
    assert_int_equal(stn_pool_build(&pool, &builder, 1), STN_OK);
    stn_pool_put(&pool, &blob);
    assert_int_equal(bytes_faults(&blob, read_pool), 2);
    stn_blob_fini(&blob);
    stn_pool_fini(&pool);
    stn_pool_builder_fini(&builder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_hold_the_cases_of_those_within),
        cmocka_unit_test(rare_contexts_are_left_out),
        cmocka_unit_test(the_deepest_known_context_is_found),
        cmocka_unit_test(halving_finds_what_climbing_finds),
        cmocka_unit_test(the_order_of_adding_does_not_matter),
        cmocka_unit_test(draws_are_uniform_over_the_cases),
        cmocka_unit_test(a_file_gives_the_same_pool),
        cmocka_unit_test(damaged_files_are_refused_or_do_no_harm),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
