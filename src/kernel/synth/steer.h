/** @file
 *  Which workload a network is to be like: one, a mixture of several by share
 * ("fio:0.7+redis:0.3"), or none in particular. Pinned by tests/unit/test_synth_script.c. */
#ifndef STN_KERNEL_SYNTH_STEER_H
#define STN_KERNEL_SYNTH_STEER_H

#include <standin/base.h>

enum { STN_MIX_MAX = 4 /**< workloads of a mixture */ };

typedef struct stn_steer {
    uint32_t count;              /**< 1 … STN_MIX_MAX */
    uint32_t label[STN_MIX_MAX]; /**< [count] or, alone, the number of labels: none */
    float share[STN_MIX_MAX];    /**< [count] sum 1 */
    float weight;                /**< against no label; 1: as learned */
} stn_steer;

/** From words. @param labels  [label_count] names  @param text  NULL: the only label, or none
 *  @return STN_OK; STN_ERANGE (a name that is none, no mixture) */
stn_status stn_steer_read(stn_steer *steer, char *const *labels, uint32_t label_count,
                          const char *text, double weight, stn_err *err) STN_MUST_USE;

#endif
