/* docs/formats/model.md is the page of this file format. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/outfile.h"
#include "kernel/synth/model.h"

static const char magic[8] = {'S', 'T', 'N', 'M', 'O', 'D', 'E', 'L'};
enum { VERSION = 6, HEAD_SIZE = 8 + 4 + 4 + 8 + 8 };

/* ---- writing --------------------------------------------------------------------- */

static stn_status put_payload(const stn_model *model, stn_blob *blob, stn_err *err) {
    char *text = NULL;
    stn_status status = stn_rules_text(model->rules, &text, err);
    if (status != STN_OK) {
        return status;
    }
    stn_blob_text(blob, model->kind->name);
    stn_blob_f64(blob, model->rate);
    stn_blob_text(blob, text);
    stn_text_free(text);
    stn_vocab_put(&model->vocab, blob);
    stn_domains_put(&model->domains, &model->vocab, blob);
    stn_attr_put(&model->attr, blob);
    model->kind->put(model, blob);
    return STN_OK;
}

stn_status stn_model_bytes(const stn_model *model, stn_blob *blob, stn_err *err) {
    stn_blob payload = {0};
    stn_status status = put_payload(model, &payload, err);
    if (status == STN_OK) {
        stn_blob_put(blob, magic, sizeof magic);
        stn_blob_u32(blob, VERSION);
        stn_blob_u32(blob, 0);
        stn_blob_u64(blob, payload.size);
        stn_blob_u64(blob, stn_blob_hash(payload.bytes, payload.size));
        stn_blob_put(blob, payload.bytes, payload.size);
        if (payload.failed || blob->failed) {
            status = stn_err_set(err, STN_ENOMEM, "out of memory for the bytes of a model");
        }
    }
    stn_blob_fini(&payload);
    return status;
}

stn_status stn_model_save(const stn_model *model, const char *path, stn_err *err) {
    stn_blob blob = {0};
    stn_outfile *file = NULL;
    stn_status status = stn_model_bytes(model, &blob, err);
    if (status == STN_OK) {
        status = stn_outfile_open(&file, path, err);
    }
    if (status == STN_OK) {
        status = stn_outfile_write(file, blob.bytes, blob.size, err);
        if (status == STN_OK) {
            status = stn_outfile_commit(file, err);
        } else {
            stn_outfile_abort(file);
        }
    }
    stn_blob_fini(&blob);
    return status;
}

/* ---- reading ----------------------------------------------------------------------- */

static stn_status damaged(stn_err *err, stn_status status, const stn_cursor *cursor,
                          const char *part) {
    if (status == STN_ENOMEM) {
        return stn_err_set(err, status, "out of memory while reading the %s", part);
    }
    return stn_err_set(err, STN_EFORMAT, "byte %zu: the %s of the model make no sense",
                       cursor->at + HEAD_SIZE, part);
}

static stn_status get_kind(stn_model *model, stn_cursor *cursor, stn_err *err) {
    uint32_t size;
    const char *name = stn_cursor_text(cursor, &size);
    model->rate = stn_cursor_f64(cursor);
    const stn_generator_kind *kind = name ? stn_generator_kind_find(name, size) : NULL;
    if (!kind) {
        return stn_err_set(err, STN_EFORMAT,
                           "a generator of the kind \"%.*s\", which this version does not know",
                           name ? (int)(size < 40 ? size : 40) : 0, name ? name : "");
    }
    model->kind = kind;
    uint32_t rules_size;
    const char *rules = stn_cursor_text(cursor, &rules_size);
    if (!rules) {
        return damaged(err, STN_EFORMAT, cursor, "rules");
    }
    return stn_rules_parse(&model->rules, rules, rules_size, "rules of the model", model->catalog,
                           err);
}

static stn_status get_payload(stn_model *model, stn_cursor *cursor, stn_err *err) {
    stn_status status = get_kind(model, cursor, err);
    if (status != STN_OK) {
        return status;
    }
    status = stn_vocab_get(&model->vocab, cursor, model->catalog);
    if (status != STN_OK) {
        return damaged(err, status, cursor, "names");
    }
    status = stn_domains_get(&model->domains, cursor, &model->vocab);
    if (status != STN_OK) {
        return damaged(err, status, cursor, "keys");
    }
    status = stn_attr_get(&model->attr, cursor, &model->vocab, &model->domains);
    if (status != STN_OK) {
        return damaged(err, status, cursor, "attribute tables");
    }
    status = model->kind->get(model, cursor);
    if (status != STN_OK) {
        return damaged(err, status, cursor, "event tables");
    }
    return cursor->at == cursor->size ? STN_OK : damaged(err, STN_EFORMAT, cursor, "last bytes");
}

/* Magic, version, size and hash of the head. */
static stn_status check_head(const uint8_t *bytes, size_t size, stn_err *err) {
    stn_cursor head = {.bytes = bytes, .size = size, .at = sizeof magic};
    if (size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
        return stn_err_set(err, STN_EFORMAT,
                           "not a model: the file does not begin with \"STNMODEL\"");
    }
    uint32_t version = stn_cursor_u32(&head);
    uint32_t zero = stn_cursor_u32(&head);
    uint64_t payload = stn_cursor_u64(&head);
    uint64_t hash = stn_cursor_u64(&head);
    if (head.failed) {
        return stn_err_set(err, STN_EFORMAT, "the model ends inside its head, after %zu bytes",
                           size);
    }
    if (version != VERSION) {
        return stn_err_set(err, STN_EFORMAT, "model format version %u, this version reads %d",
                           version, VERSION);
    }
    if (zero) {
        return stn_err_set(err, STN_EFORMAT, "the model is damaged: %u at byte 12, expected 0",
                           zero);
    }
    if (payload != size - HEAD_SIZE) {
        return stn_err_set(err, STN_EFORMAT, "the model is %s: %zu bytes, its head says %llu",
                           payload > size - HEAD_SIZE ? "cut short" : "followed by other bytes",
                           size, (unsigned long long)payload + HEAD_SIZE);
    }
    if (stn_blob_hash(bytes + HEAD_SIZE, size - HEAD_SIZE) != hash) {
        return stn_err_set(err, STN_EFORMAT,
                           "the model is damaged: its bytes do not have the hash in its head");
    }
    return STN_OK;
}

stn_status stn_model_parse(stn_model **out, const uint8_t *bytes, size_t size, stn_catalog *catalog,
                           stn_err *err) {
    *out = NULL;
    stn_status status = check_head(bytes, size, err);
    if (status != STN_OK) {
        return status;
    }
    stn_model *model = stn_calloc(1, sizeof *model);
    if (!model) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a model");
    }
    model->catalog = catalog;
    stn_cursor cursor = {.bytes = bytes + HEAD_SIZE, .size = size - HEAD_SIZE};
    status = get_payload(model, &cursor, err);
    if (status != STN_OK) {
        stn_model_free(model);
        return status;
    }
    *out = model;
    return STN_OK;
}

static stn_status read_all(const char *path, stn_blob *blob, stn_err *err) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stn_err_set(err, errno == ENOENT ? STN_ENOTFOUND : STN_EIO, "%s", strerror(errno));
    }
    uint8_t buffer[65536];
    size_t got;
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        stn_blob_put(blob, buffer, got);
    }
    bool failed = ferror(file) != 0;
    int error = errno;
    fclose(file);
    if (failed) {
        return stn_err_set(err, STN_EIO, "%s", strerror(error));
    }
    return blob->failed ? stn_err_set(err, STN_ENOMEM, "out of memory for its bytes") : STN_OK;
}

stn_status stn_model_load(stn_model **out, const char *path, stn_catalog *catalog, stn_err *err) {
    stn_blob blob = {0};
    *out = NULL;
    stn_status status = read_all(path, &blob, err);
    if (status == STN_OK) {
        status = stn_model_parse(out, blob.bytes, blob.size, catalog, err);
    }
    stn_blob_fini(&blob);
    return status == STN_OK ? STN_OK : stn_err_prepend(err, status, "%s", path);
}
