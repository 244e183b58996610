/* standin kernel check: which rules a trace breaks, and where first.
 *
 * Events are read in batches of owned copies and each batch is checked in one go, so that
 * the rate that is reported is the checker's own and memory stays bounded. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/progress.h"
#include "app/value.h"
#include "kernel/trace/sieve.h"

enum { BATCH = 8192 };

typedef struct check_args {
    stn_common common;
    stn_texts rules, mined;
    uint64_t show;
} check_args;

typedef struct check_work {
    stn_app *app;
    const check_args *args;
    stn_catalog *catalog;
    stn_rules *rules;
    stn_checker *checker;
    stn_sieve *sieve; /* NULL: all violations are counted */
    uint64_t events, violations, lost_events;
    uint64_t selected; /* of the events, those that the filter lets through */
    uint64_t check_ns, begin_ns, first_ns;
} check_work;

/* Read up to BATCH events. @return STN_OK, STN_END (with what came before it) */
static stn_status read_batch(stn_reader *reader, stn_trace *batch, stn_err *err) {
    stn_status status = STN_OK;
    while (batch->count < BATCH && status == STN_OK) {
        stn_event event;
        status = stn_reader_next(reader, &event, err);
        if (status == STN_OK) {
            status = stn_trace_append(batch, &event, err);
        }
    }
    return status;
}

/* Time that this thread had a core for: the rate is one core's, whatever else the machine does. */
static uint64_t core_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static stn_status check_batch(check_work *work, const stn_trace *batch, stn_err *err) {
    uint64_t begin = core_ns();
    for (size_t i = 0; i < batch->count; i++) {
        const stn_event *event = &batch->events[i];
        uint32_t broken = 0;
        bool passes = true;
        stn_status status =
            work->sieve ? stn_sieve_passes(work->sieve, event, &passes, err) : STN_OK;
        if (status == STN_OK) {
            stn_checker_count(work->checker, passes);
            status = stn_checker_step(work->checker, event, &broken, err);
        }
        if (status != STN_OK) {
            return status;
        }
        work->violations += broken;
        work->events += event->type != STN_TYPE_LOST;
        work->selected += passes && event->type != STN_TYPE_LOST;
    }
    work->check_ns += core_ns() - begin;
    return STN_OK;
}

static stn_status check_all(check_work *work, stn_reader *reader, stn_err *err) {
    stn_progress progress;
    stn_progress_begin(&progress, work->app->notes,
                       work->args->common.quiet || work->args->common.json, "checking", "events");
    stn_status status = STN_OK;
    while (status == STN_OK) {
        stn_trace batch;
        stn_trace_init(&batch, work->catalog);
        status = read_batch(reader, &batch, err);
        if (status == STN_OK || status == STN_END) {
            if (work->events == 0 && batch.count) {
                work->first_ns = batch.events[0].time_ns;
            }
            stn_status checked = check_batch(work, &batch, err);
            status = checked != STN_OK ? checked : status;
        }
        stn_trace_fini(&batch);
        if (status == STN_OK && !stn_progress_tick(&progress, work->events, 0)) {
            status = stn_err_set(err, STN_EINTR, "interrupted");
        }
    }
    stn_progress_end(&progress);
    work->lost_events = stn_reader_meta(reader)->lost_count;
    return status == STN_END ? STN_OK : status;
}

static double rate_of(const check_work *work) {
    return work->check_ns ? (double)work->events / ((double)work->check_ns / 1e9) : 0;
}

static json_t *json_first(const check_work *work) {
    json_t *list = json_array();
    uint32_t count = 0;
    const stn_violation *kept = stn_checker_violations(work->checker, &count);
    for (uint32_t i = 0; i < count; i++) {
        const stn_violation *v = &kept[i];
        json_t *row =
            json_pack("{s:s, s:I, s:s, s:s}", "rule", stn_rules_at(work->rules, v->rule)->name,
                      "time_ns", (json_int_t)v->time_ns, "event",
                      stn_catalog_type_at(work->catalog, v->type)->name, "text", v->text);
        json_object_set_new(row, "cpu", v->cpu == STN_NO_CPU ? json_null() : json_integer(v->cpu));
        json_object_set_new(row, "tid", v->tid == STN_NO_TID ? json_null() : json_integer(v->tid));
        json_array_append_new(list, row);
    }
    return list;
}

static stn_status print_json(const check_work *work, stn_err *err) {
    const stn_rule_stats *stats = stn_checker_stats(work->checker);
    json_t *rules = json_object();
    for (uint32_t i = 0; i < stn_rules_count(work->rules); i++) {
        json_object_set_new(rules, stn_rules_at(work->rules, i)->name,
                            json_pack("{s:I, s:I}", "checked", (json_int_t)stats[i].checked,
                                      "violations", (json_int_t)stats[i].violations));
    }
    double seconds = (double)(stn_now_ns() - work->begin_ns) / 1e9;
    return stn_emit_json(work->app->out,
                         json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "events",
                                   (json_int_t)work->events, "selected", (json_int_t)work->selected,
                                   "violations", (json_int_t)work->violations, "lost_events",
                                   (json_int_t)work->lost_events, "events_per_s", rate_of(work),
                                   "seconds", seconds, "rules", rules, "first", json_first(work)),
                         err);
}

static void print_rules(const check_work *work) {
    FILE *out = work->app->out;
    const stn_rule_stats *stats = stn_checker_stats(work->checker);
    uint32_t idle = 0;
    char checked[32];
    char broken[32];
    fprintf(out, "%-36s %14s %12s\n", "rule", "checked", "violations");
    for (uint32_t i = 0; i < stn_rules_count(work->rules); i++) {
        if (stats[i].checked == 0 && stats[i].violations == 0) {
            idle++;
            continue;
        }
        fprintf(out, "%-36s %14s %12s\n", stn_rules_at(work->rules, i)->name,
                stn_value_grouped(stats[i].checked, checked),
                stn_value_grouped(stats[i].violations, broken));
    }
    if (idle) {
        fprintf(out, "%" PRIu32 " more rules had nothing to check\n", idle);
    }
}

static void print_first(const check_work *work) {
    FILE *out = work->app->out;
    uint32_t count = 0;
    const stn_violation *kept = stn_checker_violations(work->checker, &count);
    uint64_t show = work->args->show ? work->args->show : 20;
    if (count) {
        fputs("\nfirst violations (seconds after the first event, CPU, thread):\n", out);
    }
    for (uint32_t i = 0; i < count && i < show; i++) {
        const stn_violation *v = &kept[i];
        fprintf(out, "%14.9f ", (double)(v->time_ns - work->first_ns) / 1e9);
        if (v->cpu == STN_NO_CPU) {
            fputs("CPU ? ", out);
        } else {
            fprintf(out, "CPU %u ", v->cpu);
        }
        if (v->tid == STN_NO_TID) {
            fputs("thread ? ", out);
        } else {
            fprintf(out, "thread %d ", v->tid);
        }
        fprintf(out, "%s: %s\n", stn_rules_at(work->rules, v->rule)->name, v->text);
    }
}

static void print_text(const check_work *work) {
    char events[32];
    char violations[32];
    char rate[32];
    print_rules(work);
    print_first(work);
    fprintf(work->app->out, "\n%s events, ", stn_value_grouped(work->events, events));
    if (work->sieve) {
        fprintf(work->app->out, "%s selected, ", stn_value_grouped(work->selected, events));
    }
    fprintf(work->app->out, "%s violation%s (checked at %s events/s)\n",
            stn_value_grouped(work->violations, violations), work->violations == 1 ? "" : "s",
            stn_value_short(rate_of(work), rate));
}

static bool is_filtered(const stn_common *common) {
    return common->time.begin_ns || common->time.end_ns || common->cpus.count ||
           common->tids.count || common->comms.count || common->events.count;
}

/* The rules look at every event, whatever is selected: an event that is left out may be what
 * makes another one right. Only which violations count is the filter's to say. */
static stn_status check(check_work *work, const stn_selection *selection, stn_err *err) {
    const check_args *args = work->args;
    work->begin_ns = stn_now_ns();
    stn_reader *reader = NULL;
    stn_status status = stn_catalog_new(&work->catalog, err);
    if (status == STN_OK) {
        status = stn_inputs_rules(&work->rules, &args->rules, &args->mined, work->catalog, err);
    }
    if (status == STN_OK && is_filtered(&args->common)) {
        status = stn_sieve_new(&work->sieve, &selection->filter, work->catalog, err);
    }
    if (status == STN_OK) {
        status = stn_reader_open(&reader, args->common.operands.items[0], selection->format, NULL,
                                 work->catalog, err);
    }
    if (status == STN_OK) {
        status = stn_checker_new(&work->checker, work->rules, work->catalog, err);
    }
    if (status == STN_OK) {
        status = check_all(work, reader, err);
    }
    if (status == STN_OK && args->common.json) {
        status = print_json(work, err);
    } else if (status == STN_OK && !args->common.quiet) {
        print_text(work);
    }
    stn_reader_close(reader);
    return status == STN_OK && work->violations ? STN_ECHECK : status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const check_args *args = arguments;
    check_work work = {.app = app, .args = args};
    stn_selection selection = {0};
    stn_status status = stn_selection_init(&selection, app, &args->common, err);
    if (status == STN_OK) {
        status = check(&work, &selection, err);
    }
    stn_sieve_free(work.sieve);
    stn_checker_free(work.checker);
    stn_rules_free(work.rules);
    stn_catalog_free(work.catalog);
    stn_selection_fini(&selection);
    return status;
}

static const stn_option options[] = {
    {"rules", 'r', STN_OPTION_TEXTS, offsetof(check_args, rules), "FILE",
     "check these rules instead of the built-in ones, which are called \"builtin\"; may be "
     "repeated",
     false},
    {"mined", 'm', STN_OPTION_TEXTS, offsetof(check_args, mined), "FILE",
     "check the rules of FILE as well; may be repeated", false},
    {"show", 0, STN_OPTION_COUNT, offsetof(check_args, show), "N",
     "show the first N violations (default 20; at most 8 of each rule are kept)", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_check = {
    .group = "kernel",
    .name = "check",
    .summary = "which rules a trace breaks, and where first",
    .details =
        "Reads TRACE once, in bounded memory, and checks every rule: how many cases were judged, "
        "how many broke it, and time, CPU and thread of the first ones. What happened before the "
        "trace began, or while events were lost, is unknown and excused. The exit code is 3 if "
        "any rule is broken. With --quiet only the exit code answers.\n\n"
        "The rules see every event, also with --time, --cpu, --tid, --comm and --event: these "
        "choose the events whose cases and violations are counted and shown, and for the exit "
        "code no others matter. A violation stands at the event that breaks the rule, which may be "
        "on another CPU or thread than what led to it.",
    .operands = "TRACE",
    .operand_min = 1,
    .operand_max = 1,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_FILTER,
    .options = options,
    .args_size = sizeof(check_args),
    .examples = (const stn_example[]){{"Does a recording obey the kernel's rules?",
                                       "standin kernel check examples/backup.run3.txt.zst"},
                                      {NULL, NULL}},
    .run = run,
};
