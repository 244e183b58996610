/** @file
 *  Mining: what all passes over the training traces share. Internal to the room.
 *
 *  A pass estimates for each candidate rule how many cases of a run that nobody has seen
 *  would break it, and emits the safest first until its budget is spent. The estimate is the
 *  larger of two: Good-Turing's (outcomes seen exactly once stand for the mass of those
 *  never seen) and the mass of outcomes that only one run, or only one stretch of a run,
 *  knows, which is what holding it out would have cost. The second sees bursts, and what is
 *  peculiar to a run; the first is too hopeful about both. Stretches are called parts.
 *  Pinned by tests/unit/test_rules_mine.c. */
#ifndef STN_KERNEL_RULES_MINE_H
#define STN_KERNEL_RULES_MINE_H

#include <standin/rules.h>

#include "core/base/map.h"

#define STN_MINE_PARTS     16u /**< stretches that the traces are cut into, in all */
#define STN_MINE_NO_TYPE   UINT32_MAX
#define STN_MINE_BASE_NONE 0u
#define STN_MINE_BASE_CPU  1u
#define STN_MINE_BASE_TID  2u

/** Everything one call of stn_rules_mine() works with. */
typedef struct stn_mine {
    const stn_trace *const *traces; /**< [trace_count] borrowed */
    size_t trace_count;
    stn_catalog *catalog;
    uint32_t min_support;
    double slack;
    uint32_t *dense;  /**< [catalog types] type to 0 .. type_count-1, equal for equal names */
    uint32_t *names;  /**< [type_count] string id of the canonical name */
    uint64_t *counts; /**< [type_count] events of the type */
    uint32_t type_count;
    uint64_t event_count;
    uint32_t parts_each; /**< parts of a trace; they are numbered trace by trace */
    stn_progress_fn progress;
    void *user;
    uint64_t done, total; /**< events passed, over all passes */
    stn_map identifiers;  /**< fields (string ids) that name things: their values are no rule */
    char *text;           /**< rules so far */
    size_t text_size, text_capacity;
    stn_err *err;
} stn_mine;

/** Told of every event of every trace in order. @p part is below STN_MINE_PARTS. */
typedef struct stn_mine_pass {
    /** Start of a trace, or a lost mark: nothing before it is known. */
    void (*forget)(void *self);
    stn_status (*see)(void *self, const stn_event *event, uint32_t type, uint32_t part);
    void *self;
} stn_mine_pass;

/** @return STN_OK, what see() returned, STN_EINTR */
stn_status stn_mine_run(stn_mine *mine, const stn_mine_pass *pass) STN_MUST_USE;

/** Expected breaks in a run like these, per 1,000 events. @param lone cases of outcomes that
 *  one part alone knows  @param once outcomes seen exactly once */
double stn_mine_risk(const stn_mine *mine, uint64_t once, uint64_t lone);

/** Does one part, or one run of several, alone know an outcome? @param parts bit set */
bool stn_mine_lone(const stn_mine *mine, uint64_t parts);

/** Add to the rule text. @return STN_OK, STN_ENOMEM */
stn_status stn_mine_print(stn_mine *mine, const char *fmt, ...) STN_MUST_USE STN_PRINTF(2, 3);

/** Number that stands for the value of @p field in keys. @return false for REAL and SEQ */
bool stn_mine_field_key(const stn_field *field, uint64_t *key);
/** Canonical name of a dense type. */
const char *stn_mine_name(const stn_mine *mine, uint32_t type);

/** Numbers seen in one part. */
typedef struct stn_mine_extent {
    int64_t lo, hi;
    uint64_t count;
    uint64_t records; /**< how often a number was beyond all before it */
} stn_mine_extent;

void stn_mine_extend(stn_mine_extent *extent, int64_t number);
/** Range of all parts, widened by @p slack of its length on the scale sign(x)·log(1+|x|).
 *  @param parts [STN_MINE_PARTS]
 *  @return false if some part would have broken the range that the others give, or if
 *  numbers drift (identifiers that count up set far more records than chance does) */
bool stn_mine_range(const stn_mine *mine, const stn_mine_extent *parts, double slack, int64_t *lo,
                    int64_t *hi);

/* The passes: each adds its rules to the text. */
stn_status stn_mine_follow(stn_mine *mine) STN_MUST_USE;
stn_status stn_mine_pairs(stn_mine *mine) STN_MUST_USE;
stn_status stn_mine_fields(stn_mine *mine) STN_MUST_USE;

#endif
