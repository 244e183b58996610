/* Writing a whole trace from memory. */
#include "app/outputs.h"

#include <sys/stat.h>

#include "app/inputs.h"
#include "app/progress.h"
#include "core/data/outfile.h"

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

/* What cannot be opened and closed without a trace: a pipe's reader would see its end. */
static bool is_stream(const char *path) {
    struct stat stat_of;
    return stn_is_stdout(path) || (stat(path, &stat_of) == 0 && S_ISFIFO(stat_of.st_mode));
}

stn_status stn_outputs_plain(const char *path, const char *what, stn_err *err) {
    if (stn_is_stdout(path)) {
        return stn_err_set(err, STN_ERANGE, "-o: %s needs a file, not standard output", what);
    }
    return stn_outfile_packs(path)
               ? stn_err_set(err, STN_ERANGE,
                             "-o %s: %s is not compressed; expected a name without .zst or .gz",
                             path, what)
               : STN_OK;
}

stn_status stn_outputs_try_file(const char *path, stn_err *err) {
    if (is_stream(path)) {
        return STN_OK;
    }
    stn_outfile *file = NULL;
    stn_status status = stn_outfile_open(&file, path, err);
    stn_outfile_abort(file);
    return status == STN_OK ? status : stn_err_prepend(err, status, "%s", path);
}

stn_status stn_outputs_try(const char *path, const char *format, stn_catalog *catalog,
                           stn_err *err) {
    if (is_stream(path)) {
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
