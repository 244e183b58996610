/** @file
 *  What a trace format implements. One row per format in format.c; one file per format
 *  and direction (read_ctf.c, write_ctf.c …). docs/add-a-format.md shows how to add one. */
#ifndef STN_KERNEL_TRACE_FORMAT_H
#define STN_KERNEL_TRACE_FORMAT_H

#include <standin/trace.h>

/** First bytes of a file, decompressed, or what is known of a folder. */
typedef struct stn_probe {
    const char *path;
    bool is_folder;
    const char *head; /**< [head_size] first bytes (decompressed), not NUL-terminated */
    size_t head_size; /**< up to 64 KiB */
} stn_probe;

/** A format's reading half. @c self is what open made. */
typedef struct stn_read_ops {
    /** 0: not mine … 100: surely mine. Cheap; reads nothing beyond the probe and, for a folder,
     *  file names below it. */
    int (*probe)(const stn_probe *probe);
    stn_status (*open)(void **self, const char *path, stn_catalog *catalog, stn_trace_meta *meta,
                       stn_err *err);
    /** As stn_reader_next(), unfiltered. Names are canonical (canon.h). Sets in meta what
     *  only reading shows (clock, host, cpu_count may grow). Counting is the caller's. */
    stn_status (*next)(void *self, stn_event *event, stn_err *err);
    void (*close)(void *self);
} stn_read_ops;

/** A format's writing half. */
typedef struct stn_write_ops {
    stn_status (*open)(void **self, const char *path, const stn_catalog *catalog,
                       const stn_trace_meta *meta, const stn_writer_options *options, stn_err *err);
    stn_status (*write)(void *self, const stn_event *event, stn_err *err);
    /** Frees self in either case. What options->written says is then all events that were
     *  written; a format of which that is not true sets it. */
    stn_status (*commit)(void *self, stn_err *err);
    void (*abort)(void *self);
} stn_write_ops;

typedef struct stn_format {
    stn_format_info info;        /**< reads, writes and available are filled from the rest */
    const char *more_extensions; /**< other endings that select it for writing, space-separated */
    const stn_read_ops *read;    /**< NULL: does not read */
    const stn_write_ops *write;  /**< NULL: does not write */
    bool whole;                  /**< is written as it is, never compressed by its name */
    bool (*available)(void);     /**< NULL: always */
} stn_format;

/** The table. */
const stn_format *stn_format_row(uint32_t index);
const stn_format *stn_format_find(const char *name);

extern const stn_read_ops stn_read_ctf, stn_read_trace_dat, stn_read_ftrace, stn_read_perf,
    stn_read_csv;
extern const stn_write_ops stn_write_ctf, stn_write_ftrace, stn_write_json, stn_write_csv,
    stn_write_parquet;
/** Can libduckdb be loaded? */
bool stn_parquet_available(void);

#endif
