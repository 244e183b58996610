/* Factors are walked from the smallest stride up, and each new dimension takes those that begin
 * at its stride until its size is reached. What is left at the end of a factor is a part of it:
 * used cells of a cache, one term of a sum, the best of a sorted dimension.
 *
 * Factors of size 1 lie nowhere. If there are as many as new dimensions of size 1 at that stride,
 * these are what they become. Else one belongs to the factor beside it that comes from the same
 * dimension, or, a hyper-parameter, to what lies inside it; of the request's, what may hold them is
 * unknown. Where tokens of several sequences are one each, a 1 may be that or nothing: unknown,
 * too.
 */
#include "llm/ops/layout.h"

#include <string.h>

enum { FACTORS = 32 };

typedef struct factor {
    stn_expr e;
    int64_t size;
    uint64_t stride; /* as strides_of() */
    uint64_t at;     /* index at which the view begins */
    uint32_t dim;    /* of the shape it comes from */
    bool loose;      /* a 1 that only splitting the tokens by sequence has brought */
} factor;

typedef struct work {
    stn_exprs *pool;
    factor f[FACTORS]; /* by stride */
    uint32_t count, next;
    const stn_layout *to;
    uint64_t nb[STN_DIMS];    /* of to */
    uint32_t order[STN_DIMS]; /* dimensions of to, by stride */
    bool view, sorted;
    const char *why;
} work;

/* A label, what stands for its part in a view, and what a reshape splits it by. */
typedef struct row {
    const char *whole, *part;
} row;

/* Cells of a cache: a view of them is what is in use. */
static const row cells[] = {
    {"n_ctx_seq", "n_kv"},
    {"n_ctx_swa", "n_kv_swa"},
    {"n_seq_max", "n_seqs"},
};
/* A dimension cut in two: by the second, which is outside. */
static const row splits[] = {
    {"n_tokens", "n_seqs"},
    {"n_expert", "n_expert_groups"},
};
static const row best[] = {
    {"n_expert", "n_expert_used"},
    {"n_expert_groups", "n_expert_groups_used"},
};

static stn_expr cell_part(const stn_exprs *pool, stn_expr e) {
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        if (e != STN_EXPR_UNKNOWN && stn_expr_find(pool, cells[i].whole) == e) {
            return stn_expr_find(pool, cells[i].part);
        }
    }
    return STN_EXPR_UNKNOWN;
}

stn_expr stn_layout_best(stn_exprs *pool, stn_expr from, int64_t count) {
    int64_t value;
    for (size_t i = 0; i < sizeof best / sizeof *best; i++) {
        stn_expr part = stn_expr_find(pool, best[i].part);
        if (from != STN_EXPR_UNKNOWN && stn_expr_find(pool, best[i].whole) == from &&
            stn_expr_eval(pool, part, NULL, &value) && value == count) {
            return part;
        }
    }
    /* Experts of a group are judged by their best two: DeepSeek-V3, modeling_deepseek.py. */
    stn_expr group = stn_expr_quotient(pool, stn_expr_find(pool, "n_expert"),
                                       stn_expr_find(pool, "n_expert_groups"));
    return from != STN_EXPR_UNKNOWN && from == group && count == 2 ? stn_expr_const(pool, 2)
                                                                   : STN_EXPR_UNKNOWN;
}

static void insert(work *w, uint32_t at, const factor *one) {
    if (w->count < FACTORS) {
        memmove(w->f + at + 1, w->f + at, (w->count - at) * sizeof *w->f);
        w->f[at] = *one;
        w->count++;
    }
}

/* Put the factors of dimension @p d where their strides belong. */
static void add_dim(work *w, const stn_layout *from, const uint64_t *nb, uint32_t d) {
    const stn_expr_node *node = stn_expr_at(w->pool, from->dims[d]);
    bool product = node->kind == STN_EXPR_IS_PRODUCT;
    uint64_t inside = 1; /* values of this dimension that one step passes */
    for (uint32_t i = 0; i < (product ? node->count : 1); i++) {
        factor one = {.e = product ? node->args[i] : from->dims[d], .size = from->ne[d], .dim = d};
        if (one.e == STN_EXPR_ONE && one.size == 1) {
            continue;
        }
        if (product && !stn_expr_eval(w->pool, one.e, NULL, &one.size)) {
            one.size = 1;
        }
        one.stride = nb[d] * inside;
        inside *= (uint64_t)one.size;
        uint32_t at = w->count;
        while (at > 0 && w->f[at - 1].stride > one.stride) {
            at--;
        }
        insert(w, at, &one);
    }
}

/* Strides of values, in shares of a byte: @p block values of dimension 0 have nb[0] bytes. */
static void strides_of(const stn_layout *layout, uint32_t block, uint64_t *nb) {
    uint64_t stride = 1;
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        nb[d] = !layout->nb ? stride : layout->nb[d] * (d ? block : 1);
        stride *= (uint64_t)layout->ne[d];
    }
}

/* Where in each factor the view begins. */
static void place(work *w, uint64_t offset) {
    for (uint32_t i = w->count; i-- > 0;) {
        if (w->f[i].stride && w->f[i].size > 1) {
            w->f[i].at = offset / w->f[i].stride;
            offset %= w->f[i].stride;
        }
    }
}

/* Cut factor @p at in two if its inner part has @p size values. */
static bool split(work *w, uint32_t at, int64_t size, bool any) {
    factor *f = &w->f[at];
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        stn_expr whole = stn_expr_find(w->pool, splits[i].whole);
        stn_expr outer = stn_expr_find(w->pool, splits[i].part);
        int64_t by;
        if (f->e == STN_EXPR_UNKNOWN || f->e != whole ||
            !stn_expr_eval(w->pool, outer, NULL, &by) || f->size % by != 0 ||
            (!any && f->size / by != size) || w->count == FACTORS) {
            continue;
        }
        factor rest = *f;
        f->e = stn_expr_quotient(w->pool, whole, outer);
        f->size /= by;
        rest.e = outer;
        rest.loose = false;
        rest.size = by;
        rest.stride = f->stride * (uint64_t)f->size;
        insert(w, at + 1, &rest);
        return true;
    }
    const stn_expr_node *node = stn_expr_at(w->pool, f->e);
    if (any || node->kind != STN_EXPR_IS_CONST || f->size % size != 0 || w->count == FACTORS) {
        return false;
    }
    factor rest = *f;
    rest.e = stn_expr_const(w->pool, f->size / size);
    rest.size = f->size / size;
    rest.stride = f->stride * (uint64_t)size;
    f->e = stn_expr_const(w->pool, size);
    f->size = size;
    insert(w, at + 1, &rest);
    return true;
}

/* Tokens are by sequence wherever the pass has several: before anything else. */
static void split_tokens(work *w) {
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->f[i].e != STN_EXPR_UNKNOWN && w->f[i].e == stn_expr_find(w->pool, "n_tokens")) {
            split(w, i, 0, true);
            w->f[i].loose = w->f[i].size == 1;
            return;
        }
    }
}

/* What @p size values of factor @p f are called whatever its own size is: cells in use, the best
 * of a sorted dimension. */
static stn_expr named_part(const work *w, const factor *f, int64_t size) {
    if (!w->view) {
        return STN_EXPR_UNKNOWN;
    }
    return w->sorted && f->dim == 0 && f->at == 0 ? stn_layout_best(w->pool, f->e, size)
                                                  : cell_part(w->pool, f->e);
}

/* @p size values of factor @p f, from where the view begins: terms of a sum. */
static stn_expr part_of(work *w, const factor *f, int64_t size) {
    const stn_expr_node *node = stn_expr_at(w->pool, f->e);
    uint64_t begin = 0;
    for (uint32_t i = 0; node->kind == STN_EXPR_IS_SUM && i < node->count; i++) {
        int64_t total = 0;
        int64_t value;
        for (uint32_t j = i; begin == f->at && j < node->count && total < size; j++) {
            total += stn_expr_eval(w->pool, node->args[j], NULL, &value) ? value : size + 1;
            if (total == size) {
                return stn_expr_sum(w->pool, node->args + i, j + 1 - i);
            }
        }
        begin += stn_expr_eval(w->pool, node->args[i], NULL, &value) ? (uint64_t)value : 0;
    }
    w->why = "a part of a dimension that nothing names";
    return STN_EXPR_UNKNOWN;
}

/* Does a new dimension from position @p from of the order on begin at @p stride? A view that only
 * shortens a dimension does not split it. */
static bool begins_at(const work *w, uint32_t from, uint64_t stride) {
    for (uint32_t i = from; i < STN_DIMS; i++) {
        if (w->to->ne[w->order[i]] > 1 && w->nb[w->order[i]] == stride) {
            return true;
        }
    }
    return false;
}

static bool is_one_at(const factor *f, uint64_t stride) {
    return f->size == 1 && f->stride == stride;
}

/* Factors and new dimensions of size 1 at a stride. */
typedef struct ones {
    uint32_t have, want;
    bool pairs;   /* each is one of the others */
    bool request; /* one of them is of the request, or unknown */
} ones;

static ones ones_at(const work *w, uint64_t stride) {
    ones all = {0};
    bool loose = false;
    for (uint32_t i = 0; i < w->count; i++) {
        const factor *f = &w->f[i];
        if (is_one_at(f, stride)) {
            all.have++;
            loose = loose || f->loose;
            all.request = all.request || f->e == STN_EXPR_UNKNOWN ||
                          stn_expr_has(w->pool, f->e, STN_ORIGIN_REQUEST);
        }
    }
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        all.want += w->to->ne[d] == 1 && w->nb[d] == stride;
    }
    all.pairs = all.have == all.want && !loose;
    return all;
}

/* The new dimension at position @p p of the order has size 1. */
static stn_expr take_one(work *w, uint32_t p) {
    uint64_t stride = w->nb[w->order[p]];
    ones all = ones_at(w, stride);
    uint32_t skip = 0; /* those that dimensions before it have taken */
    for (uint32_t i = 0; i < p; i++) {
        skip += w->to->ne[w->order[i]] == 1 && w->nb[w->order[i]] == stride;
    }
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->f[i].e == STN_EXPR_UNKNOWN && w->f[i].stride == stride) {
            w->why = "its source is unknown"; /* a product that may hold this one */
            return STN_EXPR_UNKNOWN;
        }
    }
    if (all.have == 0 || (!all.pairs && !all.request)) {
        return STN_EXPR_ONE;
    }
    w->why = "one of several dimensions of size 1";
    for (uint32_t i = 0; all.pairs && i < w->count; i++) {
        if (is_one_at(&w->f[i], stride) && skip-- == 0) {
            stn_expr used = w->view ? cell_part(w->pool, w->f[i].e) : STN_EXPR_UNKNOWN;
            return used != STN_EXPR_UNKNOWN ? used : w->f[i].e;
        }
    }
    return STN_EXPR_UNKNOWN;
}

/* Which dimension does the factor behind the ones at @p next come from? */
static uint32_t dim_behind(const work *w, uint64_t stride) {
    uint32_t i = w->next;
    while (i < w->count && is_one_at(&w->f[i], stride)) {
        i++;
    }
    return i < w->count ? w->f[i].dim : STN_DIMS;
}

/* Factors of size 1 before (@p behind false) or behind what a dimension takes that comes from
 * dimension @p dim of the source. @return false if it cannot be known whether it has them */
static bool take_ones(work *w, uint64_t stride, uint32_t dim, bool behind, stn_expr *parts,
                      size_t *count) {
    ones all = ones_at(w, stride);
    bool fine = all.have == 0 || all.pairs || all.want == 0 || !all.request;
    while (fine && w->next < w->count && *count < FACTORS && is_one_at(&w->f[w->next], stride)) {
        const factor *f = &w->f[w->next];
        if (!all.pairs && behind && f->dim != dim && f->dim == dim_behind(w, stride)) {
            break; /* it is the next one's */
        }
        fine = all.pairs || f->dim == dim || !all.request;
        if (!all.pairs) {
            parts[(*count)++] = f->e;
        }
        w->next += fine; /* or the next may hold it */
    }
    w->why = fine ? w->why : "beside a dimension of size 1 that the request fixes";
    return fine;
}

static stn_expr take_many(work *w, uint32_t p) {
    int64_t size = w->to->ne[w->order[p]];
    uint64_t stride = w->nb[w->order[p]];
    stn_expr parts[FACTORS];
    size_t count = 0;
    int64_t have = 1;
    w->why = "its stride is none of the source's";
    while (w->next < w->count && w->f[w->next].stride < stride) {
        w->next++;
    }
    uint32_t dim = dim_behind(w, stride);
    if (!take_ones(w, stride, dim, false, parts, &count)) {
        return STN_EXPR_UNKNOWN;
    }
    while (have < size && w->next < w->count && count < FACTORS) {
        const factor *f = &w->f[w->next];
        int64_t rest = size / have;
        if (f->stride != stride * (uint64_t)have || size % have != 0) {
            return STN_EXPR_UNKNOWN;
        }
        bool whole = f->size <= rest && rest % f->size == 0;
        uint64_t outer = f->stride * (uint64_t)rest;
        if (!whole && (!w->view || begins_at(w, p + 1, outer)) && split(w, w->next, rest, false)) {
            continue;
        }
        stn_expr used = named_part(w, f, rest);
        parts[count] = used != STN_EXPR_UNKNOWN ? used : whole ? f->e : part_of(w, f, rest);
        have *= whole ? f->size : rest;
        dim = f->dim;
        w->next++;
        if (parts[count++] == STN_EXPR_UNKNOWN) {
            w->why = whole ? "its source is unknown" : w->why;
            return STN_EXPR_UNKNOWN;
        }
    }
    if (have != size || !take_ones(w, stride * (uint64_t)size, dim, true, parts, &count)) {
        return STN_EXPR_UNKNOWN;
    }
    return stn_expr_product(w->pool, parts, count);
}

static void order_dims(work *w) {
    for (uint32_t i = 0; i < STN_DIMS; i++) {
        uint32_t at = i;
        while (at > 0 && w->nb[w->order[at - 1]] > w->nb[i]) {
            w->order[at] = w->order[at - 1];
            at--;
        }
        w->order[at] = i;
    }
}

void stn_layout_regroup(stn_exprs *pool, const stn_layout *from, const stn_layout *to,
                        uint64_t offset, stn_expr *dims, const char **why) {
    work w = {.pool = pool, .to = to, .view = to->nb != NULL, .sorted = from->sorted};
    uint64_t nb[STN_DIMS];
    strides_of(from, from->block, nb);
    strides_of(to, from->block, w.nb);
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        add_dim(&w, from, nb, d);
    }
    place(&w, offset * from->block);
    split_tokens(&w);
    order_dims(&w);
    for (uint32_t p = 0; p < STN_DIMS; p++) {
        uint32_t d = w.order[p];
        int64_t value;
        stn_expr e = to->ne[d] == 1 ? take_one(&w, p) : take_many(&w, p);
        if (e != STN_EXPR_UNKNOWN &&
            (!stn_expr_eval(pool, e, NULL, &value) || value != to->ne[d])) {
            w.why = "what it should be has another size";
            e = STN_EXPR_UNKNOWN;
        }
        dims[d] = e;
        why[d] = e == STN_EXPR_UNKNOWN ? w.why : NULL;
    }
}
