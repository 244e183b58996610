/** @file
 *  Kernel traces: one event model, readers and writers for every format.
 *
 *  A trace is a time-ordered stream of events. Names (types, fields, processes)
 *  are interned in a ::stn_catalog that outlives every trace, reader and writer
 *  made with it. An event lent by a reader is valid until the next call on that
 *  reader; a ::stn_trace owns deep copies.
 *
 *  Canonical names are those of ftrace ("sys_enter_read", "sched_switch",
 *  "softirq_entry"); whatever a format calls the same thing is kept beside it in
 *  ::stn_type::original. docs/formats/events.md has the table.
 *  Pinned by tests/unit/test_catalog.c, test_trace.c.
 */
#ifndef STANDIN_TRACE_H
#define STANDIN_TRACE_H

#include <standin/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- names and types ------------------------------------------------- */

typedef struct stn_catalog stn_catalog;

/** An event type: a canonical name and the name the source gave it. */
typedef struct stn_type {
    const char *name;     /**< canonical, "sys_enter_read" */
    const char *original; /**< as read, "syscall_entry_read"; equals name if alike */
    uint32_t name_id;     /**< string id of name; equal for all types of one canonical name */
    uint32_t syscall_id;  /**< string id of the system call ("read"), or STN_NO_ID */
    bool syscall_enter;   /**< sys_enter_* */
    bool syscall_exit;    /**< sys_exit_* */
} stn_type;

#define STN_NO_ID     UINT32_MAX
#define STN_TYPE_LOST 0u /**< type 0 of every catalog: "lost_events", see stn_event */

/** Make an empty catalog (holding only type 0). @return STN_OK, STN_ENOMEM */
stn_status stn_catalog_new(stn_catalog **out, stn_err *err) STN_MUST_USE;
void stn_catalog_free(stn_catalog *catalog);

/** Id of a string, interning it if new; STN_NO_ID if out of memory. */
uint32_t stn_catalog_string(stn_catalog *catalog, const char *text, size_t size);
/** Id of a NUL-terminated string, interning it if new; STN_NO_ID if out of memory. */
uint32_t stn_catalog_cstring(stn_catalog *catalog, const char *text);
/** Id of a string that is already there, else STN_NO_ID. */
uint32_t stn_catalog_find(const stn_catalog *catalog, const char *text);
/** Text of a string id; "" for STN_NO_ID. Valid as long as the catalog. */
const char *stn_catalog_text(const stn_catalog *catalog, uint32_t id);
/** How many strings there are; ids are below it. */
uint32_t stn_catalog_string_count(const stn_catalog *catalog);

/** Id of the type (@p name, @p original), added if new; STN_NO_ID if out of memory.
 *  @param original NULL if the same as @p name */
uint32_t stn_catalog_type(stn_catalog *catalog, const char *name, const char *original);
/** @pre type < stn_catalog_type_count(). The pointer is good until the catalog grows. */
const stn_type *stn_catalog_type_at(const stn_catalog *catalog, uint32_t type);
uint32_t stn_catalog_type_count(const stn_catalog *catalog);

/* ---- events ---------------------------------------------------------- */

typedef enum stn_field_kind {
    STN_FIELD_INT = 0,  /**< v.i, signed decimal */
    STN_FIELD_UINT = 1, /**< v.u, unsigned decimal */
    STN_FIELD_HEX = 2,  /**< v.u, written 0x… (flags, addresses) */
    STN_FIELD_REAL = 3, /**< v.f */
    STN_FIELD_STR = 4,  /**< v.s, NUL-terminated UTF-8 */
    STN_FIELD_SEQ = 5,  /**< v.seq, integers */
} stn_field_kind;

/** Items of a sequence or array field. */
typedef struct stn_seq {
    uint32_t count;
    bool is_signed;
    const int64_t *items; /**< [count] */
} stn_seq;

typedef struct stn_field {
    uint32_t name; /**< string id */
    uint32_t kind; /**< stn_field_kind */
    union {
        int64_t i;
        uint64_t u;
        double f;
        const char *s;
        const stn_seq *seq;
    } v;
} stn_field;

#define STN_NO_TID INT32_MIN /**< the thread is not known */
#define STN_NO_CPU UINT16_MAX

/** One event. type STN_TYPE_LOST is not an event of the kernel but a mark: up to
 *  here events were lost, on CPU @c cpu (STN_NO_CPU: any); fields "count" (UINT,
 *  0 if not known) and "begin_ns" (UINT, where the lost stretch begins; it ends
 *  at time_ns). Marks are not counted as events. */
typedef struct stn_event {
    uint64_t time_ns;
    uint32_t type;
    int32_t tid;   /**< running thread, 0 idle, STN_NO_TID */
    uint32_t comm; /**< string id of its name, STN_NO_ID */
    uint16_t cpu;  /**< STN_NO_CPU if not known */
    uint16_t field_count;
    const stn_field *fields; /**< [field_count], canonical names, source order */
} stn_event;

/** The field called @p name (string id) of @p event, or NULL. */
const stn_field *stn_event_field(const stn_event *event, uint32_t name);
/** Integer value of a field (INT, UINT, HEX; a decimal or 0x STR); @p fallback otherwise. */
int64_t stn_field_int(const stn_field *field, int64_t fallback);

/* ---- what is known of a trace beyond its events ---------------------- */

typedef struct stn_trace_meta {
    char format[32]; /**< row of the format table: "ctf", "trace.dat", "ftrace", … */
    char clock[32];  /**< "monotonic", "mono", … or "" */
    char host[64];
    char tracer[64];      /**< "lttng-modules 2.13", … or "" */
    uint64_t epoch_ns;    /**< add to time_ns for nanoseconds since 1970; 0 if not known */
    uint32_t cpu_count;   /**< highest CPU seen or declared, plus one */
    uint64_t event_count; /**< events handed out so far */
    uint64_t lost_count;  /**< events that the tracer says it lost, so far */
    uint64_t lost_marks;  /**< marks handed out so far */
} stn_trace_meta;

/* ---- readers --------------------------------------------------------- */

typedef struct stn_reader stn_reader;

/** Which events pass. Zero is "all". */
typedef struct stn_filter {
    uint64_t begin_ns,
        end_ns;           /**< begin <= time < end, relative to the first event; end 0: no end */
    const uint16_t *cpus; /**< [cpu_count]; owner: caller, for the life of the reader */
    uint32_t cpu_count;
    const int32_t *tids; /**< [tid_count] */
    uint32_t tid_count;
    const char *const *comms; /**< [comm_count] glob patterns (fnmatch) */
    uint32_t comm_count;
    const char *const *events; /**< [event_count] glob patterns on canonical or original names */
    uint32_t event_count;
} stn_filter;

/** Open a trace of any known format for reading.
 *  @param path    file, or folder of a CTF trace (any depth below it)
 *  @param format  name of a format, or NULL to recognise it by content (not of a pipe)
 *  @param filter  NULL for all; borrowed for the life of the reader
 *  @param[out] out  the caller closes it; NULL on error
 *  @return STN_OK; STN_ERANGE (no such format, or a pipe without one), STN_ENOTFOUND, STN_EIO,
 *          STN_EFORMAT, STN_EUNSUPPORTED, STN_ENOMEM */
stn_status stn_reader_open(stn_reader **out, const char *path, const char *format,
                           const stn_filter *filter, stn_catalog *catalog,
                           stn_err *err) STN_MUST_USE;

/** Next event in time order, lent until the next call.
 *  @return STN_OK; STN_END; STN_EFORMAT, STN_EIO, STN_ENOMEM (message says where) */
stn_status stn_reader_next(stn_reader *reader, stn_event *event, stn_err *err) STN_MUST_USE;

/** What is known so far; counts grow while reading. Valid until close. */
const stn_trace_meta *stn_reader_meta(const stn_reader *reader);

/** Legal on NULL. */
void stn_reader_close(stn_reader *reader);

/* ---- writers --------------------------------------------------------- */

typedef struct stn_writer stn_writer;

/** What a writer has written, lost marks apart. */
typedef struct stn_written {
    uint64_t events; /**< that the output tells of */
    /** JSON draws two events as one item where they belong together, and may keep a sample of the
     *  items; 0 for other formats. */
    uint64_t items, items_of;
} stn_written;

typedef struct stn_writer_options {
    uint64_t max_events;  /**< items that the JSON writer keeps, STN_ERANGE for
                               others; 0: all */
    stn_written *written; /**< filled by stn_writer_commit(), borrowed until then; may be NULL */
} stn_writer_options;

/** Begin writing a trace to @p path; nothing is visible there before stn_writer_commit().
 *  @param format   name of a format that writes, or NULL to take it from the path's ending
 *  @param meta     borrowed for the call; may be NULL
 *  @param options  borrowed for the call; NULL for defaults
 *  @return STN_OK; STN_ERANGE (no such format, or none for such a path), STN_EUNSUPPORTED,
 *          STN_EIO, STN_ENOMEM */
stn_status stn_writer_open(stn_writer **out, const char *path, const char *format,
                           const stn_catalog *catalog, const stn_trace_meta *meta,
                           const stn_writer_options *options, stn_err *err) STN_MUST_USE;

/** Add one event (or lost mark). Borrowed for the call.
 *  @return STN_OK; STN_EFORMAT (it comes before the one written last, or later than the format
 *          can say), STN_EIO, STN_ENOMEM */
stn_status stn_writer_write(stn_writer *writer, const stn_event *event, stn_err *err) STN_MUST_USE;

/** Make the output visible under its name and close. On error nothing is left behind.
 *  The writer is freed in either case. */
stn_status stn_writer_commit(stn_writer *writer, stn_err *err) STN_MUST_USE;

/** Drop everything written and close. Legal on NULL. */
void stn_writer_abort(stn_writer *writer);

/* ---- formats --------------------------------------------------------- */

typedef struct stn_format_info {
    const char *name;      /**< "ctf" */
    const char *summary;   /**< one line */
    const char *extension; /**< ".dat"; "/" for a folder */
    bool reads, writes;
    bool available; /**< false if a needed library is not there at run time */
} stn_format_info;

uint32_t stn_format_count(void);
/** @pre index < stn_format_count() */
stn_format_info stn_format_at(uint32_t index);

/* ---- traces in memory ------------------------------------------------ */

/** A whole trace in memory; owns deep copies. Zero-initialise, then use. */
typedef struct stn_trace {
    stn_catalog *catalog; /**< borrowed */
    stn_event *events;    /**< [count]; events and marks in time order */
    size_t count;
    size_t capacity;
    stn_trace_meta meta;
    void *arena; /**< fields, strings and sequences of the events */
} stn_trace;

void stn_trace_init(stn_trace *trace, stn_catalog *catalog);
void stn_trace_fini(stn_trace *trace);
/** Append a deep copy of @p event. @return STN_OK, STN_ENOMEM (trace unchanged) */
stn_status stn_trace_append(stn_trace *trace, const stn_event *event, stn_err *err) STN_MUST_USE;
/** Read all that @p path holds. On error the trace is empty.
 *  @param progress may be NULL; done is events, total 0 */
stn_status stn_trace_load(stn_trace *trace, const char *path, const stn_filter *filter,
                          stn_catalog *catalog, stn_progress_fn progress, void *user,
                          stn_err *err) STN_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
