/* One JSON object on standard output. */
#include <math.h>

#include "app/emit.h"

stn_status stn_emit_json(FILE *out, json_t *object, stn_err *err) {
    if (!object) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    int failed = json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(object);
    fputc('\n', out);
    return failed ? stn_err_set(err, STN_EIO, "standard output: the JSON could not be written")
                  : STN_OK;
}

json_t *stn_emit_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}
