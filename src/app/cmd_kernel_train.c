/* standin kernel train: learn a generator from traces. */
#include <standin/synth.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/load.h"
#include "app/progress.h"
#include "app/value.h"

typedef struct train_args {
    stn_common common;
    const char *output, *kind;
    uint64_t order;
    stn_texts rules, mined;
} train_args;

static stn_status report(stn_app *app, const train_args *args, const stn_model *model,
                         const stn_train_stats *stats, stn_err *err) {
    if (args->common.json) {
        return stn_emit_json(app->out,
                             json_pack("{s:s, s:I, s:f, s:I, s:I, s:o, s:o, s:i, s:I}", "kind",
                                       stn_model_kind(model), "events", (json_int_t)stats->events,
                                       "seconds", stats->seconds, "peak_rss_bytes",
                                       (json_int_t)stats->peak_rss_bytes, "parameters",
                                       (json_int_t)stats->parameters, "train_loss",
                                       stn_emit_real(stats->train_loss), "valid_loss",
                                       stn_emit_real(stats->valid_loss), "order", (int)stats->order,
                                       "seed", (json_int_t)args->common.seed),
                             err);
    }
    if (!args->common.quiet) {
        char events[32];
        char parameters[32];
        fprintf(app->out, "events      %s\n", stn_value_grouped(stats->events, events));
        fprintf(app->out, "kind        %s, order %u, %s parameters\n", stn_model_kind(model),
                stats->order, stn_value_grouped(stats->parameters, parameters));
        fprintf(app->out, "loss        %.4f train, %.4f held back (nats per event type)\n",
                stats->train_loss, stats->valid_loss);
        fprintf(app->out, "took        %.2f s, %.0f MB at most\n", stats->seconds,
                (double)stats->peak_rss_bytes / 1e6);
    }
    return STN_OK;
}

static stn_status train(stn_app *app, const train_args *args, const stn_traces *traces,
                        stn_catalog *catalog, stn_err *err) {
    stn_rules *rules = NULL;
    stn_model *model = NULL;
    stn_train_stats stats = {0};
    stn_status status = stn_inputs_rules(&rules, &args->rules, &args->mined, catalog, err);
    if (status != STN_OK) {
        return status;
    }
    stn_train_options options = {.kind = args->kind,
                                 .max_order = (uint32_t)args->order,
                                 .seed = args->common.seed,
                                 .rules = rules};
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "training",
                       "events");
    status = stn_model_train(&model, traces->all, traces->count, &options, &stats, catalog,
                             stn_progress_tick, &progress, err);
    stn_progress_end(&progress);
    if (status == STN_OK) {
        status = stn_model_save(model, args->output, err);
    }
    if (status == STN_OK) {
        status = report(app, args, model, &stats, err);
    }
    stn_model_free(model);
    stn_rules_free(rules);
    return status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const train_args *args = arguments;
    if (args->order > 64) {
        return stn_app_usage(app, err, "--order: at most 64");
    }
    stn_load load = {0};
    stn_status status = stn_load_open(&load, app, &args->common, args->output, err);
    if (status == STN_OK) {
        status = stn_load_traces(&load, app, &args->common, err);
    }
    if (status == STN_OK) {
        status = train(app, args, &load.traces, load.catalog, err);
    }
    stn_load_close(&load);
    return status;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(train_args, output), "MODEL", "where the model goes",
     true},
    {"kind", 0, STN_OPTION_TEXT, offsetof(train_args, kind), "KIND",
     "kind of generator: markov (default)", false},
    {"order", 0, STN_OPTION_COUNT, offsetof(train_args, order), "N",
     "markov: highest order tried (default 8)", false},
    {"rules", 'r', STN_OPTION_TEXTS, offsetof(train_args, rules), "FILE",
     "rules that the model obeys, instead of the built-in ones; may be repeated", false},
    {"mined", 'm', STN_OPTION_TEXTS, offsetof(train_args, mined), "FILE",
     "rules that it obeys as well; may be repeated", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_train = {
    .group = "kernel",
    .name = "train",
    .summary = "learn a generator from traces",
    .details =
        "Learns event types, times and attributes from the traces alone; the last tenth of each is "
        "held back to choose the order. The model file holds everything that generate needs, its "
        "rules included.",
    .operands = "TRACE...",
    .operand_min = 1,
    .operand_max = UINT32_MAX,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_SEED | STN_SHARED_FILTER,
    .options = options,
    .args_size = sizeof(train_args),
    .examples = (const stn_example[]){{"Learn from two recordings of a workload",
                                       "standin kernel train examples/backup.run1.txt.zst "
                                       "examples/backup.run2.txt.zst -o backup.stn"},
                                      {NULL, NULL}},
    .run = run,
};
