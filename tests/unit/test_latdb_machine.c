/* What /proc and sysfs say becomes a description; made-up trees, and this machine. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <standin/latdb.h>

static char root[] = "/tmp/latdb-machine-XXXXXX";

static int begin(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : 1;
}

static int end(void **state) {
    char command[80];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* A file of the tree, with the folders that lead to it. */
static void put(const char *path, const char *text) {
    char command[600];
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s%s')\"", root, path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s%s", root, path);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

#define CPU "/sys/devices/system/cpu/"

/* Two packages of two cores with two threads each, as Linux numbers them: 0,4 are one core. */
static void put_server(void) {
    static const char *const siblings[] = {"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"};
    static const char *const packages[] = {"0-1,4-5", "0-1,4-5", "2-3,6-7", "2-3,6-7",
                                           "0-1,4-5", "0-1,4-5", "2-3,6-7", "2-3,6-7"};
    put("/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
        "model name\t: Intel(R) Xeon(R)  Platinum 8480+  \nstepping\t: 8\ncpu MHz\t\t: 2000.5\n"
        "flags\t\t: fpu sse2 avx2 fma f16c avx512f avx512_bf16 amx_int8 avx512fake\n\n"
        "processor\t: 1\nvendor_id\t: GenuineIntel\ncpu MHz\t\t: 3800.0\n");
    put(CPU "online", "0-7\n");
    for (int i = 0; i < 8; i++) {
        char path[100];
        snprintf(path, sizeof path, CPU "cpu%d/topology/thread_siblings_list", i);
        put(path, siblings[i]);
        snprintf(path, sizeof path, CPU "cpu%d/topology/core_siblings_list", i);
        put(path, packages[i]);
    }
    static const char *const caches[4][3] = {{"1", "Data", "48K"},
                                             {"1", "Instruction", "32K"},
                                             {"2", "Unified", "2048K"},
                                             {"3", "Unified", "105M"}};
    static const char *const names[] = {"level", "type", "size"};
    for (int i = 0; i < 4; i++) {
        for (int n = 0; n < 3; n++) {
            char path[100];
            snprintf(path, sizeof path, CPU "cpu0/cache/index%d/%s", i, names[n]);
            put(path, caches[i][n]);
        }
    }
    put(CPU "cpu0/cpufreq/cpuinfo_max_freq", "3800000\n");
    put("/sys/devices/system/memory/block_size_bytes", "80000000\n");
    put("/sys/devices/system/memory/memory0/online", "1\n");
    put("/sys/devices/system/memory/memory17/online", "1\n");
    put("/sys/devices/system/memory/memory_failure", "");
    put("/proc/meminfo", "MemTotal:        3900000 kB\n");
    put("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
}

static void a_server_is_described(void **state) {
    (void)state;
    stn_lat_machine machine;
    stn_err err = {{0}};
    put_server();
    assert_int_equal(stn_lat_machine_detect(&machine, root, &err), STN_OK);
    const stn_lat_hardware *h = &machine.hardware;
    assert_string_equal(h->kind, "cpu");
    assert_string_equal(h->vendor, "GenuineIntel");
    assert_string_equal(h->name, "Intel(R) Xeon(R) Platinum 8480+");
    assert_string_equal(h->revision, "6/143/8");
    assert_string_equal(h->isa, "avx2 fma f16c avx512f avx512_bf16 amx_int8");
    assert_true(h->sockets == 2 && h->cores == 4 && h->threads == 8);
    assert_true(h->l1d_bytes == 48 << 10 && h->l2_bytes == 2 << 20 && h->l3_bytes == 105 << 20);
    assert_true(h->clock_max_hz == 3800000000 && h->clock_hz == 2000500000);
    assert_true(h->memory_bytes == (uint64_t)4 << 30);
    assert_string_equal(h->driver, "Linux 6.1.0-18-amd64");
    assert_true(h->id == stn_lat_hardware_id(h));
}

static void the_moment_does_not_change_the_fingerprint(void **state) {
    (void)state;
    stn_lat_machine machine;
    stn_err err = {{0}};
    assert_int_equal(stn_lat_machine_detect(&machine, root, &err), STN_OK);
    stn_lat_id before = machine.hardware.id;
    put("/proc/sys/kernel/osrelease", "6.9.1\n");
    put("/proc/meminfo", "MemTotal:        3899000 kB\n");
    put("/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
        "model name\t: Intel(R) Xeon(R) Platinum 8480+\nstepping\t: 8\ncpu MHz\t\t: 800\n"
        "flags\t\t: avx2 fma f16c avx512f avx512_bf16 amx_int8 brand_new\n");
    assert_int_equal(stn_lat_machine_detect(&machine, root, &err), STN_OK);
    assert_true(machine.hardware.id == before && machine.hardware.clock_hz == 800000000);
    put("/sys/devices/system/memory/memory18/online", "1\n");
    assert_int_equal(stn_lat_machine_detect(&machine, root, &err), STN_OK);
    assert_true(machine.hardware.id != before);
}

/* ARM says numbers; without sysfs there is less to say. */
static void little_is_enough(void **state) {
    (void)state;
    stn_lat_machine machine;
    stn_err err = {{0}};
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s/*", root);
    assert_int_equal(system(command), 0);
    assert_int_equal(stn_lat_machine_detect(&machine, root, &err), STN_ENOTFOUND);
    assert_non_null(strstr(err.text, "/proc/cpuinfo: describes no processor"));
    put("/proc/cpuinfo",
        "processor\t: 0\nFeatures\t: fp asimd asimddp bf16\nCPU implementer\t: 0x41\n"
        "CPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n\nprocessor\t: 1\n");
    put("/proc/meminfo", "MemTotal:        7900000 kB\nMemFree: 1 kB\n");
    assert_int_equal(stn_lat_machine_detect(&machine, root, &err), STN_OK);
    const stn_lat_hardware *h = &machine.hardware;
    assert_string_equal(h->vendor, "0x41");
    assert_string_equal(h->name, "CPU 0x41 part 0xd40");
    assert_string_equal(h->revision, "0xd40/0x1/1");
    assert_string_equal(h->isa, "asimd asimddp bf16");
    assert_true(h->sockets == 0 && h->cores == 2 && h->threads == 2 && h->l3_bytes == 0);
    assert_true(h->memory_bytes == (uint64_t)31 << 28); /* 7.53 GiB, up to a sixteenth of 4 GiB */
    assert_string_equal(h->driver, "");
}

static void this_machine_is_described(void **state) {
    (void)state;
    stn_lat_machine a;
    stn_lat_machine b;
    stn_err err = {{0}};
    assert_int_equal(stn_lat_machine_detect(&a, "", &err), STN_OK);
    assert_int_equal(stn_lat_machine_detect(&b, "", &err), STN_OK);
    assert_true(a.hardware.id == b.hardware.id);
    assert_true(a.hardware.threads == (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(a.hardware.cores >= 1 && a.hardware.cores <= a.hardware.threads);
    uint64_t seen = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(a.hardware.memory_bytes >= seen && a.hardware.memory_bytes < seen + seen / 4);
    assert_true(strlen(a.hardware.name) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_described),
        cmocka_unit_test(the_moment_does_not_change_the_fingerprint),
        cmocka_unit_test(little_is_enough),
        cmocka_unit_test(this_machine_is_described),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
