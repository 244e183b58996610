/* Names, typed values and fields of text formats. A name is made canonical when it is first
 * seen; after that an event costs two or three look-ups in hash tables and, per field, one
 * comparison with the key that stood at this place last time. */
#include "kernel/trace/read_text.h"

#include <string.h>

#include "core/base/alloc.h"
#include "kernel/trace/canon.h"

/* What a value is, beyond its look. */
typedef enum value_kind {
    VALUE_PLAIN,
    VALUE_STRING,  /* never a number */
    VALUE_CPU,     /* "003" is a number */
    VALUE_STATE,   /* task state letters */
    VALUE_SOFTIRQ, /* vector by name */
    VALUE_DEV,     /* "8,0" */
    VALUE_HANDLED, /* "handled" */
    VALUE_U32,     /* -1 is 4294967295 */
    VALUE_NS,      /* "123 [ns]" */
    VALUE_DROP,    /* said by another field already */
} value_kind;

typedef struct kind_row {
    const char *event; /* canonical, a prefix if it ends in '*' */
    const char *field; /* canonical, a suffix if it begins with '*' */
    value_kind kind;
} kind_row;

static const kind_row kind_rows[] = {
    {"sched_switch", "prev_state", VALUE_STATE},
    {"softirq_*", "vec", VALUE_SOFTIRQ},
    {"softirq_*", "action", VALUE_DROP},
    {"irq_handler_exit", "ret", VALUE_HANDLED},
    {"cpu_idle", "state", VALUE_U32},
    {"sched_stat_*", "runtime", VALUE_NS},
    {"sched_stat_*", "vruntime", VALUE_NS},
    {"sched_stat_*", "delay", VALUE_NS},
    {"*", "*dev", VALUE_DEV},
    {"*", "*comm", VALUE_STRING},
    {"*", "*name", VALUE_STRING},
    {"*", "rwbs", VALUE_STRING},
    {"*", "*cpu", VALUE_CPU},
    {"*", "cpu_id", VALUE_CPU},
};

#define FAST_KEYS 12

typedef struct fast_key {
    const char *text; /* in text->keys; NULL: not known yet */
    uint32_t size;
    uint32_t kind;
    uint32_t name;
} fast_key;

struct stn_text_type {
    uint32_t type;
    fast_key keys[FAST_KEYS]; /* by place in the event */
};

static bool row_fits(const kind_row *row, const char *event, const char *field) {
    size_t event_size = strlen(row->event);
    if (row->event[event_size - 1] == '*' ? strncmp(row->event, event, event_size - 1) != 0
                                          : strcmp(row->event, event) != 0) {
        return false;
    }
    if (row->field[0] != '*') {
        return strcmp(row->field, field) == 0;
    }
    size_t size = strlen(row->field + 1);
    size_t have = strlen(field);
    return have >= size && strcmp(field + have - size, row->field + 1) == 0;
}

static value_kind kind_of(const char *event, const char *field) {
    for (size_t i = 0; i < sizeof kind_rows / sizeof *kind_rows; i++) {
        if (row_fits(&kind_rows[i], event, field)) {
            return kind_rows[i].kind;
        }
    }
    return VALUE_PLAIN;
}

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory for names and fields");
}

/* ---- events ---------------------------------------------------------- */

static stn_status type_learn(stn_text *text, uint32_t slot, const char *name, stn_err *err) {
    char buffer[256];
    const char *canonical = stn_canon_event(name, buffer, sizeof buffer);
    if (stn_grow(&text->types, &text->type_capacity, slot + 1, sizeof *text->types)) {
        return no_memory(err);
    }
    memset(&text->types[slot], 0, sizeof text->types[slot]);
    text->types[slot].type = stn_catalog_type(text->catalog, canonical, name);
    return text->types[slot].type == STN_NO_ID ? no_memory(err) : STN_OK;
}

stn_status stn_text_event(stn_text *text, const char *name, size_t size, stn_err *err) {
    size_t known = text->events.count;
    uint32_t slot = stn_intern_add(&text->events, name, size);
    text->field_count = 0;
    stn_arena_reset(&text->arena);
    if (slot == STN_INTERN_NONE) {
        return no_memory(err);
    }
    if (text->events.count > known) {
        stn_status status = type_learn(text, slot, text->events.texts[slot], err);
        if (status) {
            return status;
        }
    }
    text->slot = slot;
    text->type = text->types[slot].type;
    return STN_OK;
}

void stn_text_finish(const stn_text *text, stn_event *event) {
    event->type = text->type;
    event->fields = text->fields;
    event->field_count = (uint16_t)text->field_count;
}

void stn_text_fini(stn_text *text) {
    stn_intern_fini(&text->events);
    stn_intern_fini(&text->keys);
    stn_map_fini(&text->key_ids);
    stn_map_fini(&text->call_ids);
    stn_arena_fini(&text->arena);
    stn_free(text->types);
    stn_free(text->fields);
    *text = (stn_text){0};
}

/* ---- keys ------------------------------------------------------------ */

static stn_status key_learn(stn_text *text, uint32_t key, uint64_t *packed, stn_err *err) {
    const char *event = stn_catalog_type_at(text->catalog, text->type)->name;
    const char *name = stn_canon_field(event, text->keys.texts[key]);
    value_kind kind = kind_of(event, name);
    uint32_t id = stn_catalog_cstring(text->catalog, name);
    if (id == STN_NO_ID) {
        return no_memory(err);
    }
    *packed = (uint64_t)id << 8 | kind;
    return STN_OK;
}

/* String id and kind of the field called @p key in the present event. */
static stn_status key_find(stn_text *text, const char *key, size_t size, fast_key *out,
                           stn_err *err) {
    size_t place = text->field_count;
    fast_key *fast = place < FAST_KEYS ? &text->types[text->slot].keys[place] : NULL;
    if (fast && fast->text && fast->size == size && memcmp(fast->text, key, size) == 0) {
        *out = *fast;
        return STN_OK;
    }
    uint32_t id = stn_intern_add(&text->keys, key, size);
    if (id == STN_INTERN_NONE) {
        return no_memory(err);
    }
    bool added = false;
    uint64_t *packed = stn_map_put(&text->key_ids, (uint64_t)text->slot << 32 | id, &added);
    if (!packed) {
        return no_memory(err);
    }
    /* A value of 0 (string 0, VALUE_PLAIN) is learnt anew each time, which is harmless. */
    stn_status status = *packed == 0 ? key_learn(text, id, packed, err) : STN_OK;
    if (status) {
        return status;
    }
    *out = (fast_key){.text = text->keys.texts[id],
                      .size = (uint32_t)size,
                      .kind = (uint32_t)(*packed & 0xff),
                      .name = (uint32_t)(*packed >> 8)};
    if (fast) {
        *fast = *out;
    }
    return STN_OK;
}

/* ---- values ---------------------------------------------------------- */

bool stn_text_decimal(const char **at, const char *end, uint64_t *value) {
    const char *p = *at;
    uint64_t sum = 0;
    while (p < end && *p >= '0' && *p <= '9') {
        unsigned digit = (unsigned)(*p - '0');
        if (sum > (UINT64_MAX - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
        p++;
    }
    if (p == *at) {
        return false;
    }
    *at = p;
    *value = sum;
    return true;
}

bool stn_text_time(const char **at, const char *end, uint64_t *time_ns) {
    const char *p = *at;
    uint64_t whole;
    if (!stn_text_decimal(&p, end, &whole)) {
        return false;
    }
    if (p == end || *p != '.') {
        *at = p;
        *time_ns = whole;
        return true;
    }
    uint64_t unit = 1000000000;
    uint64_t part = 0;
    const char *digits = ++p;
    while (p < end && *p >= '0' && *p <= '9') {
        unit /= 10;
        part += unit * (uint64_t)(*p - '0');
        p++;
    }
    if (p == digits || whole > UINT64_MAX / 1000000000 - 1) {
        return false;
    }
    *at = p;
    *time_ns = whole * 1000000000 + part;
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(const char *value, size_t size, uint64_t *out) {
    uint64_t sum = 0;
    if (size == 0 || size > 16) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        int digit = hex_digit(value[i]);
        if (digit < 0) {
            return false;
        }
        sum = sum << 4 | (uint64_t)digit;
    }
    *out = sum;
    return true;
}

/* Decimal with the sign taken off; numbers of text are signed unless they are too large. */
static bool signed_decimal(const char *value, size_t size, bool negative, stn_field *field) {
    const char *at = value;
    uint64_t number;
    if (!stn_text_decimal(&at, value + size, &number) || at != value + size) {
        return false;
    }
    if (negative) {
        field->kind = STN_FIELD_INT;
        field->v.i = (int64_t)(0 - number);
        return number <= (uint64_t)INT64_MAX + 1;
    }
    if (number > INT64_MAX) {
        field->kind = STN_FIELD_UINT;
        field->v.u = number;
    } else {
        field->kind = STN_FIELD_INT;
        field->v.i = (int64_t)number;
    }
    return true;
}

bool stn_text_number(const char *value, size_t size, stn_field *field) {
    if (size == 0) {
        return false;
    }
    if (size > 2 && value[0] == '0' && (value[1] | 0x20) == 'x') {
        field->kind = STN_FIELD_HEX;
        return parse_hex(value + 2, size - 2, &field->v.u);
    }
    bool negative = value[0] == '-';
    const char *digits = value + negative;
    size_t count = size - negative;
    if (size == 16 && (value[0] == '0' || hex_digit(value[0]) > 9)) {
        /* An address as %p prints it. */
        field->kind = STN_FIELD_HEX;
        return parse_hex(value, size, &field->v.u);
    }
    if (count == 0 || (digits[0] == '0' && (count > 1 || negative))) {
        return false; /* "007" and "-0" would not come back as they were */
    }
    return signed_decimal(digits, count, negative, field);
}

static bool parse_dev(const char *value, size_t size, stn_field *field) {
    const char *at = value;
    const char *end = value + size;
    uint64_t major;
    uint64_t minor;
    if (!stn_text_decimal(&at, end, &major) || at == end || *at != ',') {
        return stn_text_number(value, size, field);
    }
    at++;
    if (!stn_text_decimal(&at, end, &minor) || at != end || major >= 4096 || minor >= 1u << 20) {
        return false;
    }
    field->kind = STN_FIELD_UINT;
    field->v.u = major << 20 | minor;
    return true;
}

/* A word that stands for a number >= 0; -1 says that it is none. */
static bool parse_word(int64_t number, const char *value, size_t size, stn_field *field) {
    if (number < 0) {
        return stn_text_number(value, size, field);
    }
    field->kind = STN_FIELD_INT;
    field->v.i = number;
    return true;
}

static int64_t handled_parse(const char *value, size_t size) {
    if (size == 7 && memcmp(value, "handled", 7) == 0) {
        return 1;
    }
    return size == 9 && memcmp(value, "unhandled", 9) == 0 ? 0 : -1;
}

static bool value_parse(value_kind kind, const char *value, size_t size, stn_field *field) {
    switch (kind) {
    case VALUE_STRING:
        return false;
    case VALUE_CPU:
        return signed_decimal(value, size, false, field) || stn_text_number(value, size, field);
    case VALUE_STATE:
        return parse_word(stn_task_state_parse(value, size), value, size, field);
    case VALUE_SOFTIRQ:
        return parse_word(stn_softirq_parse(value, size), value, size, field);
    case VALUE_DEV:
        return parse_dev(value, size, field);
    case VALUE_HANDLED:
        return parse_word(handled_parse(value, size), value, size, field);
    case VALUE_U32:
        if (size == 2 && memcmp(value, "-1", 2) == 0) {
            field->kind = STN_FIELD_UINT;
            field->v.u = UINT32_MAX;
            return true;
        }
        break;
    case VALUE_NS:
        if (size > 5 && memcmp(value + size - 5, " [ns]", 5) == 0) {
            return stn_text_number(value, size - 5, field);
        }
        break;
    case VALUE_PLAIN:
    case VALUE_DROP:
        break;
    }
    return stn_text_number(value, size, field);
}

/* ---- fields ---------------------------------------------------------- */

static stn_status field_add(stn_text *text, stn_field field, stn_err *err) {
    if (text->field_count >= UINT16_MAX) {
        return stn_err_set(err, STN_EFORMAT, "an event of more than 65535 fields");
    }
    if (text->field_count >= text->field_capacity &&
        stn_grow(&text->fields, &text->field_capacity, text->field_count + 1,
                 sizeof *text->fields)) {
        return no_memory(err);
    }
    text->fields[text->field_count++] = field;
    return STN_OK;
}

stn_status stn_text_put(stn_text *text, const char *key, size_t key_size, char *value,
                        size_t value_size, stn_err *err) {
    fast_key found = {.text = NULL};
    stn_status status = key_find(text, key, key_size, &found, err);
    if (status || found.kind == VALUE_DROP) {
        return status;
    }
    stn_field field = {.name = found.name};
    if (!value_parse((value_kind)found.kind, value, value_size, &field)) {
        value[value_size] = '\0';
        field.kind = STN_FIELD_STR;
        field.v.s = value;
    }
    return field_add(text, field, err);
}

stn_status stn_text_put_field(stn_text *text, const char *key, size_t key_size, stn_field field,
                              stn_err *err) {
    fast_key found = {.text = NULL};
    stn_status status = key_find(text, key, key_size, &found, err);
    if (status) {
        return status;
    }
    field.name = found.name;
    return field_add(text, field, err);
}

stn_status stn_text_put_seq(stn_text *text, const char *key, size_t key_size, const int64_t *items,
                            uint32_t count, bool is_signed, stn_err *err) {
    stn_seq *seq = stn_arena_alloc(&text->arena, sizeof *seq);
    int64_t *copy = stn_arena_alloc(&text->arena, (count ? count : 1) * sizeof *copy);
    if (!seq || !copy) {
        return no_memory(err);
    }
    if (count) {
        memcpy(copy, items, count * sizeof *copy);
    }
    *seq = (stn_seq){.count = count, .is_signed = is_signed, .items = copy};
    stn_field field = {.kind = STN_FIELD_SEQ, .v.seq = seq};
    return stn_text_put_field(text, key, key_size, field, err);
}
