/* The page: verdict and figures as plain HTML that reads without a script, plots by report.js
 * from the JSON beside it. The policy in its head lets nothing be fetched from anywhere. */
#include "app/assets.h"
#include "app/report.h"
#include "app/report_data.h"
#include "app/report_rows.h"
#include "app/report_text.h"
#include "app/report_verdict.h"

#include <string.h>

/* A plot of the page; report.js has a function for each name. */
static const struct {
    const char *name, *title, *caption;
    bool wide;
} plots[] = {
    {"timeline", "Who runs when",
     "Bars: the process on each CPU. Ticks below: events. Point at them to read them.", true},
    {"dt", "Time between events",
     "Share of inter-event times in each tenth of a decade. Right of it means slower.", false},
    {"grams", "How often events follow each other",
     "Each point is an n-gram. On the diagonal both sides have it equally often; points on the "
     "edges occur on one side only.",
     false},
    {"syscalls", "System call durations",
     "From the median to the 99th percentile, the most frequent calls.", true},
    {"waits", "Waits", "Cumulative share of durations that are at most so long.", true},
    {"types", "Shares of event types", "The most frequent types; log scale.", false},
    {"rules", "Violations by rule",
     "How often each rule of the kernel is broken, or, if none is, how often it was judged.",
     false},
    {"shares", "Shares of CPUs and threads", "Share of all events.", false},
    {"burst", "Burstiness",
     "Fano factor of event counts: variance over mean. 1 is a Poisson stream; log scale.", false},
};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void put_paths(stn_page *page, const char *label, const char *class,
                      const stn_report_side *side, double events) {
    char count[32];
    stn_page_printf(page, "<div><dt class=\"%s\">%s</dt><dd>", class, label);
    for (size_t i = 0; i < side->count; i++) {
        stn_page_put(page, i ? ", " : "");
        stn_page_put(page, "<span title=\"");
        stn_page_text(page, side->paths[i]);
        stn_page_put(page, "\">");
        stn_page_text(page, base_name(side->paths[i]));
        stn_page_put(page, "</span>");
    }
    stn_page_printf(page, "<small>%s events</small></dd></div>\n",
                    stn_report_thousands(events, count, sizeof count));
}

static void put_title(stn_page *page, const stn_report_input *input) {
    if (input->title) {
        stn_page_text(page, input->title);
        return;
    }
    stn_page_text(page, input->synthetic.count ? base_name(input->synthetic.paths[0]) : "");
    stn_page_put(page, " against ");
    stn_page_text(page, input->real.count ? base_name(input->real.paths[0]) : "");
}

static void put_head(stn_page *page, const stn_report_input *input) {
    stn_page_put(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n"
                       "<link rel=\"icon\" href=\"data:,\">\n<title>");
    put_title(page, input);
    stn_page_put(page, " - standin</title>\n<style>\n");
    stn_page_bytes(page, stn_asset_report_css, stn_asset_report_css_size);
    stn_page_put(page, "</style></head>\n<body>\n");
}

static void put_verdicts(stn_page *page, const stn_evaluation *e) {
    stn_verdict verdicts[STN_VERDICT_COUNT];
    stn_verdict_level worst = stn_verdicts(e, verdicts);
    stn_page_printf(page, "<p class=\"summary %s\">%s</p>\n<section class=\"verdicts\">\n",
                    stn_verdict_word(worst), stn_verdict_summary(worst));
    for (int i = 0; i < STN_VERDICT_COUNT; i++) {
        const char *word = stn_verdict_word(verdicts[i].level);
        stn_page_printf(page,
                        "<article class=\"verdict %s\"><h2>%s <b>%s</b></h2><p>%s</p></article>\n",
                        word, verdicts[i].question, word, verdicts[i].text);
    }
    stn_page_put(page, "</section>\n");
}

static void put_row(stn_page *page, const stn_report_row *row, const stn_evaluation *e) {
    char cell[32];
    stn_page_printf(page, "<tr><th scope=\"row\">%s</th>", row->label);
    stn_page_printf(page, "<td>%s</td>",
                    stn_report_cell(row, row->synthetic, e, cell, sizeof cell));
    stn_page_printf(page, "<td>%s</td>", stn_report_cell(row, row->real, e, cell, sizeof cell));
    stn_page_printf(page, "<td>%s</td>",
                    stn_report_cell(row, row->yardstick, e, cell, sizeof cell));
    stn_page_printf(page, "<td class=\"note\">%s</td></tr>\n", row->note);
}

static void put_figures(stn_page *page, const stn_evaluation *e) {
    size_t count;
    const stn_report_row *rows = stn_report_rows(&count);
    stn_page_put(page,
                 "<section class=\"card wide\"><h2>Figures</h2><p class=\"caption\">Yardstick: the "
                 "training runs, or, for distances, how far they are from the held-out real run. "
                 "No synthetic trace can be asked to come closer.</p><div class=\"scroll\"><table>"
                 "<thead><tr><th></th><th class=\"synthetic\">synthetic</th><th class=\"real\">"
                 "held-out real</th><th>yardstick</th><th class=\"note\"></th></tr></thead>\n");
    const char *section = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(section, rows[i].section) != 0) {
            section = rows[i].section;
            stn_page_printf(page, "<tbody><tr class=\"section\"><th colspan=\"5\">%s</th></tr>\n",
                            section);
        }
        put_row(page, &rows[i], e);
    }
    stn_page_put(page, "</table></div></section>\n");
}

static void put_plots(stn_page *page) {
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++) {
        stn_page_printf(page,
                        "<section class=\"card%s\"><h2>%s</h2><p class=\"caption\">%s</p>"
                        "<div data-plot=\"%s\"></div></section>\n",
                        plots[i].wide ? " wide" : "", plots[i].title, plots[i].caption,
                        plots[i].name);
    }
}

static void put_violations(stn_page *page, const stn_evaluation *e, const stn_report_input *input) {
    if (!e->violation_count) {
        return;
    }
    stn_page_put(page, "<section class=\"card wide\"><h2>First violations of the synthetic runs"
                       "</h2><div class=\"scroll\"><table><thead><tr><th>rule</th><th>time</th>"
                       "<th>CPU</th><th>thread</th><th>event</th><th class=\"note\">what</th></tr>"
                       "</thead><tbody>\n");
    for (uint32_t i = 0; i < e->violation_count; i++) {
        const stn_violation *v = &e->violations[i];
        stn_page_put(page, "<tr><th scope=\"row\">");
        stn_page_text(page, stn_rules_at(input->rules, v->rule)->name);
        stn_page_printf(page, "</th><td>%.9f s</td><td>%d</td><td>%d</td><td>",
                        (double)v->time_ns * 1e-9, v->cpu == STN_NO_CPU ? -1 : (int)v->cpu,
                        v->tid == STN_NO_TID ? -1 : v->tid);
        stn_page_text(page, stn_catalog_type_at(input->catalog, v->type)->name);
        stn_page_put(page, "</td><td class=\"note\">");
        stn_page_text(page, v->text);
        stn_page_put(page, "</td></tr>\n");
    }
    stn_page_put(page, "</tbody></table></div></section>\n");
}

static void put_body(stn_page *page, const stn_evaluation *e, const stn_report_input *input) {
    stn_page_put(page, "<header><p class=\"brand\">standin · kernel evaluate</p><h1>");
    put_title(page, input);
    stn_page_put(page, "</h1><dl>\n");
    put_paths(page, "learned from", "train", &input->train, (double)e->events_train);
    put_paths(page, "held-out real", "real", &input->real, (double)e->events_real);
    put_paths(page, "synthetic", "synthetic", &input->synthetic, (double)e->events_synthetic);
    stn_page_put(page, "</dl></header>\n<main>\n");
    put_verdicts(page, e);
    stn_page_put(page, "<noscript><p class=\"caption\">The plots need JavaScript; verdict and "
                       "figures do not.</p></noscript>\n<div class=\"grid\">\n");
    put_figures(page, e);
    put_plots(page);
    put_violations(page, e, input);
    stn_page_printf(page,
                    "</div></main>\n<footer>standin %s, seed %llu. How each figure is made stands "
                    "in docs/evaluation.md.</footer>\n<div id=\"tip\" role=\"status\"></div>\n",
                    stn_version(), (unsigned long long)input->seed);
}

stn_status stn_report_html(const stn_evaluation *evaluation, const stn_report_input *input,
                           const char *path, stn_err *err) {
    json_t *data;
    stn_status status = stn_report_data(evaluation, input, &data, err);
    if (status) {
        return status;
    }
    stn_page page = {.err = err};
    page.status = stn_outfile_open(&page.file, path, err);
    if (!page.status) {
        put_head(&page, input);
        put_body(&page, evaluation, input);
        stn_page_put(&page, "<script type=\"application/json\" id=\"data\">");
        stn_page_json(&page, data);
        stn_page_put(&page, "</script>\n<script>\n");
        stn_page_bytes(&page, stn_asset_report_js, stn_asset_report_js_size);
        stn_page_put(&page, "</script>\n</body></html>\n");
        if (page.status) {
            stn_outfile_abort(page.file);
        } else {
            page.status = stn_outfile_commit(page.file, err);
        }
    }
    json_decref(data);
    return page.status ? stn_err_prepend(err, page.status, "%s", path) : STN_OK;
}
