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

/* order FIRST THEN [by …] */
static stn_status order(stn_parser *parser, buffer *out) {
    const stn_token *first;
    const stn_token *then;
    stn_status status = two_words(parser, "an event type", &first, &then);
    if (status) {
        return status;
    }
    size_t rest = parser->at;
    put(out, "states idle seen\non");
    put_word(out, first);
    put_rest(parser, out);
    put(out, " to seen\non");
    put_word(out, then);
    parser->at = rest;
    put_rest(parser, out);
    put(out, " from seen\n");
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

/* value PATTERN COND [and COND] : always, not only between other events */
static stn_status value(stn_parser *parser, buffer *out) {
    const stn_token *pattern;
    stn_status status = stn_parser_word(parser, "an event type", &pattern);
    if (status) {
        return status;
    }
    put(out, "states ok\nfresh ok after 0\non");
    put_word(out, pattern);
    put(out, " if");
    put_rest(parser, out);
    put(out, "\n");
    return STN_OK;
}

/* never PATTERN… [where …] */
static stn_status never(stn_parser *parser, buffer *out) {
    put(out, "states ok\nfresh ok after 0\non");
    put_rest(parser, out);
    put(out, " if 0 == 1\n");
    return STN_OK;
}

/* delta FIRST THEN LOW..HIGH [by …] : time between them */
static stn_status delta(stn_parser *parser, buffer *out) {
    const stn_token *first;
    const stn_token *then;
    const stn_token *range;
    stn_status status = two_words(parser, "an event type", &first, &then);
    if (status || (status = stn_parser_word(parser, "a range LOW..HIGH", &range))) {
        return status;
    }
    size_t rest = parser->at;
    put(out, "states idle begun\nregisters since\non");
    put_word(out, then);
    put_rest(parser, out);
    put(out, " from begun if time - since in (");
    put_word(out, range);
    put(out, ") to idle\non");
    put_word(out, then);
    parser->at = rest;
    put_rest(parser, out);
    put(out, " from idle\non");
    put_word(out, first);
    parser->at = rest;
    put_rest(parser, out);
    put(out, " to begun set since = time\n");
    return STN_OK;
}

/* monotone VALUE PATTERN… : never decreases from one event of the key to the next */
static stn_status monotone(stn_parser *parser, buffer *out) {
    const stn_token *what;
    stn_status status = stn_parser_word(parser, "a value", &what);
    if (status) {
        return status;
    }
    put(out, "states seen\nregisters last\non");
    put_rest(parser, out);
    put(out, " if");
    put_word(out, what);
    put(out, " >= last to seen set last =");
    put_word(out, what);
    put(out, "\n");
    return STN_OK;
}

/* continuity TYPE LEAVES COMES : what leaves is what came last */
static stn_status continuity(stn_parser *parser, buffer *out) {
    const stn_token *type;
    const stn_token *leaves;
    const stn_token *comes;
    stn_status status = stn_parser_word(parser, "an event type", &type);
    if (status || (status = two_words(parser, "a field", &leaves, &comes))) {
        return status;
    }
    put(out, "states seen\nregisters current\non");
    put_word(out, type);
    put_rest(parser, out);
    put(out, " if current ==");
    put_word(out, leaves);
    put(out, " to seen set current =");
    put_word(out, comes);
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

stn_status stn_parser_sugar(stn_parser *parser, bool *known) {
    static const struct {
        const char *word;
        stn_status (*rewrite)(stn_parser *parser, buffer *out);
    } forms[] = {{"pair", pair},         {"order", order},           {"follow", follow},
                 {"value", value},       {"never", never},           {"delta", delta},
                 {"monotone", monotone}, {"continuity", continuity}, {"frame", frame}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (stn_parser_at(parser, forms[i].word)) {
            buffer out = {0};
            parser->at++;
            *known = true;
            stn_status status = forms[i].rewrite(parser, &out);
            if (status) {
                stn_free(out.text);
                return status;
            }
            return rewrite(parser, &out);
        }
    }
    *known = false;
    return STN_OK;
}
