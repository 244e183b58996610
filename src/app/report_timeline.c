/* Who ran: the thread of each event, and from a sched_switch on the thread that it names next.
 * A run of one name on one CPU is one bar, until the name changes or the stretch ends. */
#include "app/report_timeline.h"

#include "app/report_text.h"
#include "core/base/alloc.h"
#include "core/base/map.h"

#include <string.h>

#define STRETCH_EVENTS ((size_t)1500)  /* of the real run: this makes the width */
#define EVENTS_MAX     ((size_t)4000)  /* of one stretch of one side */
#define LOOK_BACK      ((size_t)20000) /* events searched for the names of threads */
#define CPUS_MAX       16

static const struct {
    const char *label;
    double at; /* of the run */
} stretch_rows[] = {{"early", 0.2}, {"middle", 0.5}, {"late", 0.8}};

/* Strings of the page, each once, known by position. */
typedef struct table {
    stn_map index; /* string id -> position + 1 */
    json_t *texts;
} table;

typedef struct drawing {
    const stn_catalog *catalog;
    table names, types;
    uint32_t next_pid;
    stn_map comm_of; /* tid -> string id of its name */
    bool ok;
} drawing;

/* One CPU of one stretch. */
typedef struct lane {
    json_t *runs, *events;
    uint64_t since; /* of the open bar */
    int64_t name;   /* of the open bar, -1 none */
} lane;

static int64_t position(drawing *d, table *t, uint32_t id, const char *text) {
    uint64_t *at = stn_map_put(&t->index, id, NULL);
    if (!at || !t->texts) {
        d->ok = false;
        return 0;
    }
    if (!*at) {
        *at = json_array_size(t->texts) + 1;
        d->ok = !json_array_append_new(t->texts, stn_json_text(text)) && d->ok;
    }
    return (int64_t)*at - 1;
}

static int64_t name_position(drawing *d, uint32_t comm) {
    const char *text = comm == STN_NO_ID ? "(unknown)" : stn_catalog_text(d->catalog, comm);
    return position(d, &d->names, comm, text);
}

static void push(drawing *d, json_t *array, int64_t a, int64_t b, int64_t c) {
    const int64_t values[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        d->ok = !json_array_append_new(array, json_integer(values[i])) && d->ok;
    }
}

/* From @p now on @p name runs there; ends the open bar if it is another's. */
static void change_run(drawing *d, lane *l, uint64_t now, int64_t name) {
    if (l->name == name) {
        return;
    }
    if (l->name >= 0 && now > l->since) {
        push(d, l->runs, (int64_t)l->since, (int64_t)(now - l->since), l->name);
    }
    l->since = now;
    l->name = name;
}

/* Name of the thread that a switch brings; -1 if nothing near tells. */
static int64_t next_name(drawing *d, const stn_event *event) {
    const stn_field *field = stn_event_field(event, d->next_pid);
    int64_t tid = stn_field_int(field, -1);
    if (!field || tid < 0) {
        return -1;
    }
    const uint64_t *comm = stn_map_get(&d->comm_of, (uint64_t)tid);
    if (!comm && tid == 0) {
        return position(d, &d->names, UINT32_MAX - 1, "<idle>");
    }
    return comm ? name_position(d, (uint32_t)*comm) : -1;
}

static void draw_event(drawing *d, lane *l, const stn_event *event, uint64_t now) {
    const stn_type *type = stn_catalog_type_at(d->catalog, event->type);
    int64_t name = name_position(d, event->comm);
    if (event->comm != STN_NO_ID) {
        change_run(d, l, now, name);
    }
    push(d, l->events, (int64_t)now, position(d, &d->types, type->name_id, type->name), name);
    if (!strcmp(type->name, "sched_switch")) {
        change_run(d, l, now, next_name(d, event));
    }
}

static void learn_names(drawing *d, const stn_trace *trace, size_t begin, size_t end) {
    stn_map_clear(&d->comm_of);
    for (size_t i = begin; i < end; i++) {
        const stn_event *event = &trace->events[i];
        if (event->type == STN_TYPE_LOST || event->tid < 0 || event->comm == STN_NO_ID) {
            continue;
        }
        uint64_t *comm = stn_map_put(&d->comm_of, (uint64_t)event->tid, NULL);
        if (comm) {
            *comm = event->comm;
        } else {
            d->ok = false;
        }
    }
}

/* Close all bars and hand out the CPUs that have events. */
static json_t *lanes_json(drawing *d, lane *lanes, uint64_t width_ns) {
    json_t *cpus = json_array();
    for (int64_t cpu = 0; cpu < CPUS_MAX; cpu++) {
        change_run(d, &lanes[cpu], width_ns, -1);
        json_t *json = json_pack("{s:I, s:o, s:o}", "cpu", (json_int_t)cpu, "runs", lanes[cpu].runs,
                                 "events", lanes[cpu].events);
        if (!json) {
            d->ok = false;
        } else if (json_array_size(json_object_get(json, "events"))) {
            d->ok = !json_array_append_new(cpus, json) && d->ok;
        } else {
            json_decref(json);
        }
    }
    return cpus;
}

/* First event at or after @p time_ns. */
static size_t event_at(const stn_trace *trace, uint64_t time_ns) {
    size_t low = 0;
    size_t high = trace->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->events[middle].time_ns < time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first trace that has events; the evaluation holds that there is one. */
static const stn_trace *first_of(const stn_report_side *side) {
    size_t i = 0;
    while (i + 1 < side->count && !side->traces[i]->count) {
        i++;
    }
    return side->traces[i];
}

static json_t *draw_side(drawing *d, const stn_trace *trace, double at, uint64_t width_ns) {
    size_t begin = (size_t)(at * (double)trace->count);
    uint64_t begin_ns = trace->events[begin].time_ns;
    size_t end = event_at(trace, begin_ns + width_ns);
    bool cut = end > begin + EVENTS_MAX;
    end = cut ? begin + EVENTS_MAX : end;
    lane lanes[CPUS_MAX];
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        lanes[cpu] = (lane){.runs = json_array(), .events = json_array(), .name = -1};
        d->ok = lanes[cpu].runs && lanes[cpu].events && d->ok;
    }
    learn_names(d, trace, begin > LOOK_BACK ? begin - LOOK_BACK : 0, end);
    uint64_t last = 0;
    for (size_t i = begin; i < end && d->ok; i++) {
        const stn_event *event = &trace->events[i];
        if (event->type == STN_TYPE_LOST || event->cpu >= CPUS_MAX ||
            event->time_ns < begin_ns + last) {
            continue; /* also what a broken trace has back in time */
        }
        last = event->time_ns - begin_ns;
        draw_event(d, &lanes[event->cpu], event, last);
    }
    json_t *cpus = lanes_json(d, lanes, cut ? last : width_ns);
    json_t *side =
        json_pack("{s:I, s:b, s:o}", "begin_ns", (json_int_t)(begin_ns - trace->events[0].time_ns),
                  "cut", (int)cut, "cpus", cpus);
    d->ok = side && d->ok;
    return side;
}

static json_t *draw_stretch(drawing *d, const stn_trace *real, const stn_trace *synthetic,
                            size_t row) {
    double at = stretch_rows[row].at;
    size_t begin = (size_t)(at * (double)real->count);
    size_t end = begin + STRETCH_EVENTS < real->count ? begin + STRETCH_EVENTS : real->count - 1;
    uint64_t width_ns = real->events[end].time_ns - real->events[begin].time_ns;
    width_ns = width_ns ? width_ns : 1;
    json_t *json = json_pack("{s:s, s:I, s:o, s:o}", "label", stretch_rows[row].label, "width_ns",
                             (json_int_t)width_ns, "real", draw_side(d, real, at, width_ns),
                             "synthetic", draw_side(d, synthetic, at, width_ns));
    d->ok = json && d->ok;
    return json;
}

stn_status stn_report_timeline(const stn_report_input *input, json_t **out, stn_err *err) {
    drawing d = {
        .catalog = input->catalog,
        .names.texts = json_array(),
        .types.texts = json_array(),
        .next_pid = stn_catalog_find(input->catalog, "next_pid"),
        .ok = true,
    };
    json_t *stretches = json_array();
    for (size_t row = 0; row < sizeof stretch_rows / sizeof *stretch_rows && d.ok; row++) {
        json_t *stretch =
            draw_stretch(&d, first_of(&input->real), first_of(&input->synthetic), row);
        d.ok = !json_array_append_new(stretches, stretch) && d.ok;
    }
    stn_map_fini(&d.names.index);
    stn_map_fini(&d.types.index);
    stn_map_fini(&d.comm_of);
    *out = json_pack("{s:o, s:o, s:o}", "names", d.names.texts, "types", d.types.texts, "stretches",
                     stretches);
    if (!*out || !d.ok) {
        json_decref(*out);
        *out = NULL;
        return stn_err_set(err, STN_ENOMEM, "out of memory for the timeline");
    }
    return STN_OK;
}
