/* Fingerprints that never change, canonical forms, tables and migrations that agree. */
#include "testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "llm/latdb/form.h"
#include "llm/latdb/schema.h"
#include "llm/latdb/statement.h"

/* Databases hold these numbers: a change here makes every stored row a stranger. */
static void fingerprints_are_fixed(void **state) {
    (void)state;
    stn_lat_hardware hardware = {.kind = "cpu", .name = "AMD EPYC", .cores = 2, .threads = 4};
    stn_lat_engine engine = {.name = "llama.cpp", .version = "0.5.0", .settings = "threads=2"};
    stn_lat_signature signature = {
        .kind = "gemm", .dtypes = "q8_0,f32,f32", .dims = "k=4096,n=14336", .axes = "tokens"};
    stn_lat_source source = {.kind = "measured", .tool = "standin 0.1.0"};
    assert_true(stn_lat_hardware_id(&hardware) == UINT64_C(0x42c13c42565075a2));
    assert_true(stn_lat_engine_id(&engine) == UINT64_C(0x6a39de969d274cca));
    assert_true(stn_lat_signature_id(&signature) == UINT64_C(0x0bf776ac8ea793b3));
    assert_true(stn_lat_source_id(&source) == UINT64_C(0x6d4208fc0ace4fdf));
    assert_true(stn_lat_series_id(1, 2, 3) == UINT64_C(0x7d7df980b7dc1ef1));
}

static void what_is_no_identity_does_not_change_a_fingerprint(void **state) {
    (void)state;
    stn_lat_hardware a = {.kind = "cpu", .name = "AMD EPYC"};
    stn_lat_hardware b = {.id = 9,
                          .kind = "cpu",
                          .name = "AMD EPYC",
                          .vendor = "",
                          .clock_hz = 5,
                          .memory_bytes_per_s = 6,
                          .driver = "Linux 7"};
    assert_true(stn_lat_hardware_id(&a) == stn_lat_hardware_id(&b));
    b.vendor = "AMD";
    assert_true(stn_lat_hardware_id(&a) != stn_lat_hardware_id(&b));
    /* A value in another column is another thing. */
    stn_lat_engine c = {.name = "x", .version = "1"};
    stn_lat_engine d = {.name = "x", .backend = "1"};
    assert_true(stn_lat_engine_id(&c) != stn_lat_engine_id(&d));
    assert_true(stn_lat_series_id(1, 2, 3) != stn_lat_series_id(1, 3, 2));
    assert_true(stn_lat_series_id(1, 2, 3) <= INT64_MAX);
}

static void canonical_forms(void **state) {
    (void)state;
    static const struct {
        stn_lat_form form;
        const char *text;
        bool right;
    } cases[] = {
        {STN_LAT_DIMS, "", true},
        {STN_LAT_DIMS, "k=4096", true},
        {STN_LAT_DIMS, "k=0,n=14336", true},
        {STN_LAT_DIMS, "a=1,a_b=2,ab=3", true},
        {STN_LAT_DIMS, "n=1,k=2", false},
        {STN_LAT_DIMS, "k=1,k=2", false},
        {STN_LAT_DIMS, "k=01", false},
        {STN_LAT_DIMS, "k=-1", false},
        {STN_LAT_DIMS, "k=", false},
        {STN_LAT_DIMS, "k", false},
        {STN_LAT_DIMS, "k=1,", false},
        {STN_LAT_DIMS, ",k=1", false},
        {STN_LAT_DIMS, "k=1.5", false},
        {STN_LAT_DIMS, "k=1 ", false},
        {STN_LAT_DIMS, "k=9999999999999999999", false},
        {STN_LAT_SETTINGS, "a=x y,b=2", true},
        {STN_LAT_SETTINGS, "a=", false},
        {STN_LAT_SETTINGS, "b=1,a=1", false},
        {STN_LAT_AXES, "", true},
        {STN_LAT_AXES, "kv,seqs", true},
        {STN_LAT_AXES, "seqs,kv", true},
        {STN_LAT_AXES, "a,b,c,d,e,f", true},
        {STN_LAT_AXES, "a,b,c,d,e,f,g", false},
        {STN_LAT_AXES, "a,b,a", false},
        {STN_LAT_AXES, "a,", false},
        {STN_LAT_AXES, "a b", false},
        {STN_LAT_HARDWARE_KIND, "cpu", true},
        {STN_LAT_HARDWARE_KIND, "CPU", false},
        {STN_LAT_SOURCE_KIND, "imported", true},
        {STN_LAT_SOURCE_KIND, "", false},
        {STN_LAT_GIVEN, "", false},
        {STN_LAT_ANY, "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *wrong = stn_lat_form_wrong(cases[i].form, cases[i].text);
        if ((wrong == NULL) != cases[i].right) {
            fail_msg("\"%s\": %s", cases[i].text, wrong ? wrong : "taken");
        }
    }
}

static void text_is_utf8_without_control_characters(void **state) {
    (void)state;
    static const char *const right[] = {"", "abc", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80"};
    static const char *const wrong[] = {"a\n",          "\x7f",
                                        "\xff",         "\xc3",
                                        "\xc0\xaf",     "\xe0\x80\xaf",
                                        "\xed\xa0\x80", "\xf5\x80\x80\x80",
                                        "a\xc3(",       "\xf4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_true(stn_lat_text_clean(right[i]));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(stn_lat_text_clean(wrong[i]));
    }
}

static void dimensions_are_sorted(void **state) {
    (void)state;
    static const char *const names[] = {"n", "k", "head_dim"};
    static const int64_t values[] = {14336, 4096, 0};
    static const int64_t negative[] = {14336, -1, 0};
    static const char *const twice[] = {"n", "n"};
    stn_err err = {{0}};
    char text[40];
    assert_int_equal(stn_lat_dims(names, values, 3, text, sizeof text, &err), STN_OK);
    assert_string_equal(text, "head_dim=0,k=4096,n=14336");
    assert_int_equal(stn_lat_dims(names, values, 0, text, sizeof text, &err), STN_OK);
    assert_string_equal(text, "");
    assert_int_equal(stn_lat_dims(names, negative, 3, text, sizeof text, &err), STN_ERANGE);
    assert_string_equal(text, "");
    assert_int_equal(stn_lat_dims(twice, values, 2, text, sizeof text, &err), STN_ERANGE);
    assert_int_equal(stn_lat_dims(names, values, 3, text, 25, &err), STN_ERANGE);
    assert_string_equal(text, "");
}

/* Every column of the tables is in the first migration, in the same table; and no other. */
static void tables_and_migrations_agree(void **state) {
    (void)state;
    size_t count;
    const char *sql = stn_lat_migrations(&count)[0].sql;
    for (int t = 0; t < STN_LAT_T_COUNT; t++) {
        const stn_lat_table *table = stn_lat_table_of((stn_lat_table_id)t);
        char head[64];
        snprintf(head, sizeof head, "CREATE TABLE %s(", table->name);
        const char *at = strstr(sql, head);
        assert_non_null(at);
        at += strlen(head);
        for (size_t i = 0; i < table->count; i++) {
            const char *type = table->columns[i].type == STN_LAT_TEXT   ? "TEXT"
                               : table->columns[i].type == STN_LAT_REAL ? "DOUBLE"
                                                                        : "BIGINT";
            char column[64];
            snprintf(column, sizeof column, "%s %s", table->columns[i].name, type);
            if (strncmp(at, column, strlen(column)) != 0) {
                fail_msg("%s: %.30s, expected %s", table->name, at, column);
            }
            at += strcspn(at, ",;");
            at += strspn(at, ", ");
        }
        assert_true(*at == ';' || strncmp(at, "PRIMARY KEY(series, ", 20) == 0);
    }
}

static void statements_are_projected_from_tables(void **state) {
    (void)state;
    const stn_lat_table *table = stn_lat_table_of(STN_LAT_T_SERIES);
    stn_lat_sql sql;
    stn_lat_sql_insert(&sql, table);
    assert_string_equal(sql.text, "INSERT INTO series(id,hardware,engine,signature) "
                                  "VALUES($1,$2,$3,$4) ON CONFLICT DO NOTHING");
    assert_true(sql.query.in_count == 4 && sql.query.out_count == 0);
    stn_lat_sql_upsert(&sql, table);
    assert_non_null(strstr(sql.text, " ON CONFLICT(id) DO UPDATE SET hardware=excluded.hardware,"));
    stn_lat_sql_select(&sql, table, true);
    assert_string_equal(sql.text, "SELECT id,hardware,engine,signature FROM series WHERE id=$1 "
                                  "ORDER BY id");
    assert_true(sql.query.in_count == 1 && sql.query.out_count == 4);
    stn_lat_sql_upsert(&sql, stn_lat_table_of(STN_LAT_T_LATENCY)); /* the longest fits */
    assert_non_null(
        strstr(sql.text, "ON CONFLICT(series,p0,p1,p2,p3,p4,p5) DO UPDATE SET mean_ns="));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprints_are_fixed),
        cmocka_unit_test(what_is_no_identity_does_not_change_a_fingerprint),
        cmocka_unit_test(canonical_forms),
        cmocka_unit_test(text_is_utf8_without_control_characters),
        cmocka_unit_test(dimensions_are_sorted),
        cmocka_unit_test(tables_and_migrations_agree),
        cmocka_unit_test(statements_are_projected_from_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
