/** @file
 *  From a config.json to a GGUF file that llama.cpp loads: right in metadata and tensors, its
 *  weights random or not there at all. With the weights left out the file is one hole, so that a
 *  model of any size takes no disk and its graph can be captured on a small machine.
 *  What is written: docs/formats/gguf.md.  Pinned by tests/unit/test_engine_model.c and, with
 *  llama.cpp itself, tests/unit/test_engine_llama.c. */
#ifndef STN_LLM_ENGINE_MODEL_H
#define STN_LLM_ENGINE_MODEL_H

#include "llm/engine/config.h"
#include "llm/engine/gguf.h"

/** Name of a type that matrices can have ("q8_0"), by @p index; NULL behind the last. */
const char *stn_quant_name(uint32_t index);
/** @return STN_OK; STN_ENOTFOUND (no message) */
stn_status stn_quant_find(const char *name, stn_gguf_type *type) STN_MUST_USE;

/** What a file would hold. */
typedef struct stn_llm_plan {
    stn_config config;
    stn_gguf_type quant;
    stn_gguf_tensor *tensors; /**< [tensor_count] in the order of the file */
    stn_role *roles;          /**< [tensor_count] */
    size_t tensor_count;
    uint64_t parameters;   /**< values of all tensors */
    uint64_t weight_bytes; /**< of all tensors, without padding */
    uint64_t data_size;    /**< with padding */
} stn_llm_plan;

/** Lay out the tensors of @p config (copied). A matrix whose rows are no whole blocks of
 *  @p quant is F16, as llama.cpp's own quantiser does.
 *  @return STN_OK (stn_llm_plan_fini() when done); STN_EFORMAT (more than 2^50 bytes), STN_ENOMEM;
 *          on error there is nothing to free */
stn_status stn_llm_plan_init(stn_llm_plan *plan, const stn_config *config, stn_gguf_type quant,
                             stn_err *err) STN_MUST_USE;
/** Legal on a zeroed plan. */
void stn_llm_plan_fini(stn_llm_plan *plan);

typedef struct stn_llm_write_options {
    const char *name;         /**< general.name; borrowed */
    bool random;              /**< weights are drawn; otherwise left out as holes */
    uint64_t seed;            /**< of the weights */
    stn_progress_fn progress; /**< may be NULL; in bytes */
    void *user;
} stn_llm_write_options;

/** Write @p plan to @p path, there whole or not at all.
 *  @param[out] file_size  bytes of the file
 *  @return STN_OK; STN_EUNSUPPORTED (holes into something that is no plain file), STN_EIO (no room
 *          for the weights, said before the first is written; what the system says), STN_EPERM,
 *          STN_EINTR, STN_ENOMEM */
stn_status stn_llm_plan_write(const stn_llm_plan *plan, const char *path,
                              const stn_llm_write_options *options, uint64_t *file_size,
                              stn_err *err) STN_MUST_USE;

#endif
