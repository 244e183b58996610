/* Explicit byte order instead of copying structs: a model file is the same on every machine. */
#include "kernel/synth/blob.h"

#include <string.h>

#include "core/base/alloc.h"

void stn_blob_put(stn_blob *blob, const void *bytes, size_t size) {
    if (blob->failed) {
        return;
    }
    if (stn_grow(&blob->bytes, &blob->capacity, blob->size + size, 1) != STN_OK) {
        blob->failed = true;
        return;
    }
    if (size > 0) {
        memcpy(blob->bytes + blob->size, bytes, size);
    }
    blob->size += size;
}

static void put_le(stn_blob *blob, uint64_t value, size_t size) {
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    stn_blob_put(blob, bytes, size);
}

void stn_blob_u8(stn_blob *blob, uint8_t value) {
    stn_blob_put(blob, &value, 1);
}

void stn_blob_u16(stn_blob *blob, uint16_t value) {
    put_le(blob, value, 2);
}

void stn_blob_u32(stn_blob *blob, uint32_t value) {
    put_le(blob, value, 4);
}

void stn_blob_u64(stn_blob *blob, uint64_t value) {
    put_le(blob, value, 8);
}

void stn_blob_f64(stn_blob *blob, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_le(blob, bits, 8);
}

void stn_blob_text(stn_blob *blob, const char *text) {
    size_t size = strlen(text);
    stn_blob_u32(blob, (uint32_t)size);
    stn_blob_put(blob, text, size);
}

void stn_blob_fini(stn_blob *blob) {
    stn_free(blob->bytes);
    *blob = (stn_blob){0};
}

static uint64_t get_le(stn_cursor *cursor, size_t size) {
    if (cursor->failed || cursor->size - cursor->at < size) {
        cursor->failed = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)cursor->bytes[cursor->at + i] << (8 * i);
    }
    cursor->at += size;
    return value;
}

uint8_t stn_cursor_u8(stn_cursor *cursor) {
    return (uint8_t)get_le(cursor, 1);
}

uint16_t stn_cursor_u16(stn_cursor *cursor) {
    return (uint16_t)get_le(cursor, 2);
}

uint32_t stn_cursor_u32(stn_cursor *cursor) {
    return (uint32_t)get_le(cursor, 4);
}

uint64_t stn_cursor_u64(stn_cursor *cursor) {
    return get_le(cursor, 8);
}

double stn_cursor_f64(stn_cursor *cursor) {
    uint64_t bits = get_le(cursor, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *stn_cursor_text(stn_cursor *cursor, uint32_t *size) {
    *size = stn_cursor_u32(cursor);
    if (cursor->failed || cursor->size - cursor->at < *size) {
        cursor->failed = true;
        *size = 0;
        return NULL;
    }
    const char *text = (const char *)cursor->bytes + cursor->at;
    cursor->at += *size;
    return text;
}

uint32_t stn_cursor_count(stn_cursor *cursor, size_t item_size) {
    uint32_t count = stn_cursor_u32(cursor);
    if (cursor->failed || (cursor->size - cursor->at) / item_size < count) {
        cursor->failed = true;
        return 0;
    }
    return count;
}

uint64_t stn_blob_hash(const uint8_t *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u ^ size;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        for (size_t j = 0; j < 8 && i + j < size; j++) {
            word |= (uint64_t)bytes[i + j] << (8 * j);
        }
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}
