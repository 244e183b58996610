/* Finding llama.cpp and calling it. Every function goes through a pointer of the table below,
 * with the type that llama.h gives it. */
#include "llm/engine/llama.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#ifdef STN_HAVE_LLAMA
#include <ggml-backend.h>
#include <llama.h>
#endif

#ifndef STN_LLAMA_LIBDIR
#define STN_LLAMA_LIBDIR ""
#endif
#ifndef STN_LLAMA_VERSION
#define STN_LLAMA_VERSION ""
#endif

/* Names of the shim's are found before those of ggml only if both are global. */
static bool shimmed;

#define NPM_BINS "/@node-llama-cpp/linux-x64/bins/linux-x64"

/* Is this file name that of libllama? It may bear a version: libllama.v0.5.0.so. */
static bool is_library(const char *name) {
    return strncmp(name, "libllama.", 9) == 0 && strstr(name, ".so");
}

static bool look_in(const char *folder, const char *below, stn_llama_place *place) {
    char path[400];
    snprintf(path, sizeof path, "%s%s", folder, below);
    DIR *dir = folder[0] ? opendir(path) : NULL;
    const struct dirent *entry;
    bool found = false;
    while (dir && !found && (entry = readdir(dir)) != NULL) {
        found = is_library(entry->d_name);
        if (found) {
            snprintf(place->library, sizeof place->library, "%.390s/%.100s", path, entry->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}

#ifdef STN_HAVE_LLAMA
/* "0.5.0" is "0.5.0-dev": builds of one source differ in what follows. One that says nothing is
 * taken as it is. */
static bool same_version(const char *a, const char *b) {
    size_t size = strcspn(a, "-");
    return !*a || !*b || (size == strcspn(b, "-") && strncmp(a, b, size) == 0);
}
#endif

/* Load what look_in() has found, or a name that the loader knows, and ask for the version. */
static bool try_library(stn_llama_place *place) {
    void *library = dlopen(place->library, RTLD_LAZY | (shimmed ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) {
        return false;
    }
    union {
        void *symbol;
        const char *(*text)(void);
    } version = {dlsym(library, "llama_version")};
    snprintf(place->version, sizeof place->version, "%s", version.symbol ? version.text() : "");
#ifdef STN_HAVE_LLAMA
    place->usable = same_version(place->version, STN_LLAMA_VERSION);
#endif
    return true; /* not closed: a second load is free, and its threads may run */
}

stn_status stn_llama_find(stn_llama_place *place, stn_err *err) {
    static const char *const npm[] = {"node_modules", "/usr/local/lib/node_modules",
                                      "/usr/lib/node_modules"};
    static const char *const names[] = {"libllama.so", "libllama.so.0"};
    const char *named = getenv("STANDIN_LLAMA");
    memset(place, 0, sizeof *place);
    if (named) {
        if (look_in(named, "", place) && try_library(place)) {
            return STN_OK;
        }
        return stn_err_set(err, STN_EUNSUPPORTED, "STANDIN_LLAMA=%s: holds no libllama that loads",
                           named);
    }
    if (look_in(STN_LLAMA_LIBDIR, "", place) && try_library(place)) {
        return STN_OK;
    }
    for (size_t i = 0; i < sizeof npm / sizeof *npm; i++) {
        if (look_in(npm[i], NPM_BINS, place) && try_library(place)) {
            return STN_OK;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(place->library, sizeof place->library, "%s", names[i]);
        if (try_library(place)) {
            return STN_OK;
        }
    }
    memset(place, 0, sizeof *place);
    return stn_err_set(err, STN_ENOTFOUND, "llama.cpp is not there");
}

#ifdef STN_HAVE_LLAMA

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(ggml_backend_load_all_from_path) X(ggml_backend_load_all) X(ggml_backend_dev_count)         \
    X(llama_backend_init) X(llama_log_set)                                                        \
    X(llama_model_default_params) X(llama_model_load_from_file) X(llama_model_free)               \
    X(llama_model_get_vocab) X(llama_vocab_n_tokens) X(llama_model_desc)                          \
    X(llama_model_n_params) X(llama_model_size) X(llama_model_n_ctx_train)                        \
    X(llama_model_n_embd) X(llama_model_n_layer) X(llama_model_n_head) X(llama_model_n_head_kv)   \
    X(llama_context_default_params) X(llama_init_from_model) X(llama_free)                        \
    X(llama_batch_get_one) X(llama_batch_init) X(llama_batch_free) X(llama_decode)                \
    X(llama_get_memory) X(llama_memory_clear)                                                     \
    X(llama_get_logits_ith)
/* clang-format on */

struct stn_llama {
#define POINTER(name) __typeof__(&(name)) name; /* NOLINT(bugprone-macro-parentheses): a member */
    FUNCTIONS(POINTER)
#undef POINTER
    char said[400]; /* the first error that llama.cpp logged since it was cleared */
};

/* llama.cpp says why only in its log. */
static void heard(enum ggml_log_level level, const char *text, void *user) {
    stn_llama *llama = user;
    if (level == GGML_LOG_LEVEL_ERROR && !llama->said[0]) {
        snprintf(llama->said, sizeof llama->said, "%s", text);
        llama->said[strcspn(llama->said, "\n")] = '\0';
    }
}

static stn_status resolve(stn_llama *llama, void *library, stn_err *err) {
    const char *missing = NULL;
#define RESOLVE(name)                                                                              \
    *(void **)&llama->name = dlsym(library, #name);                                                \
    missing = llama->name ? missing : #name;
    FUNCTIONS(RESOLVE)
#undef RESOLVE
    return missing ? stn_err_set(err, STN_EUNSUPPORTED, "llama.cpp: has no %s", missing) : STN_OK;
}

static stn_status start(stn_llama *llama, const stn_llama_place *place, stn_err *err) {
    void *library = dlopen(place->library, RTLD_LAZY | (shimmed ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) {
        return stn_err_set(err, STN_EUNSUPPORTED, "%s: cannot be loaded", place->library);
    }
    stn_status status = resolve(llama, library, err);
    const char *slash = strrchr(place->library, '/');
    if (status == STN_OK) {
        char folder[512];
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - place->library) : 0,
                 place->library);
        setenv("GGML_NO_BACKTRACE", "1", 0); /* or a failed assertion starts a debugger */
        llama->llama_log_set(heard, llama);
        llama->ggml_backend_load_all_from_path(slash ? folder : NULL);
        if (llama->ggml_backend_dev_count() == 0) { /* installed: they lie where it was built for */
            llama->ggml_backend_load_all();
        }
        llama->llama_backend_init();
    }
    return status;
}

stn_status stn_llama_shim(const char *path, stn_err *err) {
    shimmed = dlopen(path, RTLD_LAZY | RTLD_GLOBAL) != NULL;
    return shimmed ? STN_OK : stn_err_set(err, STN_EUNSUPPORTED, "%s: cannot be loaded", path);
}

stn_status stn_llama_open(stn_llama **out, stn_err *err) {
    stn_llama_place place;
    *out = NULL;
    stn_status status = stn_llama_find(&place, err);
    if (status == STN_OK && !place.usable) {
        status = stn_err_set(err, STN_EUNSUPPORTED,
                             "%s: is version %s; this program was built for " STN_LLAMA_VERSION,
                             place.library, place.version);
    }
    stn_llama *llama = status == STN_OK ? stn_calloc(1, sizeof *llama) : NULL;
    if (status == STN_OK) {
        status = llama ? start(llama, &place, err) : stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    if (status == STN_OK) {
        *out = llama;
    } else {
        stn_free(llama);
    }
    return status;
}

static void quiet(enum ggml_log_level level, const char *text, void *user) {
    (void)level;
    (void)text;
    (void)user;
}

void stn_llama_close(stn_llama *llama) {
    if (llama) {
        llama->llama_log_set(quiet, NULL);
        stn_free(llama);
    }
}

static stn_status load(stn_llama *llama, const char *path, bool weights, struct llama_model **model,
                       stn_err *err) {
    struct llama_model_params params = llama->llama_model_default_params();
    params.no_alloc = !weights;
    params.load_mode = weights ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
    params.n_gpu_layers = 0;
    llama->said[0] = '\0';
    *model = llama->llama_model_load_from_file(path, params);
    return *model ? STN_OK
                  : stn_err_set(err, STN_ECHECK, "%s: llama.cpp refuses it: %s", path,
                                llama->said[0] ? llama->said : "without a word");
}

stn_status stn_llama_inspect(stn_llama *llama, const char *path, stn_llama_facts *facts,
                             stn_err *err) {
    struct llama_model *model;
    memset(facts, 0, sizeof *facts);
    stn_status status = load(llama, path, false, &model, err);
    if (status != STN_OK) {
        return status;
    }
    llama->llama_model_desc(model, facts->description, sizeof facts->description);
    facts->parameters = llama->llama_model_n_params(model);
    facts->bytes = llama->llama_model_size(model);
    facts->vocab = llama->llama_vocab_n_tokens(llama->llama_model_get_vocab(model));
    facts->context = llama->llama_model_n_ctx_train(model);
    facts->embd = llama->llama_model_n_embd(model);
    facts->layers = llama->llama_model_n_layer(model);
    facts->heads = llama->llama_model_n_head(model);
    facts->heads_kv = llama->llama_model_n_head_kv(model);
    llama->llama_model_free(model);
    return STN_OK;
}

/* Largest absolute logit; infinite if one is no number. */
static float largest_of(const float *logits, int32_t count) {
    float largest = 0;
    for (int32_t i = 0; i < count; i++) {
        float size = __builtin_fabsf(logits[i]);
        largest = size <= largest ? largest : size == size ? size : __builtin_inff();
    }
    return largest;
}

static stn_status run_batch(stn_llama *llama, struct llama_model *model, int32_t count,
                            float *largest, stn_err *err) {
    enum { MOST = 64 };
    llama_token tokens[MOST];
    count = count < MOST ? count : MOST;
    for (int32_t i = 0; i < count; i++) {
        tokens[i] = i + 1;
    }
    struct llama_context_params params = llama->llama_context_default_params();
    params.n_ctx = 256;
    params.n_threads = 1;
    params.n_threads_batch = 1;
    struct llama_context *context = llama->llama_init_from_model(model, params);
    if (!context) {
        return stn_err_set(err, STN_ECHECK, "llama.cpp makes no context: %s", llama->said);
    }
    stn_status status = STN_OK;
    if (llama->llama_decode(context, llama->llama_batch_get_one(tokens, count)) != 0) {
        status = stn_err_set(err, STN_ECHECK, "llama.cpp cannot run it: %s", llama->said);
    } else {
        *largest = largest_of(llama->llama_get_logits_ith(context, -1),
                              llama->llama_vocab_n_tokens(llama->llama_model_get_vocab(model)));
        if (*largest > 1e30F) {
            status = stn_err_set(err, STN_ECHECK, "a logit is no finite number");
        }
    }
    llama->llama_free(context);
    return status;
}

stn_status stn_llama_try(stn_llama *llama, const char *path, int32_t count, float *largest,
                         stn_err *err) {
    struct llama_model *model;
    *largest = 0;
    stn_status status = load(llama, path, true, &model, err);
    if (status == STN_OK) {
        status = run_batch(llama, model, count, largest, err);
        llama->llama_model_free(model);
    }
    return status;
}

/* One batch: @p count tokens of each of @p seqs sequences from position @p past on. */
static stn_status decode(stn_llama *llama, struct llama_context *context, uint32_t count,
                         uint32_t seqs, uint32_t past, uint32_t outputs, stn_err *err) {
    struct llama_batch batch = llama->llama_batch_init((int32_t)(count * seqs), 0, 1);
    for (uint32_t i = 0; i < count * seqs; i++) {
        uint32_t sequence = i / count;
        batch.token[i] = 1;
        batch.pos[i] = (llama_pos)(past + i % count);
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = (llama_seq_id)sequence;
        batch.logits[i] = i < outputs;
    }
    batch.n_tokens = (int32_t)(count * seqs);
    int32_t code = llama->llama_decode(context, batch);
    llama->llama_batch_free(batch);
    return code == 0 ? STN_OK
                     : stn_err_set(err, STN_ECHECK, "llama.cpp cannot run it: %s",
                                   llama->said[0] ? llama->said : "without a word");
}

static stn_status run_pass(stn_llama *llama, struct llama_model *model, const stn_llama_pass *pass,
                           stn_err *err) {
    struct llama_context_params params = llama->llama_context_default_params();
    params.n_ctx = pass->cells * pass->seqs_max;
    params.n_seq_max = pass->seqs_max;
    params.n_batch = params.n_ctx;
    params.n_ubatch = pass->ubatch;
    params.n_threads = params.n_threads_batch = 1;
    params.kv_unified = pass->unified;
    params.swa_full = false; /* a window keeps what it needs */
    struct llama_context *context = llama->llama_init_from_model(model, params);
    if (!context) {
        return stn_err_set(err, STN_ECHECK, "llama.cpp makes no context: %s", llama->said);
    }
    uint32_t count = pass->tokens / pass->seqs;
    uint32_t past = pass->cells_used - count;
    /* First one whose sizes are all large and apart: where labels are read off best. */
    uint32_t apart = pass->seqs_max < 3 ? pass->seqs_max : 3;
    stn_status status = decode(llama, context, 14, apart, 0, 5, err);
    llama->llama_memory_clear(llama->llama_get_memory(context), false);
    uint32_t most = pass->ubatch / pass->seqs;
    for (uint32_t done = 0; status == STN_OK && done < past;) {
        uint32_t piece = past - done < most ? past - done : most;
        status = decode(llama, context, piece, pass->seqs, done, pass->seqs, err);
        done += piece;
        setenv("STANDIN_CAPTURE_PAUSE", "1", 1); /* one of these says as much as a thousand */
    }
    unsetenv("STANDIN_CAPTURE_PAUSE");
    if (status == STN_OK) {
        status = decode(llama, context, count, pass->seqs, past, pass->outputs, err);
    }
    llama->llama_free(context);
    return status;
}

stn_status stn_llama_run(stn_llama *llama, const char *path, const stn_llama_pass *pass,
                         stn_err *err) {
    struct llama_model *model;
    stn_status status = load(llama, path, false, &model, err);
    if (status == STN_OK) {
        status = run_pass(llama, model, pass, err);
        llama->llama_model_free(model);
    }
    return status;
}

#else /* no headers */

stn_status stn_llama_run(stn_llama *llama, const char *path, const stn_llama_pass *pass,
                         stn_err *err) {
    (void)llama;
    (void)path;
    (void)pass;
    return stn_err_set(err, STN_EUNSUPPORTED, "this program was built without llama.cpp's headers");
}

stn_status stn_llama_shim(const char *path, stn_err *err) {
    (void)path;
    return stn_err_set(err, STN_EUNSUPPORTED, "this program was built without llama.cpp's headers");
}

static stn_status without(stn_err *err) {
    return stn_err_set(err, STN_EUNSUPPORTED, "this program was built without llama.cpp's headers");
}

stn_status stn_llama_open(stn_llama **out, stn_err *err) {
    stn_llama_place place;
    *out = NULL;
    stn_status status = stn_llama_find(&place, err);
    return status == STN_OK ? without(err) : status;
}

void stn_llama_close(stn_llama *llama) {
    (void)llama;
}

stn_status stn_llama_inspect(stn_llama *llama, const char *path, stn_llama_facts *facts,
                             stn_err *err) {
    (void)llama;
    (void)path;
    memset(facts, 0, sizeof *facts);
    return without(err);
}

stn_status stn_llama_try(stn_llama *llama, const char *path, int32_t count, float *largest,
                         stn_err *err) {
    (void)llama;
    (void)path;
    (void)count;
    *largest = 0;
    return without(err);
}

#endif
