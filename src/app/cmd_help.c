/* standin help [GROUP] [COMMAND] */
#include <string.h>

#include "app/commands.h"
#include "app/project.h"
#include "app/suggest.h"

static stn_status unknown(stn_app *app, const char *group, const char *word, stn_err *err) {
    stn_suggest suggest = {word, NULL, 0};
    const stn_command *command;
    for (uint32_t i = 0; (command = stn_command_at(i)) != NULL; i++) {
        if (strcmp(command->group, group) == 0) {
            stn_suggest_offer(&suggest, command->name);
        }
    }
    return suggest.nearest ? stn_app_usage(app, err, "no command \"%s\"; did you mean \"%s\"?",
                                           word, suggest.nearest)
                           : stn_app_usage(app, err, "no command \"%s\"", word);
}

static stn_status run(stn_app *app, const void *args, stn_err *err) {
    const stn_common *common = args;
    const stn_texts *words = &common->operands;
    if (words->count == 0) {
        stn_help_overview(app->out);
        return STN_OK;
    }
    const stn_group *group = stn_group_find(words->items[0]);
    if (group && words->count == 1) {
        stn_help_group(app->out, group);
        return STN_OK;
    }
    const char *name = words->items[words->count - 1];
    const char *in = group ? group->name : "";
    const stn_command *command = stn_command_find(in, name);
    if (!command || (!group && words->count > 1)) {
        return unknown(app, in, group ? name : words->items[0], err);
    }
    stn_help_command(app->out, command);
    return STN_OK;
}

const stn_command stn_cmd_help = {
    .group = "",
    .name = "help",
    .summary = "what a command does and which options it takes",
    .details = "",
    .operands = "[GROUP] [COMMAND]",
    .operand_max = 2,
    .args_size = sizeof(stn_common),
    .examples = (const stn_example[]){{"All commands", "standin help"},
                                      {"One of them", "standin help doctor"},
                                      {NULL, NULL}},
    .run = run,
};
