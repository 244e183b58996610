/** @file
 *  For the tests of the latency database: each case runs on a fresh SQLite file and, where the
 *  server is installed, on a fresh schema of a private PostgreSQL cluster. */
#ifndef STN_TESTS_UNIT_LATDB_LAB_H
#define STN_TESTS_UNIT_LATDB_LAB_H

#include "testing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "llm/latdb/handle.h"

static char lab_folder[64];  /* scratch, removed at the end */
static char lab_place[512];  /* of the backend at hand, fresh for each case */
static char lab_place2[512]; /* another one: always an SQLite file */
static bool lab_postgres;

/* Where a stn_err called err is at hand. */
#define LAB_OK(call)                                                                               \
    do {                                                                                           \
        stn_status lab_status = (call);                                                            \
        if (lab_status != STN_OK) {                                                                \
            fail_msg("%s: %s", #call, err.text[0] ? err.text : stn_status_name(lab_status));       \
        }                                                                                          \
    } while (0)

/* ---- what is stored -------------------------------------------------- */

static inline stn_lat_hardware lab_hardware(const char *name) {
    return (stn_lat_hardware){.kind = "gpu",
                              .vendor = "NVIDIA",
                              .name = name,
                              .isa = "sm_90",
                              .cores = 132,
                              .clock_max_hz = 1980000000,
                              .memory_bytes = (uint64_t)80 << 30,
                              .clock_hz = 1755000000,
                              .memory_bytes_per_s = 3350000000000,
                              .driver = "CUDA 12.8"};
}

static inline stn_lat_engine lab_engine(void) {
    return (stn_lat_engine){.name = "vllm",
                            .version = "0.19.0",
                            .backend = "FLASH_ATTN",
                            .kernel_source = "say \"hi\", it's",
                            .settings = "block_size=16,eager=1"};
}

static inline stn_lat_signature lab_signature(const char *dims) {
    return (stn_lat_signature){.kind = "attention",
                               .dtypes = "bf16,bf16",
                               .dims = dims,
                               .layout = "gr\xc3\xbc\xc3\x9f",
                               .axes = "tokens,kv"};
}

static inline stn_lat_source lab_source(const char *file) {
    return (stn_lat_source){
        .kind = "imported", .format = "vidur", .file = file, .tool = "vllm 0.19.0"};
}

/** A series on the hardware @p name and a source. @return a row of them, at (tokens, kv) */
static inline stn_lat_row lab_row(stn_latdb *db, const char *name, const char *dims, int64_t tokens,
                                  int64_t kv) {
    stn_err err = {{0}};
    stn_lat_hardware hardware = lab_hardware(name);
    stn_lat_engine engine = lab_engine();
    stn_lat_signature signature = lab_signature(dims);
    stn_lat_source source = lab_source("a.csv");
    stn_lat_row row = {.point = {tokens, kv},
                       .mean_ns = 1000.5 + (double)tokens,
                       .median_ns = 1000.25 + (double)tokens,
                       .min_ns = 900,
                       .max_ns = 1e9,
                       .std_ns = 0.1,
                       .count = 30,
                       .line = 7,
                       .time_s = 1700000000};
    LAB_OK(stn_latdb_series_put(db, &hardware, &engine, &signature, &row.series, &err));
    LAB_OK(stn_latdb_source_put(db, &source, &row.source, &err));
    return row;
}

static inline stn_latdb *lab_open(stn_latdb_mode mode) {
    stn_err err = {{0}};
    stn_latdb *db;
    LAB_OK(stn_latdb_open(&db, lab_place, mode, &err));
    return db;
}

static inline stn_status lab_count_row(void *user, const stn_lat_row *row, stn_err *err) {
    (void)row;
    (void)err;
    ++*(uint64_t *)user;
    return STN_OK;
}

static inline uint64_t lab_count(stn_latdb *db, stn_lat_id series) {
    stn_err err = {{0}};
    uint64_t count = 0;
    LAB_OK(stn_latdb_each_row(db, series, lab_count_row, &count, &err));
    return count;
}

/** Statements behind the database's back, on the place at hand. */
static inline void lab_script(const char *sql) {
    const stn_lat_driver *driver = lab_postgres ? &stn_lat_postgres : &stn_lat_sqlite;
    stn_err err = {{0}};
    void *self;
    LAB_OK(driver->open(&self, lab_place, STN_LATDB_CREATE, &err));
    LAB_OK(driver->script(self, sql, &err));
    driver->close(self);
}

/* ---- processes ------------------------------------------------------- */

/** Wait for a child that should end by itself. */
static inline void lab_join(pid_t child) {
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* ---- both backends --------------------------------------------------- */

/** First line of what a command says. @return its exit code */
static inline int lab_command(char *line, size_t size, const char *fmt, const char *argument) {
    char command[1024];
    snprintf(command, sizeof command, fmt, argument);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    if (!fgets(line, (int)size, pipe)) {
        line[0] = '\0';
    }
    line[strcspn(line, "\n")] = '\0';
    int how = pclose(pipe);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static inline int lab_fresh(void **state) {
    (void)state;
    char path[700];
    if (lab_postgres) {
        lab_script("DROP SCHEMA IF EXISTS standin CASCADE");
    }
    snprintf(path, sizeof path, "rm -rf %s/*", lab_folder);
    return system(path);
}

/** Run the cases on each backend. @return what main returns */
static inline int lab_main(const struct CMUnitTest *tests, size_t count) {
    char cluster[80];
    char line[600];
    /* In memory where that is possible: hundreds of databases are made, each waits for its disk. */
    strcpy(lab_folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/latdb-XXXXXX" : "/tmp/latdb-XXXXXX");
    if (!mkdtemp(lab_folder)) {
        return 1;
    }
    snprintf(cluster, sizeof cluster, "%s.pg", lab_folder);
    snprintf(lab_place, sizeof lab_place, "%s/lat.db", lab_folder);
    snprintf(lab_place2, sizeof lab_place2, "%s/other.db", lab_folder);
    int failed = _cmocka_run_group_tests("SQLite", tests, count, NULL, NULL);
    int code =
        lab_command(line, sizeof line, STN_SOURCE_DIR "/tests/postgres.sh start %s", cluster);
    if (code == 0 && stn_latdb_postgres(line + 300, 300)) {
        snprintf(lab_place, sizeof lab_place, "%.290s", line);
        lab_postgres = true;
        failed += _cmocka_run_group_tests("PostgreSQL", tests, count, NULL, NULL);
    } else if (code == 0 || code == 77) {
        printf("skipped: %s\n", code ? line : line + 300);
    } else {
        failed++;
    }
    if (code == 0) {
        lab_command(line, sizeof line, STN_SOURCE_DIR "/tests/postgres.sh stop %s", cluster);
    }
    lab_command(line, sizeof line, "rm -rf %s*", lab_folder);
    return failed;
}

#define LAB_CASE(name)  cmocka_unit_test_setup(name, lab_fresh)
#define LAB_MAIN(tests) lab_main(tests, sizeof(tests) / sizeof *(tests))

#endif
