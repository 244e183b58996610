/* standin db ls: what a latency database holds. */
#include <inttypes.h>
#include <string.h>

#include "app/commands.h"
#include "app/dbs.h"
#include "app/emit.h"
#include "app/value.h"
#include "core/base/map.h"

typedef struct ls_args {
    stn_common common;
    const char *db, *hardware;
    bool all;
} ls_args;

/* Series come by hardware, then by engine: a pair of them is one line. */
typedef struct listing {
    const ls_args *args;
    FILE *out;
    stn_lat_id here; /* this machine */
    stn_lat_id hardware, engine;
    char engine_text[400];
    uint64_t signatures, rows; /* of the pair */
    uint64_t rows_total;
    stn_map seen; /* hardware, engines, signatures: 1, 2, 3 */
    uint64_t counts[4];
    json_t *groups, *hardware_list, *engine_list, *series_list;
} listing;

/* Count what is met for the first time. @return false: out of memory */
static bool meet(listing *l, stn_lat_id id, uint64_t kind, bool *first) {
    uint64_t *slot = stn_map_put(&l->seen, id, first);
    if (slot && *first) {
        *slot = kind;
        l->counts[kind]++;
    }
    return slot != NULL;
}

static void end_pair(listing *l) {
    char rows[32];
    if (!l->engine) {
        return;
    }
    if (l->args->common.json) {
        json_array_append_new(
            l->groups, json_pack("{s:o, s:o, s:I, s:I}", "hardware", stn_db_id_json(l->hardware),
                                 "engine", stn_db_id_json(l->engine), "signatures",
                                 (json_int_t)l->signatures, "rows", (json_int_t)l->rows));
    } else if (!l->args->all) {
        fprintf(l->out, "  %016" PRIx64 "  %-44s %10" PRIu64 " %12s\n", l->engine, l->engine_text,
                l->signatures, stn_value_grouped(l->rows, rows));
    }
    l->signatures = l->rows = 0;
}

static void begin_hardware(listing *l, const stn_lat_hardware *hardware) {
    char text[400];
    fprintf(l->out, "\n%s %016" PRIx64 "  %s%s\n", hardware->kind, hardware->id,
            stn_db_hardware_text(hardware, text, sizeof text),
            hardware->id == l->here ? " (this machine)" : "");
    if (!l->args->all) {
        fprintf(l->out, "  %-16s  %-44s %10s %12s\n", "engine", "", "signatures", "rows");
    }
}

static void print_series(listing *l, const stn_lat_series *series, bool new_hardware,
                         bool new_pair) {
    char text[600];
    char rows[32];
    if (new_hardware) {
        begin_hardware(l, series->hardware);
    }
    if (l->args->all && new_pair) {
        fprintf(l->out, "  %s (%016" PRIx64 ")\n", l->engine_text, l->engine);
    }
    if (l->args->all) {
        fprintf(l->out, "    %016" PRIx64 "  %-44s %12s\n", series->signature->id,
                stn_db_signature_text(series->signature, text, sizeof text),
                stn_value_grouped(series->rows, rows));
    }
}

static void add_series_json(listing *l, const stn_lat_series *series, bool new_hardware,
                            bool new_engine) {
    if (new_hardware) {
        json_array_append_new(l->hardware_list, stn_db_hardware_json(series->hardware));
    }
    if (new_engine) {
        json_array_append_new(l->engine_list, stn_db_engine_json(series->engine));
    }
    json_array_append_new(l->series_list, json_pack("{s:o, s:o, s:o, s:I}", "hardware",
                                                    stn_db_id_json(series->hardware->id), "engine",
                                                    stn_db_id_json(series->engine->id), "signature",
                                                    stn_db_signature_json(series->signature),
                                                    "rows", (json_int_t)series->rows));
}

static stn_status list_series(void *user, const stn_lat_series *series, stn_err *err) {
    listing *l = user;
    bool first[4];
    if (!meet(l, series->hardware->id, 1, &first[1]) ||
        !meet(l, series->engine->id, 2, &first[2]) ||
        !meet(l, series->signature->id, 3, &first[3])) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    bool new_pair = first[1] || l->engine != series->engine->id;
    if (new_pair) {
        end_pair(l);
        l->hardware = series->hardware->id;
        l->engine = series->engine->id;
        stn_db_engine_text(series->engine, l->engine_text, sizeof l->engine_text);
    }
    if (l->args->common.json) {
        add_series_json(l, series, first[1], first[2]);
    } else {
        print_series(l, series, first[1], new_pair);
    }
    l->signatures++;
    l->rows += series->rows;
    l->rows_total += series->rows;
    return STN_OK;
}

static stn_status finish(stn_app *app, listing *l, const stn_latdb *db, stn_err *err) {
    end_pair(l);
    if (l->args->common.json) {
        return stn_emit_json(
            app->out,
            json_pack("{s:s, s:s, s:I, s:o, s:I, s:I, s:O, s:O, s:O, s:O}", "database",
                      stn_latdb_place(db), "backend", stn_latdb_backend(db), "schema",
                      (json_int_t)stn_latdb_schema(db), "this_hardware", stn_db_id_json(l->here),
                      "signatures", (json_int_t)l->counts[3], "rows", (json_int_t)l->rows_total,
                      "hardware", l->hardware_list, "engines", l->engine_list, "groups", l->groups,
                      "series", l->series_list),
            err);
    }
    char rows[32];
    fprintf(app->out,
            "%s%s rows; %" PRIu64 " hardware, %" PRIu64 " engine%s, %" PRIu64 " signature%s\n",
            l->rows_total ? "\n" : "", stn_value_grouped(l->rows_total, rows), l->counts[1],
            l->counts[2], l->counts[2] == 1 ? "" : "s", l->counts[3], l->counts[3] == 1 ? "" : "s");
    return STN_OK;
}

static stn_status list(stn_app *app, const ls_args *args, stn_latdb *db, stn_err *err) {
    stn_lat_machine machine;
    stn_err none = {{0}};
    listing l = {.args = args, .out = app->out};
    l.here = stn_lat_machine_detect(&machine, "", &none) == STN_OK ? machine.hardware.id : 0;
    l.groups = json_array();
    l.hardware_list = json_array();
    l.engine_list = json_array();
    l.series_list = json_array();
    stn_lat_filter filter = {0};
    stn_status status = stn_db_hardware(app, db, args->hardware, &filter.hardware, err);
    if (status == STN_OK && !args->common.json) {
        fprintf(app->out, "%s: %s, schema %" PRIu32 "\n", stn_latdb_place(db),
                stn_latdb_backend(db), stn_latdb_schema(db));
    }
    status = status == STN_OK ? stn_latdb_each_series(db, &filter, list_series, &l, err) : status;
    status = status == STN_OK ? finish(app, &l, db, err) : status;
    json_decref(l.groups);
    json_decref(l.hardware_list);
    json_decref(l.engine_list);
    json_decref(l.series_list);
    stn_map_fini(&l.seen);
    return status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const ls_args *args = arguments;
    stn_latdb *db;
    stn_status status = stn_db_open(&db, args->db, STN_LATDB_READ, err);
    status = status == STN_OK ? list(app, args, db, err) : status;
    stn_latdb_close(db);
    return status;
}

static const stn_option options[] = {
    STN_DB_OPTION(ls_args),
    {"hardware", 0, STN_OPTION_TEXT, offsetof(ls_args, hardware), "WHICH",
     "only this: a piece of its name, digits of its fingerprint, or \"this\"", false},
    {"all", 'a', STN_OPTION_FLAG, offsetof(ls_args, all), NULL, "each signature, too", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_db_ls = {
    .group = "db",
    .name = "ls",
    .summary = "which hardware and engines were measured, and how much",
    .details = "Lists each hardware with the engines that ran on it, and how many operation "
               "signatures and rows there are of each; with --all the signatures, too, whose "
               "fingerprints standin db show takes.",
    .operands = "",
    .shared = STN_SHARED_JSON,
    .options = options,
    .args_size = sizeof(ls_args),
    .examples =
        (const stn_example[]){{"What is in a database", "standin db ls --db examples/latency.db"},
                              {"Each signature", "standin db ls --db examples/latency.db --all"},
                              {NULL, NULL}},
    .run = run,
};
