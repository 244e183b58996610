/* CSV to the letter: docs/formats/csv.md. */
#include "fixture.h"

#include <math.h>

static void expect_content(fixture *fx, const char *wanted) {
    const char *path = fx_path(fx, "out.csv");
    fx_write(fx, path, "csv");
    char *text = fx_content(path);
    assert_string_equal(text, wanted);
    free(text);
}

#define HEADER "time_ns,cpu,tid,comm,event,original,fields\n"

static void test_header_alone(void **state) {
    expect_content(*state, HEADER);
}

static void test_columns(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 5, 1, 42, "bash", "sys_enter_close", "syscall_entry_close", FX_UINT("fd", 3));
    fx_add(fx, 6, STN_NO_CPU, STN_NO_TID, NULL, "odd", NULL, NULL, 0);
    fx_add(fx, UINT64_MAX, 0, 0, "swapper,0;\n", "a=b", NULL, NULL, 0);
    expect_content(fx, HEADER "5,1,42,bash,sys_enter_close,syscall_entry_close,fd=3u\n"
                              "6,,,,odd,,\n"
                              "18446744073709551615,0,0,swapper%2C0%3B%0A,a%3Db,,\n");
}

static void test_kinds(void **state) {
    static const int64_t items[] = {1, -1};
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "e", NULL, FX_INT("i", -11), FX_UINT("u", UINT64_MAX),
           FX_HEX("h", 0x80000), FX_REAL("r", 0.25), FX_REAL("w", 3), FX_REAL("p", INFINITY),
           FX_REAL("n", -INFINITY), FX_SEQ("s", items, 2, true), FX_SEQ("t", items, 2, false),
           FX_SEQ("z", items, 0, true));
    expect_content(fx, HEADER "1,0,1,a,e,,i=-11;u=18446744073709551615u;h=0x80000;r=0.25f;w=3f;"
                              "p=+inff;n=-inff;s=[1 -1];t=[1 18446744073709551615]u;z=[]\n");
}

static void test_text(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "e", NULL, FX_STR("plain", "eth0"), FX_STR("digit", "8021q"),
           FX_STR("sign", "-x"), FX_STR("list", "[1]"), FX_STR("quote", "'q"), FX_STR("none", ""),
           FX_STR("marks", "a,b;c=d\"e%f\x7f"));
    expect_content(fx, HEADER "1,0,1,a,e,,plain=eth0;digit='8021q;sign='-x;list='[1];quote=''q;"
                              "none=;marks=a%2Cb%3Bc%3Dd%22e%25f%7F\n");
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_header_alone),
        ONE(test_columns),
        ONE(test_kinds),
        ONE(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
