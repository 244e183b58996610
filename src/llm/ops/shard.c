/* Nodes are walked in order and appended to a new list. Beside each stands what its value is on one
 * rank: whole, a part of a sum over ranks, or the rows that were sent to this rank's experts. A
 * node that cannot work with that gets its source through a collective first. */
#include "llm/ops/shard.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* What a value is. */
typedef enum state {
    WHOLE = 0,
    PARTIAL = 1, /* the sum over the ranks is meant */
    SENT = 2,    /* lies with the experts */
} state;

typedef struct made {
    unsigned state;    /* bits of state */
    uint32_t whole;    /* node of its value after a collective; STN_NO_NODE */
    uint32_t received; /* node of it in a later stage */
    int32_t stage;     /* -1: a leaf, on all of them */
    int32_t into;      /* stage that received belongs to */
    uint32_t sent;     /* node that takes it to the experts */
} made;

typedef struct work {
    stn_graph *graph;
    stn_sharding by;
    stn_node *old; /* [old_count] */
    size_t old_count;
    bool *cut;     /* [old_count] its contracted dimension, 0, is cut */
    bool *rows;    /* [old_count] its dimension 1 is cut */
    uint32_t *map; /* [old_count] to new nodes */
    made *made;    /* [made_capacity] beside the new nodes */
    size_t made_capacity;
    int32_t layers;
    bool lost; /* out of memory */
} work;

/* ---- cutting dimensions ---------------------------------------------- */

/* Labels that tensor parallelism cuts. */
static const struct {
    const char *label;
    bool may_stay; /* whole if it does not divide */
} cuts[] = {{"n_head", false},      {"n_head_kv", false},   {"n_ff", false},
            {"n_ff_expert", false}, {"n_ff_shared", false}, {"n_vocab", true}};

/* What @p label becomes on one of @p ranks; unknown if it does not divide. */
static stn_expr cut_label(stn_exprs *pool, stn_expr label, int64_t value, const char *by,
                          uint32_t ranks, bool shared) {
    if (value % ranks == 0) {
        return stn_expr_quotient(pool, label, stn_expr_find(pool, by));
    }
    return shared && ranks % value == 0 ? STN_EXPR_ONE : STN_EXPR_UNKNOWN;
}

static stn_status cut_all(work *w, const char *name, bool may_stay, stn_err *err) {
    stn_exprs *pool = &w->graph->exprs;
    stn_expr label = stn_expr_find(pool, name);
    int64_t value;
    if (label == STN_EXPR_UNKNOWN || !stn_expr_eval(pool, label, NULL, &value)) {
        return STN_OK;
    }
    bool used = false;
    for (size_t i = 0; i < w->old_count && !used; i++) {
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            stn_expr e = w->old[i].dims[d];
            used = used || stn_expr_replace(pool, e, label, STN_EXPR_ONE) != e;
        }
    }
    bool heads = strcmp(name, "n_head_kv") == 0;
    stn_expr to = cut_label(pool, label, value, "tp", w->by.tp, heads);
    if (to == STN_EXPR_UNKNOWN) {
        return may_stay || !used
                   ? STN_OK
                   : stn_err_set(err, STN_ERANGE, "%s %lld cannot be cut for %u ranks", name,
                                 (long long)value, w->by.tp);
    }
    for (size_t i = 0; i < w->old_count; i++) {
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            stn_expr e = stn_expr_replace(pool, w->old[i].dims[d], label, to);
            w->cut[i] = w->cut[i] || (d == 0 && e != w->old[i].dims[d]);
            w->rows[i] = w->rows[i] || (d == 1 && e != w->old[i].dims[d]);
            w->old[i].dims[d] = e;
        }
    }
    return STN_OK;
}

/* Weights of experts: those that products and biases by expert read. */
static stn_status cut_experts(work *w, stn_err *err) {
    stn_exprs *pool = &w->graph->exprs;
    stn_expr label = stn_expr_find(pool, "n_expert");
    int64_t value;
    if (label == STN_EXPR_UNKNOWN || !stn_expr_eval(pool, label, NULL, &value)) {
        return stn_err_set(err, STN_ERANGE, "--ep %u: the model has no experts", w->by.ep);
    }
    stn_expr to = cut_label(pool, label, value, "ep", w->by.ep, false);
    if (to == STN_EXPR_UNKNOWN) {
        return stn_err_set(err, STN_ERANGE, "n_expert %lld cannot be cut for %u ranks",
                           (long long)value, w->by.ep);
    }
    for (size_t i = 0; i < w->old_count; i++) {
        uint32_t weight = strcmp(w->old[i].op, "MUL_MAT_ID") == 0 ? w->old[i].src[0]
                          : strcmp(w->old[i].op, "ADD_ID") == 0   ? w->old[i].src[1]
                                                                  : STN_NO_NODE;
        for (uint32_t d = 0; weight != STN_NO_NODE && d < STN_DIMS; d++) {
            stn_expr e = w->old[weight].dims[d];
            w->old[weight].dims[d] = e == label ? to : e;
        }
    }
    return STN_OK;
}

/* ---- the new list ---------------------------------------------------- */

static uint32_t append(work *w, const stn_node *node, unsigned is, int32_t stage) {
    uint32_t id = (uint32_t)w->graph->node_count;
    stn_node *to = stn_graph_add(w->graph);
    if (!to || stn_grow(&w->made, &w->made_capacity, id + 1, sizeof *w->made) != STN_OK) {
        w->lost = true;
        return 0;
    }
    *to = *node;
    to->stage = stage < 0 ? 0 : stage;
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        int64_t value;
        if (stn_expr_eval(&w->graph->exprs, to->dims[d], NULL, &value)) {
            to->ne[d] = value;
        }
    }
    w->made[id] = (made){.state = is,
                         .whole = STN_NO_NODE,
                         .received = STN_NO_NODE,
                         .stage = stage,
                         .into = -1,
                         .sent = STN_NO_NODE};
    return id;
}

/* @p op over node @p src, in @p stage. */
static uint32_t collective(work *w, const char *op, uint32_t src, const stn_expr *dims, unsigned is,
                           int32_t stage) {
    stn_node node = w->graph->nodes[src];
    node.op = node.desc = op;
    node.kind = STN_KIND_COLLECTIVE;
    node.flags = 0;
    memset(node.params, 0, sizeof node.params);
    memcpy(node.dims, dims, sizeof node.dims);
    for (uint32_t i = 0; i < STN_SRCS; i++) {
        node.src[i] = i ? STN_NO_NODE : src;
    }
    return w->lost ? 0 : append(w, &node, is, stage);
}

/* Node @p id, its sum reduced and its rows back from the experts unless @p keep has these bits. */
static uint32_t settle(work *w, uint32_t id, unsigned keep) {
    unsigned left = w->made[id].state & ~keep;
    if (!left) {
        return id;
    }
    if (w->made[id].whole == STN_NO_NODE) {
        stn_expr dims[STN_DIMS];
        memcpy(dims, w->graph->nodes[id].dims, sizeof dims);
        uint32_t whole = collective(w, left & SENT ? "ALL_TO_ALL" : "ALL_REDUCE", id, dims,
                                    w->made[id].state & ~left, w->made[id].stage);
        w->made[id].whole = whole;
    }
    return w->lost ? 0 : w->made[id].whole;
}

/* Node @p id for a node of @p stage. */
static uint32_t fetch(work *w, uint32_t id, unsigned keep, int32_t stage) {
    assert(w->made);
    bool crosses = w->made[id].stage >= 0 && w->made[id].stage < stage;
    id = settle(w, id, crosses ? 0 : keep);
    if (!crosses || w->lost) {
        return id;
    }
    if (w->made[id].received == STN_NO_NODE || w->made[id].into != stage) {
        stn_expr dims[STN_DIMS];
        memcpy(dims, w->graph->nodes[id].dims, sizeof dims);
        uint32_t received = collective(w, "SEND_RECV", id, dims, WHOLE, stage);
        w->made[id].received = received;
        w->made[id].into = stage;
    }
    return w->lost ? 0 : w->made[id].received;
}

/* ---- one node -------------------------------------------------------- */

static bool is_one_of(const char *op, const char *const *ops) {
    while (*ops && strcmp(*ops, op) != 0) {
        ops++;
    }
    return *ops != NULL;
}

/* Which states may the sources of @p node have, and then its result? */
static unsigned passes(const work *w, const stn_node *node) {
    static const char *const moves[] = {"VIEW", "RESHAPE", "PERMUTE",  "TRANSPOSE",
                                        "CONT", "SCALE",   "GET_ROWS", NULL};
    static const char *const sums[] = {"ADD", "SUB", "ADD_ID", NULL};
    static const char *const scales[] = {"MUL", "DIV", NULL};
    static const char *const by_value[] = {"GLU", "UNARY", "CLAMP", NULL};
    unsigned a = node->src[0] == STN_NO_NODE ? 0 : w->made[w->map[node->src[0]]].state;
    unsigned b = node->src[1] == STN_NO_NODE ? 0 : w->made[w->map[node->src[1]]].state;
    if (is_one_of(node->op, moves)) {
        return a;
    }
    if (is_one_of(node->op, sums)) { /* a bias is added on one rank only */
        bool bias = node->src[1] != STN_NO_NODE && (w->old[node->src[1]].flags & STN_NODE_LEAF);
        return bias ? a : a & b;
    }
    if (is_one_of(node->op, scales)) { /* one part of a sum, or both with the experts */
        bool divided = strcmp(node->op, "DIV") == 0 && (b & PARTIAL);
        return (a & b & SENT) | (divided ? 0 : (a ^ b) & PARTIAL);
    }
    if (is_one_of(node->op, by_value)) {
        return a & SENT;
    }
    return strcmp(node->op, "MUL_MAT_ID") == 0 ? b & SENT : 0;
}

/* The rows of node @p id to the experts that are chosen for them. */
static uint32_t send(work *w, uint32_t id, const stn_node *product, int32_t stage) {
    if (w->made[id].state & SENT) {
        return id;
    }
    if (w->made[id].sent == STN_NO_NODE) {
        const stn_expr *x = w->graph->nodes[id].dims;
        stn_expr dims[STN_DIMS] = {x[0], w->old[product->src[2]].dims[0], x[2], x[3]};
        uint32_t sent = collective(w, "ALL_TO_ALL", id, dims, SENT, stage);
        w->made[id].sent = sent;
    }
    return w->lost ? 0 : w->made[id].sent;
}

static int32_t stage_of(const work *w, const stn_node *node) {
    int32_t stage = 0;
    if (node->kind == STN_KIND_HEAD) { /* output rows are taken in the last layer */
        stage = (int32_t)w->by.pp - 1;
    } else if (node->layer >= 0 && w->layers > 0) {
        stage = (int32_t)((int64_t)node->layer * w->by.pp / w->layers);
    }
    for (uint32_t s = 0; s < STN_SRCS; s++) {
        int32_t from = node->src[s] == STN_NO_NODE ? -1 : w->made[w->map[node->src[s]]].stage;
        stage = from > stage ? from : stage;
    }
    return stage;
}

static uint32_t computed(work *w, size_t i) {
    stn_node node = w->old[i];
    int32_t stage = stage_of(w, &node);
    unsigned keep = passes(w, &node);
    unsigned is = keep;
    bool by_expert = strcmp(node.op, "MUL_MAT_ID") == 0;
    bool product = by_expert || strcmp(node.op, "MUL_MAT") == 0;
    const stn_node *a = node.src[0] == STN_NO_NODE ? NULL : &w->old[node.src[0]];
    bool weight = a && (a->flags & STN_NODE_LEAF);
    if (weight && ((product && w->cut[node.src[0]]) ||
                   (strcmp(node.op, "GET_ROWS") == 0 && w->rows[node.src[0]]))) {
        is |= PARTIAL;
    }
    for (uint32_t s = 0; s < STN_SRCS && !w->lost; s++) {
        if (node.src[s] != STN_NO_NODE) {
            node.src[s] = fetch(w, w->map[node.src[s]], keep, stage);
        }
    }
    if (by_expert && w->by.ep > 1 && !w->lost && w->old[i].src[2] != STN_NO_NODE) {
        node.src[1] = send(w, node.src[1], &w->old[i], stage);
        is |= SENT;
    }
    return w->lost ? 0 : append(w, &node, is, stage);
}

/* Logits of a cut vocabulary are gathered. */
static uint32_t gather(work *w, size_t i, uint32_t id) {
    stn_exprs *pool = &w->graph->exprs;
    stn_expr vocab = stn_expr_find(pool, "n_vocab");
    stn_expr part = stn_expr_quotient(pool, vocab, stn_expr_find(pool, "tp"));
    if (w->lost || w->old[i].kind != STN_KIND_HEAD || strcmp(w->old[i].op, "MUL_MAT") != 0 ||
        part == STN_EXPR_UNKNOWN || w->old[i].dims[0] != part) {
        return id;
    }
    stn_expr dims[STN_DIMS];
    memcpy(dims, w->graph->nodes[id].dims, sizeof dims);
    dims[0] = vocab;
    return collective(w, "ALL_GATHER", id, dims, WHOLE, w->made[id].stage);
}

static void rewrite(work *w) {
    for (size_t i = 0; i < w->old_count && !w->lost; i++) {
        uint32_t id =
            w->old[i].flags & STN_NODE_LEAF ? append(w, &w->old[i], WHOLE, -1) : computed(w, i);
        w->map[i] = gather(w, i, id);
    }
}

/* ---- all of it ------------------------------------------------------- */

static stn_status check(const work *w, stn_err *err) {
    const stn_exprs *pool = &w->graph->exprs;
    if (stn_expr_find(pool, "tp") != STN_EXPR_UNKNOWN ||
        stn_expr_find(pool, "ep") != STN_EXPR_UNKNOWN ||
        stn_expr_find(pool, "pp") != STN_EXPR_UNKNOWN) {
        return stn_err_set(err, STN_ERANGE, "is sharded already");
    }
    if (w->by.ep > 1 && w->by.tp > 1) {
        return stn_err_set(err, STN_ERANGE,
                           "--ep %u beside --tp %u: experts are spread over ranks that each have "
                           "all of the rest; expected one of them",
                           w->by.ep, w->by.tp);
    }
    if (w->by.pp > 1 && (int64_t)w->by.pp > w->layers) {
        return stn_err_set(err, STN_ERANGE, "--pp %u: there are %d layers", w->by.pp, w->layers);
    }
    return STN_OK;
}

static stn_status cut_dimensions(work *w, stn_err *err) {
    static const char *const names[] = {"tp", "ep", "pp"};
    const uint32_t ranks[] = {w->by.tp, w->by.ep, w->by.pp};
    stn_status status = check(w, err);
    for (size_t i = 0; i < 3 && status == STN_OK; i++) {
        if (ranks[i] > 1) {
            stn_expr_label(&w->graph->exprs, names[i], STN_ORIGIN_CONTEXT, ranks[i]);
        }
    }
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && w->by.tp > 1 && status == STN_OK; i++) {
        status = cut_all(w, cuts[i].label, cuts[i].may_stay, err);
    }
    return status == STN_OK && w->by.ep > 1 ? cut_experts(w, err) : status;
}

static bool allocate(work *w) {
    size_t size = w->graph->node_count + 1;
    w->old_count = w->graph->node_count;
    w->old = stn_malloc(size * sizeof *w->old);
    w->cut = stn_calloc(size, sizeof *w->cut);
    w->rows = stn_calloc(size, sizeof *w->rows);
    w->map = stn_calloc(size, sizeof *w->map);
    if (w->old) {
        memcpy(w->old, w->graph->nodes, w->old_count * sizeof *w->old);
    }
    for (size_t i = 0; i < w->old_count; i++) {
        int32_t layer = w->graph->nodes[i].layer;
        w->layers = layer >= w->layers ? layer + 1 : w->layers;
    }
    return w->old && w->cut && w->rows && w->map;
}

stn_status stn_shard(stn_graph *graph, const stn_sharding *by, stn_err *err) {
    work w = {.graph = graph, .by = *by};
    stn_status status = allocate(&w) ? STN_OK : stn_err_set(err, STN_ENOMEM, "out of memory");
    if (status == STN_OK) {
        status = cut_dimensions(&w, err);
    }
    if (status == STN_OK) {
        stn_node *before = graph->nodes;
        graph->nodes = NULL;
        graph->node_count = graph->node_capacity = 0;
        rewrite(&w);
        if (w.lost || graph->exprs.out_of_memory) {
            status = stn_err_set(err, STN_ENOMEM, "out of memory");
        }
        stn_free(before);
    }
    stn_free(w.old);
    stn_free(w.cut);
    stn_free(w.rows);
    stn_free(w.map);
    stn_free(w.made);
    return status;
}
