/* One checker per run: what one run leaves open is no error of the next. */
#include "kernel/judge/validity.h"

#include "core/base/alloc.h"

#include <string.h>

static stn_status step_through(stn_checker *checker, const stn_trace *trace, uint64_t *events,
                               const stn_work *work, stn_err *err) {
    for (size_t i = 0; i < trace->count; i++) {
        stn_status status = stn_checker_step(checker, &trace->events[i], NULL, err);
        if (!status && i % STN_WORK_STRIDE == 0) {
            status = stn_work_poll(work, err);
        }
        if (status) {
            return status;
        }
        *events += trace->events[i].type != STN_TYPE_LOST;
    }
    return STN_OK;
}

static void take_over(stn_validity *validity, const stn_checker *checker, uint32_t rule_count,
                      uint64_t *broken) {
    const stn_rule_stats *stats = stn_checker_stats(checker);
    for (uint32_t r = 0; r < rule_count; r++) {
        validity->stats[r].checked += stats[r].checked;
        validity->stats[r].violations += stats[r].violations;
        *broken += stats[r].violations;
    }
    uint32_t kept;
    const stn_violation *violations = stn_checker_violations(checker, &kept);
    for (uint32_t v = 0; v < kept && validity->violation_count < STN_VALIDITY_KEPT; v++) {
        validity->violations[validity->violation_count++] = violations[v];
    }
}

stn_status stn_validity_check(stn_validity *validity, const stn_trace *const *traces, size_t count,
                              const stn_rules *rules, stn_catalog *catalog, const stn_work *work,
                              stn_err *err) {
    uint32_t rule_count = stn_rules_count(rules);
    validity->stats = stn_calloc(rule_count, sizeof *validity->stats);
    validity->violations = stn_calloc(STN_VALIDITY_KEPT, sizeof *validity->violations);
    if (!validity->stats || !validity->violations) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for %u rules", rule_count);
    }
    uint64_t events = 0;
    uint64_t broken = 0;
    for (size_t i = 0; i < count; i++) {
        stn_checker *checker;
        stn_status status = stn_checker_new(&checker, rules, catalog, err);
        if (status) {
            return status;
        }
        status = step_through(checker, traces[i], &events, work, err);
        if (!status) {
            take_over(validity, checker, rule_count, &broken);
        }
        stn_checker_free(checker);
        if (status) {
            return status;
        }
    }
    validity->per_1000 = events ? 1000.0 * (double)broken / (double)events : 0;
    return STN_OK;
}

void stn_validity_fini(stn_validity *validity) {
    stn_free(validity->stats);
    stn_free(validity->violations);
    memset(validity, 0, sizeof *validity);
}
