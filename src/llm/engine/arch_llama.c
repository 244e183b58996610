/* Llama 2 and 3: dense, grouped heads, rotation scaled by parts (llama3). */
#include "llm/engine/arch_rows.h"

/* clang-format off */
static const stn_value_row values[] = {
    STN_VALUES_BASE,
    STN_VALUES_HEADS,
    STN_FLAG_OR(MLP_BIAS, "mlp_bias", 0),
    STN_LAST_VALUE,
};
static const stn_check_row checks[] = {STN_CHECKS_HEADS, STN_LAST_CHECK};
static const stn_meta_row metas[] = {STN_METAS_BASE, STN_METAS_HEADS, STN_LAST_META};

static const stn_tensor_row tensors[] = {
    STN_TENSORS_ENDS,
    STN_TENSORS_ROPE,
    STN_TENSORS_QKV,
    STN_TENSORS_QKV_BIAS(STN_IF(BIAS)),
    STN_TENSORS_OUT,
    STN_T1("attn_output.bias", BIAS, EACH, EMBD, STN_IF(BIAS)),
    STN_TENSORS_FFN_NORM,
    STN_TENSORS_FFN(EACH),
    STN_T1("ffn_gate.bias", BIAS, EACH, FF, STN_IF(MLP_BIAS)),
    STN_T1("ffn_down.bias", BIAS, EACH, EMBD, STN_IF(MLP_BIAS)),
    STN_T1("ffn_up.bias", BIAS, EACH, FF, STN_IF(MLP_BIAS)),
    STN_LAST_TENSOR,
};
STN_ARCH(llama, "llama", "llama");
/* clang-format on */
