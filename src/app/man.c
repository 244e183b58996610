/* Manual pages, projected from the table of commands (roff with the man macros). */
#include <ctype.h>
#include <string.h>

#include "app/options.h"
#include "app/project.h"

/* Text with what roff would take for its own escaped. */
static void roff(FILE *out, const char *text, size_t size) {
    if (size && (text[0] == '.' || text[0] == '\'')) {
        fputs("\\&", out);
    }
    for (size_t i = 0; i < size; i++) {
        switch (text[i]) {
        case '-':
            fputs("\\-", out);
            break;
        case '\\':
            fputs("\\e", out);
            break;
        case '\'':
            fputs("\\(aq", out);
            break;
        case '^':
            fputs("\\(ha", out);
            break;
        case '~':
            fputs("\\(ti", out);
            break;
        case '`':
            fputs("\\(ga", out);
            break;
        default:
            fputc(text[i], out);
        }
    }
}

static void line(FILE *out, const char *text) {
    roff(out, text, strlen(text));
    fputc('\n', out);
}

/* Paragraphs parted by an empty line; a new sentence begins a new line, as roff likes it. */
static void paragraphs(FILE *out, const char *text) {
    for (const char *at = text; *at;) {
        size_t size = strcspn(at, "\n");
        const char *stop = memmem(at, size, ". ", 2);
        size_t piece = stop ? (size_t)(stop - at) + 1 : size;
        roff(out, at, piece);
        fputc('\n', out);
        at += piece + (stop ? 1 : 0);
        if (!stop && *at) {
            at += strspn(at, "\n");
            fputs(*at ? ".PP\n" : "", out);
        }
    }
}

static void title(FILE *out, const char *name) {
    fputs(".TH ", out);
    for (const char *c = name; *c; c++) {
        if (*c == '-') {
            fputs("\\-", out);
        } else {
            fputc(toupper((unsigned char)*c), out);
        }
    }
    fprintf(out, " 1 \"\" \"standin %s\" \"standin manual\"\n", stn_version());
}

static void exit_status(FILE *out) {
    fputs(".SH EXIT STATUS\n", out);
    for (const stn_exit_row *row = stn_exit_rows; row->text; row++) {
        fprintf(out, ".TP\n.B %d\n", row->code);
        line(out, row->text);
    }
}

static void options(FILE *out, const stn_command *command) {
    fputs(".SH OPTIONS\n", out);
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(command, i)) != NULL; i++) {
        fputs(".TP\n", out);
        if (option->letter) {
            fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
        }
        fputs("\\fB\\-\\-", out);
        roff(out, option->name, strlen(option->name));
        fputs("\\fR", out);
        if (option->metavar) {
            fputs(" \\fI", out);
            roff(out, option->metavar, strlen(option->metavar));
            fprintf(out, "\\fR%s", option->kind == STN_OPTION_MANY ? "..." : "");
        }
        fputc('\n', out);
        line(out, option->help);
    }
}

static void examples(FILE *out, const stn_command *command) {
    const stn_example *example = command->examples;
    if (!example || !example->command) {
        return;
    }
    fputs(".SH EXAMPLES\n", out);
    for (; example->command; example++) {
        fputs(".PP\n", out);
        roff(out, example->what, strlen(example->what));
        fputs(":\n.PP\n.nf\n.RS\n", out);
        line(out, example->command);
        fputs(".RE\n.fi\n", out);
    }
}

void stn_man_command(FILE *out, const stn_command *command) {
    char page[96];
    char name[96];
    stn_command_full(command, "-", page, sizeof page);
    stn_command_full(command, " ", name, sizeof name);
    title(out, page);
    fputs(".SH NAME\n", out);
    roff(out, page, strlen(page));
    fputs(" \\- ", out);
    line(out, command->summary);
    fprintf(out, ".SH SYNOPSIS\n.B %s\n", name);
    char usage[256] = "";
    FILE *text = fmemopen(usage, sizeof usage, "w");
    if (text) {
        stn_usage_line(text, command);
        fclose(text);
    }
    line(out, usage);
    fputs(".SH DESCRIPTION\n", out);
    paragraphs(out, command->details[0] ? command->details : command->summary);
    options(out, command);
    exit_status(out);
    examples(out, command);
    fputs(".SH SEE ALSO\n.BR standin (1)\n", out);
}

/* One row of the list of commands. */
static void summary(FILE *out, const stn_command *command) {
    char page[96];
    stn_command_full(command, "-", page, sizeof page);
    fputs(".TP\n.BR ", out);
    roff(out, page, strlen(page));
    fputs(" (1)\n", out);
    line(out, command->summary);
}

void stn_man_overview(FILE *out) {
    title(out, "standin");
    fputs(".SH NAME\nstandin \\- measures a little, once, and then stands in for the machine\n"
          ".SH SYNOPSIS\n.B standin\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n.SH DESCRIPTION\n",
          out);
    paragraphs(out, "standin learns from a few real Linux kernel traces and generates as many new "
                    "ones as are wanted, which obey the kernel's own rules and open in the tools "
                    "that are already in use.\n\n"
                    "Every command takes --json where it has figures to report, --seed where "
                    "there is chance, and --quiet. Long work shows a progress line on a terminal. "
                    "Ctrl-C ends it cleanly; a second one ends it at once. An output file is there "
                    "whole or not at all.");
    fputs(".SH COMMANDS\n", out);
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (!stn_command_hidden(command)) {
            summary(out, command);
        }
    }
    exit_status(out);
}
