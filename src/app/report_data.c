/* Data of the plots. Arrays are built row by row from the tables of the evaluation; what is
 * put in is put in by position where there are many (n-grams), by key where there are few. */
#include "app/report_data.h"

#include "app/report_text.h"
#include "app/report_timeline.h"

#define TYPES_SHOWN    24u
#define SYSCALLS_SHOWN 18u
#define RULES_SHOWN    200u
#define THREADS_SHOWN  14u

static json_t *name_of(const stn_report_input *input, uint32_t id) {
    return stn_json_text(id == STN_NO_ID ? "(unknown)" : stn_catalog_text(input->catalog, id));
}

/* Rows are packed by jansson: a NULL inside makes the whole row NULL, and appending that
 * fails, so one flag is enough. */
static void append(json_t *array, json_t *row, bool *ok) {
    *ok = !json_array_append_new(array, row) && *ok;
}

static json_t *hist_json(const stn_loghist *hist, bool *ok) {
    json_t *count = json_array();
    for (uint32_t bin = 0; bin < hist->bins; bin++) {
        append(count, json_integer((json_int_t)hist->count[bin]), ok);
    }
    return json_pack("{s:f, s:f, s:I, s:o}", "low", hist->low, "high", hist->high, "total",
                     (json_int_t)hist->total, "count", count);
}

static json_t *two_hists(const stn_loghist *real, const stn_loghist *synthetic, bool *ok) {
    return json_pack("{s:o, s:o}", "real", hist_json(real, ok), "synthetic",
                     hist_json(synthetic, ok));
}

static json_t *waits_json(const stn_evaluation *e, bool *ok) {
    static const char *const titles[STN_WAIT_COUNT] = {"system calls", "run-queue waits",
                                                       "block I/O"};
    const double ks[STN_WAIT_COUNT] = {e->ks_syscall, e->ks_runqueue, e->ks_block};
    json_t *array = json_array();
    for (int wait = 0; wait < STN_WAIT_COUNT; wait++) {
        append(array,
               json_pack("{s:s, s:o, s:o}", "title", titles[wait], "ks", stn_json_number(ks[wait]),
                         "hist", two_hists(&e->wait_real[wait], &e->wait_synthetic[wait], ok)),
               ok);
    }
    return array;
}

static json_t *grams_json(const stn_evaluation *e, const stn_report_input *input, bool *ok) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < e->gram_count; i++) {
        const stn_gram *gram = &e->grams[i];
        json_t *names = json_array();
        for (uint32_t k = 0; k < gram->n; k++) {
            append(names, name_of(input, gram->name[k]), ok);
        }
        append(array, json_pack("[o, f, f]", names, gram->real, gram->synthetic), ok);
    }
    return array;
}

static json_t *types_json(const stn_evaluation *e, const stn_report_input *input, bool *ok) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < e->type_count && i < TYPES_SHOWN; i++) {
        const stn_side *type = &e->types[i];
        append(array,
               json_pack("{s:o, s:f, s:f, s:o}", "name", name_of(input, type->name), "real",
                         (double)type->real_count / (double)e->events_real, "synthetic",
                         (double)type->synthetic_count / (double)e->events_synthetic, "dt",
                         stn_json_number(type->dt_wasserstein)),
               ok);
    }
    return array;
}

static json_t *syscalls_json(const stn_evaluation *e, const stn_report_input *input, bool *ok) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < e->syscall_count && i < SYSCALLS_SHOWN; i++) {
        const stn_side *call = &e->syscalls[i];
        append(array,
               json_pack("{s:o, s:[I,f,f], s:[I,f,f], s:o}", "name", name_of(input, call->name),
                         "real", (json_int_t)call->real_count, call->real_p50_ns, call->real_p99_ns,
                         "synthetic", (json_int_t)call->synthetic_count, call->synthetic_p50_ns,
                         call->synthetic_p99_ns, "ks", stn_json_number(call->ks)),
               ok);
    }
    return array;
}

static json_t *stats_json(const stn_rule_stats *stats) {
    return json_pack("[I, I]", (json_int_t)stats->checked, (json_int_t)stats->violations);
}

static json_t *rules_json(const stn_evaluation *e, const stn_report_input *input, bool *ok) {
    json_t *array = json_array();
    for (uint32_t r = 0; r < e->rule_count && r < RULES_SHOWN; r++) {
        const stn_rule_info *info = stn_rules_at(input->rules, r);
        append(array,
               json_pack("{s:o, s:o, s:o, s:o}", "name", stn_json_text(info->name), "doc",
                         stn_json_text(info->doc), "real", stats_json(&e->rules_real[r]),
                         "synthetic", stats_json(&e->rules_synthetic[r])),
               ok);
    }
    return array;
}

static json_t *shares_json(const stn_evaluation *e, const stn_report_input *input, bool *ok) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < e->cpu_count; i++) {
        const stn_share *share = &e->cpus[i];
        json_t *label =
            share->name == STN_NO_CPU ? json_string("CPU ?") : json_sprintf("CPU %u", share->name);
        append(array, json_pack("[o, f, f, i]", label, share->real, share->synthetic, 0), ok);
    }
    for (uint32_t i = 0; i < e->thread_count && i < THREADS_SHOWN; i++) {
        const stn_share *share = &e->threads[i];
        append(array,
               json_pack("[o, f, f, i]", name_of(input, share->name), share->real, share->synthetic,
                         1),
               ok);
    }
    return array;
}

static json_t *fano_json(const stn_evaluation *e, bool *ok) {
    static const char *const labels[] = {"1 ms", "10 ms", "100 ms"};
    json_t *array = json_array();
    for (int bin = 0; bin < 3; bin++) {
        append(array,
               json_pack("[s, o, o, o]", labels[bin], stn_json_number(e->fano_real[bin]),
                         stn_json_number(e->fano_synthetic[bin]),
                         stn_json_number(e->fano_train[bin])),
               ok);
    }
    return array;
}

stn_status stn_report_data(const stn_evaluation *evaluation, const stn_report_input *input,
                           json_t **out, stn_err *err) {
    const stn_evaluation *e = evaluation;
    json_t *timeline;
    stn_status status = stn_report_timeline(input, &timeline, err);
    if (status) {
        return status;
    }
    bool ok = true;
    *out = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "timeline", timeline, "dt",
                     two_hists(&e->dt_real, &e->dt_synthetic, &ok), "waits", waits_json(e, &ok),
                     "grams", grams_json(e, input, &ok), "types", types_json(e, input, &ok),
                     "syscalls", syscalls_json(e, input, &ok), "rules", rules_json(e, input, &ok),
                     "shares", shares_json(e, input, &ok), "fano", fano_json(e, &ok));
    if (!*out || !ok) {
        json_decref(*out);
        *out = NULL;
        return stn_err_set(err, STN_ENOMEM, "out of memory for the plots");
    }
    return STN_OK;
}
