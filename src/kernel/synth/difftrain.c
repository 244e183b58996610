/* Learning the diffusion kind: the Markov tables first, then the runs are read off by channels and
 * windows of them drawn, masked and learnt until the budget is used or nothing improves.
 *
 * Masks: three blocks in four lose their tail from a random case on, as they will be met when
 * sampling; one in four loses a random share of its cases, so that the model can fill holes too.
 * The nearer a masked case is to what is known, the more it counts: mostly near ones are drawn.
 * Some of what is not masked is disturbed. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/nn/checkpoint.h"
#include "kernel/synth/diffdata.h"

#define TAIL_SHARE       0.75
#define TAIL_DECAY       0.7f
#define HOLE_WEIGHT      0.5f
#define NO_LABEL         0.15 /* windows that do not tell their workload, for guidance */
#define DISTURBED        0.2  /* share of the cases that are only seen */
#define DEFAULT_BUDGET_S 600.0
#define VALID_SHARE      0.1
#define EMA              0.998f

enum {
    STEP_CASES = 1024,    /* at least, of a step */
    VALID_CASES = 3000,   /* of an evaluation */
    FINAL_CASES = 200000, /* of the last one */
    PIECE = 250,          /* cases in a row of an evaluation */
    PATIENCE = 6,         /* evaluations without a better one before it stops */
    MILESTONES = 12,      /* evaluations of a budget */
};

typedef struct trainer {
    stn_diffusion *d;
    stn_model *model;
    const stn_train_options *options;
    stn_train_stats *stats;
    stn_runs *runs;
    stn_diff_data data;
    uint32_t *labels; /* [runs->count] */
    stn_denoiser_tape *tape;
    stn_nn_optimizer optimizer;
    stn_rng rng;
    float *weight;                      /* [length] */
    uint16_t *value[STN_CHANNEL_COUNT]; /* [length] */
    uint32_t length, windows;           /* cases of a window, windows of a step */
    double valid_share;
    double began_s;
    double best_valid, best_step; /* losses of type and step */
    uint32_t evaluations_since_best;
    float *best; /* [params] average weights of the best evaluation */
    double train_loss;
} trainer;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static stn_denoiser_shape shape_of(const stn_diffusion *d, uint32_t length) {
    stn_denoiser_shape shape = {.labels = d->label_count,
                                .block = STN_DIFFUSION_BLOCK,
                                .window = length < 128 ? length : 128,
                                .layers = 2,
                                .coarse_layers = length > 128 ? 1 : 0,
                                .d = 96,
                                .heads = 3,
                                .ff = 192};
    stn_channels_shape(&d->channels, &shape);
    return shape;
}

static stn_status rates_read(trainer *t) {
    const stn_trace **own = stn_malloc((t->runs->count + 1) * sizeof *own);
    if (!own) {
        return STN_ENOMEM;
    }
    for (uint32_t label = 0; label < t->d->label_count; label++) {
        size_t count = 0;
        uint64_t events;
        for (size_t i = 0; i < t->runs->count; i++) {
            if (t->labels[i] == label) {
                own[count++] = t->runs->traces[i];
            }
        }
        t->d->rates[label] = stn_traces_rate(own, count, &events);
    }
    stn_free(own);
    return STN_OK;
}

/* Workloads by name, in order of first sight. */
static stn_status labels_read(trainer *t) {
    stn_diffusion *d = t->d;
    size_t count = t->runs->count;
    t->labels = stn_calloc(count + 1, sizeof *t->labels);
    d->labels = stn_calloc(count + 1, sizeof *d->labels);
    d->rates = stn_calloc(count + 1, sizeof *d->rates);
    if (!t->labels || !d->labels || !d->rates) {
        return STN_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = t->options->workloads ? t->options->workloads[i] : "all";
        uint32_t label = 0;
        while (label < d->label_count && strcmp(d->labels[label], name) != 0) {
            label++;
        }
        if (label == d->label_count) {
            d->labels[label] = stn_strdup(name);
            if (!d->labels[label]) {
                return STN_ENOMEM;
            }
            d->label_count++;
        }
        t->labels[i] = label;
    }
    return rates_read(t);
}

/* ---- windows --------------------------------------------------------- */

static void mask_block(trainer *t, float *weight) {
    bool tail = stn_rng_double(&t->rng) < TAIL_SHARE;
    uint32_t from = (uint32_t)stn_rng_below(&t->rng, STN_DIFFUSION_BLOCK);
    double share = stn_rng_double(&t->rng);
    float worth = 1;
    for (uint32_t i = 0; i < STN_DIFFUSION_BLOCK; i++) {
        if (!tail) {
            weight[i] = stn_rng_double(&t->rng) < share ? HOLE_WEIGHT : 0;
        } else if (i < from) {
            weight[i] = 0;
        } else {
            weight[i] = worth;
            worth *= TAIL_DECAY;
        }
    }
}

/* Whole blocks of a window from a stream; 0: too short. */
static uint32_t length_of(const trainer *t, const stn_diff_stream *stream) {
    size_t length = stream->head < t->length ? stream->head : t->length;
    return (uint32_t)(length / STN_DIFFUSION_BLOCK * STN_DIFFUSION_BLOCK);
}

/* A stream drawn by its length; every place in it is as likely as any other. */
static const stn_diff_stream *stream_draw(trainer *t, size_t *at, uint32_t *length) {
    size_t total = 0;
    for (size_t i = 0; i < t->data.count; i++) {
        total += length_of(t, &t->data.streams[i]) ? t->data.streams[i].head : 0;
    }
    size_t drawn = stn_rng_below(&t->rng, total);
    const stn_diff_stream *stream = t->data.streams;
    while (!length_of(t, stream) || drawn >= stream->head) {
        drawn -= length_of(t, stream) ? stream->head : 0;
        stream++;
    }
    *length = length_of(t, stream);
    *at = stn_rng_below(&t->rng, stream->head - *length + 1);
    return stream;
}

/* The window's values: those of the stream, but some cases that are only seen are others of it.
 * What is drawn strays from what training saw, and the network must find back: undisturbed, it
 * learned to go on with whatever came last. */
static void disturb(trainer *t, const stn_diff_stream *stream, size_t at,
                    stn_denoiser_window *window) {
    for (uint32_t i = 0; i < window->length; i++) {
        bool other = t->weight[i] == 0 && stn_rng_double(&t->rng) < DISTURBED;
        size_t from = other ? (size_t)stn_rng_below(&t->rng, stream->head) : at + i;
        for (uint32_t c = 0; c < t->d->channels.count; c++) {
            t->value[c][i] = stream->value[c][from];
        }
    }
    for (uint32_t c = 0; c < t->d->channels.count; c++) {
        window->value[c] = t->value[c];
    }
}

static stn_status learn_window(trainer *t, double *loss, stn_err *err) {
    size_t at;
    stn_denoiser_window window = {.weight = t->weight};
    const stn_diff_stream *stream = stream_draw(t, &at, &window.length);
    bool told = stn_rng_double(&t->rng) >= NO_LABEL;
    window.label = told ? stream->label : t->d->net.shape.labels;
    double weights = 0, losses[STN_CHANNELS_MAX] = {0};
    for (uint32_t i = 0; i < window.length; i += STN_DIFFUSION_BLOCK) {
        mask_block(t, t->weight + i);
    }
    for (uint32_t i = 0; i < window.length; i++) {
        weights += t->weight[i];
    }
    weights = weights > 1 ? weights : 1;
    disturb(t, stream, at, &window);
    stn_status status =
        stn_denoiser_loss(&t->d->net, t->tape, &window, true, weights * t->windows, losses, err);
    for (uint32_t c = 0; c < t->d->channels.count; c++) {
        *loss += losses[c] / weights / t->windows;
    }
    return status;
}

static stn_status step(trainer *t, stn_err *err) {
    stn_nn_optimizer *o = &t->optimizer;
    double loss = 0;
    for (uint32_t w = 0; w < t->windows; w++) {
        stn_status status = learn_window(t, &loss, err);
        if (status != STN_OK) {
            return status;
        }
    }
    float young = (float)(1 + o->step) / (float)(10 + o->step);
    o->ema = young < EMA ? young : EMA; /* the average of a short training is short, too */
    double norm = stn_nn_step(o, &t->d->net.params, t->d->net.kernels);
    t->train_loss = o->step > 1 ? 0.95 * t->train_loss + 0.05 * loss : loss;
    return isfinite(norm) ? STN_OK
                          : stn_err_set(err, STN_EFORMAT,
                                        "training diverged: a gradient of step %llu is not finite",
                                        (unsigned long long)o->step);
}

/* ---- validation ------------------------------------------------------ */

typedef struct losses {
    double type, step;
    uint64_t types, steps;
} losses;

static double nats(const float *logits, uint32_t count, uint32_t value, double *rest) {
    double high = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        high = logits[i] > high ? logits[i] : high;
    }
    for (uint32_t i = 0; i < count; i++) {
        sum += exp(logits[i] - high);
    }
    /* share of all classes but the last */
    *rest = 1 - exp(logits[count - 1] - high) / sum;
    return log(sum) + high - logits[value];
}

/* Draw nothing, but settle each case as it came, and see what the model gave it: what sampling
 * would have met. The loss of a type is that given that something came, as the Markov's is. */
static void lose(trainer *t, stn_past *past, const stn_diff_stream *stream, size_t at,
                 losses *sum) {
    uint16_t value[STN_CHANNEL_COUNT] = {0};
    const stn_channels *channels = &t->d->channels;
    uint32_t type = stn_channels_type(channels), nothing = channels->classes[type] - 1;
    for (uint32_t c = 0; c < channels->count; c++) {
        value[c] = stream->value[c][at];
    }
    double came, unused;
    double surprise = nats(stn_past_logits(past, type, value), nothing + 1, value[type], &came);
    sum->type += value[type] != nothing ? surprise + log(fmax(came, 1e-12)) : 0;
    sum->types += value[type] != nothing;
    sum->step +=
        nats(stn_past_logits(past, type + 1, value), STN_STEP_CLASSES, value[type + 1], &unused);
    sum->steps++;
    stn_past_settle(past, value, surprise);
}

/* The cases of a stream from @p first on, after as many as the window holds. */
static stn_status lose_piece(trainer *t, const stn_diff_stream *stream, size_t first, size_t cases,
                             losses *sum, stn_err *err) {
    stn_past past;
    size_t window = t->d->net.shape.window;
    losses before = {0}; /* what is only there to fill the window */
    const stn_steer steer = {.count = 1, .label = {stream->label}, .share = {1}, .weight = 1};
    stn_status status = stn_past_init(&past, t->d, NULL, &steer, 1, false, err);
    for (size_t i = first > window ? first - window : 0;
         i < first + cases && i < stream->count && status == STN_OK; i++) {
        lose(t, &past, stream, i, i < first ? &before : sum);
    }
    stn_past_fini(&past);
    return status;
}

/* So many of the held-back cases of a stream, in pieces from all of them. */
static stn_status lose_stream(trainer *t, const stn_diff_stream *stream, size_t cases, losses *sum,
                              stn_err *err) {
    size_t held = stream->count - stream->head;
    size_t pieces = cases < held ? (cases + PIECE - 1) / PIECE : cases > 0;
    stn_status status = STN_OK;
    for (size_t i = 0; i < pieces && status == STN_OK; i++) {
        status = lose_piece(t, stream, stream->head + i * held / pieces, cases / pieces, sum, err);
    }
    return status;
}

/* Streams share the @p most cases by how much of them is held back. */
static stn_status validate(trainer *t, size_t most, losses *sum, stn_err *err) {
    size_t total = 0;
    *sum = (losses){0};
    for (size_t i = 0; i < t->data.count; i++) {
        total += t->data.streams[i].count - t->data.streams[i].head;
    }
    stn_status status = STN_OK;
    for (size_t i = 0; i < t->data.count && status == STN_OK; i++) {
        const stn_diff_stream *stream = &t->data.streams[i];
        size_t held = stream->count - stream->head;
        size_t cases = total > most ? held * most / total : held;
        status = lose_stream(t, stream, cases, sum, err);
    }
    return status;
}

/* Losses with the weights @p weights. */
static stn_status losses_with(trainer *t, float *weights, size_t most, double *type, double *step,
                              stn_err *err) {
    stn_nn_params *params = &t->d->net.params;
    float *raw = params->weight;
    losses sum;
    params->weight = weights;
    stn_status status = validate(t, most, &sum, err);
    params->weight = raw;
    *type = sum.types ? sum.type / (double)sum.types : 0;
    *step = sum.steps ? sum.step / (double)sum.steps : 0;
    return status;
}

/* Validate the averaged weights; keep them if they are the best so far. */
static stn_status evaluate(trainer *t, stn_err *err) {
    stn_nn_params *params = &t->d->net.params;
    double type, step;
    stn_status status = losses_with(t, params->average, VALID_CASES, &type, &step, err);
    if (status != STN_OK) {
        return status;
    }
    t->evaluations_since_best++;
    if (type + step < t->best_valid + t->best_step) {
        t->best_valid = type;
        t->best_step = step;
        t->evaluations_since_best = 0;
        memcpy(t->best, params->average, params->count * sizeof *t->best);
    }
    return STN_OK;
}

/* ---- the loop -------------------------------------------------------- */

/* What a checkpoint notes beside the weights; the best ones so far follow it. */
typedef struct trainer_note {
    stn_rng rng;
    double best_valid, best_step, train_loss, seconds;
    uint64_t evaluations_since_best;
} trainer_note;

static size_t note_size(const trainer *t) {
    return sizeof(trainer_note) + t->d->net.params.count * sizeof *t->best;
}

static stn_status checkpoint_write(trainer *t, stn_err *err) {
    if (!t->options->checkpoint) {
        return STN_OK;
    }
    const trainer_note note = {t->rng,        t->best_valid,        t->best_step,
                               t->train_loss, now_s() - t->began_s, t->evaluations_since_best};
    uint8_t *bytes = stn_malloc(note_size(t));
    if (!bytes) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a checkpoint");
    }
    memcpy(bytes, &note, sizeof note);
    memcpy(bytes + sizeof note, t->best, note_size(t) - sizeof note);
    stn_status status = stn_nn_checkpoint_save(t->options->checkpoint, &t->d->net.params,
                                               &t->optimizer, bytes, note_size(t), err);
    stn_free(bytes);
    return status;
}

static stn_status checkpoint_read(trainer *t, stn_err *err) {
    trainer_note note;
    uint8_t *bytes = stn_malloc(note_size(t));
    if (!bytes) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a checkpoint");
    }
    stn_status status = stn_nn_checkpoint_load(t->options->checkpoint, &t->d->net.params,
                                               &t->optimizer, bytes, note_size(t), err);
    if (status == STN_OK) {
        memcpy(&note, bytes, sizeof note);
        memcpy(t->best, bytes + sizeof note, note_size(t) - sizeof note);
        t->rng = note.rng;
        t->best_valid = note.best_valid;
        t->best_step = note.best_step;
        t->train_loss = note.train_loss;
        t->began_s = now_s() - note.seconds;
        t->evaluations_since_best = (uint32_t)note.evaluations_since_best;
    }
    stn_free(bytes);
    return status;
}

/* Share of the training that is done: of the steps if their number is given, else of the time. */
static double progress(const trainer *t) {
    if (t->options->steps) {
        return (double)t->optimizer.step / (double)t->options->steps;
    }
    double budget = t->options->budget_s > 0 ? t->options->budget_s : DEFAULT_BUDGET_S;
    return (now_s() - t->began_s) / budget;
}

/* @return false if training is to stop */
static bool report(trainer *t) {
    double share = fmin(progress(t), 1);
    stn_runs *runs = t->runs;
    const stn_train_report r = {.steps = t->optimizer.step,
                                .events = t->optimizer.step * t->windows * t->length,
                                .share = share,
                                .seconds = now_s() - t->began_s,
                                .train_loss = t->train_loss,
                                .valid_loss = t->best_valid};
    if (t->options->report && !t->options->report(t->options->report_user, &r)) {
        return false;
    }
    uint64_t left = runs->total - runs->done;
    return !runs->progress ||
           runs->progress(runs->user, runs->done + (uint64_t)((double)left * share), runs->total);
}

static stn_status stopped(const trainer *t, stn_err *err) {
    return t->options->checkpoint
               ? stn_err_set(err, STN_EINTR, "interrupted; %s holds what was learned, for --resume",
                             t->options->checkpoint)
               : stn_err_set(err, STN_EINTR, "training was stopped");
}

static double next_milestone(const trainer *t) {
    return floor(progress(t) * MILESTONES + 1) / MILESTONES;
}

static stn_status train_steps(trainer *t, stn_err *err) {
    double next = next_milestone(t);
    while (progress(t) < 1 && t->evaluations_since_best < PATIENCE) {
        t->optimizer.share = (float)progress(t);
        stn_status status = step(t, err);
        if (status == STN_OK && (progress(t) >= next || progress(t) >= 1)) {
            next = next_milestone(t);
            status = evaluate(t, err);
            if (status == STN_OK) {
                status = checkpoint_write(t, err);
            }
        }
        if (status != STN_OK) {
            return status;
        }
        if (!report(t)) {
            status = checkpoint_write(t, err);
            return status != STN_OK ? status : stopped(t, err);
        }
    }
    return t->best_valid < INFINITY ? STN_OK : evaluate(t, err);
}

/* ---- all ------------------------------------------------------------- */

static stn_status plan_length(trainer *t, stn_err *err) {
    size_t longest = 0;
    for (size_t i = 0; i < t->data.count; i++) {
        size_t head = t->data.streams[i].head;
        longest = head > longest ? head : longest;
    }
    if (longest < STN_DIFFUSION_BLOCK) {
        return stn_err_set(err, STN_EFORMAT,
                           "%zu events of one CPU to train on, expected at least %d", longest,
                           STN_DIFFUSION_BLOCK);
    }
    uint32_t context = t->options->context ? t->options->context : STN_DIFFUSION_CONTEXT;
    context = longest < context ? (uint32_t)longest : context;
    context = context < STN_DIFFUSION_BLOCK ? STN_DIFFUSION_BLOCK : context;
    t->length = context / STN_DIFFUSION_BLOCK * STN_DIFFUSION_BLOCK;
    t->windows = t->length < STEP_CASES ? STEP_CASES / t->length : 1;
    t->d->context = t->length;
    return STN_OK;
}

static stn_status plan(trainer *t, stn_err *err) {
    const stn_train_options *o = t->options;
    stn_status status = plan_length(t, err);
    if (status != STN_OK) {
        return status;
    }
    stn_denoiser_shape shape = shape_of(t->d, t->length);
    status = stn_denoiser_init(&t->d->net, &shape, true, o->seed, err);
    if (status != STN_OK) {
        return status;
    }
    t->optimizer = (stn_nn_optimizer){.schedule = STN_NN_SCHEDULE_BUDGET,
                                      .rate = 3e-3f,
                                      .beta1 = 0.9f,
                                      .beta2 = 0.98f,
                                      .epsilon = 1e-8f,
                                      .decay = 0.02f,
                                      .clip = 1,
                                      .warmup = o->steps ? o->steps / 20 + 5 : 30};
    t->weight = stn_malloc(t->length * sizeof *t->weight);
    t->best = stn_calloc(t->d->net.params.count, sizeof *t->best);
    bool whole = t->weight && t->best;
    for (uint32_t c = 0; c < t->d->channels.count; c++) {
        t->value[c] = stn_malloc(t->length * sizeof *t->value[c]);
        whole = whole && t->value[c];
    }
    if (!whole) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for training");
    }
    stn_rng_init(&t->rng, o->seed + 1);
    return stn_denoiser_tape_new(&t->tape, err);
}

static stn_status prepare(trainer *t, stn_err *err) {
    stn_diffusion *d = t->d;
    stn_status status = stn_channels_init(&d->channels, t->options->channels, &t->model->vocab,
                                          t->model->attr.cpu_count, err);
    if (status != STN_OK) {
        return status;
    }
    status = stn_markov_train(&d->markov, t->model, t->runs, t->options, t->stats, err);
    t->stats->markov_loss = t->stats->valid_loss;
    if (status != STN_OK) {
        return status;
    }
    status = labels_read(t);
    if (status == STN_OK) {
        status = stn_diff_data_read(&t->data, d, t->model, t->runs, t->labels, t->valid_share);
    }
    if (status != STN_OK) {
        return stn_err_set(err, status, "%s",
                           status == STN_EINTR ? "training was stopped"
                                               : "out of memory for the training events");
    }
    return plan(t, err);
}

/* The last figures, of more cases. A trained network needs no gradients. */
static stn_status settle(trainer *t, stn_err *err) {
    stn_nn_params *params = &t->d->net.params;
    stn_status status = losses_with(t, t->best, FINAL_CASES, &t->best_valid, &t->best_step, err);
    memcpy(params->weight, t->best, params->count * sizeof *t->best);
    float **training[] = {&params->gradient, &params->m, &params->v, &params->average};
    for (size_t i = 0; i < 4; i++) {
        stn_free(*training[i]);
        *training[i] = NULL;
    }
    t->runs->done = t->runs->total;
    t->stats->steps = t->optimizer.step;
    t->stats->train_loss = t->train_loss;
    t->stats->valid_loss = t->best_valid;
    t->stats->step_loss = t->best_step;
    t->stats->parameters += params->count;
    return status;
}

stn_status stn_diffusion_train(stn_model *model, stn_runs *runs, const stn_train_options *options,
                               stn_train_stats *stats, stn_err *err) {
    stn_diffusion *d = stn_calloc(1, sizeof *d);
    if (!d) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a model");
    }
    model->state = d;
    trainer t = {.d = d,
                 .model = model,
                 .options = options,
                 .stats = stats,
                 .runs = runs,
                 .valid_share = options->valid_share > 0 ? options->valid_share : VALID_SHARE,
                 .best_valid = INFINITY,
                 .best_step = INFINITY};
    stn_status status = prepare(&t, err);
    t.began_s = now_s();
    if (status == STN_OK && options->resume) {
        status = checkpoint_read(&t, err);
    }
    if (status == STN_OK) {
        status = train_steps(&t, err);
    }
    if (status == STN_OK) {
        status = settle(&t, err);
    }
    stn_diff_data_fini(&t.data);
    for (uint32_t c = 0; c < STN_CHANNEL_COUNT; c++) {
        stn_free(t.value[c]);
    }
    stn_free(t.labels);
    stn_free(t.weight);
    stn_free(t.best);
    stn_denoiser_tape_free(t.tape);
    return status;
}
