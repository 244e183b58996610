/* A uniform sample of a stream: bottom-k by rank. The ranks in the sample are a heap with the
 * highest on top; an item that is admitted pushes it out. What was pushed out later stays in the
 * unnamed file and is passed over when draining: about limit * ln(seen / limit) items. */
#include "kernel/trace/write_sample.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/intern.h"

struct stn_sample {
    uint64_t limit;
    uint64_t seen;
    uint64_t rank;  /* of the item seen last */
    uint64_t *heap; /* [count] ranks in the sample, highest first */
    size_t count;
    size_t capacity;
    FILE *spool;     /* records, each before its bytes */
    uint64_t events; /* of the items drained */
};

typedef struct record {
    uint64_t rank;
    uint64_t size;
    uint64_t events;
} record;

stn_status stn_sample_open(stn_sample **out, uint64_t limit, stn_err *err) {
    *out = NULL;
    stn_sample *sample = stn_calloc(1, sizeof *sample);
    if (!sample) {
        return stn_err_set(err, STN_ENOMEM, "out of memory");
    }
    sample->limit = limit;
    sample->spool = tmpfile();
    if (!sample->spool) {
        stn_status status =
            stn_err_set(err, STN_EIO, "cannot make a temporary file: %s", strerror(errno));
        stn_free(sample);
        return status;
    }
    *out = sample;
    return STN_OK;
}

bool stn_sample_admit(stn_sample *sample) {
    sample->rank = stn_hash_u64(++sample->seen);
    return sample->count < sample->limit || sample->rank < sample->heap[0];
}

static void sift_up(uint64_t *heap, size_t at) {
    while (at && heap[(at - 1) / 2] < heap[at]) {
        uint64_t parent = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = heap[at];
        heap[at] = parent;
        at = (at - 1) / 2;
    }
}

static void sift_down(uint64_t *heap, size_t count) {
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < count && heap[child + 1] > heap[child]) {
            child++;
        }
        if (child >= count || heap[child] <= heap[at]) {
            return;
        }
        uint64_t swap = heap[child];
        heap[child] = heap[at];
        heap[at] = swap;
        at = child;
    }
}

stn_status stn_sample_keep(stn_sample *sample, const char *bytes, size_t size, uint64_t events,
                           stn_err *err) {
    if (sample->count == sample->limit) {
        sample->heap[0] = sample->rank;
        sift_down(sample->heap, sample->count);
    } else {
        if (stn_grow(&sample->heap, &sample->capacity, sample->count + 1, sizeof *sample->heap)) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for the sample");
        }
        sample->heap[sample->count] = sample->rank;
        sift_up(sample->heap, sample->count++);
    }
    record head = {.rank = sample->rank, .size = size, .events = events};
    if (fwrite(&head, sizeof head, 1, sample->spool) != 1 ||
        (size && fwrite(bytes, size, 1, sample->spool) != 1)) {
        return stn_err_set(err, STN_EIO, "cannot write the temporary file: %s", strerror(errno));
    }
    return STN_OK;
}

static stn_status spool_error(stn_err *err) {
    return stn_err_set(err, STN_EIO, "cannot read the temporary file back: %s", strerror(errno));
}

static stn_status drain_records(stn_sample *sample, stn_outfile *file, char **bytes,
                                size_t *capacity, stn_err *err) {
    record head;
    while (fread(&head, sizeof head, 1, sample->spool) == 1) {
        if (stn_grow(bytes, capacity, head.size, 1)) {
            return stn_err_set(err, STN_ENOMEM, "out of memory for the sample");
        }
        if (head.size && fread(*bytes, head.size, 1, sample->spool) != 1) {
            return spool_error(err);
        }
        bool stays = sample->count && head.rank <= sample->heap[0];
        sample->events += stays ? head.events : 0;
        stn_status status = stays ? stn_outfile_write(file, *bytes, head.size, err) : STN_OK;
        if (status) {
            return status;
        }
    }
    return ferror(sample->spool) ? spool_error(err) : STN_OK;
}

stn_status stn_sample_drain(stn_sample *sample, stn_outfile *file, stn_err *err) {
    if (fflush(sample->spool) || fseek(sample->spool, 0, SEEK_SET)) {
        return stn_err_set(err, STN_EIO, "cannot write the temporary file: %s", strerror(errno));
    }
    char *bytes = NULL;
    size_t capacity = 0;
    stn_status status = drain_records(sample, file, &bytes, &capacity, err);
    stn_free(bytes);
    return status;
}

uint64_t stn_sample_seen(const stn_sample *sample) {
    return sample->seen;
}

uint64_t stn_sample_count(const stn_sample *sample) {
    return sample->count;
}

uint64_t stn_sample_events(const stn_sample *sample) {
    return sample->events;
}

void stn_sample_close(stn_sample *sample) {
    if (!sample) {
        return;
    }
    fclose(sample->spool);
    stn_free(sample->heap);
    stn_free(sample);
}
