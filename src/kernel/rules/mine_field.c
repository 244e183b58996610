/* Which values a field of a type takes: a set if it is small and saturated, else a range of
 * numbers that every part of the data agrees on. */
#include "kernel/rules/mine.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"

#define FIELD_VALUES  24u  /* more distinct values than this are no set */
#define VALUE_BUDGET  0.05 /* expected breaks per 1,000 events of all sets */
#define RANGE_SUPPORT 4u   /* a range needs so many times the support of a set */
#define TEXT_MAX      64u

typedef struct field_value {
    int64_t number;
    const char *text; /* NULL: number */
    uint64_t count, parts;
} field_value;

typedef struct field_slot {
    uint32_t type, name;
    uint32_t kind;
    bool odd; /* mixed kinds, or a text that no rule can hold */
    uint64_t support;
    uint32_t value_count; /* FIELD_VALUES + 1: too many */
    field_value values[FIELD_VALUES];
    stn_mine_extent *parts; /* [STN_MINE_PARTS], numbers only */
    double risk;
} field_slot;

typedef struct field_miner {
    stn_mine *mine;
    stn_map index; /* type << 32 | name to slot + 1 */
    field_slot **slots;
    size_t count, capacity;
    stn_arena arena;
} field_miner;

static void field_forget(void *self) {
    (void)self;
}

static field_slot *slot_of(field_miner *miner, uint32_t type, const stn_field *field) {
    uint64_t *at = stn_map_put(&miner->index, (uint64_t)type << 32 | field->name, NULL);
    if (!at) {
        return NULL;
    }
    if (*at) {
        return miner->slots[*at - 1];
    }
    if (stn_grow(&miner->slots, &miner->capacity, miner->count + 1, sizeof *miner->slots)) {
        return NULL;
    }
    field_slot *slot = stn_arena_alloc(&miner->arena, sizeof *slot);
    stn_mine_extent *parts = stn_arena_alloc(&miner->arena, STN_MINE_PARTS * sizeof *parts);
    if (!slot || !parts) {
        return NULL;
    }
    memset(parts, 0, STN_MINE_PARTS * sizeof *parts);
    *slot = (field_slot){.type = type, .name = field->name, .kind = field->kind, .parts = parts};
    miner->slots[miner->count++] = slot;
    *at = miner->count;
    return slot;
}

static bool same_value(const field_value *value, const stn_field *field) {
    return value->text ? strcmp(value->text, field->v.s) == 0 : value->number == field->v.i;
}

/* Texts that can stand in a rule without escapes. */
static bool plain_text(const char *text) {
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == '\\') {
            return false;
        }
    }
    return size > 0 && size <= TEXT_MAX;
}

static stn_status count_value(field_miner *miner, field_slot *slot, const stn_field *field,
                              uint32_t part) {
    for (uint32_t i = 0; i < slot->value_count; i++) {
        if (same_value(&slot->values[i], field)) {
            slot->values[i].count++;
            slot->values[i].parts |= 1ull << part;
            return STN_OK;
        }
    }
    if (slot->value_count == FIELD_VALUES) {
        slot->value_count++;
        return STN_OK;
    }
    field_value value = {.count = 1, .parts = 1ull << part};
    if (field->kind == STN_FIELD_STR) {
        value.text = stn_arena_text(&miner->arena, field->v.s, strlen(field->v.s));
        if (!value.text) {
            return STN_ENOMEM;
        }
    } else {
        value.number = field->v.i;
    }
    slot->values[slot->value_count++] = value;
    return STN_OK;
}

static stn_status field_see(void *self, const stn_event *event, uint32_t type, uint32_t part) {
    field_miner *miner = self;
    for (uint32_t i = 0; i < event->field_count; i++) {
        const stn_field *field = &event->fields[i];
        if (field->kind == STN_FIELD_REAL || field->kind == STN_FIELD_SEQ) {
            continue;
        }
        field_slot *slot = slot_of(miner, type, field);
        if (!slot) {
            return STN_ENOMEM;
        }
        bool text = field->kind == STN_FIELD_STR;
        slot->odd = slot->odd || text != (slot->kind == STN_FIELD_STR) ||
                    (text && !plain_text(field->v.s)) ||
                    (field->kind != STN_FIELD_INT && field->v.i < 0);
        if (slot->odd) {
            continue;
        }
        slot->support++;
        if (!text) {
            stn_mine_extend(&slot->parts[part], field->v.i);
        }
        if (slot->value_count <= FIELD_VALUES) {
            stn_status status = count_value(miner, slot, field, part);
            if (status) {
                return status;
            }
        }
    }
    return STN_OK;
}

/* ---- rules from slots --------------------------------------------------- */

static void judge_set(const stn_mine *mine, field_slot *slot) {
    uint64_t once = 0, lone = 0;
    for (uint32_t i = 0; i < slot->value_count; i++) {
        const field_value *value = &slot->values[i];
        once += value->count == 1;
        lone += stn_mine_lone(mine, value->parts) ? value->count : 0;
    }
    slot->risk = stn_mine_risk(mine, once, lone);
}

static int slot_order(const void *left, const void *right) {
    const field_slot *a = *(field_slot *const *)left, *b = *(field_slot *const *)right;
    if (a->risk != b->risk) {
        return a->risk < b->risk ? -1 : 1;
    }
    if (a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    return (a->name > b->name) - (a->name < b->name);
}

static stn_status print_head(stn_mine *mine, const field_slot *slot) {
    const char *type = stn_mine_name(mine, slot->type);
    const char *name = stn_catalog_text(mine->catalog, slot->name);
    return stn_mine_print(mine,
                          "\nrule mined_value_%s_%s\n"
                          "  doc \"%s of %s takes the values that it took in training.\"\n"
                          "  support %llu\n  key none\n  value %s .%s in (",
                          type, name, name, type, (unsigned long long)slot->support, type, name);
}

static int value_order(const void *left, const void *right) {
    const field_value *a = left, *b = right;
    if (a->text && b->text) {
        return strcmp(a->text, b->text);
    }
    return (a->number > b->number) - (a->number < b->number);
}

static stn_status print_set(stn_mine *mine, field_slot *slot) {
    stn_status status = print_head(mine, slot);
    qsort(slot->values, slot->value_count, sizeof *slot->values, value_order);
    for (uint32_t i = 0; !status && i < slot->value_count; i++) {
        const field_value *value = &slot->values[i];
        status = value->text ? stn_mine_print(mine, " \"%s\"", value->text)
                             : stn_mine_print(mine, " %lld", (long long)value->number);
    }
    return status ? status : stn_mine_print(mine, " )\n");
}

static stn_status print_range(stn_mine *mine, const field_slot *slot, int64_t lo, int64_t hi) {
    stn_status status = print_head(mine, slot);
    return status ? status : stn_mine_print(mine, " %lld..%lld )\n", (long long)lo, (long long)hi);
}

static stn_status emit_fields(field_miner *miner) {
    stn_mine *mine = miner->mine;
    double spent = 0;
    for (size_t i = 0; i < miner->count; i++) {
        judge_set(mine, miner->slots[i]);
    }
    if (miner->count) {
        qsort(miner->slots, miner->count, sizeof *miner->slots, slot_order);
    }
    for (size_t i = 0; i < miner->count; i++) {
        field_slot *slot = miner->slots[i];
        stn_status status = STN_OK;
        int64_t lo, hi;
        if (slot->odd || slot->support < mine->min_support ||
            stn_map_get(&mine->identifiers, slot->name)) {
            continue;
        }
        bool set = slot->value_count <= FIELD_VALUES && spent + slot->risk <= VALUE_BUDGET;
        if (set) {
            spent += slot->risk;
            status = print_set(mine, slot);
        } else if (slot->kind != STN_FIELD_STR && slot->kind != STN_FIELD_HEX &&
                   slot->support >= (uint64_t)RANGE_SUPPORT * mine->min_support &&
                   stn_mine_range(mine, slot->parts, mine->slack, &lo, &hi)) {
            status = print_range(mine, slot, lo, hi);
        }
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

stn_status stn_mine_fields(stn_mine *mine) {
    field_miner miner = {.mine = mine};
    stn_mine_pass pass = {.forget = field_forget, .see = field_see, .self = &miner};
    stn_status status = stn_mine_run(mine, &pass);
    if (!status) {
        status = emit_fields(&miner);
    }
    stn_map_fini(&miner.index);
    stn_free(miner.slots);
    stn_arena_fini(&miner.arena);
    return status;
}
