/* trace.dat: heads and cuts made here, the files of ../shared, damaged ones. */
#include "read_events.h"

#include "kernel/trace/read_dat_check.h"
#include "kernel/trace/read_dat_pages.h"

/* ---- heads ----------------------------------------------------------- */

static void bad_heads_are_named(void **state) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *want;
    } rows[] = {
        {"", 0, "empty (0 bytes)"},
        {"\x17\x08", 2, "cut short: the magic takes 10 bytes"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\0\0", 11, "decompress it first"},
        {"hello world", 11, "does not begin with trace.dat's magic"},
        {STN_DAT_MAGIC "5\0\0\x08\0\x10\0\0", 18, "version '5'; versions 6 and 7"},
        {STN_DAT_MAGIC "6", 11, "cut short: the version"},
        {STN_DAT_MAGIC "6\0\0\x08\0\x10", 16, "cut short: the page size"},
        {STN_DAT_MAGIC "6\0\0\x05\0\x10\0\0", 18, "damaged: 5 as the size of long"},
        {STN_DAT_MAGIC "6\0\0\x08\x01\x10\0\0", 18, "damaged: 4097 as the page size"},
        {STN_DAT_MAGIC "6\0\0\x08\0\x10\0\0header_pale", 30, "'header_page' expected at offset 18"},
        {STN_DAT_MAGIC "6\0\0\x08\0\x10\0\0header_page\0\xff\0\0\0\0\0\0\0", 38,
         "cut short: header_page takes 255 bytes at offset 38"},
        {STN_DAT_MAGIC "7\0\0\x08\0\x10\0\0none\0\0\xff\0\0\0\0\0\0\0", 32,
         "cut short: the options lies at offset 255"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[64];
        shown out;
        put_file(path, rows[i].bytes, rows[i].size);
        assert_int_not_equal(show_trace(&out, path, "trace.dat"), STN_END);
        if (!strstr(out.err.text, rows[i].want)) {
            assert_string_equal(out.err.text, rows[i].want);
        }
        unlink(path);
    }
}

/* ---- pages ----------------------------------------------------------- */

static void word(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static void pages_are_walked(void **state) {
    static const struct {
        uint32_t commit;
        uint32_t words[4];
        bool good;
    } rows[] = {
        {0, {0}, true},
        {8, {1, 0}, true},                   /* one word of data */
        {8, {2, 0}, false},                  /* two words, one is there */
        {8, {30, 0}, true},                  /* time extend */
        {4, {30}, false},                    /* half of one */
        {16, {0, 12, 0, 0}, true},           /* size in a word */
        {16, {0, 13, 0, 0}, false},          /* beyond the page's end */
        {16, {0, 3, 0, 0}, false},           /* less than itself */
        {16, {29, 0, 0, 0}, true},           /* the rest is empty */
        {16, {29 | 1 << 5, 12, 0, 0}, true}, /* a discarded event */
        {16, {1, 0, 1, 0}, true},            /* two events */
        {12, {1, 0, 1}, false},
        {16 | 1u << 31, {1, 0, 1, 0}, true}, /* events were lost before */
        {4081, {0}, false},                  /* more than the page holds */
    };
    static const stn_dat_layout layout = {.page_size = 4096, .long_size = 8};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned char page[4096] = {0};
        word(page + 8, rows[i].commit);
        for (size_t w = 0; w < 4; w++) {
            word(page + 16 + 4 * w, rows[i].words[w]);
        }
        if (stn_dat_page_check(page, &layout) != rows[i].good) {
            fail_msg("row %zu", i);
        }
    }
}

/* ---- files of others ------------------------------------------------- */

static const struct {
    const char *name;
    uint64_t events;
    uint32_t cpus;
} files[] = {
    {"lisa_rtapp.dat", 7820, 6}, {"labsisop_rr.dat", 12474, 1}, {"trappy_trace.dat", 525, 8}};

static void check_count(const char *path, uint64_t events, uint32_t cpus) {
    char command[4400];
    stn_trace_meta meta;
    stn_err err = {{0}};
    uint64_t backwards;
    stn_status status = count_trace(path, NULL, &meta, &backwards, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, STN_END);
    assert_int_equal(meta.event_count, events);
    assert_int_equal(meta.cpu_count, cpus);
    assert_int_equal(meta.lost_count, 0);
    assert_int_equal(backwards, 0);
    snprintf(command, sizeof command, "trace-cmd report '%s' 2>/dev/null", path);
    long long lines = count_lines(command, "cv"); /* cpus=, version = */
    if (lines > 0) {
        assert_int_equal(meta.event_count, lines);
    }
}

static void files_of_others_are_whole(void **state) {
    char folder[4096];
    (void)state;
    if (!shared_folder(folder, "data/ftrace")) {
        skip();
    }
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[4300];
        char newer[64];
        char command[4600];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        check_count(path, files[i].events, files[i].cpus);
        put_file(newer, "", 0);
        snprintf(command, sizeof command,
                 "trace-cmd convert -i '%s' -o '%s' --file-version 7 >/dev/null 2>&1", path, newer);
        if (system(command) == 0) { // NOLINT(cert-env33-c)
            check_count(newer, files[i].events, files[i].cpus);
        } else {
            print_message("skipped: trace-cmd not there\n");
        }
        unlink(newer);
    }
}

static unsigned char *slurp(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void cut_files_are_refused(void **state) {
    char folder[4096];
    char path[4300];
    size_t size;
    (void)state;
    if (!shared_folder(folder, "data/ftrace")) {
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", folder, files[1].name);
    unsigned char *bytes = slurp(path, &size);
    for (size_t cut = 1; cut < size; cut = cut * 4 + 1) {
        const size_t sizes[] = {cut, size - cut};
        for (size_t i = 0; i < COUNT(sizes); i++) {
            char shorter[64];
            shown out;
            put_file(shorter, bytes, sizes[i]);
            assert_int_equal(show_trace(&out, shorter, "trace.dat"), STN_EFORMAT);
            assert_non_null(strstr(out.err.text, "cut short"));
            unlink(shorter);
        }
    }
    free(bytes);
}

/* Flips where they hurt: in the headers, the formats, the pages. Whatever comes, the process
 * lives and says it in one line. */
static void flipped_bits(void **state) {
    char folder[4096];
    char path[4300];
    size_t size;
    (void)state;
    if (!shared_folder(folder, "data/ftrace")) {
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", folder, files[1].name);
    unsigned char *bytes = slurp(path, &size);
    int refused = 0;
    for (size_t i = 0; i < 12; i++) {
        size_t at = i % 2 ? 917504 + i * 977 : 40 + i * 131;
        unsigned char kept = bytes[at];
        char flipped[64];
        stn_trace_meta meta;
        uint64_t backwards;
        stn_err err = {{0}};
        bytes[at] ^= (unsigned char)(1u << (i % 8));
        put_file(flipped, bytes, size);
        bytes[at] = kept;
        stn_status status = count_trace(flipped, "trace.dat", &meta, &backwards, &err);
        assert_true(status == STN_END || status == STN_EFORMAT || status == STN_EUNSUPPORTED);
        assert_true(status == STN_END || strlen(err.text) > 0);
        refused += status != STN_END;
        unlink(flipped);
    }
    assert_true(refused > 0);
    free(bytes);
}

static void out_of_memory_is_clean(void **state) {
    char folder[4096];
    char path[4300];
    (void)state;
    if (!shared_folder(folder, "data/ftrace")) {
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", folder, files[1].name);
    fail_each_allocation(path, NULL, 24);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_heads_are_named),
        cmocka_unit_test(pages_are_walked),
        cmocka_unit_test(files_of_others_are_whole),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(out_of_memory_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
