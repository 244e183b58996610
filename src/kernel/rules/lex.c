/* Words of a line of rule text. */
#include "kernel/rules/lex.h"

#include <string.h>

#include "core/base/alloc.h"

static bool is_operator(char c) {
    return c == '=' || c == '!' || c == '<' || c == '>' || c == '&' || c == '+';
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

static bool is_control(char c) {
    return (unsigned char)c < ' ' || c == 127;
}

static stn_status control(char c, size_t at, stn_err *err) {
    return stn_err_set(err, STN_EFORMAT, "a control character (code %d) at column %zu",
                       (unsigned char)c, at + 1);
}

static stn_status add(stn_tokens *tokens, stn_arena *arena, const char *text, size_t size,
                      bool quoted, stn_err *err) {
    if (stn_grow(&tokens->items, &tokens->capacity, tokens->count + 1, sizeof *tokens->items)) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    char *copy = stn_arena_text(arena, text, size);
    if (!copy) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    tokens->items[tokens->count++] = (stn_token){copy, (uint32_t)size, quoted};
    return STN_OK;
}

/* A quoted string that begins at line[*at]; unescapes into the arena. */
static stn_status add_string(stn_tokens *tokens, stn_arena *arena, const char *line, size_t size,
                             size_t *at, stn_err *err) {
    char *copy = stn_arena_alloc(arena, size - *at + 1);
    if (!copy) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    size_t used = 0;
    size_t i = *at + 1;
    while (i < size && line[i] != '"') {
        if (line[i] == '\\' && i + 1 < size) {
            i++;
        }
        if (is_control(line[i])) {
            return control(line[i], i, err);
        }
        copy[used++] = line[i++];
    }
    if (i >= size) {
        return stn_err_set(err, STN_EFORMAT, "a string begins with \" and does not end");
    }
    *at = i + 1;
    return add(tokens, arena, copy, used, true, err);
}

/* How far the word at line[i] goes. */
static size_t word_end(const char *line, size_t size, size_t i) {
    if (line[i] == '(' || line[i] == ')') {
        return i + 1;
    }
    bool sign = is_operator(line[i]);
    while (i < size && !is_blank(line[i]) && !is_control(line[i]) && !strchr("()\"#", line[i]) &&
           is_operator(line[i]) == sign) {
        i++;
    }
    return i;
}

stn_status stn_lex_line(stn_tokens *tokens, stn_arena *arena, const char *line, size_t size,
                        stn_err *err) {
    tokens->count = 0;
    size_t i = 0;
    while (i < size) {
        if (is_blank(line[i])) {
            i++;
            continue;
        }
        if (line[i] == '#') {
            break;
        }
        if (is_control(line[i])) {
            return control(line[i], i, err);
        }
        stn_status status;
        if (line[i] == '"') {
            status = add_string(tokens, arena, line, size, &i, err);
        } else {
            size_t end = word_end(line, size, i);
            status = add(tokens, arena, line + i, end - i, false, err);
            i = end;
        }
        if (status) {
            return status;
        }
    }
    return STN_OK;
}

void stn_tokens_fini(stn_tokens *tokens) {
    stn_free(tokens->items);
    *tokens = (stn_tokens){0};
}

/* Digits in the base at text[*at]; false if there is none or it does not fit. */
static bool digits(const char *text, size_t size, size_t *at, uint64_t *value) {
    uint64_t base = 10;
    if (size - *at > 2 && text[*at] == '0' && (text[*at + 1] | 32) == 'x') {
        base = 16;
        *at += 2;
    }
    size_t begin = *at;
    *value = 0;
    for (; *at < size; (*at)++) {
        char c = text[*at];
        uint64_t digit = c >= '0' && c <= '9'                 ? (uint64_t)(c - '0')
                         : base == 16 && c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10)
                         : base == 16 && c >= 'A' && c <= 'F' ? (uint64_t)(c - 'A' + 10)
                                                              : 99;
        if (digit == 99) {
            break;
        }
        if (*value > (UINT64_MAX - digit) / base) {
            return false;
        }
        *value = *value * base + digit;
    }
    return *at > begin;
}

static uint64_t unit(const char *text, size_t size) {
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i].name) == size && !memcmp(units[i].name, text, size)) {
            return units[i].ns;
        }
    }
    return 0;
}

bool stn_lex_number(const char *text, size_t size, int64_t *value) {
    size_t at = 0;
    bool negative = size > 0 && text[0] == '-';
    at += negative;
    uint64_t magnitude;
    if (!digits(text, size, &at, &magnitude)) {
        return false;
    }
    uint64_t scale = unit(text + at, size - at);
    if (!scale || magnitude > (uint64_t)INT64_MAX / scale) {
        return false;
    }
    *value = negative ? -(int64_t)(magnitude * scale) : (int64_t)(magnitude * scale);
    return true;
}
