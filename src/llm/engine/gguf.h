/** @file
 *  Writing GGUF, version 3: llama.cpp's file of a model. Header, metadata, the table of tensors,
 *  then their data, each aligned to 32 bytes. Little endian throughout.
 *  Source: ggml/docs/gguf.md.  Pinned by tests/unit/test_engine_model.c. */
#ifndef STN_LLM_ENGINE_GGUF_H
#define STN_LLM_ENGINE_GGUF_H

#include "core/data/outfile.h"

/** Types of tensor data; the values are ggml's. */
typedef enum stn_gguf_type {
    STN_GGUF_F32 = 0,
    STN_GGUF_F16 = 1,
    STN_GGUF_Q4_0 = 2, /**< 32 values: a scale as f16, 32 nibbles */
    STN_GGUF_Q8_0 = 8, /**< 32 values: a scale as f16, 32 bytes */
    STN_GGUF_BF16 = 30,
} stn_gguf_type;

/** Bytes of @p count values in a row; @p count is a multiple of 32 where the type has blocks. */
uint64_t stn_gguf_row_bytes(stn_gguf_type type, uint64_t count);
/** Values of a block: 32 or 1. */
uint64_t stn_gguf_block(stn_gguf_type type);

#define STN_GGUF_ALIGN UINT64_C(32)
/** @p size rounded up to the alignment. */
uint64_t stn_gguf_aligned(uint64_t size);

typedef struct stn_gguf_tensor {
    char name[64];
    stn_gguf_type type;
    uint32_t dim_count;
    uint64_t dims[3]; /**< innermost first; 1 behind dim_count */
    uint64_t size;    /**< bytes */
    uint64_t offset;  /**< from the begin of the data */
} stn_gguf_tensor;

/** Appends to @p file (NULL: only counts) and keeps the first error. Zero-initialise, then set
 *  file and err. */
typedef struct stn_gguf {
    stn_outfile *file; /**< borrowed */
    stn_err *err;      /**< borrowed */
    uint64_t size;     /**< bytes so far */
    stn_status status; /**< once not STN_OK, nothing more is written */
} stn_gguf;

void stn_gguf_head(stn_gguf *out, uint64_t tensor_count, uint64_t key_count);
void stn_gguf_u32(stn_gguf *out, const char *key, uint32_t value);
void stn_gguf_f32(stn_gguf *out, const char *key, float value);
void stn_gguf_bool(stn_gguf *out, const char *key, bool value);
void stn_gguf_text(stn_gguf *out, const char *key, const char *value);
void stn_gguf_tensor_entry(stn_gguf *out, const stn_gguf_tensor *tensor);
/** @p size bytes as they are. */
void stn_gguf_bytes(stn_gguf *out, const void *bytes, uint64_t size);
/** @p size zeros that take no room on the disk. */
void stn_gguf_hole(stn_gguf *out, uint64_t size);
/** Zeros up to the alignment. */
void stn_gguf_pad(stn_gguf *out);

#endif
