/* The store itself, on both backends: what is put is read back, transactions, what is refused,
 * schemas of other versions, failed allocations. */
#include "latdb_lab.h"

#include <sys/stat.h>

#include <sqlite3.h>

/* ---- putting and reading --------------------------------------------- */

static void same_row(const stn_lat_row *a, const stn_lat_row *b) {
    assert_true(a->series == b->series && a->source == b->source);
    assert_memory_equal(a->point, b->point, sizeof a->point);
    const double mine[] = {a->mean_ns, a->median_ns, a->min_ns, a->max_ns, a->std_ns};
    const double theirs[] = {b->mean_ns, b->median_ns, b->min_ns, b->max_ns, b->std_ns};
    for (int i = 0; i < 5; i++) {
        assert_true(mine[i] == theirs[i] || (isnan(mine[i]) && isnan(theirs[i])));
    }
    assert_true(a->count == b->count && a->line == b->line && a->time_s == b->time_s);
}

static void what_is_put_is_read_back(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row put[3] = {lab_row(db, "H100", "head_dim=128,n_head=32", 1, INT64_MAX)};
    put[1] = put[2] = put[0];
    put[1].point[0] = 2;
    put[1].mean_ns = 0.1;
    put[1].median_ns = put[1].min_ns = put[1].max_ns = put[1].std_ns = NAN;
    put[1].count = put[1].line = put[1].time_s = 0;
    put[2].point[0] = 2;
    put[2].point[1] = 5;
    put[2].count = INT64_MAX;
    for (int i = 2; i >= 0; i--) {
        LAB_OK(stn_latdb_row_put(db, &put[i], &err));
    }
    stn_latdb_close(db);
    db = lab_open(STN_LATDB_READ);
    stn_lat_hardware hardware = lab_hardware("H100");
    stn_lat_engine engine = lab_engine();
    stn_lat_signature signature = lab_signature("head_dim=128,n_head=32");
    stn_lat_source source;
    stn_lat_row *rows;
    size_t count;
    LAB_OK(stn_latdb_rows(db, stn_lat_hardware_id(&hardware), stn_lat_engine_id(&engine),
                          stn_lat_signature_id(&signature), &rows, &count, &err));
    assert_int_equal(count, 3);
    same_row(&rows[0], &put[0]); /* by rising point */
    same_row(&rows[1], &put[2]);
    same_row(&rows[2], &put[1]);
    LAB_OK(stn_latdb_source(db, rows[0].source, &source, &err));
    assert_string_equal(source.file, "a.csv");
    assert_string_equal(source.tool, "vllm 0.19.0");
    stn_lat_rows_free(rows);
    stn_latdb_close(db);
}

typedef struct seen {
    int count;
    uint64_t rows;
    bool whole;
} seen;

static stn_status see_series(void *user, const stn_lat_series *series, stn_err *err) {
    seen *s = user;
    stn_lat_hardware hardware = lab_hardware(series->hardware->name);
    stn_lat_engine engine = lab_engine();
    (void)err;
    s->count++;
    s->rows += series->rows;
    s->whole = series->hardware->cores == hardware.cores && series->hardware->threads == 0 &&
               series->hardware->memory_bytes == hardware.memory_bytes &&
               series->hardware->clock_hz == hardware.clock_hz &&
               series->hardware->memory_bytes_per_s == hardware.memory_bytes_per_s &&
               strcmp(series->hardware->driver, "CUDA 12.8") == 0 &&
               strcmp(series->hardware->vendor, "NVIDIA") == 0 &&
               strcmp(series->engine->kernel_source, engine.kernel_source) == 0 &&
               strcmp(series->engine->settings, engine.settings) == 0 &&
               strcmp(series->signature->layout, "gr\xc3\xbc\xc3\x9f") == 0 &&
               strcmp(series->signature->axes, "tokens,kv") == 0;
    return STN_OK;
}

static void hardware_is_kept_apart(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row a = lab_row(db, "H100", "n=1", 1, 1);
    stn_lat_row b = lab_row(db, "A100", "n=1", 1, 1);
    assert_true(a.series != b.series);
    b.median_ns = b.mean_ns = 5000;
    LAB_OK(stn_latdb_row_put(db, &a, &err));
    LAB_OK(stn_latdb_row_put(db, &b, &err));
    stn_lat_hardware hardware[3] = {lab_hardware("H100"), lab_hardware("A100"),
                                    lab_hardware("B200")};
    stn_lat_engine engine = lab_engine();
    stn_lat_signature signature = lab_signature("n=1");
    for (int i = 0; i < 3; i++) {
        stn_lat_row *rows;
        size_t count;
        stn_status status =
            stn_latdb_rows(db, stn_lat_hardware_id(&hardware[i]), stn_lat_engine_id(&engine),
                           stn_lat_signature_id(&signature), &rows, &count, &err);
        assert_int_equal(status, i < 2 ? STN_OK : STN_ENOTFOUND);
        assert_int_equal(count, i < 2 ? 1 : 0);
        assert_true(i == 2 || rows[0].median_ns == (i ? 5000 : 1001.25));
        stn_lat_rows_free(rows);
    }
    seen all = {0};
    LAB_OK(stn_latdb_each_series(db, NULL, see_series, &all, &err));
    assert_true(all.count == 2 && all.rows == 2 && all.whole);
    stn_lat_filter filter = {.hardware = stn_lat_hardware_id(&hardware[1])};
    seen one = {0};
    LAB_OK(stn_latdb_each_series(db, &filter, see_series, &one, &err));
    assert_true(one.count == 1 && one.rows == 1);
    stn_latdb_close(db);
}

static void a_point_is_replaced(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 1, 1);
    LAB_OK(stn_latdb_row_put(db, &row, &err));
    LAB_OK(stn_latdb_begin(db, &err));
    for (int i = 2; i <= 4; i++) { /* several times in one transaction: the last one counts */
        row.count = (uint64_t)i;
        LAB_OK(stn_latdb_row_put(db, &row, &err));
    }
    assert_int_equal(lab_count(db, row.series), 1); /* and is seen before the commit */
    LAB_OK(stn_latdb_commit(db, &err));
    stn_lat_row *rows;
    size_t count;
    LAB_OK(stn_latdb_series_rows(db, row.series, &rows, &count, &err));
    assert_true(count == 1 && rows[0].count == 4);
    stn_lat_rows_free(rows);
    stn_latdb_close(db);
}

typedef struct sum {
    uint64_t rows, counts;
} sum;

static stn_status add_count(void *user, const stn_lat_row *row, stn_err *err) {
    sum *s = user;
    (void)err;
    s->rows++;
    s->counts += row->count;
    return STN_OK;
}

/* Points 0, @p step, 2 * @p step … in one transaction, each twice: first with count 1000. */
static void put_many(stn_latdb *db, stn_lat_row row, int64_t count, int64_t step, uint64_t value) {
    stn_err err = {{0}};
    LAB_OK(stn_latdb_begin(db, &err));
    for (int64_t i = 0; i < 2 * count; i++) {
        /* Not by rising point: 7919 is prime to the counts below. */
        row.point[0] = i % count * 7919 % count * step;
        row.count = i < count ? 1000 : value;
        LAB_OK(stn_latdb_row_put(db, &row, &err));
    }
    LAB_OK(stn_latdb_commit(db, &err));
}

/* PostgreSQL takes rows in bundles of 16384: of new ones, of ones that are there, of both. */
static void many_rows_are_put_and_replaced(void **state) {
    (void)state;
    static const struct {
        int64_t count, step;
        uint64_t value, rows, counts;
    } cases[] = {
        {20000, 2, 1, 20000, 20000},                        /* all new, more than one bundle */
        {20000, 2, 2, 20000, 40000},                        /* all there */
        {10000, 1, 3, 25000, 15000 * 2 + 30000},            /* half of them there */
        {100, 1, 4, 25000, 15000 * 2 + 9900 * 3 + 100 * 4}, /* a small bundle */
    };
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 0, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_many(db, row, cases[i].count, cases[i].step, cases[i].value);
        sum s = {0};
        LAB_OK(stn_latdb_each_row(db, row.series, add_count, &s, &err));
        assert_int_equal(s.rows, cases[i].rows);
        assert_int_equal(s.counts, cases[i].counts);
    }
    LAB_OK(stn_latdb_begin(db, &err));
    for (int64_t i = 0; i < 20000; i++) { /* new and there; all forgotten */
        row.point[0] = 39000 + i;
        LAB_OK(stn_latdb_row_put(db, &row, &err));
    }
    stn_latdb_rollback(db);
    assert_int_equal(lab_count(db, row.series), 25000);
    stn_latdb_close(db);
}

/* ---- transactions ---------------------------------------------------- */

static void what_is_not_committed_is_forgotten(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 1, 1);
    LAB_OK(stn_latdb_begin(db, &err));
    LAB_OK(stn_latdb_row_put(db, &row, &err));
    stn_lat_row fresh = lab_row(db, "A100", "n=2", 1, 1);
    LAB_OK(stn_latdb_row_put(db, &fresh, &err));
    stn_latdb_rollback(db);
    assert_int_equal(lab_count(db, row.series), 0);
    /* Its series is forgotten too: the handle does not take it for stored. */
    assert_int_equal(stn_latdb_row_put(db, &fresh, &err), STN_ENOTFOUND);
    LAB_OK(stn_latdb_begin(db, &err));
    LAB_OK(stn_latdb_row_put(db, &row, &err));
    stn_latdb_close(db); /* rolls back */
    db = lab_open(STN_LATDB_WRITE);
    assert_int_equal(lab_count(db, row.series), 0);
    LAB_OK(stn_latdb_row_put(db, &row, &err)); /* alone: there for good */
    stn_latdb_close(db);
    db = lab_open(STN_LATDB_READ);
    assert_int_equal(lab_count(db, row.series), 1);
    stn_latdb_close(db);
}

static stn_status ask_again(void *user, const stn_lat_row *row, stn_err *err) {
    return stn_latdb_row_put(user, row, err);
}

static stn_status refuse(void *user, const stn_lat_hardware *item, stn_err *err) {
    (void)user;
    (void)item;
    return stn_err_set(err, STN_ECHECK, "enough");
}

static void wrong_use_is_refused(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 1, 1);
    assert_int_equal(stn_latdb_commit(db, &err), STN_ERANGE);
    LAB_OK(stn_latdb_begin(db, &err));
    assert_int_equal(stn_latdb_begin(db, &err), STN_ERANGE);
    LAB_OK(stn_latdb_row_put(db, &row, &err));
    LAB_OK(stn_latdb_commit(db, &err));
    stn_lat_row lost = row;
    lost.series ^= 1;
    assert_int_equal(stn_latdb_row_put(db, &lost, &err), STN_ENOTFOUND);
    assert_non_null(strstr(err.text, "has no series"));
    lost = row;
    lost.source ^= 1;
    assert_int_equal(stn_latdb_row_put(db, &lost, &err), STN_ENOTFOUND);
    assert_int_equal(stn_latdb_each_row(db, row.series, ask_again, db, &err), STN_ERANGE);
    assert_non_null(strstr(err.text, "a callback may not use it"));
    assert_int_equal(stn_latdb_each_hardware(db, refuse, NULL, &err), STN_ECHECK);
    assert_string_equal(err.text, "enough"); /* the callback's own words */
    assert_int_equal(lab_count(db, row.series), 1);
    stn_latdb_close(db);
    db = lab_open(STN_LATDB_READ);
    assert_int_equal(stn_latdb_begin(db, &err), STN_EPERM);
    assert_int_equal(stn_latdb_row_put(db, &row, &err), STN_EPERM);
    stn_latdb_close(db);
    stn_latdb_close(NULL);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row good = lab_row(db, "H100", "n=1", 1, 1);
    const struct {
        double mean, median, low, high, std;
        int64_t point;
        const char *said;
    } cases[] = {
        {-1, 1, 1, 2, 0, 1, "mean_ns is -1 ns"},
        {1, 0, 1, 2, 0, 1, "median_ns is 0 ns"},
        {1, 1, 1, 3.7e12, 0, 1, "max_ns is 3.7e+12 ns"},
        {INFINITY, 1, 1, 2, 0, 1, "mean_ns is inf ns"},
        {NAN, NAN, 1, 2, 0, 1, "neither mean_ns nor median_ns"},
        {2, 2, 3, 4, 0, 1, "min_ns is 3 and median_ns is 2"},
        {2, 2, 1, 1.5, 0, 1, "median_ns is 2 and max_ns is 1.5"},
        {2, 2, 1, 3, -0.5, 1, "std_ns is -0.5"},
        {2, 2, 1, 3, 0, -8, "p0 is -8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_lat_row row = good;
        row.mean_ns = cases[i].mean;
        row.median_ns = cases[i].median;
        row.min_ns = cases[i].low;
        row.max_ns = cases[i].high;
        row.std_ns = cases[i].std;
        row.point[0] = cases[i].point;
        assert_int_equal(stn_latdb_row_put(db, &row, &err), STN_ERANGE);
        if (!strstr(err.text, cases[i].said)) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].said);
        }
    }
    stn_lat_hardware hardware = lab_hardware("H100");
    stn_lat_engine engine = lab_engine();
    stn_lat_signature signature = lab_signature("n=1,k=2"); /* not by rising name */
    stn_lat_id id;
    assert_int_equal(stn_latdb_series_put(db, &hardware, &engine, &signature, &id, &err),
                     STN_ERANGE);
    assert_non_null(strstr(err.text, "signature: dims is \"n=1,k=2\""));
    assert_true(id == 0);
    assert_int_equal(lab_count(db, good.series), 0);
    stn_latdb_close(db);
}

/* ---- schemas --------------------------------------------------------- */

static const stn_lat_migration *two_migrations(stn_lat_migration *out, size_t extra) {
    size_t count;
    out[0] = stn_lat_migrations(&count)[0];
    for (size_t i = 1; i <= extra; i++) {
        out[i] = (stn_lat_migration){(uint32_t)i + 1, "more", "SELECT 1"};
    }
    out[1].sql = "CREATE TABLE more(id BIGINT PRIMARY KEY)@suffix@; ALTER TABLE series ADD COLUMN "
                 "error_pct DOUBLE PRECISION;";
    return out;
}

static void an_older_schema_is_brought_up_and_a_newer_one_refused(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    assert_int_equal(stn_latdb_schema(db), 1);
    stn_lat_row row = lab_row(db, "H100", "n=1", 1, 1);
    LAB_OK(stn_latdb_row_put(db, &row, &err));
    stn_latdb_close(db);
    stn_lat_migration migrations[4];
    two_migrations(migrations, 1);
    LAB_OK(stn_latdb_open_as(&db, lab_place, STN_LATDB_READ, migrations, 2, &err));
    assert_int_equal(stn_latdb_schema(db), 2);
    assert_int_equal(lab_count(db, row.series), 1);
    stn_latdb_close(db);
    assert_int_equal(stn_latdb_open(&db, lab_place, STN_LATDB_WRITE, &err), STN_EUNSUPPORTED);
    assert_null(db);
    assert_non_null(strstr(err.text, "has schema 2, written by a newer standin; this one knows up "
                                     "to 1"));
    /* A migration that fails leaves the schema as it was. */
    migrations[2] =
        (stn_lat_migration){3, "broken", "CREATE TABLE third(a BIGINT); SELECT nothing"};
    assert_int_not_equal(stn_latdb_open_as(&db, lab_place, STN_LATDB_WRITE, migrations, 3, &err),
                         STN_OK);
    assert_non_null(strstr(err.text, "migration 3: "));
    LAB_OK(stn_latdb_open_as(&db, lab_place, STN_LATDB_WRITE, migrations, 2, &err));
    stn_latdb_close(db);
    lab_script("CREATE TABLE third(a BIGINT)"); /* so it was not made */
}

static void what_is_not_ours_is_refused(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db;
    assert_int_equal(stn_latdb_open(&db, lab_place, STN_LATDB_READ, &err), STN_ENOTFOUND);
    assert_int_equal(stn_latdb_open(&db, lab_place, STN_LATDB_WRITE, &err), STN_ENOTFOUND);
    lab_script(lab_postgres ? "CREATE SCHEMA standin; CREATE TABLE standin.orders(a BIGINT)"
                            : "CREATE TABLE orders(a BIGINT)");
    for (int mode = STN_LATDB_READ; mode <= STN_LATDB_CREATE; mode++) {
        assert_int_equal(stn_latdb_open(&db, lab_place, (stn_latdb_mode)mode, &err), STN_EFORMAT);
        assert_non_null(strstr(err.text, "holds tables of another program"));
        assert_null(db);
    }
}

/* ---- failed allocations ---------------------------------------------- */

/* Everything once. @return the first failure's status */
static stn_status use_all(stn_err *err) {
    stn_lat_hardware hardware = lab_hardware("H100");
    stn_lat_engine engine = lab_engine();
    stn_lat_signature signature = lab_signature("n=1");
    stn_lat_source source = lab_source("a.csv");
    stn_lat_row row = {.mean_ns = 5, .median_ns = NAN, .min_ns = NAN, .max_ns = NAN, .std_ns = NAN};
    stn_latdb *db;
    stn_lat_row *rows = NULL;
    size_t count = 0;
    seen all = {0};
    stn_status status = stn_latdb_open(&db, lab_place, STN_LATDB_CREATE, err);
    if (status != STN_OK) {
        assert_null(db);
        return status;
    }
    status = stn_latdb_series_put(db, &hardware, &engine, &signature, &row.series, err);
    status = status == STN_OK ? stn_latdb_source_put(db, &source, &row.source, err) : status;
    status = status == STN_OK ? stn_latdb_row_put(db, &row, err) : status;
    status = status == STN_OK ? stn_latdb_each_series(db, NULL, see_series, &all, err) : status;
    status = status == STN_OK ? stn_latdb_source(db, row.source, &source, err) : status;
    status = status == STN_OK
                 ? stn_latdb_rows(db, stn_lat_hardware_id(&hardware), stn_lat_engine_id(&engine),
                                  stn_lat_signature_id(&signature), &rows, &count, err)
                 : status;
    assert_int_equal(count, status == STN_OK ? 1 : 0);
    stn_lat_rows_free(rows);
    stn_latdb_close(db);
    return status;
}

/* SQLite can do without some of its own: then all is well, and stored. */
static void each_failed_allocation_is_clean(void **state) {
    stn_err err = {{0}};
    uint64_t before = stn_alloc_count();
    uint64_t failures = 0;
    LAB_OK(use_all(&err));
    uint64_t count = stn_alloc_count() - before;
    for (uint64_t nth = 1; nth <= count; nth += nth < 300 ? 1 : 7) { /* SQLite makes thousands */
        lab_fresh(state);
        stn_alloc_fail_at(nth);
        stn_status status = use_all(&err);
        stn_alloc_fail_at(0);
        failures += status != STN_OK;
        if (status != STN_OK && (status != STN_ENOMEM || !strstr(err.text, "out of memory"))) {
            fail_msg("allocation %" PRIu64 ": %s", nth, err.text);
        }
        if (status != STN_OK) {
            LAB_OK(use_all(&err)); /* what failed left nothing in the way */
        }
    }
    assert_true(failures > (lab_postgres ? 10 : 100));
}

/* SQLite's memory is ours: sizes lie before the blocks, as SQLite wants to know them. */
static void *sqlite_malloc(int size) {
    int64_t *block = stn_malloc(sizeof(int64_t) + (size_t)size);
    if (!block) {
        return NULL;
    }
    *block = size;
    return block + 1;
}

static void sqlite_free(void *memory) {
    stn_free(memory ? (int64_t *)memory - 1 : NULL);
}

static void *sqlite_realloc(void *memory, int size) {
    int64_t *block = stn_realloc((int64_t *)memory - 1, sizeof(int64_t) + (size_t)size);
    if (!block) {
        return NULL;
    }
    *block = size;
    return block + 1;
}

static int sqlite_size(void *memory) {
    return (int)((int64_t *)memory)[-1];
}

static int sqlite_round(int size) {
    return (size + 7) & ~7;
}

static int sqlite_init(void *data) {
    (void)data;
    return SQLITE_OK;
}

static void sqlite_shutdown(void *data) {
    (void)data;
}

int main(void) {
    static const sqlite3_mem_methods memory = {sqlite_malloc,   sqlite_free,  sqlite_realloc,
                                               sqlite_size,     sqlite_round, sqlite_init,
                                               sqlite_shutdown, NULL};
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) != SQLITE_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        LAB_CASE(what_is_put_is_read_back),
        LAB_CASE(hardware_is_kept_apart),
        LAB_CASE(a_point_is_replaced),
        LAB_CASE(many_rows_are_put_and_replaced),
        LAB_CASE(what_is_not_committed_is_forgotten),
        LAB_CASE(wrong_use_is_refused),
        LAB_CASE(what_cannot_be_is_refused),
        LAB_CASE(an_older_schema_is_brought_up_and_a_newer_one_refused),
        LAB_CASE(what_is_not_ours_is_refused),
        LAB_CASE(each_failed_allocation_is_clean),
    };
    return LAB_MAIN(tests);
}
