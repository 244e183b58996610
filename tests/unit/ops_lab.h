/** @file
 *  For the tests of op graphs: labels, nodes with labelled dimensions, comparisons as text. */
#ifndef STN_TESTS_UNIT_OPS_LAB_H
#define STN_TESTS_UNIT_OPS_LAB_H

#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "llm/ops/graph.h"

/** Labels as a small model and request would have them; several have the same size on purpose. */
static inline void lab_labels(stn_exprs *pool) {
    static const struct {
        const char *name;
        stn_origin origin;
        int64_t value;
    } rows[] = {
        {"n_embd", STN_ORIGIN_MODEL, 64},         {"n_head", STN_ORIGIN_MODEL, 4},
        {"n_head_kv", STN_ORIGIN_MODEL, 2},       {"head_dim", STN_ORIGIN_MODEL, 16},
        {"n_ff", STN_ORIGIN_MODEL, 96},           {"n_vocab", STN_ORIGIN_MODEL, 256},
        {"n_expert", STN_ORIGIN_MODEL, 8},        {"n_expert_used", STN_ORIGIN_MODEL, 2},
        {"n_expert_groups", STN_ORIGIN_MODEL, 4}, {"n_expert_groups_used", STN_ORIGIN_MODEL, 2},
        {"kv_lora_rank", STN_ORIGIN_MODEL, 32},   {"qk_rope_dim", STN_ORIGIN_MODEL, 16},
        {"d_conv", STN_ORIGIN_MODEL, 3},          {"one_head", STN_ORIGIN_MODEL, 1},
        {"n_tokens", STN_ORIGIN_REQUEST, 12},     {"n_seqs", STN_ORIGIN_REQUEST, 3},
        {"n_kv", STN_ORIGIN_REQUEST, 256},        {"n_outputs", STN_ORIGIN_REQUEST, 4},
        {"n_single", STN_ORIGIN_REQUEST, 1},      {"n_ctx_seq", STN_ORIGIN_CONTEXT, 512},
        {"n_seq_max", STN_ORIGIN_CONTEXT, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stn_expr_label(pool, rows[i].name, rows[i].origin, rows[i].value);
    }
}

static inline stn_expr lab_expr(stn_exprs *pool, const char *text) {
    stn_expr e;
    stn_err err = {0};
    if (stn_expr_parse(pool, text, &e, &err) != STN_OK) {
        fail_msg("%s", err.text);
    }
    return e;
}

/** "n_embd n_tokens" as dimensions, with their sizes and the strides of values without gaps. */
static inline void lab_shape(stn_exprs *pool, stn_node *node, const char *dims) {
    char words[256];
    char *save = NULL;
    uint32_t d = 0;
    snprintf(words, sizeof words, "%s", dims);
    for (uint32_t i = 0; i < STN_DIMS; i++) {
        node->dims[i] = STN_EXPR_ONE;
        node->ne[i] = 1;
        node->why[i] = NULL;
    }
    for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save), d++) {
        node->dims[d] = lab_expr(pool, word);
        if (!stn_expr_eval(pool, node->dims[d], NULL, &node->ne[d])) {
            node->ne[d] = 7; /* unknown */
        }
    }
    node->block = 1;
    uint64_t stride = 4;
    for (uint32_t i = 0; i < STN_DIMS; i++) {
        node->nb[i] = stride;
        stride *= (uint64_t)node->ne[i];
    }
}

/** Dimensions as "a b c", trailing ones left out. */
static inline const char *lab_dims(const stn_exprs *pool, const stn_expr *dims, char *buffer,
                                   size_t size) {
    uint32_t used = STN_DIMS;
    while (used > 1 && dims[used - 1] == STN_EXPR_ONE) {
        used--;
    }
    buffer[0] = '\0';
    for (uint32_t d = 0; d < used; d++) {
        char text[128];
        size_t at = strlen(buffer);
        snprintf(buffer + at, size - at, "%s%s", d ? " " : "",
                 stn_expr_text(pool, dims[d], text, sizeof text));
    }
    return buffer;
}

#endif
