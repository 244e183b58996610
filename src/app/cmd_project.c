/* Commands for packaging: man pages, completion, pages of docs/cli, all examples. */
#include <errno.h>
#include <string.h>

#include "app/commands.h"
#include "app/project.h"

/* Write one page of @p folder; @p command NULL is the overview. */
static stn_status write_page(const char *folder, const char *name, const stn_command *command,
                             void (*overview)(FILE *), void (*page)(FILE *, const stn_command *),
                             stn_err *err) {
    char path[4096];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof path) {
        return stn_err_set(err, STN_ERANGE, "%s: name too long", folder);
    }
    FILE *out = fopen(path, "w");
    if (!out) {
        return stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno));
    }
    if (command) {
        page(out, command);
    } else {
        overview(out);
    }
    bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad) {
        return stn_err_set(err, STN_EIO, "%s: could not be written", path);
    }
    return STN_OK;
}

static stn_status run_man(stn_app *app, const void *args, stn_err *err) {
    (void)app;
    const char *folder = ((const stn_common *)args)->operands.items[0];
    stn_status status =
        write_page(folder, "standin.1", NULL, stn_man_overview, stn_man_command, err);
    const stn_command *command;
    for (uint32_t i = 0; status == STN_OK && (command = stn_command_at(i)) != NULL; i++) {
        char full[96];
        char name[104];
        if (!stn_command_hidden(command)) {
            snprintf(name, sizeof name, "%s.1", stn_command_full(command, "-", full, sizeof full));
            status = write_page(folder, name, command, NULL, stn_man_command, err);
        }
    }
    return status;
}

static stn_status run_markdown(stn_app *app, const void *args, stn_err *err) {
    (void)app;
    const char *folder = ((const stn_common *)args)->operands.items[0];
    stn_status status =
        write_page(folder, "README.md", NULL, stn_markdown_overview, stn_markdown_command, err);
    const stn_command *command;
    for (uint32_t i = 0; status == STN_OK && (command = stn_command_at(i)) != NULL; i++) {
        char name[104];
        if (!stn_command_hidden(command)) {
            snprintf(name, sizeof name, "%s%s%s.md", command->group, command->group[0] ? "-" : "",
                     command->name);
            status = write_page(folder, name, command, NULL, stn_markdown_command, err);
        }
    }
    return status;
}

static stn_status run_completion(stn_app *app, const void *args, stn_err *err) {
    const char *shell = ((const stn_common *)args)->operands.items[0];
    if (!stn_completion_write(app->out, shell)) {
        return stn_app_usage(app, err, "no completion for \"%s\"; expected bash, zsh or fish",
                             shell);
    }
    return STN_OK;
}

static stn_status run_examples(stn_app *app, const void *args, stn_err *err) {
    (void)args;
    (void)err;
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        for (const stn_example *e = command->examples; e && e->command; e++) {
            fprintf(app->out, "%s\n", e->command);
        }
    }
    return STN_OK;
}

const stn_command stn_cmd_man = {
    .group = "",
    .name = "__man",
    .summary = "write the manual pages into a folder",
    .details = "",
    .operands = "FOLDER",
    .operand_min = 1,
    .operand_max = 1,
    .args_size = sizeof(stn_common),
    .run = run_man,
};

const stn_command stn_cmd_markdown = {
    .group = "",
    .name = "__markdown",
    .summary = "write the pages of docs/cli into a folder",
    .details = "",
    .operands = "FOLDER",
    .operand_min = 1,
    .operand_max = 1,
    .args_size = sizeof(stn_common),
    .run = run_markdown,
};

const stn_command stn_cmd_completion = {
    .group = "",
    .name = "__completion",
    .summary = "print shell completion",
    .details = "",
    .operands = "bash|zsh|fish",
    .operand_min = 1,
    .operand_max = 1,
    .args_size = sizeof(stn_common),
    .run = run_completion,
};

const stn_command stn_cmd_examples = {
    .group = "",
    .name = "__examples",
    .summary = "print the examples of all commands, in an order in which they run",
    .details = "",
    .operands = "",
    .args_size = sizeof(stn_common),
    .run = run_examples,
};
