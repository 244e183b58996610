/* The command line: words in, exit code out. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/options.h"
#include "app/progress.h"
#include "app/project.h"
#include "app/suggest.h"

stn_status stn_app_usage(stn_app *app, stn_err *err, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    app->usage = true;
    return STN_ERANGE;
}

static int exit_code(const stn_app *app, stn_status status) {
    switch (status) {
    case STN_OK:
        return STN_EXIT_DONE;
    case STN_ECHECK:
        return STN_EXIT_CHECK;
    case STN_EINTR:
        return STN_EXIT_INTERRUPTED;
    default:
        return app->usage ? STN_EXIT_USAGE : STN_EXIT_FAILED;
    }
}

/* Does nobody read standard output any more? */
static bool reader_gone(const stn_app *app) {
    struct pollfd out = {.fd = fileno(app->out)};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* What was written to standard output must have arrived. */
static stn_status flush(stn_app *app, stn_err *err) {
    if (fflush(app->out) == 0 && !ferror(app->out)) {
        return STN_OK;
    }
    return stn_err_set(err, STN_EIO, "standard output: %s", strerror(errno));
}

/* A reader that went away ("| head") has had enough: that is no error worth a word. */
static void complain(const stn_app *app, const char *name, stn_status status, const stn_err *err) {
    if (status == STN_OK || (status == STN_ECHECK && !err->text[0]) ||
        (status == STN_EIO && reader_gone(app))) {
        return;
    }
    const char *text = err->text[0] ? err->text : stn_status_name(status);
    fprintf(app->notes, "%s: %s\n", name, text);
    if (app->usage) {
        fprintf(app->notes, "try: %s --help\n", name);
    }
}

/* One sentence for all, whatever was stopped; only a command that leaves something behind says
 * itself, in the same form, what that is. */
static void say_interrupted(stn_err *err) {
    static const char form[] = "interrupted; ";
    if (strncmp(err->text, form, sizeof form - 1) != 0) {
        (void)stn_err_set(err, STN_EINTR, "%snothing was written", form);
    }
}

static int run(stn_app *app, const stn_command *command, int argc, char *const *argv) {
    char name[96];
    stn_command_full(command, " ", name, sizeof name);
    stn_err err = {{0}};
    void *args = NULL;
    stn_status status = stn_options_parse(command, argc, argv, &args, &err);
    if (status == STN_OK) {
        if (((const stn_common *)args)->help) {
            stn_help_command(app->out, command);
        } else {
            status = command->run(app, args, &err);
        }
    }
    /* Whoever found out, and however deep below: an argument that cannot be is wrong use. */
    app->usage = app->usage || status == STN_ERANGE;
    stn_options_free(command, args);
    if (status == STN_OK || status == STN_ECHECK) {
        stn_err late = {{0}};
        stn_status flushed = flush(app, &late);
        if (flushed != STN_OK) {
            status = flushed;
            err = late;
        }
    }
    if (status == STN_EINTR) {
        say_interrupted(&err);
    }
    complain(app, name, status, &err);
    return exit_code(app, status);
}

/* A word that is neither a command nor a group: say which one is near. */
static int unknown(const stn_app *app, const char *group, const char *word) {
    stn_suggest suggest = {word, NULL, 0};
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (strcmp(command->group, group) == 0 && !stn_command_hidden(command)) {
            stn_suggest_offer(&suggest, command->name);
        }
    }
    const stn_group *row;
    for (uint32_t i = 0; !group[0] && (row = stn_group_at(i)) != NULL; i++) {
        stn_suggest_offer(&suggest, row->name);
    }
    fprintf(app->notes, "standin%s%s: unknown command \"%s\"", group[0] ? " " : "", group, word);
    if (suggest.nearest) {
        fprintf(app->notes, "; did you mean \"%s\"?", suggest.nearest);
    }
    fprintf(app->notes, "\ntry: standin help%s%s\n", group[0] ? " " : "", group);
    return STN_EXIT_USAGE;
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Text that was asked for, on standard output. */
static int say(stn_app *app) {
    stn_err err = {{0}};
    stn_status status = flush(app, &err);
    complain(app, "standin", status, &err);
    return exit_code(app, status);
}

int stn_cli_main(int argc, char *const *argv, FILE *out, FILE *notes) {
    stn_app app = {out, notes, false};
    if (argc < 2 || is_help(argv[1])) {
        stn_help_overview(out);
        return say(&app);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        fprintf(out, "standin %s\n", stn_version());
        return say(&app);
    }
    const stn_command *command = stn_command_find("", argv[1]);
    if (command) {
        return run(&app, command, argc - 2, argv + 2);
    }
    const stn_group *group = stn_group_find(argv[1]);
    if (!group) {
        return unknown(&app, "", argv[1]);
    }
    if (argc < 3 || is_help(argv[2])) {
        stn_help_group(out, group);
        return say(&app);
    }
    command = stn_command_find(group->name, argv[2]);
    return command ? run(&app, command, argc - 3, argv + 3) : unknown(&app, group->name, argv[2]);
}
