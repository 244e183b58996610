/* Put before every source by scripts/tidy_one.sh: tells the analyzer, which sees one file
 * at a time, that these return the status they are given. Else it thinks that an error
 * path may go on as if all were well. */
#include <standin/base.h>

#define stn_err_set(err, status, ...)     ((void)(err), (void)printf_like(__VA_ARGS__), (status))
#define stn_err_prepend(err, status, ...) ((void)(err), (void)printf_like(__VA_ARGS__), (status))

int printf_like(const char *format, ...) STN_PRINTF(1, 2);
