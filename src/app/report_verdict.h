/** @file
 *  The four questions that a reader of an evaluation has, answered in a sentence each.
 *  Limits: docs/evaluation.md, "Verdict". Pinned by tests/unit/test_report_verdict.c. */
#ifndef STN_APP_REPORT_VERDICT_H
#define STN_APP_REPORT_VERDICT_H

#include <standin/judge.h>

typedef enum stn_verdict_level {
    STN_VERDICT_GOOD = 0,
    STN_VERDICT_FAIR = 1,
    STN_VERDICT_POOR = 2,
} stn_verdict_level;

typedef struct stn_verdict {
    const char *question; /**< "Is it useful?" */
    stn_verdict_level level;
    char text[400];
} stn_verdict;

#define STN_VERDICT_COUNT 4

/** Answer all questions. @return the worst level */
stn_verdict_level stn_verdicts(const stn_evaluation *e, stn_verdict verdicts[STN_VERDICT_COUNT]);
/** The sentence that stands above them. */
const char *stn_verdict_summary(stn_verdict_level worst);
/** "good", "fair", "poor" */
const char *stn_verdict_word(stn_verdict_level level);

#endif
