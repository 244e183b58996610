#include "llm/ops/raw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/alloc.h"

void stn_raw_fini(stn_raw *raw) {
    for (size_t i = 0; i < raw->count; i++) {
        stn_graph_fini(&raw->passes[i]);
    }
    stn_free(raw->passes);
    memset(raw, 0, sizeof *raw);
}

/* Member @p key of @p tensor as text of @p graph; NULL if it is none, or out of memory. */
static const char *text_of(stn_graph *graph, const json_t *tensor, const char *key) {
    const char *text = json_string_value(json_object_get(tensor, key));
    const char *copy = text ? stn_arena_text(&graph->arena, text, strlen(text)) : NULL;
    graph->exprs.out_of_memory = graph->exprs.out_of_memory || (text && !copy);
    return copy;
}

/* Numbers of array @p key, at most @p most, each in least … greatest. @return how many; -1 */
static int numbers_of(const json_t *tensor, const char *key, int most, int64_t least,
                      int64_t greatest, int64_t *out) {
    const json_t *array = json_object_get(tensor, key);
    size_t count = json_array_size(array);
    if (!json_is_array(array) || count > (size_t)most) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(array, i);
        out[i] = json_integer_value(number);
        if (!json_is_integer(number) || out[i] < least || out[i] > greatest) {
            return -1;
        }
    }
    return (int)count;
}

/* @return what is wrong, or NULL */
static const char *read_shape(stn_node *node, const json_t *tensor, uint32_t id) {
    int64_t numbers[STN_PARAMS] = {0};
    if (numbers_of(tensor, "ne", STN_DIMS, 1, INT64_MAX >> 8, numbers) != (int)STN_DIMS) {
        return "ne: expected four positive numbers";
    }
    memcpy(node->ne, numbers, sizeof node->ne);
    if (numbers_of(tensor, "nb", STN_DIMS, 0, INT64_MAX >> 4, numbers) != (int)STN_DIMS) {
        return "nb: expected four numbers";
    }
    for (uint32_t i = 0; i < STN_DIMS; i++) {
        node->nb[i] = (uint64_t)numbers[i];
    }
    memset(numbers, 0, sizeof numbers);
    if (numbers_of(tensor, "params", STN_PARAMS, INT32_MIN, INT32_MAX, numbers) < 0) {
        return "params: expected at most 16 numbers";
    }
    for (uint32_t i = 0; i < STN_PARAMS; i++) {
        node->params[i] = (int32_t)numbers[i];
    }
    int count = numbers_of(tensor, "src", STN_SRCS, -1, (int64_t)id - 1, numbers);
    for (int i = 0; i < count; i++) {
        node->src[i] = numbers[i] < 0 ? STN_NO_NODE : (uint32_t)numbers[i];
    }
    return count < 0 ? "src: expected at most 10 earlier tensors" : NULL;
}

static const char *read_tensor(stn_graph *graph, stn_node *node, const json_t *tensor,
                               uint32_t id) {
    node->name = text_of(graph, tensor, "name");
    node->op = text_of(graph, tensor, "op");
    node->desc = text_of(graph, tensor, "desc");
    node->type = text_of(graph, tensor, "type");
    int64_t block = json_integer_value(json_object_get(tensor, "block"));
    int64_t view = json_integer_value(json_object_get(tensor, "view"));
    int64_t offset = json_integer_value(json_object_get(tensor, "offset"));
    if (!node->name || !node->op || !node->desc || !node->type) {
        return "expected name, op, desc and type";
    }
    if (block < 1 || block > 4096 || view < -1 || view >= (int64_t)id || offset < 0) {
        return "block, view or offset is out of its range";
    }
    node->block = (uint32_t)block;
    node->view_src = view < 0 ? STN_NO_NODE : (uint32_t)view;
    node->view_offset = (uint64_t)offset;
    node->flags = (strcmp(node->op, "NONE") == 0 ? STN_NODE_LEAF : 0) |
                  (json_is_true(json_object_get(tensor, "input")) ? STN_NODE_INPUT : 0) |
                  (json_is_true(json_object_get(tensor, "weight")) ? STN_NODE_WEIGHT : 0);
    return read_shape(node, tensor, id);
}

static stn_status read_metas(stn_graph *graph, json_t *meta, stn_err *err) {
    const char *key;
    json_t *value;
    json_object_foreach(meta, key, value) {
        const char *text = json_string_value(value);
        stn_meta one = {stn_arena_text(&graph->arena, key, strlen(key)),
                        stn_arena_text(&graph->arena, text ? text : "", text ? strlen(text) : 0)};
        if (!one.key || !one.value ||
            stn_grow(&graph->metas, &graph->meta_capacity, graph->meta_count + 1,
                     sizeof *graph->metas) != STN_OK) {
            return stn_err_set(err, STN_ENOMEM, "out of memory");
        }
        graph->metas[graph->meta_count++] = one;
    }
    return STN_OK;
}

static stn_status read_pass(stn_raw *raw, const json_t *line, json_t *meta, stn_err *err) {
    const json_t *tensors = json_object_get(line, "tensors");
    if (!json_is_array(tensors)) {
        return stn_err_set(err, STN_EFORMAT, "expected meta, tensors or error");
    }
    if (stn_grow(&raw->passes, &raw->capacity, raw->count + 1, sizeof *raw->passes) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    stn_graph *graph = &raw->passes[raw->count];
    stn_status status = stn_graph_init(graph, err);
    if (status != STN_OK) {
        return status;
    }
    raw->count++;
    const char *engine = text_of(graph, line, "ggml");
    graph->engine = engine ? engine : "";
    status = meta ? read_metas(graph, meta, err) : STN_OK;
    for (size_t i = 0; status == STN_OK && i < json_array_size(tensors); i++) {
        stn_node *node = stn_graph_add(graph);
        const char *wrong = node ? read_tensor(graph, node, json_array_get(tensors, i), (uint32_t)i)
                                 : "out of memory";
        if (wrong) {
            bool memory = !node || graph->exprs.out_of_memory;
            status = stn_err_set(err, memory ? STN_ENOMEM : STN_EFORMAT, "tensor %zu: %s", i,
                                 memory ? "out of memory" : wrong);
        }
    }
    return status;
}

/* One line; @p meta is what is known of the model. */
static stn_status read_line(stn_raw *raw, const char *text, size_t size, json_t **meta,
                            stn_err *err) {
    json_error_t where;
    json_t *line = json_loadb(text, size, 0, &where);
    const char *error = json_string_value(json_object_get(line, "error"));
    json_t *more = json_object_get(line, "meta");
    stn_status status = STN_OK;
    if (!line) {
        status = stn_err_set(err, STN_EFORMAT, "%s", where.text);
    } else if (error) {
        status = stn_err_set(err, STN_EUNSUPPORTED, "%s", error);
    } else if (json_is_object(more)) {
        /* Parts of a model after the first say nothing of it. */
        if (json_object_get(more, "general.architecture") || !*meta) {
            json_decref(*meta);
            *meta = json_incref(more);
        }
    } else {
        status = read_pass(raw, line, *meta, err);
    }
    json_decref(line);
    return status;
}

stn_status stn_raw_read(stn_raw *raw, const char *text, size_t size, const char *name,
                        stn_err *err) {
    json_t *meta = NULL;
    stn_status status = STN_OK;
    size_t number = 1;
    while (size > 0 && status == STN_OK) {
        const char *end = memchr(text, '\n', size);
        size_t used = end ? (size_t)(end - text) + 1 : size;
        status = read_line(raw, text, used, &meta, err);
        if (status != STN_OK) {
            status = stn_err_prepend(err, status, "%s: line %zu", name, number);
        }
        text += used;
        size -= used;
        number++;
    }
    json_decref(meta);
    return status;
}

bool stn_raw_same(const stn_graph *a, const stn_graph *b) {
    bool same = a->node_count == b->node_count;
    for (size_t i = 0; same && i < a->node_count; i++) {
        same = strcmp(a->nodes[i].op, b->nodes[i].op) == 0;
    }
    return same;
}

/* How much a pass shows. */
typedef struct worth {
    size_t nodes, ones;
    uint64_t sizes;
} worth;

static worth worth_of(const stn_graph *graph) {
    worth w = {0};
    for (size_t n = 0; n < graph->node_count; n++) {
        const stn_node *node = &graph->nodes[n];
        w.nodes += stn_node_computed(node);
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            w.ones += node->ne[d] == 1;
            w.sizes += (uint64_t)node->ne[d];
        }
    }
    return w;
}

static bool better(const worth *a, const worth *b) {
    if (a->nodes != b->nodes) {
        return a->nodes > b->nodes;
    }
    return a->ones != b->ones ? a->ones < b->ones : a->sizes > b->sizes;
}

static size_t fullest(const stn_raw *raw, const stn_graph *like) {
    size_t best = 0;
    worth most = {0};
    for (size_t i = 0; i < raw->count; i++) {
        worth w = worth_of(&raw->passes[i]);
        if ((!like || stn_raw_same(like, &raw->passes[i])) && better(&w, &most)) {
            best = i;
            most = w;
        }
    }
    return best;
}

size_t stn_raw_fullest(const stn_raw *raw) {
    return fullest(raw, NULL);
}

size_t stn_raw_fullest_like(const stn_raw *raw, size_t like) {
    return fullest(raw, &raw->passes[like]);
}
