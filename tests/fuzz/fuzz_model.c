/* Model files of any content: refused with a message, or a model that generates and whose own
 * file reads back. Each input is tried as it is and with its size and hash made right, so that
 * the parts behind the head are reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "kernel/synth/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 32, SIZE_AT = 16, HASH_AT = 24, GENERATED = 50 };

static void want(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_model: %s\n", what);
        abort();
    }
}

static void put_le(uint8_t *at, uint64_t value) {
    for (int i = 0; i < 8; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

static void generate(const stn_model *model, stn_catalog *catalog, bool unguided) {
    stn_generator *generator;
    stn_generate_options options = {.seed = 1, .unguided = unguided};
    stn_err err = {0};
    stn_event event;
    uint64_t last = 0;
    want(stn_generator_new(&generator, model, &options, catalog, &err) == STN_OK, err.text);
    for (int i = 0; i < GENERATED; i++) {
        want(stn_generator_next(generator, &event, &err) == STN_OK, err.text);
        want(event.time_ns >= last, "time falls");
        want(event.type < stn_catalog_type_count(catalog), "no such type");
        last = event.time_ns;
    }
    stn_generator_free(generator);
}

static void read_back(const stn_model *model) {
    stn_catalog *catalog;
    stn_model *again;
    stn_blob blob = {0};
    stn_err err = {0};
    want(stn_catalog_new(&catalog, &err) == STN_OK, "no catalog");
    want(stn_model_bytes(model, &blob, &err) == STN_OK, "no bytes");
    want(stn_model_parse(&again, blob.bytes, blob.size, catalog, &err) == STN_OK, err.text);
    stn_model_free(again);
    stn_blob_fini(&blob);
    stn_catalog_free(catalog);
}

static void parse(const uint8_t *data, size_t size) {
    stn_catalog *catalog;
    stn_model *model;
    stn_err err = {0};
    want(stn_catalog_new(&catalog, &err) == STN_OK, "no catalog");
    stn_status status = stn_model_parse(&model, data, size, catalog, &err);
    if (status == STN_OK) {
        generate(model, catalog, false);
        generate(model, catalog, true);
        read_back(model);
    } else {
        want(status == STN_EFORMAT && *err.text && !model, "refused without a message");
    }
    stn_model_free(model);
    stn_catalog_free(catalog);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16) {
        return 0;
    }
    parse(data, size);
    if (size >= HEAD) {
        uint8_t *mended = stn_malloc(size);
        want(mended, "no memory");
        memcpy(mended, data, size);
        put_le(mended + SIZE_AT, size - HEAD);
        put_le(mended + HASH_AT, stn_blob_hash(mended + HEAD, size - HEAD));
        parse(mended, size);
        stn_free(mended);
    }
    return 0;
}
