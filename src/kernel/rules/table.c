/* Keys to slots: an array for small one-part keys (threads, CPUs), open addressing for the
 * rest. The index keeps 32 bits of each hash, so that most misses touch no slot. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/checker.h"

/* Slots of one table in bytes: 24 MB and 2 MB more for each rule that shares it, so that the
 * dozen tables of the built-in rules stay below 400 MB with their indices. */
#define TABLE_BYTES_MAX      ((size_t)24 << 20)
#define TABLE_BYTES_PER_CELL ((size_t)2 << 20)

stn_status stn_table_init(stn_table *table, uint32_t part_count, uint32_t cell_count) {
    *table = (stn_table){.part_count = part_count, .cell_count = cell_count};
    table->slot_size = sizeof(stn_slot) + cell_count * sizeof(stn_cell);
    table->slots_max =
        (uint32_t)((TABLE_BYTES_MAX + cell_count * TABLE_BYTES_PER_CELL) / table->slot_size);
    table->sweep_at = 1024;
    table->index_count = 64;
    table->index = stn_calloc(table->index_count, sizeof *table->index);
    return table->index ? STN_OK : STN_ENOMEM;
}

void stn_table_fini(stn_table *table) {
    for (size_t i = 0; i < table->chunk_count; i++) {
        stn_free(table->chunks[i]);
    }
    stn_free(table->chunks);
    stn_free(table->direct);
    stn_free(table->index);
    *table = (stn_table){0};
}

void stn_table_clear(stn_table *table) {
    table->slot_count = table->used_count = table->indexed = table->free_head = 0;
    table->forgot = false;
    if (table->direct_count) {
        memset(table->direct, 0, table->direct_count * sizeof *table->direct);
    }
    memset(table->index, 0, table->index_count * sizeof *table->index);
}

static bool is_direct(const stn_table *table, const int64_t *key) {
    return table->part_count <= 1 && key[0] >= 0 && key[0] < STN_DIRECT_MAX;
}

static uint64_t hash_key(const stn_table *table, const int64_t *key) {
    uint64_t hash = (uint64_t)key[0];
    for (uint32_t i = 1; i < table->part_count; i++) {
        hash = stn_hash_u64(hash + 0x9e3779b97f4a7c15u) ^ (uint64_t)key[i];
    }
    return stn_hash_u64(hash + 0x9e3779b97f4a7c15u);
}

static bool same_key(const stn_table *table, const stn_slot *slot, const int64_t *key) {
    for (uint32_t i = 0; i < table->part_count; i++) {
        if (slot->key[i] != key[i]) {
            return false;
        }
    }
    return true;
}

/* Place in the index where @key stands or would stand. */
static size_t index_place(const stn_table *table, const int64_t *key, uint64_t hash) {
    size_t mask = table->index_count - 1;
    size_t at = (size_t)hash & mask;
    for (; table->index[at]; at = (at + 1) & mask) {
        uint64_t entry = table->index[at];
        if (entry >> 32 == hash >> 32 &&
            same_key(table, stn_table_at(table, (uint32_t)entry - 1), key)) {
            break;
        }
    }
    return at;
}

uint32_t stn_table_find(const stn_table *table, const int64_t *key) {
    if (is_direct(table, key)) {
        size_t at = (size_t)key[0];
        return at < table->direct_count ? table->direct[at] - 1 : UINT32_MAX;
    }
    return (uint32_t)table->index[index_place(table, key, hash_key(table, key))] - 1;
}

/* ---- adding -------------------------------------------------------------------- */

static stn_status add_chunk(stn_table *table) {
    if (stn_grow(&table->chunks, &table->chunk_capacity, table->chunk_count + 1,
                 sizeof *table->chunks)) {
        return STN_ENOMEM;
    }
    unsigned char *chunk = stn_malloc(STN_SLOT_CHUNK * table->slot_size);
    if (!chunk) {
        return STN_ENOMEM;
    }
    table->chunks[table->chunk_count++] = chunk;
    return STN_OK;
}

static uint32_t take_slot(stn_table *table, const int64_t *key) {
    uint32_t at;
    if (table->free_head) {
        at = table->free_head - 1;
        table->free_head = stn_table_at(table, at)->next;
    } else {
        if (table->slot_count == table->chunk_count * STN_SLOT_CHUNK && add_chunk(table)) {
            return UINT32_MAX;
        }
        at = table->slot_count++;
    }
    stn_slot *slot = stn_table_at(table, at);
    memset(slot, 0, table->slot_size);
    slot->used = 1;
    memcpy(slot->key, key, STN_KEY_PARTS * sizeof *key);
    table->used_count++;
    return at;
}

static stn_status grow_direct(stn_table *table, size_t need) {
    size_t count = table->direct_count ? table->direct_count : 256;
    while (count < need) {
        count *= 2;
    }
    uint32_t *grown = stn_realloc(table->direct, count * sizeof *grown);
    if (!grown) {
        return STN_ENOMEM;
    }
    memset(grown + table->direct_count, 0, (count - table->direct_count) * sizeof *grown);
    table->direct = grown;
    table->direct_count = count;
    return STN_OK;
}

static void index_slot(stn_table *table, uint32_t at) {
    const stn_slot *slot = stn_table_at(table, at);
    uint64_t hash = hash_key(table, slot->key);
    table->index[index_place(table, slot->key, hash)] = (hash >> 32 << 32) | (at + 1);
}

/* All slots into the index again, which has just been cleared. */
static void index_all(stn_table *table) {
    table->indexed = 0;
    for (uint32_t i = 0; i < table->slot_count; i++) {
        const stn_slot *slot = stn_table_at(table, i);
        if (slot->used && !is_direct(table, slot->key)) {
            index_slot(table, i);
            table->indexed++;
        }
    }
}

static stn_status grow_index(stn_table *table) {
    uint64_t *grown = stn_calloc(table->index_count * 2, sizeof *grown);
    if (!grown) {
        return STN_ENOMEM;
    }
    stn_free(table->index);
    table->index = grown;
    table->index_count *= 2;
    index_all(table);
    return STN_OK;
}

uint32_t stn_table_put(stn_table *table, const int64_t *key) {
    uint32_t at = stn_table_find(table, key);
    if (at != UINT32_MAX) {
        return at;
    }
    if (is_direct(table, key)) {
        size_t place = (size_t)key[0];
        if (place >= table->direct_count && grow_direct(table, place + 1)) {
            return UINT32_MAX;
        }
        at = take_slot(table, key);
        if (at != UINT32_MAX) {
            table->direct[place] = at + 1;
        }
        return at;
    }
    if (((size_t)table->indexed + 1) * 2 > table->index_count && grow_index(table)) {
        return UINT32_MAX;
    }
    at = take_slot(table, key);
    if (at != UINT32_MAX) {
        index_slot(table, at);
        table->indexed++;
    }
    return at;
}

/* ---- forgetting ------------------------------------------------------------------- */

void stn_table_sweep(stn_table *table, bool (*dead)(void *user, const stn_slot *slot, uint32_t at),
                     void *user) {
    for (uint32_t i = 0; i < table->slot_count; i++) {
        stn_slot *slot = stn_table_at(table, i);
        if (!slot->used || !dead(user, slot, i)) {
            continue;
        }
        if (is_direct(table, slot->key)) {
            table->direct[slot->key[0]] = 0;
        }
        slot->used = 0;
        slot->next = table->free_head;
        table->free_head = i + 1;
        table->used_count--;
    }
    memset(table->index, 0, table->index_count * sizeof *table->index);
    index_all(table);
}
