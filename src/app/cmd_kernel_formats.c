/* standin kernel formats: what is read and written. */
#include <standin/trace.h>

#include "app/commands.h"
#include "app/emit.h"

static stn_status print_json(stn_app *app, stn_err *err) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        stn_format_info info = stn_format_at(i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:b, s:b}", "name", info.name,
                                              "summary", info.summary, "extension", info.extension,
                                              "reads", info.reads, "writes", info.writes,
                                              "available", info.available));
    }
    return stn_emit_json(app->out, json_pack("{s:o}", "formats", list), err);
}

static stn_status run(stn_app *app, const void *args, stn_err *err) {
    if (((const stn_common *)args)->json) {
        return print_json(app, err);
    }
    fprintf(app->out, "%-10s %-5s %-6s %-9s %s\n", "format", "reads", "writes", "ending", "");
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        stn_format_info info = stn_format_at(i);
        fprintf(app->out, "%-10s %-5s %-6s %-9s %s%s\n", info.name, info.reads ? "yes" : "-",
                info.writes ? "yes" : "-", info.extension[0] == '/' ? "(folder)" : info.extension,
                info.summary, info.available ? "" : " (not here: see standin doctor)");
    }
    return STN_OK;
}

const stn_command stn_cmd_kernel_formats = {
    .group = "kernel",
    .name = "formats",
    .summary = "which trace formats are read and written",
    .details = "What is read is recognised by its content; --format names it instead. What is "
               "written is chosen by the ending of the output's name; --to names it instead. A "
               "name without ending is a folder. Text may be compressed: .gz and .zst are read "
               "and written.",
    .operands = "",
    .shared = STN_SHARED_JSON,
    .args_size = sizeof(stn_common),
    .examples = (const stn_example[]){{"All formats", "standin kernel formats"}, {NULL, NULL}},
    .run = run,
};
