/** @file
 *  Distances between samples and between distributions. Pure functions.
 *  Pinned by tests/unit/test_judge_distance.c with cases computed by hand. */
#ifndef STN_KERNEL_JUDGE_DISTANCE_H
#define STN_KERNEL_JUDGE_DISTANCE_H

#include <standin/judge.h>

/** Wasserstein-1 distance: the area between the two distribution functions.
 *  @param a [a_count] rising  @param b [b_count] rising
 *  @return in the unit of the values; NAN if a side is empty */
double stn_wasserstein(const float *a, size_t a_count, const float *b, size_t b_count);

/** The same after log10 of the values; values below 1 count as 1. */
double stn_wasserstein_log10(const float *a, size_t a_count, const float *b, size_t b_count);

/** Kolmogorov-Smirnov distance: the largest gap between the two distribution functions.
 *  @param a [a_count] rising  @param b [b_count] rising
 *  @return in 0..1; NAN if a side is empty */
double stn_kolmogorov(const float *a, size_t a_count, const float *b, size_t b_count);

/** Quantile @p q (0..1) by linear interpolation between order statistics.
 *  @param value [count] rising  @return 0 if there are no values */
double stn_quantile(const float *value, size_t count, double q);

/** One outcome's part of the Jensen-Shannon divergence (base 2) of two distributions that
 *  give it @p p and @p q; the sum over all outcomes is the divergence, in 0..1. */
double stn_jensen_shannon_part(double p, double q);

/** Fano factor (variance over mean) from @p n counts, their sum and the sum of their squares.
 *  @return NAN for fewer than two counts or a mean of 0 */
double stn_fano(uint64_t n, double sum, double sum_of_squares);

#endif
