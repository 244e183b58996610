/* How fast a latency database takes and gives rows. Prints one JSON object; bench/latdb.sh makes
 * the page of it.
 *
 *   latdb PLACE ROWS sorted|shuffled
 *
 * ROWS rows of 200 signatures go into a fresh database in one transaction, in the order of their
 * points or in none, as an importer's or as that of merged files; once more, so that each replaces
 * one; then all are read; then single rows are put, each a transaction of its own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <standin/latdb.h>

#include "clock.h"
#include "core/base/rng.h"

enum { SIGNATURES = 200, SINGLES = 200 };

typedef struct work {
    stn_latdb *db;
    stn_lat_id series[SIGNATURES], source;
    uint32_t *order; /* [rows] */
    uint32_t rows;
    double put_s, put_cpu_s, again_s, again_cpu_s, read_s, singles_s;
    uint64_t seen;
} work;

static stn_status put_series(work *w, stn_err *err) {
    stn_lat_hardware hardware = {.kind = "gpu", .name = "made up", .cores = 132};
    stn_lat_engine engine = {.name = "bench"};
    stn_lat_source source = {.kind = "imported", .format = "bench", .file = "bench.csv"};
    stn_status status = stn_latdb_source_put(w->db, &source, &w->source, err);
    for (int i = 0; i < SIGNATURES && status == STN_OK; i++) {
        char dims[32];
        snprintf(dims, sizeof dims, "k=%d,n=4096", 64 * (i + 1));
        stn_lat_signature signature = {
            .kind = "gemm", .dtypes = "bf16,bf16", .dims = dims, .axes = "tokens,kv"};
        status = stn_latdb_series_put(w->db, &hardware, &engine, &signature, &w->series[i], err);
    }
    return status;
}

/* @param pass  another one has other figures: SQLite would not write what stays the same */
static stn_lat_row row_of(const work *w, uint32_t index, uint64_t pass) {
    uint32_t each = (w->rows + SIGNATURES - 1) / SIGNATURES;
    uint32_t point = index % each;
    double ns = 1e3 + 1.7 * point + (double)pass;
    return (stn_lat_row){.series = w->series[index / each],
                         .point = {point / 64, point % 64 * 16},
                         .mean_ns = ns,
                         .median_ns = ns,
                         .min_ns = 0.9 * ns,
                         .max_ns = 1.2 * ns,
                         .std_ns = 0.05 * ns,
                         .count = 30,
                         .source = w->source,
                         .line = index + 2,
                         .time_s = 1700000000};
}

/* All rows in one transaction. */
static stn_status put_all(work *w, uint64_t pass, double *seconds, double *cpu, stn_err *err) {
    double begin = now_s();
    double cpu_begin = cpu_s();
    stn_status status = stn_latdb_begin(w->db, err);
    for (uint32_t i = 0; i < w->rows && status == STN_OK; i++) {
        stn_lat_row row = row_of(w, w->order[i], pass);
        status = stn_latdb_row_put(w->db, &row, err);
    }
    status = status == STN_OK ? stn_latdb_commit(w->db, err) : status;
    *seconds = now_s() - begin;
    *cpu = cpu_s() - cpu_begin;
    return status;
}

static stn_status put_singles(work *w, stn_err *err) {
    double begin = now_s();
    stn_status status = STN_OK;
    for (uint32_t i = 0; i < SINGLES && status == STN_OK; i++) {
        stn_lat_row row = row_of(w, w->order[i % w->rows], 3);
        status = stn_latdb_row_put(w->db, &row, err);
    }
    w->singles_s = now_s() - begin;
    return status;
}

static stn_status see(void *user, const stn_lat_row *row, stn_err *err) {
    (void)err;
    *(uint64_t *)user += row->count == 30;
    return STN_OK;
}

static stn_status read_all(work *w, stn_err *err) {
    double begin = now_s();
    stn_status status = STN_OK;
    for (int i = 0; i < SIGNATURES && status == STN_OK; i++) {
        status = stn_latdb_each_row(w->db, w->series[i], see, &w->seen, err);
    }
    w->read_s = now_s() - begin;
    return status;
}

static stn_status run(work *w, stn_err *err) {
    stn_status status = put_series(w, err);
    status = status == STN_OK ? put_all(w, 1, &w->put_s, &w->put_cpu_s, err) : status;
    status = status == STN_OK ? put_all(w, 2, &w->again_s, &w->again_cpu_s, err) : status;
    status = status == STN_OK ? read_all(w, err) : status;
    status = status == STN_OK ? put_singles(w, err) : status;
    if (status == STN_OK && w->seen != w->rows) {
        status = stn_err_set(err, STN_ECHECK, "%" PRIu64 " rows are there, %" PRIu32 " were put",
                             w->seen, w->rows);
    }
    return status;
}

static bool set_order(work *w, bool shuffled) {
    stn_rng rng;
    stn_rng_init(&rng, 1);
    w->order = malloc(w->rows * sizeof *w->order);
    for (uint32_t i = 0; w->order && i < w->rows; i++) {
        uint32_t at = shuffled ? (uint32_t)stn_rng_below(&rng, i + 1) : i;
        w->order[i] = w->order[at];
        w->order[at] = i;
    }
    return w->order != NULL;
}

int main(int argc, char **argv) {
    stn_err err = {{0}};
    work w = {0};
    struct stat file;
    if (argc != 4 || (w.rows = (uint32_t)strtoul(argv[2], NULL, 10)) < SIGNATURES ||
        !set_order(&w, strcmp(argv[3], "shuffled") == 0)) {
        fprintf(stderr, "usage: latdb PLACE ROWS sorted|shuffled\n");
        return 2;
    }
    stn_status status = stn_latdb_open(&w.db, argv[1], STN_LATDB_CREATE, &err);
    status = status == STN_OK ? run(&w, &err) : status;
    if (status == STN_OK) {
        double size = stat(argv[1], &file) == 0 ? (double)file.st_size : 0;
        printf("{\"backend\":\"%s\",\"rows\":%" PRIu32
               ",\"order\":\"%s\",\"put_rows_per_s\":%.0f,\"put_rows_per_cpu_s\":%.0f,"
               "\"replace_rows_per_s\":%.0f,\"read_rows_per_s\":%.0f,\"single_rows_per_s\":%.0f,"
               "\"bytes_per_row\":%.1f}\n",
               stn_latdb_backend(w.db), w.rows, argv[3], w.rows / w.put_s, w.rows / w.put_cpu_s,
               w.rows / w.again_s, w.rows / w.read_s, SINGLES / w.singles_s, size / w.rows);
    } else {
        fprintf(stderr, "latdb: %s\n", err.text);
    }
    stn_latdb_close(w.db);
    free(w.order);
    return status == STN_OK ? 0 : 1;
}
