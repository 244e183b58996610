/* The keys of `standin kernel evaluate --json`. Scripts depend on them: more may be added, none
 * renamed. */
#include "app/report.h"
#include "app/report_text.h"

static const char *const wait_names[STN_WAIT_COUNT] = {"syscall", "runqueue", "block"};
static const char *const bin_names[3] = {"1ms", "10ms", "100ms"};
static const char *const gram_names[3] = {"1", "2", "3"};

/* Objects take over their values also on failure; a NULL anywhere makes *ok false. */
static void put(json_t *object, const char *key, json_t *value, bool *ok) {
    if (!object || !value || json_object_set_new(object, key, value)) {
        *ok = false;
    }
}

static void put_number(json_t *object, const char *key, double value, bool *ok) {
    put(object, key, stn_json_number(value), ok);
}

static void put_count(json_t *object, const char *key, uint64_t value, bool *ok) {
    put(object, key, json_integer((json_int_t)value), ok);
}

/* {"names[0]": values[0], …} */
static json_t *three(const char *const *names, const double *values, bool *ok) {
    json_t *object = json_object();
    for (int i = 0; i < 3; i++) {
        put_number(object, names[i], values[i], ok);
    }
    return object;
}

static json_t *judges(const stn_judge_score *score, bool *ok) {
    json_t *ngram = json_object();
    put_number(ngram, "trtr_macro_f1", score->trtr_macro_f1, ok);
    put_number(ngram, "tstr_macro_f1", score->tstr_macro_f1, ok);
    put_number(ngram, "combined_macro_f1", score->combined_macro_f1, ok);
    put_number(ngram, "ratio", score->ratio, ok);
    put_number(ngram, "trtr_accuracy", score->trtr_accuracy, ok);
    put_number(ngram, "tstr_accuracy", score->tstr_accuracy, ok);
    put_number(ngram, "combined_accuracy", score->combined_accuracy, ok);
    put_count(ngram, "train_events", score->train_events, ok);
    put_count(ngram, "test_events", score->test_events, ok);
    json_t *all = json_object();
    put(all, "ngram", ngram, ok);
    return all;
}

static void put_fidelity(json_t *root, const stn_evaluation *e, bool *ok) {
    const double ks[] = {e->ks_syscall, e->ks_runqueue, e->ks_block};
    const double ks_real[] = {e->ks_syscall_real, e->ks_runqueue_real, e->ks_block_real};
    put(root, "jsd", three(gram_names, e->jsd, ok), ok);
    put(root, "jsd_real", three(gram_names, e->jsd_real, ok), ok);
    put_number(root, "dt_wasserstein", e->dt_wasserstein, ok);
    put_number(root, "dt_wasserstein_real", e->dt_wasserstein_real, ok);
    put(root, "latency_ks", three(wait_names, ks, ok), ok);
    put(root, "latency_ks_real", three(wait_names, ks_real, ok), ok);
    put(root, "fano_synthetic", three(bin_names, e->fano_synthetic, ok), ok);
    put(root, "fano_real", three(bin_names, e->fano_real, ok), ok);
    put(root, "fano_train", three(bin_names, e->fano_train, ok), ok);
    put_number(root, "rate_synthetic", e->rate_synthetic, ok);
    put_number(root, "rate_real", e->rate_real, ok);
    put_number(root, "rate_train", e->rate_train, ok);
    put_number(root, "run_length_synthetic", e->run_length_synthetic, ok);
    put_number(root, "run_length_real", e->run_length_real, ok);
    put_number(root, "run_length_train", e->run_length_train, ok);
    put_number(root, "cpu_share_distance", e->cpu_share_distance, ok);
    put_number(root, "cpu_share_distance_real", e->cpu_share_distance_real, ok);
    put_number(root, "thread_share_distance", e->thread_share_distance, ok);
    put_number(root, "thread_share_distance_real", e->thread_share_distance_real, ok);
}

static json_t *rule_object(const stn_rule_stats *stats, bool *ok) {
    json_t *rule = json_object();
    put_count(rule, "checked", stats->checked, ok);
    put_count(rule, "violations", stats->violations, ok);
    return rule;
}

static void put_validity(json_t *root, const stn_evaluation *e, const stn_rules *rules, bool *ok) {
    json_t *by_rule = json_object();
    for (uint32_t r = 0; r < e->rule_count; r++) {
        put(by_rule, stn_rules_at(rules, r)->name, rule_object(&e->rules_synthetic[r], ok), ok);
    }
    put_number(root, "violations_per_1000", e->violations_per_1000_synthetic, ok);
    put_number(root, "violations_per_1000_real", e->violations_per_1000_real, ok);
    put(root, "rules", by_rule, ok);
}

static void put_memory(json_t *root, const stn_evaluation *e, bool *ok) {
    json_t *verbatim = json_object();
    put_number(verbatim, "synthetic", e->verbatim64_synthetic, ok);
    put_number(verbatim, "held_out", e->verbatim64_held_out, ok);
    put(root, "verbatim64", verbatim, ok);
    put(root, "discriminator_auc", json_null(), ok); /* of judges that are not there yet */
    put(root, "membership_auc", json_null(), ok);
    json_t *nearest = json_object();
    put_number(nearest, "synthetic", e->nn_distance_synthetic, ok);
    put_number(nearest, "held_out", e->nn_distance_held_out, ok);
    put_number(nearest, "ratio", e->nn_distance_ratio, ok);
    put(root, "nearest64", nearest, ok);
}

stn_status stn_report_json(const stn_evaluation *evaluation, const stn_report_input *input,
                           json_t **out, stn_err *err) {
    bool ok = true;
    json_t *root = json_object();
    json_t *events = json_object();
    put_count(events, "train", evaluation->events_train, &ok);
    put_count(events, "real", evaluation->events_real, &ok);
    put_count(events, "synthetic", evaluation->events_synthetic, &ok);
    put(root, "events", events, &ok);
    put_count(root, "seed", input->seed, &ok);
    put(root, "judges", judges(&evaluation->ngram, &ok), &ok);
    put_fidelity(root, evaluation, &ok);
    put_validity(root, evaluation, input->rules, &ok);
    put_memory(root, evaluation, &ok);
    *out = ok ? root : NULL;
    if (!ok) {
        json_decref(root);
        return stn_err_set(err, STN_ENOMEM, "out of memory for the JSON of an evaluation");
    }
    return STN_OK;
}
