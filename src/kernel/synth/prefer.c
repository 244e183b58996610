#include "kernel/synth/prefer.h"

stn_status stn_prefer_begin(stn_prefer *prefer, const stn_rules *rules, double chance,
                            stn_catalog *catalog, stn_err *err) {
    *prefer = (stn_prefer){.chance = chance > 0 ? chance : STN_PREFERENCE};
    return rules ? stn_checker_new(&prefer->checker, rules, catalog, err) : STN_OK;
}

void stn_prefer_fini(stn_prefer *prefer) {
    stn_checker_free(prefer->checker);
    *prefer = (stn_prefer){0};
}

stn_status stn_prefer_ask(stn_prefer *prefer, const stn_event *event, stn_rng *rng, bool *stands,
                          stn_err *err) {
    *stands = true;
    if (!prefer->checker) {
        return STN_OK;
    }
    stn_mark mark = stn_checker_mark(prefer->checker);
    stn_status status = stn_checker_step(prefer->checker, event, &prefer->broken, err);
    if (status != STN_OK) {
        return status;
    }
    if (prefer->broken > 0 && !prefer->yields && stn_rng_double(rng) < prefer->chance) {
        stn_checker_undo(prefer->checker, mark);
        stn_checker_keep(prefer->checker);
        *stands = false;
    }
    return STN_OK;
}

void stn_prefer_settle(stn_prefer *prefer, bool happens) {
    if (!prefer->checker) {
        return;
    }
    if (happens) {
        prefer->against += prefer->broken > 0;
    } else {
        stn_checker_undo(prefer->checker, 0);
    }
    stn_checker_keep(prefer->checker);
}

stn_status stn_prefer_see(stn_prefer *prefer, const stn_event *event, bool generated,
                          stn_err *err) {
    if (!prefer->checker) {
        return STN_OK;
    }
    stn_status status = stn_checker_step(prefer->checker, event, &prefer->broken, err);
    prefer->against += status == STN_OK && generated && prefer->broken > 0;
    return status;
}
