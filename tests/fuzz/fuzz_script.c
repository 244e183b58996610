/* Text of any kind as a plan over time: refused with its name, or phases in rising time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/synth/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_script: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    stn_script *script;
    stn_err err = {0};
    if (stn_script_parse(&script, (const char *)data, size, "plan", &err) != STN_OK) {
        want(strncmp(err.text, "plan: ", 6) == 0 && !script, "refused without saying where");
        return 0;
    }
    want(script->count > 0, "no phase");
    for (size_t i = 1; i < script->count; i++) {
        want(script->phases[i].begin_ns > script->phases[i - 1].begin_ns, "times do not rise");
        want(script->phases[i].line > script->phases[i - 1].line, "lines do not rise");
    }
    stn_script_free(script);
    return 0;
}
