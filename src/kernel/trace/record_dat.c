/* A trace.dat file around raw pages of the kernel's ring buffers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "kernel/trace/record_dat.h"

/* Numbers of trace-cmd's options. */
enum { OPTION_CPUSTAT = 2, OPTION_TRACECLOCK = 4, OPTION_UNAME = 5 };

typedef struct dat {
    stn_outfile *file;
    uint64_t size;
    stn_status status; /* of the first failure; later writes do nothing */
    stn_err *err;
} dat;

static void put(dat *out, const void *bytes, size_t size) {
    if (out->status == STN_OK) {
        out->status = stn_outfile_write(out->file, bytes, size, out->err);
        out->size += size;
    }
}

static void put_u16(dat *out, uint16_t value) {
    put(out, &value, sizeof value);
}

static void put_u32(dat *out, uint32_t value) {
    put(out, &value, sizeof value);
}

static void put_u64(dat *out, uint64_t value) {
    put(out, &value, sizeof value);
}

/* A text with its NUL. */
static void put_name(dat *out, const char *text) {
    put(out, text, strlen(text) + 1);
}

static void fail(dat *out, stn_status status, const char *what) {
    if (out->status == STN_OK) {
        out->status = stn_err_set(out->err, status, "%s: %s", what, strerror(errno));
    }
}

/* A file of tracefs behind its size in 64 bits. */
static void put_file(dat *out, const char *name) {
    int size = 0;
    errno = 0;
    char *text = tracefs_instance_file_read(NULL, name, &size);
    if (!text || size < 0) {
        fail(out, STN_EIO, name);
    } else {
        put_u64(out, (uint64_t)size);
        put(out, text, (size_t)size);
    }
    free(text);
}

static void put_head(dat *out, uint32_t page_size) {
    const uint16_t probe = 1;
    unsigned char little = 0;
    memcpy(&little, &probe, 1);
    put(out, "\x17\x08\x44tracing", 10);
    put_name(out, "6");
    unsigned char kind[2] = {little ? 0 : 1, sizeof(long)};
    put(out, kind, sizeof kind);
    put_u32(out, page_size);
    put_name(out, "header_page");
    put_file(out, "events/header_page");
    put_name(out, "header_event");
    put_file(out, "events/header_event");
}

static void put_format(dat *out, const char *system, const char *event) {
    char name[256];
    snprintf(name, sizeof name, "events/%.80s/%.120s/format", system, event);
    put_file(out, name);
}

/* Events of ftrace itself; some have no format file. */
static void put_ftrace_formats(dat *out) {
    char **events = tracefs_system_events(NULL, "ftrace");
    uint32_t count = 0;
    char name[256];
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; events && events[i]; i++) {
            snprintf(name, sizeof name, "events/ftrace/%.120s/format", events[i]);
            if (!tracefs_file_exists(NULL, name)) {
                continue;
            }
            if (pass == 0) {
                count++;
            } else {
                put_format(out, "ftrace", events[i]);
            }
        }
        if (pass == 0) {
            put_u32(out, count);
        }
    }
    tracefs_list_free(events);
}

/* Formats of the tracepoints that were on, grouped by system. */
static void put_formats(dat *out, const stn_instance *instance) {
    uint32_t systems = 0;
    for (size_t i = 0; i < instance->enabled_count; i++) {
        systems +=
            i == 0 || strcmp(instance->enabled[i].system, instance->enabled[i - 1].system) != 0;
    }
    put_u32(out, systems);
    for (size_t i = 0; i < instance->enabled_count;) {
        const char *system = instance->enabled[i].system;
        size_t end = i;
        while (end < instance->enabled_count &&
               strcmp(instance->enabled[end].system, system) == 0) {
            end++;
        }
        put_name(out, system);
        put_u32(out, (uint32_t)(end - i));
        for (; i < end; i++) {
            put_format(out, system, instance->enabled[i].event);
        }
    }
}

/* Function names for timers and work queues: lines of /proc/kallsyms of type t or T. */
static void put_functions(dat *out) {
    FILE *in = fopen("/proc/kallsyms", "r");
    char *text = NULL;
    size_t size = 0;
    size_t capacity = 0;
    char *line = NULL;
    size_t room = 0;
    ssize_t got;
    while (in && (got = getline(&line, &room, in)) > 0) {
        const char *kind = strchr(line, ' ');
        if (!kind || (kind[1] != 't' && kind[1] != 'T') || strncmp(line, "00000000", 8) == 0) {
            continue;
        }
        if (stn_grow((void *)&text, &capacity, size + (size_t)got, 1) != STN_OK) {
            errno = ENOMEM;
            fail(out, STN_ENOMEM, "/proc/kallsyms");
            break;
        }
        memcpy(text + size, line, (size_t)got);
        size += (size_t)got;
    }
    put_u32(out, (uint32_t)size);
    put(out, text ? text : "", size);
    free(line);
    stn_free(text);
    if (in) {
        fclose(in);
    }
}

static void put_printk_formats(dat *out) {
    int size = 0;
    char *text = tracefs_instance_file_read(NULL, "printk_formats", &size);
    put_u32(out, text && size > 0 ? (uint32_t)size : 0);
    put(out, text ? text : "", text && size > 0 ? (size_t)size : 0);
    free(text);
}

static void put_option(dat *out, uint16_t id, const char *text) {
    put_u16(out, id);
    put_u32(out, (uint32_t)strlen(text) + 1);
    put_name(out, text);
}

static void put_options(dat *out, const stn_dat_input *input) {
    put_name(out, "options  ");
    for (uint32_t cpu = 0; cpu < input->cpu_count; cpu++) {
        char text[1024];
        if (input->cpus[cpu].counters) {
            snprintf(text, sizeof text, "CPU: %u\n%.900s", cpu, input->cpus[cpu].counters);
            put_option(out, OPTION_CPUSTAT, text);
        }
    }
    char *clock = tracefs_instance_file_read(input->instance->tracefs, "trace_clock", NULL);
    if (clock) {
        put_option(out, OPTION_TRACECLOCK, clock);
    }
    free(clock);
    struct utsname name;
    if (uname(&name) == 0) {
        char text[sizeof name];
        snprintf(text, sizeof text, "%.64s %.64s %.64s %.64s", name.sysname, name.nodename,
                 name.release, name.machine);
        put_option(out, OPTION_UNAME, text);
    }
    put_u16(out, 0);
}

static uint64_t round_up(uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
}

static void put_pages(dat *out, const stn_cpu_pages *pages, char *buffer, size_t room) {
    for (uint64_t at = 0; at < pages->size && out->status == STN_OK;) {
        ssize_t got = pread(pages->fd, buffer, room, (off_t)at);
        if (got <= 0) {
            errno = got == 0 ? EIO : errno;
            fail(out, STN_EIO, "reading back the recorded pages");
            return;
        }
        put(out, buffer, (size_t)got);
        at += (uint64_t)got;
    }
}

/* Where each CPU's pages lie, and the pages themselves, each CPU's on a page of its own. */
static void put_data(dat *out, const stn_dat_input *input) {
    static const char zero[4096];
    put_name(out, "flyrecord");
    uint64_t begin = round_up(out->size + input->cpu_count * UINT64_C(16), input->page_size);
    uint64_t at = begin;
    for (uint32_t cpu = 0; cpu < input->cpu_count; cpu++) {
        put_u64(out, at);
        put_u64(out, input->cpus[cpu].size);
        at += round_up(input->cpus[cpu].size, input->page_size);
    }
    while (out->status == STN_OK && out->size < begin) {
        uint64_t gap = begin - out->size;
        put(out, zero, gap < sizeof zero ? gap : sizeof zero);
    }
    size_t room = (size_t)1 << 20;
    char *buffer = stn_malloc(room);
    if (!buffer) {
        errno = ENOMEM;
        fail(out, STN_ENOMEM, "copying the pages");
        return;
    }
    for (uint32_t cpu = 0; cpu < input->cpu_count; cpu++) {
        put_pages(out, &input->cpus[cpu], buffer, room);
    }
    stn_free(buffer);
}

stn_status stn_dat_write(stn_outfile *file, const stn_dat_input *input, uint64_t *size,
                         stn_err *err) {
    dat out = {file, 0, STN_OK, err};
    put_head(&out, input->page_size);
    put_ftrace_formats(&out);
    put_formats(&out, input->instance);
    put_functions(&out);
    put_printk_formats(&out);
    put_file(&out, "saved_cmdlines");
    put_u32(&out, input->cpu_count);
    put_options(&out, input);
    put_data(&out, input);
    *size = out.size;
    return out.status;
}
