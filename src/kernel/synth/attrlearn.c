/* Learning attributes, three walks over the training runs:
 *   1. starts: who was there when a run began;
 *   2. survey: which values are frequent enough to be kept exactly, which source tells most
 *      about each field, how ages are best counted - on a sample of each type's events;
 *   3. count: fill the tables.
 * A source is judged by the bits that an adaptive code needs for the sample, so a source that
 * only splits the counts loses on its own. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/attr.h"
#include "kernel/synth/pick.h"

enum {
    CANDIDATES = 32,
    SAMPLES = 1024,
    EXACT_ANY = 192,   /* distinct values of a field that are all kept exactly */
    EXACT_SHARE = 400, /* beyond: those with at least 1/400 of its cases */
    START_AFTER = 500, /* events from which it is known who is there */
    STARTS = 3,        /* moments of each run that are kept to begin from */
    AGE_BITS = 3,      /* about, of an age that is not 0 */
    CROWDS_EVERY = 512 /* events between two looks at who is there */
};

typedef struct sample {
    uint64_t value;
    uint64_t told[CANDIDATES]; /* word of each candidate; the top bit: it equals the value */
} sample;

typedef struct field_survey {
    stn_source candidates[CANDIDATES];
    uint32_t candidate_count;
    sample *samples;
    size_t count, capacity;
    uint64_t seen; /* cases so far */
    uint64_t distinct;
    uint64_t kinds[STN_FIELD_SEQ + 1];
    double bits;                     /* of the sample, given the best source */
    uint64_t newest[STN_AGES], ages; /* cases with age 0, by way of counting */
} field_survey;

typedef struct learner {
    stn_attr *attr;
    stn_vocab *vocab;
    const stn_domains *domains;
    stn_world *world; /* of the walk */
    stn_runs *runs;
    field_survey *surveys; /* [types][STN_VFIELD_MAX] */
    stn_map values;        /* hash of (type, field, value) -> count, then index + 1 */
    stn_chain_builder cases;
    size_t value_capacity;
    uint64_t (*key_newest)[STN_TYPE_KEYS][STN_AGES];
    field_survey (*key_surveys)[STN_TYPE_KEYS]; /* relations of instances */
    stn_map crowds;                             /* comm -> row + 1 */
    size_t crowd_capacity;
    stn_sleeps_builder sleeps;
    stn_dues_builder dues;
    uint32_t start_next; /* of the run being walked */
    stn_templates_builder templates;
    stn_wakes_builder wakes;
    uint32_t words[UINT8_MAX]; /* template of the event being counted */
} learner;

/* ---- walking ----------------------------------------------------------------------- */

static void find_subject(learner *l, const stn_draft *draft, stn_subject *subject) {
    const stn_vtype *type = &l->vocab->types[draft->type];
    subject->thread = subject->instance = STN_WORLD_NONE;
    for (uint16_t i = 0; i < type->field_count && subject->thread == STN_WORLD_NONE; i++) {
        uint8_t means = type->fields[i].means;
        const stn_val *val = &draft->vals[i];
        if ((means == STN_MEANS_THREAD || means == STN_MEANS_NEXT || means == STN_MEANS_CHILD) &&
            val->kind != STN_VAL_NONE && val->kind != STN_FIELD_STR && val->v >= 0) {
            subject->thread = stn_world_thread(l->world, (int32_t)val->v, draft->cpu);
        }
    }
    const stn_type_keys *keys = &l->domains->types[draft->type];
    for (uint8_t k = 0; k < keys->count && subject->instance == STN_WORLD_NONE; k++) {
        stn_val parts[STN_KEY_FIELDS];
        for (uint8_t j = 0; j < keys->keys[k].field_count; j++) {
            parts[j] = draft->vals[keys->keys[k].fields[j]];
        }
        subject->instance = stn_instance_find(
            l->world, keys->keys[k].domain,
            stn_instance_scope(l->world, keys->keys[k].domain, draft->cpu, subject->current), parts,
            keys->keys[k].field_count);
    }
}

static stn_status walk(learner *l, stn_walk_fn visit) {
    return stn_walk(l->vocab, l->domains, &l->attr->slots, l->attr->cpu_count, l->runs, visit, l);
}

static void see_threads(learner *l, stn_walk_step *step, stn_subject *subject) {
    l->world = step->world;
    if (step->world->live_threads > l->attr->thread_limit) {
        l->attr->thread_limit = step->world->live_threads;
    }
    *subject = (stn_subject){step->current, STN_WORLD_NONE, STN_WORLD_NONE};
    if (step->current != STN_WORLD_NONE) {
        find_subject(l, step->draft, subject);
    }
}

/* ---- 1. starts ------------------------------------------------------------------------ */

static const double start_shares[STARTS] = {0, 0.003, 0.008};
static const double first_share = 0.3; /* of a short run, where START_AFTER is too much */

/* Row of a name, a new one if need be; NULL: out of memory. */
static stn_crowd *crowd_of(learner *l, uint32_t comm) {
    uint64_t *entry = stn_map_put(&l->crowds, comm, NULL);
    if (!entry) {
        return NULL;
    }
    if (*entry == 0) {
        if (stn_grow(&l->attr->crowds, &l->crowd_capacity, l->attr->crowd_count + 1u,
                     sizeof *l->attr->crowds) != STN_OK) {
            return NULL;
        }
        l->attr->crowds[l->attr->crowd_count++] = (stn_crowd){.comm = comm};
        *entry = l->attr->crowd_count;
    }
    return &l->attr->crowds[*entry - 1];
}

/* Those whose name is there at the first start: how few there are is counted from then on. */
static stn_status crowds_begin(learner *l) {
    for (uint32_t i = l->world->cpu_count; i < l->world->thread_count; i++) {
        if (l->world->threads[i].comm != STN_WORLD_NONE) {
            stn_crowd *crowd = crowd_of(l, l->world->threads[i].comm);
            if (!crowd) {
                return STN_ENOMEM;
            }
            crowd->least = UINT32_MAX;
        }
    }
    return STN_OK;
}

static void crowds_count(learner *l) {
    for (uint32_t j = 0; j < l->attr->crowd_count; j++) {
        stn_crowd *crowd = &l->attr->crowds[j];
        uint32_t count = stn_world_named(l->world, crowd->comm);
        crowd->least = count < crowd->least ? count : crowd->least;
        crowd->most = count > crowd->most ? count : crowd->most;
    }
}

static stn_status visit_start(learner *l, const stn_walk_step *step) {
    size_t events = l->runs->traces[step->run]->count;
    if (step->index == 0) {
        l->start_next = 0;
    }
    double after = start_shares[l->start_next < STARTS ? l->start_next : 0] * (double)events;
    double least = first_share * (double)events;
    after += least < START_AFTER ? least : START_AFTER;
    if (l->start_next < STARTS && (double)step->index >= after && stn_start_fits(step->world)) {
        l->start_next++;
        if (stn_start_take(&l->attr->starts[l->attr->start_count], step->world) != STN_OK) {
            return STN_ENOMEM;
        }
        if (l->attr->start_count++ == 0 && crowds_begin(l) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    if (l->start_next > 0 && step->index % CROWDS_EVERY == 0) {
        crowds_count(l);
    }
    stn_status status = STN_OK;
    for (uint32_t i = 0; step->index + 1 == events && i < l->start_next && status == STN_OK; i++) {
        uint32_t own = l->attr->start_count - 1 - i;
        status = stn_start_complete(&l->attr->starts[own], step->world);
    }
    return status;
}

/* Names of which nobody was looked at have no least. */
static void crowds_end(stn_attr *attr) {
    for (uint32_t j = 0; j < attr->crowd_count; j++) {
        if (attr->crowds[j].least == UINT32_MAX) {
            attr->crowds[j].least = 0;
        }
    }
}

/* ---- 2. survey ------------------------------------------------------------------------- */

static uint64_t value_hash(stn_val val) {
    return stn_chain_mix(val.kind == STN_FIELD_STR ? 5 : 7, (uint64_t)val.v);
}

static uint64_t value_key(uint32_t type, uint16_t field, stn_val val) {
    return stn_chain_mix(value_hash(val), (uint64_t)type << 8 | field);
}

static stn_status survey_value(learner *l, const stn_draft *draft, const stn_subject *subject,
                               uint16_t field) {
    field_survey *survey = &l->surveys[(size_t)draft->type * STN_VFIELD_MAX + field];
    stn_val val = draft->vals[field];
    uint64_t stride = l->vocab->types[draft->type].count / SAMPLES + 1;
    bool added;
    uint64_t *count = stn_map_put(&l->values, value_key(draft->type, field, val), &added);
    if (!count) {
        return STN_ENOMEM;
    }
    ++*count;
    survey->distinct += added;
    survey->kinds[val.kind]++;
    if (survey->seen++ % stride != 0) {
        return STN_OK;
    }
    if (survey->seen == 1) {
        survey->candidate_count =
            stn_source_candidates(l->vocab, draft->type, field, survey->candidates, CANDIDATES);
    }
    if (stn_grow(&survey->samples, &survey->capacity, survey->count + 1, sizeof(sample)) !=
        STN_OK) {
        return STN_ENOMEM;
    }
    sample *out = &survey->samples[survey->count++];
    out->value = value_hash(val);
    for (uint32_t i = 0; i < survey->candidate_count; i++) {
        stn_val told = stn_source_value(l->world, &survey->candidates[i], draft, subject, field);
        bool equal = told.kind != STN_VAL_NONE && stn_val_equal(told, val);
        out->told[i] = (stn_val_word(told) & (UINT64_MAX >> 1)) | (uint64_t)equal << 63;
    }
    return STN_OK;
}

static void survey_thread(learner *l, const stn_draft *draft, const stn_subject *subject,
                          uint16_t field) {
    field_survey *survey = &l->surveys[(size_t)draft->type * STN_VFIELD_MAX + field];
    uint8_t means = l->vocab->types[draft->type].fields[field].means;
    int64_t tid = draft->vals[field].v;
    uint32_t index = stn_world_thread(l->world, (int32_t)tid, draft->cpu);
    uint32_t relation = stn_pick_relation(l->world, draft, means, subject->current, index, tid);
    if (relation < STN_PICK_STATE || index == STN_WORLD_NONE) {
        return;
    }
    bool here = (relation - STN_PICK_STATE) % 2;
    for (stn_age age = 0; age < STN_AGE_DUE; age++) {
        survey->newest[age] += stn_pick_age(l->world, index, draft->cpu, here, age) == 0;
    }
}

static uint32_t key_instance(learner *l, const stn_draft *draft, const stn_subject *subject,
                             const stn_type_key *key, bool *whole) {
    stn_val parts[STN_KEY_FIELDS];
    *whole = true;
    for (uint8_t j = 0; j < key->field_count; j++) {
        parts[j] = draft->vals[key->fields[j]];
        *whole &= parts[j].kind != STN_VAL_NONE;
    }
    uint32_t scope = stn_instance_scope(l->world, key->domain, draft->cpu, subject->current);
    return stn_instance_find(l->world, key->domain, scope, parts, key->field_count);
}

static stn_status survey_key(learner *l, const stn_draft *draft, const stn_subject *subject,
                             uint8_t number) {
    const stn_type_key *key = &l->domains->types[draft->type].keys[number];
    bool whole;
    uint32_t index = key_instance(l, draft, subject, key, &whole);
    uint32_t relation = stn_key_relation(l->world, draft, key->domain, subject->current, index);
    if (!whole) {
        return STN_OK;
    }
    field_survey *survey = &l->key_surveys[draft->type][number];
    uint64_t stride = l->vocab->types[draft->type].count / SAMPLES + 1;
    if (survey->seen++ % stride == 0) {
        if (stn_grow(&survey->samples, &survey->capacity, survey->count + 1, sizeof(sample)) !=
            STN_OK) {
            return STN_ENOMEM;
        }
        sample *out = &survey->samples[survey->count++];
        out->value = stn_chain_mix(9, relation);
        out->told[0] = l->world->cpus[draft->cpu].history[0];
        survey->distinct += relation == STN_KEY_FRESH;
    }
    if (relation < STN_KEY_STATE) {
        return STN_OK;
    }
    survey->ages++;
    for (stn_age age = 0; age < STN_AGES; age++) {
        l->key_newest[draft->type][number][age] +=
            stn_key_age(l->world, draft, key->domain, subject->current, index, age) == 0;
    }
    return STN_OK;
}

/* Who is woken, from where, and after how long. */
static stn_status survey_wake(learner *l, const stn_draft *draft, const stn_subject *subject) {
    uint8_t role = l->vocab->types[draft->type].role;
    if (subject->thread == STN_WORLD_NONE || role < STN_ROLE_WAKING || role > STN_ROLE_WAKEUP) {
        return STN_OK;
    }
    const stn_thread *thread = &l->world->threads[subject->thread];
    if (thread->state != STN_THREAD_BLOCKED) {
        return STN_OK;
    }
    uint64_t kin = stn_world_kin(thread), slept_ns = draft->time_ns - thread->since_ns;
    if (stn_sleeps_add(&l->sleeps, kin, slept_ns) != STN_OK) {
        return STN_ENOMEM;
    }
    return stn_wakes_add(&l->wakes, stn_world_place_of(l->world, draft->cpu), kin);
}

/* At the end of a run: those still asleep slept for so long at least. */
static stn_status survey_sleepers(learner *l) {
    stn_status status = STN_OK;
    const stn_world *world = l->world;
    for (uint32_t i = world->cpu_count; i < world->thread_count && status == STN_OK; i++) {
        const stn_thread *thread = &world->threads[i];
        if (thread->used && thread->state == STN_THREAD_BLOCKED) {
            status =
                stn_sleeps_add(&l->sleeps, stn_world_kin(thread), world->now_ns - thread->since_ns);
        }
    }
    return status;
}

static stn_status visit_survey(void *user, stn_walk_step *step) {
    learner *l = user;
    const stn_draft *draft = step->draft;
    stn_subject about, *subject = &about;
    see_threads(l, step, subject);
    const stn_vtype *type = &l->vocab->types[draft->type];
    bool last = step->index + 1 == l->runs->traces[step->run]->count;
    if (survey_wake(l, draft, subject) != STN_OK || (last && survey_sleepers(l) != STN_OK)) {
        return STN_ENOMEM;
    }
    for (uint16_t i = 0; i < type->field_count; i++) {
        uint8_t means = type->fields[i].means;
        if (draft->vals[i].kind == STN_VAL_NONE) {
            continue;
        }
        if (means == STN_MEANS_THREAD || means == STN_MEANS_NEXT) {
            survey_thread(l, draft, subject, i);
        }
        if (survey_value(l, draft, subject, i) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    if (subject->current != STN_WORLD_NONE &&
        stn_dues_see(&l->dues, step->world, draft, subject->current) != STN_OK) {
        return STN_ENOMEM;
    }
    for (uint8_t k = 0; k < l->domains->types[draft->type].count; k++) {
        if (survey_key(l, draft, subject, k) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    return STN_OK;
}

/* Bits of the sample in an adaptive code, given candidate @p number (-1: no source). */
static stn_status code_length(const field_survey *survey, int number, stn_map *counts,
                              double *bits) {
    double total = 0;
    uint64_t n0 = 0, u0 = 0;
    stn_map_clear(counts);
    for (size_t i = 0; i < survey->count; i++) {
        const sample *s = &survey->samples[i];
        uint64_t told = number < 0 ? 0 : s->told[number];
        uint64_t symbol = told >> 63 ? 1 : s->value;
        uint64_t context = stn_chain_mix(3, told & (UINT64_MAX >> 1));
        bool new0;
        uint64_t *c0 = stn_map_put(counts, stn_chain_mix(11, symbol), &new0);
        if (!c0) {
            return STN_ENOMEM;
        }
        double p = ((double)*c0 + (double)u0 / 1024.0 + 1e-3) / ((double)(n0 + u0) + 1.0);
        ++*c0;
        u0 += new0;
        n0++;
        if (number >= 0) {
            bool fresh;
            uint64_t *n = stn_map_put(counts, context, NULL);
            uint64_t cases = n ? (*n)++ : 0;
            uint64_t *u = stn_map_put(counts, stn_chain_mix(context, 1), NULL);
            uint64_t kinds = u ? *u : 0;
            uint64_t *c = stn_map_put(counts, stn_chain_mix(context, symbol ^ 0x77), &fresh);
            if (!n || !u || !c) {
                return STN_ENOMEM;
            }
            if (cases > 0) {
                p = ((double)*c + (double)kinds * p) / (double)(cases + kinds);
            }
            ++*c;
            u = stn_map_get(counts, stn_chain_mix(context, 1));
            *u += fresh;
        }
        total -= log2(p);
    }
    *bits = total;
    return STN_OK;
}

static stn_status choose_source(const field_survey *survey, stn_map *counts, stn_source *out,
                                double *bits_out) {
    double best, bits;
    *out = (stn_source){.kind = STN_SOURCE_NONE};
    if (code_length(survey, -1, counts, &best) != STN_OK) {
        return STN_ENOMEM;
    }
    best = best * 0.98 - 16;
    for (uint32_t i = 0; i < survey->candidate_count && best > 0; i++) {
        if (code_length(survey, (int)i, counts, &bits) != STN_OK) {
            return STN_ENOMEM;
        }
        if (bits < best) {
            best = bits;
            *out = survey->candidates[i];
        }
    }
    *bits_out = out->kind == STN_SOURCE_NONE ? (best + 16) / 0.98 : best;
    return STN_OK;
}

static uint8_t number_kind(const field_survey *survey) {
    uint8_t best = STN_FIELD_INT;
    for (uint32_t k = STN_FIELD_INT; k <= STN_FIELD_REAL; k++) {
        best = survey->kinds[k] > survey->kinds[best] ? k : best;
    }
    return best;
}

/* How to draw a key: by the state and age of an instance, or, if that takes fewer bits, by
 * its value. */
static stn_status choose_key(learner *l, stn_map *counts, uint32_t t, uint8_t k) {
    const uint64_t *newest = l->key_newest[t][k];
    const stn_type_key *key = &l->domains->types[t].keys[k];
    field_survey *survey = &l->key_surveys[t][k];
    uint8_t best = STN_AGE_NEWEST;
    best = newest[STN_AGE_OLDEST] > newest[best] ? STN_AGE_OLDEST : best;
    best = newest[STN_AGE_DUE] > newest[best] ? STN_AGE_DUE : best;
    l->attr->key_age[t][k] = best;
    double by_state = 0, by_value = 0;
    if (code_length(survey, 0, counts, &by_state) != STN_OK) {
        return STN_ENOMEM;
    }
    for (uint8_t j = 0; j < key->field_count; j++) {
        by_value += l->surveys[(size_t)t * STN_VFIELD_MAX + key->fields[j]].bits;
    }
    if (survey->ages > 0 && survey->count > 0) {
        double p = ((double)newest[best] + 0.5) / ((double)survey->ages + 1);
        double aged = (double)survey->count * (double)survey->ages / (double)survey->seen;
        by_state += aged * (-p * log2(p) - (1 - p) * log2(1 - p) + (1 - p) * AGE_BITS);
    }
    by_state += by_value * (double)survey->distinct / (double)(survey->count ? survey->count : 1);
    /* a handler's exit names what its entry named, whatever the numbers were */
    if (by_value < by_state && l->vocab->types[t].frame != STN_FRAME_POP) {
        l->attr->key_age[t][k] = STN_KEY_BY_VALUE;
    }
    stn_free(survey->samples);
    survey->samples = NULL;
    return STN_OK;
}

static stn_status choose(learner *l) {
    stn_map counts = {0};
    stn_status status = STN_OK;
    for (uint32_t t = 0; t < l->vocab->type_count && status == STN_OK; t++) {
        for (uint16_t f = 0; f < l->vocab->types[t].field_count && status == STN_OK; f++) {
            field_survey *survey = &l->surveys[(size_t)t * STN_VFIELD_MAX + f];
            stn_attr_field *field = &l->attr->fields[(size_t)t * STN_VFIELD_MAX + f];
            field->kind = number_kind(survey);
            field->age = survey->newest[STN_AGE_OLDEST] > survey->newest[STN_AGE_NEWEST];
            status = choose_source(survey, &counts, &field->source, &survey->bits);
            stn_free(survey->samples);
            survey->samples = NULL;
        }
        for (uint8_t k = 0; k < l->domains->types[t].count && status == STN_OK; k++) {
            status = choose_key(l, &counts, t, k);
        }
    }
    stn_map_fini(&counts);
    return status;
}

/* Give slots to the fields that some source remembers. */
static void assign_slots(stn_attr *attr) {
    size_t count = (size_t)attr->vocab->type_count * STN_VFIELD_MAX;
    memset(attr->slots.of, 0xff, count * sizeof *attr->slots.of);
    attr->slots.count = 0;
    for (size_t i = 0; i < count; i++) {
        const stn_source *source = &attr->fields[i].source;
        if (source->kind == STN_SOURCE_THREAD || source->kind == STN_SOURCE_CPU) {
            uint16_t *slot = &attr->slots.of[(size_t)source->type * STN_VFIELD_MAX + source->index];
            if (*slot == STN_SLOT_NONE) {
                *slot = (uint16_t)attr->slots.count++;
            }
        }
    }
}

/* ---- 3. count ----------------------------------------------------------------------------- */

/* Index of an exact value, adding it at its first use; UINT32_MAX: it goes to a bin. */
static stn_status exact_index(learner *l, const stn_draft *draft, uint16_t field, uint32_t *out) {
    const field_survey *survey = &l->surveys[(size_t)draft->type * STN_VFIELD_MAX + field];
    stn_val val = draft->vals[field];
    uint64_t *count = stn_map_get(&l->values, value_key(draft->type, field, val));
    uint64_t cases = count ? *count & UINT32_MAX : 0;
    *out = UINT32_MAX;
    bool exact = val.kind == STN_FIELD_STR || val.kind == STN_FIELD_REAL ||
                 survey->distinct <= EXACT_ANY || cases * EXACT_SHARE >= survey->seen;
    if (!count || !exact) {
        return STN_OK;
    }
    if (*count >> 32 == 0) {
        if (stn_grow(&l->attr->values, &l->value_capacity, l->attr->value_count + 1u,
                     sizeof *l->attr->values) != STN_OK) {
            return STN_ENOMEM;
        }
        l->attr->values[l->attr->value_count++] = val;
        *count |= (uint64_t)l->attr->value_count << 32;
    }
    *out = (uint32_t)(*count >> 32) - 1;
    return STN_OK;
}

static stn_status add_rungs(learner *l, const uint64_t *rungs, uint32_t count, uint32_t symbol) {
    for (uint32_t i = 0; i < count; i++) {
        if (stn_chain_add(&l->cases, rungs[i], symbol) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    return STN_OK;
}

static uint32_t *word_of(learner *l, const stn_draft *draft, uint16_t field) {
    return &l->words[l->attr->templates.layouts[draft->type].field[field]];
}

static stn_status count_value(learner *l, const stn_draft *draft, const stn_subject *subject,
                              uint16_t field) {
    const stn_attr_field *how = &l->attr->fields[(size_t)draft->type * STN_VFIELD_MAX + field];
    stn_val val = draft->vals[field];
    stn_val told = stn_source_value(l->world, &how->source, draft, subject, field);
    uint64_t rungs[STN_VALUE_RUNGS];
    uint32_t count =
        stn_attr_value_rungs(draft->type, field, &how->source, draft->tid == 0, told, rungs);
    uint32_t symbol = STN_VALUE_COPY, index;
    if (told.kind == STN_VAL_NONE || !stn_val_equal(told, val)) {
        if (exact_index(l, draft, field, &index) != STN_OK) {
            return STN_ENOMEM;
        }
        if (index != UINT32_MAX) {
            symbol = STN_VALUE_EXACT + index;
        } else {
            uint64_t size = val.v < 0 ? 0 - (uint64_t)val.v : (uint64_t)val.v;
            symbol = STN_VALUE_BIN + stn_step_symbol(size) + (val.v < 0 ? STN_STEP_SYMBOLS : 0);
        }
    }
    *word_of(l, draft, field) = symbol;
    return add_rungs(l, rungs, count, symbol);
}

static stn_status count_list(learner *l, const stn_draft *draft, const stn_subject *subject,
                             uint16_t field, uint32_t relation, uint32_t index) {
    uint64_t rungs[3];
    uint32_t count;
    uint32_t comm = l->world->threads[index].comm;
    bool here = (relation - STN_PICK_STATE) % 2;
    uint32_t *words = word_of(l, draft, field);
    words[STN_WORD_COMM] = comm;
    words[STN_WORD_OPEN] = stn_pick_kin(l->world, index).open;
    if (comm != STN_WORLD_NONE) {
        count = stn_pick_rungs(l->world, STN_TABLE_COMM, draft, field, relation, subject->current,
                               rungs);
        if (add_rungs(l, rungs, count, comm) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    stn_age age = l->attr->fields[(size_t)draft->type * STN_VFIELD_MAX + field].age;
    count =
        stn_pick_rungs(l->world, STN_TABLE_AGE, draft, field, relation, subject->current, rungs);
    words[STN_WORD_AGE] = stn_pick_age(l->world, index, draft->cpu, here, age);
    return add_rungs(l, rungs, count, words[STN_WORD_AGE]);
}

static stn_status count_thread(learner *l, const stn_draft *draft, const stn_subject *subject,
                               uint16_t field) {
    uint8_t means = l->vocab->types[draft->type].fields[field].means;
    const stn_val *val = &draft->vals[field];
    int64_t tid = val->kind == STN_FIELD_STR ? -1 : val->v;
    uint32_t index =
        tid >= 0 ? stn_world_thread(l->world, (int32_t)tid, draft->cpu) : STN_WORLD_NONE;
    uint32_t relation = stn_pick_relation(l->world, draft, means, subject->current, index, tid);
    uint64_t rungs[3];
    uint32_t count = stn_pick_rungs(l->world, STN_TABLE_PICK, draft, field,
                                    stn_pick_word(l->world, draft), subject->current, rungs);
    if (add_rungs(l, rungs, count, relation) != STN_OK) {
        return STN_ENOMEM;
    }
    if (relation == STN_PICK_LITERAL) {
        stn_status status = count_value(l, draft, subject, field);
        uint32_t *words = word_of(l, draft, field);
        words[STN_WORD_RELATION] = relation; /* the value is drawn by itself */
        return status;
    }
    *word_of(l, draft, field) = relation;
    if (relation >= STN_PICK_STATE && index != STN_WORLD_NONE) {
        return count_list(l, draft, subject, field, relation, index);
    }
    return STN_OK;
}

static stn_status count_key(learner *l, const stn_draft *draft, const stn_subject *subject,
                            uint8_t number) {
    const stn_type_key *key = &l->domains->types[draft->type].keys[number];
    bool whole;
    uint32_t index = key_instance(l, draft, subject, key, &whole);
    uint32_t relation = stn_key_relation(l->world, draft, key->domain, subject->current, index);
    uint64_t rungs[3];
    uint32_t count =
        stn_pick_rungs(l->world, STN_TABLE_KEY, draft, number, 0, subject->current, rungs);
    if (!whole) {
        return STN_OK;
    }
    bool by_value = l->attr->key_age[draft->type][number] == STN_KEY_BY_VALUE;
    bool scoped = l->domains->scope[key->domain] != STN_SCOPE_ALL;
    if (by_value || scoped || relation == STN_KEY_FRESH) {
        for (uint8_t j = 0; j < key->field_count; j++) {
            if (count_value(l, draft, subject, key->fields[j]) != STN_OK) {
                return STN_ENOMEM;
            }
        }
    }
    if (by_value) {
        return STN_OK;
    }
    if (add_rungs(l, rungs, count, relation) != STN_OK) {
        return STN_ENOMEM;
    }
    uint32_t *words = &l->words[l->attr->templates.layouts[draft->type].key[number]];
    words[STN_WORD_RELATION] = relation;
    if (relation < STN_KEY_STATE) {
        return STN_OK;
    }
    count = stn_pick_rungs(l->world, STN_TABLE_KEY_AGE, draft, number, relation, subject->current,
                           rungs);
    words[STN_WORD_AGE] = stn_key_age(l->world, draft, key->domain, subject->current, index,
                                      l->attr->key_age[draft->type][number]);
    return add_rungs(l, rungs, count, words[STN_WORD_AGE]);
}

static stn_status count_template(learner *l, const stn_draft *draft, uint32_t current) {
    const stn_layout *layout = &l->attr->templates.layouts[draft->type];
    if (current == STN_WORLD_NONE || layout->size == 0) {
        return STN_OK;
    }
    uint64_t rungs[STN_POOL_DEPTH];
    uint64_t told = stn_attr_told(l->attr, l->world, draft, current);
    uint32_t count = stn_template_rungs(l->world, draft, current, told, rungs);
    return stn_templates_add(&l->templates, layout, rungs, count, l->words);
}

static stn_status visit_count(void *user, stn_walk_step *step) {
    learner *l = user;
    const stn_draft *draft = step->draft;
    stn_subject about, *subject = &about;
    see_threads(l, step, subject);
    const stn_vtype *type = &l->vocab->types[draft->type];
    stn_status status = visit_start(l, step);
    memset(l->words, 0xff, sizeof l->words);
    for (uint16_t i = 0; i < type->field_count && status == STN_OK; i++) {
        if (draft->vals[i].kind == STN_VAL_NONE) {
            continue;
        }
        switch (type->fields[i].means) {
        case STN_MEANS_THREAD:
        case STN_MEANS_NEXT:
        case STN_MEANS_CHILD:
            status = count_thread(l, draft, subject, i);
            break;
        case STN_MEANS_VALUE:
        case STN_MEANS_NEW_COMM:
            status = count_value(l, draft, subject, i);
            break;
        default:
            break;
        }
    }
    for (uint8_t k = 0; k < l->domains->types[draft->type].count && status == STN_OK; k++) {
        status = count_key(l, draft, subject, k);
    }
    return status == STN_OK ? count_template(l, draft, subject->current) : status;
}

/* ---- all ------------------------------------------------------------------------------------ */

static stn_status alloc_tables(learner *l, size_t runs) {
    size_t fields = (size_t)l->vocab->type_count * STN_VFIELD_MAX;
    stn_attr *attr = l->attr;
    attr->slots.of = stn_malloc(fields * sizeof *attr->slots.of);
    attr->fields = stn_calloc(fields, sizeof *attr->fields);
    attr->key_age = stn_calloc(l->vocab->type_count, sizeof *attr->key_age);
    attr->starts = stn_calloc(STARTS * runs, sizeof *attr->starts);
    l->surveys = stn_calloc(fields, sizeof *l->surveys);
    l->key_newest = stn_calloc(l->vocab->type_count, sizeof *l->key_newest);
    l->key_surveys = stn_calloc(l->vocab->type_count, sizeof *l->key_surveys);
    if (!attr->slots.of || !attr->fields || !attr->key_age || !attr->starts || !l->surveys ||
        !l->key_newest || !l->key_surveys) {
        return STN_ENOMEM;
    }
    memset(attr->slots.of, 0xff, fields * sizeof *attr->slots.of);
    return STN_OK;
}

/* For the survey everything is remembered. */
static void all_slots(stn_attr *attr) {
    for (uint32_t t = 0; t < attr->vocab->type_count; t++) {
        for (uint16_t f = 0; f < attr->vocab->types[t].field_count; f++) {
            if (attr->vocab->types[t].family == t && attr->slots.count < STN_SLOT_NONE) {
                attr->slots.of[(size_t)t * STN_VFIELD_MAX + f] = (uint16_t)attr->slots.count++;
            }
        }
    }
}

static stn_status learn(learner *l) {
    stn_status status = alloc_tables(l, l->runs->count);
    if (status == STN_OK) {
        status = stn_templates_init(&l->attr->templates, l->vocab, l->domains);
    }
    if (status != STN_OK) {
        return status;
    }
    all_slots(l->attr);
    status = walk(l, visit_survey);
    if (status == STN_OK) {
        status = choose(l);
    }
    if (status == STN_OK) {
        status = stn_wakes_build(&l->attr->wakes, &l->wakes);
        l->attr->slots.wakes = &l->attr->wakes;
    }
    if (status == STN_OK) {
        status = stn_sleeps_build(&l->attr->sleeps, &l->sleeps);
    }
    if (status == STN_OK) {
        status = stn_dues_build(&l->attr->dues, &l->dues, l->vocab->type_count);
    }
    if (status == STN_OK) {
        assign_slots(l->attr);
        status = walk(l, visit_count);
        crowds_end(l->attr);
    }
    if (status == STN_OK) {
        status = stn_templates_build(&l->attr->templates, &l->templates);
    }
    return status == STN_OK ? stn_chain_build(&l->attr->chain, &l->cases) : status;
}

static void learner_fini(learner *l) {
    size_t fields = l->surveys ? (size_t)l->vocab->type_count * STN_VFIELD_MAX : 0;
    for (size_t i = 0; i < fields; i++) {
        stn_free(l->surveys[i].samples);
    }
    for (uint32_t t = 0; l->key_surveys && t < l->vocab->type_count; t++) {
        for (int k = 0; k < STN_TYPE_KEYS; k++) {
            stn_free(l->key_surveys[t][k].samples);
        }
    }
    stn_free(l->key_surveys);
    stn_free(l->surveys);
    stn_free(l->key_newest);
    stn_map_fini(&l->values);
    stn_map_fini(&l->crowds);
    stn_chain_builder_fini(&l->cases);
    stn_templates_builder_fini(&l->templates);
    stn_wakes_builder_fini(&l->wakes);
    stn_sleeps_builder_fini(&l->sleeps);
    stn_dues_builder_fini(&l->dues);
}

stn_status stn_attr_learn(stn_attr *attr, stn_vocab *vocab, const stn_domains *domains,
                          stn_runs *runs, stn_err *err) {
    *attr = (stn_attr){.vocab = vocab, .domains = domains};
    learner l = {.attr = attr, .vocab = vocab, .domains = domains, .runs = runs};
    attr->cpu_count = stn_runs_cpus(runs);
    stn_status status = learn(&l);
    learner_fini(&l);
    if (status != STN_OK) {
        stn_attr_fini(attr);
    }
    if (status == STN_ENOMEM) {
        return stn_err_set(err, status, "out of memory while learning attributes");
    }
    return status == STN_EINTR ? stn_err_set(err, status, "training was stopped") : status;
}
