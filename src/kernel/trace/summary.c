/* What a trace holds, in one pass. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/trace/summary.h"

/* ---- quantiles -------------------------------------------------------- */

/* Values below 64 have a bucket each; above, the five bits behind the leading one choose. */
static unsigned bucket_of(uint64_t value) {
    if (value < 64) {
        return (unsigned)value;
    }
    unsigned power = 63u - (unsigned)__builtin_clzll(value);
    return (power - 4) * 32 + (unsigned)((value >> (power - 5)) & 31);
}

/* Middle of a bucket. */
static uint64_t bucket_value(unsigned bucket) {
    if (bucket < 64) {
        return bucket;
    }
    unsigned power = bucket / 32 + 4;
    uint64_t low = (UINT64_C(32) | (bucket & 31)) << (power - 5);
    return low + ((UINT64_C(1) << (power - 5)) >> 1);
}

void stn_quantiles_add(stn_quantiles *quantiles, uint64_t value) {
    quantiles->bucket[bucket_of(value)]++;
    quantiles->count++;
    quantiles->sum += value;
    if (value > quantiles->max) {
        quantiles->max = value;
    }
}

uint64_t stn_quantiles_at(const stn_quantiles *quantiles, double q) {
    if (quantiles->count == 0) {
        return 0;
    }
    uint64_t rank = (uint64_t)(q * (double)quantiles->count);
    uint64_t seen = 0;
    for (unsigned i = 0; i < STN_QUANTILE_BUCKETS; i++) {
        seen += quantiles->bucket[i];
        if (seen > rank) {
            uint64_t value = bucket_value(i);
            return value < quantiles->max ? value : quantiles->max;
        }
    }
    return quantiles->max;
}

/* ---- the summary ------------------------------------------------------ */

void stn_summary_init(stn_summary *summary, const stn_catalog *catalog) {
    memset(summary, 0, sizeof *summary);
    summary->catalog = catalog;
    summary->switch_name = STN_NO_ID;
}

/* Index of @p name in a table whose map holds index + 1; the count if it is new. */
static stn_status slot_of(stn_map *map, uint32_t name, size_t count, size_t *index) {
    bool added = false;
    uint64_t *slot = stn_map_put(map, name, &added);
    if (!slot) {
        return STN_ENOMEM;
    }
    if (*slot == 0) {
        *slot = count + 1;
    }
    *index = (size_t)*slot - 1;
    return STN_OK;
}

static stn_status count_type(stn_summary *s, uint32_t name) {
    size_t index = 0;
    if (stn_grow((void *)&s->types, &s->type_capacity, s->type_count + 1, sizeof *s->types) !=
            STN_OK ||
        slot_of(&s->type_of_name, name, s->type_count, &index) != STN_OK) {
        return STN_ENOMEM;
    }
    if (index == s->type_count) {
        s->types[s->type_count++] = (stn_type_count){name, 0};
    }
    s->types[index].count++;
    return STN_OK;
}

static stn_status syscall_slot(stn_summary *s, uint32_t name, size_t *index) {
    if (stn_grow((void *)&s->syscalls, &s->syscall_capacity, s->syscall_count + 1,
                 sizeof *s->syscalls) != STN_OK) {
        return STN_ENOMEM;
    }
    const uint64_t *known = stn_map_get(&s->syscall_of_name, name);
    if (known && *known) {
        *index = (size_t)*known - 1;
        return STN_OK;
    }
    stn_quantiles *durations = stn_calloc(1, sizeof *durations);
    if (!durations || slot_of(&s->syscall_of_name, name, s->syscall_count, index) != STN_OK) {
        stn_free(durations);
        return STN_ENOMEM;
    }
    s->syscalls[s->syscall_count++] = (stn_syscall_count){name, 0, durations};
    return STN_OK;
}

static const uint64_t time_mask = (UINT64_C(1) << 48) - 1;

static stn_status count_enter(stn_summary *s, const stn_event *event, uint32_t syscall) {
    size_t index = 0;
    if (syscall_slot(s, syscall, &index) != STN_OK) {
        return STN_ENOMEM;
    }
    s->syscalls[index].count++;
    uint64_t *open = stn_map_put(&s->open_calls, (uint32_t)event->tid, NULL);
    if (!open) {
        return STN_ENOMEM;
    }
    *open = ((uint64_t)(index + 1) & 0xffff) << 48 | (event->time_ns & time_mask);
    return STN_OK;
}

/* The exit of the call that the thread has open; any other exit has no known entry. */
static void count_exit(stn_summary *s, const stn_event *event, uint32_t syscall) {
    uint64_t *open = stn_map_get(&s->open_calls, (uint32_t)event->tid);
    if (!open || *open == 0) {
        return;
    }
    size_t index = (size_t)(*open >> 48) - 1;
    if (s->syscalls[index].name == syscall) {
        stn_quantiles_add(s->syscalls[index].durations,
                          (event->time_ns - (*open & time_mask)) & time_mask);
    }
    *open = 0;
}

/* CPUs and threads that are seen. A thread is also seen when it is switched in or out, but
 * that is an event of the one that leaves: each runs sooner or later. */
static stn_status count_places(stn_summary *s, const stn_event *event) {
    bool added = false;
    if (event->cpu != STN_NO_CPU) {
        if (!stn_map_put(&s->cpus, event->cpu, &added)) {
            return STN_ENOMEM;
        }
        s->cpu_count += added;
    }
    /* The idle task is no thread: each CPU has one and all have number 0. */
    if (event->tid != STN_NO_TID && event->tid != 0) {
        if (!stn_map_put(&s->threads, (uint32_t)event->tid, &added)) {
            return STN_ENOMEM;
        }
        s->thread_count += added;
    }
    return STN_OK;
}

stn_status stn_summary_add(stn_summary *summary, const stn_event *event, stn_err *err) {
    if (event->type == STN_TYPE_LOST) {
        stn_map_clear(&summary->open_calls);
        return STN_OK;
    }
    const stn_type *type = stn_catalog_type_at(summary->catalog, event->type);
    if (summary->switch_name == STN_NO_ID) {
        summary->switch_name = stn_catalog_find(summary->catalog, "sched_switch");
    }
    if (summary->events == 0) {
        summary->begin_ns = event->time_ns;
    }
    summary->end_ns = event->time_ns;
    stn_status status = count_type(summary, type->name_id);
    if (status == STN_OK) {
        status = count_places(summary, event);
    }
    if (status == STN_OK && type->syscall_enter) {
        status = count_enter(summary, event, type->syscall_id);
    } else if (status == STN_OK && type->syscall_exit) {
        count_exit(summary, event, type->syscall_id);
    }
    if (status != STN_OK) {
        return stn_err_set(err, status, "out of memory");
    }
    summary->events++;
    summary->switches += type->name_id == summary->switch_name;
    return STN_OK;
}

static int by_type_count(const void *a, const void *b) {
    const stn_type_count *x = a;
    const stn_type_count *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : (x->name > y->name) - (x->name < y->name);
}

static int by_syscall_count(const void *a, const void *b) {
    const stn_syscall_count *x = a;
    const stn_syscall_count *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : (x->name > y->name) - (x->name < y->name);
}

void stn_summary_finish(stn_summary *summary) {
    if (summary->type_count) {
        qsort(summary->types, summary->type_count, sizeof *summary->types, by_type_count);
    }
    if (summary->syscall_count) {
        qsort(summary->syscalls, summary->syscall_count, sizeof *summary->syscalls,
              by_syscall_count);
    }
}

void stn_summary_fini(stn_summary *summary) {
    for (size_t i = 0; i < summary->syscall_count; i++) {
        stn_free(summary->syscalls[i].durations);
    }
    stn_free(summary->types);
    stn_free(summary->syscalls);
    stn_map_fini(&summary->type_of_name);
    stn_map_fini(&summary->syscall_of_name);
    stn_map_fini(&summary->threads);
    stn_map_fini(&summary->cpus);
    stn_map_fini(&summary->open_calls);
    memset(summary, 0, sizeof *summary);
}
