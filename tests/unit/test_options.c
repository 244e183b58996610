/* words behind a command into its arguments, over a table made for the test */
#include <string.h>

#include "testing.h"

#include "app/options.h"
#include "core/base/alloc.h"

typedef struct fake_args {
    stn_common common;
    const char *output;
    bool loud;
    uint64_t count, size, span_ns;
    stn_texts rules, many;
} fake_args;

static const stn_option rows[] = {
    {"output", 'o', STN_OPTION_TEXT, offsetof(fake_args, output), "FILE", "", true},
    {"loud", 'l', STN_OPTION_FLAG, offsetof(fake_args, loud), NULL, "", false},
    {"count", 'n', STN_OPTION_COUNT, offsetof(fake_args, count), "N", "", false},
    {"size", 0, STN_OPTION_SIZE, offsetof(fake_args, size), "SIZE", "", false},
    {"span", 0, STN_OPTION_DURATION, offsetof(fake_args, span_ns), "TIME", "", false},
    {"rules", 0, STN_OPTION_TEXTS, offsetof(fake_args, rules), "FILE", "", false},
    {"many", 0, STN_OPTION_MANY, offsetof(fake_args, many), "TRACE", "", false},
    {NULL, 0, STN_OPTION_FLAG, 0, NULL, NULL, false},
};

static const stn_command fake = {
    .group = "kernel",
    .name = "fake",
    .operands = "IN OUT",
    .operand_max = 2,
    .shared = STN_SHARED_JSON | STN_SHARED_QUIET | STN_SHARED_SEED | STN_SHARED_FILTER,
    .options = rows,
    .args_size = sizeof(fake_args),
};

static const stn_command runner = {
    .group = "kernel",
    .name = "runner",
    .operands = "[-- COMMAND]",
    .runs_command = true,
    .options = rows,
    .args_size = sizeof(fake_args),
};

/* Words end with NULL. */
static stn_status parse(const stn_command *command, const char *const *words, void **args,
                        stn_err *err) {
    int argc = 0;
    while (words[argc]) {
        argc++;
    }
    memset(err, 0, sizeof *err);
    return stn_options_parse(command, argc, (char *const *)words, args, err);
}

static void every_kind_lands_in_its_place(void **state) {
    (void)state;
    const char *words[] = {
        "-o",      "out", "--loud", "-n10k",  "--size=64K", "--span", "250ms", "--rules", "a",
        "--rules", "b",   "in",     "--time", "1..2",       "--cpu",  "0,2-3", "--event", "x,y",
        "--event", "z",   "--comm", "a,b",    "--seed",     "7",      "--",    "--odd",   NULL};
    void *parsed = NULL;
    stn_err err;
    assert_int_equal(parse(&fake, words, &parsed, &err), STN_OK);
    const fake_args *args = parsed;
    assert_string_equal(args->output, "out");
    assert_true(args->loud);
    assert_true(args->count == 10000 && args->size == 65536 && args->span_ns == 250000000);
    assert_int_equal(args->rules.count, 2);
    assert_string_equal(args->rules.items[1], "b");
    assert_true(args->common.time.begin_ns == 1000000000);
    assert_int_equal(args->common.cpus.count, 3);
    assert_int_equal(args->common.events.count, 3);
    assert_string_equal(args->common.events.items[1], "y");
    assert_int_equal(args->common.comms.count, 1); /* a process name may hold a comma */
    assert_true(args->common.seed == 7);
    assert_int_equal(args->common.operands.count, 2);
    assert_string_equal(args->common.operands.items[1], "--odd");
    stn_options_free(&fake, parsed);
}

static void what_is_not_given_has_its_default(void **state) {
    (void)state;
    const char *words[] = {"-o", "-", NULL};
    void *parsed = NULL;
    stn_err err;
    assert_int_equal(parse(&fake, words, &parsed, &err), STN_OK);
    const fake_args *args = parsed;
    assert_true(args->common.seed == 1 && !args->loud && !args->common.json);
    assert_string_equal(args->output, "-");
    stn_options_free(&fake, parsed);
}

static void many_takes_words_up_to_the_next_option(void **state) {
    (void)state;
    const char *words[] = {"--many", "a", "b", "c", "-lo", "x", "d", NULL};
    void *parsed = NULL;
    stn_err err;
    assert_int_equal(parse(&fake, words, &parsed, &err), STN_OK);
    const fake_args *args = parsed;
    assert_int_equal(args->many.count, 3);
    assert_true(args->loud);
    assert_string_equal(args->output, "x");
    assert_int_equal(args->common.operands.count, 1);
    stn_options_free(&fake, parsed);
}

static void a_command_behind_the_options_is_left_alone(void **state) {
    (void)state;
    const char *with_dashes[] = {"-o", "f", "--", "ls", "-l", NULL};
    const char *without[] = {"-o", "f", "ls", "-l", "--json", NULL};
    const char *const *lines[] = {with_dashes, without};
    for (size_t i = 0; i < 2; i++) {
        void *parsed = NULL;
        stn_err err;
        assert_int_equal(parse(&runner, lines[i], &parsed, &err), STN_OK);
        const fake_args *args = parsed;
        assert_string_equal(args->common.tail[0], "ls");
        assert_string_equal(args->common.tail[1], "-l");
        assert_int_equal(args->common.operands.count, 0);
        stn_options_free(&runner, parsed);
    }
}

static void wrong_use_is_told_in_one_sentence(void **state) {
    (void)state;
    static const struct {
        const char *words[6];
        const char *says;
    } cases[] = {
        {{"in", "out", NULL}, "needs -o FILE"},
        {{"-o", NULL}, "--output needs FILE behind it"},
        {{"--jsno", NULL}, "unknown option --jsno; did you mean --json?"},
        {{"--zzzzzz", NULL}, "unknown option --zzzzzz"},
        {{"-x", NULL}, "unknown option -x"},
        {{"--loud=1", NULL}, "--loud takes no value"},
        {{"-o", "f", "-n", "ten", NULL}, "--count: \"ten\" is no count"},
        {{"-o", "f", "--span", "0ms", NULL}, "--span: \"0ms\" is no time at all"},
        {{"-o", "f", "-n", "0k", NULL}, "--count: \"0k\" is none at all; expected at least 1"},
        {{"-o", "f", "--size=0", NULL}, "--size: \"0\" is no room at all; expected one like 64M"},
        {{"-o", "f", "--event", "a,,b", NULL}, "--event: \"a,,b\" holds an empty name"},
        {{"-o", "f", "a", "b", "c", NULL}, "\"c\" is one word too many"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *parsed = NULL;
        stn_err err;
        assert_int_equal(parse(&fake, cases[i].words, &parsed, &err), STN_ERANGE);
        assert_null(parsed);
        assert_memory_equal(err.text, cases[i].says, strlen(cases[i].says));
    }
}

static void help_needs_nothing_else(void **state) {
    (void)state;
    const char *words[] = {"-h", NULL};
    void *parsed = NULL;
    stn_err err;
    assert_int_equal(parse(&fake, words, &parsed, &err), STN_OK);
    assert_true(((const stn_common *)parsed)->help);
    stn_options_free(&fake, parsed);
}

static void out_of_memory_leaves_nothing_behind(void **state) {
    (void)state;
    const char *words[] = {"-o", "f", "--rules", "a", "--event", "x,y", "--cpu", "1", "in", NULL};
    for (uint64_t nth = 1;; nth++) {
        assert_true(nth < 100);
        void *parsed = NULL;
        stn_err err;
        stn_alloc_fail_at(nth);
        stn_status status = parse(&fake, words, &parsed, &err);
        stn_alloc_fail_at(0);
        if (status == STN_OK) {
            assert_true(nth > 4);
            stn_options_free(&fake, parsed);
            return;
        }
        assert_int_equal(status, STN_ENOMEM);
        assert_null(parsed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_lands_in_its_place),
        cmocka_unit_test(what_is_not_given_has_its_default),
        cmocka_unit_test(many_takes_words_up_to_the_next_option),
        cmocka_unit_test(a_command_behind_the_options_is_left_alone),
        cmocka_unit_test(wrong_use_is_told_in_one_sentence),
        cmocka_unit_test(help_needs_nothing_else),
        cmocka_unit_test(out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
