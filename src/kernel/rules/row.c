/* The clauses of a transition:
 *   on PATTERN… [but PATTERN…] [by FIELD…] [where COND and …] [from STATE…] [if COND and …]
 *      [within FRAME…] [to STATE | push FRAME | pop FRAME] [set REG = VALUE …] [else STATE] */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/intern.h"
#include "kernel/rules/parse.h"

/* Clauses gather here; what a row keeps is copied into the set's arena. */
enum { LIST_MAX = 4096 };

typedef enum clause_kind {
    CLAUSE_ON,
    CLAUSE_BUT,
    CLAUSE_BY,
    CLAUSE_WHERE,
    CLAUSE_FROM,
    CLAUSE_IF,
    CLAUSE_WITHIN,
    CLAUSE_TO,
    CLAUSE_PUSH,
    CLAUSE_POP,
    CLAUSE_SET,
    CLAUSE_ELSE,
    CLAUSE_COUNT,
} clause_kind;

static const char *const clauses[CLAUSE_COUNT] = {
    [CLAUSE_ON] = "on",         [CLAUSE_BUT] = "but",   [CLAUSE_BY] = "by",
    [CLAUSE_WHERE] = "where",   [CLAUSE_FROM] = "from", [CLAUSE_IF] = "if",
    [CLAUSE_WITHIN] = "within", [CLAUSE_TO] = "to",     [CLAUSE_PUSH] = "push",
    [CLAUSE_POP] = "pop",       [CLAUSE_SET] = "set",   [CLAUSE_ELSE] = "else"};

/* The clause that the next word begins, CLAUSE_COUNT if none. */
static clause_kind clause_here(const stn_parser *parser) {
    uint32_t kind = 0;
    while (kind < CLAUSE_COUNT && !stn_parser_at(parser, clauses[kind])) {
        kind++;
    }
    return (clause_kind)kind;
}

static bool at_clause(const stn_parser *parser) {
    return !stn_parser_peek(parser) || clause_here(parser) != CLAUSE_COUNT;
}

int64_t stn_text_value(const char *text, size_t size) {
    uint64_t hash = stn_hash_bytes(text, size);
    return (int64_t)((hash >> 2) | (UINT64_C(1) << 63) | 1);
}

static void *copy(stn_parser *parser, const void *items, size_t size) {
    void *memory = stn_arena_alloc(&parser->rules->arena, size);
    if (memory) {
        memcpy(memory, items, size);
    }
    return memory;
}

/* ---- operands ----------------------------------------------------------- */

static bool builtin_operand(const char *text, stn_operand *out) {
    static const struct {
        const char *name;
        stn_operand_kind kind;
    } names[] = {{"time", STN_OPERAND_TIME},       {"tid", STN_OPERAND_TID},
                 {"cpu", STN_OPERAND_CPU},         {"comm", STN_OPERAND_COMM},
                 {"syscall", STN_OPERAND_SYSCALL}, {"files", STN_OPERAND_FILES}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i].name, text)) {
            out->kind = names[i].kind;
            return true;
        }
    }
    return false;
}

/* "count|n": the first of these fields that an event has; ".comm": surely a field. */
static stn_status field_operand(stn_parser *parser, const char *text, stn_operand *out) {
    out->kind = STN_OPERAND_FIELD;
    text += *text == '.';
    while (true) {
        size_t size = strcspn(text, "|");
        if (!size || out->name_count == STN_ALTERNATIVES) {
            return stn_parser_fail(parser,
                                   "found \"%s\", expected 1 to %d field names with | "
                                   "between them",
                                   text, STN_ALTERNATIVES);
        }
        uint32_t id = stn_catalog_string(parser->rules->catalog, text, size);
        if (id == STN_NO_ID) {
            return stn_parser_nomem(parser);
        }
        out->names[out->name_count++] = id;
        if (!text[size]) {
            return STN_OK;
        }
        text += size + 1;
    }
}

stn_status stn_parser_operand(stn_parser *parser, const stn_token *word, stn_operand *out) {
    *out = (stn_operand){.kind = STN_OPERAND_CONST};
    if (word->quoted) {
        out->value = stn_text_value(word->text, word->size);
        return STN_OK;
    }
    if (stn_lex_number(word->text, word->size, &out->value)) {
        return STN_OK;
    }
    if (!strcmp(word->text, "none")) {
        out->value = STN_NO_VALUE;
        return STN_OK;
    }
    for (uint32_t i = 0; i < parser->rule->register_count; i++) {
        if (!strcmp(word->text, parser->rule->registers[i])) {
            out->kind = STN_OPERAND_REG;
            out->reg = i;
            return STN_OK;
        }
    }
    if (builtin_operand(word->text, out)) {
        return STN_OK;
    }
    return field_operand(parser, word->text, out);
}

static stn_status next_operand(stn_parser *parser, stn_operand *out) {
    const stn_token *word;
    stn_status status = stn_parser_word(parser, "a field, register or value", &word);
    return status ? status : stn_parser_operand(parser, word, out);
}

stn_status stn_parser_parts(stn_parser *parser, stn_operand *parts, uint32_t *count) {
    *count = 0;
    while (!at_clause(parser)) {
        if (*count == STN_KEY_PARTS) {
            return stn_parser_fail(parser, "a key has at most %d parts", STN_KEY_PARTS);
        }
        stn_status status = next_operand(parser, &parts[*count]);
        if (status) {
            return status;
        }
        uint32_t kind = parts[*count].kind;
        if (kind == STN_OPERAND_REG || kind == STN_OPERAND_CONST) {
            return stn_parser_fail(parser, "a key is made of fields, not of registers and values");
        }
        ++*count;
    }
    return *count ? STN_OK : stn_parser_fail(parser, "\"by\" needs at least one field");
}

/* ---- conditions --------------------------------------------------------- */

static int range_order(const void *a, const void *b) {
    const stn_range *x = a;
    const stn_range *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* "7", "0..9", "..5", "5..", "text", text */
static bool range_of(const stn_token *word, stn_range *range) {
    const char *dots = word->quoted ? NULL : strstr(word->text, "..");
    if (!dots) {
        if (word->quoted || !stn_lex_number(word->text, word->size, &range->low)) {
            range->low = stn_text_value(word->text, word->size);
        }
        range->high = range->low;
        return true;
    }
    size_t left = (size_t)(dots - word->text);
    size_t right = word->size - left - 2;
    range->low = STN_TEXT_VALUES;
    range->high = INT64_MAX;
    return (!left || stn_lex_number(word->text, left, &range->low)) &&
           (!right || stn_lex_number(dots + 2, right, &range->high)) && range->low <= range->high;
}

static stn_status value_set(stn_parser *parser, stn_cond *cond) {
    const stn_token *word;
    stn_status status = stn_parser_word(parser, "\"(\"", &word);
    if (status) {
        return status;
    }
    if (word->quoted || strcmp(word->text, "(") != 0) {
        return stn_parser_fail(parser, "found \"%s\", expected \"(\" and a set of values",
                               word->text);
    }
    size_t first = parser->at;
    size_t count = 0;
    while (!stn_parser_at(parser, ")")) {
        if (stn_parser_word(parser, "a value or \")\"", &word)) {
            return STN_EFORMAT;
        }
        count++;
    }
    stn_range *ranges = stn_arena_alloc(&parser->rules->arena, (count + 1) * sizeof *ranges);
    if (!ranges) {
        return stn_parser_nomem(parser);
    }
    for (size_t i = 0; i < count; i++) {
        if (!range_of(&parser->tokens.items[first + i], &ranges[i])) {
            return stn_parser_fail(parser, "found \"%s\", expected a range LOW..HIGH",
                                   parser->tokens.items[first + i].text);
        }
    }
    parser->at++;
    qsort(ranges, count, sizeof *ranges, range_order);
    cond->ranges = ranges;
    cond->range_count = (uint32_t)count;
    return count ? STN_OK : stn_parser_fail(parser, "an empty set of values");
}

static stn_status compare_of(stn_parser *parser, stn_cond *cond) {
    static const struct {
        const char *sign;
        stn_compare compare;
    } signs[] = {{"==", STN_COMPARE_EQ},  {"!=", STN_COMPARE_NE},     {"<", STN_COMPARE_LT},
                 {"<=", STN_COMPARE_LE},  {">", STN_COMPARE_GT},      {">=", STN_COMPARE_GE},
                 {"&", STN_COMPARE_MASK}, {"!&", STN_COMPARE_NOMASK}, {"in", STN_COMPARE_IN}};
    const stn_token *word;
    stn_status status = stn_parser_word(parser, "a comparison", &word);
    if (status) {
        return status;
    }
    bool negated = !word->quoted && !strcmp(word->text, "not");
    if (negated && (status = stn_parser_word(parser, "\"in\"", &word))) {
        return status;
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs && !word->quoted; i++) {
        if (!strcmp(signs[i].sign, word->text) &&
            (!negated || signs[i].compare == STN_COMPARE_IN)) {
            cond->compare = negated ? STN_COMPARE_NOT_IN : signs[i].compare;
            return STN_OK;
        }
    }
    return stn_parser_fail(parser, "found \"%s\", expected one of == != < <= > >= & !& in, not in",
                           word->text);
}

static bool is_text(const stn_operand *operand) {
    return operand->kind == STN_OPERAND_CONST && stn_value_is_text(operand->value);
}

/* A text is equal or not; it is neither more nor less than another and has no bits. */
static stn_status check_texts(stn_parser *parser, const stn_cond *cond) {
    bool orders = cond->compare >= STN_COMPARE_LT && cond->compare <= STN_COMPARE_NOMASK;
    if ((cond->subtracts && is_text(&cond->minus)) ||
        (orders && (is_text(&cond->left) || is_text(&cond->right)))) {
        return stn_parser_fail(parser, "a text in quotes takes part in == != in, not in");
    }
    return STN_OK;
}

static stn_status condition(stn_parser *parser, stn_cond *cond) {
    *cond = (stn_cond){0};
    stn_status status = next_operand(parser, &cond->left);
    if (!status && stn_parser_at(parser, "-")) {
        parser->at++;
        cond->subtracts = true;
        status = next_operand(parser, &cond->minus);
    }
    if (status || (status = compare_of(parser, cond))) {
        return status;
    }
    bool in = cond->compare == STN_COMPARE_IN || cond->compare == STN_COMPARE_NOT_IN;
    status = in ? value_set(parser, cond) : next_operand(parser, &cond->right);
    if (status || (status = check_texts(parser, cond)) || in || !stn_parser_at(parser, "+")) {
        return status;
    }
    parser->at++;
    const stn_token *word;
    if ((status = stn_parser_word(parser, "a number", &word))) {
        return status;
    }
    return stn_lex_number(word->text, word->size, &cond->add)
               ? STN_OK
               : stn_parser_fail(parser, "found \"%s\", expected a number", word->text);
}

static bool uses_register(const stn_cond *cond) {
    return cond->left.kind == STN_OPERAND_REG || cond->right.kind == STN_OPERAND_REG ||
           cond->minus.kind == STN_OPERAND_REG;
}

static stn_status conditions(stn_parser *parser, const stn_cond **out, uint32_t *count,
                             bool registers) {
    stn_cond found[16];
    uint32_t used = 0;
    do {
        parser->at += used > 0;
        if (used == sizeof found / sizeof *found) {
            return stn_parser_fail(parser, "more than %u conditions in one clause", used);
        }
        stn_status status = condition(parser, &found[used]);
        if (status) {
            return status;
        }
        if (!registers && uses_register(&found[used])) {
            return stn_parser_fail(parser, "\"where\" looks at the event alone; conditions on "
                                           "registers belong after \"if\"");
        }
        used++;
    } while (stn_parser_at(parser, "and"));
    *out = copy(parser, found, used * sizeof *found);
    *count = used;
    return *out ? STN_OK : stn_parser_nomem(parser);
}

/* ---- clauses -------------------------------------------------------------- */

static stn_status words(stn_parser *parser, const char *const **out, uint32_t *count) {
    size_t first = parser->at;
    while (!at_clause(parser)) {
        parser->at++;
    }
    *count = (uint32_t)(parser->at - first);
    if (!*count) {
        return stn_parser_fail(parser, "expected the name of an event type or a pattern");
    }
    const char **names = stn_arena_alloc(&parser->rules->arena, *count * sizeof *names);
    if (!names) {
        return stn_parser_nomem(parser);
    }
    for (uint32_t i = 0; i < *count; i++) {
        names[i] = parser->tokens.items[first + i].text;
    }
    *out = names;
    return STN_OK;
}

static stn_status state(stn_parser *parser, const char *what, uint32_t *out) {
    const stn_token *word;
    stn_status status = stn_parser_word(parser, what, &word);
    if (status) {
        return status;
    }
    *out = !strcmp(word->text, "same") && !word->quoted ? STN_STATE_SAME
                                                        : stn_parser_state_find(parser, word->text);
    if (*out == STN_STATE_SAME && strcmp(word->text, "same") != 0) {
        return stn_parser_fail(parser, "found \"%s\", expected %s of rule %s", word->text, what,
                               parser->rule->info.name);
    }
    return STN_OK;
}

static stn_status states(stn_parser *parser, const uint32_t **out, uint32_t *count) {
    if (stn_parser_at(parser, "any")) {
        parser->at++;
        return STN_OK;
    }
    uint32_t found[STN_STATES_MAX];
    *count = 0;
    while (!at_clause(parser)) {
        if (*count == STN_STATES_MAX) {
            return stn_parser_fail(parser, "more than %d states", STN_STATES_MAX);
        }
        stn_status status = state(parser, "a state", &found[*count]);
        if (status) {
            return status;
        }
        ++*count;
    }
    if (!*count) {
        return stn_parser_fail(parser, "expected a state, or \"any\"");
    }
    *out = copy(parser, found, *count * sizeof *found);
    return *out ? STN_OK : stn_parser_nomem(parser);
}

static stn_status assignments(stn_parser *parser, stn_row *row) {
    stn_assign found[STN_REGISTERS * 2];
    uint32_t used = 0;
    while (!at_clause(parser)) {
        stn_operand target;
        const stn_token *sign;
        stn_status status = next_operand(parser, &target);
        if (status || (status = stn_parser_word(parser, "\"=\" or \"+=\"", &sign))) {
            return status;
        }
        bool adds = !strcmp(sign->text, "+=");
        if (target.kind != STN_OPERAND_REG || (!adds && strcmp(sign->text, "=") != 0) ||
            used == sizeof found / sizeof *found) {
            return stn_parser_fail(parser,
                                   "expected REGISTER = VALUE or REGISTER += VALUE with a "
                                   "register of rule %s",
                                   parser->rule->info.name);
        }
        found[used] = (stn_assign){.reg = target.reg, .adds = adds};
        if ((status = next_operand(parser, &found[used].from))) {
            return status;
        }
        used++;
    }
    row->sets = copy(parser, found, used * sizeof *found);
    row->set_count = used;
    return row->sets ? STN_OK : stn_parser_nomem(parser);
}

static stn_status frame(stn_parser *parser, stn_row *row, stn_action action) {
    if (!parser->rule->framed) {
        return stn_parser_fail(parser, "push and pop need a rule with frames");
    }
    row->action = action;
    return state(parser, "a frame", &row->to);
}

static stn_status clause(stn_parser *parser, clause_kind kind, stn_row *row) {
    switch (kind) {
    case CLAUSE_BUT:
        return words(parser, &row->excluded, &row->excluded_count);
    case CLAUSE_BY:
        return stn_parser_parts(parser, row->parts, &row->part_count);
    case CLAUSE_WHERE:
        return conditions(parser, &row->where, &row->where_count, false);
    case CLAUSE_FROM:
        return states(parser, &row->from_list, &row->from_count);
    case CLAUSE_IF:
        return conditions(parser, &row->ifs, &row->if_count, true);
    case CLAUSE_WITHIN:
        if (!parser->rule->framed) {
            return stn_parser_fail(parser, "within needs a rule with frames");
        }
        return states(parser, &row->inside, &row->inside_count);
    case CLAUSE_TO:
        return state(parser, "a state", &row->to);
    case CLAUSE_PUSH:
        return frame(parser, row, STN_ACTION_PUSH);
    case CLAUSE_POP:
        return frame(parser, row, STN_ACTION_POP);
    case CLAUSE_SET:
        return assignments(parser, row);
    case CLAUSE_ELSE:
        return state(parser, "a state", &row->otherwise);
    case CLAUSE_ON:
    case CLAUSE_COUNT:
        break;
    }
    const stn_token *word = stn_parser_peek(parser);
    return stn_parser_fail(parser,
                           "found \"%s\", expected a clause: but by where from if within to push "
                           "pop set else",
                           kind == CLAUSE_ON ? "on" : word->text);
}

static stn_status check_parts(stn_parser *parser, const stn_row *row) {
    uint32_t want = parser->rules->domains[parser->rule->domain].part_count;
    if (row->part_count && row->part_count != want) {
        return stn_parser_fail(parser, "the key of rule %s has %u parts, this one has %u",
                               parser->rule->info.name, want, row->part_count);
    }
    if (!row->part_count && parser->rule->part_count != want) {
        return stn_parser_fail(parser,
                               "rule %s names no fields for its key: say \"by\" here or "
                               "behind \"key\"",
                               parser->rule->info.name);
    }
    return STN_OK;
}

stn_status stn_parser_row(stn_parser *parser) {
    stn_row row = {.line = parser->line, .to = STN_STATE_SAME, .otherwise = STN_STATE_SAME};
    stn_status status = words(parser, &row.patterns, &row.pattern_count);
    while (!status && stn_parser_peek(parser)) {
        clause_kind kind = clause_here(parser);
        parser->at += kind != CLAUSE_COUNT;
        status = clause(parser, kind, &row);
    }
    if (status || (status = check_parts(parser, &row))) {
        return status;
    }
    if (parser->row_count == STN_ROWS_MAX) {
        return stn_parser_fail(parser, "more than %d transitions", STN_ROWS_MAX);
    }
    if (stn_grow(&parser->rows, &parser->row_capacity, parser->row_count + 1,
                 sizeof *parser->rows)) {
        return stn_parser_nomem(parser);
    }
    parser->rows[parser->row_count++] = row;
    return STN_OK;
}
