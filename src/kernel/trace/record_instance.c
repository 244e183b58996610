/* A tracefs instance of our own. */
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "kernel/trace/record_instance.h"

#define PREFIX          "standin-"
#define DEFAULT_BUFFER  (UINT64_C(64) << 20)
#define CMDLINES_WANTED 16384

/* ---- rights ----------------------------------------------------------- */

static bool lockdown(void) {
    char text[128] = "";
    FILE *file = fopen("/sys/kernel/security/lockdown", "r");
    if (file) {
        if (!fgets(text, sizeof text, file)) {
            text[0] = '\0';
        }
        fclose(file);
    }
    return text[0] && !strstr(text, "[none]");
}

const char *stn_record_way_out(int why) {
    if (geteuid() != 0 && (why == EACCES || why == EPERM || why == ENOENT)) {
        return "run it as root, for example with sudo";
    }
    if (why != EPERM && why != EACCES && why != EROFS) {
        return NULL;
    }
    return lockdown()
               ? "boot with lockdown=none to record"
               : "in a container, start it with --privileged and /sys/kernel/tracing mounted";
}

/* Why tracing is refused, in one sentence with the way out. */
static stn_status refused(stn_err *err, const char *what) {
    int why = errno;
    const char *way_out = stn_record_way_out(why);
    if (!way_out) {
        return stn_err_set(err, STN_EIO, "%s: %s", what, strerror(why));
    }
    if (geteuid() != 0) {
        return stn_err_set(err, STN_EPERM,
                           "recording needs to write to the kernel's tracefs, which root may: %s",
                           way_out);
    }
    return stn_err_set(err, STN_EPERM,
                       lockdown() ? "kernel lockdown forbids %s; %s"
                                  : "%s is not allowed here although we are root: %s",
                       what, way_out);
}

static stn_status find_tracefs(stn_err *err) {
    errno = 0;
    const char *path = tracefs_tracing_dir(); /* mounts it if we may */
    if (!path) {
        if (geteuid() != 0 || errno == EPERM || errno == EACCES) {
            errno = errno ? errno : EACCES;
            return refused(err, "mounting tracefs");
        }
        return stn_err_set(err, STN_EUNSUPPORTED,
                           "this kernel has no tracefs; recording needs one with CONFIG_FTRACE");
    }
    char instances[4096];
    int size = snprintf(instances, sizeof instances, "%s/instances", path);
    if (size < 0 || (size_t)size >= sizeof instances || access(instances, W_OK | X_OK) != 0) {
        return refused(err, "making a tracefs instance");
    }
    return STN_OK;
}

/* ---- what others left behind ------------------------------------------ */

static void destroy(struct tracefs_instance *tracefs) {
    tracefs_trace_off(tracefs);
    tracefs_instance_file_write(tracefs, "events/enable", "0");
    tracefs_instance_destroy(tracefs);
    tracefs_instance_free(tracefs);
}

/* Remove instances of recorders that are no more (killed with SIGKILL). */
static void remove_stale(void) {
    char **names = tracefs_instances(NULL);
    for (int i = 0; names && names[i]; i++) {
        char *end = NULL;
        if (strncmp(names[i], PREFIX, strlen(PREFIX)) != 0) {
            continue;
        }
        long pid = strtol(names[i] + strlen(PREFIX), &end, 10);
        if (*end || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH) {
            continue;
        }
        struct tracefs_instance *old = tracefs_instance_alloc(NULL, names[i]);
        if (old) {
            destroy(old);
        }
    }
    tracefs_list_free(names);
}

/* ---- setting up -------------------------------------------------------- */

static stn_status write_file(const stn_instance *instance, const char *file, const char *text,
                             stn_err *err) {
    errno = 0;
    if (tracefs_instance_file_write(instance->tracefs, file, text) < 0) {
        char what[160];
        snprintf(what, sizeof what, "writing \"%.60s\" to %.60s of tracefs", text, file);
        return refused(err, what);
    }
    return STN_OK;
}

static stn_status set_buffer(const stn_instance *instance, uint64_t size, stn_err *err) {
    char text[32];
    uint64_t kb = ((size ? size : DEFAULT_BUFFER) + 1023) / 1024;
    snprintf(text, sizeof text, "%llu", (unsigned long long)kb);
    errno = 0;
    if (tracefs_instance_file_write(instance->tracefs, "buffer_size_kb", text) >= 0) {
        return STN_OK;
    }
    if (errno == ENOMEM || errno == EINVAL) {
        return stn_err_set(
            err, STN_ENOMEM,
            "the kernel has no room for buffers of %llu kB per CPU; choose less with "
            "--buffer",
            (unsigned long long)kb);
    }
    return refused(err, "setting the size of the buffers");
}

/* A mask as tracefs wants it: hexadecimal, a comma between 32-bit words. */
static stn_status set_cpus(const stn_instance *instance, const stn_record_options *options,
                           stn_err *err) {
    uint32_t words[256] = {0};
    int highest = 0;
    for (size_t i = 0; i < options->cpu_count; i++) {
        int cpu = options->cpus[i];
        if (cpu < 0 || cpu >= 256 * 32 || !stn_instance_has_cpu(instance, cpu)) {
            return stn_err_set(err, STN_ERANGE, "--cpus: this machine has no CPU %d", cpu);
        }
        words[cpu / 32] |= UINT32_C(1) << (cpu % 32);
        highest = cpu > highest ? cpu : highest;
    }
    char text[256 * 9 + 1];
    int at = 0;
    for (int word = highest / 32; word >= 0; word--) {
        at += snprintf(text + at, sizeof text - (size_t)at, "%08x%s", words[word], word ? "," : "");
    }
    return write_file(instance, "tracing_cpumask", text, err);
}

/* Names of processes are kept by the kernel for few of them unless asked. */
static void widen_cmdlines(stn_instance *instance) {
    long long before = 0;
    if (tracefs_instance_file_read_number(NULL, "saved_cmdlines_size", &before) == 0 &&
        before > 0 && before < CMDLINES_WANTED) {
        char text[32];
        snprintf(text, sizeof text, "%d", CMDLINES_WANTED);
        if (tracefs_instance_file_write(NULL, "saved_cmdlines_size", text) >= 0) {
            instance->cmdlines_before = (long)before;
        }
    }
}

/* Events that say what the recorder itself does, which nobody asked about. All others stay:
 * without its switches and the interrupts that hit it, the rest would be out of joint. */
static bool about_self(const char *system) {
    return strcmp(system, "raw_syscalls") == 0 || strcmp(system, "syscalls") == 0 ||
           strcmp(system, "exceptions") == 0;
}

static bool is_enabled(const stn_instance *instance, const char *system, const char *event) {
    for (size_t i = 0; i < instance->enabled_count; i++) {
        if (strcmp(instance->enabled[i].system, system) == 0 &&
            strcmp(instance->enabled[i].event, event) == 0) {
            return true;
        }
    }
    return false;
}

static stn_status enable(stn_instance *instance, const char *system, const char *event,
                         stn_err *err) {
    if (is_enabled(instance, system, event)) {
        return STN_OK;
    }
    if (stn_grow((void *)&instance->enabled, &instance->enabled_capacity,
                 instance->enabled_count + 1, sizeof *instance->enabled) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    if (about_self(system)) {
        char filter[48];
        snprintf(filter, sizeof filter, "common_pid != %d", (int)getpid());
        if (tracefs_event_file_write(instance->tracefs, system, event, "filter", filter) < 0) {
            return refused(err, "setting the filter that leaves out the recorder");
        }
    }
    errno = 0;
    if (tracefs_event_file_write(instance->tracefs, system, event, "enable", "1") < 0) {
        char what[192];
        snprintf(what, sizeof what, "switching on %.60s:%.90s", system, event);
        return refused(err, what);
    }
    stn_enabled *row = &instance->enabled[instance->enabled_count++];
    snprintf(row->system, sizeof row->system, "%s", system);
    snprintf(row->event, sizeof row->event, "%s", event);
    return STN_OK;
}

/* "system:event" of which the event may be a pattern. @p found says how many there are. */
static stn_status enable_pattern(stn_instance *instance, const char *spec, uint32_t *found,
                                 stn_err *err) {
    char system[64];
    const char *colon = strchr(spec, ':');
    *found = 0;
    if (!colon || colon == spec || !colon[1] || (size_t)(colon - spec) >= sizeof system) {
        return STN_OK;
    }
    memcpy(system, spec, (size_t)(colon - spec));
    system[colon - spec] = '\0';
    char **events = strchr(system, '/') ? NULL : tracefs_system_events(NULL, system);
    stn_status status = STN_OK;
    for (int i = 0; status == STN_OK && events && events[i]; i++) {
        if (fnmatch(colon + 1, events[i], 0) == 0) {
            status = enable(instance, system, events[i], err);
            ++*found;
        }
    }
    tracefs_list_free(events);
    return status;
}

static stn_status enable_set(stn_instance *instance, const stn_event_set *set, stn_err *err) {
    for (const char *const *event = set->events; *event; event++) {
        uint32_t found = 0;
        stn_status status = enable_pattern(instance, *event, &found, err);
        if (status != STN_OK) {
            return status;
        }
        instance->missing += found == 0;
    }
    return STN_OK;
}

/* A set, "default" for all sets, or "system:event". */
static stn_status enable_word(stn_instance *instance, const char *word, stn_err *err) {
    bool all = strcmp(word, "default") == 0;
    bool known = all;
    const stn_event_set *set;
    for (uint32_t i = 0; (set = stn_event_set_at(i)) != NULL; i++) {
        if (all || strcmp(set->name, word) == 0) {
            stn_status status = enable_set(instance, set, err);
            if (status != STN_OK) {
                return status;
            }
            known = true;
        }
    }
    if (known) {
        return STN_OK;
    }
    uint32_t found = 0;
    stn_status status = enable_pattern(instance, word, &found, err);
    if (status != STN_OK || found) {
        return status;
    }
    return strchr(word, ':')
               ? stn_err_set(err, STN_ERANGE, "this kernel has no tracepoint %s", word)
               : stn_err_set(
                     err, STN_ERANGE,
                     "no set of events is called \"%s\"; expected default, sched, syscalls, "
                     "irq, timer, block, net or SYSTEM:EVENT",
                     word);
}

static int by_system(const void *a, const void *b) {
    const stn_enabled *x = a;
    const stn_enabled *y = b;
    int order = strcmp(x->system, y->system);
    return order ? order : strcmp(x->event, y->event);
}

static stn_status enable_all(stn_instance *instance, const stn_record_options *options,
                             stn_err *err) {
    stn_status status = STN_OK;
    for (size_t i = 0; status == STN_OK && i < options->event_count; i++) {
        status = enable_word(instance, options->events[i], err);
    }
    if (status == STN_OK && options->event_count == 0) {
        status = enable_word(instance, "default", err);
    }
    if (status == STN_OK && instance->enabled_count == 0) {
        status = stn_err_set(err, STN_ENOTFOUND, "this kernel has none of the tracepoints");
    }
    if (status == STN_OK) {
        qsort(instance->enabled, instance->enabled_count, sizeof *instance->enabled, by_system);
    }
    return status;
}

/* overwrite stays on: only then does the kernel mark in the pages where events were lost. */
static stn_status set_up(stn_instance *instance, const stn_record_options *options, stn_err *err) {
    stn_status status = stn_instance_switch(instance, false, err);
    if (status == STN_OK) {
        status = write_file(instance, "trace_clock", "mono", err);
    }
    if (status == STN_OK) {
        status = set_buffer(instance, options->buffer_size, err);
    }
    if (status == STN_OK && options->cpu_count) {
        status = set_cpus(instance, options, err);
    }
    if (status == STN_OK) {
        /* A reader is woken once half of a buffer is full; older kernels have no such file. */
        tracefs_instance_file_write(instance->tracefs, "buffer_percent", "50");
        status = enable_all(instance, options, err);
    }
    return status;
}

stn_status stn_instance_open(stn_instance *instance, const stn_record_options *options,
                             stn_err *err) {
    stn_status status = find_tracefs(err);
    if (status != STN_OK) {
        return status;
    }
    remove_stale();
    char name[32];
    snprintf(name, sizeof name, PREFIX "%d", (int)getpid());
    errno = 0;
    instance->tracefs = tracefs_instance_create(name);
    if (!instance->tracefs) {
        return refused(err, "making a tracefs instance");
    }
    status = set_up(instance, options, err);
    if (status != STN_OK) {
        stn_instance_close(instance);
        return status;
    }
    widen_cmdlines(instance);
    return STN_OK;
}

stn_status stn_instance_switch(stn_instance *instance, bool on, stn_err *err) {
    return write_file(instance, "tracing_on", on ? "1" : "0", err);
}

bool stn_instance_has_cpu(const stn_instance *instance, int cpu) {
    char name[48];
    snprintf(name, sizeof name, "per_cpu/cpu%d", cpu);
    return tracefs_dir_exists(instance->tracefs, name);
}

/* The number behind @p key of a line "key: 12". */
static uint64_t counter(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

char *stn_instance_counters(stn_instance *instance, int cpu) {
    char name[48];
    snprintf(name, sizeof name, "per_cpu/cpu%d/stats", cpu);
    char *text = tracefs_instance_file_read(instance->tracefs, name, NULL);
    if (text) {
        /* "\noverrun:" is not the one of "commit overrun:", which is lost all the same. */
        instance->lost += counter(text, "\noverrun:") + counter(text, "commit overrun:") +
                          counter(text, "dropped events:");
        instance->read_events += counter(text, "read events:");
    }
    return text;
}

void stn_instance_close(stn_instance *instance) {
    if (instance->tracefs) {
        destroy(instance->tracefs);
    }
    if (instance->cmdlines_before) {
        char text[32];
        snprintf(text, sizeof text, "%ld", instance->cmdlines_before);
        tracefs_instance_file_write(NULL, "saved_cmdlines_size", text);
    }
    stn_free(instance->enabled);
    memset(instance, 0, sizeof *instance);
}
