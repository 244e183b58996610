/* Three walks: count the head of each run; on the held-back end choose the order and weigh
 * the views; once more to report the loss of both parts. The end is then counted too, in the
 * second walk, so that the tables kept know all of the runs. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/markov.h"

enum { EM_ROUNDS = 30, PRIOR_CASES = 3, HELD_MAX = 200000, TRAIN_LOSS_EVERY = 16 };

/* P of the event that came, for each order and view. */
typedef struct held_case {
    float rank[STN_ORDER_MAX];
    float type[STN_ORDER_MAX][STN_VIEWS];
    uint32_t moment;
} held_case;

typedef struct learner {
    stn_markov *markov; /* holds the tables of the head until all is counted */
    stn_model *model;
    stn_runs *runs;
    double valid_share;
    uint32_t max_order;
    stn_chain_builder rank, type, step, place;
    held_case *held;
    size_t held_count, held_capacity, held_seen, held_stride;
    double valid_loss, train_loss;
    uint64_t valid_events, train_events;
} learner;

static bool is_held_back(const learner *l, const stn_walk_step *step) {
    size_t count = l->runs->traces[step->run]->count;
    return (double)step->index >= (double)count * (1 - l->valid_share);
}

static stn_status add_all(stn_chain_builder *builder, const stn_rungs *rungs, uint32_t symbol) {
    for (uint32_t i = 0; i < rungs->count; i++) {
        if (stn_chain_add(builder, rungs->hash[i], symbol) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    return STN_OK;
}

static stn_status count_event(learner *l, const stn_walk_step *step) {
    const stn_draft *draft = step->draft;
    uint16_t rank = stn_world_rank(step->world, draft->cpu);
    stn_rungs rungs;
    stn_rungs_rank(step->world, l->max_order, &rungs);
    if (add_all(&l->rank, &rungs, rank) != STN_OK) {
        return STN_ENOMEM;
    }
    for (int view = 0; view < STN_VIEWS; view++) {
        stn_rungs_type(step->world, (stn_view)view, draft->cpu, rank, l->max_order, &rungs);
        if (add_all(&l->type, &rungs, draft->type) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    stn_rungs_place(step->world, draft->cpu, &rungs);
    if (add_all(&l->place, &rungs, draft->type) != STN_OK) {
        return STN_ENOMEM;
    }
    uint64_t before = step->world->now_ns;
    if (before == 0 || draft->time_ns < before) {
        return STN_OK; /* the first event of a run comes after no time */
    }
    stn_rungs_step(step->world, draft->type, draft->cpu, rank, &rungs);
    return add_all(&l->step, &rungs, stn_step_symbol(draft->time_ns - before));
}

static stn_status visit_head(void *user, stn_walk_step *step) {
    learner *l = user;
    return is_held_back(l, step) ? STN_OK : count_event(l, step);
}

/* ---- order and weights -------------------------------------------------------------- */

/* The probability that a chain cut at each order would give. */
static void by_order(const stn_chain *chain, const stn_rungs *rungs, uint32_t symbol,
                     uint32_t symbols, float *out, size_t stride) {
    double p[STN_RUNGS_MAX];
    stn_chain_probabilities(chain, rungs->hash, rungs->count, symbol, symbols, p);
    uint32_t at = 0;
    for (uint32_t order = 1; order <= STN_ORDER_MAX; order++) {
        while (at + 1 < rungs->count && rungs->order[at + 1] <= order) {
            at++;
        }
        out[(order - 1) * stride] = (float)p[at];
    }
}

static stn_status hold(learner *l, const stn_walk_step *step) {
    const stn_draft *draft = step->draft;
    if (l->held_seen++ % l->held_stride != 0) {
        return STN_OK;
    }
    if (stn_grow(&l->held, &l->held_capacity, l->held_count + 1, sizeof *l->held) != STN_OK) {
        return STN_ENOMEM;
    }
    held_case *out = &l->held[l->held_count++];
    uint16_t rank = stn_world_rank(step->world, draft->cpu);
    stn_rungs rungs;
    stn_rungs_rank(step->world, l->max_order, &rungs);
    by_order(&l->markov->rank, &rungs, rank, step->world->cpu_count, out->rank, 1);
    stn_rungs views[STN_VIEWS];
    out->moment = stn_markov_views(l->markov, step->world, draft->cpu, rank, l->max_order, views);
    for (int view = 0; view < STN_VIEWS; view++) {
        by_order(&l->markov->type, &views[view], draft->type, step->world->vocab->type_count,
                 &out->type[0][view], STN_VIEWS);
    }
    return STN_OK;
}

static stn_status visit_held(void *user, stn_walk_step *step) {
    learner *l = user;
    if (!is_held_back(l, step)) {
        return STN_OK;
    }
    stn_status status = hold(l, step);
    return status == STN_OK ? count_event(l, step) : status;
}

static double mixed(const held_case *held, uint32_t order, const double *weights) {
    double p = 0;
    for (int view = 0; view < STN_VIEWS; view++) {
        p += weights[view] * held->type[order - 1][view];
    }
    return p;
}

/* Weights of the views at @p order, by expectation maximisation; returns the loss. */
static double weigh(const learner *l, uint32_t order, double weights[][STN_VIEWS]) {
    for (int r = 0; r < STN_MOMENTS; r++) {
        for (int view = 0; view < STN_VIEWS; view++) {
            weights[r][view] = 1.0 / STN_VIEWS;
        }
    }
    double loss = 0;
    for (int round = 0; round < EM_ROUNDS; round++) {
        double share[STN_MOMENTS][STN_VIEWS] = {{0}};
        double cases[STN_MOMENTS] = {0};
        loss = 0;
        for (size_t i = 0; i < l->held_count; i++) {
            const held_case *h = &l->held[i];
            double p = mixed(h, order, weights[h->moment]);
            for (int view = 0; view < STN_VIEWS; view++) {
                share[h->moment][view] += weights[h->moment][view] * h->type[order - 1][view] / p;
            }
            cases[h->moment]++;
            loss -= log(p) + log(h->rank[order - 1]);
        }
        for (int r = 0; r < STN_MOMENTS; r++) {
            for (int view = 0; view < STN_VIEWS && cases[r] > 0; view++) {
                weights[r][view] =
                    (share[r][view] + (double)PRIOR_CASES / STN_VIEWS) / (cases[r] + PRIOR_CASES);
            }
        }
    }
    return l->held_count > 0 ? loss / (double)l->held_count : 0;
}

static void choose_order(learner *l) {
    double best = INFINITY, weights[STN_MOMENTS][STN_VIEWS];
    for (uint32_t order = 1; order <= l->max_order; order++) {
        double loss = weigh(l, order, weights);
        if (loss < best - 1e-4) {
            best = loss;
            l->markov->order = order;
            memcpy(l->markov->weights, weights, sizeof weights);
        }
    }
}

/* ---- loss ------------------------------------------------------------------------------ */

static stn_status visit_loss(void *user, stn_walk_step *step) {
    learner *l = user;
    bool valid = is_held_back(l, step);
    if (!valid && step->index % TRAIN_LOSS_EVERY != 0) {
        return STN_OK;
    }
    double loss = -log(stn_markov_probability(l->markov, step->world, step->draft->type));
    *(valid ? &l->valid_loss : &l->train_loss) += loss;
    ++*(valid ? &l->valid_events : &l->train_events);
    return STN_OK;
}

/* ---- all ---------------------------------------------------------------------------------- */

static stn_status walk(learner *l, stn_walk_fn visit) {
    return stn_walk(&l->model->vocab, &l->model->domains, &l->model->attr.slots,
                    l->model->attr.cpu_count, l->runs, visit, l);
}

static stn_status build(learner *l, stn_markov *markov) {
    stn_status status = stn_chain_build(&markov->rank, &l->rank);
    if (status == STN_OK) {
        status = stn_chain_build(&markov->type, &l->type);
    }
    if (status == STN_OK) {
        status = stn_chain_build(&markov->step, &l->step);
    }
    return status == STN_OK ? stn_chain_build(&markov->place, &l->place) : status;
}

static stn_status learn(learner *l) {
    stn_status status = walk(l, visit_head);
    if (status == STN_OK) {
        status = build(l, l->markov);
    }
    if (status == STN_OK) {
        status = walk(l, visit_held);
    }
    if (status == STN_OK) {
        choose_order(l);
        status = walk(l, visit_loss);
    }
    if (status == STN_OK) {
        stn_chain_fini(&l->markov->rank);
        stn_chain_fini(&l->markov->type);
        stn_chain_fini(&l->markov->step);
        stn_chain_fini(&l->markov->place);
        status = build(l, l->markov);
    }
    if (status == STN_OK) {
        status = stn_markov_index(l->markov, l->model->vocab.type_count);
    }
    return status;
}

static void learner_fini(learner *l) {
    stn_chain_builder_fini(&l->rank);
    stn_chain_builder_fini(&l->type);
    stn_chain_builder_fini(&l->step);
    stn_chain_builder_fini(&l->place);
    stn_free(l->held);
}

stn_status stn_markov_train(stn_model *model, stn_runs *runs, const stn_train_options *options,
                            stn_train_stats *stats, stn_err *err) {
    uint32_t order = options->max_order == 0 ? STN_ORDER_MAX : options->max_order;
    double share = options->valid_share > 0 ? options->valid_share : 0.1;
    if (share >= 1) {
        return stn_err_set(err, STN_ERANGE, "%g of each run held back leaves nothing to learn",
                           share);
    }
    stn_markov *markov = stn_calloc(1, sizeof *markov);
    learner l = {.markov = markov,
                 .model = model,
                 .runs = runs,
                 .valid_share = share,
                 .max_order = order < STN_ORDER_MAX ? order : STN_ORDER_MAX};
    model->state = markov;
    l.held_stride = (size_t)((double)stats->events * share / HELD_MAX) + 1;
    stn_status status = markov ? learn(&l) : STN_ENOMEM;
    if (status == STN_OK) {
        stats->order = markov->order;
        stats->valid_loss = l.valid_loss / (double)(l.valid_events ? l.valid_events : 1);
        stats->train_loss = l.train_loss / (double)(l.train_events ? l.train_events : 1);
        stats->parameters +=
            (uint64_t)markov->rank.next_count + markov->type.next_count + markov->step.next_count;
    }
    learner_fini(&l);
    if (status == STN_ENOMEM) {
        return stn_err_set(err, status, "out of memory while learning the order of events");
    }
    return status == STN_EINTR ? stn_err_set(err, status, "training was stopped") : status;
}
