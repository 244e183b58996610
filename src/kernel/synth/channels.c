#include "kernel/synth/channels.h"

#include <string.h>

#include "core/base/alloc.h"

enum {
    SYMBOLS = 3, /* that histories have beside types */
    REPEATED_CLASSES = 16,
    COUNT_BINS = 4, /* step symbols to a class of a count: two to the octave */
    LOAD_CLASSES = 42,
    AGE_BINS = 4, /* step symbols to a class of an age */
    AGE_CLASSES = 72,
    WAITING_CLASSES = 64,
    COMM_CLASSES_MAX = 4096,
};

/* How the classes of a channel are counted. */
typedef enum channel_size {
    SIZE_SYMBOLS, /* types, and what else a history holds */
    SIZE_TYPES,   /* types, and "nothing came" */
    SIZE_COMMS,
    SIZE_REPEATED,
    SIZE_RETURNED,
    SIZE_WAITING,
    SIZE_RAISED,
    SIZE_LOAD,
    SIZE_AGE,
    SIZE_STEPS,
} channel_size;

/* The table: which word of --channels brings a channel in. Several channels may share one. */
static const struct {
    const char *word;
    bool seen; /* never predicted */
    channel_size size;
} rows[STN_CHANNEL_COUNT] = {
    [STN_CHANNEL_HANDLER] = {"cpu", true, SIZE_SYMBOLS},
    [STN_CHANNEL_HANDLED] = {"cpu", true, SIZE_SYMBOLS},
    [STN_CHANNEL_OPEN] = {"tid", true, SIZE_SYMBOLS},
    [STN_CHANNEL_COMM] = {"comm", true, SIZE_COMMS},
    [STN_CHANNEL_LAST] = {"tid", true, SIZE_SYMBOLS},
    [STN_CHANNEL_BEFORE] = {"tid", true, SIZE_SYMBOLS},
    [STN_CHANNEL_EARLIER] = {"tid", true, SIZE_SYMBOLS},
    [STN_CHANNEL_REPEATED] = {"tid", true, SIZE_REPEATED},
    [STN_CHANNEL_RETURNED] = {"ret", true, SIZE_RETURNED},
    [STN_CHANNEL_ON_CPU] = {"cpu", true, SIZE_SYMBOLS},
    [STN_CHANNEL_WAITING] = {"cpu", true, SIZE_WAITING},
    [STN_CHANNEL_RAISED] = {"cpu", true, SIZE_RAISED},
    [STN_CHANNEL_OTHER] = {"other", true, SIZE_COMMS},
    [STN_CHANNEL_OTHER_LAST] = {"other", true, SIZE_SYMBOLS},
    [STN_CHANNEL_OTHER_OPEN] = {"other", true, SIZE_SYMBOLS},
    [STN_CHANNEL_OTHER_AGE] = {"other", true, SIZE_AGE},
    [STN_CHANNEL_LOAD] = {"load", true, SIZE_LOAD},
    [STN_CHANNEL_LOAD_LONG] = {"load", true, SIZE_LOAD},
    [STN_CHANNEL_TYPE] = {"event", false, SIZE_TYPES},
    [STN_CHANNEL_STEP] = {"dt", false, SIZE_STEPS},
};

_Static_assert(STN_CHANNEL_COUNT <= STN_CHANNELS_MAX, "the denoiser takes all channels");

static bool word_is_in(const char *list, const char *word) {
    size_t size = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, size) == 0 && (at[size] == ',' || at[size] == '\0')) {
            return true;
        }
    }
    return false;
}

static stn_status list_check(const char *list, stn_err *err) {
    for (const char *at = list; *at;) {
        size_t size = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < STN_CHANNEL_COUNT; i++) {
            known |= strlen(rows[i].word) == size && strncmp(rows[i].word, at, size) == 0;
        }
        if (!known) {
            return stn_err_set(err, STN_ERANGE,
                               "no channel is called '%.*s'; there are: event, dt, cpu, tid, comm, "
                               "ret, other, load",
                               (int)(size < 40 ? size : 40), at);
        }
        at += size + (at[size] == ',');
    }
    if (!word_is_in(list, "event") || !word_is_in(list, "dt")) {
        return stn_err_set(err, STN_ERANGE, "a model has at least the channels event and dt");
    }
    return STN_OK;
}

static uint32_t class_count(const stn_channels *channels, channel_size size,
                            const stn_vocab *vocab) {
    switch (size) {
    case SIZE_SYMBOLS:
        return vocab->type_count + SYMBOLS;
    case SIZE_TYPES:
        return vocab->type_count + 1;
    case SIZE_COMMS:
        return channels->comm_classes;
    case SIZE_REPEATED:
        return REPEATED_CLASSES;
    case SIZE_RETURNED:
        return STN_RETURNED_COUNT;
    case SIZE_WAITING:
        return WAITING_CLASSES;
    case SIZE_RAISED:
        return STN_RAISED_MAX + 1;
    case SIZE_LOAD:
        return LOAD_CLASSES;
    case SIZE_AGE:
        return AGE_CLASSES;
    case SIZE_STEPS:
        break;
    }
    return STN_STEP_CLASSES;
}

stn_status stn_channels_init(stn_channels *channels, const char *list, const stn_vocab *vocab,
                             uint16_t cpu_count, stn_err *err) {
    *channels = (stn_channels){.cpu_count = cpu_count, .comm_classes = 1u + cpu_count};
    list = list ? list : "event,dt,cpu,tid,comm,ret,other,load";
    stn_status status = list_check(list, err);
    if (status != STN_OK) {
        return status;
    }
    for (uint32_t c = 0; c < STN_CHANNEL_COUNT; c++) {
        if (word_is_in(list, rows[c].word)) {
            channels->which[channels->count] = (uint8_t)c;
            channels->classes[channels->count++] = class_count(channels, rows[c].size, vocab);
        }
    }
    return STN_OK;
}

void stn_channels_fini(stn_channels *channels) {
    stn_free(channels->comm_class);
    *channels = (stn_channels){0};
}

stn_status stn_channels_meet(stn_channels *channels, uint32_t text) {
    if (text == STN_WORLD_NONE) {
        return STN_OK;
    }
    if (text >= channels->text_count) {
        size_t capacity = channels->text_count;
        if (stn_grow(&channels->comm_class, &capacity, (size_t)text + 1,
                     sizeof *channels->comm_class) != STN_OK) {
            return STN_ENOMEM;
        }
        memset(channels->comm_class + channels->text_count, 0,
               (capacity - channels->text_count) * sizeof *channels->comm_class);
        channels->text_count = (uint32_t)capacity;
    }
    if (!channels->comm_class[text] && channels->comm_classes < COMM_CLASSES_MAX) {
        channels->comm_class[text] = (uint16_t)channels->comm_classes++;
        for (uint32_t i = 0; i < channels->count; i++) {
            if (rows[channels->which[i]].size == SIZE_COMMS) {
                channels->classes[i] = channels->comm_classes;
            }
        }
    }
    return STN_OK;
}

static uint16_t raised_class(const stn_channels *channels, uint64_t raised) {
    for (uint32_t i = 0; raised && i < channels->raised_count; i++) {
        if (channels->raised[i] == raised) {
            return (uint16_t)(i + 1);
        }
    }
    return 0;
}

void stn_channels_meet_raised(stn_channels *channels, uint64_t raised) {
    if (raised && channels->raised_count < STN_RAISED_MAX && !raised_class(channels, raised)) {
        channels->raised[channels->raised_count++] = raised;
    }
}

/* ---- values ---------------------------------------------------------- */

static uint16_t symbol_class(const stn_world *world, uint16_t symbol) {
    if (symbol < world->vocab->type_count) {
        return (uint16_t)(symbol + SYMBOLS);
    }
    return symbol == STN_SYMBOL_IN ? 1 : symbol == STN_SYMBOL_FORKED ? 2 : 0;
}

static uint16_t comm_class(const stn_channels *channels, const stn_thread *thread, uint16_t cpu) {
    if (!thread || thread->tid == 0) {
        return (uint16_t)(1 + cpu);
    }
    return thread->comm < channels->text_count ? channels->comm_class[thread->comm] : 0;
}

static uint16_t waiting_class(const stn_world *world, uint16_t cpu) {
    uint32_t asleep = stn_world_asleep(world, cpu), thread = world->cpus[cpu].thread;
    bool pending = thread != STN_WORLD_NONE && world->threads[thread].pending;
    return (uint16_t)((stn_world_list(world, cpu, STN_THREAD_READY)->count > 0) |
                      (stn_world_list(world, cpu, STN_THREAD_WAKING)->count > 0) << 1 |
                      (asleep > 0) << 2 | (asleep > 1) << 3 | world->cpus[cpu].touched << 4 |
                      pending << 5);
}

static uint16_t count_class(double count, uint16_t classes) {
    uint32_t class = stn_step_symbol((uint64_t)count) / COUNT_BINS;
    return (uint16_t)(class < classes ? class : classes - 1u);
}

/* The CPU that had an event last of all others; itself if there is no other. */
static uint16_t other_cpu(const stn_world *world, uint16_t cpu) {
    return world->cpu_count > 1 && world->ranks[0] == cpu ? world->ranks[1] : world->ranks[0];
}

static uint16_t other_class(const stn_channels *channels, stn_channel channel,
                            const stn_world *world, uint16_t other) {
    const stn_cpu *c = &world->cpus[other];
    const stn_thread *thread = &world->threads[c->thread == STN_WORLD_NONE ? other : c->thread];
    switch (channel) {
    case STN_CHANNEL_OTHER:
        return comm_class(channels, thread, other);
    case STN_CHANNEL_OTHER_LAST:
        return symbol_class(world, c->history[0]);
    case STN_CHANNEL_OTHER_OPEN:
        return thread->depth ? symbol_class(world, thread->open[thread->depth - 1]) : 0;
    default: {
        uint64_t age_ns = world->now_ns > c->last_ns ? world->now_ns - c->last_ns : 0;
        uint32_t class = stn_step_symbol(age_ns) / AGE_BINS;
        return (uint16_t)(class < AGE_CLASSES ? class : AGE_CLASSES - 1u);
    }
    }
}

static uint16_t seen_class(const stn_channels *channels, stn_channel channel,
                           const stn_world *world, uint16_t cpu) {
    const stn_cpu *c = &world->cpus[cpu];
    const stn_thread *thread = &world->threads[c->thread == STN_WORLD_NONE ? cpu : c->thread];
    switch (channel) {
    case STN_CHANNEL_HANDLER:
        return c->depth ? symbol_class(world, c->stack[c->depth - 1]) : 0;
    case STN_CHANNEL_HANDLED:
        return c->handler_count ? symbol_class(world, c->handler_history[0]) : 0;
    case STN_CHANNEL_OPEN:
        return thread->depth ? symbol_class(world, thread->open[thread->depth - 1]) : 0;
    case STN_CHANNEL_COMM:
        return comm_class(channels, thread, cpu);
    case STN_CHANNEL_LAST:
        return symbol_class(world, thread->history[0]);
    case STN_CHANNEL_BEFORE:
        return symbol_class(world, thread->history[1]);
    case STN_CHANNEL_EARLIER:
        return symbol_class(world, thread->history[2]);
    case STN_CHANNEL_REPEATED:
        return count_class(thread->run, REPEATED_CLASSES);
    case STN_CHANNEL_RETURNED:
        return thread->returned;
    case STN_CHANNEL_ON_CPU:
        return symbol_class(world, c->history[0]);
    case STN_CHANNEL_WAITING:
        return waiting_class(world, cpu);
    case STN_CHANNEL_RAISED:
        return raised_class(channels, c->raised);
    case STN_CHANNEL_OTHER:
    case STN_CHANNEL_OTHER_LAST:
    case STN_CHANNEL_OTHER_OPEN:
    case STN_CHANNEL_OTHER_AGE:
        return other_class(channels, channel, world, other_cpu(world, cpu));
    case STN_CHANNEL_LOAD:
    case STN_CHANNEL_LOAD_LONG:
        return count_class(world->loads[channel - STN_CHANNEL_LOAD], LOAD_CLASSES);
    default:
        return 0;
    }
}

void stn_channels_seen(const stn_channels *channels, const stn_world *world, uint16_t cpu,
                       uint16_t *value) {
    for (uint32_t i = 0; i < stn_channels_type(channels); i++) {
        value[i] = seen_class(channels, (stn_channel)channels->which[i], world, cpu);
    }
}

uint16_t stn_channels_step(uint64_t step_ns) {
    uint32_t symbol = stn_step_symbol(step_ns);
    return (uint16_t)(symbol < STN_STEP_CLASSES ? symbol : STN_STEP_CLASSES - 1);
}

/* ---- files, shape ---------------------------------------------------- */

void stn_channels_put(const stn_channels *channels, stn_blob *blob) {
    stn_blob_u8(blob, (uint8_t)channels->count);
    for (uint32_t i = 0; i < channels->count; i++) {
        stn_blob_u8(blob, channels->which[i]);
    }
    stn_blob_u8(blob, (uint8_t)channels->raised_count);
    for (uint32_t i = 0; i < channels->raised_count; i++) {
        stn_blob_u64(blob, channels->raised[i]);
    }
    stn_blob_u32(blob, channels->comm_classes);
    stn_blob_u32(blob, channels->text_count);
    for (uint32_t i = 0; i < channels->text_count; i++) {
        stn_blob_u16(blob, channels->comm_class[i]);
    }
}

/* Rising, and with type and step. */
static bool rows_are_sane(const stn_channels *channels) {
    bool sane = channels->count >= 2;
    for (uint32_t i = 0; sane && i < channels->count; i++) {
        sane = channels->which[i] < STN_CHANNEL_COUNT &&
               (i == 0 || channels->which[i] > channels->which[i - 1]);
    }
    return sane && channels->which[channels->count - 2] == STN_CHANNEL_TYPE;
}

stn_status stn_channels_get(stn_channels *channels, stn_cursor *cursor, const stn_vocab *vocab,
                            uint16_t cpu_count) {
    *channels = (stn_channels){.cpu_count = cpu_count};
    uint32_t count = stn_cursor_u8(cursor);
    if (count > STN_CHANNEL_COUNT) {
        return STN_EFORMAT;
    }
    channels->count = count;
    for (uint32_t i = 0; i < count; i++) {
        channels->which[i] = stn_cursor_u8(cursor);
    }
    uint32_t raised = stn_cursor_u8(cursor);
    for (uint32_t i = 0; i < raised && i < STN_RAISED_MAX; i++) {
        channels->raised[i] = stn_cursor_u64(cursor);
    }
    channels->raised_count = raised;
    channels->comm_classes = stn_cursor_u32(cursor);
    uint32_t texts = stn_cursor_count(cursor, 2);
    channels->comm_class = stn_calloc(texts + 1u, sizeof *channels->comm_class);
    if (!channels->comm_class) {
        return STN_ENOMEM;
    }
    bool sane = raised <= STN_RAISED_MAX && channels->comm_classes > cpu_count &&
                channels->comm_classes <= COMM_CLASSES_MAX;
    for (uint32_t i = 0; i < texts; i++) {
        channels->comm_class[i] = stn_cursor_u16(cursor);
        sane = sane && channels->comm_class[i] < channels->comm_classes;
    }
    channels->text_count = texts;
    if (cursor->failed || !sane || !rows_are_sane(channels)) {
        return STN_EFORMAT;
    }
    for (uint32_t i = 0; i < count; i++) {
        channels->classes[i] = class_count(channels, rows[channels->which[i]].size, vocab);
    }
    return STN_OK;
}

void stn_channels_shape(const stn_channels *channels, stn_denoiser_shape *shape) {
    shape->channels = channels->count;
    for (uint32_t i = 0; i < channels->count; i++) {
        shape->classes[i] = channels->classes[i];
        shape->seen[i] = rows[channels->which[i]].seen;
    }
}
