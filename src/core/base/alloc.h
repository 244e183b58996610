/** @file
 *  Allocation with fault injection. Every allocation of the library goes through here,
 *  so that a test can fail the first, second, third … and expect a clean ::STN_ENOMEM.
 *  Pinned by tests/unit/test_core_base.c. */
#ifndef STN_CORE_BASE_ALLOC_H
#define STN_CORE_BASE_ALLOC_H

#include <standin/base.h>

/** As malloc, calloc, realloc; NULL if out of memory. @p size 0 is treated as 1. */
void *stn_malloc(size_t size);
void *stn_calloc(size_t count, size_t size);
void *stn_realloc(void *old, size_t size);
/** Copy of @p size bytes of @p text with a NUL behind; NULL if out of memory. */
char *stn_strndup(const char *text, size_t size);
char *stn_strdup(const char *text);
/** Legal on NULL. */
void stn_free(void *memory);

/** Grow the array that @p array points to (a T **) so that @p need items fit (doubling).
 *  @return STN_OK; STN_ENOMEM (array and capacity unchanged) */
stn_status stn_grow(void *array, size_t *capacity, size_t need, size_t item_size) STN_MUST_USE;

/** Make allocation number @p nth from now fail (1: the next), 0: none. Tests only. */
void stn_alloc_fail_at(uint64_t nth);
/** Allocations since the start of this thread. Tests only. */
uint64_t stn_alloc_count(void);

#endif
