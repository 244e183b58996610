/* standin: the program. All it does is in cli.c and the table of commands.c. */
#include <stdlib.h>
#include <unistd.h>

#include "app/cli.h"
#include "app/progress.h"

/* The threads of a network's layers spin while they wait for each other unless the environment
 * said otherwise before the program was loaded: beside other work on the machine that makes
 * training ten times slower, and alone it gains less than a twentieth. */
static void wait_without_spinning(char **argv) {
    static const char *const policy = "OMP_WAIT_POLICY", *const ours = "STANDIN_WAIT_POLICY";
    if (getenv(ours)) { /* said, and no concern of the programs that are started from here */
        unsetenv(ours);
        unsetenv(policy);
    } else if (!getenv(policy) && !getenv("GOMP_SPINCOUNT")) {
        if (setenv(policy, "passive", 1) == 0 && setenv(ours, "1", 1) == 0) {
            execv("/proc/self/exe", argv); /* if that cannot be, they spin */
        }
        unsetenv(ours);
        unsetenv(policy);
    }
}

int main(int argc, char **argv) {
    wait_without_spinning(argv);
    stn_signals_init();
    return stn_cli_main(argc, argv, stdout, stderr);
}
