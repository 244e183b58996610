/* A program that knows nothing of standin: loads a model with llama.cpp and runs a prompt and a
 * few tokens, as any does. */
#include <llama.h>
#include <stdio.h>
#include <string.h>

static int run(struct llama_context *context, int32_t count) {
    llama_token tokens[64] = {1};
    return llama_decode(context, llama_batch_get_one(tokens, count));
}

int main(int argc, char **argv) {
    if (argc < 3) {
        return 2;
    }
    ggml_backend_load_all_from_path(argv[2]);
    struct llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = 512;
    struct llama_context *context = model ? llama_init_from_model(model, params) : NULL;
    if (!context || run(context, 20) != 0 || run(context, 1) != 0) {
        return 1;
    }
    printf("token %.4f\n", (double)llama_get_logits_ith(context, -1)[0]);
    llama_free(context);
    llama_model_free(model);
    return 0;
}
