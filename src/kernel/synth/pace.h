/** @file
 *  How fast a generated trace runs. Asked for a rate, the times that the model draws are
 *  shortened or stretched until the rate of the trace is the one asked for:
 *
 *      waiting  on an idle CPU, until something comes: first, at most STN_PACE_WAITS-fold
 *      service  all other times: only when waiting alone does not do
 *      timers   come when they are due, and are never touched
 *
 *  What a change of the times is worth depends on what comes, so it is found by control: the rate
 * of late and the events ahead or behind say how much is added for now to the speed of everything,
 * and what lasts goes into the long run, waiting first. Pinned by tests/unit/test_synth_pace.c. */
#ifndef STN_KERNEL_SYNTH_PACE_H
#define STN_KERNEL_SYNTH_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define STN_PACE_WAITS 8.0  /**< most that waiting is shortened or stretched before service is */
#define STN_RATE_MOST  1e12 /**< events a second, or times */
#define STN_PACE_MOST  64.0 /**< most that anything is */

/** Zero-initialised: as the model has it. */
typedef struct stn_pace {
    double target;                  /**< events a second; 0: as the model has it */
    double span_s;                  /**< how long that is to last; 0: not known */
    double factor;                  /**< target by the learned rate */
    double push;                    /**< log of the speed of waiting in the long run */
    double fast;                    /**< log of what is added for now to the speed of everything */
    double recent_s, recent_events; /**< time gone of late and events in it, fading */
    uint64_t mark_ns;               /**< when it was looked at last, */
    uint64_t window;                /**< … and events since */
    double wait, work;    /**< speeds of waiting and service; 1: as drawn, 2: in half the time */
    uint64_t begin_ns;    /**< when the target was set */
    uint64_t events;      /**< since then */
    double spent_s[2][2]; /**< [service, waiting][of the model, of the trace] altogether */
} stn_pace;

/** From @p now_ns on the trace is to have @p target events a second (0: as the model has it), where
 *  the model by itself has @p learned. */
void stn_pace_set(stn_pace *pace, double target, double learned, uint64_t now_ns);
/** A CPU spent so long, of the trace's time, waiting or not, at a speed that it began with. */
void stn_pace_spent(stn_pace *pace, bool waits, double speed, uint64_t trace_ns);
/** An event came. */
void stn_pace_event(stn_pace *pace, uint64_t now_ns);
/** How much faster than drawn a time runs now. @param waits  of an idle CPU */
double stn_pace_speed(const stn_pace *pace, bool waits);

/** The same for a wait that would take @p model_ns: it is not stretched beyond the time at which
 * the trace would have fallen behind, and of a span of up to 20 ms takes a tenth of the rest at
 * most, where one wait may else be longer than all of it. */
double stn_pace_limit(const stn_pace *pace, double speed, uint64_t model_ns, uint64_t now_ns);

/** How much faster than drawn times ran altogether; 1 if there were none. */
double stn_pace_mean(const stn_pace *pace, bool waits);

/** @p model_ns in the trace's time, and back. */
static inline uint64_t stn_pace_trace(double speed, uint64_t model_ns) {
    return speed == 1 ? model_ns : (uint64_t)((double)model_ns / speed);
}
static inline uint64_t stn_pace_model(double speed, uint64_t trace_ns) {
    return speed == 1 ? trace_ns : (uint64_t)((double)trace_ns * speed);
}

#endif
