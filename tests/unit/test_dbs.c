/* Where the user's database is, and what he calls the things in it. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/dbs.h"

static char folder[] = "/tmp/dbs-XXXXXX";

static int begin(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int end(void **state) {
    char command[80];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void the_place_is_named_or_the_users_own(void **state) {
    (void)state;
    char place[200];
    char home[200];
    stn_err err = {{0}};
    snprintf(home, sizeof home, "%s/home", folder);
    setenv("HOME", home, 1);
    setenv("XDG_DATA_HOME", "", 1);
    setenv("STANDIN_DB", "", 1);
    snprintf(home, sizeof home, "%s/home/.local/share/standin/latency.db", folder);
    assert_int_equal(stn_db_place(NULL, false, place, sizeof place, &err), STN_OK);
    assert_string_equal(place, home);
    setenv("XDG_DATA_HOME", "/data", 1);
    assert_int_equal(stn_db_place(NULL, false, place, sizeof place, &err), STN_OK);
    assert_string_equal(place, "/data/standin/latency.db");
    setenv("STANDIN_DB", "team.db", 1);
    assert_int_equal(stn_db_place(NULL, false, place, sizeof place, &err), STN_OK);
    assert_string_equal(place, "team.db");
    assert_int_equal(stn_db_place("mine.db", false, place, sizeof place, &err), STN_OK);
    assert_string_equal(place, "mine.db");
    assert_int_equal(stn_db_place("mine.db", false, place, 7, &err), STN_ERANGE);
    unsetenv("XDG_DATA_HOME");
    unsetenv("STANDIN_DB");
}

static void the_users_own_is_made_with_its_folders(void **state) {
    (void)state;
    stn_err err = {{0}};
    stn_latdb *db;
    assert_int_equal(stn_db_open(&db, NULL, STN_LATDB_READ, &err), STN_ENOTFOUND);
    assert_null(db);
    assert_int_equal(stn_db_open(&db, NULL, STN_LATDB_CREATE, &err), STN_OK);
    stn_latdb_close(db);
    assert_int_equal(stn_db_open(&db, NULL, STN_LATDB_READ, &err), STN_OK);
    stn_latdb_close(db);
    setenv("HOME", "/dev/null", 1);
    assert_int_equal(stn_db_open(&db, NULL, STN_LATDB_CREATE, &err), STN_EIO);
    assert_string_equal(err.text, "/dev/null/.local: Not a directory");
    unsetenv("HOME");
    assert_int_equal(stn_db_open(&db, NULL, STN_LATDB_READ, &err), STN_ENOTFOUND);
}

static void sources_are_told(void **state) {
    (void)state;
    static const struct {
        stn_lat_source source;
        uint64_t line;
        const char *text;
    } cases[] = {
        {{.kind = "measured", .format = "", .file = "", .tool = "standin 0.1.0"},
         0,
         "measured by standin 0.1.0"},
        {{.kind = "measured", .format = "", .file = "", .tool = ""}, 0, "measured"},
        {{.kind = "imported", .format = "vidur", .file = "a.csv", .tool = "vllm 0.19.0"},
         12,
         "a.csv:12 (vidur, vllm 0.19.0)"},
        {{.kind = "imported", .format = "vidur", .file = "a.csv", .tool = ""}, 0, "a.csv (vidur)"},
    };
    char text[200];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(stn_db_source_text(&cases[i].source, cases[i].line, text, sizeof text),
                            cases[i].text);
    }
    assert_string_equal(stn_db_source_text(&cases[2].source, 12, text, 8), "a.csv:1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_is_named_or_the_users_own),
        cmocka_unit_test(the_users_own_is_made_with_its_folders),
        cmocka_unit_test(sources_are_told),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
