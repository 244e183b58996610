/* The list of architectures. */
#include "llm/engine/arch.h"

#include <stdio.h>
#include <string.h>

#include "llm/engine/arch_rows.h"

static const stn_arch *const all[] = {
    &stn_arch_llama,   &stn_arch_qwen2,   &stn_arch_qwen3, &stn_arch_qwen3moe,
    &stn_arch_mixtral, &stn_arch_gpt_oss, &stn_arch_gemma, &stn_arch_deepseek,
};

const stn_arch *stn_arch_at(uint32_t index) {
    return index < sizeof all / sizeof *all ? all[index] : NULL;
}

const stn_arch *stn_arch_find(const char *model_type) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (const char *const *name = all[i]->model_types; *name; name++) {
            if (strcmp(*name, model_type) == 0) {
                return all[i];
            }
        }
    }
    return NULL;
}

const char *stn_arch_names(char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (const char *const *name = all[i]->model_types; *name && used < size; name++) {
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", *name);
        }
    }
    return buffer;
}

const stn_value_row *stn_arch_value(const stn_arch *arch, stn_value_id id) {
    for (const stn_value_row *row = arch->values; row->id != STN_V_NONE; row++) {
        if (row->id == id) {
            return row;
        }
    }
    return NULL;
}

bool stn_when_holds(const stn_when *when, const double *values) {
    double value = values[when->value];
    return when->value == STN_V_NONE || (value >= when->least && value <= when->most);
}
