/* Holes that a model fills. */
#include "app/gaps.h"

#include <stdlib.h>
#include <string.h>

#include "app/value.h"
#include "core/base/alloc.h"

enum { PRINTED = 10 };

stn_status stn_gaps_usage(stn_app *app, const stn_texts *holes, stn_err *err) {
    for (size_t i = 0; i < holes->count; i++) {
        stn_range range;
        if (stn_value_range(holes->items[i], &range, err) != STN_OK) {
            app->usage = true;
            return stn_err_prepend(err, STN_ERANGE, "--hole");
        }
        if (range.end_ns == 0) {
            return stn_app_usage(app, err, "--hole %s: needs an end, like 0.5..0.7",
                                 holes->items[i]);
        }
    }
    return STN_OK;
}

static int by_begin(const void *a, const void *b) {
    const stn_gap *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* The holes named, behind the marked ones. */
static stn_status add_holes(stn_gaps *gaps, const stn_texts *holes, const stn_trace *trace,
                            stn_err *err) {
    uint64_t last_ns = trace->events[trace->count - 1].time_ns;
    stn_gap *items = stn_realloc(gaps->items, (gaps->count + holes->count + 1) * sizeof *items);
    if (!items) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for holes");
    }
    gaps->items = items;
    for (size_t i = 0; i < holes->count; i++) {
        stn_range range;
        stn_status status = stn_value_range(holes->items[i], &range, err);
        if (status != STN_OK) {
            return status;
        }
        stn_gap hole = {.begin_ns = gaps->base_ns + range.begin_ns,
                        .end_ns = gaps->base_ns + range.end_ns,
                        .cpu = STN_NO_CPU,
                        .replace = true};
        if (hole.begin_ns == gaps->base_ns || hole.end_ns > last_ns) {
            return stn_err_set(err, STN_ERANGE,
                               "--hole %s: does not lie within the trace: it has to begin after "
                               "the first event, at 0, and to end by the last, at %.9g s",
                               holes->items[i], (double)(last_ns - gaps->base_ns) * 1e-9);
        }
        items[gaps->count++] = hole;
    }
    return STN_OK;
}

stn_status stn_gaps_gather(stn_gaps *gaps, const stn_texts *holes, bool marked,
                           const stn_trace *trace, stn_err *err) {
    gaps->base_ns = trace->events[0].time_ns;
    stn_status status = STN_OK;
    if (marked) {
        status = stn_gaps_marked(trace, &gaps->items, &gaps->count, err);
    }
    size_t named = gaps->count;
    if (status == STN_OK) {
        status = add_holes(gaps, holes, trace, err);
    }
    if (status != STN_OK) {
        return status;
    }
    qsort(gaps->items + named, holes->count, sizeof *gaps->items, by_begin);
    for (size_t i = named + 1; i < gaps->count; i++) {
        if (gaps->items[i].begin_ns < gaps->items[i - 1].end_ns) {
            return stn_err_set(err, STN_ERANGE, "--hole: two of them overlap");
        }
    }
    qsort(gaps->items, gaps->count, sizeof *gaps->items, by_begin);
    return gaps->count > 0 ? STN_OK
                           : stn_err_set(err, STN_EFORMAT,
                                         "nothing to fill: the trace has no lost marks, and there "
                                         "is no --hole");
}

json_t *stn_gaps_json(const stn_gaps *gaps) {
    json_t *array = json_array();
    for (size_t i = 0; i < gaps->count; i++) {
        const stn_gap *gap = &gaps->items[i];
        json_t *cpu = gap->cpu == STN_NO_CPU ? json_null() : json_integer(gap->cpu);
        json_array_append_new(array, json_pack("{s:I, s:I, s:o, s:I, s:I, s:I}", "begin_ns",
                                               (json_int_t)gap->begin_ns, "end_ns",
                                               (json_int_t)gap->end_ns, "cpu", cpu, "lost",
                                               (json_int_t)gap->lost, "made", (json_int_t)gap->made,
                                               "replaced", (json_int_t)gap->replaced));
    }
    return array;
}

static void print_gap(FILE *to, const stn_gaps *gaps, const stn_gap *gap) {
    char a[32];
    char b[32];
    char cpu[16] = "all";
    if (gap->cpu != STN_NO_CPU) {
        snprintf(cpu, sizeof cpu, "%u", gap->cpu);
    }
    fprintf(to, "hole        %.6f..%.6f s, CPU %s: %s made",
            (double)(gap->begin_ns - gaps->base_ns) * 1e-9,
            (double)(gap->end_ns - gaps->base_ns) * 1e-9, cpu, stn_value_grouped(gap->made, a));
    if (gap->lost) {
        fprintf(to, " of %s lost", stn_value_grouped(gap->lost, b));
    }
    if (gap->replaced) {
        fprintf(to, ", %s taken out", stn_value_grouped(gap->replaced, b));
    }
    fputc('\n', to);
}

uint64_t stn_gaps_made(const stn_gaps *gaps) {
    uint64_t made = 0;
    for (size_t i = 0; i < gaps->count; i++) {
        made += gaps->items[i].made;
    }
    return made;
}

void stn_gaps_print(FILE *to, const stn_gaps *gaps) {
    char a[32];
    char b[32];
    for (size_t i = 0; i < gaps->count && i < PRINTED; i++) {
        print_gap(to, gaps, &gaps->items[i]);
    }
    fprintf(to, "filled      %s events made in %s holes\n",
            stn_value_grouped(stn_gaps_made(gaps), a), stn_value_grouped(gaps->count, b));
}

void stn_gaps_fini(stn_gaps *gaps) {
    stn_gaps_free(gaps->items);
    *gaps = (stn_gaps){0};
}
