/* Attribute tables in a model file. Every index is checked, so that drawing need not. */
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/attr.h"

static size_t field_slots(const stn_attr *attr) {
    return (size_t)attr->vocab->type_count * STN_VFIELD_MAX;
}

static void put_starts(const stn_attr *attr, stn_blob *blob) {
    stn_blob_u32(blob, attr->start_count);
    for (uint32_t i = 0; i < attr->start_count; i++) {
        stn_start_put(&attr->starts[i], blob);
    }
    stn_blob_u32(blob, attr->crowd_count);
    for (uint32_t i = 0; i < attr->crowd_count; i++) {
        stn_blob_u32(blob, attr->crowds[i].comm);
        stn_blob_u32(blob, attr->crowds[i].least);
        stn_blob_u32(blob, attr->crowds[i].most);
    }
    stn_sleeps_put(&attr->sleeps, blob);
}

void stn_attr_put(const stn_attr *attr, stn_blob *blob) {
    stn_blob_u16(blob, attr->cpu_count);
    stn_blob_u32(blob, attr->thread_limit);
    stn_blob_u32(blob, attr->slots.count);
    for (uint32_t t = 0; t < attr->vocab->type_count; t++) {
        for (uint16_t f = 0; f < attr->vocab->types[t].field_count; f++) {
            const stn_attr_field *field = &attr->fields[(size_t)t * STN_VFIELD_MAX + f];
            stn_blob_u16(blob, attr->slots.of[(size_t)t * STN_VFIELD_MAX + f]);
            stn_blob_u8(blob, field->source.kind);
            stn_blob_u8(blob, field->source.index);
            stn_blob_u16(blob, field->source.type);
            stn_blob_u8(blob, field->kind);
            stn_blob_u8(blob, field->age);
        }
        for (int k = 0; k < STN_TYPE_KEYS; k++) {
            stn_blob_u8(blob, attr->key_age[t][k]);
        }
    }
    stn_blob_u32(blob, attr->value_count);
    for (uint32_t i = 0; i < attr->value_count; i++) {
        stn_blob_u64(blob, (uint64_t)attr->values[i].v);
        stn_blob_u8(blob, (uint8_t)attr->values[i].kind);
    }
    put_starts(attr, blob);
    stn_templates_put(&attr->templates, blob);
    stn_wakes_put(&attr->wakes, blob);
    stn_dues_put(&attr->dues, blob);
    stn_chain_put(&attr->chain, blob);
}

static bool get_field(stn_attr *attr, stn_cursor *cursor, uint32_t t, uint16_t f) {
    stn_attr_field *field = &attr->fields[(size_t)t * STN_VFIELD_MAX + f];
    uint16_t slot = stn_cursor_u16(cursor);
    attr->slots.of[(size_t)t * STN_VFIELD_MAX + f] = slot;
    field->source.kind = stn_cursor_u8(cursor);
    field->source.index = stn_cursor_u8(cursor);
    field->source.type = stn_cursor_u16(cursor);
    field->kind = stn_cursor_u8(cursor);
    field->age = stn_cursor_u8(cursor);
    return (slot == STN_SLOT_NONE || slot < attr->slots.count) &&
           field->source.kind < STN_SOURCE_KINDS && field->source.index < STN_VFIELD_MAX &&
           field->source.type < attr->vocab->type_count && field->kind <= STN_FIELD_REAL &&
           field->age < STN_AGES;
}

static bool get_fields(stn_attr *attr, stn_cursor *cursor) {
    for (uint32_t t = 0; t < attr->vocab->type_count && !cursor->failed; t++) {
        for (uint16_t f = 0; f < attr->vocab->types[t].field_count; f++) {
            if (!get_field(attr, cursor, t, f)) {
                return false;
            }
        }
        for (int k = 0; k < STN_TYPE_KEYS; k++) {
            attr->key_age[t][k] = stn_cursor_u8(cursor);
            if (attr->key_age[t][k] > STN_KEY_BY_VALUE) {
                return false;
            }
        }
    }
    return !cursor->failed;
}

static stn_status get_values(stn_attr *attr, stn_cursor *cursor) {
    uint32_t count = stn_cursor_count(cursor, 9);
    attr->values = stn_malloc(count * sizeof *attr->values);
    if (!attr->values) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        stn_val *val = &attr->values[i];
        *val = (stn_val){.v = (int64_t)stn_cursor_u64(cursor)};
        val->kind = stn_cursor_u8(cursor);
        bool text = val->kind == STN_FIELD_STR;
        if (val->kind > STN_FIELD_STR ||
            (text && (val->v < 0 || (size_t)val->v >= attr->vocab->texts.count))) {
            return STN_EFORMAT;
        }
    }
    attr->value_count = count;
    return cursor->failed ? STN_EFORMAT : STN_OK;
}

static stn_status get_crowds(stn_attr *attr, stn_cursor *cursor) {
    uint32_t count = stn_cursor_count(cursor, 12);
    attr->crowds = stn_malloc(count * sizeof *attr->crowds);
    if (!attr->crowds) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        attr->crowds[i].comm = stn_cursor_u32(cursor);
        attr->crowds[i].least = stn_cursor_u32(cursor);
        attr->crowds[i].most = stn_cursor_u32(cursor);
    }
    attr->crowd_count = count;
    return cursor->failed ? STN_EFORMAT : stn_sleeps_get(&attr->sleeps, cursor);
}

static stn_status get_starts(stn_attr *attr, stn_cursor *cursor) {
    uint32_t count = stn_cursor_count(cursor, 4);
    if (count == 0) {
        return STN_EFORMAT;
    }
    attr->starts = stn_calloc(count, sizeof *attr->starts);
    if (!attr->starts) {
        return STN_ENOMEM;
    }
    attr->start_count = count;
    stn_status status = STN_OK;
    for (uint32_t i = 0; i < count && status == STN_OK; i++) {
        status = stn_start_get(&attr->starts[i], cursor, attr->vocab, attr->domains);
        if (status == STN_OK && attr->starts[i].cpu_count != attr->cpu_count) {
            status = STN_EFORMAT;
        }
    }
    return status == STN_OK ? get_crowds(attr, cursor) : status;
}

stn_status stn_attr_get(stn_attr *attr, stn_cursor *cursor, const stn_vocab *vocab,
                        const stn_domains *domains) {
    *attr = (stn_attr){.vocab = vocab, .domains = domains};
    attr->cpu_count = stn_cursor_u16(cursor);
    attr->thread_limit = stn_cursor_u32(cursor);
    attr->slots.count = stn_cursor_u32(cursor);
    attr->slots.of = stn_malloc(field_slots(attr) * sizeof *attr->slots.of);
    attr->fields = stn_calloc(field_slots(attr), sizeof *attr->fields);
    attr->key_age = stn_calloc(vocab->type_count, sizeof *attr->key_age);
    stn_status status = STN_OK;
    if (!attr->slots.of || !attr->fields || !attr->key_age) {
        status = STN_ENOMEM;
    } else {
        memset(attr->slots.of, 0xff, field_slots(attr) * sizeof *attr->slots.of);
    }
    bool sane = attr->cpu_count > 0 && attr->cpu_count <= STN_CPU_MAX &&
                attr->slots.count <= field_slots(attr) && attr->thread_limit < INT32_MAX / 4;
    if (status == STN_OK && (!sane || !get_fields(attr, cursor))) {
        status = STN_EFORMAT;
    }
    if (status == STN_OK) {
        status = get_values(attr, cursor);
    }
    if (status == STN_OK) {
        status = get_starts(attr, cursor);
    }
    if (status == STN_OK) {
        status = stn_templates_init(&attr->templates, vocab, domains);
    }
    if (status == STN_OK) {
        status = stn_templates_get(&attr->templates, cursor);
    }
    if (status == STN_OK) {
        status = stn_wakes_get(&attr->wakes, cursor);
        attr->slots.wakes = &attr->wakes;
    }
    if (status == STN_OK) {
        status = stn_dues_get(&attr->dues, cursor, vocab->type_count);
    }
    if (status == STN_OK) {
        status = stn_chain_get(&attr->chain, cursor, UINT32_MAX);
    }
    if (status != STN_OK) {
        stn_attr_fini(attr);
    }
    return status;
}
