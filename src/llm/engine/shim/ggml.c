/* libstandin-ggml.so: writes down every graph that a program has ggml compute. Preloaded, or
 * loaded before ggml, its functions stand in front of ggml's own and call them.
 *
 * What is written is the finished graph, before the scheduler cuts it up: each tensor's operation,
 * parameters, sources, shape, strides and what it is a view of. That is all that the constructors
 * were told, for a reused graph too, whose constructors are not called again (docs/adr/0003).
 *
 * STANDIN_CAPTURE_FILE names the file, a JSON object a line (raw.h); a graph with the sizes of one
 * before is left out unless STANDIN_CAPTURE_ALL is set, and all while STANDIN_CAPTURE_PAUSE is.
 * With STANDIN_CAPTURE_SKIP nothing is computed; tensors without memory (llama.cpp's no_alloc) then
 * get an address that nobody reads, so that the scheduler can lay out views of them. */
#include <stddef.h>

extern int standin_ggml_version; /* the library is told from others by it */
int standin_ggml_version = 1;

#ifdef STN_HAVE_LLAMA

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ggml-backend.h>
#include <ggml.h>
#include <gguf.h>

enum { PASSES_MOST = 256, DEPTH_MOST = 10000 };

/* ggml's own functions; not all are called, but those that are have its types. */
/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(ggml_op_name) X(ggml_op_desc) X(ggml_type_name) X(ggml_blck_size) X(ggml_graph_n_nodes)     \
    X(ggml_graph_node) X(ggml_tensor_overhead) X(ggml_backend_buffer_get_usage) X(ggml_version)   \
    X(ggml_backend_sched_alloc_graph) X(ggml_backend_sched_reserve)                               \
    X(ggml_backend_sched_graph_compute)                                                           \
    X(ggml_backend_sched_graph_compute_async) X(gguf_init_from_file) X(gguf_init_from_file_ptr)   \
    X(gguf_get_n_kv) X(gguf_get_key) X(gguf_get_kv_type) X(gguf_get_val_u8) X(gguf_get_val_i8)    \
    X(gguf_get_val_u16) X(gguf_get_val_i16) X(gguf_get_val_u32) X(gguf_get_val_i32)               \
    X(gguf_get_val_u64) X(gguf_get_val_i64) X(gguf_get_val_f32) X(gguf_get_val_f64)               \
    X(gguf_get_val_bool) X(gguf_get_val_str)
/* clang-format on */

static struct {
#define POINTER(name) __typeof__(&(name)) name; /* NOLINT(bugprone-macro-parentheses): a member */
    FUNCTIONS(POINTER)
#undef POINTER
} next;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A program may have loaded ggml where RTLD_NEXT does not see it (Python does). */
static int find_ggml(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    if (strstr(info->dlpi_name, "libggml-base")) {
        *(void **)user = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
    }
    return *(void **)user != NULL;
}

static void resolve(void) {
    void *ggml = RTLD_NEXT;
    if (!dlsym(ggml, "ggml_graph_n_nodes")) {
        ggml = NULL;
        dl_iterate_phdr(find_ggml, &ggml);
    }
#define RESOLVE(name) *(void **)&next.name = ggml ? dlsym(ggml, #name) : NULL;
    FUNCTIONS(RESOLVE)
#undef RESOLVE
}

/* ---- text ------------------------------------------------------------ */

typedef struct text {
    char *at;
    size_t used, size;
    int lost; /* no memory: the line is not written */
} text;

static void __attribute__((format(printf, 2, 3))) say(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, format, args);
    if (need > 0 && t->used + (size_t)need + 1 > t->size) {
        size_t size = (t->used + (size_t)need + 1) * 2;
        char *more = realloc(t->at, size);
        t->lost = t->lost || !more;
        t->at = more ? more : t->at;
        t->size = more ? size : t->size;
    }
    if (need > 0 && !t->lost) {
        vsnprintf(t->at + t->used, t->size - t->used, format, again);
        t->used += (size_t)need;
    }
    va_end(again);
    va_end(args);
}

/* A JSON string; what is not printable ASCII becomes "?": names, not texts, come here. */
static void say_string(text *t, const char *string) {
    char plain[512];
    size_t used = 0;
    for (const char *c = string ? string : ""; *c && used + 2 < sizeof plain; c++) {
        if (*c == '"' || *c == '\\') {
            plain[used++] = '\\';
        }
        plain[used++] = (char)(*c < ' ' || *c > '~' ? '?' : *c);
    }
    plain[used] = '\0';
    say(t, "\"%s\"", plain);
}

static void write_line(text *t) {
    const char *path = getenv("STANDIN_CAPTURE_FILE");
    int fd = path && !t->lost ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    say(t, "\n");
    for (size_t done = 0; fd >= 0 && done < t->used;) {
        ssize_t size = write(fd, t->at + done, t->used - done);
        if (size <= 0) {
            break; /* a line that is not whole is refused when it is read */
        }
        done += (size_t)size;
    }
    if (fd >= 0) {
        close(fd);
    }
    free(t->at);
}

/* ---- metadata -------------------------------------------------------- */

static void say_value(text *t, const struct gguf_context *gguf, int64_t key) {
    switch (next.gguf_get_kv_type(gguf, key)) {
    case GGUF_TYPE_UINT8:
        say(t, "\"%u\"", next.gguf_get_val_u8(gguf, key));
        break;
    case GGUF_TYPE_INT8:
        say(t, "\"%d\"", next.gguf_get_val_i8(gguf, key));
        break;
    case GGUF_TYPE_UINT16:
        say(t, "\"%u\"", next.gguf_get_val_u16(gguf, key));
        break;
    case GGUF_TYPE_INT16:
        say(t, "\"%d\"", next.gguf_get_val_i16(gguf, key));
        break;
    case GGUF_TYPE_UINT32:
        say(t, "\"%" PRIu32 "\"", next.gguf_get_val_u32(gguf, key));
        break;
    case GGUF_TYPE_INT32:
        say(t, "\"%" PRId32 "\"", next.gguf_get_val_i32(gguf, key));
        break;
    case GGUF_TYPE_UINT64:
        say(t, "\"%" PRIu64 "\"", next.gguf_get_val_u64(gguf, key));
        break;
    case GGUF_TYPE_INT64:
        say(t, "\"%" PRId64 "\"", next.gguf_get_val_i64(gguf, key));
        break;
    case GGUF_TYPE_FLOAT32:
        say(t, "\"%.9g\"", (double)next.gguf_get_val_f32(gguf, key));
        break;
    case GGUF_TYPE_FLOAT64:
        say(t, "\"%.17g\"", next.gguf_get_val_f64(gguf, key));
        break;
    case GGUF_TYPE_BOOL:
        say(t, "\"%s\"", next.gguf_get_val_bool(gguf, key) ? "true" : "false");
        break;
    case GGUF_TYPE_STRING:
        say_string(t, next.gguf_get_val_str(gguf, key));
        break;
    case GGUF_TYPE_ARRAY:
    case GGUF_TYPE_COUNT:
        say(t, "\"\"");
        break;
    }
}

/* What a model file says of itself: a line of its own, before the passes of the model. */
static void write_meta(const struct gguf_context *gguf, const char *path) {
    text t = {0};
    if (!gguf || !getenv("STANDIN_CAPTURE_FILE")) {
        return;
    }
    char whole[PATH_MAX] = "";
    say(&t, "{\"meta\":{\"standin.file\":");
    say_string(&t, realpath(path, whole) ? whole : "");
    int64_t count = next.gguf_get_n_kv(gguf);
    for (int64_t i = 0; i < count; i++) {
        say(&t, ",");
        say_string(&t, next.gguf_get_key(gguf, i));
        say(&t, ":");
        say_value(&t, gguf, i);
    }
    say(&t, "}}");
    pthread_mutex_lock(&lock);
    write_line(&t);
    pthread_mutex_unlock(&lock);
}

/* ---- graphs ---------------------------------------------------------- */

/* Tensors that have a number, by their address. */
typedef struct table {
    const struct ggml_tensor **keys;
    uint32_t *ids;
    size_t size; /* power of two */
    uint32_t count;
} table;

static size_t slot_of(const table *map, const struct ggml_tensor *tensor) {
    size_t slot = ((uintptr_t)tensor >> 4) * 0x9e3779b97f4a7c15u >> 20 & (map->size - 1);
    while (map->keys[slot] && map->keys[slot] != tensor) {
        slot = (slot + 1) & (map->size - 1);
    }
    return slot;
}

static long id_of(const table *map, const struct ggml_tensor *tensor) {
    size_t slot = slot_of(map, tensor);
    return tensor && map->keys[slot] ? (long)map->ids[slot] : -1;
}

static int is_weight(const struct ggml_tensor *tensor) {
    const struct ggml_tensor *owner = tensor->view_src ? tensor->view_src : tensor;
    return owner->buffer &&
           next.ggml_backend_buffer_get_usage(owner->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

static void say_numbers(text *t, const char *key, const int64_t *numbers, size_t count) {
    say(t, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        say(t, "%s%" PRId64, i ? "," : "", numbers[i]);
    }
    say(t, "]");
}

static void say_tensor(text *t, const table *map, const struct ggml_tensor *tensor) {
    int64_t numbers[GGML_MAX_OP_PARAMS / sizeof(int32_t)];
    size_t count = 0;
    say(t, "%s{\"name\":", map->count ? "," : "");
    say_string(t, tensor->name);
    say(t, ",\"op\":\"%s\",\"desc\":\"%s\",\"type\":\"%s\",\"block\":%d",
        next.ggml_op_name(tensor->op), next.ggml_op_desc(tensor), next.ggml_type_name(tensor->type),
        (int)next.ggml_blck_size(tensor->type));
    say_numbers(t, "ne", tensor->ne, GGML_MAX_DIMS);
    for (size_t i = 0; i < GGML_MAX_DIMS; i++) {
        numbers[i] = (int64_t)tensor->nb[i];
    }
    say_numbers(t, "nb", numbers, GGML_MAX_DIMS);
    for (size_t i = 0; i < GGML_MAX_OP_PARAMS / sizeof(int32_t); i++) {
        numbers[i] = tensor->op_params[i];
        count = numbers[i] ? i + 1 : count;
    }
    say_numbers(t, "params", numbers, count);
    count = 0;
    for (size_t i = 0; i < GGML_MAX_SRC; i++) {
        /* a cast names itself as where it goes */
        numbers[i] = tensor->src[i] == tensor ? -1 : id_of(map, tensor->src[i]);
        count = tensor->src[i] ? i + 1 : count;
    }
    say_numbers(t, "src", numbers, count);
    say(t, ",\"view\":%ld,\"offset\":%zu,\"input\":%s,\"weight\":%s}", id_of(map, tensor->view_src),
        tensor->view_offs, tensor->flags & GGML_TENSOR_FLAG_INPUT ? "true" : "false",
        is_weight(tensor) ? "true" : "false");
}

/* Sources first, so that each tensor comes behind what it is computed from. */
static void add(text *t, table *map, const struct ggml_tensor *tensor, int depth) {
    if (!tensor || map->keys[slot_of(map, tensor)] || depth > DEPTH_MOST || t->lost ||
        (size_t)map->count * 2 >= map->size) {
        return;
    }
    for (size_t i = 0; i < GGML_MAX_SRC; i++) {
        if (tensor->src[i] != tensor) {
            add(t, map, tensor->src[i], depth + 1);
        }
    }
    add(t, map, tensor->view_src, depth + 1);
    if ((size_t)map->count * 2 < map->size) {
        size_t slot = slot_of(map, tensor);
        say_tensor(t, map, tensor);
        map->keys[slot] = tensor;
        map->ids[slot] = map->count++;
    }
}

/* One that has been written already says nothing new. */
static int seen(const struct ggml_cgraph *graph, int count) {
    static uint64_t hashes[PASSES_MOST];
    static int known;
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        const struct ggml_tensor *tensor =
            next.ggml_graph_node((struct ggml_cgraph *)(uintptr_t)graph, i);
        hash = (hash ^ (uint64_t)tensor->op) * 0x100000001b3u;
        for (size_t d = 0; d < GGML_MAX_DIMS; d++) {
            hash = (hash ^ (uint64_t)tensor->ne[d]) * 0x100000001b3u;
        }
    }
    for (int i = 0; i < known; i++) {
        if (hashes[i] == hash) {
            return 1;
        }
    }
    if (known < PASSES_MOST) {
        hashes[known++] = hash;
        return 0;
    }
    return 1;
}

/* A tensor and the object before it, which is four words in every version so far. */
static int layout_is_ours(void) {
    return next.ggml_tensor_overhead() == sizeof(struct ggml_tensor) + 4 * sizeof(size_t);
}

static void write_pass(struct ggml_cgraph *graph) {
    text t = {0};
    int count = next.ggml_graph_n_nodes(graph);
    if (!layout_is_ours()) {
        say(&t,
            "{\"error\":\"its ggml %s lays tensors out in another way than the one that "
            "standin was built for\"}",
            next.ggml_version ? next.ggml_version() : "");
        write_line(&t);
        return;
    }
    table map = {.size = 1024};
    while (map.size < (size_t)count * 16) {
        map.size *= 2;
    }
    map.keys = calloc(map.size, sizeof *map.keys);
    map.ids = calloc(map.size, sizeof *map.ids);
    t.lost = !map.keys || !map.ids;
    say(&t, "{\"ggml\":\"%s\",\"tensors\":[", next.ggml_version ? next.ggml_version() : "");
    for (int i = 0; map.keys && map.ids && i < count && !t.lost; i++) {
        add(&t, &map, next.ggml_graph_node(graph, i), 0);
    }
    say(&t, "]}");
    write_line(&t);
    free(map.keys);
    free(map.ids);
}

/* Tensors of llama.cpp's no_alloc have a buffer, but no address. */
static void give_addresses(struct ggml_cgraph *graph) {
    int count = next.ggml_graph_n_nodes(graph);
    for (int i = 0; i < count; i++) {
        struct ggml_tensor *node = next.ggml_graph_node(graph, i);
        for (size_t s = 0; s < GGML_MAX_SRC; s++) {
            struct ggml_tensor *tensor = node->src[s];
            while (tensor && tensor->view_src) {
                tensor = tensor->view_src;
            }
            if (tensor && tensor->buffer && !tensor->data) {
                tensor->data = (void *)(uintptr_t)4096; /* NOLINT: nobody reads it */
            }
        }
    }
}

/* The graph that has been written last: it is computed as it was laid out. */
static struct ggml_cgraph *written;

static void record(struct ggml_cgraph *graph) {
    if (!getenv("STANDIN_CAPTURE_FILE") || getenv("STANDIN_CAPTURE_PAUSE") ||
        !next.ggml_graph_n_nodes) {
        return;
    }
    pthread_mutex_lock(&lock);
    written = graph;
    if (!layout_is_ours() || getenv("STANDIN_CAPTURE_ALL") ||
        !seen(graph, next.ggml_graph_n_nodes(graph))) {
        write_pass(graph);
    }
    pthread_mutex_unlock(&lock);
}

static int skips(void) {
    return getenv("STANDIN_CAPTURE_SKIP") != NULL && next.ggml_graph_n_nodes && layout_is_ours();
}

/* ---- in front of ggml ------------------------------------------------ */

bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, struct ggml_cgraph *graph) {
    pthread_once(&once, resolve);
    record(graph);
    if (skips()) {
        give_addresses(graph);
        next.ggml_backend_sched_reserve(sched, graph); /* no_alloc has only measured how much */
    }
    return next.ggml_backend_sched_alloc_graph(sched, graph);
}

enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched,
                                                        struct ggml_cgraph *graph) {
    pthread_once(&once, resolve);
    if (graph != written) {
        record(graph);
    }
    return skips() ? GGML_STATUS_SUCCESS
                   : next.ggml_backend_sched_graph_compute_async(sched, graph);
}

enum ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched,
                                                  struct ggml_cgraph *graph) {
    pthread_once(&once, resolve);
    if (graph != written) {
        record(graph);
    }
    return skips() ? GGML_STATUS_SUCCESS : next.ggml_backend_sched_graph_compute(sched, graph);
}

struct gguf_context *gguf_init_from_file(const char *path, struct gguf_init_params params) {
    pthread_once(&once, resolve);
    struct gguf_context *gguf = next.gguf_init_from_file(path, params);
    write_meta(gguf, path);
    return gguf;
}

struct gguf_context *gguf_init_from_file_ptr(FILE *file, struct gguf_init_params params) {
    pthread_once(&once, resolve);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    struct gguf_context *gguf = next.gguf_init_from_file_ptr(file, params);
    write_meta(gguf, path);
    return gguf;
}

#endif
