/* standin llm capture: one pass of a model or of a running program, every operation with where its
 * dimensions come from. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/outputs.h"
#include "app/value.h"
#include "llm/engine/capture.h"
#include "llm/engine/model.h"
#include "llm/ops/file.h"
#include "llm/ops/operation.h"
#include "llm/ops/taint.h"

typedef struct capture_args {
    stn_common common;
    const char *output;
    uint64_t tokens, seqs, kv, outputs;
    bool skip, unified;
} capture_args;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What was captured, summed up. */
typedef struct summary {
    size_t nodes, unknown;
    double seconds;
    uint64_t peak_rss_bytes;
} summary;

static void print_labels(FILE *out, const stn_exprs *pool, stn_origin origin, const char *title) {
    const char *between = title;
    for (size_t i = 0; i < pool->label_count; i++) {
        const stn_label *label = &pool->labels[i];
        if (label->origin == origin && !strchr(label->name, '.')) {
            fprintf(out, "%s%s %lld", between, label->name, (long long)label->value);
            between = ", ";
        }
    }
    fputs(between == title ? "" : "\n", out);
}

static stn_status report_json(stn_app *app, const stn_captured *captured,
                              const stn_operations *list, const summary *sum, stn_err *err) {
    const char *architecture = stn_graph_meta(&captured->graph, "general.architecture");
    return stn_emit_json(app->out,
                         json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:s}", "nodes",
                                   (json_int_t)sum->nodes, "operations", (json_int_t)list->count,
                                   "unknown_dims", (json_int_t)sum->unknown, "passes",
                                   (json_int_t)captured->passes, "passes_checked",
                                   (json_int_t)captured->checked, "seconds", sum->seconds,
                                   "peak_rss_bytes", (json_int_t)sum->peak_rss_bytes,
                                   "architecture", architecture ? architecture : ""),
                         err);
}

static void report_text(stn_app *app, const stn_captured *captured, const stn_operations *list,
                        const summary *sum) {
    const stn_graph *graph = &captured->graph;
    const char *architecture = stn_graph_meta(graph, "general.architecture");
    char count[32];
    char more[32];
    fprintf(app->out, "model       %s, %s nodes, %s distinct operations\n",
            architecture ? architecture : "without metadata", stn_value_grouped(sum->nodes, count),
            stn_value_grouped(list->count, more));
    print_labels(app->out, &graph->exprs, STN_ORIGIN_MODEL, "of the model  ");
    print_labels(app->out, &graph->exprs, STN_ORIGIN_REQUEST, "of the request  ");
    fprintf(app->out, "unknown     %zu dimensions\n", sum->unknown);
    fprintf(app->out, "passes      %zu seen; the labels predicted all sizes of %zu others\n",
            captured->passes, captured->checked);
    fprintf(app->out, "took        %.2f s, %sB at most\n", sum->seconds,
            stn_value_short((double)sum->peak_rss_bytes, count));
}

static stn_status report(stn_app *app, const capture_args *args, stn_captured *captured,
                         double began, stn_err *err) {
    struct rusage usage;
    stn_operations list;
    stn_status status = stn_operations_init(&list, &captured->graph, err);
    getrusage(RUSAGE_SELF, &usage);
    summary sum = {.unknown = stn_taint_unknown(&captured->graph),
                   .seconds = now() - began,
                   .peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024};
    if (sum.peak_rss_bytes < captured->peak_rss_bytes) {
        sum.peak_rss_bytes = captured->peak_rss_bytes;
    }
    for (size_t i = 0; i < captured->graph.node_count; i++) {
        sum.nodes += stn_node_computed(&captured->graph.nodes[i]);
    }
    if (status == STN_OK && args->common.json) {
        status = report_json(app, captured, &list, &sum, err);
    } else if (status == STN_OK && !args->common.quiet) {
        report_text(app, captured, &list, &sum);
    }
    stn_operations_fini(&list);
    return status;
}

/* Sizes that were asked for, the usual ones for the rest. */
static stn_llama_pass pass_of(const capture_args *args) {
    stn_llama_pass pass = stn_capture_pass();
    pass.seqs = args->seqs ? (uint32_t)args->seqs : pass.seqs;
    pass.tokens = args->tokens ? (uint32_t)args->tokens : 14 * pass.seqs;
    uint32_t each = pass.seqs ? pass.tokens / pass.seqs : 0;
    uint32_t most = pass.tokens > 64 * pass.seqs ? pass.tokens : 64 * pass.seqs;
    pass.outputs = args->outputs ? (uint32_t)args->outputs
                                 : (pass.tokens < pass.outputs ? pass.tokens : pass.outputs);
    pass.cells_used =
        args->kv ? (uint32_t)args->kv : (each > pass.cells_used ? each : pass.cells_used);
    pass.seqs_max = pass.seqs >= pass.seqs_max ? pass.seqs + 1 : pass.seqs_max;
    pass.ubatch = most > pass.ubatch ? most : pass.ubatch;
    while (pass.cells < pass.cells_used) {
        pass.cells *= 2;
    }
    pass.unified = args->unified;
    return pass;
}

static bool begins_as_gguf(const char *path) {
    char magic[4] = "";
    FILE *file = fopen(path, "rb");
    bool same = file && fread(magic, 1, 4, file) == 4 && memcmp(magic, "GGUF", 4) == 0;
    if (file) {
        fclose(file);
    }
    return same;
}

/* A config.json: its model without weights in a temporary place, and that. */
static stn_status capture_config(const char *path, const stn_llama_pass *pass, stn_captured *out,
                                 stn_err *err) {
    stn_config config;
    stn_llm_plan plan = {0};
    const char *folder = getenv("TMPDIR");
    char temporary[512];
    snprintf(temporary, sizeof temporary, "%s/standin-XXXXXX", folder ? folder : P_tmpdir);
    stn_gguf_type quant;
    stn_status status = stn_quant_find(stn_quant_name(0), &quant);
    if (status == STN_OK) {
        status = stn_config_load(&config, path, err);
    }
    if (status == STN_OK) {
        status = stn_llm_plan_init(&plan, &config, quant, err);
        status = status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
    }
    int fd = status == STN_OK ? mkstemp(temporary) : -1;
    if (status == STN_OK && fd < 0) {
        status = stn_err_set(err, STN_EIO, "%s: cannot be made", temporary);
    }
    if (status == STN_OK) {
        const char *slash = strrchr(path, '/');
        stn_llm_write_options options = {.name = slash ? slash + 1 : path};
        uint64_t size;
        close(fd);
        status = stn_llm_plan_write(&plan, temporary, &options, &size, err);
        if (status == STN_OK) {
            status = stn_capture_model(out, temporary, pass, err);
            status = status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
        }
        unlink(temporary);
    }
    stn_llm_plan_fini(&plan);
    return status;
}

static stn_status capture_file(stn_app *app, const capture_args *args, const char *path,
                               stn_captured *out, stn_err *err) {
    stn_llama_pass pass = pass_of(args);
    (void)app;
    return begins_as_gguf(path) ? stn_capture_model(out, path, &pass, err)
                                : capture_config(path, &pass, out, err);
}

static stn_status check_sizes(stn_app *app, const capture_args *args, bool program, stn_err *err) {
    if (program && (args->tokens || args->seqs || args->kv || args->outputs || args->unified)) {
        return stn_app_usage(app, err,
                             "a program makes its own batches: --tokens, --seqs, --kv, "
                             "--outputs and --unified are for a model");
    }
    if (!program && args->skip) {
        return stn_app_usage(app, err, "--skip is for a program; of a model nothing is computed");
    }
    if (args->seqs > 64 || args->tokens > 16384 || args->kv > 131072) {
        return stn_app_usage(app, err,
                             "expected at most 64 sequences, 16384 tokens and 131072 "
                             "cells");
    }
    return STN_OK;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const capture_args *args = arguments;
    const char *const *tail = args->common.tail;
    bool program = tail && tail[0];
    const char *path = args->common.operands.count ? args->common.operands.items[0] : NULL;
    double began = now();
    stn_captured captured = {0};
    if (program == (path != NULL)) {
        return stn_app_usage(app, err,
                             program ? "expected a model or -- PROGRAM, not both"
                                     : "expected a model, or -- PROGRAM");
    }
    stn_status status = check_sizes(app, args, program, err);
    if (status == STN_OK && args->output) {
        status = path ? stn_inputs_guard(app, path, args->output, err) : STN_OK;
        status = status == STN_OK ? stn_outputs_try_file(args->output, err) : status;
    }
    if (status == STN_OK) {
        status = program ? stn_capture_program(&captured, tail, args->skip, err)
                         : capture_file(app, args, path, &captured, err);
    }
    if (status == STN_OK && args->output) {
        status = stn_graph_write(&captured.graph, args->output, err);
    }
    if (status == STN_OK) {
        status = report(app, args, &captured, began, err);
    }
    stn_captured_fini(&captured);
    return status;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(capture_args, output), "FILE",
     "where the op graph goes", false},
    {"tokens", 0, STN_OPTION_COUNT, offsetof(capture_args, tokens), "N",
     "tokens of the pass (14 of each sequence)", false},
    {"seqs", 0, STN_OPTION_COUNT, offsetof(capture_args, seqs), "N", "sequences of the pass (3)",
     false},
    {"kv", 0, STN_OPTION_COUNT, offsetof(capture_args, kv), "N",
     "cells of the KV cache that each sequence uses at its end (400)", false},
    {"outputs", 0, STN_OPTION_COUNT, offsetof(capture_args, outputs), "N",
     "tokens whose logits are asked for (5)", false},
    {"unified", 0, STN_OPTION_FLAG, offsetof(capture_args, unified), NULL,
     "all sequences share one KV cache", false},
    {"skip", 0, STN_OPTION_FLAG, offsetof(capture_args, skip), NULL,
     "let the program compute nothing: faster, but what it says is then worthless", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_llm_capture = {
    .group = "llm",
    .name = "capture",
    .summary = "one pass: every operation, where its dimensions come from",
    .details =
        "Has llama.cpp build the graph of one pass of a GGUF file, or of a config.json (then of "
        "its "
        "model without weights), and labels every dimension by the meaning of the operations: of "
        "the model (n_head*head_dim), of the request (n_tokens, n_seqs, n_kv, n_outputs), never by "
        "its size. What cannot be known is unknown, and listed. Nothing is computed and no weight "
        "is read, so that a model of any size takes seconds and little memory.\n\n"
        "Or runs any program that uses ggml's shared libraries and takes the pass that shows most. "
        "Other passes with the same operations prove the labels: they must predict all sizes, or "
        "the capture fails.",
    .operands = "[MODEL] [-- PROGRAM...]",
    .operand_min = 0,
    .operand_max = 1,
    .may_run_command = true,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET,
    .options = options,
    .args_size = sizeof(capture_args),
    .examples = (const stn_example[]){{"What a model of this shape computes",
                                       "standin llm capture examples/tiny-llama.json -o tiny.json"},
                                      {NULL, NULL}},
    .run = run,
};
