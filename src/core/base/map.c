#include "core/base/map.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/intern.h"

static size_t map_slot(const stn_map *map, uint64_t key) {
    size_t mask = map->slot_count - 1;
    size_t slot = (size_t)stn_hash_u64(key) & mask;
    while (map->used[slot] && map->keys[slot] != key) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static stn_status map_resize(stn_map *map, size_t slot_count) {
    stn_map grown = {
        .keys = stn_malloc(slot_count * sizeof(uint64_t)),
        .values = stn_malloc(slot_count * sizeof(uint64_t)),
        .used = stn_calloc(slot_count, 1),
        .count = map->count,
        .slot_count = slot_count,
    };
    if (!grown.keys || !grown.values || !grown.used) {
        stn_map_fini(&grown);
        return STN_ENOMEM;
    }
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->used[i]) {
            size_t slot = map_slot(&grown, map->keys[i]);
            grown.used[slot] = 1;
            grown.keys[slot] = map->keys[i];
            grown.values[slot] = map->values[i];
        }
    }
    stn_map_fini(map);
    *map = grown;
    return STN_OK;
}

uint64_t *stn_map_get(const stn_map *map, uint64_t key) {
    if (!map->slot_count) {
        return NULL;
    }
    size_t slot = map_slot(map, key);
    return map->used[slot] ? &map->values[slot] : NULL;
}

uint64_t *stn_map_put(stn_map *map, uint64_t key, bool *added) {
    if (added) {
        *added = false;
    }
    if ((map->count + 1) * 2 > map->slot_count &&
        map_resize(map, map->slot_count ? map->slot_count * 2 : 32)) {
        return NULL;
    }
    size_t slot = map_slot(map, key);
    if (!map->used[slot]) {
        map->used[slot] = 1;
        map->keys[slot] = key;
        map->values[slot] = 0;
        map->count++;
        if (added) {
            *added = true;
        }
    }
    return &map->values[slot];
}

bool stn_map_next(const stn_map *map, size_t *at, uint64_t *key, uint64_t *value) {
    while (*at < map->slot_count) {
        size_t slot = (*at)++;
        if (map->used[slot]) {
            *key = map->keys[slot];
            *value = map->values[slot];
            return true;
        }
    }
    return false;
}

void stn_map_clear(stn_map *map) {
    if (map->slot_count) {
        memset(map->used, 0, map->slot_count);
    }
    map->count = 0;
}

void stn_map_fini(stn_map *map) {
    stn_free(map->keys);
    stn_free(map->values);
    stn_free(map->used);
    *map = (stn_map){0};
}
