/** @file
 *  Hash map from 64-bit keys to 64-bit values, open addressing, no deletion of single
 *  keys (set a value that means "gone"). Pinned by tests/unit/test_core_base.c. */
#ifndef STN_CORE_BASE_MAP_H
#define STN_CORE_BASE_MAP_H

#include <standin/base.h>

/** Zero-initialise, then use. */
typedef struct stn_map {
    uint64_t *keys;
    uint64_t *values;
    unsigned char *used;
    size_t count;
    size_t slot_count; /**< power of two, or 0 */
} stn_map;

/** Value of @p key, or NULL. Valid until the next put. */
uint64_t *stn_map_get(const stn_map *map, uint64_t key);
/** Value of @p key, added with value 0 if new (@p added says so, may be NULL);
 *  NULL if out of memory (nothing changed). Valid until the next put. */
uint64_t *stn_map_put(stn_map *map, uint64_t key, bool *added);
/** Walk all entries: start with @p *at = 0; false at the end. Order is deterministic. */
bool stn_map_next(const stn_map *map, size_t *at, uint64_t *key, uint64_t *value);
/** Remove all entries, keep the memory. */
void stn_map_clear(stn_map *map);
void stn_map_fini(stn_map *map);

#endif
