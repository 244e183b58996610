/* A page: time (8 bytes), commit (long: bytes used, bits 30 and 31 tell of losses), then events.
 * An event: a word of type_len (5 bits) and time delta (27 bits), and behind it
 *     type_len 1 … 28   that many words
 *     0                 a word with the size, itself included
 *     29 padding        a word with the size (delta 0: the rest of the page is empty)
 *     30, 31 time       one word */
#include "kernel/trace/read_dat_pages.h"

#define COMMIT_SIZE 0x07ffffffu

enum { TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

static uint32_t word_at(const unsigned char *at, bool big) {
    return big ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]
               : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* Size of the event at @p at of which @p left bytes are there; 0 if it is impossible. */
static uint32_t event_size(const unsigned char *at, uint32_t left, bool big) {
    uint32_t head = left < 4 ? 0 : word_at(at, big);
    uint32_t type = big ? head >> 27 : head & 31;
    uint32_t delta = big ? head & 0x07ffffff : head >> 5;
    if (left < 4) {
        return 0;
    }
    if (type == TYPE_TIME_EXTEND || type == TYPE_TIME_STAMP) {
        return left < 8 ? 0 : 8;
    }
    if (type != 0 && type != TYPE_PADDING) {
        return type * 4 + 4 <= left ? type * 4 + 4 : 0;
    }
    if (type == TYPE_PADDING && delta == 0) {
        return left; /* the rest is empty */
    }
    uint32_t size = left < 8 ? 0 : word_at(at + 4, big);
    /* The size counts its own word; it is rounded up to words. */
    uint32_t whole = size > left ? 0 : ((size + 3) & ~3u) + 4;
    return size >= 4 && whole <= left ? whole : 0;
}

bool stn_dat_page_check(const unsigned char *page, const stn_dat_layout *layout) {
    uint32_t head = 8 + layout->long_size;
    const unsigned char *commit = page + 8;
    uint32_t flags = word_at(commit + (layout->big ? layout->long_size - 4 : 0), layout->big);
    uint32_t used = flags & COMMIT_SIZE;
    if (layout->page_size < head || used > layout->page_size - head) {
        return false;
    }
    for (uint32_t at = 0; at < used;) {
        uint32_t size = event_size(page + head + at, used - at, layout->big);
        if (size == 0) {
            return false;
        }
        at += size;
    }
    return true;
}
