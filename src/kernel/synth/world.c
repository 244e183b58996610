/* Threads are kept in lists by CPU and state, the one that entered last in front; a thread
 * that exited stays for a while, because its parent's wait and its free come later. */
#include "kernel/synth/world.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/chain.h"

/* ---- setting up -------------------------------------------------------------- */

static void list_clear(stn_list *list) {
    *list = (stn_list){STN_WORLD_NONE, STN_WORLD_NONE, 0};
}

static void history_clear(uint16_t *history) {
    for (int i = 0; i < STN_HISTORY; i++) {
        history[i] = STN_SYMBOL_NONE;
    }
}

static void history_push(uint16_t *history, uint16_t symbol) {
    memmove(history + 1, history, (STN_HISTORY - 1) * sizeof *history);
    history[0] = symbol;
}

static stn_status world_alloc(stn_world *world) {
    size_t cpus = world->cpu_count;
    world->cpus = stn_calloc(cpus, sizeof *world->cpus);
    world->ranks = stn_calloc(cpus, sizeof *world->ranks);
    world->lists = stn_calloc(cpus * STN_THREAD_STATES, sizeof *world->lists);
    world->cpu_memory = stn_calloc(cpus * world->slots->count, sizeof *world->cpu_memory);
    world->asleep = stn_calloc(world->slots->wakes ? world->slots->wakes->kin_count + 1u : 1u,
                               sizeof *world->asleep);
    if (!world->asleep || !world->cpus || !world->ranks || !world->lists || !world->cpu_memory) {
        return STN_ENOMEM;
    }
    for (size_t i = 0; i < cpus * STN_THREAD_STATES; i++) {
        list_clear(&world->lists[i]);
    }
    for (size_t i = 0; i < cpus * world->slots->count; i++) {
        world->cpu_memory[i].kind = STN_VAL_NONE;
    }
    return stn_instance_init(world);
}

static uint32_t thread_new(stn_world *world, int32_t tid, uint32_t comm, uint16_t cpu);

stn_status stn_world_init(stn_world *world, const stn_vocab *vocab, const stn_domains *domains,
                          const stn_slots *slots, uint16_t cpu_count) {
    *world = (stn_world){.vocab = vocab,
                         .domains = domains,
                         .slots = slots,
                         .cpu_count = cpu_count,
                         .thread_free = STN_WORLD_NONE,
                         .instance_free = STN_WORLD_NONE,
                         .forgotten = STN_WORLD_NONE,
                         .haste = 1,
                         .next_tid = 1};
    world->due_name = stn_intern_find(&vocab->texts, "in", 2);
    world->ret_name = stn_intern_find(&vocab->texts, "ret", 3);
    for (uint32_t t = 0; t < vocab->type_count; t++) {
        world->wakes_in_two |= vocab->types[t].role == STN_ROLE_WAKING;
    }
    stn_status status = world_alloc(world);
    uint32_t idle = stn_intern_find(&vocab->texts, "<idle>", 6);
    for (uint16_t i = 0; i < cpu_count && status == STN_OK; i++) {
        stn_cpu *cpu = &world->cpus[i];
        world->ranks[i] = i;
        cpu->thread = STN_WORLD_NONE;
        cpu->due_timer = STN_WORLD_NONE;
        cpu->last_tid = cpu->last_owner = STN_NO_TID;
        history_clear(cpu->history);
        history_clear(cpu->handler_history);
        memset(cpu->last_instance, 0xff, sizeof cpu->last_instance);
        status = thread_new(world, 0, idle, i) == STN_WORLD_NONE ? STN_ENOMEM : STN_OK;
    }
    if (status != STN_OK) {
        stn_world_fini(world);
    }
    return status;
}

void stn_world_fini(stn_world *world) {
    stn_free(world->cpus);
    stn_free(world->ranks);
    stn_free(world->lists);
    stn_free(world->cpu_memory);
    stn_free(world->asleep);
    stn_free(world->threads);
    stn_free(world->thread_memory);
    stn_map_fini(&world->by_tid);
    stn_instance_fini(world);
    *world = (stn_world){0};
}

/* ---- threads -------------------------------------------------------------------- */

static void list_remove(stn_world *world, uint32_t index) {
    stn_thread *thread = &world->threads[index];
    stn_list *list = stn_world_list(world, thread->cpu, thread->state);
    if (thread->tid == 0 || thread->state <= STN_THREAD_WOKEN) {
        return;
    }
    if (thread->newer != STN_WORLD_NONE) {
        world->threads[thread->newer].older = thread->older;
    } else {
        list->newest = thread->older;
    }
    if (thread->older != STN_WORLD_NONE) {
        world->threads[thread->older].newer = thread->newer;
    } else {
        list->oldest = thread->newer;
    }
    list->count--;
}

static void list_add(stn_world *world, uint32_t index) {
    stn_thread *thread = &world->threads[index];
    stn_list *list = stn_world_list(world, thread->cpu, thread->state);
    if (thread->tid == 0 || thread->state <= STN_THREAD_WOKEN) {
        return;
    }
    thread->newer = STN_WORLD_NONE;
    thread->older = list->newest;
    if (list->newest != STN_WORLD_NONE) {
        world->threads[list->newest].newer = index;
    } else {
        list->oldest = index;
    }
    list->newest = index;
    list->count++;
}

uint64_t stn_world_kin(const stn_thread *thread) {
    uint64_t open = thread->depth > 0 ? thread->open[thread->depth - 1] : STN_SYMBOL_NONE;
    return stn_chain_mix(thread->comm, open);
}

static void count_sleeper(stn_world *world, stn_thread *thread, bool sleeps) {
    if (!sleeps && thread->kin != STN_KIN_NONE) {
        world->asleep[thread->kin]--;
        thread->kin = STN_KIN_NONE;
    } else if (sleeps && world->slots->wakes) {
        thread->kin = stn_wakes_kin(world->slots->wakes, stn_world_kin(thread));
        if (thread->kin != STN_KIN_NONE) {
            world->asleep[thread->kin]++;
        }
    }
}

static void thread_drop(stn_world *world, uint32_t index) {
    stn_thread *thread = &world->threads[index];
    list_remove(world, index);
    if (thread->state == STN_THREAD_BLOCKED) {
        count_sleeper(world, thread, false);
    }
    stn_instance_drop_thread(world, index);
    uint64_t *entry = stn_map_get(&world->by_tid, (uint64_t)(uint32_t)thread->tid);
    if (entry) {
        *entry = 0;
        world->tombstones++;
    }
    thread->used = false;
    thread->newer = world->thread_free;
    world->thread_free = index;
    world->live_threads--;
}

/* Who waits on @p cpu changes by an event of another one. */
static void touch(stn_world *world, uint16_t number, uint8_t state) {
    bool waits = state == STN_THREAD_READY || state == STN_THREAD_WAKING;
    if (!waits || number == world->acting || number >= world->cpu_count) {
        return;
    }
    stn_cpu *cpu = &world->cpus[number];
    cpu->trigger_ns = world->now_ns;
    cpu->touched = true;
    for (uint8_t i = 0; i < world->touched_count; i++) {
        if (world->touched[i] == number) {
            return;
        }
    }
    if (world->touched_count < STN_TOUCHED_MAX) {
        world->touched[world->touched_count++] = number;
    }
}

/* Leave or enter lists. An exited thread stays until STN_DEAD_KEPT later ones have exited. */
static void thread_state(stn_world *world, uint32_t index, uint8_t state, uint16_t cpu) {
    stn_thread *thread = &world->threads[index];
    list_remove(world, index);
    touch(world, thread->cpu, thread->state);
    if ((thread->state == STN_THREAD_BLOCKED) != (state == STN_THREAD_BLOCKED)) {
        count_sleeper(world, thread, state == STN_THREAD_BLOCKED);
        world->fallen = state == STN_THREAD_BLOCKED ? index : world->fallen;
    }
    thread->state = state;
    thread->cpu = cpu < world->cpu_count ? cpu : thread->cpu;
    touch(world, thread->cpu, state);
    thread->since_ns = world->now_ns;
    list_add(world, index);
    stn_list *dead = stn_world_list(world, thread->cpu, STN_THREAD_DEAD);
    if (state == STN_THREAD_DEAD && dead->count > STN_DEAD_KEPT) {
        thread_drop(world, dead->oldest);
    }
}

static stn_status threads_grow(stn_world *world) {
    size_t before = world->thread_capacity;
    if (stn_grow(&world->threads, &world->thread_capacity, world->thread_count + 1,
                 sizeof *world->threads) != STN_OK) {
        return STN_ENOMEM;
    }
    if (world->thread_capacity != before && world->slots->count > 0) {
        stn_val *memory = stn_realloc(
            world->thread_memory, world->thread_capacity * world->slots->count * sizeof *memory);
        if (!memory) {
            world->thread_capacity = before; /* threads has room for more: harmless */
            return STN_ENOMEM;
        }
        world->thread_memory = memory;
    }
    return STN_OK;
}

/* The map keeps the tids of threads that are gone; make it anew when they outnumber. */
static stn_status sweep(stn_world *world) {
    if (world->tombstones < 1024 || world->tombstones < 4 * (size_t)world->live_threads) {
        return STN_OK;
    }
    stn_map_clear(&world->by_tid);
    world->tombstones = 0;
    for (size_t i = world->cpu_count; i < world->thread_count; i++) {
        if (!world->threads[i].used) {
            continue;
        }
        uint64_t *entry =
            stn_map_put(&world->by_tid, (uint64_t)(uint32_t)world->threads[i].tid, NULL);
        if (!entry) {
            return STN_ENOMEM;
        }
        *entry = i + 1;
    }
    return STN_OK;
}

static uint32_t thread_new(stn_world *world, int32_t tid, uint32_t comm, uint16_t cpu) {
    if (sweep(world) != STN_OK) {
        return STN_WORLD_NONE;
    }
    uint32_t index = world->thread_free;
    if (index == STN_WORLD_NONE) {
        if (threads_grow(world) != STN_OK) {
            return STN_WORLD_NONE;
        }
        index = (uint32_t)world->thread_count;
    }
    if (tid != 0) {
        uint64_t *entry = stn_map_put(&world->by_tid, (uint64_t)(uint32_t)tid, NULL);
        if (!entry) {
            return STN_WORLD_NONE;
        }
        *entry = (uint64_t)index + 1;
    }
    if (index == world->thread_count) {
        world->thread_count++;
    } else {
        world->thread_free = world->threads[index].newer;
    }
    stn_thread *thread = &world->threads[index];
    *thread = (stn_thread){.tid = tid, .comm = comm, .state = STN_THREAD_UNSEEN, .cpu = cpu};
    thread->used = true;
    thread->child = STN_WORLD_NONE;
    thread->kin = STN_KIN_NONE;
    thread->since_ns = world->now_ns;
    list_clear(&thread->own);
    history_clear(thread->history);
    for (uint32_t i = 0; i < world->slots->count; i++) {
        world->thread_memory[(size_t)index * world->slots->count + i].kind = STN_VAL_NONE;
    }
    world->next_tid = tid >= world->next_tid ? tid + 1 : world->next_tid;
    world->live_threads++;
    list_add(world, index);
    return index;
}

uint32_t stn_world_thread(const stn_world *world, int32_t tid, uint16_t cpu) {
    if (tid == 0) {
        return cpu < world->cpu_count ? cpu : 0;
    }
    const uint64_t *entry = stn_map_get(&world->by_tid, (uint64_t)(uint32_t)tid);
    return entry && *entry ? (uint32_t)(*entry - 1) : STN_WORLD_NONE;
}

uint32_t stn_world_meet(stn_world *world, int32_t tid, uint32_t comm, uint16_t cpu) {
    uint32_t index = stn_world_thread(world, tid, cpu);
    return index != STN_WORLD_NONE ? index : thread_new(world, tid, comm, cpu);
}

void stn_world_move(stn_world *world, uint32_t thread, uint8_t state, uint16_t cpu) {
    thread_state(world, thread, state, cpu);
}

void stn_world_place(stn_world *world, uint16_t cpu, uint32_t thread) {
    world->cpus[cpu].thread = thread;
    thread_state(world, thread, STN_THREAD_RUNNING, cpu);
}

uint16_t stn_world_rank(const stn_world *world, uint16_t cpu) {
    uint16_t rank = 0;
    while (rank < world->cpu_count && world->ranks[rank] != cpu) {
        rank++;
    }
    return rank;
}

uint32_t stn_world_population(const stn_world *world, uint32_t state) {
    uint32_t count = 0;
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        count += stn_world_list(world, i, state)->count;
    }
    return count;
}

void stn_world_retire(stn_world *world) {
    uint32_t oldest = STN_WORLD_NONE;
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        uint32_t at = stn_world_list(world, i, STN_THREAD_BLOCKED)->oldest;
        if (at != STN_WORLD_NONE &&
            (oldest == STN_WORLD_NONE ||
             world->threads[at].since_ns < world->threads[oldest].since_ns)) {
            oldest = at;
        }
    }
    if (oldest != STN_WORLD_NONE) {
        thread_drop(world, oldest);
    }
}

uint32_t stn_world_named(const stn_world *world, uint32_t comm) {
    uint32_t count = 0;
    for (size_t i = world->cpu_count; i < world->thread_count; i++) {
        const stn_thread *thread = &world->threads[i];
        count += thread->used && thread->comm == comm && !thread->exiting && !thread->quits &&
                 thread->state != STN_THREAD_DEAD;
    }
    return count;
}

/* ---- what events do -------------------------------------------------------------- */

static const stn_val *val_at(const stn_draft *draft, int8_t field) {
    static const stn_val none = {.kind = STN_VAL_NONE};
    return field >= 0 && field < draft->val_count ? &draft->vals[field] : &none;
}

stn_leaving stn_world_leaving(const stn_world *world, const stn_val *val) {
    if (val->kind == STN_FIELD_STR) {
        const char *text = stn_vocab_name(world->vocab, (uint32_t)val->v);
        return text[0] == 'R'                       ? STN_LEAVES_READY
               : (text[0] == 'X' || text[0] == 'Z') ? STN_LEAVES_GONE
               : text[0] == 'D'                     ? STN_LEAVES_DISK
                                                    : STN_LEAVES_BLOCKED;
    }
    if (val->kind == STN_VAL_NONE || (val->v & 0xff) == 0) {
        return STN_LEAVES_READY;
    }
    return (val->v & 0x30)  ? STN_LEAVES_GONE
           : (val->v & 0x2) ? STN_LEAVES_DISK
                            : STN_LEAVES_BLOCKED;
}

static stn_status on_switch(stn_world *world, const stn_vtype *type, const stn_draft *draft) {
    stn_cpu *cpu = &world->cpus[draft->cpu];
    const stn_val *next = val_at(draft, type->thread_field);
    if (next->kind == STN_VAL_NONE) {
        return STN_OK;
    }
    uint32_t prev = cpu->thread;
    if (prev != STN_WORLD_NONE && world->threads[prev].tid != 0) {
        stn_leaving leaves = stn_world_leaving(world, val_at(draft, type->state_field));
        bool blocked = leaves == STN_LEAVES_BLOCKED || leaves == STN_LEAVES_DISK;
        bool gone = leaves == STN_LEAVES_GONE || (blocked && world->threads[prev].exiting);
        bool woken = world->threads[prev].state == STN_THREAD_WOKEN;
        bool ready = !gone && (!blocked || world->threads[prev].pending);
        thread_state(world, prev,
                     gone             ? STN_THREAD_DEAD
                     : ready && woken ? STN_THREAD_WAKING
                     : ready          ? STN_THREAD_READY
                                      : STN_THREAD_BLOCKED,
                     draft->cpu);
    }
    uint32_t index = stn_world_meet(world, (int32_t)next->v, STN_WORLD_NONE, draft->cpu);
    if (index == STN_WORLD_NONE) {
        return STN_ENOMEM;
    }
    /* The idle task comes only when nobody waits: those who seem to have run unseen. */
    stn_list *ready = stn_world_list(world, draft->cpu, STN_THREAD_READY);
    while (next->v == 0 && ready->newest != STN_WORLD_NONE) {
        thread_state(world, ready->newest, STN_THREAD_BLOCKED, draft->cpu);
    }
    stn_world_place(world, draft->cpu, index);
    world->threads[index].pending = false;
    if (world->threads[index].history[0] != STN_SYMBOL_IN) {
        history_push(world->threads[index].history, STN_SYMBOL_IN);
    }
    world->threads[index].run = 1;
    return STN_OK;
}

/* From within a call, be it in the softirq that the call itself raised, the call counts; else
 * the handler. */
uint64_t stn_world_place_of(const stn_world *world, uint16_t number) {
    const stn_cpu *cpu = &world->cpus[number];
    const stn_thread *thread =
        &world->threads[cpu->thread == STN_WORLD_NONE ? number : cpu->thread];
    bool softirq = cpu->depth == 1 && world->vocab->types[cpu->stack[0]].softirq;
    if (cpu->depth > 0 && !(softirq && thread->depth > 0)) {
        return stn_chain_mix(1, cpu->stack[cpu->depth - 1]);
    }
    return stn_chain_mix(stn_world_kin(thread), softirq ? cpu->stack[0] : STN_SYMBOL_NONE);
}

uint32_t stn_world_asleep(const stn_world *world, uint16_t number) {
    const stn_wake *wake =
        world->slots->wakes ? stn_wakes_of(world->slots->wakes, stn_world_place_of(world, number))
                            : NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; wake && i < wake->count; i++) {
        count += world->asleep[wake->kin[i]];
    }
    return count;
}

static void on_wake(stn_world *world, const stn_vtype *type, const stn_draft *draft,
                    uint32_t index) {
    stn_thread *thread = &world->threads[index];
    const stn_val *target = val_at(draft, type->cpu_field);
    uint16_t cpu = target->kind == STN_VAL_NONE ? thread->cpu : (uint16_t)target->v;
    if (thread->tid == 0 || thread->state == STN_THREAD_DEAD) {
        return;
    }
    thread->waked = type->role == STN_ROLE_WAKING;
    if (thread->state <= STN_THREAD_WOKEN) {
        thread->pending = true;
        thread->state = type->role == STN_ROLE_WAKING ? STN_THREAD_WOKEN : STN_THREAD_RUNNING;
    } else if (type->role != STN_ROLE_WAKING) {
        thread_state(world, index, STN_THREAD_READY, cpu);
    } else if (thread->state != STN_THREAD_READY) {
        thread_state(world, index, STN_THREAD_WAKING, cpu);
    }
}

/* A child takes over the parent's past and what it remembers. */
static void inherit(stn_world *world, uint32_t child, uint32_t parent) {
    stn_thread *to = &world->threads[child];
    const stn_thread *from = &world->threads[parent];
    to->born = true;
    memcpy(to->history, from->history, sizeof to->history);
    history_push(to->history, STN_SYMBOL_FORKED);
    to->depth = from->depth;
    memcpy(to->open, from->open, sizeof to->open);
    for (int i = 0; i < STN_OPEN_DEPTH; i++) {
        to->entered[i].index = STN_WORLD_NONE;
    }
    to->comm = from->comm;
    world->threads[parent].child = child;
    size_t size = world->slots->count;
    if (size > 0) {
        memcpy(world->thread_memory + child * size, world->thread_memory + parent * size,
               size * sizeof *world->thread_memory);
    }
}

static void on_thread_event(stn_world *world, const stn_vtype *type, const stn_draft *draft,
                            uint32_t index) {
    stn_thread *thread = &world->threads[index];
    const stn_val *target = val_at(draft, type->cpu_field);
    switch (type->role) {
    case STN_ROLE_WAKING:
    case STN_ROLE_WAKEUP:
    case STN_ROLE_WAKEUP_NEW:
        on_wake(world, type, draft, index);
        break;
    case STN_ROLE_MIGRATE:
        if (thread->state > STN_THREAD_WOKEN && target->kind != STN_VAL_NONE) {
            uint64_t since = thread->since_ns;
            thread_state(world, index, thread->state, (uint16_t)target->v);
            thread->since_ns = since;
        }
        break;
    case STN_ROLE_EXIT:
        thread->exiting = true;
        break;
    case STN_ROLE_FREE:
        if (thread->state == STN_THREAD_DEAD) {
            thread_drop(world, index);
        }
        break;
    default:
        break;
    }
}

/* Threads that the event names: made if new, moved between states by the type's role. */
static stn_status name_threads(stn_world *world, const stn_vtype *type, const stn_draft *draft,
                               uint32_t current) {
    for (uint16_t i = 0; i < type->field_count; i++) {
        uint8_t means = type->fields[i].means;
        bool thread = means == STN_MEANS_THREAD || means == STN_MEANS_CHILD;
        const stn_val *val = &draft->vals[i];
        if (!thread || val->kind == STN_VAL_NONE || val->kind == STN_FIELD_STR || val->v <= 0 ||
            val->v > INT32_MAX) {
            continue;
        }
        uint32_t known = stn_world_thread(world, (int32_t)val->v, draft->cpu);
        uint32_t index = stn_world_meet(world, (int32_t)val->v, STN_WORLD_NONE, draft->cpu);
        if (index == STN_WORLD_NONE) {
            return STN_ENOMEM;
        }
        if (means == STN_MEANS_CHILD && known == STN_WORLD_NONE && current != STN_WORLD_NONE) {
            thread_state(world, index, STN_THREAD_NEW, draft->cpu);
            inherit(world, index, current);
        }
        world->cpus[draft->cpu].last_tid = (int32_t)val->v;
        if (i == type->thread_field) {
            on_thread_event(world, type, draft, index);
        }
    }
    return STN_OK;
}

static void update_handlers(stn_cpu *cpu, const stn_vtype *type, uint16_t symbol) {
    if (type->frame == STN_FRAME_PUSH) {
        if (cpu->depth == 0) {
            cpu->handler_count = 0;
            cpu->opened_ns = cpu->last_ns;
        }
        if (cpu->depth < STN_HANDLER_DEPTH) {
            cpu->entered[cpu->depth].index = STN_WORLD_NONE;
            cpu->stack[cpu->depth++] = symbol;
        }
    } else if (type->frame == STN_FRAME_POP && cpu->depth > 0) {
        cpu->depth--;
    }
    history_push(cpu->handler_history, symbol);
    cpu->handler_count += cpu->handler_count < STN_HISTORY;
}

/* What the thread is in the middle of. A system call begins with nothing open, whatever a
 * lossy trace says. */
static void update_open(const stn_world *world, stn_thread *thread, const stn_vtype *type,
                        uint16_t symbol) {
    if (type->syscall && type->entry) {
        thread->depth = 0;
    }
    if (type->entry && thread->depth < STN_OPEN_DEPTH) {
        thread->entered[thread->depth].index = STN_WORLD_NONE;
        thread->open[thread->depth++] = symbol;
    } else if (type->partner != STN_PARTNER_NONE) {
        for (uint8_t i = thread->depth; i-- > 0;) {
            if (stn_vocab_pairs(world->vocab, thread->open[i], symbol)) {
                thread->depth = i;
            }
        }
    }
}

static void remember(stn_world *world, const stn_draft *draft, uint32_t thread) {
    size_t family = world->vocab->types[draft->type].family;
    const uint16_t *slots = world->slots->of + family * STN_VFIELD_MAX;
    size_t count = world->slots->count;
    for (uint16_t i = 0; i < draft->val_count; i++) {
        if (slots[i] != STN_SLOT_NONE) {
            world->cpu_memory[draft->cpu * count + slots[i]] = draft->vals[i];
            world->thread_memory[thread * count + slots[i]] = draft->vals[i];
        }
    }
}

static void move_to_front(stn_world *world, uint16_t cpu) {
    uint16_t rank = stn_world_rank(world, cpu);
    for (uint16_t i = rank; i > 0; i--) {
        world->ranks[i] = world->ranks[i - 1];
    }
    world->ranks[0] = cpu;
}

stn_status stn_world_seat(stn_world *world, const stn_draft *draft, uint32_t *current) {
    world->acting = draft->cpu;
    stn_cpu *cpu = &world->cpus[draft->cpu];
    if (draft->tid == STN_NO_TID) {
        *current = cpu->thread == STN_WORLD_NONE ? draft->cpu : cpu->thread;
        return STN_OK;
    }
    *current = stn_world_meet(world, draft->tid, draft->comm, draft->cpu);
    if (*current == STN_WORLD_NONE) {
        return STN_ENOMEM;
    }
    if (cpu->thread != *current) {
        if (cpu->thread != STN_WORLD_NONE) {
            thread_state(world, cpu->thread, STN_THREAD_BLOCKED, draft->cpu);
        }
        stn_world_place(world, draft->cpu, *current);
    }
    /* an event that renames its thread bears the new name already: until it has happened the
     * old one counts */
    stn_thread *thread = &world->threads[*current];
    bool renames = world->vocab->types[draft->type].role == STN_ROLE_RENAME;
    if (draft->comm != STN_WORLD_NONE && (!renames || thread->comm == STN_WORLD_NONE)) {
        thread->comm = draft->comm;
    }
    return STN_OK;
}

/* exp(-x), x >= 0; most steps are short, and then a few terms say it to 12 digits. */
static double decay(double x) {
    return x < 0.01 ? 1 - x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4))) : exp(-x);
}

static void load(stn_world *world, uint64_t time_ns) {
    static const double span_ns[STN_LOADS] = {1e7, 3e8};
    double age_ns = time_ns > world->now_ns ? (double)(time_ns - world->now_ns) * world->haste : 0;
    for (int i = 0; i < STN_LOADS; i++) {
        world->loads[i] = world->loads[i] * decay(age_ns / span_ns[i]) + 1;
    }
}

static stn_returned returned(int64_t value) {
    return value == 0         ? STN_RETURNED_ZERO
           : value == -EAGAIN ? STN_RETURNED_AGAIN
           : value < 0        ? STN_RETURNED_ERROR
                              : STN_RETURNED_MORE;
}

/* What an exit says that its call came to. */
static void note_return(const stn_world *world, stn_thread *thread, const stn_vtype *type,
                        const stn_draft *draft) {
    for (uint16_t i = 0; i < type->field_count; i++) {
        if (type->fields[i].name == world->ret_name) {
            const stn_val *val = &draft->vals[i];
            thread->returned = (uint8_t)(val->kind == STN_VAL_NONE    ? STN_RETURNED_NOTHING
                                         : val->kind == STN_FIELD_STR ? STN_RETURNED_MORE
                                                                      : returned(val->v));
        }
    }
}

stn_status stn_world_apply(stn_world *world, const stn_draft *draft) {
    const stn_vtype *type = &world->vocab->types[draft->type];
    stn_cpu *cpu = &world->cpus[draft->cpu];
    uint16_t symbol = (uint16_t)draft->type;
    uint32_t current;
    load(world, draft->time_ns);
    world->now_ns = draft->time_ns;
    world->events++;
    world->acting = draft->cpu;
    world->touched_count = 0;
    world->fallen = STN_WORLD_NONE;
    if (stn_world_seat(world, draft, &current) != STN_OK) {
        return STN_ENOMEM;
    }
    move_to_front(world, draft->cpu);
    cpu->last_ns = draft->time_ns;
    cpu->trigger_ns = draft->time_ns;
    cpu->touched = false;
    history_push(cpu->history, symbol);
    if (cpu->depth > 0 || type->frame != STN_FRAME_NONE) {
        update_handlers(cpu, type, symbol);
    } else {
        stn_thread *in = &world->threads[current];
        if (in->history[0] == symbol) {
            in->run++;
        } else {
            in->run = 1;
            history_push(in->history, symbol);
        }
        update_open(world, &world->threads[current], type, symbol);
        in->quits |= type->role == STN_ROLE_QUIT;
        if (type->partner != STN_PARTNER_NONE) {
            note_return(world, in, type, draft);
        }
    }
    if (type->role == STN_ROLE_RENAME && draft->comm != STN_WORLD_NONE) {
        world->threads[current].comm = draft->comm;
    }
    remember(world, draft, current);
    if (world->domains->types[draft->type].count > 0 &&
        stn_instance_touch(world, draft, current) != STN_OK) {
        return STN_ENOMEM;
    }
    if (type->role == STN_ROLE_SWITCH) {
        return on_switch(world, type, draft);
    }
    return name_threads(world, type, draft, current);
}

/* ---- events ------------------------------------------------------------------------ */

/* All but the texts. @param[out] fields  [val_count] of the event, NULL where missing */
static stn_status draft_begin(stn_draft *draft, const stn_vocab *vocab, const stn_event *event,
                              const stn_field **fields) {
    uint32_t dense = stn_vocab_type(vocab, event);
    if (dense == UINT32_MAX) {
        return STN_ENOTFOUND;
    }
    const stn_vtype *type = &vocab->types[dense];
    draft->time_ns = event->time_ns;
    draft->type = dense;
    draft->cpu = event->cpu;
    draft->tid = event->tid;
    draft->comm = STN_WORLD_NONE;
    draft->val_count = type->field_count;
    for (uint16_t i = 0; i < type->field_count; i++) {
        uint32_t name = vocab->text_catalog[type->fields[i].name];
        bool in_place = i < event->field_count && event->fields[i].name == name;
        fields[i] = in_place ? &event->fields[i] : stn_event_field(event, name);
        draft->vals[i] = (stn_val){.kind = STN_VAL_NONE};
    }
    return STN_OK;
}

stn_status stn_draft_from(stn_draft *draft, stn_vocab *vocab, const stn_event *event) {
    const stn_field *fields[STN_VFIELD_MAX];
    stn_status status = draft_begin(draft, vocab, event, fields);
    if (status == STN_OK && event->comm != STN_NO_ID) {
        draft->comm = stn_vocab_text(vocab, event->comm);
    }
    for (uint16_t i = 0; status == STN_OK && i < draft->val_count; i++) {
        if (fields[i]) {
            status = stn_vocab_val(vocab, fields[i], &draft->vals[i]);
        }
    }
    return status;
}

stn_status stn_draft_known(stn_draft *draft, const stn_vocab *vocab, const stn_event *event) {
    const stn_field *fields[STN_VFIELD_MAX];
    stn_status status = draft_begin(draft, vocab, event, fields);
    if (status == STN_OK && event->comm != STN_NO_ID) {
        draft->comm = stn_vocab_known_text(vocab, event->comm);
    }
    for (uint16_t i = 0; status == STN_OK && i < draft->val_count; i++) {
        if (fields[i]) {
            draft->vals[i] = stn_vocab_known(vocab, fields[i]);
        }
    }
    return status;
}
