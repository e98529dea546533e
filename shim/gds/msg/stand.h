/*
 * Where streams stand: at which wait of ours, and since when. For who tells
 * people of it (watch.h), or ends waits that take too long.
 *
 * A stream stands at a wait when it has come to it and cannot pass: all work of
 * the program ahead of it is done. Who knows so:
 *
 *   a kernel that waits    the stream: it says so after a millisecond, and
 *                          again each millisecond (device/abi.h, mgds_desk)
 *   a memory operation     the stream has written the word ahead of it, and the
 *                          CPU has not let it pass
 *
 * A kernel may be through without a word to the CPU (signals.h). So
 * what counts is that it says again that it stands: `fresh`. Who wants to act
 * on a wait that has stood for some time acts when it is fresh after that time.
 *
 * All functions are called under the engine's lock, but mgds_stands_due.
 */
#ifndef MGDS_MSG_STAND_H
#define MGDS_MSG_STAND_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_timeline;
struct mgds_wait;

/* Of a timeline; mgds_stands_look writes it. */
struct mgds_stand {
    uint64_t number; /* of the wait; 0: none */
    uint64_t beat;   /* the last that was seen */
    uint64_t since;  /* when it was first seen, ns of mgds_clock_ns */
    uint64_t seen;   /* and last */
    bool fresh;      /* it was seen to stand in the last look */
};

/* Whether it is time for a look: every few milliseconds. Any thread. */
bool mgds_stands_due(void);

/* Looks where all streams stand. */
void mgds_stands_look(void);

/* Since when the stream stands at a wait of ours, in ns of mgds_clock_ns, and
 * at which; 0 if it was not seen to stand in the last look. Then it may have
 * gone on, or only not have said so again yet: another look will show. */
uint64_t mgds_timeline_stands(const struct mgds_timeline *timeline,
                              struct mgds_wait **wait);
/* The same, of a look in the last second. */
uint64_t mgds_timeline_stood(const struct mgds_timeline *timeline,
                             struct mgds_wait **wait);

/* Of a wait that a stream stands at: whether some of its operations are known
 * not to be done, and whether that is what the stream waits for, as far as it
 * can be told: of messages that come by a ring, or are copied by the stream, it
 * may be any of them. */
bool mgds_wait_misses(const struct mgds_wait *wait);
bool mgds_wait_stands_at(const struct mgds_wait *wait, unsigned i, bool misses);

#endif
