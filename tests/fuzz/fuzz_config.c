/* Bytes of any kind as a config.json: refused with its name, or values that a file can be laid out
 * from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/engine/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_config: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    stn_config config;
    stn_llm_plan plan;
    stn_err err = {0};
    if (stn_config_parse(&config, (const char *)data, size, "config", &err) != STN_OK) {
        want(strncmp(err.text, "config: ", 8) == 0, "refused without saying where");
        return 0;
    }
    if (stn_llm_plan_init(&plan, &config, STN_GGUF_Q4_0, &err) != STN_OK) {
        want(err.text[0] != '\0' && !plan.tensors, "refused without a word");
        return 0;
    }
    uint64_t end = 0;
    for (size_t i = 0; i < plan.tensor_count; i++) {
        const stn_gguf_tensor *tensor = &plan.tensors[i];
        want(tensor->offset == end && tensor->size > 0, "tensors do not follow each other");
        want(tensor->name[0] && tensor->dim_count > 0, "a tensor without name or shape");
        end = stn_gguf_aligned(end + tensor->size);
    }
    want(end == plan.data_size, "the sizes do not add up");
    stn_llm_plan_fini(&plan);
    return 0;
}
