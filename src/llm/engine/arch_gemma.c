/* Gemma 1: dense, the output matrix is always the embedding. */
#include "llm/engine/arch_rows.h"

/* clang-format off */
static const stn_value_row values[] = {STN_VALUES_BASE, STN_VALUES_HEADS, STN_LAST_VALUE};
static const stn_check_row checks[] = {STN_CHECKS_HEADS, STN_LAST_CHECK};
static const stn_meta_row metas[] = {STN_METAS_BASE, STN_METAS_HEADS, STN_LAST_META};

static const stn_tensor_row tensors[] = {
    STN_T2("token_embd.weight", MATRIX, ONCE, EMBD, VOCAB, STN_ALWAYS),
    STN_T1("output_norm.weight", NORM, ONCE, EMBD, STN_ALWAYS),
    STN_TENSORS_QKV,
    STN_TENSORS_OUT,
    STN_TENSORS_FFN_NORM,
    STN_TENSORS_FFN(EACH),
    STN_LAST_TENSOR,
};
STN_ARCH(gemma, "gemma", "gemma");
/* clang-format on */
