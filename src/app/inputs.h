/** @file
 *  What commands share about their inputs and outputs: opening with the shared filter
 *  options, loading whole traces, gathering rules, keeping outputs off inputs.
 *  Pinned by tests/e2e/bad_input.bats, tests/unit/test_inputs.c. */
#ifndef STN_APP_INPUTS_H
#define STN_APP_INPUTS_H

#include <standin/rules.h>
#include <standin/trace.h>

#include "app/command.h"

/** The shared filter options as the readers want them. Zero-initialise, then use. */
typedef struct stn_selection {
    stn_filter filter;
    uint16_t *cpus;     /**< behind filter.cpus */
    const char *format; /**< NULL: recognise */
} stn_selection;

/** Borrows from @p common.
 *  @return STN_OK; STN_ERANGE with app->usage set (no such CPU number, no such format);
 *          STN_ENOMEM */
stn_status stn_selection_init(stn_selection *selection, stn_app *app, const stn_common *common,
                              stn_err *err) STN_MUST_USE;
void stn_selection_fini(stn_selection *selection);

/** Is @p format (NULL: none given with @p option) one that is written, or read?
 *  @return STN_OK; STN_ERANGE with app->usage set: what is near, or what there is */
stn_status stn_inputs_format(stn_app *app, const char *option, const char *format, bool writes,
                             stn_err *err) STN_MUST_USE;

/** Open @p path with the selection, which is borrowed for the life of the reader. */
stn_status stn_inputs_open(stn_reader **out, const char *path, const stn_selection *selection,
                           stn_catalog *catalog, stn_err *err) STN_MUST_USE;

/** Whole traces in memory. Zero-initialise, then use. */
typedef struct stn_traces {
    stn_trace *items;      /**< [count] */
    const stn_trace **all; /**< [count] pointers to items */
    size_t count;
} stn_traces;

/** Load every path, with a progress line. On error nothing is left to free. */
stn_status stn_traces_load(stn_traces *traces, const stn_texts *paths,
                           const stn_selection *selection, const stn_common *common, FILE *notes,
                           stn_catalog *catalog, stn_err *err) STN_MUST_USE;
void stn_traces_fini(stn_traces *traces);
/** Events (without lost marks) of all of them. */
uint64_t stn_traces_events(const stn_traces *traces);

/** The rules of @p files ("builtin" is the built-in set), the built-in set if there are none,
 *  and those of @p more. Either may be NULL. */
stn_status stn_inputs_rules(stn_rules **out, const stn_texts *files, const stn_texts *more,
                            stn_catalog *catalog, stn_err *err) STN_MUST_USE;

/** Refuse to write @p out over @p in, also through links, and into or around it if it is a
 *  folder. "-" is never an input. @return STN_OK; STN_ERANGE with app->usage set */
stn_status stn_inputs_guard(stn_app *app, const char *in, const char *out,
                            stn_err *err) STN_MUST_USE;

/** Are these the same file or folder, whatever each is called? */
bool stn_inputs_same(const char *a, const char *b);

/** Is @p path standard output? Then figures go to the notes. */
bool stn_is_stdout(const char *path);

#endif
