/* What this machine can do. Every look leaves things as they are: nothing is mounted,
 * written or started. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <babeltrace2/babeltrace.h>
#include <sqlite3.h>
#include <trace-cmd/trace-cmd.h>

#include <standin/latdb.h>

#include "app/capability.h"
#include "kernel/trace/record.h"
#include "llm/engine/llama.h"

static void set_version(stn_finding *finding, const char *text) {
    snprintf(finding->version, sizeof finding->version, "%s", text);
}

static void look_tracing(stn_finding *finding) {
    static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    struct utsname kernel;
    char path[64];
    int why = ENOENT;
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/instances", roots[i]);
        if (access(path, W_OK | X_OK) == 0) {
            finding->found = true;
            if (uname(&kernel) == 0) {
                snprintf(finding->version, sizeof finding->version, "Linux %s", kernel.release);
            }
            return;
        }
        why = why == ENOENT ? errno : why;
    }
    finding->how = stn_record_way_out(why);
    if (finding->how) {
        snprintf(finding->why, sizeof finding->why, "%s",
                 geteuid() != 0 ? "tracefs may be written by root only"
                                : "tracefs may not be written here");
        return;
    }
    /* Root and not there: not mounted (record mounts it) or not in the kernel. */
    FILE *systems = fopen("/proc/filesystems", "r");
    char line[128];
    bool known = false;
    while (systems && fgets(line, sizeof line, systems)) {
        known = known || strstr(line, "tracefs") != NULL;
    }
    if (systems) {
        fclose(systems);
    }
    finding->found = known;
    snprintf(finding->why, sizeof finding->why, "this kernel has no tracefs");
}

static void look_ctf(stn_finding *finding) {
    finding->found = true; /* linked */
    snprintf(finding->version, sizeof finding->version, "babeltrace2 %u.%u.%u",
             bt_version_get_major(), bt_version_get_minor(), bt_version_get_patch());
}

/* Version in the name of the file that holds @p symbol: "libtracecmd.so.1.3.1" to "1.3.1". */
static void version_of_file(void *symbol, char *out, size_t size) {
    Dl_info info;
    char path[4096];
    out[0] = '\0';
    if (!dladdr(symbol, &info) || !info.dli_fname || !realpath(info.dli_fname, path)) {
        return;
    }
    const char *base = strrchr(path, '/');
    const char *end = base ? strstr(base, ".so.") : NULL;
    if (end) {
        snprintf(out, size, "%s", end + 4);
    }
}

static void look_trace_dat(stn_finding *finding) {
    char version[64];
    union {
        struct tracecmd_input *(*function)(const char *, int);
        void *symbol;
    } open = {.function = tracecmd_open};
    version_of_file(open.symbol, version, sizeof version);
    finding->found = true; /* linked */
    snprintf(finding->version, sizeof finding->version, "libtracecmd %s", version);
}

/* A symbol as a function that takes nothing and returns a text or a number. */
typedef union getter {
    void *symbol;
    const char *(*text)(void);
    int (*number)(void);
} getter;

static void look_openblas(stn_finding *finding) {
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return;
    }
    getter config = {dlsym(library, "openblas_get_config")};
    getter core = {dlsym(library, "openblas_get_corename")};
    getter threads = {dlsym(library, "openblas_get_num_threads")};
    finding->found = config.symbol && core.symbol && threads.symbol;
    if (finding->found) {
        const char *name = config.text();
        int count = threads.number();
        /* "OpenBLAS 0.3.21 NO_AFFINITY …": the first two words. */
        size_t size = strcspn(name, " ");
        size += name[size] ? 1 + strcspn(name + size + 1, " ") : 0;
        snprintf(finding->version, sizeof finding->version, "%.*s, %d thread%s, kernel %s",
                 (int)size, name, count, count == 1 ? "" : "s", core.text());
    }
    /* Not closed: OpenBLAS has threads running. */
}

static void look_sqlite(stn_finding *finding) {
    finding->found = true; /* linked */
    snprintf(finding->version, sizeof finding->version, "SQLite %s", sqlite3_libversion());
}

static void look_postgres(stn_finding *finding) {
    char text[128];
    finding->found = stn_latdb_postgres(text, sizeof text);
    snprintf(finding->found ? finding->version : finding->why, sizeof text, "%s", text);
}

/* The first of @p names that the loader finds; its symbol @p symbol gives the version. */
static void look_library(stn_finding *finding, const char *const *names, const char *symbol) {
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        if (!library) {
            continue;
        }
        getter version = {symbol ? dlsym(library, symbol) : NULL};
        finding->found = true;
        set_version(finding, version.symbol ? version.text() : *names);
        return;
    }
}

/* A library that an npm package of this folder or of the global modules brings. */
static bool look_npm(stn_finding *finding, const char *package, const char *prefix) {
    static const char *const roots[] = {"node_modules", "build/npm/node_modules",
                                        "/usr/local/lib/node_modules", "/usr/lib/node_modules"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", roots[i], package);
        DIR *folder = opendir(path);
        const struct dirent *entry;
        while (folder && !finding->found && (entry = readdir(folder)) != NULL) {
            finding->found = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        }
        if (folder) {
            closedir(folder);
        }
        if (finding->found) {
            snprintf(finding->version, sizeof finding->version, "%.150s", path);
            return true;
        }
    }
    return false;
}

static void look_llama(stn_finding *finding) {
    stn_llama_place place;
    stn_err err = {0};
    stn_status status = stn_llama_find(&place, &err);
    finding->found = status == STN_OK;
    if (status == STN_EUNSUPPORTED) {
        snprintf(finding->why, sizeof finding->why, "%.190s", err.text);
    } else if (finding->found) {
        snprintf(finding->version, sizeof finding->version, "%s%s, %s",
                 place.version[0] ? place.version : "of no known version",
                 place.usable ? "" : " (standin was built without its headers)", place.library);
    }
}

static void look_duckdb(stn_finding *finding) {
    static const char *const names[] = {"libduckdb.so", NULL};
    if (!look_npm(finding, "@duckdb/node-bindings-linux-x64", "libduckdb.so")) {
        look_library(finding, names, "duckdb_library_version");
    }
}

static void look_mpi(stn_finding *finding) {
    void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        return;
    }
    union {
        void *symbol;
        int (*get)(char *text, int *size);
    } version = {dlsym(library, "MPI_Get_library_version")};
    finding->found = true;
    char text[8192] = "libmpi.so.40"; /* MPI_MAX_LIBRARY_VERSION_STRING is 256 … 8192 */
    int size = 0;
    if (version.symbol && version.get(text, &size) == 0) {
        text[strcspn(text, ",\n")] = '\0';
    }
    snprintf(finding->version, sizeof finding->version, "%.150s", text);
}

static const stn_capability rows[] = {
    {"live tracing", "standin kernel record", "sudo mount -t tracefs nodev /sys/kernel/tracing",
     look_tracing},
    {"CTF", "reading LTTng and perf traces", "sudo apt-get install libbabeltrace2-0", look_ctf},
    {"trace.dat", "reading trace-cmd's recordings", "sudo apt-get install libtracecmd1",
     look_trace_dat},
    {"OpenBLAS", "fast training of networks", "sudo apt-get install libopenblas0-pthread",
     look_openblas},
    {"SQLite", "the latency database", "sudo apt-get install libsqlite3-0", look_sqlite},
    {"PostgreSQL", "a latency database that a team shares", "sudo apt-get install libpq5",
     look_postgres},
    {"llama.cpp", "standin llm model --verify", "npm install @node-llama-cpp/linux-x64@3.22.1",
     look_llama},
    {"DuckDB", "Parquet", "npm install @duckdb/node-bindings-linux-x64", look_duckdb},
    {"MPI", "training on several machines", "sudo apt-get install libopenmpi3", look_mpi},
};

const stn_capability *stn_capability_at(uint32_t index) {
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}
