#include "kernel/trace/read_thread.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* What an event tells about threads. */
typedef enum role {
    ROLE_UNKNOWN, /* not looked at yet */
    ROLE_NONE,
    ROLE_SWITCH,
    ROLE_TASK, /* pid and comm of another thread */
    ROLE_FORK,
    ROLE_EXEC,
    ROLE_DUMP, /* LTTng's state dump: tid and name */
    ROLE_ENTER,
    ROLE_EXIT,
    ROLE_NAMELESS_EXIT,
} role;

static const struct {
    const char *name;
    role role;
} role_rows[] = {
    {"sched_switch", ROLE_SWITCH},     {"sched_wakeup", ROLE_TASK},
    {"sched_waking", ROLE_TASK},       {"sched_wakeup_new", ROLE_TASK},
    {"sched_migrate_task", ROLE_TASK}, {"sched_stat_runtime", ROLE_TASK},
    {"sched_process_exit", ROLE_TASK}, {"sched_process_fork", ROLE_FORK},
    {"sched_process_exec", ROLE_EXEC}, {"lttng_statedump_process_state", ROLE_DUMP},
    {"sys_exit", ROLE_NAMELESS_EXIT},
};

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory for threads");
}

stn_status stn_threads_init(stn_threads *threads, stn_catalog *catalog, stn_err *err) {
    threads->catalog = catalog;
    stn_thread_names *names = &threads->names;
    struct {
        uint32_t *id;
        const char *text;
    } rows[] = {{&names->pid, "pid"},
                {&names->comm, "comm"},
                {&names->prev_pid, "prev_pid"},
                {&names->prev_comm, "prev_comm"},
                {&names->next_pid, "next_pid"},
                {&names->next_comm, "next_comm"},
                {&names->child_pid, "child_pid"},
                {&names->child_comm, "child_comm"},
                {&names->filename, "filename"},
                {&names->tid, "tid"},
                {&names->name, "name"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i].id = stn_catalog_cstring(catalog, rows[i].text);
        if (*rows[i].id == STN_NO_ID) {
            return no_memory(err);
        }
    }
    return STN_OK;
}

void stn_threads_fini(stn_threads *threads) {
    stn_map_fini(&threads->comms);
    stn_map_fini(&threads->calls);
    stn_map_fini(&threads->exits);
    stn_free(threads->roles);
    stn_free(threads->running);
    *threads = (stn_threads){0};
}

/* ---- what is known --------------------------------------------------- */

static role role_of(const stn_threads *threads, uint32_t type) {
    const stn_type *known = stn_catalog_type_at(threads->catalog, type);
    for (size_t i = 0; i < sizeof role_rows / sizeof *role_rows; i++) {
        if (strcmp(role_rows[i].name, known->name) == 0) {
            return role_rows[i].role;
        }
    }
    return known->syscall_enter ? ROLE_ENTER : known->syscall_exit ? ROLE_EXIT : ROLE_NONE;
}

static bool role_find(stn_threads *threads, uint32_t type, role *out) {
    if (type >= threads->role_count) {
        if (stn_grow(&threads->roles, &threads->role_capacity, type + (size_t)1, 1)) {
            return false;
        }
        memset(threads->roles + threads->role_count, ROLE_UNKNOWN, type + 1 - threads->role_count);
        threads->role_count = type + (size_t)1;
    }
    if (threads->roles[type] == ROLE_UNKNOWN) {
        threads->roles[type] = (unsigned char)role_of(threads, type);
    }
    *out = (role)threads->roles[type];
    return true;
}

/* What runs on @p cpu; NULL if the CPU is not known or memory is out. */
static stn_running *running_on(stn_threads *threads, uint16_t cpu) {
    if (cpu == STN_NO_CPU) {
        return NULL;
    }
    if (cpu >= threads->cpu_count) {
        if (stn_grow(&threads->running, &threads->cpu_capacity, cpu + (size_t)1,
                     sizeof *threads->running)) {
            return NULL;
        }
        for (size_t i = threads->cpu_count; i <= cpu; i++) {
            threads->running[i] = (stn_running){STN_NO_TID, STN_NO_ID};
        }
        threads->cpu_count = cpu + (size_t)1;
    }
    return &threads->running[cpu];
}

void stn_threads_forget(stn_threads *threads, uint16_t cpu) {
    for (size_t i = 0; i < threads->cpu_count; i++) {
        if (cpu == STN_NO_CPU || cpu == i) {
            threads->running[i].tid = STN_NO_TID;
        }
    }
}

static bool name_thread(stn_threads *threads, int32_t tid, uint32_t comm) {
    if (tid <= 0 || comm == STN_NO_ID) {
        return true;
    }
    uint64_t *slot = stn_map_put(&threads->comms, (uint32_t)tid, NULL);
    if (slot) {
        *slot = (uint64_t)comm + 1;
    }
    return slot != NULL;
}

static int32_t field_tid(const stn_event *event, uint32_t name) {
    int64_t tid = stn_field_int(stn_event_field(event, name), -1);
    return tid >= 0 && tid <= INT32_MAX ? (int32_t)tid : STN_NO_TID;
}

/* String id of a text field, STN_NO_ID if it is not there; *good false if memory is out. */
static uint32_t field_comm(stn_threads *threads, const stn_event *event, uint32_t name,
                           bool *good) {
    const stn_field *field = stn_event_field(event, name);
    if (!field || field->kind != STN_FIELD_STR || !*field->v.s) {
        return STN_NO_ID;
    }
    uint32_t id = stn_catalog_cstring(threads->catalog, field->v.s);
    *good = *good && id != STN_NO_ID;
    return id;
}

/* ---- learning -------------------------------------------------------- */

static bool learn_task(stn_threads *threads, const stn_event *event, uint32_t pid, uint32_t comm) {
    bool good = true;
    uint32_t id = field_comm(threads, event, comm, &good);
    return good && name_thread(threads, field_tid(event, pid), id);
}

/* A switch happens in the thread that is left; it says both names. */
static bool learn_switch(stn_threads *threads, stn_event *event, stn_running *cpu) {
    const stn_thread_names *names = &threads->names;
    bool good = true;
    uint32_t prev_comm = field_comm(threads, event, names->prev_comm, &good);
    uint32_t next_comm = field_comm(threads, event, names->next_comm, &good);
    int32_t prev = field_tid(event, names->prev_pid);
    int32_t next = field_tid(event, names->next_pid);
    if (event->tid == STN_NO_TID) {
        event->tid = prev;
    }
    if (event->comm == STN_NO_ID && event->tid == prev) {
        event->comm = prev_comm;
    }
    if (cpu) {
        cpu->tid = next;
        if (prev == 0 || next == 0) {
            uint32_t idle = prev == 0 ? prev_comm : next_comm;
            cpu->idle_comm = idle != STN_NO_ID ? idle : cpu->idle_comm;
        }
    }
    return good && name_thread(threads, prev, prev_comm) && name_thread(threads, next, next_comm);
}

/* A program's name is the last part of its path, cut to 15 bytes. */
static bool learn_exec(stn_threads *threads, stn_event *event) {
    const stn_field *field = stn_event_field(event, threads->names.filename);
    if (!field || field->kind != STN_FIELD_STR || event->tid == STN_NO_TID) {
        return true;
    }
    const char *slash = strrchr(field->v.s, '/');
    const char *base = slash ? slash + 1 : field->v.s;
    size_t size = strnlen(base, 15);
    if (size == 0) {
        return true;
    }
    uint32_t id = stn_catalog_string(threads->catalog, base, size);
    return id != STN_NO_ID && name_thread(threads, event->tid, id);
}

static bool learn_enter(stn_threads *threads, const stn_event *event) {
    if (event->tid == STN_NO_TID) {
        return true;
    }
    uint64_t *open = stn_map_put(&threads->calls, (uint32_t)event->tid, NULL);
    if (open) {
        *open = (uint64_t)stn_catalog_type_at(threads->catalog, event->type)->syscall_id + 1;
    }
    return open != NULL;
}

/* Type of the exit of the call that @p thread has open; the nameless one if none is known. */
static bool resolve_exit(stn_threads *threads, stn_event *event) {
    uint64_t *open = stn_map_get(&threads->calls, (uint32_t)event->tid);
    if (event->tid == STN_NO_TID || !open || *open == 0) {
        return true;
    }
    uint32_t call = (uint32_t)(*open - 1);
    *open = 0;
    const uint64_t *known = stn_map_get(&threads->exits, call);
    if (!known) {
        char name[160];
        snprintf(name, sizeof name, "sys_exit_%s", stn_catalog_text(threads->catalog, call));
        const char *original = stn_catalog_type_at(threads->catalog, event->type)->original;
        uint32_t type = stn_catalog_type(threads->catalog, name, original);
        uint64_t *slot = type == STN_NO_ID ? NULL : stn_map_put(&threads->exits, call, NULL);
        if (!slot) {
            return false;
        }
        *slot = type;
        known = slot;
    }
    event->type = (uint32_t)*known;
    return true;
}

static bool learn(stn_threads *threads, stn_event *event, role what, stn_running *cpu) {
    const stn_thread_names *names = &threads->names;
    switch (what) {
    case ROLE_SWITCH:
        return learn_switch(threads, event, cpu);
    case ROLE_TASK:
        return learn_task(threads, event, names->pid, names->comm);
    case ROLE_FORK:
        return learn_task(threads, event, names->child_pid, names->child_comm);
    case ROLE_DUMP:
        return learn_task(threads, event, names->tid, names->name);
    case ROLE_EXEC:
        return learn_exec(threads, event);
    case ROLE_ENTER:
        return learn_enter(threads, event);
    case ROLE_NAMELESS_EXIT:
        return resolve_exit(threads, event);
    case ROLE_UNKNOWN:
    case ROLE_NONE:
    case ROLE_EXIT:
        break;
    }
    return true;
}

stn_status stn_threads_apply(stn_threads *threads, stn_event *event, stn_err *err) {
    role what;
    stn_running *cpu = running_on(threads, event->cpu);
    if (!role_find(threads, event->type, &what) || (!cpu && event->cpu != STN_NO_CPU)) {
        return no_memory(err);
    }
    if (event->tid == STN_NO_TID && what != ROLE_SWITCH && cpu) {
        event->tid = cpu->tid;
    } else if (event->tid != STN_NO_TID && cpu && what != ROLE_SWITCH) {
        cpu->tid = event->tid;
    }
    if (!name_thread(threads, event->tid, event->comm) || !learn(threads, event, what, cpu)) {
        return no_memory(err);
    }
    if (event->comm == STN_NO_ID && event->tid == 0 && cpu) {
        event->comm = cpu->idle_comm;
    } else if (event->comm == STN_NO_ID && event->tid > 0) {
        const uint64_t *comm = stn_map_get(&threads->comms, (uint32_t)event->tid);
        event->comm = comm ? (uint32_t)(*comm - 1) : STN_NO_ID;
    }
    return STN_OK;
}
