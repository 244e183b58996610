/* A uniform sample of a stream. */
#include "fixture.h"

#include "core/base/alloc.h"
#include "kernel/trace/write_sample.h"

/* Feed numbers 0 … count-1, drain into a file, return what is in it, one number a line. */
static char *sampled(fixture *fx, uint64_t limit, unsigned count, uint64_t *kept) {
    const char *path = fx_path(fx, "sample.txt");
    stn_sample *sample;
    stn_outfile *file;
    assert_int_equal(stn_sample_open(&sample, limit, &fx->err), STN_OK);
    for (unsigned i = 0; i < count; i++) {
        char item[16];
        int size = snprintf(item, sizeof item, "%u\n", i);
        if (stn_sample_admit(sample)) {
            assert_int_equal(stn_sample_keep(sample, item, (size_t)size, 1, &fx->err), STN_OK);
        }
    }
    assert_int_equal(stn_outfile_open(&file, path, &fx->err), STN_OK);
    assert_int_equal(stn_sample_drain(sample, file, &fx->err), STN_OK);
    assert_int_equal(stn_outfile_commit(file, &fx->err), STN_OK);
    assert_int_equal(stn_sample_seen(sample), count);
    *kept = stn_sample_count(sample);
    stn_sample_close(sample);
    return fx_content(path);
}

/* Lines are numbers that rise; returns how many, and how many are below @p half. */
static unsigned count_lines(const char *text, unsigned half, unsigned *below) {
    unsigned lines = 0;
    long last = -1;
    *below = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        long number = strtol(at, NULL, 10);
        assert_true(number > last);
        last = number;
        *below += number < (long)half;
        lines++;
    }
    return lines;
}

static void test_exact_size(void **state) {
    static const unsigned rows[][3] = {{10, 0, 0},   {10, 7, 7},   {10, 10, 10},
                                       {10, 11, 10}, {1, 5000, 1}, {1000, 20000, 1000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t kept;
        unsigned below;
        char *text = sampled(*state, rows[i][0], rows[i][1], &kept);
        assert_int_equal(kept, rows[i][2]);
        assert_int_equal(count_lines(text, 0, &below), rows[i][2]);
        free(text);
    }
}

/* 1,000 of 20,000: the first half gets 500, give or take four standard deviations (15). */
static void test_uniform_and_repeatable(void **state) {
    uint64_t kept;
    unsigned below;
    char *once = sampled(*state, 1000, 20000, &kept), *again = sampled(*state, 1000, 20000, &kept);
    assert_string_equal(once, again);
    assert_int_equal(count_lines(once, 10000, &below), 1000);
    assert_in_range(below, 440, 560);
    free(once);
    free(again);
}

static void test_no_memory(void **state) {
    fixture *fx = *state;
    stn_sample *sample;
    stn_alloc_fail_at(1);
    assert_int_equal(stn_sample_open(&sample, 5, &fx->err), STN_ENOMEM);
    assert_null(sample);
    assert_int_equal(stn_sample_open(&sample, 5, &fx->err), STN_OK);
    assert_true(stn_sample_admit(sample));
    stn_alloc_fail_at(1);
    assert_int_equal(stn_sample_keep(sample, "x", 1, 1, &fx->err), STN_ENOMEM);
    stn_alloc_fail_at(0);
    stn_sample_close(sample);
    stn_sample_close(NULL);
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_exact_size),
        ONE(test_uniform_and_repeatable),
        ONE(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
