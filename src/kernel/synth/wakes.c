#include "kernel/synth/wakes.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "kernel/synth/chain.h"

enum { ROW_BYTES = 8 + 4 + 4 };

stn_status stn_wakes_add(stn_wakes_builder *builder, uint64_t place, uint64_t kin) {
    uint64_t *entry = stn_map_put(&builder->seen, stn_chain_mix(place, kin), NULL);
    if (!entry) {
        return STN_ENOMEM;
    }
    if (*entry == 0) {
        if (stn_grow(&builder->cases, &builder->capacity, builder->count + 1,
                     sizeof *builder->cases) != STN_OK) {
            return STN_ENOMEM;
        }
        builder->cases[builder->count++] = (stn_wake_case){place, kin, 0};
        *entry = builder->count;
    }
    builder->cases[*entry - 1].count++;
    return STN_OK;
}

void stn_wakes_builder_fini(stn_wakes_builder *builder) {
    stn_map_fini(&builder->seen);
    stn_free(builder->cases);
    *builder = (stn_wakes_builder){0};
}

void stn_wakes_fini(stn_wakes *wakes) {
    stn_free(wakes->rows);
    stn_free(wakes->kins);
    stn_map_fini(&wakes->by_place);
    stn_map_fini(&wakes->by_kin);
    *wakes = (stn_wakes){0};
}

static int by_place(const void *a, const void *b) {
    const stn_wake_case *x = a, *y = b;
    if (x->place != y->place) {
        return x->place < y->place ? -1 : 1;
    }
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return x->kin < y->kin ? -1 : x->kin > y->kin;
}

/* Number of a kin, a new one if need be; STN_KIN_NONE: out of memory. */
static uint32_t number_of(stn_wakes *wakes, uint64_t kin) {
    uint64_t *entry = stn_map_put(&wakes->by_kin, kin, NULL);
    if (!entry) {
        return STN_KIN_NONE;
    }
    if (*entry == 0) {
        wakes->kins[wakes->kin_count++] = kin;
        *entry = wakes->kin_count;
    }
    return (uint32_t)(*entry - 1);
}

/* One row of the cases [begin, end), which share a place, most frequent first. */
static stn_status add_row(stn_wakes *wakes, const stn_wake_case *begin, const stn_wake_case *end) {
    uint64_t total = 0;
    for (const stn_wake_case *at = begin; at < end; at++) {
        total += at->count;
    }
    stn_wake *row = &wakes->rows[wakes->row_count++];
    *row = (stn_wake){.place = begin->place};
    for (const stn_wake_case *at = begin; at < end && row->count < STN_WAKE_TARGETS; at++) {
        if ((uint64_t)at->count * STN_WAKE_SHARE >= total) {
            uint32_t kin = number_of(wakes, at->kin);
            if (kin == STN_KIN_NONE) {
                return STN_ENOMEM;
            }
            row->kin[row->count++] = kin;
        }
    }
    uint64_t *entry = stn_map_put(&wakes->by_place, row->place, NULL);
    if (!entry) {
        return STN_ENOMEM;
    }
    *entry = wakes->row_count;
    return STN_OK;
}

stn_status stn_wakes_build(stn_wakes *out, stn_wakes_builder *builder) {
    size_t room = builder->count > 0 ? builder->count : 1, end;
    *out = (stn_wakes){.rows = stn_malloc(room * sizeof *out->rows),
                       .kins = stn_malloc(room * sizeof *out->kins)};
    stn_status status = out->rows && out->kins ? STN_OK : STN_ENOMEM;
    if (builder->count > 0) {
        qsort(builder->cases, builder->count, sizeof *builder->cases, by_place);
    }
    for (size_t i = 0; i < builder->count && status == STN_OK; i = end) {
        end = i + 1;
        while (end < builder->count && builder->cases[end].place == builder->cases[i].place) {
            end++;
        }
        status = add_row(out, builder->cases + i, builder->cases + end);
    }
    if (status != STN_OK) {
        stn_wakes_fini(out);
    }
    return status;
}

const stn_wake *stn_wakes_of(const stn_wakes *wakes, uint64_t place) {
    const uint64_t *entry = stn_map_get(&wakes->by_place, place);
    return entry ? &wakes->rows[*entry - 1] : NULL;
}

uint32_t stn_wakes_kin(const stn_wakes *wakes, uint64_t kin) {
    const uint64_t *entry = stn_map_get(&wakes->by_kin, kin);
    return entry ? (uint32_t)(*entry - 1) : STN_KIN_NONE;
}

void stn_wakes_put(const stn_wakes *wakes, stn_blob *blob) {
    stn_blob_u32(blob, wakes->kin_count);
    for (uint32_t i = 0; i < wakes->kin_count; i++) {
        stn_blob_u64(blob, wakes->kins[i]);
    }
    stn_blob_u32(blob, wakes->row_count);
    for (uint32_t i = 0; i < wakes->row_count; i++) {
        stn_blob_u64(blob, wakes->rows[i].place);
        stn_blob_u32(blob, wakes->rows[i].count);
        for (uint32_t j = 0; j < wakes->rows[i].count; j++) {
            stn_blob_u32(blob, wakes->rows[i].kin[j]);
        }
    }
}

static stn_status get_row(stn_wakes *wakes, stn_cursor *cursor, uint32_t number) {
    stn_wake *row = &wakes->rows[number];
    *row = (stn_wake){.place = stn_cursor_u64(cursor)};
    row->count = stn_cursor_u32(cursor);
    if (cursor->failed || row->count == 0 || row->count > STN_WAKE_TARGETS) {
        return STN_EFORMAT;
    }
    for (uint32_t j = 0; j < row->count; j++) {
        row->kin[j] = stn_cursor_u32(cursor);
        if (row->kin[j] >= wakes->kin_count) {
            return STN_EFORMAT;
        }
    }
    uint64_t *entry = stn_map_put(&wakes->by_place, row->place, NULL);
    if (entry) {
        *entry = number + 1;
    }
    return entry ? STN_OK : STN_ENOMEM;
}

stn_status stn_wakes_get(stn_wakes *wakes, stn_cursor *cursor) {
    uint32_t kins = stn_cursor_count(cursor, 8);
    *wakes = (stn_wakes){.kins = stn_malloc((kins > 0 ? kins : 1) * sizeof *wakes->kins)};
    stn_status status = wakes->kins ? STN_OK : STN_ENOMEM;
    for (uint32_t i = 0; i < kins && status == STN_OK; i++) {
        uint32_t number = number_of(wakes, stn_cursor_u64(cursor));
        status = number == i ? STN_OK : number == STN_KIN_NONE ? STN_ENOMEM : STN_EFORMAT;
    }
    uint32_t rows = stn_cursor_count(cursor, ROW_BYTES);
    if (status == STN_OK) {
        wakes->rows = stn_malloc((rows > 0 ? rows : 1) * sizeof *wakes->rows);
        status = wakes->rows ? STN_OK : STN_ENOMEM;
    }
    for (uint32_t i = 0; i < rows && status == STN_OK; i++) {
        status = get_row(wakes, cursor, i);
        wakes->row_count += status == STN_OK;
    }
    if (status == STN_OK && cursor->failed) {
        status = STN_EFORMAT;
    }
    if (status != STN_OK) {
        stn_wakes_fini(wakes);
    }
    return status;
}
