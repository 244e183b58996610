/* standin kernel record: the running kernel into a trace.dat file. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/outputs.h"
#include "app/progress.h"
#include "app/value.h"
#include "kernel/trace/record.h"

typedef struct record_args {
    stn_common common;
    const char *output;
    stn_texts events;
    uint64_t duration_ns, buffer_size;
    stn_numbers cpus;
} record_args;

/* Milliseconds are fine enough for the progress line. */
static bool tick(void *user, uint64_t done_ns, uint64_t total_ns) {
    return stn_progress_tick(user, done_ns / 1000000, total_ns / 1000000);
}

static stn_status print_json(stn_app *app, const stn_record_stats *s, stn_err *err) {
    json_t *object = json_pack(
        "{s:I, s:I, s:f, s:I, s:i, s:i, s:i, s:b}", "events", (json_int_t)s->events, "lost_events",
        (json_int_t)s->lost_events, "seconds", (double)s->duration_ns / 1e9, "bytes",
        (json_int_t)s->size, "tracepoints", (int)s->enabled, "tracepoints_missing", (int)s->missing,
        "cpus", (int)s->cpu_count, "stopped", s->stopped);
    if (object && s->command_ran) {
        int status = s->command_status;
        json_object_set_new(object, "command_exit_code",
                            WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null());
        json_object_set_new(object, "command_signal",
                            WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null());
    }
    return stn_emit_json(app->out, object, err);
}

static void print_text(FILE *out, const char *path, const stn_record_stats *s) {
    char events[32];
    char lost[32];
    double seconds = (double)s->duration_ns / 1e9;
    fprintf(out, "%s: %s events in %.3f s (%.0f/s), %s lost, %.1f MB\n", path,
            stn_value_grouped(s->events, events), seconds,
            seconds > 0 ? (double)s->events / seconds : 0, stn_value_grouped(s->lost_events, lost),
            (double)s->size / 1e6);
    fprintf(out, "%u tracepoints on %u CPUs", s->enabled, s->cpu_count);
    if (s->missing) {
        fprintf(out, "; %u more are not in this kernel", s->missing);
    }
    fputs("; without the recorder's own system calls and page faults\n", out);
    if (s->command_ran && WIFEXITED(s->command_status) && WEXITSTATUS(s->command_status)) {
        fprintf(out, "the command ended with exit code %d\n", WEXITSTATUS(s->command_status));
    } else if (s->command_ran && WIFSIGNALED(s->command_status)) {
        fprintf(out, "the command was ended by signal %d (%s)\n", WTERMSIG(s->command_status),
                strsignal(WTERMSIG(s->command_status)));
    }
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const record_args *args = arguments;
    const char *const *command = args->common.tail;
    if (command && !command[0]) {
        command = NULL;
    }
    if (stn_outputs_plain(args->output, "a recording", err) != STN_OK) {
        return STN_ERANGE;
    }
    stn_record_options options = {.events = args->events.items,
                                  .event_count = args->events.count,
                                  .cpus = args->cpus.items,
                                  .cpu_count = args->cpus.count,
                                  .duration_ns = args->duration_ns,
                                  .buffer_size = args->buffer_size,
                                  .command = command};
    stn_record_stats stats;
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "recording",
                       "ms");
    stn_status status = stn_record(args->output, &options, &stats, tick, &progress, err);
    stn_progress_end(&progress);
    if (status == STN_OK && args->common.json) {
        status = print_json(app, &stats, err);
    } else if (status == STN_OK && !args->common.quiet) {
        print_text(app->out, args->output, &stats);
    }
    if (status != STN_OK || !stats.stopped) {
        return status;
    }
    /* Ctrl-C is how a recording without command and time ends; else it cut something short. */
    return command || args->duration_ns
               ? stn_err_set(err, STN_EINTR, "interrupted; %s is whole", args->output)
               : STN_OK;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(record_args, output), "FILE",
     "where the recording goes, a trace.dat file", true},
    {"events", 'e', STN_OPTION_NAMES, offsetof(record_args, events), "SET",
     "what to record: default, sched, syscalls, irq, timer, block, net, or SYSTEM:EVENT where "
     "EVENT may be a pattern; may be repeated (default: default, which is all sets)",
     false},
    {"duration", 'd', STN_OPTION_DURATION, offsetof(record_args, duration_ns), "TIME",
     "stop after TIME, as 10s or 250ms; a command that still runs is ended", false},
    {"cpus", 0, STN_OPTION_NUMBERS, offsetof(record_args, cpus), "LIST",
     "record these CPUs only, as 0,2-3, and run the command on them", false},
    {"buffer", 0, STN_OPTION_SIZE, offsetof(record_args, buffer_size), "SIZE",
     "ring buffer of each CPU, as 256M (default 64M)", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_record = {
    .group = "kernel",
    .name = "record",
    .summary = "record the running kernel while a command runs",
    .details =
        "Records through tracefs, in an instance of its own that is always removed again, until "
        "COMMAND ends, TIME is over or Ctrl-C is pressed; the file is whole in each case and can "
        "be read by trace-cmd too. Tracing is on before COMMAND begins. The recorder sleeps while "
        "the buffers are less than half full; its own system calls and page faults are left out, "
        "its switches and the interrupts that hit it are not. Lost events are counted and "
        "reported; a larger --buffer helps.\n\n"
        "Needs root. The file holds kernel addresses and names of all processes: convert it to "
        "text and look before you publish it.",
    .operands = "[-- COMMAND [ARGUMENT...]]",
    .runs_command = true,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET,
    .options = options,
    .args_size = sizeof(record_args),
    .examples =
        (const stn_example[]){
            {"Record a workload", "standin kernel record -o backup.dat -- sleep 0.5"},
            {"Half a second of the scheduler and all of the block layer",
             "standin kernel record -d 500ms -e 'sched,block:*' -o half.dat"},
            {NULL, NULL}},
    .run = run,
};
