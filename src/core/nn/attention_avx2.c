/* Attention of a group of queries at a time: neighbouring spans see nearly the same keys, so the
 * keys and values of all of them are packed once (keys transposed, so that scores come out as
 * vectors over keys), and each span takes the columns it sees. A span that sees more keys than a
 * pack holds takes them pack by pack with a running softmax.
 *
 *   scores [Q][K] = q [Q][D] * kt [D][K]      out [Q][D] = p [Q][K] * v [K][D]
 *   back: dp = dout * vt, ds = p (dp - delta), dq = ds * k, dk = ds^T q, dv = p^T dout
 *
 * Where a group has few queries for its keys, as in sampling, packing would cost more than it
 * saves: scores then come out as vectors over queries, straight from the keys where they are.
 *
 * Threads split queries forwards and heads backwards: no two of them write the same column of a
 * row. */
#include "core/nn/attention_avx2.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <math.h>

#include "core/nn/simd_avx2.h"

#define Q_GROUP 128 /* queries of a group */
#define Q_TILE  32  /* queries of a product */
#define K_PACK  512 /* keys of a pack */
/* An odd number of cache lines, or the rows of a column would share two sets of the cache. */
#define K_STRIDE (K_PACK + 16)
#define MAX_HEAD 128
#define FEW      8 /* queries of a vector */
#define SLACK    8 /* keys that are masked for a tile: at most one in so many */

#define LOWEST (-1e30f) /* where a running maximum begins */
#define UNSEEN (-2e30f)

/* Multiplications of an attention that are worth a float of STN_SMALL. */
#define WORK_SHARE 64
#define SLICES_MAX Q_GROUP

/* ---- products ------------------------------------------------------------ */

/* Columns j .. j+16 of @p rows rows of c (+)= a b; see tile_product(). */
static inline __attribute__((always_inline)) void tile_columns(int rows, int vectors, size_t k,
                                                               const float *a, size_t rs, size_t cs,
                                                               const float *b, size_t ldb, bool add,
                                                               float *c, size_t ldc) {
    stn_v8 sum[4][2];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) {
            sum[i][j] = add ? stn_v8_load(c + (size_t)i * ldc + 8 * j) : stn_v8_all(0);
        }
    }
    for (size_t l = 0; l < k; l++) {
        stn_v8 b0 = stn_v8_load(b + l * ldb), b1 = stn_v8_load(b + l * ldb + 8 * (vectors - 1));
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            stn_v8 x = stn_v8_all(a[(size_t)i * rs + l * cs]);
            sum[i][0] += x * b0;
            if (vectors > 1) {
                sum[i][1] += x * b1;
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) {
            stn_v8_store(c + (size_t)i * ldc + 8 * j, sum[i][j]);
        }
    }
}

/* c[m][n] (+)= a b with a read at a[i*rs + l*cs], b and c row-major, n a multiple of 8. */
static void tile_product(size_t m, size_t n, size_t k, const float *a, size_t rs, size_t cs,
                         const float *b, size_t ldb, bool add, float *c, size_t ldc) {
    size_t i = 0;
    for (; i + 4 <= m; i += 4) {
        size_t j = 0;
        for (; j + 16 <= n; j += 16) {
            tile_columns(4, 2, k, a + i * rs, rs, cs, b + j, ldb, add, c + i * ldc + j, ldc);
        }
        if (j < n) {
            tile_columns(4, 1, k, a + i * rs, rs, cs, b + j, ldb, add, c + i * ldc + j, ldc);
        }
    }
    for (; i < m; i++) {
        for (size_t j = 0; j < n; j += 8) {
            tile_columns(1, 1, k, a + i * rs, rs, cs, b + j, ldb, add, c + i * ldc + j, ldc);
        }
    }
}

/* ---- groups -------------------------------------------------------------- */

/* Consecutive queries of one span. */
typedef struct slice {
    const stn_nn_span *span;
    uint32_t first, rows; /* rows of q */
    uint32_t at;          /* first row within the group */
} slice;

typedef struct group {
    slice slice[SLICES_MAX];
    uint32_t count, rows;
    uint32_t k_begin[2], k_end[2]; /* the keys that some slice sees */
} group;

/* Where the walk over the queries of all spans stands: what comes next, and how many are left. */
typedef struct cursor {
    uint32_t span, offset;
    size_t left;
} cursor;

static size_t key_count(const stn_nn_span *span) {
    size_t first = span->k_end[0] > span->k_begin[0] ? span->k_end[0] - span->k_begin[0] : 0;
    return first + (span->k_end[1] > span->k_begin[1] ? span->k_end[1] - span->k_begin[1] : 0);
}

/* Queries of all spans; @p pairs: queries times the keys of their spans. */
static size_t query_count(const stn_nn_attention *s, size_t *pairs) {
    size_t count = 0;
    *pairs = 0;
    for (uint32_t n = 0; n < s->span_count; n++) {
        size_t rows = s->spans[n].q_end - s->spans[n].q_begin;
        count += rows;
        *pairs += rows * key_count(&s->spans[n]);
    }
    return count;
}

/* Queries from .. to-1 of all, counted in the order of the spans. */
static cursor cursor_at(const stn_nn_attention *s, size_t from, size_t to) {
    cursor c = {.left = to - from};
    while (c.left && from >= s->spans[c.span].q_end - s->spans[c.span].q_begin) {
        from -= s->spans[c.span].q_end - s->spans[c.span].q_begin;
        c.span++;
    }
    c.offset = (uint32_t)from;
    return c;
}

/* Widen the keys of @p g by what @p span sees; false, and nothing done, if they would not fit. */
static bool keys_join(group *g, const stn_nn_span *span) {
    uint32_t begin[2], end[2];
    for (int r = 0; r < 2; r++) {
        bool mine = span->k_begin[r] < span->k_end[r], theirs = g->k_begin[r] < g->k_end[r];
        bool low = !theirs || (mine && span->k_begin[r] < g->k_begin[r]);
        bool high = !theirs || (mine && span->k_end[r] > g->k_end[r]);
        begin[r] = low ? span->k_begin[r] : g->k_begin[r];
        end[r] = high ? span->k_end[r] : g->k_end[r];
        if (g->count && begin[r] < end[r] && end[r] - begin[r] > K_PACK) {
            return false;
        }
    }
    memcpy(g->k_begin, begin, sizeof begin);
    memcpy(g->k_end, end, sizeof end);
    return true;
}

/* The next group; false at the end. */
static bool group_next(const stn_nn_attention *s, cursor *c, group *g) {
    g->count = g->rows = 0;
    memset(g->k_begin, 0, sizeof g->k_begin);
    memset(g->k_end, 0, sizeof g->k_end);
    while (c->left && g->rows < Q_GROUP && g->count < SLICES_MAX) {
        const stn_nn_span *span = &s->spans[c->span];
        size_t rows = span->q_end - span->q_begin - c->offset;
        rows = rows < c->left ? rows : c->left;
        rows = rows < Q_GROUP - g->rows ? rows : Q_GROUP - g->rows;
        if (rows && !keys_join(g, span)) {
            break;
        }
        if (rows) {
            g->slice[g->count++] =
                (slice){span, span->q_begin + c->offset, (uint32_t)rows, g->rows};
        }
        g->rows += (uint32_t)rows;
        c->left -= rows;
        c->offset += (uint32_t)rows;
        if (c->offset == span->q_end - span->q_begin) {
            c->span++;
            c->offset = 0;
        }
    }
    return g->rows > 0;
}

/* ---- packs --------------------------------------------------------------- */

/* Scratch of one thread. */
typedef struct tile_scratch {
    float kt[MAX_HEAD * K_STRIDE], vt[MAX_HEAD * K_STRIDE]; /* [D][K] */
    float k[K_PACK * MAX_HEAD], v[K_PACK * MAX_HEAD];       /* [K][D] */
    float dk[K_PACK * MAX_HEAD], dv[K_PACK * MAX_HEAD];
    float p[Q_TILE * K_STRIDE], dp[Q_TILE * K_STRIDE];
    float q[Q_GROUP * MAX_HEAD], o[Q_GROUP * MAX_HEAD]; /* o is dq on the way back */
    float dout[Q_GROUP * MAX_HEAD];
    float high[Q_GROUP], sum[Q_GROUP], delta[Q_GROUP];
    uint32_t low[2][Q_GROUP], end[2][Q_GROUP]; /* keys that each query sees of each range */
    group g;
} tile_scratch;

static _Thread_local tile_scratch scratch;

static inline void transpose_8x8(const float *x, size_t stride, float *out) {
    __m256 r[8], t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        r[i] = _mm256_loadu_ps(x + (size_t)i * stride);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + (size_t)i * K_STRIDE, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(out + (size_t)(i + 4) * K_STRIDE,
                         _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

/* out [d][K_STRIDE] = transpose of @p count rows; d a multiple of 8. */
static void pack_transposed(size_t count, size_t d, const float *x, size_t stride, float *out) {
    size_t j = 0;
    for (; j + 8 <= count; j += 8) {
        for (size_t i = 0; i < d; i += 8) {
            transpose_8x8(x + j * stride + i, stride, out + i * K_STRIDE + j);
        }
    }
    for (; j < count; j++) {
        for (size_t i = 0; i < d; i++) {
            out[i * K_STRIDE + j] = x[j * stride + i];
        }
    }
}

/* out [rows][d] = scale * x, d a multiple of 8. */
static void pack_rows(size_t rows, size_t d, const float *x, size_t stride, float scale,
                      float *out) {
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < d; j += 8) {
            stn_v8_store(out + i * d + j, stn_v8_all(scale) * stn_v8_load(x + i * stride + j));
        }
    }
}

/* x [rows][stride] += scale * from [rows][d]. */
static void add_rows(size_t rows, size_t d, const float *from, float scale, float *x,
                     size_t stride) {
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < d; j += 8) {
            float *at = x + i * stride + j;
            stn_v8_store(at, stn_v8_load(at) + stn_v8_all(scale) * stn_v8_load(from + i * d + j));
        }
    }
}

/* Which keys each query of the group sees. */
static void group_ranges(tile_scratch *s) {
    for (uint32_t n = 0; n < s->g.count; n++) {
        const slice *slice = &s->g.slice[n];
        const stn_nn_span *span = slice->span;
        for (uint32_t i = 0; i < slice->rows; i++) {
            for (int r = 0; r < 2; r++) {
                s->low[r][slice->at + i] = span->k_begin[r];
                s->end[r][slice->at + i] = span->k_end[r];
            }
            size_t seen = (size_t)span->causal_shift + (slice->first + i - span->q_begin) + 1;
            if (span->causal && span->k_begin[0] + seen < span->k_end[0]) {
                s->end[0][slice->at + i] = (uint32_t)(span->k_begin[0] + seen);
            }
        }
    }
}

/* One product: consecutive queries against the keys that some of them see. */
typedef struct tile {
    size_t at, rows;   /* rows of the group */
    size_t low, count; /* keys */
} tile;

/* Up to @p most queries from @p at on that see nearly the same keys of range @p r: two or three
 * blocks in one product are worth the keys that are masked for it. */
static tile tile_at(const tile_scratch *s, size_t at, size_t most, int r) {
    tile t = {.at = at};
    size_t low = 0, end = 0, widest = 0;
    for (; at + t.rows < s->g.rows && t.rows < most; t.rows++) {
        size_t l = s->low[r][at + t.rows], e = s->end[r][at + t.rows];
        size_t wide = e > l && e - l > widest ? e - l : widest;
        if (e > l && end > low) {
            l = l < low ? l : low;
            e = e > end ? e : end;
            if (e - l > wide + wide / SLACK) {
                break;
            }
        }
        if (e > l) {
            low = l;
            end = e;
        }
        widest = wide;
    }
    t.low = low;
    t.count = end - low;
    return t;
}

/* Of @p t the keys that lie in pack .. pack+size. */
static tile tile_clip(tile t, size_t pack, size_t size) {
    size_t low = t.low > pack ? t.low : pack, end = t.low + t.count;
    end = end < pack + size ? end : pack + size;
    t.low = low;
    t.count = low < end ? end - low : 0;
    return t;
}

/* Keys that query @p i of the tile sees, as columns of it. */
static void tile_seen(const tile_scratch *s, const tile *t, size_t i, int r, size_t *from,
                      size_t *to) {
    size_t low = s->low[r][t->at + i], end = s->end[r][t->at + i], last = t->low + t->count;
    *from = low > t->low ? (low < last ? low - t->low : t->count) : 0;
    *to = end > t->low ? (end < last ? end - t->low : t->count) : 0;
    *to = *to > *from ? *to : *from;
}

/* Scores of keys that a query may not see, and of the padding, become those of no weight: further
 * down than any sum begins, so that a query that sees none of the tile keeps what it has. */
static void mask_scores(const tile_scratch *s, const tile *t, int r, size_t padded, float *p) {
    for (size_t i = 0; i < t->rows; i++) {
        size_t from, to;
        tile_seen(s, t, i, r, &from, &to);
        for (size_t j = 0; j < from; j++) {
            p[i * K_STRIDE + j] = UNSEEN;
        }
        for (size_t j = to; j < padded; j++) {
            p[i * K_STRIDE + j] = UNSEEN;
        }
    }
}

static size_t round_up_8(size_t count) {
    return (count + 7) & ~(size_t)7;
}

/* ---- forward ------------------------------------------------------------- */

typedef struct views {
    const float *q, *k, *v, *out, *lse, *dout;
    float *dq, *dk, *dv;
} views;

/* One more tile of keys into the running softmax (Milakov, Gimelshein, arXiv:1805.02867). */
static void softmax_step(tile_scratch *s, const tile *t, size_t padded, size_t d) {
    for (size_t i = 0; i < t->rows; i++) {
        float *row = s->p + i * K_STRIDE, *o = s->o + (t->at + i) * d;
        stn_v8 high = stn_v8_all(s->high[t->at + i]), sum = stn_v8_all(0);
        for (size_t j = 0; j < padded; j += 8) {
            high = stn_v8_max(high, stn_v8_load(row + j));
        }
        float top = stn_v8_high(high);
        high = stn_v8_all(top);
        for (size_t j = 0; j < padded; j += 8) {
            stn_v8 p = stn_v8_exp(stn_v8_load(row + j) - high);
            stn_v8_store(row + j, p);
            sum += p;
        }
        float keep = stn_exp_fast(s->high[t->at + i] - top);
        s->high[t->at + i] = top;
        s->sum[t->at + i] = s->sum[t->at + i] * keep + stn_v8_sum(sum);
        for (size_t j = 0; j < d; j += 8) {
            stn_v8_store(o + j, stn_v8_load(o + j) * stn_v8_all(keep));
        }
    }
}

static void forward_pack(tile_scratch *s, size_t d, int r, size_t pack, size_t size) {
    for (size_t at = 0; at < s->g.rows;) {
        const tile whole = tile_at(s, at, Q_TILE, r), t = tile_clip(whole, pack, size);
        at += t.rows;
        if (t.count) {
            size_t padded = round_up_8(t.count), key = t.low - pack;
            tile_product(t.rows, padded, d, s->q + t.at * d, d, 1, s->kt + key, K_STRIDE, false,
                         s->p, K_STRIDE);
            mask_scores(s, &t, r, padded, s->p);
            softmax_step(s, &t, padded, d);
            tile_product(t.rows, d, t.count, s->p, K_STRIDE, 1, s->v + key * d, d, true,
                         s->o + t.at * d, d);
        }
    }
}

/* Scores [count][FEW] of up to FEW queries, qt [d][FEW], and @p count keys where they lie. */
static inline __attribute__((always_inline)) void
few_keys(int keys, size_t d, const float *qt, const float *k, size_t stride, float *p) {
    stn_v8 sum[8];
#pragma GCC unroll 8
    for (int j = 0; j < keys; j++) {
        sum[j] = stn_v8_all(0);
    }
    for (size_t i = 0; i < d; i++) {
        stn_v8 q = stn_v8_load(qt + i * FEW);
#pragma GCC unroll 8
        for (int j = 0; j < keys; j++) {
            sum[j] += q * stn_v8_all(k[(size_t)j * stride + i]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < keys; j++) {
        stn_v8_store(p + j * FEW, sum[j]);
    }
}

static void few_scores(size_t count, size_t d, const float *qt, const float *k, size_t stride,
                       float *p) {
    size_t j = 0;
    for (; j + 8 <= count; j += 8) {
        few_keys(8, d, qt, k + j * stride, stride, p + j * FEW);
    }
    for (; j < count; j++) {
        few_keys(1, d, qt, k + j * stride, stride, p + j * FEW);
    }
}

/* Queries t->at … of the group against keys where they lie: softmax_step() with a lane a query. */
static void few_tile(tile_scratch *s, const tile *t, int r, size_t d, const float *k,
                     const float *v, size_t stride) {
    float qt[MAX_HEAD * FEW];
    if (t->rows < FEW) {
        memset(qt, 0, d * FEW * sizeof *qt);
    }
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < d; j++) {
            qt[j * FEW + i] = s->q[(t->at + i) * d + j];
        }
    }
    few_scores(t->count, d, qt, k, stride, s->p);
    for (size_t i = 0; i < t->rows; i++) {
        size_t from, to;
        tile_seen(s, t, i, r, &from, &to);
        for (size_t j = 0; j < from; j++) {
            s->p[j * FEW + i] = UNSEEN;
        }
        for (size_t j = to; j < t->count; j++) {
            s->p[j * FEW + i] = UNSEEN;
        }
    }
    float *highs = s->high + t->at, *sums = s->sum + t->at;
    stn_v8 before = stn_v8_all(LOWEST), total = stn_v8_all(0), sum = stn_v8_all(0);
    memcpy(&before, highs, t->rows * sizeof *highs);
    memcpy(&total, sums, t->rows * sizeof *sums);
    stn_v8 high = before;
    for (size_t j = 0; j < t->count; j++) {
        high = stn_v8_max(high, stn_v8_load(s->p + j * FEW));
    }
    for (size_t j = 0; j < t->count; j++) {
        stn_v8 p = stn_v8_exp(stn_v8_load(s->p + j * FEW) - high);
        stn_v8_store(s->p + j * FEW, p);
        sum += p;
    }
    stn_v8 keep = stn_v8_exp(before - high);
    total = total * keep + sum;
    memcpy(highs, &high, t->rows * sizeof *highs);
    memcpy(sums, &total, t->rows * sizeof *sums);
    for (size_t i = 0; i < t->rows; i++) {
        float *o = s->o + (t->at + i) * d;
        for (size_t j = 0; j < d; j += 8) {
            stn_v8_store(o + j, stn_v8_load(o + j) * stn_v8_all(keep[i]));
        }
    }
    tile_product(t->rows, d, t->count, s->p, 1, FEW, v, stride, true, s->o + t->at * d, d);
}

static void few_group(const stn_nn_attention *a, tile_scratch *s, const views *w) {
    for (int r = 0; r < 2; r++) {
        for (size_t at = 0; at < s->g.rows;) {
            const tile whole = tile_at(s, at, FEW, r);
            for (size_t k = whole.low; k < whole.low + whole.count; k += K_PACK) {
                const tile t = tile_clip(whole, k, K_PACK);
                few_tile(s, &t, r, a->head_size, w->k + k * a->stride, w->v + k * a->stride,
                         a->stride);
            }
            at += whole.rows;
        }
    }
}

static void forward_finish(const stn_nn_attention *a, const tile_scratch *s, float *out,
                           float *lse) {
    size_t d = a->head_size;
    for (uint32_t n = 0; n < s->g.count; n++) {
        const slice *slice = &s->g.slice[n];
        for (size_t i = 0; i < slice->rows; i++) {
            size_t at = slice->at + i, row = slice->first + i;
            stn_v8 share = stn_v8_all(1 / s->sum[at]);
            float *to = out + (row - a->out_first) * a->out_stride;
            for (size_t j = 0; j < d; j += 8) {
                stn_v8_store(to + j, stn_v8_load(s->o + at * d + j) * share);
            }
            lse[row] = s->high[at] + logf(s->sum[at]);
        }
    }
}

/* All queries of the group, one head. */
static void forward_group(const stn_nn_attention *a, tile_scratch *s, const views *w, float *out,
                          float *lse) {
    size_t d = a->head_size;
    memset(s->o, 0, s->g.rows * d * sizeof *s->o);
    for (uint32_t n = 0; n < s->g.count; n++) {
        const slice *slice = &s->g.slice[n];
        pack_rows(slice->rows, d, w->q + (size_t)slice->first * a->stride, a->stride,
                  1 / sqrtf((float)d), s->q + slice->at * d);
    }
    for (size_t i = 0; i < s->g.rows; i++) {
        s->high[i] = LOWEST;
        s->sum[i] = 0;
    }
    size_t keys = s->g.k_end[0] - s->g.k_begin[0] + s->g.k_end[1] - s->g.k_begin[1];
    if (s->g.rows * 4 <= keys) {
        few_group(a, s, w);
        forward_finish(a, s, out, lse);
        return;
    }
    for (int r = 0; r < 2; r++) {
        for (size_t from = s->g.k_begin[r]; from < s->g.k_end[r]; from += K_PACK) {
            size_t left = s->g.k_end[r] - from, size = left < K_PACK ? left : K_PACK;
            pack_transposed(size, d, w->k + from * a->stride, a->stride, s->kt);
            pack_rows(size, d, w->v + from * a->stride, a->stride, 1, s->v);
            forward_pack(s, d, r, from, size);
        }
    }
    forward_finish(a, s, out, lse);
}

/* Queries from .. to-1 of all. Head after head of a group: the heads of a row lie side by side, and
 * what one head loads brings the next one's along. */
static void forward_part(const stn_nn_attention *a, const views *all, size_t from, size_t to,
                         float *out, float *lse) {
    cursor c = cursor_at(a, from, to);
    while (group_next(a, &c, &scratch.g)) {
        group_ranges(&scratch);
        for (size_t h = 0; h < a->heads; h++) {
            size_t at = h * a->head_size;
            const views w = {.q = all->q + at, .k = all->k + at, .v = all->v + at};
            forward_group(a, &scratch, &w, out + at, lse + h * a->rows);
        }
    }
}

void stn_nn_attention_avx2(const stn_nn_attention *a, const float *q, const float *k,
                           const float *v, float *out, float *lse) {
    size_t pairs, queries = query_count(a, &pairs);
    const views w = {.q = q, .k = k, .v = v};
    size_t work = 2 * pairs * a->heads * a->head_size / WORK_SHARE;
    /* Four parts a thread: where spans are causal, later queries have more to do. */
    size_t parts = work > STN_SMALL ? 4 * (size_t)omp_get_max_threads() : 1;
    STN_EACH(work, parts,
             forward_part(a, &w, queries * each / parts, queries * (each + 1) / parts, out, lse));
}

/* ---- backward ------------------------------------------------------------ */

/* Scores to probabilities by the kept sums, dp to what flows into the scores. */
static void backward_scores(tile_scratch *s, const tile *t, size_t padded) {
    for (size_t i = 0; i < t->rows; i++) {
        float *p = s->p + i * K_STRIDE, *dp = s->dp + i * K_STRIDE;
        stn_v8 sum = stn_v8_all(s->sum[t->at + i]), delta = stn_v8_all(s->delta[t->at + i]);
        for (size_t j = 0; j < padded; j += 8) {
            stn_v8 x = stn_v8_exp(stn_v8_load(p + j) - sum);
            stn_v8_store(p + j, x);
            stn_v8_store(dp + j, x * (stn_v8_load(dp + j) - delta));
        }
    }
}

static void backward_pack(tile_scratch *s, size_t d, int r, size_t pack, size_t size) {
    for (size_t at = 0; at < s->g.rows;) {
        const tile whole = tile_at(s, at, Q_TILE, r), t = tile_clip(whole, pack, size);
        size_t padded = round_up_8(t.count), key = t.low - pack;
        const float *q = s->q + t.at * d, *dout = s->dout + t.at * d;
        at += t.rows;
        if (!t.count) {
            continue;
        }
        tile_product(t.rows, padded, d, q, d, 1, s->kt + key, K_STRIDE, false, s->p, K_STRIDE);
        mask_scores(s, &t, r, padded, s->p);
        tile_product(t.rows, padded, d, dout, d, 1, s->vt + key, K_STRIDE, false, s->dp, K_STRIDE);
        backward_scores(s, &t, padded);
        tile_product(t.rows, d, t.count, s->dp, K_STRIDE, 1, s->k + key * d, d, true,
                     s->o + t.at * d, d);
        tile_product(t.count, d, t.rows, s->dp, 1, K_STRIDE, q, d, true, s->dk + key * d, d);
        tile_product(t.count, d, t.rows, s->p, 1, K_STRIDE, dout, d, true, s->dv + key * d, d);
    }
}

static void backward_load(const stn_nn_attention *a, tile_scratch *s, const views *w) {
    size_t d = a->head_size;
    memset(s->o, 0, s->g.rows * d * sizeof *s->o);
    for (uint32_t n = 0; n < s->g.count; n++) {
        const slice *slice = &s->g.slice[n];
        size_t out_row = slice->first - a->out_first;
        pack_rows(slice->rows, d, w->q + (size_t)slice->first * a->stride, a->stride,
                  1 / sqrtf((float)d), s->q + slice->at * d);
        pack_rows(slice->rows, d, w->dout + out_row * a->out_stride, a->out_stride, 1,
                  s->dout + slice->at * d);
        for (size_t i = 0; i < slice->rows; i++) {
            const float *o = w->out + (out_row + i) * a->out_stride;
            stn_v8 delta = stn_v8_all(0);
            for (size_t j = 0; j < d; j += 8) {
                delta += stn_v8_load(o + j) * stn_v8_load(s->dout + (slice->at + i) * d + j);
            }
            s->delta[slice->at + i] = stn_v8_sum(delta);
            s->sum[slice->at + i] = w->lse[slice->first + i];
        }
    }
}

static void backward_group(const stn_nn_attention *a, tile_scratch *s, const views *w) {
    size_t d = a->head_size, stride = a->stride;
    backward_load(a, s, w);
    for (int r = 0; r < 2; r++) {
        for (size_t from = s->g.k_begin[r]; from < s->g.k_end[r]; from += K_PACK) {
            size_t left = s->g.k_end[r] - from, size = left < K_PACK ? left : K_PACK;
            pack_transposed(size, d, w->k + from * stride, stride, s->kt);
            pack_transposed(size, d, w->v + from * stride, stride, s->vt);
            pack_rows(size, d, w->k + from * stride, stride, 1, s->k);
            memset(s->dk, 0, size * d * sizeof *s->dk);
            memset(s->dv, 0, size * d * sizeof *s->dv);
            backward_pack(s, d, r, from, size);
            add_rows(size, d, s->dk, 1, w->dk + from * stride, stride);
            add_rows(size, d, s->dv, 1, w->dv + from * stride, stride);
        }
    }
    for (uint32_t n = 0; n < s->g.count; n++) {
        const slice *slice = &s->g.slice[n];
        add_rows(slice->rows, d, s->o + slice->at * d, 1 / sqrtf((float)d),
                 w->dq + (size_t)slice->first * stride, stride);
    }
}

/* Heads from .. to-1 of all queries. */
static void backward_heads(const stn_nn_attention *a, const views *all, size_t from, size_t to,
                           size_t queries) {
    cursor c = cursor_at(a, 0, queries);
    while (group_next(a, &c, &scratch.g)) {
        group_ranges(&scratch);
        for (size_t h = from; h < to; h++) {
            size_t at = h * a->head_size;
            const views w = {
                all->q + at,    all->k + at,  all->v + at,  all->out + at, all->lse + h * a->rows,
                all->dout + at, all->dq + at, all->dk + at, all->dv + at};
            backward_group(a, &scratch, &w);
        }
    }
}

void stn_nn_attention_back_avx2(const stn_nn_attention *a, const float *q, const float *k,
                                const float *v, const float *out, const float *lse,
                                const float *dout, float *dq, float *dk, float *dv) {
    size_t pairs, queries = query_count(a, &pairs);
    const views all = {q, k, v, out, lse, dout, dq, dk, dv};
    size_t work = 4 * pairs * a->heads * a->head_size / WORK_SHARE, heads = a->heads;
    size_t parts = work > STN_SMALL ? (size_t)omp_get_max_threads() : 1;
    parts = parts < heads ? parts : heads;
    STN_EACH(work, parts,
             backward_heads(a, &all, heads * each / parts, heads * (each + 1) / parts, queries));
}

#endif
