/* standin: the program. All it does is in cli.c and the table of commands.c. */
#include "app/cli.h"
#include "app/progress.h"

int main(int argc, char **argv) {
    stn_signals_init();
    return stn_cli_main(argc, argv, stdout, stderr);
}
