/* Models and their files: a model that was saved and loaded generates the same trace; files
 * that are not one are refused with a sentence. */
#include "fixture.h"
#include "synth_model.h"

#include "core/base/alloc.h"
#include "kernel/synth/model.h"

enum { LEARNED = 2500, HEAD = 32 };

static lesson *learned;
static stn_blob file; /* bytes of the model */

static int learn(void **state) {
    (void)state;
    learned = lesson_learn(LEARNED);
    assert_int_equal(stn_model_bytes(learned->model, &file, &learned->err), STN_OK);
    return 0;
}

static int forget(void **state) {
    (void)state;
    stn_blob_fini(&file);
    lesson_end(learned);
    return 0;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_true(size == 0 || fwrite(bytes, 1, size, out) == size);
    assert_int_equal(fclose(out), 0);
}

static void what_was_learned_is_reported(void **state) {
    (void)state;
    assert_string_equal(stn_model_kind(learned->model), "markov");
    size_t events = 0, last = learned->trace.count - 1;
    for (size_t i = 0; i <= last; i++) {
        events += learned->trace.events[i].type != STN_TYPE_LOST;
    }
    double span =
        (double)(learned->trace.events[last].time_ns - learned->trace.events[0].time_ns) * 1e-9;
    assert_float_equal(stn_model_rate(learned->model), (double)events / span, 1e-3);
    assert_int_equal(learned->stats.events, events);
    assert_in_range(learned->stats.order, 1, 8);
    assert_true(learned->stats.parameters > 0);
    assert_true(learned->stats.peak_rss_bytes > 0);
    assert_true(learned->stats.train_loss > 0);
    assert_true(learned->stats.valid_loss > learned->stats.train_loss);
    assert_true(stn_rules_count(stn_model_rules(learned->model)) > 0);
}

static void a_loaded_model_generates_the_same_trace(void **state) {
    fixture *fx = *state;
    const char *path = fx_path(fx, "a.model");
    assert_int_equal(stn_model_save(learned->model, path, &fx->err), STN_OK);
    assert_int_equal(fx_entries(fx), 1);
    stn_model *loaded;
    assert_int_equal(stn_model_load(&loaded, path, fx->catalog, &fx->err), STN_OK);
    stn_trace original;
    stn_trace_init(&original, learned->catalog);
    lesson_generate(learned->model, learned->catalog, 11, false, 2000, &original, NULL);
    lesson_generate(loaded, fx->catalog, 11, false, 2000, &fx->trace, NULL);
    assert_int_equal(lesson_alike(&original, &fx->trace), 2000);
    stn_trace_fini(&original);
    /* and its file holds as much; tables may lie in another order */
    stn_blob again = {0};
    assert_int_equal(stn_model_bytes(loaded, &again, &fx->err), STN_OK);
    assert_int_equal(again.size, file.size);
    stn_blob_fini(&again);
    assert_true(stn_model_rate(loaded) == stn_model_rate(learned->model));
    stn_model_free(loaded);
}

static void the_same_training_writes_the_same_bytes(void **state) {
    (void)state;
    lesson *again = lesson_learn(LEARNED);
    stn_blob blob = {0};
    assert_int_equal(stn_model_bytes(again->model, &blob, &again->err), STN_OK);
    assert_int_equal(blob.size, file.size);
    assert_memory_equal(blob.bytes, file.bytes, file.size);
    stn_blob_fini(&blob);
    lesson_end(again);
}

static void wants(fixture *fx, const uint8_t *bytes, size_t size, const char *sentence) {
    const char *path = fx_path(fx, "bad.model");
    stn_model *model = (stn_model *)fx;
    write_file(path, bytes, size);
    fx->err.text[0] = 0;
    assert_int_equal(stn_model_load(&model, path, fx->catalog, &fx->err), STN_EFORMAT);
    assert_null(model);
    if (strncmp(fx->err.text, path, strlen(path)) != 0 || !strstr(fx->err.text, sentence)) {
        fail_msg("\"%s\" should name the file and say \"%s\"", fx->err.text, sentence);
    }
    assert_null(strchr(fx->err.text, '\n'));
}

static void what_is_no_model_is_refused(void **state) {
    fixture *fx = *state;
    static const char text[] = "# tracer: nop\n bash-1 [000] 1.000000: sys_enter_read: fd=3\n";
    wants(fx, NULL, 0, "does not begin with \"STNMODEL\"");
    wants(fx, (const uint8_t *)text, strlen(text), "does not begin with \"STNMODEL\"");
    wants(fx, file.bytes, 7, "does not begin with \"STNMODEL\"");
    stn_model *model;
    assert_int_equal(stn_model_load(&model, fx_path(fx, "none"), fx->catalog, &fx->err),
                     STN_ENOTFOUND);
    assert_non_null(strstr(fx->err.text, "none: "));
}

static void cut_files_are_refused(void **state) {
    fixture *fx = *state;
    for (size_t size = 8; size < HEAD; size += 5) {
        wants(fx, file.bytes, size, "ends inside its head");
    }
    wants(fx, file.bytes, HEAD, "cut short");
    wants(fx, file.bytes, file.size / 2, "cut short");
    wants(fx, file.bytes, file.size - 1, "cut short");
    uint8_t *longer = stn_malloc(file.size + 1);
    assert_non_null(longer);
    memcpy(longer, file.bytes, file.size);
    longer[file.size] = 0;
    wants(fx, longer, file.size + 1, "followed by other bytes");
    stn_free(longer);
}

static void other_versions_are_refused(void **state) {
    fixture *fx = *state;
    file.bytes[8] ^= 0x40;
    wants(fx, file.bytes, file.size, "version");
    file.bytes[8] ^= 0x40;
}

static void a_damaged_byte_is_noticed_anywhere(void **state) {
    fixture *fx = *state;
    for (int i = 0; i <= 16; i++) {
        size_t at = HEAD + (file.size - HEAD - 1) * (size_t)i / 16;
        file.bytes[at] ^= 1;
        wants(fx, file.bytes, file.size, "damaged");
        file.bytes[at] ^= 1;
    }
    file.bytes[24] ^= 1; /* in the hash itself */
    wants(fx, file.bytes, file.size, "damaged");
    file.bytes[24] ^= 1;
}

/* With the hash made right again, the parts themselves have to notice or to be sane. */
static void damage_with_a_right_hash_makes_no_harm(void **state) {
    fixture *fx = *state;
    stn_rng rng;
    stn_rng_init(&rng, 1);
    size_t refused = 0;
    for (int round = 0; round < 60; round++) {
        size_t at = HEAD + (size_t)stn_rng_below(&rng, file.size - HEAD);
        uint8_t flip = (uint8_t)(1 + stn_rng_below(&rng, 255));
        uint8_t head[8];
        memcpy(head, file.bytes + 24, 8);
        file.bytes[at] ^= flip;
        uint64_t hash = stn_blob_hash(file.bytes + HEAD, file.size - HEAD);
        for (int i = 0; i < 8; i++) {
            file.bytes[24 + i] = (uint8_t)(hash >> 8 * i);
        }
        stn_model *model;
        fx->err.text[0] = 0;
        stn_status status = stn_model_parse(&model, file.bytes, file.size, fx->catalog, &fx->err);
        if (status == STN_OK) {
            stn_trace_fini(&fx->trace);
            stn_trace_init(&fx->trace, fx->catalog);
            lesson_generate(model, fx->catalog, at, false, 20, &fx->trace, NULL);
            stn_model_free(model);
        } else {
            assert_int_equal(status, STN_EFORMAT);
            assert_true(fx->err.text[0] != 0);
            refused++;
        }
        file.bytes[at] ^= flip;
        memcpy(file.bytes + 24, head, 8);
    }
    assert_true(refused > 0);
}

/* Every allocation of the first ones, then some of the many. */
static uint64_t next_fault(uint64_t nth, uint64_t many) {
    return nth < 40 ? nth + 1 : nth + 1 + nth / (many ? many : 1);
}

static void each_failed_allocation_of_reading_is_clean(void **state) {
    fixture *fx = *state;
    stn_model *model = NULL;
    stn_status status = STN_ENOMEM;
    size_t failures = 0;
    for (uint64_t nth = 1; status != STN_OK && nth < 1000000; nth = next_fault(nth, 6)) {
        fixture *fresh = NULL; /* a full catalog would allocate no more */
        assert_int_equal(fx_setup((void **)&fresh), 0);
        stn_alloc_fail_at(nth);
        status = stn_model_parse(&model, file.bytes, file.size, fresh->catalog, &fx->err);
        stn_alloc_fail_at(0);
        if (status != STN_OK) {
            assert_int_equal(status, STN_ENOMEM);
            assert_null(model);
            assert_non_null(strstr(fx->err.text, "memory"));
            failures++;
        }
        stn_model_free(model);
        model = NULL;
        fx_teardown((void **)&fresh);
    }
    assert_int_equal(status, STN_OK);
    assert_true(failures > 20);
}

static void each_failed_allocation_of_writing_leaves_nothing(void **state) {
    fixture *fx = *state;
    const char *path = fx_path(fx, "a.model");
    stn_status status = STN_ENOMEM;
    size_t failures = 0;
    for (uint64_t nth = 1; status != STN_OK && nth < 1000000; nth = next_fault(nth, 3)) {
        stn_alloc_fail_at(nth);
        status = stn_model_save(learned->model, path, &fx->err);
        stn_alloc_fail_at(0);
        if (status != STN_OK) {
            assert_int_equal(status, STN_ENOMEM);
            assert_int_equal(fx_entries(fx), 0);
            failures++;
        }
    }
    assert_int_equal(status, STN_OK);
    assert_true(failures > 5);
    assert_int_equal(fx_entries(fx), 1);
}

static void each_failed_allocation_of_training_is_clean(void **state) {
    (void)state;
    lesson_faults(learned, 200, NULL);
}

static void training_refuses_what_it_cannot_learn_from(void **state) {
    fixture *fx = *state;
    const stn_trace *runs[] = {&fx->trace};
    stn_model *model;
    stn_train_options options = {.kind = "crystal ball"};
    assert_int_equal(
        stn_model_train(&model, runs, 1, NULL, NULL, fx->catalog, NULL, NULL, &fx->err),
        STN_EFORMAT);
    assert_non_null(strstr(fx->err.text, "no events"));
    assert_int_equal(
        stn_model_train(&model, runs, 1, &options, NULL, fx->catalog, NULL, NULL, &fx->err),
        STN_ERANGE);
    assert_non_null(strstr(fx->err.text, "\"crystal ball\""));
    const stn_trace *learnable[] = {&learned->trace};
    options = (stn_train_options){.valid_share = 1};
    assert_int_equal(stn_model_train(&model, learnable, 1, &options, NULL, learned->catalog, NULL,
                                     NULL, &fx->err),
                     STN_ERANGE);
    assert_null(model);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_learned_is_reported),
        WITH_FIXTURE(a_loaded_model_generates_the_same_trace),
        cmocka_unit_test(the_same_training_writes_the_same_bytes),
        WITH_FIXTURE(what_is_no_model_is_refused),
        WITH_FIXTURE(cut_files_are_refused),
        WITH_FIXTURE(other_versions_are_refused),
        WITH_FIXTURE(a_damaged_byte_is_noticed_anywhere),
        WITH_FIXTURE(damage_with_a_right_hash_makes_no_harm),
        WITH_FIXTURE(each_failed_allocation_of_reading_is_clean),
        WITH_FIXTURE(each_failed_allocation_of_writing_leaves_nothing),
        WITH_FIXTURE(each_failed_allocation_of_training_is_clean),
        WITH_FIXTURE(training_refuses_what_it_cannot_learn_from),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
