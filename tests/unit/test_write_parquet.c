/* Parquet through DuckDB, where its library is there; and what is said where it is not. */
#include "fixture.h"

#include "kernel/trace/format.h"

static void need_library(void) {
    if (!stn_parquet_available()) {
        print_message("skipped: libduckdb.so not there\n");
        skip();
    }
}

/* Magic at both ends, and the words that must stand somewhere in it uncompressed: the schema. */
static void test_file(void **state) {
    need_library();
    fixture *fx = *state;
    fx_add_kernel(fx);
    fx_add_edges(fx);
    FX_ADD(fx, 6000000001, 1, 7, "\xff", "bad \xc0", NULL, FX_STR("a'b", "\xed\xa0\x80"));
    snprintf(fx->trace.meta.host, sizeof fx->trace.meta.host, "it's a host");
    const char *path = fx_path(fx, "out.parquet");
    fx_write(fx, path, NULL);
    assert_int_equal(fx_entries(fx), 1);
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "r");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 8 && size < sizeof bytes);
    assert_memory_equal(bytes, "PAR1", 4);
    assert_memory_equal(bytes + size - 4, "PAR1", 4);
    static const char *const words[] = {"time_ns", "original", "fields", "it's a host"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_non_null(memmem(bytes, size, words[i], strlen(words[i])));
    }
}

static void test_more_than_a_chunk(void **state) {
    need_library();
    fixture *fx = *state;
    for (uint64_t i = 0; i < 5000; i++) {
        FX_ADD(fx, i, 0, 1, "a", "e", NULL, FX_UINT("i", i));
    }
    fx_write(fx, fx_path(fx, "out.parquet"), "parquet");
    fx_write(fx, fx_path(fx, "out.parquet"), "parquet"); /* replaces */
    assert_int_equal(fx_entries(fx), 1);
}

static void test_abort_and_bad_places(void **state) {
    need_library();
    fixture *fx = *state;
    fx_add_kernel(fx);
    stn_writer *writer;
    assert_int_equal(stn_writer_open(&writer, fx_path(fx, "out.parquet"), NULL, fx->catalog, NULL,
                                     NULL, &fx->err),
                     STN_OK);
    assert_int_equal(stn_writer_write(writer, fx->trace.events, &fx->err), STN_OK);
    stn_writer_abort(writer);
    assert_int_equal(fx_entries(fx), 0);
    assert_int_equal(fx_try_write(fx, "/dev/full", "parquet", NULL), STN_EIO);
    assert_int_equal(fx_try_write(fx, fx_path(fx, "absent/x.parquet"), NULL, NULL), STN_EIO);
    assert_int_equal(fx_entries(fx), 0);
}

static void test_without_library(void **state) {
    fixture *fx = *state;
    if (stn_parquet_available()) {
        print_message("skipped: libduckdb.so is there\n");
        skip();
    }
    stn_status status = fx_try_write(fx, fx_path(fx, "out.parquet"), NULL, NULL);
    assert_int_equal(status, STN_EUNSUPPORTED);
    assert_non_null(strstr(fx->err.text, "npm install @duckdb/node-bindings-linux-"));
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        stn_format_info info = stn_format_at(i);
        assert_int_equal(info.available, strcmp(info.name, "parquet") != 0);
    }
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_file),
        ONE(test_more_than_a_chunk),
        ONE(test_abort_and_bad_places),
        ONE(test_without_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
