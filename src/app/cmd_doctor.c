/* standin doctor: what this machine can do, what is missing, how to get it. */
#include <string.h>

#include "app/capability.h"
#include "app/commands.h"
#include "app/emit.h"

static const char *how_of(const stn_capability *row, const stn_finding *finding) {
    return finding->how ? finding->how : row->how;
}

static stn_status print_json(stn_app *app, stn_err *err) {
    json_t *list = json_array();
    const stn_capability *row;
    for (uint32_t i = 0; (row = stn_capability_at(i)) != NULL; i++) {
        stn_finding finding = {0};
        row->look(&finding);
        json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:s, s:s, s:s}", "name", row->name,
                                              "found", finding.found, "version", finding.version,
                                              "how", how_of(row, &finding), "purpose", row->purpose,
                                              "why", finding.found ? "" : finding.why));
    }
    return stn_emit_json(app->out, json_pack("{s:o}", "capabilities", list), err);
}

static stn_status run(stn_app *app, const void *args, stn_err *err) {
    const stn_common *common = args;
    if (common->json) {
        return print_json(app, err);
    }
    const stn_capability *row;
    for (uint32_t i = 0; (row = stn_capability_at(i)) != NULL; i++) {
        stn_finding finding = {0};
        row->look(&finding);
        if (finding.found) {
            fprintf(app->out, "%-13s found    %s\n", row->name, finding.version);
        } else {
            fprintf(app->out, "%-13s missing  %s%sfor %s: %s\n", row->name, finding.why,
                    finding.why[0] ? "; " : "", row->purpose, how_of(row, &finding));
        }
    }
    return STN_OK;
}

const stn_command stn_cmd_doctor = {
    .group = "",
    .name = "doctor",
    .summary = "what this machine can do, what is missing, how to get it",
    .details = "Lists each capability, whether it is found and in which version, and the one "
               "command that adds it. Nothing is changed, mounted or started. A missing "
               "capability is no failure: only the commands that it is for need it.",
    .operands = "",
    .shared = STN_SHARED_JSON,
    .args_size = sizeof(stn_common),
    .examples = (const stn_example[]){{"Look what is here", "standin doctor"}, {NULL, NULL}},
    .run = run,
};
