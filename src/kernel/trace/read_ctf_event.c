/* An event has up to three structures: its payload, the context of its class and the context
 * common to its stream. They become one flat list, the payload first; "a.b" names member b of
 * the structure a, "a.0" the first element of an array that is no list of integers. A context
 * whose name the payload has too is called "ctx_…". */
#include "kernel/trace/read_ctf_event.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/trace/canon.h"

typedef enum meaning {
    MEANS_FIELD,
    MEANS_SKIP, /* length of the sequence behind it */
    MEANS_TID,
    MEANS_COMM,
    MEANS_CPU,
    MEANS_RWBS,  /* LTTng's integer of a block operation */
    MEANS_PRIO,  /* LTTng's priority, counted from the first that is not real-time */
    MEANS_STATE, /* task state of a kernel before 4.14 */
} meaning;

typedef struct plan {
    uint32_t name; /* string id of the flat name; STN_NO_ID: not made yet */
    meaning meaning;
    bool hex;
    struct plan *children; /* members, options or elements */
    uint64_t child_count;
} plan;

enum { PAYLOAD, OWN_CONTEXT, COMMON_CONTEXT, SECTION_COUNT };

struct stn_ctf_class {
    const bt_event_class *bt;
    uint32_t type;
    bool cpu_in_payload; /* no packet says the CPU */
    bool lttng;          /* from LTTng's kernel tracer */
    plan sections[SECTION_COUNT];
};

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory for events");
}

static bool is_unsigned(bt_field_class_type type) {
    return bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER);
}

static bool is_integer(bt_field_class_type type) {
    return bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_INTEGER);
}

bool stn_ctf_member(const bt_field *field, const char *name, uint64_t *value) {
    if (!field ||
        !bt_field_class_type_is(bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_STRUCTURE)) {
        return false;
    }
    const bt_field *member = bt_field_structure_borrow_member_field_by_name_const(field, name);
    if (!member || !is_integer(bt_field_get_class_type(member))) {
        return false;
    }
    *value = is_unsigned(bt_field_get_class_type(member))
                 ? bt_field_integer_unsigned_get_value(member)
                 : (uint64_t)bt_field_integer_signed_get_value(member);
    return true;
}

/* ---- plans ----------------------------------------------------------- */

static bool has_member(const bt_field_class *structure, const char *name) {
    return structure &&
           bt_field_class_structure_borrow_member_by_name_const(structure, name) != NULL;
}

static const struct {
    const char *name;
    meaning meaning;
    bool in_payload; /* perf puts them there */
} context_rows[] = {
    {"tid", MEANS_TID, false},       {"vtid", MEANS_TID, false},    {"procname", MEANS_COMM, false},
    {"cpu_id", MEANS_CPU, false},    {"perf_tid", MEANS_TID, true}, {"perf_cpu", MEANS_CPU, true},
    {"perf_comm", MEANS_COMM, true},
};

/* What a top-level member means, by its name as the trace has it. */
static meaning member_meaning(const stn_ctf_class *known, int section, const char *name,
                              const bt_field_class *structure) {
    for (size_t i = 0; i < sizeof context_rows / sizeof *context_rows; i++) {
        if (strcmp(context_rows[i].name, name) != 0) {
            continue;
        }
        if (strcmp(name, "vtid") == 0 && has_member(structure, "tid")) {
            return MEANS_FIELD;
        }
        if (section != PAYLOAD || context_rows[i].in_payload) {
            return context_rows[i].meaning;
        }
    }
    bool cpu_event = strstr(bt_event_class_get_name(known->bt), "cpu_") != NULL;
    if (section == PAYLOAD && known->cpu_in_payload && !cpu_event && strcmp(name, "cpu_id") == 0) {
        return MEANS_CPU;
    }
    return MEANS_FIELD;
}

/* "_x_length" before x says what the sequence or text x says itself. */
static bool is_length(const bt_field_class *structure, uint64_t index, const char *name) {
    size_t size = strlen(name);
    if (name[0] != '_' || size < 9 || strcmp(name + size - 7, "_length") != 0 ||
        index + 1 >= bt_field_class_structure_get_member_count(structure)) {
        return false;
    }
    const char *next = bt_field_class_structure_member_get_name(
        bt_field_class_structure_borrow_member_by_index_const(structure, index + 1));
    return strncmp(next, name + 1, size - 8) == 0 && next[size - 8] == '\0';
}

/* Where LTTng has both x_tid and x_pid, the pid is the thread group's. */
static const char *group_name(const bt_field_class *structure, const char *event, const char *name,
                              char *buffer, size_t size) {
    size_t length = strlen(name);
    if (strncmp(event, "sched_", 6) != 0 || strncmp(name, "perf_", 5) == 0 || length < 3 ||
        strcmp(name + length - 3, "pid") != 0 || length + 2 > size) {
        return name;
    }
    snprintf(buffer, size, "%.*stid", (int)(length - 3), name);
    if (!has_member(structure, buffer)) {
        return name;
    }
    snprintf(buffer, size, "%.*stgid", (int)(length - 3), name);
    return buffer;
}

static bool plan_name(stn_ctf_events *events, plan *p, const plan *parent, const char *name) {
    char flat[512];
    if (parent->name != STN_NO_ID) {
        snprintf(flat, sizeof flat, "%s.%s", stn_catalog_text(events->catalog, parent->name), name);
        name = flat;
    }
    p->name = stn_catalog_cstring(events->catalog, name);
    return p->name != STN_NO_ID;
}

static plan *plan_children(stn_ctf_events *events, plan *parent, uint64_t count) {
    if (count > SIZE_MAX / sizeof *parent / 2) {
        return NULL;
    }
    plan *children =
        stn_arena_alloc(&events->plans, (size_t)(count ? count : 1) * sizeof *children);
    for (uint64_t i = 0; children && i < count; i++) {
        children[i] = (plan){.name = STN_NO_ID};
        if (i < parent->child_count) {
            children[i] = parent->children[i];
        }
    }
    return children;
}

/* Names and meanings of a section's members. */
static bool plan_section(stn_ctf_events *events, stn_ctf_class *known, int section,
                         const bt_field_class *structure, const bt_field_class *payload) {
    plan *root = &known->sections[section];
    root->name = STN_NO_ID;
    if (!structure) {
        return true;
    }
    const char *event = stn_catalog_type_at(events->catalog, known->type)->name;
    uint64_t count = bt_field_class_structure_get_member_count(structure);
    root->children = plan_children(events, root, count);
    if (!root->children) {
        return false;
    }
    root->child_count = count;
    for (uint64_t i = 0; i < count; i++) {
        const bt_field_class_structure_member *member =
            bt_field_class_structure_borrow_member_by_index_const(structure, i);
        const char *name = bt_field_class_structure_member_get_name(member);
        plan *p = &root->children[i];
        char buffer[256];
        const char *flat =
            stn_canon_field(event, group_name(structure, event, name, buffer, sizeof buffer));
        char context[256];
        if (section != PAYLOAD && has_member(payload, name)) {
            snprintf(context, sizeof context, "ctx_%s", name);
            flat = context;
        }
        p->meaning = member_meaning(known, section, name, structure);
        if (is_length(structure, i, name)) {
            p->meaning = MEANS_SKIP;
        } else if (section == PAYLOAD && strcmp(name, "rwbs") == 0) {
            p->meaning = MEANS_RWBS;
        } else if (section == PAYLOAD && known->lttng && stn_canon_is_prio(event, name)) {
            p->meaning = MEANS_PRIO;
        } else if (section == PAYLOAD && events->state_limit && strcmp(name, "prev_state") == 0) {
            p->meaning = MEANS_STATE;
        }
        if (!plan_name(events, p, root, flat)) {
            return false;
        }
    }
    return true;
}

/* Written by LTTng's kernel tracer, or, where the trace does not name its tracer, as that one
 * writes: it calls a thread's number tid where the kernel's own events call it pid. */
static bool from_lttng(const bt_event *event) {
    const bt_value *name = bt_trace_borrow_environment_entry_value_by_name_const(
        bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event)), "tracer_name");
    if (name && bt_value_is_string(name)) {
        return strcmp(bt_value_string_get(name), "lttng-modules") == 0;
    }
    const bt_field_class *payload =
        bt_event_class_borrow_payload_field_class_const(bt_event_borrow_class_const(event));
    return has_member(payload, "tid") || has_member(payload, "prev_tid");
}

/* "sys_exit" is any system call's exit, which returns something, or what LTTng before 2.6 called
 * the entry of exit, which takes something. */
static const char *class_canonical(const char *name, const bt_field_class *payload, char *buffer,
                                   size_t size) {
    const char *canonical = stn_canon_event(name, buffer, size);
    bool entry = strcmp(name, "sys_exit") == 0 && !has_member(payload, "ret");
    return entry ? "sys_enter_exit" : canonical;
}

static bool class_plan(stn_ctf_events *events, stn_ctf_class *known) {
    const bt_stream_class *stream = bt_event_class_borrow_stream_class_const(known->bt);
    const bt_field_class *payload = bt_event_class_borrow_payload_field_class_const(known->bt);
    const bt_field_class *packet =
        bt_stream_class_supports_packets(stream)
            ? bt_stream_class_borrow_packet_context_field_class_const(stream)
            : NULL;
    known->cpu_in_payload = !has_member(packet, "cpu_id");
    const char *name = bt_event_class_get_name(known->bt);
    char buffer[512];
    char number[32];
    if (!name) {
        snprintf(number, sizeof number, "event_%llu",
                 (unsigned long long)bt_event_class_get_id(known->bt));
        name = number;
    }
    const char *canonical = class_canonical(name, payload, buffer, sizeof buffer);
    known->type = stn_catalog_type(events->catalog, canonical, name);
    return known->type != STN_NO_ID && plan_section(events, known, PAYLOAD, payload, NULL) &&
           plan_section(events, known, OWN_CONTEXT,
                        bt_event_class_borrow_specific_context_field_class_const(known->bt),
                        payload) &&
           plan_section(events, known, COMMON_CONTEXT,
                        bt_stream_class_borrow_event_common_context_field_class_const(stream),
                        payload);
}

/* The class of @p event, planned; NULL if memory is out. */
static stn_ctf_class *class_find(stn_ctf_events *events, const bt_event *event) {
    const bt_event_class *bt = bt_event_borrow_class_const(event);
    const uint64_t *found = stn_map_get(&events->classes, (uint64_t)(uintptr_t)bt);
    if (found) {
        return events->owned[*found];
    }
    stn_ctf_class *known = stn_calloc(1, sizeof *known);
    if (!known || stn_grow(&events->owned, &events->owned_capacity, events->owned_count + 1,
                           sizeof *events->owned)) {
        stn_free(known);
        return NULL;
    }
    bt_event_class_get_ref(bt);
    known->bt = bt;
    known->lttng = from_lttng(event);
    events->owned[events->owned_count++] = known;
    if (!class_plan(events, known)) {
        return NULL;
    }
    uint64_t *slot = stn_map_put(&events->classes, (uint64_t)(uintptr_t)bt, NULL);
    if (!slot) {
        return NULL;
    }
    *slot = events->owned_count - 1;
    return known;
}

void stn_ctf_events_fini(stn_ctf_events *events) {
    for (size_t i = 0; i < events->owned_count; i++) {
        bt_event_class_put_ref(events->owned[i]->bt);
        stn_free(events->owned[i]);
    }
    stn_free(events->owned);
    stn_fields_fini(&events->fields);
    stn_map_fini(&events->classes);
    stn_arena_fini(&events->plans);
    stn_arena_fini(&events->values);
    *events = (stn_ctf_events){0};
}

/* ---- values ---------------------------------------------------------- */

static stn_status decode_field(stn_ctf_events *events, plan *p, const bt_field *field,
                               stn_event *out, stn_err *err);

static stn_status decode_integer(stn_ctf_events *events, const plan *p, const bt_field *field,
                                 stn_event *out, stn_err *err) {
    bool positive = is_unsigned(bt_field_get_class_type(field));
    int64_t value = positive ? (int64_t)bt_field_integer_unsigned_get_value(field)
                             : bt_field_integer_signed_get_value(field);
    stn_field result = {.name = p->name, .kind = positive ? STN_FIELD_UINT : STN_FIELD_INT};
    result.v.i = value;
    if (p->meaning == MEANS_TID) {
        out->tid = value >= 0 && value <= INT32_MAX ? (int32_t)value : STN_NO_TID;
        return STN_OK;
    }
    if (p->meaning == MEANS_CPU) {
        out->cpu = value >= 0 && value < STN_NO_CPU ? (uint16_t)value : STN_NO_CPU;
        return STN_OK;
    }
    if (p->meaning == MEANS_RWBS) {
        char *text = stn_arena_alloc(&events->values, 16);
        if (!text) {
            return no_memory(err);
        }
        result.kind = STN_FIELD_STR;
        result.v.s = stn_rwbs_text(value, text, 16);
        return stn_fields_add(&events->fields, result, err);
    }
    if (p->meaning == MEANS_STATE) {
        result.v.i = stn_task_state_old(value, events->state_limit);
        return stn_fields_add(&events->fields, result, err);
    }
    if (p->meaning == MEANS_PRIO && !positive && value < STN_LTTNG_PRIO_BASE) {
        /* LTTng's end at 40; 120 is the kernel's own number, as sched_wakeup had it in 2.5. */
        result.v.i += STN_LTTNG_PRIO_BASE;
    }
    if (positive && bt_field_class_integer_get_preferred_display_base(bt_field_borrow_class_const(
                        field)) == BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL) {
        result.kind = STN_FIELD_HEX;
    }
    return stn_fields_add(&events->fields, result, err);
}

static stn_status decode_string(stn_ctf_events *events, const plan *p, const bt_field *field,
                                stn_event *out, stn_err *err) {
    /* The library keeps what a recycled field held before when the text is empty. */
    const char *text = bt_field_string_get_length(field) ? bt_field_string_get_value(field) : "";
    if (p->meaning == MEANS_COMM) {
        out->comm = stn_catalog_cstring(events->catalog, text);
        return out->comm == STN_NO_ID ? no_memory(err) : STN_OK;
    }
    return stn_fields_add(&events->fields,
                          (stn_field){.name = p->name, .kind = STN_FIELD_STR, .v.s = text}, err);
}

/* Children by index, made and named when first needed. */
static plan *child_at(stn_ctf_events *events, plan *p, uint64_t index, uint64_t count,
                      const char *name) {
    if (count > p->child_count) {
        plan *children = plan_children(events, p, count);
        if (!children) {
            return NULL;
        }
        p->children = children;
        p->child_count = count;
    }
    plan *child = &p->children[index];
    if (child->name == STN_NO_ID) {
        char number[24];
        if (!name) {
            snprintf(number, sizeof number, "%llu", (unsigned long long)index);
        }
        if (!plan_name(events, child, p, name ? name : number)) {
            return NULL;
        }
    }
    return child;
}

static stn_status decode_integers(stn_ctf_events *events, const plan *p, const bt_field *field,
                                  uint64_t count, stn_err *err) {
    stn_seq *seq = stn_arena_alloc(&events->values, sizeof *seq);
    int64_t *items = count > UINT32_MAX / 8
                         ? NULL
                         : stn_arena_alloc(&events->values, (size_t)(count ? count : 1) * 8);
    if (!seq || !items) {
        return no_memory(err);
    }
    *seq = (stn_seq){.count = (uint32_t)count, .items = items};
    for (uint64_t i = 0; i < count; i++) {
        const bt_field *item = bt_field_array_borrow_element_field_by_index_const(field, i);
        bool positive = is_unsigned(bt_field_get_class_type(item));
        seq->is_signed = !positive;
        items[i] = positive ? (int64_t)bt_field_integer_unsigned_get_value(item)
                            : bt_field_integer_signed_get_value(item);
    }
    return stn_fields_add(&events->fields,
                          (stn_field){.name = p->name, .kind = STN_FIELD_SEQ, .v.seq = seq}, err);
}

static stn_status decode_array(stn_ctf_events *events, plan *p, const bt_field *field,
                               stn_event *out, stn_err *err) {
    uint64_t count = bt_field_array_get_length(field);
    const bt_field_class *element =
        bt_field_class_array_borrow_element_field_class_const(bt_field_borrow_class_const(field));
    if (is_integer(bt_field_class_get_type(element))) {
        return decode_integers(events, p, field, count, err);
    }
    for (uint64_t i = 0; i < count; i++) {
        plan *child = child_at(events, p, i, count, NULL);
        const bt_field *item = bt_field_array_borrow_element_field_by_index_const(field, i);
        stn_status status = child ? decode_field(events, child, item, out, err) : no_memory(err);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

static stn_status decode_structure(stn_ctf_events *events, plan *p, const bt_field *field,
                                   stn_event *out, stn_err *err) {
    const bt_field_class *structure = bt_field_borrow_class_const(field);
    uint64_t count = bt_field_class_structure_get_member_count(structure);
    for (uint64_t i = 0; i < count; i++) {
        const bt_field_class_structure_member *member =
            bt_field_class_structure_borrow_member_by_index_const(structure, i);
        const char *name = bt_field_class_structure_member_get_name(member);
        plan *child = child_at(events, p, i, count, name);
        const bt_field *value = bt_field_structure_borrow_member_field_by_index_const(field, i);
        stn_status status = child ? decode_field(events, child, value, out, err) : no_memory(err);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

/* The option that is chosen, under the variant's own name. */
static stn_status decode_variant(stn_ctf_events *events, plan *p, const bt_field *field,
                                 stn_event *out, stn_err *err) {
    uint64_t index = bt_field_variant_get_selected_option_index(field);
    if (index >= p->child_count) {
        plan *children = plan_children(events, p, index + 1);
        if (!children) {
            return no_memory(err);
        }
        p->children = children;
        p->child_count = index + 1;
    }
    p->children[index].name = p->name;
    p->children[index].meaning = p->meaning;
    return decode_field(events, &p->children[index],
                        bt_field_variant_borrow_selected_option_field_const(field), out, err);
}

static stn_status decode_other(stn_ctf_events *events, const plan *p, const bt_field *field,
                               stn_err *err) {
    bt_field_class_type type = bt_field_get_class_type(field);
    stn_field result = {.name = p->name};
    if (type == BT_FIELD_CLASS_TYPE_BOOL) {
        result.kind = STN_FIELD_UINT;
        result.v.u = bt_field_bool_get_value(field) ? 1 : 0;
    } else if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY) {
        result.kind = STN_FIELD_HEX;
        result.v.u = bt_field_bit_array_get_value_as_integer(field);
    } else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL) {
        result.kind = STN_FIELD_REAL;
        result.v.f = (double)bt_field_real_single_precision_get_value(field);
    } else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL) {
        result.kind = STN_FIELD_REAL;
        result.v.f = bt_field_real_double_precision_get_value(field);
    } else {
        return STN_OK;
    }
    return stn_fields_add(&events->fields, result, err);
}

static stn_status decode_field(stn_ctf_events *events, plan *p, const bt_field *field,
                               stn_event *out, stn_err *err) {
    bt_field_class_type type = bt_field_get_class_type(field);
    if (p->meaning == MEANS_SKIP) {
        return STN_OK;
    }
    if (is_integer(type)) {
        return decode_integer(events, p, field, out, err);
    }
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRING)) {
        return decode_string(events, p, field, out, err);
    }
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY)) {
        return decode_array(events, p, field, out, err);
    }
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRUCTURE)) {
        return decode_structure(events, p, field, out, err);
    }
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT)) {
        return decode_variant(events, p, field, out, err);
    }
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION)) {
        const bt_field *inner = bt_field_option_borrow_field_const(field);
        return inner ? decode_field(events, p, inner, out, err) : STN_OK;
    }
    return decode_other(events, p, field, err);
}

stn_status stn_ctf_decode(stn_ctf_events *events, const bt_event *event, stn_event *out,
                          stn_err *err) {
    stn_ctf_class *known = class_find(events, event);
    if (!known) {
        return no_memory(err);
    }
    const bt_field *sections[SECTION_COUNT] = {
        bt_event_borrow_payload_field_const(event),
        bt_event_borrow_specific_context_field_const(event),
        bt_event_borrow_common_context_field_const(event),
    };
    events->fields.count = 0;
    stn_arena_reset(&events->values);
    out->type = known->type;
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!sections[i]) {
            continue;
        }
        stn_status status = decode_structure(events, &known->sections[i], sections[i], out, err);
        if (status) {
            return status;
        }
    }
    stn_fields_lend(&events->fields, out);
    return STN_OK;
}
