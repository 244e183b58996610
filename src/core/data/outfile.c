/* Output that appears whole or not at all. */
#include "core/data/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "core/base/alloc.h"

#define BUFFER_SIZE ((size_t)256 << 10)

struct stn_outfile {
    int fd;
    char *path;      /* NULL: standard output */
    char *temporary; /* NULL: written in place (a device or a pipe) */
    char *buffer;    /* [BUFFER_SIZE] not yet encoded */
    size_t used;
    stn_status (*encode)(stn_outfile *file, const void *bytes, size_t size, bool last,
                         stn_err *err);
    char *packed; /* [BUFFER_SIZE] encoded */
    ZSTD_CStream *zstd;
    z_stream gzip;
    bool gzip_open;
};

static stn_status system_error(stn_err *err, const char *what) {
    return stn_err_set(err, errno == EACCES || errno == EPERM ? STN_EPERM : STN_EIO,
                       "cannot %s: %s", what, strerror(errno));
}

static stn_status write_all(int fd, const char *bytes, size_t size, stn_err *err) {
    while (size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return system_error(err, "write");
        }
        bytes += done;
        size -= (size_t)done;
    }
    return STN_OK;
}

static stn_status encode_plain(stn_outfile *file, const void *bytes, size_t size, bool last,
                               stn_err *err) {
    (void)last;
    return write_all(file->fd, bytes, size, err);
}

static stn_status encode_zstd(stn_outfile *file, const void *bytes, size_t size, bool last,
                              stn_err *err) {
    ZSTD_inBuffer in = {.src = bytes, .size = size};
    size_t left = 1;
    while (in.pos < in.size || (last && left)) {
        ZSTD_outBuffer out = {.dst = file->packed, .size = BUFFER_SIZE};
        left = ZSTD_compressStream2(file->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            return stn_err_set(err, STN_EIO, "zstd: %s", ZSTD_getErrorName(left));
        }
        stn_status status = write_all(file->fd, file->packed, out.pos, err);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

static stn_status encode_gzip(stn_outfile *file, const void *bytes, size_t size, bool last,
                              stn_err *err) {
    z_stream *gzip = &file->gzip;
    gzip->next_in = (z_const Bytef *)bytes;
    gzip->avail_in = (uInt)size;
    int code = Z_OK;
    while (gzip->avail_in || (last && code != Z_STREAM_END)) {
        gzip->next_out = (Bytef *)file->packed;
        gzip->avail_out = (uInt)BUFFER_SIZE;
        code = deflate(gzip, last ? Z_FINISH : Z_NO_FLUSH);
        if (code == Z_STREAM_ERROR) {
            return stn_err_set(err, STN_EIO, "gzip: cannot compress");
        }
        stn_status status = write_all(file->fd, file->packed, BUFFER_SIZE - gzip->avail_out, err);
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length > size && strcmp(path + length - size, ending) == 0;
}

bool stn_outfile_packs(const char *path) {
    return ends_in(path, ".zst") || ends_in(path, ".gz");
}

static stn_status choose_encoder(stn_outfile *file, const char *path, stn_err *err) {
    file->encode = encode_plain;
    if (ends_in(path, ".zst")) {
        file->encode = encode_zstd;
        file->zstd = ZSTD_createCStream();
        return file->zstd ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for zstd");
    }
    if (ends_in(path, ".gz")) {
        file->encode = encode_gzip;
        file->gzip_open = deflateInit2(&file->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                       16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        return file->gzip_open ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for gzip");
    }
    return STN_OK;
}

/* "dir/name" -> "dir/.name.XXXXXX", the form that mkstemp and mkdtemp take. */
static char *temporary_name(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    size_t base = length;
    while (base > 0 && path[base - 1] != '/') {
        base--;
    }
    char *name = stn_malloc(length + sizeof "..XXXXXX");
    if (name) {
        sprintf(name, "%.*s.%.*s.XXXXXX", (int)base, path, (int)(length - base), path + base);
    }
    return name;
}

static mode_t usual_mode(mode_t wanted) {
    mode_t mask = umask(0);
    umask(mask);
    return wanted & ~mask;
}

/* A device or a pipe is written in place; nothing can be renamed over it. */
static bool in_place(const char *path) {
    struct stat stat_of;
    return stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode) && !S_ISDIR(stat_of.st_mode);
}

static stn_status open_target(stn_outfile *file, const char *path, stn_err *err) {
    if (strcmp(path, "-") == 0) {
        file->fd = dup(STDOUT_FILENO);
        return file->fd < 0 ? system_error(err, "write to standard output") : STN_OK;
    }
    file->path = stn_strdup(path);
    if (!file->path) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    if (in_place(path)) {
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
        return file->fd < 0 ? system_error(err, "open for writing") : STN_OK;
    }
    struct stat stat_of;
    if (stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode)) {
        return stn_err_set(err, STN_EIO, "a folder of this name is in the way");
    }
    file->temporary = temporary_name(path);
    if (!file->temporary) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd < 0) {
        stn_free(file->temporary);
        file->temporary = NULL;
        return system_error(err, "create a file here");
    }
    return fchmod(file->fd, usual_mode(0666)) ? system_error(err, "set the file's mode") : STN_OK;
}

static void outfile_free(stn_outfile *file) {
    if (file->fd >= 0) {
        close(file->fd);
    }
    ZSTD_freeCStream(file->zstd);
    if (file->gzip_open) {
        deflateEnd(&file->gzip);
    }
    stn_free(file->path);
    stn_free(file->temporary);
    stn_free(file->buffer);
    stn_free(file->packed);
    stn_free(file);
}

stn_status stn_outfile_open(stn_outfile **out, const char *path, stn_err *err) {
    *out = NULL;
    stn_outfile *file = stn_calloc(1, sizeof *file);
    if (!file) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    file->fd = -1;
    file->buffer = stn_malloc(BUFFER_SIZE);
    file->packed = stn_malloc(BUFFER_SIZE);
    stn_status status = file->buffer && file->packed
                            ? choose_encoder(file, path, err)
                            : stn_err_set(err, STN_ENOMEM, "out of memory");
    if (!status) {
        status = open_target(file, path, err);
    }
    if (status) {
        stn_outfile_abort(file);
        return status;
    }
    *out = file;
    return STN_OK;
}

static stn_status outfile_flush(stn_outfile *file, bool last, stn_err *err) {
    size_t used = file->used;
    file->used = 0;
    return file->encode(file, file->buffer, used, last, err);
}

stn_status stn_outfile_write(stn_outfile *file, const void *bytes, size_t size, stn_err *err) {
    const char *from = bytes;
    while (size) {
        size_t room = BUFFER_SIZE - file->used;
        size_t part = size < room ? size : room;
        memcpy(file->buffer + file->used, from, part);
        file->used += part;
        from += part;
        size -= part;
        if (file->used == BUFFER_SIZE) {
            stn_status status = outfile_flush(file, false, err);
            if (status) {
                return status;
            }
        }
    }
    return STN_OK;
}

stn_status stn_outfile_printf(stn_outfile *file, stn_err *err, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int size = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof text) {
        return stn_outfile_write(file, text, (size_t)size, err);
    }
    char *longer = size < 0 ? NULL : stn_malloc((size_t)size + 1);
    if (!longer) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a line of output");
    }
    va_start(args, fmt);
    vsnprintf(longer, (size_t)size + 1, fmt, args);
    va_end(args);
    stn_status status = stn_outfile_write(file, longer, (size_t)size, err);
    stn_free(longer);
    return status;
}

stn_status stn_outfile_hole(stn_outfile *file, uint64_t size, stn_err *err) {
    if (!file->temporary || file->encode != encode_plain) {
        return stn_err_set(err, STN_ERANGE,
                           "a hole needs a plain file, no pipe, device or compression");
    }
    stn_status status = outfile_flush(file, false, err);
    if (status) {
        return status;
    }
    off_t end = size > INT64_MAX ? -1 : lseek(file->fd, (off_t)size, SEEK_CUR);
    if (end < 0 || ftruncate(file->fd, end)) {
        return system_error(err, "make a file of this size");
    }
    return STN_OK;
}

stn_status stn_outfile_commit(stn_outfile *file, stn_err *err) {
    stn_status status = outfile_flush(file, true, err);
    if (!status) {
        int fd = file->fd;
        file->fd = -1;
        if (close(fd)) {
            status = system_error(err, "finish writing");
        }
    }
    if (!status && file->temporary && rename(file->temporary, file->path)) {
        status = system_error(err, "rename the finished file");
    }
    if (!status) {
        stn_free(file->temporary);
        file->temporary = NULL;
    }
    stn_outfile_abort(file);
    return status;
}

void stn_outfile_abort(stn_outfile *file) {
    if (!file) {
        return;
    }
    if (file->temporary) {
        unlink(file->temporary);
    }
    outfile_free(file);
}

/* ---- folders --------------------------------------------------------- */

stn_status stn_outdir_open(const char *path, char **temporary, stn_err *err) {
    *temporary = temporary_name(path);
    if (!*temporary) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    if (!mkdtemp(*temporary)) {
        stn_free(*temporary);
        *temporary = NULL;
        return system_error(err, "create a folder here");
    }
    if (chmod(*temporary, usual_mode(0777))) {
        stn_status status = system_error(err, "set the folder's mode");
        stn_outdir_abort(*temporary);
        stn_free(*temporary);
        *temporary = NULL;
        return status;
    }
    return STN_OK;
}

/* Does the file @p name in @p folder say, in its first 64 KiB, that standin wrote it? */
static bool bears_our_name(const char *folder, const char *name) {
    char *text = stn_malloc(strlen(folder) + strlen(name) + 2 + BUFFER_SIZE);
    if (!text) {
        return false;
    }
    sprintf(text, "%s/%s", folder, name);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, BUFFER_SIZE / 4);
    if (fd >= 0) {
        close(fd);
    }
    bool ours = size > 0 && memmem(text, (size_t)size, "standin", 7);
    stn_free(text);
    return ours;
}

/* A folder may be replaced if standin wrote it and it holds no other folder. */
static bool replaceable(const char *folder, const char *marker) {
    struct stat stat_of;
    return bears_our_name(folder, marker) && stat(folder, &stat_of) == 0 && stat_of.st_nlink <= 2;
}

/* Exchange, then remove the old one: at no moment is there nothing under the name. */
static stn_status replace_folder(const char *temporary, const char *path, stn_err *err) {
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE)) {
        return system_error(err, "put the finished folder in place of the old one");
    }
    stn_outdir_abort(temporary);
    return STN_OK;
}

stn_status stn_outdir_commit(const char *temporary, const char *path, const char *marker,
                             stn_err *err) {
    struct stat stat_of;
    if (lstat(path, &stat_of) == 0) {
        if (S_ISDIR(stat_of.st_mode) && replaceable(path, marker)) {
            return replace_folder(temporary, path, err);
        }
        if (!S_ISDIR(stat_of.st_mode) || (rmdir(path) && errno != ENOENT)) {
            return stn_err_set(err, STN_EIO,
                               "something else of this name is in the way; it is left as it is");
        }
    }
    return rename(temporary, path) ? system_error(err, "rename the finished folder") : STN_OK;
}

static int remove_entry(const char *path, const struct stat *stat_of, int flag, struct FTW *walk) {
    (void)stat_of;
    (void)flag;
    (void)walk;
    return remove(path);
}

void stn_outdir_abort(const char *temporary) {
    if (temporary) {
        nftw(temporary, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}
