/* Lists are walked from the end that the age is counted from, at most WALK steps: what lies
 * deeper counts as the last age. */
#include "kernel/synth/pick.h"

enum { WALK = 256 };

uint32_t stn_pick_rungs(const stn_world *world, uint32_t table, const stn_draft *draft,
                        uint16_t part, uint64_t word, uint32_t current, uint64_t *out) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    uint64_t hash = stn_chain_mix(
        table * 0x9e3779b97f4a7c15u,
        ((uint64_t)draft->type << 8 | part | (uint64_t)(draft->tid == 0) << 23) ^ word << 24);
    out[0] = hash;
    hash = stn_chain_mix(hash, cpu->history[0]);
    out[1] = hash;
    out[2] = stn_chain_mix(hash, world->threads[current].comm);
    return 3;
}

uint64_t stn_pick_word(const stn_world *world, const stn_draft *draft) {
    const stn_vtype *type = &world->vocab->types[draft->type];
    uint64_t word = stn_world_list(world, draft->cpu, STN_THREAD_READY)->count > 0;
    if (type->role == STN_ROLE_SWITCH && type->state_field >= 0) {
        word |= (uint64_t)stn_world_leaving(world, &draft->vals[type->state_field]) << 1;
    }
    return word;
}

/* ---- threads ------------------------------------------------------------------- */

uint32_t stn_pick_relation(const stn_world *world, const stn_draft *draft, uint8_t means,
                           uint32_t current, uint32_t index, int64_t tid) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    if (tid == 0 && means == STN_MEANS_NEXT) {
        return STN_PICK_IDLE;
    }
    if (tid <= 0) {
        return STN_PICK_LITERAL;
    }
    if (index == STN_WORLD_NONE) {
        return means == STN_MEANS_CHILD ? STN_PICK_FRESH : STN_PICK_STATE + 2 * STN_THREAD_UNSEEN;
    }
    const stn_thread *thread = &world->threads[index];
    if (means != STN_MEANS_NEXT) {
        uint32_t relation = index == current                         ? STN_PICK_SELF
                            : world->threads[current].child == index ? STN_PICK_CHILD
                            : cpu->last_tid == tid                   ? STN_PICK_LAST
                            : cpu->last_owner == tid                 ? STN_PICK_OWNER
                                                                     : STN_PICK_RELATED;
        if (relation != STN_PICK_RELATED) {
            return relation * STN_THREAD_STATES + thread->state;
        }
    }
    return STN_PICK_STATE + 2u * thread->state + (thread->cpu == draft->cpu);
}

stn_kin stn_pick_kin(const stn_world *world, uint32_t index) {
    const stn_thread *thread = &world->threads[index];
    return (stn_kin){thread->comm,
                     thread->depth > 0 ? thread->open[thread->depth - 1] : STN_SYMBOL_NONE};
}

static bool is_kin(const stn_thread *thread, stn_kin kin) {
    uint32_t open = thread->depth > 0 ? thread->open[thread->depth - 1] : STN_SYMBOL_NONE;
    return (kin.comm == STN_WORLD_NONE || thread->comm == kin.comm) &&
           (kin.open == STN_TEMPLATE_NONE || open == kin.open);
}

static uint32_t walk(const stn_world *world, const stn_list *list, stn_kin kin, stn_age age,
                     uint32_t stop, uint32_t rank, uint32_t *seen) {
    uint32_t at = age == STN_AGE_OLDEST ? list->oldest : list->newest;
    for (uint32_t steps = 0; at != STN_WORLD_NONE && steps < WALK; steps++) {
        const stn_thread *thread = &world->threads[at];
        if (at == stop) {
            return at;
        }
        if (is_kin(thread, kin)) {
            if (*seen == rank) {
                return at;
            }
            ++*seen;
        }
        at = age == STN_AGE_OLDEST ? thread->newer : thread->older;
    }
    return STN_WORLD_NONE;
}

uint32_t stn_pick_age(const stn_world *world, uint32_t index, uint16_t cpu, bool here,
                      stn_age age) {
    const stn_thread *thread = &world->threads[index];
    uint32_t seen = 0;
    for (uint16_t r = 0; r < world->cpu_count; r++) {
        uint16_t other = world->ranks[r];
        if ((other == cpu) != here) {
            continue;
        }
        if (walk(world, stn_world_list(world, other, thread->state), stn_pick_kin(world, index),
                 age, index, UINT32_MAX, &seen) == index) {
            break;
        }
    }
    return seen < STN_PICK_AGES ? seen : STN_PICK_AGES - 1;
}

static uint32_t running_elsewhere(const stn_world *world, uint16_t cpu, uint32_t state,
                                  stn_kin kin) {
    for (uint16_t r = 0; r < world->cpu_count; r++) {
        uint16_t other = world->ranks[r];
        uint32_t index = world->cpus[other].thread;
        if (other != cpu && index != STN_WORLD_NONE && world->threads[index].tid != 0 &&
            world->threads[index].state == state && is_kin(&world->threads[index], kin)) {
            return index;
        }
    }
    return STN_WORLD_NONE;
}

uint32_t stn_pick_thread(const stn_world *world, uint32_t relation, uint16_t cpu, stn_kin kin,
                         uint32_t rank, stn_age age) {
    uint32_t state = (relation - STN_PICK_STATE) / 2;
    bool here = (relation - STN_PICK_STATE) % 2;
    if (state <= STN_THREAD_WOKEN) {
        return here ? STN_WORLD_NONE : running_elsewhere(world, cpu, state, kin);
    }
    uint32_t seen = 0;
    for (uint16_t r = 0; r < world->cpu_count; r++) {
        uint16_t other = world->ranks[r];
        bool any = state == STN_THREAD_UNSEEN; /* nobody knows yet where those are */
        if (!any && (other == cpu) != here) {
            continue;
        }
        uint32_t found =
            walk(world, stn_world_list(world, other, state), kin, age, STN_WORLD_NONE, rank, &seen);
        if (found != STN_WORLD_NONE) {
            return found;
        }
    }
    if (seen > 0) {
        return stn_pick_thread(world, relation, cpu, kin, seen - 1, age);
    }
    if (kin.open == STN_TEMPLATE_NONE) {
        return STN_WORLD_NONE;
    }
    return stn_pick_thread(world, relation, cpu, (stn_kin){kin.comm, STN_TEMPLATE_NONE}, rank, age);
}

/* ---- instances ------------------------------------------------------------------- */

bool stn_key_suits(const stn_vtype *type, const stn_instance *instance) {
    if (type->split_field < 0) {
        return true;
    }
    stn_val known = stn_instance_value(instance, type->fields[type->split_field].name);
    return known.kind == STN_VAL_NONE || stn_val_equal(known, type->split_val);
}

static uint32_t state_of(const stn_world *world, const stn_draft *draft, uint32_t current,
                         const stn_instance *instance) {
    return STN_KEY_STATE + 4u * instance->last +
           2u * (instance->owner == world->threads[current].tid) + (instance->cpu == draft->cpu);
}

static uint32_t alive(const stn_world *world, uint32_t index, uint64_t serial) {
    bool there = index != STN_WORLD_NONE && world->instances[index].used &&
                 world->instances[index].hash == serial;
    return there ? index : STN_WORLD_NONE;
}

/* The instance that the entry named whose exit this event is. */
static uint32_t partner_instance(const stn_world *world, const stn_draft *draft, uint8_t domain,
                                 uint32_t current) {
    const stn_vtype *type = &world->vocab->types[draft->type];
    if (type->partner == STN_PARTNER_NONE) {
        return STN_WORLD_NONE;
    }
    stn_named named = {.index = STN_WORLD_NONE};
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    const stn_thread *thread = &world->threads[current];
    if (type->frame == STN_FRAME_POP && cpu->depth > 0) {
        named = cpu->entered[cpu->depth - 1];
    }
    for (uint8_t i = type->frame == STN_FRAME_POP ? 0 : thread->depth; i-- > 0;) {
        if (stn_vocab_pairs(world->vocab, thread->open[i], draft->type)) {
            named = thread->entered[i];
            break;
        }
    }
    uint32_t index = alive(world, named.index, named.serial);
    return index != STN_WORLD_NONE && world->instances[index].domain == domain ? index
                                                                               : STN_WORLD_NONE;
}

uint32_t stn_key_relation(const stn_world *world, const stn_draft *draft, uint8_t domain,
                          uint32_t current, uint32_t index) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    if (index == STN_WORLD_NONE) {
        return STN_KEY_FRESH;
    }
    if (partner_instance(world, draft, domain, current) == index) {
        return STN_KEY_PARTNER;
    }
    if (cpu->last_instance[domain] == index &&
        cpu->last_serial[domain] == world->instances[index].hash) {
        return STN_KEY_LAST;
    }
    return state_of(world, draft, current, &world->instances[index]);
}

/* The instances to walk for a relation: where there is one, the list of those that the same
 * type touched last. */
typedef struct walk_list {
    const stn_list *list;
    bool like;
} walk_list;

static walk_list list_for(stn_world *world, const stn_draft *draft, uint8_t domain,
                          uint32_t current, uint32_t relation) {
    uint32_t last = (relation - STN_KEY_STATE) / 4;
    if (world->domains->scope[domain] == STN_SCOPE_ALL) {
        static const stn_list none = {STN_WORLD_NONE, STN_WORLD_NONE, 0};
        bool known = last < world->vocab->type_count;
        return (walk_list){known ? &world->like_lists[last] : &none, true};
    }
    return (walk_list){stn_instance_list(world, domain, draft->cpu, current), false};
}

static uint32_t after(const walk_list *walk, const stn_instance *instance, bool oldest_first) {
    if (walk->like) {
        return oldest_first ? instance->like_newer : instance->like_older;
    }
    return oldest_first ? instance->newer : instance->older;
}

/* Walk the instances of one state; @p stop or the one of rank @p rank ends it. */
static uint32_t walk_keys(stn_world *world, const stn_draft *draft, uint8_t domain,
                          uint32_t current, uint32_t relation, uint32_t stop, uint32_t rank,
                          stn_age age, uint32_t *seen) {
    walk_list in = list_for(world, draft, domain, current, relation);
    const stn_vtype *type = &world->vocab->types[draft->type];
    uint32_t at = age == STN_AGE_OLDEST ? in.list->oldest : in.list->newest;
    for (uint32_t steps = 0; at != STN_WORLD_NONE && steps < WALK; steps++) {
        const stn_instance *instance = &world->instances[at];
        if (at == stop) {
            return at;
        }
        if (instance->domain == domain && state_of(world, draft, current, instance) == relation &&
            stn_key_suits(type, instance)) {
            if (*seen == rank) {
                return at;
            }
            ++*seen;
        }
        at = after(&in, instance, age == STN_AGE_OLDEST);
    }
    return STN_WORLD_NONE;
}

static uint32_t due_rank(stn_world *world, const stn_draft *draft, uint8_t domain, uint32_t current,
                         uint32_t index) {
    const stn_instance *wanted = &world->instances[index];
    const stn_vtype *type = &world->vocab->types[draft->type];
    uint32_t relation = state_of(world, draft, current, wanted), rank = 0;
    walk_list in = list_for(world, draft, domain, current, relation);
    for (uint32_t at = in.list->newest, n = 0; at != STN_WORLD_NONE && n < WALK; n++) {
        const stn_instance *other = &world->instances[at];
        rank += other->domain == domain && other->due_ns < wanted->due_ns &&
                state_of(world, draft, current, other) == relation && stn_key_suits(type, other);
        at = after(&in, other, false);
    }
    return rank;
}

uint32_t stn_key_age(stn_world *world, const stn_draft *draft, uint8_t domain, uint32_t current,
                     uint32_t index, stn_age age) {
    uint32_t rank = 0;
    if (age == STN_AGE_DUE) {
        rank = due_rank(world, draft, domain, current, index);
    } else {
        uint32_t relation = state_of(world, draft, current, &world->instances[index]);
        walk_keys(world, draft, domain, current, relation, index, UINT32_MAX, age, &rank);
    }
    return rank < STN_PICK_AGES ? rank : STN_PICK_AGES - 1;
}

/* The one due first, the second … : @p rank passes are few, ranks are nearly always 0. */
static uint32_t pick_due(stn_world *world, const stn_draft *draft, uint8_t domain, uint32_t current,
                         uint32_t relation, uint32_t rank) {
    walk_list in = list_for(world, draft, domain, current, relation);
    const stn_vtype *type = &world->vocab->types[draft->type];
    uint64_t above = 0;
    uint32_t best = STN_WORLD_NONE;
    for (uint32_t pass = 0; pass <= rank; pass++) {
        uint32_t next = STN_WORLD_NONE;
        for (uint32_t at = in.list->newest, n = 0; at != STN_WORLD_NONE && n < WALK; n++) {
            const stn_instance *other = &world->instances[at];
            if (other->domain == domain && (pass == 0 || other->due_ns > above) &&
                state_of(world, draft, current, other) == relation && stn_key_suits(type, other) &&
                (next == STN_WORLD_NONE || other->due_ns < world->instances[next].due_ns)) {
                next = at;
            }
            at = after(&in, other, false);
        }
        if (next == STN_WORLD_NONE) {
            break;
        }
        best = next;
        above = world->instances[next].due_ns;
    }
    return best;
}

uint32_t stn_key_pick(stn_world *world, const stn_draft *draft, uint8_t domain, uint32_t current,
                      uint32_t relation, uint32_t rank, stn_age age) {
    const stn_cpu *cpu = &world->cpus[draft->cpu];
    if (relation == STN_KEY_LAST) {
        uint32_t last = alive(world, cpu->last_instance[domain], cpu->last_serial[domain]);
        bool fits = last != STN_WORLD_NONE &&
                    stn_key_suits(&world->vocab->types[draft->type], &world->instances[last]);
        return fits ? last : STN_WORLD_NONE;
    }
    if (relation == STN_KEY_PARTNER) {
        return partner_instance(world, draft, domain, current);
    }
    if (age == STN_AGE_DUE) {
        return pick_due(world, draft, domain, current, relation, rank);
    }
    uint32_t seen = 0;
    uint32_t found =
        walk_keys(world, draft, domain, current, relation, STN_WORLD_NONE, rank, age, &seen);
    if (found == STN_WORLD_NONE && seen > 0) {
        uint32_t again = 0;
        found = walk_keys(world, draft, domain, current, relation, STN_WORLD_NONE, seen - 1, age,
                          &again);
    }
    return found;
}
