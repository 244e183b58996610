/* Equal templates are kept once: most events of a type are rebuilt in few ways. */
#include "kernel/synth/template.h"

#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/chain.h"

enum { LEAST_CASES = 3, WIDE_RUNGS = 4, SURE_RUNGS = 2, SEED_TYPE = 31 };

stn_status stn_templates_init(stn_templates *templates, const stn_vocab *vocab,
                              const stn_domains *domains) {
    *templates = (stn_templates){0};
    templates->layouts = stn_calloc(vocab->type_count, sizeof *templates->layouts);
    if (!templates->layouts) {
        return STN_ENOMEM;
    }
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        stn_layout *layout = &templates->layouts[t];
        for (uint16_t f = 0; f < vocab->types[t].field_count; f++) {
            bool thread = stn_means_thread(vocab->types[t].fields[f].means);
            layout->field[f] = layout->size;
            layout->size += thread ? STN_THREAD_PARTS : 1;
        }
        for (uint8_t k = 0; k < domains->types[t].count; k++) {
            layout->key[k] = layout->size;
            layout->size += STN_KEY_PARTS;
        }
    }
    return STN_OK;
}

void stn_templates_fini(stn_templates *templates) {
    stn_free(templates->layouts);
    stn_free(templates->words);
    stn_pool_fini(&templates->pool);
    *templates = (stn_templates){0};
}

uint32_t stn_template_rungs(const stn_world *world, const stn_draft *draft, uint32_t current,
                            uint64_t told, uint64_t *out) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    bool handler = cpu->depth > 0;
    uint64_t owner = handler ? cpu->stack[cpu->depth - 1] | UINT64_C(1) << 40
                             : (uint64_t)world->threads[current].comm;
    uint16_t before = handler ? cpu->handler_history[0] : world->threads[current].history[0];
    out[0] = stn_chain_mix(SEED_TYPE, draft->type);
    out[1] = stn_chain_mix(out[0], owner);
    out[2] = stn_chain_mix(out[1], before);
    out[3] = stn_chain_mix(out[2], stn_world_list(world, draft->cpu, STN_THREAD_READY)->count > 0);
    out[4] = stn_chain_mix(out[3], told);
    return WIDE_RUNGS + 1;
}

static bool same(const stn_templates_builder *builder, uint64_t index, const uint32_t *words,
                 uint8_t size) {
    return size == 0 || (index + size <= builder->count &&
                         memcmp(builder->words + index, words, size * sizeof *words) == 0);
}

stn_status stn_templates_add(stn_templates_builder *builder, const stn_layout *layout,
                             const uint64_t *rungs, uint32_t count, const uint32_t *words) {
    uint64_t hash = rungs[0]; /* of the type */
    for (uint8_t i = 0; i < layout->size; i++) {
        hash = stn_chain_mix(hash, words[i]);
    }
    uint64_t *entry = stn_map_put(&builder->seen, hash, NULL);
    if (!entry) {
        return STN_ENOMEM;
    }
    if (*entry == 0 || !same(builder, *entry - 1, words, layout->size)) {
        if (stn_grow(&builder->words, &builder->capacity, builder->count + layout->size,
                     sizeof *builder->words) != STN_OK) {
            return STN_ENOMEM;
        }
        if (layout->size > 0) {
            memcpy(builder->words + builder->count, words, layout->size * sizeof *words);
        }
        *entry = builder->count + 1;
        builder->count += layout->size;
    }
    return stn_pool_add(&builder->pool, rungs, count, SURE_RUNGS, (uint32_t)(*entry - 1));
}

stn_status stn_templates_build(stn_templates *templates, stn_templates_builder *builder) {
    if (builder->count > UINT32_MAX / 4) {
        return STN_EFORMAT;
    }
    stn_status status = stn_pool_build(&templates->pool, &builder->pool, LEAST_CASES);
    if (status == STN_OK) {
        templates->words = builder->words;
        templates->word_count = (uint32_t)builder->count;
        builder->words = NULL;
        builder->count = builder->capacity = 0;
    }
    return status;
}

void stn_templates_builder_fini(stn_templates_builder *builder) {
    stn_pool_builder_fini(&builder->pool);
    stn_map_fini(&builder->seen);
    stn_free(builder->words);
    *builder = (stn_templates_builder){0};
}

const uint32_t *stn_template_draw(const stn_templates *templates, const stn_world *world,
                                  const stn_draft *draft, uint32_t current, uint64_t told,
                                  bool wide, stn_rng *rng) {
    uint64_t rungs[STN_POOL_DEPTH];
    uint32_t count = stn_template_rungs(world, draft, current, told, rungs);
    const stn_pool_node *node =
        stn_pool_find(&templates->pool, rungs, wide ? WIDE_RUNGS : count, NULL);
    if (!node) {
        return NULL;
    }
    uint32_t at = stn_pool_draw(&templates->pool, node, rng);
    uint8_t size = templates->layouts[draft->type].size;
    bool inside = at <= templates->word_count && size <= templates->word_count - at;
    return inside ? templates->words + at : NULL;
}

void stn_templates_put(const stn_templates *templates, stn_blob *blob) {
    stn_blob_u32(blob, templates->word_count);
    for (uint32_t i = 0; i < templates->word_count; i++) {
        stn_blob_u32(blob, templates->words[i]);
    }
    stn_pool_put(&templates->pool, blob);
}

stn_status stn_templates_get(stn_templates *templates, stn_cursor *cursor) {
    uint32_t count = stn_cursor_count(cursor, 4);
    templates->words = stn_malloc((count > 0 ? count : 1) * sizeof *templates->words);
    if (!templates->words) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        templates->words[i] = stn_cursor_u32(cursor);
    }
    templates->word_count = count;
    return cursor->failed ? STN_EFORMAT : stn_pool_get(&templates->pool, cursor);
}
