/** @file
 *  What every part of standin shares: status, error message, progress.
 *
 *  A function that can fail returns a ::stn_status and takes a caller-owned
 *  ::stn_err as its last argument. The origin of an error writes the sentence
 *  once; each border that the error crosses prepends what it was doing, so the
 *  message reads from the outside in: "run3.dat: packet 17: size 0 …".
 *  The library neither prints nor exits.
 */
#ifndef STANDIN_BASE_H
#define STANDIN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STN_MUST_USE        __attribute__((warn_unused_result))
#define STN_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#else
#define STN_MUST_USE
#define STN_PRINTF(fmt, va)
#endif

/** Outcome of a call. Values are stable. */
typedef enum stn_status {
    STN_OK = 0,
    STN_END = 1,     /**< no more items; not an error */
    STN_ENOMEM = 2,  /**< out of memory */
    STN_EIO = 3,     /**< the operating system refused to read or write */
    STN_EFORMAT = 4, /**< the input is not what it claims to be, or not fit for the work */
    STN_ERANGE = 5,  /**< an argument is none of those documented; never for what a file holds */
    STN_EUNSUPPORTED = 6, /**< known, but not possible in this build or on this machine */
    STN_ENOTFOUND = 7,    /**< a named thing does not exist */
    STN_EPERM = 8,        /**< missing rights */
    STN_EINTR = 9,        /**< stopped by the user; what was written is whole */
    STN_ECHECK = 10,      /**< a check did not hold */
} stn_status;

/** Message of the last failed call; plain text, no newline. Zero it before use. */
typedef struct stn_err {
    char text[1024];
} stn_err;

/** Write @p fmt into @p err (which may be NULL) and return @p status. */
stn_status stn_err_set(stn_err *err, stn_status status, const char *fmt, ...) STN_PRINTF(3, 4);

/** Put "@p fmt: " before the message of @p err and return @p status unchanged. */
stn_status stn_err_prepend(stn_err *err, stn_status status, const char *fmt, ...) STN_PRINTF(3, 4);

/** Short name of a status ("out of memory"); static storage, never NULL. */
const char *stn_status_name(stn_status status);

/** Called now and then by long work. @p done and @p total are in the work's own
 *  unit (total 0: not known). Return false to stop the work with ::STN_EINTR. */
typedef bool (*stn_progress_fn)(void *user, uint64_t done, uint64_t total);

/** Library version, "MAJOR.MINOR.PATCH"; static storage. */
const char *stn_version(void);

#ifdef __cplusplus
}
#endif
#endif
