/* Drawing and files; markovlearn.c has the learning. */
#include "kernel/synth/markov.h"

#include "core/base/alloc.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    DRAWS = 16,      /* of a type that was not refused, or of a time that is not over */
    SHORT_FROM = 4,  /* from this attempt on contexts of a short past are asked, */
    NONE_FROM = 8,   /* … from this one of none, */
    PLACE_FROM = 12, /* … and from this one of nothing but what is open */
    SHORT_ORDER = 2,
    COUNTED_MAX = 512,
    UNWILLING = 3, /* draws of types that came too often, per context */
};

void stn_markov_probability(const stn_pool *pool, const stn_rungs *rungs, uint32_t type,
                            uint32_t types, double *p) {
    double below = 1.0 / types;
    for (uint32_t i = 0; i < STN_ORDER_MAX; i++) {
        p[i] = below;
    }
    for (uint32_t i = 0; i < rungs->count; i++) {
        const stn_pool_node *node = stn_pool_node_of(pool, rungs->hash[i]);
        if (node) {
            uint32_t stride = node->count / COUNTED_MAX + 1, hits = 0, cases = 0;
            for (uint32_t j = 0; j < node->count; j += stride) {
                uint32_t other = pool->cases[node->first + j] >> 16;
                hits += other == type;
                cases += other != STN_MARKOV_WAIT;
            }
            below = (hits + below) / (cases + 1.0);
        }
        for (uint32_t order = rungs->order[i] > 0 ? rungs->order[i] : 1; order <= STN_ORDER_MAX;
             order++) {
            p[order - 1] = below;
        }
    }
}

static bool has(const uint64_t *set, uint32_t type) {
    return set[type / 64] >> (type % 64) & 1;
}

/* How many of the rungs an attempt may use. */
static uint32_t usable(const stn_rungs *rungs, uint32_t attempt) {
    if (attempt < SHORT_FROM) {
        return rungs->count;
    }
    if (attempt >= PLACE_FROM) {
        return 1;
    }
    uint32_t limit = attempt < NONE_FROM ? SHORT_ORDER : 0, count = rungs->count;
    while (count > 1 && rungs->order[count - 1] > limit) {
        count--;
    }
    return count;
}

typedef enum drawn { DREW_NOTHING, DREW_UNWILLINGLY, DREW_WILLINGLY } drawn;

/* One of the node's cases, drawn again if its type was refused or its time is over already. */
static drawn draw(const stn_markov *markov, const stn_pool_node *node, const stn_ask *ask,
                  stn_rng *rng, stn_answer *answer) {
    int unwilling = 0;
    for (int i = 0; i < DRAWS && unwilling < UNWILLING; i++) {
        uint32_t value = stn_pool_draw(&markov->pool, node, rng);
        uint32_t type = value >> 16;
        uint64_t step_ns = stn_step_draw(value & 0xffffu, rng);
        bool over = step_ns <= ask->elapsed_ns && ask->elapsed_ns > 0;
        if (type == STN_MARKOV_WAIT || has(ask->driven, type)) {
            if (!over && step_ns > 0) {
                *answer = (stn_answer){STN_ANSWER_WAIT, step_ns};
                return DREW_WILLINGLY;
            }
            continue;
        }
        if (has(ask->refused, type)) {
            continue;
        }
        /* later than any case: as if the moment were now */
        bool late = over && ask->attempt == 0;
        bool willing = ask->weights[type] >= 1 || stn_rng_double(rng) < ask->weights[type];
        if (unwilling == 0 || (willing && !late)) {
            *answer = (stn_answer){type, late ? ask->elapsed_ns + step_ns : step_ns};
        }
        if (willing && !late) {
            return DREW_WILLINGLY;
        }
        unwilling++;
    }
    return unwilling > 0 ? DREW_UNWILLINGLY : DREW_NOTHING;
}

/* A context that has no more to say, or nothing that is not too frequent already, makes way for
 * the next shorter one: so no circle of deep contexts goes on forever. */
bool stn_markov_next(const stn_markov *markov, const stn_world *world, const stn_ask *ask,
                     stn_rng *rng, stn_answer *answer) {
    stn_rungs rungs;
    stn_rungs_next(world, ask->cpu, markov->order, &rungs);
    uint32_t count = usable(&rungs, ask->attempt);
    bool found = false;
    while (count > 0) {
        const stn_pool_node *node = stn_pool_find(&markov->pool, rungs.hash, count, &count);
        if (!node) {
            break;
        }
        stn_answer proposal;
        drawn drew = draw(markov, node, ask, rng, &proposal);
        if (drew == DREW_WILLINGLY || (drew == DREW_UNWILLINGLY && !found)) {
            *answer = proposal;
            found = true;
        }
        if (drew == DREW_WILLINGLY) {
            return true;
        }
    }
    return found;
}

static bool next(const stn_model *model, void *run, stn_world *world, const stn_ask *ask,
                 stn_rng *rng, stn_answer *answer) {
    (void)run;
    return stn_markov_next(model->state, world, ask, rng, answer);
}

static void markov_free(stn_model *model) {
    stn_markov *markov = model->state;
    if (markov) {
        stn_pool_fini(&markov->pool);
        stn_free(markov);
    }
    model->state = NULL;
}

void stn_markov_put(const stn_markov *markov, stn_blob *blob) {
    stn_blob_u32(blob, markov->order);
    stn_pool_put(&markov->pool, blob);
}

stn_status stn_markov_get(stn_markov *markov, stn_cursor *cursor, uint32_t types) {
    markov->order = stn_cursor_u32(cursor);
    if (cursor->failed || markov->order < 1 || markov->order > STN_ORDER_MAX) {
        return STN_EFORMAT;
    }
    stn_status status = stn_pool_get(&markov->pool, cursor);
    for (uint32_t i = 0; i < markov->pool.case_count && status == STN_OK; i++) {
        uint32_t type = markov->pool.cases[i] >> 16;
        bool known = type < types || type == STN_MARKOV_WAIT;
        bool sane = known && (markov->pool.cases[i] & 0xffffu) < STN_STEP_SYMBOLS;
        status = sane ? STN_OK : STN_EFORMAT;
    }
    return status;
}

static void put(const stn_model *model, stn_blob *blob) {
    stn_markov_put(model->state, blob);
}

static stn_status get(stn_model *model, stn_cursor *cursor) {
    model->state = stn_calloc(1, sizeof(stn_markov));
    return model->state ? stn_markov_get(model->state, cursor, model->vocab.type_count)
                        : STN_ENOMEM;
}

static stn_status train(stn_model *model, stn_runs *runs, const stn_train_options *options,
                        stn_train_stats *stats, stn_err *err) {
    model->state = stn_calloc(1, sizeof(stn_markov));
    return model->state ? stn_markov_train(model->state, model, runs, options, stats, err)
                        : stn_err_set(err, STN_ENOMEM, "out of memory for a model");
}

const stn_generator_kind stn_markov_kind = {.name = "markov",
                                            .walks = 2,
                                            .train = train,
                                            .put = put,
                                            .get = get,
                                            .free = markov_free,
                                            .next = next};
