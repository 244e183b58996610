/** @file
 *  Bytes of a model file: little-endian writer into growing memory, and a reader that never
 *  goes past the end. Pinned by tests/unit/test_synth_blob.c. */
#ifndef STN_KERNEL_SYNTH_BLOB_H
#define STN_KERNEL_SYNTH_BLOB_H

#include <standin/base.h>

/** Zero-initialise, then put. A failed allocation makes every later put a no-op, so one look
 *  at @c failed at the end is enough. */
typedef struct stn_blob {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool failed;
} stn_blob;

void stn_blob_put(stn_blob *blob, const void *bytes, size_t size);
void stn_blob_u8(stn_blob *blob, uint8_t value);
void stn_blob_u16(stn_blob *blob, uint16_t value);
void stn_blob_u32(stn_blob *blob, uint32_t value);
void stn_blob_u64(stn_blob *blob, uint64_t value);
void stn_blob_f64(stn_blob *blob, double value);
/** Length (u32), then the bytes without a NUL. */
void stn_blob_text(stn_blob *blob, const char *text);
void stn_blob_fini(stn_blob *blob);

/** Reads from borrowed bytes. Reading past the end gives zeros and sets @c failed. */
typedef struct stn_cursor {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    bool failed;
} stn_cursor;

uint8_t stn_cursor_u8(stn_cursor *cursor);
uint16_t stn_cursor_u16(stn_cursor *cursor);
uint32_t stn_cursor_u32(stn_cursor *cursor);
uint64_t stn_cursor_u64(stn_cursor *cursor);
double stn_cursor_f64(stn_cursor *cursor);
/** A text put by stn_blob_text(): its bytes (not NUL-terminated), lent; NULL on failure. */
const char *stn_cursor_text(stn_cursor *cursor, uint32_t *size);
/** A count of items of at least @p item_size bytes each: fails, and gives 0, if the rest of
 *  the bytes cannot hold so many. So a damaged count never makes a huge allocation. */
uint32_t stn_cursor_count(stn_cursor *cursor, size_t item_size);

/** FNV-1a over 64-bit words, stable across versions and machines: what model files store. */
uint64_t stn_blob_hash(const uint8_t *bytes, size_t size);

#endif
