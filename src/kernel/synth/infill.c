/* Missing stretches, made by a model. The trace happens in the world of a generator, event after
 * event. While a gap is open, its CPUs are live: before each real event, and before the gap ends,
 * all that their clocks bring until then is generated. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/generator.h"

enum { PROGRESS_EVERY = 4096 };

/* ---- gaps ------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b) {
    const stn_gap *x = a, *y = b;
    return x->begin_ns < y->begin_ns   ? -1
           : x->begin_ns > y->begin_ns ? 1
           : x->end_ns < y->end_ns     ? -1
                                       : x->end_ns > y->end_ns;
}

/* Time of the last event of @p cpu before @p index, or of the first of all. */
static uint64_t last_before(const stn_trace *trace, size_t index, uint16_t cpu) {
    for (size_t i = index; i-- > 0;) {
        const stn_event *event = &trace->events[i];
        if (event->type != STN_TYPE_LOST && (cpu == STN_NO_CPU || event->cpu == cpu)) {
            return event->time_ns;
        }
    }
    return trace->events[0].time_ns;
}

stn_status stn_gaps_marked(const stn_trace *trace, stn_gap **gaps, size_t *count, stn_err *err) {
    size_t capacity = 0;
    uint32_t count_name = stn_catalog_find(trace->catalog, "count");
    uint32_t begin_name = stn_catalog_find(trace->catalog, "begin_ns");
    *gaps = NULL;
    *count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const stn_event *mark = &trace->events[i];
        if (mark->type != STN_TYPE_LOST) {
            continue;
        }
        if (stn_grow(gaps, &capacity, *count + 1, sizeof **gaps) != STN_OK) {
            stn_gaps_free(*gaps);
            *gaps = NULL;
            return stn_err_set(err, STN_ENOMEM, "out of memory for the gaps of a trace");
        }
        int64_t lost = stn_field_int(stn_event_field(mark, count_name), 0);
        int64_t begin = stn_field_int(stn_event_field(mark, begin_name), 0);
        uint64_t least_ns = last_before(trace, i, mark->cpu);
        uint64_t begin_ns = begin > 0 && (uint64_t)begin <= mark->time_ns ? (uint64_t)begin : 0;
        (*gaps)[(*count)++] = (stn_gap){.begin_ns = begin_ns > least_ns ? begin_ns : least_ns,
                                        .end_ns = mark->time_ns,
                                        .cpu = mark->cpu,
                                        .lost = lost > 0 ? (uint64_t)lost : 0};
    }
    if (*count > 1) {
        qsort(*gaps, *count, sizeof **gaps, by_begin);
    }
    return STN_OK;
}

void stn_gaps_free(stn_gap *gaps) {
    stn_free(gaps);
}

/* ---- filling ------------------------------------------------------------------------- */

typedef struct filling {
    stn_generator *generator;
    stn_gap *gaps; /* [count] */
    size_t count, opened;
    size_t first;    /* no gap before it is open */
    uint64_t now_ns; /* so far has everything happened */
    bool any;        /* a gap is open */
    stn_trace *out;
    stn_err *err;
} filling;

static bool is_open(const stn_gap *gap, uint64_t now_ns) {
    return gap->begin_ns <= now_ns && now_ns < gap->end_ns &&
           (gap->lost == 0 || gap->made < gap->lost);
}

static bool covers(const stn_gap *gap, uint16_t cpu) {
    return gap->cpu == STN_NO_CPU || gap->cpu == cpu;
}

/* The open gap of @p cpu, or NULL. */
static stn_gap *gap_of(const filling *f, uint16_t cpu) {
    for (size_t i = f->first; i < f->opened; i++) {
        if (is_open(&f->gaps[i], f->now_ns) && covers(&f->gaps[i], cpu)) {
            return &f->gaps[i];
        }
    }
    return NULL;
}

/* How many events a second the gaps at hand lost, if that is known of all of them. */
static stn_rate rate_of(const filling *f) {
    stn_rate rate = {0};
    for (size_t i = f->first; i < f->opened; i++) {
        const stn_gap *gap = &f->gaps[i];
        if (!is_open(gap, f->now_ns)) {
            continue;
        }
        if (gap->lost == 0) {
            return (stn_rate){0};
        }
        rate.value += (double)(gap->lost - gap->made) * 1e9 / (double)(gap->end_ns - f->now_ns);
    }
    return rate;
}

/* The CPUs of the gaps that are open from now on go live. */
static stn_status set_live(filling *f) {
    stn_generator *g = f->generator;
    uint64_t end_ns = UINT64_MAX;
    uint32_t live = 0;
    while (f->first < f->opened && f->gaps[f->first].end_ns <= f->now_ns) {
        f->first++;
    }
    for (uint16_t cpu = 0; cpu < g->world.cpu_count; cpu++) {
        const stn_gap *gap = gap_of(f, cpu);
        g->live[cpu] = gap != NULL;
        live += gap != NULL;
        end_ns = gap && gap->end_ns < end_ns ? gap->end_ns : end_ns;
    }
    f->any = live > 0;
    g->wound = false;
    if (!f->any) {
        return STN_OK;
    }
    stn_generator_complete(g, f->now_ns);
    g->rate = rate_of(f);
    g->pace = (stn_pace){0};
    g->share = (double)live / g->world.cpu_count;
    stn_generator_hurry(g, (double)(end_ns - f->now_ns) * 1e-9);
    return stn_generator_go(g, f->err);
}

/* What comes on the live CPUs before @p until_ns. */
static stn_status make(filling *f, uint64_t until_ns) {
    stn_status status = STN_OK;
    while (f->any && status == STN_OK) {
        stn_event event;
        f->generator->until_ns = until_ns;
        status = stn_generator_next(f->generator, &event, f->err);
        if (status == STN_OK) {
            status = stn_trace_append(f->out, &event, f->err);
            stn_gap *gap = gap_of(f, event.cpu);
            f->now_ns = event.time_ns;
            if (gap && ++gap->made == gap->lost && status == STN_OK) {
                status = set_live(f);
            }
        }
    }
    return status == STN_END ? STN_OK : status;
}

/* Go on to @p to_ns, past the begins and ends of gaps. */
static stn_status advance(filling *f, uint64_t to_ns) {
    stn_status status = STN_OK;
    while (status == STN_OK && f->now_ns < to_ns) {
        uint64_t stop_ns = to_ns;
        for (size_t i = f->first; i < f->opened; i++) {
            uint64_t end_ns = f->gaps[i].end_ns;
            stop_ns = end_ns > f->now_ns && end_ns < stop_ns ? end_ns : stop_ns;
        }
        if (f->opened < f->count && f->gaps[f->opened].begin_ns < stop_ns) {
            stop_ns = f->gaps[f->opened].begin_ns;
        }
        status = make(f, stop_ns);
        f->now_ns = stop_ns;
        bool turns = false;
        for (; f->opened < f->count && f->gaps[f->opened].begin_ns <= stop_ns; f->opened++) {
            turns = true;
        }
        for (size_t i = f->first; i < f->opened && !turns; i++) {
            turns = f->gaps[i].end_ns == stop_ns;
        }
        if (status == STN_OK && turns) {
            status = set_live(f);
        }
    }
    return status;
}

/* Is the event one that a gap replaces? */
static bool taken_out(filling *f, const stn_event *event) {
    for (size_t i = f->first; i < f->opened; i++) {
        stn_gap *gap = &f->gaps[i];
        if (gap->replace && gap->begin_ns <= event->time_ns && event->time_ns < gap->end_ns &&
            covers(gap, event->cpu)) {
            gap->replaced++;
            return true;
        }
    }
    return false;
}

static stn_status fill_all(filling *f, const stn_trace *in, stn_progress_fn progress, void *user) {
    stn_status status = STN_OK;
    for (size_t i = 0; i < in->count && status == STN_OK; i++) {
        const stn_event *event = &in->events[i];
        f->now_ns = i == 0 ? event->time_ns - (event->time_ns > 0) : f->now_ns;
        status = advance(f, event->time_ns);
        if (status != STN_OK || event->type == STN_TYPE_LOST || taken_out(f, event)) {
            continue;
        }
        status = stn_generator_see(f->generator, event, true, f->err);
        if (status == STN_OK) {
            status = stn_trace_append(f->out, event, f->err);
        }
        if (i % PROGRESS_EVERY == 0 && progress && !progress(user, i, in->count)) {
            status = stn_err_set(f->err, STN_EINTR, "interrupted; nothing was written");
        }
    }
    return status;
}

stn_status stn_infill(const stn_model *model, const stn_trace *in, stn_gap *gaps, size_t count,
                      const stn_infill_options *options, stn_trace *out, stn_progress_fn progress,
                      void *user, stn_err *err) {
    stn_generate_options plain = {.seed = options ? options->seed : 0,
                                  .workload = options ? options->workload : NULL};
    filling f = {.gaps = gaps, .count = count, .out = out, .err = err};
    out->meta = in->meta;
    stn_status status = stn_generator_blank(&f.generator, model, &plain, model->catalog, err);
    if (status == STN_OK) {
        stn_checker_count(f.generator->checker, false);
        f.generator->live = stn_calloc(f.generator->world.cpu_count, sizeof *f.generator->live);
        status = f.generator->live ? fill_all(&f, in, progress, user)
                                   : stn_err_set(err, STN_ENOMEM, "out of memory for a generator");
    }
    stn_generator_free(f.generator);
    return status;
}
