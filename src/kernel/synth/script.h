/** @file
 *  A plan of a generated trace over time, docs/formats/script.md: from when on which workload, at
 *  which rate. Pinned by tests/unit/test_synth_script.c. */
#ifndef STN_KERNEL_SYNTH_SCRIPT_H
#define STN_KERNEL_SYNTH_SCRIPT_H

#include <standin/synth.h>

enum { STN_SCRIPT_PHASES = 100000, STN_SCRIPT_TEXT = 256 };

/** A row; what is not said in it is as before. */
typedef struct stn_phase {
    uint64_t begin_ns; /**< since the trace's begin */
    uint32_t line;     /**< of the file, for messages */
    bool has_rate;
    stn_rate rate;
    double weight;  /**< of the workload, 1 as learned; 0: not said */
    char *workload; /**< name or mixture; NULL: not said */
} stn_phase;

struct stn_script {
    char *name;        /**< what it is called in messages */
    stn_phase *phases; /**< [count] by rising time */
    size_t count, capacity;
};

#endif
