/* Every backward of every kernel table against central differences of its forward, with respect to
 * every input: one row of the table below for each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#include "core/base/rng.h"
#include "core/nn/block.h"

#define MOST 4096

/* A function of a flat array of inputs. forward overwrites out; backward adds the gradient of
 * sum(r * out) to din. */
typedef struct probe {
    const char *name;
    size_t inputs, outputs;
    void (*forward)(const stn_nn_kernels *k, const float *in, float *out);
    void (*backward)(const stn_nn_kernels *k, const float *in, const float *r, float *din);
} probe;

/* ---- linear: x [5][9], w [11][9] ----------------------------------------- */

static void linear(const stn_nn_kernels *k, const float *in, float *out) {
    stn_nn_linear(k, 5, 11, 9, in, in + 45, false, out);
}

static void linear_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    stn_nn_linear_back(k, 5, 11, 9, in, in + 45, r, true, din, din + 45);
}

/* Way back that overwrites: what was there must be gone. */
static void linear_back_fresh(const stn_nn_kernels *k, const float *in, const float *r,
                              float *din) {
    for (size_t i = 0; i < 45; i++) {
        din[i] = NAN;
    }
    stn_nn_linear_back(k, 5, 11, 9, in, in + 45, r, false, din, din + 45);
}

/* ---- embedding: table [4][9], rows that share an id ---------------------- */

static const uint32_t ids[7] = {0, 3, 3, 1, 0, 3, 1};

static void embed(const stn_nn_kernels *k, const float *in, float *out) {
    memset(out, 0, (size_t)7 * 9 * sizeof *out);
    k->embed(7, 9, ids, in, out);
}

static void embed_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    (void)in;
    k->embed_back(7, 9, ids, r, din);
}

/* ---- RMSNorm: x [6][9], gain [9] ----------------------------------------- */

static void norm(const stn_nn_kernels *k, const float *in, float *out) {
    float inv[6];
    k->rmsnorm(6, 9, in, in + 54, out, inv, NULL);
}

static void norm_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    float y[54], inv[6];
    k->rmsnorm(6, 9, in, in + 54, y, inv, NULL);
    k->rmsnorm_back(6, 9, in, in + 54, inv, r, din, din + 54);
}

/* ---- rotary positions: x [3][2 heads of 16], stride 40 ------------------- */

static const uint32_t positions[3] = {0, 5, 31};

static void rope(const stn_nn_kernels *k, const float *in, float *out) {
    float table[32 * 16];
    stn_nn_rope_table(32, 16, table);
    memcpy(out, in, 120 * sizeof *out);
    k->rope(3, 2, 16, 40, table, positions, false, out);
}

static void rope_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    float table[32 * 16];
    (void)in;
    stn_nn_rope_table(32, 16, table);
    memcpy(din, r, 120 * sizeof *din);
    k->rope(3, 2, 16, 40, table, positions, true, din);
}

/* ---- SwiGLU: x [4][2 * 11] ----------------------------------------------- */

static void gate(const stn_nn_kernels *k, const float *in, float *out) {
    k->swiglu(4, 11, in, out);
}

static void gate_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    k->swiglu_back(4, 11, in, r, din);
}

/* ---- down- and up-sampling: factor 3, d 9 -------------------------------- */

static void pool(const stn_nn_kernels *k, const float *in, float *out) {
    k->pool(2, 3, 9, in, out);
}

static void pool_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    (void)in;
    k->pool_back(2, 3, 9, r, din);
}

static void unpool(const stn_nn_kernels *k, const float *in, float *out) {
    memset(out, 0, 54 * sizeof *out);
    k->unpool(2, 3, 9, in, out);
}

static void unpool_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    (void)in;
    k->unpool_back(2, 3, 9, r, din);
}

/* ---- weighted cross-entropy: logits [5][9] ------------------------------- */

static const uint32_t targets[5] = {0, 8, 3, 3, 1};
static const float weights[5] = {1, 2.5f, 0, 0.5f, 1};

static void entropy(const stn_nn_kernels *k, const float *in, float *out) {
    *out = (float)k->cross_entropy(5, 9, in, targets, weights, NULL);
}

static void entropy_back(const stn_nn_kernels *k, const float *in, const float *r, float *din) {
    k->cross_entropy(5, 9, in, targets, weights, din);
    for (size_t i = 0; i < 45; i++) {
        din[i] *= *r;
    }
}

/* ---- attention: q|k|v [40][3 * 2 heads of 8] ----------------------------- */

enum { ROWS = 40, WIDTH = 16 };

/* All to all; causal; windows of a block and the blocks before it, twice over as in training. */
static const stn_nn_span full[] = {{0, ROWS, {0, 0}, {ROWS, 0}, false, 0}};
static const stn_nn_span causal[] = {{0, 30, {0, 0}, {30, 0}, true, 0},
                                     {30, ROWS, {10, 30}, {20, ROWS}, true, 2}};
static const stn_nn_span windows[] = {
    {0, 5, {0, 0}, {5, 0}, false, 0},      {5, 10, {0, 0}, {10, 0}, false, 0},
    {10, 15, {5, 0}, {15, 0}, false, 0},   {15, 20, {10, 0}, {20, 0}, false, 0},
    {20, 25, {0, 20}, {0, 25}, false, 0},  {25, 30, {0, 25}, {5, 30}, false, 0},
    {30, 35, {5, 30}, {10, 35}, false, 0}, {35, 40, {10, 35}, {15, 40}, false, 0}};

static void attend(const stn_nn_kernels *k, const stn_nn_span *spans, uint32_t count,
                   const float *in, float *out, float *lse) {
    const stn_nn_attention shape = {.spans = spans,
                                    .span_count = count,
                                    .heads = 2,
                                    .head_size = 8,
                                    .stride = 3 * WIDTH,
                                    .out_stride = WIDTH,
                                    .rows = ROWS};
    k->attention(&shape, in, in + WIDTH, in + (size_t)2 * WIDTH, out, lse);
}

static void attend_back(const stn_nn_kernels *k, const stn_nn_span *spans, uint32_t count,
                        const float *in, const float *r, float *din) {
    float out[ROWS * WIDTH], lse[2 * ROWS];
    const stn_nn_attention shape = {.spans = spans,
                                    .span_count = count,
                                    .heads = 2,
                                    .head_size = 8,
                                    .stride = 3 * WIDTH,
                                    .out_stride = WIDTH,
                                    .rows = ROWS};
    size_t v = (size_t)2 * WIDTH;
    attend(k, spans, count, in, out, lse);
    k->attention_back(&shape, in, in + WIDTH, in + v, out, lse, r, din, din + WIDTH, din + v);
}

#define ATTENTION(what)                                                                            \
    static void what##_attention(const stn_nn_kernels *k, const float *in, float *out) {           \
        float lse[2 * ROWS];                                                                       \
        attend(k, what, sizeof(what) / sizeof *(what), in, out, lse);                              \
    }                                                                                              \
    static void what##_attention_back(const stn_nn_kernels *k, const float *in, const float *r,    \
                                      float *din) {                                                \
        attend_back(k, what, sizeof(what) / sizeof *(what), in, r, din);                           \
    }
ATTENTION(full)
ATTENTION(causal)
ATTENTION(windows)

static const probe probes[] = {
    {"linear", 45 + 99, 55, linear, linear_back},
    {"linear, overwriting", 45 + 99, 55, linear, linear_back_fresh},
    {"embedding", 36, 63, embed, embed_back},
    {"RMSNorm", 54 + 9, 54, norm, norm_back},
    {"rotary positions", 120, 120, rope, rope_back},
    {"SwiGLU", 88, 44, gate, gate_back},
    {"down-sampling", 54, 18, pool, pool_back},
    {"up-sampling", 18, 54, unpool, unpool_back},
    {"cross-entropy", 45, 1, entropy, entropy_back},
    {"full attention", ROWS * 3 * WIDTH, ROWS *WIDTH, full_attention, full_attention_back},
    {"causal attention", ROWS * 3 * WIDTH, ROWS *WIDTH, causal_attention, causal_attention_back},
    {"windowed attention", ROWS * 3 * WIDTH, ROWS *WIDTH, windows_attention,
     windows_attention_back},
};

/* sum(r * f(in)). */
static double weighted(const probe *p, const stn_nn_kernels *k, const float *in, const float *r) {
    static float out[MOST];
    double sum = 0;
    p->forward(k, in, out);
    for (size_t i = 0; i < p->outputs; i++) {
        sum += (double)out[i] * r[i];
    }
    return sum;
}

static void check(const probe *p, const stn_nn_kernels *k, stn_rng *rng) {
    static float in[MOST], r[MOST], din[MOST];
    assert_true(p->inputs <= MOST && p->outputs <= MOST);
    for (size_t i = 0; i < p->inputs; i++) {
        in[i] = (float)stn_rng_normal(rng);
    }
    for (size_t i = 0; i < p->outputs; i++) {
        r[i] = (float)stn_rng_normal(rng);
    }
    memset(din, 0, sizeof din);
    p->backward(k, in, r, din);
    for (size_t i = 0; i < p->inputs; i++) {
        float kept = in[i], step = 1e-2f;
        in[i] = kept + step;
        double up = weighted(p, k, in, r);
        in[i] = kept - step;
        double down = weighted(p, k, in, r);
        in[i] = kept;
        double want = (up - down) / (2 * (double)step);
        if (!(fabs(din[i] - want) <= 5e-3 * (1 + fabs(want)))) {
            fail_msg("%s, %s: gradient %zu of %zu: %g, central difference %g", k->name, p->name, i,
                     p->inputs, din[i], want);
        }
    }
}

static void check_table(const stn_nn_kernels *k) {
    stn_rng rng;
    stn_rng_init(&rng, 23);
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        check(&probes[i], k, &rng);
    }
}

static void reference_gradients_are_derivatives(void **state) {
    (void)state;
    check_table(stn_nn_kernels_ref());
}

static void fast_gradients_are_derivatives(void **state) {
    (void)state;
    if (!stn_nn_kernels_avx2()) {
        print_message("skipped: no AVX2 here\n");
        skip();
    }
    check_table(stn_nn_kernels_avx2());
}

/* Gradients are added to what is there, except where the contract says overwritten. */
static void gradients_add_up(void **state) {
    (void)state;
    const stn_nn_kernels *tables[] = {stn_nn_kernels_ref(), stn_nn_kernels_best()};
    static const size_t adding[] = {0, 2, 3, 6, 7, 9, 10, 11};
    static float in[MOST], r[MOST], once[MOST], twice[MOST];
    stn_rng rng;
    stn_rng_init(&rng, 29);
    for (size_t i = 0; i < MOST; i++) {
        in[i] = (float)stn_rng_normal(&rng);
        r[i] = (float)stn_rng_normal(&rng);
    }
    for (size_t n = 0; n < 2 * sizeof adding / sizeof *adding; n++) {
        const probe *p = &probes[adding[n / 2]];
        memset(once, 0, sizeof once);
        p->backward(tables[n % 2], in, r, once);
        memcpy(twice, once, sizeof twice);
        p->backward(tables[n % 2], in, r, twice);
        for (size_t i = 0; i < p->inputs; i++) {
            if (!(fabsf(twice[i] - 2 * once[i]) <= 1e-5f * (1 + fabsf(once[i])))) {
                fail_msg("%s, %s: %zu: %g, then %g", tables[n % 2]->name, p->name, i, once[i],
                         twice[i]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_gradients_are_derivatives),
        cmocka_unit_test(fast_gradients_are_derivatives),
        cmocka_unit_test(gradients_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
