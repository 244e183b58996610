/* The words behind a command into its arguments.
 *
 * The structure is filled through the rows' offsets: a row knows where its value lies and
 * the kind says which type is there. Nothing else knows an option by name. */
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/suggest.h"
#include "app/value.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"

typedef struct shared_row {
    uint32_t bit; /* 0: every command has it */
    stn_option option;
} shared_row;

static const shared_row shared_rows[] = {
    {STN_SHARED_FILTER,
     {"time", 0, STN_OPTION_RANGE, offsetof(stn_common, time), "A..B",
      "only events from A to B seconds after the first one (units: ns, us, ms, s, m)", false}},
    {STN_SHARED_FILTER,
     {"cpu", 0, STN_OPTION_NUMBERS, offsetof(stn_common, cpus), "LIST",
      "only events on these CPUs, as 0,2-3", false}},
    {STN_SHARED_FILTER,
     {"tid", 0, STN_OPTION_NUMBERS, offsetof(stn_common, tids), "LIST",
      "only events of these threads", false}},
    {STN_SHARED_FILTER,
     {"comm", 0, STN_OPTION_TEXTS, offsetof(stn_common, comms), "PATTERN",
      "only events of threads with such a name, as 'kworker*'; may be repeated", false}},
    {STN_SHARED_FILTER,
     {"event", 0, STN_OPTION_NAMES, offsetof(stn_common, events), "PATTERN",
      "only events with such a name, as 'sys_*,sched_switch'; may be repeated", false}},
    {STN_SHARED_FILTER,
     {"format", 0, STN_OPTION_TEXT, offsetof(stn_common, format), "FORMAT",
      "format of what is read, instead of recognising it", false}},
    {STN_SHARED_SEED,
     {"seed", 0, STN_OPTION_NUMBER, offsetof(stn_common, seed), "N",
      "start of the random numbers; the same seed gives the same result (default 1)", false}},
    {STN_SHARED_JSON,
     {"json", 0, STN_OPTION_FLAG, offsetof(stn_common, json), NULL,
      "print one JSON object instead of text", false}},
    {STN_SHARED_QUIET,
     {"quiet", 'q', STN_OPTION_FLAG, offsetof(stn_common, quiet), NULL,
      "no progress line and no closing figures", false}},
    {0, {"help", 'h', STN_OPTION_FLAG, offsetof(stn_common, help), NULL, "print this help", false}},
};

const stn_option *stn_command_option(const stn_command *command, uint32_t index) {
    const stn_option *own = command->options;
    for (; own && own->name; own++, index--) {
        if (index == 0) {
            return own;
        }
    }
    for (size_t i = 0; i < sizeof shared_rows / sizeof *shared_rows; i++) {
        const shared_row *row = &shared_rows[i];
        if (row->bit && !(command->shared & row->bit)) {
            continue;
        }
        if (index == 0) {
            return &row->option;
        }
        index--;
    }
    return NULL;
}

typedef struct parser {
    const stn_command *command;
    stn_common *args;
    int argc;
    char *const *argv;
    int at;         /* word looked at */
    uint64_t given; /* bit per option index */
    stn_err *err;
} parser;

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory");
}

static stn_status push_text(stn_texts *list, const char *text, stn_err *err) {
    if (stn_grow((void *)&list->items, &list->capacity, list->count + 1, sizeof *list->items) !=
        STN_OK) {
        return no_memory(err);
    }
    list->items[list->count++] = text;
    return STN_OK;
}

static stn_status push_names(parser *p, stn_texts *list, const char *text) {
    for (const char *from = text;;) {
        size_t size = strcspn(from, ",");
        if (size == 0) {
            return stn_err_set(p->err, STN_ERANGE, "\"%s\" holds an empty name", text);
        }
        char *name = stn_arena_text(p->args->scratch, from, size);
        stn_status status = name ? push_text(list, name, p->err) : no_memory(p->err);
        if (status != STN_OK || !from[size]) {
            return status;
        }
        from += size + 1;
    }
}

/* All words up to the next option. */
static stn_status push_many(parser *p, stn_texts *list, const char *first) {
    stn_status status = push_text(list, first, p->err);
    while (status == STN_OK && p->at + 1 < p->argc) {
        const char *word = p->argv[p->at + 1];
        if (word[0] == '-' && word[1]) {
            break;
        }
        status = push_text(list, word, p->err);
        p->at++;
    }
    return status;
}

/* 0 means "not given" to the commands, so it cannot be given: @p what it is, and @p expected. */
static stn_status store_more(stn_status (*value_of)(const char *, uint64_t *, stn_err *),
                             const char *what, const char *expected, const char *text,
                             uint64_t *slot, stn_err *err) {
    uint64_t value = 0;
    stn_status status = value_of(text, &value, err);
    if (status == STN_OK && value == 0) {
        return stn_err_set(err, STN_ERANGE, "\"%s\" is %s; expected %s", text, what, expected);
    }
    *slot = status == STN_OK ? value : *slot;
    return status;
}

static stn_status store(parser *p, const stn_option *option, const char *text) {
    char *slot = (char *)p->args + option->at;
    switch (option->kind) {
    case STN_OPTION_FLAG:
        *(bool *)slot = true;
        return STN_OK;
    case STN_OPTION_TEXT:
        *(const char **)slot = text;
        return STN_OK;
    case STN_OPTION_TEXTS:
        return push_text((stn_texts *)slot, text, p->err);
    case STN_OPTION_MANY:
        return push_many(p, (stn_texts *)slot, text);
    case STN_OPTION_NAMES:
        return push_names(p, (stn_texts *)slot, text);
    case STN_OPTION_NUMBERS:
        return stn_value_numbers(text, (stn_numbers *)slot, p->err);
    case STN_OPTION_NUMBER:
        return stn_value_count(text, (uint64_t *)slot, p->err);
    case STN_OPTION_COUNT:
        return store_more(stn_value_count, "none at all", "at least 1", text, (uint64_t *)slot,
                          p->err);
    case STN_OPTION_SIZE:
        return store_more(stn_value_size, "no room at all", "one like 64M", text, (uint64_t *)slot,
                          p->err);
    case STN_OPTION_DURATION:
        return store_more(stn_value_duration, "no time at all", "one like 10s or 250ms", text,
                          (uint64_t *)slot, p->err);
    case STN_OPTION_RANGE:
        return stn_value_range(text, (stn_range *)slot, p->err);
    }
    return STN_ERANGE;
}

static stn_status unknown(parser *p, const char *word) {
    size_t size = strcspn(word, "=");
    char name[64];
    size_t kept = size < sizeof name - 1 ? size : sizeof name - 1;
    memcpy(name, word, kept);
    name[kept] = '\0';
    stn_suggest suggest = {name + strspn(name, "-"), NULL, 0};
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(p->command, i)) != NULL; i++) {
        stn_suggest_offer(&suggest, option->name);
    }
    return suggest.nearest
               ? stn_err_set(p->err, STN_ERANGE, "unknown option %s; did you mean --%s?", name,
                             suggest.nearest)
               : stn_err_set(p->err, STN_ERANGE, "unknown option %s", name);
}

/* The value of @p option: behind '=' or the letter, else the next word. */
static stn_status take(parser *p, uint32_t index, const stn_option *option, const char *attached) {
    const char *text = attached;
    if (option->kind == STN_OPTION_FLAG) {
        if (attached) {
            return stn_err_set(p->err, STN_ERANGE, "--%s takes no value", option->name);
        }
    } else if (!text) {
        if (p->at + 1 >= p->argc) {
            return stn_err_set(p->err, STN_ERANGE, "--%s needs %s behind it", option->name,
                               option->metavar);
        }
        text = p->argv[++p->at];
    }
    if (index < 64) {
        p->given |= UINT64_C(1) << index;
    }
    stn_status status = store(p, option, text);
    return status == STN_OK ? status : stn_err_prepend(p->err, status, "--%s", option->name);
}

static stn_status long_option(parser *p, const char *word) {
    const char *name = word + 2;
    size_t size = strcspn(name, "=");
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(p->command, i)) != NULL; i++) {
        if (strlen(option->name) == size && memcmp(option->name, name, size) == 0) {
            return take(p, i, option, name[size] ? name + size + 1 : NULL);
        }
    }
    return unknown(p, word);
}

static stn_status short_options(parser *p, const char *word) {
    for (const char *letter = word + 1; *letter; letter++) {
        const stn_option *option = NULL;
        uint32_t i = 0;
        while ((option = stn_command_option(p->command, i)) != NULL && option->letter != *letter) {
            i++;
        }
        if (!option) {
            return unknown(p, word);
        }
        bool flag = option->kind == STN_OPTION_FLAG;
        stn_status status = take(p, i, option, flag || !letter[1] ? NULL : letter + 1);
        if (status != STN_OK || !flag) {
            return status;
        }
    }
    return STN_OK;
}

static stn_status walk(parser *p) {
    bool only_operands = false;
    for (p->at = 0; p->at < p->argc; p->at++) {
        const char *word = p->argv[p->at];
        bool operand = only_operands || word[0] != '-' || !word[1];
        bool dashes = !only_operands && strcmp(word, "--") == 0;
        if ((p->command->runs_command && (operand || dashes)) ||
            (p->command->may_run_command && dashes)) {
            p->args->tail = (const char *const *)&p->argv[p->at + (dashes ? 1 : 0)];
            return STN_OK;
        }
        if (dashes) {
            only_operands = true;
            continue;
        }
        stn_status status = operand          ? push_text(&p->args->operands, word, p->err)
                            : word[1] == '-' ? long_option(p, word)
                                             : short_options(p, word);
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

/* What must be there is there, and no more. */
static stn_status complete(const parser *p) {
    const stn_command *command = p->command;
    size_t count = p->args->operands.count;
    if (count < command->operand_min) {
        return stn_err_set(p->err, STN_ERANGE, "needs %s; %zu of %u given", command->operands,
                           count, command->operand_min);
    }
    if (count > command->operand_max) {
        return stn_err_set(p->err, STN_ERANGE, "\"%s\" is one word too many",
                           p->args->operands.items[command->operand_max]);
    }
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(command, i)) != NULL; i++) {
        if (!option->required || (i < 64 && (p->given >> i & 1))) {
            continue;
        }
        if (option->letter) {
            return stn_err_set(p->err, STN_ERANGE, "needs -%c %s", option->letter, option->metavar);
        }
        return stn_err_set(p->err, STN_ERANGE, "needs --%s %s", option->name, option->metavar);
    }
    return STN_OK;
}

stn_status stn_options_parse(const stn_command *command, int argc, char *const *argv, void **args,
                             stn_err *err) {
    stn_common *common = stn_calloc(1, command->args_size);
    stn_arena *scratch = stn_calloc(1, sizeof *scratch);
    *args = NULL;
    if (!common || !scratch) {
        stn_free(common);
        stn_free(scratch);
        return no_memory(err);
    }
    common->scratch = scratch;
    common->seed = 1;
    parser p = {command, common, argc, argv, 0, 0, err};
    stn_status status = walk(&p);
    if (status == STN_OK && !common->help) {
        status = complete(&p);
    }
    if (status != STN_OK) {
        stn_options_free(command, common);
        return status;
    }
    *args = common;
    return STN_OK;
}

void stn_options_free(const stn_command *command, void *args) {
    if (!args) {
        return;
    }
    stn_common *common = args;
    const stn_option *option;
    for (uint32_t i = 0; (option = stn_command_option(command, i)) != NULL; i++) {
        char *slot = (char *)args + option->at;
        if (option->kind == STN_OPTION_TEXTS || option->kind == STN_OPTION_MANY ||
            option->kind == STN_OPTION_NAMES) {
            stn_free(((stn_texts *)slot)->items);
        } else if (option->kind == STN_OPTION_NUMBERS) {
            stn_free(((stn_numbers *)slot)->items);
        }
    }
    stn_free(common->operands.items);
    stn_arena_fini(common->scratch);
    stn_free(common->scratch);
    stn_free(args);
}
