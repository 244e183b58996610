/* Threads and instances are renumbered densely; those without a name or a thread are dropped. */
#include "kernel/synth/start.h"

#include <string.h>

#include "core/base/alloc.h"

/* ---- taking -------------------------------------------------------------------------- */

bool stn_start_fits(const stn_world *world) {
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        if (world->cpus[i].depth > 0 || world->cpus[i].thread == STN_WORLD_NONE) {
            return false;
        }
    }
    return true;
}

static bool worth_keeping(const stn_world *world, uint32_t index) {
    const stn_thread *thread = &world->threads[index];
    bool named = index < world->cpu_count || thread->comm != STN_WORLD_NONE;
    return thread->used && named && thread->state != STN_THREAD_DEAD;
}

static stn_status take_threads(stn_start *start, const stn_world *world, uint32_t *number) {
    for (uint32_t i = 0; i < world->thread_count; i++) {
        number[i] = STN_WORLD_NONE;
        if (worth_keeping(world, i)) {
            number[i] = start->thread_count;
            start->threads[start->thread_count++] = world->threads[i];
        }
    }
    for (uint32_t i = 0; i < start->thread_count; i++) {
        stn_thread *thread = &start->threads[i];
        thread->child =
            thread->child < world->thread_count ? number[thread->child] : STN_WORLD_NONE;
        thread->since_ns = world->now_ns - thread->since_ns;
    }
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        start->cpus[i] = world->cpus[i];
        start->cpus[i].thread = number[world->cpus[i].thread];
        if (start->cpus[i].thread == STN_WORLD_NONE) {
            start->cpus[i].thread = i;
        }
    }
    return STN_OK;
}

static void take_instance(stn_start *start, const stn_world *world, uint32_t index,
                          const uint32_t *number) {
    stn_instance copy = world->instances[index];
    if (world->domains->scope[copy.domain] == STN_SCOPE_THREAD) {
        copy.scope = number[copy.scope];
    }
    if (copy.scope != STN_WORLD_NONE) {
        copy.due_ns = copy.due_ns > world->now_ns ? copy.due_ns - world->now_ns : 0;
        start->instances[start->instance_count++] = copy;
    }
}

static void take_list(stn_start *start, const stn_world *world, const stn_list *list,
                      const uint32_t *number) {
    for (uint32_t at = list->oldest; at != STN_WORLD_NONE; at = world->instances[at].newer) {
        take_instance(start, world, at, number);
    }
}

static void take_instances(stn_start *start, const stn_world *world, const uint32_t *number) {
    size_t lists = (size_t)STN_DOMAIN_MAX * (world->cpu_count + 1u);
    for (size_t i = 0; i < lists; i++) {
        take_list(start, world, &world->instance_lists[i], number);
    }
    for (uint32_t i = 0; i < world->thread_count; i++) {
        if (world->threads[i].used) {
            take_list(start, world, &world->threads[i].own, number);
        }
    }
}

stn_status stn_start_take(stn_start *start, const stn_world *world) {
    *start = (stn_start){.cpu_count = world->cpu_count};
    uint32_t *number = stn_malloc(world->thread_count * sizeof *number);
    start->threads = stn_malloc(world->thread_count * sizeof *start->threads);
    start->instances = stn_malloc(world->instance_count * sizeof *start->instances);
    start->cpus = stn_calloc(world->cpu_count, sizeof *start->cpus);
    start->ranks = stn_malloc(world->cpu_count * sizeof *start->ranks);
    stn_status status = STN_ENOMEM;
    if (number && start->threads && start->instances && start->cpus && start->ranks) {
        memcpy(start->ranks, world->ranks, world->cpu_count * sizeof *start->ranks);
        status = take_threads(start, world, number);
        take_instances(start, world, number);
    }
    stn_free(number);
    if (status != STN_OK) {
        stn_start_fini(start);
    }
    return status;
}

void stn_start_fini(stn_start *start) {
    stn_free(start->threads);
    stn_free(start->instances);
    stn_free(start->cpus);
    stn_free(start->ranks);
    *start = (stn_start){0};
}

static bool knows(const stn_start *start, int32_t tid) {
    uint32_t i = start->cpu_count;
    while (i < start->thread_count && start->threads[i].tid != tid) {
        i++;
    }
    return i < start->thread_count;
}

stn_status stn_start_complete(stn_start *start, const stn_world *world) {
    size_t room = start->thread_count + world->thread_count;
    stn_thread *threads = stn_realloc(start->threads, room * sizeof *threads);
    if (!threads) {
        return STN_ENOMEM;
    }
    start->threads = threads;
    for (uint32_t i = world->cpu_count; i < world->thread_count; i++) {
        const stn_thread *from = &world->threads[i];
        if (!worth_keeping(world, i) || from->born || knows(start, from->tid)) {
            continue;
        }
        stn_thread *to = &threads[start->thread_count++];
        *to = (stn_thread){.tid = from->tid,
                           .comm = from->comm,
                           .state = STN_THREAD_UNSEEN,
                           .used = true,
                           .cpu = from->cpu,
                           .child = STN_WORLD_NONE,
                           .kin = STN_KIN_NONE};
        for (int k = 0; k < STN_HISTORY; k++) {
            to->history[k] = STN_SYMBOL_NONE;
        }
    }
    return STN_OK;
}

/* ---- restoring ------------------------------------------------------------------------- */

static void restore_cpus(const stn_start *start, stn_world *world) {
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        const stn_cpu *from = &start->cpus[i];
        stn_cpu *to = &world->cpus[i];
        world->ranks[i] = start->ranks[i];
        to->handler_count = from->handler_count;
        memcpy(to->handler_history, from->handler_history, sizeof to->handler_history);
        memcpy(to->history, from->history, sizeof to->history);
    }
}

static stn_status restore_thread(const stn_start *start, stn_world *world, uint32_t number) {
    const stn_thread *from = &start->threads[number];
    uint32_t index = number < start->cpu_count
                         ? number
                         : stn_world_meet(world, from->tid, from->comm, from->cpu);
    if (index == STN_WORLD_NONE) {
        return STN_ENOMEM;
    }
    stn_thread *to = &world->threads[index];
    to->comm = from->comm;
    to->depth = from->depth;
    to->exiting = from->exiting;
    to->quits = from->quits;
    to->waked = from->state == STN_THREAD_WAKING || from->state == STN_THREAD_WOKEN;
    memcpy(to->open, from->open, sizeof to->open);
    for (int i = 0; i < STN_OPEN_DEPTH; i++) {
        to->entered[i].index = STN_WORLD_NONE;
    }
    memcpy(to->history, from->history, sizeof to->history);
    if (number >= start->cpu_count && from->state > STN_THREAD_WOKEN) {
        stn_world_move(world, index, from->state, from->cpu);
    }
    to->since_ns = world->now_ns > from->since_ns ? world->now_ns - from->since_ns : 0;
    return STN_OK;
}

/* What each open entry named. */
static void restore_entered(const stn_start *start, stn_world *world) {
    for (uint32_t i = start->cpu_count; i < start->thread_count; i++) {
        const stn_thread *from = &start->threads[i];
        stn_thread *to = &world->threads[stn_world_thread(world, from->tid, 0)];
        for (uint8_t d = 0; d < from->depth; d++) {
            uint64_t serial = from->entered[d].serial;
            to->entered[d] = (stn_named){stn_instance_hashed(world, serial), serial};
        }
    }
}

stn_status stn_start_restore(const stn_start *start, stn_world *world) {
    restore_cpus(start, world);
    for (uint32_t i = 0; i < start->thread_count; i++) {
        if (restore_thread(start, world, i) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    for (uint16_t i = 0; i < world->cpu_count; i++) {
        const stn_thread *runs = &start->threads[start->cpus[i].thread];
        uint32_t index = stn_world_thread(world, runs->tid, i);
        stn_world_place(world, i, index == STN_WORLD_NONE ? i : index);
    }
    for (uint32_t i = 0; i < start->instance_count; i++) {
        stn_instance copy = start->instances[i];
        if (world->domains->scope[copy.domain] == STN_SCOPE_THREAD) {
            const stn_thread *owner = &start->threads[copy.scope];
            copy.scope = stn_world_thread(world, owner->tid, (uint16_t)copy.scope);
        }
        copy.due_ns += world->now_ns;
        if (copy.scope != STN_WORLD_NONE && stn_instance_restore(world, &copy) != STN_OK) {
            return STN_ENOMEM;
        }
    }
    restore_entered(start, world);
    return STN_OK;
}

/* ---- files -------------------------------------------------------------------------------- */

static void put_history(const uint16_t *history, stn_blob *blob) {
    for (int i = 0; i < STN_HISTORY; i++) {
        stn_blob_u16(blob, history[i]);
    }
}

static void put_thread(const stn_thread *thread, stn_blob *blob) {
    stn_blob_u32(blob, (uint32_t)thread->tid);
    stn_blob_u32(blob, thread->comm);
    stn_blob_u8(blob, thread->state);
    stn_blob_u8(blob, thread->exiting);
    stn_blob_u8(blob, thread->quits);
    stn_blob_u16(blob, thread->cpu);
    stn_blob_u64(blob, thread->since_ns);
    stn_blob_u8(blob, thread->depth);
    for (int i = 0; i < STN_OPEN_DEPTH; i++) {
        stn_blob_u16(blob, i < thread->depth ? thread->open[i] : STN_SYMBOL_NONE);
        stn_blob_u64(blob, i < thread->depth ? thread->entered[i].serial : 0);
    }
    put_history(thread->history, blob);
}

static void put_val(stn_val val, stn_blob *blob) {
    stn_blob_u64(blob, (uint64_t)val.v);
    stn_blob_u8(blob, (uint8_t)val.kind);
}

static void put_instance(const stn_instance *instance, stn_blob *blob) {
    stn_blob_u8(blob, instance->domain);
    stn_blob_u8(blob, instance->part_count);
    stn_blob_u16(blob, instance->last);
    stn_blob_u16(blob, instance->cpu);
    stn_blob_u32(blob, (uint32_t)instance->owner);
    stn_blob_u32(blob, instance->scope);
    stn_blob_u64(blob, instance->due_ns);
    for (uint8_t i = 0; i < instance->part_count; i++) {
        put_val(instance->parts[i], blob);
    }
    stn_blob_u8(blob, instance->val_count);
    for (uint8_t i = 0; i < instance->val_count; i++) {
        stn_blob_u32(blob, instance->names[i]);
        put_val(instance->vals[i], blob);
    }
}

void stn_start_put(const stn_start *start, stn_blob *blob) {
    stn_blob_u16(blob, start->cpu_count);
    for (uint16_t i = 0; i < start->cpu_count; i++) {
        stn_blob_u32(blob, start->cpus[i].thread);
        stn_blob_u16(blob, start->ranks[i]);
        stn_blob_u16(blob, start->cpus[i].handler_count);
        put_history(start->cpus[i].handler_history, blob);
        put_history(start->cpus[i].history, blob);
    }
    stn_blob_u32(blob, start->thread_count);
    for (uint32_t i = 0; i < start->thread_count; i++) {
        put_thread(&start->threads[i], blob);
    }
    stn_blob_u32(blob, start->instance_count);
    for (uint32_t i = 0; i < start->instance_count; i++) {
        put_instance(&start->instances[i], blob);
    }
}

static bool get_history(uint16_t *history, stn_cursor *cursor) {
    for (int i = 0; i < STN_HISTORY; i++) {
        history[i] = stn_cursor_u16(cursor);
    }
    return !cursor->failed;
}

static bool get_thread(stn_thread *thread, stn_cursor *cursor, const stn_start *start,
                       const stn_vocab *vocab) {
    *thread = (stn_thread){.tid = (int32_t)stn_cursor_u32(cursor), .used = true};
    thread->comm = stn_cursor_u32(cursor);
    thread->state = stn_cursor_u8(cursor);
    thread->exiting = stn_cursor_u8(cursor) != 0;
    thread->quits = stn_cursor_u8(cursor) != 0;
    thread->cpu = stn_cursor_u16(cursor);
    thread->since_ns = stn_cursor_u64(cursor);
    thread->depth = stn_cursor_u8(cursor);
    bool sane = true;
    for (int i = 0; i < STN_OPEN_DEPTH; i++) {
        thread->open[i] = stn_cursor_u16(cursor);
        thread->entered[i].serial = stn_cursor_u64(cursor);
        sane = sane && (i >= thread->depth || thread->open[i] < vocab->type_count);
    }
    bool idle = start->thread_count < start->cpu_count;
    bool named = thread->comm < vocab->texts.count || (idle && thread->comm == STN_WORLD_NONE);
    return get_history(thread->history, cursor) && sane && named &&
           thread->state < STN_THREAD_STATES && thread->state != STN_THREAD_DEAD &&
           thread->cpu < start->cpu_count && thread->depth <= STN_OPEN_DEPTH &&
           (idle ? thread->tid == 0 : thread->tid > 0) && thread->tid < INT32_MAX / 2;
}

static bool get_val(stn_val *val, stn_cursor *cursor, const stn_vocab *vocab) {
    *val = (stn_val){.v = (int64_t)stn_cursor_u64(cursor)};
    val->kind = stn_cursor_u8(cursor);
    bool text = val->kind == STN_FIELD_STR;
    return !cursor->failed && val->kind <= STN_FIELD_STR &&
           (!text || (val->v >= 0 && (size_t)val->v < vocab->texts.count));
}

static bool get_instance(stn_instance *instance, stn_cursor *cursor, const stn_start *start,
                         const stn_vocab *vocab, const stn_domains *domains) {
    *instance = (stn_instance){.domain = stn_cursor_u8(cursor), .used = true};
    instance->part_count = stn_cursor_u8(cursor);
    instance->last = stn_cursor_u16(cursor);
    instance->cpu = stn_cursor_u16(cursor);
    instance->owner = (int32_t)stn_cursor_u32(cursor);
    instance->scope = stn_cursor_u32(cursor);
    instance->due_ns = stn_cursor_u64(cursor);
    if (cursor->failed || instance->domain >= domains->count || instance->part_count == 0 ||
        instance->part_count > STN_KEY_FIELDS ||
        (instance->last >= vocab->type_count && instance->last != STN_SYMBOL_NONE)) {
        return false;
    }
    uint8_t scope = domains->scope[instance->domain];
    uint32_t limit = scope == STN_SCOPE_ALL   ? 1
                     : scope == STN_SCOPE_CPU ? start->cpu_count
                                              : start->thread_count;
    for (uint8_t i = 0; i < instance->part_count; i++) {
        if (!get_val(&instance->parts[i], cursor, vocab)) {
            return false;
        }
    }
    instance->val_count = stn_cursor_u8(cursor);
    if (instance->scope >= limit || instance->val_count > STN_INSTANCE_FIELDS) {
        return false;
    }
    for (uint8_t i = 0; i < instance->val_count; i++) {
        instance->names[i] = stn_cursor_u32(cursor);
        if (!get_val(&instance->vals[i], cursor, vocab)) {
            return false;
        }
    }
    return true;
}

/* Every CPU has its rank, every rank its CPU. */
static bool get_cpus(stn_start *start, stn_cursor *cursor) {
    for (uint16_t i = 0; i < start->cpu_count; i++) {
        start->cpus[i].thread = stn_cursor_u32(cursor);
        start->ranks[i] = stn_cursor_u16(cursor);
        start->cpus[i].handler_count = stn_cursor_u16(cursor);
        if (start->cpus[i].handler_count > STN_HISTORY || start->ranks[i] >= start->cpu_count ||
            !get_history(start->cpus[i].handler_history, cursor) ||
            !get_history(start->cpus[i].history, cursor)) {
            return false;
        }
        for (uint16_t j = 0; j < i; j++) {
            if (start->ranks[j] == start->ranks[i]) {
                return false;
            }
        }
    }
    return !cursor->failed;
}

static stn_status get_threads(stn_start *start, stn_cursor *cursor, const stn_vocab *vocab) {
    uint32_t count = stn_cursor_count(cursor, 46);
    start->threads = stn_malloc(count * sizeof *start->threads);
    if (!start->threads) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!get_thread(&start->threads[i], cursor, start, vocab)) {
            return STN_EFORMAT;
        }
        start->thread_count++;
    }
    for (uint16_t i = 0; i < start->cpu_count; i++) {
        if (start->cpus[i].thread >= start->thread_count) {
            return STN_EFORMAT;
        }
    }
    return count < start->cpu_count || cursor->failed ? STN_EFORMAT : STN_OK;
}

static stn_status get_instances(stn_start *start, stn_cursor *cursor, const stn_vocab *vocab,
                                const stn_domains *domains) {
    uint32_t count = stn_cursor_count(cursor, 32);
    start->instances = stn_malloc(count * sizeof *start->instances);
    if (!start->instances) {
        return STN_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!get_instance(&start->instances[i], cursor, start, vocab, domains)) {
            return STN_EFORMAT;
        }
        start->instance_count++;
    }
    return cursor->failed ? STN_EFORMAT : STN_OK;
}

stn_status stn_start_get(stn_start *start, stn_cursor *cursor, const stn_vocab *vocab,
                         const stn_domains *domains) {
    *start = (stn_start){.cpu_count = stn_cursor_u16(cursor)};
    if (start->cpu_count == 0 || start->cpu_count > STN_CPU_MAX) {
        return STN_EFORMAT;
    }
    start->cpus = stn_calloc(start->cpu_count, sizeof *start->cpus);
    start->ranks = stn_calloc(start->cpu_count, sizeof *start->ranks);
    stn_status status = start->cpus && start->ranks ? STN_OK : STN_ENOMEM;
    if (status == STN_OK && !get_cpus(start, cursor)) {
        status = STN_EFORMAT;
    }
    if (status == STN_OK) {
        status = get_threads(start, cursor, vocab);
    }
    if (status == STN_OK) {
        status = get_instances(start, cursor, vocab, domains);
    }
    if (status != STN_OK) {
        stn_start_fini(start);
    }
    return status;
}
