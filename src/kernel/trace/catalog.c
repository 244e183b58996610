/* Names and event types of all traces that are looked at together.
 * Invariant: type ids are dense, type 0 is the lost mark, and a type's texts live
 * as long as the catalog because the interner never moves them. */
#include <string.h>

#include <standin/trace.h>

#include "core/base/alloc.h"
#include "core/base/intern.h"
#include "core/base/map.h"

struct stn_catalog {
    stn_intern strings;
    stn_type *types;
    size_t type_count;
    size_t type_capacity;
    stn_map type_ids; /* name id << 32 | original id -> type */
};

stn_status stn_catalog_new(stn_catalog **out, stn_err *err) {
    *out = NULL;
    stn_catalog *catalog = stn_calloc(1, sizeof *catalog);
    if (!catalog) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a name table");
    }
    if (stn_catalog_type(catalog, "lost_events", NULL) != STN_TYPE_LOST) {
        stn_catalog_free(catalog);
        return stn_err_set(err, STN_ENOMEM, "out of memory for a name table");
    }
    *out = catalog;
    return STN_OK;
}

void stn_catalog_free(stn_catalog *catalog) {
    if (!catalog) {
        return;
    }
    stn_intern_fini(&catalog->strings);
    stn_map_fini(&catalog->type_ids);
    stn_free(catalog->types);
    stn_free(catalog);
}

uint32_t stn_catalog_string(stn_catalog *catalog, const char *text, size_t size) {
    return stn_intern_add(&catalog->strings, text, size);
}

uint32_t stn_catalog_cstring(stn_catalog *catalog, const char *text) {
    return stn_intern_add(&catalog->strings, text, strlen(text));
}

uint32_t stn_catalog_find(const stn_catalog *catalog, const char *text) {
    return stn_intern_find(&catalog->strings, text, strlen(text));
}

const char *stn_catalog_text(const stn_catalog *catalog, uint32_t id) {
    return id < catalog->strings.count ? catalog->strings.texts[id] : "";
}

uint32_t stn_catalog_string_count(const stn_catalog *catalog) {
    return (uint32_t)catalog->strings.count;
}

static bool type_describe(stn_catalog *catalog, stn_type *type) {
    static const char enter[] = "sys_enter_", leave[] = "sys_exit_";
    const char *call = NULL;
    if (strncmp(type->name, enter, sizeof enter - 1) == 0) {
        type->syscall_enter = true;
        call = type->name + sizeof enter - 1;
    } else if (strncmp(type->name, leave, sizeof leave - 1) == 0) {
        type->syscall_exit = true;
        call = type->name + sizeof leave - 1;
    }
    if (call) {
        type->syscall_id = stn_catalog_cstring(catalog, call);
        return type->syscall_id != STN_NO_ID;
    }
    return true;
}

uint32_t stn_catalog_type(stn_catalog *catalog, const char *name, const char *original) {
    uint32_t name_id = stn_catalog_cstring(catalog, name);
    uint32_t original_id = original ? stn_catalog_cstring(catalog, original) : name_id;
    if (name_id == STN_NO_ID || original_id == STN_NO_ID) {
        return STN_NO_ID;
    }
    uint64_t key = (uint64_t)name_id << 32 | original_id;
    const uint64_t *known = stn_map_get(&catalog->type_ids, key);
    if (known) {
        return (uint32_t)*known;
    }
    stn_type type = {
        .name = catalog->strings.texts[name_id],
        .original = catalog->strings.texts[original_id],
        .name_id = name_id,
        .syscall_id = STN_NO_ID,
    };
    if (!type_describe(catalog, &type) ||
        stn_grow(&catalog->types, &catalog->type_capacity, catalog->type_count + 1,
                 sizeof *catalog->types)) {
        return STN_NO_ID;
    }
    uint64_t *slot = stn_map_put(&catalog->type_ids, key, NULL);
    if (!slot) {
        return STN_NO_ID;
    }
    *slot = catalog->type_count;
    catalog->types[catalog->type_count] = type;
    return (uint32_t)catalog->type_count++;
}

const stn_type *stn_catalog_type_at(const stn_catalog *catalog, uint32_t type) {
    return &catalog->types[type];
}

uint32_t stn_catalog_type_count(const stn_catalog *catalog) {
    return (uint32_t)catalog->type_count;
}
