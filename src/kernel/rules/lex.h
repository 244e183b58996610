/** @file
 *  Words of a line of rule text. Pinned by tests/unit/test_rules_parse.c. */
#ifndef STN_KERNEL_RULES_LEX_H
#define STN_KERNEL_RULES_LEX_H

#include <standin/base.h>

#include "core/base/arena.h"

typedef struct stn_token {
    const char *text; /**< NUL-terminated, without its quotes */
    uint32_t size;
    bool quoted;
} stn_token;

/** The words of one line. Zero-initialise, then use; the array grows and is reused. */
typedef struct stn_tokens {
    stn_token *items; /**< [count] */
    size_t count, capacity;
} stn_tokens;

/** Split @p line [@p size] at blanks and commas; "(", ")" and operators stand alone, "…" keeps
 *  blanks (with \" and \\), # begins a comment.
 *  @return STN_OK; STN_EFORMAT (a string that does not end, a control character), STN_ENOMEM */
stn_status stn_lex_line(stn_tokens *tokens, stn_arena *arena, const char *line, size_t size,
                        stn_err *err) STN_MUST_USE;
void stn_tokens_fini(stn_tokens *tokens);

/** Number of a whole word: decimal or 0x…, with ns, us, ms or s behind it for times.
 *  @return false if it is none */
bool stn_lex_number(const char *text, size_t size, int64_t *value);

#endif
