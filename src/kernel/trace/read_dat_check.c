#include "kernel/trace/read_dat_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/trace/read_dat_pages.h"

/* Bounds of what is plausible; a file beyond them is damaged. */
#define CPUS_MAX      4096u
#define SYSTEMS_MAX   100000u
#define EVENTS_MAX    1000000u
#define SECTION_LIMIT ((uint64_t)1 << 30)

typedef struct cursor {
    FILE *file;
    uint64_t at, size;
    bool v7;
    bool compressed; /* the pages are */
    uint32_t cpus;
    stn_dat_layout layout;
    unsigned char *page; /* [layout.page_size] */
    stn_err *err;
} cursor;

static stn_status cut_short(const cursor *c, const char *what, uint64_t need) {
    return stn_err_set(c->err, STN_EFORMAT,
                       "cut short: %s takes %" PRIu64 " bytes at offset %" PRIu64
                       ", but the file has %" PRIu64 " bytes",
                       what, need, c->at, c->size);
}

static stn_status damaged(const cursor *c, const char *what, uint64_t found) {
    return stn_err_set(c->err, STN_EFORMAT, "damaged: %" PRIu64 " %s at offset %" PRIu64, found,
                       what, c->at);
}

static stn_status seek(cursor *c, const char *what, uint64_t to) {
    if (to > c->size || fseeko(c->file, (off_t)to, SEEK_SET)) {
        return stn_err_set(c->err, STN_EFORMAT,
                           "cut short: %s lies at offset %" PRIu64 ", but the file has %" PRIu64
                           " bytes",
                           what, to, c->size);
    }
    c->at = to;
    return STN_OK;
}

static stn_status skip(cursor *c, const char *what, uint64_t size) {
    if (size > c->size - c->at) {
        return cut_short(c, what, size);
    }
    return seek(c, what, c->at + size);
}

static stn_status take(cursor *c, const char *what, void *bytes, size_t size) {
    if (size > c->size - c->at) {
        return cut_short(c, what, size);
    }
    if (fread(bytes, 1, size, c->file) != size) {
        return stn_err_set(c->err, STN_EIO, "cannot be read at offset %" PRIu64, c->at);
    }
    c->at += size;
    return STN_OK;
}

static stn_status take_number(cursor *c, const char *what, unsigned size, uint64_t *value) {
    unsigned char bytes[8] = {0};
    stn_status status = take(c, what, bytes, size);
    *value = 0;
    for (unsigned i = 0; i < size && !status; i++) {
        *value = *value << 8 | bytes[c->layout.big ? i : size - 1 - i];
    }
    return status;
}

/* Text up to its NUL; *text may be cut to its size. */
static stn_status take_text(cursor *c, const char *what, char *text, size_t size) {
    size_t used = 0;
    for (;;) {
        char byte = '\0';
        stn_status status = take(c, what, &byte, 1);
        if (status) {
            return status;
        }
        if (used + 1 < size) {
            text[used++] = byte;
        }
        if (byte == '\0') {
            text[used < size ? used : size - 1] = '\0';
            return STN_OK;
        }
    }
}

static stn_status take_word(cursor *c, const char *word) {
    char found[32];
    uint64_t at = c->at;
    stn_status status = take_text(c, word, found, sizeof found);
    if (!status && strcmp(found, word) != 0) {
        return stn_err_set(c->err, STN_EFORMAT,
                           "damaged: '%s' expected at offset %" PRIu64 ", found '%.20s'", word, at,
                           found);
    }
    return status;
}

/* A size of @p width bytes and that many bytes behind it. */
static stn_status skip_sized(cursor *c, const char *what, unsigned width) {
    uint64_t size;
    stn_status status = take_number(c, what, width, &size);
    if (!status && size > SECTION_LIMIT) {
        return cut_short(c, what, size);
    }
    return status ? status : skip(c, what, size);
}

static stn_status skip_formats(cursor *c, uint64_t count) {
    stn_status status = count > EVENTS_MAX ? damaged(c, "event formats", count) : STN_OK;
    for (uint64_t i = 0; i < count && !status; i++) {
        status = skip_sized(c, "an event's format", 8);
    }
    return status;
}

/* ---- version 6 ------------------------------------------------------- */

static stn_status check_events(cursor *c) {
    uint64_t count;
    stn_status status = take_word(c, "header_page");
    if (!status) {
        status = skip_sized(c, "header_page", 8);
    }
    if (!status) {
        status = take_word(c, "header_event");
    }
    if (!status) {
        status = skip_sized(c, "header_event", 8);
    }
    if (!status) {
        status = take_number(c, "the number of ftrace events", 4, &count);
    }
    if (!status) {
        status = skip_formats(c, count);
    }
    if (!status) {
        status = take_number(c, "the number of event systems", 4, &count);
    }
    if (!status && count > SYSTEMS_MAX) {
        return damaged(c, "event systems", count);
    }
    for (uint64_t i = 0; !status && i < count; i++) {
        char name[64];
        uint64_t events = 0;
        status = take_text(c, "the name of an event system", name, sizeof name);
        if (!status) {
            status = take_number(c, "the number of events", 4, &events);
        }
        if (!status) {
            status = skip_formats(c, events);
        }
    }
    return status;
}

/* The pages of a CPU lie in the file and each holds together. Compressed ones are left to
 * the library. */
static stn_status check_pages(cursor *c, uint64_t offset, uint64_t size, uint64_t cpu) {
    uint64_t back = c->at;
    if (size > c->size || offset > c->size - size) {
        return stn_err_set(c->err, STN_EFORMAT,
                           "cut short: the data of CPU %" PRIu64 " takes %" PRIu64
                           " bytes at offset %" PRIu64 ", but the file has %" PRIu64 " bytes",
                           cpu, size, offset, c->size);
    }
    uint64_t page_size = c->layout.page_size;
    if (!c->compressed && size && offset % page_size) {
        return stn_err_set(c->err, STN_EFORMAT,
                           "damaged: the data of CPU %" PRIu64 " at offset %" PRIu64
                           " does not begin at a page of %" PRIu64 " bytes",
                           cpu, offset, page_size);
    }
    stn_status status = c->compressed ? STN_OK : seek(c, "a CPU's data", offset);
    for (uint64_t done = 0; !status && !c->compressed && size - done >= page_size;
         done += page_size) {
        status = take(c, "a page", c->page, page_size);
        if (!status && !stn_dat_page_check(c->page, &c->layout)) {
            return stn_err_set(c->err, STN_EFORMAT,
                               "damaged: the page of CPU %" PRIu64 " at offset %" PRIu64
                               " holds an impossible length",
                               cpu, offset + done);
        }
    }
    return status ? status : seek(c, "the table of CPUs", back);
}

static stn_status check_flyrecord(cursor *c) {
    stn_status status = STN_OK;
    for (uint32_t cpu = 0; cpu < c->cpus && !status; cpu++) {
        uint64_t offset;
        uint64_t size = 0;
        status = take_number(c, "the place of a CPU's data", 8, &offset);
        if (!status) {
            status = take_number(c, "the size of a CPU's data", 8, &size);
        }
        if (!status) {
            status = check_pages(c, offset, size, cpu);
        }
    }
    return status;
}

/* Option 3 of version 6: a buffer whose table of CPUs lies elsewhere. */
static stn_status check_buffer6(cursor *c, uint64_t end) {
    uint64_t offset;
    char word[10];
    stn_status status = take_number(c, "the place of a buffer", 8, &offset);
    if (!status) {
        status = seek(c, "a buffer", offset);
    }
    if (!status) {
        status = take(c, "a buffer's kind", word, sizeof word);
    }
    if (!status && memcmp(word, "flyrecord", sizeof word) == 0) {
        status = check_flyrecord(c);
    }
    return status ? status : seek(c, "the options", end);
}

static stn_status check_options6(cursor *c) {
    for (;;) {
        uint64_t id;
        uint64_t size = 0;
        stn_status status = take_number(c, "an option", 2, &id);
        if (status || id == 0) {
            return status;
        }
        status = take_number(c, "the size of an option", 4, &size);
        uint64_t end = c->at + size;
        if (!status && size > c->size - c->at) {
            return cut_short(c, "an option", size);
        }
        if (!status && id == 3 && size >= 8) {
            status = check_buffer6(c, end);
        } else if (!status) {
            status = seek(c, "the options", end);
        }
        if (status) {
            return status;
        }
    }
}

static stn_status check_v6(cursor *c) {
    uint64_t cpus = 0;
    char word[10];
    stn_status status = check_events(c);
    if (!status) {
        status = skip_sized(c, "the kernel's symbols", 4);
    }
    if (!status) {
        status = skip_sized(c, "the kernel's printk formats", 4);
    }
    if (!status) {
        status = skip_sized(c, "the process names", 8);
    }
    if (!status) {
        status = take_number(c, "the number of CPUs", 4, &cpus);
    }
    if (!status && (cpus == 0 || cpus > CPUS_MAX)) {
        return damaged(c, "CPUs", cpus);
    }
    c->cpus = (uint32_t)cpus;
    if (!status) {
        status = take(c, "the kind of the data", word, sizeof word);
    }
    if (!status && memcmp(word, "options  ", sizeof word) == 0) {
        status = check_options6(c);
        if (!status) {
            status = take(c, "the kind of the data", word, sizeof word);
        }
    }
    if (status || memcmp(word, "flyrecord", sizeof word) == 0) {
        return status ? status : check_flyrecord(c);
    }
    if (memcmp(word, "latency  ", sizeof word) == 0) {
        return stn_err_set(c->err, STN_EUNSUPPORTED,
                           "holds a latency tracer's text, no events: see trace-cmd report");
    }
    return stn_err_set(c->err, STN_EFORMAT, "damaged: 'flyrecord' expected at offset %" PRIu64,
                       c->at - sizeof word);
}

/* ---- version 7 ------------------------------------------------------- */

/* @param[out] compressed  the section's bytes are, so they are not looked at */
static stn_status check_section(cursor *c, const char *what, uint64_t at, bool *compressed) {
    uint64_t id;
    uint64_t flags = 0;
    uint64_t name = 0;
    uint64_t size = 0;
    stn_status status = seek(c, what, at);
    if (!status) {
        status = take_number(c, what, 2, &id);
    }
    if (!status) {
        status = take_number(c, what, 2, &flags);
    }
    if (!status) {
        status = take_number(c, what, 4, &name);
    }
    if (!status) {
        status = take_number(c, what, 8, &size);
    }
    *compressed = (flags & 1) != 0;
    return !status && size > c->size - c->at ? cut_short(c, what, size) : status;
}

/* Option 3: place of the section, name, clock, page size, CPUs with their places. */
static stn_status check_buffer7(cursor *c) {
    char text[64];
    uint64_t place;
    uint64_t page = 0;
    uint64_t cpus = 0;
    stn_status status = take_number(c, "the place of a buffer", 8, &place);
    if (!status) {
        status = take_text(c, "the name of a buffer", text, sizeof text);
    }
    if (!status) {
        status = take_text(c, "the clock of a buffer", text, sizeof text);
    }
    if (!status) {
        status = take_number(c, "the page size of a buffer", 4, &page);
    }
    if (!status) {
        status = take_number(c, "the number of CPUs of a buffer", 4, &cpus);
    }
    if (!status && cpus > CPUS_MAX) {
        return damaged(c, "CPUs", cpus);
    }
    for (uint64_t i = 0; i < cpus && !status; i++) {
        uint64_t cpu;
        uint64_t offset = 0;
        uint64_t size = 0;
        status = take_number(c, "a CPU's number", 4, &cpu);
        if (!status && cpu >= CPUS_MAX) {
            return damaged(c, "as a CPU's number", cpu);
        }
        if (!status) {
            status = take_number(c, "the place of a CPU's data", 8, &offset);
        }
        if (!status) {
            status = take_number(c, "the size of a CPU's data", 8, &size);
        }
        if (!status) {
            status = check_pages(c, offset, size, cpu);
        }
    }
    return status;
}

static stn_status check_option7(cursor *c, uint64_t id, uint64_t size, uint64_t *next) {
    uint64_t end = c->at + size;
    uint64_t at = 0;
    bool compressed;
    stn_status status = STN_OK;
    if (size > c->size - c->at) {
        return cut_short(c, "an option", size);
    }
    if (id == 0 && size >= 8) {
        status = take_number(c, "the place of the next options", 8, next);
    } else if (id == 3 && size >= 8) {
        status = check_buffer7(c);
    } else if (id >= 16 && id <= 22 && size >= 8) {
        status = take_number(c, "the place of a section", 8, &at);
        if (!status) {
            status = check_section(c, "a section", at, &compressed);
        }
    }
    return status ? status : seek(c, "the options", end);
}

static stn_status check_options7(cursor *c, uint64_t at, uint64_t *next) {
    bool compressed = false;
    uint64_t id = 1;
    stn_status status = check_section(c, "the options", at, &compressed);
    *next = 0;
    while (!status && !compressed && id != 0) {
        uint64_t size = 0;
        status = take_number(c, "an option", 2, &id);
        if (!status) {
            status = take_number(c, "the size of an option", 4, &size);
        }
        if (!status) {
            status = check_option7(c, id, size, next);
        }
    }
    return status;
}

static stn_status check_v7(cursor *c) {
    char text[64] = "";
    uint64_t at = 0;
    stn_status status = take_text(c, "the name of the compression", text, sizeof text);
    c->compressed = strcmp(text, "none") != 0;
    if (!status) {
        status = take_text(c, "the version of the compression", text, sizeof text);
    }
    if (!status) {
        status = take_number(c, "the place of the options", 8, &at);
    }
    for (int i = 0; !status && at; i++) {
        if (i == 1000) {
            return stn_err_set(c->err, STN_EFORMAT,
                               "damaged: sections of options lead in a circle");
        }
        status = check_options7(c, at, &at);
    }
    return status;
}

/* ---- head ------------------------------------------------------------ */

static stn_status check_head(cursor *c) {
    char magic[STN_DAT_MAGIC_SIZE];
    char version[16];
    unsigned char order = 0;
    unsigned char long_size = 0;
    uint64_t page = 0;
    if (c->size == 0) {
        return stn_err_set(c->err, STN_EFORMAT, "the file is empty (0 bytes)");
    }
    stn_status status = take(c, "the magic", magic, sizeof magic);
    if (!status &&
        (memcmp(magic, "\x1f\x8b", 2) == 0 || memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)) {
        return stn_err_set(c->err, STN_EUNSUPPORTED,
                           "a compressed trace.dat; decompress it first (gzip -d, zstd -d)");
    }
    if (!status && memcmp(magic, STN_DAT_MAGIC, sizeof magic) != 0) {
        return stn_err_set(c->err, STN_EFORMAT,
                           "does not begin with trace.dat's magic 17 08 44 'tracing'");
    }
    if (!status) {
        status = take_text(c, "the version", version, sizeof version);
    }
    if (!status && strcmp(version, "6") != 0 && strcmp(version, "7") != 0) {
        return stn_err_set(c->err, STN_EUNSUPPORTED,
                           "trace.dat of version '%.8s'; versions 6 and 7 are read", version);
    }
    c->v7 = !status && version[0] == '7';
    if (!status) {
        status = take(c, "the byte order", &order, 1);
    }
    if (!status) {
        status = take(c, "the size of long", &long_size, 1);
    }
    c->layout.big = order == 1;
    c->layout.long_size = long_size;
    if (!status) {
        status = take_number(c, "the page size", 4, &page);
    }
    if (!status && (order > 1 || (long_size != 4 && long_size != 8))) {
        return damaged(c, "as the size of long", long_size);
    }
    if (!status && (page < 512 || page > 1u << 26 || (page & (page - 1)))) {
        return damaged(c, "as the page size", page);
    }
    c->layout.page_size = (uint32_t)page;
    return status;
}

stn_status stn_dat_check(const char *path, stn_err *err) {
    cursor c = {.err = err, .file = fopen(path, "rb")};
    if (!c.file) {
        return stn_err_set(err, STN_EIO, "cannot be opened");
    }
    stn_status status = STN_OK;
    off_t size = fseeko(c.file, 0, SEEK_END) ? -1 : ftello(c.file);
    if (size < 0 || fseeko(c.file, 0, SEEK_SET)) {
        status = stn_err_set(err, STN_EIO, "is no file that can be read at any place");
    }
    c.size = size < 0 ? 0 : (uint64_t)size;
    if (!status) {
        status = check_head(&c);
    }
    if (!status) {
        c.page = stn_malloc(c.layout.page_size);
        status = c.page ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory for a page");
    }
    if (!status) {
        status = c.v7 ? check_v7(&c) : check_v6(&c);
    }
    stn_free(c.page);
    fclose(c.file);
    return status;
}
