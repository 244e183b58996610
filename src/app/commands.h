/** @file
 *  The table of all commands. Pinned by tests/e2e/cli.bats. */
#ifndef STN_APP_COMMANDS_H
#define STN_APP_COMMANDS_H

#include "app/command.h"

/** A group of commands: its word and what it is about. */
typedef struct stn_group {
    const char *name;
    const char *summary;
} stn_group;

/** Group @p index; NULL behind the last. */
const stn_group *stn_group_at(uint32_t index);
/** Command @p index in the order of the help; NULL behind the last. */
const stn_command *stn_command_at(uint32_t index);
/** The command @p name of @p group ("" for none), or NULL. */
const stn_command *stn_command_find(const char *group, const char *name);
/** The group called @p name, or NULL. */
const stn_group *stn_group_find(const char *name);
/** Commands whose name begins with '_' serve packaging and are not shown. */
bool stn_command_hidden(const stn_command *command);
/** "standin kernel info" into @p buffer. @return @p buffer */
const char *stn_command_full(const stn_command *command, const char *between, char *buffer,
                             size_t size);

extern const stn_command stn_cmd_doctor, stn_cmd_help, stn_cmd_man, stn_cmd_completion,
    stn_cmd_markdown, stn_cmd_examples;
extern const stn_command stn_cmd_kernel_record, stn_cmd_kernel_info, stn_cmd_kernel_formats,
    stn_cmd_kernel_convert, stn_cmd_kernel_check, stn_cmd_kernel_mine, stn_cmd_kernel_train,
    stn_cmd_kernel_generate, stn_cmd_kernel_repair, stn_cmd_kernel_evaluate;
extern const stn_command stn_cmd_llm_model, stn_cmd_llm_capture, stn_cmd_llm_ops;
extern const stn_command stn_cmd_db_ls, stn_cmd_db_show, stn_cmd_db_merge, stn_cmd_db_export,
    stn_cmd_db_check;

#endif
