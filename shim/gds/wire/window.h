/*
 * Which numbers of one sender have come: each is taken once. Frames overtake
 * each other by any distance, so all that is missing is known: as gaps below
 * the highest number that came. A genuine frame is refused for want of memory
 * only; a gap that is never filled (a frame that could not be sent) costs its
 * 16 bytes.
 *
 * Pure; the owner's lock. Only numbers of sealed frames are given here, so
 * nobody else can make gaps.
 */
#ifndef MGDS_GDS_WIRE_WINDOW_H
#define MGDS_GDS_WIRE_WINDOW_H

#include <stdint.h>

enum { MGDS_WINDOW_OWN_GAPS = 8 };

struct mgds_gap {
    uint64_t first, last;
};

/* All 0: nothing has come. */
struct mgds_window {
    uint64_t top; /* the highest number that came */
    unsigned gaps, room;
    struct mgds_gap *more;                     /* room of them; NULL: own */
    struct mgds_gap own[MGDS_WINDOW_OWN_GAPS]; /* ascending, as more */
};

/* 0: it has come now; -EALREADY: it had come before, or is 0; -ENOMEM. In all
 * cases but 0 nothing has changed. */
int mgds_window_take(struct mgds_window *window, uint64_t number);

/* Nothing has come. */
void mgds_window_fini(struct mgds_window *window);

#endif
