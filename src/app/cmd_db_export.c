/* standin db export: rows of a latency database as CSV. */
#include <string.h>

#include "app/commands.h"
#include "app/dbs.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/progress.h"
#include "app/value.h"

typedef struct export_args {
    stn_common common;
    const char *db, *output, *hardware, *engine, *signature;
} export_args;

static stn_status write(stn_app *app, const export_args *args, stn_latdb *db, stn_err *err) {
    const char *path = args->output ? args->output : "-";
    stn_lat_filter filter = {0};
    uint64_t rows = 0;
    stn_status status = stn_db_hardware(app, db, args->hardware, &filter.hardware, err);
    status = status == STN_OK ? stn_db_engine(app, db, args->engine, &filter.engine, err) : status;
    status = status == STN_OK ? stn_db_signature(app, db, args->signature, &filter.signature, err)
                              : status;
    if (status != STN_OK) {
        return status;
    }
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "exporting",
                       "rows");
    stn_lat_watch watch = {stn_progress_tick, &progress};
    status = stn_latdb_export_csv(db, &filter, path, &watch, &rows, err);
    stn_progress_end(&progress);
    if (status != STN_OK || stn_is_stdout(path)) {
        return status;
    }
    if (args->common.json) {
        return stn_emit_json(app->out, json_pack("{s:I}", "rows", (json_int_t)rows), err);
    }
    char count[32];
    if (!args->common.quiet) {
        fprintf(app->out, "rows        %s\n", stn_value_grouped(rows, count));
    }
    return STN_OK;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const export_args *args = arguments;
    stn_latdb *db = NULL;
    char place[4096];
    stn_status status = args->common.json && (!args->output || stn_is_stdout(args->output))
                            ? stn_app_usage(app, err, "--json: needs --output for the rows")
                            : stn_db_place(args->db, false, place, sizeof place, err);
    if (status == STN_OK && args->output) {
        status = stn_inputs_guard(app, place, args->output, err);
    }
    status = status == STN_OK ? stn_latdb_open(&db, place, STN_LATDB_READ, err) : status;
    status = status == STN_OK ? write(app, args, db, err) : status;
    stn_latdb_close(db);
    return status;
}

static const stn_option options[] = {
    STN_DB_OPTION(export_args),
    {"output", 'o', STN_OPTION_TEXT, offsetof(export_args, output), "FILE",
     "where the rows go (.gz and .zst are compressed); else standard output", false},
    {"hardware", 0, STN_OPTION_TEXT, offsetof(export_args, hardware), "WHICH",
     "only rows of this: a piece of its name, digits of its fingerprint, or \"this\"", false},
    {"engine", 0, STN_OPTION_TEXT, offsetof(export_args, engine), "WHICH",
     "only rows of this: a piece of its name or digits of its fingerprint", false},
    {"signature", 0, STN_OPTION_TEXT, offsetof(export_args, signature), "WHICH",
     "only rows of this: digits of its fingerprint", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_db_export = {
    .group = "db",
    .name = "export",
    .summary = "rows as CSV, each with all that it belongs to",
    .details = "Writes one line a row, with its hardware, engine, signature, request point, times "
               "and source in full, so that a line can be read by itself. "
               "docs/formats/latency-database.md says what the columns are.",
    .operands = "",
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET,
    .options = options,
    .args_size = sizeof(export_args),
    .examples =
        (const stn_example[]){
            {"All rows", "standin db export --db examples/latency.db -o rows.csv"}, {NULL, NULL}},
    .run = run,
};
