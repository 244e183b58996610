/* The terminal's view of an evaluation. */
#include "app/report.h"
#include "app/report_rows.h"
#include "app/report_verdict.h"

#include <string.h>

#define BROKEN_SHOWN 8

static void print_rows(const stn_evaluation *e, FILE *out) {
    size_t count;
    const stn_report_row *rows = stn_report_rows(&count);
    const char *section = NULL;
    fprintf(out, "%-30s %12s %12s %12s\n", "", "synthetic", "real", "yardstick");
    for (size_t i = 0; i < count; i++) {
        char cells[3][32];
        if (!section || strcmp(section, rows[i].section) != 0) {
            section = rows[i].section;
            fprintf(out, "%s\n", section);
        }
        fprintf(out, "  %-28s %12s %12s %12s\n", rows[i].label,
                stn_report_cell(&rows[i], rows[i].synthetic, e, cells[0], sizeof cells[0]),
                stn_report_cell(&rows[i], rows[i].real, e, cells[1], sizeof cells[1]),
                stn_report_cell(&rows[i], rows[i].yardstick, e, cells[2], sizeof cells[2]));
    }
}

static void print_broken(const stn_evaluation *e, const stn_rules *rules, FILE *out) {
    int shown = 0;
    for (uint32_t r = 0; r < e->rule_count; r++) {
        if (!e->rules_synthetic[r].violations) {
            continue;
        }
        if (shown++ == BROKEN_SHOWN) {
            fprintf(out, "  … and more; the page and --json have them all\n");
            return;
        }
        fprintf(out, "  broken: %-28s %llu of %llu\n", stn_rules_at(rules, r)->name,
                (unsigned long long)e->rules_synthetic[r].violations,
                (unsigned long long)e->rules_synthetic[r].checked);
    }
}

void stn_report_table(const stn_evaluation *evaluation, const stn_report_input *input, FILE *out) {
    char counts[4][32];
    fprintf(
        out, "trained on %s events, tested on %s real; %s synthetic judged, budget %s\n",
        stn_report_thousands((double)evaluation->events_train, counts[0], sizeof counts[0]),
        stn_report_thousands((double)evaluation->events_real, counts[1], sizeof counts[1]),
        stn_report_thousands((double)evaluation->events_synthetic, counts[2], sizeof counts[2]),
        stn_report_thousands((double)evaluation->ngram.train_events, counts[3], sizeof counts[3]));
    print_rows(evaluation, out);
    print_broken(evaluation, input->rules, out);
    fprintf(out, "yardstick: the training runs, or how far they are from the held-out real ones\n");
    stn_verdict verdicts[STN_VERDICT_COUNT];
    stn_verdict_level worst = stn_verdicts(evaluation, verdicts);
    for (int i = 0; i < STN_VERDICT_COUNT; i++) {
        fprintf(out, "%-16s %s\n", verdicts[i].question, stn_verdict_word(verdicts[i].level));
    }
    fprintf(out, "%s\n", stn_verdict_summary(worst));
}
