/* The table of all commands, in the order of the help. A command lives in its own file
 * cmd_<group>_<name>.c with its options; here it only takes its place. */
#include <string.h>

#include "app/commands.h"

static const stn_group groups[] = {
    {"kernel", "real kernel traces in, rules, new traces out"},
    {"llm", "how language models run on an engine"},
    {"db", "the latency database: what was measured, where, and who says so"},
};

/* One command a line. */
/* clang-format off */
static const stn_command *const commands[] = {
    &stn_cmd_doctor,
    &stn_cmd_help,
    &stn_cmd_kernel_record,
    &stn_cmd_kernel_info,
    &stn_cmd_kernel_formats,
    &stn_cmd_kernel_convert,
    &stn_cmd_kernel_check,
    &stn_cmd_kernel_mine,
    &stn_cmd_kernel_train,
    &stn_cmd_kernel_generate,
    &stn_cmd_kernel_repair,
    &stn_cmd_kernel_evaluate,
    &stn_cmd_llm_model,
    &stn_cmd_llm_capture,
    &stn_cmd_llm_ops,
    &stn_cmd_db_ls,
    &stn_cmd_db_show,
    &stn_cmd_db_merge,
    &stn_cmd_db_export,
    &stn_cmd_db_check,
    &stn_cmd_man,
    &stn_cmd_completion,
    &stn_cmd_markdown,
    &stn_cmd_examples,
};
/* clang-format on */

const stn_group *stn_group_at(uint32_t index) {
    return index < sizeof groups / sizeof *groups ? &groups[index] : NULL;
}

const stn_command *stn_command_at(uint32_t index) {
    return index < sizeof commands / sizeof *commands ? commands[index] : NULL;
}

const stn_group *stn_group_find(const char *name) {
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (strcmp(groups[i].name, name) == 0) {
            return &groups[i];
        }
    }
    return NULL;
}

const stn_command *stn_command_find(const char *group, const char *name) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i]->group, group) == 0 && strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

bool stn_command_hidden(const stn_command *command) {
    return command->name[0] == '_';
}

const char *stn_command_full(const stn_command *command, const char *between, char *buffer,
                             size_t size) {
    snprintf(buffer, size, "standin%s%s%s%s", command->group[0] ? between : "", command->group,
             between, command->name);
    return buffer;
}
