#include "core/base/intern.h"

#include <string.h>

#include "core/base/alloc.h"

uint64_t stn_hash_bytes(const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ size;
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = stn_hash_u64(hash ^ word) + 0x9e3779b97f4a7c15u;
        p += 8;
        size -= 8;
    }
    uint64_t tail = 0;
    memcpy(&tail, p, size);
    return stn_hash_u64(hash ^ tail);
}

/* Slot of the text, or the empty slot where it belongs. */
static size_t intern_slot(const stn_intern *intern, uint64_t hash, const char *text, size_t size) {
    size_t mask = intern->slot_count - 1;
    size_t slot = (size_t)hash & mask;
    while (intern->slots[slot]) {
        uint32_t id = intern->slots[slot] - 1;
        const char *have = intern->texts[id];
        if (intern->hashes[id] == hash && strncmp(have, text, size) == 0 && have[size] == '\0') {
            break;
        }
        slot = (slot + 1) & mask;
    }
    return slot;
}

static stn_status intern_rehash(stn_intern *intern) {
    if ((intern->count + 1) * 2 <= intern->slot_count) {
        return STN_OK;
    }
    size_t slot_count = intern->slot_count ? intern->slot_count * 2 : 64;
    uint32_t *slots = stn_calloc(slot_count, sizeof *slots);
    if (!slots) {
        return STN_ENOMEM;
    }
    for (size_t id = 0; id < intern->count; id++) {
        size_t slot = (size_t)intern->hashes[id] & (slot_count - 1);
        while (slots[slot]) {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = (uint32_t)id + 1;
    }
    stn_free(intern->slots);
    intern->slots = slots;
    intern->slot_count = slot_count;
    return STN_OK;
}

uint32_t stn_intern_find(const stn_intern *intern, const char *text, size_t size) {
    if (!intern->slot_count) {
        return STN_INTERN_NONE;
    }
    size_t slot = intern_slot(intern, stn_hash_bytes(text, size), text, size);
    return intern->slots[slot] ? intern->slots[slot] - 1 : STN_INTERN_NONE;
}

uint32_t stn_intern_add(stn_intern *intern, const char *text, size_t size) {
    uint64_t hash = stn_hash_bytes(text, size);
    if (intern_rehash(intern) ||
        stn_grow(&intern->texts, &intern->capacity, intern->count + 1, sizeof *intern->texts) ||
        stn_grow(&intern->hashes, &intern->hash_capacity, intern->count + 1,
                 sizeof *intern->hashes)) {
        return STN_INTERN_NONE;
    }
    size_t slot = intern_slot(intern, hash, text, size);
    if (intern->slots[slot]) {
        return intern->slots[slot] - 1;
    }
    const char *copy = stn_arena_text(&intern->arena, text, size);
    if (!copy || intern->count >= STN_INTERN_NONE - 1) {
        return STN_INTERN_NONE;
    }
    intern->texts[intern->count] = copy;
    intern->hashes[intern->count] = hash;
    intern->slots[slot] = (uint32_t)++intern->count;
    return (uint32_t)intern->count - 1;
}

void stn_intern_fini(stn_intern *intern) {
    stn_arena_fini(&intern->arena);
    stn_free(intern->texts);
    stn_free(intern->hashes);
    stn_free(intern->slots);
    *intern = (stn_intern){0};
}
