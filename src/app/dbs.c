/* Places of latency databases, and what the user calls the things in them. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "app/dbs.h"
#include "app/emit.h"
#include "app/value.h"

/* ---- places ---------------------------------------------------------- */

/* Make the folders that lead to @p path. */
static stn_status make_folders(char *path, stn_err *err) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool failed = mkdir(path, 0755) != 0 && errno != EEXIST;
        stn_status status =
            failed ? stn_err_set(err, STN_EIO, "%s: %s", path, strerror(errno)) : STN_OK;
        *slash = '/';
        if (failed) {
            return status;
        }
    }
    return STN_OK;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

stn_status stn_db_place(const char *named, bool create, char *place, size_t size, stn_err *err) {
    const char *data = variable("XDG_DATA_HOME");
    const char *home = variable("HOME");
    named = named ? named : variable("STANDIN_DB");
    int used;
    if (named) {
        used = snprintf(place, size, "%s", named);
    } else if (data || home) {
        used = snprintf(place, size, "%s%s/standin/latency.db", data ? data : home,
                        data ? "" : "/.local/share");
    } else {
        return stn_err_set(err, STN_ENOTFOUND,
                           "which database? --db is not given, and there is no home folder");
    }
    if ((size_t)used >= size) {
        return stn_err_set(err, STN_ERANGE, "the name of the database is too long");
    }
    return !named && create ? make_folders(place, err) : STN_OK;
}

stn_status stn_db_open(stn_latdb **out, const char *named, stn_latdb_mode mode, stn_err *err) {
    char place[4096];
    *out = NULL;
    stn_status status = stn_db_place(named, mode == STN_LATDB_CREATE, place, sizeof place, err);
    return status == STN_OK ? stn_latdb_open(out, place, mode, err) : status;
}

/* ---- what a word means ----------------------------------------------- */

typedef struct choice {
    const char *word;
    stn_lat_id found; /* the first */
    unsigned count;
    char names[400]; /* of all */
} choice;

static bool holds(const char *text, const char *word) {
    size_t size = strlen(word);
    for (; *text; text++) {
        if (strncasecmp(text, word, size) == 0) {
            return true;
        }
    }
    return false;
}

static void offer(choice *c, stn_lat_id id, const char *name) {
    char digits[20];
    size_t size = strlen(c->word);
    snprintf(digits, sizeof digits, "%016" PRIx64, id);
    if ((size < 4 || strncasecmp(digits, c->word, size) != 0) && !(name && holds(name, c->word))) {
        return;
    }
    size_t used = strlen(c->names);
    snprintf(c->names + used, sizeof c->names - used, "%s%.16s%s%.60s", used ? "; " : "", digits,
             name ? " " : "", name ? name : "");
    c->found = c->count++ ? c->found : id;
}

static stn_status choose(stn_app *app, const choice *c, const char *option, const char *what,
                         stn_latdb *db, stn_lat_id *id, stn_err *err) {
    *id = c->found;
    if (c->count == 0) {
        return stn_err_set(err, STN_ENOTFOUND,
                           "%s: has no %s \"%s\"; standin db ls says what it has",
                           stn_latdb_place(db), what, c->word);
    }
    return c->count == 1 ? STN_OK
                         : stn_app_usage(app, err, "%s%s may be %u things: %s", option, c->word,
                                         c->count, c->names);
}

static stn_status offer_hardware(void *user, const stn_lat_hardware *item, stn_err *err) {
    (void)err;
    offer(user, item->id, item->name);
    return STN_OK;
}

static stn_status offer_engine(void *user, const stn_lat_engine *item, stn_err *err) {
    char text[400];
    (void)err;
    offer(user, item->id, stn_db_engine_text(item, text, sizeof text));
    return STN_OK;
}

static stn_status offer_signature(void *user, const stn_lat_signature *item, stn_err *err) {
    (void)err;
    offer(user, item->id, NULL);
    return STN_OK;
}

stn_status stn_db_hardware(stn_app *app, stn_latdb *db, const char *word, stn_lat_id *id,
                           stn_err *err) {
    choice c = {.word = word};
    char digits[20];
    stn_lat_machine machine;
    *id = 0;
    if (!word) {
        return STN_OK;
    }
    if (strcmp(word, "this") == 0) {
        stn_status status = stn_lat_machine_detect(&machine, "", err);
        if (status != STN_OK) {
            return status;
        }
        snprintf(digits, sizeof digits, "%016" PRIx64, machine.hardware.id);
        c.word = digits;
    }
    stn_status status = stn_latdb_each_hardware(db, offer_hardware, &c, err);
    return status == STN_OK ? choose(app, &c, "--hardware ", "hardware", db, id, err) : status;
}

stn_status stn_db_engine(stn_app *app, stn_latdb *db, const char *word, stn_lat_id *id,
                         stn_err *err) {
    choice c = {.word = word};
    *id = 0;
    stn_status status = word ? stn_latdb_each_engine(db, offer_engine, &c, err) : STN_OK;
    return word && status == STN_OK ? choose(app, &c, "--engine ", "engine", db, id, err) : status;
}

stn_status stn_db_signature(stn_app *app, stn_latdb *db, const char *word, stn_lat_id *id,
                            stn_err *err) {
    choice c = {.word = word};
    *id = 0;
    stn_status status = word ? stn_latdb_each_signature(db, offer_signature, &c, err) : STN_OK;
    return word && status == STN_OK ? choose(app, &c, "", "signature", db, id, err) : status;
}

/* ---- texts ----------------------------------------------------------- */

const char *stn_db_hardware_text(const stn_lat_hardware *hardware, char *text, size_t size) {
    bool gpu = strcmp(hardware->kind, "gpu") == 0;
    int used = snprintf(text, size, "%.200s", hardware->name);
    if (hardware->cores && used > 0) {
        used += snprintf(text + used, size - (size_t)used, ", %" PRIu64 " %s%s", hardware->cores,
                         gpu ? "multiprocessor" : "core", hardware->cores == 1 ? "" : "s");
    }
    if (hardware->memory_bytes && used > 0) {
        snprintf(text + used, size - (size_t)used, ", %.4g GiB",
                 (double)hardware->memory_bytes / (1 << 30));
    }
    return text;
}

/* Those of @p parts (ends with NULL) that are not "", blanks between. */
static const char *join(char *text, size_t size, const char *const *parts) {
    size_t used = 0;
    text[0] = '\0';
    for (; *parts && used < size; parts++) {
        if (**parts) {
            int more = snprintf(text + used, size - used, "%s%s", used ? " " : "", *parts);
            used += more > 0 ? (size_t)more : 0;
        }
    }
    return text;
}

const char *stn_db_engine_text(const stn_lat_engine *engine, char *text, size_t size) {
    const char *parts[] = {engine->name,          engine->version,  engine->backend,
                           engine->kernel_source, engine->settings, NULL};
    return join(text, size, parts);
}

const char *stn_db_signature_text(const stn_lat_signature *signature, char *text, size_t size) {
    const char *parts[] = {signature->kind, signature->dtypes, signature->dims, signature->layout,
                           NULL};
    return join(text, size, parts);
}

const char *stn_db_source_text(const stn_lat_source *source, uint64_t line, char *text,
                               size_t size) {
    char number[24] = "";
    bool both = source->format[0] && source->tool[0];
    if (line) {
        snprintf(number, sizeof number, ":%" PRIu64, line);
    }
    if (!source->file[0] && !source->format[0]) {
        snprintf(text, size, "%s%s%s", source->kind, source->tool[0] ? " by " : "", source->tool);
    } else {
        snprintf(text, size, "%s%s (%s%s%s)", source->file, number, source->format,
                 both ? ", " : "", source->tool);
    }
    return text;
}

/* ---- JSON ------------------------------------------------------------ */

json_t *stn_db_id_json(stn_lat_id id) {
    char digits[20];
    snprintf(digits, sizeof digits, "%016" PRIx64, id);
    return json_string(digits);
}

#define NUMBER(member) (json_int_t)(member)

json_t *stn_db_hardware_json(const stn_lat_hardware *h) {
    return json_pack(
        "{s:o, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}",
        "id", stn_db_id_json(h->id), "kind", h->kind, "vendor", h->vendor, "name", h->name,
        "revision", h->revision, "isa", h->isa, "sockets", NUMBER(h->sockets), "cores",
        NUMBER(h->cores), "threads", NUMBER(h->threads), "clock_max_hz", NUMBER(h->clock_max_hz),
        "l1d_bytes", NUMBER(h->l1d_bytes), "l2_bytes", NUMBER(h->l2_bytes), "l3_bytes",
        NUMBER(h->l3_bytes), "memory_bytes", NUMBER(h->memory_bytes), "clock_hz",
        NUMBER(h->clock_hz), "memory_bytes_per_s", NUMBER(h->memory_bytes_per_s), "driver",
        h->driver);
}

json_t *stn_db_engine_json(const stn_lat_engine *e) {
    return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s}", "id", stn_db_id_json(e->id), "name", e->name,
                     "version", e->version, "backend", e->backend, "kernel_source",
                     e->kernel_source, "settings", e->settings);
}

json_t *stn_db_signature_json(const stn_lat_signature *s) {
    return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s}", "id", stn_db_id_json(s->id), "kind", s->kind,
                     "dtypes", s->dtypes, "dims", s->dims, "layout", s->layout, "axes", s->axes);
}

json_t *stn_db_row_json(const stn_lat_row *row, size_t axes, const stn_lat_source *source) {
    json_t *point = json_array();
    for (size_t i = 0; i < axes; i++) {
        json_array_append_new(point, json_integer(row->point[i]));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:{s:s, s:s, s:s, s:s, s:I}}",
                     "point", point, "mean_ns", stn_emit_real(row->mean_ns), "median_ns",
                     stn_emit_real(row->median_ns), "min_ns", stn_emit_real(row->min_ns), "max_ns",
                     stn_emit_real(row->max_ns), "std_ns", stn_emit_real(row->std_ns), "count",
                     NUMBER(row->count), "time_s", NUMBER(row->time_s), "source", "kind",
                     source->kind, "format", source->format, "file", source->file, "tool",
                     source->tool, "line", NUMBER(row->line));
}
