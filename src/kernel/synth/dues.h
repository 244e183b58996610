/** @file
 *  Timers that say when they are due: which handler comes for them, and how late it is. What
 *  such a handler waits for is no matter of chance: it comes when a timer of its CPU is due, so
 *  ticks keep their step. Pinned by tests/unit/test_synth_dues.c. */
#ifndef STN_KERNEL_SYNTH_DUES_H
#define STN_KERNEL_SYNTH_DUES_H

#include "core/base/rng.h"
#include "kernel/synth/world.h"

enum { STN_DUE_POINTS = 17 };

typedef struct stn_due {
    uint16_t after;                   /**< dense type that arms */
    uint16_t handler;                 /**< dense type of the outermost handler that comes */
    uint64_t late_ns[STN_DUE_POINTS]; /**< rising quantiles */
} stn_due;

/** Zero-initialised: nothing is ever due. */
typedef struct stn_dues {
    stn_due *rows; /**< [count] by type */
    uint32_t count;
    uint64_t *driven; /**< [words] bit set of handlers that come for nothing else */
    uint32_t words;
} stn_dues;

typedef struct stn_due_case {
    uint16_t after, handler;
    int64_t late_ns;
} stn_due_case;

/** Collects cases from a walk; zero-initialise, then see every event before it is applied. */
typedef struct stn_dues_builder {
    stn_due_case *cases;
    size_t count, capacity;
    uint32_t *handlers, *reasons; /**< [type_count] outermost handlers; those with a timer due */
    uint8_t *open;                /**< [cpu_count] the handler open there has its reason */
} stn_dues_builder;

/** @param current  index of the running thread  @return STN_OK, STN_ENOMEM */
stn_status stn_dues_see(stn_dues_builder *builder, const stn_world *world, const stn_draft *draft,
                        uint32_t current) STN_MUST_USE;
/** @param[out] out  the caller frees with stn_dues_fini()  @return STN_OK, STN_ENOMEM */
stn_status stn_dues_build(stn_dues *out, stn_dues_builder *builder,
                          uint32_t type_count) STN_MUST_USE;
void stn_dues_builder_fini(stn_dues_builder *builder);
void stn_dues_fini(stn_dues *dues);

/** What is said of timers that @p type arms, or NULL. */
const stn_due *stn_dues_of(const stn_dues *dues, uint16_t type);
/** Is @p type a handler that comes for nothing else? */
bool stn_dues_driven(const stn_dues *dues, uint32_t type);
/** Draw how late the handler is. */
uint64_t stn_due_draw(const stn_due *due, stn_rng *rng);

void stn_dues_put(const stn_dues *dues, stn_blob *blob);
/** @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_dues_get(stn_dues *dues, stn_cursor *cursor, uint32_t type_count) STN_MUST_USE;

#endif
