/* Rule sets: making, adding, reading, writing back. */
#include "kernel/rules/set.h"

#include <fnmatch.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/instream.h"
#include "kernel/rules/builtin.h"

uint32_t stn_rules_domain(stn_rules *rules, const char *name, uint32_t part_count) {
    if (stn_grow(&rules->domains, &rules->domain_capacity, rules->domain_count + 1,
                 sizeof *rules->domains)) {
        return UINT32_MAX;
    }
    uint32_t id = stn_intern_add(&rules->domain_names, name, strlen(name));
    if (id == rules->domain_count) {
        rules->domains[rules->domain_count++] = (stn_domain){part_count, 0};
    }
    return id;
}

stn_status stn_rules_new(stn_rules **out, stn_catalog *catalog, stn_err *err) {
    *out = NULL;
    stn_rules *rules = stn_calloc(1, sizeof *rules);
    if (!rules) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for a rule set");
    }
    rules->catalog = catalog;
    pthread_mutex_init(&rules->lock, NULL);
    if (stn_rules_domain(rules, "thread", 1) != STN_DOMAIN_THREAD ||
        stn_rules_domain(rules, "(files)", 1) != STN_DOMAIN_FILES ||
        stn_rules_domain(rules, "cpu", 1) != STN_DOMAIN_CPU ||
        stn_rules_domain(rules, "none", 0) != STN_DOMAIN_NONE) {
        stn_rules_free(rules);
        return stn_err_set(err, STN_ENOMEM, "out of memory for a rule set");
    }
    /* Names that plans ask for: known from now on, so that making a plan interns nothing. */
    static const char *const names[] = {"next_pid", "pid", "clone_flags"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (stn_catalog_cstring(catalog, names[i]) == STN_NO_ID) {
            stn_rules_free(rules);
            return stn_err_set(err, STN_ENOMEM, "out of memory for a rule set");
        }
    }
    /* Cell 0 of a thread is its descriptor table, of a table the count of its renewals. */
    rules->domains[STN_DOMAIN_THREAD].cell_count = 1;
    rules->domains[STN_DOMAIN_FILES].cell_count = 1;
    *out = rules;
    return STN_OK;
}

void stn_rules_free(stn_rules *rules) {
    if (!rules) {
        return;
    }
    stn_rules_forget_plans(rules);
    stn_arena_fini(&rules->plan_arena);
    pthread_mutex_destroy(&rules->lock);
    stn_arena_fini(&rules->arena);
    stn_free(rules->rules);
    stn_free(rules->domains);
    stn_free(rules->needs);
    stn_intern_fini(&rules->names);
    stn_intern_fini(&rules->domain_names);
    stn_free(rules);
}

stn_status stn_rules_parse(stn_rules **out, const char *text, size_t size, const char *name,
                           stn_catalog *catalog, stn_err *err) {
    stn_status status = stn_rules_new(out, catalog, err);
    if (status) {
        return status;
    }
    status = stn_rules_parse_into(*out, text, size, name, err);
    if (status) {
        stn_rules_free(*out);
        *out = NULL;
    }
    return status;
}

stn_status stn_rules_builtin(stn_rules **out, stn_catalog *catalog, stn_err *err) {
    const char *text = stn_rules_builtin_text();
    return stn_rules_parse(out, text, strlen(text), "built-in rules", catalog, err);
}

const char *stn_rules_builtin_text(void) {
    return stn_kernel_rules;
}

/* All of a file as one text; the caller frees it in any case. */
static stn_status read_text(const char *path, char **text, size_t *used, stn_err *err) {
    size_t capacity = 0;
    stn_instream *in = NULL;
    stn_status status = stn_instream_open(&in, path, err);
    while (!status) {
        char *line;
        size_t size;
        status = stn_instream_line(in, &line, &size, err);
        if (!status && stn_grow(text, &capacity, *used + size + 1, 1)) {
            status = stn_err_set(err, STN_ENOMEM, "out of memory");
        }
        if (!status) {
            memcpy(*text + *used, line, size);
            *used += size;
            (*text)[(*used)++] = '\n';
        }
    }
    stn_instream_close(in);
    return status == STN_END ? STN_OK : stn_err_prepend(err, status, "%s", path);
}

stn_status stn_rules_load(stn_rules **out, const char *path, stn_catalog *catalog, stn_err *err) {
    char *text = NULL;
    size_t size = 0;
    *out = NULL;
    stn_status status = read_text(path, &text, &size, err);
    if (!status) {
        status = stn_rules_parse(out, text ? text : "", size, path, catalog, err);
    }
    stn_free(text);
    return status;
}

stn_status stn_rules_text(const stn_rules *rules, char **out, stn_err *err) {
    static const char head[] = "standin-rules 1\n";
    size_t size = sizeof head;
    *out = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        size += strlen(rules->rules[i]->text) + 1;
    }
    char *text = stn_malloc(size);
    if (!text) {
        return stn_err_set(err, STN_ENOMEM, "out of memory for the text of the rules");
    }
    size_t used = sizeof head - 1;
    memcpy(text, head, sizeof head);
    for (size_t i = 0; i < rules->count; i++) {
        size_t length = strlen(rules->rules[i]->text);
        text[used++] = '\n';
        memcpy(text + used, rules->rules[i]->text, length + 1);
        used += length;
    }
    *out = text;
    return STN_OK;
}

void stn_text_free(char *text) {
    stn_free(text);
}

stn_status stn_rules_add(stn_rules *rules, const stn_rules *more, stn_err *err) {
    char *text;
    stn_status status = stn_rules_text(more, &text, err);
    if (status) {
        return status;
    }
    status = stn_rules_parse_into(rules, text, strlen(text), "added rules", err);
    stn_text_free(text);
    stn_rules_forget_plans(rules);
    return status;
}

uint32_t stn_rules_count(const stn_rules *rules) {
    return (uint32_t)rules->count;
}

const stn_rule_info *stn_rules_at(const stn_rules *rules, uint32_t index) {
    return &rules->rules[index]->info;
}

bool stn_patterns_match(const char *const *patterns, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++) {
        if (!fnmatch(patterns[i], name, 0)) {
            return true;
        }
    }
    return false;
}
