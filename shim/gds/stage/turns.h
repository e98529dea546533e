/*
 * Whether small uploads wait for the GPU's turn. The driver puts the bytes of
 * an upload of up to 16 KiB into the commands of the engine that kernels run
 * on, and processes that share a GPU have that in turns: 270 us where there are
 * two of them (results/2026-11-23-shared-gpu). A copy of two rows goes to a
 * copy engine, which serves all at once, but takes 2 us more where nobody else
 * is.
 *
 *   plain   until two uploads in a row took long
 *   rows    for a second; then one is made plainly, and if that takes long,
 *           too, for another second
 *
 * Concurrency. Any thread, no lock: the words are atomic, and what is read a
 * little late costs time only.
 */
#ifndef MGDS_STAGE_TURNS_H
#define MGDS_STAGE_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MGDS_TURNS_SMALL = 16384 }; /* bytes that may be in commands */

/* All 0: plain. Atomic. */
struct mgds_turns {
    unsigned slow;  /* uploads in a row that took long */
    uint64_t until; /* in rows until then, ns of mgds_clock_ns */
};

/* How an upload of so many bytes, at least 2, in one piece is made now. */
bool mgds_turns_in_rows(const struct mgds_turns *turns, size_t bytes,
                        uint64_t now);

/* One that was made plainly at *since was looked at: it is over, or not. What
 * can be said of it is said once: then *since becomes 0, and nothing is done
 * any more. */
void mgds_turns_look(struct mgds_turns *turns, uint64_t *since, bool over,
                     uint64_t now);

#endif
