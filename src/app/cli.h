/** @file
 *  The command line: finds the command, parses its options, runs it, maps its status to an
 *  exit code. The only caller of exit codes. Pinned by tests/e2e/cli.bats. */
#ifndef STN_APP_CLI_H
#define STN_APP_CLI_H

#include "app/command.h"

/** Exit codes; documented in standin(1). */
enum {
    STN_EXIT_DONE = 0,
    STN_EXIT_FAILED = 1,
    STN_EXIT_USAGE = 2,
    STN_EXIT_CHECK = 3,
    STN_EXIT_INTERRUPTED = 130,
};

/** Run @p argv as the program would. @return its exit code */
int stn_cli_main(int argc, char *const *argv, FILE *out, FILE *notes);

#endif
