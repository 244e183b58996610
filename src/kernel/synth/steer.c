#include "kernel/synth/steer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t find(char *const *labels, uint32_t count, const char *name, size_t size) {
    uint32_t i = 0;
    while (i < count && (strlen(labels[i]) != size || memcmp(labels[i], name, size) != 0)) {
        i++;
    }
    return i;
}

/* Size of the name before ":0.7". @return 0 if the share is none */
static size_t name_size(const char *part, size_t size, float *share) {
    const char *colon = memchr(part, ':', size);
    *share = 1;
    if (!colon) {
        return size;
    }
    size_t rest = size - (size_t)(colon + 1 - part);
    char number[32], *end = NULL;
    if (rest == 0 || rest >= sizeof number) {
        return 0;
    }
    memcpy(number, colon + 1, rest);
    number[rest] = '\0';
    *share = strtof(number, &end);
    bool plain = number[strspn(number, "0123456789.")] == '\0' && *end == '\0';
    return plain && *share > 0 && *share <= 1e6F ? (size_t)(colon - part) : 0;
}

static stn_status unknown(char *const *labels, uint32_t count, const char *name, size_t size,
                          stn_err *err) {
    char known[160] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < count && used + strlen(labels[i]) + 5 < sizeof known; i++) {
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s'%s'", i ? ", " : "", labels[i]);
    }
    return stn_err_set(err, STN_ERANGE, "the model knows no workload '%.*s'; it knows %s%s",
                       (int)(size < 80 ? size : 80), name, known, used ? "" : "too many to say");
}

stn_status stn_steer_read(stn_steer *steer, char *const *labels, uint32_t label_count,
                          const char *text, double weight, stn_err *err) {
    *steer = (stn_steer){.count = 1, .share = {1}, .weight = weight > 0 ? (float)weight : 1};
    uint32_t whole = text ? find(labels, label_count, text, strlen(text)) : label_count;
    steer->label[0] = !text && label_count == 1 ? 0 : whole;
    if (!text || whole < label_count) {
        return STN_OK;
    }
    float sum = 0;
    steer->count = 0;
    for (const char *part = text; part; steer->count++) {
        const char *plus = strchr(part, '+');
        size_t size = plus ? (size_t)(plus - part) : strlen(part);
        uint32_t n = steer->count;
        size_t named = n < STN_MIX_MAX ? name_size(part, size, &steer->share[n]) : 0;
        if (named == 0) {
            return stn_err_set(err, STN_ERANGE,
                               "\"%.80s\" is no mixture; expected up to %d workloads with shares "
                               "like fio:0.7+redis:0.3",
                               text, STN_MIX_MAX);
        }
        steer->label[n] = find(labels, label_count, part, named);
        if (steer->label[n] == label_count) {
            return unknown(labels, label_count, part, named, err);
        }
        sum += steer->share[n];
        part = plus ? plus + 1 : NULL;
    }
    for (uint32_t i = 0; i < steer->count; i++) {
        steer->share[i] /= sum;
    }
    return STN_OK;
}
