/* Hostile text in JSON and HTML. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "app/report_text.h"

/* What @p write puts into a page. */
static void expect(void (*write)(stn_page *page, const char *text), const char *text,
                   const char *expected) {
    char path[] = "/tmp/stn_report_text_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    stn_err err = {0};
    stn_page page = {.err = &err};
    assert_int_equal(stn_outfile_open(&page.file, path, &err), STN_OK);
    write(&page, text);
    assert_int_equal(page.status, STN_OK);
    assert_int_equal(stn_outfile_commit(page.file, &err), STN_OK);
    char read[512] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(read, 1, sizeof read - 1, file);
    read[size] = 0;
    fclose(file);
    unlink(path);
    assert_string_equal(read, expected);
}

static void write_json(stn_page *page, const char *text) {
    json_t *json = json_pack("[o]", stn_json_text(text));
    assert_non_null(json);
    stn_page_json(page, json);
    json_decref(json);
}

static const struct {
    const char *text, *html, *json;
} rows[] = {
    {"fio", "fio", "[\"fio\"]"},
    {"</script><b>", "&lt;/script&gt;&lt;b&gt;", "[\"\\u003c/script\\u003e\\u003cb\\u003e\"]"},
    {"<!--", "&lt;!--", "[\"\\u003c!--\"]"},
    {"a&b\"c'd", "a&amp;b&quot;c&#39;d", "[\"a\\u0026b\\\"c'd\"]"},
    {"\xe2\x82\xac", "\xe2\x82\xac", "[\"\\u20AC\"]"},
    {"a\xff\xfe", "a\xef\xbf\xbd\xef\xbf\xbd", "[\"a\\uFFFD\\uFFFD\"]"},
    {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd", "[\"\\uFFFD\\uFFFD\"]"}, /* cut */
    {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", "[\"\\uFFFD\\uFFFD\"]"}, /* overlong '/' */
    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
     "[\"\\uFFFD\\uFFFD\\uFFFD\"]"}, /* a surrogate */
    {"\xe2\x80\xa8", "\xe2\x80\xa8", "[\"\\u2028\"]"},
    {"", "", "[\"\"]"},
};

static void text_is_never_markup(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(stn_page_text, rows[i].text, rows[i].html);
        expect(write_json, rows[i].text, rows[i].json);
    }
}

static void numbers_that_are_none_are_null(void **state) {
    (void)state;
    json_t *none = stn_json_number(0.0 / 0.0);
    json_t *some = stn_json_number(0.25);
    assert_true(json_is_null(none));
    assert_true(json_real_value(some) == 0.25);
    json_decref(none);
    json_decref(some);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_never_markup),
        cmocka_unit_test(numbers_that_are_none_are_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
