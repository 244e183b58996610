/* n-gram counts in a hash map from the packed n-gram. */
#include "kernel/judge/grams.h"

#include "kernel/judge/distance.h"

#include <assert.h>
#include <math.h>
#include <string.h>

stn_status stn_grams_count(stn_grams *grams, const stn_view *view, uint32_t n, stn_err *err) {
    assert(n >= 1 && n <= STN_GRAM_MAX);
    memset(grams, 0, sizeof *grams);
    grams->n = n;
    uint64_t mask = ((uint64_t)1 << (n * STN_GRAM_BITS)) - 1;
    for (size_t s = 0; s < view->segment_count; s++) {
        uint64_t key = 0;
        for (size_t t = view->segment[s]; t < view->segment[s + 1]; t++) {
            key = (key << STN_GRAM_BITS | view->symbol[t]) & mask;
            if (t - view->segment[s] + 1 < n) {
                continue;
            }
            uint64_t *count = stn_map_put(&grams->counts, key, NULL);
            if (!count) {
                stn_grams_fini(grams);
                return stn_err_set(err, STN_ENOMEM, "out of memory for %u-grams", n);
            }
            *count += 1;
            grams->total++;
        }
    }
    return STN_OK;
}

void stn_grams_fini(stn_grams *grams) {
    stn_map_fini(&grams->counts);
    memset(grams, 0, sizeof *grams);
}

double stn_grams_share(const stn_grams *grams, uint64_t key) {
    const uint64_t *count = stn_map_get(&grams->counts, key);
    return count ? (double)*count / (double)grams->total : 0;
}

double stn_grams_divergence(const stn_grams *a, const stn_grams *b) {
    if (!a->total || !b->total) {
        return NAN;
    }
    double sum = 0;
    size_t at = 0;
    uint64_t key;
    uint64_t count;
    while (stn_map_next(&a->counts, &at, &key, &count)) {
        sum += stn_jensen_shannon_part((double)count / (double)a->total, stn_grams_share(b, key));
    }
    at = 0;
    while (stn_map_next(&b->counts, &at, &key, &count)) {
        if (!stn_map_get(&a->counts, key)) {
            sum += stn_jensen_shannon_part(0, (double)count / (double)b->total);
        }
    }
    return fmin(fmax(sum, 0), 1);
}
