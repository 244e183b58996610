/* Rules are joined (union-find) when some type binds both by the same fields. A field that
 * several domains claim goes to the one with the longest key, then to the one that most
 * events touch. */
#include "kernel/synth/domain.h"

#include <string.h>

#include "core/base/alloc.h"

/* Key fields of a binding, threads and CPUs taken out. */
typedef struct key_fields {
    uint8_t count;
    uint8_t fields[STN_KEY_FIELDS];
    uint8_t scope;
    bool usable;
} key_fields;

typedef struct domain_names {
    uint8_t count;
    uint32_t names[STN_KEY_FIELDS]; /* text ids */
} domain_names;

typedef struct rule_joiner {
    const stn_rules *rules;
    stn_vocab *vocab;
    uint32_t rule_count;
    uint32_t *parent;   /* [rule_count] union-find */
    uint64_t *weight;   /* [rule_count] events that touch the root's domain */
    uint32_t *touching; /* [rule_count] types that touch the root's domain */
    uint8_t *parts;     /* [rule_count] key fields, at most */
} rule_joiner;

static uint32_t root_of(rule_joiner *joiner, uint32_t rule) {
    while (joiner->parent[rule] != rule) {
        joiner->parent[rule] = joiner->parent[joiner->parent[rule]];
        rule = joiner->parent[rule];
    }
    return rule;
}

static int find_field(const stn_vocab *vocab, const stn_vtype *type, uint32_t name) {
    const uint64_t *text = stn_map_get(&vocab->from_catalog, name);
    for (uint16_t i = 0; text && i < type->field_count; i++) {
        if (type->fields[i].name == *text) {
            return i;
        }
    }
    return -1;
}

static key_fields fields_of(const rule_joiner *joiner, const stn_vtype *type,
                            const stn_binding *binding) {
    key_fields key = {.usable = true};
    for (uint32_t i = 0; i < binding->part_count && key.usable; i++) {
        if (binding->part[i] == STN_PART_TID || binding->part[i] == STN_PART_FILES) {
            key.scope = STN_SCOPE_THREAD;
            continue;
        }
        if (binding->part[i] == STN_PART_CPU) {
            key.scope = key.scope ? key.scope : STN_SCOPE_CPU;
            continue;
        }
        int field = find_field(joiner->vocab, type, binding->part[i]);
        uint8_t means = field >= 0 ? type->fields[field].means : STN_MEANS_SELF;
        if ((means != STN_MEANS_VALUE && means != STN_MEANS_KEY) || key.count == STN_KEY_FIELDS) {
            key.usable = false;
        } else {
            key.fields[key.count++] = (uint8_t)field;
        }
    }
    key.usable = key.usable && key.count > 0;
    return key;
}

static bool same_key(const key_fields *a, const key_fields *b) {
    return a->usable && b->usable && a->count == b->count &&
           memcmp(a->fields, b->fields, a->count) == 0;
}

static void join_type(rule_joiner *joiner, const stn_vtype *type) {
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(joiner->rules, type->catalog_type, &count);
    for (uint32_t i = 0; i < count; i++) {
        key_fields one = fields_of(joiner, type, &bindings[i]);
        for (uint32_t j = 0; j < i && one.usable; j++) {
            key_fields other = fields_of(joiner, type, &bindings[j]);
            uint32_t a = root_of(joiner, bindings[i].rule), b = root_of(joiner, bindings[j].rule);
            if (same_key(&one, &other) && a != b) {
                joiner->parent[a > b ? a : b] = a > b ? b : a;
            }
        }
    }
}

static void weigh_type(rule_joiner *joiner, const stn_vtype *type) {
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(joiner->rules, type->catalog_type, &count);
    for (uint32_t i = 0; i < count; i++) {
        key_fields key = fields_of(joiner, type, &bindings[i]);
        bool again = false;
        uint32_t root = root_of(joiner, bindings[i].rule);
        for (uint32_t j = 0; j < i; j++) {
            again |= root_of(joiner, bindings[j].rule) == root &&
                     fields_of(joiner, type, &bindings[j]).usable;
        }
        if (key.usable && !again) {
            joiner->weight[root] += type->count;
            joiner->touching[root]++;
            joiner->parts[root] = key.count > joiner->parts[root] ? key.count : joiner->parts[root];
        }
    }
}

static bool better(const rule_joiner *joiner, uint32_t a, uint32_t b) {
    if (joiner->parts[a] != joiner->parts[b]) {
        return joiner->parts[a] > joiner->parts[b];
    }
    return joiner->weight[a] > joiner->weight[b];
}

static bool fields_free(const stn_vtype *type, const key_fields *key) {
    for (uint8_t i = 0; i < key->count; i++) {
        if (type->fields[key->fields[i]].means != STN_MEANS_VALUE) {
            return false;
        }
    }
    return true;
}

static void claim_key(stn_domains *domains, uint32_t *number, stn_vtype *type, stn_type_keys *keys,
                      uint32_t root, const key_fields *key) {
    if (number[root] == UINT32_MAX) {
        if (domains->count == STN_DOMAIN_MAX) {
            return;
        }
        number[root] = domains->count++;
        domains->scope[number[root]] = key->scope;
    }
    stn_type_key *out = &keys->keys[keys->count++];
    *out = (stn_type_key){.domain = (uint8_t)number[root], .field_count = key->count};
    memcpy(out->fields, key->fields, key->count);
    for (uint8_t i = 0; i < key->count; i++) {
        type->fields[key->fields[i]].means = STN_MEANS_KEY;
    }
}

/* Give @p type the keys of its best domains, as long as their fields are not taken. */
static void assign_type(rule_joiner *joiner, stn_domains *domains, uint32_t *number,
                        stn_vtype *type, stn_type_keys *keys) {
    uint32_t count;
    const stn_binding *bindings = stn_rules_bindings(joiner->rules, type->catalog_type, &count);
    while (keys->count < STN_TYPE_KEYS) {
        key_fields best_key = {0};
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < count; i++) {
            key_fields key = fields_of(joiner, type, &bindings[i]);
            uint32_t root = root_of(joiner, bindings[i].rule);
            if (key.usable && key.count == joiner->parts[root] && joiner->touching[root] > 1 &&
                fields_free(type, &key) && (best == UINT32_MAX || better(joiner, root, best))) {
                best = root;
                best_key = key;
            }
        }
        if (best == UINT32_MAX) {
            return;
        }
        uint8_t before = keys->count;
        claim_key(domains, number, type, keys, best, &best_key);
        if (keys->count == before) {
            return;
        }
    }
}

/* Types that no rule binds but that have the same fields, by name, as the keys of a domain:
 * what the tracer calls by the same name it means by it. */
static void adopt_type(stn_domains *domains, const domain_names *names, stn_vtype *type,
                       stn_type_keys *keys) {
    for (uint32_t d = 0; d < domains->count && keys->count < STN_TYPE_KEYS; d++) {
        key_fields key = {.usable = true};
        for (uint8_t i = 0; i < names[d].count; i++) {
            for (uint16_t f = 0; f < type->field_count; f++) {
                if (type->fields[f].name == names[d].names[i]) {
                    key.fields[key.count++] = (uint8_t)f;
                    break;
                }
            }
        }
        if (key.count == names[d].count && key.count > 0 && fields_free(type, &key)) {
            stn_type_key *out = &keys->keys[keys->count++];
            *out = (stn_type_key){.domain = (uint8_t)d, .field_count = key.count};
            memcpy(out->fields, key.fields, key.count);
            for (uint8_t i = 0; i < key.count; i++) {
                type->fields[key.fields[i]].means = STN_MEANS_KEY;
            }
        }
    }
}

/* Names of the key fields of each domain, from the most frequent type that has it. */
static void name_domains(const stn_domains *domains, const stn_vocab *vocab, domain_names *names) {
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        for (uint8_t k = 0; k < domains->types[t].count; k++) {
            const stn_type_key *key = &domains->types[t].keys[k];
            domain_names *out = &names[key->domain];
            for (uint8_t i = 0; out->count < key->field_count && i < key->field_count; i++) {
                out->names[out->count++] = vocab->types[t].fields[key->fields[i]].name;
            }
        }
    }
}

static stn_status domains_alloc(stn_domains *domains, const stn_vocab *vocab) {
    *domains = (stn_domains){0};
    domains->types = stn_calloc(vocab->type_count, sizeof *domains->types);
    return domains->types ? STN_OK : STN_ENOMEM;
}

stn_status stn_domains_learn(stn_domains *domains, const stn_rules *rules, stn_vocab *vocab) {
    uint32_t count = stn_rules_count(rules);
    rule_joiner joiner = {.rules = rules, .vocab = vocab, .rule_count = count};
    joiner.parent = stn_calloc(count, sizeof *joiner.parent);
    joiner.weight = stn_calloc(count, sizeof *joiner.weight);
    joiner.touching = stn_calloc(count, sizeof *joiner.touching);
    joiner.parts = stn_calloc(count, 1);
    uint32_t *number = stn_malloc(count * sizeof *number);
    stn_status status = domains_alloc(domains, vocab);
    if (!joiner.parent || !joiner.weight || !joiner.touching || !joiner.parts || !number) {
        status = STN_ENOMEM;
    }
    for (uint32_t i = 0; i < count && status == STN_OK; i++) {
        joiner.parent[i] = i;
        number[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < vocab->type_count && status == STN_OK; i++) {
        join_type(&joiner, &vocab->types[i]);
    }
    for (uint32_t i = 0; i < vocab->type_count && status == STN_OK; i++) {
        weigh_type(&joiner, &vocab->types[i]);
    }
    for (uint32_t i = 0; i < vocab->type_count && status == STN_OK; i++) {
        assign_type(&joiner, domains, number, &vocab->types[i], &domains->types[i]);
    }
    if (status == STN_OK) {
        domain_names names[STN_DOMAIN_MAX] = {{0}};
        name_domains(domains, vocab, names);
        for (uint32_t i = 0; i < vocab->type_count; i++) {
            adopt_type(domains, names, &vocab->types[i], &domains->types[i]);
        }
    }
    stn_free(joiner.parent);
    stn_free(joiner.weight);
    stn_free(joiner.touching);
    stn_free(joiner.parts);
    stn_free(number);
    if (status != STN_OK) {
        stn_domains_fini(domains);
    }
    return status;
}

void stn_domains_fini(stn_domains *domains) {
    stn_free(domains->types);
    *domains = (stn_domains){0};
}

/* ---- files ------------------------------------------------------------------ */

void stn_domains_put(const stn_domains *domains, const stn_vocab *vocab, stn_blob *blob) {
    stn_blob_u32(blob, domains->count);
    stn_blob_put(blob, domains->scope, domains->count);
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        const stn_type_keys *keys = &domains->types[i];
        stn_blob_u8(blob, keys->count);
        for (uint8_t j = 0; j < keys->count; j++) {
            stn_blob_u8(blob, keys->keys[j].domain);
            stn_blob_u8(blob, keys->keys[j].field_count);
            stn_blob_put(blob, keys->keys[j].fields, keys->keys[j].field_count);
        }
    }
}

static bool get_key(const stn_domains *domains, stn_vtype *type, stn_type_key *key,
                    stn_cursor *cursor) {
    key->domain = stn_cursor_u8(cursor);
    key->field_count = stn_cursor_u8(cursor);
    if (key->domain >= domains->count || key->field_count == 0 ||
        key->field_count > STN_KEY_FIELDS) {
        return false;
    }
    for (uint8_t i = 0; i < key->field_count; i++) {
        key->fields[i] = stn_cursor_u8(cursor);
        if (key->fields[i] >= type->field_count ||
            type->fields[key->fields[i]].means != STN_MEANS_VALUE) {
            return false;
        }
        type->fields[key->fields[i]].means = STN_MEANS_KEY;
    }
    return !cursor->failed;
}

static bool get_domains(stn_domains *domains, stn_cursor *cursor, stn_vocab *vocab) {
    domains->count = stn_cursor_u32(cursor);
    if (domains->count > STN_DOMAIN_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < domains->count; i++) {
        domains->scope[i] = stn_cursor_u8(cursor);
        if (domains->scope[i] > STN_SCOPE_THREAD) {
            return false;
        }
    }
    for (uint32_t i = 0; i < vocab->type_count; i++) {
        stn_type_keys *keys = &domains->types[i];
        keys->count = stn_cursor_u8(cursor);
        if (keys->count > STN_TYPE_KEYS) {
            return false;
        }
        for (uint8_t j = 0; j < keys->count; j++) {
            if (!get_key(domains, &vocab->types[i], &keys->keys[j], cursor)) {
                return false;
            }
        }
    }
    return !cursor->failed;
}

stn_status stn_domains_get(stn_domains *domains, stn_cursor *cursor, stn_vocab *vocab) {
    if (domains_alloc(domains, vocab) != STN_OK) {
        return STN_ENOMEM;
    }
    if (!get_domains(domains, cursor, vocab)) {
        stn_domains_fini(domains);
        return STN_EFORMAT;
    }
    return STN_OK;
}
