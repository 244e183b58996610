/** @file
 *  Strings to dense ids and back. Pinned by tests/unit/test_core_base.c. */
#ifndef STN_CORE_BASE_INTERN_H
#define STN_CORE_BASE_INTERN_H

#include "core/base/arena.h"

/** Zero-initialise, then use. Ids count up from 0 in order of first sight. */
typedef struct stn_intern {
    stn_arena arena;    /**< the texts */
    const char **texts; /**< [count] */
    uint64_t *hashes;   /**< [count] */
    size_t count;
    size_t capacity;
    size_t hash_capacity;
    uint32_t *slots; /**< [slot_count] id + 1, 0 empty; power of two */
    size_t slot_count;
} stn_intern;

#define STN_INTERN_NONE UINT32_MAX

/** Id of @p text, added if new; STN_INTERN_NONE if out of memory (nothing changed). */
uint32_t stn_intern_add(stn_intern *intern, const char *text, size_t size);
/** Id of @p text or STN_INTERN_NONE. */
uint32_t stn_intern_find(const stn_intern *intern, const char *text, size_t size);
void stn_intern_fini(stn_intern *intern);

/** 64-bit hash of bytes. Not stable across versions: never store it. */
uint64_t stn_hash_bytes(const void *bytes, size_t size);
/** Bijective mixing of 64 bits (splitmix64 finaliser). */
static inline uint64_t stn_hash_u64(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
