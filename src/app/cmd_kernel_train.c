/* standin kernel train: learn a generator from traces. */
#include <string.h>
#include <unistd.h>

#include <standin/synth.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/load.h"
#include "app/outputs.h"
#include "app/progress.h"
#include "app/value.h"
#include "kernel/synth/model.h"

typedef struct train_args {
    stn_common common;
    const char *output, *kind, *channels;
    uint64_t order, budget_ns, steps, context;
    bool resume;
    stn_texts rules, mined, workloads;
} train_args;

enum { NAME_SIZE = 64, PATH_SIZE = 4096, CONTEXT_MAX = 65536 };

/* ---- workloads ---------------------------------------------------------------------------- */

/* Names of the workloads of the traces. */
typedef struct labels {
    char (*names)[NAME_SIZE]; /* [count] */
    const char **items;       /* [count] */
} labels;

static void labels_fini(labels *l) {
    free(l->names);
    free(l->items);
}

/* The name of the file up to its first dot: runs of one workload share it. */
static void stem_of(const char *path, char *name) {
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t size = strcspn(base, ".");
    snprintf(name, NAME_SIZE, "%.*s", (int)(size < NAME_SIZE ? size : NAME_SIZE - 1), base);
}

/* One "NAME=FILE". */
static stn_status label_given(stn_app *app, const train_args *args, labels *l, const char *text,
                              stn_err *err) {
    const stn_texts *traces = &args->common.operands;
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : 0;
    if (size == 0 || size >= NAME_SIZE) {
        return stn_app_usage(app, err,
                             "--workload %s: expected NAME=TRACE, the name of 1 to %d bytes", text,
                             NAME_SIZE - 1);
    }
    for (size_t i = 0; i < traces->count; i++) {
        if (strcmp(traces->items[i], equals + 1) == 0) {
            snprintf(l->names[i], NAME_SIZE, "%.*s", (int)size, text);
            return STN_OK;
        }
    }
    return stn_app_usage(app, err, "--workload %s: no trace given is called that", text);
}

static stn_status labels_init(labels *l, stn_app *app, const train_args *args, stn_err *err) {
    const stn_texts *traces = &args->common.operands;
    l->names = calloc(traces->count, sizeof *l->names);
    l->items = calloc(traces->count, sizeof *l->items);
    if (!l->names || !l->items) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the names of workloads");
    }
    for (size_t i = 0; i < traces->count; i++) {
        stem_of(traces->items[i], l->names[i]);
        l->items[i] = l->names[i];
    }
    stn_status status = STN_OK;
    for (size_t i = 0; i < args->workloads.count && status == STN_OK; i++) {
        status = label_given(app, args, l, args->workloads.items[i], err);
    }
    return status;
}

/* ---- training ------------------------------------------------------------------------------ */

static stn_status report(stn_app *app, const train_args *args, const stn_model *model,
                         const stn_train_stats *stats, stn_err *err) {
    bool neural = stats->steps > 0;
    if (args->common.json) {
        return stn_emit_json(
            app->out,
            json_pack("{s:s, s:I, s:f, s:I, s:I, s:o, s:o, s:o, s:o, s:i, s:I, s:I}", "kind",
                      stn_model_kind(model), "events", (json_int_t)stats->events, "seconds",
                      stats->seconds, "peak_rss_bytes", (json_int_t)stats->peak_rss_bytes,
                      "parameters", (json_int_t)stats->parameters, "train_loss",
                      stn_emit_real(stats->train_loss), "valid_loss",
                      stn_emit_real(stats->valid_loss), "step_loss",
                      neural ? stn_emit_real(stats->step_loss) : json_null(), "markov_loss",
                      stn_emit_real(neural ? stats->markov_loss : stats->valid_loss), "order",
                      (int)stats->order, "steps", (json_int_t)stats->steps, "seed",
                      (json_int_t)args->common.seed),
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
        if (stats->steps) {
            fprintf(app->out, "            %.4f held back per time step; Markov %.4f per type\n",
                    stats->step_loss, stats->markov_loss);
            fprintf(app->out, "steps       %s of training\n",
                    stn_value_grouped(stats->steps, events));
        }
        fprintf(app->out, "took        %.2f s, %.0f MB at most\n", stats->seconds,
                (double)stats->peak_rss_bytes / 1e6);
    }
    return STN_OK;
}

/* The progress line; the losses of a network's training stand in its label. */
typedef struct train_line {
    stn_progress progress;
    char label[96];
} train_line;

static bool step_done(void *user, const stn_train_report *r) {
    train_line *line = user;
    snprintf(line->label, sizeof line->label, "training (loss %.3f, held back %.3f)", r->train_loss,
             r->valid_loss);
    line->progress.what = line->label;
    return true;
}

static stn_status train(stn_app *app, const train_args *args, const stn_load *load,
                        const char *const *workloads, stn_err *err) {
    const stn_traces *traces = &load->traces;
    stn_catalog *catalog = load->catalog;
    char checkpoint[PATH_SIZE];
    if ((size_t)snprintf(checkpoint, sizeof checkpoint, "%s.checkpoint", args->output) >=
        sizeof checkpoint) {
        return stn_err_set(err, STN_ERANGE, "%s: the name is too long", args->output);
    }
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
                                 .rules = rules,
                                 .budget_s = (double)args->budget_ns / 1e9,
                                 .steps = args->steps,
                                 .context = (uint32_t)args->context,
                                 .channels = args->channels,
                                 .workloads = workloads,
                                 .checkpoint = checkpoint,
                                 .resume = args->resume,
                                 .report = step_done};
    train_line line;
    options.report_user = &line;
    stn_progress_begin(&line.progress, app->notes, args->common.quiet || args->common.json,
                       "training", "events");
    status = stn_model_train(&model, traces->all, traces->count, &options, &stats, catalog,
                             stn_progress_tick, &line.progress, err);
    stn_progress_end(&line.progress);
    if (status == STN_OK) {
        status = stn_model_save(model, args->output, err);
        if (status != STN_OK) {
            status = stn_err_prepend(err, status, "%s", args->output);
        }
    }
    if (status == STN_OK) {
        unlink(checkpoint); /* its work is done */
        status = report(app, args, model, &stats, err);
    }
    stn_model_free(model);
    stn_rules_free(rules);
    return status;
}

/* What a network alone is told would be without effect on other kinds. */
static stn_status usage_kind(stn_app *app, const train_args *args, stn_err *err) {
    const struct {
        const char *name;
        bool given;
    } ours[] = {{"budget", args->budget_ns > 0},         {"steps", args->steps > 0},
                {"context", args->context > 0},          {"channels", args->channels != NULL},
                {"workload", args->workloads.count > 0}, {"resume", args->resume}};
    const stn_generator_kind *kind;
    if (stn_generator_kind_named(&kind, args->kind, err) != STN_OK) {
        return stn_err_prepend(err, STN_ERANGE, "--kind");
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours && !kind->network; i++) {
        if (ours[i].given) {
            return stn_app_usage(app, err, "--%s: a %s model has no network; add --kind diffusion",
                                 ours[i].name, kind->name);
        }
    }
    return STN_OK;
}

static stn_status usage(stn_app *app, const train_args *args, stn_err *err) {
    if (args->order > 64) {
        return stn_app_usage(app, err, "--order: at most 64");
    }
    if (args->context > CONTEXT_MAX) {
        return stn_app_usage(app, err, "--context: at most %d", CONTEXT_MAX);
    }
    stn_status status = usage_kind(app, args, err);
    if (status == STN_OK && args->steps > 0 && args->budget_ns > 0) {
        return stn_app_usage(app, err, "--steps and --budget: either ends the training; give one");
    }
    return status == STN_OK ? stn_outputs_plain(args->output, "a model", err) : status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const train_args *args = arguments;
    labels names = {0};
    stn_load load = {0};
    stn_status status = usage(app, args, err);
    if (status == STN_OK) {
        status = labels_init(&names, app, args, err);
    }
    if (status == STN_OK) {
        status = stn_load_open(&load, app, &args->common, args->output, err);
    }
    if (status == STN_OK) {
        status = stn_outputs_try_file(args->output, err);
    }
    if (status == STN_OK) {
        status = stn_load_traces(&load, app, &args->common, err);
    }
    if (status == STN_OK) {
        status = train(app, args, &load, names.items, err);
    }
    labels_fini(&names);
    stn_load_close(&load);
    return status;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(train_args, output), "MODEL", "where the model goes",
     true},
    {"kind", 0, STN_OPTION_TEXT, offsetof(train_args, kind), "KIND",
     "kind of generator: markov (default), diffusion", false},
    {"order", 0, STN_OPTION_COUNT, offsetof(train_args, order), "N",
     "highest order of the Markov tables that is tried (default 8)", false},
    {"budget", 0, STN_OPTION_DURATION, offsetof(train_args, budget_ns), "TIME",
     "diffusion: time to train the network (default 10m)", false},
    {"steps", 0, STN_OPTION_COUNT, offsetof(train_args, steps), "N",
     "diffusion: exactly so many steps instead of --budget, which makes it repeatable", false},
    {"context", 0, STN_OPTION_COUNT, offsetof(train_args, context), "N",
     "diffusion: events of a CPU that the network looks back (default 512)", false},
    {"channels", 0, STN_OPTION_TEXT, offsetof(train_args, channels), "LIST",
     "diffusion: event,dt for the light model; event,dt,cpu,tid,comm,ret,other,load (default)",
     false},
    {"workload", 'w', STN_OPTION_TEXTS, offsetof(train_args, workloads), "NAME=TRACE",
     "diffusion: workload of a trace, instead of its file's name up to the first dot; may be "
     "repeated",
     false},
    {"resume", 0, STN_OPTION_FLAG, offsetof(train_args, resume), NULL,
     "diffusion: go on from MODEL.checkpoint, which a training that was stopped leaves", false},
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
