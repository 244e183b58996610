/** @file
 *  What the tables of architectures share: short ways to write a row, and the groups of rows
 *  that come back. For arch_*.c only. Pinned by tests/unit/test_engine_llama.c. */
#ifndef STN_LLM_ENGINE_ARCH_ROWS_H
#define STN_LLM_ENGINE_ARCH_ROWS_H

#include "llm/engine/arch.h"

extern const stn_arch stn_arch_llama, stn_arch_qwen2, stn_arch_qwen3, stn_arch_qwen3moe,
    stn_arch_mixtral, stn_arch_gpt_oss, stn_arch_gemma, stn_arch_deepseek;

/* ---- values: STN_SIZE(EMBD, "hidden_size"), … ------------------------------------------- */

/* clang-format off */
#define STN_SIZE(v, key) {.id = STN_V_##v, .kind = STN_VALUE_SIZE, .keys = (key)}
#define STN_SIZE_UPTO(v, key, n) \
    {.id = STN_V_##v, .kind = STN_VALUE_SIZE, .keys = (key), .most = (n)}
#define STN_SIZE_OR(v, key, other) \
    {.id = STN_V_##v, .kind = STN_VALUE_SIZE, .keys = (key), \
     .otherwise = STN_ELSE_VALUE, .a = STN_V_##other}
#define STN_REAL(v, key) {.id = STN_V_##v, .kind = STN_VALUE_REAL, .keys = (key)}
#define STN_REAL_OR(v, key, n) \
    {.id = STN_V_##v, .kind = STN_VALUE_REAL, .keys = (key), \
     .otherwise = STN_ELSE_NUMBER, .number = (n)}
#define STN_REAL_IF(v, key, other, low, high, absent) \
    {.id = STN_V_##v, .kind = STN_VALUE_REAL, .keys = (key), .otherwise = STN_ELSE_##absent, \
     .when = {STN_V_##other, (low), (high)}}
#define STN_FLAG_OR(v, key, n) \
    {.id = STN_V_##v, .kind = STN_VALUE_FLAG, .keys = (key), \
     .otherwise = STN_ELSE_NUMBER, .number = (n)}
#define STN_COUNT_OR(v, key, n) \
    {.id = STN_V_##v, .kind = STN_VALUE_COUNT, .keys = (key), \
     .otherwise = STN_ELSE_NUMBER, .number = (n)}
#define STN_WORD_OR(v, key, list, n) \
    {.id = STN_V_##v, .kind = STN_VALUE_WORD, .keys = (key), .words = (list), \
     .otherwise = STN_ELSE_NUMBER, .number = (n)}
#define STN_LENGTH(v, key) \
    {.id = STN_V_##v, .kind = STN_VALUE_LENGTH, .keys = (key), .otherwise = STN_ELSE_NUMBER}
#define STN_TURNS(v, key, list) \
    {.id = STN_V_##v, .kind = STN_VALUE_TURNS, .keys = (key), .words = (list), \
     .otherwise = STN_ELSE_NUMBER}
#define STN_FIXED(v, n) {.id = STN_V_##v, .kind = STN_VALUE_FIXED, .number = (n)}
#define STN_OF(v, how, x, y, words) \
    {.id = STN_V_##v, .kind = STN_VALUE_##how, .keys = (words), .a = STN_V_##x, .b = STN_V_##y}
#define STN_LAST_VALUE {.id = STN_V_NONE}

/* Every architecture. Where a key has two homes, newer configs have the second. */
#define STN_VALUES_BASE \
    STN_SIZE(EMBD, "hidden_size"), \
    STN_SIZE_UPTO(LAYERS, "num_hidden_layers", 512), \
    STN_SIZE(VOCAB, "vocab_size"), \
    STN_SIZE_UPTO(CONTEXT, "max_position_embeddings", 0x7fffffff), \
    STN_SIZE_UPTO(HEADS, "num_attention_heads", 65536), \
    STN_SIZE(FF, "intermediate_size"), \
    STN_REAL(RMS_EPS, "rms_norm_eps"), \
    STN_REAL_OR(ROPE_THETA, "rope_theta|rope_parameters.rope_theta", 10000), \
    STN_FLAG_OR(TIED, "tie_word_embeddings", 0), \
    STN_FLAG_OR(BIAS, "attention_bias", 0), \
    STN_FLAG_OR(WINDOWED, "use_sliding_window", 0)

#define STN_ROPE_KEY(key) "rope_scaling." key "|rope_parameters." key
#define STN_VALUES_ROPE \
    STN_WORD_OR(ROPE_TYPE, "rope_scaling.rope_type|rope_scaling.type|rope_parameters.rope_type", \
                STN_ROPE_WORDS, STN_ROPE_DEFAULT), \
    STN_REAL_IF(ROPE_FACTOR, STN_ROPE_KEY("factor"), ROPE_TYPE, 1, 3, REFUSE), \
    STN_REAL_IF(ROPE_ORIGINAL, STN_ROPE_KEY("original_max_position_embeddings"), \
                ROPE_TYPE, 2, 3, REFUSE), \
    STN_REAL_IF(ROPE_BETA_FAST, STN_ROPE_KEY("beta_fast"), ROPE_TYPE, 2, 2, SKIP), \
    STN_REAL_IF(ROPE_BETA_SLOW, STN_ROPE_KEY("beta_slow"), ROPE_TYPE, 2, 2, SKIP), \
    STN_REAL_IF(ROPE_LOW, STN_ROPE_KEY("low_freq_factor"), ROPE_TYPE, 3, 3, REFUSE), \
    STN_REAL_IF(ROPE_HIGH, STN_ROPE_KEY("high_freq_factor"), ROPE_TYPE, 3, 3, REFUSE)

/* Attention of several heads: everything but deepseek. */
#define STN_VALUES_HEADS \
    STN_SIZE_OR(HEADS_KV, "num_key_value_heads", HEADS), \
    STN_FIXED(TWO, 2), \
    STN_OF(ROPE_DIM, QUOTIENT, EMBD, HEADS, "hidden_size / num_attention_heads"), \
    STN_SIZE_OR(HEAD_DIM, "head_dim", ROPE_DIM), \
    STN_OF(ROPE_HALF, QUOTIENT, HEAD_DIM, TWO, "half of head_dim"), \
    STN_OF(Q_DIM, PRODUCT, HEADS, HEAD_DIM, "num_attention_heads * head_dim"), \
    STN_OF(KV_DIM, PRODUCT, HEADS_KV, HEAD_DIM, "num_key_value_heads * head_dim"), \
    STN_VALUES_ROPE

#define STN_VALUES_EXPERTS(count, used) \
    STN_SIZE_UPTO(EXPERTS, count, 1024), \
    STN_SIZE_UPTO(EXPERTS_USED, used, 1024)

/* ---- checks ------------------------------------------------------------------------------- */

#define STN_CHECK(how, x, y) {STN_CHECK_##how, STN_V_##x, STN_V_##y, 0}
#define STN_CHECK_FIXED(x, n) {STN_CHECK_IS, STN_V_##x, STN_V_NONE, (n)}
#define STN_CHECKS_HEADS \
    STN_CHECK(MULTIPLE, HEADS, HEADS_KV), \
    STN_CHECK(EVEN, HEAD_DIM, NONE), \
    STN_CHECK_FIXED(WINDOWED, 0)
#define STN_CHECKS_EXPERTS STN_CHECK(AT_MOST, EXPERTS_USED, EXPERTS)
#define STN_LAST_CHECK {STN_CHECK_SAME, STN_V_NONE, STN_V_NONE, 0}

/* ---- metadata ------------------------------------------------------------------------------ */

#define STN_META(key, how, v) {(key), STN_META_##how, STN_V_##v, NULL, {STN_V_NONE, 0, 0}}
#define STN_METAS_BASE \
    STN_META("vocab_size", U32, VOCAB), \
    STN_META("context_length", U32, CONTEXT), \
    STN_META("embedding_length", U32, EMBD), \
    STN_META("block_count", U32, LAYERS), \
    STN_META("feed_forward_length", U32, FF), \
    STN_META("attention.head_count", U32, HEADS), \
    STN_META("attention.head_count_kv", U32, HEADS_KV), \
    STN_META("attention.layer_norm_rms_epsilon", F32, RMS_EPS), \
    STN_META("rope.freq_base", F32, ROPE_THETA), \
    {"rope.scaling.type", STN_META_WORD, STN_V_ROPE_TYPE, STN_ROPE_WORDS, \
     {STN_V_ROPE_TYPE, 1, 2}}, \
    {"rope.scaling.factor", STN_META_F32, STN_V_ROPE_FACTOR, NULL, {STN_V_ROPE_TYPE, 1, 2}}, \
    {"rope.scaling.original_context_length", STN_META_U32, STN_V_ROPE_ORIGINAL, NULL, \
     {STN_V_ROPE_TYPE, 2, 2}}, \
    STN_META("rope.scaling.yarn_beta_fast", F32, ROPE_BETA_FAST), \
    STN_META("rope.scaling.yarn_beta_slow", F32, ROPE_BETA_SLOW)
#define STN_METAS_HEADS \
    STN_META("attention.key_length", U32, HEAD_DIM), \
    STN_META("attention.value_length", U32, HEAD_DIM), \
    STN_META("rope.dimension_count", U32, HEAD_DIM)
#define STN_METAS_EXPERTS \
    STN_META("expert_count", U32, EXPERTS), \
    STN_META("expert_used_count", U32, EXPERTS_USED)
#define STN_LAST_META {NULL, STN_META_U32, STN_V_NONE, NULL, {STN_V_NONE, 0, 0}}

/* ---- tensors ------------------------------------------------------------------------------- */

#define STN_ALWAYS {STN_V_NONE, 0, 0}
#define STN_IF(v) {STN_V_##v, 1, 1}
#define STN_T1(name, role, layers, x, ...) \
    {(name), STN_ROLE_##role, STN_LAYERS_##layers, {STN_V_##x, STN_V_NONE, STN_V_NONE}, __VA_ARGS__}
#define STN_T2(name, role, layers, x, y, ...) \
    {(name), STN_ROLE_##role, STN_LAYERS_##layers, {STN_V_##x, STN_V_##y, STN_V_NONE}, __VA_ARGS__}
#define STN_T3(name, role, layers, x, y, z, ...) \
    {(name), STN_ROLE_##role, STN_LAYERS_##layers, {STN_V_##x, STN_V_##y, STN_V_##z}, __VA_ARGS__}
#define STN_LAST_TENSOR \
    {NULL, STN_ROLE_MATRIX, STN_LAYERS_ONCE, {STN_V_NONE, STN_V_NONE, STN_V_NONE}, STN_ALWAYS}

#define STN_TENSORS_ENDS \
    STN_T2("token_embd.weight", MATRIX, ONCE, EMBD, VOCAB, STN_ALWAYS), \
    STN_T1("output_norm.weight", NORM, ONCE, EMBD, STN_ALWAYS), \
    {"output.weight", STN_ROLE_MATRIX, STN_LAYERS_ONCE, {STN_V_EMBD, STN_V_VOCAB, STN_V_NONE}, \
     {STN_V_TIED, 0, 0}}
#define STN_TENSORS_QKV \
    STN_T1("attn_norm.weight", NORM, EACH, EMBD, STN_ALWAYS), \
    STN_T2("attn_q.weight", MATRIX, EACH, EMBD, Q_DIM, STN_ALWAYS), \
    STN_T2("attn_k.weight", MATRIX, EACH, EMBD, KV_DIM, STN_ALWAYS), \
    STN_T2("attn_v.weight", MATRIX, EACH, EMBD, KV_DIM, STN_ALWAYS)
#define STN_TENSORS_QKV_BIAS(...) \
    STN_T1("attn_q.bias", BIAS, EACH, Q_DIM, __VA_ARGS__), \
    STN_T1("attn_k.bias", BIAS, EACH, KV_DIM, __VA_ARGS__), \
    STN_T1("attn_v.bias", BIAS, EACH, KV_DIM, __VA_ARGS__)
#define STN_TENSORS_OUT STN_T2("attn_output.weight", MATRIX, EACH, Q_DIM, EMBD, STN_ALWAYS)
#define STN_TENSORS_QK_NORM \
    STN_T1("attn_k_norm.weight", NORM, EACH, HEAD_DIM, STN_ALWAYS), \
    STN_T1("attn_q_norm.weight", NORM, EACH, HEAD_DIM, STN_ALWAYS)
#define STN_TENSORS_FFN_NORM STN_T1("ffn_norm.weight", NORM, EACH, EMBD, STN_ALWAYS)
#define STN_TENSORS_FFN(layers) \
    STN_T2("ffn_gate.weight", MATRIX, layers, EMBD, FF, STN_ALWAYS), \
    STN_T2("ffn_down.weight", MATRIX, layers, FF, EMBD, STN_ALWAYS), \
    STN_T2("ffn_up.weight", MATRIX, layers, EMBD, FF, STN_ALWAYS)
#define STN_TENSORS_EXPERTS(layers, inner) \
    STN_T2("ffn_gate_inp.weight", ROUTER, layers, EMBD, EXPERTS, STN_ALWAYS), \
    STN_T3("ffn_gate_exps.weight", MATRIX, layers, EMBD, inner, EXPERTS, STN_ALWAYS), \
    STN_T3("ffn_down_exps.weight", MATRIX, layers, inner, EMBD, EXPERTS, STN_ALWAYS), \
    STN_T3("ffn_up_exps.weight", MATRIX, layers, EMBD, inner, EXPERTS, STN_ALWAYS)
#define STN_TENSORS_ROPE \
    {"rope_freqs.weight", STN_ROLE_ROPE, STN_LAYERS_ONCE, \
     {STN_V_ROPE_HALF, STN_V_NONE, STN_V_NONE}, \
     {STN_V_ROPE_TYPE, STN_ROPE_LLAMA3, STN_ROPE_LLAMA3}}

/* ---- the whole: STN_ARCH(qwen2, "qwen2", "qwen2", "mimo") of the tables values, checks, metas and
 *      tensors; GGUF's name, then the model_types ------------------------------------------- */

#define STN_ARCH(name, gguf_name, ...) \
    const stn_arch stn_arch_##name = {(const char *const[]){__VA_ARGS__, NULL}, (gguf_name), \
                                      values, checks, metas, tensors}
/* clang-format on */

#endif
