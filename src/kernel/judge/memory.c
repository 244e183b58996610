/* Verbatim windows by a rolling polynomial hash modulo 2^64 of mixed symbols (the map mixes the
 * result again); edit distance by bit-parallel dynamic programming (Myers, J. ACM 46(3) 1999,
 * in Hyyro's form for whole strings): 64 events are the 64 rows of one column in two words. */
#include "kernel/judge/memory.h"

#include "core/base/alloc.h"
#include "core/base/intern.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define WINDOW        ((size_t)STN_MEMORY_WINDOW)
#define BASE          0x9e3779b97f4a7c15u /* odd: multiplication loses nothing */
#define QUERY_WINDOWS ((size_t)256)
#define TRAIN_WINDOWS ((size_t)8192)

/* BASE to the power WINDOW: what the symbol that leaves has grown to. */
static uint64_t leaving_factor(void) {
    uint64_t factor = 1;
    for (size_t i = 0; i < WINDOW; i++) {
        factor *= BASE;
    }
    return factor;
}

static uint64_t mixed(uint32_t symbol) {
    return stn_hash_u64((uint64_t)symbol + 1);
}

/* Hash of the window that ends with event @p t; @p hash is that of the one before. */
static uint64_t roll(uint64_t hash, const stn_view *view, size_t begin, size_t t, uint64_t factor) {
    hash = hash * BASE + mixed(view->symbol[t]);
    return t - begin >= WINDOW ? hash - mixed(view->symbol[t - WINDOW]) * factor : hash;
}

stn_status stn_memory_make(stn_memory *memory, const stn_view *train, const stn_work *work,
                           stn_err *err) {
    memory->train = train;
    uint64_t factor = leaving_factor();
    for (size_t s = 0; s < train->segment_count; s++) {
        size_t begin = train->segment[s];
        uint64_t hash = 0;
        for (size_t t = begin; t < train->segment[s + 1]; t++) {
            hash = roll(hash, train, begin, t, factor);
            if (t - begin + 1 < WINDOW) {
                continue;
            }
            bool added;
            uint64_t *position = stn_map_put(&memory->windows, hash, &added);
            if (!position) {
                return stn_err_set(err, STN_ENOMEM, "out of memory for %zu windows", train->count);
            }
            *position = added ? t + 1 - WINDOW : *position;
            if (t % STN_WORK_STRIDE == 0 && stn_work_poll(work, err)) {
                return STN_EINTR;
            }
        }
    }
    return STN_OK;
}

void stn_memory_fini(stn_memory *memory) {
    stn_map_fini(&memory->windows);
    memset(memory, 0, sizeof *memory);
}

static bool known(const stn_memory *memory, uint64_t hash, const uint32_t *window) {
    const uint64_t *position = stn_map_get(&memory->windows, hash);
    return position && !memcmp(memory->train->symbol + *position, window, WINDOW * sizeof *window);
}

double stn_memory_verbatim(const stn_memory *memory, const stn_view *view) {
    uint64_t factor = leaving_factor();
    uint64_t windows = 0;
    uint64_t hits = 0;
    for (size_t s = 0; s < view->segment_count; s++) {
        size_t begin = view->segment[s];
        uint64_t hash = 0;
        for (size_t t = begin; t < view->segment[s + 1]; t++) {
            hash = roll(hash, view, begin, t, factor);
            if (t - begin + 1 >= WINDOW) {
                windows++;
                hits += known(memory, hash, view->symbol + t + 1 - WINDOW);
            }
        }
    }
    return windows ? (double)hits / (double)windows : NAN;
}

/* Rows of the table where each symbol of @p window stands. */
static void mark_places(const uint32_t *window, uint64_t *places) {
    for (size_t i = 0; i < WINDOW; i++) {
        places[window[i]] |= (uint64_t)1 << i;
    }
}

static void clear_places(const uint32_t *window, uint64_t *places) {
    for (size_t i = 0; i < WINDOW; i++) {
        places[window[i]] = 0;
    }
}

/* One column of the table per event of @p text; the words say where a step down the column
 * is +1 (up) or -1 (down). */
static uint32_t edits_to(const uint64_t *places, const uint32_t *text) {
    uint64_t up = UINT64_MAX;
    uint64_t down = 0;
    uint32_t distance = STN_MEMORY_WINDOW;
    for (size_t j = 0; j < WINDOW; j++) {
        uint64_t equal = places[text[j]];
        uint64_t vertical = equal | down;
        uint64_t diagonal = (((equal & up) + up) ^ up) | equal;
        uint64_t right_up = down | ~(diagonal | up);
        uint64_t right_down = up & diagonal;
        distance += (uint32_t)(right_up >> 63);
        distance -= (uint32_t)(right_down >> 63);
        right_up = right_up << 1 | 1;
        right_down <<= 1;
        up = right_down | ~(vertical | right_up);
        down = right_up & vertical;
    }
    return distance;
}

uint32_t stn_memory_edits(const uint32_t *a, const uint32_t *b, uint64_t *places) {
    mark_places(a, places);
    uint32_t distance = edits_to(places, b);
    clear_places(a, places);
    return distance;
}

static uint64_t hash_of(const uint32_t *window) {
    uint64_t hash = 0;
    for (size_t i = 0; i < WINDOW; i++) {
        hash = hash * BASE + mixed(window[i]);
    }
    return hash;
}

/* Edits from @p window to the nearest of @p starts [count], fewer if it is known as it is. */
static uint32_t nearest(const stn_memory *memory, const uint32_t *window, uint64_t *places,
                        const size_t *starts, size_t count) {
    if (known(memory, hash_of(window), window)) {
        return 0;
    }
    uint32_t best = STN_MEMORY_WINDOW;
    mark_places(window, places);
    for (size_t i = 0; i < count; i++) {
        uint32_t distance = edits_to(places, memory->train->symbol + starts[i]);
        best = distance < best ? distance : best;
    }
    clear_places(window, places);
    return best;
}

stn_status stn_memory_nearest(const stn_memory *memory, const stn_view *view, uint32_t symbol_count,
                              double phase, double *mean, const stn_work *work, stn_err *err) {
    assert(phase >= 0 && phase < 1);
    size_t query[QUERY_WINDOWS];
    size_t queries = stn_view_spread(view, WINDOW, QUERY_WINDOWS, phase, query);
    uint64_t *places = stn_calloc(symbol_count, sizeof *places);
    size_t *starts = stn_malloc(TRAIN_WINDOWS * sizeof *starts);
    stn_status status = STN_OK;
    if (!places || !starts) {
        status = stn_err_set(err, STN_ENOMEM, "out of memory for %zu windows", TRAIN_WINDOWS);
    } else {
        size_t count = stn_view_spread(memory->train, WINDOW, TRAIN_WINDOWS, 0, starts);
        double sum = 0;
        for (size_t i = 0; i < queries && !status; i++) {
            sum += nearest(memory, view->symbol + query[i], places, starts, count);
            status = stn_work_poll(work, err);
        }
        *mean = queries && count ? sum / (double)queries : NAN;
    }
    stn_free(places);
    stn_free(starts);
    return status;
}
