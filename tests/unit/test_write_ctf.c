/* CTF as Trace Compass and babeltrace2 want it: metadata, packets, classes, losses. That events
 * come back whole is test_roundtrip.c's. */
#include "fixture.h"

#include "kernel/trace/write_tsdl.h"

static char *metadata_of(fixture *fx, const char *name) {
    const char *path = fx_path(fx, name);
    char inside[200];
    fx_write(fx, path, "ctf");
    snprintf(inside, sizeof inside, "%s/metadata", path);
    return fx_content(inside);
}

static void expect_part(const char *text, const char *part) {
    if (!strstr(text, part)) {
        fail_msg("not in the metadata: %s\n%s", part, text);
    }
}

static size_t count_parts(const char *text, const char *part) {
    size_t count = 0;
    while ((text = strstr(text, part))) {
        text++;
        count++;
    }
    return count;
}

/* What Trace Compass asks for to open a trace as a kernel trace, and to know the CPU. */
static void test_environment_and_context(void **state) {
    fixture *fx = *state;
    snprintf(fx->trace.meta.host, sizeof fx->trace.meta.host, "box");
    fx->trace.meta.epoch_ns = 1700000000000000001;
    fx_add_kernel(fx);
    char *text = metadata_of(fx, "t");
    assert_memory_equal(text, "/* CTF 1.8 */", 13);
    expect_part(text, "domain = \"kernel\";");
    expect_part(text, "tracer_name = \"lttng-modules\";");
    expect_part(text, "tracer_major = 2;\n\ttracer_minor = 13;");
    expect_part(text, "hostname = \"box\";");
    expect_part(text, "offset = 1700000000000000001;");
    expect_part(text, "uint32_t cpu_id;"); /* without an underscore */
    expect_part(text, "uint64_t events_discarded;");
    expect_part(text, "} _tid;\n\t\tstring _procname;");
    free(text);
    struct stat stat_of;
    assert_int_equal(stat(fx_path(fx, "t/channel0_0"), &stat_of), 0);
    assert_int_equal(stat(fx_path(fx, "t/channel0_1"), &stat_of), 0);
}

static void test_lttng_names(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    char *text = metadata_of(fx, "t");
    expect_part(text, "name = \"syscall_entry_read\";");
    expect_part(text, "name = \"syscall_exit_read\";");
    expect_part(text, "name = \"irq_softirq_entry\";");
    expect_part(text, "_prev_tid;");
    expect_part(text, "_next_tid;");
    assert_null(strstr(text, "_prev_pid;"));
    /* The gaps of the second switch are filled. */
    assert_int_equal(count_parts(text, "name = \"sched_switch\";"), 2);
    assert_int_equal(count_parts(text, "_next_comm;"), 2);
    assert_int_equal(count_parts(text, "_prev_prio;"), 2);
    free(text);
}

/* One class per set of fields; a second for integers that do not fit 32 bits, then no third. */
static void test_classes_of_one_name(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "e", NULL, FX_INT("x", 1), FX_INT("y", 1));
    FX_ADD(fx, 2, 0, 1, "a", "e", NULL, FX_INT("x", INT64_MAX), FX_INT("y", 1));
    FX_ADD(fx, 3, 0, 1, "a", "e", NULL, FX_INT("x", 1), FX_INT("y", 1));
    char *text = metadata_of(fx, "t");
    assert_int_equal(count_parts(text, "name = \"e\";"), 2);
    free(text);
    FX_ADD(fx, 4, 0, 1, "a", "e", NULL, FX_UINT("x", 1), FX_INT("y", 1));
    FX_ADD(fx, 5, 0, 1, "a", "e", NULL, FX_INT("x", 1), FX_INT("y", INT64_MIN));
    text = metadata_of(fx, "u");
    assert_int_equal(count_parts(text, "name = \"e\";"), 4);
    free(text);
}

static void test_structures_and_lengths(void **state) {
    static const int64_t items[] = {1, 2};
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "e", NULL, FX_INT("s.x", 1), FX_INT("s.t.y", 2), FX_INT("s.t.z", 2),
           FX_INT("plain", 3), FX_INT("s.late", 4), FX_UINT("_list_length", 2),
           FX_SEQ("list", items, 2, true), FX_INT("a b", 1), FX_INT("a_b", 2));
    char *text = metadata_of(fx, "t");
    expect_part(text, "\t\tstruct {\n");
    expect_part(text, "\t\t} _t;\n\t\t} _s;\n");
    expect_part(text, "_s_late;"); /* the structure had been closed */
    expect_part(text, "_list[ __list_length ];");
    assert_int_equal(count_parts(text, "__list_length;"), 1);
    expect_part(text, "_a_b;");
    expect_part(text, "_a_b_2;");
    free(text);
}

static void test_quoted_names(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "odd \"name\"\\\n", NULL, FX_INT("int", 1));
    char *text = metadata_of(fx, "t");
    expect_part(text, "name = \"odd \\\"name\\\"\\\\?\";");
    expect_part(text, " _int;"); /* a keyword without its underscore */
    free(text);
}

static uint64_t u64_at(const unsigned char *bytes, size_t at, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) {
        value |= (uint64_t)bytes[at + i] << (8 * i);
    }
    return value;
}

/* Header and context of each packet of a file, and where losses are counted. */
static void test_packets(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1000, 3, 1, "a", "e", NULL, FX_INT("x", 1));
    FX_ADD(fx, 2000, 3, 1, "a", "e", NULL, FX_INT("x", 1));
    fx_add_loss(fx, 3000, 3, 7, 2000);
    FX_ADD(fx, 4000, 3, 1, "a", "e", NULL, FX_INT("x", 1));
    static const uint64_t wanted[3][3] = {{1000, 2000, 0}, {2000, 3000, 7}, {4000, 4000, 7}};
    fx_write(fx, fx_path(fx, "t"), "ctf");
    FILE *file = fopen(fx_path(fx, "t/channel0_3"), "r");
    unsigned char bytes[4096];
    size_t size = fread(bytes, 1, sizeof bytes, file), at = 0;
    fclose(file);
    for (size_t i = 0; i < 3; i++) {
        assert_true(at + 84 <= size);
        const unsigned char *packet = bytes + at;
        assert_int_equal(u64_at(packet, 0, 4), 0xc1fc1fc1u);
        assert_memory_equal(packet + 4, bytes + 4, 16); /* one UUID */
        assert_int_equal(u64_at(packet, 24, 8), 3);
        assert_int_equal(u64_at(packet, 32, 8), wanted[i][0]);
        assert_int_equal(u64_at(packet, 40, 8), wanted[i][1]);
        assert_int_equal(u64_at(packet, 48, 8), u64_at(packet, 56, 8));
        assert_int_equal(u64_at(packet, 64, 8), i);
        assert_int_equal(u64_at(packet, 72, 8), wanted[i][2]);
        assert_int_equal(u64_at(packet, 80, 4), 3);
        /* Two bytes of id, four of time, tid, "a", x. */
        assert_int_equal(u64_at(packet, 48, 8), 8 * (84 + 16));
        at += u64_at(packet, 56, 8) / 8;
    }
    assert_int_equal(at, size);
}

/* The short form of an event's time does for 2^32 - 1 ns, not for more. */
static void test_far_apart(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "e", NULL, FX_INT("x", 1));
    FX_ADD(fx, (uint64_t)1 << 32, 0, 1, "a", "e", NULL, FX_INT("x", 1));
    FX_ADD(fx, (uint64_t)1 << 33, 0, 1, "a", "e", NULL, FX_INT("x", 1));
    FX_ADD(fx, UINT64_MAX / 4, 0, 1, "a", "e", NULL, FX_INT("x", 1));
    fx_write(fx, fx_path(fx, "t"), "ctf");
    struct stat stat_of;
    assert_int_equal(stat(fx_path(fx, "t/channel0_0"), &stat_of), 0);
    assert_int_equal(stat_of.st_size, 84 + 2 * 16 + 2 * 24);
    stn_reader *reader;
    stn_event event;
    assert_int_equal(stn_reader_open(&reader, fx_path(fx, "t"), NULL, NULL, fx->catalog, &fx->err),
                     STN_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(stn_reader_next(reader, &event, &fx->err), STN_OK);
        assert_int_equal(event.time_ns, fx->trace.events[i].time_ns);
    }
    stn_reader_close(reader);
}

/* The last time that readers can tell is written and read back; a later one is refused. */
static void test_latest_time(void **state) {
    static const uint64_t epochs[] = {0, 1700000000000000000u};
    fixture *fx = *state;
    for (size_t i = 0; i < 2; i++) {
        stn_trace_meta meta = {.epoch_ns = epochs[i]};
        stn_event event = {.time_ns = INT64_MAX - epochs[i] - 1,
                           .type = stn_catalog_type(fx->catalog, "e", NULL),
                           .tid = 1,
                           .comm = STN_NO_ID};
        stn_writer *writer;
        assert_int_equal(
            stn_writer_open(&writer, fx_path(fx, "t"), "ctf", fx->catalog, &meta, NULL, &fx->err),
            STN_OK);
        assert_int_equal(stn_writer_write(writer, &event, &fx->err), STN_OK);
        assert_int_equal(stn_writer_commit(writer, &fx->err), STN_OK);
        stn_reader *reader;
        stn_event back;
        assert_int_equal(
            stn_reader_open(&reader, fx_path(fx, "t"), NULL, NULL, fx->catalog, &fx->err), STN_OK);
        assert_int_equal(stn_reader_next(reader, &back, &fx->err), STN_OK);
        assert_int_equal(back.time_ns, event.time_ns);
        stn_reader_close(reader);
        assert_int_equal(
            stn_writer_open(&writer, fx_path(fx, "t"), "ctf", fx->catalog, &meta, NULL, &fx->err),
            STN_OK);
        event.time_ns++;
        assert_int_equal(stn_writer_write(writer, &event, &fx->err), STN_EFORMAT);
        assert_non_null(strstr(fx->err.text, "later than CTF can say"));
        stn_writer_abort(writer);
    }
}

/* The same trace gives the same bytes. */
static void test_repeatable(void **state) {
    fixture *fx = *state;
    fx_add_kernel(fx);
    char *one = metadata_of(fx, "one"), *two = metadata_of(fx, "two");
    assert_string_equal(one, two);
    free(one);
    free(two);
}

static void test_user_space_trace(void **state) {
    fixture *fx = *state;
    snprintf(fx->trace.meta.tracer, sizeof fx->trace.meta.tracer, "lttng-ust 2.9");
    FX_ADD(fx, 1, 0, 1, "a", "my:event", NULL, FX_INT("x", 1));
    char *text = metadata_of(fx, "t");
    expect_part(text, "domain = \"ust\";");
    expect_part(text, "tracer_name = \"lttng-ust\";\n\ttracer_major = 2;\n\ttracer_minor = 9;");
    expect_part(text, "name = \"my:event\";");
    free(text);
}

/* Block operations are LTTng's bits where they can be, priorities count as LTTng's do. */
static void test_values_in_lttngs_way(void **state) {
    fixture *fx = *state;
    FX_ADD(fx, 1, 0, 1, "a", "block_rq_issue", NULL, FX_UINT("dev", 1), FX_STR("rwbs", "WS"));
    FX_ADD(fx, 2, 0, 1, "a", "block_rq_issue", NULL, FX_UINT("dev", 1), FX_STR("rwbs", "odd"));
    FX_ADD(fx, 3, 0, 1, "a", "sched_pi_setprio", NULL, FX_INT("oldprio", 120));
    char *text = metadata_of(fx, "t");
    expect_part(text, "base = 10; } _rwbs;");
    expect_part(text, "string _rwbs;");
    free(text);
    FILE *file = fopen(fx_path(fx, "t/channel0_0"), "r");
    unsigned char bytes[512];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(u64_at(bytes, size - 4, 4), 20);
}

int main(void) {
#define ONE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        ONE(test_environment_and_context),
        ONE(test_lttng_names),
        ONE(test_classes_of_one_name),
        ONE(test_structures_and_lengths),
        ONE(test_quoted_names),
        ONE(test_packets),
        ONE(test_far_apart),
        ONE(test_latest_time),
        ONE(test_repeatable),
        ONE(test_user_space_trace),
        ONE(test_values_in_lttngs_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
