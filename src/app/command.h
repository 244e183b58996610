/** @file
 *  What a command is: one row with its options, its operands and what runs it. Help, man
 *  pages, completion and the command line itself are projected from the rows (commands.c);
 *  docs/add-a-command.md shows how to add one. Pinned by tests/unit/test_options.c,
 *  tests/e2e/cli.bats. */
#ifndef STN_APP_COMMAND_H
#define STN_APP_COMMAND_H

#include <stdio.h>

#include <standin/base.h>

/** How the text behind an option becomes a value; the C type it is stored as. */
typedef enum stn_option_kind {
    STN_OPTION_FLAG,     /**< no text; bool */
    STN_OPTION_TEXT,     /**< const char * */
    STN_OPTION_TEXTS,    /**< may be repeated; stn_texts */
    STN_OPTION_MANY,     /**< takes all words up to the next option; stn_texts */
    STN_OPTION_NAMES,    /**< "a,b", may be repeated; stn_texts */
    STN_OPTION_NUMBERS,  /**< "0,2-3", may be repeated; stn_numbers */
    STN_OPTION_NUMBER,   /**< "0", "10k"; uint64_t */
    STN_OPTION_COUNT,    /**< "10k", "1M", not 0; uint64_t, 0 if not given */
    STN_OPTION_SIZE,     /**< "64M" in powers of 1024, not 0; uint64_t bytes */
    STN_OPTION_DURATION, /**< "250ms", "10s", "5m", not 0; uint64_t nanoseconds */
    STN_OPTION_RANGE,    /**< "A..B" in seconds; stn_range */
} stn_option_kind;

/** Texts borrowed from argv, or from the list's own copy. */
typedef struct stn_texts {
    const char **items; /**< [count] */
    size_t count;
    size_t capacity;
} stn_texts;

typedef struct stn_numbers {
    int32_t *items; /**< [count] */
    size_t count;
    size_t capacity;
} stn_numbers;

typedef struct stn_range {
    uint64_t begin_ns, end_ns; /**< end 0: no end */
} stn_range;

/** One option. A table of them ends with a row whose name is NULL. */
typedef struct stn_option {
    const char *name; /**< long name without dashes */
    int letter;       /**< short name, 0 if none */
    stn_option_kind kind;
    size_t at;           /**< where its value lies in the command's arguments */
    const char *metavar; /**< "FILE"; NULL for flags */
    const char *help;    /**< one sentence, no full stop */
    bool required;
} stn_option;

/** Options that many commands share; a command names those it has. */
typedef enum stn_shared {
    STN_SHARED_JSON = 1,
    STN_SHARED_QUIET = 2,
    STN_SHARED_SEED = 4,
    STN_SHARED_FILTER = 8, /**< --time --cpu --tid --comm --event --format */
} stn_shared;

/** First member of every command's arguments: the shared options and the operands. */
typedef struct stn_common {
    bool json, quiet, help;
    uint64_t seed;
    stn_range time;
    stn_numbers cpus, tids;
    stn_texts comms, events;
    const char *format;
    stn_texts operands;
    const char *const *tail; /**< what stands behind "--" or, if it must be there, from the first
                                  operand on; ends with NULL; only for commands that run one */
    void *scratch;           /**< copies that the lists point into */
} stn_common;

typedef struct stn_example {
    const char *what;    /**< "Count what a trace holds" */
    const char *command; /**< as typed; tests run it, see tests/e2e/examples.bats */
} stn_example;

/** What a running command has at hand. */
typedef struct stn_app {
    FILE *out;   /**< results */
    FILE *notes; /**< errors and progress */
    bool usage;  /**< the failure is the caller's use of the command, as every STN_ERANGE: exit 2 */
} stn_app;

typedef struct stn_command {
    const char *group;                 /**< "kernel", "" for a command without group */
    const char *name;                  /**< "info" */
    const char *summary;               /**< one line, no full stop */
    const char *details;               /**< paragraphs parted by an empty line */
    const char *operands;              /**< "TRACE", "IN OUT", "MODEL|TRACE..."; "" for none */
    uint32_t operand_min, operand_max; /**< UINT32_MAX: any number */
    bool runs_command;                 /**< all from the first operand on is a command */
    bool may_run_command;              /**< what stands behind "--" is one */
    uint32_t shared;                   /**< bits of stn_shared */
    const stn_option *options;
    const stn_example *examples; /**< ends with a row whose command is NULL */
    size_t args_size;            /**< of a structure that begins with stn_common */
    /** @param args the command's own structure, filled
     *  @return STN_OK 0, STN_ECHECK 3, STN_EINTR 130, STN_ERANGE 2, all else 1 */
    stn_status (*run)(stn_app *app, const void *args, stn_err *err);
} stn_command;

/** Say that the command was used wrongly: exit code 2. @return STN_ERANGE */
stn_status stn_app_usage(stn_app *app, stn_err *err, const char *fmt, ...) STN_PRINTF(3, 4);

#endif
