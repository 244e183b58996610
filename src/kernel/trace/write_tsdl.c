/* Event classes of a CTF trace in the making. */
#include "kernel/trace/write_tsdl.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "kernel/trace/canon.h"

#define NAME_SIZE 128

/* How a field lies in a packet. */
typedef enum layout {
    LAYOUT_INT,
    LAYOUT_UINT,
    LAYOUT_HEX,
    LAYOUT_REAL,
    LAYOUT_STR,
    LAYOUT_SEQ_SIGNED,
    LAYOUT_SEQ_UNSIGNED,
    LAYOUT_RWBS, /* letters of a block request as LTTng's bits */
    LAYOUT_PRIO, /* signed, less STN_LTTNG_PRIO_BASE */
} layout;

/* Fields whose values LTTng gives in a way of its own. */
typedef enum special { SPECIAL_NONE, SPECIAL_RWBS, SPECIAL_PRIO } special;

typedef struct member {
    uint32_t name_id; /* canonical; STN_NO_ID for what was filled in */
    uint32_t layout;
    uint32_t special;
    uint32_t size; /* bytes of an integer: 4 or 8 */
    bool written;  /* false: the length of the sequence behind it */
    char *name;    /* as in TSDL, without the underscores; dots part structures */
} member;

struct stn_tsdl_class {
    stn_tsdl_class *next; /* of the same type */
    uint32_t type;
    uint32_t stream;
    uint32_t id;
    uint32_t filled; /* slots whose filled-in values stand behind the event's own fields */
    uint32_t own_count;
    uint32_t count;
    member *members; /* [count] */
};

/* ---- shapes ---------------------------------------------------------- */

static bool rwbs_as_bits(const char *text, uint64_t *bits) {
    char back[16];
    size_t size = strlen(text);
    int64_t value = size < sizeof back ? stn_rwbs_parse(text, size) : -1;
    *bits = (uint64_t)value;
    return value >= 0 && strcmp(stn_rwbs_text(value, back, sizeof back), text) == 0;
}

static layout layout_of(const stn_field *field, special kind) {
    uint64_t bits;
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        return kind == SPECIAL_PRIO ? LAYOUT_PRIO : LAYOUT_INT;
    case STN_FIELD_UINT:
        return LAYOUT_UINT;
    case STN_FIELD_HEX:
        return LAYOUT_HEX;
    case STN_FIELD_REAL:
        return LAYOUT_REAL;
    case STN_FIELD_SEQ:
        return field->v.seq->is_signed ? LAYOUT_SEQ_SIGNED : LAYOUT_SEQ_UNSIGNED;
    case STN_FIELD_STR:
        break;
    }
    return kind == SPECIAL_RWBS && rwbs_as_bits(field->v.s, &bits) ? LAYOUT_RWBS : LAYOUT_STR;
}

/* Bytes that an integer needs; 0 for what is no integer. */
static uint32_t size_of(const stn_field *field) {
    switch ((stn_field_kind)field->kind) {
    case STN_FIELD_INT:
        return field->v.i >= INT32_MIN && field->v.i <= INT32_MAX ? 4 : 8;
    case STN_FIELD_UINT:
    case STN_FIELD_HEX:
        return field->v.u <= UINT32_MAX ? 4 : 8;
    case STN_FIELD_REAL:
    case STN_FIELD_STR:
    case STN_FIELD_SEQ:
        break;
    }
    return 0;
}

static special special_of(const stn_tsdl_classes *classes, const char *event, const char *field) {
    if (strncmp(event, "block_", 6) == 0 && strcmp(field, "rwbs") == 0) {
        return SPECIAL_RWBS;
    }
    return classes->kernel && stn_canon_is_prio(event, field) ? SPECIAL_PRIO : SPECIAL_NONE;
}

/* Same names and kinds in the same order; widths aside. */
static bool same_shape(const stn_tsdl_class *class, const stn_event *event, const stn_slotted *seen,
                       uint32_t stream) {
    if (class->stream != stream || class->own_count != event->field_count ||
        class->filled != seen->filled) {
        return false;
    }
    for (uint32_t i = 0; i < class->own_count; i++) {
        const member *m = &class->members[i];
        const stn_field *field = &event->fields[i];
        if (m->name_id != field->name || m->layout != layout_of(field, (special)m->special)) {
            return false;
        }
    }
    return true;
}

static bool fits(const stn_tsdl_class *class, const stn_event *event) {
    for (uint32_t i = 0; i < class->own_count; i++) {
        if (class->members[i].size == 4 && size_of(&event->fields[i]) == 8) {
            return false;
        }
    }
    return true;
}

/* ---- names ----------------------------------------------------------- */

/* What TSDL takes for an identifier, with the dots of "a.b", which become structures; the
 * underscore that is put before it keeps it apart from keywords. */
static void identifier(const char *name, char out[NAME_SIZE]) {
    size_t size = 0;
    for (; *name && size < NAME_SIZE - 8; name++) {
        char c = *name;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        out[size++] = plain || c == '.' ? c : '_';
    }
    out[size] = '\0';
}

/* Does @p name lie in the structure called by the first @p size bytes of @p path? */
static bool inside(const char *name, const char *path, size_t size) {
    return strncmp(name, path, size) == 0 && name[size] == '.';
}

/* A name is free if no member has it, none is a structure of this name or the other way round,
 * and no structure around it has been closed before. */
static bool name_free(const stn_tsdl_class *class, uint32_t index, const char *name) {
    size_t size = strlen(name);
    for (uint32_t i = 0; i < index; i++) {
        const char *other = class->members[i].name;
        if (strcmp(other, name) == 0 || inside(other, name, size) ||
            inside(name, other, strlen(other))) {
            return false;
        }
        for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
            size_t part = (size_t)(dot - name);
            if (inside(other, name, part) && !inside(class->members[index - 1].name, name, part)) {
                return false;
            }
        }
    }
    return true;
}

static bool member_name(stn_tsdl_class *class, uint32_t index, const char *event,
                        const char *canonical) {
    char name[NAME_SIZE] = "";
    identifier(stn_lttng_field(event, canonical), name);
    size_t size = strlen(name);
    bool is_free = name_free(class, index, name);
    for (size_t i = 0; !is_free && i < size; i++) {
        name[i] = name[i] == '.' ? '_' : name[i];
    }
    for (unsigned n = 2; !is_free && !name_free(class, index, name); n++) {
        snprintf(name + size, sizeof name - size, "_%u", n);
    }
    class->members[index].name = stn_strdup(name);
    return class->members[index].name != NULL;
}

static bool is_seq(const member *m) {
    return m->layout == LAYOUT_SEQ_SIGNED || m->layout == LAYOUT_SEQ_UNSIGNED;
}

/* A sequence "a" is written with its length before it, called "_a_length". A reader that shows
 * the length as a field hands us both: then the field needs no place of its own. Any other field
 * of that name has to give way. */
static bool clear_lengths(stn_tsdl_class *class) {
    for (uint32_t i = 0; i < class->count; i++) {
        const char *name = class->members[i].name;
        const char *dot = strrchr(name, '.');
        size_t path = dot ? (size_t)(dot - name) + 1 : 0;
        char length[NAME_SIZE + 16];
        snprintf(length, sizeof length, "%.*s_%s_length", (int)path, name, name + path);
        for (uint32_t j = 0; is_seq(&class->members[i]) && j < class->count; j++) {
            member *m = &class->members[j];
            if (strcmp(m->name, length) != 0) {
                continue;
            }
            if (j + 1 == i && m->layout == LAYOUT_UINT) {
                m->written = false;
                continue;
            }
            char *longer = stn_malloc(strlen(length) + 3);
            if (!longer) {
                return false;
            }
            sprintf(longer, "%s_2", length);
            stn_free(m->name);
            m->name = longer;
        }
    }
    return true;
}

/* ---- making one ------------------------------------------------------ */

static void class_free(stn_tsdl_class *class) {
    if (!class) {
        return;
    }
    for (uint32_t i = 0; class->members && i < class->count; i++) {
        stn_free(class->members[i].name);
    }
    stn_free(class->members);
    stn_free(class);
}

static uint32_t filled_count(const stn_slotted *seen) {
    return (uint32_t)__builtin_popcount(seen->filled);
}

static bool members_make(const stn_tsdl_classes *classes, stn_tsdl_class *class,
                         const stn_event *event, const stn_slotted *seen,
                         const stn_tsdl_class *narrower) {
    const char *canonical = stn_catalog_type_at(classes->catalog, event->type)->name;
    for (uint32_t i = 0; i < class->own_count; i++) {
        const stn_field *field = &event->fields[i];
        member *m = &class->members[i];
        const char *name = stn_catalog_text(classes->catalog, field->name);
        if (!member_name(class, i, canonical, name)) {
            return false;
        }
        m->name_id = field->name;
        m->special = special_of(classes, canonical, name);
        m->layout = layout_of(field, (special)m->special);
        m->size = size_of(field);
        if (narrower && narrower->members[i].size > m->size) {
            m->size = narrower->members[i].size;
        }
        m->written = true;
    }
    uint32_t at = class->own_count;
    for (uint32_t s = 0; s < STN_SLOTS_MAX; s++) {
        if (seen->filled >> s & 1) {
            member *m = &class->members[at];
            if (!member_name(class, at++, canonical, seen->row->slots[s].name)) {
                return false;
            }
            m->name_id = STN_NO_ID;
            m->written = true;
            m->layout = layout_of(&seen->values[s],
                                  special_of(classes, canonical, seen->row->slots[s].name));
            m->size = m->layout == LAYOUT_STR                      ? 0
                      : seen->row->slots[s].fill == STN_FILL_BYTES ? 8
                                                                   : 4;
        }
    }
    return clear_lengths(class);
}

/* @param narrower a class of the same shape whose integers are too short, or NULL */
static stn_tsdl_class *class_make(const stn_tsdl_classes *classes, const stn_event *event,
                                  const stn_slotted *seen, const stn_tsdl_class *narrower) {
    stn_tsdl_class *class = stn_calloc(1, sizeof *class);
    if (!class) {
        return NULL;
    }
    class->type = event->type;
    class->filled = seen->filled;
    class->own_count = event->field_count;
    class->count = class->own_count + filled_count(seen);
    class->members = stn_calloc(class->count ? class->count : 1, sizeof *class->members);
    if (!class->members || !members_make(classes, class, event, seen, narrower)) {
        class_free(class);
        return NULL;
    }
    return class;
}

static stn_status class_add(stn_tsdl_classes *classes, stn_tsdl_class *class, uint32_t stream,
                            stn_err *err) {
    if (!class ||
        stn_grow(&classes->all, &classes->capacity, classes->count + 1, sizeof *classes->all)) {
        class_free(class);
        return stn_err_set(err, STN_ENOMEM, "out of memory for event classes");
    }
    class->stream = stream;
    class->id = classes->next_id[stream]++;
    class->next = classes->lists[class->type];
    classes->lists[class->type] = class;
    classes->all[classes->count++] = class;
    return STN_OK;
}

static stn_status list_reach(stn_tsdl_classes *classes, uint32_t type, stn_err *err) {
    if (type < classes->list_count) {
        return STN_OK;
    }
    size_t need = (size_t)type + 1;
    if (stn_grow(&classes->lists, &classes->list_capacity, need, sizeof *classes->lists)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for event classes");
    }
    memset(classes->lists + classes->list_count, 0,
           (need - classes->list_count) * sizeof *classes->lists);
    classes->list_count = need;
    return STN_OK;
}

/* The class of this shape that fits, moved to the front. If there is none: NULL and, in
 * *narrower, the newest of this shape, which is the widest so far, or NULL. */
static stn_tsdl_class *class_seek(stn_tsdl_classes *classes, const stn_event *event,
                                  const stn_slotted *seen, uint32_t stream,
                                  stn_tsdl_class **narrower) {
    stn_tsdl_class **head = &classes->lists[event->type];
    *narrower = NULL;
    for (stn_tsdl_class **link = head; *link; link = &(*link)->next) {
        stn_tsdl_class *class = *link;
        if (!same_shape(class, event, seen, stream)) {
            continue;
        }
        if (fits(class, event)) {
            *link = class->next;
            class->next = *head;
            *head = class;
            return class;
        }
        *narrower = *narrower ? *narrower : class;
    }
    return NULL;
}

stn_status stn_tsdl_class_find(stn_tsdl_classes *classes, const stn_event *event,
                               const stn_slotted *seen, uint32_t stream, const stn_tsdl_class **out,
                               uint32_t *id, stn_err *err) {
    stn_status status = list_reach(classes, event->type, err);
    if (status) {
        return status;
    }
    stn_tsdl_class *narrower;
    stn_tsdl_class *class = class_seek(classes, event, seen, stream, &narrower);
    if (!class) {
        class = class_make(classes, event, seen, narrower);
        status = class_add(classes, class, stream, err);
    }
    if (!status) {
        *out = class;
        *id = class->id;
    }
    return status;
}

void stn_tsdl_classes_fini(stn_tsdl_classes *classes) {
    for (size_t i = 0; i < classes->count; i++) {
        class_free(classes->all[i]);
    }
    stn_free(classes->all);
    stn_free(classes->lists);
    *classes = (stn_tsdl_classes){0};
}

/* ---- packets --------------------------------------------------------- */

static void put_seq(stn_line *packet, const stn_seq *seq) {
    stn_tsdl_integer(packet, seq->count, 4);
    for (uint32_t i = 0; i < seq->count; i++) {
        stn_tsdl_integer(packet, (uint64_t)seq->items[i], 8);
    }
}

static void put_member(const member *m, const stn_field *field, stn_line *packet) {
    uint64_t bits = 0;
    switch ((layout)m->layout) {
    case LAYOUT_INT:
    case LAYOUT_UINT:
    case LAYOUT_HEX:
        stn_tsdl_integer(packet, field->v.u, m->size);
        break;
    case LAYOUT_PRIO:
        stn_tsdl_integer(packet, field->v.u - STN_LTTNG_PRIO_BASE, m->size);
        break;
    case LAYOUT_REAL:
        memcpy(&bits, &field->v.f, sizeof bits);
        stn_tsdl_integer(packet, bits, 8);
        break;
    case LAYOUT_STR:
        stn_line_bytes(packet, field->v.s, strlen(field->v.s) + 1);
        break;
    case LAYOUT_SEQ_SIGNED:
    case LAYOUT_SEQ_UNSIGNED:
        put_seq(packet, field->v.seq);
        break;
    case LAYOUT_RWBS:
        (void)rwbs_as_bits(field->v.s, &bits);
        stn_tsdl_integer(packet, bits, 4);
        break;
    }
}

void stn_tsdl_class_put(const stn_tsdl_class *class, const stn_event *event,
                        const stn_slotted *seen, stn_line *packet) {
    for (uint32_t i = 0; i < class->own_count; i++) {
        if (class->members[i].written) {
            put_member(&class->members[i], &event->fields[i], packet);
        }
    }
    uint32_t at = class->own_count;
    for (uint32_t s = 0; at < class->count; s++) {
        if (class->filled >> s & 1) {
            put_member(&class->members[at++], &seen->values[s], packet);
        }
    }
}

/* ---- TSDL ------------------------------------------------------------ */

void stn_tsdl_literal(stn_line *out, const char *string) {
    stn_line_char(out, '"');
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\') {
            stn_line_char(out, '\\');
            stn_line_char(out, *string);
        } else {
            stn_line_char(out, c < 0x20 || c == 0x7f ? '?' : *string);
        }
    }
    stn_line_char(out, '"');
}

static void tsdl_integer(stn_line *out, unsigned bits, bool is_signed, unsigned base) {
    char text[96];
    snprintf(text, sizeof text,
             "\t\tinteger { size = %u; align = 8; signed = %d; encoding = none; base = %u; }", bits,
             is_signed, base);
    stn_line_string(out, text);
}

/* What stands before and behind the last part of a dotted name. */
static void tsdl_name(stn_line *out, const char *before, const char *name, const char *after) {
    const char *dot = strrchr(name, '.');
    stn_line_string(out, before);
    stn_line_string(out, dot ? dot + 1 : name);
    stn_line_string(out, after);
}

static void tsdl_seq(stn_line *out, const member *m) {
    tsdl_integer(out, 32, false, 10);
    tsdl_name(out, " __", m->name, "_length;\n");
    tsdl_integer(out, 64, m->layout == LAYOUT_SEQ_SIGNED, 10);
    tsdl_name(out, " _", m->name, "");
    tsdl_name(out, "[ __", m->name, "_length ];\n");
}

static void tsdl_member(stn_line *out, const member *m) {
    switch ((layout)m->layout) {
    case LAYOUT_INT:
    case LAYOUT_PRIO:
        tsdl_integer(out, m->size * 8, true, 10);
        break;
    case LAYOUT_UINT:
        tsdl_integer(out, m->size * 8, false, 10);
        break;
    case LAYOUT_HEX:
        tsdl_integer(out, m->size * 8, false, 16);
        break;
    case LAYOUT_RWBS:
        tsdl_integer(out, 32, false, 10);
        break;
    case LAYOUT_REAL:
        stn_line_string(out, "\t\tfloating_point { exp_dig = 11; mant_dig = 53; align = 8; }");
        break;
    case LAYOUT_STR:
        stn_line_string(out, "\t\tstring");
        break;
    case LAYOUT_SEQ_SIGNED:
    case LAYOUT_SEQ_UNSIGNED:
        tsdl_seq(out, m);
        return;
    }
    tsdl_name(out, " _", m->name, ";\n");
}

/* Close the structures around  last that are not around  next, open the others. Either may
 * be NULL: nothing is open there. */
static void tsdl_structures(stn_line *out, const char *last, const char *next) {
    size_t common = 0;
    for (size_t i = 0; last && next && last[i] && last[i] == next[i]; i++) {
        common = last[i] == '.' ? i + 1 : common;
    }
    for (const char *dot = last ? strrchr(last, '.') : NULL; dot && dot >= last + common;) {
        const char *begin = dot;
        while (begin > last && begin[-1] != '.') {
            begin--;
        }
        stn_line_string(out, "\t\t} _");
        stn_line_bytes(out, begin, (size_t)(dot - begin));
        stn_line_string(out, ";\n");
        dot = begin > last ? begin - 1 : NULL;
    }
    for (const char *dot = next ? strchr(next + common, '.') : NULL; dot;
         dot = strchr(dot + 1, '.')) {
        stn_line_string(out, "\t\tstruct {\n");
    }
}

static void tsdl_class(const stn_tsdl_classes *classes, const stn_tsdl_class *class,
                       stn_line *out) {
    const stn_type *type = stn_catalog_type_at(classes->catalog, class->type);
    char buffer[256], text[96];
    const char *name =
        classes->originals ? type->original : stn_lttng_event(type->name, buffer, sizeof buffer);
    stn_line_string(out, "event {\n\tname = ");
    stn_tsdl_literal(out, name);
    snprintf(text, sizeof text, ";\n\tid = %u;\n\tstream_id = %u;\n\tfields := struct {\n",
             class->id, class->stream);
    stn_line_string(out, text);
    const char *last = NULL;
    for (uint32_t i = 0; i < class->count; i++) {
        const member *m = &class->members[i];
        if (m->written) {
            tsdl_structures(out, last, m->name);
            tsdl_member(out, m);
            last = m->name;
        }
    }
    tsdl_structures(out, last, NULL);
    stn_line_string(out, "\t};\n};\n\n");
}

void stn_tsdl_classes_text(const stn_tsdl_classes *classes, stn_line *out) {
    for (size_t i = 0; i < classes->count; i++) {
        tsdl_class(classes, classes->all[i], out);
    }
}
