/** @file
 *  Reading text from a file that may be gzip- or zstd-compressed (recognised by its
 *  first bytes), in bounded memory. Pinned by tests/unit/test_core_data.c. */
#ifndef STN_CORE_DATA_INSTREAM_H
#define STN_CORE_DATA_INSTREAM_H

#include <standin/base.h>

typedef struct stn_instream stn_instream;

/** Longest line that is read; a longer one is an error, not a truncation. */
#define STN_LINE_MAX ((size_t)1 << 20)

/** Open @p path. @return STN_OK; STN_ENOTFOUND, STN_EIO, STN_ENOMEM */
stn_status stn_instream_open(stn_instream **out, const char *path, stn_err *err) STN_MUST_USE;
/** Next line without its newline (nor a carriage return before it), NUL-terminated, lent
 *  until the next call. A NUL byte inside is an error.
 *  @return STN_OK; STN_END; STN_EFORMAT ("line 7: longer than …", damaged compression), STN_EIO */
stn_status stn_instream_line(stn_instream *in, char **line, size_t *size,
                             stn_err *err) STN_MUST_USE;
/** First bytes of the decompressed content, up to @p want, without consuming them.
 *  @param[out] bytes lent until the next call  @param[out] size may be less at end of file */
stn_status stn_instream_peek(stn_instream *in, size_t want, const char **bytes, size_t *size,
                             stn_err *err) STN_MUST_USE;
/** Number of the line handed out last, from 1. */
uint64_t stn_instream_line_number(const stn_instream *in);
/** Legal on NULL. */
void stn_instream_close(stn_instream *in);

#endif
