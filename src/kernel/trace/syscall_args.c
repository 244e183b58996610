/* What a system call's argument registers mean. */
#include "kernel/trace/syscall_args.h"
#include "kernel/trace/syscall_args_x86_64.h"

#define ROW(number, count, kinds, ...) [number] = {count, kinds, {__VA_ARGS__}},
static const stn_syscall_args rows[] = {STN_SYSCALL_ARGS_X86_64(ROW)};

const stn_syscall_args *stn_syscall_args_find(int64_t number) {
    if (number < 0 || (size_t)number >= sizeof rows / sizeof *rows || rows[number].count == 0) {
        return NULL;
    }
    return &rows[number];
}

void stn_syscall_args_field(const stn_syscall_args *args, uint32_t index, int64_t value,
                            stn_field *field) {
    switch (args->kinds[index]) {
    case 'd':
        field->kind = STN_FIELD_INT;
        field->v.i = (int32_t)value;
        break;
    case 'l':
        field->kind = STN_FIELD_INT;
        field->v.i = value;
        break;
    case 'u':
    case 'h':
        field->kind = args->kinds[index] == 'h' ? STN_FIELD_HEX : STN_FIELD_UINT;
        field->v.u = (uint32_t)value;
        break;
    default:
        field->kind = args->kinds[index] == 'x' ? STN_FIELD_HEX : STN_FIELD_UINT;
        field->v.u = (uint64_t)value;
        break;
    }
}
