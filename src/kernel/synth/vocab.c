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
    {"sys_enter_exit", STN_ROLE_QUIT, NULL, NULL, NULL},
    {"sys_enter_exit_group", STN_ROLE_QUIT, NULL, NULL, NULL},
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

uint32_t stn_vocab_known_text(const stn_vocab *vocab, uint32_t catalog_string) {
    const uint64_t *known = stn_map_get(&vocab->from_catalog, catalog_string);
    return known ? (uint32_t)*known : UINT32_MAX;
}

uint32_t stn_vocab_ctext(stn_vocab *vocab, const char *text) {
    return text_add(vocab, text, strlen(text), STN_NO_ID);
}

const char *stn_vocab_name(const stn_vocab *vocab, uint32_t text) {
    return text < vocab->texts.count ? vocab->texts.texts[text] : "";
}

static bool plain_val(const stn_field *field, stn_val *val) {
    *val = (stn_val){.v = field->v.i, .kind = field->kind};
    if (field->kind == STN_FIELD_REAL) {
        memcpy(&val->v, &field->v.f, sizeof val->v);
    }
    if (field->kind == STN_FIELD_SEQ) {
        val->kind = STN_VAL_NONE;
    }
    return field->kind != STN_FIELD_STR;
}

/* Without making anything known. */
static bool known_val(const stn_vocab *vocab, const stn_field *field, stn_val *val) {
    if (!plain_val(field, val)) {
        val->v = stn_intern_find(&vocab->texts, field->v.s, strlen(field->v.s));
    }
    return val->v != STN_INTERN_NONE || field->kind != STN_FIELD_STR;
}

stn_val stn_vocab_known(const stn_vocab *vocab, const stn_field *field) {
    stn_val val;
    if (!known_val(vocab, field, &val)) {
        val.kind = STN_VAL_NONE;
    }
    return val;
}

stn_status stn_vocab_val(stn_vocab *vocab, const stn_field *field, stn_val *val) {
    if (!plain_val(field, val)) {
        val->v = stn_vocab_ctext(vocab, field->v.s);
    }
    return field->kind == STN_FIELD_STR && val->v == UINT32_MAX ? STN_ENOMEM : STN_OK;
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
    type->softirq = strcmp(name, "softirq_entry") == 0;
    type->syscall = has_prefix(name, "sys_enter_") || has_prefix(name, "sys_exit_");
    type->partner = partner_of(vocab, name);
}

/* Splits of one type are chained; the first in order is the head of the family. */
static void chain_splits(stn_vocab *vocab) {
    for (uint32_t i = vocab->type_count; i-- > 0;) {
        uint32_t *first = &vocab->from_type[vocab->types[i].catalog_type];
        vocab->types[i].next_split = *first == UINT32_MAX ? STN_PARTNER_NONE : (uint16_t)*first;
        *first = i;
    }
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        vocab->types[i].family = (uint16_t)vocab->from_type[vocab->types[i].catalog_type];
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
    chain_splits(vocab);
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        vocab->types[i].entry = false;
    }
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        type_finish(vocab, &vocab->types[i]);
    }
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        for (uint32_t j = 0; j < vocab->type_count; j++) {
            vocab->types[i].entry |= stn_vocab_pairs(vocab, i, j);
        }
    }
    return STN_OK;
}

uint32_t stn_vocab_type(const stn_vocab *vocab, const stn_event *event) {
    uint32_t at = event->type < vocab->from_type_count ? vocab->from_type[event->type] : UINT32_MAX;
    if (at == UINT32_MAX || vocab->types[at].next_split == STN_PARTNER_NONE) {
        return at;
    }
    uint32_t rest = UINT32_MAX;
    for (; at != STN_PARTNER_NONE; at = vocab->types[at].next_split) {
        const stn_vtype *type = &vocab->types[at];
        if (type->split_field < 0) {
            rest = at;
            continue;
        }
        stn_val val = {.kind = STN_VAL_NONE};
        const stn_field *field =
            stn_event_field(event, vocab->text_catalog[type->fields[type->split_field].name]);
        if (field && known_val(vocab, field, &val) && stn_val_equal(val, type->split_val)) {
            return at;
        }
    }
    return rest;
}

bool stn_vocab_pairs(const stn_vocab *vocab, uint32_t entry, uint32_t exit) {
    const stn_vtype *out = &vocab->types[exit];
    if (out->partner == STN_PARTNER_NONE || entry >= vocab->type_count) {
        return false;
    }
    const stn_vtype *in = &vocab->types[entry];
    return in->family == vocab->types[out->partner].family &&
           (in->split_field < 0 || out->split_field < 0 ||
            stn_val_equal(in->split_val, out->split_val));
}

/* ---- learning ------------------------------------------------------------- */

/* One list of fields that events of a type have had. */
typedef struct layout {
    uint64_t count;
    uint16_t field_count;
    uint32_t fields[STN_VFIELD_MAX];
} layout;

enum { LAYOUTS = 8 };

/* Types that are split, and by which field. */
typedef struct split_row {
    const char *type, *field;
} split_row;

static const split_row split_rows[] = {
    {"softirq_raise", "vec"},      {"softirq_entry", "vec"},
    {"softirq_exit", "vec"},       {"irq_handler_entry", "irq"},
    {"cpu_idle", "state"},         {"sched_switch", "prev_state"},
    {"hrtimer_start", "function"}, {"hrtimer_expire_entry", "function"},
    {"timer_start", "function"},   {"timer_expire_entry", "function"},
};

enum {
    SPLIT_VALUES = 64,
    SPLIT_SHARE = 500, /* a value is split off from this share of its type's events on, */
    SPLIT_LEAST = 24,  /* … and so many */
    SPLITS_IN_ALL = 512,
};

typedef struct split_value {
    stn_val val;
    uint64_t count;
} split_value;

typedef struct type_census {
    uint64_t *counts; /* [types] */
    uint64_t *rests;  /* [types] of them, not split off */
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

static stn_status add_type(stn_vocab *vocab, const type_census *census, uint32_t type,
                           const split_row *split, const split_value *value) {
    const layout *best = census->layouts + (size_t)type * LAYOUTS;
    for (int i = 1; i < LAYOUTS; i++) {
        const layout *other = census->layouts + (size_t)type * LAYOUTS + i;
        best = other->count > best->count ? other : best;
    }
    const stn_type *named = stn_catalog_type_at(vocab->catalog, type);
    stn_vtype *out = &vocab->types[vocab->type_count];
    *out = (stn_vtype){.name = stn_vocab_ctext(vocab, named->name),
                       .original = stn_vocab_ctext(vocab, named->original),
                       .count = value ? value->count : census->rests[type],
                       .split_field = -1,
                       .catalog_type = type};
    bool failed = out->name == UINT32_MAX || out->original == UINT32_MAX;
    for (uint16_t i = 0; i < best->field_count; i++) {
        out->fields[i].name = stn_vocab_text(vocab, best->fields[i]);
        failed |= out->fields[i].name == UINT32_MAX;
    }
    out->field_count = best->field_count;
    if (value) {
        out->split_field = field_index(vocab, out, split->field);
        out->split_val = value->val;
    }
    vocab->type_count++;
    return failed ? STN_ENOMEM : STN_OK;
}

static int by_count(const void *a, const void *b) {
    const stn_vtype *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    if (x->catalog_type != y->catalog_type) {
        return x->catalog_type < y->catalog_type ? -1 : 1;
    }
    return x->split_val.v < y->split_val.v ? -1 : x->split_val.v > y->split_val.v;
}

static const split_row *split_of(const stn_vocab *vocab, uint32_t type) {
    const char *name = stn_catalog_type_at(vocab->catalog, type)->name;
    for (size_t i = 0; i < sizeof split_rows / sizeof split_rows[0]; i++) {
        if (strcmp(split_rows[i].type, name) == 0) {
            return &split_rows[i];
        }
    }
    return NULL;
}

static int by_value_count(const void *a, const void *b) {
    const split_value *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return x->val.v < y->val.v ? -1 : x->val.v > y->val.v;
}

/* Values of the field that @p type is split by, the most frequent first. */
static stn_status count_values(stn_vocab *vocab, const stn_trace *const *traces, size_t count,
                               uint32_t type, uint32_t field, split_value *values,
                               uint32_t *value_count) {
    *value_count = 0;
    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; i < traces[t]->count; i++) {
            const stn_event *event = &traces[t]->events[i];
            const stn_field *at = event->type == type ? stn_event_field(event, field) : NULL;
            stn_val val;
            if (!at) {
                continue;
            }
            if (stn_vocab_val(vocab, at, &val) != STN_OK) {
                return STN_ENOMEM;
            }
            uint32_t v = 0;
            while (v < *value_count && !stn_val_equal(values[v].val, val)) {
                v++;
            }
            if (v == *value_count && v < SPLIT_VALUES) {
                values[(*value_count)++] = (split_value){.val = val};
            }
            if (v < *value_count) {
                values[v].count++;
            }
        }
    }
    qsort(values, *value_count, sizeof *values, by_value_count);
    return STN_OK;
}

static stn_status add_splits(stn_vocab *vocab, type_census *census, uint32_t type,
                             const stn_trace *const *traces, size_t count) {
    const split_row *split = split_of(vocab, type);
    split_value values[SPLIT_VALUES];
    uint32_t value_count = 0;
    uint32_t field = split ? stn_catalog_find(vocab->catalog, split->field) : STN_NO_ID;
    census->rests[type] = census->counts[type];
    if (field != STN_NO_ID &&
        count_values(vocab, traces, count, type, field, values, &value_count) != STN_OK) {
        return STN_ENOMEM;
    }
    stn_status status = STN_OK;
    for (uint32_t v = 0; v < value_count && v < STN_SPLIT_MAX && status == STN_OK; v++) {
        if (values[v].count < SPLIT_LEAST || values[v].count * SPLIT_SHARE < census->counts[type]) {
            break;
        }
        census->rests[type] -= values[v].count;
        status = add_type(vocab, census, type, split, &values[v]);
    }
    if (status == STN_OK && census->rests[type] > 0) {
        status = add_type(vocab, census, type, NULL, NULL);
    }
    return status;
}

static stn_status types_from(stn_vocab *vocab, type_census *census, const stn_trace *const *traces,
                             size_t count, stn_err *err) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < census->types; i++) {
        used += census->counts[i] > 0;
    }
    if (used == 0) {
        return stn_err_set(err, STN_EFORMAT, "the training traces hold no events");
    }
    if (used > STN_VTYPE_MAX - SPLITS_IN_ALL) {
        return stn_err_set(err, STN_EFORMAT, "%u event types, at most %d can be learned", used,
                           STN_VTYPE_MAX - SPLITS_IN_ALL);
    }
    vocab->types = stn_malloc((used + SPLITS_IN_ALL) * sizeof *vocab->types);
    if (!vocab->types) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for %u event types", used);
    }
    for (uint32_t i = 0; i < census->types; i++) {
        if (census->counts[i] > 0 && add_splits(vocab, census, i, traces, count) != STN_OK) {
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
    census.rests = stn_calloc(census.types, sizeof *census.rests);
    census.layouts = stn_calloc((size_t)census.types * LAYOUTS, sizeof *census.layouts);
    stn_status status = STN_OK;
    if (!census.counts || !census.rests || !census.layouts) {
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
        status = types_from(vocab, &census, traces, count, err);
    }
    stn_free(census.counts);
    stn_free(census.rests);
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
        stn_blob_u8(blob, (uint8_t)type->split_field);
        stn_blob_u64(blob, (uint64_t)type->split_val.v);
        stn_blob_u8(blob, (uint8_t)type->split_val.kind);
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
    type->split_field = (int8_t)stn_cursor_u8(cursor);
    type->split_val.v = (int64_t)stn_cursor_u64(cursor);
    type->split_val.kind = stn_cursor_u8(cursor);
    bool split = type->split_field >= 0;
    bool text = split && type->split_val.kind == STN_FIELD_STR;
    if (cursor->failed || (split && type->split_field >= type->field_count) ||
        (split && type->split_val.kind > STN_FIELD_STR) ||
        (text && (type->split_val.v < 0 || type->split_val.v >= texts))) {
        return STN_EFORMAT;
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
    uint32_t types = status == STN_OK ? stn_cursor_count(cursor, 28) : 0;
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
