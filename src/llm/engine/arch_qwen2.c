/* Qwen 2 and 2.5, and MiMo, whose trunk is the same (its head for further tokens is left out):
 * dense, query, key and value with biases. llama.cpp takes it that the heads fill the width. */
#include "llm/engine/arch_rows.h"

/* clang-format off */
static const stn_value_row values[] = {STN_VALUES_BASE, STN_VALUES_HEADS, STN_LAST_VALUE};
static const stn_check_row checks[] = {
    STN_CHECKS_HEADS,
    STN_CHECK(SAME, Q_DIM, EMBD),
    STN_LAST_CHECK,
};
static const stn_meta_row metas[] = {STN_METAS_BASE, STN_METAS_HEADS, STN_LAST_META};

static const stn_tensor_row tensors[] = {
    STN_TENSORS_ENDS,
    STN_TENSORS_QKV,
    STN_TENSORS_QKV_BIAS(STN_ALWAYS),
    STN_TENSORS_OUT,
    STN_TENSORS_FFN_NORM,
    STN_TENSORS_FFN(EACH),
    STN_LAST_TENSOR,
};
STN_ARCH(qwen2, "qwen2", "qwen2", "mimo");
/* clang-format on */
