/** @file
 *  llama.cpp, loaded at run time: the program runs without it. Its headers are looked for when
 *  standin is built (cmake/Engine.cmake); a program built without them finds the library but
 *  cannot use it. Pinned by tests/unit/test_engine_llama.c, tests/e2e/doctor.bats. */
#ifndef STN_LLM_ENGINE_LLAMA_H
#define STN_LLM_ENGINE_LLAMA_H

#include <standin/base.h>

/** Where llama.cpp is. */
typedef struct stn_llama_place {
    char library[512]; /**< libllama's file, or its name if the system's loader finds it */
    char version[64];  /**< as the library says; "" if it says none */
    bool usable;       /**< built with headers of this version */
} stn_llama_place;

/** Look, in this order, into the folder that STANDIN_LLAMA names, where the headers came from,
 *  what npm has installed here or globally, and what the system's loader knows.
 *  @return STN_OK; STN_ENOTFOUND; STN_EUNSUPPORTED (STANDIN_LLAMA names a folder without it) */
stn_status stn_llama_find(stn_llama_place *place, stn_err *err) STN_MUST_USE;

typedef struct stn_llama stn_llama;

/** Load the library and its processors' parts.
 *  @return STN_OK; as stn_llama_find(); STN_EUNSUPPORTED (built without its headers, or with those
 *          of another version; a function is missing); STN_ENOMEM */
stn_status stn_llama_open(stn_llama **out, stn_err *err) STN_MUST_USE;
/** Legal on NULL. The library stays loaded: its threads and tables outlive a handle. */
void stn_llama_close(stn_llama *llama);

/** What llama.cpp made of a file. */
typedef struct stn_llama_facts {
    char description[128]; /**< "llama 8B Q8_0" */
    uint64_t parameters, bytes;
    int32_t vocab, context, embd, layers, heads, heads_kv;
} stn_llama_facts;

/** Load a GGUF file without reading or allocating weights: vocabulary, hyper-parameters and every
 *  tensor's name and shape are checked by llama.cpp.
 *  @return STN_OK; STN_ECHECK (llama.cpp refuses: its own words) */
stn_status stn_llama_inspect(stn_llama *llama, const char *path, stn_llama_facts *facts,
                             stn_err *err) STN_MUST_USE;

/** Load a GGUF file with its weights and run the token ids 1 … @p count in one batch.
 *  @param[out] largest  of the absolute values of the last token's logits
 *  @return STN_OK; STN_ECHECK (llama.cpp refuses, or a logit is no finite number) */
stn_status stn_llama_try(stn_llama *llama, const char *path, int32_t count, float *largest,
                         stn_err *err) STN_MUST_USE;

/** A pass whose graph is wanted; nothing of it is computed. */
typedef struct stn_llama_pass {
    uint32_t tokens;     /**< of the batch; a multiple of seqs */
    uint32_t seqs;       /**< 1 … seqs_max, each with as many tokens */
    uint32_t cells_used; /**< of the KV cache by each sequence at its end; tokens / seqs … cells */
    uint32_t outputs;    /**< tokens whose logits are asked for; 1 … tokens */
    uint32_t cells;      /**< of the cache, for a sequence; a multiple of 256 */
    uint32_t seqs_max;   /**< for which the context is made */
    uint32_t ubatch;     /**< most tokens of a pass; at least 64 * seqs and tokens */
    bool unified;        /**< the sequences share one cache */
} stn_llama_pass;

/** Load the library @p path in front of ggml (src/llm/engine/shim). Only before llama.cpp is looked
 *  for by anything else in this process. @return STN_OK; STN_EUNSUPPORTED */
stn_status stn_llama_shim(const char *path, stn_err *err) STN_MUST_USE;

/** Load a GGUF file without its weights and have llama.cpp build the graph of @p pass, after one
 *  of usual sizes and those that fill the cache. Only behind stn_llama_shim(), which skips
 * computing: there is no memory.
 *  @return STN_OK; STN_ECHECK (llama.cpp refuses: its own words) */
stn_status stn_llama_run(stn_llama *llama, const char *path, const stn_llama_pass *pass,
                         stn_err *err) STN_MUST_USE;

#endif
