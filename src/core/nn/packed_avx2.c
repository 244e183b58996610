/* Products of few rows, as sampling has them: a general product would lay the weights out anew on
 * every call, which costs as much as multiplying eight rows with them. Weights are packed once:
 *
 *   packed [panel][k][16]   panel p holds columns 16 p … 16 p + 15 of w^T, zeros beyond n
 *
 * Eight sums are on their way at any time (two fused operations a cycle, four cycles each): four
 * rows of one panel, two rows of two, one row of four. A panel stays in the first-level cache while
 * all rows pass it. Threads split the panels. */
#include "core/nn/packed_avx2.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "core/nn/simd_avx2.h"

#define PANEL 16
#define GROUP 4 /* panels that one row takes at once */

/* Multiplications of a product that are worth a float of STN_SMALL. */
#define WORK_SHARE 64

static size_t panel_count(size_t n) {
    return (n + PANEL - 1) / PANEL;
}

size_t stn_nn_packed_size_avx2(size_t n, size_t k) {
    return panel_count(n) * PANEL * k;
}

void stn_nn_pack_avx2(size_t n, size_t k, const float *w, float *packed) {
    for (size_t p = 0; p < panel_count(n); p++) {
        for (size_t l = 0; l < k; l++) {
            for (size_t j = 0; j < PANEL; j++) {
                size_t column = p * PANEL + j;
                *packed++ = column < n ? w[column * k + l] : 0;
            }
        }
    }
}

typedef struct product {
    size_t rows, n, k;
    const float *x, *packed;
    bool add;
    float *y;
} product;

/* Sixteen sums to columns at .. of a row of y, as many as there are. */
static inline void put(const product *p, size_t row, size_t at, stn_v8 low, stn_v8 high) {
    float *y = p->y + row * p->n + at;
    if (at + PANEL <= p->n) {
        if (p->add) {
            low += stn_v8_load(y);
            high += stn_v8_load(y + 8);
        }
        stn_v8_store(y, low);
        stn_v8_store(y + 8, high);
        return;
    }
    float sums[PANEL];
    stn_v8_store(sums, low);
    stn_v8_store(sums + 8, high);
    for (size_t j = 0; at + j < p->n; j++) {
        y[j] = p->add ? y[j] + sums[j] : sums[j];
    }
}

/* @p rows rows from @p row on against @p panels panels from @p panel on. */
static inline __attribute__((always_inline)) void tile(const product *p, int rows, int panels,
                                                       size_t row, size_t panel) {
    stn_v8 sum[4][2 * GROUP];
    size_t k = p->k;
    const float *x = p->x + row * k, *w = p->packed + panel * PANEL * k;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < 2 * panels; j++) {
            sum[i][j] = stn_v8_all(0);
        }
    }
    for (size_t l = 0; l < k; l++) {
#pragma GCC unroll 4
        for (int j = 0; j < panels; j++) {
            const float *column = w + ((size_t)j * k + l) * PANEL;
            stn_v8 low = stn_v8_load(column), high = stn_v8_load(column + 8);
            if (rows == 4 && row == 0) { /* the next panel, while this one is used */
                __builtin_prefetch(column + (size_t)panels * PANEL * k);
            }
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) {
                stn_v8 a = stn_v8_all(x[(size_t)i * k + l]);
                sum[i][2 * j] += a * low;
                sum[i][2 * j + 1] += a * high;
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < panels; j++) {
            put(p, row + (size_t)i, (panel + (size_t)j) * PANEL, sum[i][2 * j], sum[i][2 * j + 1]);
        }
    }
}

/* All rows against panels from .. to-1, at most GROUP of them. */
static void panels_run(const product *p, size_t from, size_t to) {
    size_t row = 0;
    for (size_t panel = from; panel < to; panel++) {
        for (row = 0; row + 4 <= p->rows; row += 4) {
            tile(p, 4, 1, row, panel);
        }
    }
    row = p->rows & ~(size_t)3;
    if (row + 2 <= p->rows) {
        size_t panel = from;
        for (; panel + 2 <= to; panel += 2) {
            tile(p, 2, 2, row, panel);
        }
        for (; panel < to; panel++) {
            tile(p, 2, 1, row, panel);
        }
        row += 2;
    }
    if (row < p->rows && to - from == GROUP) {
        tile(p, 1, GROUP, row, from);
    } else if (row < p->rows) {
        for (size_t panel = from; panel < to; panel++) {
            tile(p, 1, 1, row, panel);
        }
    }
}

void stn_nn_packed_linear_avx2(size_t rows, size_t n, size_t k, const float *x, const float *packed,
                               bool add, float *y) {
    const product p = {rows, n, k, x, packed, add, y};
    size_t panels = panel_count(n);
    STN_EACH(
        rows * n * k / WORK_SHARE, (panels + GROUP - 1) / GROUP,
        panels_run(&p, each * GROUP, (each + 1) * GROUP < panels ? (each + 1) * GROUP : panels));
}

#endif
