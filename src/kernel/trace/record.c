/* Recording the running kernel: the order of things.
 *
 *   instance made, tracing off          nothing is recorded yet
 *   command forked, waits at a pipe     so that its first instruction is in the trace
 *   tracing on, pipe written            command begins
 *   wait; drain buffers half full       until command, time or user ends it
 *   tracing off, buffers drained
 *   file written, instance removed      on every way out
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "kernel/trace/record_dat.h"

#define WAIT_STEP_MS    1000
#define PAGES_PER_DRAIN 4096

typedef struct recording {
    const char *path; /* where the recording goes */
    const stn_record_options *options;
    stn_record_stats *stats;
    stn_instance instance;
    struct tracefs_cpu **streams; /* [cpu_count], NULL for a CPU that is not there */
    stn_cpu_pages *pages;         /* [cpu_count] */
    struct pollfd *polled;        /* [cpu_count + 1]; the last is the command */
    uint32_t cpu_count;
    char *page;
    uint32_t page_size;
    pid_t child;
    bool child_group; /* the command leads a process group */
    int go;           /* write end: a byte lets the command begin */
    int failure;      /* read end: errno of an exec that failed */
    uint64_t begin_ns;
} recording;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- buffers ----------------------------------------------------------- */

/* A file without a name in the folder of the output. */
static int open_nameless(const char *path) {
    char copy[4096];
    int size = snprintf(copy, sizeof copy, "%s", path);
    if (size < 0 || (size_t)size >= sizeof copy) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const char *folder = dirname(copy);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
        return fd;
    }
    char name[4200];
    snprintf(name, sizeof name, "%s/.standin-XXXXXX", folder);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        unlink(name);
    }
    return fd;
}

static stn_status open_streams(recording *r, const char *path, stn_err *err) {
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    r->cpu_count = configured > 0 ? (uint32_t)configured : 1;
    r->streams = stn_calloc(r->cpu_count, sizeof(struct tracefs_cpu *));
    r->pages = stn_calloc(r->cpu_count, sizeof *r->pages);
    r->polled = stn_calloc(r->cpu_count + 1, sizeof *r->polled);
    if (!r->streams || !r->pages || !r->polled) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    for (uint32_t cpu = 0; cpu < r->cpu_count; cpu++) {
        r->pages[cpu].fd = -1;
    }
    for (uint32_t cpu = 0; cpu < r->cpu_count; cpu++) {
        r->polled[cpu] = (struct pollfd){.fd = -1, .events = POLLIN};
        if (!stn_instance_has_cpu(&r->instance, (int)cpu)) {
            continue;
        }
        r->pages[cpu].fd = open_nameless(path);
        if (r->pages[cpu].fd < 0) {
            return stn_err_set(err, STN_EIO, "%s: no room for a temporary file beside it: %s", path,
                               strerror(errno));
        }
        r->streams[cpu] = tracefs_cpu_open(r->instance.tracefs, (int)cpu, true);
        if (!r->streams[cpu]) {
            return stn_err_set(err, STN_EIO, "tracefs: buffer of CPU %u: %s", cpu, strerror(errno));
        }
        r->page_size = (uint32_t)tracefs_cpu_read_size(r->streams[cpu]);
    }
    r->page = r->page_size ? stn_malloc(r->page_size) : NULL;
    return r->page ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory");
}

/* The raw file behind a CPU's stream, to poll on: libtracefs keeps its own to itself. */
static void open_polled(recording *r) {
    for (uint32_t cpu = 0; cpu < r->cpu_count; cpu++) {
        char name[64];
        snprintf(name, sizeof name, "per_cpu/cpu%u/trace_pipe_raw", cpu);
        if (r->streams[cpu]) {
            r->polled[cpu].fd = tracefs_instance_file_open(r->instance.tracefs, name,
                                                           O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        }
    }
}

static stn_status save_page(const recording *r, stn_cpu_pages *pages, stn_err *err) {
    const char *page = r->page;
    size_t size = r->page_size;
    while (size) {
        ssize_t put = write(pages->fd, page, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return stn_err_set(err, STN_EIO, "%s: cannot keep what was recorded: %s", r->path,
                               strerror(errno));
        }
        page += put;
        size -= (size_t)put;
        pages->size += (uint64_t)put;
    }
    return STN_OK;
}

/* Read out at most @p most pages of a CPU. */
static stn_status drain(recording *r, uint32_t cpu, uint64_t most, stn_err *err) {
    for (uint64_t n = 0; n < most; n++) {
        int got = tracefs_cpu_read(r->streams[cpu], r->page, true);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return STN_OK;
        }
        /* A page that is not full comes back short on some kernels: the file wants whole ones. */
        if ((uint32_t)got < r->page_size) {
            memset(r->page + got, 0, r->page_size - (uint32_t)got);
        }
        stn_status status = save_page(r, &r->pages[cpu], err);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

static stn_status drain_all(recording *r, stn_err *err) {
    stn_status status = STN_OK;
    for (uint32_t cpu = 0; status == STN_OK && cpu < r->cpu_count; cpu++) {
        if (r->streams[cpu]) {
            status = drain(r, cpu, UINT64_MAX, err);
            r->pages[cpu].counters = stn_instance_counters(&r->instance, (int)cpu);
        }
    }
    return status;
}

/* ---- the command ------------------------------------------------------- */

static void become_command(const stn_record_options *options, int go, int failure, bool group) {
    if (group) {
        setpgid(0, 0);
    }
    static const int reset[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++) {
        signal(reset[i], SIG_DFL);
    }
    if (options->cpu_count) {
        cpu_set_t *set = CPU_ALLOC(8192);
        size_t size = CPU_ALLOC_SIZE(8192);
        if (set) {
            CPU_ZERO_S(size, set);
            for (size_t i = 0; i < options->cpu_count; i++) {
                CPU_SET_S((size_t)options->cpus[i], size, set);
            }
            sched_setaffinity(0, size, set);
            CPU_FREE(set);
        }
    }
    char byte;
    if (read(go, &byte, 1) != 1) {
        _exit(0); /* the recorder gave up */
    }
    execvp(options->command[0], (char *const *)options->command);
    int why = errno;
    if (write(failure, &why, sizeof why) != (ssize_t)sizeof why) {
        _exit(126);
    }
    _exit(127);
}

static stn_status fork_command(recording *r, stn_err *err) {
    int go[2];
    int failure[2];
    if (pipe2(go, O_CLOEXEC) != 0) {
        return stn_err_set(err, STN_EIO, "pipe: %s", strerror(errno));
    }
    if (pipe2(failure, O_CLOEXEC) != 0) {
        close(go[0]);
        close(go[1]);
        return stn_err_set(err, STN_EIO, "pipe: %s", strerror(errno));
    }
    /* A command that may read the terminal must stay in the terminal's process group. */
    r->child_group = !isatty(STDIN_FILENO);
    r->child = fork();
    if (r->child == 0) {
        close(go[1]);
        close(failure[0]);
        become_command(r->options, go[0], failure[1], r->child_group);
    }
    close(go[0]);
    close(failure[1]);
    r->go = go[1];
    r->failure = failure[0];
    return r->child > 0 ? STN_OK : stn_err_set(err, STN_EIO, "fork: %s", strerror(errno));
}

/* Let the command begin. @return STN_ENOTFOUND if there is no such program */
static stn_status start_command(recording *r, stn_err *err) {
    int why = 0;
    ssize_t got = write(r->go, "g", 1);
    if (got == 1) {
        do {
            got = read(r->failure, &why, sizeof why);
        } while (got < 0 && errno == EINTR);
    }
    close(r->go);
    r->go = -1;
    if (got == (ssize_t)sizeof why) {
        return stn_err_set(err, why == ENOENT ? STN_ENOTFOUND : STN_EIO, "%s: cannot be run: %s",
                           r->options->command[0], strerror(why));
    }
    r->stats->command_ran = true;
    /* Readable once the command ends; without it (old kernel) the wait steps are short. */
    r->polled[r->cpu_count].fd = (int)syscall(SYS_pidfd_open, r->child, 0);
    r->polled[r->cpu_count].events = POLLIN;
    return STN_OK;
}

static bool command_ended(recording *r) {
    if (r->child <= 0) {
        return true;
    }
    pid_t got = waitpid(r->child, &r->stats->command_status, WNOHANG);
    if (got == r->child || (got < 0 && errno == ECHILD)) {
        r->child = 0;
        return true;
    }
    return false;
}

/* End the command if it still runs: politely, then for good. */
static void end_command(recording *r) {
    if (r->go >= 0) {
        close(r->go); /* it still waits: it sees the end of the pipe and leaves */
        r->go = -1;
    } else if (!command_ended(r)) {
        kill(r->child_group ? -r->child : r->child, SIGTERM);
    }
    for (int i = 0; i < 200 && !command_ended(r); i++) {
        struct timespec nap = {0, 10000000};
        nanosleep(&nap, NULL);
    }
    if (!command_ended(r)) {
        kill(r->child_group ? -r->child : r->child, SIGKILL);
        waitpid(r->child, &r->stats->command_status, 0);
        r->child = 0;
    }
}

/* ---- the recording ----------------------------------------------------- */

static int step_ms(const recording *r, uint64_t done_ns) {
    int step = r->child > 0 && r->polled[r->cpu_count].fd < 0 ? 50 : WAIT_STEP_MS;
    if (r->options->duration_ns) {
        uint64_t left_ms = (r->options->duration_ns - done_ns) / 1000000 + 1;
        step = left_ms < (uint64_t)step ? (int)left_ms : step;
    }
    return step;
}

static stn_status wait_for_end(recording *r, stn_progress_fn progress, void *user, stn_err *err) {
    for (;;) {
        uint64_t done_ns = now_ns() - r->begin_ns;
        if (progress && !progress(user, done_ns, r->options->duration_ns)) {
            r->stats->stopped = true;
            return STN_OK;
        }
        if (r->options->duration_ns && done_ns >= r->options->duration_ns) {
            return STN_OK;
        }
        if (r->options->command && command_ended(r)) {
            return STN_OK;
        }
        int ready = poll(r->polled, r->cpu_count + 1, step_ms(r, done_ns));
        for (uint32_t cpu = 0; ready > 0 && cpu < r->cpu_count; cpu++) {
            if (r->polled[cpu].revents & POLLIN) {
                stn_status status = drain(r, cpu, PAGES_PER_DRAIN, err);
                if (status != STN_OK) {
                    return status;
                }
            }
        }
    }
}

static stn_status run(recording *r, stn_progress_fn progress, void *user, stn_err *err) {
    stn_status status = STN_OK;
    if (r->options->command) {
        status = fork_command(r, err);
    }
    if (status == STN_OK) {
        status = stn_instance_switch(&r->instance, true, err);
    }
    r->begin_ns = now_ns();
    if (status == STN_OK && r->options->command) {
        status = start_command(r, err);
    }
    if (status == STN_OK) {
        status = wait_for_end(r, progress, user, err);
    }
    r->stats->duration_ns = now_ns() - r->begin_ns;
    stn_err late = {{0}};
    stn_status off = stn_instance_switch(&r->instance, false, &late);
    if (status == STN_OK && off != STN_OK) {
        *err = late;
        status = off;
    }
    end_command(r);
    return status == STN_OK ? drain_all(r, err) : status;
}

static void close_recording(recording *r) {
    if (r->child > 0) {
        end_command(r);
    }
    for (uint32_t cpu = 0; r->streams && cpu < r->cpu_count; cpu++) {
        if (r->streams[cpu]) {
            tracefs_cpu_close(r->streams[cpu]);
        }
    }
    for (uint32_t cpu = 0; r->pages && cpu < r->cpu_count; cpu++) {
        if (r->pages[cpu].fd >= 0) {
            close(r->pages[cpu].fd);
        }
        free(r->pages[cpu].counters);
    }
    for (uint32_t i = 0; r->polled && i <= r->cpu_count; i++) {
        if (r->polled[i].fd > 0) {
            close(r->polled[i].fd);
        }
    }
    if (r->failure >= 0) {
        close(r->failure);
    }
    stn_free(r->streams);
    stn_free(r->pages);
    stn_free(r->polled);
    stn_free(r->page);
    stn_instance_close(&r->instance);
}

static stn_status write_file(recording *r, stn_outfile *file, const char *path, stn_err *err) {
    stn_dat_input input = {&r->instance, r->pages, r->cpu_count, r->page_size};
    stn_status status = stn_dat_write(file, &input, &r->stats->size, err);
    if (status != STN_OK) {
        stn_outfile_abort(file);
        return stn_err_prepend(err, status, "%s", path);
    }
    r->stats->events = r->instance.read_events;
    r->stats->lost_events = r->instance.lost;
    r->stats->cpu_count = r->options->cpu_count ? (uint32_t)r->options->cpu_count : r->cpu_count;
    status = stn_outfile_commit(file, err);
    return status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
}

stn_status stn_record(const char *path, const stn_record_options *options, stn_record_stats *stats,
                      stn_progress_fn progress, void *user, stn_err *err) {
    recording r = {.path = path, .options = options, .stats = stats, .go = -1, .failure = -1};
    memset(stats, 0, sizeof *stats);
    stn_outfile *file = NULL;
    stn_status status = stn_instance_open(&r.instance, options, err);
    if (status == STN_OK) {
        stats->enabled = (uint32_t)r.instance.enabled_count;
        stats->missing = r.instance.missing;
        /* Before the command runs: who cannot write need not record. */
        status = stn_outfile_open(&file, path, err);
        if (status != STN_OK) {
            status = stn_err_prepend(err, status, "%s", path);
        }
    }
    if (status == STN_OK) {
        status = open_streams(&r, path, err);
    }
    if (status == STN_OK) {
        open_polled(&r);
        r.polled[r.cpu_count].fd = -1;
        status = run(&r, progress, user, err);
    }
    if (status == STN_OK) {
        status = write_file(&r, file, path, err);
    } else {
        stn_outfile_abort(file);
    }
    close_recording(&r);
    return status;
}
