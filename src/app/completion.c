/* Shell completion, projected from the table of commands. */
#include <string.h>

#include <standin/trace.h>

#include "app/options.h"
#include "app/project.h"

static void words_of(FILE *out, const char *group) {
    const stn_command *command;
    const char *blank = "";
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (strcmp(command->group, group) == 0 && !stn_command_hidden(command)) {
            fprintf(out, "%s%s", blank, command->name);
            blank = " ";
        }
    }
    const stn_group *row;
    for (uint32_t i = 0; !group[0] && (row = stn_group_at(i)) != NULL; i++) {
        fprintf(out, "%s%s", blank, row->name);
        blank = " ";
    }
}

static void options_of(FILE *out, const stn_command *command) {
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(command, i)) != NULL; i++) {
        fprintf(out, "%s--%s", i ? " " : "", option->name);
        if (option->letter) {
            fprintf(out, " -%c", option->letter);
        }
    }
}

/* Names of formats that read or that write. */
static void formats(FILE *out, bool writing) {
    const char *blank = "";
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        stn_format_info info = stn_format_at(i);
        if (writing ? info.writes : info.reads) {
            fprintf(out, "%s%s", blank, info.name);
            blank = " ";
        }
    }
}

static void bash(FILE *out) {
    fputs("# bash completion for standin; written by: standin __completion bash\n"
          "_standin() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    local key=${COMP_WORDS[1]} first=2\n"
          "    case $key in\n",
          out);
    const stn_group *group;
    for (uint32_t i = 0; (group = stn_group_at(i)) != NULL; i++) {
        fprintf(out, "    %s) key=\"$key ${COMP_WORDS[2]}\" first=3 ;;\n", group->name);
    }
    fputs("    esac\n"
          "    COMPREPLY=()\n"
          "    case $prev in\n"
          "    --to) words=\"",
          out);
    formats(out, true);
    fputs("\" ;;\n    --format) words=\"", out);
    formats(out, false);
    fputs("\" ;;\n    esac\n"
          "    local at=$COMP_CWORD group=${COMP_WORDS[1]}\n"
          "    if [ \"$group\" = help ] && [ \"$at\" -gt 1 ]; then\n" /* as if help was not there */
          "        at=$((at - 1)) group=${COMP_WORDS[2]}\n    fi\n"
          "    if [ -n \"$words\" ]; then\n        :\n"
          "    elif [ \"$at\" -eq 1 ]; then\n        words=\"",
          out);
    words_of(out, "");
    fputs("\"\n", out);
    for (uint32_t i = 0; (group = stn_group_at(i)) != NULL; i++) {
        fprintf(out,
                "    elif [ \"$at\" -eq 2 ] && [ \"$group\" = %s ]; then\n"
                "        words=\"",
                group->name);
        words_of(out, group->name);
        fputs("\"\n", out);
    }
    fputs("    elif [ \"$COMP_CWORD\" -ge \"$first\" ] && [ \"${cur:0:1}\" = - ]; then\n"
          "        case $key in\n",
          out);
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (!stn_command_hidden(command)) {
            fprintf(out, "        \"%s%s%s\") words=\"", command->group,
                    command->group[0] ? " " : "", command->name);
            options_of(out, command);
            fputs("\" ;;\n", out);
        }
    }
    fputs("        esac\n"
          "    else\n"
          "        compopt -o default 2>/dev/null\n"
          "        return 0\n"
          "    fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "}\n"
          "complete -F _standin standin\n",
          out);
}

static void zsh(FILE *out) {
    fputs("#compdef standin\n"
          "# zsh completion for standin; written by: standin __completion zsh\n"
          "autoload -U +X bashcompinit && bashcompinit\n",
          out);
    bash(out);
}

/* Text inside single quotes of fish. */
static void quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++) {
        fputs(*text == '\'' || *text == '\\' ? "\\" : "", out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void fish_options(FILE *out, const stn_command *command) {
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(command, i)) != NULL; i++) {
        fputs("complete -c standin -n '__fish_seen_subcommand_from ", out);
        fprintf(out, "%s' -l %s", command->name, option->name);
        if (option->letter) {
            fprintf(out, " -s %c", option->letter);
        }
        fputs(option->metavar ? " -r -d " : " -d ", out);
        quoted(out, option->help);
        fputc('\n', out);
    }
}

static void fish(FILE *out) {
    fputs("# fish completion for standin; written by: standin __completion fish\n", out);
    const stn_group *group;
    for (uint32_t i = 0; (group = stn_group_at(i)) != NULL; i++) {
        fprintf(out, "complete -c standin -n __fish_use_subcommand -f -a %s -d ", group->name);
        quoted(out, group->summary);
        fputc('\n', out);
    }
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (stn_command_hidden(command)) {
            continue;
        }
        if (command->group[0]) {
            fprintf(out, "complete -c standin -n '__fish_seen_subcommand_from %s' -f -a %s -d ",
                    command->group, command->name);
        } else {
            fprintf(out, "complete -c standin -n __fish_use_subcommand -f -a %s -d ",
                    command->name);
        }
        quoted(out, command->summary);
        fputc('\n', out);
        fish_options(out, command);
    }
}

bool stn_completion_write(FILE *out, const char *shell) {
    static const struct {
        const char *shell;
        void (*write)(FILE *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].write(out);
            return true;
        }
    }
    return false;
}
