/* Places that are no database, or cannot be used: one sentence each, and nothing is changed. */
#include "latdb_lab.h"

#include <fcntl.h>
#include <sys/stat.h>

static char folder[] = "/tmp/latdb-places-XXXXXX";

static int begin(void **state) {
    (void)state;
    return mkdtemp(folder) ? chdir(folder) : 1;
}

static int end(void **state) {
    char command[80];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void write_file(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* A file and its bytes. */
typedef struct image {
    char *bytes;
    size_t size;
} image;

static image read_file(const char *path) {
    image i = {malloc(1 << 20), 0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    i.size = fread(i.bytes, 1, 1 << 20, file);
    fclose(file);
    return i;
}

/* Opening @p path fails so in every mode, and leaves it as it was. */
static void refused(const char *path, stn_status status, const char *said) {
    image before = read_file(path);
    for (int mode = STN_LATDB_READ; mode <= STN_LATDB_CREATE; mode++) {
        stn_err err = {{0}};
        stn_latdb *db;
        assert_int_equal(stn_latdb_open(&db, path, (stn_latdb_mode)mode, &err), status);
        assert_null(db);
        if (!strstr(err.text, said) || strncmp(err.text, path, strlen(path)) != 0) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, said);
        }
    }
    image after = read_file(path);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.bytes, after.bytes, after.size);
    free(before.bytes);
    free(after.bytes);
}

/* A database of several hundred rows at @p path. */
static void make(const char *path) {
    stn_err err = {{0}};
    stn_latdb *db;
    LAB_OK(stn_latdb_open(&db, path, STN_LATDB_CREATE, &err));
    LAB_OK(stn_latdb_begin(db, &err));
    stn_lat_row row = lab_row(db, "H100", "n=1", 1, 1);
    for (int i = 0; i < 500; i++) {
        row.point[0] = i;
        LAB_OK(stn_latdb_row_put(db, &row, &err));
    }
    LAB_OK(stn_latdb_commit(db, &err));
    stn_latdb_close(db);
}

static void a_cut_or_foreign_file_is_refused(void **state) {
    (void)state;
    char noise[5000];
    memset(noise, 'x', sizeof noise);
    write_file("noise", noise, sizeof noise);
    refused("noise", STN_EFORMAT, "is not an SQLite database");
    write_file("short", "hello", 5);
    refused("short", STN_EFORMAT, "is not an SQLite database");
    make("whole.db");
    image whole = read_file("whole.db");
    assert_true(whole.size > 40960);
    for (size_t size = 4096; size < whole.size; size += 8192) {
        write_file("cut.db", whole.bytes, size);
        refused("cut.db", STN_EFORMAT, "is cut short or damaged");
    }
    write_file("cut.db", whole.bytes, 100);
    refused("cut.db", STN_EFORMAT, "");
    free(whole.bytes);
    struct stat none;
    assert_int_not_equal(stat("cut.db-journal", &none), 0);
}

static void a_damaged_page_is_found(void **state) {
    (void)state;
    stn_err err = {{0}};
    make("holed.db");
    int fd = open("holed.db", O_WRONLY);
    char zeros[4096] = {0};
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, 12 * 4096), sizeof zeros);
    close(fd);
    stn_latdb *db;
    stn_lat_checked checked;
    LAB_OK(stn_latdb_open(&db, "holed.db", STN_LATDB_READ, &err));
    stn_status status = stn_latdb_check(db, NULL, NULL, NULL, &checked, &err);
    assert_true(status == STN_EFORMAT || (status == STN_OK && checked.faults > 0));
    stn_latdb_close(db);
}

static void an_empty_file_may_become_one(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db;
    write_file("empty.db", "", 0);
    assert_int_equal(stn_latdb_open(&db, "empty.db", STN_LATDB_READ, &err), STN_ENOTFOUND);
    assert_string_equal(err.text, "empty.db: holds no latency database yet");
    make("empty.db");
}

static void places_that_cannot_be(void **state) {
    (void)state;
    static const struct {
        const char *place;
        stn_latdb_mode mode;
        stn_status status;
        const char *said;
    } cases[] = {
        {"", STN_LATDB_CREATE, STN_ERANGE, "a database needs a name"},
        {"none.db", STN_LATDB_READ, STN_ENOTFOUND, "none.db: is not there"},
        {"none.db", STN_LATDB_WRITE, STN_ENOTFOUND, "none.db: is not there"},
        {"nowhere/none.db", STN_LATDB_CREATE, STN_EIO, "nowhere/none.db: SQLite: unable to open"},
        {"/dev/null", STN_LATDB_CREATE, STN_EFORMAT, "/dev/null: is not an ordinary file"},
        {".", STN_LATDB_READ, STN_EFORMAT, ".: is not an ordinary file"},
        {"mysql://host/x", STN_LATDB_CREATE, STN_EUNSUPPORTED, "no database of this kind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_err err = {{0}};
        stn_latdb *db;
        assert_int_equal(stn_latdb_open(&db, cases[i].place, cases[i].mode, &err), cases[i].status);
        if (!strstr(err.text, cases[i].said)) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].said);
        }
    }
    assert_int_not_equal(access("none.db", F_OK), 0);
}

static void a_file_that_others_protect_can_be_read(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db;
    make("kept.db");
    if (geteuid() == 0) {
        printf("root may write anything: only reading is tried\n");
    }
    assert_int_equal(chmod("kept.db", 0444), 0);
    LAB_OK(stn_latdb_open(&db, "kept.db", STN_LATDB_READ, &err));
    stn_latdb_close(db);
    if (geteuid() != 0) {
        assert_int_equal(stn_latdb_open(&db, "kept.db", STN_LATDB_WRITE, &err), STN_EPERM);
        assert_string_equal(err.text, "kept.db: cannot be written to");
    }
}

static void a_password_is_never_shown(void **state) {
    (void)state;
    static const struct {
        const char *place, *shown;
    } cases[] = {
        {"postgresql://me:secret@127.0.0.1:1/x", "postgresql://me:***@127.0.0.1:1/x: "},
        {"postgres://me:s@cret@127.0.0.1:1/x", "postgres://me:***@127.0.0.1:1/x: "},
        {"postgresql://127.0.0.1:1/x?user=me&password=secret&connect_timeout=2",
         "postgresql://127.0.0.1:1/x?user=me&password=***&connect_timeout=2: "},
        {"postgresql://127.0.0.1:1/x?password=s", "postgresql://127.0.0.1:1/x?password=***: "},
        {"postgresql://u:s@127.0.0.1:1/x?password=secret",
         "postgresql://u:***@127.0.0.1:1/x?password=***: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_err err = {{0}};
        stn_latdb *db;
        stn_status status = stn_latdb_open(&db, cases[i].place, STN_LATDB_READ, &err);
        assert_true(status == STN_EIO || status == STN_EUNSUPPORTED);
        assert_int_equal(strncmp(err.text, cases[i].shown, strlen(cases[i].shown)), 0);
        assert_null(strstr(err.text, "secret"));
        assert_null(strchr(err.text, '\n'));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_or_foreign_file_is_refused),
        cmocka_unit_test(a_damaged_page_is_found),
        cmocka_unit_test(an_empty_file_may_become_one),
        cmocka_unit_test(places_that_cannot_be),
        cmocka_unit_test(a_file_that_others_protect_can_be_read),
        cmocka_unit_test(a_password_is_never_shown),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
