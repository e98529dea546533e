/*
 * Words in pinned host memory that a GPU and the CPU tell each other things
 * with: flags that a stream stores, words that it waits for, counts that a
 * kernel reads. Given out as lines of eight, one for each operation.
 *
 *   word      64 bits, aligned; 32-bit memory operations use its low half
 *   line      64 bytes, 0 when taken; belongs to who took it
 *   slab      64 KiB, pinned at once; never given back before the end, so a
 *             stream that still has a line does no harm
 *
 * Concurrency. Under the object's lock (SHORT), never held across a driver
 * call. Words themselves are atomics of those who share a line.
 */
#ifndef MGDS_STREAM_SYNCWORDS_H
#define MGDS_STREAM_SYNCWORDS_H

#include <stdint.h>

#include "shim/gds/cuda/context.h"

enum { MGDS_WORDS_LINE = 8 };

struct mgds_syncwords;

/* With one slab. All contexts of the process may use the words. Takes a
 * reference to ctx. -ENOMEM, -ESHUTDOWN. */
int mgds_syncwords_create(struct mgds_syncwords **out,
                          struct mgds_context *ctx);

/* The memory goes at the next safe point (defer.h): no stream has a line. NULL
 * is allowed. */
void mgds_syncwords_destroy(struct mgds_syncwords *words);

/* A line of MGDS_WORDS_LINE words, all 0. May pin memory: only in a call that
 * starts something, never where one waits. -ENOMEM, -ESHUTDOWN. */
int mgds_syncwords_take(uint64_t **line, struct mgds_syncwords *words);

/* The same of memory that is pinned already, or NULL. Any thread; no driver
 * call. */
uint64_t *mgds_syncwords_take_idle(struct mgds_syncwords *words);

/* Any thread; no driver call. No stream will read or write the line any
 * more. */
void mgds_syncwords_give(struct mgds_syncwords *words, uint64_t *line);

#endif
