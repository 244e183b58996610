/** @file
 *  Everything that is projected from the table of commands: help, man pages, completion,
 *  pages for docs/cli. Pinned by tests/e2e/cli.bats, tests/golden. */
#ifndef STN_APP_PROJECT_H
#define STN_APP_PROJECT_H

#include "app/command.h"
#include "app/commands.h"

void stn_help_overview(FILE *out);
void stn_help_group(FILE *out, const stn_group *group);
void stn_help_command(FILE *out, const stn_command *command);
/** Print @p text wrapped at 79 columns, each line behind @p indent blanks; paragraphs are
 *  parted by an empty line. */
void stn_help_wrap(FILE *out, const char *text, int indent);
/** "[OPTIONS] IN OUT" with what is required, without line end. */
void stn_usage_line(FILE *out, const stn_command *command);
/** "-o, --output FILE" into @p buffer. @return @p buffer */
const char *stn_option_label(const stn_option *option, char *buffer, size_t size);

/** standin.1, as roff with the man macros. */
void stn_man_overview(FILE *out);
/** standin-GROUP-NAME.1 */
void stn_man_command(FILE *out, const stn_command *command);

/** Completion for "bash", "zsh" or "fish". @return false if the shell is none of them */
bool stn_completion_write(FILE *out, const char *shell);

/** docs/cli/README.md: all commands with one line each. */
void stn_markdown_overview(FILE *out);
/** docs/cli/GROUP-NAME.md */
void stn_markdown_command(FILE *out, const stn_command *command);

/** What the exit codes mean; ends with a row whose text is NULL. */
typedef struct stn_exit_row {
    int code;
    const char *text;
} stn_exit_row;
extern const stn_exit_row stn_exit_rows[];

#endif
