#include "app/ops_html.h"

#include <stdio.h>
#include <string.h>

#include "app/assets.h"
#include "app/report_text.h"

enum { CELL = 9, ROW = 18 };

const char *stn_ops_layers(const int32_t *layers, size_t count, char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < count && used + 24 < size;) {
        size_t end = i;
        while (end + 1 < count && layers[end + 1] == layers[end] + 1) {
            end++;
        }
        int wrote = snprintf(buffer + used, size - used, end > i ? "%s%d-%d" : "%s%d",
                             used ? "," : "", layers[i], layers[end]);
        used += (size_t)wrote;
        i = end + 1;
    }
    return buffer;
}

static const char *colour_of(stn_kind kind) {
    static const char *const colours[STN_KIND_COUNT] = {
        [STN_KIND_GEMM] = "c0",      [STN_KIND_ATTENTION] = "c1",   [STN_KIND_MOE] = "c3",
        [STN_KIND_NORM] = "c2",      [STN_KIND_ROPE] = "c5",        [STN_KIND_ACTIVATION] = "c4",
        [STN_KIND_EMBEDDING] = "c6", [STN_KIND_HEAD] = "c6",        [STN_KIND_STATE] = "c7",
        [STN_KIND_COPY] = "other",   [STN_KIND_COLLECTIVE] = "poor"};
    return colours[kind] ? colours[kind] : "train";
}

static int32_t last_layer(const stn_operations *list) {
    int32_t last = -1;
    for (size_t i = 0; i < list->count; i++) {
        const stn_operation *one = &list->items[i];
        int32_t layer = one->layer_count ? one->layers[one->layer_count - 1] : -1;
        last = layer > last ? layer : last;
    }
    return last;
}

static void put_head(stn_page *page, const stn_graph *graph, const char *name) {
    const char *architecture = stn_graph_meta(graph, "general.architecture");
    stn_page_put(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "style-src 'unsafe-inline'; img-src data:\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<link rel=\"icon\" href=\"data:,\">\n<title>");
    stn_page_text(page, name);
    stn_page_put(page, " - standin</title>\n<style>\n");
    stn_page_bytes(page, stn_asset_report_css, stn_asset_report_css_size);
    stn_page_put(page, "td.note { font-family: ui-monospace, monospace; font-size: 12px; }\n"
                       "</style></head>\n<body>\n<header><p class=\"brand\">standin · llm ops</p>"
                       "<h1>");
    stn_page_text(page, name);
    stn_page_put(page, "</h1><p class=\"caption\">");
    stn_page_text(page, architecture ? architecture : "");
    for (size_t i = 0; i < graph->exprs.label_count; i++) {
        const stn_label *label = &graph->exprs.labels[i];
        if (!strchr(label->name, '.')) {
            stn_page_put(page, ", ");
            stn_page_text(page, label->name);
            stn_page_printf(page, " %lld", (long long)label->value);
        }
    }
    stn_page_put(page, "</p></header>\n<main>\n");
}

/* One distinct operation: its colour wherever a layer has it. */
static void put_strip(stn_page *page, const stn_operation *one, size_t row) {
    for (size_t l = 0; l < one->layer_count; l++) {
        stn_page_printf(page,
                        "<rect x=\"%d\" y=\"%zu\" width=\"%d\" height=\"%d\" "
                        "fill=\"var(--%s)\"/>\n",
                        130 + one->layers[l] * CELL, row * ROW + 3, CELL - 1, ROW - 5,
                        colour_of(one->kind));
    }
    stn_page_printf(page, "<text x=\"0\" y=\"%zu\" fill=\"currentColor\">%s</text></g>\n",
                    row * ROW + 13, stn_kind_name(one->kind));
}

static void put_picture(stn_page *page, const stn_operations *list) {
    int width = 140 + (last_layer(list) + 1) * CELL;
    stn_page_printf(
        page,
        "<section class=\"card wide\"><h2>Which layers share it</h2><p class=\"caption\">"
        "A row for each distinct operation in the order of the pass, a column for each "
        "layer. Point at a row to read it.</p><div class=\"scroll\"><svg width=\"%d\" "
        "height=\"%zu\" font-size=\"11\" role=\"img\" aria-label=\"operations by "
        "layer\">\n",
        width, list->count * ROW + 4);
    for (size_t i = 0; i < list->count; i++) {
        stn_page_put(page, "<g><title>");
        stn_page_text(page, list->items[i].signature);
        stn_page_put(page, "</title>");
        put_strip(page, &list->items[i], i);
    }
    stn_page_put(page, "</svg></div></section>\n");
}

static void put_table(stn_page *page, const stn_operations *list) {
    stn_page_put(page, "<section class=\"card wide\"><h2>Distinct operations</h2><div "
                       "class=\"scroll\"><table><thead><tr><th>kind</th><th>count</th><th>layers"
                       "</th><th class=\"note\">signature</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < list->count; i++) {
        const stn_operation *one = &list->items[i];
        char layers[256];
        stn_page_printf(page,
                        "<tr><th scope=\"row\">%s</th><td>%u</td><td>%s</td><td class=\"note\">",
                        stn_kind_name(one->kind), one->count,
                        stn_ops_layers(one->layers, one->layer_count, layers, sizeof layers));
        stn_page_text(page, one->signature);
        stn_page_put(page, "</td></tr>\n");
    }
    stn_page_put(page, "</tbody></table></div></section>\n");
}

stn_status stn_ops_html(const stn_graph *graph, const stn_operations *list, const char *name,
                        const char *path, stn_err *err) {
    stn_page page = {.err = err};
    page.status = stn_outfile_open(&page.file, path, err);
    if (page.status == STN_OK) {
        put_head(&page, graph, name);
        put_picture(&page, list);
        put_table(&page, list);
        stn_page_printf(&page,
                        "</main>\n<footer>standin %s. What a signature says stands in "
                        "docs/formats/opgraph.md.</footer>\n</body></html>\n",
                        stn_version());
        if (page.status == STN_OK) {
            page.status = stn_outfile_commit(page.file, err);
        } else {
            stn_outfile_abort(page.file);
        }
    }
    return page.status == STN_OK ? STN_OK : stn_err_prepend(err, page.status, "%s", path);
}
