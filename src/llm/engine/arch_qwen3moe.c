/* Qwen 3 with experts in every layer. */
#include "llm/engine/arch_rows.h"

/* clang-format off */
static const stn_value_row values[] = {
    STN_VALUES_BASE,
    STN_VALUES_HEADS,
    STN_VALUES_EXPERTS("num_experts|num_local_experts", "num_experts_per_tok"),
    STN_SIZE(EXPERT_FF, "moe_intermediate_size"),
    STN_COUNT_OR(MOE_STEP, "decoder_sparse_step", 1),
    STN_LENGTH(MLP_ONLY, "mlp_only_layers"),
    STN_LAST_VALUE,
};
static const stn_check_row checks[] = {
    STN_CHECKS_HEADS,
    STN_CHECKS_EXPERTS,
    STN_CHECK_FIXED(BIAS, 0),
    STN_CHECK_FIXED(MOE_STEP, 1),
    STN_CHECK_FIXED(MLP_ONLY, 0),
    STN_LAST_CHECK,
};
static const stn_meta_row metas[] = {
    STN_METAS_BASE,
    STN_METAS_HEADS,
    STN_METAS_EXPERTS,
    STN_META("expert_feed_forward_length", U32, EXPERT_FF),
    STN_LAST_META,
};

static const stn_tensor_row tensors[] = {
    STN_TENSORS_ENDS,
    STN_TENSORS_QKV,
    STN_TENSORS_OUT,
    STN_TENSORS_QK_NORM,
    STN_TENSORS_FFN_NORM,
    STN_TENSORS_EXPERTS(EACH, EXPERT_FF),
    STN_LAST_TENSOR,
};
STN_ARCH(qwen3moe, "qwen3moe", "qwen3_moe");
/* clang-format on */
