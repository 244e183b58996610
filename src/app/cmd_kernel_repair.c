/* standin kernel repair: the smallest edits after which no rule is broken. */
#include <standin/rules.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/gaps.h"
#include "app/load.h"
#include "app/outputs.h"
#include "app/progress.h"
#include "app/value.h"

enum { FILL_TRIES = 4, EDITS_MANY = 200 /* beyond one for each event made */ };

typedef struct repair_args {
    stn_common common;
    const char *output, *to, *model, *workload;
    stn_texts rules, mined, holes;
    bool fill_lost;
    uint64_t beam, lookahead;
} repair_args;

static uint64_t edits_of(const stn_repair_stats *s) {
    return s->inserted + s->deleted + s->retyped + s->retimed + s->reassigned;
}

/* What the marks say is gone and has not come back. Where a mark does not say how many, more may
 * come back than was said to be lost. */
static uint64_t missing_of(const stn_repair_stats *s) {
    return s->lost > s->restored ? s->lost - s->restored : 0;
}

static json_t *json_by_rule(const stn_rules *rules, const stn_repair_stats *stats) {
    json_t *object = json_object();
    for (uint32_t i = 0; stats->edits_by_rule && i < stn_rules_count(rules); i++) {
        if (stats->edits_by_rule[i]) {
            json_object_set_new(object, stn_rules_at(rules, i)->name,
                                json_integer((json_int_t)stats->edits_by_rule[i]));
        }
    }
    return object;
}

static stn_status print_json(FILE *to, const stn_rules *rules, const stn_repair_stats *s,
                             const stn_gaps *gaps, double seconds, stn_err *err) {
    return stn_emit_json(
        to,
        json_pack(
            "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:f}",
            "holes", stn_gaps_json(gaps), "events_in", (json_int_t)s->events_in, "events_out",
            (json_int_t)s->events_out, "violations_before", (json_int_t)s->violations_before,
            "violations_after", (json_int_t)s->violations_after, "events_edited",
            (json_int_t)edits_of(s), "events_inserted", (json_int_t)s->inserted, "events_deleted",
            (json_int_t)s->deleted, "events_retyped", (json_int_t)s->retyped, "events_retimed",
            (json_int_t)s->retimed, "events_reassigned", (json_int_t)s->reassigned, "lost_events",
            (json_int_t)s->lost, "lost_restored", (json_int_t)s->restored, "lost_missing",
            (json_int_t)missing_of(s), "lost_uncounted_marks", (json_int_t)s->lost_uncounted,
            "edits_by_rule", json_by_rule(rules, s), "seconds", seconds),
        err);
}

static void print_lost(FILE *to, const stn_repair_stats *s) {
    if (!s->lost && !s->lost_uncounted) {
        return;
    }
    char a[32];
    char b[32];
    char c[32];
    fprintf(to, "lost        %s said by the tracer, %s restored, %s not",
            stn_value_grouped(s->lost, a), stn_value_grouped(s->restored, b),
            stn_value_grouped(missing_of(s), c));
    if (s->lost_uncounted) {
        fprintf(to, "; %s marks do not say how many", stn_value_grouped(s->lost_uncounted, a));
    }
    fputc('\n', to);
}

static void print_text(FILE *to, const stn_rules *rules, const stn_repair_stats *s) {
    char a[32];
    char b[32];
    fprintf(to, "events      %s in, %s out\n", stn_value_grouped(s->events_in, a),
            stn_value_grouped(s->events_out, b));
    fprintf(to, "violations  %s before, %s after\n", stn_value_grouped(s->violations_before, a),
            stn_value_grouped(s->violations_after, b));
    fprintf(to,
            "edits       %s: %llu inserted, %llu deleted, %llu retyped, %llu retimed, %llu "
            "given to another thread or CPU\n",
            stn_value_grouped(edits_of(s), a), (unsigned long long)s->inserted,
            (unsigned long long)s->deleted, (unsigned long long)s->retyped,
            (unsigned long long)s->retimed, (unsigned long long)s->reassigned);
    print_lost(to, s);
    for (uint32_t i = 0; s->edits_by_rule && i < stn_rules_count(rules); i++) {
        if (s->edits_by_rule[i]) {
            fprintf(to, "  %-34s %12s\n", stn_rules_at(rules, i)->name,
                    stn_value_grouped(s->edits_by_rule[i], a));
        }
    }
}

static stn_status mend(stn_app *app, const repair_args *args, const stn_rules *rules,
                       const stn_trace *in, stn_trace *out, stn_repair_stats *stats, stn_err *err) {
    stn_repair_options options = {.beam = (uint32_t)args->beam,
                                  .lookahead = (uint32_t)args->lookahead,
                                  .fill_lost = args->fill_lost,
                                  .seed = args->common.seed};
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "repairing",
                       "events");
    stn_status status =
        stn_repair(rules, in, out, &options, stats, stn_progress_tick, &progress, err);
    stn_progress_end(&progress);
    return status;
}

/* A trace that is being repaired, and what comes of it. */
typedef struct repair_work {
    stn_app *app;
    const repair_args *args;
    const stn_trace *in; /* as read */
    stn_gaps gaps;
    stn_trace filled; /* by the model */
    stn_trace out;
    stn_repair_stats stats;
} repair_work;

/* Let the model make what is missing. */
static stn_status fill(repair_work *work, uint64_t seed, stn_err *err) {
    const repair_args *args = work->args;
    stn_infill_options options = {.seed = seed, .workload = args->workload};
    stn_model *model = NULL;
    stn_progress progress;
    stn_status status = stn_gaps_gather(&work->gaps, &args->holes,
                                        args->fill_lost || args->holes.count == 0, work->in, err);
    if (status == STN_OK) {
        status = stn_model_load(&model, args->model, work->in->catalog, err);
    }
    if (status == STN_OK) {
        status = stn_model_meet(model, work->in, err);
    }
    stn_progress_begin(&progress, work->app->notes, args->common.quiet || args->common.json,
                       "filling", "events");
    if (status == STN_OK) {
        status = stn_infill(model, work->in, work->gaps.items, work->gaps.count, &options,
                            &work->filled, stn_progress_tick, &progress, err);
    }
    stn_progress_end(&progress);
    stn_model_free(model);
    return status;
}

static stn_status report(const repair_work *work, const stn_rules *rules, double seconds,
                         stn_err *err) {
    const stn_app *app = work->app;
    FILE *to = stn_is_stdout(work->args->output) ? app->notes : app->out;
    if (work->args->common.json) {
        return print_json(to, rules, &work->stats, &work->gaps, seconds, err);
    }
    if (!work->args->common.quiet) {
        print_text(to, rules, &work->stats);
        if (work->args->model) {
            stn_gaps_print(to, &work->gaps);
        }
    }
    return STN_OK;
}

static void forget(repair_work *work) {
    stn_trace_fini(&work->filled);
    stn_trace_fini(&work->out);
    stn_gaps_fini(&work->gaps);
    stn_repair_stats_fini(&work->stats);
    work->stats = (stn_repair_stats){0};
    stn_trace_init(&work->filled, work->in->catalog);
    stn_trace_init(&work->out, work->in->catalog);
}

static stn_status fill_and_mend(repair_work *work, const stn_rules *rules, uint64_t seed,
                                stn_err *err) {
    forget(work);
    stn_status status = fill(work, seed, err);
    return status == STN_OK
               ? mend(work->app, work->args, rules, &work->filled, &work->out, &work->stats, err)
               : status;
}

/* Now and then what was made cannot be joined to what follows, and repair would take out
 * thousands of real events: then something else is made, and what took the fewest edits stays. */
static stn_status fill_well(repair_work *work, const stn_rules *rules, stn_err *err) {
    uint64_t first = work->args->common.seed, best = first, fewest = UINT64_MAX, seed = first;
    stn_status status = STN_OK;
    for (; status == STN_OK && seed < first + FILL_TRIES; seed++) {
        status = fill_and_mend(work, rules, seed, err);
        if (edits_of(&work->stats) < fewest) {
            fewest = edits_of(&work->stats);
            best = seed;
        }
        if (fewest <= EDITS_MANY + stn_gaps_made(&work->gaps)) {
            return status;
        }
    }
    return status == STN_OK && best != seed - 1 ? fill_and_mend(work, rules, best, err) : status;
}

static stn_status repair(stn_app *app, const repair_args *args, const stn_rules *rules,
                         const stn_trace *in, stn_err *err) {
    uint64_t begin = stn_now_ns();
    repair_work work = {.app = app, .args = args, .in = in};
    stn_trace_init(&work.filled, in->catalog);
    stn_trace_init(&work.out, in->catalog);
    stn_status status = args->model ? fill_well(&work, rules, err)
                                    : mend(app, args, rules, in, &work.out, &work.stats, err);
    work.stats.events_in = in->meta.event_count; /* what the model made is not counted */
    if (status == STN_OK) {
        status = stn_outputs_write(args->output, args->to, &work.out, &in->meta, err);
    }
    if (status == STN_OK) {
        status = report(&work, rules, (double)(stn_now_ns() - begin) / 1e9, err);
    }
    stn_trace_fini(&work.filled);
    stn_trace_fini(&work.out);
    stn_gaps_fini(&work.gaps);
    stn_repair_stats_fini(&work.stats);
    return status;
}

static stn_status usage(stn_app *app, const repair_args *args, stn_err *err) {
    if (args->beam > STN_REPAIR_BEAM_MAX) {
        return stn_app_usage(app, err, "--beam: at most %u", STN_REPAIR_BEAM_MAX);
    }
    if (args->lookahead > STN_REPAIR_LOOKAHEAD_MAX) {
        return stn_app_usage(app, err, "--lookahead: at most %u", STN_REPAIR_LOOKAHEAD_MAX);
    }
    if (!args->model && (args->holes.count > 0 || args->workload)) {
        return stn_app_usage(app, err, "--%s: needs a --model",
                             args->holes.count > 0 ? "hole" : "workload");
    }
    stn_status status = stn_gaps_usage(app, &args->holes, err);
    if (status == STN_OK && args->model) {
        status = stn_inputs_guard(app, args->model, args->output, err);
    }
    return status == STN_OK ? stn_inputs_format(app, "--to", args->to, true, err) : status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const repair_args *args = arguments;
    stn_load load = {0};
    stn_rules *rules = NULL;
    stn_status status = usage(app, args, err);
    if (status == STN_OK) {
        status = stn_load_open(&load, app, &args->common, args->output, err);
    }
    if (status == STN_OK) {
        status = stn_outputs_try(args->output, args->to, load.catalog, err);
    }
    if (status == STN_OK) {
        status = stn_inputs_rules(&rules, &args->rules, &args->mined, load.catalog, err);
    }
    if (status == STN_OK) {
        status = stn_load_traces(&load, app, &args->common, err);
    }
    if (status == STN_OK) {
        status = repair(app, args, rules, &load.traces.items[0], err);
    }
    stn_rules_free(rules);
    stn_load_close(&load);
    return status;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(repair_args, output), "OUT",
     "where the repaired trace goes; - is standard output", true},
    {"to", 0, STN_OPTION_TEXT, offsetof(repair_args, to), "FORMAT",
     "format to write, instead of taking it from the ending of OUT", false},
    {"fill-lost", 0, STN_OPTION_FLAG, offsetof(repair_args, fill_lost), NULL,
     "fill stretches in which events were lost, instead of excusing them", false},
    {"model", 0, STN_OPTION_TEXT, offsetof(repair_args, model), "MODEL",
     "let this model make what is missing: where events were lost, or in the holes named", false},
    {"hole", 0, STN_OPTION_TEXTS, offsetof(repair_args, holes), "A..B",
     "with --model: a stretch to be made anew, in seconds since the first event; what stands in it "
     "is taken out; may be repeated",
     false},
    {"workload", 'w', STN_OPTION_TEXT, offsetof(repair_args, workload), "NAME",
     "with --model: workload to be like, as generate has it", false},
    {"rules", 'r', STN_OPTION_TEXTS, offsetof(repair_args, rules), "FILE",
     "obey these rules instead of the built-in ones; may be repeated", false},
    {"mined", 'm', STN_OPTION_TEXTS, offsetof(repair_args, mined), "FILE",
     "obey the rules of FILE as well; may be repeated", false},
    {"beam", 0, STN_OPTION_COUNT, offsetof(repair_args, beam), "N",
     "ways of repairing kept side by side (default 8)", false},
    {"lookahead", 0, STN_OPTION_COUNT, offsetof(repair_args, lookahead), "N",
     "events looked ahead before an edit is chosen (default 32)", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_repair = {
    .group = "kernel",
    .name = "repair",
    .summary = "the smallest edits after which no rule is broken",
    .details =
        "Inserts, deletes, retypes, retimes events or gives them to another thread or CPU "
        "until every rule holds, with as few edits as it finds, and counts them by rule. "
        "IN is read into memory.\n\n"
        "A mark of lost events excuses what it hides. With --fill-lost the marks go, and "
        "what the rules demand is put in their place; how many of the lost events that "
        "restores is said. Events that no rule demands, such as page faults, stay lost.\n\n"
        "With --model they come back too, though not the same ones: the trace is replayed up to "
        "each hole, and from there the model generates, as after a prompt, about as many events "
        "as the mark says were lost, or as many as usual. Then the rules mend where the end of "
        "a hole does not join on to what follows; the violations before are those of the filled "
        "trace. The holes are those of the lost marks, or those named with --hole, or with "
        "--fill-lost both.",
    .operands = "IN",
    .operand_min = 1,
    .operand_max = 1,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_SEED | STN_SHARED_FILTER,
    .options = options,
    .args_size = sizeof(repair_args),
    .examples =
        (const stn_example[]){{"Leave the wake-ups out of a trace",
                               "standin kernel convert --event '[!s]*,sched_switch,sys_*' "
                               "examples/backup.run3.txt.zst part.ctf"},
                              {"Mend what is left", "standin kernel repair part.ctf -o whole.ctf"},
                              {"Learn the workload",
                               "standin kernel train examples/backup.run1.txt.zst -o backup.stn"},
                              {"Have a stretch made anew",
                               "standin kernel repair examples/backup.run3.txt.zst --model "
                               "backup.stn --hole 0.3..0.35 -o anew.ctf"},
                              {NULL, NULL}},
    .run = run,
};
