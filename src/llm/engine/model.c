/* The tables of an architecture, walked twice: once to lay out the tensors, once to write. */
#include "llm/engine/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/alloc.h"
#include "llm/engine/weights.h"

static const struct {
    const char *name;
    stn_gguf_type type;
    uint32_t file_type; /* llama.cpp's number for such a file */
} quants[] = {
    {"q8_0", STN_GGUF_Q8_0, 7},
    {"q4_0", STN_GGUF_Q4_0, 2},
    {"f16", STN_GGUF_F16, 1},
    {"bf16", STN_GGUF_BF16, 32},
};

enum { QUANT_COUNT = sizeof quants / sizeof *quants };

/* Bytes of weights drawn at a time: whole blocks of every type. */
enum { CHUNK = 18 * 34 * 1024 };

static const uint64_t most_bytes = UINT64_C(1) << 50;

const char *stn_quant_name(uint32_t index) {
    return index < QUANT_COUNT ? quants[index].name : NULL;
}

stn_status stn_quant_find(const char *name, stn_gguf_type *type) {
    for (size_t i = 0; i < QUANT_COUNT; i++) {
        if (strcmp(quants[i].name, name) == 0) {
            *type = quants[i].type;
            return STN_OK;
        }
    }
    return STN_ENOTFOUND;
}

/* ---- layout -----------------------------------------------------------------------------------
 */

/* Blocks that a row stands in: first, and behind the last. */
static void span_of(stn_layers layers, const double *values, uint32_t *begin, uint32_t *end) {
    uint32_t count = (uint32_t)values[STN_V_LAYERS];
    double dense = values[STN_V_DENSE_LAYERS];
    uint32_t leading = isnan(dense) ? 0 : (uint32_t)dense;
    *begin = layers == STN_LAYERS_SPARSE ? leading : 0;
    *end = layers == STN_LAYERS_ONCE ? 1 : layers == STN_LAYERS_DENSE ? leading : count;
}

static stn_gguf_type type_of(const stn_tensor_row *row, stn_gguf_type quant, uint64_t width) {
    if (row->role != STN_ROLE_MATRIX) {
        return STN_GGUF_F32;
    }
    return width % stn_gguf_block(quant) == 0 ? quant : STN_GGUF_F16;
}

static stn_status add_tensor(stn_llm_plan *plan, const stn_tensor_row *row, uint32_t layer,
                             stn_err *err) {
    stn_gguf_tensor *tensor = &plan->tensors[plan->tensor_count];
    *tensor = (stn_gguf_tensor){.dims = {1, 1, 1}};
    if (row->layers == STN_LAYERS_ONCE) {
        snprintf(tensor->name, sizeof tensor->name, "%s", row->name);
    } else {
        snprintf(tensor->name, sizeof tensor->name, "blk.%u.%s", layer, row->name);
    }
    double values = 1;
    while (tensor->dim_count < 3 && row->dims[tensor->dim_count] != STN_V_NONE) {
        double dim = plan->config.values[row->dims[tensor->dim_count]];
        values *= dim;
        tensor->dims[tensor->dim_count++] = dim < (double)most_bytes ? (uint64_t)dim : most_bytes;
    }
    if (values * 4 + (double)plan->data_size >= (double)most_bytes) {
        return stn_err_set(err, STN_EFORMAT,
                           "%s alone has %.3g values; a model of over %.0f TB is none",
                           tensor->name, values, (double)most_bytes / 1e12);
    }
    tensor->type = type_of(row, plan->quant, tensor->dims[0]);
    tensor->size =
        stn_gguf_row_bytes(tensor->type, tensor->dims[0]) * tensor->dims[1] * tensor->dims[2];
    tensor->offset = plan->data_size;
    plan->roles[plan->tensor_count++] = row->role;
    plan->parameters += (uint64_t)values;
    plan->weight_bytes += tensor->size;
    plan->data_size = stn_gguf_aligned(plan->data_size + tensor->size);
    return STN_OK;
}

/* Once each, block by block for those of blocks: with @p add off only counted. */
static stn_status lay_out(stn_llm_plan *plan, bool add, size_t *count, stn_err *err) {
    const double *values = plan->config.values;
    uint32_t blocks = (uint32_t)values[STN_V_LAYERS];
    *count = 0;
    /* Pass 0 is what belongs to no block. */
    for (uint32_t pass = 0; pass <= blocks; pass++) {
        for (const stn_tensor_row *row = plan->config.arch->tensors; row->name; row++) {
            uint32_t begin;
            uint32_t end;
            span_of(row->layers, values, &begin, &end);
            bool once = row->layers == STN_LAYERS_ONCE;
            if (once != (pass == 0) || !stn_when_holds(&row->when, values) ||
                (!once && (pass - 1 < begin || pass - 1 >= end))) {
                continue;
            }
            stn_status status = add ? add_tensor(plan, row, pass - 1, err) : STN_OK;
            if (status != STN_OK) {
                return status;
            }
            ++*count;
        }
    }
    return STN_OK;
}

stn_status stn_llm_plan_init(stn_llm_plan *plan, const stn_config *config, stn_gguf_type quant,
                             stn_err *err) {
    *plan = (stn_llm_plan){.config = *config, .quant = quant};
    size_t count;
    stn_status status = lay_out(plan, false, &count, err);
    if (status == STN_OK) {
        plan->tensors = stn_calloc(count, sizeof *plan->tensors);
        plan->roles = stn_calloc(count, sizeof *plan->roles);
        status = plan->tensors && plan->roles
                     ? lay_out(plan, true, &count, err)
                     : stn_err_set(err, STN_ENOMEM, "out of memory for %zu tensors", count);
    }
    if (status != STN_OK) {
        stn_llm_plan_fini(plan);
    }
    return status;
}

void stn_llm_plan_fini(stn_llm_plan *plan) {
    stn_free(plan->tensors);
    stn_free(plan->roles);
    plan->tensors = NULL;
    plan->roles = NULL;
    plan->tensor_count = 0;
}

/* ---- metadata ----------------------------------------------------------------------------------
 */

static uint32_t file_type_of(stn_gguf_type quant) {
    for (size_t i = 0; i < QUANT_COUNT; i++) {
        if (quants[i].type == quant) {
            return quants[i].file_type;
        }
    }
    return 0;
}

static void put_word(stn_gguf *out, const char *key, const char *words, uint32_t index) {
    char word[32];
    for (; index > 0; index--) {
        words += strcspn(words, "|") + 1;
    }
    snprintf(word, sizeof word, "%.*s", (int)strcspn(words, "|"), words);
    stn_gguf_text(out, key, word);
}

static bool meta_stands(const stn_meta_row *row, const double *values) {
    return !isnan(values[row->value]) && stn_when_holds(&row->when, values);
}

static void put_meta(stn_gguf *out, const char *arch, const stn_meta_row *row, double value) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, row->key);
    switch (row->kind) {
    case STN_META_U32:
        stn_gguf_u32(out, key, (uint32_t)value);
        break;
    case STN_META_F32:
        stn_gguf_f32(out, key, (float)value);
        break;
    case STN_META_TENTH:
        stn_gguf_f32(out, key, (float)(value / 10));
        break;
    case STN_META_BOOL:
        stn_gguf_bool(out, key, value > 0);
        break;
    case STN_META_WORD:
        put_word(out, key, row->words, (uint32_t)value);
        break;
    }
}

static void put_header(stn_gguf *out, const stn_llm_plan *plan,
                       const stn_llm_write_options *options) {
    enum { GENERAL = 7 }; /* keys below that stand in every file */
    const stn_arch *arch = plan->config.arch;
    const double *values = plan->config.values;
    uint64_t keys = GENERAL;
    for (const stn_meta_row *row = arch->metas; row->key; row++) {
        keys += meta_stands(row, values);
    }
    stn_gguf_head(out, plan->tensor_count, keys);
    stn_gguf_text(out, "general.architecture", arch->gguf);
    stn_gguf_text(out, "general.type", "model");
    stn_gguf_text(out, "general.name", options->name);
    stn_gguf_u32(out, "general.quantization_version", 2);
    stn_gguf_u32(out, "general.file_type", file_type_of(plan->quant));
    stn_gguf_text(out, "standin.weights", options->random ? "random" : "none");
    for (const stn_meta_row *row = arch->metas; row->key; row++) {
        if (meta_stands(row, values)) {
            put_meta(out, arch->gguf, row, values[row->value]);
        }
    }
    /* No words, only their number: what stands in for a model reads and writes token ids. */
    stn_gguf_text(out, "tokenizer.ggml.model", "none");
    for (size_t i = 0; i < plan->tensor_count; i++) {
        stn_gguf_tensor_entry(out, &plan->tensors[i]);
    }
    stn_gguf_pad(out);
}

/* ---- data --------------------------------------------------------------------------------------
 */

/* Where the data go. Holes are gathered, so that a file without weights has one or two. */
typedef struct sink {
    stn_gguf *out;
    uint64_t hole;         /* bytes of a hole not yet made */
    unsigned char *buffer; /* [CHUNK]; NULL if nothing is drawn */
    stn_rng rng;
    const stn_llm_plan *plan;
    const stn_llm_write_options *options;
    uint64_t begin; /* size of the header */
} sink;

static bool going_on(sink *s) {
    const stn_llm_write_options *o = s->options;
    if (s->out->status == STN_OK && o->progress &&
        !o->progress(o->user, s->out->size - s->begin, s->plan->data_size)) {
        s->out->status = stn_err_set(s->out->err, STN_EINTR, "stopped");
    }
    return s->out->status == STN_OK;
}

static void put_rope(sink *s, const stn_gguf_tensor *tensor) {
    size_t count = (size_t)tensor->dims[0];
    float *factors = stn_malloc(count * sizeof *factors);
    if (!factors) {
        s->out->status = stn_err_set(s->out->err, STN_ENOMEM, "out of memory for %s", tensor->name);
        return;
    }
    stn_gguf_hole(s->out, s->hole);
    s->hole = 0;
    stn_weights_rope(factors, count, s->plan->config.values);
    stn_gguf_bytes(s->out, factors, count * sizeof *factors);
    stn_free(factors);
}

static void put_random(sink *s, const stn_gguf_tensor *tensor, stn_role role) {
    uint64_t left = tensor->size;
    while (left && going_on(s)) {
        size_t part = left < CHUNK ? (size_t)left : (size_t)CHUNK;
        stn_weights_fill(s->buffer, part, tensor->type, role, &s->rng);
        stn_gguf_bytes(s->out, s->buffer, part);
        left -= part;
    }
}

static void put_tensor(sink *s, size_t index) {
    const stn_gguf_tensor *tensor = &s->plan->tensors[index];
    uint64_t padding = stn_gguf_aligned(tensor->size) - tensor->size;
    stn_role role = s->plan->roles[index];
    if (role == STN_ROLE_ROPE) {
        put_rope(s, tensor);
    } else if (s->buffer) {
        put_random(s, tensor, role);
    } else {
        s->hole += tensor->size;
    }
    if (s->buffer || role == STN_ROLE_ROPE) {
        stn_gguf_pad(s->out);
    } else {
        s->hole += padding;
    }
}

static stn_status put_data(sink *s) {
    for (size_t i = 0; i < s->plan->tensor_count && s->out->status == STN_OK; i++) {
        put_tensor(s, i);
    }
    stn_gguf_hole(s->out, s->hole);
    return s->out->status;
}

/* Is there room for the weights? Said before they are drawn for an hour. */
static stn_status room_for(const char *path, uint64_t size, stn_err *err) {
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    char *folder = stn_strndup(slash ? path : ".", length);
    if (!folder) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    struct statvfs disk;
    bool known = statvfs(folder, &disk) == 0;
    stn_free(folder);
    uint64_t room = known ? (uint64_t)disk.f_bavail * disk.f_frsize : UINT64_MAX;
    if (room < size) {
        return stn_err_set(err, STN_EIO,
                           "random weights take %.1f GB and the disk has %.1f GB left; without "
                           "weights the file takes none",
                           (double)size / 1e9, (double)room / 1e9);
    }
    return STN_OK;
}

static stn_status write_all(sink *s, stn_err *err) {
    s->out->err = err;
    put_header(s->out, s->plan, s->options);
    s->begin = s->out->size;
    return s->out->status == STN_OK ? put_data(s) : s->out->status;
}

stn_status stn_llm_plan_write(const stn_llm_plan *plan, const char *path,
                              const stn_llm_write_options *options, uint64_t *file_size,
                              stn_err *err) {
    stn_gguf out = {0};
    sink s = {.out = &out, .plan = plan, .options = options};
    stn_status status = options->random ? room_for(path, plan->data_size, err) : STN_OK;
    if (status == STN_OK && options->random) {
        stn_rng_init(&s.rng, options->seed);
        s.buffer = stn_malloc(CHUNK);
        status = s.buffer ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for weights");
    }
    if (status == STN_OK) {
        status = stn_outfile_open(&out.file, path, err);
    }
    if (status == STN_OK) {
        status = write_all(&s, err);
        if (status == STN_OK) {
            status = stn_outfile_commit(out.file, err);
        } else {
            stn_outfile_abort(out.file);
        }
    }
    stn_free(s.buffer);
    *file_size = status == STN_OK ? out.size : 0;
    return status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
}
