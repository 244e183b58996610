/* DeepSeek V3: multi-head latent attention, experts in groups behind a few dense layers. To
 * llama.cpp its attention has one key head, the compressed one. The head for further tokens is left
 * out. */
#include "llm/engine/arch_rows.h"

/* clang-format off */
static const stn_value_row values[] = {
    STN_VALUES_BASE,
    STN_VALUES_ROPE,
    STN_REAL_IF(ROPE_MSCALE, STN_ROPE_KEY("mscale_all_dim"), ROPE_TYPE, 2, 2, SKIP),
    STN_FIXED(HEADS_KV, 1),
    STN_VALUES_EXPERTS("n_routed_experts", "num_experts_per_tok"),
    STN_SIZE(EXPERT_FF, "moe_intermediate_size"),
    STN_SIZE_UPTO(SHARED, "n_shared_experts", 1024),
    STN_OF(SHARED_FF, PRODUCT, SHARED, EXPERT_FF, "n_shared_experts * moe_intermediate_size"),
    STN_COUNT_OR(DENSE_LAYERS, "first_k_dense_replace", 0),
    STN_COUNT_OR(MOE_STEP, "moe_layer_freq", 1),
    STN_FIXED(ONE, 1),
    STN_SIZE_OR(GROUPS, "n_group", ONE),
    STN_SIZE_OR(GROUPS_USED, "topk_group", ONE),
    STN_WORD_OR(GATING, "scoring_func", "none|softmax|sigmoid", 2),
    STN_REAL_OR(WEIGHT_SCALE, "routed_scaling_factor", 1),
    STN_FLAG_OR(WEIGHT_NORM, "norm_topk_prob", 1),
    STN_SIZE(Q_RANK, "q_lora_rank"),
    STN_SIZE(KV_RANK, "kv_lora_rank"),
    STN_SIZE(QK_NOPE, "qk_nope_head_dim"),
    STN_SIZE(QK_ROPE, "qk_rope_head_dim"),
    STN_SIZE(V_DIM, "v_head_dim"),
    STN_OF(KEY_MLA, SUM, QK_NOPE, QK_ROPE, "qk_nope_head_dim + qk_rope_head_dim"),
    STN_OF(KEY, SUM, KV_RANK, QK_ROPE, "kv_lora_rank + qk_rope_head_dim"),
    STN_OF(QB_DIM, PRODUCT, HEADS, KEY_MLA, "all query heads"),
    STN_OF(OUT_DIM, PRODUCT, HEADS, V_DIM, "num_attention_heads * v_head_dim"),
    STN_LAST_VALUE,
};
static const stn_check_row checks[] = {
    STN_CHECKS_EXPERTS,
    STN_CHECK(EVEN, QK_ROPE, NONE),
    STN_CHECK(AT_MOST, DENSE_LAYERS, LAYERS),
    STN_CHECK(BELOW, GROUPS, EXPERTS),
    STN_CHECK(MULTIPLE, EXPERTS, GROUPS),
    STN_CHECK(PART, GROUPS_USED, GROUPS),
    STN_CHECK_FIXED(BIAS, 0),
    STN_CHECK_FIXED(MOE_STEP, 1),
    STN_LAST_CHECK,
};
static const stn_meta_row metas[] = {
    STN_METAS_BASE,
    STN_METAS_EXPERTS,
    STN_META("attention.key_length", U32, KEY),
    STN_META("attention.value_length", U32, KV_RANK),
    STN_META("rope.dimension_count", U32, QK_ROPE),
    STN_META("attention.key_length_mla", U32, KEY_MLA),
    STN_META("attention.value_length_mla", U32, V_DIM),
    STN_META("attention.q_lora_rank", U32, Q_RANK),
    STN_META("attention.kv_lora_rank", U32, KV_RANK),
    STN_META("leading_dense_block_count", U32, DENSE_LAYERS),
    STN_META("expert_feed_forward_length", U32, EXPERT_FF),
    STN_META("expert_shared_count", U32, SHARED),
    STN_META("expert_group_count", U32, GROUPS),
    STN_META("expert_group_used_count", U32, GROUPS_USED),
    STN_META("expert_gating_func", U32, GATING),
    STN_META("expert_weights_scale", F32, WEIGHT_SCALE),
    STN_META("expert_weights_norm", BOOL, WEIGHT_NORM),
    STN_META("rope.scaling.yarn_log_multiplier", TENTH, ROPE_MSCALE),
    STN_LAST_META,
};

static const stn_tensor_row tensors[] = {
    STN_TENSORS_ENDS,
    STN_T1("attn_norm.weight", NORM, EACH, EMBD, STN_ALWAYS),
    STN_T1("attn_q_a_norm.weight", NORM, EACH, Q_RANK, STN_ALWAYS),
    STN_T1("attn_kv_a_norm.weight", NORM, EACH, KV_RANK, STN_ALWAYS),
    STN_T2("attn_q_a.weight", MATRIX, EACH, EMBD, Q_RANK, STN_ALWAYS),
    STN_T2("attn_q_b.weight", MATRIX, EACH, Q_RANK, QB_DIM, STN_ALWAYS),
    STN_T2("attn_kv_a_mqa.weight", MATRIX, EACH, EMBD, KEY, STN_ALWAYS),
    STN_T3("attn_k_b.weight", MATRIX, EACH, QK_NOPE, KV_RANK, HEADS, STN_ALWAYS),
    STN_T3("attn_v_b.weight", MATRIX, EACH, KV_RANK, V_DIM, HEADS, STN_ALWAYS),
    STN_T2("attn_output.weight", MATRIX, EACH, OUT_DIM, EMBD, STN_ALWAYS),
    STN_TENSORS_FFN_NORM,
    STN_TENSORS_FFN(DENSE),
    STN_TENSORS_EXPERTS(SPARSE, EXPERT_FF),
    STN_T1("exp_probs_b.bias", BIAS, SPARSE, EXPERTS, STN_ALWAYS),
    STN_T2("ffn_gate_shexp.weight", MATRIX, SPARSE, EMBD, SHARED_FF, STN_ALWAYS),
    STN_T2("ffn_down_shexp.weight", MATRIX, SPARSE, SHARED_FF, EMBD, STN_ALWAYS),
    STN_T2("ffn_up_shexp.weight", MATRIX, SPARSE, EMBD, SHARED_FF, STN_ALWAYS),
    STN_LAST_TENSOR,
};
STN_ARCH(deepseek, "deepseek2", "deepseek_v3");
/* clang-format on */
