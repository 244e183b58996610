/* Both empirical distribution functions are step functions, so every distance here is one
 * merge of the two sorted samples: between two neighbouring values of the union the
 * functions are constant, F = i/a_count and G = j/b_count. */
#include "kernel/judge/distance.h"

#include <math.h>

static double identity(float x) {
    return x;
}

static double log10_from_1(float x) {
    return log10(fmax(x, 1));
}

static double area_between(const float *a, size_t a_count, const float *b, size_t b_count,
                           double (*scale)(float)) {
    if (!a_count || !b_count) {
        return NAN;
    }
    size_t i = 0;
    size_t j = 0;
    double area = 0;
    double before = scale(a[0] < b[0] ? a[0] : b[0]);
    while (i < a_count || j < b_count) {
        bool from_a = j == b_count || (i < a_count && a[i] <= b[j]);
        double at = scale(from_a ? a[i] : b[j]);
        area += fabs((double)i / (double)a_count - (double)j / (double)b_count) * (at - before);
        before = at;
        i += from_a;
        j += !from_a;
    }
    return area;
}

double stn_wasserstein(const float *a, size_t a_count, const float *b, size_t b_count) {
    return area_between(a, a_count, b, b_count, identity);
}

double stn_wasserstein_log10(const float *a, size_t a_count, const float *b, size_t b_count) {
    return area_between(a, a_count, b, b_count, log10_from_1);
}

double stn_kolmogorov(const float *a, size_t a_count, const float *b, size_t b_count) {
    if (!a_count || !b_count) {
        return NAN;
    }
    size_t i = 0;
    size_t j = 0;
    double gap = 0;
    while (i < a_count && j < b_count) {
        float at = a[i] < b[j] ? a[i] : b[j];
        while (i < a_count && a[i] == at) {
            i++;
        }
        while (j < b_count && b[j] == at) {
            j++;
        }
        gap = fmax(gap, fabs((double)i / (double)a_count - (double)j / (double)b_count));
    }
    return gap;
}

double stn_quantile(const float *value, size_t count, double q) {
    if (!count) {
        return 0;
    }
    double at = q * (double)(count - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < count ? below + 1 : below;
    double part = at - (double)below;
    return (1 - part) * value[below] + part * value[above];
}

double stn_jensen_shannon_part(double p, double q) {
    double m = (p + q) / 2;
    double part = 0;
    if (p > 0) {
        part += p * log2(p / m);
    }
    if (q > 0) {
        part += q * log2(q / m);
    }
    return part / 2;
}

double stn_fano(uint64_t n, double sum, double sum_of_squares) {
    if (n < 2 || sum <= 0) {
        return NAN;
    }
    double mean = sum / (double)n;
    return (sum_of_squares / (double)n - mean * mean) / mean;
}
