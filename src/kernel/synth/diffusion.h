/** @file
 *  The kind "diffusion": what happens on a CPU is a sequence of cases (channels.h), drawn block
 *  after block by masked diffusion. All cases of a block begin masked; they are revealed from the
 *  left, because what the rules and the other CPUs do in between decides what is known of the
 *  next. The network is looked at anew when what has been revealed since the last look is worth
 *  more than a bound of nats, so predictable cases come several to a look.
 *
 *  The Markov tables of the same runs are kept as well: they draw every other case, by chance, so
 *  that the network does not follow its own errors for long; they say which types training met at
 *  a place, so it never draws what cannot be; and they propose when the rules refuse its proposals.
 * Pinned by tests/unit/test_synth_diffusion.c. */
#ifndef STN_KERNEL_SYNTH_DIFFUSION_H
#define STN_KERNEL_SYNTH_DIFFUSION_H

#include "kernel/synth/channels.h"
#include "kernel/synth/denoise.h"
#include "kernel/synth/markov.h"
#include "kernel/synth/steer.h"

enum {
    STN_DIFFUSION_BLOCK = 4,
    STN_DIFFUSION_CONTEXT = 512, /**< by default */
    STN_STEP_WORDS = (STN_STEP_CLASSES + 63) / 64,
};

/** What the model keeps. */
typedef struct stn_diffusion {
    stn_markov markov;
    stn_channels channels;
    stn_denoiser net;
    uint32_t context; /**< cases of a CPU that it was trained to look back */
    uint32_t label_count;
    char **labels;       /**< [label_count] workloads by name */
    double *rates;       /**< [label_count] events a second of their training runs */
    uint64_t *met_steps; /**< [type_count + 1][STN_STEP_WORDS] bit set of step classes that
                              training met with the type */
} stn_diffusion;

/** The running side of one CPU: a past of whole blocks, and the block at hand. */
typedef struct stn_past {
    const stn_diffusion *d;
    stn_denoise *denoise;
    uint32_t mixed;  /**< streams with a label */
    bool free;       /**< one more stream without */
    stn_steer steer; /**< of at most so many labels */
    uint32_t at;     /**< cases of the block that are known */
    bool looked;     /**< what the last look said still holds */
    double worth;    /**< nats revealed since that look */
    uint16_t value[STN_CHANNEL_COUNT][STN_DIFFUSION_BLOCK];
    bool masked[STN_DIFFUSION_BLOCK];
    float *logits; /**< [widest channel] mixed of all streams */
    float *chance; /**< [mixed + 1][widest channel] of the types by each label; their sum */
    uint32_t widest;
} stn_past;

/** Begin with an empty past. @param first  a past of the same run, whose weights are shared, and
 *  which outlives this one; NULL: none
 *  @param mixed  most labels that will be mixed  @param free  labels will be weighed
 *  @return STN_OK, STN_ENOMEM; stn_past_fini() in any case */
stn_status stn_past_init(stn_past *past, const stn_diffusion *d, const stn_past *first,
                         const stn_steer *steer, uint32_t mixed, bool free,
                         stn_err *err) STN_MUST_USE;
/** From now on like other workloads. */
void stn_past_steer(stn_past *past, const stn_steer *steer);
void stn_past_fini(stn_past *past);
/** Logits of channel @p c of the case at hand, given those before it; lent until the next call. */
const float *stn_past_logits(stn_past *past, uint32_t c, const uint16_t *given);
/** Set to 0 what is less than a hundredth of the largest of @p p [count]. */
void stn_past_cut(float *p, uint32_t count);
/** The case at hand came out as @p value [channels]. @param surprise  -log p of its type */
void stn_past_settle(stn_past *past, const uint16_t *value, double surprise);

/** Learn; see stn_generator_kind::train. */
stn_status stn_diffusion_train(stn_model *model, stn_runs *runs, const stn_train_options *options,
                               stn_train_stats *stats, stn_err *err) STN_MUST_USE;
void stn_diffusion_put(const stn_model *model, stn_blob *blob);
stn_status stn_diffusion_get(stn_model *model, stn_cursor *cursor);
void stn_diffusion_free(stn_model *model);

#endif
