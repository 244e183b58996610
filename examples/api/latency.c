/* Measure how long copying memory takes, and put it into a latency database.
 *
 *     cc -O2 -o latency latency.c $(pkg-config --cflags --libs standin) -lm
 *     ./latency latency.db
 *     standin db ls --db latency.db
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <standin/standin.h>

enum { ROUNDS = 101, BYTES_MIN = 1 << 10, BYTES_MAX = 64 << 20 };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Short copies are timed many at a time. */
static void measure(char *to, const char *from, size_t bytes, stn_lat_row *row) {
    double ns[ROUNDS], sum = 0, squares = 0;
    size_t repeats = 1 + (1 << 20) / bytes;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_ns();
        for (size_t i = 0; i < repeats; i++) {
            memcpy(to, from, bytes);
            __asm__ volatile("" : : "r"(to) : "memory"); /* each copy has to be made */
        }
        ns[round] = (now_ns() - begin) / (double)repeats;
        sum += ns[round];
    }
    qsort(ns, ROUNDS, sizeof *ns, rising);
    row->mean_ns = sum / ROUNDS;
    for (int round = 0; round < ROUNDS; round++) {
        squares += (ns[round] - row->mean_ns) * (ns[round] - row->mean_ns);
    }
    row->median_ns = ns[ROUNDS / 2];
    row->min_ns = ns[0];
    row->max_ns = ns[ROUNDS - 1];
    row->std_ns = sqrt(squares / (ROUNDS - 1));
    row->count = ROUNDS * repeats;
    row->time_s = (uint64_t)time(NULL);
    row->point[0] = (int64_t)bytes;
}

static stn_status fill(stn_latdb *db, char *to, const char *from, stn_err *err) {
    stn_lat_engine engine = {.name = "memcpy", .backend = "CPU", .settings = "threads=1"};
    stn_lat_signature signature = {.kind = "copy", .dtypes = "u8,u8", .axes = "bytes"};
    stn_lat_source source = {.kind = "measured", .tool = "examples/api/latency.c"};
    stn_lat_machine machine;
    stn_lat_row row = {0};
    stn_status status = stn_lat_machine_detect(&machine, "", err);
    if (status == STN_OK) {
        status = stn_latdb_series_put(db, &machine.hardware, &engine, &signature, &row.series, err);
    }
    if (status == STN_OK) {
        status = stn_latdb_source_put(db, &source, &row.source, err);
    }
    for (size_t bytes = BYTES_MIN; bytes <= BYTES_MAX && status == STN_OK; bytes *= 4) {
        measure(to, from, bytes, &row);
        status = stn_latdb_row_put(db, &row, err); /* there for good when it returns */
    }
    return status;
}

int main(int argc, char **argv) {
    stn_err err = {{0}};
    stn_latdb *db = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: latency DATABASE\n");
        return 2;
    }
    char *from = malloc(BYTES_MAX), *to = malloc(BYTES_MAX);
    if (!from || !to) {
        return 1;
    }
    memset(from, 1, BYTES_MAX);
    memset(to, 2, BYTES_MAX);
    stn_status status = stn_latdb_open(&db, argv[1], STN_LATDB_CREATE, &err);
    if (status == STN_OK) {
        status = fill(db, to, from, &err);
    }
    if (status != STN_OK) {
        fprintf(stderr, "latency: %s\n", err.text);
    }
    stn_latdb_close(db);
    free(from);
    free(to);
    return status == STN_OK ? 0 : 1;
}
