/** @file
 *  What handlers come for. Timers say when they are due; a device completes what it was given
 *  some time after. Which handler comes for either, where, and how late is learned here: such a
 *  handler is no matter of chance, so ticks keep their step and no request is forgotten.
 *  Pinned by tests/unit/test_synth_dues.c. */
#ifndef STN_KERNEL_SYNTH_DUES_H
#define STN_KERNEL_SYNTH_DUES_H

#include "core/base/rng.h"
#include "kernel/synth/world.h"

enum { STN_DUE_POINTS = 17 };

typedef struct stn_due {
    uint16_t after;   /**< dense type that arms */
    uint16_t handler; /**< dense type of the outermost handler that comes */
    uint16_t taker;   /**< completion: dense type that names the instance then */
    uint16_t cpu;     /**< where; STN_NO_CPU: where it was armed */
    bool completion;  /**< late after the oldest was left, or the handler last came */
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
    uint16_t after, handler; /**< completion: STN_SYMBOL_NONE if no handler came for it */
    uint16_t taker, cpu;
    bool completion, here; /**< on the CPU that armed it */
    int64_t late_ns;       /**< completion: negative if it is not the handler's first */
} stn_due_case;

/** A handler with those that it raised, of one CPU. */
typedef struct stn_burst {
    uint16_t handler; /**< STN_SYMBOL_NONE: none, or something was raised before */
    uint64_t begin_ns;
    bool timer, completion; /**< it had such a reason */
} stn_burst;

/** Collects cases from a walk; zero-initialise, then see every event before it is applied. */
typedef struct stn_dues_builder {
    stn_due_case *cases;
    size_t count, capacity;
    uint32_t *handlers, *reasons;   /**< [type_count] outermost handlers; those with a timer due */
    uint32_t *bursts, *completions; /**< [type_count] likewise, those with something completed */
    uint64_t *came_ns;              /**< [type_count] when one last completed something */
    stn_burst *open;                /**< [cpu_count] */
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
stn_status stn_dues_get(stn_dues *dues, stn_cursor *cursor, uint32_t type_count,
                        uint16_t cpu_count) STN_MUST_USE;

#endif
