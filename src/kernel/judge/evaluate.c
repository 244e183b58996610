/* stn_evaluate: the steps in the order of a table, each filling its part of the result. */
#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "kernel/judge/fidelity.h"
#include "kernel/judge/grams.h"
#include "kernel/judge/memory.h"
#include "kernel/judge/ngram.h"
#include "kernel/judge/validity.h"

#include <math.h>
#include <string.h>

static const char *const side_names[STN_SIDES] = {"training", "real", "synthetic"};

static stn_status make_views(stn_evaluating *e, stn_err *err) {
    stn_status status = stn_alphabet_make(&e->alphabet, e->catalog, err);
    if (!status && e->alphabet.count >= STN_GRAM_SYMBOLS) {
        status = stn_err_set(err, STN_EFORMAT, "%u event types; at most %u can be judged",
                             e->alphabet.count, STN_GRAM_SYMBOLS - 1);
    }
    uint64_t *const events[STN_SIDES] = {&e->out->events_train, &e->out->events_real,
                                         &e->out->events_synthetic};
    for (int side = 0; side < STN_SIDES && !status; side++) {
        stn_view *view = &e->views[side];
        status = stn_view_make(view, view->traces, view->trace_count, &e->alphabet, err);
        if (!status && !stn_view_window_count(view, STN_MEMORY_WINDOW)) {
            status = stn_err_set(err, STN_EFORMAT,
                                 "the %s runs hold %zu events and no %u of them in a row without "
                                 "a loss; that is too short to judge",
                                 side_names[side], view->count, STN_MEMORY_WINDOW);
        }
        if (!status) {
            *events[side] = view->count;
        }
    }
    return status;
}

static stn_status judge_ngram(stn_evaluating *e, stn_err *err) {
    return stn_ngram_judge(&e->views[STN_TRAIN], &e->views[STN_REAL], &e->views[STN_SYNTHETIC],
                           e->alphabet.count, &e->out->ngram, &e->work, err);
}

static stn_status check_side(stn_evaluating *e, int side, stn_validity *validity, stn_err *err) {
    return stn_validity_check(validity, e->views[side].traces, e->views[side].trace_count, e->rules,
                              e->catalog, &e->work, err);
}

static stn_status judge_validity(stn_evaluating *e, stn_err *err) {
    stn_validity real = {0};
    stn_validity synthetic = {0};
    stn_status status = check_side(e, STN_REAL, &real, err);
    if (!status) {
        status = check_side(e, STN_SYNTHETIC, &synthetic, err);
    }
    if (!status) {
        stn_evaluation *out = e->out;
        out->rule_count = stn_rules_count(e->rules);
        out->rules_real = real.stats;
        out->rules_synthetic = synthetic.stats;
        out->violations = synthetic.violations;
        out->violation_count = synthetic.violation_count;
        out->violations_per_1000_real = real.per_1000;
        out->violations_per_1000_synthetic = synthetic.per_1000;
        real.stats = synthetic.stats = NULL;
        synthetic.violations = NULL;
    }
    stn_validity_fini(&real);
    stn_validity_fini(&synthetic);
    return status;
}

/* @pre the memory holds the training runs */
static stn_status judge_nearest(stn_evaluating *e, const stn_memory *memory, stn_err *err) {
    stn_evaluation *out = e->out;
    stn_rng rng;
    stn_rng_init(&rng, e->options->seed);
    double phase = stn_rng_double(&rng);
    double *const mean[STN_SIDES] = {NULL, &out->nn_distance_held_out, &out->nn_distance_synthetic};
    for (int side = STN_REAL; side < STN_SIDES; side++) {
        stn_status status = stn_memory_nearest(memory, &e->views[side], e->alphabet.count, phase,
                                               mean[side], &e->work, err);
        if (status) {
            return status;
        }
    }
    if (out->nn_distance_held_out > 0) {
        out->nn_distance_ratio = out->nn_distance_synthetic / out->nn_distance_held_out;
    } else { /* held-out windows all stand in the training runs */
        out->nn_distance_ratio = out->nn_distance_synthetic > 0 ? NAN : 1;
    }
    return STN_OK;
}

static stn_status judge_memory(stn_evaluating *e, stn_err *err) {
    stn_memory memory = {0};
    stn_status status = stn_memory_make(&memory, &e->views[STN_TRAIN], &e->work, err);
    if (!status) {
        e->out->verbatim64_synthetic = stn_memory_verbatim(&memory, &e->views[STN_SYNTHETIC]);
        e->out->verbatim64_held_out = stn_memory_verbatim(&memory, &e->views[STN_REAL]);
        status = judge_nearest(e, &memory, err);
    }
    stn_memory_fini(&memory);
    return status;
}

typedef stn_status (*step_fn)(stn_evaluating *e, stn_err *err);

static const struct {
    const char *doing;
    step_fn run;
} steps[] = {
    {"reading the runs", make_views},
    {"n-gram judge", judge_ngram},
    {"n-gram divergence", stn_fidelity_grams},
    {"inter-event times", stn_fidelity_steps},
    {"durations", stn_fidelity_waits},
    {"pace", stn_fidelity_pace},
    {"shares", stn_fidelity_shares},
    {"rules", judge_validity},
    {"memory of the training runs", judge_memory},
};

static stn_status run_steps(stn_evaluating *e, stn_err *err) {
    e->work.total = sizeof steps / sizeof *steps;
    for (size_t i = 0; i < e->work.total; i++) {
        stn_status status = steps[i].run(e, err);
        e->work.done = i + 1;
        if (!status) {
            status = stn_work_poll(&e->work, err);
        }
        if (status) {
            return stn_err_prepend(err, status, "evaluating, %s", steps[i].doing);
        }
    }
    return STN_OK;
}

static void finish(stn_evaluating *e, stn_rules *own_rules) {
    for (int side = 0; side < STN_SIDES; side++) {
        stn_view_fini(&e->views[side]);
    }
    stn_alphabet_fini(&e->alphabet);
    stn_rules_free(own_rules);
}

stn_status stn_evaluate(const stn_trace *const *train, size_t train_count,
                        const stn_trace *const *real, size_t real_count,
                        const stn_trace *const *synthetic, size_t synthetic_count,
                        const stn_evaluate_options *options, stn_catalog *catalog,
                        stn_evaluation *out, stn_progress_fn progress, void *user, stn_err *err) {
    static const stn_evaluate_options defaults;
    options = options ? options : &defaults;
    memset(out, 0, sizeof *out);
    stn_rules *own_rules = NULL;
    if (!options->rules) {
        stn_status status = stn_rules_builtin(&own_rules, catalog, err);
        if (status) {
            return status;
        }
    }
    stn_evaluating e = {
        .views = {{.traces = train, .trace_count = train_count},
                  {.traces = real, .trace_count = real_count},
                  {.traces = synthetic, .trace_count = synthetic_count}},
        .options = options,
        .rules = options->rules ? options->rules : own_rules,
        .catalog = catalog,
        .out = out,
        .work = {.progress = progress, .user = user},
    };
    stn_status status = run_steps(&e, err);
    finish(&e, own_rules);
    if (status) {
        stn_evaluation_fini(out);
    }
    return status;
}

void stn_evaluation_fini(stn_evaluation *evaluation) {
    stn_free(evaluation->rules_real);
    stn_free(evaluation->rules_synthetic);
    stn_free(evaluation->types);
    stn_free(evaluation->syscalls);
    stn_free(evaluation->grams);
    stn_free(evaluation->cpus);
    stn_free(evaluation->threads);
    stn_free(evaluation->violations);
    memset(evaluation, 0, sizeof *evaluation);
}
