/** @file
 *  A vocabulary learned from a few lines and a world to let more lines happen in. The form of
 *  the lines is that of rules_trace.h. */
#ifndef STN_TESTS_UNIT_SYNTH_LAB_H
#define STN_TESTS_UNIT_SYNTH_LAB_H

#include "rules_trace.h"

#include "core/base/alloc.h"
#include "kernel/synth/world.h"

enum { LAB_CPUS = 2 };

/** Rules of one domain, for the types make and use with a field id. */
static const char lab_things[] = "standin-rules 1\n"
                                 "rule thing\n"
                                 "  doc \"A thing is made before it is used.\"\n"
                                 "  key thing by id\n"
                                 "  states gone there\n"
                                 "  on make to there\n"
                                 "  on use from there to there\n";

typedef struct lab {
    stn_catalog *catalog;
    stn_trace trace; /**< what the vocabulary was learned from */
    stn_rules *rules;
    stn_vocab vocab;
    stn_domains domains;
    stn_slots slots; /**< every field is remembered */
    stn_world world;
    stn_draft draft; /**< of the last line */
    stn_err err;
} lab;

static inline void lab_append(lab *l, const char *text) {
    line_event line;
    assert_int_equal(stn_trace_append(&l->trace, line_read(&line, text, l->catalog), &l->err),
                     STN_OK);
}

static inline void lab_slots(lab *l) {
    size_t count = (size_t)l->vocab.type_count * STN_VFIELD_MAX;
    l->slots = (stn_slots){.of = stn_malloc(count * sizeof *l->slots.of)};
    assert_non_null(l->slots.of);
    memset(l->slots.of, 0xff, count * sizeof *l->slots.of);
    for (uint32_t t = 0; t < l->vocab.type_count; t++) {
        for (uint16_t f = 0; f < l->vocab.types[t].field_count; f++) {
            l->slots.of[(size_t)t * STN_VFIELD_MAX + f] = (uint16_t)l->slots.count++;
        }
    }
}

/* @p rules: rule text, NULL for none. */
static inline lab *lab_open(const char *const *lines, size_t count, const char *rules) {
    lab *l = calloc(1, sizeof *l);
    const char *text = rules ? rules : "standin-rules 1\n";
    assert_int_equal(stn_catalog_new(&l->catalog, &l->err), STN_OK);
    stn_trace_init(&l->trace, l->catalog);
    for (size_t i = 0; i < count; i++) {
        lab_append(l, lines[i]);
    }
    if (stn_rules_parse(&l->rules, text, strlen(text), "lab", l->catalog, &l->err)) {
        fail_msg("%s", l->err.text);
    }
    const stn_trace *runs[] = {&l->trace};
    assert_int_equal(stn_vocab_learn(&l->vocab, runs, 1, l->catalog, &l->err), STN_OK);
    assert_int_equal(stn_domains_learn(&l->domains, l->rules, &l->vocab), STN_OK);
    lab_slots(l);
    assert_int_equal(stn_world_init(&l->world, &l->vocab, &l->domains, &l->slots, LAB_CPUS),
                     STN_OK);
    return l;
}
#define LAB_OPEN(lines, rules) lab_open(lines, sizeof(lines) / sizeof(lines)[0], rules)

static inline void lab_close(lab *l) {
    stn_world_fini(&l->world);
    stn_free(l->slots.of);
    stn_domains_fini(&l->domains);
    stn_vocab_fini(&l->vocab);
    stn_rules_free(l->rules);
    stn_trace_fini(&l->trace);
    stn_catalog_free(l->catalog);
    free(l);
}

/* Begin anew with an empty world. */
static inline void lab_again(lab *l) {
    stn_world_fini(&l->world);
    assert_int_equal(stn_world_init(&l->world, &l->vocab, &l->domains, &l->slots, LAB_CPUS),
                     STN_OK);
}

static inline void lab_draft(lab *l, const char *text) {
    line_event line;
    assert_int_equal(stn_draft_from(&l->draft, &l->vocab, line_read(&line, text, l->catalog)),
                     STN_OK);
}

static inline void lab_happen(lab *l, const char *text) {
    lab_draft(l, text);
    assert_int_equal(stn_world_apply(&l->world, &l->draft), STN_OK);
}

/* First dense type of that name. */
static inline uint32_t lab_type(const lab *l, const char *name) {
    for (uint32_t t = 0; t < l->vocab.type_count; t++) {
        if (strcmp(stn_vocab_name(&l->vocab, l->vocab.types[t].name), name) == 0) {
            return t;
        }
    }
    fail_msg("no type %s", name);
    return 0;
}

static inline uint16_t lab_field(const lab *l, uint32_t type, const char *name) {
    for (uint16_t f = 0; f < l->vocab.types[type].field_count; f++) {
        if (strcmp(stn_vocab_name(&l->vocab, l->vocab.types[type].fields[f].name), name) == 0) {
            return f;
        }
    }
    fail_msg("no field %s", name);
    return 0;
}

static inline uint8_t lab_means(const lab *l, const char *type, const char *field) {
    uint32_t t = lab_type(l, type);
    return l->vocab.types[t].fields[lab_field(l, t, field)].means;
}

static inline const stn_thread *lab_thread(const lab *l, int32_t tid) {
    uint32_t index = stn_world_thread(&l->world, tid, 0);
    assert_true(index != STN_WORLD_NONE);
    return &l->world.threads[index];
}

#endif
