/* The table of trace formats: a row per format, nothing else. */
#include "kernel/trace/format.h"

#include <string.h>

static const stn_format rows[] = {
    {
        .info = {.name = "ctf",
                 .summary = "Common Trace Format 1.8 (LTTng, perf)",
                 .extension = "/"},
        .more_extensions = ".ctf",
        .read = &stn_read_ctf,
        .write = &stn_write_ctf,
        .whole = true,
    },
    {
        .info = {.name = "trace.dat",
                 .summary = "trace-cmd file, version 6 or 7",
                 .extension = ".dat"},
        .read = &stn_read_trace_dat,
    },
    {
        .info = {.name = "ftrace",
                 .summary = "ftrace and trace-cmd report text",
                 .extension = ".txt"},
        .more_extensions = ".ftrace .systrace",
        .read = &stn_read_ftrace,
        .write = &stn_write_ftrace,
    },
    {
        .info = {.name = "perf", .summary = "perf script text", .extension = ".perf"},
        .read = &stn_read_perf,
    },
    {
        .info = {.name = "csv",
                 .summary = "comma-separated values with a header (ours, Trace Compass)",
                 .extension = ".csv"},
        .read = &stn_read_csv,
        .write = &stn_write_csv,
    },
    {
        .info = {.name = "json",
                 .summary = "Chrome trace JSON (Perfetto, chrome://tracing)",
                 .extension = ".json"},
        .write = &stn_write_json,
    },
    {
        .info = {.name = "parquet",
                 .summary = "Apache Parquet through DuckDB",
                 .extension = ".parquet"},
        .write = &stn_write_parquet,
        .whole = true,
        .available = stn_parquet_available,
    },
};

#define ROW_COUNT (sizeof rows / sizeof *rows)

uint32_t stn_format_count(void) {
    return ROW_COUNT;
}

const stn_format *stn_format_row(uint32_t index) {
    return &rows[index];
}

const stn_format *stn_format_find(const char *name) {
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].info.name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

stn_format_info stn_format_at(uint32_t index) {
    stn_format_info info = rows[index].info;
    info.reads = rows[index].read != NULL;
    info.writes = rows[index].write != NULL;
    info.available = !rows[index].available || rows[index].available();
    return info;
}
