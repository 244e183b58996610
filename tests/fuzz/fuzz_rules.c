/* Rule text of any kind: it is refused with a message, or its text reads back as itself and
 * a few events pass through its automata. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <standin/rules.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_rules: %s\n", what);
        abort();
    }
}

static void read_back(const stn_rules *rules, stn_catalog *catalog) {
    char *once, *twice;
    stn_rules *again;
    stn_err err = {0};
    want(stn_rules_text(rules, &once, &err) == STN_OK, "no text");
    if (stn_rules_parse(&again, once, strlen(once), "again", catalog, &err)) {
        fprintf(stderr, "%s\n%s\n", err.text, once);
        want(false, "the text of a rule set is not rule text");
    }
    want(stn_rules_text(again, &twice, &err) == STN_OK, "no text");
    want(!strcmp(once, twice), "the text changes when it is read back");
    stn_text_free(once);
    stn_text_free(twice);
    stn_rules_free(again);
}

static void pass(const stn_rules *rules, stn_catalog *catalog, const uint8_t *data, size_t size) {
    static const char *const types[] = {
        "a", "b",          "sys_enter_read", "sys_exit_read", "sched_switch", "task_newtask",
        "c", "lost_events"};
    static const char *const fields[] = {"f", "next_pid", "ret", "fd"};
    stn_checker *checker;
    stn_err err = {0};
    want(stn_checker_new(&checker, rules, catalog, &err) == STN_OK, "no checker");
    for (size_t i = 0; i < size && i < 64; i++) {
        stn_field field = {.name = stn_catalog_cstring(catalog, fields[data[i] >> 3 & 3]),
                           .v.i = data[i] >> 5};
        stn_event event = {.time_ns = i * 1000,
                           .type = stn_catalog_type(catalog, types[data[i] & 7], NULL),
                           .tid = (int32_t)(data[i] >> 4),
                           .comm = STN_NO_ID,
                           .cpu = data[i] >> 7,
                           .field_count = 1,
                           .fields = &field};
        stn_mark mark = stn_checker_mark(checker);
        (void)!stn_checker_step(checker, &event, NULL, &err);
        stn_checker_undo(checker, mark);
        stn_checker_keep(checker);
        (void)!stn_checker_step(checker, &event, NULL, &err);
    }
    stn_checker_free(checker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    stn_catalog *catalog;
    stn_rules *rules;
    stn_err err = {0};
    if (size > 1 << 16 || stn_catalog_new(&catalog, &err)) {
        return 0;
    }
    stn_status status = stn_rules_parse(&rules, (const char *)data, size, "fuzz", catalog, &err);
    if (!status) {
        read_back(rules, catalog);
        pass(rules, catalog, data, size);
    } else {
        want(status == STN_EFORMAT && *err.text, "refused without a message");
    }
    stn_rules_free(rules);
    stn_catalog_free(catalog);
    return 0;
}
