/* Drawing and files; markovlearn.c has the learning. */
#include "kernel/synth/markov.h"

#include <math.h>

#include "core/base/alloc.h"

enum {
    RANKS_SUMMED = 8,
    SOME_ORDER = 3,
    DRAWS = 12,      /* of a type that can come at all */
    STACK_FROM = 8,  /* from this draw on only the stack view is asked, */
    SHORT_FROM = 12, /* … from this one with a short past, */
    NONE_FROM = 16,  /* … from this one with none */
};

/* How much of its ladder a view knows. */
static uint32_t match(const stn_markov *markov, const stn_rungs *rungs) {
    uint32_t i = rungs->count - 1;
    while (i > 0 && !stn_chain_find(&markov->type, rungs->hash[i])) {
        i--;
    }
    return i + 1 == rungs->count ? 2 : rungs->order[i] >= SOME_ORDER ? 1 : 0;
}

uint32_t stn_markov_views(const stn_markov *markov, const stn_world *world, uint16_t cpu,
                          uint16_t rank, uint32_t order, stn_rungs views[STN_VIEWS]) {
    uint32_t moment = rank > 0;
    for (int v = 0; v < STN_VIEWS; v++) {
        stn_rungs_type(world, (stn_view)v, cpu, rank, order, &views[v]);
        moment = moment * STN_MATCHES + match(markov, &views[v]);
    }
    return moment;
}

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
        stn_rungs views[STN_VIEWS];
        uint32_t moment = stn_markov_views(markov, world, world->ranks[r], r, markov->order, views);
        for (int v = 0; v < STN_VIEWS; v++) {
            stn_chain_probabilities(&markov->type, views[v].hash, views[v].count, type, symbols, p);
            mixed += markov->weights[moment][v] * p[views[v].count - 1];
        }
        total += rank * mixed;
    }
    return total;
}

stn_status stn_markov_index(stn_markov *markov, uint32_t types) {
    const stn_chain *place = &markov->place;
    markov->seen_words = (types + 63) / 64;
    stn_free(markov->seen);
    markov->seen = stn_calloc(place->node_slots, markov->seen_words * sizeof *markov->seen);
    if (!markov->seen) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < place->node_slots; i++) {
        const stn_chain_node *node = &place->nodes[i];
        for (uint32_t j = 0; j < node->count; j++) {
            uint32_t type = place->nexts[node->first + j].symbol;
            markov->seen[(size_t)i * markov->seen_words + type / 64] |= UINT64_C(1) << type % 64;
        }
    }
    return STN_OK;
}

/* Types that can come on the CPU, or NULL if nothing like it was seen. */
static const uint64_t *possible(const stn_markov *markov, const stn_world *world, uint16_t cpu) {
    stn_rungs rungs;
    stn_rungs_place(world, cpu, &rungs);
    /* who waits is left out: a set of few cases would be a trap to stay in */
    static const uint8_t best_first[] = {2, 0};
    for (size_t i = 0; i < sizeof best_first; i++) {
        const stn_chain_node *node = best_first[i] < rungs.count
                                         ? stn_chain_find(&markov->place, rungs.hash[best_first[i]])
                                         : NULL;
        if (node) {
            return markov->seen + (size_t)(node - markov->place.nodes) * markov->seen_words;
        }
    }
    return NULL;
}

static bool has(const uint64_t *set, uint32_t type) {
    return set[type / 64] >> (type % 64) & 1;
}

/* A type for the CPU; the later the attempt, the more from the stack view and the less from
 * far back, because then the past is one that training did not have. */
static uint32_t draw_type(const stn_markov *markov, const stn_limits *limits,
                          const stn_world *world, stn_rng *rng, uint16_t cpu, uint16_t rank,
                          uint32_t attempt, const uint64_t *refused) {
    const uint64_t *seen = possible(markov, world, cpu);
    stn_rungs views[STN_VIEWS];
    const double *weights =
        markov->weights[stn_markov_views(markov, world, cpu, rank, markov->order, views)];
    uint32_t type = STN_CHAIN_NONE;
    for (uint32_t i = attempt; i < attempt + DRAWS; i++) {
        double at = stn_rng_double(rng);
        int view = i < STACK_FROM ? 0 : STN_VIEW_STACK;
        while (view + 1 < STN_VIEWS && at >= weights[view]) {
            at -= weights[view++];
        }
        if (i == SHORT_FROM || i == NONE_FROM || (i == attempt && i > SHORT_FROM)) {
            stn_rungs_type(world, STN_VIEW_STACK, cpu, rank, i < NONE_FROM ? 2 : 0,
                           &views[STN_VIEW_STACK]);
        }
        type = stn_chain_draw(&markov->type, views[view].hash, views[view].count, UINT32_MAX, rng);
        if (type < world->vocab->type_count && !has(refused, type) && (!seen || has(seen, type)) &&
            !stn_limits_worn(limits, world, cpu, type)) {
            return type;
        }
    }
    return type < world->vocab->type_count ? type : 0;
}

static void propose(const stn_model *model, stn_world *world, stn_rng *rng, uint32_t attempt,
                    const uint64_t *refused, stn_draft *draft) {
    const stn_markov *markov = model->state;
    stn_rungs rungs;
    stn_rungs_rank(world, markov->order, &rungs);
    uint32_t rank = stn_chain_draw(&markov->rank, rungs.hash, rungs.count, UINT32_MAX, rng);
    rank = rank < world->cpu_count ? rank : 0;
    draft->cpu = world->ranks[rank];
    draft->type = draw_type(markov, &model->attr.limits, world, rng, draft->cpu, (uint16_t)rank,
                            attempt, refused + (size_t)draft->cpu * markov->seen_words);
    stn_rungs_step(world, draft->type, draft->cpu, (uint16_t)rank, &rungs);
    uint32_t step = stn_chain_draw(&markov->step, rungs.hash, rungs.count, UINT32_MAX, rng);
    draft->time_ns = world->now_ns + (step < STN_STEP_SYMBOLS ? stn_step_draw(step, rng) : 0);
}

static void markov_free(stn_model *model) {
    stn_markov *markov = model->state;
    if (markov) {
        stn_chain_fini(&markov->rank);
        stn_chain_fini(&markov->type);
        stn_chain_fini(&markov->step);
        stn_chain_fini(&markov->place);
        stn_free(markov->seen);
        stn_free(markov);
    }
    model->state = NULL;
}

static void put(const stn_model *model, stn_blob *blob) {
    const stn_markov *markov = model->state;
    stn_blob_u32(blob, markov->order);
    for (int r = 0; r < STN_MOMENTS; r++) {
        for (int view = 0; view < STN_VIEWS; view++) {
            stn_blob_f64(blob, markov->weights[r][view]);
        }
    }
    stn_chain_put(&markov->rank, blob);
    stn_chain_put(&markov->type, blob);
    stn_chain_put(&markov->step, blob);
    stn_chain_put(&markov->place, blob);
}

static stn_status get(stn_model *model, stn_cursor *cursor) {
    stn_markov *markov = stn_calloc(1, sizeof *markov);
    if (!markov) {
        return STN_ENOMEM;
    }
    model->state = markov;
    markov->order = stn_cursor_u32(cursor);
    bool sane = markov->order >= 1 && markov->order <= STN_ORDER_MAX;
    for (int r = 0; r < STN_MOMENTS; r++) {
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
    if (status == STN_OK) {
        status = stn_chain_get(&markov->step, cursor, STN_STEP_SYMBOLS);
    }
    if (status == STN_OK) {
        status = stn_chain_get(&markov->place, cursor, model->vocab.type_count);
    }
    return status == STN_OK ? stn_markov_index(markov, model->vocab.type_count) : status;
}

const stn_generator_kind stn_markov_kind = {.name = "markov",
                                            .walks = 3,
                                            .train = stn_markov_train,
                                            .put = put,
                                            .get = get,
                                            .free = markov_free,
                                            .propose = propose};
