/** @file
 *  Lost marks of readers: a queue of losses that are to be told before the next event, and
 *  the mark made of one. Pinned by tests/unit/test_read_ftrace.c. */
#ifndef STN_KERNEL_TRACE_READ_MARK_H
#define STN_KERNEL_TRACE_READ_MARK_H

#include <standin/trace.h>

typedef struct stn_loss {
    uint64_t count; /**< 0: not known */
    uint64_t begin_ns;
    uint64_t end_ns; /**< 0: at the next event */
    uint16_t cpu;    /**< STN_NO_CPU: any */
} stn_loss;

/** Zero-initialise, then use. */
typedef struct stn_marks {
    stn_loss *losses; /**< [count] waiting, oldest first from @c at */
    size_t count;
    size_t at;
    size_t capacity;
    uint64_t *last_ns; /**< [cpu_count] last event of each CPU */
    size_t cpu_count;
    size_t cpu_capacity;
    uint32_t count_name; /**< string ids, looked up with the first mark */
    uint32_t begin_name;
    bool named;
    stn_field fields[2];
} stn_marks;

/** Remember a loss on @p cpu that began at the last event there. @return STN_OK, STN_ENOMEM */
stn_status stn_marks_add(stn_marks *marks, uint16_t cpu, uint64_t count, stn_err *err) STN_MUST_USE;
/** Same, with the beginning given. */
stn_status stn_marks_add_from(stn_marks *marks, stn_loss loss, stn_err *err) STN_MUST_USE;
/** Note that @p cpu had an event at @p time_ns. @return STN_OK, STN_ENOMEM */
stn_status stn_marks_saw(stn_marks *marks, uint16_t cpu, uint64_t time_ns,
                         stn_err *err) STN_MUST_USE;
/** Whether a loss waits. */
static inline bool stn_marks_waiting(const stn_marks *marks) {
    return marks->at < marks->count;
}
/** Make the mark of the oldest loss, at its end, at the latest at @p time_ns. @pre
 * stn_marks_waiting()
 *  @return STN_OK, STN_ENOMEM */
stn_status stn_marks_take(stn_marks *marks, stn_catalog *catalog, uint64_t time_ns,
                          stn_event *event, stn_err *err) STN_MUST_USE;
void stn_marks_fini(stn_marks *marks);

#endif
