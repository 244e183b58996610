/** @file
 *  A Hugging Face config.json as the values of an architecture (arch.h).
 *  Pinned by tests/unit/test_engine_config.c, tests/fuzz/fuzz_config.c. */
#ifndef STN_LLM_ENGINE_CONFIG_H
#define STN_LLM_ENGINE_CONFIG_H

#include "llm/engine/arch.h"

typedef struct stn_config {
    const stn_arch *arch;       /**< static */
    char model_type[64];        /**< as the file says */
    double values[STN_V_COUNT]; /**< by stn_value_id; NAN: not said */
} stn_config;

/** Longest config.json that is read. */
#define STN_CONFIG_MAX ((size_t)1 << 20)

/** Read @p size bytes of JSON. Every message begins with @p name and, where a key is at fault,
 *  with that key.
 *  @return STN_OK; STN_EFORMAT (not JSON, a key is missing, of the wrong type or out of its range,
 *          values that do not go together); STN_EUNSUPPORTED (an architecture that is not known,
 *          or something that llama.cpp cannot of this one); @p config is then not to be used */
stn_status stn_config_parse(stn_config *config, const char *text, size_t size, const char *name,
                            stn_err *err) STN_MUST_USE;
/** The same from a file; the name is its path.
 *  @return also STN_ENOTFOUND, STN_EIO, STN_ENOMEM */
stn_status stn_config_load(stn_config *config, const char *path, stn_err *err) STN_MUST_USE;

#endif
