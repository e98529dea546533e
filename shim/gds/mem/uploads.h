/*
 * How a context uploads little. The driver puts the bytes of an upload of up to
 * 16 KiB into the commands of the engine that kernels run on, and processes
 * that share a GPU have that engine in turns: an upload takes 270 us where
 * there are two of them (results/2026-11-23-shared-gpu). A copy of two rows
 * goes to a copy engine, which serves all at once, but takes 2 us more where
 * nobody else is.
 *
 *   plain   until two uploads in a row took long
 *   rows    for a second; then one upload is made plainly, and if that takes
 *           long, too, rows are used for another second
 *
 * Concurrency. Any thread, no lock: the words are atomic, and a word that is
 * read a little late costs time only.
 */
#ifndef MGDS_MEM_UPLOADS_H
#define MGDS_MEM_UPLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MGDS_UPLOADS_SMALL = 16384 }; /* bytes that may be in commands */

/* All 0: plain. Atomic. */
struct mgds_uploads {
    unsigned slow;       /* uploads in a row that took long */
    uint64_t rows_until; /* ns of mgds_clock_ns */
};

/* Whether an upload of so many bytes, at least 2, in one piece uses rows now.
 */
bool mgds_uploads_use_rows(const struct mgds_uploads *uploads, size_t bytes,
                           uint64_t now);

/* A plain upload that was queued at *since is over, or not yet. What its time
 * says is said once: then *since becomes 0, and later calls do nothing. */
void mgds_uploads_observe(struct mgds_uploads *uploads, uint64_t *since,
                          bool over, uint64_t now);

#endif
