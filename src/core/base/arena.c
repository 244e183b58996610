#include "core/base/arena.h"

#include <string.h>

#include "core/base/alloc.h"

#define ARENA_BLOCK_SIZE ((size_t)256 << 10)
#define ARENA_ALIGN      ((size_t)16)

struct stn_arena_block {
    stn_arena_block *older;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

static stn_arena_block *arena_block_new(stn_arena *arena, size_t need) {
    size_t size = need > ARENA_BLOCK_SIZE ? need : ARENA_BLOCK_SIZE;
    stn_arena_block *block = stn_malloc(sizeof *block + size);
    if (!block) {
        return NULL;
    }
    block->older = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->used = 0;
    return block;
}

void *stn_arena_alloc(stn_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size_t need = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    stn_arena_block *block = arena->blocks;
    if (!block || block->size - arena->used < need) {
        block = arena_block_new(arena, need);
        if (!block) {
            return NULL;
        }
    }
    void *memory = block->bytes + arena->used;
    arena->used += need;
    return memory;
}

char *stn_arena_text(stn_arena *arena, const char *text, size_t size) {
    char *copy = stn_arena_alloc(arena, size + 1);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static void arena_free_from(stn_arena_block *block) {
    while (block) {
        stn_arena_block *older = block->older;
        stn_free(block);
        block = older;
    }
}

void stn_arena_reset(stn_arena *arena) {
    if (arena->blocks) {
        arena_free_from(arena->blocks->older);
        arena->blocks->older = NULL;
    }
    arena->used = 0;
}

void stn_arena_fini(stn_arena *arena) {
    arena_free_from(arena->blocks);
    *arena = (stn_arena){0};
}
