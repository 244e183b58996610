/* Templates: where their words lie, that equal ones are kept once, which one is drawn. */
#include "synth_bytes.h"
#include "synth_lab.h"

#include "kernel/synth/template.h"

static const char *const vocabulary[] = {
    "1 0 1 make id=1 color=4",
    "2 0 1 use id=1 color=4",
    "3 0 1 pause",
    "4 0 2 sched_waking pid=1 target_cpu=0",
    "5 0 2 sched_switch prev_pid=1 prev_state=1 next_pid=2",
    "6 0 2 irq_handler_entry irq=3",
    "7 0 2 irq_handler_exit irq=3",
    "8 0 2 sched_wakeup pid=1 target_cpu=0",
};

typedef struct bench {
    lab *lab;
    stn_templates templates;
    stn_templates_builder builder;
    stn_rng rng;
} bench;

static bench *on; /* for read_templates() */

static int open_bench(void **state) {
    bench *b = calloc(1, sizeof *b);
    b->lab = LAB_OPEN(vocabulary, lab_things);
    assert_int_equal(stn_templates_init(&b->templates, &b->lab->vocab, &b->lab->domains), STN_OK);
    stn_rng_init(&b->rng, 4);
    *state = on = b;
    return 0;
}

static int close_bench(void **state) {
    bench *b = *state;
    stn_templates_fini(&b->templates);
    stn_templates_builder_fini(&b->builder);
    lab_close(b->lab);
    free(b);
    return 0;
}

static const stn_layout *layout_of(const bench *b, const char *type) {
    return &b->templates.layouts[lab_type(b->lab, type)];
}

/* The event is about to happen: the running thread is that of its CPU. */
static uint32_t about_to(bench *b, const char *line) {
    uint32_t current;
    lab_draft(b->lab, line);
    assert_int_equal(stn_world_seat(&b->lab->world, &b->lab->draft, &current), STN_OK);
    return current;
}

/* Count a template of which all words are @p word. */
static stn_status try_count(bench *b, const char *line, uint64_t told, uint32_t word) {
    uint64_t rungs[STN_POOL_DEPTH];
    uint32_t words[UINT8_MAX];
    uint32_t current = about_to(b, line);
    uint32_t count = stn_template_rungs(&b->lab->world, &b->lab->draft, current, told, rungs);
    for (size_t i = 0; i < UINT8_MAX; i++) {
        words[i] = word;
    }
    return stn_templates_add(&b->builder, &b->templates.layouts[b->lab->draft.type], rungs, count,
                             words);
}

static void count(bench *b, const char *line, uint64_t told, uint32_t word, int times) {
    for (int i = 0; i < times; i++) {
        assert_int_equal(try_count(b, line, told, word), STN_OK);
    }
}

static void build(bench *b) {
    assert_int_equal(stn_templates_build(&b->templates, &b->builder), STN_OK);
}

static const uint32_t *draw(bench *b, const char *line, uint64_t told, bool wide) {
    uint32_t current = about_to(b, line);
    return stn_template_draw(&b->templates, &b->lab->world, &b->lab->draft, current, told, wide,
                             &b->rng);
}

/* Which words, as bits, a hundred draws give; 0: none. */
static uint32_t drawn(bench *b, const char *line, uint64_t told, bool wide) {
    uint32_t bits = 0;
    for (int i = 0; i < 100; i++) {
        const uint32_t *words = draw(b, line, told, wide);
        bits |= words ? 1u << words[0] : 0;
    }
    return bits;
}

/* ---- layouts ------------------------------------------------------------------------------ */

/* Each part has its own words, and there are no others. */
static void layouts_have_room_for_each_part_once(void **state) {
    bench *b = *state;
    for (uint32_t t = 0; t < b->lab->vocab.type_count; t++) {
        const stn_layout *layout = &b->templates.layouts[t];
        uint8_t used[UINT8_MAX + 1] = {0};
        for (uint16_t f = 0; f < b->lab->vocab.types[t].field_count; f++) {
            bool thread = stn_means_thread(b->lab->vocab.types[t].fields[f].means);
            for (int i = 0; i < (thread ? STN_THREAD_PARTS : 1); i++) {
                used[layout->field[f] + i]++;
            }
        }
        for (uint8_t k = 0; k < b->lab->domains.types[t].count; k++) {
            for (int i = 0; i < STN_KEY_PARTS; i++) {
                used[layout->key[k] + i]++;
            }
        }
        for (int i = 0; i <= UINT8_MAX; i++) {
            assert_int_equal(used[i], i < layout->size);
        }
    }
    assert_int_equal(layout_of(b, "pause")->size, 0);
    assert_int_equal(layout_of(b, "make")->size, 2 + STN_KEY_PARTS); /* id, color, thing */
    assert_int_equal(layout_of(b, "sched_waking")->size, STN_THREAD_PARTS + 1);
    assert_int_equal(layout_of(b, "sched_switch")->size, 2 + STN_THREAD_PARTS);
}

/* ---- counting ----------------------------------------------------------------------------- */

static void equal_templates_are_kept_once(void **state) {
    bench *b = *state;
    size_t size = layout_of(b, "make")->size;
    count(b, "1 0 10 make id=1 color=4", 0, 5, 7);
    assert_int_equal(b->builder.count, size);
    count(b, "1 1 11 make id=1 color=4", 9, 5, 1); /* in another context: the same words */
    assert_int_equal(b->builder.count, size);
    count(b, "1 0 10 make id=1 color=4", 0, 6, 2);
    assert_int_equal(b->builder.count, 2 * size);
    count(b, "1 0 10 make id=1 color=4", 0, 5, 1);
    assert_int_equal(b->builder.count, 2 * size);
    count(b, "1 0 10 pause", 0, 5, 3); /* of no words */
    assert_int_equal(b->builder.count, 2 * size);
    count(b, "1 0 10 sched_waking pid=1 target_cpu=0", 0, 5, 1); /* equal words of another type */
    assert_int_equal(b->builder.count, 2 * size + STN_THREAD_PARTS + 1);
    build(b);
    assert_int_equal(b->templates.word_count, 2 * size + STN_THREAD_PARTS + 1);
    assert_int_equal(b->templates.pool.case_count, 7 + 1 + 2 + 1 + 3 + 1);
    assert_null(b->builder.words); /* taken over */
}

static void types_of_no_words_can_come_first(void **state) {
    bench *b = *state;
    count(b, "1 0 10 pause", 0, 5, 3);
    assert_int_equal(b->builder.count, 0);
    build(b);
    assert_int_equal(b->templates.word_count, 0);
    assert_int_equal(b->templates.pool.case_count, 3);
}

/* ---- drawing ------------------------------------------------------------------------------ */

static void the_deepest_context_is_drawn_from(void **state) {
    bench *b = *state;
    static const char make[] = "9 0 10 make id=1 color=4";
    lab_happen(b->lab, "1 0 10 use id=1 color=4");
    count(b, make, 1, 1, 4);
    count(b, make, 2, 2, 4);
    lab_happen(b->lab, "2 0 10 pause");
    count(b, make, 1, 3, 4);
    lab_happen(b->lab, "3 1 12 sched_wakeup pid=20 target_cpu=0"); /* somebody waits */
    count(b, make, 1, 4, 4);
    lab_happen(b->lab, "4 0 10 irq_handler_entry irq=3");
    count(b, make, 1, 5, 4);
    build(b);
    assert_int_equal(drawn(b, make, 1, false), 1u << 5); /* in the handler */
    assert_int_equal(drawn(b, make, 7, false), 1u << 5); /* whatever tells */
    lab_happen(b->lab, "5 0 10 irq_handler_exit irq=3");
    assert_int_equal(drawn(b, make, 1, false), 1u << 4);
    lab_happen(b->lab, "6 0 10 sched_switch prev_pid=10 prev_state=1 next_pid=20");
    lab_happen(b->lab, "7 0 20 use id=1 color=4"); /* another thread of the same name */
    assert_int_equal(drawn(b, "9 0 20 make id=1 color=4", 1, false), 1u << 1);
    assert_int_equal(drawn(b, "9 0 20 make id=1 color=4", 2, false), 1u << 2);
    assert_int_equal(drawn(b, "9 0 20 make id=1 color=4", 3, false), 1u << 1 | 1u << 2);
    assert_int_equal(drawn(b, "9 0 20 make id=1 color=4", 1, true), 1u << 1 | 1u << 2);
    lab_happen(b->lab, "8 0 20 pause");
    assert_int_equal(drawn(b, "9 0 20 make id=1 color=4", 1, false), 1u << 3);
    lab_happen(b->lab, "9 0 20 make id=1 color=4"); /* what never came before */
    assert_int_equal(drawn(b, "9 0 20 make id=1 color=4", 1, false),
                     1u << 1 | 1u << 2 | 1u << 3 | 1u << 4);
}

static void rare_contexts_are_not_trusted(void **state) {
    bench *b = *state;
    static const char make[] = "9 0 10 make id=1 color=4";
    lab_happen(b->lab, "1 0 10 use id=1 color=4");
    count(b, make, 1, 1, 2);
    count(b, make, 2, 2, 6);
    build(b);
    assert_int_equal(drawn(b, make, 1, false), 1u << 1 | 1u << 2);
    assert_int_equal(drawn(b, make, 2, false), 1u << 2);
    assert_null(draw(b, "9 0 10 use id=1 color=4", 1, false)); /* a type never counted */
}

static void an_owner_is_trusted_however_rare(void **state) {
    bench *b = *state;
    static const char make[] = "9 0 10 make id=1 color=4";
    count(b, make, 1, 1, 20);
    lab_happen(b->lab, "1 0 10 irq_handler_entry irq=3");
    count(b, make, 1, 2, 1);
    build(b);
    assert_int_equal(drawn(b, make, 1, false), 1u << 2);
}

static void what_lies_outside_is_refused(void **state) {
    bench *b = *state;
    static const char make[] = "9 0 10 make id=1 color=4", use[] = "9 0 10 use id=1 color=4";
    count(b, make, 1, 1, 4);
    count(b, use, 1, 2, 4);
    build(b);
    assert_non_null(draw(b, make, 1, false));
    assert_non_null(draw(b, use, 1, false));
    b->templates.word_count--; /* the last template lies half outside */
    assert_non_null(draw(b, make, 1, false));
    assert_null(draw(b, use, 1, false));
    b->templates.word_count = 1;
    assert_null(draw(b, make, 1, false));
    assert_null(draw(b, use, 1, false));
    for (uint32_t i = 0; i < b->templates.pool.case_count; i++) {
        b->templates.pool.cases[i] = UINT32_MAX - 1;
    }
    assert_null(draw(b, make, 1, false));
}

/* ---- files and memory --------------------------------------------------------------------- */

static stn_status read_templates(stn_cursor *cursor, stn_blob *again) {
    bench read = {.lab = on->lab};
    stn_status status = stn_templates_init(&read.templates, &on->lab->vocab, &on->lab->domains);
    if (status == STN_OK) {
        status = stn_templates_get(&read.templates, cursor);
    }
    if (status == STN_OK) {
        static const char *const lines[] = {"9 0 10 make id=1 color=4", "9 0 10 use id=1 color=4"};
        stn_rng_init(&read.rng, 1);
        for (size_t i = 0; again && i < 2; i++) {
            const uint32_t *words = draw(&read, lines[i], 1, i == 0);
            const stn_layout *layout = &read.templates.layouts[on->lab->draft.type];
            uint32_t sum = 0;
            for (uint8_t k = 0; words && k < layout->size; k++) {
                sum += words[k]; /* all of it is there to be read */
            }
            assert_true(!words || sum < UINT32_MAX);
        }
        if (again) {
            stn_templates_put(&read.templates, again);
        }
    }
    stn_templates_fini(&read.templates);
    return status;
}

static void put(bench *b, stn_blob *blob) {
    lab_happen(b->lab, "1 0 10 use id=1 color=4");
    count(b, "9 0 10 make id=1 color=4", 1, 1, 4);
    count(b, "9 0 10 use id=1 color=4", 1, 2, 3);
    build(b);
    stn_templates_put(&b->templates, blob);
}

static void a_file_gives_the_same(void **state) {
    bench *b = *state;
    stn_blob blob = {0};
    put(b, &blob);
    bytes_come_back(&blob, read_templates);
    stn_blob_fini(&blob);
}

static void damaged_files_are_refused_or_do_no_harm(void **state) {
    bench *b = *state;
    stn_blob blob = {0};
    put(b, &blob);
    bytes_cut(&blob, read_templates);
    assert_true(bytes_damage(&blob, read_templates) > 0);
    stn_blob_fini(&blob);
}

static void each_failed_allocation_is_clean(void **state) {
    bench *b = *state;
    stn_templates fresh;
    stn_blob blob = {0};
    stn_status status = STN_ENOMEM;
    uint64_t nth = 0;
    stn_alloc_fail_at(1);
    assert_int_equal(stn_templates_init(&fresh, &b->lab->vocab, &b->lab->domains), STN_ENOMEM);
    stn_alloc_fail_at(0);
    assert_null(fresh.layouts);
    about_to(b, "9 0 10 make id=1 color=4"); /* the thread is known */
    while (status != STN_OK && nth < 100) {
        stn_alloc_fail_at(++nth);
        status = try_count(b, "9 0 10 make id=1 color=4", 1, 1);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || status == STN_ENOMEM);
    }
    assert_true(nth > 3); /* the map, the words, the cases */
    assert_int_equal(b->builder.pool.count, 1);
    for (nth = 1; nth <= 2; nth++) {
        stn_alloc_fail_at(nth);
        assert_int_equal(stn_templates_build(&b->templates, &b->builder), STN_ENOMEM);
        stn_alloc_fail_at(0);
    }
    build(b);
    stn_templates_put(&b->templates, &blob);
    assert_int_equal(bytes_faults(&blob, read_templates), 4); /* layouts, words, the pool's two */
    stn_blob_fini(&blob);
}

#define ON_BENCH(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_BENCH(layouts_have_room_for_each_part_once),
        ON_BENCH(equal_templates_are_kept_once),
        ON_BENCH(types_of_no_words_can_come_first),
        ON_BENCH(the_deepest_context_is_drawn_from),
        ON_BENCH(rare_contexts_are_not_trusted),
        ON_BENCH(an_owner_is_trusted_however_rare),
        ON_BENCH(what_lies_outside_is_refused),
        ON_BENCH(a_file_gives_the_same),
        ON_BENCH(damaged_files_are_refused_or_do_no_harm),
        ON_BENCH(each_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
