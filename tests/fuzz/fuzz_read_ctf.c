/* One packet stream of a CTF trace whose metadata are good: our flattening of whatever the
 * library makes of it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <standin/trace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char metadata[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
    "trace { major = 1; minor = 8; byte_order = le;\n"
    "  packet.header := struct { uint32_t magic; }; };\n"
    "clock { name = mono; freq = 1000000000; };\n"
    "typealias integer { size = 64; align = 8; map = clock.mono.value; } := ts_t;\n"
    "stream { packet.context := struct { uint32_t content_size; uint32_t packet_size;\n"
    "    ts_t timestamp_begin; ts_t timestamp_end; uint8_t events_discarded; uint8_t cpu_id; };\n"
    "  event.header := struct { uint8_t id; ts_t timestamp; }; };\n"
    "event { id = 0; name = \"sched_switch\"; fields := struct { string prev_comm;\n"
    "  int32_t prev_tid; int32_t prev_state; string next_comm; int32_t next_tid; }; };\n"
    "event { id = 1; name = \"sys_read\"; fields := struct { int32_t fd; }; };\n"
    "event { id = 2; name = \"exit_syscall\"; fields := struct { int32_t ret; }; };\n"
    "event { id = 3; name = \"shapes\"; fields := struct { uint8_t __a_length;\n"
    "  uint8_t a[__a_length]; enum : uint8_t { ZERO, ONE } tag;\n"
    "  variant <tag> { uint8_t ZERO; string ONE; } v; struct { int32_t z; } s[2]; }; };\n";

static bool put_file(const char *folder, const char *name, const void *bytes, size_t size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(bytes, 1, size, file) == size;
    return file && fclose(file) == 0 && good;
}

static void read_all(const char *path) {
    stn_catalog *catalog = NULL;
    stn_reader *reader = NULL;
    stn_err err = {{0}};
    stn_event event;
    if (stn_catalog_new(&catalog, &err)) {
        return;
    }
    stn_status status = stn_reader_open(&reader, path, "ctf", NULL, catalog, &err);
    while (!status) {
        status = stn_reader_next(reader, &event, &err);
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
    if (status != STN_END && !err.text[0]) {
        abort(); /* an error without a message */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char folder[] = "/tmp/standin-fuzz-XXXXXX";
    char path[256];
    if (!mkdtemp(folder)) {
        return 0;
    }
    if (put_file(folder, "metadata", metadata, sizeof metadata - 1) &&
        put_file(folder, "chan_0", data, size)) {
        read_all(folder);
    }
    snprintf(path, sizeof path, "%s/metadata", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/chan_0", folder);
    unlink(path);
    rmdir(folder);
    return 0;
}
