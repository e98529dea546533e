/*
 * The bell of the progress thread: whether there is anything to make rounds
 * for, and what ends the thread's naps and sleeps. Any thread, unless it says
 * otherwise; only the wire's files include this.
 *
 *   busy     messages are under way, or somebody holds: the thread makes rounds
 *   kicked   a round is due before the thread rests
 *   asleep   the thread naps, sleeps, or is about to
 *
 * A thread that makes work first says so (busy, kicked), then looks at asleep;
 * the progress thread first sets asleep, then looks at those. So one of the two
 * sees the other (all are sequentially consistent), and no work is slept over.
 * Who finds asleep set clears it and rings.
 */
#ifndef MGDS_GDS_WIRE_BELL_H
#define MGDS_GDS_WIRE_BELL_H

#include <stdbool.h>
#include <stdint.h>

/* Before the thread is made, and when it has ended. 0 or -errno. */
int mgds_bell_open(void);
void mgds_bell_close(void);

/* A post or an arrival whose outcome is not told yet; how many there are. */
void mgds_bell_message_begin(void);
void mgds_bell_message_end(void);
unsigned mgds_bell_messages(void);

/* Something is under way, or somebody holds. */
bool mgds_bell_is_busy(void);

/* Ends the sleep of the thread; the other, if there is work for it. */
void mgds_bell_ring(void);
void mgds_bell_nudge(void);

/* A kick, and the end of a sleep, from a signal handler: once
 * mgds_wire_wake_init (wire.h) has been called. False: it cannot be heard. */
bool mgds_bell_alarm(void);

/* All below by the thread. A nap of so many ns, if no round is due. */
void mgds_bell_nap(uint64_t ns);

/* About to sleep: who makes work from now on rings. False: a round is due. */
bool mgds_bell_doze(void);

/* Sleeps until it is rung, a descriptor (-1: none) can be read, or for so many
 * ns; negative: for ever. Between doze and rise. */
void mgds_bell_sleep(int network, int near, int64_t ns);

/* Awake again. */
void mgds_bell_rise(void);

#endif
