/* alloc, err, arena, intern, map, rng */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/intern.h"
#include "core/base/map.h"
#include "core/base/rng.h"

static void alloc_fails_when_told(void **state) {
    (void)state;
    stn_alloc_fail_at(2);
    void *first = stn_malloc(8), *second = stn_malloc(8), *third = stn_malloc(8);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    stn_free(first);
    stn_free(third);
}

static void grow_keeps_contents_and_refuses_overflow(void **state) {
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    assert_int_equal(stn_grow(&items, &capacity, 1, sizeof *items), STN_OK);
    items[0] = 42;
    assert_int_equal(stn_grow(&items, &capacity, 1000, sizeof *items), STN_OK);
    assert_true(capacity >= 1000);
    assert_int_equal(items[0], 42);
    size_t before = capacity;
    assert_int_equal(stn_grow(&items, &capacity, SIZE_MAX / 2, sizeof *items), STN_ENOMEM);
    stn_alloc_fail_at(1);
    assert_int_equal(stn_grow(&items, &capacity, before + 1, sizeof *items), STN_ENOMEM);
    assert_int_equal(capacity, before);
    assert_int_equal(items[0], 42);
    stn_free(items);
}

static void error_reads_from_the_outside_in(void **state) {
    (void)state;
    stn_err err = {0};
    assert_int_equal(stn_err_set(&err, STN_EFORMAT, "line %d: no time", 7), STN_EFORMAT);
    assert_int_equal(stn_err_prepend(&err, STN_EFORMAT, "%s", "a.txt"), STN_EFORMAT);
    assert_string_equal(err.text, "a.txt: line 7: no time");
    assert_int_equal(stn_err_set(NULL, STN_EIO, "x"), STN_EIO);
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    stn_status status = stn_err_prepend(&err, STN_EFORMAT, "%s", longer);
    assert_int_equal(status, STN_EFORMAT);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(stn_status_name(STN_ECHECK), "a check did not hold");
    assert_string_equal(stn_status_name((stn_status)99), "unknown status");
}

static void arena_aligns_and_survives_big_requests(void **state) {
    (void)state;
    stn_arena arena = {0};
    for (size_t size = 1; size < 3000; size += 7) {
        char *memory = stn_arena_alloc(&arena, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        memset(memory, 1, size);
    }
    char *big = stn_arena_alloc(&arena, (size_t)1 << 20);
    assert_non_null(big);
    memset(big, 2, (size_t)1 << 20);
    assert_string_equal(stn_arena_text(&arena, "name and more", 4), "name");
    stn_arena_reset(&arena);
    assert_non_null(stn_arena_alloc(&arena, 8));
    assert_null(stn_arena_alloc(&arena, SIZE_MAX - 3));
    stn_arena_fini(&arena);
}

static void interning_is_dense_and_stable(void **state) {
    (void)state;
    stn_intern intern = {0};
    char text[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "name%d", i);
        assert_int_equal(stn_intern_add(&intern, text, strlen(text)), i);
    }
    const char *kept = intern.texts[17];
    for (int i = 4999; i >= 0; i--) {
        snprintf(text, sizeof text, "name%d", i);
        assert_int_equal(stn_intern_add(&intern, text, strlen(text)), i);
        assert_int_equal(stn_intern_find(&intern, text, strlen(text)), i);
    }
    assert_ptr_equal(kept, intern.texts[17]);
    assert_int_equal(stn_intern_find(&intern, "name17x", 6), 17);
    assert_int_equal(stn_intern_find(&intern, "nam", 3), STN_INTERN_NONE);
    stn_intern_fini(&intern);
}

static void interning_survives_each_failed_allocation(void **state) {
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        stn_intern intern = {0};
        stn_alloc_fail_at(nth);
        uint32_t id = stn_intern_add(&intern, "a", 1);
        stn_alloc_fail_at(0);
        bool failed = id == STN_INTERN_NONE;
        assert_int_equal(stn_intern_add(&intern, "a", 1), 0);
        assert_int_equal(intern.count, 1);
        stn_intern_fini(&intern);
        if (!failed) {
            assert_true(nth > 3);
            break;
        }
    }
}

static void map_holds_what_was_put(void **state) {
    (void)state;
    stn_map map = {0};
    assert_null(stn_map_get(&map, 0));
    for (uint64_t i = 0; i < 10000; i++) {
        bool added;
        uint64_t *value = stn_map_put(&map, i * 0x100000001u, &added);
        assert_non_null(value);
        assert_true(added);
        *value = i;
    }
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t *value = stn_map_get(&map, i * 0x100000001u);
        assert_non_null(value);
        assert_int_equal(*value, i);
    }
    assert_null(stn_map_get(&map, 5));
    size_t at = 0, seen = 0;
    for (uint64_t key, value; stn_map_next(&map, &at, &key, &value); seen++) {
        assert_int_equal(key, value * 0x100000001u);
    }
    assert_int_equal(seen, 10000);
    stn_map_clear(&map);
    assert_null(stn_map_get(&map, 0));
    stn_map_fini(&map);
}

/* First outputs of xoshiro256** seeded with splitmix64(0): the reference code's numbers. */
static void random_numbers_are_the_published_ones(void **state) {
    (void)state;
    stn_rng rng;
    stn_rng_init(&rng, 0);
    static const uint64_t seeded[4] = {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u,
                                       0x06c45d188009454fu, 0xf88bb8a8724c81ecu};
    assert_memory_equal(rng.s, seeded, sizeof seeded);
    stn_rng known = {{1, 2, 3, 4}};
    assert_true(stn_rng_u64(&known) == 11520);
    assert_true(stn_rng_u64(&known) == 0);
    assert_true(stn_rng_u64(&known) == 1509978240u);
    assert_true(stn_rng_u64(&known) == 1215971899390074240u);
}

static void random_numbers_have_their_moments(void **state) {
    (void)state;
    stn_rng rng;
    stn_rng_init(&rng, 7);
    double sum = 0, square = 0;
    unsigned count[10] = {0};
    for (int i = 0; i < 100000; i++) {
        double x = stn_rng_normal(&rng);
        sum += x;
        square += x * x;
        count[stn_rng_below(&rng, 10)]++;
    }
    assert_true(fabs(sum / 1e5) < 0.02);
    assert_true(fabs(square / 1e5 - 1) < 0.03);
    for (int i = 0; i < 10; i++) {
        assert_true(count[i] > 9500 && count[i] < 10500);
    }
    stn_rng a = stn_rng_fork(&rng, 1), b = stn_rng_fork(&rng, 2);
    assert_true(stn_rng_u64(&a) != stn_rng_u64(&b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alloc_fails_when_told),
        cmocka_unit_test(grow_keeps_contents_and_refuses_overflow),
        cmocka_unit_test(error_reads_from_the_outside_in),
        cmocka_unit_test(arena_aligns_and_survives_big_requests),
        cmocka_unit_test(interning_is_dense_and_stable),
        cmocka_unit_test(interning_survives_each_failed_allocation),
        cmocka_unit_test(map_holds_what_was_put),
        cmocka_unit_test(random_numbers_are_the_published_ones),
        cmocka_unit_test(random_numbers_have_their_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
