/* Time steps as symbols: bins by hand, and the three functions as each other's inverse. */
#include "testing.h"

#include "kernel/synth/step.h"

static void bins_are_eighths_of_octaves(void **state) {
    (void)state;
    static const struct {
        uint64_t step;
        uint32_t symbol;
        uint64_t low, next;
    } rows[] = {
        {0, 0, 0, 1},          {1, 1, 1, 2},          {2, 9, 2, 3},           {3, 13, 3, 4},
        {8, 25, 8, 9},         {9, 26, 9, 10},        {15, 32, 15, 16},       {16, 33, 16, 18},
        {17, 33, 16, 18},      {18, 34, 18, 20},      {959, 79, 896, 960},    {960, 80, 960, 1024},
        {1000, 80, 960, 1024}, {1023, 80, 960, 1024}, {1024, 81, 1024, 1152},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(stn_step_symbol(rows[i].step), rows[i].symbol);
        assert_int_equal(stn_step_low(rows[i].symbol), rows[i].low);
        assert_int_equal(stn_step_low(rows[i].symbol + 1), rows[i].next);
    }
    assert_int_equal(stn_step_symbol(UINT64_MAX), STN_STEP_SYMBOLS - 1);
    assert_true(stn_step_low(STN_STEP_SYMBOLS) == UINT64_MAX);
}

static void a_bin_reaches_from_its_low_to_the_next(void **state) {
    (void)state;
    for (uint32_t symbol = 0; symbol < STN_STEP_SYMBOLS; symbol++) {
        uint64_t low = stn_step_low(symbol), next = stn_step_low(symbol + 1);
        assert_true(low <= next);
        if (low < next) { /* below 8 some bins hold no integer */
            assert_int_equal(stn_step_symbol(low), symbol);
            assert_int_equal(stn_step_symbol(next - 1), symbol);
        } else {
            assert_true(low <= 8);
        }
        if (symbol >= 25 && symbol < STN_STEP_SYMBOLS - 1) {
            assert_true(next - low <= low / 8 + 1); /* fine enough: an eighth */
        }
    }
}

static void a_draw_lies_in_its_bin_and_fills_it(void **state) {
    (void)state;
    stn_rng rng;
    stn_rng_init(&rng, 5);
    for (uint64_t step = 0; step < 300; step++) {
        uint32_t symbol = stn_step_symbol(step);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(stn_step_symbol(stn_step_draw(symbol, &rng)), symbol);
        }
    }
    for (int i = 0; i < 1000; i++) {
        uint64_t step = stn_rng_u64(&rng) >> stn_rng_below(&rng, 64);
        uint32_t symbol = stn_step_symbol(step);
        assert_int_equal(stn_step_symbol(stn_step_draw(symbol, &rng)), symbol);
    }
    double sum = 0, count = 20000; /* bin 80 is 960 .. 1023, mean 991.5, deviation 18.5 */
    bool first = false, last = false;
    for (int i = 0; i < (int)count; i++) {
        uint64_t step = stn_step_draw(80, &rng);
        sum += (double)step;
        first |= step == 960;
        last |= step == 1023;
    }
    assert_true(first && last);
    assert_float_equal(sum / count, 991.5, 0.7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_are_eighths_of_octaves),
        cmocka_unit_test(a_bin_reaches_from_its_low_to_the_next),
        cmocka_unit_test(a_draw_lies_in_its_bin_and_fills_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
