/** @file
 *  A model of one bundled recording, trained once, for the tests of models and generators. */
#ifndef STN_TESTS_UNIT_SYNTH_MODEL_H
#define STN_TESTS_UNIT_SYNTH_MODEL_H

#include <stdlib.h>
#include <string.h>

#include <standin/synth.h>

#include "testing.h"

#include "core/base/alloc.h"

/** The recording and what was learned from its first @c events. */
typedef struct lesson {
    stn_catalog *catalog;
    stn_trace trace;
    stn_model *model;
    stn_train_stats stats;
    stn_err err;
} lesson;

/* Learn from at most @p limit events; 0: all. */
static inline lesson *lesson_learn_as(size_t limit, const stn_train_options *options) {
    lesson *l = calloc(1, sizeof *l);
    assert_int_equal(stn_catalog_new(&l->catalog, &l->err), STN_OK);
    stn_trace_init(&l->trace, l->catalog);
    if (stn_trace_load(&l->trace, STN_SOURCE_DIR "/examples/backup.run1.txt.zst", NULL, l->catalog,
                       NULL, NULL, &l->err)) {
        fail_msg("%s", l->err.text);
    }
    if (limit && l->trace.count > limit) {
        l->trace.count = limit;
    }
    const stn_trace *runs[] = {&l->trace};
    if (stn_model_train(&l->model, runs, 1, options, &l->stats, l->catalog, NULL, NULL, &l->err)) {
        fail_msg("%s", l->err.text);
    }
    return l;
}

static inline lesson *lesson_learn(size_t limit) {
    return lesson_learn_as(limit, NULL);
}

/** Train on the first @p events of @p l, letting one allocation after the other fail: each
 *  time that is said, and nothing is left behind. */
static inline void lesson_faults(const lesson *l, size_t events, const stn_train_options *options) {
    stn_trace run = l->trace;
    run.count = events;
    const stn_trace *runs[] = {&run};
    stn_model *model = NULL;
    stn_status status = STN_ENOMEM;
    size_t failures = 0;
    for (uint64_t nth = 1; status != STN_OK && nth < 1000000; nth += 1 + nth / 6) {
        stn_err err = {0};
        stn_alloc_fail_at(nth);
        status = stn_model_train(&model, runs, 1, options, NULL, l->catalog, NULL, NULL, &err);
        stn_alloc_fail_at(0);
        if (status != STN_OK) {
            assert_int_equal(status, STN_ENOMEM);
            assert_null(model);
            assert_non_null(strstr(err.text, "memory"));
            failures++;
        }
    }
    assert_int_equal(status, STN_OK);
    assert_true(failures > 10);
    stn_model_free(model);
}

static inline void lesson_end(lesson *l) {
    stn_model_free(l->model);
    stn_trace_fini(&l->trace);
    stn_catalog_free(l->catalog);
    free(l);
}

/* @p count events of @p model, appended to @p out. */
static inline void lesson_generate(const stn_model *model, stn_catalog *catalog, uint64_t seed,
                                   bool unguided, size_t count, stn_trace *out,
                                   stn_generate_stats *stats) {
    stn_generate_options options = {.seed = seed, .begin_ns = 5000, .unguided = unguided};
    stn_generator *generator;
    stn_err err = {0};
    assert_int_equal(stn_generator_new(&generator, model, &options, catalog, &err), STN_OK);
    for (size_t i = 0; i < count; i++) {
        stn_event event;
        assert_int_equal(stn_generator_next(generator, &event, &err), STN_OK);
        assert_int_equal(stn_trace_append(out, &event, &err), STN_OK);
    }
    if (stats) {
        stn_generator_stats(generator, stats);
    }
    stn_generator_free(generator);
}

static inline bool lesson_same_fields(const stn_event *a, const stn_catalog *ca, const stn_event *b,
                                      const stn_catalog *cb) {
    for (uint16_t i = 0; i < a->field_count; i++) {
        const stn_field *x = &a->fields[i], *y = &b->fields[i];
        if (x->kind != y->kind ||
            strcmp(stn_catalog_text(ca, x->name), stn_catalog_text(cb, y->name)) != 0 ||
            (x->kind == STN_FIELD_STR ? strcmp(x->v.s, y->v.s) != 0 : x->v.i != y->v.i)) {
            return false;
        }
    }
    return true;
}

/* How many events at the same place are alike, by name, whatever their catalogs. */
static inline size_t lesson_alike(const stn_trace *a, const stn_trace *b) {
    size_t alike = 0;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const stn_event *x = &a->events[i], *y = &b->events[i];
        alike += x->time_ns == y->time_ns && x->cpu == y->cpu && x->tid == y->tid &&
                 x->field_count == y->field_count &&
                 strcmp(stn_catalog_type_at(a->catalog, x->type)->name,
                        stn_catalog_type_at(b->catalog, y->type)->name) == 0 &&
                 strcmp(stn_catalog_text(a->catalog, x->comm),
                        stn_catalog_text(b->catalog, y->comm)) == 0 &&
                 lesson_same_fields(x, a->catalog, y, b->catalog);
    }
    return alike;
}

#endif
