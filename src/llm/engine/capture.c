/* A process is watched from outside: llama.cpp ends a program by abort() when a file is odd, and
 * that must not be ours. It writes its passes to one temporary file, what it says on its standard
 * error, or why it could not, to another. */
#include "llm/engine/capture.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "llm/ops/raw.h"
#include "llm/ops/taint.h"

#define SHIM "libstandin-ggml.so"
#ifndef STN_LIBDIR
#define STN_LIBDIR "lib"
#endif

enum { PATH_MOST = 4096 };

stn_llama_pass stn_capture_pass(void) {
    return (stn_llama_pass){.tokens = 42,
                            .seqs = 3,
                            .cells_used = 400,
                            .outputs = 5,
                            .cells = 1024,
                            .seqs_max = 4,
                            .ubatch = 512};
}

void stn_captured_fini(stn_captured *captured) {
    stn_graph_fini(&captured->graph);
    memset(captured, 0, sizeof *captured);
}

/* The shim lies beside the program, above it (tests), or in the library folder beside bin. */
static stn_status find_shim(char path[PATH_MOST], stn_err *err) {
    static const char *const places[] = {"", "../", "../" STN_LIBDIR "/"};
    char self[PATH_MOST - 64];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    self[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        slash[1] = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, PATH_MOST, "%s%s" SHIM, self, places[i]);
        if (access(path, R_OK) == 0) {
            return STN_OK;
        }
    }
    return stn_err_set(err, STN_EUNSUPPORTED,
                       SHIM " is not beside the program: it is built where llama.cpp's headers "
                            "are, see standin doctor");
}

/* ---- a watched process ----------------------------------------------- */

typedef struct watch {
    char shim[PATH_MOST];
    char passes[64], words[64]; /* temporary files */
    int status;                 /* of wait */
    uint64_t peak_rss_bytes;
} watch;

static stn_status make_file(char *path, size_t size, stn_err *err) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/standin-XXXXXX", folder && strlen(folder) < 40 ? folder : P_tmpdir);
    int fd = mkstemp(path);
    if (fd < 0) {
        stn_status status = stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno));
        path[0] = '\0';
        return status;
    }
    close(fd);
    return STN_OK;
}

static stn_status watch_open(watch *w, stn_err *err) {
    memset(w, 0, sizeof *w);
    stn_status status = find_shim(w->shim, err);
    if (status == STN_OK) {
        status = make_file(w->passes, sizeof w->passes, err);
    }
    if (status == STN_OK) {
        status = make_file(w->words, sizeof w->words, err);
    }
    return status;
}

static void watch_close(const watch *w) {
    if (w->passes[0]) {
        unlink(w->passes);
    }
    if (w->words[0]) {
        unlink(w->words);
    }
}

static stn_status watch_wait(watch *w, pid_t child, stn_err *err) {
    struct rusage usage;
    while (wait4(child, &w->status, 0, &usage) < 0) {
        if (errno != EINTR) {
            return stn_err_set(err, STN_EIO, "the watched process: %s", strerror(errno));
        }
    }
    w->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    return STN_OK;
}

/* All of a file; the caller frees. NULL: it could not be read, or out of memory. */
static char *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    struct stat about;
    char *text = NULL;
    *size = 0;
    if (file && fstat(fileno(file), &about) == 0) {
        text = stn_malloc((size_t)about.st_size + 1);
        *size = text ? fread(text, 1, (size_t)about.st_size, file) : 0;
    }
    if (text) {
        text[*size] = '\0';
    }
    if (file) {
        fclose(file);
    }
    return text;
}

/* ---- from passes to a labelled graph --------------------------------- */

/* Do the labels of pass @p at predict the others that have its operations? If @p wanted is one of
 * them, it takes the place of @p at, with its labels. */
static stn_status check_others(stn_captured *out, stn_raw *raw, size_t at, size_t wanted,
                               stn_err *err) {
    stn_graph *graph = &raw->passes[at];
    stn_status status = STN_OK;
    int64_t *values = stn_malloc((graph->exprs.label_count + 1) * sizeof *values);
    if (!values) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    for (size_t i = 0; status == STN_OK && i < raw->count; i++) {
        stn_graph *other = &raw->passes[i];
        if (i != at && stn_raw_same(graph, other)) {
            stn_sources_label(other);
            stn_taint_values(graph, other, values);
            status = stn_taint_check(graph, other, values, err);
            out->checked++;
        }
    }
    if (status == STN_OK && wanted != at) {
        stn_taint_values(graph, &raw->passes[wanted], values);
        stn_taint_move(graph, &raw->passes[wanted], values);
    }
    stn_free(values);
    return status;
}

/* @p last: the last pass is wanted, else the fullest. */
static stn_status label(stn_captured *out, stn_raw *raw, bool last, stn_err *err) {
    size_t wanted = last ? raw->count - 1 : stn_raw_fullest(raw);
    size_t at = stn_raw_fullest_like(raw, wanted);
    out->passes = raw->count;
    stn_status status = stn_taint(&raw->passes[at], err);
    if (status == STN_OK) {
        status = check_others(out, raw, at, wanted, err);
    }
    if (status == STN_OK) {
        out->graph = raw->passes[at];
        memset(&raw->passes[at], 0, sizeof raw->passes[at]);
    }
    return status;
}

static stn_status collect(stn_captured *out, const watch *w, bool last, stn_err *err) {
    size_t size;
    stn_raw raw = {0};
    char *text = read_all(w->passes, &size);
    stn_status status = text ? stn_raw_read(&raw, text, size, "what the shim wrote", err)
                             : stn_err_set(err, STN_EIO, "%s: cannot be read", w->passes);
    stn_free(text);
    out->peak_rss_bytes = w->peak_rss_bytes;
    if (status == STN_OK && raw.count == 0) {
        status = stn_err_set(err, STN_ECHECK,
                             "it had no graph computed through a shared ggml: it may not use ggml, "
                             "or ggml is linked into it");
    }
    if (status == STN_OK) {
        status = label(out, &raw, last, err);
    }
    stn_raw_fini(&raw);
    return status;
}

/* ---- llama.cpp ------------------------------------------------------- */

static stn_status check_pass(const stn_llama_pass *p, stn_err *err) {
    if (p->seqs == 0 || p->seqs > p->seqs_max || p->tokens == 0 || p->tokens % p->seqs != 0) {
        return stn_err_set(
            err, STN_ERANGE,
            "%u tokens of %u sequences: expected a multiple, of at most %u sequences", p->tokens,
            p->seqs, p->seqs_max);
    }
    if (p->outputs == 0 || p->outputs > p->tokens) {
        return stn_err_set(err, STN_ERANGE, "%u outputs of %u tokens: expected 1 to %u", p->outputs,
                           p->tokens, p->tokens);
    }
    if (p->cells_used < p->tokens / p->seqs || p->cells_used > p->cells) {
        return stn_err_set(err, STN_ERANGE, "%u cells in use: expected %u to %u", p->cells_used,
                           p->tokens / p->seqs, p->cells);
    }
    return STN_OK;
}

/* In the child: never returns. What fails is left in the file of words. */
static void child_model(const watch *w, const char *path, const stn_llama_pass *pass) {
    stn_llama *llama = NULL;
    stn_err err = {0};
    int words = open(w->words, O_WRONLY | O_TRUNC | O_CLOEXEC);
    setenv("STANDIN_CAPTURE_FILE", w->passes, 1);
    setenv("STANDIN_CAPTURE_SKIP", "1", 1);
    setenv("STANDIN_CAPTURE_ALL", "1", 1); /* the last is the one that was asked for */
    if (words >= 0) {
        dup2(words, STDERR_FILENO); /* the last words of abort() */
    }
    stn_status status = stn_llama_shim(w->shim, &err);
    if (status == STN_OK) {
        status = stn_llama_open(&llama, &err);
    }
    if (status == STN_OK) {
        status = stn_llama_run(llama, path, pass, &err);
    }
    if (status != STN_OK && words >= 0) {
        bool cut = ftruncate(words, 0) != 0 || lseek(words, 0, SEEK_SET) != 0;
        cut = cut || write(words, err.text, strlen(err.text)) < 0;
        _exit(cut ? 127 : (int)status);
    }
    _exit((int)status);
}

/* Why the child ended as it did. */
static stn_status child_failed(const watch *w, const char *path, stn_err *err) {
    size_t size;
    char *words = read_all(w->words, &size);
    char *line = words ? words : "";
    while (*line == '\n') {
        line++;
    }
    line[words ? strcspn(line, "\n") : 0] = words ? '\0' : *line;
    stn_status status = WIFEXITED(w->status)
                            ? stn_err_set(err, (stn_status)WEXITSTATUS(w->status), "%s", line)
                            : stn_err_set(err, STN_ECHECK, "%s: llama.cpp died over it: %s", path,
                                          *line ? line : strsignal(WTERMSIG(w->status)));
    stn_free(words);
    return status;
}

stn_status stn_capture_model(stn_captured *out, const char *path, const stn_llama_pass *pass,
                             stn_err *err) {
    watch w;
    memset(out, 0, sizeof *out);
    stn_status status = check_pass(pass, err);
    if (status != STN_OK) {
        return status;
    }
    status = watch_open(&w, err);
    fflush(NULL);
    pid_t child = status == STN_OK ? fork() : -1;
    if (child == 0) {
        child_model(&w, path, pass);
    }
    if (status == STN_OK) {
        status = child > 0 ? watch_wait(&w, child, err)
                           : stn_err_set(err, STN_EIO, "fork: %s", strerror(errno));
    }
    if (status == STN_OK && (!WIFEXITED(w.status) || WEXITSTATUS(w.status) != 0)) {
        status = child_failed(&w, path, err);
    }
    if (status == STN_OK) {
        status = collect(out, &w, true, err);
        status = status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
    }
    watch_close(&w);
    return status;
}

/* ---- any program ----------------------------------------------------- */

stn_status stn_capture_dynamic(const char *path, stn_err *err) {
    Elf64_Ehdr head;
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno));
    }
    bool elf = fread(&head, sizeof head, 1, file) == 1 &&
               memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64;
    bool loader = !elf; /* a script: its interpreter decides */
    for (unsigned i = 0; elf && !loader && i < head.e_phnum; i++) {
        Elf64_Phdr part;
        loader = fseek(file, (long)(head.e_phoff + i * sizeof part), SEEK_SET) == 0 &&
                 fread(&part, sizeof part, 1, file) == 1 && part.p_type == PT_INTERP;
    }
    fclose(file);
    return loader ? STN_OK
                  : stn_err_set(err, STN_EUNSUPPORTED,
                                "%s: is a static program: nothing can be put before its functions; "
                                "build it with shared ggml libraries",
                                path);
}

/* Where the shell would find @p name. */
static stn_status find_program(const char *name, char path[PATH_MOST], stn_err *err) {
    const char *at = strchr(name, '/') ? NULL : getenv("PATH");
    snprintf(path, PATH_MOST, "%s", name);
    while (at && *at) {
        size_t size = strcspn(at, ":");
        snprintf(path, PATH_MOST, "%.*s/%s", (int)size, at, name);
        if (access(path, X_OK) == 0) {
            return STN_OK;
        }
        at += size + (at[size] == ':');
    }
    return strchr(name, '/') && access(path, X_OK) == 0
               ? STN_OK
               : stn_err_set(err, STN_ENOTFOUND, "%s: no such program", name);
}

static void child_program(const watch *w, const char *path, const char *const *argv, bool skip) {
    char preload[2 * PATH_MOST];
    const char *others = getenv("LD_PRELOAD");
    snprintf(preload, sizeof preload, "%s%s%s", w->shim, others ? ":" : "", others ? others : "");
    setenv("LD_PRELOAD", preload, 1);
    setenv("STANDIN_CAPTURE_FILE", w->passes, 1);
    if (skip) {
        setenv("STANDIN_CAPTURE_SKIP", "1", 1);
    }
    execv(path, (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* A program's pass often has sizes of 1 that may be several things. llama.cpp builds the graph of
 * the same model file with sizes that are apart: where it is the same graph, and what it says of it
 * predicts the program's pass, that is what the dimensions are. */
static void ask_llama(stn_captured *out) {
    const char *file = stn_graph_meta(&out->graph, "standin.file");
    stn_llama_pass pass = stn_capture_pass();
    stn_captured other;
    stn_err err = {0};
    pass.seqs = pass.seqs_max = 1; /* one cache, as for sequences that share it */
    pass.tokens = 14;
    if (stn_taint_unknown(&out->graph) == 0 || !file || !file[0] ||
        stn_capture_model(&other, file, &pass, &err) != STN_OK) {
        return;
    }
    size_t count = other.graph.exprs.label_count;
    int64_t *values = stn_malloc((count + 1) * sizeof *values);
    if (values && stn_raw_same(&other.graph, &out->graph)) {
        stn_taint_values(&other.graph, &out->graph, values);
        if (stn_taint_check(&other.graph, &out->graph, values, &err) == STN_OK) {
            stn_taint_move(&other.graph, &out->graph, values);
            stn_graph swap = out->graph;
            out->graph = other.graph;
            other.graph = swap;
            out->checked++;
        }
    }
    stn_free(values);
    stn_captured_fini(&other);
}

stn_status stn_capture_program(stn_captured *out, const char *const *argv, bool skip,
                               stn_err *err) {
    watch w = {0};
    char path[PATH_MOST];
    memset(out, 0, sizeof *out);
    stn_status status = find_program(argv[0], path, err);
    if (status == STN_OK) {
        status = stn_capture_dynamic(path, err);
    }
    if (status == STN_OK) {
        status = watch_open(&w, err);
    }
    fflush(NULL);
    pid_t child = status == STN_OK ? fork() : -1;
    if (child == 0) {
        child_program(&w, path, argv, skip);
    }
    if (status == STN_OK) {
        status = child > 0 ? watch_wait(&w, child, err)
                           : stn_err_set(err, STN_EIO, "fork: %s", strerror(errno));
    }
    if (status == STN_OK && WIFEXITED(w.status) && WEXITSTATUS(w.status) == 127) {
        status = stn_err_set(err, STN_EIO, "%s: could not be run", path);
    }
    if (status == STN_OK) {
        status = collect(out, &w, false, err);
        status = status == STN_OK ? status : stn_err_prepend(err, status, "%s", argv[0]);
    }
    watch_close(&w);
    if (status == STN_OK) {
        ask_llama(out);
    }
    return status;
}
