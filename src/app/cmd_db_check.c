/* standin db check: is a latency database whole, and can what it says be true? */
#include <inttypes.h>

#include "app/commands.h"
#include "app/dbs.h"
#include "app/emit.h"
#include "app/progress.h"
#include "app/value.h"

typedef struct check_args {
    stn_common common;
    const char *db;
} check_args;

enum { FAULTS_SHOWN = 20 };

typedef struct checking {
    stn_app *app;
    const check_args *args;
    stn_progress progress;
    uint64_t shown;
    json_t *faults;
} checking;

static void tell(void *user, const char *fault) {
    checking *c = user;
    if (c->args->common.json) {
        json_array_append_new(c->faults, json_string(fault));
    } else if (c->shown++ < FAULTS_SHOWN && !c->args->common.quiet) {
        stn_progress_end(&c->progress);
        fprintf(c->app->out, "fault       %s\n", fault);
    }
}

static stn_status report(const checking *c, const stn_lat_checked *d, stn_err *err) {
    stn_status held = d->faults ? STN_ECHECK : STN_OK;
    if (c->args->common.json) {
        stn_status status = stn_emit_json(
            c->app->out,
            json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "hardware",
                      (json_int_t)d->hardware, "engines", (json_int_t)d->engines, "signatures",
                      (json_int_t)d->signatures, "sources", (json_int_t)d->sources, "series",
                      (json_int_t)d->series, "rows", (json_int_t)d->rows, "faults",
                      (json_int_t)d->faults, "fault_list", c->faults),
            err);
        return status == STN_OK ? held : status;
    }
    if (c->args->common.quiet) {
        return held;
    }
    if (d->faults > FAULTS_SHOWN) {
        fprintf(c->app->out, "            and %" PRIu64 " more; --json lists them all\n",
                d->faults - FAULTS_SHOWN);
    }
    char rows[32];
    fprintf(c->app->out,
            "rows        %s\nseries      %" PRIu64 "\nsignatures  %" PRIu64 "\nengines     %" PRIu64
            "\nhardware    %" PRIu64 "\nsources     %" PRIu64 "\nfaults      %" PRIu64 "\n",
            stn_value_grouped(d->rows, rows), d->series, d->signatures, d->engines, d->hardware,
            d->sources, d->faults);
    return held;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const check_args *args = arguments;
    checking c = {.app = app, .args = args};
    stn_lat_checked checked;
    stn_latdb *db;
    stn_status status = stn_db_open(&db, args->db, STN_LATDB_READ, err);
    if (status != STN_OK) {
        return status;
    }
    c.faults = json_array();
    stn_progress_begin(&c.progress, app->notes, args->common.quiet || args->common.json, "checking",
                       "rows");
    stn_lat_watch watch = {stn_progress_tick, &c.progress};
    status = stn_latdb_check(db, tell, &c, &watch, &checked, err);
    stn_progress_end(&c.progress);
    status = status == STN_OK ? report(&c, &checked, err) : status;
    json_decref(c.faults);
    stn_latdb_close(db);
    return status;
}

static const stn_option options[] = {
    STN_DB_OPTION(check_args),
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_db_check = {
    .group = "db",
    .name = "check",
    .summary = "is a latency database whole, and can what it says be true",
    .details =
        "Looks at everything: the database's own integrity, whether each fingerprint is that of "
        "what it stands for, whether what is referred to is there, and values that cannot be: "
        "negative times, times of an hour and more, a smallest time above the median. Ends with "
        "exit code 3 if there is a fault. Nothing is changed.",
    .operands = "",
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET,
    .options = options,
    .args_size = sizeof(check_args),
    .examples =
        (const stn_example[]){{"Check a database", "standin db check --db examples/latency.db"},
                              {NULL, NULL}},
    .run = run,
};
