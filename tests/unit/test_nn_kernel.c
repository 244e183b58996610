/* Every kernel of the SIMD table against plain C, every backward against central differences. */
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

/* ---- backward against central differences ---------------------------- */

/* loss(x) = sum_i r_i f(x)_i for fixed random r, so dloss/df = r. */
typedef struct probe {
    double (*loss)(const struct probe *p, const float *x);
    const float *r, *other, *gain;
    const uint32_t *target;
    size_t rows, d;
    stn_nn_attention shape;
} probe;

static void assert_gradient(const probe *p, float *x, size_t count, const float *gradient,
                            const char *what) {
    for (size_t i = 0; i < count; i += 1 + count / 97) {
        float kept = x[i], step = 1e-2f;
        x[i] = kept + step;
        double up = p->loss(p, x);
        x[i] = kept - step;
        double down = p->loss(p, x);
        x[i] = kept;
        double want = (up - down) / (2 * (double)step);
        if (!(fabs(gradient[i] - want) <= 5e-3 * (1 + fabs(want)))) {
            fail_msg("%s: gradient %zu: %g, central difference %g", what, i, gradient[i], want);
        }
    }
}

static double weighted(const float *y, const float *r, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)y[i] * r[i];
    }
    return sum;
}

static double norm_loss(const probe *p, const float *x) {
    float y[64 * 8], s[64];
    ref->rmsnorm(p->rows, p->d, x, p->gain, y, s, NULL);
    return weighted(y, p->r, p->rows * p->d);
}

static double gate_loss(const probe *p, const float *x) {
    float y[64 * 8];
    ref->swiglu(p->rows, p->d, x, y);
    return weighted(y, p->r, p->rows * p->d);
}

static double class_loss(const probe *p, const float *x) {
    return ref->cross_entropy(p->rows, p->d, x, p->target, p->gain, NULL);
}

static double attention_loss(const probe *p, const float *x) {
    float out[40 * 69] = {0}, lse[40 * 2];
    uint32_t w = p->shape.heads * p->shape.head_size;
    ref->attention(&p->shape, x, x + w, x + 2 * w, out, lse);
    return weighted(out, p->r, (size_t)p->shape.rows * p->shape.out_stride);
}

static void backwards_are_derivatives(void **state) {
    (void)state;
    size_t rows = 6, d = 8, n = rows * d;
    float *x = values(2 * n, 1), *gain = values(d, 1), *r = values(n, 1), *dx = calloc(2 * n, 4);
    float y[48], s[6], *dgain = calloc(d, sizeof *dgain);
    assert_non_null(dx);
    assert_non_null(dgain);
    probe norm = {.loss = norm_loss, .r = r, .gain = gain, .rows = rows, .d = d};
    ref->rmsnorm(rows, d, x, gain, y, s, NULL);
    ref->rmsnorm_back(rows, d, x, gain, s, r, dx, dgain);
    assert_gradient(&norm, x, n, dx, "rmsnorm");
    memset(dx, 0, 2 * n * sizeof *dx);
    probe gate = {.loss = gate_loss, .r = r, .rows = rows, .d = d};
    ref->swiglu_back(rows, d, x, r, dx);
    assert_gradient(&gate, x, 2 * n, dx, "swiglu");
    uint32_t target[6] = {0, 7, 3, 3, 1, 2};
    float weight[6] = {1, 2, 0, 0.5f, 1, 1};
    probe class = {.loss = class_loss, .target = target, .gain = weight, .rows = rows, .d = d};
    ref->cross_entropy(rows, d, x, target, weight, dx);
    assert_gradient(&class, x, n, dx, "cross entropy");
    free(x), free(gain), free(r), free(dx), free(dgain);

    const attention_case *c = &attention_cases[3];
    stn_nn_attention shape = attention_shape(c);
    size_t in = (size_t)c->rows * shape.stride, out = (size_t)c->rows * shape.out_stride;
    float *qkv = values(in, 1), *dout = values(out, 1), *o = calloc(out, 4), lse[80];
    float *dqkv = calloc(in, sizeof *dqkv);
    uint32_t w = c->heads * c->head_size;
    probe attention = {.loss = attention_loss, .r = dout, .shape = shape};
    ref->attention(&shape, qkv, qkv + w, qkv + 2 * w, o, lse);
    ref->attention_back(&shape, qkv, qkv + w, qkv + 2 * w, o, lse, dout, dqkv, dqkv + w,
                        dqkv + 2 * w);
    assert_gradient(&attention, qkv, in, dqkv, "attention");
    free(qkv), free(dout), free(o), free(dqkv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree),
        cmocka_unit_test(norms_agree),
        cmocka_unit_test(gates_and_rotations_agree),
        cmocka_unit_test(tables_and_pools_agree),
        cmocka_unit_test(losses_agree),
        cmocka_unit_test(optimisers_agree),
        cmocka_unit_test(attention_agrees),
        cmocka_unit_test(backwards_are_derivatives),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
