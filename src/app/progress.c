/* The progress line on a terminal, and Ctrl-C. */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/progress.h"
#include "app/value.h"

static volatile sig_atomic_t signal_came;
static volatile long signal_ms; /* when; written before the second one is looked at */

/* Some senders send twice at once (timeout(1): to the process, then to its group): only a
 * second signal that comes later is a second wish. Then the default action ends the program. */
static void on_signal(int number) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long ms = (long)(now.tv_sec % 1000000) * 1000 + now.tv_nsec / 1000000;
    if (!signal_came) {
        signal_came = number;
        signal_ms = ms;
    } else if (ms - signal_ms > 200 || ms < signal_ms) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void stn_signals_init(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    /* No SA_RESTART: a blocking wait returns and sees the flag. */
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < 3; i++) {
        sigaddset(&action.sa_mask, numbers[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        struct sigaction before;
        /* Who started us with a signal ignored (nohup) wants it ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(numbers[i], &action, NULL);
        }
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

int stn_signals_came(void) {
    return signal_came;
}

uint64_t stn_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void stn_progress_begin(stn_progress *progress, FILE *notes, bool quiet, const char *what,
                        const char *unit) {
    memset(progress, 0, sizeof *progress);
    progress->what = what;
    progress->unit = unit;
    progress->begin_ns = progress->drawn_ns = stn_now_ns();
    if (!quiet && notes && isatty(fileno(notes))) {
        progress->terminal = notes;
    }
}

void stn_progress_line(const stn_progress *progress, uint64_t done, uint64_t total, uint64_t now_ns,
                       char *buffer, size_t size) {
    double seconds = (double)(now_ns - progress->begin_ns) / 1e9;
    double rate = seconds > 0 ? (double)done / seconds : 0;
    char count[32];
    char speed[32];
    int at = snprintf(buffer, size, "%s: %s %s, %s/s", progress->what,
                      stn_value_short((double)done, count), progress->unit,
                      stn_value_short(rate, speed));
    if (at > 0 && (size_t)at < size && total > done && rate > 0) {
        double left = (double)(total - done) / rate;
        snprintf(buffer + at, size - (size_t)at, ", %.0f %%, %.0f s left",
                 100.0 * (double)done / (double)total, left);
    }
}

bool stn_progress_tick(void *user, uint64_t done, uint64_t total) {
    stn_progress *progress = user;
    if (signal_came) {
        return false;
    }
    if (!progress->terminal) {
        return true;
    }
    uint64_t now = stn_now_ns();
    if (now - progress->drawn_ns < 100000000u) {
        return true;
    }
    progress->drawn_ns = now;
    char line[160];
    stn_progress_line(progress, done, total, now, line, sizeof line);
    fprintf(progress->terminal, "\r\033[K%.*s", 79, line);
    fflush(progress->terminal);
    progress->shown = true;
    return true;
}

void stn_progress_end(stn_progress *progress) {
    if (progress->shown) {
        fputs("\r\033[K", progress->terminal);
        fflush(progress->terminal);
        progress->shown = false;
    }
}
