/** @file
 *  The steps of an evaluation that fill the tables of ::stn_evaluation.
 *  Each leaves what it has allocated there for stn_evaluation_fini(), also on error.
 *  Pinned by tests/unit/test_judge_evaluate.c. */
#ifndef STN_KERNEL_JUDGE_FIDELITY_H
#define STN_KERNEL_JUDGE_FIDELITY_H

#include "kernel/judge/view.h"
#include "kernel/judge/work.h"

/** Sides of an evaluation, in the order of the arguments of stn_evaluate(). */
enum { STN_TRAIN = 0, STN_REAL = 1, STN_SYNTHETIC = 2, STN_SIDES = 3 };

/** What all steps share. */
typedef struct stn_evaluating {
    stn_alphabet alphabet;
    stn_view views[STN_SIDES];
    const stn_evaluate_options *options;
    const stn_rules *rules;
    stn_catalog *catalog; /**< borrowed */
    stn_evaluation *out;
    stn_work work;
} stn_evaluating;

/** jsd, grams */
stn_status stn_fidelity_grams(stn_evaluating *e, stn_err *err) STN_MUST_USE;
/** dt_*, types */
stn_status stn_fidelity_steps(stn_evaluating *e, stn_err *err) STN_MUST_USE;
/** ks_*, wait_*, syscalls */
stn_status stn_fidelity_waits(stn_evaluating *e, stn_err *err) STN_MUST_USE;
/** rate, Fano factors, same-thread runs */
stn_status stn_fidelity_pace(stn_evaluating *e, stn_err *err) STN_MUST_USE;
/** cpus, threads */
stn_status stn_fidelity_shares(stn_evaluating *e, stn_err *err) STN_MUST_USE;

#endif
