#include "kernel/synth/dues.h"

#include <stdlib.h>

#include "core/base/alloc.h"

enum {
    CASES_MIN = 16,
    LATE_MAX_NS = 1000000, /* later than that, it came for something else */
    USUAL_LATE_NS = 200000,
    ROW_BYTES = 2 + 2 + 2 + 2 + 1 + 8 * STN_DUE_POINTS,
};
static const double punctual_min = 0.8, driven_min = 0.9;

/* ---- learning ---------------------------------------------------------------------- */

static stn_status begin(stn_dues_builder *builder, const stn_world *world) {
    if (builder->open) {
        return STN_OK;
    }
    uint32_t types = world->vocab->type_count;
    builder->handlers = stn_calloc(types, sizeof *builder->handlers);
    builder->reasons = stn_calloc(types, sizeof *builder->reasons);
    builder->bursts = stn_calloc(types, sizeof *builder->bursts);
    builder->completions = stn_calloc(types, sizeof *builder->completions);
    builder->came_ns = stn_calloc(types, sizeof *builder->came_ns);
    builder->open = stn_calloc(world->cpu_count, sizeof *builder->open);
    if (!builder->handlers || !builder->reasons || !builder->bursts || !builder->completions ||
        !builder->came_ns || !builder->open) {
        return STN_ENOMEM;
    }
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        builder->open[i].handler = STN_SYMBOL_NONE;
    }
    return STN_OK;
}

/* Outside handlers: one begins, goes on with what it raised, or is over. */
static void see_burst(stn_dues_builder *builder, const stn_world *world, const stn_draft *draft) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    const stn_vtype *types = world->vocab->types;
    stn_burst *burst = &builder->open[draft->cpu];
    bool opens = types[draft->type].frame == STN_FRAME_PUSH;
    builder->handlers[draft->type] += opens;
    burst->timer = false;
    if (opens && cpu->raised != 0 && cpu->history[0] < world->vocab->type_count &&
        types[cpu->history[0]].frame == STN_FRAME_POP) {
        return;
    }
    bool clean = opens && cpu->raised == 0;
    *burst =
        (stn_burst){clean ? (uint16_t)draft->type : STN_SYMBOL_NONE, draft->time_ns, false, false};
    builder->bursts[draft->type] += clean;
}

static stn_status add_case(stn_dues_builder *builder, stn_due_case added) {
    if (stn_grow(&builder->cases, &builder->capacity, builder->count + 1, sizeof *builder->cases) !=
        STN_OK) {
        return STN_ENOMEM;
    }
    builder->cases[builder->count++] = added;
    return STN_OK;
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
    stn_burst *burst = &builder->open[draft->cpu];
    if (late_ns >= 0 && late_ns < LATE_MAX_NS && !burst->timer) {
        burst->timer = true;
        builder->reasons[handler]++;
    }
    return add_case(builder,
                    (stn_due_case){.after = timer->last, .handler = handler, .late_ns = late_ns});
}

/* Something that all CPUs know by name: did a handler come for it, after it was left? */
static stn_status see_completion(stn_dues_builder *builder, const stn_world *world,
                                 const stn_draft *draft, const stn_instance *instance) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    stn_burst *burst = &builder->open[draft->cpu];
    stn_due_case seen = {.after = instance->last,
                         .handler = STN_SYMBOL_NONE,
                         .taker = (uint16_t)draft->type,
                         .cpu = draft->cpu,
                         .completion = true,
                         .here = instance->cpu == draft->cpu};
    if (cpu->depth > 0 && burst->handler != STN_SYMBOL_NONE &&
        instance->touched_ns < burst->begin_ns) {
        seen.handler = burst->handler;
        uint64_t *came_ns = &builder->came_ns[burst->handler];
        uint64_t from_ns = instance->touched_ns > *came_ns ? instance->touched_ns : *came_ns;
        seen.late_ns = burst->completion ? -1 : (int64_t)(burst->begin_ns - from_ns);
        builder->completions[burst->handler] += !burst->completion;
        burst->completion = true;
        *came_ns = burst->begin_ns;
    }
    return add_case(builder, seen);
}

stn_status stn_dues_see(stn_dues_builder *builder, const stn_world *world, const stn_draft *draft,
                        uint32_t current) {
    if (begin(builder, world) != STN_OK) {
        return STN_ENOMEM;
    }
    if (world->cpus[draft->cpu].depth == 0) {
        see_burst(builder, world, draft);
    }
    const stn_type_keys *keys = &world->domains->types[draft->type];
    stn_status status = STN_OK;
    for (uint8_t k = 0; k < keys->count && status == STN_OK; k++) {
        const stn_type_key *key = &keys->keys[k];
        stn_val parts[STN_KEY_FIELDS];
        for (uint8_t j = 0; j < key->field_count; j++) {
            parts[j] = draft->vals[key->fields[j]];
        }
        uint32_t scope = stn_instance_scope(world, key->domain, draft->cpu, current);
        uint32_t index = stn_instance_find(world, key->domain, scope, parts, key->field_count);
        if (index == STN_WORLD_NONE || world->instances[index].last == STN_SYMBOL_NONE) {
            continue;
        }
        const stn_instance *instance = &world->instances[index];
        if (instance->due_ns > 0) {
            status = see_timer(builder, world, draft, instance);
        } else if (world->domains->scope[key->domain] == STN_SCOPE_ALL) {
            status = see_completion(builder, world, draft, instance);
        }
    }
    return status;
}

void stn_dues_builder_fini(stn_dues_builder *builder) {
    stn_free(builder->cases);
    stn_free(builder->handlers);
    stn_free(builder->reasons);
    stn_free(builder->bursts);
    stn_free(builder->completions);
    stn_free(builder->came_ns);
    stn_free(builder->open);
    *builder = (stn_dues_builder){0};
}

static int by_state(const void *a, const void *b) {
    const stn_due_case *x = a, *y = b;
    if (x->completion != y->completion) {
        return x->completion < y->completion ? -1 : 1;
    }
    if (x->after != y->after) {
        return x->after < y->after ? -1 : 1;
    }
    if (x->handler != y->handler) {
        return x->handler < y->handler ? -1 : 1;
    }
    if (x->late_ns != y->late_ns) {
        return x->late_ns < y->late_ns ? -1 : 1;
    }
    return x->taker < y->taker ? -1 : x->taker > y->taker;
}

/* Quantiles of the @p count cases from @p from on. */
static void fill_late(stn_due *row, const stn_due_case *from, size_t count) {
    for (size_t p = 0; p < STN_DUE_POINTS; p++) {
        row->late_ns[p] = (uint64_t)from[(count - 1) * p / (STN_DUE_POINTS - 1)].late_ns;
    }
}

/* A row of the cases [begin, end) of one type and handler, if that handler is punctual. */
static bool fill_timer(stn_due *row, const stn_due_case *begin, const stn_due_case *end) {
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
    *row = (stn_due){.after = begin->after, .handler = begin->handler, .cpu = STN_NO_CPU};
    fill_late(row, begin + early, late);
    return true;
}

/* A row of the cases [begin, end) of one type and handler, which are so many of @p all that
 * the type left, if it is always taken alike and at a place that can be told. */
static bool fill_completion(stn_due *row, const stn_due_case *begin, const stn_due_case *end,
                            size_t all) {
    size_t count = (size_t)(end - begin), here = 0, there = 0, taken = 0, later = 0;
    if (begin->handler == STN_SYMBOL_NONE || count < CASES_MIN ||
        (double)count < punctual_min * (double)all) {
        return false;
    }
    for (const stn_due_case *c = begin; c < end; c++) {
        here += c->here;
        there += c->cpu == begin->cpu;
        taken += c->taker == begin->taker;
        later += c->late_ns < 0;
    }
    double least = driven_min * (double)count;
    if (later == count || (double)taken < least ||
        ((double)here < least && (double)there < least)) {
        return false;
    }
    *row = (stn_due){.after = begin->after,
                     .handler = begin->handler,
                     .taker = begin->taker,
                     .cpu = (double)there < least ? STN_NO_CPU : begin->cpu,
                     .completion = true};
    fill_late(row, begin + later, count - later);
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
        const stn_due_case *from = &builder->cases[i], *to = builder->cases + next;
        stn_due *row = &out->rows[out->count];
        if (next - i > best && (from->completion ? fill_completion(row, from, to, end - begin)
                                                 : fill_timer(row, from, to))) {
            best = next - i;
        }
    }
    const stn_due *row = &out->rows[out->count];
    /* who comes for timers comes for nothing else; and a type arms one thing alone */
    out->count += best > 0 && (!row->completion || (!stn_dues_driven(out, row->handler) &&
                                                    !stn_dues_of(out, row->after)));
}

/* Mark the handlers of the rows from @p first on that come for nothing else. */
static void mark_driven(stn_dues *out, uint32_t first, const uint32_t *came,
                        const uint32_t *reasons) {
    for (uint32_t i = first; i < out->count; i++) {
        uint16_t handler = out->rows[i].handler;
        if (reasons[handler] >= driven_min * came[handler]) {
            out->driven[handler / 64] |= UINT64_C(1) << handler % 64;
        }
    }
}

stn_status stn_dues_build(stn_dues *out, stn_dues_builder *builder, uint32_t type_count) {
    size_t end;
    if (reserve(out, (size_t)type_count * 2, type_count) != STN_OK) {
        return STN_ENOMEM;
    }
    if (builder->count > 0) {
        qsort(builder->cases, builder->count, sizeof *builder->cases, by_state);
    }
    uint32_t timers = 0;
    bool completion = false;
    for (size_t i = 0; i < builder->count; i = end) {
        const stn_due_case *first = &builder->cases[i];
        if (first->completion && !completion) {
            completion = true;
            timers = out->count;
            mark_driven(out, 0, builder->handlers, builder->reasons);
        }
        end = i + 1;
        while (end < builder->count && builder->cases[end].completion == first->completion &&
               builder->cases[end].after == first->after) {
            end++;
        }
        add_type(out, builder, i, end);
    }
    if (completion) {
        mark_driven(out, timers, builder->bursts, builder->completions);
    } else if (builder->count > 0) {
        mark_driven(out, 0, builder->handlers, builder->reasons);
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
        stn_blob_u16(blob, dues->rows[i].taker);
        stn_blob_u16(blob, dues->rows[i].cpu);
        stn_blob_u8(blob, dues->rows[i].completion);
        for (int p = 0; p < STN_DUE_POINTS; p++) {
            stn_blob_u64(blob, dues->rows[i].late_ns[p]);
        }
    }
    for (uint32_t i = 0; i < dues->words; i++) {
        stn_blob_u64(blob, dues->driven[i]);
    }
}

static bool get_row(stn_due *row, stn_cursor *cursor, uint32_t type_count, uint16_t cpu_count) {
    *row = (stn_due){.after = stn_cursor_u16(cursor)};
    row->handler = stn_cursor_u16(cursor);
    row->taker = stn_cursor_u16(cursor);
    row->cpu = stn_cursor_u16(cursor);
    row->completion = stn_cursor_u8(cursor) != 0;
    uint64_t limit = row->completion ? INT64_MAX : LATE_MAX_NS;
    uint64_t before = 0;
    for (int p = 0; p < STN_DUE_POINTS; p++) {
        row->late_ns[p] = stn_cursor_u64(cursor);
        if (row->late_ns[p] < before || row->late_ns[p] >= limit) {
            return false;
        }
        before = row->late_ns[p];
    }
    return row->after < type_count && row->handler < type_count && row->taker < type_count &&
           (row->cpu < cpu_count || row->cpu == STN_NO_CPU);
}

stn_status stn_dues_get(stn_dues *dues, stn_cursor *cursor, uint32_t type_count,
                        uint16_t cpu_count) {
    uint32_t count = stn_cursor_count(cursor, ROW_BYTES);
    if (reserve(dues, count, type_count) != STN_OK) {
        return STN_ENOMEM;
    }
    bool sane = true;
    for (uint32_t i = 0; i < count && sane; i++) {
        sane = get_row(&dues->rows[dues->count++], cursor, type_count, cpu_count);
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
