/* File: magic[8] version u32, tensor count u32, note size u64, floats u64, optimiser, then per
 * tensor name[48] rows u32 cols u32, then the flat arrays weight, m, v, average, the note, and a
 * 64-bit FNV-1a hash of everything before it. */
#include "core/nn/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/outfile.h"

#define VERSION 2u

static const char magic[8] = "STNCKPT";

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints are little-endian, and so must the machine be"
#endif

typedef struct checkpoint_head {
    char magic[8];
    uint32_t version, tensor_count;
    uint64_t note_size, count;
    uint64_t step, warmup, total;
    float rate, beta1, beta2, epsilon, decay, clip, ema;
    float share;
    uint32_t schedule, unused;
} checkpoint_head;

typedef struct checkpoint_tensor {
    char name[48];
    uint32_t rows, cols;
} checkpoint_tensor;

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    return hash;
}

/* ---- writing --------------------------------------------------------- */

typedef struct sink {
    stn_outfile *file;
    uint64_t hash;
    stn_status status;
    stn_err *err;
} sink;

static void sink_put(sink *s, const void *bytes, size_t size) {
    if (!s->status) {
        s->hash = hash_more(s->hash, bytes, size);
        s->status = stn_outfile_write(s->file, bytes, size, s->err);
    }
}

static checkpoint_head head_of(const stn_nn_params *params, const stn_nn_optimizer *o,
                               size_t note_size) {
    checkpoint_head head = {.version = VERSION,
                            .tensor_count = (uint32_t)params->tensor_count,
                            .note_size = note_size,
                            .count = params->count,
                            .step = o->step,
                            .warmup = o->warmup,
                            .total = o->total,
                            .rate = o->rate,
                            .beta1 = o->beta1,
                            .beta2 = o->beta2,
                            .epsilon = o->epsilon,
                            .decay = o->decay,
                            .clip = o->clip,
                            .ema = o->ema,
                            .share = o->share,
                            .schedule = (uint32_t)o->schedule};
    memcpy(head.magic, magic, sizeof magic);
    return head;
}

stn_status stn_nn_checkpoint_save(const char *path, const stn_nn_params *params,
                                  const stn_nn_optimizer *optimizer, const void *note,
                                  size_t note_size, stn_err *err) {
    sink s = {.hash = 0xcbf29ce484222325u, .err = err};
    stn_status status = stn_outfile_open(&s.file, path, err);
    if (status) {
        return stn_err_prepend(err, status, "%s", path);
    }
    checkpoint_head head = head_of(params, optimizer, note_size);
    sink_put(&s, &head, sizeof head);
    for (size_t t = 0; t < params->tensor_count; t++) {
        checkpoint_tensor tensor = {.rows = params->tensors[t].rows,
                                    .cols = params->tensors[t].cols};
        memcpy(tensor.name, params->tensors[t].name, sizeof tensor.name);
        sink_put(&s, &tensor, sizeof tensor);
    }
    const float *arrays[] = {params->weight, params->m, params->v, params->average};
    for (size_t i = 0; i < 4; i++) {
        sink_put(&s, arrays[i], params->count * sizeof(float));
    }
    sink_put(&s, note, note_size);
    uint64_t hash = s.hash;
    sink_put(&s, &hash, sizeof hash);
    if (s.status) {
        stn_outfile_abort(s.file);
        return stn_err_prepend(err, s.status, "%s", path);
    }
    status = stn_outfile_commit(s.file, err);
    return status ? stn_err_prepend(err, status, "%s", path) : STN_OK;
}

/* ---- reading --------------------------------------------------------- */

static size_t size_of(const stn_nn_params *params, size_t note_size) {
    return sizeof(checkpoint_head) + params->tensor_count * sizeof(checkpoint_tensor) +
           4 * params->count * sizeof(float) + note_size + sizeof(uint64_t);
}

static stn_status tensors_check(const stn_nn_params *params, const unsigned char *bytes,
                                stn_err *err) {
    for (size_t t = 0; t < params->tensor_count; t++) {
        checkpoint_tensor have;
        memcpy(&have, bytes + t * sizeof have, sizeof have);
        const stn_nn_tensor *want = &params->tensors[t];
        if (strncmp(have.name, want->name, sizeof have.name) != 0 || have.rows != want->rows ||
            have.cols != want->cols) {
            return stn_err_set(err, STN_EFORMAT,
                               "tensor %zu is '%.47s' [%u][%u], this network wants '%s' [%u][%u]",
                               t, have.name, have.rows, have.cols, want->name, want->rows,
                               want->cols);
        }
    }
    return STN_OK;
}

static stn_status bytes_check(const unsigned char *bytes, size_t size, const stn_nn_params *params,
                              size_t note_size, stn_err *err) {
    checkpoint_head head;
    if (size < sizeof head || memcmp(bytes, magic, sizeof magic) != 0) {
        return stn_err_set(err, STN_EFORMAT, "not a training checkpoint");
    }
    memcpy(&head, bytes, sizeof head);
    if (head.version != VERSION) {
        return stn_err_set(err, STN_EFORMAT, "checkpoint version %u, expected %u", head.version,
                           VERSION);
    }
    if (head.schedule > STN_NN_SCHEDULE_BUDGET) {
        return stn_err_set(err, STN_EFORMAT, "schedule %u, expected at most %u", head.schedule,
                           (unsigned)STN_NN_SCHEDULE_BUDGET);
    }
    if (head.tensor_count != params->tensor_count || head.count != params->count ||
        head.note_size != note_size) {
        return stn_err_set(err, STN_EFORMAT, "checkpoint of a network with other tensors");
    }
    size_t want = size_of(params, note_size);
    if (size != want) {
        return stn_err_set(err, STN_EFORMAT, "%zu bytes, expected %zu: cut short or damaged", size,
                           want);
    }
    uint64_t hash;
    memcpy(&hash, bytes + size - sizeof hash, sizeof hash);
    if (hash != hash_more(0xcbf29ce484222325u, bytes, size - sizeof hash)) {
        return stn_err_set(err, STN_EFORMAT, "damaged: the hash of its contents is another");
    }
    return tensors_check(params, bytes + sizeof head, err);
}

/* The whole file; a checkpoint of another size than @p want is read no further than needed to
 * say so. */
static stn_status file_read(const char *path, size_t want, unsigned char **bytes, size_t *size,
                            stn_err *err) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stn_err_set(err, errno == ENOENT ? STN_ENOTFOUND : STN_EIO, "%s", strerror(errno));
    }
    *bytes = stn_malloc(want + 1);
    if (!*bytes) {
        fclose(file);
        return stn_err_set(err, STN_ENOMEM, "out of memory for a checkpoint");
    }
    *size = fread(*bytes, 1, want + 1, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        stn_free(*bytes);
        return stn_err_set(err, STN_EIO, "cannot read: %s", strerror(errno));
    }
    return STN_OK;
}

static void contents_take(const unsigned char *bytes, stn_nn_params *params, stn_nn_optimizer *o,
                          void *note, size_t note_size) {
    checkpoint_head head;
    memcpy(&head, bytes, sizeof head);
    *o = (stn_nn_optimizer){.schedule = (stn_nn_schedule)head.schedule,
                            .share = head.share,
                            .rate = head.rate,
                            .beta1 = head.beta1,
                            .beta2 = head.beta2,
                            .epsilon = head.epsilon,
                            .decay = head.decay,
                            .clip = head.clip,
                            .ema = head.ema,
                            .warmup = head.warmup,
                            .total = head.total,
                            .step = head.step};
    const unsigned char *at =
        bytes + sizeof head + params->tensor_count * sizeof(checkpoint_tensor);
    float *arrays[] = {params->weight, params->m, params->v, params->average};
    for (size_t i = 0; i < 4; i++) {
        memcpy(arrays[i], at, params->count * sizeof(float));
        at += params->count * sizeof(float);
    }
    if (note_size) {
        memcpy(note, at, note_size);
    }
}

stn_status stn_nn_checkpoint_load(const char *path, stn_nn_params *params,
                                  stn_nn_optimizer *optimizer, void *note, size_t note_size,
                                  stn_err *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    stn_status status = file_read(path, size_of(params, note_size), &bytes, &size, err);
    if (!status) {
        status = bytes_check(bytes, size, params, note_size, err);
        if (!status) {
            contents_take(bytes, params, optimizer, note, note_size);
        }
        stn_free(bytes);
    }
    return status ? stn_err_prepend(err, status, "%s", path) : STN_OK;
}
