/* Writing a whole trace from memory. */
#include "app/outputs.h"

#include "app/inputs.h"
#include "app/progress.h"

stn_status stn_outputs_write(const char *path, const char *format, const stn_trace *trace,
                             const stn_trace_meta *meta, stn_err *err) {
    stn_writer *writer = NULL;
    stn_status status = stn_writer_open(&writer, path, format, trace->catalog, meta, NULL, err);
    for (size_t i = 0; status == STN_OK && i < trace->count; i++) {
        status = stn_writer_write(writer, &trace->events[i], err);
        if (status == STN_OK && i % 4096 == 0 && stn_signals_came()) {
            status = stn_err_set(err, STN_EINTR, "interrupted");
        }
    }
    if (status != STN_OK) {
        stn_writer_abort(writer);
        return status;
    }
    return stn_writer_commit(writer, err);
}

stn_status stn_outputs_try(const char *path, const char *format, stn_catalog *catalog,
                           stn_err *err) {
    if (stn_is_stdout(path)) {
        return STN_OK;
    }
    stn_writer *writer = NULL;
    stn_trace_meta meta = {0};
    stn_status status = stn_writer_open(&writer, path, format, catalog, &meta, NULL, err);
    if (status == STN_OK) {
        stn_writer_abort(writer);
    }
    return status;
}
