/* config.json, driven by the value rows of its architecture. */
#include "llm/engine/config.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "core/base/alloc.h"

enum { KEY_MAX = 128 };

/* A size is below this where its row says nothing else: no model is near. */
static const double usual_most = 1 << 24;

static const char *type_name(const json_t *item) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return names[json_typeof(item)];
}

/* The part of "a|b" up to the bar into @p out; what stands behind it, or NULL. */
static const char *first_of(const char *list, char out[KEY_MAX]) {
    assert(list); /* only rows that are never read or named have no keys */
    size_t size = strcspn(list, "|");
    snprintf(out, KEY_MAX, "%.*s", (int)size, list);
    return list[size] ? list + size + 1 : NULL;
}

/* What stands at "a" or "a.b"; NULL if it is not there or null. */
static stn_status at_path(const json_t *root, const char *path, const json_t **item, stn_err *err) {
    char outer[KEY_MAX];
    const char *dot = strchr(path, '.');
    *item = NULL;
    if (!dot) {
        *item = json_object_get(root, path);
    } else {
        snprintf(outer, sizeof outer, "%.*s", (int)(dot - path), path);
        const json_t *holder = json_object_get(root, outer);
        if (holder && !json_is_null(holder) && !json_is_object(holder)) {
            return stn_err_set(err, STN_EFORMAT, "%s: is %s; expected an object", outer,
                               type_name(holder));
        }
        *item = json_object_get(holder, dot + 1);
    }
    if (json_is_null(*item)) {
        *item = NULL;
    }
    return STN_OK;
}

/* The first of the row's keys that is there; @p key is its name, or that of the first. */
static stn_status find_key(const json_t *root, const stn_value_row *row, const json_t **item,
                           char key[KEY_MAX], stn_err *err) {
    const char *rest = row->keys;
    while (rest) {
        rest = first_of(rest, key);
        stn_status status = at_path(root, key, item, err);
        if (status != STN_OK || *item) {
            return status;
        }
    }
    first_of(row->keys, key);
    return STN_OK;
}

/* Place of @p word in "a|b|c", or -1. */
static int word_at(const char *words, const char *word) {
    char known[KEY_MAX];
    int index = 0;
    for (const char *rest = words; rest; index++) {
        rest = first_of(rest, known);
        if (strcmp(known, word) == 0) {
            return index;
        }
    }
    return -1;
}

/* ---- one value ------------------------------------------------------------------------------ */

/* "is 0.5", "is a text": what was found, for a message. */
static const char *shown(const json_t *item, char out[96]) {
    if (json_is_integer(item)) {
        snprintf(out, 96, "%" JSON_INTEGER_FORMAT, json_integer_value(item));
    } else if (json_is_real(item)) {
        snprintf(out, 96, "%g", json_real_value(item));
    } else if (json_is_string(item)) {
        size_t used = (size_t)snprintf(out, 96, "\"%.60s\"", json_string_value(item));
        for (size_t i = 0; i < used; i++) {
            out[i] = (unsigned char)out[i] < ' ' ? '?' : out[i];
        }
    } else {
        snprintf(out, 96, "%s", type_name(item));
    }
    return out;
}

static stn_status read_whole(const stn_value_row *row, const json_t *item, const char *key,
                             double *value, stn_err *err) {
    double least = row->kind == STN_VALUE_SIZE ? 1 : 0;
    double most = row->most > 0 ? row->most : usual_most;
    char found[96];
    *value = json_is_integer(item) ? (double)json_integer_value(item) : NAN;
    if (!(*value >= least && *value <= most)) {
        return stn_err_set(err, STN_EFORMAT, "%s: is %s; expected a whole number from %.0f to %.0f",
                           key, shown(item, found), least, most);
    }
    return STN_OK;
}

static stn_status read_real(const json_t *item, const char *key, double *value, stn_err *err) {
    char found[96];
    *value = json_is_number(item) ? json_number_value(item) : NAN;
    if (!(*value > 0 && *value < 1e30)) {
        return stn_err_set(err, STN_EFORMAT, "%s: is %s; expected a number above 0", key,
                           shown(item, found));
    }
    return STN_OK;
}

static stn_status read_word(const stn_value_row *row, const json_t *item, const char *key,
                            double *value, stn_err *err) {
    char found[96];
    int index = json_is_string(item) ? word_at(row->words, json_string_value(item)) : -1;
    if (index < 0) {
        return stn_err_set(err, json_is_string(item) ? STN_EUNSUPPORTED : STN_EFORMAT,
                           "%s: is %s; expected one of %s", key, shown(item, found), row->words);
    }
    *value = index;
    return STN_OK;
}

static stn_status read_list(const stn_value_row *row, const json_t *item, const char *key,
                            double *value, stn_err *err) {
    char found[KEY_MAX];
    if (!json_is_array(item)) {
        return stn_err_set(err, STN_EFORMAT, "%s: is %s; expected a list", key, shown(item, found));
    }
    *value = row->kind == STN_VALUE_LENGTH ? (double)json_array_size(item) : 0;
    if (row->kind == STN_VALUE_TURNS) {
        const char *rest = NULL;
        for (size_t i = 0; i < json_array_size(item); i++) {
            rest = first_of(rest ? rest : row->words, found);
            const char *word = json_string_value(json_array_get(item, i));
            *value += !word || strcmp(word, found) != 0;
        }
    }
    return STN_OK;
}

static stn_status read_item(const stn_value_row *row, const json_t *item, const char *key,
                            double *value, stn_err *err) {
    char found[96];
    switch (row->kind) {
    case STN_VALUE_REAL:
        return read_real(item, key, value, err);
    case STN_VALUE_FLAG:
        *value = json_is_true(item) ? 1 : 0;
        return json_is_boolean(item)
                   ? STN_OK
                   : stn_err_set(err, STN_EFORMAT, "%s: is %s; expected true or false", key,
                                 shown(item, found));
    case STN_VALUE_WORD:
        return read_word(row, item, key, value, err);
    case STN_VALUE_LENGTH:
    case STN_VALUE_TURNS:
        return read_list(row, item, key, value, err);
    default:
        return read_whole(row, item, key, value, err);
    }
}

/* What holds where no key of the row is there. */
static stn_status absent(const stn_value_row *row, const stn_config *config, const char *key,
                         double *value, stn_err *err) {
    *value = row->otherwise == STN_ELSE_NUMBER  ? row->number
             : row->otherwise == STN_ELSE_VALUE ? config->values[row->a]
                                                : NAN;
    if (row->otherwise == STN_ELSE_REFUSE) {
        return stn_err_set(err, STN_EFORMAT, "%s: is missing", key);
    }
    if (row->otherwise == STN_ELSE_VALUE && isnan(*value)) {
        const stn_value_row *other = stn_arch_value(config->arch, row->a);
        return stn_err_set(err, STN_EFORMAT, "%s: is missing, and %s is no whole number", key,
                           other->keys);
    }
    return STN_OK;
}

static double computed(const stn_value_row *row, const double *values) {
    double a = values[row->a];
    double b = values[row->b];
    switch (row->kind) {
    case STN_VALUE_SUM:
        return a + b;
    case STN_VALUE_PRODUCT:
        return a * b;
    case STN_VALUE_QUOTIENT:
        return fmod(a, b) > 0 ? (double)NAN : a / b;
    default:
        return row->number;
    }
}

static stn_status read_row(stn_config *config, const stn_value_row *row, const json_t *root,
                           stn_err *err) {
    double *value = &config->values[row->id];
    *value = NAN;
    if (!stn_when_holds(&row->when, config->values)) {
        return STN_OK;
    }
    if (row->kind >= STN_VALUE_FIXED) {
        *value = computed(row, config->values);
        return STN_OK;
    }
    const json_t *item;
    char key[KEY_MAX];
    stn_status status = find_key(root, row, &item, key, err);
    if (status == STN_OK) {
        status =
            item ? read_item(row, item, key, value, err) : absent(row, config, key, value, err);
    }
    return status;
}

/* ---- values together --------------------------------------------------------------------------
 */

static bool check_holds(stn_check_kind kind, double a, double b, double number) {
    switch (kind) {
    case STN_CHECK_SAME:
        return a == b;
    case STN_CHECK_AT_MOST:
        return a <= b;
    case STN_CHECK_BELOW:
        return a < b;
    case STN_CHECK_PART:
        return a < b || (a == 1 && b == 1);
    case STN_CHECK_MULTIPLE:
        return fmod(a, b) == 0;
    case STN_CHECK_EVEN:
        return fmod(a, 2) == 0;
    case STN_CHECK_IS:
        break;
    }
    return a == number;
}

static stn_status check(const stn_config *config, const stn_check_row *row, stn_err *err) {
    static const char *const relations[] = {
        [STN_CHECK_SAME] = "the same as",       [STN_CHECK_AT_MOST] = "at most",
        [STN_CHECK_BELOW] = "less than",        [STN_CHECK_PART] = "less than",
        [STN_CHECK_MULTIPLE] = "a multiple of",
    };
    double a = config->values[row->a];
    double b = config->values[row->b];
    if (isnan(a) || (row->b != STN_V_NONE && isnan(b)) ||
        check_holds(row->kind, a, b, row->number)) {
        return STN_OK;
    }
    char key[KEY_MAX];
    char other[KEY_MAX];
    first_of(stn_arch_value(config->arch, row->a)->keys, key);
    if (row->kind == STN_CHECK_EVEN) {
        return stn_err_set(err, STN_EFORMAT, "%s: is %.0f; expected an even number", key, a);
    }
    if (row->kind == STN_CHECK_IS) {
        return stn_err_set(err, STN_EUNSUPPORTED,
                           "%s: comes to %.0f; for %s llama.cpp has only %.0f", key, a,
                           config->model_type, row->number);
    }
    first_of(stn_arch_value(config->arch, row->b)->keys, other);
    return stn_err_set(err, STN_EFORMAT, "%s: is %.0f; expected %s %s, which is %.0f", key, a,
                       relations[row->kind], other, b);
}

static stn_status find_arch(stn_config *config, const json_t *root, stn_err *err) {
    const json_t *type = json_object_get(root, "model_type");
    char names[256];
    char found[96];
    if (!type) {
        return stn_err_set(err, STN_EFORMAT, "model_type: is missing");
    }
    if (!json_is_string(type)) {
        return stn_err_set(err, STN_EFORMAT, "model_type: is %s; expected a text",
                           shown(type, found));
    }
    config->arch = stn_arch_find(json_string_value(type));
    if (!config->arch) {
        return stn_err_set(err, STN_EUNSUPPORTED,
                           "model_type: %s is an architecture that is not known; known are %s",
                           shown(type, found), stn_arch_names(names, sizeof names));
    }
    snprintf(config->model_type, sizeof config->model_type, "%s", json_string_value(type));
    return STN_OK;
}

static stn_status read_root(stn_config *config, const json_t *root, stn_err *err) {
    if (!json_is_object(root)) {
        return stn_err_set(err, STN_EFORMAT, "is %s; expected an object", type_name(root));
    }
    stn_status status = find_arch(config, root, err);
    for (size_t i = 0; i < STN_V_COUNT; i++) {
        config->values[i] = NAN;
    }
    for (const stn_value_row *row = status == STN_OK ? config->arch->values : NULL;
         row && row->id != STN_V_NONE && status == STN_OK; row++) {
        status = read_row(config, row, root, err);
    }
    for (const stn_check_row *row = status == STN_OK ? config->arch->checks : NULL;
         row && row->a != STN_V_NONE && status == STN_OK; row++) {
        status = check(config, row, err);
    }
    return status;
}

/* jansson quotes the input in its messages: only what can be printed. */
static stn_status not_json(const json_error_t *error, const char *name, stn_err *err) {
    char text[JSON_ERROR_TEXT_LENGTH];
    snprintf(text, sizeof text, "%s", error->text);
    for (char *at = text; *at; at++) {
        *at = *at < ' ' || *at > '~' ? '?' : *at;
    }
    return stn_err_set(err, STN_EFORMAT, "%s: line %d, column %d: not JSON: %s", name, error->line,
                       error->column, text);
}

stn_status stn_config_parse(stn_config *config, const char *text, size_t size, const char *name,
                            stn_err *err) {
    json_error_t error;
    memset(config, 0, sizeof *config);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!root) {
        return not_json(&error, name, err);
    }
    stn_status status = read_root(config, root, err);
    json_decref(root);
    return status == STN_OK ? status : stn_err_prepend(err, status, "%s", name);
}

stn_status stn_config_load(stn_config *config, const char *path, stn_err *err) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return stn_err_set(err, errno == ENOENT ? STN_ENOTFOUND : STN_EIO, "%s: cannot open: %s",
                           path, strerror(errno));
    }
    char *text = stn_malloc(STN_CONFIG_MAX + 1);
    size_t size = text ? fread(text, 1, STN_CONFIG_MAX + 1, file) : 0;
    int code = ferror(file) ? errno : 0;
    fclose(file);
    stn_status status = STN_OK;
    if (!text) {
        status = stn_err_set(err, STN_ENOMEM, "out of memory for a config");
    } else if (code) {
        status = stn_err_set(err, STN_EIO, "%s: cannot read: %s", path, strerror(code));
    } else if (size > STN_CONFIG_MAX) {
        status = stn_err_set(err, STN_EFORMAT, "%s: longer than %zu bytes; no config.json is", path,
                             STN_CONFIG_MAX);
    } else {
        status = stn_config_parse(config, text, size, path, err);
    }
    stn_free(text);
    return status;
}
