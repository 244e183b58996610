/* Whole databases on both backends: merging, checking, exporting. */
#include "latdb_lab.h"

/* ---- merging --------------------------------------------------------- */

typedef struct conflicts {
    int count;
    int64_t tokens;
    double there_ns, newcomer_ns;
    bool replaced;
} conflicts;

static stn_status note(void *user, const stn_lat_series *series, const stn_lat_row *there,
                       const stn_lat_row *newcomer, bool replaced, stn_err *err) {
    conflicts *c = user;
    (void)err;
    assert_string_equal(series->hardware->name, "H100");
    assert_memory_equal(there->point, newcomer->point, sizeof there->point);
    c->count++;
    c->tokens = there->point[0];
    c->there_ns = there->mean_ns;
    c->newcomer_ns = newcomer->mean_ns;
    c->replaced = replaced;
    return STN_OK;
}

/* On H100 at 1 … @p count tokens. */
static stn_lat_row fill(stn_latdb *db, int64_t count) {
    stn_err err = {{0}};
    stn_lat_row row = lab_row(db, "H100", "n=1", 1, 1);
    for (int64_t i = 1; i <= count; i++) {
        row.point[0] = i;
        LAB_OK(stn_latdb_row_put(db, &row, &err));
    }
    return row;
}

static stn_latdb *open_other(stn_latdb_mode mode) {
    stn_err err = {{0}};
    stn_latdb *db;
    LAB_OK(stn_latdb_open(&db, lab_place2, mode, &err));
    return db;
}

static void a_merge_takes_each_row_once(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *into = lab_open(STN_LATDB_CREATE);
    stn_latdb *from = open_other(STN_LATDB_CREATE);
    fill(into, 5);
    stn_lat_row row = fill(from, 8);
    stn_lat_row other = lab_row(from, "A100", "n=1", 3, 1);
    LAB_OK(stn_latdb_row_put(from, &other, &err));
    stn_lat_merged merged = {0};
    assert_int_equal(stn_latdb_merge(into, from, NULL, NULL, NULL, &merged, &err), STN_ERANGE);
    LAB_OK(stn_latdb_begin(into, &err));
    LAB_OK(stn_latdb_merge(into, from, note, NULL, NULL, &merged, &err));
    LAB_OK(stn_latdb_commit(into, &err));
    assert_true(merged.rows == 9 && merged.added == 4 && merged.duplicates == 5);
    assert_true(merged.conflicts == 0 && merged.replaced == 0);
    assert_int_equal(lab_count(into, row.series), 8); /* the A100's are apart */
    assert_int_equal(lab_count(into, other.series), 1);
    stn_lat_source source;
    LAB_OK(stn_latdb_source(into, other.source, &source, &err));
    stn_latdb_close(from);
    stn_latdb_close(into);
}

static void of_a_conflict_the_row_with_more_executions_stays(void **state) {
    (void)state;
    static const struct {
        uint64_t count;
        bool replaced;
    } cases[] = {{29, false}, {30, false}, {31, true}};
    stn_err err = {{0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_fresh(state);
        stn_latdb *into = lab_open(STN_LATDB_CREATE);
        stn_latdb *from = open_other(STN_LATDB_CREATE);
        stn_lat_row there = fill(into, 4);
        stn_lat_row row = fill(from, 2);
        stn_lat_source source = lab_source("b.csv");
        LAB_OK(stn_latdb_source_put(from, &source, &row.source, &err));
        row.mean_ns = 950;
        row.count = cases[i].count;
        LAB_OK(stn_latdb_row_put(from, &row, &err));
        conflicts c = {0};
        stn_lat_merged merged = {0};
        LAB_OK(stn_latdb_begin(into, &err));
        LAB_OK(stn_latdb_merge(into, from, note, &c, NULL, &merged, &err));
        LAB_OK(stn_latdb_commit(into, &err));
        assert_true(merged.conflicts == 1 && merged.duplicates == 1 && merged.added == 0);
        assert_true(c.count == 1 && c.tokens == 2 && c.newcomer_ns == 950);
        assert_true(c.there_ns == there.mean_ns && c.replaced == cases[i].replaced);
        stn_lat_row *rows;
        size_t count;
        LAB_OK(stn_latdb_series_rows(into, row.series, &rows, &count, &err));
        assert_int_equal(count, 4);
        assert_true((rows[1].mean_ns == 950) == cases[i].replaced);
        LAB_OK(stn_latdb_source(into, rows[1].source, &source, &err)); /* it came along */
        assert_string_equal(source.file, cases[i].replaced ? "b.csv" : "a.csv");
        stn_lat_rows_free(rows);
        stn_latdb_close(from);
        stn_latdb_close(into);
    }
}

static bool stop(void *user, uint64_t done, uint64_t total) {
    (void)total;
    *(uint64_t *)user = done;
    return false;
}

static void long_work_can_be_stopped(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *into = lab_open(STN_LATDB_CREATE);
    stn_latdb *from = open_other(STN_LATDB_CREATE);
    LAB_OK(stn_latdb_begin(from, &err));
    stn_lat_row row = fill(from, 3000);
    LAB_OK(stn_latdb_commit(from, &err));
    uint64_t at = 0;
    uint64_t rows;
    char path[600];
    stn_lat_watch watch = {stop, &at};
    stn_lat_merged merged = {0};
    stn_lat_checked checked;
    LAB_OK(stn_latdb_begin(into, &err));
    assert_int_equal(stn_latdb_merge(into, from, NULL, NULL, &watch, &merged, &err), STN_EINTR);
    assert_int_equal(at, 1024);
    stn_latdb_rollback(into);
    assert_int_equal(lab_count(into, row.series), 0);
    assert_int_equal(stn_latdb_check(from, NULL, NULL, &watch, &checked, &err), STN_EINTR);
    snprintf(path, sizeof path, "%s/rows.csv", lab_folder);
    assert_int_equal(stn_latdb_export_csv(from, NULL, path, &watch, &rows, &err), STN_EINTR);
    assert_int_not_equal(access(path, F_OK), 0); /* there whole or not at all */
    stn_latdb_close(from);
    stn_latdb_close(into);
}

/* ---- checking -------------------------------------------------------- */

typedef struct found {
    int count;
    char text[4096];
} found;

static void add_fault(void *user, const char *fault) {
    found *f = user;
    size_t used = strlen(f->text);
    f->count++;
    snprintf(f->text + used, sizeof f->text - used, "%s\n", fault);
}

static void a_check_finds_what_was_spoilt(void **state) {
    static const struct {
        const char *sql; /* after "SET search_path=standin;" */
        const char *said;
    } cases[] = {
        {"UPDATE latency SET median_ns=-5 WHERE p0=2", "at tokens=2 kv=1: median_ns is -5 ns"},
        {"UPDATE latency SET mean_ns=4e12, max_ns=NULL WHERE p0=2", "mean_ns is 4e+12 ns"},
        {"UPDATE latency SET p4=1 WHERE p0=2", "p4 is 1; the signature has 2 axes"},
        {"UPDATE latency SET p1=-3 WHERE p0=2", "p1 is -3"},
        {"UPDATE latency SET source=77 WHERE p0=2", "refers to source 000000000000004d"},
        {"UPDATE latency SET series=78 WHERE p0=2", "refers to series 000000000000004e"},
        {"UPDATE hardware SET cores=131", "its fingerprint should be"},
        {"UPDATE engine SET settings='x'", "engine: settings is \"x\"; expected name=value"},
        {"UPDATE signature SET dims='n=2'", "its fingerprint should be"},
        {"UPDATE source SET kind='invented'", "source: kind is \"invented\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sql[400];
        stn_err err = {{0}};
        found f = {0};
        lab_fresh(state);
        stn_latdb *db = lab_open(STN_LATDB_CREATE);
        fill(db, 3);
        stn_lat_checked checked;
        LAB_OK(stn_latdb_check(db, add_fault, &f, NULL, &checked, &err));
        assert_true(checked.faults == 0 && f.count == 0 && checked.rows == 3);
        assert_true(checked.hardware == 1 && checked.engines == 1 && checked.signatures == 1 &&
                    checked.sources == 1 && checked.series == 1);
        stn_latdb_close(db);
        snprintf(sql, sizeof sql, "%s%s", lab_postgres ? "SET search_path=standin; " : "",
                 cases[i].sql);
        lab_script(sql);
        db = lab_open(STN_LATDB_READ);
        LAB_OK(stn_latdb_check(db, add_fault, &f, NULL, &checked, &err));
        assert_true(checked.faults >= 1 && (int)checked.faults == f.count);
        if (!strstr(f.text, cases[i].said)) {
            fail_msg("%s: \"%s\" does not say \"%s\"", sql, f.text, cases[i].said);
        }
        stn_latdb_close(db);
    }
}

static void a_merge_of_what_was_spoilt_is_refused(void **state) {
    static const struct {
        const char *sql, *said;
    } cases[] = {
        {"UPDATE hardware SET name='other'", "standin db check says more"},
        {"UPDATE hardware SET kind='tpu'", "hardware: kind is \"tpu\""},
        {"UPDATE latency SET mean_ns=-1", "mean_ns is -1 ns"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_err err = {{0}};
        char sql[200];
        lab_fresh(state);
        stn_latdb *db = lab_open(STN_LATDB_CREATE);
        fill(db, 1);
        stn_latdb_close(db);
        snprintf(sql, sizeof sql, "%s%s", lab_postgres ? "SET search_path=standin; " : "",
                 cases[i].sql);
        lab_script(sql);
        stn_latdb *from = lab_open(STN_LATDB_READ);
        stn_latdb *into = open_other(STN_LATDB_CREATE);
        stn_lat_merged merged = {0};
        LAB_OK(stn_latdb_begin(into, &err));
        assert_int_equal(stn_latdb_merge(into, from, NULL, NULL, NULL, &merged, &err), STN_EFORMAT);
        assert_int_equal(strncmp(err.text, lab_place, strlen(lab_place)), 0);
        if (!strstr(err.text, cases[i].said)) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].said);
        }
        stn_latdb_close(into);
        stn_latdb_close(from);
    }
}

/* ---- exporting ------------------------------------------------------- */

static void rows_are_exported_as_csv(void **state) {
    (void)state;
    static const char expected[] =
        "hardware_kind,hardware_vendor,hardware_name,hardware_revision,hardware_isa,"
        "hardware_sockets,hardware_cores,hardware_threads,hardware_clock_max_hz,"
        "hardware_l1d_bytes,hardware_l2_bytes,hardware_l3_bytes,hardware_memory_bytes,"
        "hardware_clock_hz,hardware_memory_bytes_per_s,hardware_driver,engine_name,"
        "engine_version,engine_backend,engine_kernel_source,engine_settings,kind,dtypes,dims,"
        "layout,axes,p0,p1,p2,p3,p4,p5,mean_ns,median_ns,min_ns,max_ns,std_ns,count,line,time_s,"
        "source_kind,source_format,source_file,source_tool\n"
        "gpu,NVIDIA,H100,,sm_90,,132,,1980000000,,,,85899345920,1755000000,3350000000000,"
        "CUDA 12.8,vllm,0.19.0,FLASH_ATTN,\"say \"\"hi\"\", it's\",\"block_size=16,eager=1\","
        "attention,\"bf16,bf16\",n=1,gr\xc3\xbc\xc3\x9f,\"tokens,kv\",0,1,,,,,1001.5,,900,"
        "1000000000,0.1,30,7,1700000000,imported,vidur,a.csv,vllm 0.19.0\n";
    stn_err err = {{0}};
    char path[600];
    char text[4096];
    uint64_t rows;
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 1, 1);
    row.point[0] = 0;
    row.median_ns = NAN;
    LAB_OK(stn_latdb_row_put(db, &row, &err));
    row = lab_row(db, "A100", "n=1", 1, 1);
    LAB_OK(stn_latdb_row_put(db, &row, &err));
    stn_lat_hardware hardware = lab_hardware("H100");
    stn_lat_filter filter = {.hardware = stn_lat_hardware_id(&hardware)};
    snprintf(path, sizeof path, "%s/rows.csv", lab_folder);
    LAB_OK(stn_latdb_export_csv(db, &filter, path, NULL, &rows, &err));
    assert_int_equal(rows, 1);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
    LAB_OK(stn_latdb_export_csv(db, NULL, path, NULL, &rows, &err));
    assert_int_equal(rows, 2);
    stn_latdb_close(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LAB_CASE(a_merge_takes_each_row_once),
        LAB_CASE(of_a_conflict_the_row_with_more_executions_stays),
        LAB_CASE(long_work_can_be_stopped),
        LAB_CASE(a_check_finds_what_was_spoilt),
        LAB_CASE(a_merge_of_what_was_spoilt_is_refused),
        LAB_CASE(rows_are_exported_as_csv),
    };
    return LAB_MAIN(tests);
}
