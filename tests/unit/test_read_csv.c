/* CSV: our own columns and Trace Compass's. */
#include "read_events.h"

#define OWN "time_ns,cpu,tid,comm,event,original,fields\n"

typedef struct row {
    const char *text;
    const char *want;
} row;

static void check_rows(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        shown out;
        stn_status status = show_text(&out, rows[i].text, NULL);
        assert_string_equal(out.err.text, "");
        assert_int_equal(status, STN_END);
        assert_string_equal(out.text, rows[i].want);
        assert_string_equal(out.meta.format, "csv");
    }
}

static void own_columns(void **state) {
    static const row rows[] = {
        {OWN "5,1,7,bash,sys_enter_read,syscall_entry_read,fd=3;count=4u;flags=0x80000\n",
         "5 1 7 bash sys_enter_read(syscall_entry_read) fd=3 count=4u flags=0x80000\n"},
        {OWN "5,,,,x,,\n", "5 - - - x\n"},
        {OWN "5,1,7,a%2Cb,x,,s=a%3Bb%3D%25;n='8021q;e=;q=''x;b='[1]\r\n",
         "5 1 7 a,b x s=\"a;b=%\" n=\"8021q\" e=\"\" q=\"'x\" b=\"[1]\"\n"},
        {OWN "5,1,7,a,x,,s=[3 -1];u=[1 18446744073709551615]u;e=[];f=0.25f;g=-inff\n",
         "5 1 7 a x s=[3 -1] u=[1 18446744073709551615]u e=[] f=0.25f g=-inff\n"},
        {OWN "5,1,7,a,x,,i=-9223372036854775808;u=18446744073709551615u;h=0xffffffffffffffff\n",
         "5 1 7 a x i=-9223372036854775808 u=18446744073709551615u h=0xffffffffffffffff\n"},
        {OWN "5,1,,,lost_events,,count=12u;begin_ns=3u\n6,1,7,a,x,,\n",
         "5 1 - - lost_events count=12u begin_ns=3u\n6 1 7 a x\n"},
        {"event,note,time_ns\n\"a \"\"b\"\", c\",anything,9\n", "9 - - - a \"b\", c\n"},
        {"\xef\xbb\xbf" OWN "5,1,7,a,x,,\n\n", "5 1 7 a x\n"},
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

#define COMPASS "Timestamp,Channel,CPU,Event type,Contents,TID,Prio,PID,Source\n"

static void trace_compass(void **state) {
    static const row rows[] = {
        {COMPASS "18:39:19.831 423 009,chan1_0,0,syscall_entry_read,\"fd=3, count=100\",7,20,7,\n",
         "67159831423009 0 7 - sys_enter_read(syscall_entry_read) fd=3 count=100\n"},
        {COMPASS "2020-01-02 00:00:01.5,c,,sched_switch,\"prev_comm=a, b, prev_tid=1, "
                 "prev_state=1\",,,,\n",
         "1500000000 - - - sched_switch prev_comm=\"a, b\" prev_pid=1 prev_state=1\n"},
        {COMPASS "23:59:59.0,c,0,x,,1,,,\n00:00:01.0,c,0,x,,1,,,\n",
         "86399000000000 0 1 - x\n86401000000000 0 1 - x\n"},
        {"Event type,Timestamp\nx,12.5\ny,13000000000\n",
         "12500000000 - - - x\n13000000000 - - - y\n"},
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

static void bad_cells_are_named(void **state) {
    static const char *const rows[][2] = {
        {"time_ns,cpu,tid\n", "line 1: the header has no column 'event'"},
        {"cpu,event\n1,x\n", "line 1: the header has no column 'time_ns'"},
        {"Timestamp,CPU\n1,2\n", "line 1: the header has no column 'Event type'"},
        {"time_ns,event,event\n1,x,y\n", "line 1: column 'event' is there twice"},
        {OWN "5,1,7,a,x,\n", "line 2: 6 cells, but the header has 7 columns"},
        {OWN "5,1,7,a,x,,\nx,1,7,a,x,,\n", "line 3: column 'time_ns': 'x' is not"},
        {OWN "-5,1,7,a,x,,\n", "line 2: column 'time_ns'"},
        {OWN "5,65535,7,a,x,,\n", "line 2: column 'cpu'"},
        {OWN "5,1,2147483648,a,x,,\n", "line 2: column 'tid'"},
        {OWN "5,1,7,a%2,x,,\n", "line 2: column 'comm'"},
        {OWN "5,1,7,a%00,x,,\n", "line 2: column 'comm'"},
        {OWN "5,1,7,a,,,\n", "line 2: column 'event'"},
        {OWN "5,1,7,a,x,,abc\n", "line 2: column 'fields': expected name=value"},
        {OWN "5,1,7,a,x,,a=1x\n", "line 2: column 'fields'"},
        {OWN "5,1,7,a,x,,a=[1 x]\n", "line 2: column 'fields'"},
        {OWN "5,1,7,a,x,,a=-\n", "line 2: column 'fields'"},
        {OWN "5,1,7,a,x,,a=9223372036854775808\n", "line 2: column 'fields'"},
        {OWN "\"5,1,7,a,x,,\n", "line 2: cell 1: a quote"},
        {COMPASS "99:99:99,c,0,x,,1,,,\n", "line 2: column 'Timestamp'"},
        {COMPASS "noon,c,0,x,,1,,,\n", "line 2: column 'Timestamp'"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        shown out;
        assert_int_equal(show_text(&out, rows[i][0], NULL), STN_EFORMAT);
        if (!strstr(out.err.text, rows[i][1])) {
            assert_string_equal(out.err.text, rows[i][1]);
        }
    }
}

static void out_of_memory_is_clean(void **state) {
    static const char text[] = OWN "5,1,7,a,x,y,a=1;s=[1 2];t=u\n";
    char path[64];
    (void)state;
    put_file(path, text, sizeof text - 1);
    fail_each_allocation(path, "csv", 400);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_columns),
        cmocka_unit_test(trace_compass),
        cmocka_unit_test(bad_cells_are_named),
        cmocka_unit_test(out_of_memory_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
