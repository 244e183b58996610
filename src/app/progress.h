/** @file
 *  The progress line on a terminal, and Ctrl-C. Long work calls stn_progress_tick() now and
 *  then; it redraws the line at most ten times a second and says whether to go on.
 *  Pinned by tests/unit/test_progress.c, tests/e2e/signals.bats. */
#ifndef STN_APP_PROGRESS_H
#define STN_APP_PROGRESS_H

#include <stdio.h>

#include <standin/base.h>

typedef struct stn_progress {
    FILE *terminal;    /**< NULL: no line is drawn */
    const char *what;  /**< "reading a.dat" */
    const char *unit;  /**< "events" */
    uint64_t begin_ns; /**< when the work began */
    uint64_t drawn_ns; /**< when the line was drawn last */
    bool shown;        /**< something stands in the line */
} stn_progress;

/** Begin a piece of work; draws on @p notes only if that is a terminal and @p quiet is off. */
void stn_progress_begin(stn_progress *progress, FILE *notes, bool quiet, const char *what,
                        const char *unit);
/** An stn_progress_fn; @p user is an stn_progress. @return false once Ctrl-C was pressed */
bool stn_progress_tick(void *user, uint64_t done, uint64_t total);
/** Wipe the line. */
void stn_progress_end(stn_progress *progress);

/** "1.20 M events, 850 k/s, 12 s left" into @p buffer. */
void stn_progress_line(const stn_progress *progress, uint64_t done, uint64_t total, uint64_t now_ns,
                       char *buffer, size_t size);

/** From now on the first SIGINT, SIGTERM or SIGHUP sets a flag and a later one kills;
 *  SIGPIPE is an ordinary write error. */
void stn_signals_init(void);
/** The signal that came, 0 if none. */
int stn_signals_came(void);
/** Monotonic time. */
uint64_t stn_now_ns(void);

#endif
