#include "kernel/synth/dues.h"

#include <stdlib.h>

#include "core/base/alloc.h"

enum {
    CASES_MIN = 16,
    LATE_MAX_NS = 1000000, /* later than that, it came for something else */
    USUAL_LATE_NS = 200000,
    ROW_BYTES = 2 + 2 + 8 * STN_DUE_POINTS,
};
static const double punctual_min = 0.8, driven_min = 0.9;

/* ---- learning ---------------------------------------------------------------------- */

static stn_status begin(stn_dues_builder *builder, const stn_world *world) {
    if (builder->open) {
        return STN_OK;
    }
    builder->handlers = stn_calloc(world->vocab->type_count, sizeof *builder->handlers);
    builder->reasons = stn_calloc(world->vocab->type_count, sizeof *builder->reasons);
    builder->open = stn_calloc(world->cpu_count, sizeof *builder->open);
    return builder->handlers && builder->reasons && builder->open ? STN_OK : STN_ENOMEM;
}

/* A timer that the event names, and that was armed: did the handler come for it? */
static stn_status see_timer(stn_dues_builder *builder, const stn_world *world,
                            const stn_draft *draft, const stn_instance *timer) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    bool opens = world->vocab->types[draft->type].frame == STN_FRAME_PUSH;
    if (cpu->depth == 0 && !opens) {
        return STN_OK;
    }
    uint16_t handler = cpu->depth > 0 ? cpu->stack[0] : (uint16_t)draft->type;
    uint64_t since_ns = cpu->depth > 0 ? cpu->opened_ns : draft->time_ns;
    int64_t late_ns = (int64_t)(since_ns - timer->due_ns);
    if (late_ns >= 0 && late_ns < LATE_MAX_NS && !builder->open[draft->cpu]) {
        builder->open[draft->cpu] = 1;
        builder->reasons[handler]++;
    }
    if (stn_grow(&builder->cases, &builder->capacity, builder->count + 1, sizeof *builder->cases) !=
        STN_OK) {
        return STN_ENOMEM;
    }
    builder->cases[builder->count++] = (stn_due_case){timer->last, handler, late_ns};
    return STN_OK;
}

stn_status stn_dues_see(stn_dues_builder *builder, const stn_world *world, const stn_draft *draft,
                        uint32_t current) {
    if (begin(builder, world) != STN_OK) {
        return STN_ENOMEM;
    }
    if (world->cpus[draft->cpu].depth == 0) {
        builder->open[draft->cpu] = 0;
        builder->handlers[draft->type] += world->vocab->types[draft->type].frame == STN_FRAME_PUSH;
    }
    const stn_type_keys *keys = &world->domains->types[draft->type];
    for (uint8_t k = 0; k < keys->count; k++) {
        const stn_type_key *key = &keys->keys[k];
        stn_val parts[STN_KEY_FIELDS];
        for (uint8_t j = 0; j < key->field_count; j++) {
            parts[j] = draft->vals[key->fields[j]];
        }
        uint32_t scope = stn_instance_scope(world, key->domain, draft->cpu, current);
        uint32_t index = stn_instance_find(world, key->domain, scope, parts, key->field_count);
        if (index != STN_WORLD_NONE && world->instances[index].due_ns > 0 &&
            see_timer(builder, world, draft, &world->instances[index]) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    return STN_OK;
}

void stn_dues_builder_fini(stn_dues_builder *builder) {
    stn_free(builder->cases);
    stn_free(builder->handlers);
    stn_free(builder->reasons);
    stn_free(builder->open);
    *builder = (stn_dues_builder){0};
}

static int by_state(const void *a, const void *b) {
    const stn_due_case *x = a, *y = b;
    if (x->after != y->after) {
        return x->after < y->after ? -1 : 1;
    }
    if (x->handler != y->handler) {
        return x->handler < y->handler ? -1 : 1;
    }
    return x->late_ns < y->late_ns ? -1 : x->late_ns > y->late_ns;
}

/* A row of the cases [begin, end) of one type and handler, if that handler is punctual. */
static bool fill_row(stn_due *row, const stn_due_case *begin, const stn_due_case *end) {
    size_t count = (size_t)(end - begin), early = 0, late = 0;
    while (early < count && begin[early].late_ns < 0) {
        early++;
    }
    while (early + late < count && begin[early + late].late_ns < LATE_MAX_NS) {
        late++;
    }
    if (late < CASES_MIN || (double)late < punctual_min * (double)count ||
        begin[early + late / 2].late_ns >= USUAL_LATE_NS) {
        return false;
    }
    *row = (stn_due){.after = begin->after, .handler = begin->handler};
    for (size_t p = 0; p < STN_DUE_POINTS; p++) {
        row->late_ns[p] = (uint64_t)begin[early + (late - 1) * p / (STN_DUE_POINTS - 1)].late_ns;
    }
    return true;
}

static stn_status reserve(stn_dues *out, size_t rows, uint32_t type_count) {
    *out = (stn_dues){.words = (type_count + 63) / 64};
    out->rows = stn_malloc((rows + 1) * sizeof *out->rows);
    out->driven = stn_calloc(out->words, sizeof *out->driven);
    if (!out->rows || !out->driven) {
        stn_dues_fini(out);
        return STN_ENOMEM;
    }
    return STN_OK;
}

/* Of the handlers of one type the one with the most cases; @p end is past the type's. */
static void add_type(stn_dues *out, const stn_dues_builder *builder, size_t begin, size_t end) {
    size_t best = 0, next;
    for (size_t i = begin; i < end; i = next) {
        next = i + 1;
        while (next < end && builder->cases[next].handler == builder->cases[i].handler) {
            next++;
        }
        if (next - i > best &&
            fill_row(&out->rows[out->count], &builder->cases[i], builder->cases + next)) {
            best = next - i;
        }
    }
    out->count += best > 0;
}

stn_status stn_dues_build(stn_dues *out, stn_dues_builder *builder, uint32_t type_count) {
    size_t end;
    if (reserve(out, builder->count, type_count) != STN_OK) {
        return STN_ENOMEM;
    }
    if (builder->count > 0) {
        qsort(builder->cases, builder->count, sizeof *builder->cases, by_state);
    }
    for (size_t i = 0; i < builder->count; i = end) {
        end = i + 1;
        while (end < builder->count && builder->cases[end].after == builder->cases[i].after) {
            end++;
        }
        add_type(out, builder, i, end);
    }
    for (uint32_t i = 0; i < out->count; i++) {
        uint16_t handler = out->rows[i].handler;
        if (builder->reasons[handler] >= driven_min * builder->handlers[handler]) {
            out->driven[handler / 64] |= UINT64_C(1) << handler % 64;
        }
    }
    return STN_OK;
}

void stn_dues_fini(stn_dues *dues) {
    stn_free(dues->rows);
    stn_free(dues->driven);
    *dues = (stn_dues){0};
}

/* ---- asking ---------------------------------------------------------------------------- */

const stn_due *stn_dues_of(const stn_dues *dues, uint16_t type) {
    for (uint32_t i = 0; i < dues->count; i++) {
        if (dues->rows[i].after == type) {
            return &dues->rows[i];
        }
    }
    return NULL;
}

bool stn_dues_driven(const stn_dues *dues, uint32_t type) {
    return type / 64 < dues->words && (dues->driven[type / 64] >> type % 64 & 1);
}

uint64_t stn_due_draw(const stn_due *due, stn_rng *rng) {
    uint64_t below = stn_rng_below(rng, STN_DUE_POINTS - 1);
    double part = stn_rng_double(rng);
    uint64_t low = due->late_ns[below], high = due->late_ns[below + 1];
    return low + (uint64_t)(part * (double)(high - low));
}

/* ---- files --------------------------------------------------------------------------- */

void stn_dues_put(const stn_dues *dues, stn_blob *blob) {
    stn_blob_u32(blob, dues->count);
    for (uint32_t i = 0; i < dues->count; i++) {
        stn_blob_u16(blob, dues->rows[i].after);
        stn_blob_u16(blob, dues->rows[i].handler);
        for (int p = 0; p < STN_DUE_POINTS; p++) {
            stn_blob_u64(blob, dues->rows[i].late_ns[p]);
        }
    }
    for (uint32_t i = 0; i < dues->words; i++) {
        stn_blob_u64(blob, dues->driven[i]);
    }
}

static bool get_row(stn_due *row, stn_cursor *cursor, uint32_t type_count) {
    *row = (stn_due){.after = stn_cursor_u16(cursor)};
    row->handler = stn_cursor_u16(cursor);
    uint64_t before = 0;
    for (int p = 0; p < STN_DUE_POINTS; p++) {
        row->late_ns[p] = stn_cursor_u64(cursor);
        if (row->late_ns[p] < before || row->late_ns[p] >= LATE_MAX_NS) {
            return false;
        }
        before = row->late_ns[p];
    }
    return row->after < type_count && row->handler < type_count;
}

stn_status stn_dues_get(stn_dues *dues, stn_cursor *cursor, uint32_t type_count) {
    uint32_t count = stn_cursor_count(cursor, ROW_BYTES);
    if (reserve(dues, count, type_count) != STN_OK) {
        return STN_ENOMEM;
    }
    bool sane = true;
    for (uint32_t i = 0; i < count && sane; i++) {
        sane = get_row(&dues->rows[dues->count++], cursor, type_count);
    }
    for (uint32_t i = 0; i < dues->words; i++) {
        dues->driven[i] = stn_cursor_u64(cursor);
    }
    if (!sane || cursor->failed) {
        stn_dues_fini(dues);
        return STN_EFORMAT;
    }
    return STN_OK;
}
