/* What event types do to descriptor tables. */
#include "kernel/rules/files.h"

#include <stddef.h>
#include <string.h>

stn_files_act stn_files_act_of(const char *name) {
    static const struct {
        const char *name;
        stn_files_act act;
    } acts[] = {
        {"task_newtask", STN_FILES_NEW_TASK},       {"sched_process_exec", STN_FILES_EXEC},
        {"sys_exit_unshare", STN_FILES_FORGET},     {"sys_exit_pipe", STN_FILES_UNSEEN},
        {"sys_exit_pipe2", STN_FILES_UNSEEN},       {"sys_exit_socketpair", STN_FILES_UNSEEN},
        {"sys_exit_recvmsg", STN_FILES_UNSEEN},     {"sys_exit_recvmmsg", STN_FILES_UNSEEN},
        {"sys_exit_close_range", STN_FILES_UNSEEN}, {"sys_exit_io_uring_enter", STN_FILES_UNSEEN},
        {"sys_exit_bpf", STN_FILES_UNSEEN},         {"sys_exit_ioctl", STN_FILES_UNSEEN},
        {"sys_exit_prctl", STN_FILES_UNSEEN},       {"sys_exit_clone", STN_FILES_UNSEEN},
        {"sys_exit_clone3", STN_FILES_UNSEEN},      {"sys_exit_seccomp", STN_FILES_UNSEEN},
    };
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (!strcmp(acts[i].name, name)) {
            return acts[i].act;
        }
    }
    return STN_FILES_NOTHING;
}
