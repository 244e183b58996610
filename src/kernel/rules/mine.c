/* Mining: from training traces to rule text to compiled rules. The passes are in
 * mine_follow.c, mine_pair.c and mine_field.c. */
#include "kernel/rules/mine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/intern.h"

#define MINE_MIN_SUPPORT   50u
#define MINE_SLACK         0.1
#define MINE_PASSES        5u
#define MINE_PROGRESS_STEP 65536u
/* Even a set without a single rare outcome is broken now and then, and in bursts. */
#define MINE_UNSEEN 2.0

const char *stn_mine_name(const stn_mine *mine, uint32_t type) {
    return stn_catalog_text(mine->catalog, mine->names[type]);
}

stn_status stn_mine_print(stn_mine *mine, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int need = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (need < 0 || stn_grow(&mine->text, &mine->text_capacity, mine->text_size + (size_t)need + 1,
                             sizeof *mine->text)) {
        return stn_err_set(mine->err, STN_ENOMEM, "mining: out of memory for the rules' text");
    }
    va_start(args, fmt);
    vsnprintf(mine->text + mine->text_size, (size_t)need + 1, fmt, args);
    va_end(args);
    mine->text_size += (size_t)need;
    return STN_OK;
}

bool stn_mine_field_key(const stn_field *field, uint64_t *key) {
    switch (field->kind) {
    case STN_FIELD_INT:
    case STN_FIELD_UINT:
    case STN_FIELD_HEX:
        *key = field->v.u;
        return true;
    case STN_FIELD_STR:
        *key = stn_hash_bytes(field->v.s, strlen(field->v.s));
        return true;
    default:
        return false;
    }
}

double stn_mine_risk(const stn_mine *mine, uint64_t once, uint64_t lone) {
    double cases = fmax((double)once, (double)lone) + MINE_UNSEEN;
    return mine->event_count ? 1000.0 * cases / (double)mine->event_count : 1000.0;
}

static double log_scale(double x) {
    return x < 0 ? -log1p(-x) : log1p(x);
}

static int64_t unscale(double y) {
    double x = y < 0 ? -floor(expm1(-y) + 0.5) : floor(expm1(y) + 0.5);
    if (x >= 9.2e18) {
        return INT64_MAX;
    }
    return x <= -9.2e18 ? INT64_MIN : (int64_t)x;
}

static void widen(double slack, int64_t *lo, int64_t *hi) {
    double below = log_scale((double)*lo), above = log_scale((double)*hi);
    double margin = slack * fmax(above - below, 1.0);
    int64_t low = unscale(below - margin), high = unscale(above + margin);
    bool negative = *lo < 0;
    *lo = low < *lo ? low : *lo;
    *hi = high > *hi ? high : *hi;
    if (!negative && *lo < 0) {
        *lo = 0; /* what was never negative stays so */
    }
}

void stn_mine_extend(stn_mine_extent *extent, int64_t number) {
    extent->records += extent->count && (number < extent->lo || number > extent->hi);
    extent->lo = extent->count && extent->lo < number ? extent->lo : number;
    extent->hi = extent->count && extent->hi > number ? extent->hi : number;
    extent->count++;
}

/* Range of all parts but those in @p skip (a bit set); false if they saw nothing. */
static bool range_without(const stn_mine_extent *parts, uint64_t skip, int64_t *lo, int64_t *hi) {
    stn_mine_extent all = {0};
    for (uint32_t i = 0; i < STN_MINE_PARTS; i++) {
        if (!(skip >> i & 1) && parts[i].count) {
            stn_mine_extend(&all, parts[i].lo);
            stn_mine_extend(&all, parts[i].hi);
        }
    }
    *lo = all.lo;
    *hi = all.hi;
    return all.count > 0;
}

/* Of n independent draws about ln n set a record at either end (Renyi), with a deviation of
 * its root. */
static bool drifts(const stn_mine_extent *extent) {
    double expected = 2 * log((double)extent->count + 1);
    return (double)extent->records > expected + 4 * sqrt(expected) + 4;
}

/* Would the widened range of the others have held for the parts in @p held_out? */
static bool range_holds(const stn_mine_extent *parts, uint64_t held_out, double slack) {
    int64_t low, high, lo, hi;
    if (!range_without(parts, ~held_out, &lo, &hi)) {
        return true;
    }
    if (!range_without(parts, held_out, &low, &high)) {
        return false;
    }
    widen(slack, &low, &high);
    return lo >= low && hi <= high;
}

static uint64_t parts_of_run(const stn_mine *mine, uint32_t first) {
    return ((UINT64_C(1) << mine->parts_each) - 1) << first;
}

/* Does the top of a run rise from part to part? Of 8 independent parts 2.7 set a record. */
static bool rises(const stn_mine *mine, const stn_mine_extent *parts, uint32_t first) {
    uint32_t records = 0, seen = 0;
    int64_t top = 0;
    for (uint32_t i = first; i < first + mine->parts_each; i++) {
        if (parts[i].count) {
            records += !seen || parts[i].hi > top;
            top = !seen || parts[i].hi > top ? parts[i].hi : top;
            seen++;
        }
    }
    return seen >= 6 && records * 4 >= seen * 3;
}

bool stn_mine_range(const stn_mine *mine, const stn_mine_extent *parts, double slack, int64_t *lo,
                    int64_t *hi) {
    for (uint32_t i = 0; i < STN_MINE_PARTS; i++) {
        bool begins = i % mine->parts_each == 0, new_run = begins && mine->trace_count > 1;
        if (drifts(&parts[i]) || (begins && rises(mine, parts, i)) ||
            !range_holds(parts, UINT64_C(1) << i, slack) ||
            (new_run && !range_holds(parts, parts_of_run(mine, i), slack))) {
            return false;
        }
    }
    if (!range_without(parts, 0, lo, hi)) {
        return false;
    }
    widen(slack, lo, hi);
    return true;
}

bool stn_mine_lone(const stn_mine *mine, uint64_t parts) {
    if (!(parts & (parts - 1))) {
        return true;
    }
    for (uint32_t i = 0; mine->trace_count > 1 && i < STN_MINE_PARTS; i += mine->parts_each) {
        if (!(parts & ~parts_of_run(mine, i))) {
            return true;
        }
    }
    return false;
}

static uint32_t part_of(const stn_mine *mine, size_t trace, size_t index) {
    size_t within = index * mine->parts_each / mine->traces[trace]->count;
    return (uint32_t)((trace * mine->parts_each + within) % STN_MINE_PARTS);
}

stn_status stn_mine_run(stn_mine *mine, const stn_mine_pass *pass) {
    for (size_t t = 0; t < mine->trace_count; t++) {
        const stn_trace *trace = mine->traces[t];
        pass->forget(pass->self);
        for (size_t i = 0; i < trace->count; i++, mine->done++) {
            const stn_event *event = &trace->events[i];
            if (mine->progress && mine->done % MINE_PROGRESS_STEP == 0 &&
                !mine->progress(mine->user, mine->done, mine->total)) {
                return stn_err_set(mine->err, STN_EINTR, "mining stopped");
            }
            if (event->type == STN_TYPE_LOST) {
                pass->forget(pass->self);
                continue;
            }
            stn_status status =
                pass->see(pass->self, event, mine->dense[event->type], part_of(mine, t, i));
            if (status) {
                return stn_err_set(mine->err, status, "mining: out of memory");
            }
        }
    }
    return STN_OK;
}

/* Types of one canonical name are one: rules speak of names. */
static stn_status number_types(stn_mine *mine) {
    uint32_t count = stn_catalog_type_count(mine->catalog);
    stn_map by_name = {0};
    mine->dense = stn_malloc(count * sizeof *mine->dense);
    mine->names = stn_malloc(count * sizeof *mine->names);
    mine->counts = stn_calloc(count, sizeof *mine->counts);
    stn_status status = mine->dense && mine->names && mine->counts ? STN_OK : STN_ENOMEM;
    for (uint32_t type = 0; !status && type < count; type++) {
        uint32_t name = stn_catalog_type_at(mine->catalog, type)->name_id;
        bool added = false;
        uint64_t *slot = stn_map_put(&by_name, name, &added);
        if (!slot) {
            status = STN_ENOMEM;
            break;
        }
        if (added) {
            *slot = mine->type_count;
            mine->names[mine->type_count++] = name;
        }
        mine->dense[type] = (uint32_t)*slot;
    }
    stn_map_fini(&by_name);
    return status ? stn_err_set(mine->err, status, "mining: out of memory") : STN_OK;
}

static void count_events(stn_mine *mine) {
    for (size_t t = 0; t < mine->trace_count; t++) {
        const stn_trace *trace = mine->traces[t];
        for (size_t i = 0; i < trace->count; i++) {
            if (trace->events[i].type != STN_TYPE_LOST) {
                mine->counts[mine->dense[trace->events[i].type]]++;
                mine->event_count++;
            }
        }
        mine->total += MINE_PASSES * trace->count;
    }
}

static stn_status mine_all(stn_mine *mine) {
    stn_status status = number_types(mine);
    if (status) {
        return status;
    }
    count_events(mine);
    status = stn_mine_print(mine, "standin-rules 1\n# Mined from %llu events of %zu traces.\n",
                            (unsigned long long)mine->event_count, mine->trace_count);
    if (!status) {
        status = stn_mine_follow(mine);
    }
    if (!status) {
        status = stn_mine_pairs(mine);
    }
    return status ? status : stn_mine_fields(mine);
}

stn_status stn_rules_mine(stn_rules **out, const stn_trace *const *traces, size_t count,
                          const stn_mine_options *options, stn_catalog *catalog,
                          stn_progress_fn progress, void *user, stn_err *err) {
    stn_mine mine = {
        .traces = traces,
        .trace_count = count,
        .catalog = catalog,
        .parts_each = 1,
        .min_support = options && options->min_support ? options->min_support : MINE_MIN_SUPPORT,
        .slack = options && options->range_slack >= 0 ? options->range_slack : MINE_SLACK,
        .progress = progress,
        .user = user,
        .err = err,
    };
    while (count * 2 * mine.parts_each <= STN_MINE_PARTS && count) {
        mine.parts_each *= 2; /* a power of two, so that they fill the parts */
    }
    *out = NULL;
    stn_status status = mine_all(&mine);
    if (!status) {
        status = stn_rules_parse(out, mine.text, mine.text_size, "mined", catalog, err);
    }
    stn_free(mine.dense);
    stn_free(mine.names);
    stn_free(mine.counts);
    stn_free(mine.text);
    stn_map_fini(&mine.identifiers);
    return status;
}
