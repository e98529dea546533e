/*
 * GPU allocations seen before, by address. One table a process: what one
 * thread looked at, all threads have. Chosen over a table a thread, which
 * would need no atomics, because it also remembers what *was* GPU memory, and
 * that must not depend on the thread that asks; and over a lock, because the
 * table is read by each call with a GPU buffer and written once a buffer.
 *
 * Concurrency. Each entry is its own sequence lock. Its words:
 *
 *   seq    even: the words below belong together; odd: being written. Written
 *          by the thread that took it from even to odd by compare-and-swap;
 *          who fails to take it drops its entry (it is only a cache).
 *   words  the entry; written by the owner of an odd seq, with release, so
 *          that no reader sees a word without seq odd; read with acquire, so
 *          that seq is read again after them.
 *
 *   EMPTY (seq 0) -> WRITING (odd) -> FULL (even) -> WRITING -> FULL ...
 *
 * Readers never wait: an entry in motion is a miss. Beside the entries, two
 * words bound all that was ever put in; writers move each one way only, by
 * compare-and-swap, before they write the entry.
 */
#ifndef MGDS_CUDA_PTRCACHE_H
#define MGDS_CUDA_PTRCACHE_H

#include "shim/gds/cuda/ptr.h"

/* True if an allocation that covered addr is remembered: what it was when it
 * was put in. Whether it still lives is for the caller to find out. */
bool mgds_ptrcache_get(struct mgds_ptr *out, uintptr_t addr);

/* Whether get would find something, for less. */
bool mgds_ptrcache_covers(uintptr_t addr);

/* Remembers ptr for lookups of addr, in place of what was known there. */
void mgds_ptrcache_put(const struct mgds_ptr *ptr, uintptr_t addr);

/* Forgets what covered addr: it was seen to be something else by now. */
void mgds_ptrcache_drop(uintptr_t addr);

#endif
