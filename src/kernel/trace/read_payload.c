/* The payload of an event in ftrace, trace-cmd and perf text, taken apart. Most events print
 * "key=value key=value"; a few have a form of their own, one row of the table each. */
#include <string.h>

#include "kernel/trace/canon.h"
#include "kernel/trace/read_text.h"

/* A stretch of the line. */
typedef struct span {
    char *at;
    char *end;
} span;

static size_t span_size(span s) {
    return (size_t)(s.end - s.at);
}

static span span_trim(span s) {
    while (s.at < s.end && *s.at == ' ') {
        s.at++;
    }
    while (s.end > s.at && s.end[-1] == ' ') {
        s.end--;
    }
    return s;
}

static bool span_begins(span s, const char *word) {
    size_t size = strlen(word);
    return span_size(s) >= size && memcmp(s.at, word, size) == 0;
}

static char *span_find(span s, const char *word) {
    return span_size(s) ? memmem(s.at, span_size(s), word, strlen(word)) : NULL;
}

/* The next blank-separated token of *rest. */
static span span_token(span *rest) {
    *rest = span_trim(*rest);
    char *blank = memchr(rest->at, ' ', span_size(*rest));
    span token = {rest->at, blank ? blank : rest->end};
    rest->at = blank ? blank + 1 : rest->end;
    return token;
}

#define PUT(text, key, value, err)                                                                 \
    stn_text_put(text, key, sizeof(key) - 1, (value).at, span_size(value), err)

static stn_status put_rest(stn_text *text, span rest, stn_err *err) {
    rest = span_trim(rest);
    return span_size(rest) ? PUT(text, "text", rest, err) : STN_OK;
}

/* ---- key=value ------------------------------------------------------- */

static bool key_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* The next key at or behind @p from: [at, end) and an '=' at end. at NULL if there is none.
 * @p first: it may stand at @p from itself, else only behind a blank or a bracket. */
static span key_next(char *from, char *end, bool first) {
    char *floor = from;
    while (from < end) {
        char *equals = memchr(from, '=', (size_t)(end - from));
        if (!equals) {
            break;
        }
        char *at = equals;
        while (at > floor && key_char(at[-1])) {
            at--;
        }
        bool begins = at == floor ? first : at[-1] == ' ' || at[-1] == '[' || at[-1] == '(';
        if (at < equals && begins && !(*at >= '0' && *at <= '9') && *at != '.') {
            return (span){at, equals};
        }
        from = equals + 1;
    }
    return (span){NULL, NULL};
}

/* A value ends before the blank, bracket or arrow that leads to the next key. */
static span value_trim(span value, bool bracketed) {
    value = span_trim(value);
    if (value.end > value.at && (value.end[-1] == '[' || value.end[-1] == '(')) {
        value.end--;
    }
    value = span_trim(value);
    if (span_size(value) >= 3 && memcmp(value.end - 3, "==>", 3) == 0) {
        value.end -= 3;
    }
    value = span_trim(value);
    if (bracketed && value.end > value.at && (value.end[-1] == ']' || value.end[-1] == ')')) {
        value.end--;
    }
    if (value.end > value.at && value.end[-1] == ',') {
        stn_field field;
        if (stn_text_number(value.at, span_size(value) - 1, &field)) {
            value.end--;
        }
    }
    return value;
}

static bool parse_byte(const char *at, uint64_t *byte) {
    *byte = 0;
    for (int i = 0; i < 2; i++) {
        int c = at[i] | 0x20;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
        *byte = *byte << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

/* A value that our own writer has put between quotes because it looks like more than text:
 * taken out of them in place. False if @p from begins no such value. */
static bool take_quoted(char *from, char *end, span *value, char **behind) {
    char *to = from + 1;
    for (char *at = from + 1; from < end && *from == '"' && at < end; at++) {
        if (*at == '"') {
            *value = (span){from + 1, to};
            *behind = at + 1;
            return at + 1 == end || at[1] == ' ';
        }
        uint64_t byte;
        if (*at == '\\' && at + 3 < end && at[1] == 'x' && parse_byte(at + 2, &byte)) {
            *to++ = (char)(unsigned char)byte;
            at += 3;
        } else {
            at += *at == '\\' && at + 1 < end;
            *to++ = *at;
        }
    }
    return false;
}

/* "[1,-2]", "[1,2]u". *found false if @p value is none. */
static stn_status put_sequence(stn_text *text, span key, span value, bool *found, stn_err *err) {
    bool is_signed = span_size(value) < 2 || value.end[-1] != 'u';
    char *end = value.end - (is_signed ? 1 : 2);
    *found = span_size(value) >= 2 && *value.at == '[' && end > value.at && *end == ']';
    if (!*found) {
        return STN_OK;
    }
    size_t room = (size_t)(end - value.at) / 2 + 1;
    int64_t *items = stn_arena_alloc(&text->arena, room * sizeof *items);
    if (!items) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a sequence");
    }
    uint32_t count = 0;
    for (char *at = value.at + 1; *found && at < end;) {
        char *comma = memchr(at, ',', (size_t)(end - at));
        char *stop = comma ? comma : end;
        stn_field item;
        *found = stn_text_number(at, (size_t)(stop - at), &item) && item.kind != STN_FIELD_HEX;
        items[count++] = item.v.i;
        at = stop + 1;
    }
    return *found ? stn_text_put_seq(text, key.at, span_size(key), items, count, is_signed, err)
                  : STN_OK;
}

static stn_status put_pair(stn_text *text, span key, span value, stn_err *err) {
    bool found = false;
    stn_status status =
        span_size(value) && *value.at == '[' ? put_sequence(text, key, value, &found, err) : STN_OK;
    return status || found
               ? status
               : stn_text_put(text, key.at, span_size(key), value.at, span_size(value), err);
}

static stn_status parse_pairs(stn_text *text, span payload, span key, stn_err *err) {
    span before = {payload.at, key.at};
    if (before.end > before.at && (before.end[-1] == '[' || before.end[-1] == '(')) {
        before.end--;
    }
    before = span_trim(before);
    stn_status status = STN_OK;
    if (span_size(before)) {
        before.at[span_size(before)] = '\0';
        status = put_rest(text, before, err);
    }
    while (!status && key.at) {
        bool bracketed = key.at > payload.at && key.at[-1] != ' ';
        span value;
        char *behind;
        if (take_quoted(key.end + 1, payload.end, &value, &behind)) {
            *value.end = '\0';
            stn_field field = {.kind = STN_FIELD_STR, .v.s = value.at};
            status = stn_text_put_field(text, key.at, span_size(key), field, err);
            key = key_next(behind, payload.end, false);
            continue;
        }
        span next = key_next(key.end + 1, payload.end, false);
        value = (span){key.end + 1, next.at ? next.at : payload.end};
        value = value_trim(value, bracketed);
        if (!span_size(value)) {
            value = (span){key.end + 1, key.end + 1}; /* its NUL must not hit the next key */
        }
        status = put_pair(text, key, value, err);
        key = next;
    }
    return status;
}

/* ---- key: value, key: value ------------------------------------------ */

/* @p radix16: values are hexadecimal without a prefix, as ftrace prints system calls. */
static stn_status put_argument(stn_text *text, span key, span value, bool radix16, stn_err *err) {
    stn_field field = {.kind = STN_FIELD_HEX};
    const char *at = value.at;
    uint64_t number = 0;
    size_t digits = 0;
    for (; radix16 && at < value.end && digits <= 16; at++, digits++) {
        int c = *at | 0x20;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            break;
        }
        number = number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (digits == 0 || digits > 16 || at != value.end) {
        return stn_text_put(text, key.at, span_size(key), value.at, span_size(value), err);
    }
    field.v.u = number;
    return stn_text_put_field(text, key.at, span_size(key), field, err);
}

static bool is_argument_key(span key) {
    for (const char *c = key.at; c < key.end; c++) {
        if (!key_char(*c)) {
            return false;
        }
    }
    return key.at < key.end;
}

static stn_status parse_arguments(stn_text *text, span payload, bool radix16, stn_err *err) {
    span rest = span_trim(payload);
    stn_status status = STN_OK;
    while (!status && span_size(rest)) {
        char *comma = span_find(rest, ", ");
        span item = {rest.at, comma ? comma : rest.end};
        char *colon = span_find(item, ": ");
        span key = {item.at, colon ? colon : item.at};
        if (!is_argument_key(key)) {
            return put_rest(text, rest, err);
        }
        span value = span_trim((span){colon + 2, item.end});
        rest = (span){comma ? comma + 2 : rest.end, rest.end};
        status = put_argument(text, key, value, radix16, err);
    }
    return status;
}

/* Result of a system call: "0x1", "0xfffffffffffffff2", "-14". */
static stn_status put_result(stn_text *text, span value, stn_err *err) {
    stn_field field;
    if (!stn_text_number(value.at, span_size(value), &field)) {
        return put_rest(text, value, err);
    }
    if (field.kind == STN_FIELD_HEX) {
        field.kind = STN_FIELD_INT;
        field.v.i = (int64_t)field.v.u;
    }
    return stn_text_put_field(text, "ret", 3, field, err);
}

stn_status stn_text_call(stn_text *text, char *payload, size_t size, bool *found, stn_err *err) {
    span rest = {payload, payload + size};
    char name[96] = "sys_enter_";
    *found = false;
    if (!span_begins(rest, "sys_")) {
        return STN_OK;
    }
    char *stop = rest.at + 4;
    while (stop < rest.end && key_char(*stop)) {
        stop++;
    }
    bool enters = stop < rest.end && *stop == '(' && rest.end[-1] == ')';
    bool leaves = !enters && span_begins((span){stop, rest.end}, " -> ");
    size_t name_size = (size_t)(stop - rest.at) - 4;
    if (name_size == 0 || name_size > 80 || (!enters && !leaves)) {
        return STN_OK;
    }
    *found = true;
    size_t prefix = enters ? 10 : 9;
    memcpy(name, enters ? "sys_enter_" : "sys_exit_", prefix);
    memcpy(name + prefix, rest.at + 4, name_size);
    stn_status status = stn_text_event(text, name, prefix + name_size, err);
    if (status) {
        return status;
    }
    if (enters) {
        return parse_arguments(text, (span){stop + 1, rest.end - 1}, true, err);
    }
    return put_result(text, span_trim((span){stop + 4, rest.end}), err);
}

/* ---- raw_syscalls ---------------------------------------------------- */

/* Type of system call @p number for the raw event at hand; the raw one if it has no name. */
static stn_status call_type(stn_text *text, int64_t number, bool enters, stn_err *err) {
    uint64_t key = (uint64_t)text->slot << 32 | (uint32_t)number;
    uint64_t *known = stn_map_put(&text->call_ids, key, NULL);
    if (!known) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for system calls");
    }
    const char *call = *known ? NULL : stn_syscall_name(number);
    if (call) {
        char name[96];
        size_t prefix = enters ? 10 : 9;
        memcpy(name, enters ? "sys_enter_" : "sys_exit_", prefix);
        memcpy(name + prefix, call, strlen(call) + 1);
        *known = stn_catalog_type(text->catalog, name, text->events.texts[text->slot]);
        if (*known == STN_NO_ID) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for system calls");
        }
    }
    if (*known) {
        text->type = (uint32_t)*known;
    }
    return STN_OK;
}

static stn_status put_raw_arguments(stn_text *text, span list, stn_err *err) {
    int64_t items[8];
    uint32_t count = 0;
    const char *at = list.at;
    while (at < list.end && count < 8) {
        size_t digits = 0;
        uint64_t value = 0;
        for (; at < list.end && *at != ',' && digits < 16; at++, digits++) {
            int c = *at | 0x20;
            value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
                return put_rest(text, list, err);
            }
        }
        items[count++] = (int64_t)value;
        while (at < list.end && (*at == ',' || *at == ' ')) {
            at++;
        }
    }
    return stn_text_put_seq(text, "args", 4, items, count, false, err);
}

/* "NR 0 (7, 55d0, 3)", "NR 0 = 1" */
static stn_status parse_raw(stn_text *text, span payload, bool enters, bool *done, stn_err *err) {
    if (!span_begins(payload, "NR ")) {
        return STN_OK;
    }
    span rest = {payload.at + 3, payload.end};
    span number = span_token(&rest);
    stn_field field;
    if (!stn_text_number(number.at, span_size(number), &field) || field.kind != STN_FIELD_INT) {
        return STN_OK;
    }
    *done = true;
    stn_status status = call_type(text, field.v.i, enters, err);
    if (!status) {
        status = stn_text_put_field(text, "id", 2, field, err);
    }
    rest = span_trim(rest);
    if (!status && enters && span_begins(rest, "(") && rest.end[-1] == ')') {
        status = put_raw_arguments(text, (span){rest.at + 1, rest.end - 1}, err);
    } else if (!status && !enters && span_begins(rest, "= ")) {
        status = put_result(text, span_trim((span){rest.at + 2, rest.end}), err);
    } else if (!status) {
        status = put_rest(text, rest, err);
    }
    return status;
}

static stn_status parse_raw_enter(stn_text *text, span payload, bool *done, stn_err *err) {
    return parse_raw(text, payload, true, done, err);
}

static stn_status parse_raw_exit(stn_text *text, span payload, bool *done, stn_err *err) {
    return parse_raw(text, payload, false, done, err);
}

/* ---- block ----------------------------------------------------------- */

/* What stands behind "SECTOR + COUNT": "[comm]", "[error]", "<- (dev) sector", with the I/O
 * priority before it in later kernels ("none,0,0 [fio]"). */
static stn_status put_block_tail(stn_text *text, span rest, stn_err *err) {
    span trimmed = span_trim(rest);
    if (span_begins(trimmed, "<- (")) {
        char *close = memchr(trimmed.at, ')', span_size(trimmed));
        if (close) {
            span sector = span_trim((span){close + 1, trimmed.end});
            stn_status status = PUT(text, "old_dev", ((span){trimmed.at + 4, close}), err);
            return status ? status : PUT(text, "old_sector", sector, err);
        }
    }
    char *open = memchr(trimmed.at, '[', span_size(trimmed));
    if (!open || trimmed.end[-1] != ']') {
        return put_rest(text, trimmed, err);
    }
    span priority = span_trim((span){trimmed.at, open});
    stn_status status = STN_OK;
    if (span_size(priority)) {
        status = PUT(text, "ioprio", priority, err);
    }
    span last = {open + 1, trimmed.end - 1};
    stn_field field;
    bool is_error =
        stn_text_number(last.at, span_size(last), &field) &&
        strcmp(stn_catalog_type_at(text->catalog, text->type)->name, "block_rq_complete") == 0;
    if (status) {
        return status;
    }
    return is_error ? PUT(text, "error", last, err) : PUT(text, "comm", last, err);
}

/* "8,0 WS 4096 () 1234 + 8 [fio]", "8,0 WS () 1234 + 8 [0]", "8,0 WS 1234 + 8 [fio]" */
static stn_status parse_block(stn_text *text, span payload, bool *done, stn_err *err) {
    span rest = payload;
    span dev = span_token(&rest);
    span rwbs = span_token(&rest);
    char *plus = span_find(rest, " + ");
    bool looks = span_size(dev) && *dev.at >= '0' && *dev.at <= '9' && plus && span_size(rwbs);
    if (!looks || !memchr(dev.at, ',', span_size(dev)) || !memchr(rest.at, ' ', span_size(rest))) {
        return STN_OK;
    }
    span middle = {rest.at, plus};
    span tail = {plus + 3, rest.end};
    char *blank = plus;
    while (blank > middle.at && blank[-1] != ' ') {
        blank--;
    }
    span sector = {blank, plus};
    span before = span_trim((span){middle.at, blank});
    span count = span_token(&tail);
    char *open = memchr(before.at, '(', span_size(before));
    span bytes = span_trim((span){before.at, open ? open : before.end});
    *done = true;
    stn_status status = PUT(text, "dev", dev, err);
    if (!status) {
        status = PUT(text, "sector", sector, err);
    }
    if (!status) {
        status = PUT(text, "nr_sector", count, err);
    }
    if (!status && span_size(bytes)) {
        status = PUT(text, "bytes", bytes, err);
    }
    if (!status) {
        status = PUT(text, "rwbs", rwbs, err);
    }
    if (!status && open && before.end - open > 2) {
        status = PUT(text, "cmd", ((span){open + 1, before.end - 1}), err);
    }
    return status ? status : put_block_tail(text, tail, err);
}

/* ---- trace-cmd's plugins --------------------------------------------- */

/* "comm:pid [prio]" at the beginning of *rest, which is left behind it. */
static bool take_task(span *rest, span *comm, span *pid, span *prio) {
    char *open = span_find(*rest, " [");
    char *close = open ? memchr(open, ']', (size_t)(rest->end - open)) : NULL;
    if (!close) {
        return false;
    }
    char *colon = open;
    while (colon > rest->at && *colon != ':') {
        colon--;
    }
    *comm = (span){rest->at, colon};
    *pid = (span){colon + 1, open};
    *prio = (span){open + 2, close};
    rest->at = close + 1;
    stn_field field;
    return *colon == ':' && stn_text_number(pid->at, span_size(*pid), &field);
}

/* "a:1 [120] S ==> b:2 [120]" */
static stn_status parse_switch(stn_text *text, span payload, bool *done, stn_err *err) {
    span comm[2];
    span pid[2];
    span prio[2];
    char *arrow = span_find(payload, " ==> ");
    if (!arrow || span_begins(payload, "prev_comm=") || span_begins(payload, "prev_pid=")) {
        return STN_OK;
    }
    span left = {payload.at, arrow};
    span right = {arrow + 5, payload.end};
    if (!take_task(&left, &comm[0], &pid[0], &prio[0]) ||
        !take_task(&right, &comm[1], &pid[1], &prio[1])) {
        return STN_OK;
    }
    span state = span_trim(left);
    struct {
        const char *key;
        span value;
    } rows[] = {{"prev_comm", comm[0]}, {"prev_pid", pid[0]},   {"prev_prio", prio[0]},
                {"prev_state", state},  {"next_comm", comm[1]}, {"next_pid", pid[1]},
                {"next_prio", prio[1]}};
    *done = true;
    stn_status status = STN_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++) {
        status = stn_text_put(text, rows[i].key, strlen(rows[i].key), rows[i].value.at,
                              span_size(rows[i].value), err);
    }
    return status;
}

/* "a:1 [120] success=1 CPU:003", "a:1 [120]<CPU:003>" */
static stn_status parse_wakeup(stn_text *text, span payload, bool *done, stn_err *err) {
    span comm;
    span pid;
    span prio;
    span rest = payload;
    if (span_begins(payload, "comm=") || span_begins(payload, "pid=") ||
        !take_task(&rest, &comm, &pid, &prio)) {
        return STN_OK;
    }
    *done = true;
    stn_status status = PUT(text, "comm", comm, err);
    if (!status) {
        status = PUT(text, "pid", pid, err);
    }
    if (!status) {
        status = PUT(text, "prio", prio, err);
    }
    char *success = span_find(rest, "success=");
    if (!status && success && success + 9 <= rest.end) {
        status = PUT(text, "success", ((span){success + 8, success + 9}), err);
    }
    char *cpu = span_find(rest, "CPU:");
    if (!status && cpu) {
        span number = {cpu + 4, cpu + 4};
        while (number.end < rest.end && *number.end >= '0' && *number.end <= '9') {
            number.end++;
        }
        status = PUT(text, "target_cpu", number, err);
    }
    return status;
}

/* ---- other forms of their own ---------------------------------------- */

/* "work struct ffff: function f", "work struct=ffff function=f …", "work struct ffff" */
static stn_status parse_work(stn_text *text, span payload, bool *done, stn_err *err) {
    if (!span_begins(payload, "work struct") || span_size(payload) < 13) {
        return STN_OK;
    }
    span rest = {payload.at + 12, payload.end};
    span work = span_token(&rest);
    if (span_size(work) && work.end[-1] == ':') {
        work.end--;
    }
    *done = true;
    span key = key_next(rest.at, rest.end, true);
    stn_status status = PUT(text, "work", work, err);
    if (status) {
        return status;
    }
    if (key.at) {
        return parse_pairs(text, rest, key, err);
    }
    rest = span_trim(rest);
    if (span_begins(rest, "function ")) {
        return PUT(text, "function", ((span){rest.at + 9, rest.end}), err);
    }
    return put_rest(text, rest, err);
}

/* "napi poll on napi struct 0xff for device eth0 work 1 budget 64" */
static stn_status parse_napi(stn_text *text, span payload, bool *done, stn_err *err) {
    static const char *const rows[][2] = {{"napi struct ", "napi"},
                                          {"for device ", "dev_name"},
                                          {"work ", "work"},
                                          {"budget ", "budget"}};
    if (!span_begins(payload, "napi poll on ")) {
        return STN_OK;
    }
    *done = true;
    stn_status status = STN_OK;
    span rest = payload;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++) {
        char *at = span_find(rest, rows[i][0]);
        if (at) {
            rest.at = at + strlen(rows[i][0]);
            span value = span_token(&rest);
            status =
                stn_text_put(text, rows[i][1], strlen(rows[i][1]), value.at, span_size(value), err);
        }
    }
    return status;
}

static stn_status parse_free_text(stn_text *text, span payload, bool *done, stn_err *err) {
    /* Our own writer names the fields that a binary trace has of these. */
    if (span_begins(payload, "ip=") || span_begins(payload, "msg=") ||
        span_begins(payload, "text=")) {
        return STN_OK;
    }
    *done = true;
    return put_rest(text, payload, err);
}

/* ---- the table ------------------------------------------------------- */

typedef struct form_row {
    const char *event; /* canonical; a prefix if it ends in '*' */
    stn_status (*parse)(stn_text *text, span payload, bool *done, stn_err *err);
} form_row;

static const form_row form_rows[] = {
    {"sched_switch", parse_switch}, {"sched_wak*", parse_wakeup},
    {"sys_enter", parse_raw_enter}, {"sys_exit", parse_raw_exit},
    {"block_*", parse_block},       {"workqueue_*", parse_work},
    {"napi_poll", parse_napi},      {"tracing_mark_write", parse_free_text},
    {"print", parse_free_text},     {"bprint", parse_free_text},
    {"bputs", parse_free_text},     {"console", parse_free_text},
    {"function", parse_free_text},
};

static stn_status parse_own_form(stn_text *text, const char *event, span payload, bool *done,
                                 stn_err *err) {
    for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++) {
        const char *want = form_rows[i].event;
        size_t size = strlen(want);
        bool prefix = want[size - 1] == '*';
        if (prefix ? strncmp(want, event, size - 1) == 0 : strcmp(want, event) == 0) {
            return form_rows[i].parse(text, payload, done, err);
        }
    }
    return STN_OK;
}

stn_status stn_text_payload(stn_text *text, char *payload, size_t size, stn_err *err) {
    span all = span_trim((span){payload, payload + size});
    *all.end = '\0';
    bool done = false;
    /* Copied: the catalog may grow while the payload is parsed. */
    bool enters = stn_catalog_type_at(text->catalog, text->type)->syscall_enter;
    bool leaves = stn_catalog_type_at(text->catalog, text->type)->syscall_exit;
    const char *event = stn_catalog_type_at(text->catalog, text->type)->name;
    stn_status status = parse_own_form(text, event, all, &done, err);
    if (status || done || !span_size(all)) {
        return status;
    }
    span key = key_next(all.at, all.end, true);
    if (enters && (!key.at || span_find(all, ": "))) {
        return parse_arguments(text, all, false, err);
    }
    if (key.at) {
        return parse_pairs(text, all, key, err);
    }
    if (leaves) {
        return put_result(text, all, err);
    }
    return put_rest(text, all, err);
}
