/** @file
 *  Bump allocation for a phase: nothing is freed singly. Pinned by tests/unit/test_core_base.c. */
#ifndef STN_CORE_BASE_ARENA_H
#define STN_CORE_BASE_ARENA_H

#include <standin/base.h>

typedef struct stn_arena_block stn_arena_block;

/** Zero-initialise, then use. Owns all it hands out until fini or reset. */
typedef struct stn_arena {
    stn_arena_block *blocks; /**< newest first */
    size_t used;             /**< bytes used in the newest block */
} stn_arena;

/** @p size bytes aligned to 16, not cleared; NULL if out of memory. */
void *stn_arena_alloc(stn_arena *arena, size_t size);
/** Copy of @p size bytes with a NUL behind; NULL if out of memory. */
char *stn_arena_text(stn_arena *arena, const char *text, size_t size);
/** Forget all contents but keep the newest block for reuse. */
void stn_arena_reset(stn_arena *arena);
void stn_arena_fini(stn_arena *arena);

#endif
