/* Every kernel of the SIMD table against plain C. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#include "core/base/rng.h"
#include "core/nn/kernel.h"

static stn_rng rng;
static const stn_nn_kernels *ref, *fast;

static int setup(void **state) {
    (void)state;
    stn_rng_init(&rng, 11);
    ref = stn_nn_kernels_ref();
    fast = stn_nn_kernels_avx2();
    if (fast) {
        fast->threads(2); /* also on a machine of one processor, or of many */
    }
    return 0;
}

/* Sizes around every vector and tile edge. */
static const size_t edges[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65};
#define EDGE_COUNT (sizeof edges / sizeof *edges)

/* Mostly normal numbers, some zero, some large. */
static float *values(size_t count, float scale) {
    float *x = malloc((count + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++) {
        double u = stn_rng_double(&rng);
        x[i] = u < 0.05 ? 0 : (float)(stn_rng_normal(&rng) * (u > 0.97 ? 5 * scale : scale));
    }
    return x;
}

static float *copy(const float *x, size_t count) {
    float *y = malloc((count + 1) * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, count * sizeof *y);
    return y;
}

static void assert_close(const float *got, const float *want, size_t count, double tolerance,
                         const char *what) {
    for (size_t i = 0; i < count; i++) {
        double scale = 1 + fabs(want[i]);
        if (!(fabs((double)got[i] - want[i]) <= tolerance * scale)) {
            fail_msg("%s: item %zu of %zu: %g, expected %g", what, i, count, got[i], want[i]);
        }
    }
}

#define NEED_FAST()                                                                                \
    do {                                                                                           \
        if (!fast) {                                                                               \
            print_message("skipped: no AVX2 here\n");                                              \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static void products_agree(void **state) {
    (void)state;
    NEED_FAST();
    for (int round = 0; round < 60; round++) {
        size_t m = edges[stn_rng_below(&rng, EDGE_COUNT)],
               n = edges[stn_rng_below(&rng, EDGE_COUNT)],
               k = edges[stn_rng_below(&rng, EDGE_COUNT)];
        bool ta = round & 1, tb = round & 2;
        float beta = round % 3 == 0 ? 0.0f : 0.5f;
        float *a = values(m * k, 1), *b = values(k * n, 1), *c = values(m * n, 1);
        float *d = copy(c, m * n);
        ref->gemm(ta, tb, m, n, k, 1.5f, a, ta ? m : k, b, tb ? k : n, beta, c, n);
        fast->gemm(ta, tb, m, n, k, 1.5f, a, ta ? m : k, b, tb ? k : n, beta, d, n);
        assert_close(d, c, m * n, 1e-4, "gemm");
        free(a), free(b), free(c), free(d);
    }
}

static void packed_products_agree(void **state) {
    (void)state;
    NEED_FAST();
    for (int round = 0; round < 120; round++) {
        size_t m = edges[stn_rng_below(&rng, EDGE_COUNT)],
               n = edges[stn_rng_below(&rng, EDGE_COUNT)],
               k = edges[stn_rng_below(&rng, EDGE_COUNT)];
        float *x = values(m * k, 1), *w = values(n * k, 1), *y0 = values(m * n, 1);
        float *y1 = copy(y0, m * n);
        float *p0 = values(ref->packed_size(n, k), 1), *p1 = values(fast->packed_size(n, k), 1);
        ref->pack(n, k, w, p0);
        fast->pack(n, k, w, p1);
        ref->packed_linear(m, n, k, x, p0, round & 1, y0);
        fast->packed_linear(m, n, k, x, p1, round & 1, y1);
        assert_close(y1, y0, m * n, 1e-4, "packed product");
        ref->gemm(false, true, m, n, k, 1, x, k, w, k, 0, y1, n);
        ref->packed_linear(m, n, k, x, p0, false, y0);
        assert_memory_equal(y0, y1, m * n * sizeof *y0);
        free(x), free(w), free(y0), free(y1), free(p0), free(p1);
    }
}

static void norms_agree(void **state) {
    (void)state;
    NEED_FAST();
    for (size_t e = 0; e < EDGE_COUNT; e++) {
        size_t rows = edges[EDGE_COUNT - 1 - e], d = edges[e], n = rows * d;
        float *x = values(n, 2), *gain = values(d, 1), *dy = values(n, 1);
        float *y0 = values(n, 1), *y1 = values(n, 1), *s0 = values(rows, 1), *s1 = values(rows, 1);
        float *kept = values(n, 1);
        ref->rmsnorm(rows, d, x, gain, y0, s0, NULL);
        fast->rmsnorm(rows, d, x, gain, y1, s1, e % 2 ? kept : NULL);
        assert_memory_equal(kept, e % 2 ? x : kept, n * sizeof *x);
        assert_close(y1, y0, n, 1e-5, "rmsnorm");
        assert_close(s1, s0, rows, 1e-5, "rmsnorm scale");
        float *dx0 = values(n, 1), *dx1 = copy(dx0, n), *dg0 = values(d, 1), *dg1 = copy(dg0, d);
        ref->rmsnorm_back(rows, d, x, gain, s0, dy, dx0, dg0);
        fast->rmsnorm_back(rows, d, x, gain, s0, dy, dx1, dg1);
        assert_close(dx1, dx0, n, 2e-5, "rmsnorm dx");
        assert_close(dg1, dg0, d, 1e-4, "rmsnorm dgain");
        free(x), free(gain), free(dy), free(y0), free(y1), free(s0), free(s1), free(kept);
        free(dx0), free(dx1), free(dg0), free(dg1);
    }
}

static void gates_and_rotations_agree(void **state) {
    (void)state;
    NEED_FAST();
    for (size_t e = 0; e < EDGE_COUNT; e++) {
        size_t rows = 5, d = edges[e];
        float *x = values(rows * 2 * d, 30), *dy = values(rows * d, 1);
        float *y0 = values(rows * d, 1), *y1 = values(rows * d, 1);
        float *dx0 = values(rows * 2 * d, 1), *dx1 = copy(dx0, rows * 2 * d);
        ref->swiglu(rows, d, x, y0);
        fast->swiglu(rows, d, x, y1);
        assert_close(y1, y0, rows * d, 1e-5, "swiglu");
        ref->swiglu_back(rows, d, x, dy, dx0);
        fast->swiglu_back(rows, d, x, dy, dx1);
        assert_close(dx1, dx0, rows * 2 * d, 1e-5, "swiglu back");
        free(x), free(dy), free(y0), free(y1), free(dx0), free(dx1);
    }
    float table[40 * 16];
    stn_nn_rope_table(40, 16, table);
    uint32_t pos[7] = {0, 1, 39, 5, 5, 17, 2};
    float *x0 = values(7 * 48, 1), *x1 = copy(x0, (size_t)7 * 48),
          *start = copy(x0, (size_t)7 * 48);
    ref->rope(7, 2, 16, 48, table, pos, false, x0);
    fast->rope(7, 2, 16, 48, table, pos, false, x1);
    assert_close(x1, x0, (size_t)7 * 48, 1e-6, "rope");
    fast->rope(7, 2, 16, 48, table, pos, true, x1);
    assert_close(x1, start, (size_t)7 * 48, 1e-5, "rope and back");
    free(x0), free(x1), free(start);
}

static void tables_and_pools_agree(void **state) {
    (void)state;
    NEED_FAST();
    for (size_t e = 0; e < EDGE_COUNT; e++) {
        size_t d = edges[e], rows = 24, ids = 5;
        uint32_t id[24];
        for (size_t i = 0; i < rows; i++) {
            id[i] = (uint32_t)stn_rng_below(&rng, ids);
        }
        float *t = values(ids * d, 1), *y0 = values(rows * d, 1), *y1 = copy(y0, rows * d);
        ref->embed(rows, d, id, t, y0);
        fast->embed(rows, d, id, t, y1);
        assert_close(y1, y0, rows * d, 1e-6, "embed");
        float *t1 = copy(t, ids * d);
        ref->embed_back(rows, d, id, y0, t);
        fast->embed_back(rows, d, id, y0, t1);
        assert_close(t1, t, ids * d, 1e-5, "embed back");
        float *p0 = values(rows * d, 1), *p1 = copy(p0, rows * d);
        ref->pool(3, 8, d, y0, p0);
        fast->pool(3, 8, d, y0, p1);
        assert_close(p1, p0, 3 * d, 1e-5, "pool");
        ref->pool_back(3, 8, d, y0, p0);
        fast->pool_back(3, 8, d, y0, p1);
        assert_close(p1, p0, rows * d, 1e-5, "pool back");
        ref->unpool(3, 8, d, y0, p0);
        fast->unpool(3, 8, d, y0, p1);
        assert_close(p1, p0, rows * d, 1e-5, "unpool");
        ref->unpool_back(3, 8, d, y0, p0);
        fast->unpool_back(3, 8, d, y0, p1);
        assert_close(p1, p0, 3 * d, 1e-4, "unpool back");
        free(t), free(t1), free(y0), free(y1), free(p0), free(p1);
    }
}

static void losses_agree(void **state) {
    (void)state;
    NEED_FAST();
    for (size_t e = 0; e < EDGE_COUNT; e++) {
        size_t classes = edges[e], rows = 9, n = rows * classes;
        float *x = values(n, 20), *d0 = values(n, 1), *d1 = values(n, 1), w[9];
        uint32_t target[9];
        for (size_t i = 0; i < rows; i++) {
            target[i] = (uint32_t)stn_rng_below(&rng, classes);
            w[i] = i % 3 ? 0.5f + (float)i : 0;
        }
        double l0 = ref->cross_entropy(rows, classes, x, target, w, d0);
        double l1 = fast->cross_entropy(rows, classes, x, target, w, d1);
        assert_true(fabs(l0 - l1) < 1e-5 * (1 + fabs(l0)));
        assert_close(d1, d0, n, 1e-5, "dlogits");
        assert_true(fabs(fast->cross_entropy(rows, classes, x, target, w, NULL) - l1) < 1e-9);
        assert_true(fabs(ref->norm2(n, x) - fast->norm2(n, x)) < 1e-3 * ref->norm2(n, x));
        free(x), free(d0), free(d1);
    }
}

static void optimisers_agree(void **state) {
    (void)state;
    NEED_FAST();
    size_t n = 1001;
    float *g = values(n, 1), *m0 = values(n, 1), *v0 = values(n, 1), *w0 = values(n, 1);
    for (size_t i = 0; i < n; i++) {
        v0[i] = fabsf(v0[i]);
    }
    float *m1 = copy(m0, n), *v1 = copy(v0, n), *w1 = copy(w0, n), *a0 = copy(w0, n),
          *a1 = copy(w0, n);
    ref->adamw(n, 1e-2f, 0.9f, 0.99f, 1e-8f, 0.1f, 0.1f, 0.01f, 0.7f, g, m0, v0, w0);
    fast->adamw(n, 1e-2f, 0.9f, 0.99f, 1e-8f, 0.1f, 0.1f, 0.01f, 0.7f, g, m1, v1, w1);
    assert_close(w1, w0, n, 1e-5, "adamw");
    ref->ema(n, 0.9f, w0, a0);
    fast->ema(n, 0.9f, w0, a1);
    assert_close(a1, a0, n, 1e-6, "ema");
    free(g), free(m0), free(v0), free(w0), free(m1), free(v1), free(w1), free(a0), free(a1);
}

/* ---- attention ------------------------------------------------------- */

typedef struct attention_case {
    stn_nn_span spans[3];
    uint32_t count, rows, heads, head_size;
} attention_case;

static const attention_case attention_cases[] = {
    {{{0, 1, {0, 0}, {1, 0}, false, 0}}, 1, 1, 1, 8},
    {{{0, 9, {0, 0}, {9, 0}, false, 0}}, 1, 9, 2, 8},
    {{{0, 70, {0, 0}, {70, 0}, true, 0}}, 1, 70, 1, 16},
    {{{0, 33, {0, 33}, {33, 40}, true, 0}, {33, 40, {0, 33}, {17, 40}, false, 0}}, 2, 40, 2, 32},
    {{{600, 640, {0, 600}, {580, 640}, false, 0}, {0, 17, {0, 0}, {17, 0}, true, 0}}, 2, 640, 1, 8},
    {{{650, 700, {3, 0}, {700, 0}, true, 647}}, 1, 700, 2, 8},
};

static stn_nn_attention attention_shape(const attention_case *c) {
    uint32_t width = c->heads * c->head_size;
    return (stn_nn_attention){.spans = c->spans,
                              .span_count = c->count,
                              .heads = c->heads,
                              .head_size = c->head_size,
                              .stride = 3 * width,
                              .out_stride = width + 5,
                              .rows = c->rows};
}

static void attention_agrees(void **state) {
    (void)state;
    NEED_FAST();
    for (size_t n = 0; n < sizeof attention_cases / sizeof *attention_cases; n++) {
        const attention_case *c = &attention_cases[n];
        stn_nn_attention s = attention_shape(c);
        size_t in = (size_t)c->rows * s.stride, out = (size_t)c->rows * s.out_stride;
        uint32_t w = c->heads * c->head_size;
        float *x = values(in, 1.5f), *o0 = values(out, 0), *o1 = copy(o0, out);
        float *l0 = values((size_t)c->heads * c->rows, 0),
              *l1 = copy(l0, (size_t)c->heads * c->rows);
        ref->attention(&s, x, x + w, x + 2 * w, o0, l0);
        fast->attention(&s, x, x + w, x + 2 * w, o1, l1);
        assert_close(o1, o0, out, 2e-5, "attention");
        assert_close(l1, l0, (size_t)c->heads * c->rows, 2e-5, "attention lse");
        float *dout = values(out, 1), *d0 = values(in, 1), *d1 = copy(d0, in);
        ref->attention_back(&s, x, x + w, x + 2 * w, o0, l0, dout, d0, d0 + w, d0 + 2 * w);
        fast->attention_back(&s, x, x + w, x + 2 * w, o0, l0, dout, d1, d1 + w, d1 + 2 * w);
        assert_close(d1, d0, in, 1e-4, "attention back");
        free(x), free(o0), free(o1), free(l0), free(l1), free(dout), free(d0), free(d1);
    }
}

/* ---- work that is spread over threads, and its edges --------------------- */

/* Enough rows for more than one thread, on either side of a vector. */
static void large_work_agrees(void **state) {
    (void)state;
    NEED_FAST();
    static const size_t widths[] = {96, 131};
    for (size_t n = 0; n < 2; n++) {
        size_t d = widths[n], rows = 509, size = rows * d;
        float *x = values(size, 1), *gain = values(d, 1), *y0 = values(2 * size, 1);
        float *y1 = copy(y0, 2 * size), *s0 = values(rows, 1), *s1 = values(rows, 1);
        float *dx0 = values(2 * size, 1), *dx1 = copy(dx0, 2 * size), *dy = values(size, 1);
        float *dg0 = values(d, 1), *dg1 = copy(dg0, d);
        ref->rmsnorm(rows, d, x, gain, y0, s0, NULL);
        fast->rmsnorm(rows, d, x, gain, y1, s1, NULL);
        assert_close(y1, y0, size, 1e-5, "rmsnorm");
        ref->rmsnorm_back(rows, d, x, gain, s0, dy, dx0, dg0);
        fast->rmsnorm_back(rows, d, x, gain, s0, dy, dx1, dg1);
        assert_close(dx1, dx0, size, 2e-5, "rmsnorm dx");
        assert_close(dg1, dg0, d, 1e-4, "rmsnorm dgain");
        ref->swiglu(rows, d, y0, dx0);
        fast->swiglu(rows, d, y0, dx1);
        assert_close(dx1, dx0, size, 1e-5, "swiglu");
        ref->swiglu_back(rows, d, y0, dy, dx0);
        fast->swiglu_back(rows, d, y0, dy, dx1);
        assert_close(dx1, dx0, 2 * size, 1e-5, "swiglu back");
        float *p0 = values(ref->packed_size(d, d), 1), *p1 = values(fast->packed_size(d, d), 1);
        ref->pack(d, d, dy, p0);
        fast->pack(d, d, dy, p1);
        ref->packed_linear(rows, d, d, x, p0, true, y0);
        fast->packed_linear(rows, d, d, x, p1, true, y1);
        assert_close(y1, y0, size, 1e-4, "packed product");
        assert_true(fabs(ref->norm2(size, x) - fast->norm2(size, x)) < 1e-3 * (double)size);
        free(x), free(gain), free(y0), free(y1), free(s0), free(s1), free(dx0), free(dx1);
        free(dy), free(dg0), free(dg1), free(p0), free(p1);
    }
}

static void large_tables_and_losses_agree(void **state) {
    (void)state;
    NEED_FAST();
    size_t d = 99, factor = 4, rows = 512, size = rows * d;
    uint32_t *id = malloc(rows * sizeof *id);
    float *x = values(size, 1), *w = values(rows, 1), *y0 = values(size, 1), *y1 = copy(y0, size);
    float *t0 = values(size, 1), *t1 = copy(t0, size);
    assert_non_null(id);
    for (size_t i = 0; i < rows; i++) {
        id[i] = (uint32_t)stn_rng_below(&rng, 7);
        w[i] = i % 5 ? fabsf(w[i]) : 0;
    }
    ref->embed(rows, d, id, t0, y0);
    fast->embed(rows, d, id, t0, y1);
    assert_close(y1, y0, size, 1e-6, "embed");
    ref->embed_back(rows, d, id, x, t0);
    fast->embed_back(rows, d, id, x, t1);
    assert_close(t1, t0, 7 * d, 1e-4, "embed back");
    ref->pool(rows / factor, factor, d, x, y0);
    fast->pool(rows / factor, factor, d, x, y1);
    assert_close(y1, y0, size / factor, 1e-5, "pool");
    ref->pool_back(rows / factor, factor, d, x, y0);
    fast->pool_back(rows / factor, factor, d, x, y1);
    assert_close(y1, y0, size, 1e-5, "pool back");
    ref->unpool(rows / factor, factor, d, x, y0);
    fast->unpool(rows / factor, factor, d, x, y1);
    assert_close(y1, y0, size, 1e-5, "unpool");
    ref->unpool_back(rows / factor, factor, d, x, y0);
    fast->unpool_back(rows / factor, factor, d, x, y1);
    assert_close(y1, y0, size / factor, 1e-5, "unpool back");
    double l0 = ref->cross_entropy(rows, d, x, id, w, t0);
    double l1 = fast->cross_entropy(rows, d, x, id, w, t1);
    assert_true(fabs(l0 - l1) < 1e-5 * (1 + fabs(l0)));
    assert_close(t1, t0, size, 1e-5, "dlogits");
    free(id), free(x), free(w), free(y0), free(y1), free(t0), free(t1);
}

/* Blocks of eight, each with its window, twice over as in training: many groups, several packs,
 * more than one thread. And as in sampling: few queries, many keys. */
static void training_attention_agrees(void **state) {
    (void)state;
    NEED_FAST();
    enum { LENGTH = 640, BLOCK = 8, WINDOW = 128, BLOCKS = LENGTH / BLOCK };
    stn_nn_span spans[2 * BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t at = b * BLOCK, from = at > WINDOW ? at - WINDOW : 0, noisy = LENGTH + at;
        spans[b] = (stn_nn_span){at, at + BLOCK, {from, 0}, {at + BLOCK, 0}, false, 0};
        spans[BLOCKS + b] =
            (stn_nn_span){noisy, noisy + BLOCK, {from, noisy}, {at, noisy + BLOCK}, false, 0};
    }
    const attention_case cases[] = {
        {{{0}}, 2 * BLOCKS, 2 * LENGTH, 3, 32},
        {{{0, 3, {3, 0}, {1100, 2}, false, 0}}, 1, 1100, 2, 16},
        {{{0, 11, {600, 0}, {1240, 0}, true, 600}}, 1, 1240, 1, 128},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        stn_nn_attention s = attention_shape(&cases[n]);
        s.spans = n ? cases[n].spans : spans;
        size_t in = (size_t)s.rows * s.stride, out = (size_t)s.rows * s.out_stride;
        size_t w = (size_t)s.heads * s.head_size, sums = (size_t)s.heads * s.rows;
        float *x = values(in, 1), *o0 = values(out, 0), *o1 = copy(o0, out);
        float *l0 = values(sums, 0), *l1 = copy(l0, sums);
        ref->attention(&s, x, x + w, x + 2 * w, o0, l0);
        fast->attention(&s, x, x + w, x + 2 * w, o1, l1);
        assert_close(o1, o0, out, 2e-5, "attention");
        assert_close(l1, l0, sums, 2e-5, "attention lse");
        float *dout = values(out, 1), *d0 = values(in, 1), *d1 = copy(d0, in);
        ref->attention_back(&s, x, x + w, x + 2 * w, o0, l0, dout, d0, d0 + w, d0 + 2 * w);
        fast->attention_back(&s, x, x + w, x + 2 * w, o0, l0, dout, d1, d1 + w, d1 + 2 * w);
        assert_close(d1, d0, in, 2e-4, "attention back");
        free(x), free(o0), free(o1), free(l0), free(l1), free(dout), free(d0), free(d1);
    }
}

/* Scores, gates and logits far beyond what an exponential of a float can hold. */
static void extremes_agree(void **state) {
    (void)state;
    NEED_FAST();
    float gates[2 * 16], y0[16], y1[16], logits[3 * 11], d0[33], d1[33];
    const float odd[] = {0,  -0.0f, 1e-30f, -1e-30f, 80, -80, 87.5f, -87.5f,
                         89, -89,   1e4f,   -1e4f,   1,  -1,  1e-3f, 30};
    memcpy(gates, odd, sizeof odd);
    for (size_t i = 0; i < 16; i++) {
        gates[16 + i] = 2 - (float)i;
    }
    ref->swiglu(1, 16, gates, y0);
    fast->swiglu(1, 16, gates, y1);
    assert_close(y1, y0, 16, 1e-5, "swiglu");
    for (size_t i = 0; i < 33; i++) {
        logits[i] = i < 11 ? odd[i] : i < 22 ? 1e4f : -3e4f + 1e3f * (float)(i % 11);
    }
    const uint32_t target[3] = {10, 4, 0};
    const float weight[3] = {1, 2, 1};
    double l0 = ref->cross_entropy(3, 11, logits, target, weight, d0);
    double l1 = fast->cross_entropy(3, 11, logits, target, weight, d1);
    assert_true(isfinite(l1) && fabs(l0 - l1) <= 1e-5 * (1 + l0));
    assert_close(d1, d0, 33, 1e-5, "dlogits");
    const attention_case *c = &attention_cases[3];
    stn_nn_attention s = attention_shape(c);
    size_t in = (size_t)c->rows * s.stride, out = (size_t)c->rows * s.out_stride, w = 64;
    float *x = values(in, 40), *o0 = values(out, 0), *o1 = copy(o0, out), l[80];
    memset(x, 0, (size_t)s.stride * sizeof *x); /* a row of nothing */
    ref->attention(&s, x, x + w, x + 2 * w, o0, l);
    fast->attention(&s, x, x + w, x + 2 * w, o1, l);
    assert_close(o1, o0, out, 1e-3, "attention that takes one key");
    free(x), free(o0), free(o1);
}

/* A number that is none must not vanish on the way. */
static void not_a_number_stays_none(void **state) {
    (void)state;
    const stn_nn_kernels *tables[] = {ref, stn_nn_kernels_best()};
    for (size_t t = 0; t < 2; t++) {
        float x[2 * 16] = {0}, y[16], inv;
        x[3] = NAN;
        tables[t]->swiglu(1, 16, x, y);
        assert_true(isnan(y[3]) && !isnan(y[4]));
        const uint32_t target = 0;
        const float weight = 1, gain[16] = {0};
        assert_true(isnan(tables[t]->cross_entropy(1, 16, x, &target, &weight, y)));
        tables[t]->rmsnorm(1, 16, x, gain, y, &inv, NULL);
        assert_true(isnan(inv));
        assert_true(isnan(tables[t]->norm2(16, x)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree),
        cmocka_unit_test(packed_products_agree),
        cmocka_unit_test(norms_agree),
        cmocka_unit_test(gates_and_rotations_agree),
        cmocka_unit_test(tables_and_pools_agree),
        cmocka_unit_test(losses_agree),
        cmocka_unit_test(optimisers_agree),
        cmocka_unit_test(attention_agrees),
        cmocka_unit_test(large_work_agrees),
        cmocka_unit_test(large_tables_and_losses_agree),
        cmocka_unit_test(training_attention_agrees),
        cmocka_unit_test(extremes_agree),
        cmocka_unit_test(not_a_number_stays_none),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
