/* Which event types follow which, per thread and per CPU. A type's successors become a rule
 * only if the set is saturated: stn_mine_risk() bounds how many events of an unseen run
 * would fall outside it. */
#include "kernel/rules/mine.h"

#include <stdlib.h>

#include "core/base/alloc.h"

/* Expected breaks per 1,000 events that all succession rules of one stream may cost. */
#define FOLLOW_BUDGET  0.05
#define FOLLOW_SUPPORT 4u /* times the support that other rules need */
/* A set that holds nearly every type says nothing. */
#define FOLLOW_MAX_SHARE 0.5
#define FOLLOW_ALWAYS    8u /* … but so few successors always do */

#define PACK_PART_BITS 4 /* STN_MINE_PARTS */
#define PACK_TYPE_BITS 29

/* One (type, next type, part) with its count. */
typedef struct follow_row {
    uint32_t type, next, part;
    uint64_t count;
} follow_row;

/* Successors of one type: rows first .. first+count-1. */
typedef struct follow_set {
    uint32_t type;
    uint32_t next_count; /* distinct successors */
    size_t first, row_count;
    uint64_t support, once, lone;
    double risk;
} follow_set;

typedef struct follow_stream {
    bool by_cpu;
    stn_map last; /* thread or CPU to type + 1 */
    stn_map seen; /* packed (type, next, part) to count */
} follow_stream;

static void follow_forget(void *self) {
    follow_stream *stream = self;
    stn_map_clear(&stream->last);
}

static stn_status follow_see(void *self, const stn_event *event, uint32_t type, uint32_t part) {
    follow_stream *stream = self;
    uint64_t key = stream->by_cpu ? event->cpu : (uint64_t)(uint32_t)event->tid;
    /* Thread 0 is one idle task per CPU: its events interleave. */
    if (stream->by_cpu ? event->cpu == STN_NO_CPU : event->tid == STN_NO_TID || !event->tid) {
        return STN_OK;
    }
    uint64_t *last = stn_map_put(&stream->last, key, NULL);
    if (!last) {
        return STN_ENOMEM;
    }
    if (*last) {
        uint64_t pair = ((*last - 1) << (PACK_TYPE_BITS + PACK_PART_BITS)) |
                        ((uint64_t)type << PACK_PART_BITS) | part;
        uint64_t *count = stn_map_put(&stream->seen, pair, NULL);
        if (!count) {
            return STN_ENOMEM;
        }
        ++*count;
    }
    *last = (uint64_t)type + 1;
    return STN_OK;
}

static int row_order(const void *left, const void *right) {
    const follow_row *a = left, *b = right;
    if (a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    if (a->next != b->next) {
        return a->next < b->next ? -1 : 1;
    }
    return (a->part > b->part) - (a->part < b->part);
}

static int set_order(const void *left, const void *right) {
    const follow_set *a = left, *b = right;
    if (a->risk != b->risk) {
        return a->risk < b->risk ? -1 : 1;
    }
    return (a->type > b->type) - (a->type < b->type);
}

static follow_row *rows_of(const follow_stream *stream, size_t *count) {
    follow_row *rows = stn_malloc(stream->seen.count * sizeof *rows);
    size_t at = 0;
    uint64_t pair, cases;
    *count = 0;
    while (rows && stn_map_next(&stream->seen, &at, &pair, &cases)) {
        rows[(*count)++] = (follow_row){
            .type = (uint32_t)(pair >> (PACK_TYPE_BITS + PACK_PART_BITS)),
            .next = (uint32_t)(pair >> PACK_PART_BITS) & ((1u << PACK_TYPE_BITS) - 1),
            .part = (uint32_t)pair & ((1u << PACK_PART_BITS) - 1),
            .count = cases,
        };
    }
    if (rows) {
        qsort(rows, *count, sizeof *rows, row_order);
    }
    return rows;
}

/* Gather the set whose rows begin at @p first; returns where the next set begins. */
static size_t gather_set(const stn_mine *mine, const follow_row *rows, size_t count, size_t first,
                         follow_set *set) {
    size_t i = first;
    *set = (follow_set){.type = rows[first].type, .first = first};
    while (i < count && rows[i].type == set->type) {
        uint64_t cases = 0, parts = 0;
        size_t from = i;
        for (; i < count && rows[i].type == set->type && rows[i].next == rows[from].next; i++) {
            cases += rows[i].count;
            parts |= UINT64_C(1) << rows[i].part;
        }
        set->next_count++;
        set->support += cases;
        set->once += cases == 1;
        set->lone += stn_mine_lone(mine, parts) ? cases : 0;
    }
    set->row_count = i - first;
    set->risk = stn_mine_risk(mine, set->once, set->lone);
    return i;
}

static bool set_is_worth(const stn_mine *mine, const follow_set *set) {
    return set->support >= (uint64_t)FOLLOW_SUPPORT * mine->min_support &&
           (set->next_count <= FOLLOW_ALWAYS ||
            set->next_count <= FOLLOW_MAX_SHARE * mine->type_count);
}

/* ---- one rule for all sets of a stream ---------------------------------- */

/* allowed[next * sets + set]: may the type stand after the set's type? */
typedef struct follow_rule {
    const follow_stream *stream;
    const follow_set *sets; /* [set_count] */
    size_t set_count;
    uint32_t *set_of; /* [type_count] set + 1 of a type, 0 */
    uint8_t *allowed; /* [type_count][set_count] */
} follow_rule;

static void mark_allowed(follow_rule *rule, const follow_row *rows) {
    for (size_t s = 0; s < rule->set_count; s++) {
        rule->set_of[rule->sets[s].type] = (uint32_t)s + 1;
        for (size_t i = 0; i < rule->sets[s].row_count; i++) {
            rule->allowed[rows[rule->sets[s].first + i].next * rule->set_count + s] = 1;
        }
    }
}

/* "on TYPE from the types that it may follow": a state is a type whose successors are known,
 * or "other". */
static stn_status print_row(stn_mine *mine, const follow_rule *rule, uint32_t type) {
    const char *where = rule->stream->by_cpu ? "" : " where tid != 0";
    const char *name = stn_mine_name(mine, type);
    size_t allowed = 0;
    for (size_t s = 0; s < rule->set_count; s++) {
        allowed += rule->allowed[type * rule->set_count + s];
    }
    stn_status status = stn_mine_print(mine, "  on %s%s", name, where);
    if (!status && allowed < rule->set_count) {
        status = stn_mine_print(mine, " from other");
        for (size_t s = 0; !status && s < rule->set_count; s++) {
            if (rule->allowed[type * rule->set_count + s]) {
                status = stn_mine_print(mine, " %s", stn_mine_name(mine, rule->sets[s].type));
            }
        }
    }
    return status ? status : stn_mine_print(mine, " to %s\n", rule->set_of[type] ? name : "other");
}

static stn_status print_rule(stn_mine *mine, const follow_rule *rule) {
    const char *base = rule->stream->by_cpu ? "cpu" : "tid";
    uint64_t support = 0;
    for (size_t s = 0; s < rule->set_count; s++) {
        support += rule->sets[s].support;
    }
    stn_status status =
        stn_mine_print(mine,
                       "\nrule mined_follow_per_%s\n"
                       "  doc \"An event type is followed by one that followed "
                       "it in training.\"\n"
                       "  support %llu\n  key %s\n  states other",
                       base, (unsigned long long)support, rule->stream->by_cpu ? "cpu" : "thread");
    for (size_t s = 0; !status && s < rule->set_count; s++) {
        status = stn_mine_print(mine, " %s", stn_mine_name(mine, rule->sets[s].type));
    }
    status = status ? status : stn_mine_print(mine, "\n");
    for (uint32_t type = 0; !status && type < mine->type_count; type++) {
        if (mine->counts[type]) {
            status = print_row(mine, rule, type);
        }
    }
    /* What training never saw is not judged. */
    status = status ? status : stn_mine_print(mine, "  on * but");
    for (uint32_t type = 0; !status && type < mine->type_count; type++) {
        if (mine->counts[type]) {
            status = stn_mine_print(mine, " %s", stn_mine_name(mine, type));
        }
    }
    return status ? status
                  : stn_mine_print(mine, "%s to other\n",
                                   rule->stream->by_cpu ? "" : " where tid != 0");
}

static stn_status emit_rule(stn_mine *mine, const follow_stream *stream, const follow_set *sets,
                            size_t set_count, const follow_row *rows) {
    follow_rule rule = {
        .stream = stream,
        .sets = sets,
        .set_count = set_count,
        .set_of = stn_calloc(mine->type_count, sizeof *rule.set_of),
        .allowed = stn_calloc(mine->type_count * set_count, 1),
    };
    stn_status status = STN_ENOMEM;
    if (rule.set_of && rule.allowed) {
        mark_allowed(&rule, rows);
        status = print_rule(mine, &rule);
    }
    stn_free(rule.set_of);
    stn_free(rule.allowed);
    return status;
}

static stn_status emit_sets(stn_mine *mine, const follow_stream *stream) {
    size_t row_count = 0, set_count = 0, chosen = 0;
    follow_row *rows = rows_of(stream, &row_count);
    follow_set *sets = stn_malloc(mine->type_count * sizeof *sets);
    stn_status status =
        rows && sets ? STN_OK : stn_err_set(mine->err, STN_ENOMEM, "mining: out of memory");
    for (size_t i = 0; !status && i < row_count;) {
        i = gather_set(mine, rows, row_count, i, &sets[set_count]);
        set_count += set_is_worth(mine, &sets[set_count]);
    }
    if (!status && set_count) {
        qsort(sets, set_count, sizeof *sets, set_order);
        double spent = 0;
        while (chosen < set_count && spent + sets[chosen].risk <= FOLLOW_BUDGET) {
            spent += sets[chosen++].risk;
        }
    }
    if (chosen) {
        status = emit_rule(mine, stream, sets, chosen, rows);
    }
    stn_free(rows);
    stn_free(sets);
    return status;
}

static stn_status follow_stream_mine(stn_mine *mine, bool by_cpu) {
    follow_stream stream = {.by_cpu = by_cpu};
    stn_mine_pass pass = {.forget = follow_forget, .see = follow_see, .self = &stream};
    stn_status status = stn_mine_run(mine, &pass);
    if (!status) {
        status = emit_sets(mine, &stream);
    }
    stn_map_fini(&stream.last);
    stn_map_fini(&stream.seen);
    return status;
}

stn_status stn_mine_follow(stn_mine *mine) {
    stn_status status = follow_stream_mine(mine, false);
    return status ? status : follow_stream_mine(mine, true);
}
