/** @file
 *  Calls into a library that ends the whole process where an error would do: libbabeltrace2
 *  asserts what a damaged packet's head does not hold, and aborts. Within a guard such an abort
 *  comes back as a failure, and what the library prints of it is not shown.
 *  Pinned by tests/unit/test_guard.c. */
#ifndef STN_KERNEL_TRACE_GUARD_H
#define STN_KERNEL_TRACE_GUARD_H

#include <stdbool.h>

/** Make @p call with @p self. One guard at a time per thread; SIGABRT is taken over for the
 *  process while any guard is open, and for other threads does what it did.
 *  @return false if it aborted: what it worked on is lost to its owner, must not be handed to
 *  the library again and is not freed */
bool stn_guard(void (*call)(void *self), void *self);

#endif
