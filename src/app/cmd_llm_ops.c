/* standin llm ops: what an op graph holds, what two of them share. */
#include <string.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/ops_html.h"
#include "llm/ops/file.h"
#include "llm/ops/shard.h"
#include "llm/ops/taint.h"

typedef struct ops_args {
    stn_common common;
    bool diff;
    const char *html, *output;
    uint64_t tp, ep, pp;
} ops_args;

/* A graph that was read, and its operations. */
typedef struct opened {
    stn_graph graph;
    stn_operations list;
    const char *path;
    size_t nodes; /* of all its operations */
} opened;

/* Read @p path, as one rank of @p by has it. */
static stn_status open_graph(opened *one, const char *path, const stn_sharding *by, stn_err *err) {
    memset(one, 0, sizeof *one);
    one->path = path;
    stn_status status = stn_graph_read(&one->graph, path, err);
    if (status == STN_OK && (by->tp > 1 || by->ep > 1 || by->pp > 1)) {
        status = stn_shard(&one->graph, by, err);
        status = status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
    }
    if (status == STN_OK) {
        status = stn_operations_init(&one->list, &one->graph, err);
    }
    for (size_t i = 0; i < one->list.count; i++) {
        one->nodes += one->list.items[i].count;
    }
    return status;
}

static stn_sharding sharding_of(const ops_args *args) {
    return (stn_sharding){.tp = args->tp ? (uint32_t)args->tp : 1,
                          .ep = args->ep ? (uint32_t)args->ep : 1,
                          .pp = args->pp ? (uint32_t)args->pp : 1};
}

static void close_graph(opened *one) {
    stn_operations_fini(&one->list);
    stn_graph_fini(&one->graph);
}

static json_t *json_of(const stn_operation *one) {
    json_t *layers = json_array();
    for (size_t i = 0; i < one->layer_count; i++) {
        json_array_append_new(layers, json_integer(one->layers[i]));
    }
    return json_pack("{s:s, s:I, s:o, s:s}", "kind", stn_kind_name(one->kind), "count",
                     (json_int_t)one->count, "layers", layers, "signature", one->signature);
}

static void print_row(FILE *out, const stn_operation *one) {
    char layers[64];
    fprintf(out, "%-12s%6u  %-12s  %s\n", stn_kind_name(one->kind), one->count,
            one->layer_count ? stn_ops_layers(one->layers, one->layer_count, layers, sizeof layers)
                             : "-",
            one->signature);
}

static stn_status show(stn_app *app, const ops_args *args, const opened *one, stn_err *err) {
    const char *architecture = stn_graph_meta(&one->graph, "general.architecture");
    if (args->common.json) {
        json_t *rows = json_array();
        for (size_t i = 0; i < one->list.count; i++) {
            json_array_append_new(rows, json_of(&one->list.items[i]));
        }
        return stn_emit_json(app->out,
                             json_pack("{s:s, s:s, s:I, s:o}", "architecture",
                                       architecture ? architecture : "", "phase",
                                       stn_taint_phase(&one->graph), "nodes",
                                       (json_int_t)one->nodes, "operations", rows),
                             err);
    }
    fprintf(app->out, "%-12s%6s  %-12s  signature\n", "kind", "count", "layers");
    for (size_t i = 0; i < one->list.count; i++) {
        print_row(app->out, &one->list.items[i]);
    }
    return STN_OK;
}

static const stn_operation *same_in(const opened *other, const stn_operation *one) {
    uint32_t id = stn_intern_find(&other->list.signatures, one->signature, strlen(one->signature));
    return id == STN_INTERN_NONE ? NULL : &other->list.items[id];
}

/* Operations of @p a that @p b has (@p shared) or has not: as JSON, or printed. */
static json_t *part(FILE *out, const opened *a, const opened *b, bool shared) {
    json_t *rows = out ? NULL : json_array();
    for (size_t i = 0; i < a->list.count; i++) {
        const stn_operation *one = &a->list.items[i];
        if ((same_in(b, one) != NULL) == shared && out) {
            print_row(out, one);
        } else if ((same_in(b, one) != NULL) == shared) {
            json_array_append_new(rows, json_of(one));
        }
    }
    return rows;
}

static size_t shared_nodes(const opened *a, const opened *b, size_t *operations) {
    size_t nodes = 0;
    *operations = 0;
    for (size_t i = 0; i < a->list.count; i++) {
        if (same_in(b, &a->list.items[i])) {
            nodes += a->list.items[i].count;
            (*operations)++;
        }
    }
    return nodes;
}

static stn_status diff(stn_app *app, const ops_args *args, const opened *a, const opened *b,
                       stn_err *err) {
    size_t operations;
    size_t in_b = shared_nodes(b, a, &operations);
    size_t in_a = shared_nodes(a, b, &operations);
    if (args->common.json) {
        return stn_emit_json(
            app->out,
            json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "shared", part(NULL, a, b, true),
                      "only_a", part(NULL, a, b, false), "only_b", part(NULL, b, a, false),
                      "nodes_a", (json_int_t)a->nodes, "nodes_b", (json_int_t)b->nodes,
                      "shared_nodes_a", (json_int_t)in_a, "shared_nodes_b", (json_int_t)in_b),
            err);
    }
    fprintf(app->out, "in both: %zu operations, %zu of %zu nodes of %s, %zu of %zu of %s\n",
            operations, in_a, a->nodes, a->path, in_b, b->nodes, b->path);
    part(app->out, a, b, true);
    fprintf(app->out, "only in %s: %zu\n", a->path, a->list.count - operations);
    part(app->out, a, b, false);
    fprintf(app->out, "only in %s: %zu\n", b->path, b->list.count - operations);
    part(app->out, b, a, false);
    return STN_OK;
}

static stn_status run_diff(stn_app *app, const ops_args *args, stn_err *err) {
    opened a;
    opened b = {0};
    stn_sharding by = sharding_of(args);
    stn_status status = open_graph(&a, args->common.operands.items[0], &by, err);
    if (status == STN_OK) {
        status = open_graph(&b, args->common.operands.items[1], &by, err);
    }
    if (status == STN_OK) {
        status = diff(app, args, &a, &b, err);
    }
    close_graph(&a);
    close_graph(&b);
    return status;
}

static stn_status run_one(stn_app *app, const ops_args *args, stn_err *err) {
    const char *path = args->common.operands.items[0];
    const char *slash = strrchr(path, '/');
    const char *model = NULL;
    opened one = {0};
    stn_sharding by = sharding_of(args);
    stn_status status = args->html ? stn_inputs_guard(app, path, args->html, err) : STN_OK;
    if (status == STN_OK && args->output) {
        status = stn_inputs_guard(app, path, args->output, err);
    }
    if (status == STN_OK) {
        status = open_graph(&one, path, &by, err);
        model = stn_graph_meta(&one.graph, "general.name");
    }
    if (status == STN_OK && args->output) {
        status = stn_graph_write(&one.graph, args->output, err);
    }
    if (status == STN_OK && args->html) {
        status =
            stn_ops_html(&one.graph, &one.list,
                         model && *model ? model : (slash ? slash + 1 : path), args->html, err);
    }
    if (status == STN_OK && (!args->html || args->common.json)) {
        status = show(app, args, &one, err);
    }
    close_graph(&one);
    return status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const ops_args *args = arguments;
    size_t wanted = args->diff ? 2 : 1;
    if (args->common.operands.count != wanted) {
        return stn_app_usage(app, err,
                             args->diff ? "--diff: expected two graphs"
                                        : "expected one graph; two are for --diff");
    }
    if (args->diff && (args->html || args->output)) {
        return stn_app_usage(app, err, "--html and --output are for one graph: not with --diff");
    }
    if (args->tp > 1024 || args->ep > 1024 || args->pp > 1024) {
        return stn_app_usage(app, err, "--tp, --ep, --pp: expected at most 1024 ranks");
    }
    return args->diff ? run_diff(app, args, err) : run_one(app, args, err);
}

static const stn_option options[] = {
    {"diff", 0, STN_OPTION_FLAG, offsetof(ops_args, diff), NULL,
     "what two graphs share, and what only one of them has", false},
    {"html", 0, STN_OPTION_TEXT, offsetof(ops_args, html), "FILE",
     "write a page with the picture instead of the table", false},
    {"tp", 0, STN_OPTION_COUNT, offsetof(ops_args, tp), "N",
     "as one of N ranks of tensor parallelism: heads, widths and vocabulary are cut", false},
    {"ep", 0, STN_OPTION_COUNT, offsetof(ops_args, ep), "N",
     "as one of N ranks of expert parallelism: experts are spread", false},
    {"pp", 0, STN_OPTION_COUNT, offsetof(ops_args, pp), "N", "in N stages of layers", false},
    {"output", 'o', STN_OPTION_TEXT, offsetof(ops_args, output), "FILE",
     "write the graph as it then is", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_llm_ops = {
    .group = "llm",
    .name = "ops",
    .summary = "the distinct operations of a captured graph",
    .details =
        "Reads op graphs that llm capture has written and lists their distinct operations: what "
        "kind, how often, in which layers, and on which types and sizes. Sizes of the model are "
        "numbers, those of the request labels: one line is one curve to be measured once. Two "
        "models share an operation if that line is the same.\n\n"
        "With --tp, --ep or --pp the graph is rewritten to what one rank of several computes, and "
        "the collectives between them are put in; no engine is needed for that.",
    .operands = "GRAPH [GRAPH]",
    .operand_min = 1,
    .operand_max = 2,
    .shared = STN_SHARED_JSON,
    .options = options,
    .args_size = sizeof(ops_args),
    .examples =
        (const stn_example[]){
            {"Its operations", "standin llm ops tiny.json"},
            {"As each of two ranks computes it", "standin llm ops tiny.json --tp 2"},
            {"The same as a picture", "standin llm ops tiny.json --html tiny.html"},
            {NULL, NULL}},
    .run = run,
};
