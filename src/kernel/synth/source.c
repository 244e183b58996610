#include "kernel/synth/source.h"

#include "core/base/intern.h"
#include "kernel/synth/step.h"

static stn_val number(int64_t v) {
    return (stn_val){.v = v, .kind = STN_FIELD_INT};
}

static stn_val code(int64_t v) {
    return (stn_val){.v = v, .kind = STN_VAL_CODE};
}

static stn_val text(uint32_t id) {
    return (stn_val){.v = id, .kind = id == STN_WORLD_NONE ? STN_VAL_NONE : STN_FIELD_STR};
}

static const stn_val none = {.kind = STN_VAL_NONE};

static stn_val of_named(const stn_world *world, uint8_t kind, const stn_subject *subject) {
    if (subject->thread == STN_WORLD_NONE) {
        return none;
    }
    const stn_thread *thread = &world->threads[subject->thread];
    switch (kind) {
    case STN_SOURCE_NAMED_COMM:
        return text(thread->comm);
    case STN_SOURCE_NAMED_CPU:
        return number(thread->cpu);
    default:
        return code(thread->state);
    }
}

static stn_val of_past(const stn_world *world, const stn_draft *draft, const stn_subject *subject) {
    bool ready = stn_world_list(world, draft->cpu, STN_THREAD_READY)->count > 0;
    const uint16_t *history = world->threads[subject->current].history;
    return code((int64_t)history[history[0] == STN_SYMBOL_IN] * 2 + ready);
}

stn_val stn_source_value(const stn_world *world, const stn_source *source, const stn_draft *draft,
                         const stn_subject *subject, uint16_t field) {
    const stn_vtype *type = &world->vocab->types[draft->type];
    size_t at = (size_t)source->type * STN_VFIELD_MAX + source->index;
    uint16_t slot = STN_SLOT_NONE;
    switch (source->kind) {
    case STN_SOURCE_FIELD:
        return draft->vals[source->index];
    case STN_SOURCE_THREAD:
    case STN_SOURCE_CPU:
        slot = world->slots->of[at];
        if (slot == STN_SLOT_NONE) {
            return none;
        }
        return source->kind == STN_SOURCE_THREAD
                   ? world->thread_memory[subject->current * (size_t)world->slots->count + slot]
                   : world->cpu_memory[draft->cpu * (size_t)world->slots->count + slot];
    case STN_SOURCE_INSTANCE:
        return subject->instance == STN_WORLD_NONE
                   ? none
                   : stn_instance_value(&world->instances[subject->instance],
                                        type->fields[field].name);
    case STN_SOURCE_STATE:
        return number(
            subject->instance == STN_WORLD_NONE ? -1 : world->instances[subject->instance].last);
    case STN_SOURCE_COMM:
        return text(world->threads[subject->current].comm);
    case STN_SOURCE_HERE:
        return number(draft->cpu);
    case STN_SOURCE_PAST:
        return of_past(world, draft, subject);
    case STN_SOURCE_BEFORE:
        return code(world->cpus[draft->cpu].history[0]);
    case STN_SOURCE_BEFORE_TWO:
        return code((int64_t)world->cpus[draft->cpu].history[0] << 16 |
                    world->cpus[draft->cpu].history[1]);
    case STN_SOURCE_CHILD: {
        uint32_t child = world->threads[subject->current].child;
        return child == STN_WORLD_NONE ? none : number(world->threads[child].tid);
    }
    case STN_SOURCE_NONE:
        return none;
    default:
        return of_named(world, source->kind, subject);
    }
}

uint64_t stn_val_word(stn_val val) {
    if (val.kind == STN_VAL_NONE) {
        return 1;
    }
    if (val.kind == STN_VAL_CODE) {
        return ((uint64_t)val.v << 3) | 6;
    }
    if (val.kind == STN_FIELD_STR || (val.v > -4096 && val.v < 65536)) {
        return ((uint64_t)val.v << 3) | (val.kind == STN_FIELD_STR ? 2 : 3);
    }
    uint64_t size = val.v < 0 ? 0 - (uint64_t)val.v : (uint64_t)val.v;
    return ((uint64_t)stn_step_symbol(size) << 3) | (val.v < 0 ? 4 : 5);
}

/* Same-named fields of other types, most frequent types first, and all fields of the entry
 * that this exit belongs to. */
static uint32_t remembered(const stn_vocab *vocab, uint32_t type, uint16_t field, stn_source *out,
                           uint32_t count, uint32_t limit) {
    uint32_t name = vocab->types[type].fields[field].name;
    uint16_t partner = vocab->types[type].partner;
    uint32_t rest = 6;
    uint32_t own = vocab->types[type].family;
    if (partner != STN_PARTNER_NONE) {
        partner = vocab->types[partner].family;
    }
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        for (uint16_t f = 0; f < vocab->types[t].field_count && vocab->types[t].family == t; f++) {
            bool named = vocab->types[t].fields[f].name == name;
            if (!(t == partner || (named && (t == own || rest > 0))) || count + 2 > limit) {
                continue;
            }
            rest -= named && t != own && t != partner;
            out[count++] = (stn_source){STN_SOURCE_THREAD, (uint8_t)f, (uint16_t)t};
            out[count++] = (stn_source){STN_SOURCE_CPU, (uint8_t)f, (uint16_t)t};
        }
    }
    return count;
}

uint32_t stn_source_candidates(const stn_vocab *vocab, uint32_t type, uint16_t field,
                               stn_source *out, uint32_t limit) {
    uint32_t count = 0;
    const stn_vtype *row = &vocab->types[type];
    /* drawn before it is known which thread and which instance the event is about */
    bool early = row->fields[field].means != STN_MEANS_VALUE || field == row->state_field;
    for (uint8_t kind = STN_SOURCE_INSTANCE; kind < STN_SOURCE_KINDS && count < limit; kind++) {
        bool late = kind == STN_SOURCE_INSTANCE || kind == STN_SOURCE_STATE ||
                    kind == STN_SOURCE_NAMED_COMM || kind == STN_SOURCE_NAMED_CPU ||
                    kind == STN_SOURCE_NAMED_STATE;
        if (!early || !late) {
            out[count++] = (stn_source){.kind = kind};
        }
    }
    for (uint16_t i = 0; i < row->field_count && !early && count < limit; i++) {
        /* fields that name threads and instances are known before all others */
        if (i < field || (i > field && row->fields[i].means != STN_MEANS_VALUE)) {
            out[count++] = (stn_source){STN_SOURCE_FIELD, (uint8_t)i, 0};
        }
    }
    return remembered(vocab, type, field, out, count, limit);
}
