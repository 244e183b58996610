/* The inputs of a command that works on whole traces. */
#include "app/load.h"

#include <string.h>

stn_status stn_load_open(stn_load *load, stn_app *app, const stn_common *common, const char *output,
                         stn_err *err) {
    for (size_t i = 0; i < common->operands.count; i++) {
        stn_status status = stn_inputs_guard(app, common->operands.items[i], output, err);
        if (status != STN_OK) {
            return status;
        }
    }
    stn_status status = stn_selection_init(&load->selection, app, common, err);
    return status == STN_OK ? stn_catalog_new(&load->catalog, err) : status;
}

stn_status stn_load_traces(stn_load *load, const stn_app *app, const stn_common *common,
                           stn_err *err) {
    return stn_traces_load(&load->traces, &common->operands, &load->selection, common, app->notes,
                           load->catalog, err);
}

void stn_load_close(stn_load *load) {
    stn_traces_fini(&load->traces);
    stn_catalog_free(load->catalog);
    stn_selection_fini(&load->selection);
    memset(load, 0, sizeof *load);
}
