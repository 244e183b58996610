/* CTF: a small trace made here, and the traces of ../shared. */
#include "read_events.h"

#include <sys/types.h>
#include <sys/wait.h>

/* ---- a trace of two packets ------------------------------------------ */

static const char metadata[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.mono.value; } := ts_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex_t;\n"
    "trace { major = 1; minor = 8; byte_order = le;\n"
    "  packet.header := struct { uint32_t magic; }; };\n"
    "env { hostname = \"box\"; tracer_name = \"lttng-modules\"; tracer_major = 2;\n"
    "  tracer_minor = 13; kernel_release = \"4.4.0-1\"; };\n"
    "clock { name = mono; freq = 1000000000; offset_s = 100; offset = 5; absolute = true; };\n"
    "stream {\n"
    "  packet.context := struct { ts_t timestamp_begin; ts_t timestamp_end;\n"
    "    uint64_t content_size; uint64_t packet_size; uint64_t events_discarded;\n"
    "    uint32_t cpu_id; };\n"
    "  event.header := struct { uint8_t id; ts_t timestamp; };\n"
    "};\n"
    "event { id = 0; name = \"sched_switch\"; fields := struct { string prev_comm;\n"
    "  int32_t prev_tid; int32_t prev_state; string next_comm; int32_t next_tid; }; };\n"
    "event { id = 1; name = \"sys_ioctl\"; fields := struct { hex_t arg; }; };\n"
    "event { id = 2; name = \"exit_syscall\"; fields := struct { int32_t ret; }; };\n"
    "event { id = 3; name = \"shapes\"; fields := struct {\n"
    "  struct { uint8_t x; string y; } in; uint8_t __a_length; uint16_t a[__a_length];\n"
    "  enum : uint8_t { ZERO, ONE } tag; variant <tag> { uint8_t ZERO; string ONE; } v;\n"
    "  struct { int32_t z; } s[2]; }; };\n"
    "event { id = 4; name = \"block_rq_issue\"; fields := struct { uint32_t rwbs; }; };\n";

typedef struct bytes {
    unsigned char at[4096];
    size_t size;
} bytes;

static void put(bytes *b, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        b->at[b->size++] = (unsigned char)(value >> (8 * i));
    }
}

static void put_text(bytes *b, const char *text) {
    memcpy(b->at + b->size, text, strlen(text) + 1);
    b->size += strlen(text) + 1;
}

/* Header and context of a packet that begins at @p from; its size is filled in by end. */
static size_t packet_begin(bytes *b, uint64_t begin, uint64_t end, uint64_t discarded,
                           uint32_t cpu) {
    size_t at = b->size;
    put(b, 0xc1fc1fc1, 4);
    put(b, begin, 8);
    put(b, end, 8);
    put(b, 0, 8);
    put(b, 0, 8);
    put(b, discarded, 8);
    put(b, cpu, 4);
    return at;
}

static void packet_end(bytes *b, size_t at) {
    bytes bits = {.size = 0};
    put(&bits, (b->size - at) * 8, 8);
    memcpy(b->at + at + 20, bits.at, 8);
    memcpy(b->at + at + 28, bits.at, 8);
}

static void put_switch(bytes *b, uint64_t time, const char *prev, int prev_tid, uint32_t state,
                       const char *next, int next_tid) {
    put(b, 0, 1);
    put(b, time, 8);
    put_text(b, prev);
    put(b, (uint32_t)prev_tid, 4);
    put(b, state, 4);
    put_text(b, next);
    put(b, (uint32_t)next_tid, 4);
}

static void put_shapes(bytes *b, uint64_t time) {
    put(b, 3, 1);
    put(b, time, 8);
    put(b, 7, 1);
    put_text(b, "why");
    put(b, 2, 1);
    put(b, 10, 2);
    put(b, 65535, 2);
    put(b, 1, 1);
    put_text(b, "chosen");
    put(b, (uint32_t)-1, 4);
    put(b, 9, 4);
}

static void make_stream(bytes *b) {
    size_t at = packet_begin(b, 1000, 2000, 0, 2);
    put(b, 2, 1); /* an exit whose entry nobody saw, of nobody knows whom */
    put(b, 1000, 8);
    put(b, 3, 4);
    put_switch(b, 1100, "swapper/2", 0, 0, "sh", 12);
    put(b, 1, 1);
    put(b, 1200, 8);
    put(b, 0xff, 8);
    put(b, 2, 1);
    put(b, 1300, 8);
    put(b, (uint32_t)-22, 4);
    put_shapes(b, 1400);
    packet_end(b, at);
    at = packet_begin(b, 3000, 4000, 5, 2);
    put(b, 4, 1);
    put(b, 3100, 8);
    put(b, 33, 4);
    put_switch(b, 3200, "sh", 12, 2048, "swapper/2", 0);
    packet_end(b, at);
}

static const char want[] =
    "1000 2 - - sys_exit(exit_syscall) ret=3\n"
    "1100 2 0 swapper/2 sched_switch prev_comm=\"swapper/2\" prev_pid=0 prev_state=0 "
    "next_comm=\"sh\" next_pid=12\n"
    "1200 2 12 sh sys_enter_ioctl(sys_ioctl) arg=0xff\n"
    "1300 2 12 sh sys_exit_ioctl(exit_syscall) ret=-22\n"
    "1400 2 12 sh shapes in.x=7u in.y=\"why\" a=[10 65535]u tag=1u v=\"chosen\" s.0.z=-1 "
    "s.1.z=9\n"
    "3100 2 - - block_rq_issue rwbs=\"WS\"\n"
    "3200 2 12 sh sched_switch prev_comm=\"sh\" prev_pid=12 prev_state=256 "
    "next_comm=\"swapper/2\" next_pid=0\n"
    "4000 2 - - lost_events count=5u begin_ns=2000u\n";

/* ---- folders --------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const void *content, size_t size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, size, file), size);
    fclose(file);
}

/* A folder with the trace in "kernel" below it. */
static void make_trace(char root[64], char trace[128], const char *meta, size_t meta_size,
                       const bytes *stream) {
    snprintf(root, 64, "/tmp/standin-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(trace, 128, "%s/kernel", root);
    assert_int_equal(mkdir(trace, 0700), 0);
    write_file(trace, "metadata", meta, meta_size);
    if (stream) {
        write_file(trace, "chan_2", stream->at, stream->size);
    }
}

static void remove_trace(const char *root, const char *trace) {
    static const char *const names[] = {"metadata", "chan_2"};
    char path[256];
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", trace, names[i]);
        unlink(path);
    }
    rmdir(trace);
    rmdir(root);
}

/* ---- tests ----------------------------------------------------------- */

static void a_small_trace(void **state) {
    char root[64];
    char trace[128];
    bytes stream = {.size = 0};
    shown out;
    (void)state;
    make_stream(&stream);
    make_trace(root, trace, metadata, sizeof metadata - 1, &stream);
    stn_status status = show_trace(&out, root, NULL);
    assert_string_equal(out.err.text, "");
    assert_int_equal(status, STN_END);
    assert_string_equal(out.text, want);
    assert_string_equal(out.meta.format, "ctf");
    assert_string_equal(out.meta.clock, "mono");
    assert_string_equal(out.meta.host, "box");
    assert_string_equal(out.meta.tracer, "lttng-modules 2.13");
    assert_int_equal(out.meta.epoch_ns, 100000000005);
    assert_int_equal(out.meta.event_count, 7);
    assert_int_equal(out.meta.lost_count, 5);
    assert_int_equal(out.meta.lost_marks, 1);
    assert_int_equal(out.meta.cpu_count, 3);
    fail_each_allocation(root, NULL, 400);
    remove_trace(root, trace);
}

/* The metadata above with other events and the tracer @p named, or none. */
static size_t other_metadata(char *out, size_t size, const char *named) {
    const char *env = strstr(metadata, "env {");
    const char *clock = strstr(metadata, "clock {");
    const char *events = strstr(metadata, "event { id = 0");
    return (size_t)snprintf(
        out, size,
        "%.*s%s%.*sevent { id = 0; name = \"sched_wakeup\"; fields := struct {\n"
        "  string comm; int32_t %s; int32_t prio; }; };\n"
        "event { id = 1; name = \"sys_exit\"; fields := struct { int32_t error_code; }; };\n"
        "event { id = 2; name = \"sys_exit_group\"; fields := struct { int32_t error_code; }; };\n",
        (int)(env - metadata), metadata, named, (int)(events - clock), clock,
        strstr(named, "perf") ? "pid" : "tid");
}

/* Whose priorities are LTTng's is told by the tracer's name, else by how threads are called. */
static void tracers_are_told_apart(void **state) {
    static const struct {
        const char *named, *prio;
    } rows[] = {{"", "prio=120"},
                {"env { tracer_name = \"lttng-modules\"; };\n", "prio=120"},
                {"env { tracer_name = \"other\"; };\n", "prio=20"},
                {"env { host = \"perf\"; };\n", "prio=20"}};
    (void)state;
    bytes stream = {.size = 0};
    size_t at = packet_begin(&stream, 1000, 2000, 0, 2);
    put(&stream, 0, 1);
    put(&stream, 1000, 8);
    put_text(&stream, "sh");
    put(&stream, 12, 4);
    put(&stream, 20, 4);
    for (uint64_t id = 1; id <= 2; id++) {
        put(&stream, id, 1);
        put(&stream, 1000 + id, 8);
        put(&stream, 0, 4);
    }
    packet_end(&stream, at);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[4096];
        char root[64];
        char trace[128];
        shown out;
        size_t size = other_metadata(text, sizeof text, rows[i].named);
        make_trace(root, trace, text, size, &stream);
        assert_int_equal(show_trace(&out, root, NULL), STN_END);
        remove_trace(root, trace);
        assert_non_null(strstr(out.text, rows[i].prio));
        assert_non_null(strstr(out.text, " sys_enter_exit(sys_exit) "));
        assert_non_null(strstr(out.text, " sys_enter_exit_group(sys_exit_group) "));
    }
}

static void metadata_without_streams(void **state) {
    char root[64];
    char trace[128];
    shown out;
    (void)state;
    make_trace(root, trace, metadata, sizeof metadata - 1, NULL);
    assert_int_equal(show_trace(&out, root, NULL), STN_END);
    assert_int_equal(out.meta.event_count, 0);
    char file[256];
    snprintf(file, sizeof file, "%s/metadata", trace);
    assert_int_equal(show_trace(&out, file, NULL), STN_EFORMAT);
    assert_non_null(strstr(out.err.text, "a CTF trace is the folder that holds"));
    remove_trace(root, trace);
}

/* libbabeltrace2 2.0.4 leaks when it refuses metadata or a packet; so damaged traces are read
 * in a child, which ends without the sanitizer looking for leaks. 0 is success, else a number
 * of a line. */
static int in_child(int (*body)(void)) {
    pid_t child = fork();
    if (child == 0) {
        _exit(body() != 0);
    }
    int ended = -1;
    return waitpid(child, &ended, 0) == child && ended == 0 ? 0 : -1;
}

#define EXPECT(holds)                                                                              \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            print_error("line %d: %s\n", __LINE__, out.err.text);                                  \
            return __LINE__;                                                                       \
        }                                                                                          \
    } while (0)

static int bad_metadata(void) {
    static const char *const rows[][2] = {
        {"", "metadata: the file is empty (0 bytes)"},
        {"hello", "metadata: begins neither with the magic"},
        {"/* CTF 1.8 */ trace {",
         "libbabeltrace2 does not understand the metadata or a stream's beginning: "},
        {"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = xx; };", "libbabeltrace2"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char root[64];
        char trace[128];
        shown out;
        make_trace(root, trace, rows[i][0], strlen(rows[i][0]), NULL);
        stn_status status = show_trace(&out, root, NULL);
        remove_trace(root, trace);
        EXPECT(status == STN_EFORMAT);
        EXPECT(strstr(out.err.text, root) && strstr(out.err.text, rows[i][1]));
        EXPECT(!strchr(out.err.text, '\n'));
    }
    return 0;
}

static void bad_metadata_is_named(void **state) {
    (void)state;
    assert_int_equal(in_child(bad_metadata), 0);
}

static void a_folder_without_metadata_is_none(void **state) {
    char root[64] = "/tmp/standin-test-XXXXXX";
    shown out;
    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(show_trace(&out, root, NULL), STN_EFORMAT);
    assert_non_null(strstr(out.err.text, "no file 'metadata'"));
    assert_int_equal(show_trace(&out, root, "ctf"), STN_EFORMAT);
    assert_non_null(strstr(out.err.text, "no file 'metadata'"));
    rmdir(root);
}

/* Cut anywhere: an error or, between packets, a shorter trace; what comes before the cut is
 * the same. */
static int cut_streams(void) {
    bytes stream = {.size = 0};
    int errors = 0;
    shown out = {.used = 0};
    make_stream(&stream);
    for (size_t size = 0; size < stream.size; size += 7) {
        char root[64];
        char trace[128];
        bytes cut = stream;
        cut.size = size;
        make_trace(root, trace, metadata, sizeof metadata - 1, &cut);
        stn_status status = show_trace(&out, root, NULL);
        remove_trace(root, trace);
        EXPECT(status == STN_END || status == STN_EFORMAT);
        EXPECT(status == STN_END || strlen(out.err.text) > strlen(root));
        EXPECT(strncmp(out.text, want, out.used) == 0);
        errors += status == STN_EFORMAT;
    }
    EXPECT(errors > 10);
    return 0;
}

static void cut_streams_are_told(void **state) {
    (void)state;
    assert_int_equal(in_child(cut_streams), 0);
}

static int flipped_bits(void) {
    bytes stream = {.size = 0};
    make_stream(&stream);
    for (size_t i = 0; i < stream.size * 8; i += 37) {
        char root[64];
        char trace[128];
        shown out;
        bytes flipped = stream;
        flipped.at[i / 8] ^= (unsigned char)(1u << (i % 8));
        make_trace(root, trace, metadata, sizeof metadata - 1, &flipped);
        stn_status status = show_trace(&out, root, NULL);
        remove_trace(root, trace);
        EXPECT(status == STN_END || status == STN_EFORMAT);
    }
    return 0;
}

static void flipped_bits_are_survived(void **state) {
    (void)state;
    assert_int_equal(in_child(flipped_bits), 0);
}

static void traces_of_others_are_whole(void **state) {
    static const struct {
        const char *name;
        uint64_t events;
        uint32_t cpus;
    } rows[] = {
        {"basic-kernel-analysis", 134500, 2}, {"picotrace", 20, 3},
        {"bandwidth_issue", 1680, 0},         {"bug446190", 31556, 4},
        {"context-switches", 3934, 1},        {"ctf-sequence-empty", 10, 7},
        {"perf-taskset2", 1500, 4},
    };
    char folder[4096];
    (void)state;
    if (!shared_folder(folder, "data/ctf")) {
        skip();
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[4300];
        char command[4400];
        stn_trace_meta meta;
        stn_err err = {{0}};
        uint64_t backwards;
        snprintf(path, sizeof path, "%s/%s", folder, rows[i].name);
        snprintf(command, sizeof command, "babeltrace2 '%s' 2>/dev/null", path);
        assert_int_equal(count_trace(path, NULL, &meta, &backwards, &err), STN_END);
        assert_int_equal(meta.event_count, rows[i].events);
        assert_int_equal(meta.cpu_count, rows[i].cpus);
        assert_int_equal(backwards, 0);
        assert_int_equal(meta.lost_count, 0);
        long long lines = count_lines(command, "");
        if (lines > 0) {
            assert_int_equal(meta.event_count, lines);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_trace),
        cmocka_unit_test(tracers_are_told_apart),
        cmocka_unit_test(metadata_without_streams),
        cmocka_unit_test(bad_metadata_is_named),
        cmocka_unit_test(a_folder_without_metadata_is_none),
        cmocka_unit_test(cut_streams_are_told),
        cmocka_unit_test(flipped_bits_are_survived),
        cmocka_unit_test(traces_of_others_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
