/* The pages of docs/cli, projected from the table of commands. */
#include <ctype.h>
#include <string.h>

#include "app/options.h"
#include "app/project.h"

/* "kernel-info" */
static const char *page_name(const stn_command *command, char *buffer, size_t size) {
    snprintf(buffer, size, "%s%s%s", command->group, command->group[0] ? "-" : "", command->name);
    return buffer;
}

/* A cell of a table: a bar would end it. */
static void cell(FILE *out, const char *text) {
    for (; *text; text++) {
        fputs(*text == '|' ? "\\" : "", out);
        fputc(*text, out);
    }
}

void stn_markdown_command(FILE *out, const stn_command *command) {
    char name[96];
    stn_command_full(command, " ", name, sizeof name);
    fprintf(out, "# %s\n\n%c%s.\n\n```\n%s ", name, toupper((unsigned char)command->summary[0]),
            command->summary + 1, name);
    stn_usage_line(out, command);
    fputs("\n```\n\n", out);
    if (command->details[0]) {
        stn_help_wrap(out, command->details, 0);
        fputc('\n', out);
    }
    fputs("| Option | |\n|---|---|\n", out);
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(command, i)) != NULL; i++) {
        char label[64];
        fputs("| `", out);
        cell(out, stn_option_label(option, label, sizeof label));
        fputs("` | ", out);
        cell(out, option->help);
        fputs(" |\n", out);
    }
    const stn_example *example = command->examples;
    if (example && example->command) {
        fputs("\n## Examples\n", out);
    }
    for (; example && example->command; example++) {
        bool asks = example->what[strlen(example->what) - 1] == '?';
        fprintf(out, "\n%s%s\n\n```sh\n%s\n```\n", example->what, asks ? "" : ":",
                example->command);
    }
}

void stn_markdown_overview(FILE *out) {
    fputs("# Commands\n\nThese pages, the man pages, `standin help` and the shell completion are "
          "projected from\none table; `scripts/docs_update.sh` writes them anew.\n\n"
          "| Command | |\n|---|---|\n",
          out);
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (stn_command_hidden(command)) {
            continue;
        }
        char name[96];
        char page[96];
        fprintf(out, "| [`%s`](%s.md) | ", stn_command_full(command, " ", name, sizeof name),
                page_name(command, page, sizeof page));
        cell(out, command->summary);
        fputs(" |\n", out);
    }
    fputs("\n| Exit code | |\n|---|---|\n", out);
    for (const stn_exit_row *row = stn_exit_rows; row->text; row++) {
        fprintf(out, "| %d | %s |\n", row->code, row->text);
    }
}
