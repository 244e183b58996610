/* Written node by node, one a line, so that two files can be compared with diff. */
#include "llm/ops/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/alloc.h"
#include "core/data/outfile.h"
#include "llm/ops/operation.h"
#include "llm/ops/taint.h"

/* ---- writing --------------------------------------------------------- */

typedef struct writer {
    stn_outfile *file;
    stn_status status; /* the first failure */
    stn_err *err;
} writer;

static void put(writer *w, const char *text) {
    if (w->status == STN_OK) {
        w->status = stn_outfile_write(w->file, text, strlen(text), w->err);
    }
}

static void put_string(writer *w, const char *text) {
    put(w, "\"");
    for (; *text && w->status == STN_OK; text++) {
        char one[8];
        unsigned char c = (unsigned char)*text;
        snprintf(one, sizeof one, c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
        put(w, one);
    }
    put(w, "\"");
}

static void put_member(writer *w, const char *before, const char *key, const char *value) {
    put(w, before);
    put_string(w, key);
    put(w, ": ");
    put_string(w, value);
}

static void put_number(writer *w, const char *before, int64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put(w, before);
    put(w, text);
}

static uint32_t used_dims(const stn_node *node) {
    uint32_t used = STN_DIMS;
    while (used > 1 && node->dims[used - 1] == STN_EXPR_ONE) {
        used--;
    }
    return used;
}

static void put_dims(writer *w, const stn_graph *graph, const stn_node *node) {
    char text[256];
    uint32_t used = used_dims(node);
    put(w, ", \"dims\": [");
    for (uint32_t d = 0; d < used; d++) {
        put(w, d ? ", " : "");
        put_string(w, stn_expr_text(&graph->exprs, node->dims[d], text, sizeof text));
    }
    put(w, "], \"size\": [");
    for (uint32_t d = 0; d < used; d++) {
        put_number(w, d ? ", " : "", node->ne[d]);
    }
    put(w, "]");
}

static void put_node(writer *w, const stn_graph *graph, size_t id) {
    const stn_node *node = &graph->nodes[id];
    put_number(w, id ? ",\n    {\"id\": " : "\n    {\"id\": ", (int64_t)id);
    put_member(w, ", ", "name", node->name);
    put_member(w, ", ", "op", node->op);
    put_member(w, ", ", "desc", node->desc);
    put_member(w, ", ", "kind", stn_kind_name(node->kind));
    put_member(w, ", ", "type", node->type);
    if (node->layer >= 0) {
        put_number(w, ", \"layer\": ", node->layer);
    }
    if (node->stage > 0) {
        put_number(w, ", \"stage\": ", node->stage);
    }
    put_dims(w, graph, node);
    if (stn_node_computed(node)) {
        put(w, ", \"inputs\": [");
        uint32_t count = STN_SRCS;
        while (count > 0 && node->src[count - 1] == STN_NO_NODE) {
            count--;
        }
        for (uint32_t i = 0; i < count; i++) {
            put_number(w, i ? ", " : "", node->src[i] == STN_NO_NODE ? -1 : (int64_t)node->src[i]);
        }
        put(w, "]");
        uint32_t params = STN_PARAMS;
        while (params > 0 && node->params[params - 1] == 0) {
            params--;
        }
        for (uint32_t i = 0; i < params; i++) {
            put_number(w, i ? ", " : ", \"params\": [", node->params[i]);
        }
        put(w, params ? "]" : "");
    }
    put(w, node->flags & STN_NODE_WEIGHT ? ", \"weight\": true" : "");
    put(w, node->flags & STN_NODE_INPUT ? ", \"input\": true" : "");
    put(w, "}");
}

static void put_labels(writer *w, const stn_graph *graph) {
    put(w, ",\n  \"labels\": [");
    for (size_t i = 0; i < graph->exprs.label_count; i++) {
        const stn_label *label = &graph->exprs.labels[i];
        put_member(w, i ? ",\n    {" : "\n    {", "name", label->name);
        put_member(w, ", ", "origin", stn_origin_name(label->origin));
        put_number(w, ", \"value\": ", label->value);
        put(w, "}");
    }
    put(w, "]");
}

static void put_operations(writer *w, const stn_operations *list) {
    put(w, ",\n  \"operations\": [");
    for (size_t i = 0; i < list->count; i++) {
        const stn_operation *one = &list->items[i];
        put_member(w, i ? ",\n    {" : "\n    {", "kind", stn_kind_name(one->kind));
        put_member(w, ", ", "signature", one->signature);
        put_number(w, ", \"count\": ", one->count);
        put_number(w, ", \"node\": ", one->node);
        put(w, ", \"layers\": [");
        for (size_t l = 0; l < one->layer_count; l++) {
            put_number(w, l ? ", " : "", one->layers[l]);
        }
        put(w, "]}");
    }
    put(w, "]");
}

static void put_unknown(writer *w, const stn_graph *graph) {
    bool first = true;
    put(w, ",\n  \"unknown\": [");
    for (size_t i = 0; i < graph->node_count; i++) {
        for (uint32_t d = 0; d < STN_DIMS; d++) {
            if (graph->nodes[i].dims[d] == STN_EXPR_UNKNOWN) {
                const char *why = graph->nodes[i].why[d];
                put_number(w, first ? "\n    {\"node\": " : ",\n    {\"node\": ", (int64_t)i);
                put_number(w, ", \"dim\": ", d);
                put_member(w, ", ", "why", why ? why : "");
                put(w, "}");
                first = false;
            }
        }
    }
    put(w, "]");
}

static void put_graph(writer *w, stn_graph *graph, const stn_operations *list) {
    const char *architecture = stn_graph_meta(graph, "general.architecture");
    const char *name = stn_graph_meta(graph, "general.name");
    put(w, "{\n  \"format\": \"standin-opgraph\",\n  \"version\": 1");
    put_member(w, ",\n  ", "ggml", graph->engine);
    put_member(w, ",\n  ", "architecture", architecture ? architecture : "");
    put_member(w, ",\n  ", "model", name ? name : "");
    put_member(w, ",\n  ", "phase", stn_taint_phase(graph));
    put_labels(w, graph);
    put(w, ",\n  \"nodes\": [");
    for (size_t i = 0; i < graph->node_count && w->status == STN_OK; i++) {
        put_node(w, graph, i);
    }
    put(w, "]");
    put_operations(w, list);
    put_unknown(w, graph);
    put(w, "\n}\n");
}

stn_status stn_graph_write(stn_graph *graph, const char *path, stn_err *err) {
    stn_operations list;
    writer w = {.status = stn_operations_init(&list, graph, err), .err = err};
    if (w.status == STN_OK) {
        w.status = stn_outfile_open(&w.file, path, err);
    }
    if (w.status == STN_OK) {
        put_graph(&w, graph, &list);
        if (w.status == STN_OK) {
            w.status = stn_outfile_commit(w.file, err);
        } else {
            stn_outfile_abort(w.file);
        }
    }
    stn_operations_fini(&list);
    return w.status;
}

/* ---- reading --------------------------------------------------------- */

static const char *copy_text(stn_graph *graph, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    const char *copy = text ? stn_arena_text(&graph->arena, text, strlen(text)) : NULL;
    graph->exprs.out_of_memory = graph->exprs.out_of_memory || (text && !copy);
    return copy;
}

static bool is_label(const char *name) {
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    return size > 0 && size < 120 && name[size] == '\0' && !(*name >= '0' && *name <= '9');
}

static stn_status read_labels(stn_graph *graph, const json_t *root, stn_err *err) {
    const json_t *labels = json_object_get(root, "labels");
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const json_t *label = json_array_get(labels, i);
        const char *name = json_string_value(json_object_get(label, "name"));
        const char *origin = json_string_value(json_object_get(label, "origin"));
        int64_t value = json_integer_value(json_object_get(label, "value"));
        int kind = 0;
        while (origin && kind < STN_ORIGIN_COUNT &&
               strcmp(origin, stn_origin_name((stn_origin)kind)) != 0) {
            kind++;
        }
        if (!name || !is_label(name) || !origin || kind == STN_ORIGIN_COUNT || value < 1 ||
            value > INT64_MAX >> 8) {
            return stn_err_set(err, STN_EFORMAT,
                               "label %zu: expected a name, an origin and a positive value", i);
        }
        stn_expr_label(&graph->exprs, name, (stn_origin)kind, value);
    }
    return STN_OK;
}

/* @return what is wrong, or NULL; a bad expression says so itself in @p err */
static const char *read_dims(stn_graph *graph, stn_node *node, const json_t *item, stn_err *err) {
    const json_t *dims = json_object_get(item, "dims");
    const json_t *size = json_object_get(item, "size");
    size_t count = json_array_size(dims);
    if (count == 0 || count > STN_DIMS || json_array_size(size) != count) {
        return "dims and size: expected one to four of both";
    }
    for (uint32_t d = 0; d < STN_DIMS; d++) {
        const char *text = json_string_value(json_array_get(dims, d));
        node->dims[d] = STN_EXPR_ONE;
        if (d < count) {
            node->ne[d] = json_integer_value(json_array_get(size, d));
            if (!text || node->ne[d] < 1 || node->ne[d] > INT64_MAX >> 8) {
                return "dims and size: expected texts and positive numbers";
            }
            if (stn_expr_parse(&graph->exprs, text, &node->dims[d], err) != STN_OK) {
                return "";
            }
            node->why[d] = node->dims[d] == STN_EXPR_UNKNOWN ? "as it was captured" : NULL;
        }
    }
    return NULL;
}

static const char *read_links(stn_node *node, const json_t *item, size_t id) {
    const json_t *inputs = json_object_get(item, "inputs");
    const json_t *params = json_object_get(item, "params");
    if (json_array_size(inputs) > STN_SRCS || json_array_size(params) > STN_PARAMS) {
        return "inputs or params: too many";
    }
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        int64_t src = json_integer_value(json_array_get(inputs, i));
        if (src < -1 || src >= (int64_t)id) {
            return "inputs: expected earlier nodes";
        }
        node->src[i] = src < 0 ? STN_NO_NODE : (uint32_t)src;
    }
    for (size_t i = 0; i < json_array_size(params); i++) {
        node->params[i] = (int32_t)json_integer_value(json_array_get(params, i));
    }
    node->flags = (inputs ? 0 : STN_NODE_LEAF) |
                  (json_is_true(json_object_get(item, "weight")) ? STN_NODE_WEIGHT : 0) |
                  (json_is_true(json_object_get(item, "input")) ? STN_NODE_INPUT : 0);
    return NULL;
}

static const char *read_node(stn_graph *graph, stn_node *node, const json_t *item, size_t id,
                             stn_err *err) {
    const char *kind = json_string_value(json_object_get(item, "kind"));
    const json_t *layer = json_object_get(item, "layer");
    node->name = copy_text(graph, item, "name");
    node->op = copy_text(graph, item, "op");
    node->desc = copy_text(graph, item, "desc");
    node->type = copy_text(graph, item, "type");
    node->kind = kind ? stn_kind_find(kind) : STN_KIND_COUNT;
    node->layer = layer ? (int32_t)json_integer_value(layer) : -1;
    node->stage = (int32_t)json_integer_value(json_object_get(item, "stage"));
    if (!node->name || !node->op || !node->desc || !node->type || node->kind == STN_KIND_COUNT) {
        return "expected name, op, desc, type and a known kind";
    }
    const char *wrong = read_links(node, item, id);
    return wrong ? wrong : read_dims(graph, node, item, err);
}

static stn_status read_nodes(stn_graph *graph, const json_t *root, stn_err *err) {
    const json_t *nodes = json_object_get(root, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        stn_node *node = stn_graph_add(graph);
        if (!node) {
            return stn_err_set(err, STN_ENOMEM, "out of memory");
        }
        const char *wrong = read_node(graph, node, json_array_get(nodes, i), i, err);
        if (graph->exprs.out_of_memory) {
            break;
        }
        if (wrong) {
            return *wrong ? stn_err_set(err, STN_EFORMAT, "node %zu: %s", i, wrong)
                          : stn_err_prepend(err, STN_EFORMAT, "node %zu", i);
        }
    }
    return graph->exprs.out_of_memory ? stn_err_set(err, STN_ENOMEM, "out of memory") : STN_OK;
}

static stn_status add_meta(stn_graph *graph, const json_t *root, const char *member,
                           const char *key, stn_err *err) {
    const char *value = copy_text(graph, root, member);
    if (stn_grow(&graph->metas, &graph->meta_capacity, graph->meta_count + 1,
                 sizeof *graph->metas) != STN_OK) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    graph->metas[graph->meta_count++] = (stn_meta){key, value ? value : ""};
    return STN_OK;
}

static stn_status read_root(stn_graph *graph, const json_t *root, stn_err *err) {
    const char *format = json_string_value(json_object_get(root, "format"));
    int64_t version = json_integer_value(json_object_get(root, "version"));
    if (!format || strcmp(format, "standin-opgraph") != 0) {
        return stn_err_set(err, STN_EFORMAT,
                           "is no op graph: expected \"format\": "
                           "\"standin-opgraph\"");
    }
    if (version != 1) {
        return stn_err_set(err, STN_EFORMAT, "is an op graph of version %lld; known is 1",
                           (long long)version);
    }
    const char *engine = copy_text(graph, root, "ggml");
    graph->engine = engine ? engine : "";
    stn_status status = add_meta(graph, root, "architecture", "general.architecture", err);
    if (status == STN_OK) {
        status = add_meta(graph, root, "model", "general.name", err);
    }
    if (status == STN_OK) {
        status = read_labels(graph, root, err);
    }
    return status == STN_OK ? read_nodes(graph, root, err) : status;
}

stn_status stn_graph_parse(stn_graph *graph, const char *text, size_t size, const char *name,
                           stn_err *err) {
    json_error_t where;
    stn_status status = stn_graph_init(graph, err);
    if (status != STN_OK) {
        return status;
    }
    json_t *root = json_loadb(text, size, 0, &where);
    status = root ? read_root(graph, root, err)
                  : stn_err_set(err, STN_EFORMAT, "line %d: %s", where.line, where.text);
    json_decref(root);
    if (status != STN_OK) {
        stn_graph_fini(graph);
        status = stn_err_prepend(err, status, "%s", name);
    }
    return status;
}

stn_status stn_graph_read(stn_graph *graph, const char *path, stn_err *err) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;
    size_t room = 0;
    if (!file) {
        return stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno));
    }
    stn_status status = STN_OK;
    for (size_t got = 1; got > 0 && status == STN_OK; size += got) {
        status = stn_grow(&text, &room, size + 65536, 1);
        got = status == STN_OK ? fread(text + size, 1, 65536, file) : 0;
    }
    if (status != STN_OK) {
        status = stn_err_set(err, status, "out of memory");
    } else if (ferror(file)) {
        status = stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno));
    } else {
        status = stn_graph_parse(graph, text, size, path, err);
    }
    fclose(file);
    stn_free(text);
    return status;
}
