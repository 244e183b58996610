/** @file
 *  What the commands over the latency database share: where it is, how hardware, engines and
 *  signatures are named by the user and shown to him. Pinned by tests/e2e/db.bats,
 *  tests/golden/db.cmd. */
#ifndef STN_APP_DBS_H
#define STN_APP_DBS_H

#include <jansson.h>

#include <standin/latdb.h>

#include "app/command.h"

/** The row of the option --db; @p structure has a member @c db. */
#define STN_DB_OPTION(structure)                                                                   \
    {                                                                                              \
        "db", 0, STN_OPTION_TEXT, offsetof(structure, db), "PLACE",                                \
            "an SQLite file or postgresql://...; else $STANDIN_DB, else "                          \
            "~/.local/share/standin/latency.db",                                                   \
            false                                                                                  \
    }

/** The place that is meant: @p named (NULL: not given), $STANDIN_DB, or the user's own database.
 *  @param[out] place  the caller's; its folder is made if @p create
 *  @return STN_OK; STN_ENOTFOUND (neither is given, and there is no home), STN_EIO */
stn_status stn_db_place(const char *named, bool create, char *place, size_t size,
                        stn_err *err) STN_MUST_USE;
/** Open what stn_db_place() says. */
stn_status stn_db_open(stn_latdb **out, const char *named, stn_latdb_mode mode,
                       stn_err *err) STN_MUST_USE;

/** The fingerprint that @p word means: the first four or more of its digits, or a piece of its name
 *  (hardware and engines); "this" is this machine's hardware.
 *  @param word  NULL: any, @p id is 0
 *  @return STN_OK; STN_ENOTFOUND (none), STN_ERANGE with app->usage set (several: which) */
stn_status stn_db_hardware(stn_app *app, stn_latdb *db, const char *word, stn_lat_id *id,
                           stn_err *err) STN_MUST_USE;
stn_status stn_db_engine(stn_app *app, stn_latdb *db, const char *word, stn_lat_id *id,
                         stn_err *err) STN_MUST_USE;
stn_status stn_db_signature(stn_app *app, stn_latdb *db, const char *word, stn_lat_id *id,
                            stn_err *err) STN_MUST_USE;

/** "AMD EPYC, 2 cores, 24.0 GB" into @p text, which it returns. */
const char *stn_db_hardware_text(const stn_lat_hardware *hardware, char *text, size_t size);
/** "llama.cpp 0.5.0 CPU threads=2" */
const char *stn_db_engine_text(const stn_lat_engine *engine, char *text, size_t size);
/** "gemm q8_0,f32,f32 k=4096,n=14336" */
const char *stn_db_signature_text(const stn_lat_signature *signature, char *text, size_t size);
/** "measured by standin 0.1.0", "a.csv:12 (vidur, vllm 0.19.0)" */
const char *stn_db_source_text(const stn_lat_source *source, uint64_t line, char *text,
                               size_t size);

/** Objects with every member; NULL if out of memory. Ids are texts of 16 digits. */
json_t *stn_db_hardware_json(const stn_lat_hardware *hardware);
json_t *stn_db_engine_json(const stn_lat_engine *engine);
json_t *stn_db_signature_json(const stn_lat_signature *signature);
/** @param source of the row */
json_t *stn_db_row_json(const stn_lat_row *row, size_t axes, const stn_lat_source *source);
json_t *stn_db_id_json(stn_lat_id id);

#endif
