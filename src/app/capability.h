/** @file
 *  What this machine can do: one row per capability, each with how it is looked for and the
 *  one command that adds it. Optional libraries are looked for at run time, never linked.
 *  Pinned by tests/e2e/doctor.bats. */
#ifndef STN_APP_CAPABILITY_H
#define STN_APP_CAPABILITY_H

#include <standin/base.h>

typedef struct stn_finding {
    bool found;
    char version[640]; /**< "" if not known */
    char why[200];     /**< if not found: what is in the way, "" if it is simply not there */
    const char *how;   /**< what helps here, static; NULL: the row's */
} stn_finding;

typedef struct stn_capability {
    const char *name;    /**< "live tracing" */
    const char *purpose; /**< "standin kernel record" */
    const char *how;     /**< one command that adds it, where nothing else is in the way */
    void (*look)(stn_finding *finding);
} stn_capability;

/** Row @p index; NULL behind the last. */
const stn_capability *stn_capability_at(uint32_t index);

#endif
