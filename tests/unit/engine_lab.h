/** @file
 *  For the tests of models: the bundled configs, a scratch folder, a file written from a config. */
#ifndef STN_TESTS_UNIT_ENGINE_LAB_H
#define STN_TESTS_UNIT_ENGINE_LAB_H

#include "testing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm/engine/model.h"

#define LAB_CONFIGS STN_SOURCE_DIR "/tests/fuzz/corpus/config"

/** Call @p visit with the path of each *.json of @p folder. @return how many; -1: no folder */
static inline int lab_each(const char *folder, void (*visit)(const char *path, void *user),
                           void *user) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char path[2048];
    int count = 0;
    while (dir && (entry = readdir(dir)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".json") == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            visit(path, user);
            count++;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return dir ? count : -1;
}

/** Lay out the config at @p path, or fail. */
static inline void lab_plan(stn_llm_plan *plan, const char *path, stn_gguf_type quant) {
    stn_config config;
    stn_err err = {0};
    if (stn_config_load(&config, path, &err) != STN_OK ||
        stn_llm_plan_init(plan, &config, quant, &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
}

/** Write @p plan to @p out, or fail. @return bytes of the file */
static inline uint64_t lab_write(const stn_llm_plan *plan, const char *out, bool random,
                                 uint64_t seed) {
    stn_llm_write_options options = {.name = "lab", .random = random, .seed = seed};
    stn_err err = {0};
    uint64_t size;
    if (stn_llm_plan_write(plan, out, &options, &size, &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
    return size;
}

#endif
