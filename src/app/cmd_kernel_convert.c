/* standin kernel convert: one format to another, event by event. */
#include <string.h>

#include <standin/trace.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/progress.h"
#include "app/value.h"

typedef struct convert_args {
    stn_common common;
    const char *to;
    uint64_t max_events;
    bool verify;
} convert_args;

typedef struct convert_counts {
    uint64_t events_in, events_out, lost_events;
    stn_written written;
    char format_in[32];
} convert_counts;

/* @param in  what an event that cannot be written as it is came from */
static stn_status copy(stn_reader *reader, stn_writer *writer, const char *in,
                       stn_progress *progress, stn_err *err) {
    for (uint64_t n = 1;; n++) {
        stn_event event;
        stn_status status = stn_reader_next(reader, &event, err);
        if (status == STN_END) {
            return STN_OK;
        }
        if (status != STN_OK) {
            return status;
        }
        status = stn_writer_write(writer, &event, err);
        if (status != STN_OK) {
            return status == STN_EFORMAT ? stn_err_prepend(err, status, "%s", in) : status;
        }
        if (n % 4096 == 0 && !stn_progress_tick(progress, n, 0)) {
            return stn_err_set(err, STN_EINTR, "interrupted");
        }
    }
}

/* Read back what was written and count. */
static stn_status count_events(const char *path, const char *format, uint64_t *count,
                               stn_err *err) {
    stn_catalog *catalog = NULL;
    stn_reader *reader = NULL;
    stn_status status = stn_catalog_new(&catalog, err);
    if (status == STN_OK) {
        status = stn_reader_open(&reader, path, format, NULL, catalog, err);
    }
    stn_event event;
    while (status == STN_OK) {
        status = stn_reader_next(reader, &event, err);
    }
    if (status == STN_END) {
        *count = stn_reader_meta(reader)->event_count;
        status = STN_OK;
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
    return status == STN_OK ? status : stn_err_prepend(err, status, "reading back");
}

static stn_status transfer(stn_app *app, const convert_args *args, stn_reader *reader,
                           stn_catalog *catalog, convert_counts *counts, stn_err *err) {
    const char *out = args->common.operands.items[1];
    stn_writer_options options = {.max_events = args->max_events, .written = &counts->written};
    stn_writer *writer = NULL;
    stn_status status =
        stn_writer_open(&writer, out, args->to, catalog, stn_reader_meta(reader), &options, err);
    if (status != STN_OK) {
        return status;
    }
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "converting",
                       "events");
    status = copy(reader, writer, args->common.operands.items[0], &progress, err);
    stn_progress_end(&progress);
    if (status != STN_OK) {
        stn_writer_abort(writer);
        return status;
    }
    const stn_trace_meta *meta = stn_reader_meta(reader);
    counts->events_in = meta->event_count;
    counts->lost_events = meta->lost_count;
    snprintf(counts->format_in, sizeof counts->format_in, "%s", meta->format);
    status = stn_writer_commit(writer, err);
    counts->events_out = counts->written.events;
    if (status == STN_OK && args->verify) {
        status = count_events(out, args->to, &counts->events_out, err);
    }
    return status;
}

static stn_status report(stn_app *app, const convert_args *args, const convert_counts *counts,
                         stn_err *err) {
    FILE *to = stn_is_stdout(args->common.operands.items[1]) ? app->notes : app->out;
    if (args->common.json) {
        bool drawn = counts->written.items_of > 0;
        json_t *items = drawn ? json_integer((json_int_t)counts->written.items) : json_null();
        json_t *of = drawn ? json_integer((json_int_t)counts->written.items_of) : json_null();
        return stn_emit_json(to,
                             json_pack("{s:I, s:I, s:I, s:s, s:o, s:o}", "events_in",
                                       (json_int_t)counts->events_in, "events_out",
                                       (json_int_t)counts->events_out, "lost_events",
                                       (json_int_t)counts->lost_events, "format", counts->format_in,
                                       "items", items, "items_of", of),
                             err);
    }
    if (!args->common.quiet) {
        char in[32];
        char out[32];
        char lost[32];
        fprintf(to, "events in  %s\nevents out %s", stn_value_grouped(counts->events_in, in),
                stn_value_grouped(counts->events_out, out));
        if (counts->written.items_of > 0) {
            fprintf(to, ", in %s of %s items", stn_value_grouped(counts->written.items, in),
                    stn_value_grouped(counts->written.items_of, out));
        }
        fprintf(to, "\nlost       %s\n", stn_value_grouped(counts->lost_events, lost));
    }
    return STN_OK;
}

/* Does @p name end in @p ending, compressed or not? */
static bool ends_in(const char *name, const char *ending) {
    static const char *const packed[] = {"", ".gz", ".zst"};
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        char whole[32];
        snprintf(whole, sizeof whole, "%s%s", ending, packed[i]);
        size_t size = strlen(whole);
        if (strlen(name) > size && strcmp(name + strlen(name) - size, whole) == 0) {
            return true;
        }
    }
    return false;
}

/* Is OUT in a format (@p to, else its ending's) that is written only? */
static bool write_only(const char *out, const char *to) {
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        stn_format_info info = stn_format_at(i);
        if (!info.reads && (to ? strcmp(to, info.name) == 0 : ends_in(out, info.extension))) {
            return true;
        }
    }
    return false;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const convert_args *args = arguments;
    const char *in = args->common.operands.items[0];
    const char *out = args->common.operands.items[1];
    if (args->verify && stn_is_stdout(out)) {
        return stn_app_usage(app, err, "--verify: standard output cannot be read back");
    }
    if (args->verify && write_only(out, args->to)) {
        return stn_app_usage(app, err, "--verify: %s would be in a format that is not read", out);
    }
    stn_status status = stn_inputs_guard(app, in, out, err);
    if (status == STN_OK) {
        status = stn_inputs_format(app, "--to", args->to, true, err);
    }
    stn_selection selection = {0};
    stn_catalog *catalog = NULL;
    stn_reader *reader = NULL;
    convert_counts counts = {0};
    if (status == STN_OK) {
        status = stn_selection_init(&selection, app, &args->common, err);
    }
    if (status == STN_OK) {
        status = stn_catalog_new(&catalog, err);
    }
    if (status == STN_OK) {
        status = stn_inputs_open(&reader, in, &selection, catalog, err);
    }
    if (status == STN_OK) {
        status = transfer(app, args, reader, catalog, &counts, err);
    }
    if (status == STN_OK) {
        status = report(app, args, &counts, err);
    }
    if (status == STN_OK && counts.events_in != counts.events_out && args->max_events == 0) {
        status = stn_err_set(err, STN_EFORMAT, "%s: %llu events came in and %llu went out", out,
                             (unsigned long long)counts.events_in,
                             (unsigned long long)counts.events_out);
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
    stn_selection_fini(&selection);
    return status;
}

static const stn_option options[] = {
    {"to", 0, STN_OPTION_TEXT, offsetof(convert_args, to), "FORMAT",
     "format to write, instead of taking it from the ending of OUT", false},
    {"max-events", 0, STN_OPTION_COUNT, offsetof(convert_args, max_events), "N",
     "JSON only: keep N items, evenly over time; an item is one event or two that belong together",
     false},
    {"verify", 0, STN_OPTION_FLAG, offsetof(convert_args, verify), NULL,
     "read OUT back and count its events", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_convert = {
    .group = "kernel",
    .name = "convert",
    .summary = "write a trace in another format",
    .details =
        "Reads IN and writes OUT event by event, in bounded memory. Unknown events are carried "
        "with all their fields. Prints how many events came in and went out, which must agree "
        "(exit code 1 otherwise) unless --max-events leaves some out, and how many the tracer says "
        "it lost. OUT may be - for standard output; the figures then go to standard error. IN is "
        "never written over.",
    .operands = "IN OUT",
    .operand_min = 2,
    .operand_max = 2,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_FILTER,
    .options = options,
    .args_size = sizeof(convert_args),
    .examples =
        (const stn_example[]){
            {"Open a recording in Trace Compass or babeltrace2",
             "standin kernel convert examples/backup.run3.txt.zst run3.ctf"},
            {"Half a second of it for Perfetto",
             "standin kernel convert --time 0..500ms examples/backup.run3.txt.zst run3.json"},
            {NULL, NULL}},
    .run = run,
};
