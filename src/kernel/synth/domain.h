/** @file
 *  Which fields name instances of the rules' automata: a timer, a piece of work, a block
 *  request, a descriptor. Read off the bindings of the rules: rules whose keys are the same
 *  fields of the same type speak of the same things, a domain. Fields that name threads are
 *  not here, world.h follows threads. Pinned by tests/unit/test_synth_domain.c. */
#ifndef STN_KERNEL_SYNTH_DOMAIN_H
#define STN_KERNEL_SYNTH_DOMAIN_H

#include <standin/rules.h>

#include "kernel/synth/vocab.h"

enum {
    STN_DOMAIN_MAX = 32, /**< domains */
    STN_KEY_FIELDS = 2,  /**< fields that together name an instance */
    STN_TYPE_KEYS = 2,   /**< instances that one event names */
};

typedef enum stn_scope {
    STN_SCOPE_ALL = 0, /**< one instance per value */
    STN_SCOPE_CPU,     /**< … per CPU and value */
    STN_SCOPE_THREAD,  /**< … per thread and value */
} stn_scope;

typedef struct stn_type_key {
    uint8_t domain;
    uint8_t field_count;
    uint8_t fields[STN_KEY_FIELDS]; /**< indices into stn_vtype::fields */
} stn_type_key;

typedef struct stn_type_keys {
    uint8_t count;
    stn_type_key keys[STN_TYPE_KEYS];
} stn_type_keys;

typedef struct stn_domains {
    uint32_t count;
    uint8_t scope[STN_DOMAIN_MAX]; /**< stn_scope */
    stn_type_keys *types;          /**< [vocab->type_count] */
} stn_domains;

/** Read domains off @p rules and mark their fields in @p vocab as ::STN_MEANS_KEY.
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_domains_learn(stn_domains *domains, const stn_rules *rules,
                             stn_vocab *vocab) STN_MUST_USE;
void stn_domains_fini(stn_domains *domains);

void stn_domains_put(const stn_domains *domains, const stn_vocab *vocab, stn_blob *blob);
/** Read, and mark the fields in @p vocab. @return STN_OK; STN_EFORMAT, STN_ENOMEM */
stn_status stn_domains_get(stn_domains *domains, stn_cursor *cursor, stn_vocab *vocab) STN_MUST_USE;

#endif
