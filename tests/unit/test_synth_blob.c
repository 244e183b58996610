/* Bytes of model files: what is put comes back, and nothing reads past the end. */
#include <math.h>
#include <string.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "kernel/synth/blob.h"

static void numbers_are_little_endian(void **state) {
    (void)state;
    static const uint8_t wanted[] = {0xab, 0x34, 0x12, 4, 3, 2, 1, 8, 7, 6,    5,   4,
                                     3,    2,    1,    0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    stn_blob blob = {0};
    stn_blob_u8(&blob, 0xab);
    stn_blob_u16(&blob, 0x1234);
    stn_blob_u32(&blob, 0x01020304);
    stn_blob_u64(&blob, UINT64_C(0x0102030405060708));
    stn_blob_f64(&blob, 1.0);
    assert_false(blob.failed);
    assert_int_equal(blob.size, sizeof wanted);
    assert_memory_equal(blob.bytes, wanted, sizeof wanted);
    stn_blob_fini(&blob);
    assert_null(blob.bytes);
    assert_int_equal(blob.size, 0);
}

static void what_is_put_comes_back(void **state) {
    (void)state;
    static const double reals[] = {0.0, -0.0, 1e-310, -2.5, INFINITY};
    stn_blob blob = {0};
    stn_blob_u8(&blob, 255);
    stn_blob_text(&blob, "");
    stn_blob_u64(&blob, UINT64_MAX);
    stn_blob_text(&blob, "gr\xc3\xbc\xc3\x9f");
    stn_blob_u16(&blob, 65535);
    stn_blob_u32(&blob, UINT32_MAX);
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        stn_blob_f64(&blob, reals[i]);
    }
    stn_cursor cursor = {.bytes = blob.bytes, .size = blob.size};
    uint32_t size;
    assert_int_equal(stn_cursor_u8(&cursor), 255);
    assert_non_null(stn_cursor_text(&cursor, &size));
    assert_int_equal(size, 0);
    assert_true(stn_cursor_u64(&cursor) == UINT64_MAX);
    const char *text = stn_cursor_text(&cursor, &size);
    assert_int_equal(size, 6);
    assert_memory_equal(text, "gr\xc3\xbc\xc3\x9f", 6);
    assert_int_equal(stn_cursor_u16(&cursor), 65535);
    assert_true(stn_cursor_u32(&cursor) == UINT32_MAX);
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        double back = stn_cursor_f64(&cursor);
        assert_memory_equal(&back, &reals[i], sizeof back);
    }
    assert_false(cursor.failed);
    assert_int_equal(cursor.at, cursor.size);
    stn_blob_fini(&blob);
}

/* Only the bytes that are there are given to the reader, so that ASan sees one too many. */
static void reading_past_the_end_gives_zeros(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 4, 8, 8};
    for (size_t kind = 0; kind < 5; kind++) {
        for (size_t size = 0; size < sizes[kind]; size++) {
            uint8_t *bytes = stn_malloc(size);
            assert_non_null(bytes);
            memset(bytes, 0xff, size);
            stn_cursor cursor = {.bytes = bytes, .size = size};
            double got = kind == 0   ? stn_cursor_u8(&cursor)
                         : kind == 1 ? stn_cursor_u16(&cursor)
                         : kind == 2 ? stn_cursor_u32(&cursor)
                         : kind == 3 ? (double)stn_cursor_u64(&cursor)
                                     : stn_cursor_f64(&cursor);
            assert_true(got == 0);
            assert_true(cursor.failed);
            assert_int_equal(cursor.at, 0);
            assert_int_equal(stn_cursor_u8(&cursor), 0); /* once failed, always failed */
            stn_free(bytes);
        }
    }
}

static void texts_and_counts_are_measured_before_they_are_believed(void **state) {
    (void)state;
    stn_blob blob = {0};
    stn_blob_u32(&blob, 5);
    stn_blob_put(&blob, "fourXXXXXXXX", 12);
    stn_cursor cursor = {.bytes = blob.bytes, .size = 8};
    uint32_t size = 77;
    assert_null(stn_cursor_text(&cursor, &size));
    assert_int_equal(size, 0);
    assert_true(cursor.failed);
    cursor = (stn_cursor){.bytes = blob.bytes, .size = 4 + 10};
    assert_int_equal(stn_cursor_count(&cursor, 2), 5);
    assert_false(cursor.failed);
    cursor = (stn_cursor){.bytes = blob.bytes, .size = 4 + 9};
    assert_int_equal(stn_cursor_count(&cursor, 2), 0);
    assert_true(cursor.failed);
    blob.size = 0;
    stn_blob_u32(&blob, UINT32_MAX);
    cursor = (stn_cursor){.bytes = blob.bytes, .size = 16};
    assert_int_equal(stn_cursor_count(&cursor, 8), 0);
    assert_true(cursor.failed);
    stn_blob_fini(&blob);
}

static void a_failed_allocation_stops_all_later_puts(void **state) {
    (void)state;
    stn_blob blob = {0};
    stn_alloc_fail_at(1);
    stn_blob_u32(&blob, 1);
    stn_alloc_fail_at(0);
    assert_true(blob.failed);
    stn_blob_u32(&blob, 2);
    assert_int_equal(blob.size, 0);
    stn_blob_fini(&blob);
    assert_false(blob.failed);
}

static void the_hash_tells_every_bit_and_every_length(void **state) {
    (void)state;
    uint8_t bytes[24];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 37 + 1);
    }
    uint64_t whole = stn_blob_hash(bytes, sizeof bytes);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_true(stn_blob_hash(bytes, sizeof bytes) != whole);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    static const uint8_t zeros[16] = {0};
    for (size_t size = 1; size <= sizeof zeros; size++) {
        assert_true(stn_blob_hash(zeros, size) != stn_blob_hash(zeros, size - 1));
    }
    /* files keep it, so it may never change: nothing hashes to the offset basis of FNV */
    assert_true(stn_blob_hash(NULL, 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(stn_blob_hash(bytes, sizeof bytes) == whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(what_is_put_comes_back),
        cmocka_unit_test(reading_past_the_end_gives_zeros),
        cmocka_unit_test(texts_and_counts_are_measured_before_they_are_believed),
        cmocka_unit_test(a_failed_allocation_stops_all_later_puts),
        cmocka_unit_test(the_hash_tells_every_bit_and_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
