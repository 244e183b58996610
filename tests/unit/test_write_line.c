/* The line buffer of the text writers: numbers at their edges, JSON of any bytes. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/trace/write_line.h"

static void expect(stn_line *line, const char *text) {
    stn_line_char(line, '\0');
    assert_false(line->failed);
    assert_string_equal(line->bytes, text);
    stn_line_clear(line);
}

static void test_numbers(void **state) {
    (void)state;
    stn_line line = {0};
    stn_line_u64(&line, UINT64_MAX);
    expect(&line, "18446744073709551615");
    stn_line_i64(&line, INT64_MIN);
    expect(&line, "-9223372036854775808");
    stn_line_u64(&line, 0);
    expect(&line, "0");
    stn_line_padded(&line, 7, 3);
    stn_line_padded(&line, 12345, 3);
    expect(&line, "00712345");
    stn_line_hex(&line, 0);
    stn_line_hex(&line, UINT64_MAX);
    expect(&line, "0x00xffffffffffffffff");
    stn_line_seconds(&line, 1000000001);
    expect(&line, "1.000000001");
    stn_line_seconds(&line, UINT64_MAX);
    expect(&line, "18446744073.709551615");
    stn_line_char(&line, 'a');
    stn_line_fill(&line, 3);
    stn_line_fill(&line, 2);
    expect(&line, "a  ");
    stn_line_fini(&line);
}

static void test_reals_read_back(void **state) {
    (void)state;
    static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 123456789.123456789};
    stn_line line = {0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        stn_line_clear(&line);
        stn_line_real(&line, values[i]);
        stn_line_char(&line, '\0');
        double back;
        assert_int_equal(sscanf(line.bytes, "%lf", &back), 1);
        assert_memory_equal(&back, &values[i], sizeof back);
    }
    stn_line_clear(&line);
    stn_line_real(&line, 0.1);
    expect(&line, "0.1");
    stn_line_real(&line, INFINITY);
    stn_line_real(&line, -INFINITY);
    stn_line_real(&line, NAN);
    expect(&line, "inf-infnan");
    stn_line_fini(&line);
}

static void test_json_strings(void **state) {
    (void)state;
    static const struct {
        const char *text, *json;
    } rows[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\x01\x7f", "\"\\u000a\\u0001\\u007f\""},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", NULL},
        {"\xff", "\"\xef\xbf\xbd\""},
        {"\xc3", "\"\xef\xbf\xbd\""},                                 /* cut */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* too long */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    stn_line line = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char same[64];
        snprintf(same, sizeof same, "\"%s\"", rows[i].text);
        stn_line_json(&line, rows[i].text);
        expect(&line, rows[i].json ? rows[i].json : same);
    }
    stn_line_fini(&line);
}

/* Integers that a double rounds are strings; what is no JSON number is one too. */
static void test_json_values(void **state) {
    (void)state;
    static const int64_t items[] = {-1, (int64_t)1 << 60};
    const stn_seq seq = {2, true, items}, bits = {2, false, items};
    const struct {
        stn_field field;
        const char *json;
    } rows[] = {
        {{.kind = STN_FIELD_INT, .v.i = -5}, "-5"},
        {{.kind = STN_FIELD_INT, .v.i = INT64_MIN}, "\"-9223372036854775808\""},
        {{.kind = STN_FIELD_UINT, .v.u = (uint64_t)1 << 53}, "9007199254740992"},
        {{.kind = STN_FIELD_UINT, .v.u = ((uint64_t)1 << 53) + 1}, "\"9007199254740993\""},
        {{.kind = STN_FIELD_HEX, .v.u = 255}, "\"0xff\""},
        {{.kind = STN_FIELD_REAL, .v.f = 2.5}, "2.5"},
        {{.kind = STN_FIELD_REAL, .v.f = INFINITY}, "\"inf\""},
        {{.kind = STN_FIELD_STR, .v.s = "x"}, "\"x\""},
        {{.kind = STN_FIELD_SEQ, .v.seq = &seq}, "[-1,\"1152921504606846976\"]"},
        {{.kind = STN_FIELD_SEQ, .v.seq = &bits},
         "[\"18446744073709551615\",\"1152921504606846976\"]"},
    };
    stn_line line = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stn_line_json_value(&line, &rows[i].field);
        expect(&line, rows[i].json);
    }
    stn_line_fini(&line);
}

/* Running out of memory sticks until the next line. */
static void test_no_memory(void **state) {
    (void)state;
    stn_line line = {0};
    stn_alloc_fail_at(1);
    stn_line_string(&line, "abc");
    assert_true(line.failed);
    stn_line_string(&line, "def");
    assert_true(line.failed);
    stn_line_clear(&line);
    assert_false(line.failed);
    stn_line_fini(&line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_json_strings), cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
