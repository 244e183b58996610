/* standin llm model: from a config.json to a GGUF file without a model's weights. */
#include <string.h>
#include <sys/stat.h>

#include "app/commands.h"
#include "app/emit.h"
#include "app/inputs.h"
#include "app/progress.h"
#include "app/suggest.h"
#include "app/value.h"
#include "llm/engine/llama.h"
#include "llm/engine/model.h"

typedef struct model_args {
    stn_common common;
    const char *output, *quant, *weights;
    bool verify;
} model_args;

/* What was written, and what llama.cpp made of it. */
typedef struct written {
    uint64_t bytes;      /* of the file */
    uint64_t disk_bytes; /* that it takes */
    bool verified;
    stn_llama_facts facts;
} written;

static stn_status parse_quant(stn_app *app, const char *name, stn_gguf_type *type, stn_err *err) {
    if (stn_quant_find(name ? name : stn_quant_name(0), type) == STN_OK) {
        return STN_OK;
    }
    stn_suggest suggest = {.word = name};
    char names[64] = "";
    const char *known;
    for (uint32_t i = 0; (known = stn_quant_name(i)) != NULL; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", known);
        stn_suggest_offer(&suggest, known);
    }
    if (suggest.nearest) {
        return stn_app_usage(app, err, "--quant %s: no such type; did you mean %s?", name,
                             suggest.nearest);
    }
    return stn_app_usage(app, err, "--quant %s: no such type; there are %s", name, names);
}

static stn_status parse_weights(stn_app *app, const char *word, bool *random, stn_err *err) {
    *random = !word || strcmp(word, "random") == 0;
    if (!*random && strcmp(word, "none") != 0) {
        return stn_app_usage(app, err, "--weights %s: expected random or none", word);
    }
    return STN_OK;
}

/* llama.cpp's own view must be ours. */
static stn_status verify(stn_llama *llama, const model_args *args, const stn_llm_plan *plan,
                         written *done, stn_err *err) {
    stn_status status = stn_llama_inspect(llama, args->output, &done->facts, err);
    if (status != STN_OK) {
        return status;
    }
    done->verified = true;
    if (done->facts.parameters != plan->parameters || done->facts.bytes != plan->weight_bytes) {
        return stn_err_set(err, STN_ECHECK,
                           "%s: llama.cpp sees %llu parameters in %llu bytes; written were %llu "
                           "in %llu",
                           args->output, (unsigned long long)done->facts.parameters,
                           (unsigned long long)done->facts.bytes,
                           (unsigned long long)plan->parameters,
                           (unsigned long long)plan->weight_bytes);
    }
    return STN_OK;
}

static const char *quant_name(stn_gguf_type type) {
    const char *name;
    stn_gguf_type other;
    for (uint32_t i = 0; (name = stn_quant_name(i)) != NULL; i++) {
        if (stn_quant_find(name, &other) == STN_OK && other == type) {
            break;
        }
    }
    return name;
}

static stn_status report(stn_app *app, const model_args *args, const stn_llm_plan *plan,
                         bool random, const written *done, stn_err *err) {
    const char *quant = quant_name(plan->quant);
    const char *weights = random ? "random" : "none";
    if (args->common.json) {
        return stn_emit_json(
            app->out,
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:I, s:b, s:s}",
                      "architecture", plan->config.arch->gguf, "model_type",
                      plan->config.model_type, "parameters", (json_int_t)plan->parameters,
                      "tensors", (json_int_t)plan->tensor_count, "tensor_bytes",
                      (json_int_t)plan->weight_bytes, "bytes", (json_int_t)done->bytes,
                      "disk_bytes", (json_int_t)done->disk_bytes, "quant", quant, "weights",
                      weights, "seed", (json_int_t)args->common.seed, "verified", done->verified,
                      "description", done->facts.description),
            err);
    }
    if (args->common.quiet) {
        return STN_OK;
    }
    char parameters[32];
    char count[32];
    fprintf(app->out, "model       %s (%s to llama.cpp), %s parameters in %s tensors\n",
            plan->config.model_type, plan->config.arch->gguf,
            stn_value_grouped(plan->parameters, parameters),
            stn_value_grouped(plan->tensor_count, count));
    fprintf(app->out, "weights     %s, %s\n", weights, quant);
    fprintf(app->out, "size        %sB, %sB on the disk\n",
            stn_value_short((double)done->bytes, parameters),
            stn_value_short((double)done->disk_bytes, count));
    if (done->verified) {
        fprintf(app->out, "llama.cpp   loads it: %s, %d layers, %d words\n",
                done->facts.description, done->facts.layers, done->facts.vocab);
    }
    return STN_OK;
}

static stn_status make(stn_app *app, const model_args *args, const stn_llm_plan *plan, bool random,
                       stn_llama *llama, stn_err *err) {
    const char *config = args->common.operands.items[0];
    const char *slash = strrchr(config, '/');
    written done = {0};
    stn_progress progress;
    stn_progress_begin(&progress, app->notes, args->common.quiet || args->common.json, "writing",
                       "bytes");
    stn_llm_write_options options = {.name = slash ? slash + 1 : config,
                                     .random = random,
                                     .seed = args->common.seed,
                                     .progress = stn_progress_tick,
                                     .user = &progress};
    stn_status status = stn_llm_plan_write(plan, args->output, &options, &done.bytes, err);
    stn_progress_end(&progress);
    struct stat file;
    if (status == STN_OK && stat(args->output, &file) == 0) {
        done.disk_bytes = (uint64_t)file.st_blocks * 512;
    }
    if (status == STN_OK && llama) {
        status = verify(llama, args, plan, &done, err);
    }
    return status == STN_OK ? report(app, args, plan, random, &done, err) : status;
}

static stn_status run(stn_app *app, const void *arguments, stn_err *err) {
    const model_args *args = arguments;
    const char *path = args->common.operands.items[0];
    stn_gguf_type quant;
    bool random;
    stn_status status = parse_quant(app, args->quant, &quant, err);
    if (status == STN_OK) {
        status = parse_weights(app, args->weights, &random, err);
    }
    if (status == STN_OK && stn_is_stdout(args->output)) {
        status = stn_app_usage(app, err, "--output -: a model does not go to standard output");
    }
    if (status == STN_OK) {
        status = stn_inputs_guard(app, path, args->output, err);
    }
    stn_config config;
    stn_llm_plan plan = {0};
    stn_llama *llama = NULL;
    if (status == STN_OK) {
        status = stn_config_load(&config, path, err);
    }
    if (status == STN_OK) {
        status = stn_llm_plan_init(&plan, &config, quant, err);
        status = status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
    }
    if (status == STN_OK && args->verify) {
        status = stn_llama_open(&llama, err);
        status = status == STN_OK ? status : stn_err_prepend(err, status, "--verify");
    }
    if (status == STN_OK) {
        status = make(app, args, &plan, random, llama, err);
    }
    stn_llama_close(llama);
    stn_llm_plan_fini(&plan);
    return status;
}

static const stn_option options[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(model_args, output), "FILE",
     "where the GGUF file goes", true},
    {"quant", 0, STN_OPTION_TEXT, offsetof(model_args, quant), "TYPE",
     "type of the matrices: q8_0 (default), q4_0, f16, bf16", false},
    {"weights", 0, STN_OPTION_TEXT, offsetof(model_args, weights), "KIND",
     "random (default), which can be measured; none, which takes no disk", false},
    {"verify", 0, STN_OPTION_FLAG, offsetof(model_args, verify), NULL,
     "have llama.cpp load what was written, and compare", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

const stn_command stn_cmd_llm_model = {
    .group = "llm",
    .name = "model",
    .summary = "a GGUF file of a model, from its config.json alone",
    .details =
        "Reads a Hugging Face config.json and writes a GGUF file that llama.cpp loads, with the "
        "metadata and tensors of that model. Its weights are random, so that its speed can be "
        "measured, or left out: then the file is one hole, and a model of any size takes no disk. "
        "It holds no tokenizer: token ids go in and come out.\n\n"
        "Known are the model types llama, qwen2, mimo, qwen3, qwen3_moe, mixtral, gpt_oss, gemma "
        "and deepseek_v3. Heads that predict further tokens are left out.",
    .operands = "CONFIG",
    .operand_min = 1,
    .operand_max = 1,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_SEED,
    .options = options,
    .args_size = sizeof(model_args),
    .examples =
        (const stn_example[]){
            {"A small model with random weights",
             "standin llm model examples/tiny-llama.json -o tiny.gguf"},
            {"A model of which only the shape is wanted",
             "standin llm model examples/tiny-llama.json -o shape.gguf --weights none"},
            {NULL, NULL}},
    .run = run,
};
