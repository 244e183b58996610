/* Answers and their limits. What is measured between two real runs is the yardstick: a
 * synthetic trace cannot be asked to be closer to a real one than another real one is. */
#include "app/report_verdict.h"

#include "app/report_rows.h"

#include <math.h>
#include <stdio.h>

/* Yardsticks below these are noise of the sample, not a bar to hold anything against. */
#define JSD_FLOOR 0.005
#define DT_FLOOR  0.02

static stn_verdict_level worse(stn_verdict_level a, stn_verdict_level b) {
    return a > b ? a : b;
}

/* @p value up to @p good is good, up to @p fair is fair; NAN is no good sign. */
static stn_verdict_level at_most(double value, double good, double fair) {
    if (value <= good) {
        return STN_VERDICT_GOOD;
    }
    return value <= fair ? STN_VERDICT_FAIR : STN_VERDICT_POOR;
}

static void useful(const stn_evaluation *e, stn_verdict *v) {
    v->question = "Is it useful?";
    v->level = at_most(-e->ngram.ratio, -0.9, -0.7);
    snprintf(
        v->text, sizeof v->text,
        "A next-event predictor that has seen synthetic events alone reaches a macro-F1 of "
        "%.3f on a real run; trained on as many real events it reaches %.3f. That is %.0f\u00a0%%.",
        e->ngram.tstr_macro_f1, e->ngram.trtr_macro_f1, 100 * e->ngram.ratio);
}

static void lifelike(const stn_evaluation *e, stn_verdict *v) {
    double jsd_bar = fmax(e->jsd_real[2], JSD_FLOOR);
    double dt_bar = fmax(e->dt_wasserstein_real, DT_FLOOR);
    v->question = "Is it lifelike?";
    v->level = worse(at_most(e->jsd[2], 1.5 * jsd_bar, 3 * jsd_bar),
                     at_most(e->dt_wasserstein, 1.5 * dt_bar, 3 * dt_bar));
    snprintf(v->text, sizeof v->text,
             "Triples of events diverge from real ones by %.3f bits and times between events by "
             "%.3f decades; the real runs diverge from each other by %.3f and %.3f.",
             e->jsd[2], e->dt_wasserstein, e->jsd_real[2], e->dt_wasserstein_real);
}

static void valid(const stn_evaluation *e, stn_verdict *v) {
    v->question = "Is it valid?";
    v->level = at_most(e->violations_per_1000_synthetic, e->violations_per_1000_real, 1);
    uint64_t checked = 0;
    uint32_t broken = 0;
    char cases[32];
    for (uint32_t r = 0; r < e->rule_count; r++) {
        checked += e->rules_synthetic[r].checked;
        broken += e->rules_synthetic[r].violations > 0;
    }
    snprintf(v->text, sizeof v->text,
             "It breaks %u of the %u rules that a kernel obeys, %.3f times in 1,000 events "
             "(%s cases judged); the real run %.3f times.",
             broken, e->rule_count, e->violations_per_1000_synthetic,
             stn_report_thousands((double)checked, cases, sizeof cases),
             e->violations_per_1000_real);
}

static void original(const stn_evaluation *e, stn_verdict *v) {
    double excess = e->verbatim64_synthetic - e->verbatim64_held_out;
    v->question = "Is it original?";
    v->level = at_most(excess, 0.05, 0.2);
    if (!isnan(e->nn_distance_ratio)) {
        v->level = worse(v->level, at_most(-e->nn_distance_ratio, -0.8, -0.5));
    }
    snprintf(
        v->text, sizeof v->text,
        "Of its windows of 64 events %.1f\u00a0%% stand verbatim in the training runs, of a real "
        "run that the generator has not seen %.1f\u00a0%%. Its windows are %.1f edits from the "
        "nearest training window, the real run's %.1f.",
        100 * e->verbatim64_synthetic, 100 * e->verbatim64_held_out, e->nn_distance_synthetic,
        e->nn_distance_held_out);
}

static void (*const answers[STN_VERDICT_COUNT])(const stn_evaluation *, stn_verdict *) = {
    useful, lifelike, valid, original};

stn_verdict_level stn_verdicts(const stn_evaluation *e, stn_verdict verdicts[STN_VERDICT_COUNT]) {
    stn_verdict_level worst = STN_VERDICT_GOOD;
    for (int i = 0; i < STN_VERDICT_COUNT; i++) {
        answers[i](e, &verdicts[i]);
        worst = worse(worst, verdicts[i].level);
    }
    return worst;
}

const char *stn_verdict_summary(stn_verdict_level worst) {
    static const char *const summaries[] = {
        "These traces can stand in for the real ones.",
        "These traces can be used with care: read what is marked fair.",
        "Do not rely on these traces before you have read what is marked poor.",
    };
    return summaries[worst];
}

const char *stn_verdict_word(stn_verdict_level level) {
    static const char *const words[] = {"good", "fair", "poor"};
    return words[level];
}
