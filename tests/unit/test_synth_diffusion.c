/* The diffusion kind: its channels, that it learns, that it repeats itself to the byte, after a
 * file and after an interruption, and that its rules and labels hold. */
#include <math.h>
#include <unistd.h>

#include "fixture.h"
#include "synth_lab.h"
#include "synth_model.h"

#include "core/base/alloc.h"
#include "kernel/synth/diffusion.h"
#include "kernel/synth/model.h"

enum { LEARNED = 1500, STEPS = 12, CONTEXT = 32, HEAD = 32 };

static const char *const workloads[] = {"backup"};

static stn_train_options tiny(void) {
    return (stn_train_options){
        .kind = "diffusion", .steps = STEPS, .context = CONTEXT, .workloads = workloads};
}

static lesson *learned;
static stn_blob file; /* bytes of the model */

static int learn(void **state) {
    (void)state;
    stn_train_options options = tiny();
    learned = lesson_learn_as(LEARNED, &options);
    assert_int_equal(stn_model_bytes(learned->model, &file, &learned->err), STN_OK);
    return 0;
}

static int forget(void **state) {
    (void)state;
    stn_blob_fini(&file);
    lesson_end(learned);
    return 0;
}

static void what_was_learned_is_reported(void **state) {
    (void)state;
    const stn_train_stats *s = &learned->stats;
    const stn_diffusion *d = learned->model->state;
    assert_string_equal(stn_model_kind(learned->model), "diffusion");
    assert_int_equal(s->steps, STEPS);
    assert_true(s->parameters > d->net.params.count && d->net.params.count > 10000);
    /* better than to take every type for as likely as any other, and every step */
    assert_true(s->valid_loss > 0 && s->valid_loss < log(learned->model->vocab.type_count));
    assert_true(s->step_loss > 0 && s->step_loss < log(STN_STEP_CLASSES));
    assert_true(s->markov_loss > 0);
    assert_null(d->net.params.gradient);
}

static void more_steps_learn_more(void **state) {
    (void)state;
    stn_train_options options = tiny();
    options.steps = 2;
    lesson *less = lesson_learn_as(LEARNED, &options);
    assert_true(learned->stats.valid_loss + learned->stats.step_loss <
                less->stats.valid_loss + less->stats.step_loss);
    lesson_end(less);
}

static void channels_can_be_chosen(void **state) {
    fixture *fx = *state;
    stn_channels c;
    const stn_vocab *vocab = &learned->model->vocab;
    assert_int_equal(stn_channels_init(&c, NULL, vocab, 2, &fx->err), STN_OK);
    assert_int_equal(c.count, STN_CHANNEL_COUNT);
    assert_int_equal(c.which[stn_channels_type(&c)], STN_CHANNEL_TYPE);
    assert_int_equal(stn_channels_init(&c, "dt,event", vocab, 2, &fx->err), STN_OK);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.classes[0], vocab->type_count + 1);
    assert_int_equal(stn_channels_init(&c, "event,dt,cpu,tid,comm,ret", vocab, 2, &fx->err),
                     STN_OK);
    uint32_t returned = 0;
    while (returned < c.count && c.which[returned] != STN_CHANNEL_RETURNED) {
        returned++;
    }
    assert_int_equal(c.classes[returned], STN_RETURNED_COUNT);
    assert_int_equal(stn_channels_init(&c, "event,cpu", vocab, 2, &fx->err), STN_ERANGE);
    assert_non_null(strstr(fx->err.text, "event and dt"));
    assert_int_equal(stn_channels_init(&c, "event,dt,colour", vocab, 2, &fx->err), STN_ERANGE);
    assert_non_null(strstr(fx->err.text, "'colour'"));
}

static void names_get_classes_of_their_own(void **state) {
    fixture *fx = *state;
    stn_channels c;
    assert_int_equal(stn_channels_init(&c, NULL, &learned->model->vocab, 3, &fx->err), STN_OK);
    assert_int_equal(stn_channels_meet(&c, 7), STN_OK);
    assert_int_equal(stn_channels_meet(&c, 2), STN_OK);
    assert_int_equal(stn_channels_meet(&c, 7), STN_OK);
    assert_int_equal(stn_channels_meet(&c, STN_WORLD_NONE), STN_OK);
    assert_int_equal(c.comm_classes, 4 + 2); /* other, three idle threads, two names */
    assert_int_equal(c.comm_class[7], 4);
    assert_int_equal(c.comm_class[2], 5);
    assert_int_equal(c.comm_class[3], 0);
    stn_channels_fini(&c);
}

static void steps_are_classes(void **state) {
    (void)state;
    assert_int_equal(stn_channels_step(0), 0);
    assert_int_equal(stn_channels_step(1000), stn_step_symbol(1000));
    assert_int_equal(stn_channels_step(UINT64_MAX), STN_STEP_CLASSES - 1);
}

static void loads_fade(void **state) {
    (void)state;
    static const char *const lines[] = {"1 0 10 sys_enter_read fd=3", "2 1 11 sys_exit_read ret=0"};
    lab *l = LAB_OPEN(lines, NULL);
    stn_channels c;
    uint16_t value[STN_CHANNEL_COUNT];
    assert_int_equal(stn_channels_init(&c, "event,dt,load", &l->vocab, LAB_CPUS, &l->err), STN_OK);
    lab_again(l);
    lab_happen(l, "1000 0 10 sys_enter_read fd=3");
    lab_happen(l, "11000 1 11 sys_exit_read ret=0");
    assert_float_equal(l->world.loads[0], 1 + exp(-1), 1e-9);
    assert_float_equal(l->world.loads[1], 1 + exp(-1.0 / 30), 1e-9);
    for (int i = 0; i < 100; i++) {
        lab_happen(l, "11000 1 11 sys_exit_read ret=0");
    }
    stn_channels_seen(&c, &l->world, 0, value);
    assert_int_equal(value[0], stn_step_symbol(101) / 4);
    stn_channels_fini(&c);
    lab_close(l);
}

static void each_cpu_sees_the_other(void **state) {
    (void)state;
    static const char *const lines[] = {"1 0 10 sys_enter_read fd=3", "2 1 11 sys_exit_read ret=0"};
    lab *l = LAB_OPEN(lines, NULL);
    stn_channels c;
    uint16_t of_0[STN_CHANNEL_COUNT], of_1[STN_CHANNEL_COUNT];
    assert_int_equal(stn_channels_init(&c, "event,dt,other,cpu", &l->vocab, LAB_CPUS, &l->err),
                     STN_OK);
    uint32_t at = 0;
    while (c.which[at] != STN_CHANNEL_OTHER) {
        at++;
    }
    lab_again(l);
    lab_happen(l, "1000 0 10 sys_enter_read fd=3");
    lab_happen(l, "3000 1 11 sys_exit_read ret=0");
    stn_channels_seen(&c, &l->world, 0, of_0);
    stn_channels_seen(&c, &l->world, 1, of_1);
    /* the other one's last event is this one's last event as it sees itself */
    uint32_t on_cpu = 0;
    while (c.which[on_cpu] != STN_CHANNEL_ON_CPU) {
        on_cpu++;
    }
    assert_int_equal(of_1[at + 1], of_0[on_cpu]);
    assert_int_equal(of_0[at + 1], of_1[on_cpu]);
    assert_int_not_equal(of_0[on_cpu], of_1[on_cpu]);
    /* CPU 0 is in a call, CPU 1 is not */
    assert_int_equal(of_1[at + 2], of_1[at + 1]);
    assert_int_equal(of_0[at + 2], 0);
    assert_int_equal(of_1[at + 3], stn_step_symbol(2000000) / 4); /* 2 ms */
    assert_int_equal(of_0[at + 3], 0);
    stn_channels_fini(&c);
    lab_close(l);
}

static void the_tail_is_cut(void **state) {
    (void)state;
    float p[] = {0.004F, 0.9F, 0.0089F, 0.0091F, 0};
    stn_past_cut(p, 5);
    assert_true(p[0] == 0 && p[2] == 0 && p[4] == 0);
    assert_true(p[1] == 0.9F && p[3] == 0.0091F);
}

/* Both draw: tables alone, or the network alone, would make another trace. */
static void network_and_tables_take_turns(void **state) {
    fixture *fx = *state;
    stn_model *other;
    stn_trace one, two;
    assert_int_equal(stn_model_parse(&other, file.bytes, file.size, fx->catalog, &fx->err), STN_OK);
    stn_diffusion *d = other->state;
    lesson_generate(other, fx->catalog, 5, true, 500, &fx->trace, NULL);
    for (size_t i = 0; i < d->net.params.count; i++) {
        d->net.params.weight[i] = 0; /* all types alike */
    }
    stn_trace_init(&one, fx->catalog);
    lesson_generate(other, fx->catalog, 5, true, 500, &one, NULL);
    assert_true(lesson_alike(&fx->trace, &one) < 500);
    for (uint32_t i = 0; i < d->markov.pool.case_count; i++) {
        d->markov.pool.cases[i] |= 0x3u; /* other steps */
    }
    stn_trace_init(&two, fx->catalog);
    lesson_generate(other, fx->catalog, 5, true, 500, &two, NULL);
    assert_true(lesson_alike(&one, &two) < 500);
    stn_trace_fini(&one);
    stn_trace_fini(&two);
    stn_model_free(other);
}

static void the_light_model_generates(void **state) {
    fixture *fx = *state;
    stn_train_options options = tiny();
    options.channels = "event,dt";
    options.steps = 3;
    lesson *light = lesson_learn_as(LEARNED, &options);
    stn_generate_stats stats;
    stn_trace_fini(&fx->trace);
    stn_trace_init(&fx->trace, light->catalog);
    lesson_generate(light->model, light->catalog, 1, false, 300, &fx->trace, &stats);
    assert_int_equal(stats.violations, 0);
    stn_trace_fini(&fx->trace);
    stn_trace_init(&fx->trace, fx->catalog);
    lesson_end(light);
}

static void a_loaded_model_generates_the_same_trace(void **state) {
    fixture *fx = *state;
    stn_model *loaded;
    assert_int_equal(stn_model_parse(&loaded, file.bytes, file.size, fx->catalog, &fx->err),
                     STN_OK);
    stn_trace original;
    stn_trace_init(&original, learned->catalog);
    lesson_generate(learned->model, learned->catalog, 11, false, 1000, &original, NULL);
    lesson_generate(loaded, fx->catalog, 11, false, 1000, &fx->trace, NULL);
    assert_int_equal(lesson_alike(&original, &fx->trace), 1000);
    stn_trace_fini(&original);
    stn_model_free(loaded);
}

static void rules_guide_it(void **state) {
    (void)state;
    stn_trace guided, free_trace;
    stn_generate_stats with, without;
    stn_trace_init(&guided, learned->catalog);
    stn_trace_init(&free_trace, learned->catalog);
    lesson_generate(learned->model, learned->catalog, 2, false, 1500, &guided, &with);
    lesson_generate(learned->model, learned->catalog, 2, true, 1500, &free_trace, &without);
    assert_int_equal(with.violations, 0);
    assert_true(without.violations > 0);
    stn_trace_fini(&guided);
    stn_trace_fini(&free_trace);
}

/* Nothing is drawn that training did not meet: every type, with a time of its own. */
static void only_what_training_met_is_drawn(void **state) {
    (void)state;
    const stn_diffusion *d = learned->model->state;
    uint32_t types = learned->model->vocab.type_count, steps = 0;
    for (uint32_t t = 0; t < types; t++) {
        const uint64_t *met = d->met_steps + (size_t)t * STN_STEP_WORDS;
        for (uint32_t s = 0; s < STN_STEP_WORDS; s++) {
            steps += (uint32_t)__builtin_popcountll(met[s]);
        }
    }
    assert_in_range(steps, types / 2, LEARNED);
}

/* ---- labels ---------------------------------------------------------------------- */

static void labels_are_known_by_name(void **state) {
    fixture *fx = *state;
    stn_generate_options options = {.workload = "backup", .label_weight = 1.5};
    stn_generator *generator;
    stn_event event;
    assert_int_equal(
        stn_generator_new(&generator, learned->model, &options, learned->catalog, &fx->err),
        STN_OK);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(stn_generator_next(generator, &event, &fx->err), STN_OK);
    }
    stn_generator_free(generator);
    options.workload = "fio";
    assert_int_equal(
        stn_generator_new(&generator, learned->model, &options, learned->catalog, &fx->err),
        STN_ERANGE);
    assert_null(generator);
    assert_non_null(strstr(fx->err.text, "'fio'"));
    assert_non_null(strstr(fx->err.text, "'backup'"));
}

/* ---- going on -------------------------------------------------------------------- */

static bool until_five(void *user, const stn_train_report *report) {
    (void)user;
    return report->steps < 5;
}

static void resuming_equals_never_having_stopped(void **state) {
    fixture *fx = *state;
    const stn_trace *runs[] = {&learned->trace};
    stn_train_options options = tiny();
    stn_model *model;
    const char *path = fx_path(fx, "a.checkpoint");
    options.checkpoint = path;
    options.report = until_five;
    assert_int_equal(
        stn_model_train(&model, runs, 1, &options, NULL, learned->catalog, NULL, NULL, &fx->err),
        STN_EINTR);
    assert_null(model);
    options.report = NULL;
    options.resume = true;
    assert_int_equal(
        stn_model_train(&model, runs, 1, &options, NULL, learned->catalog, NULL, NULL, &fx->err),
        STN_OK);
    stn_blob blob = {0};
    assert_int_equal(stn_model_bytes(model, &blob, &fx->err), STN_OK);
    assert_int_equal(blob.size, file.size);
    assert_memory_equal(blob.bytes, file.bytes, file.size);
    stn_blob_fini(&blob);
    stn_model_free(model);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(
        stn_model_train(&model, runs, 1, &options, NULL, learned->catalog, NULL, NULL, &fx->err),
        STN_ENOTFOUND);
}

/* ---- damage ---------------------------------------------------------------------- */

/* Parses the model's bytes with @p size of them at @p at changed by exclusive or with @p flip, the
 * hash made right again, and puts the bytes back. */
static stn_status parse_damaged(fixture *fx, size_t at, size_t size, uint8_t flip,
                                stn_model **model) {
    uint8_t hash_was[8];
    memcpy(hash_was, file.bytes + 24, 8);
    for (size_t i = 0; i < size; i++) {
        file.bytes[at + i] ^= flip;
    }
    uint64_t hash = stn_blob_hash(file.bytes + HEAD, file.size - HEAD);
    for (int i = 0; i < 8; i++) {
        file.bytes[24 + i] = (uint8_t)(hash >> 8 * i);
    }
    stn_status status = stn_model_parse(model, file.bytes, file.size, fx->catalog, &fx->err);
    for (size_t i = 0; i < size; i++) {
        file.bytes[at + i] ^= flip;
    }
    memcpy(file.bytes + 24, hash_was, 8);
    return status;
}

/* The parts themselves have to notice or to be sane. */
static void damage_with_a_right_hash_makes_no_harm(void **state) {
    fixture *fx = *state;
    stn_rng rng;
    stn_rng_init(&rng, 3);
    const stn_diffusion *d = learned->model->state;
    /* what lies before the weights: channels, steps, labels, shape */
    size_t end = file.size - d->net.params.count * sizeof(float);
    size_t refused = 0;
    for (int round = 0; round < 60; round++) {
        size_t at = round < 50 ? end - 1 - (size_t)round : end + (size_t)stn_rng_below(&rng, 4096);
        uint8_t flip = (uint8_t)(1 + stn_rng_below(&rng, 255));
        stn_model *model;
        stn_status status = parse_damaged(fx, at, 1, flip, &model);
        if (status == STN_OK) {
            stn_trace_fini(&fx->trace);
            stn_trace_init(&fx->trace, fx->catalog);
            lesson_generate(model, fx->catalog, at, false, 20, &fx->trace, NULL);
            stn_model_free(model);
        } else {
            assert_int_equal(status, STN_EFORMAT);
            refused++;
        }
    }
    assert_in_range(refused, 20, 60);
}

/* The last label's rate lies before six numbers of 32 bits and one of 64, before the weights;
 * turning its sign makes it negative. */
static void a_negative_rate_is_refused(void **state) {
    fixture *fx = *state;
    const stn_diffusion *d = learned->model->state;
    size_t weights = file.size - d->net.params.count * sizeof(float);
    stn_model *model;
    assert_true(d->rates[d->label_count - 1] > 0);
    assert_int_equal(parse_damaged(fx, weights - 33, 1, 0x80, &model), STN_EFORMAT);
}

static void each_failed_allocation_of_training_is_clean(void **state) {
    (void)state;
    stn_train_options options = tiny();
    options.steps = 1;
    lesson_faults(learned, 200, &options);
}

static void each_failed_allocation_of_generating_is_clean(void **state) {
    fixture *fx = *state;
    stn_generator *generator = NULL;
    stn_status status = STN_ENOMEM;
    size_t failures = 0;
    for (uint64_t nth = 1; status != STN_OK && nth < 100000; nth += 1 + nth / 10) {
        stn_alloc_fail_at(nth);
        status = stn_generator_new(&generator, learned->model, NULL, learned->catalog, &fx->err);
        stn_alloc_fail_at(0);
        failures += status != STN_OK;
        assert_true(status == STN_OK || (status == STN_ENOMEM && !generator));
    }
    assert_int_equal(status, STN_OK);
    assert_true(failures > 10);
    stn_generator_free(generator);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_learned_is_reported),
        cmocka_unit_test(more_steps_learn_more),
        cmocka_unit_test_setup_teardown(channels_can_be_chosen, fx_setup, fx_teardown),
        cmocka_unit_test_setup_teardown(names_get_classes_of_their_own, fx_setup, fx_teardown),
        cmocka_unit_test(steps_are_classes),
        cmocka_unit_test(loads_fade),
        cmocka_unit_test(each_cpu_sees_the_other),
        cmocka_unit_test(the_tail_is_cut),
        cmocka_unit_test_setup_teardown(network_and_tables_take_turns, fx_setup, fx_teardown),
        cmocka_unit_test_setup_teardown(the_light_model_generates, fx_setup, fx_teardown),
        cmocka_unit_test_setup_teardown(a_loaded_model_generates_the_same_trace, fx_setup,
                                        fx_teardown),
        cmocka_unit_test(rules_guide_it),
        cmocka_unit_test(only_what_training_met_is_drawn),
        cmocka_unit_test_setup_teardown(labels_are_known_by_name, fx_setup, fx_teardown),
        cmocka_unit_test_setup_teardown(resuming_equals_never_having_stopped, fx_setup,
                                        fx_teardown),
        cmocka_unit_test_setup_teardown(a_negative_rate_is_refused, fx_setup, fx_teardown),
        cmocka_unit_test_setup_teardown(damage_with_a_right_hash_makes_no_harm, fx_setup,
                                        fx_teardown),
        cmocka_unit_test_setup_teardown(each_failed_allocation_of_training_is_clean, fx_setup,
                                        fx_teardown),
        cmocka_unit_test_setup_teardown(each_failed_allocation_of_generating_is_clean, fx_setup,
                                        fx_teardown),
    };
    return cmocka_run_group_tests(tests, learn, forget);
}
