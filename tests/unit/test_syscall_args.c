/* argument registers of system calls */
#include <string.h>

#include "testing.h"

#include "kernel/trace/canon.h"
#include "kernel/trace/syscall_args.h"

static const stn_syscall_args *of(const char *call) {
    return stn_syscall_args_find(stn_syscall_number(call));
}

static void registers_are_read_by_the_type_of_the_argument(void **state) {
    (void)state;
    const stn_syscall_args *args = of("openat");
    assert_non_null(args);
    assert_int_equal(args->count, 4);
    assert_string_equal(args->names[0], "dfd");
    stn_field field = {0};
    stn_syscall_args_field(args, 0, 0xffffff9c, &field); /* AT_FDCWD in half a register */
    assert_true(field.kind == STN_FIELD_INT && field.v.i == -100);
    stn_syscall_args_field(args, 1, INT64_MIN, &field);
    assert_true(field.kind == STN_FIELD_HEX && field.v.u == UINT64_C(1) << 63);
    stn_syscall_args_field(args, 2, 0x1200080241, &field);
    assert_true(field.kind == STN_FIELD_HEX && field.v.u == 0x80241);
    stn_syscall_args_field(of("read"), 2, -1, &field);
    assert_true(field.kind == STN_FIELD_UINT && field.v.u == UINT64_MAX);
    stn_syscall_args_field(of("lseek"), 1, -5, &field);
    assert_true(field.kind == STN_FIELD_INT && field.v.i == -5);
}

static void every_row_is_of_a_piece(void **state) {
    (void)state;
    uint32_t known = 0;
    for (int64_t number = -1; number < 1000; number++) {
        const stn_syscall_args *args = stn_syscall_args_find(number);
        if (!args) {
            continue;
        }
        known++;
        assert_non_null(stn_syscall_name(number));
        assert_int_equal(strlen(args->kinds), args->count);
        assert_int_equal(strspn(args->kinds, "dulwhx"), args->count);
        for (uint32_t i = 0; i < STN_SYSCALL_ARGS_MAX; i++) {
            assert_int_equal(args->names[i] != NULL, i < args->count);
        }
    }
    assert_true(known > 300);
    assert_null(of("getpid"));
    assert_null(stn_syscall_args_find(INT64_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_are_read_by_the_type_of_the_argument),
        cmocka_unit_test(every_row_is_of_a_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
