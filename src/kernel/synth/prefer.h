/** @file
 *  Rules that a generated trace rather keeps: mined ones say what some traces did, not what a
 *  kernel must do. A proposal against one is turned away by chance, and nothing is turned away
 *  when all else was refused. Pinned by tests/unit/test_synth_prefer.c. */
#ifndef STN_KERNEL_SYNTH_PREFER_H
#define STN_KERNEL_SYNTH_PREFER_H

#include <standin/rules.h>

#include "core/base/rng.h"

#define STN_PREFERENCE 0.9 /**< chance, unless said otherwise */

/** Zero-initialised: nothing is preferred, and all below cost nothing. */
typedef struct stn_prefer {
    stn_checker *checker;
    double chance;    /**< that a proposal against the rules is turned away */
    uint64_t against; /**< events that happened against them */
    uint32_t broken;  /**< rules that the proposal at hand breaks */
    bool yields;      /**< for now nothing is turned away */
} stn_prefer;

/** @param rules  borrowed; NULL: nothing is preferred  @param chance  0: STN_PREFERENCE
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_prefer_begin(stn_prefer *prefer, const stn_rules *rules, double chance,
                            stn_catalog *catalog, stn_err *err) STN_MUST_USE;
void stn_prefer_fini(stn_prefer *prefer);

/** May @p event be proposed? If so, say with stn_prefer_settle() what came of it.
 *  @return as stn_checker_step() */
stn_status stn_prefer_ask(stn_prefer *prefer, const stn_event *event, stn_rng *rng, bool *stands,
                          stn_err *err) STN_MUST_USE;
/** The event that was asked about happens, or it does not. */
void stn_prefer_settle(stn_prefer *prefer, bool happens);
/** An event happens that nobody asked about, for instance a real one.
 *  @param generated  count it if it is against the rules
 *  @return as stn_checker_step() */
stn_status stn_prefer_see(stn_prefer *prefer, const stn_event *event, bool generated,
                          stn_err *err) STN_MUST_USE;

#endif
