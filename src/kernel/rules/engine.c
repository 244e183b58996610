/* What the engine knows without rules: who runs where, whose descriptor table is whose, which
 * event types have been seen, and that a loss makes all of it unknown. */
#include "core/base/alloc.h"
#include "kernel/rules/checker.h"
#include "kernel/rules/files.h"

void stn_checker_note_running(stn_checker *checker, const stn_plan *plan, const stn_event *event) {
    if (event->cpu < checker->running_count) {
        int64_t tid = checker->values[plan->next_value ? plan->next_value : STN_VALUE_TID];
        stn_checker_put(checker, &checker->running[event->cpu], (uint64_t)tid);
    }
}

static stn_cell *engine_cell(stn_checker *checker, uint32_t domain, int64_t key) {
    int64_t parts[STN_KEY_PARTS] = {key};
    uint32_t at = stn_table_put(&checker->tables[domain], parts);
    return at == UINT32_MAX ? NULL : &stn_table_at(&checker->tables[domain], at)->cells[0];
}

static void set_files(stn_checker *checker, stn_cell *cell, bool known, int64_t table) {
    stn_checker_put(checker, &cell->word, (known ? 1u : 0u) | checker->epoch << 16);
    stn_checker_put(checker, (uint64_t *)&cell->reg[0], (uint64_t)table);
}

static stn_status new_task(stn_checker *checker, const stn_plan *plan) {
    enum { CLONE_FILES_FLAG = 0x400 };
    int64_t child = checker->values[plan->pid_value];
    int64_t flags = checker->values[plan->flags_value];
    int64_t parent = checker->values[STN_VALUE_TID];
    if (child == STN_NO_VALUE || flags == STN_NO_VALUE || parent == STN_NO_VALUE) {
        return STN_OK;
    }
    stn_cell *from = engine_cell(checker, STN_DOMAIN_THREAD, parent);
    stn_cell *to = engine_cell(checker, STN_DOMAIN_THREAD, child);
    if (!from || !to) {
        return STN_ENOMEM;
    }
    if (flags & CLONE_FILES_FLAG) {
        bool known =
            STN_CELL_EPOCH(from->word) == checker->epoch && STN_CELL_STATE(from->word) == 1;
        set_files(checker, to, known, from->reg[0]);
        return STN_OK;
    }
    stn_checker_put(checker, &checker->next_files, checker->next_files + 1);
    set_files(checker, to, true, (int64_t)checker->next_files);
    return STN_OK;
}

stn_status stn_checker_step_files(stn_checker *checker, const stn_plan *plan) {
    int64_t tid = checker->values[STN_VALUE_TID];
    if (plan->files_act == STN_FILES_NEW_TASK) {
        return new_task(checker, plan);
    }
    stn_cell *cell = tid == STN_NO_VALUE ? NULL : engine_cell(checker, STN_DOMAIN_THREAD, tid);
    if (!cell) {
        return tid == STN_NO_VALUE ? STN_OK : STN_ENOMEM;
    }
    if (plan->files_act == STN_FILES_EXEC) {
        stn_checker_put(checker, &checker->next_files, checker->next_files + 1);
        set_files(checker, cell, true, (int64_t)checker->next_files);
    } else if (plan->files_act == STN_FILES_FORGET) {
        set_files(checker, cell, false, 0);
    } else if (STN_CELL_EPOCH(cell->word) == checker->epoch && STN_CELL_STATE(cell->word)) {
        stn_cell *files = engine_cell(checker, STN_DOMAIN_FILES, cell->reg[0]);
        if (!files) {
            return STN_ENOMEM;
        }
        int64_t renewals = STN_CELL_EPOCH(files->word) == checker->epoch ? files->reg[0] : 0;
        set_files(checker, files, true, renewals + 1);
    }
    return STN_OK;
}

/* Rules whose needs are now seen wake up, with every key unknown: what an event that came before
 * began (a handler, a pair) is not known, and keys are fresh only a warm-up after this. */
void stn_checker_step_needs(stn_checker *checker, const stn_plan *plan) {
    for (uint32_t i = 0; i < plan->need_count; i++) {
        uint32_t need = plan->needs[i];
        if (!checker->need_seen[need]) {
            stn_checker_put(checker, &checker->need_seen[need], 1);
            uint32_t rule = checker->rules->needs[need].rule;
            stn_checker_put(checker, &checker->missing[rule], checker->missing[rule] - 1);
            stn_checker_put(checker, &checker->woken_ns[rule], checker->now);
        }
    }
}

stn_status stn_checker_step_lost(stn_checker *checker, const stn_event *event) {
    size_t need = checker->log_count + checker->running_count + 16;
    if (stn_grow(&checker->log, &checker->log_capacity, need, sizeof *checker->log)) {
        return STN_ENOMEM;
    }
    if (checker->epoch == STN_EPOCHS && !checker->marking) {
        stn_checker_renumber(checker);
    }
    stn_checker_log(checker, &checker->epoch);
    checker->epoch = checker->epoch == STN_EPOCHS ? 1 : checker->epoch + 1;
    stn_checker_put(checker, &checker->epoch_begin, event->time_ns);
    for (size_t i = 0; i < checker->running_count; i++) {
        stn_checker_put(checker, &checker->running[i], (uint64_t)STN_NO_VALUE);
    }
    return stn_checker_relive(checker);
}
