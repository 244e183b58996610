/* standin kernel evaluate: how close synthetic traces are to real ones. */
#include <standin/judge.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/outputs.h"
#include "app/progress.h"
#include "app/report.h"

typedef struct evaluate_args {
    stn_common common;
    stn_texts train, real, synthetic, rules, mined;
    const char *html, *title;
} evaluate_args;

typedef struct sides {
    stn_traces train, real, synthetic;
} sides;

static stn_status load(stn_app *app, const evaluate_args *args, sides *sides, stn_catalog *catalog,
                       stn_err *err) {
    stn_selection selection = {0};
    stn_status status = stn_selection_init(&selection, app, &args->common, err);
    if (status == STN_OK) {
        status = stn_traces_load(&sides->train, &args->train, &selection, &args->common, app->notes,
                                 catalog, err);
    }
    if (status == STN_OK) {
        status = stn_traces_load(&sides->real, &args->real, &selection, &args->common, app->notes,
                                 catalog, err);
    }
    if (status == STN_OK) {
        status = stn_traces_load(&sides->synthetic, &args->synthetic, &selection, &args->common,
                                 app->notes, catalog, err);
    }
    stn_selection_fini(&selection);
    return status;
}

static stn_report_side side_of(const stn_traces *traces, const stn_texts *paths) {
    return (stn_report_side){traces->all, paths->items, traces->count};
}

static stn_status report(stn_app *app, const evaluate_args *args, const stn_evaluation *evaluation,
                         const stn_report_input *input, stn_err *err) {
    stn_status status = STN_OK;
    FILE *to = args->html && stn_is_stdout(args->html) ? app->notes : app->out;
    if (args->html) {
        status = stn_report_html(evaluation, input, args->html, err);
    }
    if (status == STN_OK && args->common.json) {
        json_t *object = NULL;
        status = stn_report_json(evaluation, input, &object, err);
        return status == STN_OK ? stn_emit_json(to, object, err) : status;
    }
    if (status == STN_OK && !args->common.quiet) {
        stn_report_table(evaluation, input, to);
    }
    return status;
}

static stn_status judge(stn_app *app, const evaluate_args *args, const sides *sides,
                        const stn_rules *rules, stn_catalog *catalog, stn_err *err) {
    stn_evaluate_options options = {.seed = args->common.seed, .rules = rules};
    stn_evaluation evaluation = {0};
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "judging",
                       "steps");
    stn_status status =
        stn_evaluate(sides->train.all, sides->train.count, sides->real.all, sides->real.count,
                     sides->synthetic.all, sides->synthetic.count, &options, catalog, &evaluation,
                     stn_progress_tick, &progress, err);
    stn_progress_end(&progress);
    if (status == STN_OK) {
        stn_report_input input = {.train = side_of(&sides->train, &args->train),
                                  .real = side_of(&sides->real, &args->real),
                                  .synthetic = side_of(&sides->synthetic, &args->synthetic),
                                  .rules = rules,
                                  .catalog = catalog,
                                  .title = args->title,
                                  .seed = args->common.seed};
        status = report(app, args, &evaluation, &input, err);
    }
    stn_evaluation_fini(&evaluation);
    return status;
}

static stn_status guard(stn_app *app, const evaluate_args *args, stn_err *err) {
    const stn_texts *lists[] = {&args->train, &args->real, &args->synthetic};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < lists[i]->count; j++) {
            stn_status status = stn_inputs_guard(app, lists[i]->items[j], args->html, err);
            if (status != STN_OK) {
                return status;
            }
        }
    }
    return STN_OK;
}

/* Judged by runs that it has seen, a generator that copies looks like one that is good. */
static void note_seen(stn_app *app, const evaluate_args *args) {
    for (size_t i = 0; i < args->real.count; i++) {
        for (size_t j = 0; j < args->train.count; j++) {
            if (stn_inputs_same(args->real.items[i], args->train.items[j])) {
                fprintf(app->notes,
                        "standin kernel evaluate: note: %s is with --train and with --real; what "
                        "a generator has seen shows neither that it is useful nor original\n",
                        args->real.items[i]);
            }
        }
    }
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const evaluate_args *args = arguments;
    stn_catalog *catalog = NULL;
    stn_rules *rules = NULL;
    sides sides = {0};
    stn_status status = args->html ? guard(app, args, err) : STN_OK;
    if (status == STN_OK && args->html) {
        status = stn_outputs_try_file(args->html, err);
    }
    if (status == STN_OK) {
        status = stn_catalog_new(&catalog, err);
    }
    if (status == STN_OK) {
        status = stn_inputs_rules(&rules, &args->rules, &args->mined, catalog, err);
    }
    if (status == STN_OK) {
        status = load(app, args, &sides, catalog, err);
    }
    if (status == STN_OK) {
        note_seen(app, args);
        status = judge(app, args, &sides, rules, catalog, err);
    }
    stn_traces_fini(&sides.train);
    stn_traces_fini(&sides.real);
    stn_traces_fini(&sides.synthetic);
    stn_rules_free(rules);
    stn_catalog_free(catalog);
    return status;
}

static const stn_option options[] = {
    {"train", 0, STN_OPTION_MANY, offsetof(evaluate_args, train), "TRACE",
     "the real runs that the generator learned from", true},
    {"real", 0, STN_OPTION_MANY, offsetof(evaluate_args, real), "TRACE",
     "real runs that nothing has seen", true},
    {"synthetic", 0, STN_OPTION_MANY, offsetof(evaluate_args, synthetic), "TRACE",
     "what was generated", true},
    {"html", 0, STN_OPTION_TEXT, offsetof(evaluate_args, html), "PAGE",
     "write one self-contained page with plots as well", false},
    {"title", 0, STN_OPTION_TEXT, offsetof(evaluate_args, title), "TEXT", "title of the page",
     false},
    {"rules", 'r', STN_OPTION_TEXTS, offsetof(evaluate_args, rules), "FILE",
     "judge validity by these rules instead of the built-in ones; may be repeated", false},
    {"mined", 'm', STN_OPTION_TEXTS, offsetof(evaluate_args, mined), "FILE",
     "judge it by the rules of FILE as well; may be repeated", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_evaluate = {
    .group = "kernel",
    .name = "evaluate",
    .summary = "how close synthetic traces are to real ones",
    .details =
        "Judges the synthetic traces against held-out real ones: a predictor trained on synthetic "
        "events alone and tested on real ones beside one trained on real events (same budget), "
        "divergence of event sequences, times and durations beside the same between two real "
        "sides, rules broken, and how much of the training runs was copied.",
    .operands = "",
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_SEED | STN_SHARED_FILTER,
    .options = options,
    .args_size = sizeof(evaluate_args),
    .examples =
        (const stn_example[]){{"Judge a generated trace by a run that nothing has seen",
                               "standin kernel evaluate --train examples/backup.run1.txt.zst "
                               "examples/backup.run2.txt.zst --real examples/backup.run3.txt.zst "
                               "--synthetic synthetic.ctf --html report.html"},
                              {NULL, NULL}},
    .run = run,
};
