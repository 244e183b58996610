/* What all kinds of generators share: training in order, and the table of kinds. */
#include "kernel/synth/model.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/alloc.h"

static const stn_generator_kind *const kinds[] = {&stn_markov_kind, &stn_diffusion_kind};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

const stn_generator_kind *stn_generator_kind_find(const char *name, size_t size) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const char *known = kinds[i]->name;
        if (strlen(known) == size && memcmp(known, name, size) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

stn_status stn_generator_kind_named(const stn_generator_kind **out, const char *name,
                                    stn_err *err) {
    *out = kinds[0];
    if (!name) {
        return STN_OK;
    }
    *out = stn_generator_kind_find(name, strlen(name));
    return *out ? STN_OK
                : stn_err_set(err, STN_ERANGE, "no generator is called \"%s\"; there are: %s, %s",
                              name, stn_markov_kind.name, stn_diffusion_kind.name);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double stn_traces_rate(const stn_trace *const *traces, size_t count, uint64_t *events) {
    double span = 0;
    *events = 0;
    for (size_t t = 0; t < count; t++) {
        const stn_trace *trace = traces[t];
        for (size_t i = 0; i < trace->count; i++) {
            *events += trace->events[i].type != STN_TYPE_LOST;
        }
        if (trace->count > 1) {
            span += (double)(trace->events[trace->count - 1].time_ns - trace->events[0].time_ns);
        }
    }
    return span > 0 ? (double)*events * 1e9 / span : 0;
}

/* A copy of the rules through their text, so that the model owns what it stores. */
static stn_status copy_rules(stn_model *model, const stn_rules *rules, stn_err *err) {
    if (!rules) {
        return stn_rules_builtin(&model->rules, model->catalog, err);
    }
    char *text = NULL;
    stn_status status = stn_rules_text(rules, &text, err);
    if (status == STN_OK) {
        status = stn_rules_parse(&model->rules, text, strlen(text), "rules of the model",
                                 model->catalog, err);
    }
    stn_text_free(text);
    return status;
}

static stn_status train(stn_model *model, stn_runs *runs, const stn_train_options *options,
                        stn_train_stats *stats, stn_err *err) {
    uint64_t events;
    model->rate = stn_traces_rate(runs->traces, runs->count, &events);
    stats->events = events;
    for (size_t t = 0; t < runs->count; t++) {
        runs->total += runs->traces[t]->count * (2 + model->kind->walks);
    }
    stn_status status = copy_rules(model, options->rules, err);
    if (status == STN_OK) {
        status = stn_vocab_learn(&model->vocab, runs->traces, runs->count, model->catalog, err);
    }
    if (status == STN_OK) {
        status = stn_domains_learn(&model->domains, model->rules, &model->vocab);
        if (status != STN_OK) {
            return stn_err_set(err, status, "out of memory while reading the rules' keys");
        }
    }
    if (status == STN_OK) {
        status = stn_attr_learn(&model->attr, &model->vocab, &model->domains, runs, err);
    }
    if (status == STN_OK) {
        status = model->kind->train(model, runs, options, stats, err);
    }
    stats->parameters += stn_attr_parameters(&model->attr);
    return status;
}

stn_status stn_model_train(stn_model **out, const stn_trace *const *traces, size_t count,
                           const stn_train_options *options, stn_train_stats *stats,
                           stn_catalog *catalog, stn_progress_fn progress, void *user,
                           stn_err *err) {
    static const stn_train_options defaults = {0};
    stn_train_stats scratch;
    options = options ? options : &defaults;
    stats = stats ? stats : &scratch;
    *stats = (stn_train_stats){0};
    *out = NULL;
    double begin = seconds();
    const stn_generator_kind *kind;
    if (stn_generator_kind_named(&kind, options->kind, err) != STN_OK) {
        return STN_ERANGE;
    }
    stn_model *model = stn_calloc(1, sizeof *model);
    if (!model) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a model");
    }
    model->kind = kind;
    model->catalog = catalog;
    stn_runs runs = {.traces = traces, .count = count, .progress = progress, .user = user};
    stn_status status = train(model, &runs, options, stats, err);
    if (status != STN_OK) {
        stn_model_free(model);
        return status;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    stats->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    stats->seconds = seconds() - begin;
    *out = model;
    return STN_OK;
}

void stn_model_free(stn_model *model) {
    if (!model) {
        return;
    }
    if (model->kind) {
        model->kind->free(model);
    }
    stn_attr_fini(&model->attr);
    stn_domains_fini(&model->domains);
    stn_vocab_fini(&model->vocab);
    stn_rules_free(model->rules);
    stn_free(model);
}

const char *stn_model_kind(const stn_model *model) {
    return model->kind->name;
}

const stn_rules *stn_model_rules(const stn_model *model) {
    return model->rules;
}

double stn_model_rate(const stn_model *model) {
    return model->rate;
}
