/** @file
 *  Architectures of language models as tables: where each value stands in a Hugging Face
 *  config.json, and which metadata and tensors llama.cpp wants of it in a GGUF file. An
 *  architecture is one file, arch_<name>.c; adding one is adding that file and its line in
 *  arch.c (docs/add-an-architecture.md).
 *  Source of names, shapes and order: llama.cpp 0.5.0, src/models and conversion.
 *  Pinned by tests/unit/test_engine_llama.c, which loads each with llama.cpp itself. */
#ifndef STN_LLM_ENGINE_ARCH_H
#define STN_LLM_ENGINE_ARCH_H

#include <standin/base.h>

/** What an architecture knows of itself. All are kept as double: sizes are whole numbers below
 *  2^53, flags 0 or 1, words their place in the row's list; NAN is "not said". */
typedef enum stn_value_id {
    STN_V_NONE,
    STN_V_VOCAB,
    STN_V_CONTEXT,
    STN_V_EMBD,   /**< width of the residual stream */
    STN_V_LAYERS, /**< blocks */
    STN_V_HEADS,
    STN_V_HEADS_KV,
    STN_V_HEAD_DIM,
    STN_V_Q_DIM,   /**< all query heads side by side */
    STN_V_KV_DIM,  /**< all key heads side by side */
    STN_V_FF,      /**< inner width of a dense feed-forward block */
    STN_V_EXPERTS, /**< experts of a layer */
    STN_V_EXPERTS_USED,
    STN_V_EXPERT_FF,    /**< inner width of one expert */
    STN_V_SHARED,       /**< experts that every token takes */
    STN_V_SHARED_FF,    /**< inner width of all shared experts */
    STN_V_DENSE_LAYERS, /**< leading blocks without experts */
    STN_V_GROUPS,       /**< groups that the experts are parted into */
    STN_V_GROUPS_USED,
    STN_V_GATING,
    STN_V_WEIGHT_SCALE,
    STN_V_WEIGHT_NORM,
    STN_V_RMS_EPS,
    STN_V_TIED, /**< the output matrix is the embedding */
    STN_V_BIAS,
    STN_V_MLP_BIAS,
    STN_V_WINDOW,
    STN_V_WINDOWED, /**< some layers look back a window only, as llama.cpp has not */
    STN_V_LAYER_TYPES,
    STN_V_ROPE_DIM,
    STN_V_ROPE_HALF, /**< frequencies: half of the rotated dimensions */
    STN_V_ROPE_THETA,
    STN_V_ROPE_TYPE, /**< an stn_rope_type */
    STN_V_ROPE_FACTOR,
    STN_V_ROPE_ORIGINAL, /**< context before the scaling */
    STN_V_ROPE_BETA_FAST,
    STN_V_ROPE_BETA_SLOW,
    STN_V_ROPE_LOW,
    STN_V_ROPE_HIGH,
    STN_V_ROPE_MSCALE,
    STN_V_Q_RANK, /**< multi-head latent attention: rank of the query */
    STN_V_KV_RANK,
    STN_V_QK_NOPE, /**< part of a query head without, and with, a rotation */
    STN_V_QK_ROPE,
    STN_V_V_DIM,
    STN_V_KEY_MLA, /**< a query head, both parts */
    STN_V_KEY,     /**< a compressed key as it is kept: KV_RANK + QK_ROPE */
    STN_V_QB_DIM,
    STN_V_OUT_DIM,
    STN_V_ONE,
    STN_V_TWO,
    STN_V_MOE_STEP,
    STN_V_MLP_ONLY,
    STN_V_COUNT,
} stn_value_id;

/** Words of rope_scaling.rope_type, in the order of STN_ROPE_WORDS. */
typedef enum stn_rope_type {
    STN_ROPE_DEFAULT,
    STN_ROPE_LINEAR,
    STN_ROPE_YARN,
    STN_ROPE_LLAMA3,
} stn_rope_type;

#define STN_ROPE_WORDS "default|linear|yarn|llama3"

/** Holds if @c value lies in least … most; STN_V_NONE: always. */
typedef struct stn_when {
    stn_value_id value;
    double least, most;
} stn_when;

typedef enum stn_value_kind {
    STN_VALUE_SIZE,   /**< whole number, 1 … most */
    STN_VALUE_COUNT,  /**< whole number, 0 … most */
    STN_VALUE_REAL,   /**< positive finite number */
    STN_VALUE_FLAG,   /**< true or false */
    STN_VALUE_WORD,   /**< one of words */
    STN_VALUE_LENGTH, /**< items of a list */
    STN_VALUE_TURNS,  /**< items of a list that are not the words in turn */
    STN_VALUE_FIXED,  /**< number; not read; as the ones below */
    STN_VALUE_SUM,
    STN_VALUE_PRODUCT,
    STN_VALUE_QUOTIENT, /**< NAN if a is no multiple of b */
} stn_value_kind;

/** What holds when the key is not there. */
typedef enum stn_value_else {
    STN_ELSE_REFUSE,
    STN_ELSE_SKIP,   /**< the value stays NAN */
    STN_ELSE_NUMBER, /**< number */
    STN_ELSE_VALUE,  /**< the value a */
} stn_value_else;

/** One value. Rows are read in their order: a row may name those before it. */
typedef struct stn_value_row {
    stn_value_id id;
    stn_value_kind kind;
    const char *keys; /**< "a|b.c": the first that is there, b.c inside b; of a computed value the
                           words for it */
    stn_value_else otherwise;
    double number;
    stn_value_id a, b;
    double most;       /**< 0: 2^24 */
    const char *words; /**< "default|yarn" */
    stn_when when;     /**< read only then; NAN otherwise */
} stn_value_row;

typedef enum stn_check_kind {
    STN_CHECK_SAME,     /**< a = b */
    STN_CHECK_AT_MOST,  /**< a <= b */
    STN_CHECK_BELOW,    /**< a < b */
    STN_CHECK_PART,     /**< a < b, or both are 1 */
    STN_CHECK_MULTIPLE, /**< a is a multiple of b */
    STN_CHECK_EVEN,     /**< a is a multiple of 2 */
    STN_CHECK_IS,       /**< a = number: all that llama.cpp can of this architecture */
} stn_check_kind;

/** What values must be to each other; not looked at while one of them is NAN. */
typedef struct stn_check_row {
    stn_check_kind kind;
    stn_value_id a, b;
    double number;
} stn_check_row;

typedef enum stn_meta_kind {
    STN_META_U32,
    STN_META_F32,
    STN_META_TENTH, /**< F32, a tenth of the value: as llama.cpp's converter writes it */
    STN_META_BOOL,
    STN_META_WORD, /**< the word of words at that place, as text */
} stn_meta_kind;

/** One key "<architecture>.<key>"; left out if the value is NAN. */
typedef struct stn_meta_row {
    const char *key;
    stn_meta_kind kind;
    stn_value_id value;
    const char *words;
    stn_when when;
} stn_meta_row;

/** What a tensor is for, which says its type and what random weights it gets. */
typedef enum stn_role {
    STN_ROLE_MATRIX, /**< in the quantisation asked for */
    STN_ROLE_ROUTER, /**< F32 matrix */
    STN_ROLE_NORM,   /**< F32, about 1 */
    STN_ROLE_BIAS,   /**< F32, about 0 */
    STN_ROLE_ROPE,   /**< F32, the factors of llama3 scaling: always written */
} stn_role;

typedef enum stn_layers {
    STN_LAYERS_ONCE,   /**< no block; the name stands as it is */
    STN_LAYERS_EACH,   /**< "blk.<i>.<name>" in every block */
    STN_LAYERS_DENSE,  /**< in the first STN_V_DENSE_LAYERS */
    STN_LAYERS_SPARSE, /**< in those behind them */
} stn_layers;

typedef struct stn_tensor_row {
    const char *name;
    stn_role role;
    stn_layers layers;
    stn_value_id dims[3]; /**< innermost first; STN_V_NONE from the first that is not there */
    stn_when when;
} stn_tensor_row;

typedef struct stn_arch {
    const char *const *model_types; /**< of config.json, NULL behind the last */
    const char *gguf;               /**< general.architecture */
    const stn_value_row *values;    /**< ends with id STN_V_NONE */
    const stn_check_row *checks;    /**< ends with a STN_V_NONE */
    const stn_meta_row *metas;      /**< ends with key NULL */
    const stn_tensor_row *tensors;  /**< in the order of llama.cpp; ends with name NULL */
} stn_arch;

/** Architecture @p index; NULL behind the last. */
const stn_arch *stn_arch_at(uint32_t index);
/** The architecture of a config.json with this model_type, or NULL. */
const stn_arch *stn_arch_find(const char *model_type);
/** "llama, qwen2, …": all model_types into @p buffer. @return @p buffer */
const char *stn_arch_names(char *buffer, size_t size);
/** The row that gives @p id, or NULL. */
const stn_value_row *stn_arch_value(const stn_arch *arch, stn_value_id id);
/** Does @p when hold for @p values [STN_V_COUNT]? */
bool stn_when_holds(const stn_when *when, const double *values);

#endif
