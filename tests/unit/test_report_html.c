/* The page, the JSON and the table of a small evaluation, with and without memory. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "judge_traces.h"

#include "app/report.h"
#include "core/base/alloc.h"

static stn_catalog *catalog;
static stn_trace run;
static const stn_trace *runs[1] = {&run};
static const char *const paths[1] = {"some/where/<run>&1.txt"};
static stn_rules *rules;
static stn_evaluation evaluation;
static char folder[64];

static stn_report_input input(void) {
    stn_report_side side = {.traces = runs, .paths = paths, .count = 1};
    return (stn_report_input){
        .train = side, .real = side, .synthetic = side, .rules = rules, .catalog = catalog};
}

static int make(void **state) {
    (void)state;
    stn_err err = {0};
    if (stn_catalog_new(&catalog, &err)) {
        return 1;
    }
    stn_trace_init(&run, catalog);
    for (uint64_t i = 0; i < 200; i++) {
        const char *comm = i % 3 ? "</script><b>" : "a";
        const char *name = i % 2 ? "sys_exit_read" : "sys_enter_read";
        put_event(&run, 1000 * i, (uint16_t)(i / 100), (int32_t)(i / 2 % 3), comm, name, NULL, 0);
    }
    strcpy(folder, "/tmp/stn_report_XXXXXX");
    if (!mkdtemp(folder) || stn_rules_builtin(&rules, catalog, &err)) {
        return 1;
    }
    stn_evaluate_options options = {.seed = 1, .rules = rules};
    return stn_evaluate(runs, 1, runs, 1, runs, 1, &options, catalog, &evaluation, NULL, NULL,
                        &err);
}

static int unmake(void **state) {
    (void)state;
    stn_evaluation_fini(&evaluation);
    stn_rules_free(rules);
    stn_trace_fini(&run);
    stn_catalog_free(catalog);
    return rmdir(folder); /* also: nothing was left there */
}

static void the_page_is_whole_and_names_are_text(void **state) {
    (void)state;
    char path[128];
    stn_err err = {0};
    stn_report_input in = input();
    snprintf(path, sizeof path, "%s/page.html", folder);
    assert_int_equal(stn_report_html(&evaluation, &in, path, &err), STN_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char page[1 << 20];
    size_t size = fread(page, 1, sizeof page - 1, file);
    fclose(file);
    unlink(path);
    assert_true(size > 20000 && size < sizeof page - 1);
    page[size] = 0;
    assert_string_equal(page + size - 8, "</html>\n");
    assert_null(strstr(page, "</script><b>"));
    assert_null(strstr(page, "<run>"));
    assert_non_null(strstr(page, "&lt;run&gt;&amp;1.txt"));
    assert_non_null(strstr(page, "\\u003c/script\\u003e\\u003cb\\u003e"));
}

static void a_folder_that_is_not_there_is_an_error(void **state) {
    (void)state;
    char path[128];
    stn_err err = {0};
    stn_report_input in = input();
    snprintf(path, sizeof path, "%s/none/page.html", folder);
    assert_int_not_equal(stn_report_html(&evaluation, &in, path, &err), STN_OK);
    assert_non_null(strstr(err.text, "none"));
}

static void out_of_memory_leaves_no_page(void **state) {
    (void)state;
    char path[128];
    stn_err err = {0};
    stn_report_input in = input();
    snprintf(path, sizeof path, "%s/page.html", folder);
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    while (status == STN_ENOMEM) {
        stn_alloc_fail_at(++nth);
        status = stn_report_html(&evaluation, &in, path, &err);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || access(path, F_OK) != 0);
    }
    assert_int_equal(status, STN_OK);
    assert_true(nth > 3);
    unlink(path);
}

static void json_has_the_contract_keys_and_nulls(void **state) {
    (void)state;
    stn_err err = {0};
    stn_report_input in = input();
    json_t *json;
    assert_int_equal(stn_report_json(&evaluation, &in, &json, &err), STN_OK);
    json_t *ngram = json_object_get(json_object_get(json, "judges"), "ngram");
    assert_true(json_is_real(json_object_get(ngram, "ratio")));
    assert_true(json_real_value(json_object_get(ngram, "ratio")) == 1);
    json_t *ks = json_object_get(json, "latency_ks");
    assert_true(json_real_value(json_object_get(ks, "syscall")) == 0);
    assert_true(json_is_null(json_object_get(ks, "block"))); /* no block I/O in the run */
    json_t *verbatim = json_object_get(json, "verbatim64");
    assert_true(json_real_value(json_object_get(verbatim, "synthetic")) == 1);
    assert_true(json_is_real(json_object_get(json, "violations_per_1000")));
    assert_true(json_is_null(json_object_get(json, "discriminator_auc")));
    json_decref(json);
}

static void the_table_names_every_section(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    stn_report_input in = input();
    stn_report_table(&evaluation, &in, out);
    fclose(out);
    static const char *const parts[] = {
        "macro-F1", "3-gram divergence", "block I/O", "Memory", "violations",
        "n/a",      "Is it original?",   "100.0 %"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_non_null(strstr(text, parts[i]));
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_whole_and_names_are_text),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
        cmocka_unit_test(out_of_memory_leaves_no_page),
        cmocka_unit_test(json_has_the_contract_keys_and_nulls),
        cmocka_unit_test(the_table_names_every_section),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
