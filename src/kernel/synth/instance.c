/* Instances of the rules' domains: hashed by key, and listed by scope with the one touched
 * last in front. A list keeps so many and forgets the oldest, which bounds the world. */
#include "kernel/synth/world.h"

#include <string.h>

#include "core/base/alloc.h"

enum { KEPT_ALL = 512, KEPT_SCOPED = 64, BUCKETS = 4096 };

/* A family is usual in a domain if a fifth of the domain's events are of it. */
static stn_status count_families(stn_world *world) {
    const stn_vocab *vocab = world->vocab;
    uint64_t total[STN_DOMAIN_MAX] = {0};
    world->family_seen = stn_calloc(vocab->type_count, 1);
    uint64_t *counts = stn_calloc(vocab->type_count, sizeof *counts);
    if (!world->family_seen || !counts) {
        stn_free(counts);
        return STN_ENOMEM;
    }
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        counts[vocab->types[t].family] += vocab->types[t].count;
        for (uint8_t k = 0; k < world->domains->types[t].count; k++) {
            total[world->domains->types[t].keys[k].domain] += vocab->types[t].count;
        }
    }
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        for (uint8_t k = 0; k < world->domains->types[t].count; k++) {
            uint8_t domain = world->domains->types[t].keys[k].domain;
            world->unheard[domain] += vocab->types[t].family == t &&
                                      vocab->types[t].frame == STN_FRAME_NONE &&
                                      counts[t] * 5 >= total[domain];
            world->family_seen[t] |= counts[t] * 5 < total[domain];
        }
    }
    stn_free(counts);
    return STN_OK;
}

stn_status stn_instance_init(stn_world *world) {
    if (count_families(world) != STN_OK) {
        return STN_ENOMEM;
    }
    size_t lists = (size_t)STN_DOMAIN_MAX * (world->cpu_count + 1u);
    world->bucket_count = BUCKETS;
    world->buckets = stn_malloc(BUCKETS * sizeof *world->buckets);
    world->instance_lists = stn_malloc(lists * sizeof *world->instance_lists);
    world->like_lists = stn_malloc(world->vocab->type_count * sizeof *world->like_lists);
    if (!world->buckets || !world->instance_lists || !world->like_lists) {
        return STN_ENOMEM;
    }
    for (uint32_t t = 0; t < world->vocab->type_count; t++) {
        world->like_lists[t] = (stn_list){STN_WORLD_NONE, STN_WORLD_NONE, 0};
    }
    memset(world->buckets, 0xff, BUCKETS * sizeof *world->buckets);
    for (size_t i = 0; i < lists; i++) {
        world->instance_lists[i] = (stn_list){STN_WORLD_NONE, STN_WORLD_NONE, 0};
    }
    return STN_OK;
}

void stn_instance_fini(stn_world *world) {
    stn_free(world->family_seen);
    stn_free(world->buckets);
    stn_free(world->instance_lists);
    stn_free(world->like_lists);
    stn_free(world->instances);
}

uint32_t stn_instance_scope(const stn_world *world, uint8_t domain, uint16_t cpu, uint32_t thread) {
    switch (world->domains->scope[domain]) {
    case STN_SCOPE_CPU:
        return cpu;
    case STN_SCOPE_THREAD:
        return thread;
    default:
        return 0;
    }
}

stn_list *stn_instance_list(stn_world *world, uint8_t domain, uint16_t cpu, uint32_t thread) {
    switch (world->domains->scope[domain]) {
    case STN_SCOPE_CPU:
        return &world->instance_lists[STN_DOMAIN_MAX + (size_t)domain * world->cpu_count + cpu];
    case STN_SCOPE_THREAD:
        return &world->threads[thread].own;
    default:
        return &world->instance_lists[domain];
    }
}

static uint64_t key_hash(uint8_t domain, uint32_t scope, const stn_val *parts, uint8_t count) {
    uint64_t hash = stn_hash_u64(((uint64_t)domain << 32) ^ scope ^ 0x51ed27u);
    for (uint8_t i = 0; i < count; i++) {
        hash = stn_hash_u64(hash ^ (uint64_t)parts[i].v ^
                            (parts[i].kind == STN_FIELD_STR ? 0x5bd1e995u : 0u));
    }
    return hash;
}

uint32_t stn_instance_hashed(const stn_world *world, uint64_t hash) {
    uint32_t index = world->buckets[hash & (world->bucket_count - 1)];
    while (index != STN_WORLD_NONE && world->instances[index].hash != hash) {
        index = world->instances[index].chain;
    }
    return index;
}

uint32_t stn_instance_find(const stn_world *world, uint8_t domain, uint32_t scope,
                           const stn_val *parts, uint8_t count) {
    return stn_instance_hashed(world, key_hash(domain, scope, parts, count));
}

/* Which list the instance is in; lists are found again from its own fields. */
static stn_list *list_of(stn_world *world, const stn_instance *instance) {
    return stn_instance_list(world, instance->domain, (uint16_t)instance->scope, instance->scope);
}

static void unlink_instance(stn_world *world, uint32_t index) {
    stn_instance *instance = &world->instances[index];
    stn_list *list = list_of(world, instance);
    if (instance->newer != STN_WORLD_NONE) {
        world->instances[instance->newer].older = instance->older;
    } else {
        list->newest = instance->older;
    }
    if (instance->older != STN_WORLD_NONE) {
        world->instances[instance->older].newer = instance->newer;
    } else {
        list->oldest = instance->newer;
    }
    list->count--;
}

static void link_instance(stn_world *world, uint32_t index) {
    stn_instance *instance = &world->instances[index];
    stn_list *list = list_of(world, instance);
    instance->newer = STN_WORLD_NONE;
    instance->older = list->newest;
    if (list->newest != STN_WORLD_NONE) {
        world->instances[list->newest].newer = index;
    } else {
        list->oldest = index;
    }
    list->newest = index;
    list->count++;
}

/* The list of those that the same type touched last; NULL if the instance is in none. */
static stn_list *like_list(stn_world *world, const stn_instance *instance) {
    bool all = world->domains->scope[instance->domain] == STN_SCOPE_ALL;
    return all && instance->last != STN_SYMBOL_NONE ? &world->like_lists[instance->last] : NULL;
}

static void unlink_like(stn_world *world, uint32_t index) {
    stn_instance *instance = &world->instances[index];
    stn_list *list = like_list(world, instance);
    if (!list) {
        return;
    }
    if (instance->like_newer != STN_WORLD_NONE) {
        world->instances[instance->like_newer].like_older = instance->like_older;
    } else {
        list->newest = instance->like_older;
    }
    if (instance->like_older != STN_WORLD_NONE) {
        world->instances[instance->like_older].like_newer = instance->like_newer;
    } else {
        list->oldest = instance->like_newer;
    }
    list->count--;
}

/* Of scope CPU, and touched last outside handlers' entries and exits: raised. */
static bool is_raised(const stn_world *world, const stn_instance *instance) {
    return world->domains->scope[instance->domain] == STN_SCOPE_CPU &&
           instance->last != STN_SYMBOL_NONE &&
           world->vocab->types[instance->last].frame == STN_FRAME_NONE;
}

static void set_last(stn_world *world, uint32_t index, uint16_t type) {
    unlink_like(world, index);
    stn_instance *instance = &world->instances[index];
    bool raised = is_raised(world, instance);
    instance->last = type;
    if (is_raised(world, instance) != raised) {
        world->cpus[instance->scope].raised ^= instance->hash;
    }
    stn_list *list = like_list(world, instance);
    if (!list) {
        return;
    }
    instance->like_newer = STN_WORLD_NONE;
    instance->like_older = list->newest;
    if (list->newest != STN_WORLD_NONE) {
        world->instances[list->newest].like_newer = index;
    } else {
        list->oldest = index;
    }
    list->newest = index;
    list->count++;
}

static void drop_instance(stn_world *world, uint32_t index) {
    stn_instance *instance = &world->instances[index];
    unlink_instance(world, index);
    unlink_like(world, index);
    if (is_raised(world, instance)) {
        world->cpus[instance->scope].raised ^= instance->hash;
    }
    uint32_t *at = &world->buckets[instance->hash & (world->bucket_count - 1)];
    while (*at != index) {
        at = &world->instances[*at].chain;
    }
    *at = instance->chain;
    instance->used = false;
    instance->hash = 0;
    instance->chain = world->instance_free;
    world->instance_free = index;
}

void stn_instance_drop_thread(stn_world *world, uint32_t thread) {
    while (world->threads[thread].own.newest != STN_WORLD_NONE) {
        drop_instance(world, world->threads[thread].own.newest);
    }
}

static uint32_t new_instance(stn_world *world, uint8_t domain, uint32_t scope, const stn_val *parts,
                             uint8_t count, uint64_t hash) {
    uint32_t index = world->instance_free;
    if (index != STN_WORLD_NONE) {
        world->instance_free = world->instances[index].chain;
    } else {
        if (stn_grow(&world->instances, &world->instance_capacity, world->instance_count + 1,
                     sizeof *world->instances) != STN_OK) {
            return STN_WORLD_NONE;
        }
        index = (uint32_t)world->instance_count++;
    }
    stn_instance *instance = &world->instances[index];
    *instance = (stn_instance){.domain = domain, .part_count = count, .used = true};
    instance->scope = scope;
    instance->hash = hash;
    instance->owner = STN_NO_TID;
    instance->last = STN_SYMBOL_NONE;
    memcpy(instance->parts, parts, count * sizeof *parts);
    uint32_t *bucket = &world->buckets[hash & (world->bucket_count - 1)];
    instance->chain = *bucket;
    *bucket = index;
    link_instance(world, index);
    stn_list *list = list_of(world, instance);
    uint32_t kept = world->domains->scope[domain] == STN_SCOPE_ALL ? KEPT_ALL : KEPT_SCOPED;
    if (list->count > kept) {
        drop_instance(world, list->oldest);
    }
    return index;
}

stn_status stn_instance_restore(stn_world *world, const stn_instance *instance) {
    uint64_t hash =
        key_hash(instance->domain, instance->scope, instance->parts, instance->part_count);
    if (stn_instance_hashed(world, hash) != STN_WORLD_NONE) {
        return STN_OK;
    }
    uint32_t index = new_instance(world, instance->domain, instance->scope, instance->parts,
                                  instance->part_count, hash);
    if (index == STN_WORLD_NONE) {
        return STN_ENOMEM;
    }
    stn_instance *to = &world->instances[index];
    set_last(world, index, instance->last);
    to->cpu = instance->cpu;
    to->owner = instance->owner;
    to->due_ns = instance->due_ns;
    to->val_count = instance->val_count;
    memcpy(to->names, instance->names, sizeof to->names);
    memcpy(to->vals, instance->vals, sizeof to->vals);
    return STN_OK;
}

stn_val stn_instance_value(const stn_instance *instance, uint32_t name) {
    for (uint8_t i = 0; i < instance->val_count; i++) {
        if (instance->names[i] == name) {
            return instance->vals[i];
        }
    }
    return (stn_val){.kind = STN_VAL_NONE};
}

static void keep_value(stn_instance *instance, uint32_t name, stn_val val) {
    for (uint8_t i = 0; i < instance->val_count; i++) {
        if (instance->names[i] == name) {
            instance->vals[i] = val;
            return;
        }
    }
    if (instance->val_count < STN_INSTANCE_FIELDS) {
        instance->names[instance->val_count] = name;
        instance->vals[instance->val_count++] = val;
    }
}

static void keep_values(stn_world *world, stn_instance *instance, const stn_draft *draft) {
    const stn_vtype *type = &world->vocab->types[draft->type];
    for (uint16_t i = 0; i < type->field_count; i++) {
        if (type->fields[i].means != STN_MEANS_VALUE || draft->vals[i].kind == STN_VAL_NONE) {
            continue;
        }
        keep_value(instance, type->fields[i].name, draft->vals[i]);
        if (type->fields[i].name == world->due_name) {
            instance->due_ns = draft->time_ns + (uint64_t)draft->vals[i].v;
        }
    }
}

static bool key_parts(const stn_type_key *key, const stn_draft *draft, stn_val *parts) {
    for (uint8_t i = 0; i < key->field_count; i++) {
        parts[i] = draft->vals[key->fields[i]];
        if (parts[i].kind == STN_VAL_NONE) {
            return false;
        }
    }
    return true;
}

/* Keep what an entry named beside the entry, which the world has just opened. */
static void note_entry(stn_world *world, stn_cpu *cpu, const stn_vtype *type, uint32_t thread,
                       uint32_t index) {
    stn_named named = {index, world->instances[index].hash};
    stn_thread *in = &world->threads[thread];
    if (type->frame == STN_FRAME_PUSH && cpu->depth > 0) {
        cpu->entered[cpu->depth - 1] = named;
    } else if (type->frame == STN_FRAME_NONE && type->entry && in->depth > 0) {
        in->entered[in->depth - 1] = named;
    }
}

stn_status stn_instance_touch(stn_world *world, const stn_draft *draft, uint32_t thread) {
    const stn_type_keys *keys = &world->domains->types[draft->type];
    stn_cpu *cpu = &world->cpus[draft->cpu];
    uint8_t *seen = &world->family_seen[world->vocab->types[draft->type].family];
    bool first = !*seen && world->vocab->types[draft->type].frame == STN_FRAME_NONE;
    *seen = 1;
    for (uint8_t k = 0; k < keys->count; k++) {
        const stn_type_key *key = &keys->keys[k];
        world->unheard[key->domain] -= first && world->unheard[key->domain] > 0;
        stn_val parts[STN_KEY_FIELDS];
        if (!key_parts(key, draft, parts)) {
            continue;
        }
        uint32_t scope = stn_instance_scope(world, key->domain, draft->cpu, thread);
        uint64_t hash = key_hash(key->domain, scope, parts, key->field_count);
        uint32_t index = stn_instance_hashed(world, hash);
        if (index == STN_WORLD_NONE) {
            index = new_instance(world, key->domain, scope, parts, key->field_count, hash);
            if (index == STN_WORLD_NONE) {
                return STN_ENOMEM;
            }
        } else {
            unlink_instance(world, index);
            link_instance(world, index);
        }
        stn_instance *instance = &world->instances[index];
        cpu->last_owner = instance->owner;
        cpu->last_instance[key->domain] = index;
        cpu->last_serial[key->domain] = hash;
        const stn_vtype *type = &world->vocab->types[draft->type];
        instance->open = type->entry || (instance->open && type->partner == STN_PARTNER_NONE);
        note_entry(world, cpu, type, thread, index);
        if (cpu->depth == 0) {
            instance->owner = world->threads[thread].tid;
        }
        set_last(world, index, (uint16_t)draft->type);
        instance->cpu = draft->cpu;
        instance->due_ns = 0;
        keep_values(world, instance, draft);
    }
    return STN_OK;
}
