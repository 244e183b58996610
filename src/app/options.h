/** @file
 *  The words behind a command into its arguments, driven by its option rows.
 *  Pinned by tests/unit/test_options.c. */
#ifndef STN_APP_OPTIONS_H
#define STN_APP_OPTIONS_H

#include "app/command.h"

/** Option @p index of @p command: its own first, then the shared ones; NULL behind the last.
 *  @c at of a shared one is an offset into stn_common, which every structure begins with. */
const stn_option *stn_command_option(const stn_command *command, uint32_t index);

/** Parse @p argc words of @p argv (without the command's own name).
 *  @param[out] args  a new structure of command->args_size bytes that begins with stn_common;
 *                    the caller frees with stn_options_free(); texts are borrowed from @p argv
 *  @return STN_OK; STN_ERANGE (wrong use: @p err says what and what is near), STN_ENOMEM */
stn_status stn_options_parse(const stn_command *command, int argc, char *const *argv, void **args,
                             stn_err *err) STN_MUST_USE;
/** Legal on NULL. */
void stn_options_free(const stn_command *command, void *args);

#endif
