/* The table of fixed layouts, and what fills their gaps. Layouts after the kernel's
 * include/trace/events/{sched,irq,block}.h. */
#include "kernel/trace/write_slots.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

#define PRIO_DEFAULT 120 /* nice 0 */
#define SECTOR_BYTES 512
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the table ------------------------------------------------------- */

static const stn_slot switch_slots[] = {
    {"prev_comm", "prev_comm=", STN_SLOT_TEXT, STN_FILL_COMM, 1},
    {"prev_pid", " prev_pid=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"prev_prio", " prev_prio=", STN_SLOT_INT, STN_FILL_PRIO, 1},
    {"prev_state", " prev_state=", STN_SLOT_STATE, STN_FILL_NONE, 0},
    {"next_comm", " ==> next_comm=", STN_SLOT_TEXT, STN_FILL_COMM, 5},
    {"next_pid", " next_pid=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"next_prio", " next_prio=", STN_SLOT_INT, STN_FILL_PRIO, 5},
};

static const stn_slot wakeup_slots[] = {
    {"comm", "comm=", STN_SLOT_TEXT, STN_FILL_COMM, 1},
    {"pid", " pid=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"prio", " prio=", STN_SLOT_INT, STN_FILL_PRIO, 1},
    {"target_cpu", " target_cpu=", STN_SLOT_CPU, STN_FILL_NONE, 0},
};

static const stn_slot migrate_slots[] = {
    {"comm", "comm=", STN_SLOT_TEXT, STN_FILL_COMM, 1},
    {"pid", " pid=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"prio", " prio=", STN_SLOT_INT, STN_FILL_PRIO, 1},
    {"orig_cpu", " orig_cpu=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"dest_cpu", " dest_cpu=", STN_SLOT_INT, STN_FILL_NONE, 0},
};

static const stn_slot fork_slots[] = {
    {"parent_comm", "comm=", STN_SLOT_TEXT, STN_FILL_COMM, 1},
    {"parent_pid", " pid=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"child_comm", " child_comm=", STN_SLOT_TEXT, STN_FILL_COMM, 1},
    {"child_pid", " child_pid=", STN_SLOT_INT, STN_FILL_NONE, 0},
};

static const stn_slot exit_slots[] = {
    {"comm", "comm=", STN_SLOT_TEXT, STN_FILL_COMM, 1},
    {"pid", " pid=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"prio", " prio=", STN_SLOT_INT, STN_FILL_PRIO, 1},
};

static const stn_slot softirq_slots[] = {
    {"vec", "vec=", STN_SLOT_VEC, STN_FILL_NONE, 0},
};

static const stn_slot irq_entry_slots[] = {
    {"irq", "irq=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"name", " name=", STN_SLOT_TEXT, STN_FILL_NONE, 0},
};

static const stn_slot irq_exit_slots[] = {
    {"irq", "irq=", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"ret", " ret=", STN_SLOT_HANDLED, STN_FILL_NONE, 0},
};

static const stn_slot rq_issue_slots[] = {
    {"dev", "", STN_SLOT_DEV, STN_FILL_NONE, 0},
    {"rwbs", " ", STN_SLOT_TEXT, STN_FILL_NONE, 0},
    {"bytes", " ", STN_SLOT_INT, STN_FILL_BYTES, 4},
    {"sector", " () ", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"nr_sector", " + ", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"comm", " [", STN_SLOT_TEXT, STN_FILL_OWN, 0},
};

static const stn_slot rq_complete_slots[] = {
    {"dev", "", STN_SLOT_DEV, STN_FILL_NONE, 0},
    {"rwbs", " ", STN_SLOT_TEXT, STN_FILL_NONE, 0},
    {"sector", " () ", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"nr_sector", " + ", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"error", " [", STN_SLOT_INT, STN_FILL_NONE, 0},
};

static const stn_slot bio_slots[] = {
    {"dev", "", STN_SLOT_DEV, STN_FILL_NONE, 0},
    {"rwbs", " ", STN_SLOT_TEXT, STN_FILL_NONE, 0},
    {"sector", " ", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"nr_sector", " + ", STN_SLOT_INT, STN_FILL_NONE, 0},
    {"comm", " [", STN_SLOT_TEXT, STN_FILL_OWN, 0},
};

#define ROW(event, slots, after)                                                                   \
    { event, slots, COUNT(slots), after }

static const stn_slot_row rows[] = {
    ROW("sched_switch", switch_slots, ""),
    ROW("sched_waking", wakeup_slots, ""),
    ROW("sched_wakeup", wakeup_slots, ""),
    ROW("sched_wakeup_new", wakeup_slots, ""),
    ROW("sched_migrate_task", migrate_slots, ""),
    ROW("sched_process_fork", fork_slots, ""),
    ROW("sched_process_exit", exit_slots, ""),
    ROW("sched_process_free", exit_slots, ""),
    ROW("softirq_entry", softirq_slots, ""),
    ROW("softirq_exit", softirq_slots, ""),
    ROW("softirq_raise", softirq_slots, ""),
    ROW("irq_handler_entry", irq_entry_slots, ""),
    ROW("irq_handler_exit", irq_exit_slots, ""),
    ROW("block_rq_insert", rq_issue_slots, "]"),
    ROW("block_rq_issue", rq_issue_slots, "]"),
    ROW("block_rq_merge", rq_issue_slots, "]"),
    ROW("block_rq_complete", rq_complete_slots, "]"),
    ROW("block_bio_queue", bio_slots, "]"),
    ROW("block_bio_backmerge", bio_slots, "]"),
    ROW("block_bio_frontmerge", bio_slots, "]"),
    ROW("block_getrq", bio_slots, "]"),
};

/* ---- plans: what the table says of an event type --------------------- */

/* The catalog grows while a trace is read: a name that no event has had so far may get an id
 * later, so an incomplete plan is looked over again when there are more strings. */
struct stn_slot_plan {
    bool ready;
    const stn_slot_row *row;
    uint32_t ids[STN_SLOTS_MAX];
    uint32_t missing;
    uint32_t strings;
};

static const stn_slot_row *row_of(const char *event) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strcmp(rows[i].event, event) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void plan_ids(const stn_filler *filler, stn_slot_plan *plan) {
    plan->missing = 0;
    plan->strings = stn_catalog_string_count(filler->catalog);
    for (uint32_t s = 0; s < plan->row->count; s++) {
        plan->ids[s] = stn_catalog_find(filler->catalog, plan->row->slots[s].name);
        plan->missing += plan->ids[s] == STN_NO_ID;
    }
}

static stn_slot_plan *plan_of(stn_filler *filler, uint32_t type) {
    if (type >= filler->plan_count) {
        size_t need = (size_t)type + 1;
        if (stn_grow(&filler->plans, &filler->plan_capacity, need, sizeof *filler->plans)) {
            return NULL;
        }
        memset(filler->plans + filler->plan_count, 0,
               (need - filler->plan_count) * sizeof *filler->plans);
        filler->plan_count = need;
    }
    stn_slot_plan *plan = &filler->plans[type];
    if (!plan->ready) {
        plan->ready = true;
        plan->row = row_of(stn_catalog_type_at(filler->catalog, type)->name);
        if (plan->row) {
            plan_ids(filler, plan);
        }
    } else if (plan->row && plan->missing &&
               plan->strings != stn_catalog_string_count(filler->catalog)) {
        plan_ids(filler, plan);
    }
    return plan;
}

/* ---- what the stream tells ------------------------------------------- */

static stn_status remember(stn_map *map, int64_t tid, uint64_t value, stn_err *err) {
    uint64_t *slot = stn_map_put(map, (uint64_t)tid, NULL);
    if (!slot) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the names of threads");
    }
    *slot = value;
    return STN_OK;
}

/* The idle threads of all CPUs share tid 0, so nothing is learnt of them. */
static stn_status learn_running(stn_filler *filler, const stn_event *event, stn_err *err) {
    if (event->tid <= 0 || event->comm == STN_NO_ID) {
        return STN_OK;
    }
    const uint64_t *known = stn_map_get(&filler->comms, (uint64_t)event->tid);
    if (known && *known == event->comm) {
        return STN_OK;
    }
    return remember(&filler->comms, event->tid, event->comm, err);
}

static bool has(const stn_slotted *out, uint32_t slot) {
    return out->present >> slot & 1;
}

static stn_status learn_slots(stn_filler *filler, const stn_slotted *out, stn_err *err) {
    stn_status status = STN_OK;
    for (uint32_t s = 0; s < out->row->count && !status; s++) {
        const stn_slot *slot = &out->row->slots[s];
        bool tells = slot->fill == STN_FILL_COMM || slot->fill == STN_FILL_PRIO;
        int64_t tid = tells && has(out, slot->of) ? stn_field_int(&out->values[slot->of], 0) : 0;
        if (!has(out, s) || tid <= 0) {
            continue;
        }
        if (slot->fill == STN_FILL_PRIO) {
            int64_t prio = stn_field_int(&out->values[s], PRIO_DEFAULT);
            status = remember(&filler->prios, tid, (uint64_t)prio, err);
        } else if (out->values[s].kind == STN_FIELD_STR) {
            uint32_t comm = stn_catalog_find(filler->catalog, out->values[s].v.s);
            status = comm == STN_NO_ID ? STN_OK : remember(&filler->comms, tid, comm, err);
        }
    }
    return status;
}

static const char *comm_of(stn_filler *filler, int64_t tid, const stn_event *event, uint32_t slot) {
    if (tid == 0) {
        char *swapper = filler->swapper[slot & 1];
        snprintf(swapper, sizeof filler->swapper[0], "swapper/%d",
                 event->cpu == STN_NO_CPU ? 0 : event->cpu);
        return swapper;
    }
    const uint64_t *comm = stn_map_get(&filler->comms, (uint64_t)tid);
    return comm ? stn_catalog_text(filler->catalog, (uint32_t)*comm) : "<...>";
}

static const char *own_comm(const stn_filler *filler, const stn_event *event) {
    if (event->comm != STN_NO_ID) {
        return stn_catalog_text(filler->catalog, event->comm);
    }
    return "<...>";
}

static void fill(stn_filler *filler, const stn_event *event, stn_slotted *out, uint32_t s) {
    const stn_slot *slot = &out->row->slots[s];
    const stn_field *of = has(out, slot->of) ? &out->values[slot->of] : NULL;
    if (slot->fill == STN_FILL_NONE || (slot->fill != STN_FILL_OWN && !of)) {
        return;
    }
    int64_t key = stn_field_int(of, 0);
    stn_field *value = &out->values[s];
    *value = (stn_field){.name = STN_NO_ID, .kind = STN_FIELD_STR};
    if (slot->fill == STN_FILL_COMM) {
        value->v.s = comm_of(filler, key, event, s / 4);
    } else if (slot->fill == STN_FILL_OWN) {
        value->v.s = own_comm(filler, event);
    } else {
        const uint64_t *prio = stn_map_get(&filler->prios, (uint64_t)key);
        value->kind = STN_FIELD_INT;
        value->v.i = slot->fill == STN_FILL_BYTES ? key * SECTOR_BYTES
                     : prio                       ? (int64_t)*prio
                                                  : PRIO_DEFAULT;
    }
    out->present |= 1u << s;
    out->filled |= 1u << s;
}

/* ---- looking at an event --------------------------------------------- */

static void take(const stn_slot_plan *plan, const stn_event *event, stn_slotted *out) {
    uint32_t fields = event->field_count < 64 ? event->field_count : 64;
    for (uint32_t s = 0; s < plan->row->count; s++) {
        if (plan->ids[s] == STN_NO_ID) {
            continue;
        }
        for (uint32_t i = 0; i < fields; i++) {
            uint32_t at = s + i < fields ? s + i : s + i - fields; /* often in the row's order */
            if (s >= fields) {
                at = i;
            }
            if (event->fields[at].name == plan->ids[s]) {
                out->values[s] = event->fields[at];
                out->used |= (uint64_t)1 << at;
                out->present |= 1u << s;
                break;
            }
        }
    }
}

stn_status stn_filler_see(stn_filler *filler, const stn_event *event, stn_slotted *out,
                          stn_err *err) {
    out->row = NULL;
    out->whole = false;
    out->used = 0;
    out->filled = 0;
    out->present = 0;
    stn_slot_plan *plan = plan_of(filler, event->type);
    if (!plan) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the layouts of events");
    }
    stn_status status = learn_running(filler, event, err);
    if (status || !plan->row) {
        return status;
    }
    out->row = plan->row;
    take(plan, event, out);
    status = learn_slots(filler, out, err);
    for (uint32_t s = 0; s < plan->row->count && !status; s++) {
        if (!has(out, s)) {
            fill(filler, event, out, s);
        }
    }
    out->whole = out->present == (1u << plan->row->count) - 1;
    return status;
}

void stn_filler_fini(stn_filler *filler) {
    stn_map_fini(&filler->comms);
    stn_map_fini(&filler->prios);
    stn_free(filler->plans);
    *filler = (stn_filler){0};
}
