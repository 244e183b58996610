/** @file
 *  The latency database: how long each distinct operation takes, on which hardware, under which
 *  engine, at which request, and who says so. One SQLite file, or a PostgreSQL server that a team
 *  shares; one schema for both (docs/formats/latency-database.md).
 *
 *  What is stored: a *series* is one operation signature on one hardware under one engine; a *row*
 *  is one request point of a series with its time and its source. Hardware, engines, signatures,
 *  sources and series are known by a stable 64-bit fingerprint of what they are, the same on every
 *  machine and in every database; a row by its series and its point. Rows are read series by
 *  series, so those of two kinds of hardware are never mixed.
 *
 *  Texts: UTF-8 without control characters, at most ::STN_LAT_TEXT_MAX bytes; NULL is "" and means
 *  "not known" or "does not apply". Numbers that are not known are 0. What is handed in is borrowed
 *  for the call.
 *
 *  Statuses of all functions that take a database: STN_OK; STN_EIO (the database refused, is away,
 *  or stayed locked by another writer for a minute); STN_EFORMAT (damaged); STN_ENOMEM; and those
 *  that each names. A failed call inside a transaction leaves the transaction to be rolled back.
 *  A handle belongs to one thread at a time. Pinned by tests/unit/test_latdb*.c. */
#ifndef STANDIN_LATDB_H
#define STANDIN_LATDB_H

#include <standin/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STN_LAT_AXES_MAX 6    /**< dimensions of a request point */
#define STN_LAT_TEXT_MAX 4000 /**< bytes of one text */
/** No single operation takes an hour: such a time has another unit than it says. */
#define STN_LAT_TIME_MAX_NS 3.6e12

/** A fingerprint. Written as 16 hexadecimal digits. Never 0. */
typedef uint64_t stn_lat_id;

/** A CPU or a GPU. Up to @c memory_bytes the members are its identity: the fingerprint is made of
 *  them. The rest is what was seen when it was stored first; it may differ from day to day. */
typedef struct stn_lat_hardware {
    stn_lat_id id;         /**< given back; ignored when stored */
    const char *kind;      /**< "cpu" or "gpu" */
    const char *vendor;    /**< "AuthenticAMD", "NVIDIA" */
    const char *name;      /**< "AMD EPYC", "H100 SXM"; never "" */
    const char *revision;  /**< CPU: "family/model/stepping"; GPU: what tells variants apart */
    const char *isa;       /**< what fast kernels ask for: "avx2 fma f16c", "sm_90" */
    uint64_t sockets;      /**< packages of a CPU, dies of a GPU */
    uint64_t cores;        /**< physical cores in all, multiprocessors of a GPU */
    uint64_t threads;      /**< hardware threads that are online, in all */
    uint64_t clock_max_hz; /**< highest clock that it may reach */
    uint64_t l1d_bytes;    /**< data cache of one core */
    uint64_t l2_bytes;     /**< one second-level cache */
    uint64_t l3_bytes;     /**< one third-level cache */
    uint64_t memory_bytes; /**< memory built in */

    uint64_t clock_hz;           /**< clock as it was seen */
    uint64_t memory_bytes_per_s; /**< memory bandwidth by its data sheet */
    const char *driver;          /**< "Linux 6.1.0-18", "CUDA 12.8" */
} stn_lat_hardware;

/** What ran the operation. All of it is the identity. */
typedef struct stn_lat_engine {
    stn_lat_id id;             /**< given back; ignored when stored */
    const char *name;          /**< "llama.cpp", "vllm"; never "" */
    const char *version;       /**< "0.19.0" */
    const char *backend;       /**< "CPU", "CUDA", "FLASH_ATTN" */
    const char *kernel_source; /**< library or file of the kernels: "ggml-cpu-haswell", "cutlass" */
    const char *settings;      /**< what changes its speed, in the form of stn_lat_dims():
                                    "cuda_graph=1,threads=2" */
} stn_lat_engine;

/** One distinct operation, as the model determines it. All of it is the identity. */
typedef struct stn_lat_signature {
    stn_lat_id id;      /**< given back; ignored when stored */
    const char *kind;   /**< canonical kind: "gemm", "attention", "moe", "norm"; never "" */
    const char *dtypes; /**< of the operands, then of the result: "q8_0,f32,f32" */
    const char *dims;   /**< dimensions that the model gives, in the form of stn_lat_dims():
                             "k=4096,n=14336" */
    const char *layout; /**< strides or order where they matter: "nt", "paged16" */
    const char *axes;   /**< names of the request's dimensions in the order of a point, commas
                             between: "tokens", "seqs,kv"; at most ::STN_LAT_AXES_MAX, "" for none */
} stn_lat_signature;

/** Where rows come from. All of it is the identity. */
typedef struct stn_lat_source {
    stn_lat_id id;      /**< given back; ignored when stored */
    const char *kind;   /**< "measured" (on the hardware of its rows) or "imported" */
    const char *format; /**< what was read: "vidur", "aiconfigurator"; "" if measured */
    const char *file;   /**< path as it was given; "" if measured */
    const char *tool;   /**< who measured it: "standin 0.1.0", "vllm 0.19.0" */
} stn_lat_source;

/** Time of one request point of a series. Times are nanoseconds of one execution of the operation;
 *  NAN is "not known", but one of mean and median must be known. */
typedef struct stn_lat_row {
    stn_lat_id series;               /**< from stn_latdb_series_put() */
    int64_t point[STN_LAT_AXES_MAX]; /**< [axes] by the signature's axes, not negative; rest 0 */
    double mean_ns, median_ns;       /**< above 0, below ::STN_LAT_TIME_MAX_NS */
    double min_ns, max_ns;           /**< min <= median, mean <= max */
    double std_ns;                   /**< standard deviation of one execution, not negative */
    uint64_t count;                  /**< executions behind these figures; 0: not known */
    stn_lat_id source;               /**< from stn_latdb_source_put() */
    uint64_t line;                   /**< of the source's file, from 1; 0: none */
    uint64_t time_s;                 /**< when it was measured, seconds since 1970; 0: not known */
} stn_lat_row;

/** A series and how many rows it has. Texts are lent for the call. */
typedef struct stn_lat_series {
    stn_lat_id id;
    const stn_lat_hardware *hardware;
    const stn_lat_engine *engine;
    const stn_lat_signature *signature;
    uint64_t rows;
} stn_lat_series;

/** Which series are wanted; 0 is "any". */
typedef struct stn_lat_filter {
    stn_lat_id hardware, engine, signature;
} stn_lat_filter;

/* ---- fingerprints and canonical forms ---------------------------------------------------- */

/** The fingerprint of what is handed in (its id is not looked at).
 *  @return never 0 */
stn_lat_id stn_lat_hardware_id(const stn_lat_hardware *hardware);
stn_lat_id stn_lat_engine_id(const stn_lat_engine *engine);
stn_lat_id stn_lat_signature_id(const stn_lat_signature *signature);
stn_lat_id stn_lat_source_id(const stn_lat_source *source);
stn_lat_id stn_lat_series_id(stn_lat_id hardware, stn_lat_id engine, stn_lat_id signature);

/** Write dimensions in their one canonical form: "k=4096,n=14336", by rising name.
 *  @param names   [count] letters, digits and _ only, all different
 *  @param values  [count] not negative
 *  @param[out] text  the caller's; "" for no dimension
 *  @return STN_OK; STN_ERANGE (a bad or repeated name, a negative value, @p text too small) */
stn_status stn_lat_dims(const char *const *names, const int64_t *values, size_t count, char *text,
                        size_t size, stn_err *err) STN_MUST_USE;

/** Can this row be true? @return STN_OK; STN_ERANGE: which figure cannot be, and why */
stn_status stn_lat_row_check(const stn_lat_row *row, stn_err *err) STN_MUST_USE;

/** The time to calculate with: the median if it is known, else the mean. */
double stn_lat_row_ns(const stn_lat_row *row);

/* ---- this machine ------------------------------------------------------------------------ */

/** The CPU of this machine, with the texts that its description points into: do not copy it. */
typedef struct stn_lat_machine {
    stn_lat_hardware hardware;
    char text[6][256];
} stn_lat_machine;

/** Describe this machine from /proc and sysfs; what they do not say is left 0 or "". The
 *  fingerprint depends on neither the kernel's version nor the clock of the moment.
 *  @param root  "" for this machine; tests put a folder before /proc and /sys
 *  @return STN_OK; STN_ENOTFOUND (no /proc/cpuinfo there) */
stn_status stn_lat_machine_detect(stn_lat_machine *machine, const char *root,
                                  stn_err *err) STN_MUST_USE;

/* ---- opening ----------------------------------------------------------------------------- */

typedef struct stn_latdb stn_latdb;

typedef enum stn_latdb_mode {
    STN_LATDB_READ,   /**< putting is STN_EPERM; only a schema of an older standin is brought up */
    STN_LATDB_WRITE,  /**< must be there; brought up to the newest schema */
    STN_LATDB_CREATE, /**< as WRITE; made if it is not there */
} stn_latdb_mode;

/** Open a database.
 *  @param place  the path of an SQLite file, or postgresql://… (tables lie in the schema "standin")
 *  @return STN_OK; STN_ENOTFOUND (nothing is there, and @p mode is not CREATE); STN_EFORMAT (not a
 *          database, another program's, damaged); STN_EUNSUPPORTED (of a newer standin; another
 *          kind of URL; PostgreSQL without libpq); STN_EPERM; STN_ERANGE ("" is no place); nothing
 * is changed in all of them */
stn_status stn_latdb_open(stn_latdb **out, const char *place, stn_latdb_mode mode,
                          stn_err *err) STN_MUST_USE;
/** Rolls back an open transaction. Legal on NULL. */
void stn_latdb_close(stn_latdb *db);

/** Its place without a password, "sqlite" or "postgresql", and the version of its schema. */
const char *stn_latdb_place(const stn_latdb *db);
const char *stn_latdb_backend(const stn_latdb *db);
uint32_t stn_latdb_schema(const stn_latdb *db);

/** Can PostgreSQL be used? @p version gets libpq's, or why not. */
bool stn_latdb_postgres(char *version, size_t size);

/* ---- writing ----------------------------------------------------------------------------- */

/** Begin a transaction: waits for other writers, up to a minute. Without one, each call that puts
 *  is a transaction of its own. @return also STN_ERANGE: one is open; STN_EPERM: opened to read */
stn_status stn_latdb_begin(stn_latdb *db, stn_err *err) STN_MUST_USE;
/** All that was put since begin is there for good, or nothing of it. */
stn_status stn_latdb_commit(stn_latdb *db, stn_err *err) STN_MUST_USE;
/** Forget all that was put since begin. Legal without a transaction. */
void stn_latdb_rollback(stn_latdb *db);

/** Store a series, and its hardware, engine and signature, where they are not there yet.
 *  @param[out] series  its fingerprint
 *  @return also STN_ERANGE (a text or form that is not allowed), STN_ECHECK (two different things
 *          have one fingerprint), STN_EPERM */
stn_status stn_latdb_series_put(stn_latdb *db, const stn_lat_hardware *hardware,
                                const stn_lat_engine *engine, const stn_lat_signature *signature,
                                stn_lat_id *series, stn_err *err) STN_MUST_USE;
stn_status stn_latdb_source_put(stn_latdb *db, const stn_lat_source *source, stn_lat_id *id,
                                stn_err *err) STN_MUST_USE;
/** Store a row; one that has the same series and point is replaced. Inside a transaction the
 *  database may take rows in bundles: what it refuses may be said by a later call, at the latest by
 *  commit. @return also STN_ERANGE as stn_lat_row_check(), STN_ENOTFOUND (no such series or
 *  source), STN_EPERM */
stn_status stn_latdb_row_put(stn_latdb *db, const stn_lat_row *row, stn_err *err) STN_MUST_USE;

/* ---- reading ----------------------------------------------------------------------------- */

/* Each calls back in the order of the fingerprints (rows: of their points); what is handed to the
 * callback is lent for that call, and the callback may not use the same database (that of a series
 * may, to go on to its rows; its texts are lent until the database is closed). A callback that
 * does not return STN_OK ends the walk, which returns its status. While rows are walked nobody can
 * put into an SQLite file, also not through another handle: who wants to, takes stn_latdb_rows().
 */

typedef stn_status (*stn_lat_hardware_fn)(void *user, const stn_lat_hardware *item, stn_err *err);
typedef stn_status (*stn_lat_engine_fn)(void *user, const stn_lat_engine *item, stn_err *err);
typedef stn_status (*stn_lat_signature_fn)(void *user, const stn_lat_signature *item, stn_err *err);
typedef stn_status (*stn_lat_source_fn)(void *user, const stn_lat_source *item, stn_err *err);
typedef stn_status (*stn_lat_series_fn)(void *user, const stn_lat_series *item, stn_err *err);
typedef stn_status (*stn_lat_row_fn)(void *user, const stn_lat_row *row, stn_err *err);

stn_status stn_latdb_each_hardware(stn_latdb *db, stn_lat_hardware_fn each, void *user,
                                   stn_err *err) STN_MUST_USE;
stn_status stn_latdb_each_engine(stn_latdb *db, stn_lat_engine_fn each, void *user,
                                 stn_err *err) STN_MUST_USE;
stn_status stn_latdb_each_signature(stn_latdb *db, stn_lat_signature_fn each, void *user,
                                    stn_err *err) STN_MUST_USE;
stn_status stn_latdb_each_source(stn_latdb *db, stn_lat_source_fn each, void *user,
                                 stn_err *err) STN_MUST_USE;
/** @param filter NULL: all */
stn_status stn_latdb_each_series(stn_latdb *db, const stn_lat_filter *filter,
                                 stn_lat_series_fn each, void *user, stn_err *err) STN_MUST_USE;
/** The rows of one series, that is of one hardware and one engine. */
stn_status stn_latdb_each_row(stn_latdb *db, stn_lat_id series, stn_lat_row_fn each, void *user,
                              stn_err *err) STN_MUST_USE;

/** The rows of @p signature on @p hardware under @p engine.
 *  @param[out] rows  [count] by rising point; the caller frees with stn_lat_rows_free()
 *  @return also STN_ENOTFOUND: this signature was not measured there */
stn_status stn_latdb_rows(stn_latdb *db, stn_lat_id hardware, stn_lat_id engine,
                          stn_lat_id signature, stn_lat_row **rows, size_t *count,
                          stn_err *err) STN_MUST_USE;
/** Legal on NULL. */
void stn_lat_rows_free(stn_lat_row *rows);

/** One item by its fingerprint.
 *  @param[out] item  its texts are the database's until it is closed
 *  @return also STN_ENOTFOUND */
stn_status stn_latdb_hardware(stn_latdb *db, stn_lat_id id, stn_lat_hardware *item,
                              stn_err *err) STN_MUST_USE;
stn_status stn_latdb_engine(stn_latdb *db, stn_lat_id id, stn_lat_engine *item,
                            stn_err *err) STN_MUST_USE;
stn_status stn_latdb_signature(stn_latdb *db, stn_lat_id id, stn_lat_signature *item,
                               stn_err *err) STN_MUST_USE;
stn_status stn_latdb_source(stn_latdb *db, stn_lat_id id, stn_lat_source *item,
                            stn_err *err) STN_MUST_USE;

/* ---- whole databases --------------------------------------------------------------------- */

/** Who watches long work; NULL: nobody. Called now and then with rows done; once it returns false
 *  the work ends with STN_EINTR. */
typedef struct stn_lat_watch {
    stn_progress_fn progress;
    void *user;
} stn_lat_watch;

/** What a merge did. */
typedef struct stn_lat_merged {
    uint64_t rows;       /**< looked at in what was merged in */
    uint64_t added;      /**< new */
    uint64_t duplicates; /**< there already, the same in every column */
    uint64_t conflicts;  /**< same series and point, other figures or source */
    uint64_t replaced;   /**< of the conflicts: the newcomer has more executions and was taken */
} stn_lat_merged;

/** One conflict: the row that was there, the newcomer, and which of them stays. Both databases may
 *  be asked. */
typedef stn_status (*stn_lat_conflict_fn)(void *user, const stn_lat_series *series,
                                          const stn_lat_row *there, const stn_lat_row *newcomer,
                                          bool replaced, stn_err *err);

/** Put all of @p from into @p into, which needs an open transaction. Series, and so hardware, stay
 *  apart. Of two rows that differ the one with more executions stays, else the one that was there.
 *  @param conflict  NULL: conflicts are only counted
 *  @param[in,out] merged  added to */
stn_status stn_latdb_merge(stn_latdb *into, stn_latdb *from, stn_lat_conflict_fn conflict,
                           void *user, const stn_lat_watch *watch, stn_lat_merged *merged,
                           stn_err *err) STN_MUST_USE;

/** What a check looked at. */
typedef struct stn_lat_checked {
    uint64_t hardware, engines, signatures, sources, series, rows;
    uint64_t faults;
} stn_lat_checked;

/** One thing that is wrong, as a sentence. */
typedef void (*stn_lat_fault_fn)(void *user, const char *fault);

/** Look at everything: the database's own integrity, fingerprints, forms, references, values that
 *  cannot be. @return STN_OK even if there are faults: they are counted and told */
stn_status stn_latdb_check(stn_latdb *db, stn_lat_fault_fn fault, void *user,
                           const stn_lat_watch *watch, stn_lat_checked *checked,
                           stn_err *err) STN_MUST_USE;

/** Write rows as CSV (docs/formats/latency-database.md), there whole or not at all.
 *  @param path    "-" is standard output; .gz and .zst are compressed
 *  @param filter  NULL: all
 *  @param[out] rows  how many were written */
stn_status stn_latdb_export_csv(stn_latdb *db, const stn_lat_filter *filter, const char *path,
                                const stn_lat_watch *watch, uint64_t *rows,
                                stn_err *err) STN_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
