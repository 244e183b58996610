#include "kernel/trace/read_mark.h"

#include <string.h>

#include "core/base/alloc.h"

static stn_status no_memory(stn_err *err) {
    return stn_err_set(err, STN_ENOMEM, "out of memory for lost marks");
}

stn_status stn_marks_add_from(stn_marks *marks, stn_loss loss, stn_err *err) {
    if (marks->at == marks->count) {
        marks->at = 0;
        marks->count = 0;
    }
    if (stn_grow(&marks->losses, &marks->capacity, marks->count + 1, sizeof *marks->losses)) {
        return no_memory(err);
    }
    marks->losses[marks->count++] = loss;
    return STN_OK;
}

stn_status stn_marks_add(stn_marks *marks, uint16_t cpu, uint64_t count, stn_err *err) {
    stn_loss loss = {.count = count, .cpu = cpu};
    if (cpu < marks->cpu_count) {
        loss.begin_ns = marks->last_ns[cpu];
    }
    return stn_marks_add_from(marks, loss, err);
}

stn_status stn_marks_saw(stn_marks *marks, uint16_t cpu, uint64_t time_ns, stn_err *err) {
    if (cpu == STN_NO_CPU) {
        return STN_OK;
    }
    if (cpu >= marks->cpu_count) {
        if (stn_grow(&marks->last_ns, &marks->cpu_capacity, cpu + (size_t)1,
                     sizeof *marks->last_ns)) {
            return no_memory(err);
        }
        memset(marks->last_ns + marks->cpu_count, 0,
               (cpu + (size_t)1 - marks->cpu_count) * sizeof *marks->last_ns);
        marks->cpu_count = cpu + (size_t)1;
    }
    marks->last_ns[cpu] = time_ns;
    return STN_OK;
}

stn_status stn_marks_take(stn_marks *marks, stn_catalog *catalog, uint64_t time_ns,
                          stn_event *event, stn_err *err) {
    if (!marks->named) {
        marks->count_name = stn_catalog_cstring(catalog, "count");
        marks->begin_name = stn_catalog_cstring(catalog, "begin_ns");
        if (marks->count_name == STN_NO_ID || marks->begin_name == STN_NO_ID) {
            return no_memory(err);
        }
        marks->named = true;
    }
    stn_loss loss = marks->losses[marks->at++];
    if (loss.end_ns && loss.end_ns < time_ns) {
        time_ns = loss.end_ns;
    }
    uint64_t begin_ns = loss.begin_ns < time_ns ? loss.begin_ns : time_ns;
    marks->fields[0] =
        (stn_field){.name = marks->count_name, .kind = STN_FIELD_UINT, .v.u = loss.count};
    marks->fields[1] =
        (stn_field){.name = marks->begin_name, .kind = STN_FIELD_UINT, .v.u = begin_ns};
    *event = (stn_event){.time_ns = time_ns,
                         .type = STN_TYPE_LOST,
                         .tid = STN_NO_TID,
                         .comm = STN_NO_ID,
                         .cpu = loss.cpu,
                         .field_count = 2,
                         .fields = marks->fields};
    return STN_OK;
}

void stn_marks_fini(stn_marks *marks) {
    stn_free(marks->losses);
    stn_free(marks->last_ns);
    *marks = (stn_marks){0};
}
