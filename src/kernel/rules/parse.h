/** @file
 *  The parser of rule text, shared by its files: parse.c (lines of a rule), row.c (the
 *  clauses of a transition), sugar.c (short forms, each rewritten to transitions). */
#ifndef STN_KERNEL_RULES_PARSE_H
#define STN_KERNEL_RULES_PARSE_H

#include "kernel/rules/lex.h"
#include "kernel/rules/set.h"

enum { STN_STATES_MAX = 4096, STN_ROWS_MAX = 65535 };

typedef struct stn_parser {
    stn_rules *rules;
    const char *name; /**< of the text, for messages */
    uint32_t line;
    stn_err *err;
    stn_tokens tokens;
    size_t at; /**< next word */
    /* the rule being read; NULL before the first */
    stn_rule *rule;
    const char **states;
    size_t state_count, state_capacity;
    stn_row *rows;
    size_t row_count, row_capacity;
    const char **needs;
    size_t need_count, need_capacity;
    char *text; /**< normalised */
    size_t text_size, text_capacity;
    bool follows; /**< has a "follow" line */
} stn_parser;

/** Write "NAME: line N: …" and return STN_EFORMAT. */
stn_status stn_parser_fail(stn_parser *parser, const char *fmt, ...) STN_PRINTF(2, 3);
stn_status stn_parser_nomem(stn_parser *parser);
/** Next word or NULL at the end of the line. */
const stn_token *stn_parser_peek(const stn_parser *parser);
/** Is the next word the unquoted @p word? */
bool stn_parser_at(const stn_parser *parser, const char *word);
/** Next word, which must be there. @param what what was expected, for the message
 *  @param[out] out the word, an empty one on error */
stn_status stn_parser_word(stn_parser *parser, const char *what,
                           const stn_token **out) STN_MUST_USE;
/** Index of a declared state; STN_STATE_SAME if there is none. */
uint32_t stn_parser_state_find(const stn_parser *parser, const char *name);
/** Declare a state (once). */
stn_status stn_parser_state(stn_parser *parser, const char *name) STN_MUST_USE;
/** One word as an operand (row.c). */
stn_status stn_parser_operand(stn_parser *parser, const stn_token *word,
                              stn_operand *out) STN_MUST_USE;
/** Key fields up to the next clause (row.c). */
stn_status stn_parser_parts(stn_parser *parser, stn_operand *parts, uint32_t *count) STN_MUST_USE;
/** What follows the word "on" (row.c). */
stn_status stn_parser_row(stn_parser *parser) STN_MUST_USE;
/** One line of a rule, of any kind (parse.c). */
stn_status stn_parser_line(stn_parser *parser) STN_MUST_USE;
/** A short form (sugar.c). @param[out] known false if the word begins none */
stn_status stn_parser_sugar(stn_parser *parser, bool *known) STN_MUST_USE;
/** Read one line as if it stood in the text (sugar.c). */
stn_status stn_parser_rewritten(stn_parser *parser, const char *line, size_t size) STN_MUST_USE;

#endif
