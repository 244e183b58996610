#include "kernel/synth/sleeps.h"

#include <stdlib.h>

#include "core/base/alloc.h"

enum { FEW_CASES = 32, ROW_BYTES = 8 + 8 * STN_SLEEP_POINTS };
static const double first_quantile = 0.9;

/* ---- learning ---------------------------------------------------------------------- */

stn_status stn_sleeps_add(stn_sleeps_builder *builder, uint64_t kin, uint64_t slept_ns) {
    if (stn_grow(&builder->cases, &builder->capacity, builder->count + 1, sizeof *builder->cases) !=
        STN_OK) {
        return STN_ENOMEM;
    }
    builder->cases[builder->count++] = (stn_sleep_case){kin, slept_ns};
    return STN_OK;
}

static int by_kin(const void *a, const void *b) {
    const stn_sleep_case *x = a, *y = b;
    if (x->kin != y->kin) {
        return x->kin < y->kin ? -1 : 1;
    }
    return x->slept_ns < y->slept_ns ? -1 : x->slept_ns > y->slept_ns;
}

static stn_status index_row(stn_sleeps *sleeps, uint32_t row) {
    uint64_t *entry = stn_map_put(&sleeps->by_kin, sleeps->rows[row].kin, NULL);
    if (!entry) {
        return STN_ENOMEM;
    }
    *entry = row + 1;
    return STN_OK;
}

stn_status stn_sleeps_build(stn_sleeps *out, stn_sleeps_builder *builder) {
    size_t end, count = builder->count;
    stn_status status = STN_OK;
    for (size_t i = 0; i < count && status == STN_OK; i++) {
        status = stn_sleeps_add(builder, STN_KIN_ANY, builder->cases[i].slept_ns);
    }
    *out = (stn_sleeps){.rows = stn_malloc((builder->count + 1) * sizeof *out->rows)};
    status = status == STN_OK && out->rows ? STN_OK : STN_ENOMEM;
    if (builder->count > 0) {
        qsort(builder->cases, builder->count, sizeof *builder->cases, by_kin);
    }
    for (size_t i = 0; i < builder->count && status == STN_OK; i = end) {
        end = i + 1;
        while (end < builder->count && builder->cases[end].kin == builder->cases[i].kin) {
            end++;
        }
        stn_sleep *row = &out->rows[out->count];
        row->kin = builder->cases[i].kin;
        for (int p = 0; p < STN_SLEEP_POINTS; p++) {
            double share =
                first_quantile + (1 - first_quantile) * (double)p / (STN_SLEEP_POINTS - 1);
            share = end - i < FEW_CASES ? 1 : share;
            row->longest_ns[p] =
                builder->cases[i + (size_t)(share * (double)(end - i - 1))].slept_ns;
        }
        status = index_row(out, out->count++);
    }
    if (status != STN_OK) {
        stn_sleeps_fini(out);
    }
    return status;
}

void stn_sleeps_builder_fini(stn_sleeps_builder *builder) {
    stn_free(builder->cases);
    *builder = (stn_sleeps_builder){0};
}

void stn_sleeps_fini(stn_sleeps *sleeps) {
    stn_free(sleeps->rows);
    stn_map_fini(&sleeps->by_kin);
    *sleeps = (stn_sleeps){0};
}

uint64_t stn_sleeps_draw(const stn_sleeps *sleeps, uint64_t kin, stn_rng *rng) {
    const uint64_t *entry = stn_map_get(&sleeps->by_kin, kin);
    if (!entry) {
        return UINT64_MAX;
    }
    const stn_sleep *row = &sleeps->rows[*entry - 1];
    uint64_t below = stn_rng_below(rng, STN_SLEEP_POINTS - 1);
    double part = stn_rng_double(rng);
    uint64_t low = row->longest_ns[below], high = row->longest_ns[below + 1];
    return low + (uint64_t)(part * (double)(high - low)) + 1;
}

/* ---- files --------------------------------------------------------------------------- */

void stn_sleeps_put(const stn_sleeps *sleeps, stn_blob *blob) {
    stn_blob_u32(blob, sleeps->count);
    for (uint32_t i = 0; i < sleeps->count; i++) {
        stn_blob_u64(blob, sleeps->rows[i].kin);
        for (int p = 0; p < STN_SLEEP_POINTS; p++) {
            stn_blob_u64(blob, sleeps->rows[i].longest_ns[p]);
        }
    }
}

stn_status stn_sleeps_get(stn_sleeps *sleeps, stn_cursor *cursor) {
    uint32_t count = stn_cursor_count(cursor, ROW_BYTES);
    *sleeps = (stn_sleeps){.rows = stn_malloc((count + 1u) * sizeof *sleeps->rows)};
    stn_status status = sleeps->rows ? STN_OK : STN_ENOMEM;
    for (uint32_t i = 0; i < count && status == STN_OK; i++) {
        stn_sleep *row = &sleeps->rows[sleeps->count++];
        row->kin = stn_cursor_u64(cursor);
        uint64_t before = 0;
        for (int p = 0; p < STN_SLEEP_POINTS && status == STN_OK; p++) {
            row->longest_ns[p] = stn_cursor_u64(cursor);
            status = row->longest_ns[p] < before || row->longest_ns[p] > INT64_MAX ? STN_EFORMAT
                                                                                   : STN_OK;
            before = row->longest_ns[p];
        }
        status = status == STN_OK ? index_row(sleeps, i) : status;
    }
    if (status == STN_OK && cursor->failed) {
        status = STN_EFORMAT;
    }
    if (status != STN_OK) {
        stn_sleeps_fini(sleeps);
    }
    return status;
}

/* ---- alarms ------------------------------------------------------------------------------ */

static bool before(const stn_alarm *a, const stn_alarm *b) {
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->what < b->what;
}

stn_status stn_alarms_add(stn_alarms *alarms, uint64_t due_ns, uint64_t what) {
    if (stn_grow(&alarms->heap, &alarms->capacity, alarms->count + 1, sizeof *alarms->heap) !=
        STN_OK) {
        return STN_ENOMEM;
    }
    stn_alarm added = {due_ns, what};
    size_t at = alarms->count++;
    while (at > 0 && before(&added, &alarms->heap[(at - 1) / 2])) {
        alarms->heap[at] = alarms->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    alarms->heap[at] = added;
    return STN_OK;
}

stn_alarm stn_alarms_take(stn_alarms *alarms) {
    stn_alarm first = alarms->heap[0], last = alarms->heap[--alarms->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < alarms->count) {
        child +=
            child + 1 < alarms->count && before(&alarms->heap[child + 1], &alarms->heap[child]);
        if (!before(&alarms->heap[child], &last)) {
            break;
        }
        alarms->heap[at] = alarms->heap[child];
        at = child;
    }
    alarms->heap[at] = last;
    return first;
}

void stn_alarms_fini(stn_alarms *alarms) {
    stn_free(alarms->heap);
    *alarms = (stn_alarms){0};
}
