#include "kernel/trace/read_dat_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trace-cmd/trace-cmd.h>

#define SECONDS_MAX 60

static void try_first(struct tracecmd_input *handle) {
    int cpus = handle ? tep_get_cpus(tracecmd_get_tep(handle)) : 0;
    for (int cpu = 0; cpu < cpus; cpu++) {
        (void)tracecmd_read_cpu_first(handle, cpu);
    }
}

/* In the child: open, look for the first record of each CPU and buffer, end. Nothing is freed
 * and no handler of the parent's runs; what the library prints is not seen. */
static void try_open(const char *path) {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        (void)dup2(null, STDERR_FILENO);
        (void)dup2(null, STDOUT_FILENO);
    }
    alarm(SECONDS_MAX);
    struct tracecmd_input *handle = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
    int count = handle ? tracecmd_buffer_instances(handle) : 0;
    try_first(handle);
    for (int i = 0; i < count; i++) {
        try_first(tracecmd_buffer_instance_handle(handle, i));
    }
    _exit(handle ? 0 : 1);
}

stn_status stn_dat_trial(const char *path, stn_err *err) {
    pid_t child = fork();
    if (child == 0) {
        try_open(path);
    }
    int ended = 0;
    pid_t waited;
    do {
        waited = child > 0 ? waitpid(child, &ended, 0) : -1;
    } while (waited < 0 && child > 0 && errno == EINTR);
    if (waited < 0 || (WIFEXITED(ended) && WEXITSTATUS(ended) == 0)) {
        return STN_OK;
    }
    if (WIFSIGNALED(ended)) {
        return stn_err_set(err, STN_EFORMAT,
                           "damaged: libtracecmd breaks down on its headers or event formats "
                           "(signal %d)",
                           WTERMSIG(ended));
    }
    return stn_err_set(err, STN_EFORMAT,
                       "libtracecmd cannot read it: damaged in its headers or event formats");
}
