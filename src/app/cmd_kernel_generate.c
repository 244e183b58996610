/* standin kernel generate: new traces from a model.
 *
 * The trace streams from the generator through the writer in bounded memory. Guidance
 * nearly always leaves nothing to mend; if something is left and repair is wanted, the same
 * trace (same seed) is made once more in memory, because repair looks at all of it. */
#include <inttypes.h>
#include <string.h>

#include <standin/synth.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/outputs.h"
#include "app/progress.h"
#include "app/value.h"

enum { BATCH = 1024, STRENGTH_MOST = 95 /* beyond it dead ends break more than is kept */ };
#define BEGIN_NS UINT64_C(1000000000)
/* Events of the unguided sample that is measured beside a guided trace. */
#define UNGUIDED_SAMPLE UINT64_C(100000)

typedef struct generate_args {
    stn_common common;
    uint64_t count, duration_ns;
    const char *output, *to, *workload, *prompt, *rate, *script;
    stn_texts prefer;
    uint64_t label_percent, strength;
    bool unguided, no_repair, with_prompt;
} generate_args;

typedef struct generate_work {
    stn_app *app;
    const generate_args *args;
    stn_catalog *catalog;
    stn_model *model;
    stn_traces prompt; /* one, or none */
    stn_rules *preferred;
    stn_progress progress;
    stn_trace_meta meta;
    uint64_t begin_ns; /* wall clock */
    uint64_t first_ns; /* where the generated part begins */
    stn_rate rate;     /* asked for */
    stn_script *script;
    stn_generate_stats stats;
    uint64_t generate_ns; /* spent in the generator */
    uint64_t events, last_ns;
    uint64_t violations;       /* before repair */
    uint64_t violations_after; /* of what was written */
    uint64_t sample, unguided; /* events and violations of the unguided sample */
    stn_repair_stats repair;
} generate_work;

/* Takes what is generated, a batch at a time. */
typedef stn_status (*batch_sink)(void *user, const stn_trace *batch, stn_err *err);

/* Fill @p batch. @return STN_OK, STN_END once all is there */
static stn_status next_batch(generate_work *work, stn_generator *generator, stn_trace *batch,
                             stn_err *err) {
    uint64_t want = work->args->count;
    uint64_t until = work->args->duration_ns ? work->first_ns + work->args->duration_ns : 0;
    stn_status status = STN_OK;
    uint64_t begin = stn_now_ns();
    while (batch->count < BATCH && status == STN_OK) {
        stn_event event;
        if (want && work->events >= want) {
            status = STN_END;
            break;
        }
        status = stn_generator_next(generator, &event, err);
        if (status == STN_OK && until && event.time_ns >= until) {
            status = STN_END;
        } else if (status == STN_OK) {
            status = stn_trace_append(batch, &event, err);
            work->events++;
            work->last_ns = event.time_ns;
        }
    }
    work->generate_ns += stn_now_ns() - begin;
    return status;
}

/* For the progress line: events if their number is given, else nanoseconds. */
static bool tick(generate_work *work) {
    const generate_args *args = work->args;
    if (args->count) {
        return stn_progress_tick(&work->progress, work->events, args->count);
    }
    return stn_progress_tick(&work->progress, (work->last_ns - work->first_ns) / 1000000,
                             args->duration_ns / 1000000);
}

static stn_generate_options options_of(const generate_work *work) {
    const generate_args *args = work->args;
    return (stn_generate_options){.seed = args->common.seed,
                                  .begin_ns = work->first_ns,
                                  .prompt = work->prompt.items,
                                  .rate = work->rate,
                                  .script = work->script,
                                  .count = args->count,
                                  .duration_ns = args->duration_ns,
                                  .workload = args->workload,
                                  .label_weight = (double)args->label_percent / 100,
                                  .unguided = args->unguided,
                                  .preferred = work->preferred,
                                  .preference = (double)args->strength / 100};
}

static stn_status generate(generate_work *work, batch_sink sink, void *user, stn_err *err) {
    stn_generate_options options = options_of(work);
    stn_generator *generator = NULL;
    work->events = 0;
    work->generate_ns = 0;
    work->last_ns = work->first_ns;
    stn_status status = stn_generator_new(&generator, work->model, &options, work->catalog, err);
    while (status == STN_OK) {
        stn_trace batch;
        stn_trace_init(&batch, work->catalog);
        status = next_batch(work, generator, &batch, err);
        if (status == STN_OK || status == STN_END) {
            stn_status taken = sink(user, &batch, err);
            status = taken == STN_OK ? status : taken;
        }
        stn_trace_fini(&batch);
        if (status == STN_OK && !tick(work)) {
            status = stn_err_set(err, STN_EINTR, "interrupted; nothing was written");
        }
    }
    if (status == STN_END) {
        stn_generator_stats(generator, &work->stats);
        work->violations = work->violations_after = work->stats.violations;
        status = STN_OK;
    }
    stn_generator_free(generator);
    return status;
}

static stn_status to_writer(void *user, const stn_trace *batch, stn_err *err) {
    stn_status status = STN_OK;
    for (size_t i = 0; user && status == STN_OK && i < batch->count; i++) {
        status = stn_writer_write(user, &batch->events[i], err);
    }
    return status;
}

static stn_status to_trace(void *user, const stn_trace *batch, stn_err *err) {
    stn_status status = STN_OK;
    for (size_t i = 0; status == STN_OK && i < batch->count; i++) {
        status = stn_trace_append(user, &batch->events[i], err);
    }
    return status;
}

/* The prompt, if it is wanted. */
static stn_status write_prompt(const generate_work *work, batch_sink sink, void *user,
                               stn_err *err) {
    return work->args->with_prompt ? sink(user, &work->prompt.items[0], err) : STN_OK;
}

/* Write what was mended, behind the prompt if that is wanted. */
static stn_status write_mended(generate_work *work, const stn_trace *mended, stn_err *err) {
    const generate_args *args = work->args;
    stn_writer *writer = NULL;
    if (!args->output) {
        return STN_OK;
    }
    stn_status status =
        stn_writer_open(&writer, args->output, args->to, work->catalog, &work->meta, NULL, err);
    if (status == STN_OK) {
        status = write_prompt(work, to_writer, writer, err);
    }
    if (status == STN_OK) {
        status = to_writer(writer, mended, err);
    }
    if (status != STN_OK) {
        stn_writer_abort(writer);
        return status;
    }
    return stn_writer_commit(writer, err);
}

/* Make the trace again, in memory, mend it and write it. */
static stn_status generate_mended(generate_work *work, stn_err *err) {
    const generate_args *args = work->args;
    stn_trace raw;
    stn_trace mended;
    stn_trace_init(&raw, work->catalog);
    stn_trace_init(&mended, work->catalog);
    stn_status status = generate(work, to_trace, &raw, err);
    if (status == STN_OK) {
        stn_repair_options options = {.seed = args->common.seed};
        stn_progress_end(&work->progress);
        stn_progress_begin(&work->progress, work->app->notes,
                           args->common.quiet || args->common.json, "repairing", "events");
        status = stn_repair(stn_model_rules(work->model), &raw, &mended, &options, &work->repair,
                            stn_progress_tick, &work->progress, err);
    }
    if (status == STN_OK) {
        work->violations_after = work->repair.violations_after;
        work->events = work->repair.events_out;
        status = write_mended(work, &mended, err);
    }
    stn_trace_fini(&raw);
    stn_trace_fini(&mended);
    return status;
}

/* How many rules a sample breaks that nothing guides; only if somebody will read it. */
static stn_status measure_unguided(generate_work *work, stn_err *err) {
    if (work->args->common.quiet && !work->args->common.json) {
        return STN_OK;
    }
    if (work->args->unguided) {
        work->sample = work->events;
        work->unguided = work->violations;
        return STN_OK;
    }
    stn_generate_options options = options_of(work);
    options.unguided = true;
    stn_generator *generator = NULL;
    uint64_t want = work->events < UNGUIDED_SAMPLE ? work->events : UNGUIDED_SAMPLE;
    stn_status status = stn_generator_new(&generator, work->model, &options, work->catalog, err);
    for (work->sample = 0; status == STN_OK && work->sample < want; work->sample++) {
        stn_event event;
        status = stn_generator_next(generator, &event, err);
        if (status == STN_OK && stn_signals_came()) {
            status = stn_err_set(err, STN_EINTR, "interrupted");
        }
    }
    if (status == STN_OK) {
        stn_generate_stats stats;
        stn_generator_stats(generator, &stats);
        work->unguided = stats.violations;
    }
    stn_generator_free(generator);
    return status;
}

static stn_status make(generate_work *work, stn_err *err) {
    const generate_args *args = work->args;
    stn_writer *writer = NULL;
    stn_status status = STN_OK;
    if (args->output) {
        status =
            stn_writer_open(&writer, args->output, args->to, work->catalog, &work->meta, NULL, err);
    }
    if (status != STN_OK) {
        return status;
    }
    stn_progress_begin(&work->progress, work->app->notes, args->common.quiet || args->common.json,
                       "generating", args->count ? "events" : "ms");
    status = write_prompt(work, to_writer, writer, err);
    if (status == STN_OK) {
        status = generate(work, to_writer, writer, err);
    }
    if (status != STN_OK || (work->violations && !args->no_repair)) {
        stn_writer_abort(writer);
        if (status == STN_OK) {
            status = generate_mended(work, err);
        }
    } else if (writer) {
        status = stn_writer_commit(writer, err);
    }
    stn_progress_end(&work->progress);
    return status;
}

static uint64_t edits_of(const stn_repair_stats *s) {
    return s->inserted + s->deleted + s->retyped + s->retimed + s->reassigned;
}

static double rate_of(const generate_work *work) {
    return work->generate_ns ? (double)work->events / ((double)work->generate_ns / 1e9) : 0;
}

/* Events a second of the trace's own time. */
static double trace_rate(const generate_work *work) {
    uint64_t span_ns = work->last_ns - work->first_ns;
    return span_ns ? (double)work->events * 1e9 / (double)span_ns : 0;
}

static void print_rate(const generate_work *work, FILE *to) {
    char a[32];
    char b[32];
    fprintf(to, "rate        %s/s, learned %s/s; waiting %.3g times as fast, service %.3g times\n",
            stn_value_short(trace_rate(work), a), stn_value_short(work->stats.learned_rate, b),
            work->stats.wait_speed, work->stats.work_speed);
}

static stn_status report(generate_work *work, stn_err *err) {
    const generate_args *args = work->args;
    double seconds = (double)(stn_now_ns() - work->begin_ns) / 1e9;
    FILE *to = args->output && stn_is_stdout(args->output) ? work->app->notes : work->app->out;
    if (args->common.json) {
        json_t *guided = args->unguided ? json_null() : json_integer((json_int_t)work->violations);
        return stn_emit_json(
            to,
            json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:f, s:f, s:I, s:I, s:o, s:I, s:I, s:I}",
                      "against_preferred", (json_int_t)work->stats.against, "prompt_events",
                      (json_int_t)stn_traces_events(&work->prompt), "trace_events_per_s",
                      trace_rate(work), "learned_events_per_s", work->stats.learned_rate,
                      "wait_speed", work->stats.wait_speed, "work_speed", work->stats.work_speed,
                      "events", (json_int_t)work->events, "seconds", seconds, "events_per_s",
                      rate_of(work), "violations_unguided", (json_int_t)work->unguided,
                      "unguided_sample_events", (json_int_t)work->sample, "violations_guided",
                      guided, "violations_after_repair", (json_int_t)work->violations_after,
                      "events_edited", (json_int_t)edits_of(&work->repair), "seed",
                      (json_int_t)args->common.seed),
            err);
    }
    if (args->common.quiet) {
        return STN_OK;
    }
    char a[32];
    char b[32];
    fprintf(to, "events      %s (generated at %s/s)", stn_value_grouped(work->events, a),
            stn_value_short(rate_of(work), b));
    if (args->prompt) {
        fprintf(to, " after a prompt of %s",
                stn_value_grouped(stn_traces_events(&work->prompt), a));
    }
    fputc('\n', to);
    if (args->rate) {
        print_rate(work, to);
    }
    if (args->prefer.count > 0) {
        fprintf(to, "preferred   %s events are against the rules that are preferred\n",
                stn_value_grouped(work->stats.against, a));
    }
    fprintf(to, "violations  %s in %s events without guidance",
            stn_value_grouped(work->unguided, a), stn_value_grouped(work->sample, b));
    if (!args->unguided) {
        fprintf(to, ", %s with it", stn_value_grouped(work->violations, a));
    }
    fprintf(to, ", %s in what was written\n", stn_value_grouped(work->violations_after, a));
    fprintf(to, "edited      %s\n", stn_value_grouped(edits_of(&work->repair), a));
    return STN_OK;
}

/* The trace to continue; what is generated goes on in its time. */
static stn_status load_prompt(generate_work *work, stn_err *err) {
    const generate_args *args = work->args;
    stn_selection all = {0};
    stn_texts path = {(const char **)&args->prompt, 1, 1};
    if (!args->prompt) {
        return STN_OK;
    }
    stn_status status = stn_traces_load(&work->prompt, &path, &all, &args->common, work->app->notes,
                                        work->catalog, err);
    if (status == STN_OK) {
        const stn_trace *prompt = &work->prompt.items[0];
        work->first_ns = prompt->events[prompt->count - 1].time_ns;
        memcpy(work->meta.clock, prompt->meta.clock, sizeof work->meta.clock);
        work->meta.epoch_ns = prompt->meta.epoch_ns;
        status = stn_model_meet(work->model, prompt, err);
    }
    return status;
}

static stn_status usage(stn_app *app, const generate_args *args, stn_rate *rate, stn_err *err) {
    if (args->rate && stn_rate_parse(args->rate, rate, err) != STN_OK) {
        app->usage = true;
        return stn_err_prepend(err, STN_ERANGE, "--rate");
    }
    if (!args->count == !args->duration_ns) {
        return stn_app_usage(app, err, "needs either -n COUNT or --duration TIME");
    }
    if (args->strength > 0 && args->prefer.count == 0) {
        return stn_app_usage(app, err, "--strength: there is no --prefer");
    }
    if (args->strength > STRENGTH_MOST) {
        return stn_app_usage(app, err, "--strength: %" PRIu64 " is more than %d", args->strength,
                             STRENGTH_MOST);
    }
    if (args->with_prompt && !args->prompt) {
        return stn_app_usage(app, err, "--with-prompt: there is no --prompt");
    }
    if (!args->output && (args->to || args->with_prompt)) {
        return stn_app_usage(app, err, "--%s: there is no -o", args->to ? "to" : "with-prompt");
    }
    stn_status status = STN_OK;
    if (args->output) {
        status = stn_inputs_guard(app, args->common.operands.items[0], args->output, err);
    }
    if (status == STN_OK && args->output && args->script) {
        status = stn_inputs_guard(app, args->script, args->output, err);
    }
    if (status == STN_OK && args->output && args->prompt) {
        status = stn_inputs_guard(app, args->prompt, args->output, err);
    }
    return status == STN_OK ? stn_inputs_format(app, "--to", args->to, true, err) : status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const generate_args *args = arguments;
    const char *model = args->common.operands.items[0];
    generate_work work = {.app = app, .args = args, .begin_ns = stn_now_ns(), .first_ns = BEGIN_NS};
    snprintf(work.meta.clock, sizeof work.meta.clock, "mono");
    snprintf(work.meta.tracer, sizeof work.meta.tracer, "standin %s", stn_version());
    stn_status status = usage(app, args, &work.rate, err);
    if (status == STN_OK) {
        status = stn_catalog_new(&work.catalog, err);
    }
    if (status == STN_OK) {
        status = stn_model_load(&work.model, model, work.catalog, err);
    }
    if (status == STN_OK && args->script) {
        status = stn_script_load(&work.script, args->script, err);
    }
    if (status == STN_OK && args->prefer.count > 0) {
        status = stn_inputs_rules(&work.preferred, &args->prefer, NULL, work.catalog, err);
    }
    if (status == STN_OK) {
        status = load_prompt(&work, err);
    }
    if (status == STN_OK) {
        status = make(&work, err);
    }
    if (status == STN_OK) {
        status = measure_unguided(&work, err);
    }
    if (status == STN_OK) {
        status = report(&work, err);
    }
    stn_repair_stats_fini(&work.repair);
    stn_traces_fini(&work.prompt);
    stn_script_free(work.script);
    stn_rules_free(work.preferred);
    stn_model_free(work.model);
    stn_catalog_free(work.catalog);
    return status;
}

static const stn_option options[] = {
    {"count", 'n', STN_OPTION_COUNT, offsetof(generate_args, count), "COUNT",
     "how many events: 250, 10k, 1M", false},
    {"duration", 'd', STN_OPTION_DURATION, offsetof(generate_args, duration_ns), "TIME",
     "how long the trace is: 10s, 250ms, 5m", false},
    {"output", 'o', STN_OPTION_TEXT, offsetof(generate_args, output), "OUT",
     "where the trace goes; - is standard output; without it events are only made and counted",
     false},
    {"to", 0, STN_OPTION_TEXT, offsetof(generate_args, to), "FORMAT",
     "format to write, instead of taking it from the ending of OUT", false},
    {"workload", 'w', STN_OPTION_TEXT, offsetof(generate_args, workload), "NAME",
     "diffusion: workload to generate, one of those the model was trained with, or a mixture: "
     "fio:0.7+redis:0.3",
     false},
    {"guidance", 0, STN_OPTION_COUNT, offsetof(generate_args, label_percent), "PERCENT",
     "diffusion: how strongly the workload counts (default 100)", false},
    {"rate", 0, STN_OPTION_TEXT, offsetof(generate_args, rate), "RATE",
     "events a second: a multiple of the learned rate like 2x or 0.5x, or a number like 20k",
     false},
    {"script", 0, STN_OPTION_TEXT, offsetof(generate_args, script), "PLAN",
     "change workload, rate and guidance over time as this CSV file says", false},
    {"prompt", 'p', STN_OPTION_TEXT, offsetof(generate_args, prompt), "TRACE",
     "continue this trace: begin where it ends, in its time, with its threads and its past", false},
    {"with-prompt", 0, STN_OPTION_FLAG, offsetof(generate_args, with_prompt), NULL,
     "write the events of the prompt as well, before those generated", false},
    {"prefer", 0, STN_OPTION_TEXTS, offsetof(generate_args, prefer), "FILE",
     "rules that the trace rather keeps, as mined ones; may be repeated", false},
    {"strength", 0, STN_OPTION_COUNT, offsetof(generate_args, strength), "PERCENT",
     "of the proposals against them that are turned away (default 90, at most 95)", false},
    {"unguided", 0, STN_OPTION_FLAG, offsetof(generate_args, unguided), NULL,
     "do not let the rules guide, to see what guidance is worth", false},
    {"no-repair", 0, STN_OPTION_FLAG, offsetof(generate_args, no_repair), NULL,
     "write what the generator made, broken rules included", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_kernel_generate = {
    .group = "kernel",
    .name = "generate",
    .summary = "new traces from a model",
    .details =
        "Generates COUNT events, or as many as fit into TIME, and writes them in any format that "
        "is written. The rules stored in the model guide every step; what they could not prevent "
        "is repaired. The same model, seed and version of standin give the same trace.\n\n"
        "The number of rules broken without guidance is measured on a sample of at most 100,000 "
        "events; the rate is that of the generator, without writing. A trace streams in bounded "
        "memory unless something has to be repaired.\n\n"
        "With --prompt the generated trace continues a real one, which is read into memory and "
        "replayed: who runs and sleeps, what is open, which timers are armed, and what the model "
        "looks back on are as it left them. Events of types that the model has not met in training "
        "are passed over. COUNT, TIME and the figures are of what is generated.\n\n"
        "With --rate waiting is scaled, and service where that does not do, until the trace has "
        "that many events a second; timers come when they are due.\n\n"
        "The plan of --script has a row for each phase, below a header: seconds,workload,rate,"
        "guidance. Seconds is when the phase begins, counted from the begin of what is generated; "
        "an empty cell means as before. Markov models take seconds and rate only.\n\n"
        "The rules of the model are never broken. Those of --prefer may be: a proposal against one "
        "is turned away by chance, and taken where all else is refused.",
    .operands = "MODEL",
    .operand_min = 1,
    .operand_max = 1,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_SEED,
    .options = options,
    .args_size = sizeof(generate_args),
    .examples =
        (const stn_example[]){
            {"A hundred thousand new events, as CTF",
             "standin kernel generate backup.stn -n 100k --seed 7 -o synthetic.ctf"},
            {"Two seconds, as text", "standin kernel generate backup.stn --duration 2s -o two.txt"},
            {"The same workload under twice the load",
             "standin kernel generate backup.stn --rate 2x -n 100k -o busy.ctf"},
            {"A trace that rather keeps what was mined",
             "standin kernel generate backup.stn --prefer backup.rules -n 100k -o kept.ctf"},
            {"Ten thousand more events of a recording, its own before them",
             "standin kernel generate backup.stn --prompt examples/backup.run3.txt.zst "
             "--with-prompt -n 10k -o longer.ctf"},
            {NULL, NULL}},
    .run = run,
};
