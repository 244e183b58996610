/* Status and message, the only way an error travels (see standin/base.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <standin/base.h>

#ifndef STN_VERSION
#define STN_VERSION "0.0.0"
#endif

stn_status stn_err_set(stn_err *err, stn_status status, const char *fmt, ...) {
    if (err) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
    }
    return status;
}

stn_status stn_err_prepend(stn_err *err, stn_status status, const char *fmt, ...) {
    if (!err) {
        return status;
    }
    char head[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(head, sizeof head, fmt, args);
    va_end(args);
    size_t head_size = strlen(head), tail_size = strlen(err->text);
    size_t room = sizeof err->text - 1;
    size_t shift = head_size + 2 < room ? head_size + 2 : room;
    tail_size = tail_size < room - shift ? tail_size : room - shift;
    memmove(err->text + shift, err->text, tail_size);
    memcpy(err->text, head, shift < head_size ? shift : head_size);
    if (shift == head_size + 2) {
        memcpy(err->text + head_size, ": ", 2);
    }
    err->text[shift + tail_size] = '\0';
    return status;
}

const char *stn_status_name(stn_status status) {
    static const char *const names[] = {
        [STN_OK] = "ok",
        [STN_END] = "end",
        [STN_ENOMEM] = "out of memory",
        [STN_EIO] = "input/output error",
        [STN_EFORMAT] = "invalid input",
        [STN_ERANGE] = "argument out of range",
        [STN_EUNSUPPORTED] = "not supported here",
        [STN_ENOTFOUND] = "not found",
        [STN_EPERM] = "missing rights",
        [STN_EINTR] = "interrupted",
        [STN_ECHECK] = "a check did not hold",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names && names[index] ? names[index] : "unknown status";
}

const char *stn_version(void) {
    return STN_VERSION;
}
