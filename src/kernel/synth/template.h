/** @file
 *  Templates: how all attributes of one training event were come by, together. Drawn as one,
 *  they keep what belongs together (a descriptor and what is read from it, a thread and the
 *  call that it sleeps in), and cost one draw.
 *
 *  A template holds one word for each field drawn as a value, four for each that names a
 *  thread, and two for each key; the words are the symbols of attr.h and pick.h.
 *  Pinned by tests/unit/test_synth_template.c. */
#ifndef STN_KERNEL_SYNTH_TEMPLATE_H
#define STN_KERNEL_SYNTH_TEMPLATE_H

#include "core/base/map.h"
#include "kernel/synth/pool.h"
#include "kernel/synth/source.h"

/** Words of a field that names a thread, and of a key. */
enum {
    STN_WORD_RELATION = 0,
    STN_WORD_AGE,  /**< among those of its name and call */
    STN_WORD_COMM, /**< threads only: its name, … */
    STN_WORD_OPEN, /**< … and the innermost call that it is in */
    STN_THREAD_PARTS,
    STN_KEY_PARTS = STN_WORD_COMM,
};

/** A word that says nothing. */
#define STN_TEMPLATE_NONE UINT32_MAX

/** Where the words of a type's templates lie. */
typedef struct stn_layout {
    uint8_t size; /**< words */
    uint8_t field[STN_VFIELD_MAX];
    uint8_t key[STN_TYPE_KEYS];
} stn_layout;

typedef struct stn_templates {
    stn_layout *layouts; /**< [type_count] */
    uint32_t *words;     /**< [word_count] */
    uint32_t word_count;
    stn_pool pool; /**< values: index of a template's first word */
} stn_templates;

typedef struct stn_templates_builder {
    stn_pool_builder pool;
    stn_map seen; /**< hash of a template -> index + 1 of its first word */
    uint32_t *words;
    size_t count, capacity;
} stn_templates_builder;

/** Layouts for the types of @p vocab. @return STN_OK, STN_ENOMEM */
stn_status stn_templates_init(stn_templates *templates, const stn_vocab *vocab,
                              const stn_domains *domains) STN_MUST_USE;
void stn_templates_fini(stn_templates *templates);

/** Contexts of a template for an event of the type, CPU and thread of @p draft.
 *  @param told  hash of what tells about its fields  @return rungs */
uint32_t stn_template_rungs(const stn_world *world, const stn_draft *draft, uint32_t current,
                            uint64_t told, uint64_t *out);
/** Count @p words [layout size of the draft's type] once. @return STN_OK, STN_ENOMEM */
stn_status stn_templates_add(stn_templates_builder *builder, const stn_layout *layout,
                             const uint64_t *rungs, uint32_t count,
                             const uint32_t *words) STN_MUST_USE;
/** Take over what was counted. @return STN_OK; STN_ENOMEM, STN_EFORMAT (too many) */
stn_status stn_templates_build(stn_templates *templates,
                               stn_templates_builder *builder) STN_MUST_USE;
void stn_templates_builder_fini(stn_templates_builder *builder);

/** Draw one; lent. NULL if nothing like it was seen. @param wide leave out what tells */
const uint32_t *stn_template_draw(const stn_templates *templates, const stn_world *world,
                                  const stn_draft *draft, uint32_t current, uint64_t told,
                                  bool wide, stn_rng *rng);

void stn_templates_put(const stn_templates *templates, stn_blob *blob);
/** After stn_templates_init(). Words are not looked at: who uses one checks it.
 *  @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_templates_get(stn_templates *templates, stn_cursor *cursor) STN_MUST_USE;

#endif
