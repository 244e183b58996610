/* Which events a filter lets through. */
#include "kernel/trace/sieve.h"

#include <fnmatch.h>
#include <string.h>

#include "core/base/alloc.h"

struct stn_sieve {
    const stn_filter *filter;
    const stn_catalog *catalog;
    uint64_t first_ns; /* times of the filter count from here */
    bool started;
    /* What the event and comm patterns say of a type or name: 0 not asked, 1 no, 2 yes. */
    unsigned char *type_passes;
    size_t type_capacity;
    unsigned char *comm_passes;
    size_t comm_capacity;
};

stn_status stn_sieve_new(stn_sieve **out, const stn_filter *filter, const stn_catalog *catalog,
                         stn_err *err) {
    stn_sieve *sieve = stn_calloc(1, sizeof *sieve);
    *out = sieve;
    if (!sieve) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a filter");
    }
    sieve->filter = filter;
    sieve->catalog = catalog;
    return STN_OK;
}

void stn_sieve_free(stn_sieve *sieve) {
    if (sieve) {
        stn_free(sieve->type_passes);
        stn_free(sieve->comm_passes);
        stn_free(sieve);
    }
}

static bool matches_any(const char *const *patterns, uint32_t count, const char *text) {
    for (uint32_t i = 0; i < count; i++) {
        if (fnmatch(patterns[i], text, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* Room for answer number @p id, new answers "not asked". */
static stn_status answers_reserve(unsigned char **answers, size_t *capacity, size_t id) {
    size_t before = *capacity;
    stn_status status = stn_grow(answers, capacity, id + 1, 1);
    if (!status && *capacity > before) {
        memset(*answers + before, 0, *capacity - before);
    }
    return status;
}

static stn_status type_passes(stn_sieve *sieve, uint32_t id, bool *passes) {
    if (answers_reserve(&sieve->type_passes, &sieve->type_capacity, id)) {
        return STN_ENOMEM;
    }
    if (!sieve->type_passes[id]) {
        const stn_filter *filter = sieve->filter;
        const stn_type *type = stn_catalog_type_at(sieve->catalog, id);
        bool yes = matches_any(filter->events, filter->event_count, type->name) ||
                   matches_any(filter->events, filter->event_count, type->original);
        sieve->type_passes[id] = yes ? 2 : 1;
    }
    *passes = sieve->type_passes[id] == 2;
    return STN_OK;
}

static stn_status comm_passes(stn_sieve *sieve, uint32_t id, bool *passes) {
    *passes = false;
    if (id == STN_NO_ID) {
        return STN_OK;
    }
    if (answers_reserve(&sieve->comm_passes, &sieve->comm_capacity, id)) {
        return STN_ENOMEM;
    }
    if (!sieve->comm_passes[id]) {
        const stn_filter *filter = sieve->filter;
        const char *comm = stn_catalog_text(sieve->catalog, id);
        sieve->comm_passes[id] = matches_any(filter->comms, filter->comm_count, comm) ? 2 : 1;
    }
    *passes = sieve->comm_passes[id] == 2;
    return STN_OK;
}

static bool cpu_passes(const stn_filter *filter, uint16_t cpu) {
    for (uint32_t i = 0; i < filter->cpu_count; i++) {
        if (filter->cpus[i] == cpu) {
            return true;
        }
    }
    return filter->cpu_count == 0;
}

static bool tid_passes(const stn_filter *filter, int32_t tid) {
    for (uint32_t i = 0; i < filter->tid_count; i++) {
        if (filter->tids[i] == tid) {
            return true;
        }
    }
    return filter->tid_count == 0;
}

/* Do the patterns let an event through that time, CPU and thread let through? */
static stn_status names_pass(stn_sieve *sieve, const stn_event *event, bool *passes) {
    const stn_filter *filter = sieve->filter;
    stn_status status = STN_OK;
    if (filter->comm_count) {
        status = comm_passes(sieve, event->comm, passes);
    }
    if (!status && *passes && filter->event_count) {
        status = type_passes(sieve, event->type, passes);
    }
    return status;
}

/* A lost mark passes unless it lies outside the time range or on another CPU: what is
 * left of a trace is still not whole. */
stn_status stn_sieve_passes(stn_sieve *sieve, const stn_event *event, bool *passes, stn_err *err) {
    const stn_filter *filter = sieve->filter;
    if (!sieve->started) {
        sieve->started = true;
        sieve->first_ns = event->time_ns;
    }
    uint64_t time_ns = event->time_ns - sieve->first_ns;
    *passes = time_ns >= filter->begin_ns && (!filter->end_ns || time_ns < filter->end_ns) &&
              (cpu_passes(filter, event->cpu) ||
               (event->type == STN_TYPE_LOST && event->cpu == STN_NO_CPU));
    if (!*passes || event->type == STN_TYPE_LOST) {
        return STN_OK;
    }
    *passes = tid_passes(filter, event->tid);
    return *passes && names_pass(sieve, event, passes)
               ? stn_err_set(err, STN_ENOMEM, "out of memory for a filter")
               : STN_OK;
}
