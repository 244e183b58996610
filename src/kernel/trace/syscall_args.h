/** @file
 *  What a system call's argument registers mean, for readers of raw system-call events.
 *  Pinned by tests/unit/test_syscall_args.c. */
#ifndef STN_KERNEL_TRACE_SYSCALL_ARGS_H
#define STN_KERNEL_TRACE_SYSCALL_ARGS_H

#include <standin/trace.h>

#define STN_SYSCALL_ARGS_MAX 6

typedef struct stn_syscall_args {
    uint8_t count;
    char kinds[STN_SYSCALL_ARGS_MAX + 1];    /**< one letter each, see the table */
    const char *names[STN_SYSCALL_ARGS_MAX]; /**< [count] the kernel's names: "fd", "count" */
} stn_syscall_args;

/** Arguments of x86-64 system call @p number; NULL if they are not known. A call that takes
 *  none is not known either: its registers say nothing. */
const stn_syscall_args *stn_syscall_args_find(int64_t number);

/** Register @p value of argument @p index as a field: kind and value are set, not the name.
 *  @pre index < args->count */
void stn_syscall_args_field(const stn_syscall_args *args, uint32_t index, int64_t value,
                            stn_field *field);

#endif
