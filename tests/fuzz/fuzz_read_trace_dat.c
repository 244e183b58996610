/* What is looked at before libtracecmd gets a trace.dat: heads, sections, options, pages. The
 * library itself is not under test here. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel/trace/read_dat_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/standin-fuzz-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        return 0;
    }
    bool written = write(fd, STN_DAT_MAGIC, STN_DAT_MAGIC_SIZE) == (ssize_t)STN_DAT_MAGIC_SIZE &&
                   write(fd, data, size) == (ssize_t)size;
    close(fd);
    stn_err err = {{0}};
    stn_status status = written ? stn_dat_check(path, &err) : STN_OK;
    unlink(path);
    if (status && !err.text[0]) {
        abort(); /* an error without a message */
    }
    return 0;
}
