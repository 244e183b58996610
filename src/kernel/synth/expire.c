/* The alarms of what is due: timers by their own time, what devices were given by when they are
 * done with it. When one rings, the handler comes that comes for such a thing. A device does
 * what it was given one after the other, and one handler may find several done: so there is one
 * alarm for all that waits for the same handler, counted from when the handler last came. */
#include "kernel/synth/generator.h"

enum {
    RETRY_NS = 200000,
    QUEUE = 1 << 30, /* alarm of a queue, by row */
};

bool stn_generator_lives(const stn_generator *generator, uint16_t cpu) {
    return !generator->live || generator->live[cpu];
}

/* What comes for an instance as it stands; NULL: nothing. */
static const stn_due *due_of(const stn_generator *generator, const stn_instance *instance) {
    const stn_due *due =
        instance->used ? stn_dues_of(&generator->model->attr.dues, instance->last) : NULL;
    return due && due->completion == (instance->due_ns == 0) ? due : NULL;
}

static stn_status add_due(stn_generator *generator, uint16_t cpu, uint32_t what, uint64_t due_ns) {
    return stn_alarms_add(&generator->due, due_ns, (uint64_t)cpu << 32 | what);
}

/* Set the alarm of a timer that is armed, or of a queue that was empty. */
static stn_status arm(stn_generator *generator, uint32_t index) {
    const stn_dues *dues = &generator->model->attr.dues;
    stn_instance *timer = &generator->world.instances[index];
    const stn_due *due = due_of(generator, timer);
    uint16_t cpu = due && due->cpu != STN_NO_CPU ? due->cpu : timer->cpu;
    if (!due || !stn_dues_driven(dues, due->handler) || !stn_generator_lives(generator, cpu)) {
        return STN_OK;
    }
    uint64_t late_ns = stn_due_draw(due, &generator->rng);
    if (due->completion) {
        stn_queue *queue = &generator->queues[due - dues->rows];
        if (queue->armed) {
            return STN_OK;
        }
        *queue = (stn_queue){true, generator->world.now_ns};
        generator->armed[cpu]++;
        return add_due(generator, cpu, QUEUE | (uint32_t)(due - dues->rows),
                       generator->world.now_ns + late_ns);
    }
    timer->alarm_ns = timer->due_ns + late_ns;
    generator->armed[cpu]++;
    return add_due(generator, cpu, index, timer->alarm_ns);
}

stn_status stn_generator_arm_all(stn_generator *generator) {
    stn_status status = STN_OK;
    for (uint32_t i = 0; i < generator->world.instance_count && status == STN_OK; i++) {
        if (generator->world.instances[i].used) {
            status = arm(generator, i);
        }
    }
    return status;
}

stn_status stn_generator_arm_named(stn_generator *generator) {
    const stn_world *world = &generator->world;
    const stn_type_keys *keys = &generator->model->domains.types[generator->draft.type];
    stn_status status = STN_OK;
    for (uint8_t k = 0; k < keys->count && status == STN_OK; k++) {
        uint32_t index = world->cpus[generator->draft.cpu].last_instance[keys->keys[k].domain];
        if (index != STN_WORLD_NONE && world->instances[index].last == generator->draft.type) {
            status = arm(generator, index);
        }
    }
    return status;
}

/* Is a CPU in a handler, about to be in this one, or about to run what was raised? */
static bool is_taken(const stn_generator *generator, uint16_t cpu, const stn_due *due) {
    const stn_cpu *on = &generator->world.cpus[cpu];
    const stn_vocab *vocab = &generator->model->vocab;
    uint32_t type = generator->clocks[cpu].type;
    return on->depth > 0 || type == due->handler ||
           (on->raised != 0 && type < vocab->type_count &&
            vocab->types[type].frame == STN_FRAME_PUSH);
}

static void come(stn_generator *generator, uint16_t cpu, const stn_due *due, uint64_t time_ns,
                 uint32_t instance) {
    generator->clocks[cpu].type = due->handler;
    generator->clocks[cpu].time_ns = time_ns;
    generator->world.cpus[cpu].due_timer = instance;
}

/* The handler comes for the oldest of a queue; if that came into it only after what the alarm
 * was counted from, it is counted anew. */
static stn_status expire_queue(stn_generator *generator, stn_alarm alarm) {
    uint16_t cpu = (uint16_t)(alarm.what >> 32);
    uint32_t row = (uint32_t)alarm.what & ~QUEUE;
    const stn_due *due = &generator->model->attr.dues.rows[row];
    stn_queue *queue = &generator->queues[row];
    uint32_t oldest = generator->world.like_lists[due->after].oldest;
    if (oldest == STN_WORLD_NONE) {
        generator->armed[cpu]--;
        queue->armed = false;
        return STN_OK;
    }
    uint64_t left_ns = generator->world.instances[oldest].touched_ns;
    uint64_t next_ns = generator->clocks[cpu].time_ns + 1;
    if (left_ns > queue->from_ns) {
        queue->from_ns = left_ns;
        next_ns = left_ns + stn_due_draw(due, &generator->rng);
    } else if (!is_taken(generator, cpu, due)) {
        come(generator, cpu, due, alarm.due_ns, oldest);
        queue->from_ns = alarm.due_ns;
        next_ns = alarm.due_ns + 1 + stn_due_draw(due, &generator->rng);
    }
    return add_due(generator, cpu, (uint32_t)alarm.what, next_ns);
}

/* Let the handler come that the earliest alarm calls; in a handler, when that is over. */
stn_status stn_generator_expire(stn_generator *generator) {
    stn_alarm alarm = stn_alarms_take(&generator->due);
    if (alarm.what & QUEUE) {
        return expire_queue(generator, alarm);
    }
    uint16_t cpu = (uint16_t)(alarm.what >> 32);
    stn_instance *timer = &generator->world.instances[(uint32_t)alarm.what];
    const stn_due *due = timer->alarm_ns == alarm.due_ns ? due_of(generator, timer) : NULL;
    if (!due) {
        generator->armed[cpu]--;
        return STN_OK;
    }
    if (is_taken(generator, cpu, due)) {
        timer->alarm_ns = generator->clocks[cpu].time_ns + 1;
    } else {
        come(generator, cpu, due, alarm.due_ns, (uint32_t)alarm.what);
        /* if the handler takes another one */
        timer->alarm_ns = 2 * alarm.due_ns - timer->due_ns + RETRY_NS;
    }
    return add_due(generator, cpu, (uint32_t)alarm.what, timer->alarm_ns);
}
