/* Expressions are interned: a node that is there already is not made again, so equal ones are one
 * number. Nodes stay where they are. */
#include "llm/ops/expr.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

const char *stn_origin_name(stn_origin origin) {
    static const char *const names[STN_ORIGIN_COUNT] = {"model", "request", "context"};
    return names[origin];
}

static bool same(const stn_expr_node *a, const stn_expr_node *b) {
    return a->kind == b->kind && a->count == b->count && a->value == b->value &&
           memcmp(a->args, b->args, a->count * sizeof *a->args) == 0;
}

static uint64_t hash_of(const stn_expr_node *node) {
    uint64_t hash = stn_hash_u64(node->kind * 0x9e3779b97f4a7c15u + (uint64_t)node->value);
    for (uint32_t i = 0; i < node->count; i++) {
        hash = stn_hash_u64(hash + node->args[i] + 1);
    }
    return hash;
}

/* The number of @p node, or unknown with @p hash where it belongs. */
static stn_expr look_up(const stn_exprs *pool, const stn_expr_node *node, uint64_t *hash) {
    const uint64_t *id;
    for (*hash = hash_of(node); (id = stn_map_get(&pool->by_hash, *hash)) != NULL;
         *hash = stn_hash_u64(*hash + 1)) {
        if (same(pool->nodes[*id], node)) {
            return (stn_expr)*id;
        }
    }
    return STN_EXPR_UNKNOWN;
}

static stn_expr put(stn_exprs *pool, const stn_expr_node *node) {
    uint64_t hash;
    stn_expr known = look_up(pool, node, &hash);
    if (known != STN_EXPR_UNKNOWN) {
        return known;
    }
    stn_expr_node *copy = stn_arena_alloc(&pool->arena, sizeof *copy);
    if (!copy || stn_grow(&pool->nodes, &pool->node_capacity, pool->node_count + 1,
                          sizeof *pool->nodes) != STN_OK) {
        pool->out_of_memory = true;
        return STN_EXPR_UNKNOWN;
    }
    uint64_t *id = stn_map_put(&pool->by_hash, hash, NULL);
    if (!id) {
        pool->out_of_memory = true;
        return STN_EXPR_UNKNOWN;
    }
    *copy = *node;
    *id = pool->node_count;
    pool->nodes[pool->node_count++] = copy;
    return (stn_expr)*id;
}

stn_status stn_exprs_init(stn_exprs *pool, stn_err *err) {
    memset(pool, 0, sizeof *pool);
    stn_expr_node unknown = {.kind = STN_EXPR_IS_UNKNOWN};
    put(pool, &unknown); /* number 0: nothing found is unknown too, and that is right here */
    stn_expr_const(pool, 1);
    if (pool->out_of_memory) {
        stn_exprs_fini(pool);
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    return STN_OK;
}

void stn_exprs_fini(stn_exprs *pool) {
    stn_arena_fini(&pool->arena);
    stn_map_fini(&pool->by_hash);
    stn_free(pool->nodes);
    stn_intern_fini(&pool->names);
    stn_free(pool->labels);
    memset(pool, 0, sizeof *pool);
}

const stn_expr_node *stn_expr_at(const stn_exprs *pool, stn_expr e) {
    return pool->nodes[e];
}

stn_expr stn_expr_const(stn_exprs *pool, int64_t value) {
    stn_expr_node node = {.kind = STN_EXPR_IS_CONST, .value = value};
    return put(pool, &node);
}

stn_expr stn_expr_label(stn_exprs *pool, const char *name, stn_origin origin, int64_t value) {
    size_t known = pool->names.count;
    if (stn_grow(&pool->labels, &pool->label_capacity, known + 1, sizeof *pool->labels) != STN_OK) {
        pool->out_of_memory = true;
        return STN_EXPR_UNKNOWN;
    }
    uint32_t id = stn_intern_add(&pool->names, name, strlen(name));
    if (id == STN_INTERN_NONE) {
        pool->out_of_memory = true;
        return STN_EXPR_UNKNOWN;
    }
    if (id == known) {
        pool->labels[id] = (stn_label){pool->names.texts[id], origin, value};
        pool->label_count = known + 1;
    }
    stn_expr_node node = {.kind = STN_EXPR_IS_LABEL, .value = id};
    return put(pool, &node);
}

stn_expr stn_expr_find(const stn_exprs *pool, const char *name) {
    uint32_t id = stn_intern_find(&pool->names, name, strlen(name));
    stn_expr_node node = {.kind = STN_EXPR_IS_LABEL, .value = id};
    uint64_t hash;
    return id == STN_INTERN_NONE ? STN_EXPR_UNKNOWN : look_up(pool, &node, &hash);
}

/* Put @p e behind the factors or terms of @p node; one that has the same kind is taken apart. */
static bool append(const stn_exprs *pool, stn_expr_node *node, stn_expr e) {
    const stn_expr_node *more = stn_expr_at(pool, e);
    if (more->kind == node->kind) {
        for (uint32_t i = 0; i < more->count; i++) {
            if (!append(pool, node, more->args[i])) {
                return false;
            }
        }
        return true;
    }
    if (more->kind == STN_EXPR_IS_UNKNOWN || node->count == STN_EXPR_ARGS) {
        return false;
    }
    node->args[node->count++] = e;
    return true;
}

/* The product of two neighbours if it is one expression: constants, or a quotient beside its
 * divisor; else unknown. */
static stn_expr join(stn_exprs *pool, stn_expr a, stn_expr b) {
    const stn_expr_node *x = stn_expr_at(pool, a);
    const stn_expr_node *y = stn_expr_at(pool, b);
    int64_t value;
    if (x->kind == STN_EXPR_IS_CONST && y->kind == STN_EXPR_IS_CONST) {
        return __builtin_mul_overflow(x->value, y->value, &value) ? STN_EXPR_UNKNOWN
                                                                  : stn_expr_const(pool, value);
    }
    if (a == STN_EXPR_ONE || b == STN_EXPR_ONE) {
        return a == STN_EXPR_ONE ? b : a;
    }
    if (x->kind == STN_EXPR_IS_QUOTIENT && x->args[1] == b) {
        return x->args[0];
    }
    return y->kind == STN_EXPR_IS_QUOTIENT && y->args[1] == a ? y->args[0] : STN_EXPR_UNKNOWN;
}

stn_expr stn_expr_product(stn_exprs *pool, const stn_expr *args, size_t count) {
    stn_expr_node all = {.kind = STN_EXPR_IS_PRODUCT};
    for (size_t i = 0; i < count; i++) {
        if (!append(pool, &all, args[i])) {
            return STN_EXPR_UNKNOWN;
        }
    }
    stn_expr_node node = {.kind = STN_EXPR_IS_PRODUCT};
    for (uint32_t i = 0; i < all.count; i++) {
        node.args[node.count++] = all.args[i];
        while (node.count > 1) {
            stn_expr one = join(pool, node.args[node.count - 2], node.args[node.count - 1]);
            if (one == STN_EXPR_UNKNOWN) {
                break;
            }
            node.args[--node.count - 1] = one;
        }
    }
    return node.count == 0 ? STN_EXPR_ONE : node.count == 1 ? node.args[0] : put(pool, &node);
}

stn_expr stn_expr_sum(stn_exprs *pool, const stn_expr *args, size_t count) {
    stn_expr_node all = {.kind = STN_EXPR_IS_SUM};
    for (size_t i = 0; i < count; i++) {
        if (!append(pool, &all, args[i])) {
            return STN_EXPR_UNKNOWN;
        }
    }
    stn_expr_node node = {.kind = STN_EXPR_IS_SUM};
    for (uint32_t i = 0; i < all.count; i++) {
        const stn_expr_node *next = stn_expr_at(pool, all.args[i]);
        const stn_expr_node *last =
            node.count ? stn_expr_at(pool, node.args[node.count - 1]) : NULL;
        int64_t value;
        if (next->kind == STN_EXPR_IS_CONST && next->value == 0) {
            continue;
        }
        if (last && last->kind == STN_EXPR_IS_CONST && next->kind == STN_EXPR_IS_CONST &&
            !__builtin_add_overflow(last->value, next->value, &value)) {
            node.args[node.count - 1] = stn_expr_const(pool, value);
            continue;
        }
        node.args[node.count++] = all.args[i];
    }
    return node.count == 0   ? stn_expr_const(pool, 0)
           : node.count == 1 ? node.args[0]
                             : put(pool, &node);
}

stn_expr stn_expr_quotient(stn_exprs *pool, stn_expr a, stn_expr b) {
    const stn_expr_node *x = stn_expr_at(pool, a);
    const stn_expr_node *y = stn_expr_at(pool, b);
    if (a == STN_EXPR_UNKNOWN || b == STN_EXPR_UNKNOWN || b == STN_EXPR_ONE || a == b) {
        return a == STN_EXPR_UNKNOWN || b == STN_EXPR_UNKNOWN ? STN_EXPR_UNKNOWN
               : a == b                                       ? STN_EXPR_ONE
                                                              : a;
    }
    if (x->kind == STN_EXPR_IS_CONST && y->kind == STN_EXPR_IS_CONST && y->value != 0 &&
        x->value % y->value == 0) {
        return stn_expr_const(pool, x->value / y->value);
    }
    for (uint32_t i = 0; x->kind == STN_EXPR_IS_PRODUCT && i < x->count; i++) {
        if (x->args[i] == b) { /* one factor less */
            stn_expr_node rest = {.kind = STN_EXPR_IS_PRODUCT};
            for (uint32_t j = 0; j < x->count; j++) {
                if (j != i) {
                    rest.args[rest.count++] = x->args[j];
                }
            }
            return stn_expr_product(pool, rest.args, rest.count);
        }
    }
    stn_expr_node node = {.kind = STN_EXPR_IS_QUOTIENT, .count = 2, .args = {a, b}};
    return put(pool, &node);
}

bool stn_expr_eval(const stn_exprs *pool, stn_expr e, const int64_t *values, int64_t *out) {
    const stn_expr_node *node = stn_expr_at(pool, e);
    int64_t a;
    int64_t b;
    switch ((stn_expr_kind)node->kind) {
    case STN_EXPR_IS_UNKNOWN:
        return false;
    case STN_EXPR_IS_CONST:
        *out = node->value;
        return true;
    case STN_EXPR_IS_LABEL:
        *out = values ? values[node->value] : pool->labels[node->value].value;
        return true;
    case STN_EXPR_IS_QUOTIENT:
        if (!stn_expr_eval(pool, node->args[0], values, &a) ||
            !stn_expr_eval(pool, node->args[1], values, &b) || b <= 0 || a % b != 0) {
            return false;
        }
        *out = a / b;
        return true;
    case STN_EXPR_IS_PRODUCT:
    case STN_EXPR_IS_SUM:
        break;
    }
    bool product = node->kind == STN_EXPR_IS_PRODUCT;
    *out = product;
    for (uint32_t i = 0; i < node->count; i++) {
        if (!stn_expr_eval(pool, node->args[i], values, &a) ||
            (product ? __builtin_mul_overflow(*out, a, out)
                     : __builtin_add_overflow(*out, a, out))) {
            return false;
        }
    }
    return true;
}

bool stn_expr_has(const stn_exprs *pool, stn_expr e, stn_origin origin) {
    const stn_expr_node *node = stn_expr_at(pool, e);
    if (node->kind == STN_EXPR_IS_LABEL) {
        return pool->labels[node->value].origin == origin;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        if (stn_expr_has(pool, node->args[i], origin)) {
            return true;
        }
    }
    return false;
}

/* Make @p node anew with @p args. */
static stn_expr rebuilt(stn_exprs *pool, const stn_expr_node *node, const stn_expr *args) {
    switch ((stn_expr_kind)node->kind) {
    case STN_EXPR_IS_PRODUCT:
        return stn_expr_product(pool, args, node->count);
    case STN_EXPR_IS_SUM:
        return stn_expr_sum(pool, args, node->count);
    case STN_EXPR_IS_QUOTIENT:
        assert(node->count == 2);
        return stn_expr_quotient(pool, args[0], args[1]);
    case STN_EXPR_IS_UNKNOWN:
    case STN_EXPR_IS_CONST:
    case STN_EXPR_IS_LABEL:
        break;
    }
    return put(pool, node);
}

stn_expr stn_expr_bind(stn_exprs *pool, stn_expr e, stn_origin origin) {
    const stn_expr_node *node = stn_expr_at(pool, e);
    stn_expr args[STN_EXPR_ARGS];
    if (node->kind == STN_EXPR_IS_LABEL) {
        const stn_label *label = &pool->labels[node->value];
        return label->origin == origin ? stn_expr_const(pool, label->value) : e;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        args[i] = stn_expr_bind(pool, node->args[i], origin);
    }
    return node->count ? rebuilt(pool, node, args) : e;
}

stn_expr stn_expr_replace(stn_exprs *pool, stn_expr e, stn_expr from, stn_expr to) {
    const stn_expr_node *node = stn_expr_at(pool, e);
    stn_expr args[STN_EXPR_ARGS];
    if (e == from) {
        return to;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        args[i] = stn_expr_replace(pool, node->args[i], from, to);
    }
    return node->count ? rebuilt(pool, node, args) : e;
}

/* A text that is cut at its end. */
typedef struct text {
    char *at;
    size_t used, size;
} text;

static void put_text(text *text, const char *more) {
    size_t size = strlen(more);
    size_t room = text->size - text->used - 1;
    size = size < room ? size : room;
    memcpy(text->at + text->used, more, size);
    text->used += size;
    text->at[text->used] = '\0';
}

/* @p level 0: stands alone; 1: a factor; 2: a side of a quotient. */
static void write_expr(const stn_exprs *pool, stn_expr e, int level, text *out) {
    const stn_expr_node *node = stn_expr_at(pool, e);
    char number[24];
    bool brackets = node->count && level >= (node->kind == STN_EXPR_IS_PRODUCT ? 2 : 1);
    put_text(out, brackets ? "(" : "");
    switch ((stn_expr_kind)node->kind) {
    case STN_EXPR_IS_UNKNOWN:
        put_text(out, "?");
        break;
    case STN_EXPR_IS_CONST:
        snprintf(number, sizeof number, "%lld", (long long)node->value);
        put_text(out, number);
        break;
    case STN_EXPR_IS_LABEL:
        put_text(out, pool->labels[node->value].name);
        break;
    case STN_EXPR_IS_PRODUCT:
        for (uint32_t i = node->count; i-- > 0;) {
            write_expr(pool, node->args[i], 1, out);
            put_text(out, i ? "*" : "");
        }
        break;
    case STN_EXPR_IS_QUOTIENT:
        write_expr(pool, node->args[0], 2, out);
        put_text(out, "/");
        write_expr(pool, node->args[1], 2, out);
        break;
    case STN_EXPR_IS_SUM:
        for (uint32_t i = 0; i < node->count; i++) {
            put_text(out, i ? "+" : "");
            write_expr(pool, node->args[i], 0, out);
        }
        break;
    }
    put_text(out, brackets ? ")" : "");
}

const char *stn_expr_text(const stn_exprs *pool, stn_expr e, char *buffer, size_t size) {
    text out = {.at = buffer, .size = size};
    buffer[0] = '\0';
    write_expr(pool, e, 0, &out);
    return buffer;
}
