/* Help on the terminal, projected from the table of commands. */
#include <string.h>

#include "app/options.h"
#include "app/project.h"

enum { WIDTH = 79, LABEL_WIDTH = 24 };

const stn_exit_row stn_exit_rows[] = {
    {0, "done"},
    {1, "failed: the error says what was found and what was expected"},
    {2, "wrong use of the command"},
    {3, "a check did not hold"},
    {130, "interrupted; what was written is whole"},
    {0, NULL},
};

void stn_help_wrap(FILE *out, const char *text, int indent) {
    int column = 0;
    for (const char *at = text; *at;) {
        if (at[0] == '\n') {
            fputs(column ? "\n\n" : "", out);
            column = 0;
            at += strspn(at, "\n");
            continue;
        }
        size_t size = strcspn(at, " \n");
        if (column && column + 1 + (int)size > WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        column += fprintf(out, "%*s%.*s", column ? 1 : indent, "", (int)size, at);
        at += size;
        at += strspn(at, " ");
    }
    if (column) {
        fputc('\n', out);
    }
}

const char *stn_option_label(const stn_option *option, char *buffer, size_t size) {
    const char *more = option->kind == STN_OPTION_MANY ? "..." : "";
    char letter[8] = "";
    if (option->letter) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    snprintf(buffer, size, "%s--%s%s%s%s", letter, option->name, option->metavar ? " " : "",
             option->metavar ? option->metavar : "", more);
    return buffer;
}

void stn_usage_line(FILE *out, const stn_command *command) {
    fputs("[OPTIONS]", out);
    for (const stn_option *option = command->options; option && option->name; option++) {
        if (option->required) {
            const char *more = option->kind == STN_OPTION_MANY ? "..." : "";
            if (option->letter) {
                fprintf(out, " -%c %s%s", option->letter, option->metavar, more);
            } else {
                fprintf(out, " --%s %s%s", option->name, option->metavar, more);
            }
        }
    }
    if (command->operands[0]) {
        fprintf(out, " %s", command->operands);
    }
}

/* A label in the left column and its text wrapped in the right one. */
static void row(FILE *out, const char *label, int label_width, const char *text) {
    int used = fprintf(out, "  %-*s", label_width, label);
    int column = label_width + 4;
    if (used > column - 2) {
        fprintf(out, "\n%*s", column, "");
    } else {
        fprintf(out, "%*s", column - used, "");
    }
    int at = column;
    for (const char *word = text; *word;) {
        size_t size = strcspn(word, " ");
        if (at > column && at + 1 + (int)size > WIDTH) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        }
        at += fprintf(out, "%s%.*s", at > column ? " " : "", (int)size, word);
        word += size;
        word += strspn(word, " ");
    }
    fputc('\n', out);
}

void stn_help_command(FILE *out, const stn_command *command) {
    char name[96];
    stn_command_full(command, " ", name, sizeof name);
    fprintf(out, "%s: %s\n\nusage: %s ", name, command->summary, name);
    stn_usage_line(out, command);
    fputs("\n\n", out);
    if (command->details[0]) {
        stn_help_wrap(out, command->details, 0);
        fputc('\n', out);
    }
    fputs("options:\n", out);
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(command, i)) != NULL; i++) {
        char label[64];
        char text[72];
        /* Long names stand below each other whether or not there is a letter. */
        snprintf(text, sizeof text, "%s%s", option->letter ? "" : "    ",
                 stn_option_label(option, label, sizeof label));
        row(out, text, LABEL_WIDTH, option->help);
    }
    const stn_example *example = command->examples;
    if (example && example->command) {
        fputs("\nexamples:\n", out);
    }
    for (; example && example->command; example++) {
        fprintf(out, "  # %s\n  %s\n", example->what, example->command);
    }
}

static void list(FILE *out, const char *group) {
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (strcmp(command->group, group) == 0 && !stn_command_hidden(command)) {
            row(out, command->name, 10, command->summary);
        }
    }
}

void stn_help_group(FILE *out, const stn_group *group) {
    fprintf(out, "standin %s: %s\n\nusage: standin %s COMMAND ...\n\ncommands:\n", group->name,
            group->summary, group->name);
    list(out, group->name);
    fprintf(out, "\nstandin help %s COMMAND says more.\n", group->name);
}

void stn_help_overview(FILE *out) {
    fputs("standin: measures a little, once, and then stands in for the machine\n\n"
          "usage: standin COMMAND ...\n\ncommands:\n",
          out);
    list(out, "");
    const stn_group *group;
    for (uint32_t i = 0; (group = stn_group_at(i)) != NULL; i++) {
        fprintf(out, "\nstandin %s: %s\n", group->name, group->summary);
        list(out, group->name);
    }
    fputs("\nstandin help COMMAND says more; standin --version which one this is.\nexit codes:\n",
          out);
    for (const stn_exit_row *exit_row = stn_exit_rows; exit_row->text; exit_row++) {
        char code[16];
        snprintf(code, sizeof code, "%d", exit_row->code);
        row(out, code, 10, exit_row->text);
    }
}
