#include "kernel/synth/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <standin/synth.h>

/* Events, or the time that so many should take, after which the speeds are looked at anew. */
enum { WINDOW = 128 };
static const double gain = 0.15, fast_most = 1.4, fading = 0.9;
/* Of what was added for now, each window: what lasts goes into the long run. */
static const double settling = 0.05;
/* Events ahead or behind are made up for until the end, or over this share of the time gone. */
static const double horizon_share = 0.3, horizon_last = 0.05, horizon_least_s = 0.02;
/* … which is no more than this share of a known span. */
static const double horizon_most = 0.25;
/* A span so short has no time to make up for a wait: none is longer than this share of the rest. */
static const double short_span_s = 0.02, short_wait = 0.1;
static const double slack_share = 0.02; /* of the whole, that a stretched wait may end late */

static double clamp(double value, double most) {
    return value > most ? most : value < -most ? -most : value;
}

static double work_of(double push) {
    return exp(push - clamp(push, log(STN_PACE_WAITS)));
}

static void set_speeds(stn_pace *pace) {
    pace->wait = exp(pace->push + pace->fast);
    pace->work = work_of(pace->push) * exp(pace->fast);
}

void stn_pace_set(stn_pace *pace, double target, double learned, uint64_t now_ns) {
    double before = pace->target > 0 ? pace->factor : 1;
    if (target <= 0) {
        *pace = (stn_pace){0};
        return;
    }
    pace->target = target;
    pace->begin_ns = pace->mark_ns = now_ns;
    pace->events = pace->window = 0;
    pace->span_s = pace->recent_s = pace->recent_events = pace->fast = 0;
    pace->factor = learned > 0 ? target / learned : 1;
    pace->push = clamp(pace->push + log(pace->factor / before), log(STN_PACE_MOST));
    set_speeds(pace);
}

void stn_pace_spent(stn_pace *pace, bool waits, double speed, uint64_t trace_ns) {
    double trace_s = (double)trace_ns * 1e-9;
    pace->spent_s[waits][0] += trace_s * speed;
    pace->spent_s[waits][1] += trace_s;
}

/* The rate at which the trace comes out right in the end. */
static double wanted(const stn_pace *pace, double past_s) {
    double behind = pace->target * past_s - (double)pace->events;
    double horizon_s = pace->span_s > 0 ? fmax(pace->span_s - past_s, pace->span_s * horizon_last)
                                        : past_s * horizon_share;
    double least_s =
        pace->span_s > 0 ? fmin(horizon_least_s, pace->span_s * horizon_most) : horizon_least_s;
    double want = pace->target + behind / fmax(horizon_s, least_s);
    return fmin(fmax(want, pace->target / 3), pace->target * 3);
}

void stn_pace_event(stn_pace *pace, uint64_t now_ns) {
    if (pace->target <= 0) {
        return;
    }
    pace->events++;
    double window_s = (double)(now_ns - pace->mark_ns) * 1e-9;
    /* a short stretch is looked at more often */
    double least = pace->span_s > 0 ? fmax(pace->span_s * pace->target / 32, 8) : WINDOW;
    least = fmin(least, WINDOW);
    if (((double)++pace->window < least && window_s < least / pace->target) || window_s <= 0) {
        return;
    }
    double past_s = (double)(now_ns - pace->begin_ns) * 1e-9;
    pace->recent_s += window_s;
    pace->recent_events += pace->window;
    pace->mark_ns = now_ns;
    pace->window = 0;
    double off = log(wanted(pace, past_s) * pace->recent_s / pace->recent_events);
    pace->recent_s *= fading;
    pace->recent_events *= fading;
    pace->fast = clamp(pace->fast + gain * clamp(off, 1), fast_most);
    pace->push = clamp(pace->push + settling * pace->fast, log(STN_PACE_MOST));
    pace->fast -= settling * pace->fast;
    set_speeds(pace);
}

/* The speed at which a wait of @p model_ns leaves the rest of a short span awake. */
static double wake_early(const stn_pace *pace, double speed, uint64_t model_ns, uint64_t now_ns) {
    if (pace->span_s <= 0 || pace->span_s > short_span_s) {
        return speed;
    }
    double left_ns = pace->span_s * 1e9 - (double)(now_ns - pace->begin_ns);
    return fmax(speed, (double)model_ns / fmax(left_ns * short_wait, 1));
}

double stn_pace_limit(const stn_pace *pace, double speed, uint64_t model_ns, uint64_t now_ns) {
    if (pace->target <= 0) {
        return speed;
    }
    speed = wake_early(pace, speed, model_ns, now_ns);
    if (speed >= 1) {
        return speed;
    }
    double plan_s = (double)pace->events / pace->target + pace->span_s * slack_share;
    double room_ns = plan_s * 1e9 - (double)(now_ns - pace->begin_ns), most_ns = (double)model_ns;
    if (most_ns / speed <= room_ns || most_ns <= 0) {
        return speed;
    }
    return room_ns > most_ns ? most_ns / room_ns : 1;
}

double stn_pace_mean(const stn_pace *pace, bool waits) {
    const double *spent_s = pace->spent_s[waits];
    return pace->target > 0 && spent_s[1] > 0 ? spent_s[0] / spent_s[1] : 1;
}

double stn_pace_speed(const stn_pace *pace, bool waits) {
    return pace->target <= 0 ? 1 : waits ? pace->wait : pace->work;
}

/* ---- words ------------------------------------------------------------------------ */

stn_status stn_rate_parse(const char *text, stn_rate *out, stn_err *err) {
    size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    double value = digits > 0 && digits < 30 ? strtod(text, &end) : 0;
    const char *unit = text + digits;
    double factor = strcmp(unit, "k") == 0 || strcmp(unit, "K") == 0 ? 1e3
                    : strcmp(unit, "M") == 0                         ? 1e6
                    : *unit == '\0' || strcmp(unit, "x") == 0        ? 1
                                                                     : 0;
    if (end != unit || value * factor <= 0 || value * factor > STN_RATE_MOST) {
        return stn_err_set(err, STN_ERANGE,
                           "\"%s\" is no rate; expected a multiple of the learned one like 2x or "
                           "0.5x, or events a second like 800, 20k or 1.5M",
                           text);
    }
    *out = (stn_rate){.value = value * factor, .times = *unit == 'x'};
    return STN_OK;
}
