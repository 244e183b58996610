/* Drawing and files; markovlearn.c has the learning. */
#include "kernel/synth/markov.h"

#include <math.h>

#include "core/base/alloc.h"



enum { RANKS_SUMMED = 8 };

double stn_markov_probability(const stn_markov *markov, const stn_world *world, uint32_t type) {
    stn_rungs rungs;
    double p[STN_RUNGS_MAX], total = 0;
    uint32_t symbols = world->vocab->type_count;
    stn_rungs_rank(world, markov->order, &rungs);
    stn_rungs ranks = rungs;
    for (uint16_t r = 0; r < world->cpu_count && r < RANKS_SUMMED; r++) {
        double mixed = 0;
        stn_chain_probabilities(&markov->rank, ranks.hash, ranks.count, r, world->cpu_count, p);
        double rank = p[ranks.count - 1];
        for (int view = 0; view < STN_VIEWS; view++) {
            stn_rungs_type(world, (stn_view)view, world->ranks[r], r, markov->order, &rungs);
            stn_chain_probabilities(&markov->type, rungs.hash, rungs.count, type, symbols, p);
            mixed += markov->weights[r > 0][view] * p[rungs.count - 1];
        }
        total += rank * mixed;
    }
    return total;
}

static void propose(const stn_model *model, stn_world *world, stn_rng *rng, stn_draft *draft) {
    const stn_markov *markov = model->state;
    stn_rungs rungs;
    stn_rungs_rank(world, markov->order, &rungs);
    uint32_t rank = stn_chain_draw(&markov->rank, rungs.hash, rungs.count, rng);
    rank = rank < world->cpu_count ? rank : 0;
    draft->cpu = world->ranks[rank];
    const double *weights = markov->weights[rank > 0];
    double at = stn_rng_double(rng);
    int view = 0;
    while (view + 1 < STN_VIEWS && at >= weights[view]) {
        at -= weights[view++];
    }
    stn_rungs_type(world, (stn_view)view, draft->cpu, (uint16_t)rank, markov->order, &rungs);
    draft->type = stn_chain_draw(&markov->type, rungs.hash, rungs.count, rng);
    draft->type = draft->type < world->vocab->type_count ? draft->type : 0;
    stn_rungs_step(world, draft->type, draft->cpu, (uint16_t)rank, &rungs);
    uint32_t step = stn_chain_draw(&markov->step, rungs.hash, rungs.count, rng);
    draft->time_ns = world->now_ns + (step < STN_STEP_SYMBOLS ? stn_step_draw(step, rng) : 0);
}

static void markov_free(stn_model *model) {
    stn_markov *markov = model->state;
    if (markov) {
        stn_chain_fini(&markov->rank);
        stn_chain_fini(&markov->type);
        stn_chain_fini(&markov->step);
        stn_free(markov);
    }
    model->state = NULL;
}

static void put(const stn_model *model, stn_blob *blob) {
    const stn_markov *markov = model->state;
    stn_blob_u32(blob, markov->order);
    for (int r = 0; r < STN_RANK_CLASSES; r++) {
        for (int view = 0; view < STN_VIEWS; view++) {
            stn_blob_f64(blob, markov->weights[r][view]);
        }
    }
    stn_chain_put(&markov->rank, blob);
    stn_chain_put(&markov->type, blob);
    stn_chain_put(&markov->step, blob);
}

static stn_status get(stn_model *model, stn_cursor *cursor) {
    stn_markov *markov = stn_calloc(1, sizeof *markov);
    if (!markov) {
        return STN_ENOMEM;
    }
    model->state = markov;
    markov->order = stn_cursor_u32(cursor);
    bool sane = markov->order >= 1 && markov->order <= STN_ORDER_MAX;
    for (int r = 0; r < STN_RANK_CLASSES; r++) {
        for (int view = 0; view < STN_VIEWS; view++) {
            markov->weights[r][view] = stn_cursor_f64(cursor);
            sane = sane && markov->weights[r][view] >= 0 && markov->weights[r][view] <= 1.0001;
        }
    }
    if (!sane || cursor->failed) {
        return STN_EFORMAT;
    }
    stn_status status = stn_chain_get(&markov->rank, cursor, STN_CPU_MAX);
    if (status == STN_OK) {
        status = stn_chain_get(&markov->type, cursor, model->vocab.type_count);
    }
    return status == STN_OK ? stn_chain_get(&markov->step, cursor, STN_STEP_SYMBOLS) : status;
}

const stn_generator_kind stn_markov_kind = {.name = "markov",
                                            .walks = 3,
                                            .train = stn_markov_train,
                                            .put = put,
                                            .get = get,
                                            .free = markov_free,
                                            .propose = propose};
