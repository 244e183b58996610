/* The CPU of this machine. What a kernel's update or the moment changes stays out of the
 * fingerprint: memory is counted in the blocks that are built in rather than taken from MemTotal,
 * which the kernel's own share makes smaller. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <standin/latdb.h>

enum { VENDOR, NAME, REVISION, ISA, DRIVER, LINE };
#define TEXT_SIZE sizeof(((stn_lat_machine *)0)->text[0])

typedef struct look {
    const char *root;
    stn_lat_hardware *hardware;
    char (*text)[TEXT_SIZE];
} look;

static FILE *open_file(const look *l, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%.300s%.200s", l->root, name);
    return fopen(path, "r");
}

/* The first line of a small file, lent until the next call; "" if there is none. */
static const char *line_of(const look *l, const char *fmt, ...) STN_PRINTF(2, 3);

static const char *line_of(const look *l, const char *fmt, ...) {
    char *line = l->text[LINE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, TEXT_SIZE, fmt, args);
    va_end(args);
    FILE *file = open_file(l, line);
    if (!file || !fgets(line, TEXT_SIZE, file)) {
        line[0] = '\0';
    }
    if (file) {
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* ---- /proc/cpuinfo --------------------------------------------------- */

/* What fast kernels ask for, in the order in which it is written down. */
static const char *const features[] = {
    "avx",         "avx2",        "fma",         "f16c",     "avx_vnni", "avx512f", "avx512bw",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_int8", "amx_bf16", "asimd",   "asimdhp",
    "asimddp",     "sve",         "sve2",        "i8mm",     "bf16",
};

static bool has_word(const char *words, const char *word) {
    size_t size = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += size) {
        if ((at == words || at[-1] == ' ') && (at[size] == ' ' || !at[size])) {
            return true;
        }
    }
    return false;
}

static void take_features(const look *l, const char *words) {
    char *out = l->text[ISA];
    size_t used = 0;
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if (has_word(words, features[i])) {
            int more = snprintf(out + used, TEXT_SIZE - used, "%s%s", used ? " " : "", features[i]);
            used += (size_t)more;
        }
    }
}

/* One processor of /proc/cpuinfo as it is read. */
typedef struct parts {
    char family[24], model[24], stepping[24];
    uint64_t processors;
} parts;

static void copy(char *out, size_t size, const char *value) {
    if (!out[0]) {
        snprintf(out, size, "%.*s", (int)size - 1, value);
    }
}

static void take_entry(const look *l, parts *p, const char *key, const char *value) {
    const struct {
        const char *key;
        char *out;
        size_t size;
    } texts[] = {
        {"vendor_id", l->text[VENDOR], TEXT_SIZE},
        {"CPU implementer", l->text[VENDOR], TEXT_SIZE},
        {"model name", l->text[NAME], TEXT_SIZE},
        {"cpu family", p->family, sizeof p->family},
        {"model", p->model, sizeof p->model},
        {"stepping", p->stepping, sizeof p->stepping},
        {"CPU part", p->family, sizeof p->family},
        {"CPU variant", p->model, sizeof p->model},
        {"CPU revision", p->stepping, sizeof p->stepping},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(key, texts[i].key) == 0) {
            copy(texts[i].out, texts[i].size, value);
        }
    }
    if (strcmp(key, "processor") == 0) {
        p->processors++;
    } else if (strcmp(key, "cpu MHz") == 0 && !l->hardware->clock_hz) {
        l->hardware->clock_hz = (uint64_t)(strtod(value, NULL) * 1e6);
    } else if ((strcmp(key, "flags") == 0 || strcmp(key, "Features") == 0) && !l->text[ISA][0]) {
        take_features(l, value);
    }
}

/* @return false: not there */
static bool read_cpuinfo(const look *l) {
    static const char blanks[] = " \t\n";
    FILE *file = open_file(l, "/proc/cpuinfo");
    char *line = NULL;
    size_t size = 0;
    parts p = {0};
    while (file && getline(&line, &size, file) > 0) {
        char *colon = strchr(line, ':');
        if (colon) {
            char *value = colon + 1 + strspn(colon + 1, blanks);
            value[strcspn(value, "\n")] = '\0';
            while (colon > line && strchr(blanks, colon[-1])) {
                colon--;
            }
            *colon = '\0';
            take_entry(l, &p, line, value);
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
    if (p.family[0]) {
        snprintf(l->text[REVISION], TEXT_SIZE, "%s/%s/%s", p.family, p.model, p.stepping);
    }
    if (!l->text[NAME][0]) { /* ARM says no name */
        snprintf(l->text[NAME], TEXT_SIZE, "CPU %.60s part %s", l->text[VENDOR], p.family);
    }
    l->hardware->threads = l->hardware->cores = p.processors;
    return p.processors > 0;
}

/* ---- sysfs ----------------------------------------------------------- */

#define CPUS "/sys/devices/system/cpu"

/* Is @p cpu the first of a list such as "0,64" or "0-63"? */
static bool leads(const char *list, unsigned cpu) {
    char *end;
    unsigned long first = strtoul(list, &end, 10);
    return end != list && first == cpu;
}

/* A core, and a package, is counted at the first of its processors. */
static void read_topology(const look *l) {
    char online[TEXT_SIZE];
    snprintf(online, sizeof online, "%s", line_of(l, CPUS "/online"));
    uint64_t threads = 0;
    uint64_t cores = 0;
    uint64_t sockets = 0;
    for (char *at = online; isdigit((unsigned char)*at);) {
        unsigned long first = strtoul(at, &at, 10);
        unsigned long last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
        for (unsigned cpu = (unsigned)first; cpu <= last && threads < 65536; cpu++) {
            threads++;
            cores += leads(line_of(l, CPUS "/cpu%u/topology/thread_siblings_list", cpu), cpu);
            sockets += leads(line_of(l, CPUS "/cpu%u/topology/core_siblings_list", cpu), cpu);
        }
        at += *at == ',';
    }
    l->hardware->threads = threads ? threads : l->hardware->threads;
    l->hardware->cores = cores ? cores : l->hardware->threads;
    l->hardware->sockets = sockets;
}

/* "32K", "1M": bytes. */
static uint64_t size_of(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    return *end == 'K'   ? value << 10
           : *end == 'M' ? value << 20
           : *end == 'G' ? value << 30
                         : value;
}

static void read_caches(const look *l) {
    uint64_t *const sizes[] = {NULL, &l->hardware->l1d_bytes, &l->hardware->l2_bytes,
                               &l->hardware->l3_bytes};
    for (unsigned i = 0; i < 16; i++) {
        unsigned long level = strtoul(line_of(l, CPUS "/cpu0/cache/index%u/level", i), NULL, 10);
        bool code = strcmp(line_of(l, CPUS "/cpu0/cache/index%u/type", i), "Instruction") == 0;
        if (level >= 1 && level <= 3 && !code) {
            *sizes[level] = size_of(line_of(l, CPUS "/cpu0/cache/index%u/size", i));
        }
    }
}

/* What the kernel has taken for itself is missing in MemTotal: rounded up to a sixteenth of the
 * power of two below it. */
static uint64_t memory_total(const look *l) {
    uint64_t total = 0;
    const char *line = line_of(l, "/proc/meminfo");
    if (strncmp(line, "MemTotal:", 9) == 0) {
        total = strtoull(line + 9, NULL, 10) << 10;
    }
    uint64_t unit = 1;
    while (unit * 32 <= total) {
        unit *= 2;
    }
    return (total + unit - 1) / unit * unit;
}

/* Memory is cut into blocks of one size, each a folder. */
static void read_memory(const look *l) {
    char path[400];
    uint64_t block = strtoull(line_of(l, "/sys/devices/system/memory/block_size_bytes"), NULL, 16);
    uint64_t blocks = 0;
    snprintf(path, sizeof path, "%.300s/sys/devices/system/memory", l->root);
    DIR *folder = block ? opendir(path) : NULL;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        blocks +=
            strncmp(entry->d_name, "memory", 6) == 0 && isdigit((unsigned char)entry->d_name[6]);
    }
    if (folder) {
        closedir(folder);
    }
    l->hardware->memory_bytes = blocks ? blocks * block : memory_total(l);
}

/* A virtual machine may have padded its names; control characters are no text. */
static void tidy(char *text) {
    size_t size = 0;
    for (const char *at = text; *at; at++) {
        bool blank = *at == ' ' || (unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f;
        if (!blank) {
            text[size++] = *at;
        } else if (size && text[size - 1] != ' ') {
            text[size++] = ' ';
        }
    }
    size -= size && text[size - 1] == ' ';
    text[size] = '\0';
}

stn_status stn_lat_machine_detect(stn_lat_machine *machine, const char *root, stn_err *err) {
    memset(machine, 0, sizeof *machine);
    stn_lat_hardware *hardware = &machine->hardware;
    look l = {root, hardware, machine->text};
    if (!read_cpuinfo(&l)) {
        return stn_err_set(err, STN_ENOTFOUND, "%s/proc/cpuinfo: describes no processor", root);
    }
    read_topology(&l);
    read_caches(&l);
    hardware->clock_max_hz =
        strtoull(line_of(&l, CPUS "/cpu0/cpufreq/cpuinfo_max_freq"), NULL, 10) * 1000;
    read_memory(&l);
    const char *release = line_of(&l, "/proc/sys/kernel/osrelease");
    snprintf(machine->text[DRIVER], TEXT_SIZE, "%s%.200s", release[0] ? "Linux " : "", release);
    for (int i = 0; i < LINE; i++) {
        tidy(machine->text[i]);
    }
    hardware->kind = "cpu";
    hardware->vendor = machine->text[VENDOR];
    hardware->name = machine->text[NAME];
    hardware->revision = machine->text[REVISION];
    hardware->isa = machine->text[ISA];
    hardware->driver = machine->text[DRIVER];
    hardware->id = stn_lat_hardware_id(hardware);
    return STN_OK;
}
