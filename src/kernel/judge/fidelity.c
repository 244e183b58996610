/* Fidelity: synthetic against held-out real, and train against held-out real beside it. */
#include "kernel/judge/fidelity.h"

#include "core/base/alloc.h"
#include "kernel/judge/distance.h"
#include "kernel/judge/grams.h"
#include "kernel/judge/pace.h"
#include "kernel/judge/shares.h"
#include "kernel/judge/waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAMS_KEPT ((size_t)400) /* of each n, for the page */
#define STEP_LOW   0.0           /* log10 of 1 ns … 1000 s: Δt and durations */
#define STEP_HIGH  9.6
#define STEP_BINS  96u
#define WAIT_LOW   2.0
#define WAIT_HIGH  10.0
#define WAIT_BINS  80u

/* ---- n-grams ---------------------------------------------------------- */

static int by_larger_share(const void *a, const void *b) {
    const stn_gram *x = a;
    const stn_gram *y = b;
    double more = fmax(y->real, y->synthetic) - fmax(x->real, x->synthetic);
    if (more != 0) {
        return more > 0 ? 1 : -1;
    }
    return memcmp(x->name, y->name, sizeof x->name);
}

static stn_gram unpack(uint64_t key, uint32_t n, const stn_alphabet *alphabet) {
    stn_gram gram = {.n = n, .name = {STN_NO_ID, STN_NO_ID, STN_NO_ID}};
    for (uint32_t i = n; i-- > 0; key >>= STN_GRAM_BITS) {
        gram.name[i] = alphabet->name[key & (STN_GRAM_SYMBOLS - 1)];
    }
    return gram;
}

/* All n-grams of either side as one table. */
static stn_gram *union_of(const stn_grams *real, const stn_grams *synthetic,
                          const stn_alphabet *alphabet, size_t *count) {
    stn_gram *all = stn_malloc((real->counts.count + synthetic->counts.count) * sizeof *all);
    size_t at = 0;
    uint64_t key;
    uint64_t seen;
    *count = 0;
    while (all && stn_map_next(&real->counts, &at, &key, &seen)) {
        stn_gram gram = unpack(key, real->n, alphabet);
        gram.real = (double)seen / (double)real->total;
        gram.synthetic = synthetic->total ? stn_grams_share(synthetic, key) : 0;
        all[(*count)++] = gram;
    }
    at = 0;
    while (all && stn_map_next(&synthetic->counts, &at, &key, &seen)) {
        if (!stn_map_get(&real->counts, key)) {
            stn_gram gram = unpack(key, synthetic->n, alphabet);
            gram.synthetic = (double)seen / (double)synthetic->total;
            all[(*count)++] = gram;
        }
    }
    return all;
}

/* Keep the most frequent ones for the page. */
static stn_status keep_grams(stn_evaluating *e, const stn_grams *real, const stn_grams *synthetic,
                             stn_err *err) {
    stn_evaluation *out = e->out;
    size_t count;
    stn_gram *all = union_of(real, synthetic, &e->alphabet, &count);
    size_t kept = count < GRAMS_KEPT ? count : GRAMS_KEPT;
    stn_gram *grams =
        all ? stn_realloc(out->grams, (out->gram_count + kept) * sizeof *grams) : NULL;
    if (!grams) {
        stn_free(all);
        return stn_err_set(err, STN_ENOMEM, "out of memory for %zu n-grams", count);
    }
    out->grams = grams;
    if (count) {
        qsort(all, count, sizeof *all, by_larger_share);
        memcpy(grams + out->gram_count, all, kept * sizeof *all);
        out->gram_count += (uint32_t)kept;
    }
    stn_free(all);
    return STN_OK;
}

stn_status stn_fidelity_grams(stn_evaluating *e, stn_err *err) {
    stn_status status = STN_OK;
    for (uint32_t n = 1; n <= STN_GRAM_MAX && !status; n++) {
        stn_grams sides[STN_SIDES] = {{.total = 0}};
        for (int side = 0; side < STN_SIDES && !status; side++) {
            status = stn_grams_count(&sides[side], &e->views[side], n, err);
        }
        if (!status) {
            e->out->jsd[n - 1] = stn_grams_divergence(&sides[STN_SYNTHETIC], &sides[STN_REAL]);
            e->out->jsd_real[n - 1] = stn_grams_divergence(&sides[STN_TRAIN], &sides[STN_REAL]);
            status = keep_grams(e, &sides[STN_REAL], &sides[STN_SYNTHETIC], err);
        }
        for (int side = 0; side < STN_SIDES; side++) {
            stn_grams_fini(&sides[side]);
        }
    }
    return status;
}

/* ---- one table for types and system calls ------------------------------ */

static int by_real_count(const void *a, const void *b) {
    const stn_side *x = a;
    const stn_side *y = b;
    if (x->real_count != y->real_count) {
        return x->real_count < y->real_count ? 1 : -1;
    }
    if (x->synthetic_count != y->synthetic_count) {
        return x->synthetic_count < y->synthetic_count ? 1 : -1;
    }
    return (x->name > y->name) - (x->name < y->name);
}

/* Sorted samples of all sides. */
typedef struct sides_of {
    stn_groups of[STN_SIDES];
} sides_of;

static void sides_fini(sides_of *sides) {
    for (int side = 0; side < STN_SIDES; side++) {
        stn_groups_fini(&sides->of[side]);
    }
}

static stn_side compare_durations(uint32_t name, const float *real, size_t real_count,
                                  const float *synthetic, size_t synthetic_count) {
    return (stn_side){
        .name = name,
        .real_count = real_count,
        .synthetic_count = synthetic_count,
        .real_p50_ns = stn_quantile(real, real_count, 0.5),
        .real_p99_ns = stn_quantile(real, real_count, 0.99),
        .synthetic_p50_ns = stn_quantile(synthetic, synthetic_count, 0.5),
        .synthetic_p99_ns = stn_quantile(synthetic, synthetic_count, 0.99),
        .ks = stn_kolmogorov(real, real_count, synthetic, synthetic_count),
        .dt_wasserstein = NAN,
    };
}

/* ---- Δt ---------------------------------------------------------------- */

/* Rows of the types that either side has; counts are of all events of a type, also of those
 * that begin a segment and have no Δt. */
static stn_status fill_types(stn_evaluating *e, const sides_of *steps, stn_err *err) {
    uint32_t symbols = e->alphabet.count;
    e->out->types = stn_calloc(symbols, sizeof *e->out->types);
    uint64_t *counts = stn_calloc((size_t)symbols * STN_SIDES, sizeof *counts);
    if (!e->out->types || !counts) {
        stn_free(counts);
        return stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", symbols);
    }
    for (int side = 0; side < STN_SIDES; side++) {
        for (size_t t = 0; t < e->views[side].count; t++) {
            counts[(size_t)e->views[side].symbol[t] * STN_SIDES + (size_t)side]++;
        }
    }
    for (uint32_t s = 0; s < symbols; s++) {
        const uint64_t *count = counts + (size_t)s * STN_SIDES;
        if (count[STN_REAL] || count[STN_SYNTHETIC]) {
            size_t real_count;
            size_t synthetic_count;
            const float *real = stn_groups_of(&steps->of[STN_REAL], s, &real_count);
            const float *synthetic = stn_groups_of(&steps->of[STN_SYNTHETIC], s, &synthetic_count);
            e->out->types[e->out->type_count++] = (stn_side){
                .name = e->alphabet.name[s],
                .real_count = count[STN_REAL],
                .synthetic_count = count[STN_SYNTHETIC],
                .ks = NAN,
                .dt_wasserstein =
                    stn_wasserstein_log10(real, real_count, synthetic, synthetic_count),
            };
        }
    }
    stn_free(counts);
    if (e->out->type_count) {
        qsort(e->out->types, e->out->type_count, sizeof *e->out->types, by_real_count);
    }
    return STN_OK;
}

static double step_distance(const stn_groups *a, const stn_groups *b) {
    return stn_wasserstein_log10(a->pooled, a->count, b->pooled, b->count);
}

stn_status stn_fidelity_steps(stn_evaluating *e, stn_err *err) {
    sides_of steps = {0};
    stn_status status = STN_OK;
    for (int side = 0; side < STN_SIDES && !status; side++) {
        stn_samples samples = {0};
        status = stn_pace_steps(&samples, e->views[side].traces, e->views[side].trace_count,
                                &e->alphabet, err);
        if (!status) {
            status = stn_groups_make(&steps.of[side], &samples, e->alphabet.count, err);
        }
        stn_samples_fini(&samples);
    }
    if (!status) {
        const stn_groups *real = &steps.of[STN_REAL];
        const stn_groups *synthetic = &steps.of[STN_SYNTHETIC];
        e->out->dt_wasserstein = step_distance(synthetic, real);
        e->out->dt_wasserstein_real = step_distance(&steps.of[STN_TRAIN], real);
        stn_loghist_fill(&e->out->dt_real, real->pooled, real->count, STEP_LOW, STEP_HIGH,
                         STEP_BINS);
        stn_loghist_fill(&e->out->dt_synthetic, synthetic->pooled, synthetic->count, STEP_LOW,
                         STEP_HIGH, STEP_BINS);
        status = fill_types(e, &steps, err);
    }
    sides_fini(&steps);
    return status;
}

/* ---- waits ------------------------------------------------------------- */

static stn_status fill_syscalls(stn_evaluating *e, const sides_of *calls, stn_err *err) {
    uint32_t labels = calls->of[STN_REAL].label_count;
    uint32_t used = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            e->out->syscalls = stn_calloc(used, sizeof *e->out->syscalls);
            if (!e->out->syscalls) {
                return stn_err_set(err, STN_ENOMEM, "out of memory for %u system calls", used);
            }
        }
        for (uint32_t label = 0; label < labels; label++) {
            size_t real_count;
            size_t synthetic_count;
            const float *real = stn_groups_of(&calls->of[STN_REAL], label, &real_count);
            const float *synthetic =
                stn_groups_of(&calls->of[STN_SYNTHETIC], label, &synthetic_count);
            if (!real_count && !synthetic_count) {
                continue;
            }
            if (!pass) {
                used++;
            } else {
                e->out->syscalls[e->out->syscall_count++] =
                    compare_durations(label, real, real_count, synthetic, synthetic_count);
            }
        }
    }
    if (used) {
        qsort(e->out->syscalls, used, sizeof *e->out->syscalls, by_real_count);
    }
    return STN_OK;
}

static stn_status compare_wait(stn_evaluating *e, const stn_waits *waits, stn_wait wait,
                               stn_err *err) {
    stn_evaluation *out = e->out;
    double *const ks[STN_WAIT_COUNT] = {&out->ks_syscall, &out->ks_runqueue, &out->ks_block};
    double *const yardstick[STN_WAIT_COUNT] = {&out->ks_syscall_real, &out->ks_runqueue_real,
                                               &out->ks_block_real};
    uint32_t labels = wait == STN_WAIT_SYSCALL ? stn_catalog_string_count(e->catalog) : 1;
    sides_of sides = {0};
    stn_status status = STN_OK;
    for (int side = 0; side < STN_SIDES && !status; side++) {
        status = stn_groups_make(&sides.of[side], &waits[side].of[wait], labels, err);
    }
    if (!status) {
        const stn_groups *train = &sides.of[STN_TRAIN];
        const stn_groups *real = &sides.of[STN_REAL];
        const stn_groups *synthetic = &sides.of[STN_SYNTHETIC];
        *ks[wait] = stn_kolmogorov(synthetic->pooled, synthetic->count, real->pooled, real->count);
        *yardstick[wait] = stn_kolmogorov(train->pooled, train->count, real->pooled, real->count);
        stn_loghist_fill(&out->wait_real[wait], real->pooled, real->count, WAIT_LOW, WAIT_HIGH,
                         WAIT_BINS);
        stn_loghist_fill(&out->wait_synthetic[wait], synthetic->pooled, synthetic->count, WAIT_LOW,
                         WAIT_HIGH, WAIT_BINS);
        status = wait == STN_WAIT_SYSCALL ? fill_syscalls(e, &sides, err) : STN_OK;
    }
    sides_fini(&sides);
    return status;
}

stn_status stn_fidelity_waits(stn_evaluating *e, stn_err *err) {
    stn_waits waits[STN_SIDES] = {0};
    stn_status status = STN_OK;
    for (int side = 0; side < STN_SIDES && !status; side++) {
        status = stn_waits_collect(&waits[side], e->views[side].traces, e->views[side].trace_count,
                                   e->catalog, err);
    }
    for (int wait = 0; wait < STN_WAIT_COUNT && !status; wait++) {
        status = compare_wait(e, waits, (stn_wait)wait, err);
    }
    for (int side = 0; side < STN_SIDES; side++) {
        stn_waits_fini(&waits[side]);
    }
    return status;
}

/* ---- pace and shares --------------------------------------------------- */

stn_status stn_fidelity_pace(stn_evaluating *e, stn_err *err) {
    stn_pace pace[STN_SIDES];
    for (int side = 0; side < STN_SIDES; side++) {
        stn_pace_measure(&pace[side], e->views[side].traces, e->views[side].trace_count);
    }
    stn_evaluation *out = e->out;
    out->rate_train = pace[STN_TRAIN].rate;
    out->rate_real = pace[STN_REAL].rate;
    out->rate_synthetic = pace[STN_SYNTHETIC].rate;
    out->run_length_train = pace[STN_TRAIN].run_length;
    out->run_length_real = pace[STN_REAL].run_length;
    out->run_length_synthetic = pace[STN_SYNTHETIC].run_length;
    memcpy(out->fano_train, pace[STN_TRAIN].fano, sizeof out->fano_train);
    memcpy(out->fano_real, pace[STN_REAL].fano, sizeof out->fano_real);
    memcpy(out->fano_synthetic, pace[STN_SYNTHETIC].fano, sizeof out->fano_synthetic);
    return stn_work_poll(&e->work, err);
}

static int by_number(const void *a, const void *b) {
    const stn_share *x = a;
    const stn_share *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static int by_real_share(const void *a, const void *b) {
    const stn_share *x = a;
    const stn_share *y = b;
    if (x->real != y->real) {
        return x->real < y->real ? 1 : -1;
    }
    if (x->synthetic != y->synthetic) {
        return x->synthetic < y->synthetic ? 1 : -1;
    }
    return by_number(a, b);
}

static stn_status tally_side(stn_tallies *tallies, const stn_view *view, bool threads,
                             stn_catalog *catalog, stn_err *err) {
    return threads ? stn_tallies_threads(tallies, view->traces, view->trace_count, catalog, err)
                   : stn_tallies_cpus(tallies, view->traces, view->trace_count, err);
}

static stn_status compare_shares(stn_evaluating *e, bool threads, stn_err *err) {
    stn_evaluation *out = e->out;
    stn_tallies tallies[STN_SIDES] = {{.total = 0}};
    stn_status status = STN_OK;
    for (int side = 0; side < STN_SIDES && !status; side++) {
        status = tally_side(&tallies[side], &e->views[side], threads, e->catalog, err);
    }
    stn_share **rows = threads ? &out->threads : &out->cpus;
    uint32_t *count = threads ? &out->thread_count : &out->cpu_count;
    if (!status) {
        *(threads ? &out->thread_share_distance : &out->cpu_share_distance) =
            stn_tallies_distance(&tallies[STN_SYNTHETIC], &tallies[STN_REAL]);
        *(threads ? &out->thread_share_distance_real : &out->cpu_share_distance_real) =
            stn_tallies_distance(&tallies[STN_TRAIN], &tallies[STN_REAL]);
        status = stn_tallies_rows(&tallies[STN_REAL], &tallies[STN_SYNTHETIC], rows, count, err);
    }
    if (!status && *count) {
        qsort(*rows, *count, sizeof **rows, threads ? by_real_share : by_number);
    }
    for (int side = 0; side < STN_SIDES; side++) {
        stn_tallies_fini(&tallies[side]);
    }
    return status;
}

stn_status stn_fidelity_shares(stn_evaluating *e, stn_err *err) {
    stn_status status = compare_shares(e, false, err);
    return status ? status : compare_shares(e, true, err);
}
