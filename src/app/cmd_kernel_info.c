/* standin kernel info: what a trace holds. */
#include <inttypes.h>
#include <string.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/progress.h"
#include "app/value.h"
#include "kernel/trace/summary.h"

typedef struct info_args {
    stn_common common;
    uint64_t top;
} info_args;

static stn_status collect(stn_reader *reader, stn_summary *summary, stn_progress *progress,
                          stn_err *err) {
    for (uint64_t n = 1;; n++) {
        stn_event event;
        stn_status status = stn_reader_next(reader, &event, err);
        if (status == STN_END) {
            stn_summary_finish(summary);
            return STN_OK;
        }
        if (status == STN_OK) {
            status = stn_summary_add(summary, &event, err);
        }
        if (status == STN_OK && n % 4096 == 0 && !stn_progress_tick(progress, n, 0)) {
            status = stn_err_set(err, STN_EINTR, "interrupted");
        }
        if (status != STN_OK) {
            return status;
        }
    }
}

static double seconds_of(const stn_summary *s) {
    return (double)(s->end_ns - s->begin_ns) / 1e9;
}

static double rate_of(const stn_summary *s) {
    double seconds = seconds_of(s);
    return seconds > 0 ? (double)s->events / seconds : 0;
}

static json_t *json_types(const stn_summary *s) {
    json_t *types = json_object();
    for (size_t i = 0; i < s->type_count; i++) {
        json_object_set_new(types, stn_catalog_text(s->catalog, s->types[i].name),
                            json_integer((json_int_t)s->types[i].count));
    }
    return types;
}

static json_t *json_syscalls(const stn_summary *s) {
    json_t *calls = json_object();
    for (size_t i = 0; i < s->syscall_count; i++) {
        const stn_syscall_count *call = &s->syscalls[i];
        json_object_set_new(calls, stn_catalog_text(s->catalog, call->name),
                            json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)call->count,
                                      "timed", (json_int_t)call->durations->count, "p50_ns",
                                      (json_int_t)stn_quantiles_at(call->durations, 0.5), "p99_ns",
                                      (json_int_t)stn_quantiles_at(call->durations, 0.99)));
    }
    return calls;
}

static stn_status print_json(stn_app *app, const stn_summary *s, const stn_trace_meta *meta,
                             stn_err *err) {
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:i, s:I, s:I, s:I, s:s, s:f, s:I, s:s, s:s, s:s}", "events",
                  (json_int_t)s->events, "lost_events", (json_int_t)meta->lost_count, "event_types",
                  (json_int_t)s->type_count, "cpus", (int)s->cpu_count, "threads",
                  (json_int_t)s->thread_count, "begin_ns", (json_int_t)s->begin_ns, "end_ns",
                  (json_int_t)s->end_ns, "format", meta->format, "events_per_s", rate_of(s),
                  "lost_marks", (json_int_t)meta->lost_marks, "clock", meta->clock, "host",
                  meta->host, "tracer", meta->tracer);
    if (object) {
        json_object_set_new(object, "types", json_types(s));
        json_object_set_new(object, "syscalls", json_syscalls(s));
    }
    return stn_emit_json(app->out, object, err);
}

static void print_head(FILE *out, const stn_summary *s, const stn_trace_meta *meta) {
    char number[32];
    fprintf(out, "format      %s", meta->format);
    if (strcmp(meta->tracer, meta->format) != 0) {
        fprintf(out, "%s%s", meta->tracer[0] ? ", " : "", meta->tracer);
    }
    fprintf(out, "%s%s", meta->host[0] ? ", host " : "", meta->host);
    fprintf(out, "%s%s\n", meta->clock[0] ? ", clock " : "", meta->clock);
    fprintf(out, "events      %s (%.0f/s)\n", stn_value_grouped(s->events, number), rate_of(s));
    fprintf(out, "lost        %s", stn_value_grouped(meta->lost_count, number));
    if (meta->lost_marks) {
        fprintf(out, " in %s stretches", stn_value_grouped(meta->lost_marks, number));
    }
    fprintf(out, "\nspan        %.6f s (%" PRIu64 ".%09" PRIu64 " to %" PRIu64 ".%09" PRIu64 ")\n",
            seconds_of(s), s->begin_ns / 1000000000, s->begin_ns % 1000000000,
            s->end_ns / 1000000000, s->end_ns % 1000000000);
    fprintf(out, "CPUs        %" PRIu32 "\n", s->cpu_count);
    fprintf(out, "threads     %s\n", stn_value_grouped(s->thread_count, number));
    fprintf(out, "switches    %s\n", stn_value_grouped(s->switches, number));
    fprintf(out, "types       %zu\n", s->type_count);
}

static void print_text(FILE *out, const stn_summary *s, const stn_trace_meta *meta, uint64_t top) {
    char number[32];
    char p50[32];
    char p99[32];
    print_head(out, s, meta);
    if (s->type_count) {
        fprintf(out, "\n%-28s %12s %7s\n", "event type", "count", "share");
    }
    for (size_t i = 0; i < s->type_count && i < top; i++) {
        fprintf(out, "%-28s %12s %6.2f%%\n", stn_catalog_text(s->catalog, s->types[i].name),
                stn_value_grouped(s->types[i].count, number),
                100.0 * (double)s->types[i].count / (double)s->events);
    }
    if (s->type_count > top) {
        fprintf(out, "... and %zu more types\n", s->type_count - (size_t)top);
    }
    if (s->syscall_count) {
        fprintf(out, "\n%-28s %12s %10s %10s\n", "system call", "count", "p50", "p99");
    }
    for (size_t i = 0; i < s->syscall_count && i < top; i++) {
        const stn_syscall_count *call = &s->syscalls[i];
        bool timed = call->durations->count > 0;
        fprintf(out, "%-28s %12s %10s %10s\n", stn_catalog_text(s->catalog, call->name),
                stn_value_grouped(call->count, number),
                timed ? stn_value_time((double)stn_quantiles_at(call->durations, 0.5), p50) : "-",
                timed ? stn_value_time((double)stn_quantiles_at(call->durations, 0.99), p99) : "-");
    }
    if (s->syscall_count > top) {
        fprintf(out, "... and %zu more system calls\n", s->syscall_count - (size_t)top);
    }
}

static stn_status look(stn_app *app, const info_args *args, stn_reader *reader,
                       stn_catalog *catalog, stn_err *err) {
    stn_summary summary;
    stn_summary_init(&summary, catalog);
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "reading",
                       "events");
    stn_status status = collect(reader, &summary, &progress, err);
    stn_progress_end(&progress);
    if (status == STN_OK && args->common.json) {
        status = print_json(app, &summary, stn_reader_meta(reader), err);
    } else if (status == STN_OK) {
        print_text(app->out, &summary, stn_reader_meta(reader), args->top ? args->top : 15);
    }
    stn_summary_fini(&summary);
    return status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const info_args *args = arguments;
    stn_selection selection = {0};
    stn_catalog *catalog = NULL;
    stn_reader *reader = NULL;
    stn_status status = stn_selection_init(&selection, app, &args->common, err);
    if (status == STN_OK) {
        status = stn_catalog_new(&catalog, err);
    }
    if (status == STN_OK) {
        status = stn_inputs_open(&reader, args->common.operands.items[0], &selection, catalog, err);
    }
    if (status == STN_OK) {
        status = look(app, args, reader, catalog, err);
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
    stn_selection_fini(&selection);
    return status;
}

static const stn_option options[] = {
    {"top", 0, STN_OPTION_COUNT, offsetof(info_args, top), "N",
     "show the N most frequent types and system calls (default 15)", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_info = {
    .group = "kernel",
    .name = "info",
    .summary = "what a trace holds",
    .details =
        "Reads the whole trace in bounded memory and prints its events, their rate, what was lost, "
        "time span, CPUs, threads, the most frequent event types, and the most frequent system "
        "calls with how long they took (median and 99th percentile, exact to 3 %). Threads are "
        "those seen running, without the idle tasks. TRACE is a file of any format, or the folder "
        "of a CTF trace.",
    .operands = "TRACE",
    .operand_min = 1,
    .operand_max = 1,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_FILTER,
    .options = options,
    .args_size = sizeof(info_args),
    .examples =
        (const stn_example[]){
            {"What a recording holds", "standin kernel info examples/backup.run3.txt.zst"},
            {"Only the disk's part of it",
             "standin kernel info --event 'block_*' examples/backup.run3.txt.zst"},
            {NULL, NULL}},
    .run = run,
};
