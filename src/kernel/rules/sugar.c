/* Short forms. Each is rewritten to the lines that a writer would otherwise write by hand;
 * docs/formats/rules.md shows them side by side. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/rules/parse.h"

/* Text that grows; a failed allocation is remembered and told at the end. */
typedef struct buffer {
    char *text;
    size_t size, capacity;
    bool failed;
} buffer;

static void put(buffer *out, const char *text) {
    size_t size = strlen(text);
    if (out->failed || stn_grow(&out->text, &out->capacity, out->size + size + 1, 1)) {
        out->failed = true;
        return;
    }
    memcpy(out->text + out->size, text, size + 1);
    out->size += size;
}

/* A word as it must be written to be read as the same word. */
static void put_word(buffer *out, const stn_token *word) {
    put(out, " ");
    if (!word->quoted) {
        put(out, word->text);
        return;
    }
    put(out, "\"");
    for (const char *c = word->text; *c; c++) {
        char piece[3] = {*c, 0, 0};
        if (*c == '"' || *c == '\\') {
            piece[0] = '\\';
            piece[1] = *c;
        }
        put(out, piece);
    }
    put(out, "\"");
}

/* The words from the next one to the end of the line. */
static void put_rest(stn_parser *parser, buffer *out) {
    while (stn_parser_peek(parser)) {
        put_word(out, stn_parser_peek(parser));
        parser->at++;
    }
}

stn_status stn_parser_rewritten(stn_parser *parser, const char *line, size_t size) {
    stn_tokens outer = parser->tokens;
    size_t at = parser->at;
    parser->tokens = (stn_tokens){0};
    parser->at = 0;
    stn_status status =
        stn_lex_line(&parser->tokens, &parser->rules->arena, line, size, parser->err);
    if (!status) {
        status = stn_parser_line(parser);
    }
    stn_tokens_fini(&parser->tokens);
    parser->tokens = outer;
    parser->at = at;
    return status;
}

/* Reads the lines of @p out one by one, and frees it. */
static stn_status rewrite(stn_parser *parser, buffer *out) {
    stn_status status = out->failed ? stn_parser_nomem(parser) : STN_OK;
    for (size_t at = 0; !status && at < out->size;) {
        size_t end = at + strcspn(out->text + at, "\n");
        status = stn_parser_rewritten(parser, out->text + at, end - at);
        at = end + 1;
    }
    stn_free(out->text);
    return status;
}

static stn_status two_words(stn_parser *parser, const char *what, const stn_token **a,
                            const stn_token **b) {
    stn_status status = stn_parser_word(parser, what, a);
    return status ? status : stn_parser_word(parser, what, b);
}

/* pair OPEN CLOSE [match VALUE] [by …] */
static stn_status pair(stn_parser *parser, buffer *out) {
    const stn_token *opens;
    const stn_token *closes;
    const stn_token *match = NULL;
    stn_status status = two_words(parser, "an event type", &opens, &closes);
    if (!status && stn_parser_at(parser, "match")) {
        parser->at++;
        status = stn_parser_word(parser, "a field", &match);
    }
    if (status) {
        return status;
    }
    put(out, "states closed open\n");
    if (match) {
        put(out, "registers matched\n");
    }
    size_t rest = parser->at;
    put(out, "on");
    put_word(out, opens);
    put_rest(parser, out);
    put(out, " from closed to open");
    if (match) {
        put(out, " set matched =");
        put_word(out, match);
    }
    put(out, "\non");
    put_word(out, closes);
    parser->at = rest;
    put_rest(parser, out);
    put(out, " from open");
    if (match) {
        put(out, " if matched ==");
        put_word(out, match);
    }
    put(out, " to closed\n");
    return STN_OK;
}

/* follow TYPE after TYPE… : the state is the last type */
static stn_status follow(stn_parser *parser, buffer *out) {
    const stn_token *type;
    stn_status status = stn_parser_word(parser, "an event type", &type);
    if (status) {
        return status;
    }
    if (!stn_parser_at(parser, "after")) {
        return stn_parser_fail(parser, "expected: follow TYPE after TYPE…");
    }
    parser->at++;
    status = stn_parser_state(parser, type->text);
    for (size_t i = parser->at; !status && i < parser->tokens.count; i++) {
        status = stn_parser_state(parser, parser->tokens.items[i].text);
    }
    if (status) {
        return status;
    }
    parser->follows = true;
    put(out, "on");
    put_word(out, type);
    put(out, " from");
    put_rest(parser, out);
    put(out, " to");
    put_word(out, type);
    put(out, "\n");
    return STN_OK;
}

/* frame NAME ENTRY EXIT [over FRAME…] [by …] [where …] */
static stn_status frame(stn_parser *parser, buffer *out) {
    const stn_token *name;
    const stn_token *entry;
    const stn_token *leave;
    stn_status status = stn_parser_word(parser, "a name", &name);
    if (status || (status = two_words(parser, "an event type", &entry, &leave))) {
        return status;
    }
    if (!parser->rule->framed && parser->state_count > 1) {
        return stn_parser_fail(parser, "a rule with frames has no other states");
    }
    if (parser->rule->register_count) { /* the stack of frames lies where registers would */
        return stn_parser_fail(parser, "a rule with frames has no registers");
    }
    parser->rule->framed = true;
    if ((status = stn_parser_state(parser, "none")) ||
        (status = stn_parser_state(parser, name->text))) {
        return status;
    }
    size_t over = parser->at;
    bool limited = stn_parser_at(parser, "over");
    while (limited && stn_parser_peek(parser) && !stn_parser_at(parser, "where") &&
           !stn_parser_at(parser, "by")) {
        parser->at++;
    }
    size_t rest = parser->at;
    put(out, "on");
    put_word(out, entry);
    put_rest(parser, out);
    if (limited) {
        put(out, " from");
        for (size_t i = over + 1; i < rest; i++) {
            put_word(out, &parser->tokens.items[i]);
        }
    }
    put(out, " push");
    put_word(out, name);
    put(out, "\non");
    put_word(out, leave);
    parser->at = rest;
    put_rest(parser, out);
    put(out, " from");
    put_word(out, name);
    put(out, " pop");
    put_word(out, name);
    put(out, "\n");
    return STN_OK;
}

/* ---- forms that say their words in fixed places ----------------------------------- */

enum { FORM_WORDS = 3 };

/* $1 … $3 are the words of the form, $* is the rest of its line. */
typedef struct form {
    const char *word;
    const char *wants[FORM_WORDS]; /* what is expected, for messages; ends with NULL */
    const char *lines;
} form;

static const form forms[] = {
    {"order",
     {"an event type", "an event type", NULL},
     "states idle seen\non$1$* to seen\non$2$* from seen\n"},
    /* always, not only between other events */
    {"value", {"an event type", NULL, NULL}, "states ok\nfresh ok after 0\non$1 if$*\n"},
    {"never", {NULL, NULL, NULL}, "states ok\nfresh ok after 0\non$* if 0 == 1\n"},
    /* time between them */
    {"delta",
     {"an event type", "an event type", "a range LOW..HIGH"},
     "states idle begun\nregisters since\n"
     "on$2$* from begun if time - since in ($3) to idle\n"
     "on$2$* from idle\non$1$* to begun set since = time\n"},
    /* never decreases from one event of the key to the next */
    {"monotone",
     {"a value", NULL, NULL},
     "states seen\nregisters last\non$* if$1 >= last to seen set last =$1\n"},
    /* what leaves is what came last */
    {"continuity",
     {"an event type", "a field", "a field"},
     "states seen\nregisters current\non$1$* if current ==$2 to seen set current =$3\n"},
};

static stn_status fill_form(stn_parser *parser, const form *form, buffer *out) {
    const stn_token *words[FORM_WORDS] = {NULL};
    for (size_t i = 0; i < FORM_WORDS && form->wants[i]; i++) {
        stn_status status = stn_parser_word(parser, form->wants[i], &words[i]);
        if (status) {
            return status;
        }
    }
    size_t rest = parser->at;
    for (const char *c = form->lines; *c; c++) {
        if (*c != '$') {
            put(out, (char[]){*c, 0});
        } else if (*++c == '*') {
            parser->at = rest;
            put_rest(parser, out);
        } else {
            put_word(out, words[*c - '1']);
        }
    }
    parser->at = parser->tokens.count;
    return STN_OK;
}

static stn_status other_form(stn_parser *parser, bool *known, buffer *out) {
    static const struct {
        const char *word;
        stn_status (*rewrite)(stn_parser *parser, buffer *out);
    } others[] = {{"pair", pair}, {"follow", follow}, {"frame", frame}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (stn_parser_at(parser, others[i].word)) {
            parser->at++;
            *known = true;
            return others[i].rewrite(parser, out);
        }
    }
    *known = false;
    return STN_OK;
}

stn_status stn_parser_sugar(stn_parser *parser, bool *known) {
    buffer out = {0};
    stn_status status = STN_OK;
    size_t i = 0;
    while (i < sizeof forms / sizeof *forms && !stn_parser_at(parser, forms[i].word)) {
        i++;
    }
    if (i < sizeof forms / sizeof *forms) {
        parser->at++;
        *known = true;
        status = fill_form(parser, &forms[i], &out);
    } else {
        status = other_form(parser, known, &out);
    }
    if (status || !*known) {
        stn_free(out.text);
        return status;
    }
    return rewrite(parser, &out);
}
