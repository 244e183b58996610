/* instream, outfile */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "core/data/instream.h"
#include "core/data/outfile.h"

static char folder[] = "/tmp/stn_test_XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    stn_outdir_abort(folder);
    return 0;
}

static const char *in_folder(const char *name) {
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void put_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static size_t files_in_folder(void) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(dir);
    return count;
}

/* 20,000 lines through each encoder and back. */
static void lines_round_trip(void **state) {
    (void)state;
    static const char *const names[] = {"a.txt", "a.txt.gz", "a.txt.zst"};
    for (size_t n = 0; n < 3; n++) {
        stn_err err = {0};
        stn_outfile *out;
        assert_int_equal(stn_outfile_open(&out, in_folder(names[n]), &err), STN_OK);
        for (int i = 0; i < 20000; i++) {
            assert_int_equal(stn_outfile_printf(out, &err, "line %d of some length\n", i), STN_OK);
        }
        assert_int_equal(stn_outfile_commit(out, &err), STN_OK);
        stn_instream *in;
        assert_int_equal(stn_instream_open(&in, in_folder(names[n]), &err), STN_OK);
        char *line, want[64];
        size_t size;
        const char *head;
        assert_int_equal(stn_instream_peek(in, 6, &head, &size, &err), STN_OK);
        assert_memory_equal(head, "line 0", 6);
        for (int i = 0; i < 20000; i++) {
            snprintf(want, sizeof want, "line %d of some length", i);
            assert_int_equal(stn_instream_line(in, &line, &size, &err), STN_OK);
            assert_string_equal(line, want);
        }
        assert_int_equal(stn_instream_line_number(in), 20000);
        assert_int_equal(stn_instream_line(in, &line, &size, &err), STN_END);
        stn_instream_close(in);
    }
}

static void last_line_needs_no_newline(void **state) {
    (void)state;
    stn_err err = {0};
    put_file(in_folder("b"), "one\r\n\ntwo", 9);
    stn_instream *in;
    char *line;
    size_t size;
    assert_int_equal(stn_instream_open(&in, in_folder("b"), &err), STN_OK);
    static const char *const want[] = {"one", "", "two"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stn_instream_line(in, &line, &size, &err), STN_OK);
        assert_string_equal(line, want[i]);
        assert_int_equal(size, strlen(want[i]));
    }
    assert_int_equal(stn_instream_line(in, &line, &size, &err), STN_END);
    stn_instream_close(in);
}

static stn_status read_all(const char *path, stn_err *err) {
    stn_instream *in;
    stn_status status = stn_instream_open(&in, path, err);
    char *line;
    size_t size;
    while (!status) {
        status = stn_instream_line(in, &line, &size, err);
    }
    stn_instream_close(in);
    return status;
}

static void bad_text_is_refused_with_its_line(void **state) {
    (void)state;
    stn_err err = {0};
    put_file(in_folder("nul"), "good\nba\0d\n", 10);
    assert_int_equal(read_all(in_folder("nul"), &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "line 2"));
    size_t size = STN_LINE_MAX + 10;
    char *longer = malloc(size);
    assert_non_null(longer);
    memset(longer, 'x', size);
    memcpy(longer, "ok\n", 3);
    put_file(in_folder("long"), longer, size);
    free(longer);
    assert_int_equal(read_all(in_folder("long"), &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "line 2: longer than"));
    assert_int_equal(read_all(in_folder("missing"), &err), STN_ENOTFOUND);
    assert_int_equal(read_all(folder, &err), STN_EIO);
}

static void cut_compression_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"a.txt.gz", "a.txt.zst"};
    for (size_t n = 0; n < 2; n++) {
        FILE *file = fopen(in_folder(names[n]), "rb");
        assert_non_null(file);
        static char bytes[100000];
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        stn_err err = {0};
        put_file(in_folder("cut"), bytes, size / 2);
        assert_int_equal(read_all(in_folder("cut"), &err), STN_EFORMAT);
        assert_non_null(strstr(err.text, "cut short"));
        memset(bytes + size / 3, 0x55, 64);
        put_file(in_folder("hurt"), bytes, size);
        assert_int_equal(read_all(in_folder("hurt"), &err), STN_EFORMAT);
    }
}

static void aborted_output_leaves_nothing(void **state) {
    (void)state;
    stn_err err = {0};
    stn_outfile *out;
    put_file(in_folder("kept"), "old", 3);
    size_t before = files_in_folder();
    assert_int_equal(stn_outfile_open(&out, in_folder("kept"), &err), STN_OK);
    assert_int_equal(stn_outfile_write(out, "new", 3, &err), STN_OK);
    stn_outfile_abort(out);
    assert_int_equal(files_in_folder(), before);
    assert_int_equal(stn_outfile_open(&out, in_folder("no/such/x"), &err), STN_EIO);
    assert_int_equal(stn_outfile_open(&out, folder, &err), STN_EIO);
    char text[8] = {0};
    int fd = open(in_folder("kept"), O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 3);
    close(fd);
    assert_string_equal(text, "old");
}

static void a_full_disk_is_reported(void **state) {
    (void)state;
    stn_err err = {0};
    stn_outfile *out;
    assert_int_equal(stn_outfile_open(&out, "/dev/full", &err), STN_OK);
    assert_int_equal(stn_outfile_write(out, "x", 1, &err), STN_OK);
    assert_int_equal(stn_outfile_commit(out, &err), STN_EIO);
    assert_non_null(strstr(err.text, "No space left"));
}

static void a_hole_takes_no_room(void **state) {
    (void)state;
    const uint64_t gap = UINT64_C(1) << 33;
    stn_outfile *out;
    stn_err err = {0};
    struct stat holey;
    assert_int_equal(stn_outfile_open(&out, in_folder("holey"), &err), STN_OK);
    assert_int_equal(stn_outfile_write(out, "ab", 2, &err), STN_OK);
    assert_int_equal(stn_outfile_hole(out, gap, &err), STN_OK);
    assert_int_equal(stn_outfile_write(out, "cd", 2, &err), STN_OK);
    assert_int_equal(stn_outfile_hole(out, 5, &err), STN_OK);
    assert_int_equal(stn_outfile_hole(out, UINT64_MAX, &err), STN_EIO);
    assert_int_equal(stn_outfile_commit(out, &err), STN_OK);
    assert_int_equal(stat(in_folder("holey"), &holey), 0);
    assert_int_equal(holey.st_size, gap + 9);
    assert_true(holey.st_blocks * 512 < 1 << 17);
    char tail[8] = "";
    int fd = open(in_folder("holey"), O_RDONLY);
    assert_int_equal(pread(fd, tail, sizeof tail, (off_t)gap), 8);
    assert_memory_equal(tail, "\0\0cd\0\0\0\0", 8);
    close(fd);
    unlink(in_folder("holey"));

    assert_int_equal(stn_outfile_open(&out, in_folder("holey.zst"), &err), STN_OK);
    assert_int_equal(stn_outfile_hole(out, 5, &err), STN_ERANGE);
    stn_outfile_abort(out);
    assert_int_equal(stn_outfile_open(&out, "/dev/null", &err), STN_OK);
    assert_int_equal(stn_outfile_hole(out, 5, &err), STN_ERANGE);
    stn_outfile_abort(out);
}

static void a_folder_appears_whole_or_not_at_all(void **state) {
    (void)state;
    stn_err err = {0};
    const char *path = in_folder("trace");
    char *temporary, inside[300];
    for (int round = 0; round < 2; round++) { /* the second replaces our own first */
        assert_int_equal(stn_outdir_open(path, &temporary, &err), STN_OK);
        snprintf(inside, sizeof inside, "%s/metadata", temporary);
        put_file(inside, "/* standin */", 13);
        assert_int_equal(stn_outdir_commit(temporary, path, "metadata", &err), STN_OK);
        free(temporary);
    }
    mkdir(in_folder("foreign"), 0777);
    put_file(in_folder("foreign/metadata"), "/* other */", 11);
    size_t before = files_in_folder();
    assert_int_equal(stn_outdir_open(in_folder("foreign"), &temporary, &err), STN_OK);
    assert_int_equal(stn_outdir_commit(temporary, in_folder("foreign"), "metadata", &err), STN_EIO);
    stn_outdir_abort(temporary);
    free(temporary);
    assert_int_equal(access(in_folder("foreign/metadata"), F_OK), 0);
    assert_int_equal(files_in_folder(), before);
}

static void each_failed_allocation_is_clean(void **state) {
    (void)state;
    for (uint64_t nth = 1; nth < 20; nth++) {
        stn_err err = {0};
        stn_outfile *out;
        stn_alloc_fail_at(nth);
        stn_status status = stn_outfile_open(&out, in_folder("mem"), &err);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
        if (!status) {
            stn_outfile_abort(out);
        }
        stn_instream *in;
        stn_alloc_fail_at(nth);
        status = stn_instream_open(&in, in_folder("b"), &err);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
        if (!status) {
            stn_instream_close(in);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_round_trip),
        cmocka_unit_test(last_line_needs_no_newline),
        cmocka_unit_test(bad_text_is_refused_with_its_line),
        cmocka_unit_test(cut_compression_is_refused),
        cmocka_unit_test(aborted_output_leaves_nothing),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(a_hole_takes_no_room),
        cmocka_unit_test(a_folder_appears_whole_or_not_at_all),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
