/** @file
 *  Whether the pages of a ring buffer hold together: every length in them stays inside of its
 *  page. libtraceevent believes them and reads beyond.
 *  Layout: kernel, include/linux/ring_buffer.h and kernel/trace/ring_buffer.c (struct
 *  buffer_data_page, struct ring_buffer_event). Pinned by tests/unit/test_read_trace_dat.c. */
#ifndef STN_KERNEL_TRACE_READ_DAT_PAGES_H
#define STN_KERNEL_TRACE_READ_DAT_PAGES_H

#include <standin/base.h>

typedef struct stn_dat_layout {
    uint32_t page_size;
    uint32_t long_size; /**< 4 or 8 */
    bool big;           /**< byte order */
} stn_dat_layout;

/** @param page  [layout->page_size]  @return false if a length in it is impossible */
bool stn_dat_page_check(const unsigned char *page, const stn_dat_layout *layout);

#endif
