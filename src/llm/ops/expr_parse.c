/* Text back to expressions: sum = product {"+" product}; product = item {("*"|"/") item};
 * item = number | label | "?" | "(" sum ")". */
#include <stdio.h>
#include <string.h>

#include "llm/ops/expr.h"

typedef struct parser {
    stn_exprs *pool;
    const char *text, *at;
    int depth;
    stn_err *err;
} parser;

enum { DEPTH_MOST = 32, NAME_MOST = 128 };

static stn_status sum_of(parser *p, stn_expr *out);

static stn_status wrong(const parser *p, const char *expected) {
    return stn_err_set(p->err, STN_EFORMAT, "\"%.80s\": column %zu: expected %s", p->text,
                       (size_t)(p->at - p->text) + 1, expected);
}

static bool in_name(char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9') || c == '.' ||
           (c >= 'A' && c <= 'Z');
}

static stn_status number_of(parser *p, stn_expr *out) {
    int64_t value = 0;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p->at - '0', &value)) {
            return wrong(p, "a number below 2^63");
        }
    }
    *out = stn_expr_const(p->pool, value);
    return STN_OK;
}

static stn_status item_of(parser *p, stn_expr *out) {
    char name[NAME_MOST];
    size_t size = 0;
    if (*p->at >= '0' && *p->at <= '9') {
        return number_of(p, out);
    }
    if (*p->at == '?') {
        p->at++;
        *out = STN_EXPR_UNKNOWN;
        return STN_OK;
    }
    if (*p->at == '(') {
        p->at++;
        stn_status status = p->depth++ < DEPTH_MOST ? sum_of(p, out) : wrong(p, "fewer brackets");
        p->depth--;
        if (status == STN_OK && *p->at++ != ')') {
            p->at--;
            status = wrong(p, "\")\"");
        }
        return status;
    }
    while (in_name(p->at[size]) && size + 1 < sizeof name) {
        name[size] = p->at[size];
        size++;
    }
    name[size] = '\0';
    *out = stn_expr_find(p->pool, name);
    if (*out == STN_EXPR_UNKNOWN) {
        return wrong(p, size ? "a label of the graph" : "a number, a label or a bracket");
    }
    p->at += size;
    return STN_OK;
}

static stn_status product_of(parser *p, stn_expr *out) {
    stn_status status = item_of(p, out);
    while (status == STN_OK && (*p->at == '*' || *p->at == '/')) {
        char sign = *p->at++;
        stn_expr next;
        status = item_of(p, &next);
        if (status == STN_OK) { /* the outermost factor stands first */
            *out = sign == '*' ? stn_expr_product(p->pool, (stn_expr[]){next, *out}, 2)
                               : stn_expr_quotient(p->pool, *out, next);
        }
    }
    return status;
}

static stn_status sum_of(parser *p, stn_expr *out) {
    stn_status status = product_of(p, out);
    while (status == STN_OK && *p->at == '+') {
        p->at++;
        stn_expr next;
        status = product_of(p, &next);
        if (status == STN_OK) {
            *out = stn_expr_sum(p->pool, (stn_expr[]){*out, next}, 2);
        }
    }
    return status;
}

stn_status stn_expr_parse(stn_exprs *pool, const char *text, stn_expr *out, stn_err *err) {
    parser p = {.pool = pool, .text = text, .at = text, .err = err};
    stn_status status = sum_of(&p, out);
    if (status == STN_OK && *p.at) {
        status = wrong(&p, "an operator or the end");
    }
    if (status == STN_OK && pool->out_of_memory) {
        status = stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    return status;
}
