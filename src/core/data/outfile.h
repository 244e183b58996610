/** @file
 *  Output that is there whole or not at all: written to a temporary beside the target,
 *  renamed on commit. Compresses when the name ends in .zst or .gz.
 *  Pinned by tests/unit/test_core_data.c. */
#ifndef STN_CORE_DATA_OUTFILE_H
#define STN_CORE_DATA_OUTFILE_H

#include <standin/base.h>

typedef struct stn_outfile stn_outfile;

/** Begin writing what will be @p path. "-" is standard output (nothing to rename).
 *  @return STN_OK; STN_EIO, STN_EPERM, STN_ENOMEM */
stn_status stn_outfile_open(stn_outfile **out, const char *path, stn_err *err) STN_MUST_USE;
/** Does the name ask for compression? */
bool stn_outfile_packs(const char *path);
stn_status stn_outfile_write(stn_outfile *file, const void *bytes, size_t size,
                             stn_err *err) STN_MUST_USE;
stn_status stn_outfile_printf(stn_outfile *file, stn_err *err, const char *fmt, ...) STN_MUST_USE
    STN_PRINTF(3, 4);
/** @p size zeros that take no room on the disk: a hole in a file that is written plain.
 *  @return STN_OK; STN_ERANGE (compressed, a pipe, a device), STN_EIO */
stn_status stn_outfile_hole(stn_outfile *file, uint64_t size, stn_err *err) STN_MUST_USE;
/** Flush, rename, free; on error the temporary is removed. */
stn_status stn_outfile_commit(stn_outfile *file, stn_err *err) STN_MUST_USE;
/** Remove the temporary, free. Legal on NULL. */
void stn_outfile_abort(stn_outfile *file);

/** The same for a folder: @p temporary is a fresh folder beside @p path to fill.
 *  @param[out] temporary  the caller frees with stn_free() */
stn_status stn_outdir_open(const char *path, char **temporary, stn_err *err) STN_MUST_USE;
/** Rename @p temporary to @p path. An older folder there is replaced only if standin wrote it:
 *  its file @p marker ("metadata") has the word "standin" in its first 64 KiB, and it holds no
 *  folder. Anything else that is there is an error and stays. */
stn_status stn_outdir_commit(const char *temporary, const char *path, const char *marker,
                             stn_err *err) STN_MUST_USE;
/** Remove @p temporary and all in it. */
void stn_outdir_abort(const char *temporary);

#endif
