/* catalog, event, trace in memory, format table */
#include <string.h>

#include "testing.h"

#include "core/base/alloc.h"
#include "kernel/trace/format.h"

static stn_catalog *catalog;

static int make(void **state) {
    (void)state;
    stn_err err = {0};
    return stn_catalog_new(&catalog, &err);
}

static int unmake(void **state) {
    (void)state;
    stn_catalog_free(catalog);
    return 0;
}

static void types_know_their_system_call(void **state) {
    (void)state;
    uint32_t enter = stn_catalog_type(catalog, "sys_enter_read", "syscall_entry_read");
    uint32_t leave = stn_catalog_type(catalog, "sys_exit_read", NULL);
    uint32_t other = stn_catalog_type(catalog, "sched_switch", NULL);
    const stn_type *type = stn_catalog_type_at(catalog, enter);
    assert_true(type->syscall_enter && !type->syscall_exit);
    assert_string_equal(type->original, "syscall_entry_read");
    assert_int_equal(type->syscall_id, stn_catalog_find(catalog, "read"));
    type = stn_catalog_type_at(catalog, leave);
    assert_true(!type->syscall_enter && type->syscall_exit);
    assert_int_equal(type->syscall_id, stn_catalog_find(catalog, "read"));
    type = stn_catalog_type_at(catalog, other);
    assert_int_equal(type->syscall_id, STN_NO_ID);
    assert_string_equal(stn_catalog_type_at(catalog, STN_TYPE_LOST)->name, "lost_events");
}

static void a_type_is_its_name_and_its_origin(void **state) {
    (void)state;
    uint32_t a = stn_catalog_type(catalog, "sys_enter_read", "syscall_entry_read");
    uint32_t b = stn_catalog_type(catalog, "sys_enter_read", NULL);
    assert_int_not_equal(a, b);
    assert_int_equal(a, stn_catalog_type(catalog, "sys_enter_read", "syscall_entry_read"));
    assert_int_equal(stn_catalog_type_at(catalog, a)->name_id,
                     stn_catalog_type_at(catalog, b)->name_id);
    assert_string_equal(stn_catalog_text(catalog, STN_NO_ID), "");
    assert_int_equal(stn_catalog_find(catalog, "never seen"), STN_NO_ID);
}

static void fields_give_integers(void **state) {
    (void)state;
    const stn_field fields[] = {
        {.name = 1, .kind = STN_FIELD_INT, .v.i = -5},
        {.name = 2, .kind = STN_FIELD_HEX, .v.u = 255},
        {.name = 3, .kind = STN_FIELD_STR, .v.s = "0x10"},
        {.name = 4, .kind = STN_FIELD_STR, .v.s = "ten"},
        {.name = 5, .kind = STN_FIELD_REAL, .v.f = 2.5},
    };
    const stn_event event = {.field_count = 5, .fields = fields};
    static const int64_t want[] = {-5, 255, 16, 77, 77, 77};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(stn_field_int(stn_event_field(&event, i + 1), 77), want[i]);
    }
}

static stn_status append_sample(stn_trace *trace, uint64_t time_ns, stn_err *err) {
    char text[] = "text";
    int64_t items[] = {1, -2, 3};
    const stn_seq seq = {.count = 3, .is_signed = true, .items = items};
    const stn_field fields[] = {
        {.name = 1, .kind = STN_FIELD_STR, .v.s = text},
        {.name = 2, .kind = STN_FIELD_SEQ, .v.seq = &seq},
        {.name = 3, .kind = STN_FIELD_UINT, .v.u = time_ns},
    };
    const stn_event event = {.time_ns = time_ns, .type = 0, .field_count = 3, .fields = fields};
    stn_status status = stn_trace_append(trace, &event, err);
    memset(text, 'x', 4); /* the trace must hold its own copies */
    memset(items, 0, sizeof items);
    return status;
}

static void a_trace_owns_deep_copies(void **state) {
    (void)state;
    stn_err err = {0};
    stn_trace trace;
    stn_trace_init(&trace, catalog);
    for (uint64_t i = 0; i < 3000; i++) {
        assert_int_equal(append_sample(&trace, i, &err), STN_OK);
    }
    assert_int_equal(trace.count, 3000);
    const stn_event *event = &trace.events[1234];
    assert_int_equal(event->time_ns, 1234);
    assert_string_equal(event->fields[0].v.s, "text");
    assert_int_equal(event->fields[1].v.seq->count, 3);
    assert_int_equal(event->fields[1].v.seq->items[1], -2);
    stn_trace_fini(&trace);
    assert_int_equal(trace.count, 0);
}

static void appending_survives_each_failed_allocation(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        stn_err err = {0};
        stn_trace trace;
        stn_trace_init(&trace, catalog);
        stn_alloc_fail_at(nth);
        stn_status status = append_sample(&trace, 1, &err);
        stn_alloc_fail_at(0);
        failed = status != STN_OK;
        assert_int_equal(status, failed ? STN_ENOMEM : STN_OK);
        assert_int_equal(trace.count, failed ? 0 : 1);
        stn_trace_fini(&trace);
    }
}

static void a_catalog_survives_each_failed_allocation(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        stn_err err = {0};
        stn_catalog *fresh;
        stn_alloc_fail_at(nth);
        stn_status status = stn_catalog_new(&fresh, &err);
        stn_alloc_fail_at(0);
        failed = status != STN_OK;
        assert_int_equal(status, failed ? STN_ENOMEM : STN_OK);
        stn_catalog_free(fresh);
    }
}

static void every_format_is_found_by_its_name(void **state) {
    (void)state;
    for (uint32_t i = 0; i < stn_format_count(); i++) {
        stn_format_info info = stn_format_at(i);
        assert_ptr_equal(stn_format_find(info.name), stn_format_row(i));
        assert_true(info.reads || info.writes);
        assert_true(strlen(info.summary) > 0);
    }
    assert_null(stn_format_find("none"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_know_their_system_call),
        cmocka_unit_test(a_type_is_its_name_and_its_origin),
        cmocka_unit_test(fields_give_integers),
        cmocka_unit_test(a_trace_owns_deep_copies),
        cmocka_unit_test(appending_survives_each_failed_allocation),
        cmocka_unit_test(a_catalog_survives_each_failed_allocation),
        cmocka_unit_test(every_format_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
