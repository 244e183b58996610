/* Two walks: collect the cases of the head of each run; on the held-back end choose the
 * order, and collect its cases too, so that the pool kept knows all of the runs. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/markov.h"

enum { LOSS_MAX = 100000, TRAIN_LOSS_EVERY = 16, LEAST_CASES = 4 };

/* What a CPU waits for: the ladder and the moment that its next event hangs on. */
typedef struct hanging {
    bool known;
    uint64_t since_ns;
    stn_rungs rungs;
} hanging;

typedef struct learner {
    stn_markov *markov; /* holds the pool of the head until all is collected */
    stn_model *model;
    stn_runs *runs;
    double valid_share;
    uint32_t max_order;
    bool second; /* walk */
    stn_pool_builder builder;
    hanging *cpus;
    uint16_t last_cpu;
    size_t held_seen, held_stride;
    double valid_loss[STN_ORDER_MAX], train_loss[STN_ORDER_MAX];
    uint64_t valid_events, train_events;
} learner;

static bool is_held_back(const learner *l, const stn_walk_step *step) {
    size_t count = l->runs->traces[step->run]->count;
    return (double)step->index >= (double)count * (1 - l->valid_share);
}

static stn_status keep(learner *l, const hanging *cpu, uint32_t type, uint64_t now_ns) {
    uint32_t value = stn_markov_value(type, now_ns > cpu->since_ns ? now_ns - cpu->since_ns : 0);
    return stn_pool_add(&l->builder, cpu->rungs.hash, cpu->rungs.count, cpu->rungs.sure, value);
}

static void hang(learner *l, const stn_world *world, uint16_t number) {
    hanging *cpu = &l->cpus[number];
    cpu->known = true;
    cpu->since_ns = world->cpus[number].trigger_ns;
    stn_rungs_next(world, number, l->max_order, &cpu->rungs);
}

/* What the event before this one did: its CPU, and those that it touched, hang on it. */
static stn_status follow(learner *l, const stn_walk_step *step, bool counted) {
    const stn_world *world = step->world;
    if (world->events == 0) {
        for (uint16_t i = 0; i < world->cpu_count; i++) {
            l->cpus[i].known = false;
        }
        return STN_OK;
    }
    for (uint8_t i = 0; i < world->touched_count; i++) {
        hanging *cpu = &l->cpus[world->touched[i]];
        if (counted && cpu->known && keep(l, cpu, STN_MARKOV_WAIT, world->now_ns) != STN_OK) {
            return STN_ENOMEM;
        }
        hang(l, world, world->touched[i]);
    }
    hang(l, world, l->last_cpu);
    return STN_OK;
}

static void lose(learner *l, const hanging *cpu, uint32_t type, bool valid) {
    double p[STN_ORDER_MAX];
    stn_markov_probability(&l->markov->pool, &cpu->rungs, type, l->model->vocab.type_count, p);
    double *loss = valid ? l->valid_loss : l->train_loss;
    for (int order = 0; order < STN_ORDER_MAX; order++) {
        loss[order] -= log(p[order]);
    }
    ++*(valid ? &l->valid_events : &l->train_events);
}

static stn_status visit(void *user, stn_walk_step *step) {
    learner *l = user;
    const stn_draft *draft = step->draft;
    bool valid = is_held_back(l, step), counted = valid == l->second;
    stn_status status = follow(l, step, counted);
    const hanging *cpu = &l->cpus[draft->cpu];
    l->last_cpu = draft->cpu;
    if (status != STN_OK || !cpu->known) {
        return status;
    }
    if (l->second && l->held_seen++ % (valid ? l->held_stride : TRAIN_LOSS_EVERY) == 0) {
        lose(l, cpu, draft->type, valid);
    }
    return counted ? keep(l, cpu, draft->type, draft->time_ns) : STN_OK;
}

static stn_status walk(learner *l) {
    return stn_walk(&l->model->vocab, &l->model->domains, &l->model->attr.slots,
                    l->model->attr.cpu_count, l->runs, visit, l);
}

static void choose_order(learner *l) {
    uint32_t best = 1;
    for (uint32_t order = 2; order <= l->max_order; order++) {
        if (l->valid_loss[order - 1] < l->valid_loss[best - 1] * (1 - 1e-4)) {
            best = order;
        }
    }
    l->markov->order = best;
}

static stn_status learn(learner *l) {
    l->cpus = stn_calloc(l->model->attr.cpu_count, sizeof *l->cpus);
    stn_status status = l->cpus ? walk(l) : STN_ENOMEM;
    if (status == STN_OK) {
        status = stn_pool_build(&l->markov->pool, &l->builder, LEAST_CASES);
    }
    if (status == STN_OK) {
        l->second = true;
        status = walk(l);
    }
    if (status == STN_OK) {
        choose_order(l);
        stn_pool_fini(&l->markov->pool);
        status = stn_pool_build(&l->markov->pool, &l->builder, LEAST_CASES);
    }
    return status;
}

stn_status stn_markov_train(stn_markov *markov, stn_model *model, stn_runs *runs,
                            const stn_train_options *options, stn_train_stats *stats,
                            stn_err *err) {
    uint32_t order = options->max_order == 0 ? STN_ORDER_MAX : options->max_order;
    double share = options->valid_share > 0 ? options->valid_share : 0.1;
    if (share >= 1) {
        return stn_err_set(err, STN_ERANGE, "%g of each run held back leaves nothing to learn",
                           share);
    }
    learner l = {.markov = markov,
                 .model = model,
                 .runs = runs,
                 .valid_share = share,
                 .max_order = order < STN_ORDER_MAX ? order : STN_ORDER_MAX};
    l.held_stride = (size_t)((double)stats->events * share / LOSS_MAX) + 1;
    stn_status status = learn(&l);
    if (status == STN_OK) {
        double valid = (double)(l.valid_events ? l.valid_events : 1);
        double train = (double)(l.train_events ? l.train_events : 1);
        stats->order = markov->order;
        stats->valid_loss = l.valid_loss[markov->order - 1] / valid;
        stats->train_loss = l.train_loss[markov->order - 1] / train;
        stats->parameters += markov->pool.case_count;
    }
    stn_pool_builder_fini(&l.builder);
    stn_free(l.cpus);
    if (status == STN_ENOMEM) {
        return stn_err_set(err, status, "out of memory while learning the order of events");
    }
    if (status == STN_EFORMAT) {
        return stn_err_set(err, status, "too many events for one model");
    }
    return status == STN_EINTR ? stn_err_set(err, status, "training was stopped") : status;
}
