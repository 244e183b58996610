/* Lines of a plain, gzip or zstd file. One decoder behind one function, chosen by the
 * first bytes; the line buffer grows up to STN_LINE_MAX and no further. */
#include "core/data/instream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "core/base/alloc.h"

#define RAW_SIZE  ((size_t)128 << 10)
#define TEXT_SIZE ((size_t)256 << 10)

struct stn_instream {
    int fd;
    /* Fill bytes[0 .. size) with decoded text; *got 0 is the end. */
    stn_status (*decode)(stn_instream *in, char *bytes, size_t size, size_t *got, stn_err *err);
    unsigned char *raw; /* [RAW_SIZE] as read from the file */
    size_t raw_at, raw_end;
    bool raw_over;
    ZSTD_DStream *zstd;
    size_t zstd_hint; /* 0: between frames */
    z_stream gzip;
    bool gzip_open, gzip_between;
    char *text; /* [text_capacity] decoded, not yet handed out: text_at .. text_end */
    size_t text_capacity, text_at, text_end;
    bool text_over;
    uint64_t line_number;
};

/* Make raw bytes available; leaves raw_at == raw_end only at the end of the file. */
static stn_status raw_fill(stn_instream *in, stn_err *err) {
    if (in->raw_at < in->raw_end || in->raw_over) {
        return STN_OK;
    }
    ssize_t got;
    do {
        got = read(in->fd, in->raw, RAW_SIZE);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return stn_err_set(err, STN_EIO, "cannot read: %s", strerror(errno));
    }
    in->raw_at = 0;
    in->raw_end = (size_t)got;
    in->raw_over = got == 0;
    return STN_OK;
}

static stn_status decode_plain(stn_instream *in, char *bytes, size_t size, size_t *got,
                               stn_err *err) {
    stn_status status = raw_fill(in, err);
    size_t have = in->raw_end - in->raw_at;
    *got = status ? 0 : have < size ? have : size;
    memcpy(bytes, in->raw + in->raw_at, *got);
    in->raw_at += *got;
    return status;
}

static stn_status decode_zstd(stn_instream *in, char *bytes, size_t size, size_t *got,
                              stn_err *err) {
    ZSTD_outBuffer out = {.dst = bytes, .size = size};
    while (out.pos == 0) {
        stn_status status = raw_fill(in, err);
        if (status) {
            return status;
        }
        if (in->raw_at == in->raw_end && in->zstd_hint == 0) {
            break;
        }
        ZSTD_inBuffer source = {.src = in->raw, .size = in->raw_end, .pos = in->raw_at};
        in->zstd_hint = ZSTD_decompressStream(in->zstd, &out, &source);
        bool stuck = source.pos == in->raw_at && out.pos == 0 && in->raw_over;
        in->raw_at = source.pos;
        if (ZSTD_isError(in->zstd_hint)) {
            return stn_err_set(err, STN_EFORMAT, "damaged zstd data: %s",
                               ZSTD_getErrorName(in->zstd_hint));
        }
        if (stuck && in->zstd_hint) {
            return stn_err_set(err, STN_EFORMAT, "zstd data is cut short");
        }
    }
    *got = out.pos;
    return STN_OK;
}

static stn_status gzip_step(stn_instream *in, stn_err *err) {
    in->gzip.next_in = in->raw + in->raw_at;
    in->gzip.avail_in = (uInt)(in->raw_end - in->raw_at);
    int code = inflate(&in->gzip, Z_NO_FLUSH);
    in->raw_at = in->raw_end - in->gzip.avail_in;
    in->gzip_between = code == Z_STREAM_END;
    if (code == Z_STREAM_END) {
        code = inflateReset(&in->gzip); /* a gzip file may hold several members */
    }
    if (code != Z_OK && code != Z_BUF_ERROR) {
        return stn_err_set(err, STN_EFORMAT, "damaged gzip data: %s",
                           in->gzip.msg ? in->gzip.msg : "not decodable");
    }
    return STN_OK;
}

static stn_status decode_gzip(stn_instream *in, char *bytes, size_t size, size_t *got,
                              stn_err *err) {
    in->gzip.next_out = (unsigned char *)bytes;
    in->gzip.avail_out = (uInt)size;
    while (in->gzip.avail_out == size) {
        stn_status status = raw_fill(in, err);
        if (!status && in->raw_at == in->raw_end) {
            if (in->gzip_between) {
                break;
            }
            return stn_err_set(err, STN_EFORMAT, "gzip data is cut short");
        }
        if (!status) {
            status = gzip_step(in, err);
        }
        if (status) {
            return status;
        }
    }
    *got = size - in->gzip.avail_out;
    return STN_OK;
}

static stn_status choose_decoder(stn_instream *in, stn_err *err) {
    static const unsigned char zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd}, gzip_magic[] = {0x1f, 0x8b};
    stn_status status = raw_fill(in, err);
    if (status) {
        return status;
    }
    in->decode = decode_plain;
    if (in->raw_end >= 4 && memcmp(in->raw, zstd_magic, 4) == 0) {
        in->decode = decode_zstd;
        in->zstd = ZSTD_createDStream();
        in->zstd_hint = 1;
        return in->zstd ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for zstd");
    }
    if (in->raw_end >= 2 && memcmp(in->raw, gzip_magic, 2) == 0) {
        in->decode = decode_gzip;
        in->gzip_open = inflateInit2(&in->gzip, 16 + MAX_WBITS) == Z_OK;
        return in->gzip_open ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for gzip");
    }
    return STN_OK;
}

stn_status stn_instream_open(stn_instream **out, const char *path, stn_err *err) {
    *out = NULL;
    stn_instream *in = stn_calloc(1, sizeof *in);
    if (!in) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    in->fd = open(path, O_RDONLY | O_CLOEXEC);
    in->raw = stn_malloc(RAW_SIZE);
    in->text = stn_malloc(TEXT_SIZE);
    in->text_capacity = TEXT_SIZE;
    stn_status status = STN_OK;
    if (in->fd < 0) {
        status = stn_err_set(err, errno == ENOENT ? STN_ENOTFOUND : STN_EIO, "%s", strerror(errno));
    } else if (!in->raw || !in->text) {
        status = stn_err_set(err, STN_ENOMEM, "out of memory");
    } else {
        status = choose_decoder(in, err);
    }
    if (status) {
        stn_instream_close(in);
        return status;
    }
    *out = in;
    return STN_OK;
}

/* Decode more text behind text_end; makes room by moving or growing. */
static stn_status text_fill(stn_instream *in, stn_err *err) {
    if (in->text_at > 0) {
        memmove(in->text, in->text + in->text_at, in->text_end - in->text_at);
        in->text_end -= in->text_at;
        in->text_at = 0;
    }
    if (in->text_capacity - in->text_end < 2 &&
        stn_grow(&in->text, &in->text_capacity, in->text_capacity + 1, 1)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a line");
    }
    size_t got;
    /* one byte stays free for the NUL that ends a last line */
    stn_status status =
        in->decode(in, in->text + in->text_end, in->text_capacity - in->text_end - 1, &got, err);
    if (status) {
        return status;
    }
    in->text_end += got;
    in->text_over = got == 0;
    return STN_OK;
}

static stn_status line_hand_out(stn_instream *in, size_t length, char **line, size_t *size,
                                stn_err *err) {
    char *start = in->text + in->text_at;
    in->text_at += length + (in->text_at + length < in->text_end);
    in->line_number++;
    if (length && start[length - 1] == '\r') {
        length--;
    }
    start[length] = '\0';
    if (memchr(start, '\0', length)) {
        return stn_err_set(err, STN_EFORMAT, "line %llu: a NUL byte inside a text file",
                           (unsigned long long)in->line_number);
    }
    *line = start;
    *size = length;
    return STN_OK;
}

stn_status stn_instream_line(stn_instream *in, char **line, size_t *size, stn_err *err) {
    size_t searched = 0;
    for (;;) {
        char *start = in->text + in->text_at;
        size_t have = in->text_end - in->text_at;
        const char *end = memchr(start + searched, '\n', have - searched);
        size_t length = end ? (size_t)(end - start) : have;
        if (length > STN_LINE_MAX) {
            return stn_err_set(err, STN_EFORMAT, "line %llu: longer than %zu bytes",
                               (unsigned long long)in->line_number + 1, STN_LINE_MAX);
        }
        if (end || (in->text_over && have)) {
            return line_hand_out(in, length, line, size, err);
        }
        if (in->text_over) {
            return STN_END;
        }
        searched = have;
        stn_status status = text_fill(in, err);
        if (status) {
            return stn_err_prepend(err, status, "after line %llu",
                                   (unsigned long long)in->line_number);
        }
    }
}

stn_status stn_instream_peek(stn_instream *in, size_t want, const char **bytes, size_t *size,
                             stn_err *err) {
    stn_status status = STN_OK;
    while (!status && in->text_end - in->text_at < want && !in->text_over) {
        status = text_fill(in, err);
    }
    size_t have = in->text_end - in->text_at;
    *bytes = in->text + in->text_at;
    *size = have < want ? have : want;
    return status;
}

uint64_t stn_instream_line_number(const stn_instream *in) {
    return in->line_number;
}

void stn_instream_close(stn_instream *in) {
    if (!in) {
        return;
    }
    if (in->fd >= 0) {
        close(in->fd);
    }
    ZSTD_freeDStream(in->zstd);
    if (in->gzip_open) {
        inflateEnd(&in->gzip);
    }
    stn_free(in->raw);
    stn_free(in->text);
    stn_free(in);
}
