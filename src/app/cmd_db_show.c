/* standin db show: the rows of one signature, on one hardware. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "app/commands.h"
#include "app/dbs.h"
#include "app/emit.h"
#include "app/value.h"
#include "llm/latdb/form.h"

typedef struct show_args {
    stn_common common;
    const char *db, *hardware, *engine;
} show_args;

typedef struct showing {
    stn_app *app;
    const show_args *args;
    stn_latdb *db;
    stn_lat_id hardware; /* shown already, 0: none */
    json_t *engines;
} showing;

/* ---- which hardware -------------------------------------------------- */

typedef struct places {
    unsigned count;
    stn_lat_id last;
    char names[600];
} places;

static stn_status add_place(void *user, const stn_lat_series *series, stn_err *err) {
    places *p = user;
    char text[200];
    (void)err;
    if (series->hardware->id != p->last) {
        size_t used = strlen(p->names);
        snprintf(p->names + used, sizeof p->names - used, "%s%016" PRIx64 " %s",
                 p->count ? "; " : "", series->hardware->id,
                 stn_db_hardware_text(series->hardware, text, sizeof text));
        p->last = series->hardware->id;
        p->count++;
    }
    return STN_OK;
}

/* Rows of different hardware are not shown together: one has to be named if there are several. */
static stn_status one_hardware(stn_app *app, stn_latdb *db, const stn_lat_filter *filter,
                               stn_err *err) {
    places p = {0};
    stn_status status = stn_latdb_each_series(db, filter, add_place, &p, err);
    if (status == STN_OK && p.count == 0) {
        return stn_err_set(err, STN_ENOTFOUND, "%s: has no such rows of signature %016" PRIx64,
                           stn_latdb_place(db), filter->signature);
    }
    return status == STN_OK && p.count > 1
               ? stn_app_usage(app, err, "measured on %u hardware; name one with --hardware: %s",
                               p.count, p.names)
               : status;
}

/* ---- output ---------------------------------------------------------- */

static const char *time_text(double ns, char buffer[32]) {
    return isnan(ns) ? "-" : stn_value_time(ns, buffer);
}

static stn_status print_row(const showing *s, const char *axes, const stn_lat_row *row,
                            const stn_lat_source *source) {
    char point[300];
    char times[4][32];
    char count[32];
    char from[600];
    fprintf(s->app->out, "  %-28s %10s %10s %10s %10s %8s  %s\n",
            stn_lat_point_text(axes, row->point, point, sizeof point),
            time_text(stn_lat_row_ns(row), times[0]), time_text(row->min_ns, times[1]),
            time_text(row->max_ns, times[2]), time_text(row->std_ns, times[3]),
            row->count ? stn_value_grouped(row->count, count) : "-",
            stn_db_source_text(source, row->line, from, sizeof from));
    return STN_OK;
}

static stn_status each_row(const showing *s, const stn_lat_series *series, json_t *list,
                           stn_err *err) {
    stn_lat_row *rows;
    size_t count;
    size_t axes = stn_lat_axes_count(series->signature->axes);
    stn_lat_source source;
    stn_status status = stn_latdb_rows(s->db, series->hardware->id, series->engine->id,
                                       series->signature->id, &rows, &count, err);
    for (size_t i = 0; i < count && status == STN_OK; i++) {
        status = stn_latdb_source(s->db, rows[i].source, &source, err);
        if (status != STN_OK) {
            break;
        }
        if (list) {
            json_array_append_new(list, stn_db_row_json(&rows[i], axes, &source));
        } else {
            status = print_row(s, series->signature->axes, &rows[i], &source);
        }
    }
    stn_lat_rows_free(rows);
    return status;
}

static stn_status show_series(void *user, const stn_lat_series *series, stn_err *err) {
    showing *s = user;
    char text[600];
    if (s->args->common.json) {
        json_t *rows = json_array();
        stn_status status = each_row(s, series, rows, err);
        json_array_append_new(
            s->engines,
            json_pack("{s:o, s:o}", "engine", stn_db_engine_json(series->engine), "rows", rows));
        return status;
    }
    if (!s->hardware) {
        fprintf(s->app->out, "signature   %s\n",
                stn_db_signature_text(series->signature, text, sizeof text));
        fprintf(s->app->out, "hardware    %s (%016" PRIx64 ")\n",
                stn_db_hardware_text(series->hardware, text, sizeof text), series->hardware->id);
        s->hardware = series->hardware->id;
    }
    fprintf(s->app->out, "engine      %s\n", stn_db_engine_text(series->engine, text, sizeof text));
    fprintf(s->app->out, "  %-28s %10s %10s %10s %10s %8s  %s\n", series->signature->axes, "time",
            "min", "max", "std", "count", "source");
    return each_row(s, series, NULL, err);
}

static stn_status show_json(showing *s, const stn_lat_filter *filter, stn_err *err) {
    stn_lat_signature signature;
    stn_lat_hardware hardware;
    places p = {0};
    s->engines = json_array();
    stn_status status = stn_latdb_each_series(s->db, filter, add_place, &p, err);
    status = status == STN_OK ? stn_latdb_hardware(s->db, p.last, &hardware, err) : status;
    status =
        status == STN_OK ? stn_latdb_signature(s->db, filter->signature, &signature, err) : status;
    status = status == STN_OK ? stn_latdb_each_series(s->db, filter, show_series, s, err) : status;
    if (status != STN_OK) {
        json_decref(s->engines);
        return status;
    }
    return stn_emit_json(s->app->out,
                         json_pack("{s:o, s:o, s:o}", "signature",
                                   stn_db_signature_json(&signature), "hardware",
                                   stn_db_hardware_json(&hardware), "engines", s->engines),
                         err);
}

static stn_status show(stn_app *app, const show_args *args, stn_latdb *db, stn_err *err) {
    showing s = {.app = app, .args = args, .db = db};
    stn_lat_filter filter = {0};
    stn_status status =
        stn_db_signature(app, db, args->common.operands.items[0], &filter.signature, err);
    status =
        status == STN_OK ? stn_db_hardware(app, db, args->hardware, &filter.hardware, err) : status;
    status = status == STN_OK ? stn_db_engine(app, db, args->engine, &filter.engine, err) : status;
    status = status == STN_OK ? one_hardware(app, db, &filter, err) : status;
    if (status != STN_OK) {
        return status;
    }
    return args->common.json ? show_json(&s, &filter, err)
                             : stn_latdb_each_series(db, &filter, show_series, &s, err);
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const show_args *args = arguments;
    stn_latdb *db;
    stn_status status = stn_db_open(&db, args->db, STN_LATDB_READ, err);
    status = status == STN_OK ? show(app, args, db, err) : status;
    stn_latdb_close(db);
    return status;
}

static const stn_option options[] = {
    STN_DB_OPTION(show_args),
    {"hardware", 0, STN_OPTION_TEXT, offsetof(show_args, hardware), "WHICH",
     "where it was measured: a piece of the name, digits of the fingerprint, or \"this\"", false},
    {"engine", 0, STN_OPTION_TEXT, offsetof(show_args, engine), "WHICH",
     "what ran it: a piece of the name or digits of the fingerprint", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_db_show = {
    .group = "db",
    .name = "show",
    .summary = "the measured times of one operation signature",
    .details =
        "Prints the rows of one signature, by rising request point: time (the median, or the "
        "mean where no median is known), smallest, largest, standard deviation, how many "
        "executions, and who says so. SIGNATURE is the first four or more digits of its "
        "fingerprint, which standin db ls --all lists.\n\n"
        "Rows of different hardware are never shown together: if there are several, "
        "--hardware has to name one.",
    .operands = "SIGNATURE",
    .operand_min = 1,
    .operand_max = 1,
    .shared = STN_SHARED_JSON,
    .options = options,
    .args_size = sizeof(show_args),
    .examples = (const stn_example[]){{"The times of a matrix product",
                                       "standin db show 26a2 --db examples/latency.db"},
                                      {NULL, NULL}},
    .run = run,
};
