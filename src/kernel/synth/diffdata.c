#include "kernel/synth/diffdata.h"

#include <string.h>

#include "core/base/alloc.h"

/* The case at hand on a CPU. */
typedef struct hanging {
    bool known;
    uint64_t since_ns;
    uint16_t value[STN_CHANNEL_COUNT];
} hanging;

typedef struct reader {
    stn_diffusion *d;
    stn_model *model;
    stn_diff_data *data;
    const stn_runs *runs;
    double valid_share;
    hanging *cpus; /* [cpu_count] */
    uint16_t cpu_count, last_cpu;
} reader;

static stn_status append(stn_diff_stream *stream, const uint16_t *value, uint32_t channels) {
    size_t capacity = stream->capacity;
    for (uint32_t c = 0; c < channels; c++) {
        capacity = stream->capacity;
        if (stn_grow(&stream->value[c], &capacity, stream->count + 1, sizeof *stream->value[c]) !=
            STN_OK) {
            return STN_ENOMEM;
        }
    }
    stream->capacity = capacity;
    for (uint32_t c = 0; c < channels; c++) {
        stream->value[c][stream->count] = value[c];
    }
    stream->count++;
    return STN_OK;
}

/* The case of @p number ends with @p type (type_count: nothing came). */
static stn_status keep(reader *r, const stn_walk_step *step, uint16_t number, uint32_t type,
                       uint64_t now_ns) {
    hanging *cpu = &r->cpus[number];
    if (!cpu->known) {
        return STN_OK;
    }
    uint32_t at = stn_channels_type(&r->d->channels);
    uint16_t class = stn_channels_step(now_ns > cpu->since_ns ? now_ns - cpu->since_ns : 0);
    cpu->value[at] = (uint16_t)type;
    cpu->value[at + 1] = class;
    r->d->met_steps[(size_t)type * STN_STEP_WORDS + class / 64] |= UINT64_C(1) << class % 64;
    stn_diff_stream *stream = &r->data->streams[step->run * r->cpu_count + number];
    stn_status status = append(stream, cpu->value, r->d->channels.count);
    size_t events = r->runs->traces[step->run]->count;
    if ((double)step->index < (double)events * (1 - r->valid_share)) {
        stream->head = stream->count;
    }
    return status;
}

static stn_status hang(reader *r, const stn_world *world, uint16_t number) {
    hanging *cpu = &r->cpus[number];
    uint32_t thread = world->cpus[number].thread;
    cpu->known = true;
    cpu->since_ns = world->cpus[number].trigger_ns;
    if (thread != STN_WORLD_NONE && world->threads[thread].tid != 0 &&
        stn_channels_meet(&r->d->channels, world->threads[thread].comm) != STN_OK) {
        return STN_ENOMEM;
    }
    stn_channels_meet_raised(&r->d->channels, world->cpus[number].raised);
    stn_channels_seen(&r->d->channels, world, number, cpu->value);
    return STN_OK;
}

/* What the event before this one did: its CPU, and those that it touched, hang on it. */
static stn_status follow(reader *r, const stn_walk_step *step) {
    const stn_world *world = step->world;
    if (world->events == 0) {
        memset(r->cpus, 0, r->cpu_count * sizeof *r->cpus);
        return STN_OK;
    }
    stn_status status = STN_OK;
    for (uint8_t i = 0; i < world->touched_count && status == STN_OK; i++) {
        uint16_t number = world->touched[i];
        status = keep(r, step, number, r->model->vocab.type_count, world->now_ns);
        if (status == STN_OK) {
            status = hang(r, world, number);
        }
    }
    return status == STN_OK ? hang(r, world, r->last_cpu) : status;
}

static stn_status visit(void *user, stn_walk_step *step) {
    reader *r = user;
    stn_status status = follow(r, step);
    r->last_cpu = step->draft->cpu;
    return status == STN_OK
               ? keep(r, step, step->draft->cpu, step->draft->type, step->draft->time_ns)
               : status;
}

stn_status stn_diff_data_read(stn_diff_data *data, stn_diffusion *d, stn_model *model,
                              stn_runs *runs, const uint32_t *labels, double valid_share) {
    reader r = {.d = d,
                .model = model,
                .data = data,
                .runs = runs,
                .valid_share = valid_share,
                .cpu_count = model->attr.cpu_count};
    size_t types = model->vocab.type_count + (size_t)1;
    *data = (stn_diff_data){0};
    data->streams = stn_calloc(runs->count * r.cpu_count, sizeof *data->streams);
    d->met_steps = stn_calloc(types * STN_STEP_WORDS, sizeof *d->met_steps);
    r.cpus = stn_calloc(r.cpu_count, sizeof *r.cpus);
    stn_status status = data->streams && d->met_steps && r.cpus ? STN_OK : STN_ENOMEM;
    data->count = data->streams ? runs->count * r.cpu_count : 0;
    if (status == STN_OK) {
        for (size_t i = 0; i < data->count; i++) {
            data->streams[i].label = labels[i / r.cpu_count];
        }
        status = stn_walk(&model->vocab, &model->domains, &model->attr.slots, r.cpu_count, runs,
                          visit, &r);
    }
    stn_free(r.cpus);
    return status;
}

void stn_diff_data_fini(stn_diff_data *data) {
    for (size_t i = 0; i < data->count; i++) {
        for (uint32_t c = 0; c < STN_CHANNEL_COUNT; c++) {
            stn_free(data->streams[i].value[c]);
        }
    }
    stn_free(data->streams);
    *data = (stn_diff_data){0};
}
