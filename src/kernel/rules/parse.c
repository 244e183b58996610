/* Lines of rule text to rules. One table says which word begins which line. */
#include "kernel/rules/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* ---- messages and words -------------------------------------------------- */

stn_status stn_parser_fail(stn_parser *parser, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return stn_err_set(parser->err, STN_EFORMAT, "%s: line %u: %s", parser->name, parser->line,
                       text);
}

stn_status stn_parser_nomem(stn_parser *parser) {
    return stn_err_set(parser->err, STN_ENOMEM, "%s: line %u: out of memory", parser->name,
                       parser->line);
}

const stn_token *stn_parser_peek(const stn_parser *parser) {
    return parser->at < parser->tokens.count ? &parser->tokens.items[parser->at] : NULL;
}

bool stn_parser_at(const stn_parser *parser, const char *word) {
    const stn_token *token = stn_parser_peek(parser);
    return token && !token->quoted && !strcmp(token->text, word);
}

stn_status stn_parser_word(stn_parser *parser, const char *what, const stn_token **out) {
    static const stn_token nothing = {.text = ""};
    const stn_token *token = stn_parser_peek(parser);
    if (!token) {
        *out = &nothing;
        return stn_parser_fail(parser, "the line ends where %s was expected", what);
    }
    parser->at++;
    *out = token;
    return STN_OK;
}

static stn_status end_of_line(stn_parser *parser) {
    const stn_token *token = stn_parser_peek(parser);
    return token
               ? stn_parser_fail(parser, "found \"%s\", expected the end of the line", token->text)
               : STN_OK;
}

static const char *keep(stn_parser *parser, const char *text) {
    return stn_arena_text(&parser->rules->arena, text, strlen(text));
}

/* ---- states --------------------------------------------------------------- */

uint32_t stn_parser_state_find(const stn_parser *parser, const char *name) {
    for (uint32_t i = 0; i < parser->state_count; i++) {
        if (!strcmp(parser->states[i], name)) {
            return i;
        }
    }
    return STN_STATE_SAME;
}

stn_status stn_parser_state(stn_parser *parser, const char *name) {
    if (stn_parser_state_find(parser, name) != STN_STATE_SAME) {
        return STN_OK;
    }
    if (parser->state_count == STN_STATES_MAX) {
        return stn_parser_fail(parser, "more than %d states", STN_STATES_MAX);
    }
    const char *copy = keep(parser, name);
    if (!copy || stn_grow(&parser->states, &parser->state_capacity, parser->state_count + 1,
                          sizeof *parser->states)) {
        return stn_parser_nomem(parser);
    }
    parser->states[parser->state_count++] = copy;
    return STN_OK;
}

/* ---- normalised text -------------------------------------------------------- */

static stn_status text_put(stn_parser *parser, const char *text, size_t size) {
    if (stn_grow(&parser->text, &parser->text_capacity, parser->text_size + size + 1, 1)) {
        return stn_parser_nomem(parser);
    }
    memcpy(parser->text + parser->text_size, text, size);
    parser->text_size += size;
    parser->text[parser->text_size] = '\0';
    return STN_OK;
}

static stn_status text_quoted(stn_parser *parser, const stn_token *token) {
    stn_status status = text_put(parser, "\"", 1);
    for (uint32_t i = 0; i < token->size && !status; i++) {
        char c = token->text[i];
        if (c == '"' || c == '\\') {
            status = text_put(parser, "\\", 1);
        }
        status = status ? status : text_put(parser, &c, 1);
    }
    return status ? status : text_put(parser, "\"", 1);
}

/* The line's words with one blank between them. */
static stn_status text_line(stn_parser *parser, const char *indent) {
    stn_status status = text_put(parser, indent, strlen(indent));
    bool tight = true;
    for (size_t i = 0; i < parser->tokens.count && !status; i++) {
        const stn_token *token = &parser->tokens.items[i];
        bool closes = !token->quoted && !strcmp(token->text, ")");
        if (!tight && !closes) {
            status = text_put(parser, " ", 1);
        }
        if (!status) {
            status = token->quoted ? text_quoted(parser, token)
                                   : text_put(parser, token->text, token->size);
        }
        tight = !token->quoted && !strcmp(token->text, "(");
    }
    return status ? status : text_put(parser, "\n", 1);
}

/* ---- lines of a rule ---------------------------------------------------------- */

static stn_status one_text(stn_parser *parser, const char **out) {
    const stn_token *word;
    stn_status status = stn_parser_word(parser, "a text in quotes", &word);
    if (status) {
        return status;
    }
    *out = word->text;
    return end_of_line(parser);
}

static stn_status line_doc(stn_parser *parser) {
    return one_text(parser, &parser->rule->info.doc);
}

static stn_status line_source(stn_parser *parser) {
    return one_text(parser, &parser->rule->info.source);
}

static stn_status line_except(stn_parser *parser) {
    return one_text(parser, &parser->rule->info.exceptions);
}

static stn_status number(stn_parser *parser, const char *what, int64_t *out) {
    const stn_token *word;
    stn_status status = stn_parser_word(parser, what, &word);
    if (status) {
        return status;
    }
    if (word->quoted || !stn_lex_number(word->text, word->size, out) || *out < 0) {
        return stn_parser_fail(parser, "found \"%s\", expected %s", word->text, what);
    }
    return STN_OK;
}

static stn_status line_support(stn_parser *parser) {
    int64_t value = 0;
    stn_status status = number(parser, "a count", &value);
    parser->rule->info.support = (uint64_t)value;
    return status ? status : end_of_line(parser);
}

static stn_status line_states(stn_parser *parser) {
    const stn_token *word;
    if (parser->rule->framed) {
        return stn_parser_fail(parser, "a rule with frames has no other states");
    }
    stn_status status = stn_parser_word(parser, "a state", &word);
    while (!status) {
        status = stn_parser_state(parser, word->text);
        if (status || !stn_parser_peek(parser)) {
            return status;
        }
        status = stn_parser_word(parser, "a state", &word);
    }
    return status;
}

static stn_status line_registers(stn_parser *parser) {
    const stn_token *word;
    stn_status status = STN_OK;
    stn_rule *rule = parser->rule;
    while (!status && stn_parser_peek(parser)) {
        status = stn_parser_word(parser, "a register", &word);
        bool there = false;
        for (uint32_t i = 0; i < rule->register_count; i++) {
            there |= !strcmp(rule->registers[i], word->text);
        }
        if (there) {
            continue;
        }
        if (rule->register_count == STN_REGISTERS || rule->framed) {
            return stn_parser_fail(parser, "a rule has at most %d registers, one with frames none",
                                   STN_REGISTERS);
        }
        rule->registers[rule->register_count++] = word->text;
    }
    return status;
}

static stn_status line_needs(stn_parser *parser) {
    const stn_token *word;
    do {
        stn_status status = stn_parser_word(parser, "an event type", &word);
        if (status) {
            return status;
        }
        if (stn_grow(&parser->needs, &parser->need_capacity, parser->need_count + 1,
                     sizeof *parser->needs)) {
            return stn_parser_nomem(parser);
        }
        parser->needs[parser->need_count++] = word->text;
    } while (stn_parser_peek(parser));
    return STN_OK;
}

/* fresh STATE after TIME */
static stn_status line_fresh(stn_parser *parser) {
    const stn_token *word;
    stn_status status = stn_parser_word(parser, "a state", &word);
    if (status) {
        return status;
    }
    uint32_t state = stn_parser_state_find(parser, word->text);
    if (state == STN_STATE_SAME || !stn_parser_at(parser, "after")) {
        return stn_parser_fail(parser, "expected: fresh STATE after TIME, with a declared state");
    }
    parser->at++;
    int64_t time = 0;
    status = number(parser, "a time such as 10ms", &time);
    parser->rule->fresh = state;
    parser->rule->warmup_ns = (uint64_t)time;
    return status ? status : end_of_line(parser);
}

static uint32_t default_parts(const char *domain, stn_operand *parts) {
    if (!strcmp(domain, "thread")) {
        parts[0].kind = STN_OPERAND_TID;
        return 1;
    }
    if (!strcmp(domain, "cpu")) {
        parts[0].kind = STN_OPERAND_CPU;
        return 1;
    }
    return 0;
}

/* key DOMAIN [by FIELD…] */
static stn_status line_key(stn_parser *parser) {
    const stn_token *word;
    stn_rule *rule = parser->rule;
    stn_status status = stn_parser_word(parser, "a kind of key", &word);
    if (status) {
        return status;
    }
    if (rule->domain != UINT32_MAX) { /* transitions already read have the parts of the first */
        return stn_parser_fail(parser, "rule %s has a key already", rule->info.name);
    }
    rule->part_count = default_parts(word->text, rule->parts);
    if (stn_parser_at(parser, "by")) {
        parser->at++;
        status = stn_parser_parts(parser, rule->parts, &rule->part_count);
        if (status) {
            return status;
        }
    } else if (!rule->part_count && strcmp(word->text, "none") != 0) {
        return stn_parser_fail(parser, "key %s needs \"by\" and fields", word->text);
    }
    rule->domain = stn_rules_domain(parser->rules, word->text, rule->part_count);
    if (rule->domain == UINT32_MAX) {
        return stn_parser_nomem(parser);
    }
    uint32_t parts = parser->rules->domains[rule->domain].part_count;
    if (parts != rule->part_count) {
        return stn_parser_fail(parser, "key %s has %u parts in another rule, %u here", word->text,
                               parts, rule->part_count);
    }
    return end_of_line(parser);
}

static stn_status line_on(stn_parser *parser) {
    return stn_parser_row(parser);
}

stn_status stn_parser_line(stn_parser *parser) {
    static const struct {
        const char *word;
        stn_status (*read)(stn_parser *parser);
        bool needs_key;
    } lines[] = {{"doc", line_doc, false},       {"source", line_source, false},
                 {"except", line_except, false}, {"support", line_support, false},
                 {"states", line_states, false}, {"registers", line_registers, false},
                 {"needs", line_needs, false},   {"fresh", line_fresh, false},
                 {"key", line_key, false},       {"on", line_on, true}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (stn_parser_at(parser, lines[i].word)) {
            if (lines[i].needs_key && parser->rule->domain == UINT32_MAX) {
                return stn_parser_fail(parser, "rule %s needs a \"key\" line before this one",
                                       parser->rule->info.name);
            }
            parser->at++;
            return lines[i].read(parser);
        }
    }
    bool known = false;
    stn_status status = stn_parser_sugar(parser, &known);
    if (!known) {
        return stn_parser_fail(parser,
                               "found \"%s\", expected a line of a rule: doc source except support "
                               "needs key states registers fresh on pair order follow value never "
                               "delta monotone continuity frame",
                               stn_parser_peek(parser)->text);
    }
    return status;
}

/* ---- whole rules ------------------------------------------------------------------ */

static void set_bit(uint64_t *bits, uint32_t at) {
    bits[at / 64] |= UINT64_C(1) << (at % 64);
}

static stn_status row_states(stn_parser *parser, stn_row *row, uint32_t words) {
    uint64_t *bits = stn_arena_alloc(&parser->rules->arena, words * sizeof *bits);
    if (!bits) {
        return stn_parser_nomem(parser);
    }
    memset(bits, row->from_list ? 0 : 0xff, words * sizeof *bits);
    for (uint32_t i = 0; row->from_list && i < row->from_count; i++) {
        set_bit(bits, row->from_list[i]);
    }
    set_bit(bits, 0);
    row->from = bits;
    return STN_OK;
}

static void *keep_array(stn_parser *parser, const void *items, size_t size) {
    void *copy = stn_arena_alloc(&parser->rules->arena, size);
    if (copy && size) {
        memcpy(copy, items, size);
    }
    return copy;
}

static stn_status close_rule(stn_parser *parser) {
    stn_rule *rule = parser->rule;
    stn_rules *rules = parser->rules;
    if (!rule) {
        return STN_OK;
    }
    stn_status status = STN_OK;
    if (parser->follows) {
        static const char rest[] = "on * to unknown";
        status = stn_parser_rewritten(parser, rest, sizeof rest - 1);
    }
    if (!status && !parser->row_count) {
        parser->line = rule->line;
        status = stn_parser_fail(parser, "rule %s says nothing about any event", rule->info.name);
    }
    rule->words = (uint32_t)(parser->state_count + 63) / 64;
    for (size_t i = 0; i < parser->row_count && !status; i++) {
        status = row_states(parser, &parser->rows[i], rule->words);
    }
    if (status) {
        return status;
    }
    rule->rows = keep_array(parser, parser->rows, parser->row_count * sizeof *parser->rows);
    rule->row_count = (uint32_t)parser->row_count;
    rule->info.states =
        keep_array(parser, parser->states, parser->state_count * sizeof *parser->states);
    rule->info.state_count = (uint32_t)parser->state_count;
    rule->needs = keep_array(parser, parser->needs, parser->need_count * sizeof *parser->needs);
    rule->need_count = (uint32_t)parser->need_count;
    rule->text = keep_array(parser, parser->text, parser->text_size + 1);
    if (!rule->rows || !rule->info.states || !rule->needs || !rule->text ||
        stn_grow(&rules->rules, &rules->capacity, rules->count + 1, sizeof *rules->rules)) {
        return stn_parser_nomem(parser);
    }
    for (uint32_t i = 0; i < rule->need_count; i++) {
        if (stn_grow(&rules->needs, &rules->need_capacity, rules->need_count + 1,
                     sizeof *rules->needs)) {
            return stn_parser_nomem(parser);
        }
        rules->needs[rules->need_count++] = (stn_need){(uint32_t)rules->count, rule->needs[i]};
    }
    rule->cell = rules->domains[rule->domain].cell_count++;
    rule->index = (uint32_t)rules->count;
    rules->rules[rules->count++] = rule;
    parser->rule = NULL;
    return STN_OK;
}

static stn_status open_rule(stn_parser *parser) {
    const stn_token *name;
    parser->at++;
    stn_status status = stn_parser_word(parser, "the name of the rule", &name);
    if (status || (status = end_of_line(parser))) {
        return status;
    }
    stn_rule *rule = stn_arena_alloc(&parser->rules->arena, sizeof *rule);
    uint32_t id = stn_intern_add(&parser->rules->names, name->text, strlen(name->text));
    if (!rule || id == STN_INTERN_NONE) {
        return stn_parser_nomem(parser);
    }
    if (id < parser->rules->count && !strcmp(parser->rules->rules[id]->info.name, name->text)) {
        return stn_parser_fail(parser, "rule %s is there already", name->text);
    }
    *rule = (stn_rule){
        .info = {.name = name->text, .doc = "", .exceptions = "", .source = ""},
        .line = parser->line,
        .domain = UINT32_MAX,
    };
    parser->rule = rule;
    parser->state_count = parser->row_count = parser->need_count = parser->text_size = 0;
    parser->follows = false;
    status = stn_parser_state(parser, "unknown");
    return status ? status : text_line(parser, "");
}

static stn_status read_header(stn_parser *parser) {
    const stn_tokens *tokens = &parser->tokens;
    bool named = stn_parser_at(parser, "standin-rules");
    if (named && tokens->count == 2 && !strcmp(tokens->items[1].text, "1")) {
        return STN_OK;
    }
    return stn_parser_fail(parser, "found \"%s%s%s\", expected \"standin-rules 1\"",
                           tokens->items[0].text, named && tokens->count > 1 ? " " : "",
                           named && tokens->count > 1 ? tokens->items[1].text : "");
}

static stn_status read_line(stn_parser *parser, const char *line, size_t size, bool *headed) {
    stn_err err = {0};
    stn_status status = stn_lex_line(&parser->tokens, &parser->rules->arena, line, size, &err);
    if (status) {
        return stn_err_set(parser->err, status, "%s: line %u: %s", parser->name, parser->line,
                           err.text);
    }
    parser->at = 0;
    if (!parser->tokens.count) {
        return STN_OK;
    }
    if (!*headed) {
        *headed = true;
        return read_header(parser);
    }
    if (stn_parser_at(parser, "rule")) {
        status = close_rule(parser);
        return status ? status : open_rule(parser);
    }
    if (!parser->rule) {
        return stn_parser_fail(parser, "found \"%s\", expected \"rule NAME\"",
                               parser->tokens.items[0].text);
    }
    status = text_line(parser, "  ");
    return status ? status : stn_parser_line(parser);
}

static stn_status read_all(stn_parser *parser, const char *text, size_t size) {
    bool headed = false;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        parser->line++;
        stn_status status = read_line(parser, text + at, length, &headed);
        if (status) {
            return status;
        }
        at += length + 1;
    }
    if (!headed) {
        parser->line += !parser->line; /* lines are counted from 1, in a text without any too */
        return stn_parser_fail(parser, "the text is empty, expected \"standin-rules 1\"");
    }
    return close_rule(parser);
}

/* Only the first @p count rules stay, and only their names are known. */
static void take_back(stn_rules *rules, size_t count) {
    while (rules->count > count) {
        const stn_rule *rule = rules->rules[--rules->count];
        rules->domains[rule->domain].cell_count--;
    }
    stn_intern_fini(&rules->names);
    rules->names = (stn_intern){0};
    for (size_t i = 0; i < count; i++) {
        const char *name = rules->rules[i]->info.name;
        /* Without memory for it, a later rule may bear the name again: that harms nothing. */
        (void)!stn_intern_add(&rules->names, name, strlen(name));
    }
}

stn_status stn_rules_parse_into(stn_rules *rules, const char *text, size_t size, const char *name,
                                stn_err *err) {
    stn_parser parser = {.rules = rules, .name = name, .err = err};
    size_t before = rules->count;
    size_t needs_before = rules->need_count;
    stn_status status = read_all(&parser, text, size);
    if (status) {
        take_back(rules, before);
        rules->need_count = needs_before;
    }
    stn_tokens_fini(&parser.tokens);
    stn_free(parser.states);
    stn_free(parser.rows);
    stn_free(parser.needs);
    stn_free(parser.text);
    return status;
}
