/* One pass per trace; what is open stands in a map from its key to time + 1 (0: not open). */
#include "kernel/judge/waits.h"

#include "core/base/alloc.h"
#include "core/base/intern.h"
#include "core/base/map.h"

#include <string.h>

typedef enum role { OTHER, ENTER, EXIT, WAKING, WAKEUP, SWITCH, ISSUE, COMPLETE } role;

static const struct {
    const char *name;
    role role;
} role_rows[] = {
    {"sched_waking", WAKING}, {"sched_wakeup", WAKEUP},  {"sched_wakeup_new", WAKEUP},
    {"sched_switch", SWITCH}, {"block_rq_issue", ISSUE}, {"block_rq_complete", COMPLETE},
};

/* What a pass needs; names are resolved once. */
typedef struct pass {
    stn_waits *waits;
    const stn_catalog *catalog;
    unsigned char *roles; /* [type_count] of role */
    uint32_t pid, prev_pid, next_pid, dev, sector;
    stn_map call, woken, issued; /* thread -> open call; thread, request -> time + 1 */
    stn_map call_time;
    bool has_wakeup; /* this trace: else sched_waking counts */
} pass;

static role role_of(const stn_type *type) {
    if (type->syscall_enter || type->syscall_exit) {
        return type->syscall_enter ? ENTER : EXIT;
    }
    for (size_t i = 0; i < sizeof role_rows / sizeof *role_rows; i++) {
        if (!strcmp(type->name, role_rows[i].name)) {
            return role_rows[i].role;
        }
    }
    return OTHER;
}

static bool pass_init(pass *p, stn_waits *waits, const stn_catalog *catalog) {
    uint32_t types = stn_catalog_type_count(catalog);
    *p = (pass){
        .waits = waits,
        .catalog = catalog,
        .roles = stn_malloc(types),
        .pid = stn_catalog_find(catalog, "pid"),
        .prev_pid = stn_catalog_find(catalog, "prev_pid"),
        .next_pid = stn_catalog_find(catalog, "next_pid"),
        .dev = stn_catalog_find(catalog, "dev"),
        .sector = stn_catalog_find(catalog, "sector"),
    };
    for (uint32_t type = 0; p->roles && type < types; type++) {
        p->roles[type] = (unsigned char)role_of(stn_catalog_type_at(catalog, type));
    }
    return p->roles != NULL;
}

static void pass_forget(pass *p) {
    stn_map_clear(&p->call);
    stn_map_clear(&p->call_time);
    stn_map_clear(&p->woken);
    stn_map_clear(&p->issued);
}

static void pass_fini(pass *p) {
    stn_map_fini(&p->call);
    stn_map_fini(&p->call_time);
    stn_map_fini(&p->woken);
    stn_map_fini(&p->issued);
    stn_free(p->roles);
}

static stn_status open_at(stn_map *map, uint64_t key, uint64_t time_ns) {
    uint64_t *since = stn_map_put(map, key, NULL);
    if (!since) {
        return STN_ENOMEM;
    }
    *since = time_ns + 1;
    return STN_OK;
}

/* End what is open under @p key, if anything, and keep how long it took. */
static stn_status close_at(pass *p, stn_map *map, uint64_t key, const stn_event *event,
                           stn_wait wait, uint32_t label) {
    uint64_t *since = stn_map_get(map, key);
    if (!since || !*since) {
        return STN_OK;
    }
    uint64_t begin = *since - 1;
    *since = 0;
    if (event->time_ns < begin) {
        return STN_OK;
    }
    return stn_samples_push(&p->waits->of[wait], label, (float)(event->time_ns - begin), NULL);
}

static stn_status on_enter(pass *p, const stn_event *event) {
    uint64_t key = (uint32_t)event->tid;
    uint64_t *call = stn_map_put(&p->call, key, NULL);
    if (event->tid == STN_NO_TID || !call) {
        return call ? STN_OK : STN_ENOMEM;
    }
    *call = stn_catalog_type_at(p->catalog, event->type)->syscall_id;
    return open_at(&p->call_time, key, event->time_ns);
}

static stn_status on_exit_of_call(pass *p, const stn_event *event) {
    uint64_t key = (uint32_t)event->tid;
    uint32_t name = stn_catalog_type_at(p->catalog, event->type)->syscall_id;
    const uint64_t *call = stn_map_get(&p->call, key);
    if (!call || *call != name || name == STN_NO_ID) {
        uint64_t *since = stn_map_get(&p->call_time, key);
        if (since) {
            *since = 0;
        }
        return STN_OK;
    }
    return close_at(p, &p->call_time, key, event, STN_WAIT_SYSCALL, name);
}

static bool thread_field(const stn_event *event, uint32_t name, uint64_t *key) {
    const stn_field *field = stn_event_field(event, name);
    int64_t tid = stn_field_int(field, -1);
    *key = (uint32_t)tid;
    return field && tid > 0;
}

static stn_status on_switch(pass *p, const stn_event *event) {
    uint64_t key;
    if (thread_field(event, p->prev_pid, &key)) {
        uint64_t *woken = stn_map_get(&p->woken, key);
        if (woken) {
            *woken = 0; /* it was woken while it still ran: that is no wait for a CPU */
        }
    }
    if (!thread_field(event, p->next_pid, &key)) {
        return STN_OK;
    }
    return close_at(p, &p->woken, key, event, STN_WAIT_RUNQUEUE, 0);
}

/* A device is a number, or text where a format gives no better. */
static uint64_t field_hash(const stn_field *field) {
    if (field->kind == STN_FIELD_STR) {
        return stn_hash_bytes(field->v.s, strlen(field->v.s));
    }
    return (uint64_t)stn_field_int(field, -1);
}

static bool request_key(const pass *p, const stn_event *event, uint64_t *key) {
    const stn_field *dev = stn_event_field(event, p->dev);
    const stn_field *sector = stn_event_field(event, p->sector);
    if (!dev || !sector) {
        return false;
    }
    *key = stn_hash_u64(field_hash(dev) + 0x9e3779b97f4a7c15u) ^ field_hash(sector);
    return true;
}

static stn_status on_event(pass *p, const stn_event *event) {
    uint64_t key;
    switch ((role)p->roles[event->type]) {
    case ENTER:
        return on_enter(p, event);
    case EXIT:
        return on_exit_of_call(p, event);
    case WAKING:
    case WAKEUP:
        if ((p->roles[event->type] == WAKING && p->has_wakeup) ||
            !thread_field(event, p->pid, &key)) {
            return STN_OK;
        }
        return open_at(&p->woken, key, event->time_ns);
    case SWITCH:
        return on_switch(p, event);
    case ISSUE:
        return request_key(p, event, &key) ? open_at(&p->issued, key, event->time_ns) : STN_OK;
    case COMPLETE:
        if (!request_key(p, event, &key)) {
            return STN_OK;
        }
        return close_at(p, &p->issued, key, event, STN_WAIT_BLOCK, 0);
    case OTHER:
        break;
    }
    return STN_OK;
}

static stn_status collect_trace(pass *p, const stn_trace *trace) {
    pass_forget(p);
    p->has_wakeup = false;
    for (size_t i = 0; i < trace->count && !p->has_wakeup; i++) {
        p->has_wakeup = p->roles[trace->events[i].type] == WAKEUP;
    }
    stn_status status = STN_OK;
    for (size_t i = 0; i < trace->count && !status; i++) {
        if (trace->events[i].type == STN_TYPE_LOST) {
            pass_forget(p);
        } else {
            status = on_event(p, &trace->events[i]);
        }
    }
    return status;
}

stn_status stn_waits_collect(stn_waits *waits, const stn_trace *const *traces, size_t count,
                             const stn_catalog *catalog, stn_err *err) {
    pass p;
    stn_status status = pass_init(&p, waits, catalog) ? STN_OK : STN_ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        status = collect_trace(&p, traces[i]);
    }
    pass_fini(&p);
    return status ? stn_err_set(err, status, "out of memory for durations") : STN_OK;
}

void stn_waits_fini(stn_waits *waits) {
    for (int wait = 0; wait < STN_WAIT_COUNT; wait++) {
        stn_samples_fini(&waits->of[wait]);
    }
}
