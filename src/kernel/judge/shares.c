/* Tallies of events by CPU and by thread class. */
#include "kernel/judge/shares.h"

#include "core/base/alloc.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static stn_status add(stn_tallies *tallies, uint64_t key) {
    uint64_t *count = stn_map_put(&tallies->counts, key, NULL);
    if (!count) {
        return STN_ENOMEM;
    }
    *count += 1;
    tallies->total++;
    return STN_OK;
}

stn_status stn_tallies_cpus(stn_tallies *tallies, const stn_trace *const *traces, size_t count,
                            stn_err *err) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < traces[i]->count; k++) {
            const stn_event *event = &traces[i]->events[k];
            if (event->type != STN_TYPE_LOST && add(tallies, event->cpu)) {
                return stn_err_set(err, STN_ENOMEM, "out of memory for the shares of CPUs");
            }
        }
    }
    return STN_OK;
}

/* String id of the class of the process name @p comm; STN_NO_ID stays as it is. */
static stn_status class_of(uint32_t comm, stn_catalog *catalog, uint32_t *class_id) {
    const char *name = stn_catalog_text(catalog, comm);
    char folded[64];
    *class_id = comm;
    if (comm == STN_NO_ID || !strchr(name, '/') || strlen(name) >= sizeof folded) {
        return STN_OK;
    }
    size_t size = 0;
    for (const char *c = name; *c; c++) {
        bool digit = isdigit((unsigned char)*c);
        if (!digit || !size || folded[size - 1] != '#') {
            folded[size++] = digit ? '#' : *c;
        }
    }
    *class_id = stn_catalog_string(catalog, folded, size);
    return *class_id == STN_NO_ID ? STN_ENOMEM : STN_OK;
}

/* From tallies of names to tallies of classes. */
static stn_status fold(stn_tallies *classes, const stn_tallies *names, stn_catalog *catalog) {
    size_t at = 0;
    uint64_t comm;
    uint64_t count;
    while (stn_map_next(&names->counts, &at, &comm, &count)) {
        uint32_t class_id;
        stn_status status = class_of((uint32_t)comm, catalog, &class_id);
        uint64_t *sum = status ? NULL : stn_map_put(&classes->counts, class_id, NULL);
        if (!sum) {
            return STN_ENOMEM;
        }
        *sum += count;
    }
    classes->total = names->total;
    return STN_OK;
}

stn_status stn_tallies_threads(stn_tallies *tallies, const stn_trace *const *traces, size_t count,
                               stn_catalog *catalog, stn_err *err) {
    stn_tallies names = {0};
    stn_status status = STN_OK;
    for (size_t i = 0; i < count && !status; i++) {
        for (size_t k = 0; k < traces[i]->count && !status; k++) {
            const stn_event *event = &traces[i]->events[k];
            status = event->type == STN_TYPE_LOST ? STN_OK : add(&names, event->comm);
        }
    }
    if (!status) {
        status = fold(tallies, &names, catalog);
    }
    stn_tallies_fini(&names);
    return status ? stn_err_set(err, status, "out of memory for the shares of threads") : STN_OK;
}

void stn_tallies_fini(stn_tallies *tallies) {
    stn_map_fini(&tallies->counts);
    memset(tallies, 0, sizeof *tallies);
}

static double share(const stn_tallies *tallies, uint64_t key) {
    const uint64_t *count = stn_map_get(&tallies->counts, key);
    return count && tallies->total ? (double)*count / (double)tallies->total : 0;
}

double stn_tallies_distance(const stn_tallies *a, const stn_tallies *b) {
    if (!a->total || !b->total) {
        return NAN;
    }
    double sum = 0;
    size_t at = 0;
    uint64_t key;
    uint64_t count;
    while (stn_map_next(&a->counts, &at, &key, &count)) {
        sum += fabs(share(a, key) - share(b, key));
    }
    at = 0;
    while (stn_map_next(&b->counts, &at, &key, &count)) {
        sum += stn_map_get(&a->counts, key) ? 0 : share(b, key);
    }
    return sum / 2;
}

stn_status stn_tallies_rows(const stn_tallies *real, const stn_tallies *synthetic, stn_share **rows,
                            uint32_t *count, stn_err *err) {
    *count = 0;
    *rows = stn_malloc((real->counts.count + synthetic->counts.count) * sizeof **rows);
    if (!*rows) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a table of shares");
    }
    size_t at = 0;
    uint64_t key;
    uint64_t value;
    while (stn_map_next(&real->counts, &at, &key, &value)) {
        (*rows)[(*count)++] = (stn_share){(uint32_t)key, share(real, key), share(synthetic, key)};
    }
    at = 0;
    while (stn_map_next(&synthetic->counts, &at, &key, &value)) {
        if (!stn_map_get(&real->counts, key)) {
            (*rows)[(*count)++] = (stn_share){(uint32_t)key, 0, share(synthetic, key)};
        }
    }
    return STN_OK;
}
