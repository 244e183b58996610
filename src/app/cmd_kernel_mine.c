/* standin kernel mine: learn from traces what always holds, as rules. */
#include <string.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/load.h"
#include "app/outputs.h"
#include "app/progress.h"
#include "app/value.h"
#include "core/data/outfile.h"

typedef struct mine_args {
    stn_common common;
    const char *output;
    uint64_t support;
} mine_args;

static stn_status write_text(const char *path, const char *text, stn_err *err) {
    stn_outfile *file = NULL;
    stn_status status = stn_outfile_open(&file, path, err);
    if (status == STN_OK) {
        status = stn_outfile_write(file, text, strlen(text), err);
    }
    if (status == STN_OK) {
        status = stn_outfile_commit(file, err);
    } else {
        stn_outfile_abort(file);
    }
    return status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
}

static stn_status save(const stn_rules *rules, const char *path, stn_err *err) {
    char *text = NULL;
    stn_status status = stn_rules_text(rules, &text, err);
    if (status == STN_OK) {
        status = write_text(path, text, err);
    }
    stn_text_free(text);
    return status;
}

static stn_status mine(stn_app *app, const mine_args *args, const stn_traces *traces,
                       stn_catalog *catalog, stn_err *err) {
    stn_mine_options options = {.min_support = (uint32_t)args->support, .range_slack = -1};
    stn_rules *rules = NULL;
    stn_progress progress;
    uint64_t begin = stn_now_ns();
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "mining",
                       "events");
    stn_status status = stn_rules_mine(&rules, traces->all, traces->count, &options, catalog,
                                       stn_progress_tick, &progress, err);
    stn_progress_end(&progress);
    if (status == STN_OK) {
        status = save(rules, args->output, err);
    }
    double seconds = (double)(stn_now_ns() - begin) / 1e9;
    uint64_t events = stn_traces_events(traces);
    FILE *to = stn_is_stdout(args->output) ? app->notes : app->out;
    if (status == STN_OK && args->common.json) {
        status = stn_emit_json(to,
                               json_pack("{s:I, s:i, s:i, s:f}", "events", (json_int_t)events,
                                         "traces", (int)traces->count, "rules",
                                         (int)stn_rules_count(rules), "seconds", seconds),
                               err);
    } else if (status == STN_OK && !args->common.quiet) {
        char grouped[32];
        fprintf(to, "%u rules from %s events in %zu trace%s, %.2f s\n", stn_rules_count(rules),
                stn_value_grouped(events, grouped), traces->count, traces->count == 1 ? "" : "s",
                seconds);
    }
    stn_rules_free(rules);
    return status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const mine_args *args = arguments;
    if (args->support > UINT32_MAX) {
        return stn_app_usage(app, err, "--support: at most %u", UINT32_MAX);
    }
    stn_load load = {0};
    stn_status status = stn_load_open(&load, app, &args->common, args->output, err);
    if (status == STN_OK) {
        status = stn_outputs_try_file(args->output, err);
    }
    if (status == STN_OK) {
        status = stn_load_traces(&load, app, &args->common, err);
    }
    if (status == STN_OK) {
        status = mine(app, args, &load.traces, load.catalog, err);
    }
    stn_load_close(&load);
    return status;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(mine_args, output), "FILE",
     "where the rules go, as text; - is standard output", true},
    {"support", 0, STN_OPTION_COUNT, offsetof(mine_args, support), "N",
     "cases that a rule needs (default 50)", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_mine = {
    .group = "kernel",
    .name = "mine",
    .summary = "learn from traces what always holds, as rules",
    .details =
        "Looks for what holds in every one of the traces: successions and pairings per thread and "
        "CPU, sets of values, ranges of values and times. The result is text in the rule language "
        "that check reads, each rule with the number of cases that support it. Mined rules say "
        "what these traces do, not what a kernel must do: another trace may rightly break some.",
    .operands = "TRACE...",
    .operand_min = 1,
    .operand_max = UINT32_MAX,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_FILTER,
    .options = options,
    .args_size = sizeof(mine_args),
    .examples = (const stn_example[]){{"Rules of one workload, from two recordings",
                                       "standin kernel mine examples/backup.run1.txt.zst "
                                       "examples/backup.run2.txt.zst -o backup.rules"},
                                      {"Check a third one by them",
                                       "standin kernel check --rules backup.rules "
                                       "examples/backup.run3.txt.zst || test $? = 3"},
                                      {NULL, NULL}},
    .run = run,
};
