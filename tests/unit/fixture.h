/** @file
 *  A small trace made by hand that has one of everything, a scratch folder, and a comparison
 *  of two traces, for the tests of writers. */
#ifndef STN_TESTS_UNIT_FIXTURE_H
#define STN_TESTS_UNIT_FIXTURE_H

#include "testing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <standin/trace.h>

#include "core/data/outfile.h"

typedef struct fixture {
    char folder[64];
    stn_catalog *catalog;
    stn_trace trace;
    stn_err err;
} fixture;

typedef struct fx_field {
    const char *name;
    stn_field_kind kind;
    int64_t number;
    double real;
    const char *text;
    const int64_t *items;
    uint32_t count;
    bool is_signed;
} fx_field;

#define FX_INT(n, v)                                                                               \
    { .name = n, .kind = STN_FIELD_INT, .number = v }
#define FX_UINT(n, v)                                                                              \
    { .name = n, .kind = STN_FIELD_UINT, .number = (int64_t)(v) }
#define FX_HEX(n, v)                                                                               \
    { .name = n, .kind = STN_FIELD_HEX, .number = (int64_t)(v) }
#define FX_REAL(n, v)                                                                              \
    { .name = n, .kind = STN_FIELD_REAL, .real = v }
#define FX_STR(n, v)                                                                               \
    { .name = n, .kind = STN_FIELD_STR, .text = v }
#define FX_SEQ(n, v, c, s)                                                                         \
    { .name = n, .kind = STN_FIELD_SEQ, .items = v, .count = c, .is_signed = s }

#define FX_ADD(fx, time, cpu, tid, comm, event, original, ...)                                     \
    fx_add(fx, time, cpu, tid, comm, event, original, (const fx_field[]){__VA_ARGS__},             \
           sizeof((const fx_field[]){__VA_ARGS__}) / sizeof(fx_field))

static inline void fx_add(fixture *fx, uint64_t time_ns, uint16_t cpu, int32_t tid,
                          const char *comm, const char *event, const char *original,
                          const fx_field *fields, size_t count) {
    stn_field out[16];
    stn_seq seqs[16];
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++) {
        out[i] = (stn_field){.name = stn_catalog_cstring(fx->catalog, fields[i].name),
                             .kind = fields[i].kind,
                             .v.i = fields[i].number};
        if (fields[i].kind == STN_FIELD_REAL) {
            out[i].v.f = fields[i].real;
        } else if (fields[i].kind == STN_FIELD_STR) {
            out[i].v.s = fields[i].text;
        } else if (fields[i].kind == STN_FIELD_SEQ) {
            seqs[i] = (stn_seq){fields[i].count, fields[i].is_signed, fields[i].items};
            out[i].v.seq = &seqs[i];
        }
    }
    stn_event made = {
        .time_ns = time_ns,
        .type = stn_catalog_type(fx->catalog, event, original),
        .tid = tid,
        .comm = comm ? stn_catalog_cstring(fx->catalog, comm) : STN_NO_ID,
        .cpu = cpu,
        .field_count = (uint16_t)count,
        .fields = out,
    };
    assert_int_equal(stn_trace_append(&fx->trace, &made, &fx->err), STN_OK);
}

/* Scheduling, system calls, interrupts and block I/O, in the kernel's own terms. */
static inline void fx_add_kernel(fixture *fx) {
    FX_ADD(fx, 1000000100, 0, 42, "bash", "sys_enter_read", NULL, FX_UINT("fd", 3),
           FX_HEX("buf", 0x7ffdc0de1234), FX_UINT("count", 4096));
    FX_ADD(fx, 1000000200, 0, 42, "bash", "sched_switch", NULL, FX_STR("prev_comm", "bash"),
           FX_INT("prev_pid", 42), FX_INT("prev_prio", 120), FX_INT("prev_state", 1),
           FX_STR("next_comm", "swapper/0"), FX_INT("next_pid", 0), FX_INT("next_prio", 120));
    FX_ADD(fx, 1000000300, 1, 7, "kworker/1:1 H", "sched_waking", NULL, FX_STR("comm", "bash"),
           FX_INT("pid", 42), FX_INT("prio", 120), FX_INT("target_cpu", 0));
    FX_ADD(fx, 1000000400, 0, 0, "swapper/0", "irq_handler_entry", NULL, FX_INT("irq", 36),
           FX_STR("name", "virtio1-req.0"));
    FX_ADD(fx, 1000000500, 0, 0, "swapper/0", "softirq_raise", NULL, FX_INT("vec", 4));
    FX_ADD(fx, 1000000600, 0, 0, "swapper/0", "irq_handler_exit", NULL, FX_INT("irq", 36),
           FX_INT("ret", 1));
    FX_ADD(fx, 1000000700, 0, 0, "swapper/0", "softirq_entry", NULL, FX_INT("vec", 4));
    FX_ADD(fx, 1000000800, 0, 0, "swapper/0", "block_rq_complete", NULL,
           FX_UINT("dev", 8 << 20 | 1), FX_INT("sector", 2048), FX_INT("nr_sector", 8),
           FX_STR("rwbs", "WS"), FX_INT("error", 0));
    FX_ADD(fx, 1000000900, 0, 0, "swapper/0", "softirq_exit", NULL, FX_INT("vec", 4));
    FX_ADD(fx, 1000001000, 0, 0, "swapper/0", "sched_switch", NULL, FX_INT("prev_pid", 0),
           FX_INT("prev_state", 0), FX_INT("next_pid", 42), FX_INT("synth", 6492));
    FX_ADD(fx, 1000001100, 0, 42, "bash", "sys_exit_read", NULL, FX_INT("ret", -11));
    FX_ADD(fx, 1000001200, 1, 7, "kworker/1:1 H", "sys_enter_futex", NULL, FX_INT("op", 128));
}

/* One of each kind at the edges, text that could break a line, and what is not known. */
static inline void fx_add_edges(fixture *fx) {
    static const int64_t some[] = {1, -2, INT64_MIN}, large[] = {-1, 0};
    FX_ADD(fx, 1000002000, 1, 7, "kworker/1:1 H", "edge_numbers", NULL, FX_INT("lowest", INT64_MIN),
           FX_INT("highest", INT64_MAX), FX_UINT("most", UINT64_MAX), FX_HEX("mask", UINT64_MAX),
           FX_REAL("real", 0.1), FX_REAL("whole", -2.0));
    FX_ADD(fx, 1000002100, 1, 7, "kworker/1:1 H", "edge_numbers", NULL, FX_INT("lowest", 1),
           FX_INT("highest", 2), FX_UINT("most", 3), FX_HEX("mask", 4), FX_REAL("real", 1e300),
           FX_REAL("whole", 5e-324));
    FX_ADD(fx, 1000002200, 1, 7, "kworker/1:1 H", "edge_text", NULL, FX_STR("empty", ""),
           FX_STR("blank", " a=b c "), FX_STR("quote", "say \"hi\"\\ \t\n"), FX_STR("digits", "42"),
           FX_STR("list", "[1,2]"), FX_STR("comma", "a,b;c=d%20"),
           FX_STR("utf8", "gr\xc3\xbc\xc3\x9f"));
    FX_ADD(fx, 1000002300, 1, 7, "kworker/1:1 H", "edge_lists", NULL, FX_SEQ("some", some, 3, true),
           FX_SEQ("large", large, 2, false), FX_SEQ("none", some, 0, true),
           FX_INT("outer.inner.x", 5), FX_INT("outer.inner.y", 6), FX_INT("outer.z", 7));
    fx_add(fx, 1000002400, 1, 7, "kworker/1:1 H", "edge_bare", NULL, NULL, 0);
    FX_ADD(fx, 1000002500, STN_NO_CPU, 7, "kworker/1:1 H", "edge_no_cpu", NULL, FX_INT("a", 1));
    FX_ADD(fx, 1000002600, 1, STN_NO_TID, NULL, "edge_no_thread", NULL, FX_INT("a", 1));
    FX_ADD(fx, 1000002700, 1, 8, NULL, "edge_no_comm", NULL, FX_INT("a", 1));
    FX_ADD(fx, 6000000000, 1, 7, "kworker/1:1 H", "edge_late", NULL, FX_INT("a", 1));
}

static inline void fx_add_loss(fixture *fx, uint64_t time_ns, uint16_t cpu, uint64_t count,
                               uint64_t begin_ns) {
    FX_ADD(fx, time_ns, cpu, STN_NO_TID, NULL, "lost_events", NULL, FX_UINT("count", count),
           FX_UINT("begin_ns", begin_ns));
}

static inline int fx_setup(void **state) {
    fixture *fx = calloc(1, sizeof *fx);
    strcpy(fx->folder, "/tmp/stn-write-XXXXXX");
    assert_non_null(mkdtemp(fx->folder));
    assert_int_equal(stn_catalog_new(&fx->catalog, &fx->err), STN_OK);
    stn_trace_init(&fx->trace, fx->catalog);
    *state = fx;
    return 0;
}

static inline int fx_teardown(void **state) {
    fixture *fx = *state;
    stn_trace_fini(&fx->trace);
    stn_catalog_free(fx->catalog);
    stn_outdir_abort(fx->folder);
    free(fx);
    return 0;
}

/* Path of @p name in the scratch folder; static storage, four at a time. */
static inline const char *fx_path(const fixture *fx, const char *name) {
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", fx->folder, name);
    return path;
}

static inline stn_status fx_try_write(fixture *fx, const char *path, const char *format,
                                      const stn_writer_options *options) {
    stn_writer *writer;
    stn_status status =
        stn_writer_open(&writer, path, format, fx->catalog, &fx->trace.meta, options, &fx->err);
    for (size_t i = 0; !status && i < fx->trace.count; i++) {
        status = stn_writer_write(writer, &fx->trace.events[i], &fx->err);
        if (status) {
            stn_writer_abort(writer);
            return status;
        }
    }
    return status ? status : stn_writer_commit(writer, &fx->err);
}

static inline void fx_write(fixture *fx, const char *path, const char *format) {
    if (fx_try_write(fx, path, format, NULL)) {
        fail_msg("%s", fx->err.text);
    }
}

/* How many entries the scratch folder has: what a failed writer left behind. */
static inline size_t fx_entries(const fixture *fx) {
    DIR *folder = opendir(fx->folder);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(folder);
    return count;
}

/* The content of a file, NUL-terminated; the caller frees. */
static inline char *fx_content(const char *path) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    assert_true(size < (1 << 20) - 1);
    fclose(file);
    return text;
}

#endif
