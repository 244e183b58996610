/** @file
 *  What happens on one CPU as the denoiser sees it: a sequence of cases, one class per channel.
 *  A case begins at the moment that the CPU's next event hangs on (stn_cpu::trigger_ns). Then
 *  the channels that are only seen are known: what runs there and what came before. Two are
 *  drawn: the type of what comes, or that nothing came until another CPU meddled, and how long
 *  after the moment. Training and generating read the seen channels off the world by the same
 *  function. Pinned by tests/unit/test_synth_diffusion.c. */
#ifndef STN_KERNEL_SYNTH_CHANNELS_H
#define STN_KERNEL_SYNTH_CHANNELS_H

#include "kernel/synth/denoiser.h"
#include "kernel/synth/step.h"
#include "kernel/synth/world.h"

/** Rows of the channel table (channels.c), in the order of prediction. */
typedef enum stn_channel {
    STN_CHANNEL_HANDLER = 0, /**< innermost open handler */
    STN_CHANNEL_HANDLED,     /**< last event of the burst of handlers */
    STN_CHANNEL_OPEN,        /**< innermost entry without its exit of the running thread */
    STN_CHANNEL_COMM,        /**< name of the running thread; which CPU, if it is idle */
    STN_CHANNEL_LAST,        /**< last event of the running thread outside handlers */
    STN_CHANNEL_BEFORE,      /**< the one before it */
    STN_CHANNEL_EARLIER,     /**< and the one before that; repetitions stand once */
    STN_CHANNEL_REPEATED,    /**< how often the last one came in a row */
    STN_CHANNEL_RETURNED,    /**< what the last call of the running thread returned */
    STN_CHANNEL_ON_CPU,      /**< last event of the CPU */
    STN_CHANNEL_WAITING,     /**< who waits here, whether another CPU changed it, and whether the
                                  running thread was woken while it ran */
    STN_CHANNEL_RAISED,      /**< which handlers were raised here and have not begun */
    STN_CHANNEL_OTHER,       /**< name of the thread that runs on the CPU that had an event last
                                  of all others */
    STN_CHANNEL_OTHER_LAST,  /**< last event of that CPU */
    STN_CHANNEL_OTHER_OPEN,  /**< innermost entry without its exit of that thread */
    STN_CHANNEL_OTHER_AGE,   /**< time since that event */
    STN_CHANNEL_LOAD,        /**< events of the last 10 ms or so */
    STN_CHANNEL_LOAD_LONG,   /**< of the last 300 ms: how long a phase has lasted */
    STN_CHANNEL_TYPE,        /**< event type; the class after the last type: nothing came */
    STN_CHANNEL_STEP,        /**< time since the moment: symbols of step.h, the long ones in one */
    STN_CHANNEL_COUNT,
} stn_channel;

enum {
    STN_STEP_CLASSES = 42 * STN_STEP_PER_OCTAVE + 1,
    STN_RAISED_MAX = 63, /**< sets of raised handlers that have a class of their own */
};

/** Which channels a model has, and their classes. */
typedef struct stn_channels {
    uint32_t count;
    uint8_t which[STN_CHANNEL_COUNT];    /**< [count] stn_channel, rising; type and step last */
    uint32_t classes[STN_CHANNEL_COUNT]; /**< [count] */
    uint16_t cpu_count;
    uint16_t *comm_class; /**< [text_count] class of a process name, 0: other */
    uint32_t text_count;
    uint64_t raised[STN_RAISED_MAX]; /**< stn_cpu::raised of each class but 0 */
    uint32_t raised_count;
    uint32_t comm_classes; /**< with "other" and the idle thread of each CPU */
} stn_channels;

/** The channels that @p list names ("event,dt" …, NULL: all), sized for @p vocab.
 *  @return STN_OK; STN_ERANGE (a name that is none, or event and dt missing) */
stn_status stn_channels_init(stn_channels *channels, const char *list, const stn_vocab *vocab,
                             uint16_t cpu_count, stn_err *err) STN_MUST_USE;
void stn_channels_fini(stn_channels *channels);
/** Give the process name @p text a class of its own. @return STN_OK, STN_ENOMEM */
stn_status stn_channels_meet(stn_channels *channels, uint32_t text) STN_MUST_USE;

/** Give a set of raised handlers a class of its own, as long as there are any left. */
void stn_channels_meet_raised(stn_channels *channels, uint64_t raised);

/** Index of the type; the step's is one more. */
static inline uint32_t stn_channels_type(const stn_channels *channels) {
    return channels->count - 2;
}

/** Classes of what is known at this moment of @p cpu.
 *  @param[out] value [count]; type and step are left alone */
void stn_channels_seen(const stn_channels *channels, const stn_world *world, uint16_t cpu,
                       uint16_t *value);
/** Class of a time step. */
uint16_t stn_channels_step(uint64_t step_ns);

void stn_channels_put(const stn_channels *channels, stn_blob *blob);
/** @return STN_OK; STN_EFORMAT, STN_ENOMEM; the caller finishes what was read in any case */
stn_status stn_channels_get(stn_channels *channels, stn_cursor *cursor, const stn_vocab *vocab,
                            uint16_t cpu_count) STN_MUST_USE;

/** Shape of the network for these channels; the other fields are left alone. */
void stn_channels_shape(const stn_channels *channels, stn_denoiser_shape *shape);

#endif
