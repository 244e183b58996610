/* Which type opens and which closes, per key, and how long it stays open. Every pair of
 * types with like counts is a candidate under every key that both can form; a pass over the
 * data strikes out those that fail once, which most do within a few events. A candidate is
 * strict: its two types alternate for each key. That says nothing of which one opens: the
 * one that more often comes first for a fresh key, else the one after which the other comes
 * sooner. */
#include "kernel/rules/mine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/intern.h"

#define PAIR_COUNT_SLACK 0.02 /* counts of the two may differ by this share … */
#define PAIR_COUNT_ODD   64u  /* … plus so many left open at the ends */
#define PAIR_FIELDS      12u  /* fields of a type looked at */
#define PAIR_FIRST_SHARE 0.1  /* cases that a fresh key may leave unjudged */
#define PAIR_PARTNERS    2u   /* rules of one key base that a type takes part in */
#define DELTA_SLACK      2    /* times have longer tails than counts */
#define DELTA_SUPPORT    10u  /* a range needs so many times the support of a pair */

#define STATE_AFTER_FIRST 1u /* the last event of the key was of the first type */
#define STATE_AFTER_OTHER 2u
#define STATE_BITS        2

/* Fields that a type always has. */
typedef struct type_fields {
    uint32_t names[PAIR_FIELDS];
    uint64_t first_key[PAIR_FIELDS]; /* value in the first event */
    bool varies[PAIR_FIELDS];
    uint32_t count;
    bool seen;
} type_fields;

typedef struct candidate {
    uint32_t type[2];
    uint32_t base;  /* STN_MINE_BASE_* */
    uint32_t field; /* string id, STN_NO_ID */
    bool dead, chosen;
    stn_map state;          /* key to time << STATE_BITS | state */
    uint64_t fresh[2];      /* events of a fresh key, by type */
    uint64_t judged[2];     /* events of the type that came after the other */
    double log_span[2];     /* sum of log Δt ending with the type */
    stn_mine_extent *spans; /* [2][STN_MINE_PARTS] ending with the type */
} candidate;

typedef struct pair_list {
    uint32_t *items; /* candidate << 1 | which of its types */
    size_t count, capacity;
} pair_list;

typedef struct pair_miner {
    stn_mine *mine;
    type_fields *fields; /* [type_count] */
    candidate *candidates;
    size_t count, capacity;
    pair_list *by_type; /* [type_count] */
} pair_miner;

/* ---- fields that every event of a type has ---------------------------- */

static void fields_first(type_fields *fields, const stn_event *event) {
    fields->seen = true;
    for (uint32_t i = 0; i < event->field_count && fields->count < PAIR_FIELDS; i++) {
        uint64_t key;
        if (stn_mine_field_key(&event->fields[i], &key)) {
            fields->names[fields->count] = event->fields[i].name;
            fields->first_key[fields->count] = key;
            fields->varies[fields->count++] = false;
        }
    }
}

static void fields_more(type_fields *fields, const stn_event *event) {
    for (uint32_t i = 0; i < fields->count;) {
        uint64_t key;
        const stn_field *field = stn_event_field(event, fields->names[i]);
        if (!field || !stn_mine_field_key(field, &key)) {
            fields->count--;
            fields->names[i] = fields->names[fields->count];
            fields->first_key[i] = fields->first_key[fields->count];
            fields->varies[i] = fields->varies[fields->count];
            continue;
        }
        fields->varies[i] = fields->varies[i] || key != fields->first_key[i];
        i++;
    }
}

static void fields_forget(void *self) {
    (void)self;
}

static stn_status fields_see(void *self, const stn_event *event, uint32_t type, uint32_t part) {
    pair_miner *miner = self;
    (void)part;
    if (!miner->fields[type].seen) {
        fields_first(&miner->fields[type], event);
    } else {
        fields_more(&miner->fields[type], event);
    }
    return STN_OK;
}

/* ---- candidates -------------------------------------------------------- */

static bool counts_alike(const stn_mine *mine, uint32_t a, uint32_t b) {
    double x = (double)mine->counts[a], y = (double)mine->counts[b];
    return x >= mine->min_support && y >= mine->min_support &&
           fabs(x - y) <= PAIR_COUNT_SLACK * fmax(x, y) + PAIR_COUNT_ODD &&
           fmax(x, y) <= 2 * fmin(x, y);
}

static stn_status add_candidate(pair_miner *miner, uint32_t a, uint32_t b, uint32_t base,
                                uint32_t field) {
    if (stn_grow(&miner->candidates, &miner->capacity, miner->count + 1,
                 sizeof *miner->candidates)) {
        return STN_ENOMEM;
    }
    candidate *c = &miner->candidates[miner->count];
    *c = (candidate){.type = {a, b}, .base = base, .field = field};
    for (uint32_t side = 0; side < 2; side++) {
        pair_list *list = &miner->by_type[c->type[side]];
        if (stn_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
            return STN_ENOMEM;
        }
        list->items[list->count++] = (uint32_t)miner->count << 1 | side;
    }
    miner->count++;
    return STN_OK;
}

static bool shares_field(const type_fields *fields, uint32_t name) {
    for (uint32_t i = 0; i < fields->count; i++) {
        if (fields->names[i] == name) {
            return fields->varies[i];
        }
    }
    return false;
}

static stn_status add_keys(pair_miner *miner, uint32_t a, uint32_t b) {
    stn_status status = add_candidate(miner, a, b, STN_MINE_BASE_CPU, STN_NO_ID);
    if (!status) {
        status = add_candidate(miner, a, b, STN_MINE_BASE_TID, STN_NO_ID);
    }
    const type_fields *fields = &miner->fields[a];
    for (uint32_t i = 0; !status && i < fields->count; i++) {
        if (!fields->varies[i] || !shares_field(&miner->fields[b], fields->names[i])) {
            continue;
        }
        for (uint32_t base = STN_MINE_BASE_NONE; !status && base <= STN_MINE_BASE_TID; base++) {
            status = add_candidate(miner, a, b, base, fields->names[i]);
        }
    }
    return status;
}

static stn_status add_all(pair_miner *miner) {
    const stn_mine *mine = miner->mine;
    for (uint32_t a = 0; a < mine->type_count; a++) {
        for (uint32_t b = a + 1; b < mine->type_count; b++) {
            if (counts_alike(mine, a, b) && add_keys(miner, a, b)) {
                return stn_err_set(mine->err, STN_ENOMEM, "mining: out of memory");
            }
        }
    }
    return STN_OK;
}

/* ---- striking out ------------------------------------------------------ */

static bool candidate_key(const candidate *c, const stn_event *event, uint64_t *key) {
    uint64_t base = 0, value = 0;
    if (c->base == STN_MINE_BASE_CPU) {
        base = event->cpu;
    } else if (c->base == STN_MINE_BASE_TID) {
        base = (uint32_t)event->tid;
    }
    if (c->field != STN_NO_ID) {
        const stn_field *field = stn_event_field(event, c->field);
        if (!field || !stn_mine_field_key(field, &value)) {
            return false;
        }
    }
    *key = stn_hash_u64(base + 0x9e3779b97f4a7c15u) ^ value;
    return true;
}

static stn_status note_span(candidate *c, uint32_t side, uint32_t part, uint64_t span_ns) {
    if (!c->spans) {
        c->spans = stn_calloc(2 * STN_MINE_PARTS, sizeof *c->spans);
        if (!c->spans) {
            return STN_ENOMEM;
        }
    }
    stn_mine_extend(&c->spans[side * STN_MINE_PARTS + part], (int64_t)span_ns);
    c->log_span[side] += log1p((double)span_ns);
    c->judged[side]++;
    return STN_OK;
}

static stn_status candidate_see(candidate *c, uint32_t side, const stn_event *event,
                                uint32_t part) {
    uint64_t key, own = side ? STATE_AFTER_OTHER : STATE_AFTER_FIRST;
    if (!candidate_key(c, event, &key)) {
        c->dead = true;
        return STN_OK;
    }
    uint64_t *slot = stn_map_put(&c->state, key, NULL);
    if (!slot) {
        return STN_ENOMEM;
    }
    uint64_t state = *slot & ((1u << STATE_BITS) - 1), since = *slot >> STATE_BITS;
    *slot = event->time_ns << STATE_BITS | own;
    if (state == own) {
        c->dead = true;
        return STN_OK;
    }
    if (!state) {
        c->fresh[side]++;
        return STN_OK;
    }
    return note_span(c, side, part, event->time_ns > since ? event->time_ns - since : 0);
}

static void strike(candidate *c) {
    stn_map_fini(&c->state);
    stn_free(c->spans);
    c->spans = NULL;
}

static void pair_forget(void *self) {
    pair_miner *miner = self;
    for (size_t i = 0; i < miner->count; i++) {
        stn_map_clear(&miner->candidates[i].state);
    }
}

static stn_status pair_see(void *self, const stn_event *event, uint32_t type, uint32_t part) {
    pair_miner *miner = self;
    pair_list *list = &miner->by_type[type];
    for (size_t i = 0; i < list->count;) {
        candidate *c = &miner->candidates[list->items[i] >> 1];
        if (!c->dead) {
            stn_status status = candidate_see(c, list->items[i] & 1, event, part);
            if (status) {
                return status;
            }
            if (c->dead) {
                strike(c);
            }
        }
        if (c->dead) {
            list->items[i] = list->items[--list->count];
        } else {
            i++;
        }
    }
    return STN_OK;
}

/* ---- choosing among those that held ------------------------------------ */

/* Make type[0] the one that opens. */
static void orient(candidate *c) {
    double spans[2] = {c->log_span[0] / (double)(c->judged[0] ? c->judged[0] : 1),
                       c->log_span[1] / (double)(c->judged[1] ? c->judged[1] : 1)};
    bool swap = c->fresh[0] != c->fresh[1] ? c->fresh[1] > c->fresh[0] : spans[0] < spans[1];
    c->log_span[0] = spans[swap];
    c->log_span[1] = spans[!swap];
    if (!swap) {
        return;
    }
    uint32_t type = c->type[0];
    c->type[0] = c->type[1];
    c->type[1] = type;
    uint64_t judged = c->judged[0], fresh = c->fresh[0];
    c->judged[0] = c->judged[1];
    c->judged[1] = judged;
    c->fresh[0] = c->fresh[1];
    c->fresh[1] = fresh;
    for (uint32_t part = 0; c->spans && part < STN_MINE_PARTS; part++) {
        stn_mine_extent s = c->spans[part];
        c->spans[part] = c->spans[STN_MINE_PARTS + part];
        c->spans[STN_MINE_PARTS + part] = s;
    }
}

static bool held(const stn_mine *mine, const candidate *c) {
    uint64_t cases = c->judged[1] + c->fresh[1];
    return !c->dead && c->judged[1] >= mine->min_support &&
           (double)c->fresh[1] <= PAIR_FIRST_SHARE * (double)cases;
}

static size_t common_prefix(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n]) {
        n++;
    }
    return n;
}

/* Share of the names that is alike at both ends: "block_rq_issue", "block_rq_complete". */
static double likeness(const stn_mine *mine, const candidate *c) {
    const char *a = stn_mine_name(mine, c->type[0]), *b = stn_mine_name(mine, c->type[1]);
    size_t na = strlen(a), nb = strlen(b), shorter = na < nb ? na : nb;
    size_t front = common_prefix(a, b), back = 0;
    while (back + front < shorter && a[na - 1 - back] == b[nb - 1 - back]) {
        back++;
    }
    return (double)(2 * (front + back)) / (double)(na + nb);
}

typedef struct ranked {
    size_t candidate;
    uint32_t base_rank;
    double likeness, span;
} ranked;

static int ranked_order(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->likeness != b->likeness) {
        return a->likeness > b->likeness ? -1 : 1;
    }
    if (a->base_rank != b->base_rank) {
        return a->base_rank < b->base_rank ? -1 : 1;
    }
    if (a->span != b->span) {
        return a->span < b->span ? -1 : 1;
    }
    return (a->candidate > b->candidate) - (a->candidate < b->candidate);
}

/* "cpu_sector by cpu .sector" for the key line, "cpu_sector" for names. */
static void key_words(const stn_mine *mine, const candidate *c, char *key, char *suffix,
                      size_t size) {
    static const char *const bases[] = {"", "cpu", "tid"};
    static const char *const domains[] = {"", "cpu", "thread"};
    const char *base = bases[c->base];
    if (c->field == STN_NO_ID) {
        snprintf(key, size, "%s", domains[c->base]);
        snprintf(suffix, size, "%s", base);
        return;
    }
    const char *field = stn_catalog_text(mine->catalog, c->field);
    const char *join = *base ? "_" : "", *blank = *base ? " " : "";
    snprintf(suffix, size, "%s%s%s", base, join, field);
    snprintf(key, size, "mined_%s%s%s by %s%s.%s", base, join, field, base, blank, field);
}

static stn_status print_delta(stn_mine *mine, const candidate *c, const char *key,
                              const char *suffix) {
    const char *open = stn_mine_name(mine, c->type[0]), *close = stn_mine_name(mine, c->type[1]);
    int64_t lo, hi;
    if (c->judged[1] < (uint64_t)DELTA_SUPPORT * mine->min_support ||
        !stn_mine_range(mine, c->spans + STN_MINE_PARTS, DELTA_SLACK * mine->slack, &lo, &hi)) {
        return STN_OK;
    }
    return stn_mine_print(mine,
                          "\nrule mined_delta_%s_%s_per_%s\n"
                          "  doc \"Time from %s to %s as in training.\"\n"
                          "  support %llu\n  key %s\n  delta %s %s %lld..%lld\n",
                          open, close, suffix, open, close, (unsigned long long)c->judged[1], key,
                          open, close, (long long)lo, (long long)hi);
}

/* @p first: no other key of the pair has told its times. */
static stn_status print_pair(stn_mine *mine, const candidate *c, bool first) {
    char key[256], suffix[256];
    key_words(mine, c, key, suffix, sizeof key);
    const char *open = stn_mine_name(mine, c->type[0]), *close = stn_mine_name(mine, c->type[1]);
    stn_status status = stn_mine_print(mine,
                                       "\nrule mined_pair_%s_%s_per_%s\n"
                                       "  doc \"%s opens, %s closes.\"\n"
                                       "  support %llu\n  key %s\n  pair %s %s\n",
                                       open, close, suffix, open, close,
                                       (unsigned long long)c->judged[1], key, open, close);
    return status || !first ? status : print_delta(mine, c, key, suffix);
}

/* Slots of used[]: two families of keys, bare and with a field. */
static bool family_full(uint8_t *used, const candidate *c) {
    size_t family = c->field != STN_NO_ID;
    return used[c->type[0] * 2 + family] >= PAIR_PARTNERS ||
           used[c->type[1] * 2 + family] >= PAIR_PARTNERS;
}

static bool same_pair(const candidate *a, const candidate *b) {
    return (a->type[0] == b->type[0] && a->type[1] == b->type[1]) ||
           (a->type[0] == b->type[1] && a->type[1] == b->type[0]);
}

/* How well the key's base suits the pair, 0 best: system calls belong to threads, the rest to CPUs.
 */
static uint32_t base_rank(const stn_mine *mine, const candidate *c) {
    uint32_t thread = strncmp(stn_mine_name(mine, c->type[0]), "sys_", 4) == 0;
    return c->base == STN_MINE_BASE_NONE ? 0 : (c->base == STN_MINE_BASE_TID) == thread ? 1 : 2;
}

/* How many rules there are for the pair: all, and of the family. */
static size_t chosen_before(const pair_miner *miner, const ranked *order, size_t at, bool family) {
    const candidate *c = &miner->candidates[order[at].candidate];
    size_t count = 0;
    for (size_t i = 0; i < at; i++) {
        const candidate *other = &miner->candidates[order[i].candidate];
        count += other->chosen && same_pair(c, other) &&
                 (!family || (c->field == STN_NO_ID) == (other->field == STN_NO_ID));
    }
    return count;
}

static stn_status emit_pairs(pair_miner *miner) {
    ranked *order = stn_malloc(miner->count * sizeof *order);
    uint8_t *used = stn_calloc(miner->mine->type_count, 2);
    size_t count = 0;
    stn_status status =
        order && used ? STN_OK : stn_err_set(miner->mine->err, STN_ENOMEM, "mining: out of memory");
    for (size_t i = 0; !status && i < miner->count; i++) {
        candidate *c = &miner->candidates[i];
        orient(c);
        if (held(miner->mine, c)) {
            order[count++] =
                (ranked){i, base_rank(miner->mine, c), likeness(miner->mine, c), c->log_span[1]};
        }
    }
    if (!status) {
        qsort(order, count, sizeof *order, ranked_order);
    }
    for (size_t i = 0; !status && i < count; i++) {
        candidate *c = &miner->candidates[order[i].candidate];
        if (family_full(used, c) || chosen_before(miner, order, i, true)) {
            continue;
        }
        c->chosen = true;
        if (c->base == STN_MINE_BASE_NONE &&
            !stn_map_put(&miner->mine->identifiers, c->field, NULL)) {
            status = stn_err_set(miner->mine->err, STN_ENOMEM, "mining: out of memory");
            break;
        }
        size_t family = c->field != STN_NO_ID;
        used[c->type[0] * 2 + family]++;
        used[c->type[1] * 2 + family]++;
        status = print_pair(miner->mine, c, !chosen_before(miner, order, i, false));
    }
    stn_free(order);
    stn_free(used);
    return status;
}

static void miner_fini(pair_miner *miner) {
    for (size_t i = 0; i < miner->count; i++) {
        strike(&miner->candidates[i]);
    }
    for (uint32_t type = 0; miner->by_type && type < miner->mine->type_count; type++) {
        stn_free(miner->by_type[type].items);
    }
    stn_free(miner->by_type);
    stn_free(miner->candidates);
    stn_free(miner->fields);
}

stn_status stn_mine_pairs(stn_mine *mine) {
    pair_miner miner = {
        .mine = mine,
        .fields = stn_calloc(mine->type_count, sizeof *miner.fields),
        .by_type = stn_calloc(mine->type_count, sizeof *miner.by_type),
    };
    stn_mine_pass fields = {.forget = fields_forget, .see = fields_see, .self = &miner};
    stn_mine_pass pairs = {.forget = pair_forget, .see = pair_see, .self = &miner};
    stn_status status = miner.fields && miner.by_type
                            ? STN_OK
                            : stn_err_set(mine->err, STN_ENOMEM, "mining: out of memory");
    if (!status) {
        status = stn_mine_run(mine, &fields);
    }
    if (!status) {
        status = add_all(&miner);
    }
    if (!status) {
        status = stn_mine_run(mine, &pairs);
    }
    if (!status) {
        status = emit_pairs(&miner);
    }
    miner_fini(&miner);
    return status;
}
