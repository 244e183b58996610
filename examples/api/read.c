/* Count the context switches of each CPU, with the public interface alone.
 *
 *     cc -o read read.c $(pkg-config --cflags --libs standin)
 *     ./read trace.dat
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <standin/standin.h>

#define CPUS_MAX 1024

/* Read all of the trace. @return as stn_reader_next() at the end */
static stn_status count(stn_reader *reader, const stn_catalog *catalog, uint64_t *switches,
                        stn_err *err) {
    for (;;) {
        stn_event event; /* lent by the reader until the next call */
        stn_status status = stn_reader_next(reader, &event, err);
        if (status != STN_OK) {
            return status;
        }
        const stn_type *type = stn_catalog_type_at(catalog, event.type);
        if (event.cpu < CPUS_MAX && strcmp(type->name, "sched_switch") == 0) {
            switches[event.cpu]++;
        }
    }
}

static void print(const stn_trace_meta *meta, const uint64_t *switches) {
    printf("%s, %" PRIu64 " events, %" PRIu64 " lost\n", meta->format, meta->event_count,
           meta->lost_count);
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (switches[cpu]) {
            printf("CPU %d: %" PRIu64 " switches\n", cpu, switches[cpu]);
        }
    }
}

int main(int argc, char **argv) {
    static uint64_t switches[CPUS_MAX];
    stn_err err = {{0}};
    stn_catalog *catalog = NULL; /* names; outlives every reader made with it */
    stn_reader *reader = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: read TRACE\n");
        return 2;
    }
    stn_status status = stn_catalog_new(&catalog, &err);
    if (status == STN_OK) {
        status = stn_reader_open(&reader, argv[1], NULL, NULL, catalog, &err);
    }
    if (status == STN_OK) {
        status = count(reader, catalog, switches, &err);
    }
    if (status == STN_END) {
        print(stn_reader_meta(reader), switches);
    } else {
        fprintf(stderr, "read: %s\n", err.text);
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
    return status == STN_END ? 0 : 1;
}
