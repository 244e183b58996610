/* gpt-oss: experts with biases, sinks in the attention, every other layer looks back a window only.
 */
#include "llm/engine/arch_rows.h"

/* clang-format off */
static const stn_value_row values[] = {
    STN_VALUES_BASE,
    STN_VALUES_HEADS,
    STN_VALUES_EXPERTS("num_local_experts", "num_experts_per_tok|experts_per_token"),
    STN_SIZE(WINDOW, "sliding_window"),
    STN_TURNS(LAYER_TYPES, "layer_types", "sliding_attention|full_attention"),
    STN_LAST_VALUE,
};
static const stn_check_row checks[] = {
    STN_CHECKS_HEADS,
    STN_CHECKS_EXPERTS,
    STN_CHECK_FIXED(TIED, 0),
    STN_CHECK_FIXED(LAYER_TYPES, 0),
    STN_LAST_CHECK,
};
static const stn_meta_row metas[] = {
    STN_METAS_BASE,
    STN_METAS_HEADS,
    STN_METAS_EXPERTS,
    STN_META("expert_feed_forward_length", U32, FF),
    STN_META("attention.sliding_window", U32, WINDOW),
    STN_LAST_META,
};

static const stn_tensor_row tensors[] = {
    STN_TENSORS_ENDS,
    STN_TENSORS_QKV,
    STN_TENSORS_QKV_BIAS(STN_ALWAYS),
    STN_T1("post_attention_norm.weight", NORM, EACH, EMBD, STN_ALWAYS),
    STN_TENSORS_OUT,
    STN_T1("attn_sinks.weight", BIAS, EACH, HEADS, STN_ALWAYS),
    STN_TENSORS_EXPERTS(EACH, FF),
    STN_T1("attn_output.bias", BIAS, EACH, EMBD, STN_ALWAYS),
    STN_T1("ffn_gate_inp.bias", BIAS, EACH, EXPERTS, STN_ALWAYS),
    STN_T2("ffn_gate_exps.bias", BIAS, EACH, FF, EXPERTS, STN_ALWAYS),
    STN_T2("ffn_down_exps.bias", BIAS, EACH, EMBD, EXPERTS, STN_ALWAYS),
    STN_T2("ffn_up_exps.bias", BIAS, EACH, FF, EXPERTS, STN_ALWAYS),
    STN_LAST_TENSOR,
};
STN_ARCH(gpt_oss, "gpt-oss", "gpt_oss");
/* clang-format on */
