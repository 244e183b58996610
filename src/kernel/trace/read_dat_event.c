#include "kernel/trace/read_dat_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/trace-seq.h>

#include "core/base/alloc.h"
#include "kernel/trace/canon.h"
#include "kernel/trace/syscall_args.h"

/* How the bytes of a field are read. */
typedef enum shape {
    SHAPE_INT,
    SHAPE_UINT,
    SHAPE_HEX,
    SHAPE_INT32, /* the lower half of an argument register */
    SHAPE_STRING,
    SHAPE_ARRAY,
    SHAPE_STATE, /* prev_state of a kernel before 4.14 */
} shape;

typedef struct field_plan {
    uint32_t name;
    shape shape;
    unsigned offset, size;
    unsigned item_size; /* of an array: 1, 2, 4, 8 */
    bool is_signed;
    bool dynamic;  /* the field says where its bytes are */
    bool relative; /* … from the field's own end */
} field_plan;

struct stn_dat_type {
    uint32_t type;
    bool raw_enter, raw_exit;
    bool with_text; /* what the kernel would print cannot be made from the fields */
    int64_t state_limit;
    struct tep_event *event;      /* NULL: the file has no format of it */
    struct tep_format_field *pid; /* common_pid */
    size_t field_count;
    field_plan *fields; /* [field_count] */
};

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory for events");
}

void stn_dat_events_fini(stn_dat_events *events) {
    for (size_t i = 0; i < events->type_count; i++) {
        stn_free(events->types[i]->fields);
        stn_free(events->types[i]);
    }
    stn_free(events->types);
    stn_fields_fini(&events->fields);
    stn_map_fini(&events->ids);
    stn_map_fini(&events->comms);
    stn_map_fini(&events->calls);
    stn_arena_fini(&events->values);
    *events = (stn_dat_events){0};
}

/* ---- plans ----------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    size_t size = strlen(end);
    size_t have = strlen(text);
    return have >= size && strcmp(text + have - size, end) == 0;
}

static bool is_address(const struct tep_format_field *field) {
    static const char *const names[] = {"ip",  "_ip", "addr", "address",  "call_site",
                                        "ptr", "fmt", "sp",   "function", "caller"};
    if (field->flags & TEP_FIELD_IS_POINTER || ends_with(field->name, "flags")) {
        return true;
    }
    for (size_t i = 0; field->size == 8 && i < sizeof names / sizeof *names; i++) {
        if (names[i][0] == '_' || strcmp(names[i], "addr") == 0
                ? ends_with(field->name, names[i])
                : strcmp(field->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Arguments of system calls are kept in registers, whatever their type is. */
static shape argument_shape(const char *type) {
    static const char *const halves[] = {"int",     "pid_t", "key_t", "clockid_t",
                                         "timer_t", "mqd_t", "__s32"};
    static const char *const wholes[] = {"long", "off_t", "loff_t", "ssize_t", "__s64"};
    if (strchr(type, '*')) {
        return SHAPE_HEX;
    }
    if (strncmp(type, "const ", 6) == 0) {
        type += 6;
    }
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        if (strcmp(type, halves[i]) == 0) {
            return SHAPE_INT32;
        }
    }
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        if (strcmp(type, wholes[i]) == 0) {
            return SHAPE_INT;
        }
    }
    return SHAPE_UINT;
}

static bool is_word(unsigned size) {
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static shape field_shape(const struct tep_event *event, const struct tep_format_field *field) {
    if (field->flags & TEP_FIELD_IS_STRING) {
        return SHAPE_STRING;
    }
    if (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC) ||
        !is_word((unsigned)field->size)) {
        return SHAPE_ARRAY;
    }
    bool is_call = event->system && strcmp(event->system, "syscalls") == 0 &&
                   strncmp(event->name, "sys_enter", 9) == 0 && field->size == 8;
    if (is_call && field->type) {
        shape s = argument_shape(field->type);
        return s == SHAPE_UINT && ends_with(field->name, "flags") ? SHAPE_HEX : s;
    }
    if (field->flags & TEP_FIELD_IS_SIGNED) {
        return SHAPE_INT;
    }
    return is_address(field) ? SHAPE_HEX : SHAPE_UINT;
}

static bool plan_field(stn_dat_events *events, const stn_dat_type *known,
                       const struct tep_format_field *field, field_plan *p) {
    const char *event = stn_catalog_type_at(events->catalog, known->type)->name;
    unsigned item = (unsigned)field->elementsize;
    *p = (field_plan){.shape = field_shape(known->event, field),
                      .offset = (unsigned)field->offset,
                      .size = (unsigned)field->size,
                      .item_size = is_word(item) ? item : 1,
                      .is_signed = (field->flags & TEP_FIELD_IS_SIGNED) != 0,
                      .dynamic = (field->flags & TEP_FIELD_IS_DYNAMIC) != 0,
                      .relative = (field->flags & TEP_FIELD_IS_RELATIVE) != 0};
    if (known->state_limit && strcmp(field->name, "prev_state") == 0) {
        p->shape = SHAPE_STATE;
    }
    p->name = stn_catalog_cstring(events->catalog, stn_canon_field(event, field->name));
    return p->name != STN_NO_ID;
}

/* The largest power of two from 512 on below @p arg: 2048 of "(2048-1)". */
static int64_t largest_bit(const struct tep_print_arg *arg, int depth) {
    if (!arg || depth > 32) {
        return 0;
    }
    if (arg->type == TEP_PRINT_ATOM && arg->atom.atom) {
        long bit = strtol(arg->atom.atom, NULL, 0);
        return bit >= 512 && bit <= 65536 && (bit & (bit - 1)) == 0 ? bit : 0;
    }
    if (arg->type != TEP_PRINT_OP) {
        return 0;
    }
    int64_t left = largest_bit(arg->op.left, depth + 1);
    int64_t right = largest_bit(arg->op.right, depth + 1);
    return left > right ? left : right;
}

/* Kernels before 4.14 print "prev_state & (1024-1) ? … : "R", prev_state & 1024 ? "+"". */
static int64_t state_limit(const struct tep_event *event) {
    int64_t limit = 0;
    if (strcmp(event->name, "sched_switch") != 0) {
        return 0;
    }
    for (const struct tep_print_arg *arg = event->print_fmt.args; arg; arg = arg->next) {
        int64_t bit = largest_bit(arg, 0);
        limit = bit > limit ? bit : limit;
    }
    return limit;
}

static bool plan_event(stn_dat_events *events, stn_dat_type *known, int id) {
    char number[32];
    char buffer[256];
    snprintf(number, sizeof number, "unknown_%d", id);
    const char *name = known->event ? known->event->name : number;
    const char *system = known->event && known->event->system ? known->event->system : "";
    known->type =
        stn_catalog_type(events->catalog, stn_canon_event(name, buffer, sizeof buffer), name);
    if (known->type == STN_NO_ID) {
        return false;
    }
    if (!known->event) {
        return true;
    }
    known->raw_enter = strcmp(system, "raw_syscalls") == 0 && strcmp(name, "sys_enter") == 0;
    known->raw_exit = strcmp(system, "raw_syscalls") == 0 && strcmp(name, "sys_exit") == 0;
    known->with_text = strcmp(system, "ftrace") == 0 &&
                       (strcmp(name, "bprint") == 0 || strcmp(name, "function") == 0);
    known->state_limit = state_limit(known->event);
    known->pid = tep_find_common_field(known->event, "common_pid");
    size_t count = 0;
    for (struct tep_format_field *f = known->event->format.fields; f; f = f->next) {
        count++;
    }
    known->fields = stn_calloc(count, sizeof *known->fields);
    if (!known->fields) {
        return false;
    }
    for (struct tep_format_field *f = known->event->format.fields; f; f = f->next) {
        if (!plan_field(events, known, f, &known->fields[known->field_count++])) {
            return false;
        }
    }
    return true;
}

/* The type of @p id, planned; NULL if memory is out. */
static stn_dat_type *type_find(stn_dat_events *events, int id, uint64_t *index) {
    uint64_t *slot = stn_map_put(&events->ids, (uint32_t)id, NULL);
    if (!slot) {
        return NULL;
    }
    if (*slot) {
        *index = *slot - 1;
        return events->types[*index];
    }
    stn_dat_type *known = stn_calloc(1, sizeof *known);
    if (!known || stn_grow(&events->types, &events->type_capacity, events->type_count + 1,
                           sizeof *events->types)) {
        stn_free(known);
        return NULL;
    }
    events->types[events->type_count++] = known;
    known->event = tep_find_event(events->tep, id);
    if (!plan_event(events, known, id)) {
        return NULL;
    }
    *index = events->type_count - 1;
    *slot = events->type_count;
    return known;
}

/* ---- values ---------------------------------------------------------- */

static uint64_t read_word(const stn_dat_events *events, const unsigned char *at, unsigned size) {
    return tep_read_number(events->tep, at, (int)size);
}

static int64_t sign_extend(uint64_t value, unsigned size) {
    switch (size) {
    case 1:
        return (int8_t)value;
    case 2:
        return (int16_t)value;
    case 4:
        return (int32_t)value;
    default:
        return (int64_t)value;
    }
}

/* Where the bytes of a field are in the record; false if outside of it. */
static bool locate(const stn_dat_events *events, const field_plan *p, const unsigned char *data,
                   unsigned data_size, unsigned *offset, unsigned *size) {
    *offset = p->offset;
    *size = p->size;
    if (p->offset > data_size || p->size > data_size - p->offset) {
        return false;
    }
    if (p->dynamic) {
        if (p->size != 4) {
            return false;
        }
        uint32_t place = (uint32_t)read_word(events, data + p->offset, 4);
        *offset = (place & 0xffff) + (p->relative ? p->offset + p->size : 0);
        *size = place >> 16;
    } else if (p->size == 0) {
        *size = data_size - p->offset; /* a flexible array is the rest */
    }
    return *offset <= data_size && *size <= data_size - *offset;
}

static stn_status put_string(stn_dat_events *events, uint32_t name, const void *bytes, size_t size,
                             stn_err *err) {
    size_t length = strnlen(bytes, size);
    char *text = stn_arena_text(&events->values, bytes, length);
    if (!text) {
        return no_memory(err);
    }
    return stn_fields_add(&events->fields,
                          (stn_field){.name = name, .kind = STN_FIELD_STR, .v.s = text}, err);
}

static stn_status put_array(stn_dat_events *events, const field_plan *p, const unsigned char *bytes,
                            unsigned size, stn_err *err) {
    uint32_t count = size / p->item_size;
    stn_seq *seq = stn_arena_alloc(&events->values, sizeof *seq);
    int64_t *items = stn_arena_alloc(&events->values, (count ? count : 1) * sizeof *items);
    if (!seq || !items) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = read_word(events, bytes + i * p->item_size, p->item_size);
        items[i] = p->is_signed ? sign_extend(value, p->item_size) : (int64_t)value;
    }
    *seq = (stn_seq){.count = count, .is_signed = p->is_signed, .items = items};
    return stn_fields_add(&events->fields,
                          (stn_field){.name = p->name, .kind = STN_FIELD_SEQ, .v.seq = seq}, err);
}

static stn_status put_word(stn_dat_events *events, const stn_dat_type *known, const field_plan *p,
                           const unsigned char *bytes, stn_err *err) {
    uint64_t value = read_word(events, bytes, p->size);
    stn_field field = {.name = p->name, .kind = STN_FIELD_INT};
    switch (p->shape) {
    case SHAPE_UINT:
    case SHAPE_HEX:
        field.kind = p->shape == SHAPE_HEX ? STN_FIELD_HEX : STN_FIELD_UINT;
        field.v.u = value;
        break;
    case SHAPE_INT32:
        field.v.i = (int32_t)value;
        break;
    case SHAPE_STATE:
        field.v.i = stn_task_state_old(sign_extend(value, p->size), known->state_limit);
        break;
    case SHAPE_INT:
    case SHAPE_STRING:
    case SHAPE_ARRAY:
        field.v.i = sign_extend(value, p->size);
        break;
    }
    return stn_fields_add(&events->fields, field, err);
}

static stn_status put_field(stn_dat_events *events, const stn_dat_type *known, const field_plan *p,
                            const struct tep_record *record, stn_err *err) {
    unsigned offset;
    unsigned size;
    const unsigned char *data = record->data;
    if (!locate(events, p, data, (unsigned)record->size, &offset, &size)) {
        return stn_err_set(err, STN_EFORMAT,
                           "event %s at %llu ns: field '%s' lies outside of its record of %d "
                           "bytes",
                           known->event->name, record->ts,
                           stn_catalog_text(events->catalog, p->name), record->size);
    }
    if (p->shape == SHAPE_STRING) {
        return put_string(events, p->name, data + offset, size, err);
    }
    if (p->shape == SHAPE_ARRAY) {
        return put_array(events, p, data + offset, size, err);
    }
    return put_word(events, known, p, data + offset, err);
}

/* ---- system calls, names, text --------------------------------------- */

/* "args" of a raw entry becomes the arguments that the call has, by name; registers beyond
 * them hold what happened to be there. The number stays, as in the kernel's own event. */
static stn_status name_arguments(stn_dat_events *events, int64_t number, stn_err *err) {
    const stn_syscall_args *args = stn_syscall_args_find(number);
    if (!args || events->fields.count != 2 || events->fields.items[1].kind != STN_FIELD_SEQ ||
        events->fields.items[1].v.seq->count < args->count) {
        return STN_OK;
    }
    const stn_seq *registers = events->fields.items[1].v.seq;
    events->fields.count = 1;
    for (uint32_t i = 0; i < args->count; i++) {
        stn_field field = {.name = stn_catalog_cstring(events->catalog, args->names[i])};
        if (field.name == STN_NO_ID) {
            return no_memory(err);
        }
        stn_syscall_args_field(args, i, registers->items[i], &field);
        stn_status status = stn_fields_add(&events->fields, field, err);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

/* The first field of a raw system call is its number. */
static stn_status name_call(stn_dat_events *events, const stn_dat_type *known, uint64_t index,
                            stn_event *event, stn_err *err) {
    if (!events->x86_64 || events->fields.count == 0 ||
        events->fields.items[0].kind == STN_FIELD_STR ||
        events->fields.items[0].kind == STN_FIELD_SEQ) {
        return STN_OK;
    }
    int64_t number = events->fields.items[0].v.i;
    const char *call = stn_syscall_name(number);
    if (!call) {
        return STN_OK;
    }
    uint64_t *slot = stn_map_put(&events->calls, index << 32 | (uint32_t)number, NULL);
    if (slot && *slot == 0) {
        char name[96];
        snprintf(name, sizeof name, "%s%s", known->raw_enter ? "sys_enter_" : "sys_exit_", call);
        uint32_t type = stn_catalog_type(events->catalog, name, known->event->name);
        if (type == STN_NO_ID) {
            return no_memory(err);
        }
        *slot = (uint64_t)type + 1;
    }
    if (!slot) {
        return no_memory(err);
    }
    event->type = (uint32_t)(*slot - 1);
    return known->raw_enter ? name_arguments(events, number, err) : STN_OK;
}

static stn_status name_thread(stn_dat_events *events, stn_event *event, stn_err *err) {
    bool added = false;
    uint64_t *slot = stn_map_put(&events->comms, (uint32_t)event->tid, &added);
    if (!slot) {
        return no_memory(err);
    }
    if (added) {
        const char *comm = tep_data_comm_from_pid(events->tep, event->tid);
        if (comm && *comm && strcmp(comm, "<...>") != 0) {
            uint32_t id = stn_catalog_cstring(events->catalog, comm);
            if (id == STN_NO_ID) {
                return no_memory(err);
            }
            *slot = (uint64_t)id + 1;
        }
    }
    event->comm = *slot ? (uint32_t)(*slot - 1) : STN_NO_ID;
    return STN_OK;
}

/* bprint keeps a format and its arguments apart, function tracers an address. */
static stn_status put_text(stn_dat_events *events, struct tep_record *record, stn_err *err) {
    struct trace_seq seq;
    uint32_t name = stn_catalog_cstring(events->catalog, "text");
    trace_seq_init(&seq);
    tep_print_event(events->tep, &seq, record, "%s", TEP_PRINT_INFO);
    trace_seq_terminate(&seq);
    const char *text = seq.buffer ? seq.buffer : "";
    text += strspn(text, " ");
    size_t size = strlen(text);
    while (size && (text[size - 1] == '\n' || text[size - 1] == ' ')) {
        size--;
    }
    stn_status status =
        name == STN_NO_ID ? no_memory(err) : put_string(events, name, text, size, err);
    trace_seq_destroy(&seq);
    return status;
}

stn_status stn_dat_decode(stn_dat_events *events, struct tep_record *record, stn_event *event,
                          stn_err *err) {
    uint64_t index = 0;
    events->fields.count = 0;
    stn_arena_reset(&events->values);
    int id = tep_data_type(events->tep, record);
    stn_dat_type *known = type_find(events, id, &index);
    if (!known) {
        return no_memory(err);
    }
    event->type = known->type;
    if (!known->event) {
        return STN_OK;
    }
    stn_status status = STN_OK;
    for (size_t i = 0; i < known->field_count && !status; i++) {
        status = put_field(events, known, &known->fields[i], record, err);
    }
    if (!status && known->with_text) {
        status = put_text(events, record, err);
    }
    if (!status && (known->raw_enter || known->raw_exit)) {
        status = name_call(events, known, index, event, err);
    }
    unsigned long long pid;
    if (!status && known->pid && known->pid->offset + known->pid->size <= record->size &&
        tep_read_number_field(known->pid, record->data, &pid) == 0) {
        event->tid = (int32_t)pid;
        status = event->tid >= 0 ? name_thread(events, event, err) : STN_OK;
        event->tid = event->tid >= 0 ? event->tid : STN_NO_TID;
    }
    stn_fields_lend(&events->fields, event);
    return status;
}
