/* Several processes write at once, and some are killed: nothing is lost, nothing is half there. On
 * both backends. */
#include "latdb_lab.h"

#include <signal.h>
#include <sys/mman.h>
#include <time.h>

enum { WRITERS = 4, BATCHES = 25, BATCH = 8 };

static void write_batch(stn_latdb *db, stn_lat_row *row, int64_t tokens, int64_t kv) {
    stn_err err = {{0}};
    LAB_OK(stn_latdb_begin(db, &err));
    for (int i = 0; i < BATCH; i++) {
        row->point[0] = tokens;
        row->point[1] = kv + i;
        LAB_OK(stn_latdb_row_put(db, row, &err));
    }
    LAB_OK(stn_latdb_commit(db, &err));
}

/* Its own points, and each time one that all writers write. */
static int writer(int number) {
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 0, 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        write_batch(db, &row, number + 1, (int64_t)batch * BATCH);
        row.point[0] = 0;
        row.point[1] = 0;
        LAB_OK(stn_latdb_row_put(db, &row, &err));
    }
    stn_latdb_close(db);
    return 0;
}

static void writers_at_once_lose_nothing(void **state) {
    (void)state;
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) { /* they also make the database, all at the same moment */
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            _exit(writer(i));
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        lab_join(children[i]);
    }
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_WRITE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 0, 0);
    assert_int_equal(lab_count(db, row.series), WRITERS * BATCHES * BATCH + 1);
    stn_lat_row *rows;
    size_t count;
    LAB_OK(stn_latdb_series_rows(db, row.series, &rows, &count, &err));
    for (size_t i = 1; i < count; i++) { /* each writer's, in its order, without a gap */
        assert_int_equal(rows[i].point[0], (i - 1) / (BATCHES * BATCH) + 1);
        assert_int_equal(rows[i].point[1], (i - 1) % (BATCHES * BATCH));
    }
    stn_lat_rows_free(rows);
    stn_lat_checked checked;
    LAB_OK(stn_latdb_check(db, NULL, NULL, NULL, &checked, &err));
    assert_int_equal(checked.faults, 0);
    stn_latdb_close(db);
}

/* Write until killed; @p done counts the batches that were committed. */
static void write_on(volatile uint64_t *done) {
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 0, 0);
    for (int64_t batch = 0;; batch++) {
        write_batch(db, &row, 1, batch * BATCH);
        *done = (uint64_t)batch + 1;
    }
}

static void sleep_us(long us) {
    struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

/* A killed writer has written whole batches, at least those that it was told are there. */
static void check_after_kill(uint64_t done) {
    stn_err err = {{0}};
    stn_latdb *db = lab_open(STN_LATDB_WRITE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 0, 0);
    uint64_t count = lab_count(db, row.series);
    assert_int_equal(count % BATCH, 0);
    assert_true(count / BATCH == done || count / BATCH == done + 1);
    stn_lat_checked checked;
    LAB_OK(stn_latdb_check(db, NULL, NULL, NULL, &checked, &err));
    assert_int_equal(checked.faults, 0);
    stn_latdb_close(db);
}

static void a_killed_writer_leaves_whole_batches(void **state) {
    volatile uint64_t *done =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(done != MAP_FAILED);
    for (int round = 0; round < 12; round++) {
        lab_fresh(state);
        *done = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            write_on(done);
        }
        while (!*done) {
            sleep_us(200);
        }
        sleep_us(1000 + 1777 * (long)round);
        int how;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how)); /* killed while it was writing */
        check_after_kill(*done);
    }
    munmap((void *)done, 4096);
}

/* Killed at any moment of making it, a database can still be opened and is made. */
static void a_killed_birth_is_no_harm(void **state) {
    for (int round = 0; round < 12; round++) {
        lab_fresh(state);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            stn_latdb_close(lab_open(STN_LATDB_CREATE));
            _exit(0);
        }
        sleep_us(300 * (long)round);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        stn_latdb *db = lab_open(STN_LATDB_CREATE);
        lab_row(db, "H100", "n=1", 0, 0);
        stn_latdb_close(db);
    }
}

/* Reading goes on beside a writer, and sees whole transactions. */
static void a_reader_sees_whole_transactions(void **state) {
    (void)state;
    stn_latdb *db = lab_open(STN_LATDB_CREATE);
    stn_lat_row row = lab_row(db, "H100", "n=1", 0, 0);
    stn_latdb_close(db);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        db = lab_open(STN_LATDB_WRITE);
        for (int64_t batch = 0; batch < 40; batch++) {
            write_batch(db, &row, 1, batch * BATCH);
        }
        stn_latdb_close(db);
        _exit(0);
    }
    uint64_t count = 0;
    stn_latdb *reader = lab_open(STN_LATDB_READ);
    while (count < 40 * BATCH && waitpid(child, NULL, WNOHANG) == 0) {
        count = lab_count(reader, row.series);
        assert_int_equal(count % BATCH, 0);
    }
    waitpid(child, NULL, 0);
    assert_int_equal(lab_count(reader, row.series), 40 * BATCH);
    stn_latdb_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LAB_CASE(writers_at_once_lose_nothing),
        LAB_CASE(a_killed_writer_leaves_whole_batches),
        LAB_CASE(a_killed_birth_is_no_harm),
        LAB_CASE(a_reader_sees_whole_transactions),
    };
    return LAB_MAIN(tests);
}
