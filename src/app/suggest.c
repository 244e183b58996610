/* The known word nearest to a mistyped one (restricted Damerau-Levenshtein distance). */
#include <string.h>

#include "app/suggest.h"

enum { WORD_MAX = 63 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

unsigned stn_edit_distance(const char *a, const char *b) {
    size_t m = strlen(a);
    size_t n = strlen(b);
    if (m > WORD_MAX || n > WORD_MAX) {
        return (unsigned)(m > n ? m : n);
    }
    unsigned rows[3][WORD_MAX + 1]; /* rows i-2, i-1 and i, modulo 3 */
    for (size_t j = 0; j <= n; j++) {
        rows[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= m; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i - 1) % 3];
        const unsigned *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = least(best, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = least(best, above2[j - 2] + 1);
            }
            row[j] = best;
        }
    }
    return rows[m % 3][n];
}

void stn_suggest_offer(stn_suggest *suggest, const char *known) {
    unsigned distance = stn_edit_distance(suggest->word, known);
    size_t size = strlen(suggest->word);
    /* A prefix is as good as one slip; otherwise a third of the word may differ. */
    if (size >= 2 && strncmp(suggest->word, known, size) == 0) {
        distance = 1;
    }
    if (distance > 1 + size / 3 || (size <= 2 && distance > 1)) {
        return;
    }
    if (!suggest->nearest || distance < suggest->distance) {
        suggest->nearest = known;
        suggest->distance = distance;
    }
}
