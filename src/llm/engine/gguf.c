/* GGUF, byte for byte. */
#include "llm/engine/gguf.h"

#include <string.h>

/* Kinds of metadata. */
enum { KIND_U32 = 4, KIND_F32 = 6, KIND_BOOL = 7, KIND_TEXT = 8 };

uint64_t stn_gguf_block(stn_gguf_type type) {
    return type == STN_GGUF_Q4_0 || type == STN_GGUF_Q8_0 ? 32 : 1;
}

uint64_t stn_gguf_row_bytes(stn_gguf_type type, uint64_t count) {
    switch (type) {
    case STN_GGUF_F32:
        return count * 4;
    case STN_GGUF_Q4_0:
        return count / 32 * 18;
    case STN_GGUF_Q8_0:
        return count / 32 * 34;
    case STN_GGUF_F16:
    case STN_GGUF_BF16:
        break;
    }
    return count * 2;
}

uint64_t stn_gguf_aligned(uint64_t size) {
    return (size + STN_GGUF_ALIGN - 1) / STN_GGUF_ALIGN * STN_GGUF_ALIGN;
}

void stn_gguf_bytes(stn_gguf *out, const void *bytes, uint64_t size) {
    if (out->status == STN_OK && out->file) {
        out->status = stn_outfile_write(out->file, bytes, size, out->err);
    }
    out->size += size;
}

void stn_gguf_hole(stn_gguf *out, uint64_t size) {
    if (out->status == STN_OK && out->file && size) {
        out->status = stn_outfile_hole(out->file, size, out->err);
    }
    out->size += size;
}

static void number(stn_gguf *out, uint64_t value, size_t size) {
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    stn_gguf_bytes(out, bytes, size);
}

static void text(stn_gguf *out, const char *value) {
    size_t size = strlen(value);
    number(out, size, 8);
    stn_gguf_bytes(out, value, size);
}

void stn_gguf_head(stn_gguf *out, uint64_t tensor_count, uint64_t key_count) {
    stn_gguf_bytes(out, "GGUF", 4);
    number(out, 3, 4);
    number(out, tensor_count, 8);
    number(out, key_count, 8);
}

static void entry(stn_gguf *out, const char *key, uint32_t kind, uint64_t value, size_t size) {
    text(out, key);
    number(out, kind, 4);
    number(out, value, size);
}

void stn_gguf_u32(stn_gguf *out, const char *key, uint32_t value) {
    entry(out, key, KIND_U32, value, 4);
}

void stn_gguf_f32(stn_gguf *out, const char *key, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    entry(out, key, KIND_F32, bits, 4);
}

void stn_gguf_bool(stn_gguf *out, const char *key, bool value) {
    entry(out, key, KIND_BOOL, value, 1);
}

void stn_gguf_text(stn_gguf *out, const char *key, const char *value) {
    text(out, key);
    number(out, KIND_TEXT, 4);
    text(out, value);
}

void stn_gguf_tensor_entry(stn_gguf *out, const stn_gguf_tensor *tensor) {
    text(out, tensor->name);
    number(out, tensor->dim_count, 4);
    for (uint32_t i = 0; i < tensor->dim_count; i++) {
        number(out, tensor->dims[i], 8);
    }
    number(out, tensor->type, 4);
    number(out, tensor->offset, 8);
}

void stn_gguf_pad(stn_gguf *out) {
    static const char zeros[STN_GGUF_ALIGN];
    stn_gguf_bytes(out, zeros, stn_gguf_aligned(out->size) - out->size);
}
