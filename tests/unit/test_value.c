/* words of the command line to values, values to words */
#include <string.h>

#include "testing.h"

#include "app/value.h"
#include "core/base/alloc.h"

typedef stn_status (*reader)(const char *text, uint64_t *out, stn_err *err);

static const struct {
    reader read;
    const char *text;
    bool good;
    uint64_t value;
} scalar_cases[] = {
    {stn_value_count, "0", true, 0},
    {stn_value_count, "250", true, 250},
    {stn_value_count, "10k", true, 10000},
    {stn_value_count, "1M", true, 1000000},
    {stn_value_count, "1.5M", true, 1500000},
    {stn_value_count, "2G", true, 2000000000},
    {stn_value_count, "9007199254740993", true, 9007199254740993u}, /* 2^53 + 1 */
    {stn_value_count, "9223372036854775807", false, 0},             /* rounds to 2^63 */
    {stn_value_count, "", false, 0},
    {stn_value_count, "k", false, 0},
    {stn_value_count, "-1", false, 0},
    {stn_value_count, "+1", false, 0},
    {stn_value_count, "1e6", false, 0},
    {stn_value_count, "0x10", false, 0},
    {stn_value_count, "inf", false, 0},
    {stn_value_count, "1.2.3", false, 0},
    {stn_value_count, "10kk", false, 0},
    {stn_value_count, "99999999999999999999999999999999999", false, 0},
    {stn_value_size, "4096", true, 4096},
    {stn_value_size, "64K", true, 65536},
    {stn_value_size, "1.5M", true, 1572864},
    {stn_value_size, "2GiB", true, 2147483648u},
    {stn_value_size, "2 G", false, 0},
    {stn_value_duration, "10", true, 10000000000u},
    {stn_value_duration, "10s", true, 10000000000u},
    {stn_value_duration, "250ms", true, 250000000},
    {stn_value_duration, "1.5us", true, 1500},
    {stn_value_duration, "5m", true, 300000000000u},
    {stn_value_duration, "7ns", true, 7},
    {stn_value_duration, "5 m", false, 0},
    {stn_value_duration, "5min", false, 0},
};

static void scalars_are_read_or_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scalar_cases / sizeof *scalar_cases; i++) {
        stn_err err = {{0}};
        uint64_t value = 77;
        stn_status status = scalar_cases[i].read(scalar_cases[i].text, &value, &err);
        if (scalar_cases[i].good) {
            assert_int_equal(status, STN_OK);
            assert_true(value == scalar_cases[i].value);
        } else {
            assert_int_equal(status, STN_ERANGE);
            assert_true(value == 77);
            assert_non_null(strstr(err.text, "expected"));
        }
    }
}

static void ranges_are_read_or_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t begin, end;
    } cases[] = {
        {"1.5..3", true, 1500000000, 3000000000u},
        {"5..7", true, 5000000000u, 7000000000u},
        {"200ms..", true, 200000000, 0},
        {"..2s", true, 0, 2000000000},
        {"..", false, 0, 0},
        {"1..1", false, 0, 0},
        {"5..2", false, 0, 0},
        {"1...2", false, 0, 0},
        {"1-2", false, 0, 0},
        {"a..b", false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_err err = {{0}};
        stn_range range = {1, 2};
        stn_status status = stn_value_range(cases[i].text, &range, &err);
        assert_int_equal(status, cases[i].good ? STN_OK : STN_ERANGE);
        assert_true(range.begin_ns == (cases[i].good ? cases[i].begin : 1));
        assert_true(range.end_ns == (cases[i].good ? cases[i].end : 2));
    }
}

static void lists_of_numbers_are_read_or_refused(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_numbers list = {0};
    assert_int_equal(stn_value_numbers("0,2-4", &list, &err), STN_OK);
    assert_int_equal(stn_value_numbers("9", &list, &err), STN_OK);
    static const int32_t expected[] = {0, 2, 3, 4, 9};
    assert_int_equal(list.count, 5);
    assert_memory_equal(list.items, expected, sizeof expected);
    static const char *const bad[] = {"",   ",", "1,",  "4-2",       "1-",
                                      "-1", "x", "1;2", "0-9999999", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stn_numbers scratch = {0};
        assert_int_equal(stn_value_numbers(bad[i], &scratch, &err), STN_ERANGE);
        stn_free(scratch.items);
    }
    stn_free(list.items);
}

static void numbers_are_written_for_a_reader(void **state) {
    (void)state;
    char buffer[32];
    assert_string_equal(stn_value_grouped(0, buffer), "0");
    assert_string_equal(stn_value_grouped(999, buffer), "999");
    assert_string_equal(stn_value_grouped(1234567, buffer), "1,234,567");
    assert_string_equal(stn_value_grouped(UINT64_MAX, buffer), "18,446,744,073,709,551,615");
    assert_string_equal(stn_value_time(870, buffer), "870 ns");
    assert_string_equal(stn_value_time(12345, buffer), "12.3 us");
    assert_string_equal(stn_value_time(999.6e3, buffer), "1.00 ms");
    assert_string_equal(stn_value_time(3e9, buffer), "3.00 s");
    assert_string_equal(stn_value_short(950, buffer), "950");
    assert_string_equal(stn_value_short(12345, buffer), "12.3 k");
    assert_string_equal(stn_value_short(1.25e6, buffer), "1.25 M");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_read_or_refused),
        cmocka_unit_test(ranges_are_read_or_refused),
        cmocka_unit_test(lists_of_numbers_are_read_or_refused),
        cmocka_unit_test(numbers_are_written_for_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
