/** @file
 *  The figures of an evaluation, one row each: the terminal table and the page are
 *  projections of this table. */
#ifndef STN_APP_REPORT_ROWS_H
#define STN_APP_REPORT_ROWS_H

#include <standin/judge.h>

/** How a figure is written. */
typedef enum stn_row_form {
    STN_ROW_PLAIN,   /**< 0.0123 */
    STN_ROW_PERCENT, /**< of a value in 0..1 */
    STN_ROW_COUNT,   /**< 75,413 */
} stn_row_form;

/** One figure. Columns that a row does not have are NULL. */
typedef struct stn_report_row {
    const char *section; /**< equal for neighbouring rows of one section */
    const char *label;
    stn_row_form form;
    double (*synthetic)(const stn_evaluation *e);
    double (*real)(const stn_evaluation *e);      /**< held-out real */
    double (*yardstick)(const stn_evaluation *e); /**< the training runs, or the distance between
                                                       them and the held-out ones */
    const char *note;                             /**< what it is and what is good */
} stn_report_row;

/** All rows. @param[out] count how many */
const stn_report_row *stn_report_rows(size_t *count);

/** Write the value of @p column for @p e; "n/a" for NAN, "" for a NULL column.
 *  @return @p buffer */
const char *stn_report_cell(const stn_report_row *row, double (*column)(const stn_evaluation *),
                            const stn_evaluation *e, char *buffer, size_t size);

/** @p value with commas between the thousands. @return @p buffer */
const char *stn_report_thousands(double value, char *buffer, size_t size);

#endif
