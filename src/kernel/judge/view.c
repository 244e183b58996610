/* Views: symbols and segments of the runs of one side. */
#include "kernel/judge/view.h"

#include "core/base/alloc.h"

#include <assert.h>
#include <string.h>

stn_status stn_alphabet_make(stn_alphabet *alphabet, const stn_catalog *catalog, stn_err *err) {
    memset(alphabet, 0, sizeof *alphabet);
    uint32_t types = stn_catalog_type_count(catalog);
    uint32_t strings = stn_catalog_string_count(catalog);
    uint32_t *of_name = stn_calloc(strings, sizeof *of_name); /* symbol + 1 */
    alphabet->type_count = types;
    alphabet->symbol = stn_malloc(types * sizeof *alphabet->symbol);
    alphabet->name = stn_malloc(types * sizeof *alphabet->name);
    if (!of_name || !alphabet->symbol || !alphabet->name) {
        stn_free(of_name);
        stn_alphabet_fini(alphabet);
        return stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", types);
    }
    alphabet->symbol[STN_TYPE_LOST] = STN_NO_ID;
    for (uint32_t type = STN_TYPE_LOST + 1; type < types; type++) {
        uint32_t name = stn_catalog_type_at(catalog, type)->name_id;
        if (!of_name[name]) {
            alphabet->name[alphabet->count] = name;
            of_name[name] = ++alphabet->count;
        }
        alphabet->symbol[type] = of_name[name] - 1;
    }
    stn_free(of_name);
    return STN_OK;
}

void stn_alphabet_fini(stn_alphabet *alphabet) {
    stn_free(alphabet->symbol);
    stn_free(alphabet->name);
    memset(alphabet, 0, sizeof *alphabet);
}

/* End the current segment here, unless it is still empty. */
static stn_status cut(stn_view *view, stn_err *err) {
    if (view->segment[view->segment_count] == view->count) {
        return STN_OK;
    }
    if (stn_grow(&view->segment, &view->segment_capacity, view->segment_count + 2,
                 sizeof *view->segment)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the segments of a trace");
    }
    view->segment[++view->segment_count] = view->count;
    return STN_OK;
}

static stn_status add_trace(stn_view *view, const stn_trace *trace, const stn_alphabet *alphabet,
                            stn_err *err) {
    stn_status status = STN_OK;
    for (size_t i = 0; i < trace->count && !status; i++) {
        uint32_t type = trace->events[i].type;
        if (type == STN_TYPE_LOST) {
            status = cut(view, err);
        } else {
            assert(type < alphabet->type_count);
            view->symbol[view->count++] = alphabet->symbol[type];
        }
    }
    return status ? status : cut(view, err);
}

stn_status stn_view_make(stn_view *view, const stn_trace *const *traces, size_t count,
                         const stn_alphabet *alphabet, stn_err *err) {
    memset(view, 0, sizeof *view);
    view->traces = traces;
    view->trace_count = count;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += traces[i]->count;
    }
    view->symbol = stn_malloc(total * sizeof *view->symbol);
    stn_status status = STN_OK;
    if (!view->symbol ||
        stn_grow(&view->segment, &view->segment_capacity, 1, sizeof *view->segment)) {
        status = stn_err_set(err, STN_ENOMEM, "out of memory for %zu events", total);
    } else {
        view->segment[0] = 0;
    }
    for (size_t i = 0; i < count && !status; i++) {
        status = add_trace(view, traces[i], alphabet, err);
    }
    if (status) {
        stn_view_fini(view);
    }
    return status;
}

void stn_view_fini(stn_view *view) {
    stn_free(view->symbol);
    stn_free(view->segment);
    memset(view, 0, sizeof *view);
}

static size_t windows_in(const stn_view *view, size_t segment, size_t size) {
    size_t length = view->segment[segment + 1] - view->segment[segment];
    return length >= size ? length - size + 1 : 0;
}

size_t stn_view_window_count(const stn_view *view, size_t size) {
    size_t count = 0;
    for (size_t s = 0; s < view->segment_count; s++) {
        count += windows_in(view, s, size);
    }
    return count;
}

size_t stn_view_spread(const stn_view *view, size_t size, size_t want, double phase,
                       size_t *start) {
    size_t total = stn_view_window_count(view, size);
    size_t taken = want < total ? want : total;
    size_t s = 0;
    size_t before = 0; /* windows in segments before s */
    for (size_t i = 0; i < taken; i++) {
        size_t index = (size_t)(((double)i + phase) * (double)total / (double)taken);
        while (index - before >= windows_in(view, s, size)) {
            before += windows_in(view, s, size);
            s++;
        }
        start[i] = view->segment[s] + (index - before);
    }
    return taken;
}
