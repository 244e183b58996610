/** @file
 *  The known word nearest to a mistyped one. Pinned by tests/unit/test_suggest.c. */
#ifndef STN_APP_SUGGEST_H
#define STN_APP_SUGGEST_H

#include <standin/base.h>

/** Keeps the nearest of the words that it is shown. Zero-initialise, then set word. */
typedef struct stn_suggest {
    const char *word;    /**< what was typed */
    const char *nearest; /**< NULL: none near enough */
    unsigned distance;
} stn_suggest;

/** Show one known word; borrowed. */
void stn_suggest_offer(stn_suggest *suggest, const char *known);

/** Insertions, deletions, replacements and swaps of neighbours that make @p b of @p a; words
 *  longer than 63 bytes count as far. */
unsigned stn_edit_distance(const char *a, const char *b);

#endif
