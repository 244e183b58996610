/* What a training step of the denoiser costs, measured from outside: the network runs on a kernel
 * table whose entries time and count the entries of the best table, so that nothing in the network
 * has to know. Prints one JSON object; bench/nn.sh makes the page of it.
 *
 *   nn train LENGTH STEPS                     a training step over LENGTH events at d = 128
 *   nn stream D LAYERS LOOKS STREAMS THREADS  sampling: LOOKS looks a block, STREAMS streams side
 *                                             by side in each of THREADS threads
 *
 * Operations are counted as the network needs them: 2 m n k a product, attention by the keys that a
 * query sees, with nothing for padding, for masked keys or for what is computed twice. The peak is
 * the best of products 1024^3 through the same table, taken between the steps. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "core/base/rng.h"
#include "kernel/synth/denoise.h"

static int die(const char *what) {
    fprintf(stderr, "nn: %s\n", what);
    return 1;
}

/* ---- the counting table ---------------------------------------------- */

enum { KERNEL_MAX = 40, LAYER_MAX = 40 };

typedef struct tally {
    char name[48];
    double seconds, flops;
} tally;

typedef struct tallies {
    tally row[KERNEL_MAX + LAYER_MAX];
    size_t count;
} tallies;

static struct {
    const stn_nn_kernels *best;
    const stn_nn_params *params;
    tallies kernels, layers;
    char layer[48]; /* whose tensor was used last */
} counted;

static tally *tally_of(tallies *t, const char *name) {
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->row[i].name, name) == 0) {
            return &t->row[i];
        }
    }
    tally *fresh = &t->row[t->count < KERNEL_MAX ? t->count++ : KERNEL_MAX - 1];
    snprintf(fresh->name, sizeof fresh->name, "%s", name);
    return fresh;
}

/* Which layer @p p belongs to, if it points into the weights or gradients. */
static void layer_note(const float *p) {
    const stn_nn_params *params = counted.params;
    const float *bases[] = {params->weight, params->gradient};
    for (size_t i = 0; i < 2; i++) {
        for (size_t t = 0; t < params->tensor_count; t++) {
            const stn_nn_tensor *tensor = &params->tensors[t];
            const float *first = bases[i] + tensor->offset;
            if (p >= first && p < first + (size_t)tensor->rows * tensor->cols) {
                snprintf(counted.layer, sizeof counted.layer, "%.*s",
                         (int)strcspn(tensor->name, "."), tensor->name);
                return;
            }
        }
    }
}

static void count(const char *kernel, double began, double flops) {
    double seconds = now_s() - began;
    tally *rows[] = {tally_of(&counted.kernels, kernel), tally_of(&counted.layers, counted.layer)};
    for (size_t i = 0; i < 2; i++) {
        rows[i]->seconds += seconds;
        rows[i]->flops += flops;
    }
}

/* COUNTED(kernel, flops, tensor, call): time @p call and note whose @p tensor it was. */
#define COUNTED(kernel, flops, tensor, call)                                                       \
    do {                                                                                           \
        layer_note(tensor);                                                                        \
        double began = now_s();                                                                    \
        counted.best->call;                                                                        \
        count(kernel, began, flops);                                                               \
    } while (0)

static void timed_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                       size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    const char *kernel = ta ? "product, dw" : tb ? "product, forward" : "product, dx";
    COUNTED(kernel, 2.0 * (double)m * (double)n * (double)k, ta ? c : b,
            gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
}

static void timed_rmsnorm(size_t rows, size_t d, const float *x, const float *gain, float *y,
                          float *inv_rms, float *kept) {
    COUNTED("rmsnorm", 0, gain, rmsnorm(rows, d, x, gain, y, inv_rms, kept));
}

static void timed_rmsnorm_back(size_t rows, size_t d, const float *x, const float *gain,
                               const float *inv_rms, const float *dy, float *dx, float *dgain) {
    COUNTED("rmsnorm back", 0, gain, rmsnorm_back(rows, d, x, gain, inv_rms, dy, dx, dgain));
}

static void timed_rope(size_t rows, size_t heads, size_t head_size, size_t stride,
                       const float *table, const uint32_t *pos, bool inverse, float *x) {
    COUNTED("rope", 0, NULL, rope(rows, heads, head_size, stride, table, pos, inverse, x));
}

static void timed_swiglu(size_t rows, size_t d, const float *x, float *y) {
    COUNTED("swiglu", 0, NULL, swiglu(rows, d, x, y));
}

static void timed_swiglu_back(size_t rows, size_t d, const float *x, const float *dy, float *dx) {
    COUNTED("swiglu back", 0, NULL, swiglu_back(rows, d, x, dy, dx));
}

static void timed_embed(size_t rows, size_t d, const uint32_t *id, const float *table, float *y) {
    COUNTED("embed", 0, table, embed(rows, d, id, table, y));
}

static void timed_embed_back(size_t rows, size_t d, const uint32_t *id, const float *dy,
                             float *dtable) {
    COUNTED("embed back", 0, dtable, embed_back(rows, d, id, dy, dtable));
}

/* Operations of one product between the queries and the keys that they see. */
static double attention_flops(const stn_nn_attention *s) {
    double pairs = 0;
    for (uint32_t n = 0; n < s->span_count; n++) {
        const stn_nn_span *span = &s->spans[n];
        for (uint32_t q = 0; q < span->q_end - span->q_begin; q++) {
            uint32_t keys = span->k_end[0] - span->k_begin[0];
            uint32_t seen = q + span->causal_shift + 1;
            pairs += (span->causal && seen < keys ? seen : keys);
            pairs += span->k_end[1] - span->k_begin[1];
        }
    }
    return 2 * pairs * s->heads * s->head_size;
}

static void timed_attention(const stn_nn_attention *s, const float *q, const float *k,
                            const float *v, float *out, float *lse) {
    double flops = 2 * attention_flops(s);
    COUNTED("attention", flops, NULL, attention(s, q, k, v, out, lse));
}

static void timed_attention_back(const stn_nn_attention *s, const float *q, const float *k,
                                 const float *v, const float *out, const float *lse,
                                 const float *dout, float *dq, float *dk, float *dv) {
    double flops = 4 * attention_flops(s);
    COUNTED("attention back", flops, NULL, attention_back(s, q, k, v, out, lse, dout, dq, dk, dv));
}

static double timed_cross_entropy(size_t rows, size_t classes, const float *logits,
                                  const uint32_t *target, const float *weight, float *dlogits) {
    double loss;
    double began = now_s();
    loss = counted.best->cross_entropy(rows, classes, logits, target, weight, dlogits);
    count("cross entropy", began, 0);
    return loss;
}

static void timed_pool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
    COUNTED("pool", 0, NULL, pool(groups, factor, d, x, y));
}

static void timed_pool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
    COUNTED("pool", 0, NULL, pool_back(groups, factor, d, dy, dx));
}

static void timed_unpool(size_t groups, size_t factor, size_t d, const float *x, float *y) {
    COUNTED("pool", 0, NULL, unpool(groups, factor, d, x, y));
}

static void timed_unpool_back(size_t groups, size_t factor, size_t d, const float *dy, float *dx) {
    COUNTED("pool", 0, NULL, unpool_back(groups, factor, d, dy, dx));
}

static void timed_adamw(size_t n, float rate, float beta1, float beta2, float epsilon, float decay,
                        float bias1, float bias2, float scale, const float *gradient, float *m,
                        float *v, float *weight) {
    snprintf(counted.layer, sizeof counted.layer, "optimiser");
    COUNTED(
        "adamw", 0, NULL,
        adamw(n, rate, beta1, beta2, epsilon, decay, bias1, bias2, scale, gradient, m, v, weight));
}

static void timed_ema(size_t n, float keep, const float *weight, float *average) {
    COUNTED("ema", 0, NULL, ema(n, keep, weight, average));
}

static double timed_norm2(size_t n, const float *x) {
    snprintf(counted.layer, sizeof counted.layer, "optimiser");
    double began = now_s(), sum = counted.best->norm2(n, x);
    count("norm2", began, 0);
    return sum;
}

static void timed_threads(int number) {
    counted.best->threads(number);
}

static size_t timed_packed_size(size_t n, size_t k) {
    return counted.best->packed_size(n, k);
}

static void timed_pack(size_t n, size_t k, const float *w, float *packed) {
    counted.best->pack(n, k, w, packed);
}

static void timed_packed_linear(size_t rows, size_t n, size_t k, const float *x,
                                const float *packed, bool add, float *y) {
    COUNTED("packed product", 2.0 * (double)rows * (double)n * (double)k, NULL,
            packed_linear(rows, n, k, x, packed, add, y));
}

static const stn_nn_kernels timed = {
    .name = "timed",
    .threads = timed_threads,
    .packed_size = timed_packed_size,
    .pack = timed_pack,
    .packed_linear = timed_packed_linear,
    .gemm = timed_gemm,
    .rmsnorm = timed_rmsnorm,
    .rmsnorm_back = timed_rmsnorm_back,
    .rope = timed_rope,
    .swiglu = timed_swiglu,
    .swiglu_back = timed_swiglu_back,
    .embed = timed_embed,
    .embed_back = timed_embed_back,
    .attention = timed_attention,
    .attention_back = timed_attention_back,
    .cross_entropy = timed_cross_entropy,
    .pool = timed_pool,
    .pool_back = timed_pool_back,
    .unpool = timed_unpool,
    .unpool_back = timed_unpool_back,
    .adamw = timed_adamw,
    .ema = timed_ema,
    .norm2 = timed_norm2,
};

/* ---- the peak -------------------------------------------------------- */

enum { SIDE = 1024 };

/* Seconds, passed and of the processors. */
typedef struct cost {
    double wall, cpu;
} cost;

static void cost_least(cost *least, cost once) {
    least->wall = least->wall == 0 || once.wall < least->wall ? once.wall : least->wall;
    least->cpu = least->cpu == 0 || once.cpu < least->cpu ? once.cpu : least->cpu;
}

/* Cost of one product 1024^3. */
static cost peak_once(const stn_nn_kernels *k, float *memory) {
    float *a = memory, *b = a + SIDE * SIDE, *c = b + SIDE * SIDE;
    double wall = now_s(), cpu = cpu_s();
    k->gemm(false, false, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE);
    return (cost){now_s() - wall, cpu_s() - cpu};
}

/* ---- training -------------------------------------------------------- */

static const stn_denoiser_shape training_shape = {.channels = 2,
                                                  .classes = {160, 64},
                                                  .labels = 1,
                                                  .block = 8,
                                                  .window = 128,
                                                  .layers = 4,
                                                  .coarse_layers = 1,
                                                  .d = 128,
                                                  .heads = 4,
                                                  .ff = 344};

typedef struct bench {
    stn_denoiser net;
    stn_denoiser_tape *tape;
    stn_denoiser_window window;
    stn_nn_optimizer optimizer;
    uint16_t *value[2];
    float *weight, *square;
} bench;

/* A window of made-up events, each block masked from a random event on. */
static int bench_make(bench *b, uint32_t length) {
    stn_err err = {0};
    stn_rng rng;
    stn_rng_init(&rng, 1);
    if (stn_denoiser_init(&b->net, &training_shape, true, 1, &err) ||
        stn_denoiser_tape_new(&b->tape, &err)) {
        return die(err.text);
    }
    b->weight = malloc(length * sizeof *b->weight);
    b->square = calloc((size_t)3 * SIDE * SIDE, sizeof *b->square);
    for (uint32_t c = 0; c < 2; c++) {
        b->value[c] = malloc(length * sizeof *b->value[c]);
        for (uint32_t i = 0; b->value[c] && i < length; i++) {
            b->value[c][i] = (uint16_t)stn_rng_below(&rng, training_shape.classes[c]);
        }
        b->window.value[c] = b->value[c];
    }
    if (!b->weight || !b->square || !b->value[0] || !b->value[1]) {
        return die("out of memory");
    }
    for (uint32_t i = 0, from = 0; i < length; i++) {
        from = i % 8 ? from : (uint32_t)stn_rng_below(&rng, 8);
        b->weight[i] = i % 8 < from ? 0 : 1;
    }
    for (size_t i = 0; i < (size_t)2 * SIDE * SIDE; i++) {
        b->square[i] = (float)stn_rng_double(&rng);
    }
    b->window.length = length;
    b->window.weight = b->weight;
    b->optimizer = (stn_nn_optimizer){.rate = 1e-3f,
                                      .beta1 = 0.9f,
                                      .beta2 = 0.98f,
                                      .epsilon = 1e-8f,
                                      .clip = 1,
                                      .ema = 0.99f,
                                      .total = 1000};
    return 0;
}

static int bench_step(bench *b, cost *once) {
    stn_err err = {0};
    double loss[STN_CHANNELS_MAX] = {0}, wall = now_s(), cpu = cpu_s();
    if (stn_denoiser_loss(&b->net, b->tape, &b->window, true, b->window.length, loss, &err)) {
        return die(err.text);
    }
    double norm = stn_nn_step(&b->optimizer, &b->net.params, b->net.kernels);
    *once = (cost){now_s() - wall, cpu_s() - cpu};
    return norm > 0 ? 0 : die("the gradient is not finite");
}

static void bench_free(bench *b) {
    stn_denoiser_tape_free(b->tape);
    stn_denoiser_fini(&b->net);
    free(b->value[0]);
    free(b->value[1]);
    free(b->weight);
    free(b->square);
}

static void print_tallies(const char *name, const tallies *t, double total) {
    printf("\"%s\":[", name);
    double rest = total;
    for (size_t i = 0; i < t->count; i++) {
        printf("{\"name\":\"%s\",\"s\":%.6f,\"gflop\":%.4f},", t->row[i].name, t->row[i].seconds,
               1e-9 * t->row[i].flops);
        rest -= t->row[i].seconds;
    }
    printf("{\"name\":\"between kernels\",\"s\":%.6f,\"gflop\":0}]", rest > 0 ? rest : 0);
}

static void print_training(const bench *b, int steps, cost step, cost square,
                           const tallies *kernels, const tallies *layers) {
    double gflop = 0, peak = 2e-9 * SIDE * SIDE * SIDE;
    struct rusage use;
    for (size_t i = 0; i < kernels->count; i++) {
        gflop += 1e-9 * kernels->row[i].flops;
    }
    getrusage(RUSAGE_SELF, &use);
    printf("{\"length\":%u,\"d\":%u,\"parameters\":%zu,\"table\":\"%s\",\"steps\":%d,",
           b->window.length, training_shape.d, b->net.params.count, counted.best->name, steps);
    printf("\"step_s\":%.6f,\"step_cpu_s\":%.6f,\"gflop\":%.4f,", step.wall, step.cpu, gflop);
    printf("\"gflops\":%.2f,\"gflops_cpu\":%.2f,", gflop / step.wall, gflop / step.cpu);
    printf("\"peak_gflops\":%.2f,\"peak_gflops_cpu\":%.2f,", peak / square.wall, peak / square.cpu);
    printf("\"peak_rss_bytes\":%ld,", use.ru_maxrss * 1024L);
    print_tallies("kernels", kernels, step.wall);
    printf(",");
    print_tallies("layers", layers, step.wall);
    printf("}\n");
}

/* The best step and its parts: the tallies of the fastest of @p steps steps. */
static int train(uint32_t length, int steps) {
    bench b = {0};
    cost best = {0}, square = {0};
    tallies kernels = {0}, layers = {0};
    int failed = bench_make(&b, length);
    counted.best = b.net.kernels;
    counted.params = &b.net.params;
    for (int step = -1; !failed && step < steps; step++) { /* step -1 warms up */
        cost once = {0}, product = peak_once(counted.best, b.square);
        counted.kernels = counted.layers = (tallies){0};
        b.net.kernels = &timed;
        failed = bench_step(&b, &once);
        b.net.kernels = counted.best;
        if (step >= 0) {
            if (best.wall == 0 || once.wall < best.wall) {
                kernels = counted.kernels;
                layers = counted.layers;
            }
            cost_least(&best, once);
            cost_least(&square, product);
        }
    }
    if (!failed) {
        print_training(&b, steps, best, square, &kernels, &layers);
    }
    bench_free(&b);
    return failed;
}

/* ---- sampling -------------------------------------------------------------- */

enum { BLOCK = 8, STREAMS_MAX = 64, THREADS_MAX = 64 };

typedef struct sampler {
    const stn_denoiser *net;
    stn_denoise *run;
    uint32_t streams, looks, blocks;
} sampler;

/* Made-up events in each stream, no two the same. */
static void hands_fill(const sampler *s, uint32_t block, uint16_t value[STREAMS_MAX][2][BLOCK]) {
    for (uint32_t i = 0; i < s->streams; i++) {
        for (uint32_t c = 0; c < 2; c++) {
            for (uint32_t j = 0; j < BLOCK; j++) {
                value[i][c][j] = (uint16_t)((block * 7 + i * 3 + j) % s->net->shape.classes[c]);
            }
        }
    }
}

/* Blocks revealed from the left in @p looks looks, each event's channels asked for once, then the
 * commit: what a sampler asks of the network. */
static void *sampler_run(void *argument) {
    const sampler *s = argument;
    uint16_t value[STREAMS_MAX][2][BLOCK];
    const uint16_t *values[STREAMS_MAX][2];
    bool masked[BLOCK];
    stn_denoise_hand hands[STREAMS_MAX];
    for (uint32_t i = 0; i < s->streams; i++) {
        values[i][0] = value[i][0];
        values[i][1] = value[i][1];
        hands[i] = (stn_denoise_hand){values[i], masked, i % 2};
    }
    for (uint32_t block = 0; block < s->blocks; block++) {
        hands_fill(s, block, value);
        for (uint32_t look = 0; look < s->looks; look++) {
            uint32_t known = BLOCK * look / s->looks, next = BLOCK * (look + 1) / s->looks;
            for (uint32_t i = 0; i < BLOCK; i++) {
                masked[i] = i >= known;
            }
            stn_denoise_look_streams(s->run, hands);
            for (uint32_t i = 0; i < s->streams; i++) {
                for (uint32_t row = known; row < next; row++) {
                    uint16_t given[2] = {value[i][0][row], value[i][1][row]};
                    stn_denoise_logits_stream(s->run, i, row, 0, given);
                    stn_denoise_logits_stream(s->run, i, row, 1, given);
                }
            }
        }
        stn_denoise_commit_streams(s->run, hands);
    }
    return NULL;
}

/* Until every thread has drawn its blocks; wall below 0 if one could not be started. */
static cost samplers_run(sampler *samplers, uint32_t threads) {
    pthread_t thread[THREADS_MAX];
    uint32_t started = 0;
    double wall = now_s(), cpu = cpu_s();
    while (started < threads &&
           pthread_create(&thread[started], NULL, sampler_run, &samplers[started]) == 0) {
        started++;
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
    }
    return started == threads ? (cost){now_s() - wall, cpu_s() - cpu} : (cost){-1, -1};
}

static stn_denoiser_shape sampling_shape(uint32_t d, uint32_t layers) {
    stn_denoiser_shape shape = training_shape;
    shape.d = d;
    shape.heads = d / 32;
    shape.ff = d * 8 / 3 / 8 * 8;
    shape.layers = layers;
    return shape;
}

static int stream(uint32_t d, uint32_t layers, uint32_t looks, uint32_t streams, uint32_t threads) {
    enum { BLOCKS = 60, ROUNDS = 7 };
    stn_err err = {0};
    stn_denoiser net;
    sampler samplers[THREADS_MAX] = {0};
    const stn_denoiser_shape shape = sampling_shape(d, layers);
    if (stn_denoiser_init(&net, &shape, false, 1, &err)) {
        return die(err.text);
    }
    cost best = {0};
    int failed = 0;
    for (uint32_t i = 0; !failed && i < threads; i++) {
        samplers[i] = (sampler){&net, NULL, streams, looks, BLOCKS};
        if (stn_denoise_new_streams(&samplers[i].run, &net, 4096, streams, &err)) {
            failed = die(err.text);
        }
    }
    for (int round = -1; !failed && round < ROUNDS; round++) { /* round -1 fills the rings */
        cost once = samplers_run(samplers, threads);
        failed = once.wall < 0 ? die("cannot start a thread") : 0;
        if (round >= 0 && !failed) {
            cost_least(&best, once);
        }
    }
    if (!failed) {
        double events = (double)BLOCK * BLOCKS * streams * threads;
        double evaluations = (double)(looks + 1) * BLOCKS * streams * threads;
        printf("{\"d\":%u,\"layers\":%u,\"parameters\":%zu,\"block\":%d,\"looks\":%u,", d, layers,
               net.params.count, BLOCK, looks);
        printf("\"streams\":%u,\"threads\":%u,\"events_per_s\":%.0f,", streams, threads,
               events / best.wall);
        printf("\"events_per_cpu_s\":%.0f,\"evaluations_per_s\":%.0f}\n", events / best.cpu,
               evaluations / best.wall);
    }
    for (uint32_t i = 0; i < threads; i++) {
        stn_denoise_free(samplers[i].run);
    }
    stn_denoiser_fini(&net);
    return failed;
}

/* ---- command line -------------------------------------------------------- */

/* A number within low .. high, or 0. */
static uint32_t number(const char *text, uint32_t low, uint32_t high) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    return *text && !*end && value >= low && value <= high ? (uint32_t)value : 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "train") == 0) {
        uint32_t length = number(argv[2], BLOCK, 1u << 20), steps = number(argv[3], 1, 10000);
        if (length && length % BLOCK == 0 && steps) {
            return train(length, (int)steps);
        }
    }
    if (argc == 7 && strcmp(argv[1], "stream") == 0) {
        uint32_t d = number(argv[2], 32, 1024), layers = number(argv[3], 1, STN_LAYERS_MAX);
        uint32_t looks = number(argv[4], 1, BLOCK), streams = number(argv[5], 1, STREAMS_MAX);
        uint32_t threads = number(argv[6], 1, THREADS_MAX);
        if (d && d % 32 == 0 && layers && looks && streams && threads) {
            return stream(d, layers, looks, streams, threads);
        }
    }
    fprintf(stderr, "usage: nn train LENGTH STEPS\n"
                    "       nn stream D LAYERS LOOKS STREAMS THREADS\n"
                    "LENGTH is a multiple of 8, D of 32, LOOKS at most 8\n");
    return 2;
}
