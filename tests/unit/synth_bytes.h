/** @file
 *  What the parts of a model file have in common: they come back as they were put, cuts are
 *  refused, damage is refused or does no harm, and each failed allocation is clean. */
#ifndef STN_TESTS_UNIT_SYNTH_BYTES_H
#define STN_TESTS_UNIT_SYNTH_BYTES_H

#include "testing.h"

#include "core/base/alloc.h"
#include "kernel/synth/blob.h"

/** Read a part; if it can be read, use it as its readers do, put it into @p again, free it.
 *  @return what the part's get() says */
typedef stn_status (*bytes_read)(stn_cursor *cursor, stn_blob *again);

static inline stn_status bytes_try(const stn_blob *blob, size_t size, bytes_read read) {
    stn_cursor cursor = {.bytes = blob->bytes, .size = size};
    stn_blob again = {0};
    stn_status status = read(&cursor, &again);
    stn_blob_fini(&again);
    return status;
}

static inline void bytes_come_back(const stn_blob *blob, bytes_read read) {
    stn_cursor cursor = {.bytes = blob->bytes, .size = blob->size};
    stn_blob again = {0};
    assert_int_equal(read(&cursor, &again), STN_OK);
    assert_int_equal(cursor.at, cursor.size);
    assert_int_equal(again.size, blob->size);
    assert_memory_equal(again.bytes, blob->bytes, blob->size);
    stn_blob_fini(&again);
}

static inline void bytes_cut(const stn_blob *blob, bytes_read read) {
    for (size_t size = 0; size < blob->size; size++) {
        assert_int_equal(bytes_try(blob, size, read), STN_EFORMAT);
    }
}

/* Each byte damaged in some ways. @return how often that was refused */
static inline size_t bytes_damage(stn_blob *blob, bytes_read read) {
    static const uint8_t flips[] = {0x01, 0x10, 0x80, 0xff};
    size_t refused = 0;
    for (size_t at = 0; at < blob->size; at++) {
        for (size_t i = 0; i < sizeof flips; i++) {
            blob->bytes[at] ^= flips[i];
            stn_status status = bytes_try(blob, blob->size, read);
            assert_true(status == STN_OK || status == STN_EFORMAT);
            refused += status != STN_OK;
            blob->bytes[at] ^= flips[i];
        }
    }
    assert_int_equal(bytes_try(blob, blob->size, read), STN_OK);
    return refused;
}

/* Let every allocation of reading fail once. @return how many there are */
static inline uint64_t bytes_faults(const stn_blob *blob, bytes_read read) {
    for (uint64_t nth = 1; nth < 1000; nth++) {
        stn_cursor cursor = {.bytes = blob->bytes, .size = blob->size};
        stn_alloc_fail_at(nth);
        stn_status status = read(&cursor, NULL);
        stn_alloc_fail_at(0);
        if (status == STN_OK) {
            return nth - 1;
        }
        assert_int_equal(status, STN_ENOMEM);
    }
    fail_msg("no end of allocations");
    return 0;
}

#endif
