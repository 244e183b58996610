/* standin db merge: several latency databases into one. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/dbs.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/progress.h"
#include "app/value.h"
#include "llm/latdb/form.h"

typedef struct merge_args {
    stn_common common;
    const char *output;
} merge_args;

enum { CONFLICTS_SHOWN = 20 };

typedef struct merging {
    stn_app *app;
    const merge_args *args;
    stn_latdb *into, *from;
    const char *input;
    stn_lat_merged merged;
    stn_progress progress;
    json_t *conflicts;
} merging;

/* ---- conflicts ------------------------------------------------------- */

static const char *row_text(const stn_lat_row *row, const stn_lat_source *source, char *text,
                            size_t size) {
    char time[32];
    char from[400];
    snprintf(text, size, "%s, %s", stn_value_time(stn_lat_row_ns(row), time),
             stn_db_source_text(source, row->line, from, sizeof from));
    return text;
}

static stn_status tell_conflict(void *user, const stn_lat_series *series, const stn_lat_row *there,
                                const stn_lat_row *newcomer, bool replaced, stn_err *err) {
    merging *m = user;
    const char *axes = series->signature->axes;
    stn_lat_source sources[2];
    char texts[4][500];
    if (!m->args->common.json && (m->args->common.quiet || m->merged.conflicts > CONFLICTS_SHOWN)) {
        return STN_OK;
    }
    stn_status status = stn_latdb_source(m->into, there->source, &sources[0], err);
    status =
        status == STN_OK ? stn_latdb_source(m->from, newcomer->source, &sources[1], err) : status;
    if (status != STN_OK) {
        return status;
    }
    if (m->args->common.json) {
        size_t count = stn_lat_axes_count(axes);
        json_array_append_new(m->conflicts,
                              json_pack("{s:o, s:o, s:o, s:o, s:s}", "hardware",
                                        stn_db_id_json(series->hardware->id), "signature",
                                        stn_db_signature_json(series->signature), "there",
                                        stn_db_row_json(there, count, &sources[0]), "newcomer",
                                        stn_db_row_json(newcomer, count, &sources[1]), "kept",
                                        replaced ? "newcomer" : "there"));
        return STN_OK;
    }
    stn_progress_end(&m->progress);
    fprintf(m->app->out, "conflict    %s at %s on %s: %s; and %s; kept the %s\n",
            stn_db_signature_text(series->signature, texts[0], sizeof texts[0]),
            stn_lat_point_text(axes, there->point, texts[1], sizeof texts[1]),
            series->hardware->name, row_text(there, &sources[0], texts[2], sizeof texts[2]),
            row_text(newcomer, &sources[1], texts[3], sizeof texts[3]),
            replaced ? "second" : "first");
    return STN_OK;
}

/* ---- merging --------------------------------------------------------- */

static stn_status merge_all(merging *m, stn_err *err) {
    const stn_texts *inputs = &m->args->common.operands;
    stn_lat_watch watch = {stn_progress_tick, &m->progress};
    stn_status status = stn_latdb_begin(m->into, err);
    for (size_t i = 0; i < inputs->count && status == STN_OK; i++) {
        m->input = inputs->items[i];
        status = stn_latdb_open(&m->from, m->input, STN_LATDB_READ, err);
        if (status == STN_OK) {
            status = stn_latdb_merge(m->into, m->from, tell_conflict, m, &watch, &m->merged, err);
        }
        stn_latdb_close(m->from);
    }
    return status == STN_OK ? stn_latdb_commit(m->into, err) : status;
}

static stn_status print_hardware(void *user, const stn_lat_hardware *hardware, stn_err *err) {
    char text[400];
    (void)err;
    fprintf(user, "            %016" PRIx64 "  %s\n", hardware->id,
            stn_db_hardware_text(hardware, text, sizeof text));
    return STN_OK;
}

static stn_status add_hardware(void *user, const stn_lat_hardware *hardware, stn_err *err) {
    (void)err;
    json_array_append_new(user, stn_db_hardware_json(hardware));
    return STN_OK;
}

static stn_status report(const merging *m, stn_err *err) {
    const stn_lat_merged *d = &m->merged;
    json_t *hardware = json_array();
    stn_status status = stn_latdb_each_hardware(m->into, add_hardware, hardware, err);
    if (status == STN_OK && m->args->common.json) {
        return stn_emit_json(
            m->app->out,
            json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:O}", "rows", (json_int_t)d->rows, "added",
                      (json_int_t)d->added, "duplicates", (json_int_t)d->duplicates, "conflicts",
                      (json_int_t)d->conflicts, "replaced", (json_int_t)d->replaced, "hardware",
                      hardware, "conflict_list", m->conflicts),
            err);
    }
    size_t count = json_array_size(hardware);
    json_decref(hardware);
    if (status != STN_OK || m->args->common.quiet) {
        return status;
    }
    char numbers[4][32];
    if (d->conflicts > CONFLICTS_SHOWN) {
        fprintf(m->app->out, "            and %s more; --json lists them all\n",
                stn_value_grouped(d->conflicts - CONFLICTS_SHOWN, numbers[0]));
    }
    fprintf(m->app->out, "rows        %s, %s of them new\n", stn_value_grouped(d->rows, numbers[0]),
            stn_value_grouped(d->added, numbers[1]));
    fprintf(m->app->out, "duplicates  %s\n", stn_value_grouped(d->duplicates, numbers[0]));
    fprintf(m->app->out, "conflicts   %s, the second kept in %s\n",
            stn_value_grouped(d->conflicts, numbers[0]),
            stn_value_grouped(d->replaced, numbers[1]));
    fprintf(m->app->out, "hardware    %zu%s\n", count, count == 1 ? "" : ", kept apart");
    return stn_latdb_each_hardware(m->into, print_hardware, m->app->out, err);
}

/* Merge into @p place. */
static stn_status merge_into(merging *m, const char *place, stn_err *err) {
    stn_status status = stn_latdb_open(&m->into, place, STN_LATDB_CREATE, err);
    if (status == STN_OK) {
        stn_progress_begin(&m->progress, m->app->notes,
                           m->args->common.quiet || m->args->common.json, "merging", "rows");
        status = merge_all(m, err);
        stn_progress_end(&m->progress);
    }
    return status;
}

/* A file that is not there yet is made beside its place, and gets its name when it is whole. */
static stn_status merge_new(merging *m, const char *path, stn_err *err) {
    char part[4096];
    if (snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid()) >= (int)sizeof part) {
        return stn_err_set(err, STN_ERANGE, "%s: the name is too long", path);
    }
    stn_status status = merge_into(m, part, err);
    stn_latdb_close(m->into);
    m->into = NULL;
    if (status == STN_OK && link(part, path) != 0) { /* unlike rename: never over another file */
        status = stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno));
    }
    unlink(part);
    return status == STN_OK ? stn_latdb_open(&m->into, path, STN_LATDB_READ, err) : status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const merge_args *args = arguments;
    merging m = {.app = app, .args = args};
    struct stat file;
    bool fresh = !strstr(args->output, "://") && stat(args->output, &file) != 0;
    stn_status status = STN_OK;
    for (size_t i = 0; i < args->common.operands.count && status == STN_OK; i++) {
        const char *input = args->common.operands.items[i];
        status = strcmp(input, args->output) == 0
                     ? stn_app_usage(app, err, "%s: is the output already", input)
                     : stn_inputs_guard(app, input, args->output, err);
    }
    if (status != STN_OK) {
        return status;
    }
    m.conflicts = json_array();
    status = fresh ? merge_new(&m, args->output, err) : merge_into(&m, args->output, err);
    status = status == STN_OK ? report(&m, err) : status;
    stn_latdb_close(m.into);
    json_decref(m.conflicts);
    return status;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(merge_args, output), "PLACE",
     "where all goes: a file (made if it is not there, else added to) or postgresql://...", true},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_db_merge = {
    .group = "db",
    .name = "merge",
    .summary = "bring latency databases together",
    .details =
        "Puts all rows of the databases given into that of --output, whole or not at all. A row "
        "that is there already, the same in every column, is taken once. Of two rows that speak of "
        "the same hardware, engine, signature and request point but differ, the one with more "
        "executions behind it stays, else the one that came first; each such conflict is "
        "listed.\n\n"
        "Hardware is kept apart: rows of two machines are never mixed, and the report lists which "
        "machines there are.",
    .operands = "DB...",
    .operand_min = 1,
    .operand_max = UINT32_MAX,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET,
    .options = options,
    .args_size = sizeof(merge_args),
    .examples = (const stn_example[]){{"Two databases into a new one",
                                       "standin db merge examples/latency.db -o all.db"},
                                      {NULL, NULL}},
    .run = run,
};
