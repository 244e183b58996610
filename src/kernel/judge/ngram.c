/* The n-gram judge. Node 0 is the empty context; the child of a context by symbol s is the
 * context that has one older event, s, in front. */
#include "kernel/judge/ngram.h"

#include "core/base/alloc.h"

#include <math.h>
#include <string.h>

#define STRETCH   ((size_t)4096)
#define MIN_TOTAL 2u /* a context seen once is no evidence */

static uint64_t pair(uint64_t context, uint32_t symbol) {
    return context << 32 | symbol;
}

/* A new context, or the root. @return its index, SIZE_MAX if out of memory */
static size_t add_context(stn_ngram *ngram) {
    if (stn_grow(&ngram->contexts, &ngram->context_capacity, ngram->context_count + 1,
                 sizeof *ngram->contexts)) {
        return SIZE_MAX;
    }
    ngram->contexts[ngram->context_count] = (stn_context){.best = STN_NO_ID};
    return ngram->context_count++;
}

static stn_status count_successor(stn_ngram *ngram, size_t context, uint32_t next) {
    uint64_t *count = stn_map_put(&ngram->successor, pair(context, next), NULL);
    if (!count) {
        return STN_ENOMEM;
    }
    stn_context *c = &ngram->contexts[context];
    c->total++;
    *count += 1;
    if (*count > c->best_count || (*count == c->best_count && next < c->best)) {
        c->best = next;
        c->best_count = (uint32_t)*count;
    }
    return STN_OK;
}

/* Child of @p context by @p older, made if new; 0 if out of memory (the root is no child). */
static size_t descend(stn_ngram *ngram, size_t context, uint32_t older) {
    bool added;
    uint64_t *slot = stn_map_put(&ngram->child, pair(context, older), &added);
    if (!slot) {
        return 0;
    }
    if (added) {
        size_t child = add_context(ngram);
        if (child == SIZE_MAX) {
            return 0;
        }
        *slot = child;
    }
    return (size_t)*slot;
}

/* Learn symbols[0..count) as one stretch. */
static stn_status learn(stn_ngram *ngram, const uint32_t *symbols, size_t count) {
    for (size_t t = 0; t < count; t++) {
        size_t context = 0;
        stn_status status = count_successor(ngram, context, symbols[t]);
        for (size_t k = 1; k <= STN_NGRAM_ORDER && k <= t && !status; k++) {
            context = descend(ngram, context, symbols[t - k]);
            status = context ? count_successor(ngram, context, symbols[t]) : STN_ENOMEM;
        }
        if (status) {
            return status;
        }
    }
    ngram->trained += count;
    return STN_OK;
}

/* Learn @p quota events of a segment: the head of each of its stretches. */
static stn_status learn_segment(stn_ngram *ngram, const uint32_t *symbols, size_t length,
                                size_t quota, const stn_work *work, stn_err *err) {
    size_t parts = length / STRETCH ? length / STRETCH : 1;
    size_t taken = 0;
    for (size_t part = 0; part < parts; part++) {
        size_t begin = length / parts * part;
        size_t size = part + 1 < parts ? length / parts : length - begin;
        size_t want = (size_t)((double)quota * (double)(part + 1) / (double)parts + 0.5) - taken;
        size_t take = want < size ? want : size;
        if (learn(ngram, symbols + begin, take)) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for the contexts of %zu events",
                               length);
        }
        taken += take;
        stn_status status = stn_work_poll(work, err);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

stn_status stn_ngram_train(stn_ngram *ngram, const stn_view *view, uint64_t budget,
                           const stn_work *work, stn_err *err) {
    if (!ngram->context_count && add_context(ngram) == SIZE_MAX) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a predictor");
    }
    budget = budget < view->count ? budget : view->count;
    stn_status status = STN_OK;
    uint64_t given = 0;
    for (size_t s = 0; s < view->segment_count && !status; s++) {
        size_t begin = view->segment[s];
        size_t end = view->segment[s + 1];
        uint64_t by_here = (uint64_t)((double)budget * (double)end / (double)view->count + 0.5);
        size_t quota = (size_t)(by_here - given);
        size_t length = end - begin;
        status = learn_segment(ngram, view->symbol + begin, length, quota < length ? quota : length,
                               work, err);
        given = by_here;
    }
    return status;
}

void stn_ngram_fini(stn_ngram *ngram) {
    stn_map_fini(&ngram->child);
    stn_map_fini(&ngram->successor);
    stn_free(ngram->contexts);
    memset(ngram, 0, sizeof *ngram);
}

uint32_t stn_ngram_predict(const stn_ngram *ngram, const uint32_t *past, size_t length) {
    if (!ngram->context_count) {
        return STN_NO_ID;
    }
    uint32_t best = ngram->contexts[0].best;
    size_t context = 0;
    for (size_t k = 1; k <= STN_NGRAM_ORDER && k <= length; k++) {
        const uint64_t *child = stn_map_get(&ngram->child, pair(context, past[length - k]));
        if (!child || ngram->contexts[*child].total < MIN_TOTAL) {
            break;
        }
        context = (size_t)*child;
        best = ngram->contexts[context].best;
    }
    return best;
}

/* How one symbol fared. */
typedef struct tally {
    uint64_t support, hit, predicted;
} tally;

static stn_status tally_test(const stn_ngram *ngram, const stn_view *test, tally *tallies,
                             const stn_work *work, stn_err *err) {
    for (size_t s = 0; s < test->segment_count; s++) {
        size_t begin = test->segment[s];
        for (size_t t = begin; t < test->segment[s + 1]; t++) {
            uint32_t actual = test->symbol[t];
            uint32_t guess = stn_ngram_predict(ngram, test->symbol + begin, t - begin);
            tallies[actual].support++;
            tallies[actual].hit += guess == actual;
            if (guess != STN_NO_ID) {
                tallies[guess].predicted++;
            }
            if (t % STN_WORK_STRIDE == 0 && stn_work_poll(work, err)) {
                return STN_EINTR;
            }
        }
    }
    return STN_OK;
}

/* F1 = 2 hits / (support + predicted); symbols that the test has not are left out. */
static stn_ngram_score sum_up(const tally *tallies, uint32_t symbol_count) {
    stn_ngram_score score = {0};
    uint32_t classes = 0;
    uint64_t events = 0;
    for (uint32_t s = 0; s < symbol_count; s++) {
        const tally *t = &tallies[s];
        if (t->support) {
            classes++;
            events += t->support;
            score.accuracy += (double)t->hit;
            score.macro_f1 += 2 * (double)t->hit / (double)(t->support + t->predicted);
        }
    }
    score.accuracy = events ? score.accuracy / (double)events : 0;
    score.macro_f1 = classes ? score.macro_f1 / classes : 0;
    return score;
}

stn_status stn_ngram_test(const stn_ngram *ngram, const stn_view *test, uint32_t symbol_count,
                          stn_ngram_score *score, const stn_work *work, stn_err *err) {
    tally *tallies = stn_calloc(symbol_count, sizeof *tallies);
    if (!tallies) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", symbol_count);
    }
    stn_status status = tally_test(ngram, test, tallies, work, err);
    if (!status) {
        *score = sum_up(tallies, symbol_count);
    }
    stn_free(tallies);
    return status;
}

/* Train on @p budget[i] events of each of @p sides [2], test on @p real. */
static stn_status train_and_test(const stn_view *const *sides, const uint64_t *budget,
                                 const stn_view *real, uint32_t symbol_count,
                                 stn_ngram_score *score, const stn_work *work, stn_err *err) {
    stn_ngram ngram = {0};
    stn_status status = STN_OK;
    for (int i = 0; i < 2 && !status; i++) {
        if (budget[i]) {
            status = stn_ngram_train(&ngram, sides[i], budget[i], work, err);
        }
    }
    if (!status) {
        status = stn_ngram_test(&ngram, real, symbol_count, score, work, err);
    }
    stn_ngram_fini(&ngram);
    return status;
}

stn_status stn_ngram_judge(const stn_view *train, const stn_view *real, const stn_view *synthetic,
                           uint32_t symbol_count, stn_judge_score *out, const stn_work *work,
                           stn_err *err) {
    uint64_t budget = train->count < synthetic->count ? train->count : synthetic->count;
    const stn_view *const sides[2] = {train, synthetic};
    const uint64_t budgets[3][2] = {{budget, 0}, {0, budget}, {budget / 2, budget - budget / 2}};
    stn_ngram_score score[3];
    for (int i = 0; i < 3; i++) {
        stn_status status =
            train_and_test(sides, budgets[i], real, symbol_count, &score[i], work, err);
        if (status) {
            return status;
        }
    }
    *out = (stn_judge_score){
        .trtr_macro_f1 = score[0].macro_f1,
        .tstr_macro_f1 = score[1].macro_f1,
        .combined_macro_f1 = score[2].macro_f1,
        .ratio = score[0].macro_f1 > 0 ? score[1].macro_f1 / score[0].macro_f1 : NAN,
        .trtr_accuracy = score[0].accuracy,
        .tstr_accuracy = score[1].accuracy,
        .combined_accuracy = score[2].accuracy,
        .train_events = budget,
        .test_events = real->count,
    };
    return STN_OK;
}
