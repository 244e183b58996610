/* The rule language: what it accepts, what it says of what it does not, and back to text. */
#include "core/base/alloc.h"
#include "rules_trace.h"

static stn_catalog *catalog;

static int setup(void **state) {
    (void)state;
    return stn_catalog_new(&catalog, NULL) != STN_OK;
}

static int teardown(void **state) {
    (void)state;
    stn_catalog_free(catalog);
    return 0;
}

static stn_rules *parse(const char *text) {
    stn_rules *rules;
    stn_err err = {0};
    if (stn_rules_parse(&rules, text, strlen(text), "my.rules", catalog, &err)) {
        fail_msg("%s", err.text);
    }
    return rules;
}

#define HEAD  "standin-rules 1\n"
#define RULE  HEAD "rule r\n"
#define KEYED RULE "key thread\nstates a b\nregisters x y\n"

static void errors_say_line_and_cause(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", "my.rules: line 1: the text is empty"},
        {"\n# only a comment\n", "the text is empty"},
        {"rule r\n", "line 1: found \"rule\", expected \"standin-rules 1\""},
        {"standin-rules 2\n", "found \"standin-rules 2\", expected \"standin-rules 1\""},
        {"standin-rules\n", "line 1: found \"standin-rules\", expected"},
        {HEAD "states a\n", "line 2: found \"states\", expected \"rule NAME\""},
        {HEAD "rule\n", "line 2: the line ends where the name of the rule was expected"},
        {HEAD "rule a b\n", "found \"b\", expected the end of the line"},
        {RULE, "line 2: rule r says nothing about any event"},
        {RULE "key thread\nvalue x y > 0\nrule r\n", "line 5: rule r is there already"},
        {RULE "fnord 1\n", "line 3: found \"fnord\", expected a line of a rule"},
        {RULE "on x\n", "line 3: rule r needs a \"key\" line"},
        {RULE "pair a b\n", "needs a \"key\" line"},
        {RULE "doc\n", "line 3: the line ends where a text in quotes was expected"},
        {RULE "doc \"never ends\n", "line 3: a string begins with \" and does not end"},
        {RULE "doc \x01\n", "line 3: a control character (code 1) at column 5"},
        {RULE "doc x\x7f\n", "a control character (code 127) at column 6"},
        {RULE "doc \"x\x01\"\n", "a control character (code 1) at column 7"},
        {RULE "support x\n", "found \"x\", expected a count"},
        {RULE "support -1\n", "expected a count"},
        {RULE "key block\n", "key block needs \"by\""},
        {RULE "key thread by a b\n", "key thread has 1 parts in another rule, 2 here"},
        {RULE "key k by a b c d e\n", "a key has at most 4 parts"},
        {RULE "key k by 7\n", "a key is made of fields"},
        {RULE "registers a b c\n", "at most 2 registers"},
        {RULE "fresh a after 1ms\n", "with a declared state"},
        {RULE "states a\nfresh a after soon\n", "found \"soon\", expected a time"},
        {KEYED "on\n", "line 6: expected the name of an event type"},
        {KEYED "on x by p q\n", "the key of rule r has 1 parts, this one has 2"},
        {KEYED "on x from c\n", "found \"c\", expected a state of rule r"},
        {KEYED "on x from\n", "expected a state, or \"any\""},
        {KEYED "on x to c\n", "found \"c\", expected a state of rule r"},
        {KEYED "on x where\n", "the line ends where a field, register or value"},
        {KEYED "on x where f\n", "the line ends where a comparison"},
        {KEYED "on x where f = 3\n", "found \"=\", expected one of =="},
        {KEYED "on x where f not 3\n", "found \"3\", expected one of =="},
        {KEYED "on x where x == 3\n", "conditions on registers belong after \"if\""},
        {KEYED "on x where f in 3\n", "found \"3\", expected \"(\""},
        {KEYED "on x where f in (\n", "the line ends where a value or \")\""},
        {KEYED "on x where f in ()\n", "an empty set of values"},
        {KEYED "on x where f in (9..3)\n", "found \"9..3\", expected a range LOW..HIGH"},
        {KEYED "on x if f == 3 + y\n", "found \"y\", expected a number"},
        {KEYED "on x set f = 3\n", "expected REGISTER = VALUE"},
        {KEYED "on x set x - 3\n", "expected REGISTER = VALUE"},
        {KEYED "on x set x =\n", "the line ends where a field, register or value"},
        {KEYED "on x on y\n", "found \"on\", expected a clause"},
        {KEYED "on x to a b\n", "found \"b\", expected a clause"},
        {KEYED "on x push a\n", "push and pop need a rule with frames"},
        {KEYED "on x within a\n", "within needs a rule with frames"},
        {KEYED "on x where a|b|c|d|e == 1\n", "expected 1 to 4 field names"},
        {KEYED "frame f a b\n", "a rule with frames has no other states"},
        {RULE "key cpu\nframe f a b\nstates c\n", "a rule with frames has no other states"},
        {RULE "key cpu\nregisters c\nframe f a b\n", "a rule with frames has no registers"},
        {RULE "key block by a b\non x\nkey cpu\n", "line 5: rule r has a key already"},
        {KEYED "on x where f < \"t\"\n", "a text in quotes takes part in == != in"},
        {KEYED "on x if x - \"t\" == 3\n", "a text in quotes takes part in == != in"},
        {KEYED "follow a b\n", "expected: follow TYPE after TYPE"},
        {KEYED "delta a b\n", "a range LOW..HIGH"},
        {RULE "key block by dev\non x by a b\n", "the key of rule r has 1 parts"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stn_rules *rules = (stn_rules *)1;
        stn_err err = {0};
        stn_status status =
            stn_rules_parse(&rules, rows[i].text, strlen(rows[i].text), "my.rules", catalog, &err);
        if (status != STN_EFORMAT || !strstr(err.text, rows[i].want) || rules) {
            fail_msg("%s\nsaid: %s\nwanted: %s", rows[i].text, err.text, rows[i].want);
        }
    }
}

static void text_comes_back_as_itself(void **state) {
    (void)state;
    static const char *const texts[] = {
        KEYED "doc  \"a \\\"quoted\\\" \\\\ doc\" # comment\n"
              "on sys_enter_* but sys_enter_read by pid where a|b == 3 and c in (1..3, 7 \"t u\") "
              "from a b if x <= time + 5 and time - y >= 3ms to b set x = tid y += 1 else a\n",
        RULE "key cpu\nsupport 12\nneeds a* b\nfollow \"odd name\" after b \"odd name\"\n"
             "follow b after b\n",
        RULE "key cpu\nframe f a b over none where vec == 3\non c within f\n"
             "rule s\nkey pipe by dev sector\npair a b match n\n",
    };
    for (size_t i = 0; i <= sizeof texts / sizeof *texts; i++) {
        bool builtin = i == sizeof texts / sizeof *texts;
        stn_rules *first = parse(builtin ? stn_rules_builtin_text() : texts[i]);
        char *once, *twice;
        assert_int_equal(stn_rules_text(first, &once, NULL), STN_OK);
        stn_rules *second = parse(once);
        assert_int_equal(stn_rules_text(second, &twice, NULL), STN_OK);
        assert_string_equal(once, twice);
        assert_int_equal(stn_rules_count(first), stn_rules_count(second));
        stn_text_free(once);
        stn_text_free(twice);
        stn_rules_free(first);
        stn_rules_free(second);
    }
}

static void what_a_rule_says_of_itself(void **state) {
    (void)state;
    stn_rules *rules =
        parse(KEYED "doc \"D\"\nsource \"S\"\nexcept \"E\"\nsupport 12\non x to a\n");
    const stn_rule_info *info = stn_rules_at(rules, 0);
    assert_int_equal(stn_rules_count(rules), 1);
    assert_string_equal(info->name, "r");
    assert_string_equal(info->doc, "D");
    assert_string_equal(info->source, "S");
    assert_string_equal(info->exceptions, "E");
    assert_int_equal(info->support, 12);
    assert_int_equal(info->state_count, 3);
    assert_string_equal(info->states[0], "unknown");
    assert_string_equal(info->states[2], "b");
    stn_rules_free(rules);
}

static void adding_keeps_or_changes_nothing(void **state) {
    (void)state;
    stn_err err = {0};
    stn_rules *rules = parse(HEAD "rule r\nkey cpu\nvalue x f > 0\n");
    stn_rules *more =
        parse(HEAD "rule s\nkey cpu\nneeds z\nvalue x f < 9\nrule t\nkey cpu\nvalue x "
                   "f < 9\n");
    assert_int_equal(stn_rules_add(rules, more, &err), STN_OK);
    assert_int_equal(stn_rules_count(rules), 3);
    assert_string_equal(stn_rules_at(rules, 2)->name, "t");
    assert_int_equal(stn_rules_add(rules, more, &err), STN_EFORMAT);
    assert_non_null(strstr(err.text, "rule s is there already"));
    assert_int_equal(stn_rules_count(rules), 3);
    stn_rules_free(more);
    stn_rules_free(rules);
}

static void a_missing_file_is_named(void **state) {
    (void)state;
    stn_rules *rules;
    stn_err err = {0};
    assert_int_equal(stn_rules_load(&rules, "/nowhere/x.rules", catalog, &err), STN_ENOTFOUND);
    assert_non_null(strstr(err.text, "/nowhere/x.rules"));
    assert_null(rules);
    assert_int_equal(
        stn_rules_load(&rules, STN_SOURCE_DIR "/src/kernel/rules/kernel.rules", catalog, &err),
        STN_OK);
    stn_rules_free(rules);
}

static void what_types_bind(void **state) {
    (void)state;
    stn_rules *rules = parse(RULE "key thread\nstates a b\non sched_switch by prev_pid to a\n"
                                  "on sched_switch by next_pid from a to b\non x from b\n");
    uint32_t type = stn_catalog_type(catalog, "sched_switch", NULL);
    uint32_t count;
    const stn_binding *bound = stn_rules_bindings(rules, type, &count);
    assert_int_equal(count, 2);
    assert_int_equal(bound[0].order, 0);
    assert_int_equal(bound[1].order, 1);
    assert_int_equal(bound[0].part_count, 1);
    assert_int_equal(bound[1].part[0], stn_catalog_find(catalog, "next_pid"));
    uint32_t x = stn_catalog_type(catalog, "x", NULL);
    bound = stn_rules_bindings(rules, x, &count);
    assert_int_equal(count, 1);
    assert_int_equal(bound[0].part[0], STN_PART_TID);
    assert_true(stn_rules_accepts(rules, 0, 2, x));
    assert_false(stn_rules_accepts(rules, 0, 1, x));
    assert_true(stn_rules_accepts(rules, 0, 0, x));
    assert_true(stn_rules_accepts(rules, 0, 1, stn_catalog_type(catalog, "other", NULL)));
    stn_rules_free(rules);
}

static void out_of_memory_is_clean(void **state) {
    (void)state;
    const char *text = stn_rules_builtin_text();
    stn_status status = STN_ENOMEM;
    uint64_t nth = 1;
    for (; status == STN_ENOMEM; nth++) {
        stn_rules *rules;
        stn_catalog *own;
        assert_int_equal(stn_catalog_new(&own, NULL), STN_OK);
        stn_alloc_fail_at(nth);
        status = stn_rules_parse(&rules, text, strlen(text), "b", own, NULL);
        stn_alloc_fail_at(0);
        assert_true(status == STN_OK || (status == STN_ENOMEM && !rules));
        stn_rules_free(rules);
        stn_catalog_free(own);
    }
    assert_int_equal(status, STN_OK);
    assert_true(nth > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_line_and_cause),
        cmocka_unit_test(text_comes_back_as_itself),
        cmocka_unit_test(what_a_rule_says_of_itself),
        cmocka_unit_test(adding_keeps_or_changes_nothing),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(what_types_bind),
        cmocka_unit_test(out_of_memory_is_clean),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
