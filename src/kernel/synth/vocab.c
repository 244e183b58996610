/* Roles are the only place of this room where names of kernel events stand: one table. A
 * type keeps the fields that most of its events have; "synth" marks what a recorder inferred
 * and is left out, because a generated trace has nothing to infer. */
#include "kernel/synth/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

typedef struct role_row {
    const char *type;
    uint8_t role;
    const char *thread, *cpu, *state;
} role_row;

static const role_row role_rows[] = {
    {"sched_switch", STN_ROLE_SWITCH, "next_pid", NULL, "prev_state"},
    {"sched_waking", STN_ROLE_WAKING, "pid", "target_cpu", NULL},
    {"sched_wakeup", STN_ROLE_WAKEUP, "pid", "target_cpu", NULL},
    {"sched_wakeup_new", STN_ROLE_WAKEUP_NEW, "pid", "target_cpu", NULL},
    {"sched_migrate_task", STN_ROLE_MIGRATE, "pid", "dest_cpu", NULL},
    {"sched_process_fork", STN_ROLE_FORK, "child_pid", NULL, NULL},
    {"task_newtask", STN_ROLE_NONE, "pid", NULL, NULL},
    {"sched_process_exit", STN_ROLE_EXIT, "pid", NULL, NULL},
    {"sched_process_free", STN_ROLE_FREE, "pid", NULL, NULL},
    {"task_rename", STN_ROLE_RENAME, "pid", NULL, NULL},
};

typedef struct meaning_row {
    const char *type; /* NULL: any that starts with sched_, task_ or signal_ */
    const char *field;
    uint8_t means;
} meaning_row;

static const meaning_row meaning_rows[] = {
    {"sched_switch", "prev_pid", STN_MEANS_SELF},
    {"sched_switch", "prev_comm", STN_MEANS_SELF_COMM},
    {"sched_switch", "next_pid", STN_MEANS_NEXT},
    {"sched_switch", "next_comm", STN_MEANS_THREAD_COMM},
    {"sched_process_fork", "parent_pid", STN_MEANS_SELF},
    {"sched_process_fork", "parent_comm", STN_MEANS_SELF_COMM},
    {"sched_process_fork", "child_pid", STN_MEANS_CHILD},
    {"sched_process_fork", "child_comm", STN_MEANS_SELF_COMM},
    {"task_newtask", "pid", STN_MEANS_CHILD},
    {"task_newtask", "comm", STN_MEANS_SELF_COMM},
    {"task_rename", "oldcomm", STN_MEANS_SELF_COMM},
    {"task_rename", "newcomm", STN_MEANS_NEW_COMM},
    {"task_rename", "comm", STN_MEANS_NEW_COMM},
    {NULL, "pid", STN_MEANS_THREAD},
    {NULL, "old_pid", STN_MEANS_THREAD},
    {NULL, "parent_pid", STN_MEANS_THREAD},
    {NULL, "comm", STN_MEANS_THREAD_COMM},
};

static const char *const frame_heads[] = {
    "irq_handler",          "softirq",        "local_timer",  "reschedule",       "call_function",
    "call_function_single", "hrtimer_expire", "timer_expire", "tasklet",          "irq_work",
    "error_apic",           "spurious_apic",  "thermal_apic", "x86_platform_ipi", "threshold_apic",
};

/* ---- texts ---------------------------------------------------------------- */

static stn_status text_map(stn_vocab *vocab, uint32_t text, uint32_t string) {
    if (stn_grow(&vocab->text_catalog, &vocab->text_capacity, (size_t)text + 1,
                 sizeof *vocab->text_catalog) != STN_OK) {
        return STN_ENOMEM;
    }
    vocab->text_catalog[text] = string;
    vocab->text_mapped = text + 1u > vocab->text_mapped ? text + 1u : vocab->text_mapped;
    uint64_t *entry = stn_map_put(&vocab->from_catalog, string, NULL);
    if (!entry) {
        return STN_ENOMEM;
    }
    *entry = text;
    return STN_OK;
}

static uint32_t text_add(stn_vocab *vocab, const char *text, size_t size, uint32_t string) {
    uint32_t id = stn_intern_add(&vocab->texts, text, size);
    if (id == STN_INTERN_NONE || (id < vocab->text_mapped)) {
        return id;
    }
    if (string == STN_NO_ID) {
        string = stn_catalog_string(vocab->catalog, text, size);
    }
    if (string == STN_NO_ID || text_map(vocab, id, string) != STN_OK) {
        return UINT32_MAX;
    }
    return id;
}

uint32_t stn_vocab_text(stn_vocab *vocab, uint32_t catalog_string) {
    const uint64_t *known = stn_map_get(&vocab->from_catalog, catalog_string);
    if (known) {
        return (uint32_t)*known;
    }
    const char *text = stn_catalog_text(vocab->catalog, catalog_string);
    return text_add(vocab, text, strlen(text), catalog_string);
}

uint32_t stn_vocab_ctext(stn_vocab *vocab, const char *text) {
    return text_add(vocab, text, strlen(text), STN_NO_ID);
}

const char *stn_vocab_name(const stn_vocab *vocab, uint32_t text) {
    return text < vocab->texts.count ? vocab->texts.texts[text] : "";
}

/* ---- types ---------------------------------------------------------------- */

static bool has_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static uint8_t meaning_of(const char *type, const char *field) {
    bool about_threads =
        has_prefix(type, "sched_") || has_prefix(type, "task_") || has_prefix(type, "signal_");
    for (size_t i = 0; i < sizeof meaning_rows / sizeof meaning_rows[0]; i++) {
        const meaning_row *row = &meaning_rows[i];
        bool typed = row->type ? strcmp(row->type, type) == 0 : about_threads;
        if (typed && strcmp(row->field, field) == 0) {
            return row->means;
        }
    }
    return STN_MEANS_VALUE;
}

static int8_t field_index(const stn_vocab *vocab, const stn_vtype *type, const char *field) {
    for (uint16_t i = 0; field && i < type->field_count; i++) {
        if (strcmp(stn_vocab_name(vocab, type->fields[i].name), field) == 0) {
            return (int8_t)i;
        }
    }
    return -1;
}

static uint8_t frame_of(const char *name) {
    for (size_t i = 0; i < sizeof frame_heads / sizeof frame_heads[0]; i++) {
        size_t size = strlen(frame_heads[i]);
        if (strncmp(name, frame_heads[i], size) == 0) {
            if (strcmp(name + size, "_entry") == 0) {
                return STN_FRAME_PUSH;
            }
            if (strcmp(name + size, "_exit") == 0) {
                return STN_FRAME_POP;
            }
        }
    }
    return STN_FRAME_NONE;
}

/* The type whose name ends in "_entry", "_enter" or "_start" where this one's ends in "_exit"
 * or "_end"; a system call's exit also belongs to its entry. */
static uint16_t partner_of(const stn_vocab *vocab, const char *name) {
    static const char *const ends[][2] = {
        {"_exit", "_entry"}, {"_exit", "_enter"}, {"_end", "_start"}};
    char wanted[256];
    for (size_t i = 0; i < 4; i++) {
        size_t size = strlen(name);
        if (i == 3) {
            if (!has_prefix(name, "sys_exit_")) {
                continue;
            }
            snprintf(wanted, sizeof wanted, "sys_enter_%s", name + 9);
        } else {
            size_t tail = strlen(ends[i][0]);
            if (size <= tail || strcmp(name + size - tail, ends[i][0]) != 0) {
                continue;
            }
            snprintf(wanted, sizeof wanted, "%.*s%s", (int)(size - tail), name, ends[i][1]);
        }
        for (uint32_t t = 0; t < vocab->type_count; t++) {
            if (strcmp(stn_vocab_name(vocab, vocab->types[t].name), wanted) == 0) {
                return (uint16_t)t;
            }
        }
    }
    return STN_PARTNER_NONE;
}

/* Fill what follows from the names. */
static void type_finish(stn_vocab *vocab, stn_vtype *type) {
    const char *name = stn_vocab_name(vocab, type->name);
    type->role = STN_ROLE_NONE;
    type->thread_field = type->cpu_field = type->state_field = -1;
    for (size_t i = 0; i < sizeof role_rows / sizeof role_rows[0]; i++) {
        const role_row *row = &role_rows[i];
        if (strcmp(row->type, name) == 0) {
            type->role = row->role;
            type->thread_field = field_index(vocab, type, row->thread);
            type->cpu_field = field_index(vocab, type, row->cpu);
            type->state_field = field_index(vocab, type, row->state);
        }
    }
    for (uint16_t i = 0; i < type->field_count; i++) {
        type->fields[i].means = meaning_of(name, stn_vocab_name(vocab, type->fields[i].name));
    }
    type->frame = frame_of(name);
    type->syscall = has_prefix(name, "sys_enter_") || has_prefix(name, "sys_exit_");
    type->partner = partner_of(vocab, name);
    if (type->partner != STN_PARTNER_NONE) {
        vocab->types[type->partner].entry = true;
    }
}

static stn_status index_types(stn_vocab *vocab) {
    uint32_t count = stn_catalog_type_count(vocab->catalog);
    stn_free(vocab->from_type);
    vocab->from_type = stn_malloc(count * sizeof *vocab->from_type);
    if (!vocab->from_type) {
        return STN_ENOMEM;
    }
    vocab->from_type_count = count;
    memset(vocab->from_type, 0xff, count * sizeof *vocab->from_type);
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        vocab->from_type[vocab->types[i].catalog_type] = i;
        vocab->types[i].entry = false;
    }
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        type_finish(vocab, &vocab->types[i]);
    }
    return STN_OK;
}

uint32_t stn_vocab_type(const stn_vocab *vocab, uint32_t catalog_type) {
    return catalog_type < vocab->from_type_count ? vocab->from_type[catalog_type] : UINT32_MAX;
}

/* ---- learning ------------------------------------------------------------- */

/* One list of fields that events of a type have had. */
typedef struct layout {
    uint64_t count;
    uint16_t field_count;
    uint32_t fields[STN_VFIELD_MAX];
} layout;

enum { LAYOUTS = 8 };

typedef struct type_census {
    uint64_t *counts; /* [types] */
    layout *layouts;  /* [types][LAYOUTS] */
    uint32_t types;
    uint32_t synth; /* string id of "synth" */
} type_census;

static void census_event(type_census *census, const stn_event *event) {
    layout seen = {.count = 1};
    for (uint16_t i = 0; i < event->field_count && seen.field_count < STN_VFIELD_MAX; i++) {
        if (event->fields[i].kind != STN_FIELD_SEQ && event->fields[i].name != census->synth) {
            seen.fields[seen.field_count++] = event->fields[i].name;
        }
    }
    census->counts[event->type]++;
    layout *row = census->layouts + (size_t)event->type * LAYOUTS;
    for (int i = 0; i < LAYOUTS; i++) {
        if (row[i].count == 0) {
            row[i] = seen;
            return;
        }
        if (row[i].field_count == seen.field_count &&
            memcmp(row[i].fields, seen.fields, seen.field_count * sizeof seen.fields[0]) == 0) {
            row[i].count++;
            return;
        }
    }
}

static stn_status add_type(stn_vocab *vocab, const type_census *census, uint32_t type) {
    const layout *best = census->layouts + (size_t)type * LAYOUTS;
    for (int i = 1; i < LAYOUTS; i++) {
        const layout *other = census->layouts + (size_t)type * LAYOUTS + i;
        best = other->count > best->count ? other : best;
    }
    const stn_type *named = stn_catalog_type_at(vocab->catalog, type);
    stn_vtype *out = &vocab->types[vocab->type_count];
    *out = (stn_vtype){.name = stn_vocab_ctext(vocab, named->name),
                       .original = stn_vocab_ctext(vocab, named->original),
                       .count = census->counts[type],
                       .catalog_type = type};
    bool failed = out->name == UINT32_MAX || out->original == UINT32_MAX;
    for (uint16_t i = 0; i < best->field_count; i++) {
        out->fields[i].name = stn_vocab_text(vocab, best->fields[i]);
        failed |= out->fields[i].name == UINT32_MAX;
    }
    out->field_count = best->field_count;
    vocab->type_count++;
    return failed ? STN_ENOMEM : STN_OK;
}

static int by_count(const void *a, const void *b) {
    const stn_vtype *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return x->catalog_type < y->catalog_type ? -1 : x->catalog_type > y->catalog_type;
}

static stn_status types_from(stn_vocab *vocab, const type_census *census, stn_err *err) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < census->types; i++) {
        used += census->counts[i] > 0;
    }
    if (used == 0) {
        return stn_err_set(err, STN_ERANGE, "the training traces hold no events");
    }
    if (used > STN_VTYPE_MAX) {
        return stn_err_set(err, STN_ERANGE, "%u event types, at most %d can be learned", used,
                           STN_VTYPE_MAX);
    }
    vocab->types = stn_malloc(used * sizeof *vocab->types);
    if (!vocab->types) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", used);
    }
    for (uint32_t i = 0; i < census->types; i++) {
        if (census->counts[i] > 0 && add_type(vocab, census, i) != STN_OK) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", used);
        }
    }
    qsort(vocab->types, vocab->type_count, sizeof *vocab->types, by_count);
    if (index_types(vocab) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", used);
    }
    return STN_OK;
}

stn_status stn_vocab_learn(stn_vocab *vocab, const stn_trace *const *traces, size_t count,
                           stn_catalog *catalog, stn_err *err) {
    *vocab = (stn_vocab){.catalog = catalog};
    type_census census = {.types = stn_catalog_type_count(catalog),
                          .synth = stn_catalog_find(catalog, "synth")};
    census.counts = stn_calloc(census.types, sizeof *census.counts);
    census.layouts = stn_calloc((size_t)census.types * LAYOUTS, sizeof *census.layouts);
    stn_status status = STN_OK;
    if (!census.counts || !census.layouts) {
        status = stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", census.types);
    }
    for (size_t t = 0; t < count && status == STN_OK; t++) {
        for (size_t i = 0; i < traces[t]->count; i++) {
            if (traces[t]->events[i].type != STN_TYPE_LOST) {
                census_event(&census, &traces[t]->events[i]);
            }
        }
    }
    if (status == STN_OK) {
        status = types_from(vocab, &census, err);
    }
    stn_free(census.counts);
    stn_free(census.layouts);
    if (status != STN_OK) {
        stn_vocab_fini(vocab);
    }
    return status;
}

void stn_vocab_fini(stn_vocab *vocab) {
    stn_intern_fini(&vocab->texts);
    stn_map_fini(&vocab->from_catalog);
    stn_free(vocab->types);
    stn_free(vocab->text_catalog);
    stn_free(vocab->from_type);
    *vocab = (stn_vocab){0};
}

/* ---- files ------------------------------------------------------------------ */

void stn_vocab_put(const stn_vocab *vocab, stn_blob *blob) {
    stn_blob_u32(blob, (uint32_t)vocab->texts.count);
    for (size_t i = 0; i < vocab->texts.count; i++) {
        stn_blob_text(blob, vocab->texts.texts[i]);
    }
    stn_blob_u32(blob, vocab->type_count);
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        const stn_vtype *type = &vocab->types[i];
        stn_blob_u32(blob, type->name);
        stn_blob_u32(blob, type->original);
        stn_blob_u64(blob, type->count);
        stn_blob_u16(blob, type->field_count);
        for (uint16_t j = 0; j < type->field_count; j++) {
            stn_blob_u32(blob, type->fields[j].name);
        }
    }
}

static stn_status get_type(stn_vocab *vocab, stn_cursor *cursor) {
    stn_vtype *type = &vocab->types[vocab->type_count];
    *type = (stn_vtype){.name = stn_cursor_u32(cursor)};
    type->original = stn_cursor_u32(cursor);
    type->count = stn_cursor_u64(cursor);
    type->field_count = stn_cursor_u16(cursor);
    uint32_t texts = (uint32_t)vocab->texts.count;
    if (cursor->failed || type->name >= texts || type->original >= texts ||
        type->field_count > STN_VFIELD_MAX) {
        return STN_EFORMAT;
    }
    for (uint16_t i = 0; i < type->field_count; i++) {
        type->fields[i].name = stn_cursor_u32(cursor);
        if (cursor->failed || type->fields[i].name >= texts) {
            return STN_EFORMAT;
        }
    }
    type->catalog_type = stn_catalog_type(vocab->catalog, stn_vocab_name(vocab, type->name),
                                          stn_vocab_name(vocab, type->original));
    if (type->catalog_type == STN_NO_ID) {
        return STN_ENOMEM;
    }
    vocab->type_count++;
    return type->catalog_type == STN_TYPE_LOST ? STN_EFORMAT : STN_OK;
}

static stn_status get_texts(stn_vocab *vocab, stn_cursor *cursor) {
    uint32_t texts = stn_cursor_count(cursor, 4);
    for (uint32_t i = 0; i < texts; i++) {
        uint32_t size;
        const char *text = stn_cursor_text(cursor, &size);
        if (!text || memchr(text, 0, size)) {
            return STN_EFORMAT;
        }
        uint32_t id = text_add(vocab, text, size, STN_NO_ID);
        if (id != i) {
            return id == UINT32_MAX ? STN_ENOMEM : STN_EFORMAT;
        }
    }
    return cursor->failed ? STN_EFORMAT : STN_OK;
}

stn_status stn_vocab_get(stn_vocab *vocab, stn_cursor *cursor, stn_catalog *catalog) {
    *vocab = (stn_vocab){.catalog = catalog};
    stn_status status = get_texts(vocab, cursor);
    uint32_t types = status == STN_OK ? stn_cursor_count(cursor, 18) : 0;
    if (status == STN_OK && (types == 0 || types > STN_VTYPE_MAX)) {
        status = STN_EFORMAT;
    }
    if (status == STN_OK) {
        vocab->types = stn_malloc(types * sizeof *vocab->types);
        status = vocab->types ? STN_OK : STN_ENOMEM;
    }
    for (uint32_t i = 0; i < types && status == STN_OK; i++) {
        status = get_type(vocab, cursor);
    }
    if (status == STN_OK) {
        status = index_types(vocab);
    }
    if (status != STN_OK) {
        stn_vocab_fini(vocab);
    }
    return status;
}
