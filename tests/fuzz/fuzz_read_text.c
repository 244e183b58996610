/* The text readers: the first byte chooses the format, the rest is the file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <standin/trace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every value is looked at, so that a stray pointer shows. */
static uint64_t sum_field(const stn_field *field) {
    uint64_t sum = 0;
    if (field->kind == STN_FIELD_STR) {
        for (const char *c = field->v.s; *c; c++) {
            sum += (uint64_t)*c;
        }
    } else if (field->kind == STN_FIELD_SEQ) {
        for (uint32_t i = 0; i < field->v.seq->count; i++) {
            sum += (uint64_t)field->v.seq->items[i];
        }
    }
    return sum;
}

static void read_all(const char *path, const char *format) {
    stn_catalog *catalog = NULL;
    stn_reader *reader = NULL;
    stn_err err = {{0}};
    stn_event event;
    volatile uint64_t sum = 0;
    if (stn_catalog_new(&catalog, &err)) {
        return;
    }
    stn_status status = stn_reader_open(&reader, path, format, NULL, catalog, &err);
    while (!status) {
        status = stn_reader_next(reader, &event, &err);
        for (uint32_t i = 0; !status && i < event.field_count; i++) {
            sum += sum_field(&event.fields[i]);
        }
    }
    stn_reader_close(reader);
    stn_catalog_free(catalog);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const formats[] = {"ftrace", "perf", "csv", NULL};
    char path[] = "/tmp/standin-fuzz-XXXXXX";
    int fd = size ? mkstemp(path) : -1;
    if (fd < 0) {
        return 0;
    }
    bool written = write(fd, data + 1, size - 1) == (ssize_t)(size - 1);
    close(fd);
    if (written) {
        read_all(path, formats[data[0] % 4]);
    }
    unlink(path);
    return 0;
}
