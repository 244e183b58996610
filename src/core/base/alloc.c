#include "core/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Per thread: a test that injects faults must not disturb another thread's work. */
static _Thread_local uint64_t alloc_count;
static _Thread_local uint64_t alloc_fail_at;

static bool alloc_fails(void) {
    alloc_count++;
    return alloc_fail_at && --alloc_fail_at == 0;
}

void *stn_malloc(size_t size) {
    return alloc_fails() ? NULL : malloc(size ? size : 1);
}

void *stn_calloc(size_t count, size_t size) {
    return alloc_fails() ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void *stn_realloc(void *old, size_t size) {
    return alloc_fails() ? NULL : realloc(old, size ? size : 1);
}

char *stn_strndup(const char *text, size_t size) {
    char *copy = stn_malloc(size + 1);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *stn_strdup(const char *text) {
    return stn_strndup(text, strlen(text));
}

void stn_free(void *memory) {
    free(memory);
}

stn_status stn_grow(void *array, size_t *capacity, size_t need, size_t item_size) {
    if (need <= *capacity) {
        return STN_OK;
    }
    size_t wanted = *capacity ? *capacity : 16;
    while (wanted < need) {
        if (wanted > SIZE_MAX / 2) {
            return STN_ENOMEM;
        }
        wanted *= 2;
    }
    if (item_size && wanted > SIZE_MAX / item_size) {
        return STN_ENOMEM;
    }
    void *old;
    memcpy(&old, array, sizeof old); /* a void ** would alias the caller's T ** */
    void *grown = stn_realloc(old, wanted * item_size);
    if (!grown) {
        return STN_ENOMEM;
    }
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return STN_OK;
}

void stn_alloc_fail_at(uint64_t nth) {
    alloc_fail_at = nth;
}

uint64_t stn_alloc_count(void) {
    return alloc_count;
}
