/** @file
 *  The inputs of a command that works on whole traces: its selection, a catalog, the traces.
 *  Pinned by tests/e2e/bad_input.bats, tests/e2e/pipeline.bats. */
#ifndef STN_APP_LOAD_H
#define STN_APP_LOAD_H

#include "app/inputs.h"

/** Zero-initialise, then use. */
typedef struct stn_load {
    stn_selection selection;
    stn_catalog *catalog;
    stn_traces traces; /**< one for each operand */
} stn_load;

/** See that @p output is none of the operands, take the selection from the options, make the
 *  catalog. @p common is borrowed for the life of @p load.
 *  @return STN_OK; STN_ERANGE with app->usage set; STN_ENOMEM */
stn_status stn_load_open(stn_load *load, stn_app *app, const stn_common *common, const char *output,
                         stn_err *err) STN_MUST_USE;
/** Read every operand into memory, with a progress line. @return as stn_traces_load() */
stn_status stn_load_traces(stn_load *load, const stn_app *app, const stn_common *common,
                           stn_err *err) STN_MUST_USE;
/** Legal also after a failed open. */
void stn_load_close(stn_load *load);

#endif
