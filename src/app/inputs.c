/* What commands share about their inputs and outputs. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/inputs.h"
#include "app/progress.h"
#include "app/suggest.h"
#include "core/base/alloc.h"

enum { TICK_EVERY = 4096 };

stn_status stn_inputs_format(stn_app *app, const char *option, const char *format, bool writes,
                             stn_err *err) {
    if (!format) {
        return STN_OK;
    }
    stn_suggest suggest = {format, NULL, 0};
    char all[160] = "";
    size_t size = 0;
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        stn_format_info info = stn_format_at(i);
        if (!(writes ? info.writes : info.reads)) {
            continue;
        }
        if (strcmp(info.name, format) == 0) {
            return STN_OK;
        }
        stn_suggest_offer(&suggest, info.name);
        size +=
            (size_t)snprintf(all + size, sizeof all - size, "%s%s", size ? ", " : "", info.name);
    }
    return suggest.nearest
               ? stn_app_usage(app, err, "%s: no format \"%s\"; did you mean \"%s\"?", option,
                               format, suggest.nearest)
               : stn_app_usage(app, err, "%s: \"%s\" is no format that is %s; expected one of %s",
                               option, format, writes ? "written" : "read", all);
}

stn_status stn_selection_init(stn_selection *selection, stn_app *app, const stn_common *common,
                              stn_err *err) {
    memset(selection, 0, sizeof *selection);
    stn_status status = stn_inputs_format(app, "--format", common->format, false, err);
    if (status != STN_OK) {
        return status;
    }
    selection->format = common->format;
    stn_filter *filter = &selection->filter;
    filter->begin_ns = common->time.begin_ns;
    filter->end_ns = common->time.end_ns;
    filter->tids = common->tids.items;
    filter->tid_count = (uint32_t)common->tids.count;
    filter->comms = common->comms.items;
    filter->comm_count = (uint32_t)common->comms.count;
    filter->events = common->events.items;
    filter->event_count = (uint32_t)common->events.count;
    size_t count = common->cpus.count;
    if (count == 0) {
        return STN_OK;
    }
    selection->cpus = stn_malloc(count * sizeof *selection->cpus);
    if (!selection->cpus) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        if (common->cpus.items[i] >= STN_NO_CPU) {
            stn_selection_fini(selection);
            return stn_app_usage(app, err, "--cpu: there is no CPU %d; the highest is %d",
                                 common->cpus.items[i], STN_NO_CPU - 1);
        }
        selection->cpus[i] = (uint16_t)common->cpus.items[i];
    }
    filter->cpus = selection->cpus;
    filter->cpu_count = (uint32_t)count;
    return STN_OK;
}

void stn_selection_fini(stn_selection *selection) {
    stn_free(selection->cpus);
    memset(selection, 0, sizeof *selection);
}

stn_status stn_inputs_open(stn_reader **out, const char *path, const stn_selection *selection,
                           stn_catalog *catalog, stn_err *err) {
    return stn_reader_open(out, path, selection->format, &selection->filter, catalog, err);
}

static stn_status fill(stn_trace *trace, stn_reader *reader, stn_progress *progress, stn_err *err) {
    for (;;) {
        stn_event event;
        stn_status status = stn_reader_next(reader, &event, err);
        if (status == STN_END) {
            trace->meta = *stn_reader_meta(reader);
            return STN_OK;
        }
        if (status == STN_OK) {
            status = stn_trace_append(trace, &event, err);
        }
        if (status == STN_OK && trace->count % TICK_EVERY == 0 &&
            !stn_progress_tick(progress, trace->count, 0)) {
            status = stn_err_set(err, STN_EINTR, "interrupted");
        }
        if (status != STN_OK) {
            return status;
        }
    }
}

static stn_status load(stn_trace *trace, const char *path, const stn_selection *selection,
                       const stn_common *common, FILE *notes, stn_catalog *catalog, stn_err *err) {
    stn_trace_init(trace, catalog);
    stn_reader *reader = NULL;
    stn_status status = stn_inputs_open(&reader, path, selection, catalog, err);
    if (status != STN_OK) {
        return status;
    }
    char what[64];
    const char *base = strrchr(path, '/');
    snprintf(what, sizeof what, "reading %.40s", base && base[1] ? base + 1 : path);
    stn_progress progress;
    stn_progress_begin(&progress, notes, common->quiet || common->json, what, "events");
    status = fill(trace, reader, &progress, err);
    stn_progress_end(&progress);
    stn_reader_close(reader);
    return status;
}

/* Does it leave any event out? */
static bool selects(const stn_filter *f) {
    return f->begin_ns || f->end_ns || f->cpu_count || f->tid_count || f->comm_count ||
           f->event_count;
}

stn_status stn_traces_load(stn_traces *traces, const stn_texts *paths,
                           const stn_selection *selection, const stn_common *common, FILE *notes,
                           stn_catalog *catalog, stn_err *err) {
    traces->count = 0;
    traces->items = stn_calloc(paths->count, sizeof *traces->items);
    traces->all = stn_calloc(paths->count, sizeof *traces->all);
    stn_status status =
        traces->items && traces->all ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory");
    for (size_t i = 0; status == STN_OK && i < paths->count; i++) {
        traces->count = i + 1;
        traces->all[i] = &traces->items[i];
        status = load(&traces->items[i], paths->items[i], selection, common, notes, catalog, err);
        if (status == STN_OK && traces->items[i].meta.event_count == 0) {
            status = stn_err_set(err, STN_EFORMAT, "%s: holds no event%s", paths->items[i],
                                 selects(&selection->filter) ? " that was selected" : "");
        }
    }
    if (status != STN_OK) {
        stn_traces_fini(traces);
    }
    return status;
}

void stn_traces_fini(stn_traces *traces) {
    for (size_t i = 0; i < traces->count; i++) {
        stn_trace_fini(&traces->items[i]);
    }
    stn_free(traces->items);
    stn_free(traces->all);
    memset(traces, 0, sizeof *traces);
}

uint64_t stn_traces_events(const stn_traces *traces) {
    uint64_t sum = 0;
    for (size_t i = 0; i < traces->count; i++) {
        sum += traces->items[i].meta.event_count;
    }
    return sum;
}

static stn_status one_set(stn_rules **out, const char *path, stn_catalog *catalog, stn_err *err) {
    return strcmp(path, "builtin") == 0 ? stn_rules_builtin(out, catalog, err)
                                        : stn_rules_load(out, path, catalog, err);
}

/* Add the rules of every file to @p rules. */
static stn_status add_sets(stn_rules *rules, const stn_texts *files, size_t from,
                           stn_catalog *catalog, stn_err *err) {
    for (size_t i = from; files && i < files->count; i++) {
        stn_rules *more = NULL;
        stn_status status = one_set(&more, files->items[i], catalog, err);
        if (status == STN_OK) {
            status = stn_rules_add(rules, more, err);
            if (status != STN_OK) {
                status = stn_err_prepend(err, status, "%s", files->items[i]);
            }
        }
        stn_rules_free(more);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

stn_status stn_inputs_rules(stn_rules **out, const stn_texts *files, const stn_texts *more,
                            stn_catalog *catalog, stn_err *err) {
    bool own = files && files->count > 0;
    *out = NULL;
    stn_rules *rules = NULL;
    stn_status status = one_set(&rules, own ? files->items[0] : "builtin", catalog, err);
    if (status == STN_OK) {
        status = add_sets(rules, files, 1, catalog, err);
    }
    if (status == STN_OK) {
        status = add_sets(rules, more, 0, catalog, err);
    }
    if (status != STN_OK) {
        stn_rules_free(rules);
        return status;
    }
    *out = rules;
    return STN_OK;
}

/* The absolute name of @p path, which need not exist while its folder does. */
static bool absolute(const char *path, char out[PATH_MAX]) {
    if (realpath(path, out)) {
        return true;
    }
    char copy[PATH_MAX];
    int size = snprintf(copy, sizeof copy, "%s", path);
    if (size <= 0 || (size_t)size >= sizeof copy) {
        return false;
    }
    while (size > 1 && copy[size - 1] == '/') {
        copy[--size] = '\0';
    }
    char *slash = strrchr(copy, '/');
    const char *base = slash ? slash + 1 : copy;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", base);
    if (slash) {
        *(slash == copy ? slash + 1 : slash) = '\0';
    }
    char folder[PATH_MAX];
    if (!realpath(slash ? copy : ".", folder)) {
        return false;
    }
    size = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return size > 0 && size < PATH_MAX;
}

/* Is @p inner the same as, or below, @p outer? */
static bool within(const char *inner, const char *outer) {
    size_t size = strlen(outer);
    return strncmp(inner, outer, size) == 0 && (inner[size] == '\0' || inner[size] == '/');
}

bool stn_inputs_same(const char *a, const char *b) {
    struct stat first;
    struct stat second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

stn_status stn_inputs_guard(stn_app *app, const char *in, const char *out, stn_err *err) {
    if (stn_is_stdout(out)) {
        return STN_OK;
    }
    bool same = stn_inputs_same(in, out);
    char in_path[PATH_MAX];
    char out_path[PATH_MAX];
    if (!same && absolute(in, in_path) && absolute(out, out_path)) {
        same = within(in_path, out_path) || within(out_path, in_path);
    }
    if (!same) {
        return STN_OK;
    }
    return stn_app_usage(app, err, "%s: would be written over the input %s; choose another name",
                         out, in);
}

bool stn_is_stdout(const char *path) {
    return strcmp(path, "-") == 0;
}
